// Tests of running jobs from inside a program: this one, which is its own worker.

#include <weft/weft.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/var/tmp/weft-program-XXXXXX";

static void count_lines(weft_task *task, weft_bytes line)
{
    weft_counter_add(task, "lines", 1);
    weft_emit_int(task, line, 1);
}

static void emit_config(weft_task *task, weft_bytes line)
{
    (void)line;
    const char *option = weft_option(weft_task_args(task), 'x', 0);
    weft_emit(task, weft_task_config(task), weft_text(option ? option : "none"));
}

static void append_config(weft_task *task, weft_bytes value)
{
    (void)value;
    weft_emit(task, weft_task_config(task), weft_input_key(task));
}

static void fail_on_line(weft_task *task, weft_bytes line)
{
    weft_fail(task, "no good: %.*s", (int)line.size, line.data);
}

static void die_once(weft_task *task, weft_bytes line)
{
    const int fd = open("died", O_CREAT | O_EXCL, 0600);
    if (fd >= 0)
        _exit(1);
    count_lines(task, line);
}

static void sleep_long(weft_task *task, weft_bytes line)
{
    (void)task;
    (void)line;
    sleep(600);
}

static const weft_job counting = {
    .name = "counting", .map = count_lines, .combine = weft_sum, .reduce = weft_sum};
static const weft_job configured_next = {.name = "next", .map = append_config};
static const weft_job configured = {
    .name = "configured", .map = emit_config, .options = "x:", .next = &configured_next};
static const weft_job listed = {
    .name = "listed", .map = emit_config, .options = "x:", .config = {"listed config", 13}};
static const weft_job dying_once = {
    .name = "dying", .map = die_once, .combine = weft_sum, .reduce = weft_sum};
static const weft_job failing = {.name = "failing", .map = fail_on_line};
static const weft_job sleeping = {.name = "sleeping", .map = sleep_long};
static const weft_job unknown = {.name = "unknown", .map = count_lines};
// No name finds it, and it does not hide the others.
static const weft_job nameless = {.map = count_lines};
static const weft_job *const jobs[] = {&nameless, &counting, &configured, &failing,
                                       &sleeping, &listed,   &dying_once, NULL};

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static weft_run *submit(const weft_job *job, const char *output)
{
    const char *const inputs[] = {path_of("input"), NULL};
    const weft_options options = {
        .inputs = inputs, .output = path_of(output), .max_attempts = 1, .force = true};
    return weft_submit(job, &options);
}

static void expect_file(const char *name, const char *content)
{
    char text[256] = "";
    FILE *file = fopen(path_of(name), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_string_equal(text, content);
}

static void a_submitted_job_runs_and_counts(void **state)
{
    (void)state;
    weft_run *run = submit(&counting, "output");
    assert_non_null(run);
    assert_int_equal(weft_run_wait(run, 0), WEFT_OK);
    assert_int_equal(weft_run_wait(run, 0), WEFT_OK);  // again is fine
    expect_file("output", "a\t2\nb\t1\n");
    assert_int_equal(weft_run_counter(run, "lines"), 3);
    assert_int_equal(weft_run_counter(run, "weft.records_in"), 3);
    assert_int_equal(weft_run_counter(run, "weft.bytes_in"), 6);
    assert_int_equal(weft_run_counter(run, "weft.records_out"), 2);
    assert_int_equal(weft_run_counter(run, "weft.bytes_out"), 8);
    assert_int_equal(weft_run_counter(run, "nobody"), 0);
    weft_run_free(run);
}

static void several_jobs_run_side_by_side(void **state)
{
    (void)state;
    weft_run *runs[4];
    char names[4][16];
    for (int i = 0; i < 4; i++) {
        snprintf(names[i], sizeof names[i], "output%d", i);
        runs[i] = submit(&counting, names[i]);
        assert_non_null(runs[i]);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(weft_run_wait(runs[i], 0), WEFT_OK);
        expect_file(names[i], "a\t2\nb\t1\n");
        unlink(path_of(names[i]));
        weft_run_free(runs[i]);
    }
}

// Names and configs that were built at run time travel to the worker, for every stage.
static void configs_and_options_of_the_moment_reach_the_worker(void **state)
{
    (void)state;
    weft_job next = configured_next, job = configured;
    char first_bytes[] = "first", next_bytes[] = "next";
    next.config = weft_text(next_bytes);
    job.config = weft_text(first_bytes);
    job.next = &next;
    const char *const inputs[] = {path_of("input"), NULL}, *const arguments[] = {"-x", "7", NULL};
    const weft_options options = {
        .inputs = inputs, .output = path_of("output"), .force = true, .arguments = arguments};
    weft_run *run = weft_submit(&job, &options);
    assert_non_null(run);
    assert_int_equal(weft_run_wait(run, 0), WEFT_OK);
    expect_file("output", "next\tfirst\nnext\tfirst\nnext\tfirst\n");
    weft_run_free(run);
}

static void a_failure_is_told_to_whoever_waits(void **state)
{
    (void)state;
    weft_run *run = submit(&failing, "failed");
    assert_non_null(run);
    assert_int_equal(weft_run_wait(run, 0), WEFT_ABORTED);
    assert_non_null(strstr(weft_error(), "no good: a"));
    assert_int_equal(access(path_of("failed"), F_OK), -1);
    weft_run_free(run);
}

static void what_cannot_start_is_refused_at_once(void **state)
{
    (void)state;
    assert_null(submit(&unknown, "output"));
    assert_non_null(strstr(weft_error(), "unknown is not among those given to weft_start"));
    const char *const arguments[] = {"-q", NULL};
    const weft_options options = {.arguments = arguments};
    assert_null(weft_submit(&configured, &options));
    assert_true(weft_error()[0] != 0);
}

static void options_of_an_older_size_mean_the_defaults(void **state)
{
    (void)state;
    const char *const inputs[] = {path_of("input"), NULL};
    weft_options options;
    memset(&options, 0xff, sizeof options);  // bytes after the older struct are not ours
    options.inputs = inputs;
    options.output = path_of("output");
    options.force = true;
    weft_run *run =
        weft_submit_sized(&counting, sizeof counting, &options, offsetof(weft_options, slots));
    assert_non_null(run);
    assert_int_equal(weft_run_wait(run, 0), WEFT_OK);
    weft_run_free(run);
}

static void freeing_a_run_cancels_it(void **state)
{
    (void)state;
    weft_run *run = submit(&sleeping, "cancelled");
    assert_non_null(run);
    weft_run_free(run);
    run = submit(&sleeping, "cancelled");
    assert_non_null(run);
    usleep(50000);
    weft_run_free(run);
    assert_int_equal(access(path_of("cancelled"), F_OK), -1);
    weft_run_free(NULL);
}

static bool is_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

static void a_run_is_waited_for_as_long_as_the_caller_says(void **state)
{
    (void)state;
    weft_run *run = submit(&sleeping, "cancelled");
    assert_non_null(run);
    assert_false(weft_run_is_done(run));
    assert_int_equal(weft_run_wait(run, 20), WEFT_DEADLINE_EXCEEDED);
    assert_false(is_readable(weft_run_descriptor(run)));
    weft_run_cancel(run);
    struct pollfd end = {.fd = weft_run_descriptor(run), .events = POLLIN};
    assert_int_equal(poll(&end, 1, 60000), 1);
    assert_true(weft_run_is_done(run));
    assert_int_equal(weft_run_wait(run, 0), WEFT_CANCELLED);
    assert_true(weft_error()[0] != 0);
    weft_run_cancel(run);  // has no effect
    assert_int_equal(access(path_of("cancelled"), F_OK), -1);
    weft_run_free(run);
    run = submit(&counting, "output");
    assert_int_equal(weft_run_wait(run, 60000), WEFT_OK);
    weft_run_cancel(run);
    assert_int_equal(weft_run_wait(run, 0), WEFT_OK);
    assert_true(is_readable(weft_run_descriptor(run)));
    weft_run_free(run);
    weft_run_cancel(NULL);
    assert_int_equal(weft_run_descriptor(NULL), -1);
    assert_false(weft_run_is_done(NULL));
    assert_int_equal(weft_run_wait(NULL, 0), WEFT_FAILED_PRECONDITION);
}

// The run waits for its input, so that it cannot have read the job and options that are overwritten.
static void what_was_submitted_may_be_overwritten(void **state)
{
    (void)state;
    char name[] = "listed", config[] = "a config", fifo[128], output[128], format[] = "lines";
    snprintf(fifo, sizeof fifo, "%s", path_of("fifo"));
    snprintf(output, sizeof output, "%s", path_of("output"));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const char *inputs[] = {fifo, NULL};
    weft_job job = {.name = name, .map = emit_config, .options = "x:", .config = weft_text(config)};
    weft_options options = {.inputs = inputs, .output = output, .force = true, .format = format};
    weft_run *run = weft_submit(&job, &options);
    assert_non_null(run);
    memset(name, 'X', sizeof name - 1);
    memset(config, 'X', sizeof config - 1);
    memset(output, 'X', sizeof output - 1);
    memset(format, 'X', sizeof format - 1);
    memset(&job, 0, sizeof job);
    memset(&options, 0, sizeof options);
    inputs[0] = NULL;
    assert_int_equal(weft_run_wait(run, 1), WEFT_DEADLINE_EXCEEDED);
    assert_non_null(strstr(weft_error(), "listed"));
    FILE *writer = fopen(fifo, "w");
    assert_non_null(writer);
    fputs("line\n", writer);
    fclose(writer);
    assert_int_equal(weft_run_wait(run, 0), WEFT_OK);
    weft_run_free(run);
    expect_file("output", "a config\tnone\n");
    unlink(fifo);
}

// The worker finds the job by its name; its config is the one of the job that was submitted, also if that has none.
static void the_config_is_that_of_the_submitted_job(void **state)
{
    (void)state;
    weft_job job = listed;
    job.config = weft_none();
    weft_run *run = submit(&job, "output");
    assert_int_equal(weft_run_wait(run, 0), WEFT_OK);
    weft_run_free(run);
    expect_file("output", "\tnone\n\tnone\n\tnone\n");
}

// Neither side of the pipe ever comes.
static void a_run_that_waits_for_a_pipe_is_cancelled(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    const char *const inputs[] = {path_of("input"), NULL}, *const pipes[] = {path_of("fifo"), NULL};
    const weft_options waits_for[] = {{.inputs = pipes, .output = path_of("cancelled")},
                                      {.inputs = inputs, .output = path_of("fifo")}};
    for (size_t i = 0; i < 2; i++) {
        weft_run *run = weft_submit(&counting, &waits_for[i]);
        assert_non_null(run);
        assert_int_equal(weft_run_wait(run, 30), WEFT_DEADLINE_EXCEEDED);
        weft_run_cancel(run);
        assert_int_equal(weft_run_wait(run, 10000), WEFT_CANCELLED);
        assert_string_equal(weft_error(), "the run was cancelled");
        weft_run_free(run);
    }
    unlink(path_of("fifo"));
}

struct steps {
    bool has_mapped, has_reduced;
    char log[2000];
};

static void note_progress(void *data, const weft_progress *progress)
{
    struct steps *steps = data;
    steps->has_mapped |= strcmp(progress->step, "map") == 0 && progress->task_count > 0;
    steps->has_reduced |= strcmp(progress->step, "reduce") == 0 && progress->stage_count == 1;
}

static void note_line(void *data, const char *line)
{
    struct steps *steps = data;
    assert_null(strchr(line, '\n'));
    const size_t used = strlen(steps->log);
    snprintf(steps->log + used, sizeof steps->log - used, "%s\n", line);
}

static void progress_is_reported_to_the_program(void **state)
{
    (void)state;
    struct steps steps = {0};
    const char *const inputs[] = {path_of("input"), NULL};
    const weft_options options = {.inputs = inputs,
                                  .output = path_of("output"),
                                  .force = true,
                                  .progress = note_progress,
                                  .progress_data = &steps};
    weft_run *run = weft_submit(&counting, &options);
    assert_int_equal(weft_run_wait(run, 0), WEFT_OK);
    weft_run_free(run);
    assert_true(steps.has_mapped);
    assert_true(steps.has_reduced);
}

// Standard error is a file here: nothing may come into it.
static void with_a_log_nothing_is_printed(void **state)
{
    (void)state;
    struct steps steps = {0};
    const char *const inputs[] = {path_of("input"), NULL};
    const weft_options options = {
        .inputs = inputs, .output = path_of("failed"), .max_attempts = 2, .show_progress = true};
    FILE *printed = tmpfile();
    const int saved = dup(STDERR_FILENO);
    assert_non_null(printed);
    dup2(fileno(printed), STDERR_FILENO);
    weft_set_log(note_line, &steps);
    weft_run *run = weft_submit(&failing, &options);
    const weft_err code = weft_run_wait(run, 0);
    weft_run_free(run);
    weft_set_log(NULL, NULL);
    dup2(saved, STDERR_FILENO);
    close(saved);
    assert_int_equal(code, WEFT_ABORTED);
    assert_int_equal(fseek(printed, 0, SEEK_END), 0);
    assert_int_equal(ftell(printed), 0);
    fclose(printed);
    assert_non_null(strstr(steps.log, "failing: "));
    assert_non_null(strstr(steps.log, "attempt 1 of 2"));
    assert_non_null(strstr(steps.log, "no good: a"));
}

static void the_signals_of_the_program_are_left_alone(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);  // children are not even to be waited for
    signal(SIGINT, SIG_DFL);   // nohup and shells without job control have it ignored
    weft_run *run = submit(&counting, "output");
    assert_non_null(run);
    struct sigaction on_int, on_child;
    sigaction(SIGINT, NULL, &on_int);
    assert_int_equal(weft_run_wait(run, 0), WEFT_OK);
    sigaction(SIGCHLD, NULL, &on_child);
    assert_ptr_equal(on_int.sa_handler, SIG_DFL);
    assert_ptr_equal(on_child.sa_handler, SIG_IGN);
    expect_file("output", "a\t2\nb\t1\n");
    weft_run_free(run);
    signal(SIGCHLD, SIG_DFL);
}

// Relative names mean the directory that the program was in when it submitted the job. The worker, which dies at
// the first attempt and is started again, is in it too.
static weft_run *submit_and_move(const weft_job *job, const char *output)
{
    const char *const inputs[] = {"input", NULL};
    const weft_options options = {.inputs = inputs, .output = output, .max_attempts = 2};
    assert_int_equal(chdir(folder), 0);
    weft_run *run = weft_submit(job, &options);
    assert_int_equal(chdir("/"), 0);
    assert_non_null(run);
    return run;
}

static void a_program_may_change_its_directory_while_a_job_runs(void **state)
{
    (void)state;
    if (unshare(CLONE_FS) != 0)
        skip();  // a container forbids it
    for (int i = 0; i < 20; i++) {
        weft_run *run = submit_and_move(&dying_once, "moved");
        assert_int_equal(weft_run_wait(run, 0), WEFT_OK);
        weft_run_free(run);
        expect_file("moved", "a\t2\nb\t1\n");
        assert_int_equal(unlink(path_of("moved")), 0);
        assert_int_equal(unlink(path_of("died")), 0);
    }
    weft_run *failed = submit_and_move(&failing, "gone/");
    assert_int_equal(weft_run_wait(failed, 0), WEFT_ABORTED);
    weft_run_free(failed);
    weft_run_free(submit_and_move(&sleeping, "gone/"));
    assert_int_not_equal(access(path_of("gone"), F_OK), 0);
    assert_int_not_equal(access(path_of(".gone.weft-unfinished"), F_OK), 0);
}

// A free number below 3 would become a descriptor of the library, and get all the text that the program prints.
static void a_program_may_close_its_standard_descriptors(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        weft_run *run = submit(&counting, "output");
        const weft_err code = weft_run_wait(run, 0);
        weft_run_free(run);
        _exit(code == WEFT_OK && write(STDOUT_FILENO, "x", 1) < 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    expect_file("output", "a\t2\nb\t1\n");
}

static int make_folder(void **state)
{
    (void)state;
    FILE *file = mkdtemp(folder) ? fopen(path_of("input"), "w") : NULL;
    return file && fputs("a\nb\na\n", file) > 0 && fclose(file) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path_of("input"));
    unlink(path_of("output"));
    unlink(path_of("fifo"));                                     // of a test that has failed
    const int left = waitpid(-1, NULL, WNOHANG) == -1 ? 0 : -1;  // no child, not even a dead one
    return rmdir(folder) == 0 ? left : -1;
}

int main(int argc, char **argv)
{
    weft_start(argc, argv, jobs);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_submitted_job_runs_and_counts),
        cmocka_unit_test(several_jobs_run_side_by_side),
        cmocka_unit_test(configs_and_options_of_the_moment_reach_the_worker),
        cmocka_unit_test(a_failure_is_told_to_whoever_waits),
        cmocka_unit_test(what_cannot_start_is_refused_at_once),
        cmocka_unit_test(options_of_an_older_size_mean_the_defaults),
        cmocka_unit_test(freeing_a_run_cancels_it),
        cmocka_unit_test(a_run_is_waited_for_as_long_as_the_caller_says),
        cmocka_unit_test(what_was_submitted_may_be_overwritten),
        cmocka_unit_test(the_config_is_that_of_the_submitted_job),
        cmocka_unit_test(a_run_that_waits_for_a_pipe_is_cancelled),
        cmocka_unit_test(progress_is_reported_to_the_program),
        cmocka_unit_test(with_a_log_nothing_is_printed),
        cmocka_unit_test(the_signals_of_the_program_are_left_alone),
        cmocka_unit_test(a_program_may_change_its_directory_while_a_job_runs),
        cmocka_unit_test(a_program_may_close_its_standard_descriptors),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
