// Tests of run/talk/progress: the same run in every mode, with a clock of our own.

#include "run/talk/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "run/talk/talk_testing.h"

#define MS UINT64_C(1000000)

static struct progress start(enum progress_mode mode)
{
    struct progress progress;
    progress_init(&progress, &(struct run_options){0}, testing_file, 0);
    progress.mode = mode;
    progress.columns = 60;
    return progress;
}

static const struct progress_begin begin = {.job = "wordcount",
                                            .input_count = 2,
                                            .input_bytes = 1000000000,
                                            .workers = 1,
                                            .slots = 2,
                                            .memory_bytes = UINT64_C(512) << 20};

static void lines_tell_every_change_of_state_once(void **state)
{
    (void)state;
    struct progress progress = start(PROGRESS_LINES);
    struct progress_state at = {.step = "map", .stage_count = 1, .task_count = 64};
    progress_begin(&progress, &begin);
    assert_string_equal(printed(), "wordcount: 1.00 GB in 2 files, 2 slots, 537 MB of memory\n");
    progress_update(&progress, &at, 0);
    progress_update(&progress, &at, 500 * MS);
    progress_update(&progress, &at, 1500 * MS);
    assert_string_equal(printed(), "map: 64 tasks\n");
    at = (struct progress_state){.step = "reduce", .stage = 1, .stage_count = 3, .task_count = 1};
    progress_update(&progress, &at, 1600 * MS);
    assert_string_equal(printed(), "stage 2/3 reduce: 1 task\n");
    progress_fini(&progress);
}

static void a_terminal_gets_one_line_that_is_redrawn(void **state)
{
    (void)state;
    struct progress progress = start(PROGRESS_TERMINAL);
    struct progress_state at = {.step = "map",
                                .stage_count = 1,
                                .task_count = 64,
                                .bytes_done = 250000000,
                                .bytes_total = 1000000000};
    progress_begin(&progress, &begin);
    progress_update(&progress, &at, 0);
    progress_update(&progress, &at, 50 * MS);
    assert_string_equal(printed(), "");
    progress_update(&progress, &at, 500 * MS);
    char expected[80];
    snprintf(expected, sizeof expected, "\r%-59s",
             "map  25%  250 MB of 1.00 GB  500 MB/s  2 s left");
    assert_string_equal(printed(), expected);
    progress_update(&progress, &at, 550 * MS);
    assert_string_equal(printed(), "");
    progress_end(&progress, &(struct summary){.code = WEFT_ABORTED, .error = "why"});
    snprintf(expected, sizeof expected, "\r%59s\rweft: why\n", "");
    assert_string_equal(printed(), expected);
    progress_fini(&progress);
}

static void a_narrow_terminal_gets_a_narrow_line(void **state)
{
    (void)state;
    struct progress progress = start(PROGRESS_TERMINAL);
    const struct progress_state at = {.step = "reduce",
                                      .stage = 9,
                                      .stage_count = 20,
                                      .tasks_done = 5,
                                      .task_count = 8,
                                      .spill_bytes = 2000000};
    progress.columns = 40;
    progress_update(&progress, &at, 0);
    progress_update(&progress, &at, 1000 * MS);
    assert_string_equal(printed(), "\rstage 10/20 reduce  62%  1 s left      ");
    progress.columns = 100;
    progress_update(&progress, &at, 2000 * MS);
    assert_non_null(strstr(printed(), "\rstage 10/20 reduce  62%  5 of 8 tasks  1 s left  "
                                      "spilled 2.00 MB "));
    progress.columns = 1;
    progress_update(&progress, &at, 3000 * MS);
    assert_string_equal(printed(), "\rs");
    progress_fini(&progress);
}

static void json_tells_in_objects_at_most_once_a_second(void **state)
{
    (void)state;
    struct progress progress = start(PROGRESS_JSON);
    const struct progress_state at = {.step = "map",
                                      .stage_count = 1,
                                      .tasks_done = 16,
                                      .task_count = 64,
                                      .bytes_done = 250,
                                      .bytes_total = 1000,
                                      .records_in = 7,
                                      .memory_bytes = 5};
    progress_begin(&progress, &begin);
    assert_string_equal(printed(),
                        "{\"event\":\"start\",\"version\":\"0.1.0\",\"job\":\"wordcount\","
                        "\"input_count\":2,\"input_bytes\":1000000000,\"workers\":1,\"slots\":2,"
                        "\"memory_bytes\":536870912}\n");
    progress_update(&progress, &at, 100 * MS);
    assert_string_equal(printed(), "{\"event\":\"stage\",\"stage\":1,\"stage_count\":1,"
                                   "\"step\":\"map\",\"task_count\":64}\n");
    progress_update(&progress, &at, 1000 * MS);
    assert_string_equal(printed(), "");
    progress_update(&progress, &at, 1100 * MS);
    assert_string_equal(
        printed(), "{\"event\":\"progress\",\"stage\":1,\"stage_count\":1,\"step\":\"map\","
                   "\"task_count\":64,\"tasks_done\":16,\"bytes_done\":250,\"bytes_total\":1000,"
                   "\"percent\":25,\"records_in\":7,\"spill_bytes\":0,\"memory_bytes\":5,"
                   "\"seconds\":1.100}\n");
    progress_retry(&progress, "map task 3", 1, 4, "it crashed");
    assert_string_equal(printed(), "{\"event\":\"retry\",\"task\":\"map task 3\",\"attempt\":1,"
                                   "\"max_attempts\":4,\"error\":\"it crashed\"}\n");
    progress_warn(&progress, "fewer slots");
    assert_string_equal(printed(), "{\"event\":\"warning\",\"text\":\"fewer slots\"}\n");
    progress_end(&progress, &(struct summary){.job = "wordcount"});
    assert_memory_equal(printed(), "{\"event\":\"end\",\"job\":\"wordcount\",\"ok\":true,", 43);
    progress_fini(&progress);
}

static void what_a_task_says_is_told_now_and_then(void **state)
{
    (void)state;
    struct progress progress = start(PROGRESS_JSON);
    const struct progress_state at = {.step = "map", .stage_count = 1, .task_count = 2};
    progress_update(&progress, &at, 0);
    printed();
    progress_status(&progress, "map task 0", "begins");
    progress_status(&progress, "map task 1", "half \"done\"\033[2J");
    progress_update(&progress, &at, 999 * MS);
    assert_string_equal(printed(), "");
    progress_update(&progress, &at, 1000 * MS);
    const char *text = printed();
    const char *expected = "{\"event\":\"status\",\"task\":\"map task 1\",\"text\":\"half "
                           "\\\"done\\\"\\u001b[2J\"}\n";
    assert_memory_equal(text, expected, strlen(expected));
    progress_update(&progress, &at, 2500 * MS);
    assert_null(strstr(printed(), "status"));
    progress_status(&progress, "map task 1", "done");
    progress_end(&progress, &(struct summary){.job = "x"});
    assert_non_null(strstr(printed(), "\"text\":\"done\"}\n{\"event\":\"end\""));
    progress_fini(&progress);
}

static void what_a_task_says_does_nothing_to_a_terminal(void **state)
{
    (void)state;
    struct progress progress = start(PROGRESS_TERMINAL);
    const struct progress_state at = {.step = "map", .stage_count = 1, .task_count = 2};
    progress_update(&progress, &at, 0);
    progress_status(&progress, "map task 1", "\033[2J\r\n\xc3\xa4 and so on, as long as you like");
    progress_update(&progress, &at, 500 * MS);
    assert_string_equal(printed(),
                        "\rmap  0%  0 of 2 tasks  map task 1: \"\\x1b[2J\\r\\n\\xc3\\xa4 and");
    progress_fini(&progress);
    progress = start(PROGRESS_LINES);
    progress_status(&progress, "map task 1", "half\tdone");
    progress_update(&progress, &at, 0);
    assert_string_equal(printed(), "map: 2 tasks\n");
    progress.is_verbose = true;
    progress_status(&progress, "map task 1", "half\tdone");
    progress_update(&progress, &at, 1000 * MS);
    assert_string_equal(printed(), "map task 1: \"half\\tdone\"\n");
    progress_fini(&progress);
}

static void retries_and_warnings_are_told_above_the_line(void **state)
{
    (void)state;
    struct progress progress = start(PROGRESS_LINES);
    progress_retry(&progress, "map task 3", 1, 4, "it crashed");
    progress_warn(&progress, "fewer slots");
    assert_string_equal(printed(), "weft: map task 3 failed, attempt 1 of 4\n  it crashed\n"
                                   "weft: fewer slots\n");
    progress_fini(&progress);
}

static void quiet_tells_warnings_and_failures_only(void **state)
{
    (void)state;
    struct progress progress = start(PROGRESS_NONE);
    const struct progress_state at = {.step = "map"};
    progress_begin(&progress, &begin);
    progress_update(&progress, &at, 0);
    progress_update(&progress, &at, 5000 * MS);
    progress_retry(&progress, "map task 3", 1, 4, "it crashed");
    progress_end(&progress, &(struct summary){.job = "wordcount"});
    assert_string_equal(printed(), "");
    progress_warn(&progress, "careful");
    progress_end(&progress, &(struct summary){.code = WEFT_NOT_FOUND, .error = "no"});
    assert_string_equal(printed(), "weft: careful\nweft: no\n");
    progress_fini(&progress);
}

static void quiet_tells_of_clients_that_are_set_aside(void **state)
{
    (void)state;
    struct progress progress = start(PROGRESS_NONE);
    const struct crowd_change lost = {CROWD_LOST, "hill/1", .text = "client hill/1 is lost"};
    const struct crowd_change aside = {CROWD_ASIDE, "hill/2", .text = "client hill/2 is set aside"};
    progress_client(&progress, &lost, 0);
    progress_client(&progress, &aside, 0);
    assert_string_equal(printed(), "weft: client hill/2 is set aside\n");
    progress_fini(&progress);
}

static void the_mode_follows_the_options_and_the_descriptor(void **state)
{
    (void)state;
    struct progress progress;
    progress_init(&progress, &(struct run_options){.verbose = true}, testing_file, 5);
    assert_int_equal(progress.mode, PROGRESS_LINES);
    assert_true(progress.is_verbose);
    assert_false(progress.has_color);
    progress_init(&progress, &(struct run_options){.quiet = true}, testing_file, 5);
    assert_int_equal(progress.mode, PROGRESS_NONE);
    progress_init(&progress, &(struct run_options){.quiet = true, .json = true}, testing_file, 5);
    assert_int_equal(progress.mode, PROGRESS_JSON);
    const int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY);
    if (terminal < 0)
        skip();
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    progress_init(&progress, &(struct run_options){0}, terminal, 5);
    assert_int_equal(progress.mode, PROGRESS_TERMINAL);
    assert_true(progress.has_color);
    setenv("NO_COLOR", "1", 1);
    progress_init(&progress, &(struct run_options){0}, terminal, 5);
    assert_false(progress.has_color);
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    progress_init(&progress, &(struct run_options){0}, terminal, 5);
    assert_false(progress.has_color);
    close(terminal);
}

static void an_error_outside_a_run_is_reported_with_its_exit_code(void **state)
{
    (void)state;
    err_set(WEFT_NOT_FOUND, "cannot find x\n  try: y");
    assert_int_equal(progress_report_error(testing_file, "weft", false, WEFT_NOT_FOUND), 4);
    assert_string_equal(printed(), "weft: cannot find x\n  try: y\n");
    assert_int_equal(progress_report_error(testing_file, "weft", true, WEFT_NOT_FOUND), 4);
    assert_non_null(strstr(printed(), "\"ok\":false,\"code\":\"NOT_FOUND\",\"exit_code\":4,"
                                      "\"error\":\"cannot find x\\n  try: y\""));
    err_set(WEFT_INTERNAL, "a piece came twice");
    assert_int_equal(progress_report_error(testing_file, "./job", false, WEFT_INTERNAL), 70);
    assert_string_equal(printed(), "./job: a piece came twice\n"
                                   "  this is a bug in weft: please report it\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_make_file, testing_close_file)
    const struct CMUnitTest tests[] = {
        TEST(lines_tell_every_change_of_state_once),
        TEST(a_terminal_gets_one_line_that_is_redrawn),
        TEST(a_narrow_terminal_gets_a_narrow_line),
        TEST(json_tells_in_objects_at_most_once_a_second),
        TEST(what_a_task_says_is_told_now_and_then),
        TEST(what_a_task_says_does_nothing_to_a_terminal),
        TEST(retries_and_warnings_are_told_above_the_line),
        TEST(quiet_tells_warnings_and_failures_only),
        TEST(quiet_tells_of_clients_that_are_set_aside),
        TEST(the_mode_follows_the_options_and_the_descriptor),
        TEST(an_error_outside_a_run_is_reported_with_its_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
