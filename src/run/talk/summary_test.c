// Tests of run/talk/summary: the whole text and the whole object, compared with the expected ones.

#include "run/talk/summary.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct summary_counter counters[] = {{"bad lines", 3}, {"negative", -7}};

static const struct summary sample = {
    .job = "wordcount",
    .input_count = 22,
    .records_in = 10000000,
    .bytes_in = 1073741824,
    .records_out = 400000,
    .bytes_out = 5200000,
    .elapsed_ns = 643000000,
    .workers = 1,
    .slots = 2,
    .memory_limit = UINT64_C(1) << 30,
    .memory_peak = 123456789,
    .stage_count = 1,
    .map_count = 64,
    .reduce_count = 1,
    .phase_ns = {100000000, 500000000, 300000000, 50000000, 0, 20000000, 10000000, 20000000, 0},
};

static void assert_text(const struct summary *summary, bool is_verbose, bool has_color,
                        const char *expected)
{
    struct buf buf = {0};
    summary_format_text(&buf, summary, is_verbose, has_color);
    assert_string_equal(buf_text(&buf), expected);
    buf_fini(&buf);
}

static void a_good_run_is_told_in_five_lines(void **state)
{
    (void)state;
    assert_text(
        &sample, false, false,
        "wordcount done in 0.643 s, 1,670 MB/s\n"
        "  in     10,000,000 records, 1.07 GB of 22 files\n"
        "  out    400,000 records, 5.20 MB\n"
        "  spill  none\n"
        "  time   read 10% map 50% combine 30% sort 5% spill 0% merge 2% reduce 1% write 2% "
        "idle 0%\n");
}

static void details_counters_and_hints_follow(void **state)
{
    (void)state;
    struct summary summary = sample;
    summary.output = "counts/";
    summary.spill_bytes = 2500000000;
    summary.spill_runs = 14;
    summary.saved_bytes = 25200;
    summary.retry_count = 1;
    summary.worker_lost_count = 1;
    summary.has_switched_to_sort = true;
    summary.counters = counters;
    summary.counter_count = 2;
    assert_text(
        &summary, true, true,
        "\033[1mwordcount\033[0m done in 0.643 s, 1,670 MB/s\n"
        "  in     10,000,000 records, 1.07 GB of 22 files\n"
        "  out    400,000 records, 5.20 MB in counts/\n"
        "  spill  2.50 GB in 14 runs; saved 25.2 kB of map output, in case the run is killed\n"
        "  time   read 10% map 50% combine 30% sort 5% spill 0% merge 2% reduce 1% write 2% "
        "idle 0%\n"
        "  memory 123 MB at most, of 1 GiB\n"
        "  tasks  64 map tasks, 1 reduce task, 1 stage, 2 slots, 1 worker lost\n"
        "  read    0.100 s of all slots\n"
        "  map     0.500 s of all slots\n"
        "  combine 0.300 s of all slots\n"
        "  sort    0.050 s of all slots\n"
        "  spill   0.000 s of all slots\n"
        "  merge   0.020 s of all slots\n"
        "  reduce  0.010 s of all slots\n"
        "  write   0.020 s of all slots\n"
        "  idle    0.000 s of all slots\n"
        "  count  bad lines 3\n"
        "  count  negative -7\n"
        "  note   mostly distinct keys: sorted instead of hashed\n"
        "  note   did not fit in 1 GiB: with more --memory it is faster\n"
        "  note   1 attempt failed and the task was tried again\n");
}

static void an_empty_run_divides_by_nothing(void **state)
{
    (void)state;
    assert_text(&(struct summary){.job = "count", .input_count = 1}, false, false,
                "count done in 0.000 s, 0 MB/s\n"
                "  in     0 records, 0 B of 1 file\n"
                "  out    0 records, 0 B\n"
                "  spill  none\n"
                "  time   read 0% map 0% combine 0% sort 0% spill 0% merge 0% reduce 0% write 0% "
                "idle 0%\n");
}

static void a_failed_run_tells_why_and_that_the_output_is_cut(void **state)
{
    (void)state;
    struct summary summary = sample;
    summary.code = WEFT_ABORTED;
    summary.error = "the job failed\n  a reason\n  try: something";
    assert_text(&summary, true, false, "weft: the job failed\n  a reason\n  try: something\n");
    summary.is_output_cut = true;
    summary.error = NULL;
    assert_text(&summary, false, false,
                "weft: ABORTED\n  the output is cut: only its beginning was written\n");
    summary.is_output_cut = false;
    summary.is_output_out = true;
    assert_text(&summary, false, false,
                "weft: ABORTED\n  all of the output was written before that\n");
}

static void lines_stay_under_a_hundred_columns(void **state)
{
    (void)state;
    struct summary summary = sample;
    for (int i = 0; i < PHASE_COUNT; i++)
        summary.phase_ns[i] = 11111111;
    summary.phase_ns[0] = UINT64_C(1) << 50;
    struct buf buf = {0};
    summary_format_text(&buf, &summary, false, false);
    weft_bytes text = buf_bytes(&buf);
    for (weft_bytes line; weft_next_line(&text, &line);)
        assert_true(line.size <= 100);
    buf_fini(&buf);
}

static void the_object_has_the_documented_fields(void **state)
{
    (void)state;
    struct summary summary = sample;
    struct buf buf = {0};
    summary.counters = counters;
    summary.counter_count = 2;
    summary_format_json(&buf, &summary);
    assert_string_equal(
        buf_text(&buf),
        "{\"event\":\"end\",\"job\":\"wordcount\",\"ok\":true,\"code\":\"OK\",\"exit_code\":0,"
        "\"error\":null,\"output\":null,\"output_cut\":false,\"input_count\":22,"
        "\"records_in\":10000000,\"bytes_in\":1073741824,\"records_out\":400000,"
        "\"bytes_out\":5200000,\"seconds\":0.643,\"megabytes_per_second\":1670,\"spill_bytes\":0,"
        "\"spill_runs\":0,\"saved_bytes\":0,\"relayed_bytes\":0,\"workers\":1,\"slots\":2,\"memory_limit_bytes\":1073741824,"
        "\"memory_peak_bytes\":123456789,\"stage_count\":1,\"map_tasks\":64,\"reduce_tasks\":1,"
        "\"retries\":0,\"workers_lost\":0,\"backups\":0,\"resumed_tasks\":0,"
        "\"already_done\":false,\"bad_records\":0,\"unsplit_inputs\":0,"
        "\"switched_to_sort\":false,\"phase_seconds\":{"
        "\"read\":0.100,\"map\":0.500,\"combine\":0.300,\"sort\":0.050,\"spill\":0.000,"
        "\"merge\":0.020,\"reduce\":0.010,\"write\":0.020,\"idle\":0.000},"
        "\"counters\":{\"bad lines\":3,\"negative\":-7}}\n");
    json_t *read = json_loadb(buf.data, buf.size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(read);
    json_decref(read);
    buf_fini(&buf);
}

static const struct summary_client clients[] = {
    {.name = "near/1", .slots = 2, .task_count = 60, .bytes_in = 2000000},
    {.name = "far/2",
     .slots = 1,
     .end = CROWD_LOST,
     .task_count = 7,
     .again_count = 3,
     .backup_count = 2,
     .bytes_in = 1000000,
     .lent_bytes = 500000,
     .fetched_bytes = 40000,
     .relayed_bytes = 30000},
};

static void the_work_of_each_client_is_listed(void **state)
{
    (void)state;
    struct summary summary = sample;
    struct buf buf = {0};
    summary.is_far = true;
    summary.clients = clients;
    summary.client_count = 2;
    summary_format_text(&buf, &summary, true, false);
    assert_non_null(strstr(
        buf_text(&buf),
        "  shared 2 clients: 67 tasks, 3 of them again, 2 second attempts; 3.00 MB read, "
        "500 kB of it from the server; 40.0 kB from clients, 30.0 kB of it through the server\n"
        "  client near/1: 60 tasks; 2.00 MB read, 0 B of it from the server; 0 B from clients\n"
        "  client far/2 (lost): 7 tasks, 3 of them again, 2 second attempts; 1.00 MB read, "
        "500 kB of it from the server; 40.0 kB from clients, 30.0 kB of it through the server\n"));
    buf_fini(&buf);
    summary_format_json(&buf, &summary);
    assert_non_null(strstr(buf_text(&buf), "\"backups\":2,\"resumed_tasks\":0"));
    assert_non_null(
        strstr(buf_text(&buf),
               "\"clients\":[{\"client\":\"near/1\",\"slots\":2,\"end\":\"end\",\"tasks\":60,"
               "\"tasks_again\":0,\"backups\":0,\"bytes_in\":2000000,\"served_bytes\":0,"
               "\"fetched_bytes\":0,\"relayed_bytes\":0},"
               "{\"client\":\"far/2\",\"slots\":1,\"end\":\"lost\",\"tasks\":7,"
               "\"tasks_again\":3,\"backups\":2,\"bytes_in\":1000000,\"served_bytes\":500000,"
               "\"fetched_bytes\":40000,\"relayed_bytes\":30000}]"));
    buf_fini(&buf);
}

static void a_failure_is_told_in_the_object(void **state)
{
    (void)state;
    struct buf buf = {0};
    summary_format_json(&buf, &(struct summary){.job = "sort",
                                                .code = WEFT_CANCELLED,
                                                .error = "stopped\nby \"you\"",
                                                .exit_code = 143,
                                                .is_output_cut = true});
    assert_non_null(strstr(buf_text(&buf), "\"ok\":false,\"code\":\"CANCELLED\",\"exit_code\":143,"
                                           "\"error\":\"stopped\\nby \\\"you\\\"\",\"output\":null,"
                                           "\"output_cut\":true"));
    buf_fini(&buf);
}

static void a_counter_is_found_by_its_name(void **state)
{
    const struct summary summary = {.counters = counters, .counter_count = 2};
    (void)state;
    assert_int_equal(summary_find_counter(&summary, "negative"), -7);
    assert_int_equal(summary_find_counter(&summary, "missing"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_run_is_told_in_five_lines),
        cmocka_unit_test(details_counters_and_hints_follow),
        cmocka_unit_test(an_empty_run_divides_by_nothing),
        cmocka_unit_test(a_failed_run_tells_why_and_that_the_output_is_cut),
        cmocka_unit_test(lines_stay_under_a_hundred_columns),
        cmocka_unit_test(the_object_has_the_documented_fields),
        cmocka_unit_test(the_work_of_each_client_is_listed),
        cmocka_unit_test(a_failure_is_told_in_the_object),
        cmocka_unit_test(a_counter_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
