// Tests of a descriptor that becomes readable.

#include "sys/thread/bell.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static bool is_readable(const struct bell *bell)
{
    struct pollfd fd = {.fd = bell->fd, .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

static void it_is_readable_from_a_ring_to_a_hush(void **state)
{
    (void)state;
    struct bell bell;
    assert_int_equal(bell_init(&bell), WEFT_OK);
    assert_false(is_readable(&bell));
    bell_ring(&bell);
    bell_ring(&bell);
    assert_true(is_readable(&bell));
    assert_true(is_readable(&bell));
    bell_hush(&bell);
    assert_false(is_readable(&bell));
    bell_hush(&bell);
    bell_ring(&bell);
    assert_true(is_readable(&bell));
    bell_fini(&bell);
    assert_int_equal(bell.fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_readable_from_a_ring_to_a_hush)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
