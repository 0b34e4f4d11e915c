// A wait ends early only when there is a function, it wants it, and the wait is not short.

#include "sys/thread/interrupt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka needs the ones above
#include <cmocka.h>

#include "sys/time/clock.h"

static bool is_wanted;
static unsigned asked_count;

static bool answer(void)
{
    asked_count++;
    return is_wanted;
}

static const uint64_t ns_per_s = 1000000000, ns_per_ms = 1000000;

static void without_a_function_nothing_changes(void **state)
{
    (void)state;
    interrupt_set(NULL);
    assert_false(interrupt_ends(UINT64_MAX));
    assert_true(interrupt_slice(UINT64_MAX) == UINT64_MAX);
    assert_true(interrupt_slice(17) == 17);
}

static void a_long_wait_ends_when_it_is_wanted(void **state)
{
    (void)state;
    interrupt_set(answer);
    is_wanted = false;
    assert_false(interrupt_ends(UINT64_MAX));
    is_wanted = true;
    assert_true(interrupt_ends(UINT64_MAX));
    assert_true(interrupt_ends(clock_now_ns() + ns_per_s));
    interrupt_set(NULL);
}

static void a_short_wait_is_left_alone(void **state)
{
    (void)state;
    interrupt_set(answer);
    is_wanted = true;
    asked_count = 0;
    assert_false(interrupt_ends(clock_now_ns() + 20 * ns_per_ms));
    assert_false(interrupt_ends(0));
    assert_int_equal(asked_count, 0);
    interrupt_set(NULL);
}

static void slices_are_no_longer_than_the_wait(void **state)
{
    (void)state;
    interrupt_set(answer);
    const uint64_t soon_ns = clock_now_ns() + ns_per_ms;
    assert_true(interrupt_slice(soon_ns) == soon_ns);
    assert_true(interrupt_slice(UINT64_MAX) < clock_now_ns() + ns_per_s);
    interrupt_set(NULL);
}

static void sleeping_ends_when_it_is_wanted(void **state)
{
    (void)state;
    const uint32_t an_hour_ms = 3600 * 1000;
    interrupt_set(answer);
    is_wanted = true;
    interrupt_sleep_ms(an_hour_ms);
    interrupt_set(NULL);
    interrupt_sleep_ms(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_function_nothing_changes),
        cmocka_unit_test(a_long_wait_ends_when_it_is_wanted),
        cmocka_unit_test(a_short_wait_is_left_alone),
        cmocka_unit_test(slices_are_no_longer_than_the_wait),
        cmocka_unit_test(sleeping_ends_when_it_is_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
