// Tests of the tally: every task is counted once, by the attempt that counts.

#include "run/driver/coordinator/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

// Ends an attempt with one counter.
static void hold(struct tally *tally, size_t task, uint32_t attempt, char *name, int64_t value)
{
    Weft__Counter counter = WEFT__COUNTER__INIT, *counters[] = {&counter};
    Weft__TaskEnd end = WEFT__TASK_END__INIT;
    counter.name = name;
    counter.value = value;
    end.attempt = attempt;
    end.records_in = 10;
    end.bytes_in = 100;
    end.records_out = 1;
    end.n_counters = 1;
    end.counters = counters;
    assert_int_equal(tally_hold(tally, task, &end), WEFT_OK);
}

static struct tally_totals sum(struct tally *tally)
{
    struct tally_totals totals = {0};
    for (size_t i = 0; i < tally->task_count; i++)
        tally_add(tally, i, &totals);
    tally_sort(tally);
    return totals;
}

static void the_last_attempt_of_a_task_counts(void **state)
{
    (void)state;
    struct tally tally;
    assert_int_equal(tally_init(&tally, 2), WEFT_OK);
    tally_begin(&tally, 0, 0);
    hold(&tally, 0, 0, "lines", 5);
    tally_begin(&tally, 0, 1);  // its worker was lost: it runs again
    hold(&tally, 0, 1, "lines", 7);
    tally_begin(&tally, 1, 0);
    hold(&tally, 1, 0, "errors", 2);
    const struct tally_totals totals = sum(&tally);
    assert_int_equal(totals.records_in, 20);
    assert_int_equal(totals.bytes_in, 200);
    assert_int_equal(totals.records_out, 2);
    assert_int_equal(tally.counters.count, 2);
    assert_string_equal(tally.counters.items[0].name, "errors");
    assert_int_equal(tally.counters.items[0].value, 2);
    assert_string_equal(tally.counters.items[1].name, "lines");
    assert_int_equal(tally.counters.items[1].value, 7);
    tally_fini(&tally);
}

static void a_stale_attempt_does_not_count(void **state)
{
    (void)state;
    struct tally tally;
    assert_int_equal(tally_init(&tally, 1), WEFT_OK);
    hold(&tally, 0, 0, "never", 1);  // it was not begun
    tally_begin(&tally, 0, 3);
    hold(&tally, 0, 2, "stale", 1);
    assert_int_equal(sum(&tally).records_in, 0);
    assert_int_equal(tally.counters.count, 0);
    tally_fini(&tally);
}

static void what_is_dropped_does_not_count(void **state)
{
    (void)state;
    struct tally tally;
    assert_int_equal(tally_init(&tally, 1), WEFT_OK);
    tally_begin(&tally, 0, 0);
    hold(&tally, 0, 0, "lines", 1);
    tally_drop(&tally, 0);
    assert_int_equal(sum(&tally).records_in, 0);
    assert_int_equal(tally.counters.items[0].value, 0);
    tally_fini(&tally);
}

static void a_counter_at_its_end_stays_there(void **state)
{
    (void)state;
    struct tally tally;
    assert_int_equal(tally_init(&tally, 2), WEFT_OK);
    tally_begin(&tally, 0, 0);
    tally_begin(&tally, 1, 0);
    hold(&tally, 0, 0, "huge", INT64_MAX);
    hold(&tally, 1, 0, "huge", 1);
    sum(&tally);
    assert_true(tally.counters.items[0].value == INT64_MAX);
    tally_fini(&tally);
}

static void what_an_earlier_run_counted_counts_until_the_task_is_run_again(void **state)
{
    (void)state;
    struct tally tally;
    assert_int_equal(tally_init(&tally, 2), WEFT_OK);
    assert_int_equal(tally_restore(&tally, 0, "lines", 5), WEFT_OK);
    assert_int_equal(tally_restore(&tally, 0, "errors", 1), WEFT_OK);
    assert_int_equal(tally_restore(&tally, 1, "lines", 100), WEFT_OK);
    assert_true(tally_is_restored(&tally, 1));
    tally_begin(&tally, 1, 0);
    assert_false(tally_is_restored(&tally, 1));
    hold(&tally, 1, 0, "lines", 7);
    assert_int_equal(sum(&tally).records_in, 10);  // what this run has read
    assert_int_equal(tally.counters.items[0].value, 1);
    assert_int_equal(tally.counters.items[1].value, 12);
    tally_fini(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_attempt_of_a_task_counts),
        cmocka_unit_test(a_stale_attempt_does_not_count),
        cmocka_unit_test(what_is_dropped_does_not_count),
        cmocka_unit_test(a_counter_at_its_end_stays_there),
        cmocka_unit_test(what_an_earlier_run_counted_counts_until_the_task_is_run_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
