// Tests of run/driver/report: facts go in, a program's callback and a file show what comes of them.

#include "run/driver/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/talk/talk_testing.h"

static weft_progress last;

static void take_progress(void *data, const weft_progress *progress)
{
    (void)data;
    last = *progress;
}

static struct report start(bool is_silent)
{
    struct report report;
    const struct run_options options = {.progress = take_progress, .verbose = true};
    report_init(&report, &options, is_silent, testing_file, 0);
    last = (weft_progress){0};
    return report;
}

static const struct report_facts three_kinds = {
    .stage_count = 1, .task_counts = {2, 4, 3}, .input_bytes = 1000};

static void the_step_is_the_first_kind_of_task_that_is_not_through(void **state)
{
    (void)state;
    static const struct {
        uint32_t done[SCHED_KIND_COUNT];
        bool is_map_only;
        const char *step;
        uint32_t tasks_done;
    } cases[] = {
        {{0, 0, 0}, false, "sample", 0}, {{1, 0, 0}, false, "sample", 1},
        {{2, 0, 0}, false, "map", 0},    {{2, 3, 0}, false, "map", 3},
        {{2, 4, 0}, false, "reduce", 0}, {{2, 4, 3}, false, "reduce", 3},
        {{2, 4, 0}, true, "map", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct report report = start(false);
        struct report_facts facts = three_kinds;
        memcpy(facts.done_counts, cases[i].done, sizeof facts.done_counts);
        facts.is_map_only = cases[i].is_map_only;
        report_show(&report, &facts, 1);
        assert_string_equal(last.step, cases[i].step);
        assert_int_equal(last.tasks_done, cases[i].tasks_done);
        report_fini(&report);
    }
}

// Figures of many workers are put together only when they are shown.
static void facts_are_due_with_a_new_step_and_from_time_to_time(void **state)
{
    (void)state;
    struct report report = start(false);
    struct report_facts facts = three_kinds;
    const uint64_t begun_ns = UINT64_C(1) << 40, second_ns = 1000000000;
    assert_true(report_is_due(&report, &facts, begun_ns));
    report_show(&report, &facts, begun_ns);
    assert_false(report_is_due(&report, &facts, begun_ns + 1));
    facts.done_counts[SCHED_SAMPLE] = 1;
    assert_false(report_is_due(&report, &facts, begun_ns + 1));
    facts.done_counts[SCHED_SAMPLE] = 2;
    assert_true(report_is_due(&report, &facts, begun_ns + 1));  // the map begins
    report_show(&report, &facts, begun_ns + 1);
    assert_false(report_is_due(&report, &facts, begun_ns + 2));
    facts.stage = 1;
    assert_true(report_is_due(&report, &facts, begun_ns + 2));
    facts.stage = 0;
    assert_true(report_is_due(&report, &facts, begun_ns + second_ns));
    report_fini(&report);
}

// Bytes that the sample has read are not counted among those of the map.
static void bytes_are_those_of_the_map_alone(void **state)
{
    (void)state;
    struct report report = start(false);
    struct report_facts facts = three_kinds;
    facts.figures.bytes_in = 300;
    report_show(&report, &facts, 1);
    assert_int_equal(last.bytes_total, 0);
    facts.done_counts[SCHED_SAMPLE] = 2;
    facts.figures.bytes_begun = 50;
    report_show(&report, &facts, UINT64_C(1) << 40);
    assert_int_equal(last.bytes_total, 1000);
    assert_int_equal(last.bytes_done, 50);
    facts.figures.bytes_in = 700;
    report_show(&report, &facts, UINT64_C(2) << 40);
    assert_int_equal(last.bytes_done, 450);
    facts.figures.bytes_in = 5000;  // a worker was lost, and its input is read again
    report_show(&report, &facts, UINT64_C(3) << 40);
    assert_int_equal(last.bytes_done, 1000);
    report_fini(&report);
}

static void a_later_stage_counts_its_tasks_and_no_bytes(void **state)
{
    (void)state;
    struct report report = start(false);
    struct report_facts facts = three_kinds;
    facts.stage = 1;
    facts.stage_count = 2;
    facts.done_counts[SCHED_SAMPLE] = 2;
    facts.done_counts[SCHED_MAP] = 1;
    report_show(&report, &facts, 1);
    assert_string_equal(last.step, "map");
    assert_int_equal(last.bytes_total, 0);
    assert_int_equal(last.tasks_done, 1);
    report_fini(&report);
}

static void the_status_of_no_kind_of_task_is_ignored(void **state)
{
    (void)state;
    struct report report = start(false);
    struct status_words words = {.kind = SCHED_KIND_COUNT, .task = 3, .text = "nonsense"};
    report_status(&report, &words);
    report_show(&report, &three_kinds, 1);
    assert_null(strstr(printed(), "nonsense"));
    words.kind = SCHED_MAP;
    memcpy(words.text, "halfway", 8);
    report_status(&report, &words);
    report_show(&report, &three_kinds, UINT64_C(1) << 40);
    assert_non_null(strstr(printed(), "map task 3: \"halfway\""));
    report_fini(&report);
}

static void retries_are_counted_and_shown(void **state)
{
    (void)state;
    struct report report = start(false);
    const struct sched_attempt at = {.kind = SCHED_REDUCE, .task = 7};
    report_retry(&report, &at, 2, 4, "the moon is full");
    assert_int_equal(report.retry_count, 1);
    assert_string_equal(printed(),
                        "weft: reduce task 7 failed, attempt 2 of 4\n  the moon is full\n");
    report_fini(&report);
}

static void a_silent_run_warns_of_nothing_and_shows_no_end(void **state)
{
    (void)state;
    const struct summary summary = {.job = "plain", .code = WEFT_ABORTED, .error = "no"};
    struct report report = start(true);
    report_warn(&report, "watch out");
    report_end(&report, &summary);
    assert_string_equal(printed(), "");
    report_fini(&report);
    report = start(false);
    report_warn(&report, "watch out");
    assert_non_null(strstr(printed(), "watch out"));
    report_silence(&report);
    report_end(&report, &summary);
    assert_string_equal(printed(), "");
    report_fini(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_step_is_the_first_kind_of_task_that_is_not_through),
        cmocka_unit_test(facts_are_due_with_a_new_step_and_from_time_to_time),
        cmocka_unit_test(bytes_are_those_of_the_map_alone),
        cmocka_unit_test(a_later_stage_counts_its_tasks_and_no_bytes),
        cmocka_unit_test(the_status_of_no_kind_of_task_is_ignored),
        cmocka_unit_test(retries_are_counted_and_shown),
        cmocka_unit_test(a_silent_run_warns_of_nothing_and_shows_no_end),
    };
    return cmocka_run_group_tests(tests, testing_make_file, testing_close_file);
}
