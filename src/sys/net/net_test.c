// Tests of the network: addresses, which sockets two sides meet at, and addresses where no program listens.

#include "sys/net/net.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/net/net_state.h"

static struct net_address address_of(const char *text)
{
    struct net_address address;
    assert_int_equal(net_read_address(text, 2222, &address), WEFT_OK);
    return address;
}

static void addresses_are_read_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host, *written;
        uint16_t port;
    } cases[] = {
        {"host", "host", "host:2222", 2222},
        {"host:1", "host", "host:1", 1},
        {"node-7.example.org:65535", "node-7.example.org", "node-7.example.org:65535", 65535},
        {"10.0.0.5:80", "10.0.0.5", "10.0.0.5:80", 80},
        {"[::1]:5", "::1", "[::1]:5", 5},
        {"[::1]", "::1", "[::1]:2222", 2222},
        {"::1", "::1", "[::1]:2222", 2222},
        {"[fe80::1%eth0]:9", "fe80::1%eth0", "[fe80::1%eth0]:9", 9},
        {":7", "", ":7", 7},
        {"localhost:0", "localhost", "localhost:0", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[NET_ADDRESS_TEXT_BYTES];
        const struct net_address address = address_of(cases[i].text);
        assert_string_equal(address.host, cases[i].host);
        assert_int_equal(address.port, cases[i].port);
        net_write_address(&address, text);
        assert_string_equal(text, cases[i].written);
    }
}

static void what_is_no_address_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",           ":",         "host:",        "host:port",  "host:65536", "host:-1",
        "host:1:2",   "[::1",      "[::1]x",       "[host]:1",   "a b:1",      "http://h:1",
        "host:1#abc", "::1:x%eth", "user@host:22", "[fe80::1%]", "host: 1",
    };
    struct net_address address = {.port = 7};
    char long_text[400];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(net_read_address(texts[i], 1, &address), WEFT_INVALID_ARGUMENT);
        assert_non_null(strstr(err_text(), texts[i]));
    }
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    assert_int_equal(net_read_address(long_text, 1, &address), WEFT_INVALID_ARGUMENT);
    long_text[258] = 0;
    assert_int_equal(net_read_address(long_text, 1, &address), WEFT_INVALID_ARGUMENT);
    assert_int_equal(address.port, 7);
}

static void loopback_is_what_can_only_mean_this_machine(void **state)
{
    (void)state;
    static const char *const near[] = {"localhost",   "LocalHost:1", "127.0.0.1",
                                       "127.9.8.7:1", "[::1]:1",     "::ffff:127.0.0.1"};
    static const char *const far[] = {":1", "0.0.0.0:1", "10.0.0.1", "localhost.example.org",
                                      "::", "::2",       "128.0.0.1"};
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        const struct net_address address = address_of(near[i]);
        assert_true(net_address_is_loopback(&address));
    }
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        const struct net_address address = address_of(far[i]);
        assert_false(net_address_is_loopback(&address));
    }
}

static void listen_at(const char *text, struct net_address *address, struct net_listener *listener)
{
    *address = address_of(text);
    assert_int_equal(net_listen(address, listener), WEFT_OK);
    assert_int_not_equal(listener->port, 0);
    address->port = listener->port;
}

// Connects, and takes the connection wherever it arrived.
static void meet(const struct net_address *address, const struct net_listener *listener,
                 int *client, int *server)
{
    struct pollfd fds[NET_LISTENERS_MAX];
    *server = -1;
    assert_int_equal(net_connect(address, 2000, client), WEFT_OK);
    for (size_t i = 0; i < listener->count; i++)
        fds[i] = (struct pollfd){.fd = listener->fds[i], .events = POLLIN};
    assert_true(poll(fds, listener->count, 2000) > 0);
    for (size_t i = 0; i < listener->count && *server < 0; i++)
        assert_int_equal(net_accept(listener->fds[i], server), WEFT_OK);
    assert_true(*server >= 0);
}

static bool has_option(int fd, int level, int name)
{
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, level, name, &value, &size) == 0 && value != 0;
}

static void check_tcp(int fd)
{
    assert_false(net_is_local_stream(fd));
    assert_int_equal(net_peer_pid(fd), 0);
    assert_true(has_option(fd, IPPROTO_TCP, TCP_NODELAY));
    assert_true(has_option(fd, SOL_SOCKET, SO_KEEPALIVE));
    assert_true(has_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT));
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void peers_on_one_machine_meet_over_a_unix_socket(void **state)
{
    (void)state;
    static const char *const names[] = {"localhost:0", "127.0.0.1:0", ":0", "127.0.0.2:0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct net_address address;
        struct net_listener listener;
        int client, server;
        char name[64], expected[64];
        listen_at(names[i], &address, &listener);
        meet(&address, &listener, &client, &server);
        assert_true(net_is_local_stream(client) && net_is_local_stream(server));
        assert_int_equal(net_peer_pid(server), getpid());
        net_name_peer(server, name, sizeof name);
        snprintf(expected, sizeof expected, "pid %ld", (long)getpid());
        assert_string_equal(name, expected);
        assert_true(fcntl(server, F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(client, F_GETFD) & FD_CLOEXEC);
        close(client);
        close(server);
        net_listener_close(&listener);
    }
}

// Takes the Unix socket away, which is the last one.
static void close_nearby(struct net_listener *listener)
{
    assert_true(net_is_local_stream(listener->fds[listener->count - 1]));
    close(listener->fds[--listener->count]);
}

static void without_a_unix_socket_it_is_tcp(void **state)
{
    (void)state;
    struct net_address address;
    struct net_listener listener;
    int client, server;
    char name[64];
    listen_at("localhost:0", &address, &listener);
    close_nearby(&listener);
    meet(&address, &listener, &client, &server);
    check_tcp(client);
    check_tcp(server);
    net_name_peer(server, name, sizeof name);
    assert_memory_equal(name, "127.0.0.1:", 10);
    close(client);
    close(server);
    net_listener_close(&listener);
}

static void version_6_works_where_it_exists(void **state)
{
    (void)state;
    struct net_address address = address_of("[::1]:0");
    struct net_listener listener;
    int client, server;
    char name[64];
    if (net_listen(&address, &listener) != WEFT_OK)
        skip();
    address.port = listener.port;
    close_nearby(&listener);
    meet(&address, &listener, &client, &server);
    check_tcp(client);
    net_name_peer(client, name, sizeof name);
    assert_memory_equal(name, "[::1]:", 6);
    close(client);
    close(server);
    net_listener_close(&listener);
    // localhost is both, with one port.
    listen_at("localhost:0", &address, &listener);
    assert_int_equal(listener.count, 3);
    net_listener_close(&listener);
}

static void a_port_that_is_taken_says_what_to_do(void **state)
{
    (void)state;
    struct net_address address;
    struct net_listener listener, second = {0};
    listen_at("127.0.0.1:0", &address, &listener);
    assert_int_equal(net_listen(&address, &second), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "taken"));
    assert_non_null(strstr(err_text(), "127.0.0.1"));
    assert_int_equal(second.count, 0);
    // The same port of the other family would be another host with the same Unix socket.
    snprintf(address.host, sizeof address.host, "::1");
    assert_int_equal(net_listen(&address, &second), WEFT_UNAVAILABLE);
    snprintf(address.host, sizeof address.host, "192.0.2.1");
    assert_int_equal(net_listen(&address, &second), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "no such address"));
    net_listener_close(&listener);
    snprintf(address.host, sizeof address.host, "127.0.0.1");
    assert_int_equal(net_listen(&address, &second), WEFT_OK);  // free again at once
    net_listener_close(&second);
}

static void connecting_to_nothing_says_why(void **state)
{
    (void)state;
    struct net_address address;
    struct net_listener listener;
    int fd = -1;
    listen_at("localhost:0", &address, &listener);
    net_listener_close(&listener);
    assert_int_equal(net_connect(&address, 1000, &fd), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "refused"));
    address = address_of("no-such-name.invalid:1");
    assert_int_equal(net_connect(&address, 1000, &fd), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "resolved"));
    address = address_of("localhost:0");
    assert_int_equal(net_connect(&address, 1000, &fd), WEFT_INVALID_ARGUMENT);
    assert_int_equal(fd, -1);
}

static void a_name_becomes_a_number(void **state)
{
    (void)state;
    char number[NET_NUMBER_BYTES] = "as it was";
    struct net_address address = address_of("no-such-name.invalid:1");
    assert_int_equal(net_find_number(&address, number), WEFT_UNAVAILABLE);
    assert_string_equal(number, "as it was");
    address = address_of("localhost:1");
    assert_int_equal(net_find_number(&address, number), WEFT_OK);
    assert_string_equal(number, "127.0.0.1");
    address = address_of("[fe80::7]:1");
    assert_int_equal(net_find_number(&address, number), WEFT_OK);
    assert_string_equal(number, "fe80::7");
    err_clear();
}

// The kernel chooses the ports of our own end in turn, every second one, now and then with a leap: one of these attempts gets the port
// that it asks for.
static void a_route_does_not_connect_to_itself(void **state)
{
    (void)state;
    struct net_address address = address_of("127.0.0.1:1");
    unsigned first = 32768, last = 60999;
    FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    assert_true(!range || fscanf(range, "%u %u", &first, &last) == 2);
    if (range)
        fclose(range);
    address.port = (uint16_t)(first + (last - first) / 4 * 2);
    struct net_route *route;
    assert_int_equal(net_route_open(&address, &route), WEFT_OK);
    for (unsigned i = 0; i <= last - first; i++) {
        int fd = -1;
        if (net_route_connect(route, 0, &fd) == WEFT_OK) {
            struct net_endpoint here = {.size = sizeof here.storage};
            assert_int_equal(getsockname(fd, (struct sockaddr *)&here.storage, &here.size), 0);
            assert_int_not_equal(net_get_port(&here), address.port);
            close(fd);  // of another process that listens there now
            continue;
        }
        assert_non_null(strstr(err_text(), "no program listens there"));
    }
    net_route_close(route);
}

// When connections wait that no program accepts, the next one never gets an answer.
static void a_peer_that_never_answers_is_given_up(void **state)
{
    (void)state;
    const struct sockaddr_in any = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in bound;
    socklen_t size = sizeof bound;
    int fds[16], count = 0;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(listener, 0), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&bound, &size), 0);
    struct net_address address = address_of("127.0.0.1:1");
    address.port = ntohs(bound.sin_port);
    weft_err code = WEFT_OK;
    while (code == WEFT_OK && count < 16)
        code = net_connect(&address, 50, &fds[count++]);
    assert_int_equal(code, WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "no answer within 50 ms"));
    for (int i = 0; i < count - 1; i++)
        close(fds[i]);
    close(listener);
}

static void accepting_survives_a_lack_of_descriptors(void **state)
{
    (void)state;
    struct net_address address;
    struct net_listener listener;
    struct rlimit before, none;
    int client, server = -1;
    listen_at("127.0.0.1:0", &address, &listener);
    const int nearby = listener.fds[listener.count - 1];
    assert_int_equal(net_accept(nearby, &server), WEFT_OK);
    assert_int_equal(server, -1);  // no connection waits
    assert_int_equal(net_connect(&address, 1000, &client), WEFT_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(net_accept(nearby, &server), WEFT_RESOURCE_EXHAUSTED);
    assert_int_equal(server, -1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(net_accept(nearby, &server), WEFT_OK);
    assert_true(server >= 0);
    close(server);
    close(client);
    net_listener_close(&listener);
}

// As another user, who only root can become.
static void run_as_nobody(void (*body)(void *), void *argument)
{
    if (geteuid() != 0)
        skip();
    const pid_t pid = fork();
    if (pid == 0) {
        if (setresuid(65534, 65534, 65534) != 0)
            _exit(9);
        body(argument);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void knock(void *argument)
{
    const struct net_endpoint *local = argument;
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)&local->storage, local->size) != 0)
        _exit(8);
}

static void another_user_at_the_unix_socket_is_sent_away(void **state)
{
    (void)state;
    struct net_address address;
    struct net_listener listener;
    struct net_endpoint local;
    int server = -1;
    listen_at("localhost:0", &address, &listener);
    assert_true(net_find_local(&address, &local));
    run_as_nobody(knock, &local);
    const int nearby = listener.fds[listener.count - 1];
    assert_int_equal(net_accept(nearby, &server), WEFT_PERMISSION_DENIED);
    assert_int_equal(server, -1);
    assert_int_equal(net_accept(nearby, &server), WEFT_OK);
    assert_int_equal(server, -1);
    net_listener_close(&listener);
}

struct squat {
    struct net_endpoint local;
    int ready[2], done[2];
};

static void squat(void *argument)
{
    struct squat *squat = argument;
    if (fork() != 0)
        return;
    char byte = 0;
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    close(squat->done[1]);
    if (bind(fd, (struct sockaddr *)&squat->local.storage, squat->local.size) != 0 ||
        listen(fd, 5) != 0)
        byte = 1;
    _exit(write(squat->ready[1], &byte, 1) == 1 && read(squat->done[0], &byte, 1) == 0 ? 0 : 1);
}

// Names of the abstract namespace are free for all: a host of ours and its clients do without.
static void another_user_with_our_name_is_passed_by(void **state)
{
    (void)state;
    struct net_address address;
    struct net_listener listener;
    struct squat squatter;
    char byte = 1;
    int client, server;
    listen_at("127.0.0.1:0", &address, &listener);
    net_listener_close(&listener);
    assert_true(net_find_local(&address, &squatter.local));
    assert_int_equal(pipe(squatter.ready), 0);
    assert_int_equal(pipe(squatter.done), 0);
    run_as_nobody(squat, &squatter);
    assert_int_equal(read(squatter.ready[0], &byte, 1), 1);
    assert_int_equal(byte, 0);
    assert_int_equal(net_listen(&address, &listener), WEFT_OK);
    assert_int_equal(listener.count, 1);
    meet(&address, &listener, &client, &server);
    assert_false(net_is_local_stream(client));
    close(client);
    close(server);
    net_listener_close(&listener);
    close(squatter.done[1]);
}

static void a_process_is_gone_when_it_has_ended(void **state)
{
    (void)state;
    int hold[2];
    assert_int_equal(pipe(hold), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(hold[1]);
        _exit((int)read(hold[0], &byte, 1));
    }
    close(hold[0]);
    assert_false(net_process_is_gone(pid));
    assert_false(net_process_is_gone(getpid()));
    assert_false(net_process_is_gone(0));
    close(hold[1]);
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
    assert_true(net_process_is_gone(pid));  // its parent has not asked for it yet
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(net_process_is_gone(pid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read_as_people_write_them),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(loopback_is_what_can_only_mean_this_machine),
        cmocka_unit_test(peers_on_one_machine_meet_over_a_unix_socket),
        cmocka_unit_test(without_a_unix_socket_it_is_tcp),
        cmocka_unit_test(version_6_works_where_it_exists),
        cmocka_unit_test(a_port_that_is_taken_says_what_to_do),
        cmocka_unit_test(connecting_to_nothing_says_why),
        cmocka_unit_test(a_name_becomes_a_number),
        cmocka_unit_test(a_route_does_not_connect_to_itself),
        cmocka_unit_test(a_peer_that_never_answers_is_given_up),
        cmocka_unit_test(accepting_survives_a_lack_of_descriptors),
        cmocka_unit_test(another_user_at_the_unix_socket_is_sent_away),
        cmocka_unit_test(another_user_with_our_name_is_passed_by),
        cmocka_unit_test(a_process_is_gone_when_it_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
