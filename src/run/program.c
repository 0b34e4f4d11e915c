// program: weft_main and its kin, on top of the driver and the worker.

#include "run/program.h"

#include "base/sized.h"
#include "code/codes.h"
#include "jobs/builtin.h"
#include "run/chain.h"
#include "run/driver/agent/worker_process.h"
#include "run/driver/driver.h"
#include "run/replay.h"
#include "run/talk/progress.h"
#include "run/worker/worker.h"
#include "sys/file/file.h"
#include "sys/file/standard.h"
#include "sys/file/workdir.h"
#include "sys/process/process.h"
#include "sys/thread/bell.h"
#include "sys/thread/thread.h"
#include "sys/time/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { STDIN = 0, STDOUT = 1, STDERR = 2 };

// The jobs that weft_start was given: a worker finds a submitted job by its name. Their structs are as long as
// the program's header says; their names can be read in any case.
static const weft_job *const *known_jobs;

void program_start(const weft_job *const *jobs, size_t job_size)
{
    process_open_standard_descriptors();
    // Some versions of libuv start a spinning kernel thread unless this forbids it.
    setenv("UV_USE_IO_URING", "0", 0);
    int socket_fd = -1, page_fd = -1;
    if (worker_process_find_own(&socket_fd, &page_fd))
        exit(worker_main(socket_fd, page_fd, jobs, job_size));
}

// Without INPUT a program reads standard input, as cat and sort do. On a terminal it would only seem to hang, and
// cron and services have /dev/null there: for both the message is that INPUT is missing.
static weft_err read_what_is_piped(struct run_options *options)
{
    return options->input_count == 0 && !options->is_hadoop && standard_is_fed(STDIN)
               ? options_add_input(options, "-")
               : WEFT_OK;
}

// Files that commands bring along are in a directory, where they run.
static weft_err put_files(struct run_options *options, struct workdir *workdir)
{
    const struct code *user = code_of(options->job);
    weft_err code = WEFT_OK;
    *workdir = (struct workdir){.alive = -1};
    // Clients get them with the code of the job.
    if (user->put_files && !options->listen)
        code = user->put_files(&options->args, options->tmp, workdir);
    if (code == WEFT_OK && workdir->path)
        code = options_add_job_option(options, user->directory_letter, workdir->path);
    return code;
}

static int run_here(struct run_options *options, const char *program)
{
    const struct driver_spec spec = {.job = options->job, .options = options, .owns_process = true};
    struct driver *driver = NULL;
    weft_err code = driver_new(&driver, &spec);
    if (code != WEFT_OK)
        return progress_report_error(STDERR, program, options->json, code);
    // The driver has reported a failure itself.
    code = driver_run(driver);
    const struct summary *summary = driver_summary(driver);
    int exit_code = summary->exit_code;
    if (exit_code == 0 && builtin_is_question(options->job, &options->args))
        exit_code = summary_find_counter(summary, BUILTIN_GREP_FOUND) > 0 ? 0 : 1;
    driver_free(driver);
    (void)code;
    return exit_code;
}

int program_run(struct run_options *options, const char *program)
{
    struct workdir workdir = {.alive = -1};
    const char *note = getenv(REPLAY_VARIABLE);
    weft_err code = read_what_is_piped(options);
    if (code == WEFT_OK)
        code = options_complete(options);
    if (code == WEFT_OK)
        code = put_files(options, &workdir);
    int exit_code = 0;
    if (code != WEFT_OK)
        exit_code = progress_report_error(STDERR, program, options->json, code);
    else if (note)
        exit_code = replay_record(options, note, program);
    else
        exit_code = run_here(options, program);
    workdir_close(&workdir);
    return exit_code;
}

// ---- A whole program ----------------------------------------------------------------------------

static int print_help(const char *program, const weft_job *job)
{
    struct buf text = {0};
    options_format_job_help(&text, program, job);
    const weft_err code = file_write(STDOUT, "standard output", text.data, text.size);
    buf_fini(&text);
    return code == WEFT_OK ? 0 : progress_report_error(STDERR, program, false, code);
}

int weft_main_sized(int argc, char **argv, const weft_job *job, size_t job_size)
{
    const weft_job *const jobs[] = {job, NULL};
    program_start(jobs, job_size);
    weft_job ours;
    const char *program = argc > 0 ? argv[0] : job->name;
    const struct options_request request = {.job = &ours, .job_size = job_size};
    struct run_options options = {0};
    weft_err code = chain_take_job(&ours, job, job_size);
    if (code == WEFT_OK)
        code = options_parse(&options, &request, argv + 1, argc > 1 ? (size_t)argc - 1 : 0);
    int exit_code = 0;
    if (code != WEFT_OK)
        exit_code = progress_report_error(STDERR, program, options.json, code);
    else if (options.wants_help)
        exit_code = print_help(program, &ours);
    else
        exit_code = program_run(&options, program);
    options_fini(&options);
    return exit_code;
}

// ---- Jobs from inside a program -----------------------------------------------------------------

struct weft_run {
    weft_job job;
    char *name;  // the job's
    struct run_options options;
    struct driver *driver;
    struct thread thread;
    bool has_thread;
    struct mutex lock;  // guards has_started and has_ended
    struct condition changed;
    bool has_started;  // relative names mean the directory of that moment
    struct bell bell;  // rung at the end
    bool has_ended;    // then these two are there:
    weft_err code;
    char error[ERR_TEXT_BYTES_MAX];  // of the thread, for callers that wait
};

void weft_start_sized(int argc, char **argv, const weft_job *const *jobs, size_t job_size)
{
    (void)argc;
    (void)argv;
    known_jobs = jobs;
    program_start(jobs, job_size);
}

static void run_in_thread(void *argument)
{
    weft_run *run = argument;
    thread_keep_directory();
    mutex_lock(&run->lock);
    run->has_started = true;
    condition_broadcast(&run->changed);
    mutex_unlock(&run->lock);
    run->code = driver_run(run->driver);
    snprintf(run->error, sizeof run->error, "%s", err_text());
    mutex_lock(&run->lock);
    run->has_ended = true;
    bell_ring(&run->bell);  // before the call that waits returns
    condition_broadcast(&run->changed);
    mutex_unlock(&run->lock);
}

// Until the thread has a directory of its own, the program must not change that of the process.
static void await_start(weft_run *run)
{
    mutex_lock(&run->lock);
    while (!run->has_started)
        condition_wait(&run->changed, &run->lock);
    mutex_unlock(&run->lock);
}

static weft_err check_known(const weft_job *job)
{
    if (!known_jobs)
        return err_set(WEFT_FAILED_PRECONDITION,
                       "call weft_start first in main(): a worker is this program started again");
    for (const weft_job *const *known = known_jobs; *known; known++)
        if (job->name && (*known)->name && strcmp((*known)->name, job->name) == 0)
            return WEFT_OK;
    return err_set(WEFT_NOT_FOUND,
                   "the job %s is not among those given to weft_start: a worker could not find it",
                   job->name ? job->name : "without a name");
}

static weft_err submit(weft_run *run, size_t job_size, const weft_options *options)
{
    weft_err code = check_known(&run->job);
    if (code == WEFT_OK) {
        run->job.name = run->name = strdup(run->job.name);
        code = run->name ? WEFT_OK : err_no_memory("to run a job");
    }
    if (code == WEFT_OK)
        code = options_from_api(&run->options, &run->job, options);
    run->options.job_size = job_size;
    if (code == WEFT_OK)
        code = options_complete(&run->options);
    if (code == WEFT_OK) {
        const struct driver_spec spec = {.job = &run->job, .options = &run->options};
        code = driver_new(&run->driver, &spec);
    }
    if (code == WEFT_OK)
        code = bell_init(&run->bell);
    if (code == WEFT_OK)
        code = thread_start(&run->thread, run_in_thread, run, 0);
    run->has_thread = code == WEFT_OK;
    if (run->has_thread)
        await_start(run);
    return code;
}

weft_run *weft_submit_sized(const weft_job *job, size_t job_size, const weft_options *options,
                            size_t options_size)
{
    weft_options whole;
    process_open_standard_descriptors();  // the program may have closed them since weft_start
    if (!job) {
        err_set(WEFT_INVALID_ARGUMENT, "there is no job to run: it is NULL");
        return NULL;
    }
    weft_run *run = calloc(1, sizeof *run);
    if (!run) {
        err_no_memory("to run a job");
        return NULL;
    }
    mutex_init(&run->lock);
    condition_init(&run->changed);
    run->bell.fd = -1;
    weft_err code = chain_take_job(&run->job, job, job_size);
    if (code == WEFT_OK)
        code = sized_take(&whole, sizeof whole, options, options_size, "weft_options");
    if (code == WEFT_OK && submit(run, job_size, &whole) == WEFT_OK)
        return run;
    struct err_kept kept;
    err_keep(&kept);
    weft_run_free(run);
    err_put_back(&kept);
    return NULL;
}

// Several threads may wait; false: the time is over.
static bool wait_until(weft_run *run, uint64_t deadline_ns)
{
    mutex_lock(&run->lock);
    while (!run->has_ended && clock_now_ns() < deadline_ns)
        condition_wait_until(&run->changed, &run->lock, deadline_ns);
    const bool has_ended = run->has_ended;
    mutex_unlock(&run->lock);
    return has_ended;
}

weft_err weft_run_wait(weft_run *run, uint32_t timeout_ms)
{
    if (!run)
        return err_text()[0]
                   ? WEFT_FAILED_PRECONDITION
                   : err_set(WEFT_FAILED_PRECONDITION, "there is no run to wait for: it is NULL");
    if (!wait_until(run, timeout_ms ? clock_now_ns() + timeout_ms * UINT64_C(1000000) : UINT64_MAX))
        return err_set(WEFT_DEADLINE_EXCEEDED, "the run of %s has not ended", run->job.name);
    return run->code == WEFT_OK ? WEFT_OK : err_set(run->code, "%s", run->error);
}

bool weft_run_is_done(weft_run *run)
{
    return run && wait_until(run, 0);
}

void weft_run_cancel(weft_run *run)
{
    if (run)
        driver_cancel(run->driver);
}

int weft_run_descriptor(const weft_run *run)
{
    return run ? run->bell.fd : -1;
}

int64_t weft_run_counter(const weft_run *run, const char *name)
{
    if (!run || !name)
        return 0;
    const struct summary *summary = driver_summary(run->driver);
    const struct {
        const char *name;
        uint64_t value;
    } ours[] = {
        {"weft.records_in", summary->records_in},   {"weft.bytes_in", summary->bytes_in},
        {"weft.records_out", summary->records_out}, {"weft.bytes_out", summary->bytes_out},
        {"weft.spill_bytes", summary->spill_bytes}, {"weft.retries", summary->retry_count},
    };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(ours[i].name, name) == 0)
            return (int64_t)ours[i].value;
    return summary_find_counter(summary, name);
}

void weft_run_free(weft_run *run)
{
    if (!run)
        return;
    if (run->has_thread) {
        driver_cancel(run->driver);
        thread_join(&run->thread);
    }
    driver_free(run->driver);
    bell_fini(&run->bell);
    condition_fini(&run->changed);
    mutex_fini(&run->lock);
    options_fini(&run->options);
    free(run->name);
    free(run);
}
