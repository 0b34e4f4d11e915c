// Tests of the driver against a worker that does no work. The program is its own worker, as every
// program with a job is.

#include "run/driver/driver.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/driver/driver_testing.h"

static size_t read_file(const char *name, char *text, size_t text_size)
{
    FILE *file = fopen(path_of(name), "rb");
    const size_t size = file ? fread(text, 1, text_size - 1, file) : 0;
    text[size] = 0;
    if (file)
        fclose(file);
    return file ? size : SIZE_MAX;
}

// ---- One run ------------------------------------------------------------------------------------

static void map(weft_task *task, weft_bytes record)
{
    (void)task;
    (void)record;
}

static const weft_job plain_job = {.name = "plain", .map = map, .reduce = weft_identity};

struct scene {
    struct run_options options;
    struct driver *driver;
    weft_err code;
    char error[2000], output[4000], log[4000], lives[64];
};

static void set_up(struct scene *scene)
{
    static char input[256], output[256];
    static char *inputs[2] = {input};
    snprintf(input, sizeof input, "%s", path_of("input"));
    snprintf(output, sizeof output, "%s", path_of("output"));
    *scene = (struct scene){.options = {.inputs = inputs,
                                        .input_count = 1,
                                        .output = output,
                                        .slots = 2,
                                        .memory_bytes = 64 << 20,
                                        .max_attempts = 4,
                                        .reducers = 1,
                                        .tmp = folder,
                                        .quiet = true}};
    static const char *const names[] = {"output", "log", "lives"};
    for (size_t i = 0; i < 3; i++)
        unlink(path_of(names[i]));
}

static void run(struct scene *scene, const weft_job *job, const char *what)
{
    const struct driver_spec spec = {.job = job, .options = &scene->options, .owns_process = true};
    setenv("WEFT_FAKE", what, 1);
    assert_int_equal(driver_new(&scene->driver, &spec), WEFT_OK);
    err_clear();
    scene->code = driver_run(scene->driver);
    snprintf(scene->error, sizeof scene->error, "%s", err_text());
    read_file("output", scene->output, sizeof scene->output);
    read_file("log", scene->log, sizeof scene->log);
    read_file("lives", scene->lives, sizeof scene->lives);
}

static int64_t counter(const struct scene *scene, const char *name)
{
    const struct summary *summary = driver_summary(scene->driver);
    for (size_t i = 0; i < summary->counter_count; i++)
        if (strcmp(summary->counters[i].name, name) == 0)
            return summary->counters[i].value;
    return -1;
}

static void expect_text(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

// All pieces, in order, and every task counted once.
static void expect_success(struct scene *scene, unsigned lives)
{
    const struct summary *summary = driver_summary(scene->driver);
    if (scene->code != WEFT_OK)
        fail_msg("%s", scene->error);
    const size_t size = strlen(scene->output);
    assert_true(size > 0 && size % PIECE_BYTES == 0);
    for (unsigned i = 0; i < size / PIECE_BYTES; i++) {
        char piece[PIECE_BYTES + 1];
        snprintf(piece, sizeof piece, "piece %02u\n", i);
        assert_memory_equal(scene->output + i * PIECE_BYTES, piece, PIECE_BYTES);
    }
    assert_int_equal(summary->exit_code, 0);
    assert_int_equal(summary->bytes_out, size);
    assert_int_equal(summary->records_in, summary->map_count);
    assert_int_equal(counter(scene, "maps"), summary->map_count);
    assert_int_equal(strlen(scene->lives), lives);
}

static void expect_failure(const struct scene *scene, weft_err code, int exit_code,
                           const char *text)
{
    assert_int_equal(scene->code, code);
    assert_int_equal(driver_summary(scene->driver)->exit_code, exit_code);
    expect_text(scene->error, text);
    assert_int_equal(access(path_of("output"), F_OK), -1);
}

static void tear_down(struct scene *scene)
{
    driver_free(scene->driver);
}

// ---- The tests ----------------------------------------------------------------------------------

static void a_job_runs_to_its_end(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    run(&scene, &plain_job, "nothing");
    expect_success(&scene, 1);
    assert_int_equal(driver_summary(scene.driver)->retry_count, 0);
    tear_down(&scene);
}

// A worker that does this once costs an attempt or a worker, and nothing else.
static void what_happens_once_costs_no_more_than_that(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        unsigned lives, retries;
    } cases[] = {
        {"crash once", 2, 1}, {"fail once", 1, 1},    {"garbage", 2, 0},      {"unreadable", 2, 0},
        {"stale", 1, 0},      {"no such task", 2, 0}, {"commit twice", 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        set_up(&scene);
        run(&scene, &plain_job, cases[i].what);
        expect_success(&scene, cases[i].lives);
        assert_int_equal(driver_summary(scene.driver)->retry_count, cases[i].retries);
        assert_int_equal(driver_summary(scene.driver)->worker_lost_count, cases[i].lives - 1);
        tear_down(&scene);
    }
}

static void what_an_earlier_worker_committed_is_kept(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    scene.options.reducers = 5;
    run(&scene, &plain_job, "die in reduce");
    expect_success(&scene, 2);
    expect_text(scene.log, "done 0\n");
    expect_text(scene.log, "done 2\n");
    tear_down(&scene);
}

static void a_crash_in_every_attempt_names_record_and_remedy(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    run(&scene, &plain_job, "crash always");
    expect_failure(&scene, WEFT_ABORTED, 1, "the job crashed: segmentation fault in map, ");
    expect_text(scene.error, "input near offset 42 (attempt 4 of 4)\n");
    expect_text(scene.error, "\n  try: tail -c +43 ");
    assert_true(strlen(scene.lives) >= 4);  // and those in which the record was looked for
    tear_down(&scene);
}

static void a_job_that_calls_exit_is_told_so(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    scene.options.max_attempts = 2;
    run(&scene, &plain_job, "exit always");
    expect_failure(&scene, WEFT_ABORTED, 1, "it exited with code 7 in map, ");
    expect_text(scene.error, "(attempt 2 of 2)");
    tear_down(&scene);
}

static void a_failure_that_stays_ends_the_job_with_its_sentence(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    run(&scene, &plain_job, "fail always");
    expect_failure(&scene, WEFT_ABORTED, 1, "the moon is full (attempt 4 of 4)");
    tear_down(&scene);
    set_up(&scene);
    run(&scene, &plain_job, "fail for good");
    expect_failure(&scene, WEFT_ABORTED, 1, "the moon is full");
    assert_null(strstr(scene.error, "attempt"));
    tear_down(&scene);
}

static void a_worker_that_cannot_go_on_ends_the_job(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    run(&scene, &plain_job, "full disk");
    expect_failure(&scene, WEFT_RESOURCE_EXHAUSTED, 5, "no space left on device");
    tear_down(&scene);
}

static void an_attempt_beyond_its_time_is_charged_and_its_worker_killed(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    scene.options.task_timeout_ms = 60;
    scene.options.max_attempts = 2;
    run(&scene, &plain_job, "loop");
    expect_failure(&scene, WEFT_DEADLINE_EXCEEDED, 6, "--task-timeout 60ms in map, ");
    expect_text(scene.error, "near offset 42 (attempt 2 of 2)");
    assert_true(strlen(scene.lives) >= 2);  // and those in which the record was looked for
    tear_down(&scene);
}

static void a_job_beyond_its_time_ends(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    scene.options.timeout_ms = 100;
    run(&scene, &plain_job, "loop");
    expect_failure(&scene, WEFT_DEADLINE_EXCEEDED, 6, "longer than --timeout 100ms");
    tear_down(&scene);
}

static void a_worker_of_another_version_is_refused(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    run(&scene, &plain_job, "other version");
    expect_failure(&scene, WEFT_FAILED_PRECONDITION, 1, "weft 1.2.3 and speaks wire version 99");
    tear_down(&scene);
}

static void a_program_that_ends_before_it_is_a_worker_is_told_what_to_do(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    run(&scene, &plain_job, "no hello");
    expect_failure(&scene, WEFT_UNAVAILABLE, 3, "exited with code 3 before it was ready");
    expect_text(scene.error, "\n  try: call weft_main or weft_start first in main()");
    tear_down(&scene);
}

static void a_worker_that_crashes_behind_its_work_does_not_spoil_it(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    run(&scene, &plain_job, "crash at the end");
    expect_success(&scene, 1);
    tear_down(&scene);
}

static void signals_end_the_run_and_leave_nothing(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    run(&scene, &plain_job, "interrupt");
    expect_failure(&scene, WEFT_CANCELLED, 130, "stopped by a signal (interrupt)");
    tear_down(&scene);
    set_up(&scene);
    run(&scene, &plain_job, "terminate");
    expect_failure(&scene, WEFT_CANCELLED, 143, "stopped by a signal (terminated)");
    tear_down(&scene);
    struct sigaction action;
    sigaction(SIGINT, NULL, &action);
    assert_ptr_equal(action.sa_handler, SIG_DFL);
}

static void *cancel_soon(void *driver)
{
    usleep(50000);
    driver_cancel(driver);
    return NULL;
}

static void another_thread_cancels_a_run(void **state)
{
    (void)state;
    struct scene scene;
    pthread_t thread;
    set_up(&scene);
    const struct driver_spec spec = {.job = &plain_job, .options = &scene.options};
    setenv("WEFT_FAKE", "loop", 1);
    assert_int_equal(driver_new(&scene.driver, &spec), WEFT_OK);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, scene.driver), 0);
    assert_int_equal(driver_run(scene.driver), WEFT_CANCELLED);
    pthread_join(thread, NULL);
    assert_int_equal(access(path_of("output"), F_OK), -1);
    tear_down(&scene);
}

static const weft_job last_job = {.name = "last", .map = map, .reduce = weft_identity};
static const weft_job staged_job = {
    .name = "first", .map = map, .reduce = weft_identity, .rounds = 2, .next = &last_job};

static void stages_feed_each_other_and_only_the_last_writes(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    run(&scene, &staged_job, "nothing");
    assert_int_equal(scene.code, WEFT_OK);
    assert_string_equal(scene.log, "open 0 job 0 parts 1 maps 3 samples 0 output 0 done 0\n"
                                   "open 1 job 0 parts 1 maps 1 samples 0 output 0 done 0\n"
                                   "open 2 job 1 parts 1 maps 1 samples 0 output 1 done 0\n");
    tear_down(&scene);
}

// What a stage keeps for the next dies with its worker.
static void a_worker_lost_in_a_later_stage_means_starting_over(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    run(&scene, &staged_job, "die in stage 1");
    assert_int_equal(scene.code, WEFT_OK);
    const char *again = strstr(scene.log, "open 1");
    expect_text(again, "open 0");
    expect_text(strstr(again, "open 0"), "open 1");
    assert_int_equal(counter(&scene, "maps"), 3 + 1 + 1);
    tear_down(&scene);
}

static void top_is_one_more_stage_behind_the_job(void **state)
{
    (void)state;
    static const weft_job counting = {.name = "counting", .map = map, .reduce = weft_sum};
    struct scene scene;
    set_up(&scene);
    scene.options.top = 10;
    scene.options.reducers = 4;
    run(&scene, &counting, "nothing");
    assert_int_equal(scene.code, WEFT_OK);
    expect_text(scene.log, "open 0 job 0 parts 1 maps 3 samples 32 output 0 done 0\n"
                           "open 1 job 1 parts 1 maps 4 samples 0 output 1 done 0\n");
    tear_down(&scene);
}

static void a_job_without_reduce_writes_what_its_map_tasks_make(void **state)
{
    (void)state;
    static const weft_job job = {.name = "map only", .map = map};
    struct scene scene;
    set_up(&scene);
    run(&scene, &job, "nothing");
    expect_success(&scene, 1);
    assert_int_equal(strlen(scene.output), 3 * PIECE_BYTES);
    expect_text(scene.log, "maps 3 samples 0 map-only output 1");
    tear_down(&scene);
}

static void a_budget_too_small_for_the_slots_means_fewer_slots(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    scene.options.slots = 64;
    scene.options.memory_bytes = 16 << 20;
    run(&scene, &plain_job, "nothing");
    expect_success(&scene, 1);
    assert_int_equal(driver_summary(scene.driver)->slots, 1);
    tear_down(&scene);
}

static int make_folder(void **state)
{
    (void)state;
    // Three map tasks; with more than one range a sample.
    return mkdtemp(folder) && setenv("WEFT_FAKE_FOLDER", folder, 1) == 0 &&
                   truncate(path_of("input"), 0) == -1 && creat(path_of("input"), 0666) >= 0 &&
                   truncate(path_of("input"), 3 << 20) == 0
               ? 0
               : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"output", "log", "lives", "input"};
    for (size_t i = 0; i < 4; i++)
        unlink(path_of(names[i]));
    // Nothing else may be in it.
    return rmdir(folder);
}

int main(void)
{
    int fd, page_fd;
    if (getenv("WEFT_FAKE_FOLDER"))
        snprintf(folder, sizeof folder, "%s", getenv("WEFT_FAKE_FOLDER"));
    if (worker_process_find_own(&fd, &page_fd))
        run_worker(fd, page_fd);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_runs_to_its_end),
        cmocka_unit_test(what_happens_once_costs_no_more_than_that),
        cmocka_unit_test(what_an_earlier_worker_committed_is_kept),
        cmocka_unit_test(a_crash_in_every_attempt_names_record_and_remedy),
        cmocka_unit_test(a_job_that_calls_exit_is_told_so),
        cmocka_unit_test(a_failure_that_stays_ends_the_job_with_its_sentence),
        cmocka_unit_test(a_worker_that_cannot_go_on_ends_the_job),
        cmocka_unit_test(an_attempt_beyond_its_time_is_charged_and_its_worker_killed),
        cmocka_unit_test(a_job_beyond_its_time_ends),
        cmocka_unit_test(a_worker_of_another_version_is_refused),
        cmocka_unit_test(a_program_that_ends_before_it_is_a_worker_is_told_what_to_do),
        cmocka_unit_test(a_worker_that_crashes_behind_its_work_does_not_spoil_it),
        cmocka_unit_test(signals_end_the_run_and_leave_nothing),
        cmocka_unit_test(another_thread_cancels_a_run),
        cmocka_unit_test(stages_feed_each_other_and_only_the_last_writes),
        cmocka_unit_test(a_worker_lost_in_a_later_stage_means_starting_over),
        cmocka_unit_test(top_is_one_more_stage_behind_the_job),
        cmocka_unit_test(a_job_without_reduce_writes_what_its_map_tasks_make),
        cmocka_unit_test(a_budget_too_small_for_the_slots_means_fewer_slots),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
