// Tests of spinning: the rule by which it is left out. Nothing here measures time.

#include "sys/thread/spin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sys/machine/machine.h"

// How many waits go by without a spin.
static uint32_t count_skips(struct spin *spin)
{
    uint32_t count = 0;
    while (!spin_begin(spin))
        count++;
    return count;
}

static void spins_in_vain_become_rare(void **state)
{
    (void)state;
    struct spin spin;
    spin_set(&spin, 20);
    uint32_t expected = 0;
    for (int i = 0; i < 14; i++) {
        assert_int_equal(count_skips(&spin), expected);
        spin_end(&spin, false);
        expected = expected == 0 ? 1 : expected < SPIN_SKIPS_MAX ? 2 * expected : SPIN_SKIPS_MAX;
    }
}

static void a_spin_that_found_something_is_tried_again_at_once(void **state)
{
    (void)state;
    struct spin spin;
    spin_set(&spin, 20);
    for (int i = 0; i < 5; i++) {
        count_skips(&spin);
        spin_end(&spin, false);
    }
    // Where the machine takes the core away, a spin does not count as good: then it is tried again.
    for (int i = 0; i < 100; i++) {
        count_skips(&spin);
        spin_end(&spin, true);
        if (spin.skips == 0)
            break;
    }
    assert_int_equal(count_skips(&spin), 0);
}

static void a_spin_during_which_the_core_was_taken_away_counts_as_vain(void **state)
{
    (void)state;
    struct spin spin;
    spin_set(&spin, 20);
    assert_true(spin_begin(&spin));
    spin.preemptions--;
    spin_end(&spin, true);
    assert_int_equal(spin.skips, 1);
}

static void zero_never_spins(void **state)
{
    (void)state;
    struct spin spin;
    spin_set(&spin, 0);
    assert_false(spin_begin(&spin));
    spin_set(&spin, 100000);
    assert_int_equal(spin.limit_ns, SPIN_US_MAX * 1000);
}

static void the_variable_sets_how_long(void **state)
{
    (void)state;
    const uint32_t usual = machine_core_count() > 1 ? SPIN_US_DEFAULT : 0;
    unsetenv("WEFT_SPIN_US");
    assert_int_equal(spin_default_us(), usual);
    setenv("WEFT_SPIN_US", "0", 1);
    assert_int_equal(spin_default_us(), 0);
    setenv("WEFT_SPIN_US", "1000", 1);
    assert_int_equal(spin_default_us(), usual ? SPIN_US_MAX : 0);
    setenv("WEFT_SPIN_US", "fast", 1);
    assert_int_equal(spin_default_us(), usual);
    unsetenv("WEFT_SPIN_US");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spins_in_vain_become_rare),
        cmocka_unit_test(a_spin_that_found_something_is_tried_again_at_once),
        cmocka_unit_test(a_spin_during_which_the_core_was_taken_away_counts_as_vain),
        cmocka_unit_test(zero_never_spins),
        cmocka_unit_test(the_variable_sets_how_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
