// Tests of ports with real sockets: which ones can be held, and by whom.

#include "sys/net/ports.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

// Listens as the plainest of programs does; -1 when it is refused.
static int listen_at(uint16_t port)
{
    const struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (const struct sockaddr *)&here, sizeof here) == 0 && listen(fd, 1) == 0)
        return fd;
    close(fd);
    return -1;
}

static void a_chosen_port_is_held_until_it_is_released(void **state)
{
    (void)state;
    struct port_hold hold;
    uint16_t port = 0;
    assert_int_equal(port_choose(&hold, &port), WEFT_OK);
    assert_int_not_equal(port, 0);
    assert_int_equal(listen_at(port), -1);
    port_release(&hold);
    port_release(&hold);
    const int fd = listen_at(port);
    assert_true(fd >= 0);
    close(fd);
}

static void a_shared_port_is_for_those_who_share_it_too(void **state)
{
    (void)state;
    struct port_hold hold;
    uint16_t port = 0;
    const int on = 1;
    assert_int_equal(port_choose(&hold, &port), WEFT_OK);
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct sockaddr *at = (const struct sockaddr *)&address;
    const int sharing = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(setsockopt(sharing, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    assert_int_equal(bind(sharing, at, sizeof address), -1);
    assert_true(port_share(&hold));
    assert_int_equal(listen_at(port), -1);
    assert_int_equal(bind(sharing, at, sizeof address), 0);
    assert_int_equal(listen(sharing, 1), 0);
    assert_int_equal(connect(client, at, sizeof address), 0);
    const int guest = accept(sharing, NULL, NULL);
    assert_true(guest >= 0);
    close(guest);
    close(client);
    close(sharing);
    port_release(&hold);
    assert_false(port_share(&hold));
}

static void many_chosen_ports_are_all_different(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    struct port_hold holds[COUNT];
    uint16_t ports[COUNT];
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(port_choose(&holds[i], &ports[i]), WEFT_OK);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(ports[i], ports[k]);
    }
    for (int i = 0; i < COUNT; i++)
        port_release(&holds[i]);
}

static void a_port_where_somebody_listens_is_refused(void **state)
{
    (void)state;
    struct port_hold hold;
    uint16_t port = 0;
    assert_int_equal(port_choose(&hold, &port), WEFT_OK);
    port_release(&hold);
    const int fd = listen_at(port);
    assert_true(fd >= 0);
    assert_int_equal(port_hold(&hold, "127.0.0.1", port), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "listens"));
    close(fd);
    assert_int_equal(port_hold(&hold, "127.0.0.1", port), WEFT_OK);
    port_release(&hold);
}

static void another_machine_is_told(void **state)
{
    (void)state;
    struct port_hold hold;
    assert_int_equal(port_hold(&hold, "192.0.2.1", 2222), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "192.0.2.1 is not an address of this machine"));
    assert_int_equal(port_hold(&hold, "no-such-host.invalid", 2222), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "no-such-host.invalid has no address"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chosen_port_is_held_until_it_is_released),
        cmocka_unit_test(a_shared_port_is_for_those_who_share_it_too),
        cmocka_unit_test(many_chosen_ports_are_all_different),
        cmocka_unit_test(a_port_where_somebody_listens_is_refused),
        cmocka_unit_test(another_machine_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
