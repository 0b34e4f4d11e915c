// Tests of lateness: which attempts are late, and how much work a place has in its hands. Times are in milliseconds.
#include "run/driver/coordinator/lateness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct lateness *lateness;
static char said[256];

static struct sched_attempt map_at(uint32_t task, uint32_t slot)
{
    return (struct sched_attempt){.kind = SCHED_MAP, .task = task, .attempt = 1, .slot = slot};
}

static void begin(uint32_t place, struct sched_attempt at, uint64_t now_ms)
{
    lateness_begin(lateness, place, &at, now_ms * 1000000);
}

static void end(uint32_t place, struct sched_attempt at, bool is_good, uint64_t now_ms)
{
    const struct lateness_end end = {
        .at = &at, .is_good = is_good, .is_kept = is_good, .task_count = 100};
    lateness_end(lateness, place, &end, now_ms * 1000000);
}

static void note(void *owner, uint32_t place, const struct sched_attempt *at)
{
    (void)owner;
    const size_t size = strlen(said);
    snprintf(said + size, sizeof said - size, "%s%u:%u", size ? " " : "", place, at->task);
}

static const char *late(uint64_t now_ms)
{
    said[0] = 0;
    lateness_look(lateness, now_ms * 1000000, note, NULL);
    return said;
}

static int set_up(void **unused)
{
    (void)unused;
    lateness = lateness_new(3);
    return lateness ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    lateness_free(lateness);
    return 0;
}

// Of 100 tasks, `count` have ended at place 0, each after 1 s; now it is `count` seconds.
static void let_end(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        begin(0, map_at(i, 0), 1000 * i);
        end(0, map_at(i, 0), true, 1000 * i + 1000);
    }
}

static void an_attempt_is_late_after_twice_the_median_and_a_bit(void **unused)
{
    (void)unused;
    let_end(3);
    begin(1, map_at(50, 2), 3000);
    assert_string_equal(late(3000 + 2300), "");
    assert_string_equal(late(3000 + 2301), "1:50");
    assert_string_equal(late(3000 + 9000), "1:50");  // again and again
}

static void nothing_is_late_before_three_have_ended_well(void **unused)
{
    (void)unused;
    let_end(2);
    begin(1, map_at(50, 0), 2000);
    begin(2, map_at(51, 0), 2000);
    end(2, map_at(51, 0), false, 3000);
    assert_string_equal(late(90000), "");
}

static void one_of_two_tasks_is_enough(void **unused)
{
    (void)unused;
    const struct sched_attempt at = map_at(0, 0);
    const struct lateness_end ended = {.at = &at, .is_good = true, .task_count = 2};
    begin(0, at, 0);
    begin(1, map_at(1, 0), 0);
    lateness_end(lateness, 0, &ended, UINT64_C(1000) * 1000000);
    assert_string_equal(late(2301), "1:1");
}

static void an_attempt_that_waits_begins_when_the_one_before_it_ends(void **unused)
{
    (void)unused;
    let_end(3);
    begin(1, map_at(50, 0), 3000);
    begin(1, map_at(51, 0), 3000);
    end(1, map_at(50, 0), true, 5000);
    assert_string_equal(late(7300), "");
    assert_string_equal(late(7301), "1:51");
}

static void the_first_is_as_old_as_before_when_the_second_ends(void **unused)
{
    (void)unused;
    let_end(3);
    begin(1, map_at(50, 0), 3000);
    begin(1, map_at(51, 0), 3000);
    end(1, map_at(51, 0), false, 5000);
    assert_string_equal(late(5301), "1:50");
}

static void attempts_of_another_kind_are_not_compared(void **unused)
{
    (void)unused;
    struct sched_attempt reduce = map_at(7, 0);
    reduce.kind = SCHED_REDUCE;
    let_end(3);
    begin(1, reduce, 3000);
    assert_string_equal(late(90000), "");
}

static void a_lost_worker_is_not_late_and_its_machine_keeps_what_it_made(void **unused)
{
    (void)unused;
    let_end(3);
    begin(0, map_at(50, 0), 3000);
    assert_int_equal(lateness_made_ns(lateness, 0), UINT64_C(3000) * 1000000);
    lateness_forget(lateness, 0, false);
    assert_string_equal(late(90000), "");
    assert_int_equal(lateness_made_ns(lateness, 0), UINT64_C(3000) * 1000000);
    lateness_forget(lateness, 0, true);
    assert_int_equal(lateness_made_ns(lateness, 0), 0);
    lateness_forget(lateness, 2, true);  // nothing was ever there
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_attempt_is_late_after_twice_the_median_and_a_bit),
        TEST(nothing_is_late_before_three_have_ended_well),
        TEST(one_of_two_tasks_is_enough),
        TEST(an_attempt_that_waits_begins_when_the_one_before_it_ends),
        TEST(the_first_is_as_old_as_before_when_the_second_ends),
        TEST(attempts_of_another_kind_are_not_compared),
        TEST(a_lost_worker_is_not_late_and_its_machine_keeps_what_it_made),
    };
    return cmocka_run_group_tests_name("lateness", tests, NULL, NULL);
}
