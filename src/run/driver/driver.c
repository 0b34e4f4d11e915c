// driver: the life of a run. Prepare, run the loop until everything is committed or something ended
// it, then make the output visible or take it back, and report.

#include "run/driver/driver.h"

#include "jobs/builtin.h"
#include "run/driver/bad/blame.h"
#include "run/driver/coordinator/coordinator.h"
#include "sys/log.h"
#include "sys/process/signals.h"
#include "sys/thread/bell.h"
#include "sys/time/clock.h"
#include "transport/entrance.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_MS = 100,  // of the progress line
    EXIT_PATIENCE_MS =
        5000,            // for a worker that said BYE and still runs what the user put at its exit
    FAREWELL_MS = 2000,  // for clients to hear how the job ended
    SERVER_PORT = 18125,
};

struct driver {
    const struct run_options *options;
    bool owns_process;
    bool is_silent;  // inside a program that did not ask for reports on standard error
    struct run_plan plan;
    struct report report;
    struct output *output;
    struct entrance entrance;  // where clients do the work
    struct coordinator *coordinator;

    struct loop *loop;
    struct loop_timer *timeout, *tick;
    struct loop_signal *signals[6];  // as many as signals_to_end, and that of a launcher
    _Atomic bool is_cancelled;
    struct bell stop;  // rung with is_cancelled, for waits outside of the loop
    bool has_reader_left, has_waited;

    uint64_t begun_ns;
    int exit_code;  // 0: from the code
    char error[2 * ERR_TEXT_BYTES_MAX];
    struct summary summary;
};

// ---- Reasons to stop ----------------------------------------------------------------------------

static void take_timeout(void *owner)
{
    struct driver *driver = owner;
    char limit[32];
    blame_format_duration(driver->options->timeout_ms, limit, sizeof limit);
    coordinator_fail(driver->coordinator,
                     err_set(WEFT_DEADLINE_EXCEEDED,
                             "the job timed out: it ran longer than --timeout %s\n  try: a longer "
                             "--timeout, or %s",
                             limit,
                             driver->options->listen
                                 ? "more clients: the server itself does no work"
                                 : "less input"));
}

static void release_signals(struct driver *driver)
{
    for (size_t i = 0; i < sizeof driver->signals / sizeof *driver->signals; i++) {
        if (driver->signals[i])
            loop_signal_free(driver->signals[i]);
        driver->signals[i] = NULL;
    }
}

// The first signal: end cleanly. From then on signals have their default effect, so that the second one ends
// this process at once, and the kernel ends the worker with it.
static void take_signal(void *owner, int number)
{
    struct driver *driver = owner;
    char words[64];
    release_signals(driver);
    signal_describe(number, words, sizeof words);
    driver->exit_code = signal_exit_code(number);
    const char *output = driver->options->output;
    if (output)
        coordinator_fail(
            driver->coordinator,
            err_set(WEFT_CANCELLED, "stopped by a signal (%s); %s was not written", words, output));
    else
        coordinator_fail(driver->coordinator,
                         err_set(WEFT_CANCELLED, "stopped by a signal (%s)", words));
}

// Of the launcher beside a server (cli/run_on.h), which has reported the reason.
static void take_no_clients(void *owner, int number)
{
    struct driver *driver = owner;
    const char *output = driver->options->output;
    (void)number;
    release_signals(driver);
    coordinator_fail(driver->coordinator,
                     err_set(WEFT_UNAVAILABLE, "no client could work for the job%s%s%s",
                             output ? ": " : "", output ? output : "",
                             output ? " was not written" : ""));
}

static weft_err take_over_signals(struct driver *driver)
{
    if (driver->owns_process && driver->options->listen) {
        const size_t last = sizeof driver->signals / sizeof *driver->signals - 1;
        driver->signals[last] =
            loop_signal_new(driver->loop, signal_no_clients, take_no_clients, driver);
        if (!driver->signals[last])
            return WEFT_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; driver->owns_process && signals_to_end[i]; i++) {
        if (signal_is_ignored(signals_to_end[i]))
            continue;
        driver->signals[i] = loop_signal_new(driver->loop, signals_to_end[i], take_signal, driver);
        if (!driver->signals[i])
            return WEFT_RESOURCE_EXHAUSTED;
    }
    return WEFT_OK;
}

// Called for another thread: the run was cancelled, or the reader of the answer came to a halt.
static void take_wake(void *owner)
{
    struct driver *driver = owner;
    struct coordinator *coordinator = driver->coordinator;
    if (atomic_load(&driver->is_cancelled) && !coordinator_is_over(coordinator))
        coordinator_fail(driver->coordinator, err_set(WEFT_CANCELLED, "the run was cancelled"));
    if (driver->output && output_reader_left(driver->output) && !coordinator_is_over(coordinator)) {
        driver->has_reader_left = true;
        coordinator_stop(coordinator);
    }
    coordinator_check_end(coordinator);
}

static void wake(void *owner)
{
    struct driver *driver = owner;
    loop_wake(driver->loop);
}

void driver_cancel(struct driver *driver)
{
    atomic_store(&driver->is_cancelled, true);
    bell_ring(&driver->stop);
    loop_wake(driver->loop);
}

// ---- Time ---------------------------------------------------------------------------------------

static void take_tick(void *owner)
{
    struct driver *driver = owner;
    coordinator_look(driver->coordinator);
}

static weft_err start_timers(struct driver *driver)
{
    const uint32_t task_ms = driver->options->task_timeout_ms;
    const uint32_t record_ms = driver->options->record_timeout_ms;
    const uint64_t limit = record_ms && (!task_ms || record_ms < task_ms) ? record_ms : task_ms;
    // A tenth of the limit is near enough to it, and a hundred looks a second are always enough.
    const uint64_t tenth = limit / 10 > 10 ? limit / 10 : 10;
    const uint64_t tick = limit && tenth < TICK_MS ? tenth : TICK_MS;
    if (limit || report_needs_ticks(&driver->report)) {
        driver->tick = loop_timer_new(driver->loop, tick, tick, take_tick, driver);
        if (!driver->tick)
            return WEFT_RESOURCE_EXHAUSTED;
    }
    if (driver->options->timeout_ms) {
        const uint64_t past_ms = (clock_now_ns() - driver->begun_ns) / 1000000;
        const uint64_t all_ms = driver->options->timeout_ms;
        driver->timeout = loop_timer_new(driver->loop, past_ms < all_ms ? all_ms - past_ms : 0, 0,
                                         take_timeout, driver);
        if (!driver->timeout)
            return WEFT_RESOURCE_EXHAUSTED;
    }
    return WEFT_OK;
}

// ---- The life of a run --------------------------------------------------------------------------

// For waiting before the loop runs: for the other end of a pipe.
static struct wait_limit limit_of(const struct driver *driver)
{
    const uint64_t timeout_ns = (uint64_t)driver->options->timeout_ms * 1000000;
    return (struct wait_limit){.deadline_ns = timeout_ns ? driver->begun_ns + timeout_ns : 0,
                               .stop_fd = driver->stop.fd};
}

// A limit has ended the waiting, or nothing has.
static weft_err name_limit(const struct driver *driver, weft_err code)
{
    char limit[32];
    if (code == WEFT_CANCELLED && atomic_load(&driver->is_cancelled))
        return err_set(WEFT_CANCELLED, "the run was cancelled");
    if (code != WEFT_DEADLINE_EXCEEDED)
        return code;
    blame_format_duration(driver->options->timeout_ms, limit, sizeof limit);
    return err_wrap(code, "the job timed out (--timeout %s)", limit);
}

static weft_err open_output(struct driver *driver)
{
    // For measuring the cost of being resumable.
    const char *resume = getenv("WEFT_RESUME");
    const bool is_resume_off = resume && strcmp(resume, "0") == 0;
    const struct output_options options = {
        .target = driver->options->output,
        .force = driver->options->force,
        .tmp = driver->options->tmp,
        .job_name = driver->plan.chain.jobs.items[0].name,
        .suffix = codec_suffix(driver->options->compress),
        .drops_empty = driver->options->is_lazy,
        .may_resume = !is_resume_off,
        .is_mute = builtin_is_question(driver->options->job, &driver->options->args),
        .wait = limit_of(driver),
        .halted = wake,
        .owner = driver,
    };
    return name_limit(driver, output_open(&driver->output, &options));
}

// What the run writes, and is therefore no input of it.
static size_t list_own(const struct driver *driver, const char *paths[OUTPUT_OWN_MAX + 1])
{
    size_t count = driver->output ? output_list_own(driver->output, paths) : 0;
    const char *list = coordinator_old_list(driver->coordinator);
    if (list)
        paths[count++] = list;
    return count;
}

static weft_err find_inputs(struct driver *driver)
{
    const struct run_options *options = driver->options;
    const char *own[OUTPUT_OWN_MAX + 1];
    const struct inputs_request request = {
        .words = (const char *const *)options->inputs,
        .word_count = options->input_count,
        .tmp = options->tmp,
        .wait = limit_of(driver),
        .answer_fd = driver->output ? output_answer_fd(driver->output) : 0,
        .own = own,
        .own_count = list_own(driver, own),
        .stdout_is_output = output_is_stdout(options->output),
        .wants_text = record_is_text(&driver->plan.format),
        .skips_missing = options->skip_missing,
    };
    if (options->is_hadoop && options->input_count == 0)
        return WEFT_OK;  // directories without a file are an input there
    const weft_err code = inputs_expand(&driver->plan.inputs, &request);
    if (code == WEFT_OK)
        run_plan_tell_aside(&driver->plan, &driver->report);
    driver->has_reader_left = code == WEFT_CANCELLED && !atomic_load(&driver->is_cancelled);
    return name_limit(driver, code);
}

// An earlier life of this server may have clients that wait for it where it was.
static weft_err let_clients_in(struct driver *driver)
{
    const struct entrance_options options = {
        .listen = driver->options->listen,
        .default_port = SERVER_PORT,
        .token_file = driver->options->token_file,
        .earlier_port = coordinator_earlier_port(driver->coordinator),
        .earlier_token = coordinator_earlier_token(driver->coordinator),
    };
    const weft_err code = entrance_open(&driver->entrance, &options);
    return code == WEFT_OK ? coordinator_let_in(driver->coordinator, &driver->entrance) : code;
}

// Everything that can be refused before a process is started.
static weft_err prepare(struct driver *driver)
{
    // The output first: it is refused at once, while finding the inputs may mean waiting for a pipe.
    // A plan goes to standard output itself.
    const bool has_output = driver->options->output || !driver->options->dry_run;
    weft_err code = WEFT_OK;
    if (driver->options->listen && driver->options->port_file && !driver->options->dry_run)
        code = entrance_clear_file(driver->options->port_file);
    if (code == WEFT_OK)
        code = coordinator_check_list(driver->coordinator);
    if (code == WEFT_OK && has_output)
        code = open_output(driver);
    if (code == WEFT_OK)
        code = find_inputs(driver);
    if (code == WEFT_OK)
        code = coordinator_check_answer(driver->coordinator, driver->output);
    if (coordinator_is_complete(driver->coordinator) && !driver->options->dry_run)
        return code;
    if (code == WEFT_OK)
        code = coordinator_make_plan(driver->coordinator);
    if (code == WEFT_OK && driver->options->dry_run)
        return coordinator_print_plan(driver->coordinator);
    // From here on there are things to take away again, so that a signal may no longer just kill us.
    if (code == WEFT_OK)
        code = take_over_signals(driver);
    if (code == WEFT_OK && driver->options->listen)
        code = output_claim(driver->output);
    if (code == WEFT_OK)
        code = coordinator_take_over(driver->coordinator);
    if (code == WEFT_OK && driver->options->listen)
        code = let_clients_in(driver);
    if (code == WEFT_OK)
        code = start_timers(driver);
    return code;
}

// The same command has been run to its end before.
static void tell_done(struct driver *driver)
{
    char text[512];
    snprintf(text, sizeof text,
             "%.400s exists already, complete, made by the same job from the same inputs",
             driver->options->output);
    if (!driver->options->quiet && !driver->options->json)
        report_warn(&driver->report, text);
    driver->summary.is_already_done = true;
}

static void give_up_waiting(void *owner)
{
    struct driver *driver = owner;
    driver->has_waited = true;
    loop_stop(driver->loop);
}

// A worker that said BYE may still be giving its memory back, or run what the user put at its exit.
static void await_exit(struct driver *driver)
{
    struct loop_timer *patience =
        loop_timer_new(driver->loop, EXIT_PATIENCE_MS, 0, give_up_waiting, driver);
    while (patience && !driver->has_waited && coordinator_awaits_exit(driver->coordinator))
        loop_run(driver->loop);
    loop_timer_free(patience);
}

enum { JOIN_BYTES = NET_ADDRESS_TEXT_BYTES + SECRET_TEXT_BYTES + 32 };

// The command by which others join; a token is shown only if it was made for this run.
static const char *describe_join(const struct driver *driver, char text[JOIN_BYTES])
{
    char address[NET_ADDRESS_TEXT_BYTES], token[SECRET_TEXT_BYTES] = "";
    if (!driver->options->listen)
        return NULL;
    entrance_name(&driver->entrance, address);
    if (driver->entrance.has_made_token)
        secret_write(&driver->entrance.token, token);
    snprintf(text, JOIN_BYTES, "weft client %s%s%s", address, *token ? "#" : "", token);
    return text;
}

static void check_farewell(void *owner)
{
    struct driver *driver = owner;
    if (!coordinator_awaits_clients(driver->coordinator))
        loop_stop(driver->loop);
}

// However the job ended, clients hear of it before the connections are closed.
static void dismiss_clients(struct driver *driver, weft_err code)
{
    coordinator_dismiss_clients(driver->coordinator, code, driver->error);
    driver->has_waited = false;
    struct loop_timer *patience =
        loop_timer_new(driver->loop, FAREWELL_MS, 0, give_up_waiting, driver);
    struct loop_timer *look = loop_timer_new(driver->loop, 10, 10, check_farewell, driver);
    while (patience && look && !driver->has_waited &&
           coordinator_awaits_clients(driver->coordinator))
        loop_run(driver->loop);
    loop_timer_free(look);
    loop_timer_free(patience);
}

static weft_err run(struct driver *driver)
{
    char join[JOIN_BYTES];
    const struct progress_begin begin = {
        .job = run_plan_title(&driver->plan),
        .input_count = driver->plan.inputs.count,
        .input_bytes = driver->plan.inputs.total_bytes,
        .workers = driver->plan.worker_count,
        .slots = driver->plan.worker_count * driver->plan.slot_count,
        .memory_bytes = driver->options->memory_bytes,
        .join = describe_join(driver, join),
    };
    report_begin(&driver->report, &begin);
    const char *port_file = driver->options->port_file;
    if (port_file && driver->options->listen) {
        const weft_err code = entrance_write_file(&driver->entrance, port_file, true);
        if (code != WEFT_OK)
            return code;
    }
    coordinator_start(driver->coordinator);
    if (atomic_load(&driver->is_cancelled))
        loop_wake(driver->loop);
    if (!coordinator_is_over(driver->coordinator))
        loop_run(driver->loop);
    // Renaming and the worker's exit go side by side.
    const weft_err code = coordinator_finish(driver->coordinator);
    if (code != WEFT_OK || coordinator_is_over(driver->coordinator) ||
        !coordinator_is_done(driver->coordinator))
        return code;
    await_exit(driver);
    // A signal that came after the commit came too late.
    driver->exit_code = 0;
    return WEFT_OK;
}

static void sum_up(struct driver *driver)
{
    struct summary *summary = &driver->summary;
    coordinator_sum_up(driver->coordinator, summary);
    summary->job = run_plan_title(&driver->plan);
    summary->output = driver->options->output;
    summary->input_count = driver->plan.inputs.count;
    summary->records_out = driver->output ? output_records(driver->output) : 0;
    summary->bytes_out = driver->output ? output_bytes(driver->output) : 0;
    summary->retry_count = driver->report.retry_count;
    summary->memory_limit = driver->options->memory_bytes;
    summary->elapsed_ns = clock_now_ns() - driver->begun_ns;
}

static void tell_what_is_out(struct driver *driver, weft_err code)
{
    struct summary *summary = &driver->summary;
    const uint64_t out = driver->output ? output_bytes_out(driver->output) : 0;
    const bool is_whole =
        coordinator_is_done(driver->coordinator) && out == output_bytes(driver->output);
    summary->is_output_cut = code != WEFT_OK && out > 0 && !is_whole;
    summary->is_output_out = code != WEFT_OK && out > 0 && is_whole;
}

static void close_journal(struct driver *driver, weft_err code)
{
    const size_t length = strlen(driver->error);
    if (coordinator_close(driver->coordinator, code != WEFT_OK && driver->exit_code == 0))
        snprintf(driver->error + length, sizeof driver->error - length,
                 "\n  finished work is kept: the same command continues it, --force starts again");
}

weft_err driver_run(struct driver *driver)
{
    driver->begun_ns = clock_now_ns();
    report_init(&driver->report, driver->options, driver->is_silent, 2, driver->begun_ns);
    weft_err code = prepare(driver);
    // As at any later time, a reader that leaves is not a failure.
    if (driver->has_reader_left)
        code = WEFT_OK;
    if (driver->has_reader_left)
        err_clear();
    else if (code == WEFT_OK && driver->options->dry_run)
        report_silence(&driver->report);
    else if (code == WEFT_OK && coordinator_is_complete(driver->coordinator))
        tell_done(driver);
    else if (code == WEFT_OK)
        code = run(driver);
    const char *error = coordinator_error(driver->coordinator);
    if (code != WEFT_OK || error[0])
        snprintf(driver->error, sizeof driver->error, "%s", error[0] ? error : err_text());
    if (driver->options->listen && !driver->options->dry_run)
        dismiss_clients(driver, code);
    coordinator_end_workers(driver->coordinator);
    sum_up(driver);
    struct summary *summary = &driver->summary;
    summary->code = code;
    summary->error = code == WEFT_OK ? NULL : driver->error;
    // 7 is the end of a queue; here a number left its range, which is the job's failure.
    if (code == WEFT_OUT_OF_RANGE)
        driver->exit_code = err_exit_code(WEFT_ABORTED);
    summary->exit_code = driver->exit_code ? driver->exit_code : err_exit_code(code);
    tell_what_is_out(driver, code);
    close_journal(driver, code);
    if (driver->output)
        output_abort(driver->output);
    // The reader has seen enough, and has left: there is nothing to report.
    const bool has_told = coordinator_is_complete(driver->coordinator) && !driver->options->json;
    if (!driver->has_reader_left && !has_told)
        report_end(&driver->report, summary);
    release_signals(driver);
    if (code != WEFT_OK)
        err_set(code, "%s", driver->error);
    return code;
}

const struct summary *driver_summary(const struct driver *driver)
{
    return &driver->summary;
}

weft_err driver_new(struct driver **driver, const struct driver_spec *spec)
{
    struct driver *made = *driver = calloc(1, sizeof *made);
    if (!made)
        return err_no_memory("to run a job");
    made->options = spec->options;
    made->owns_process = spec->owns_process;
    made->stop.fd = -1;
    made->is_silent = !spec->owns_process && spec->options->quiet && !log_is_taken();
    weft_err code = run_plan_init(&made->plan, spec->job, spec->options);
    if (code == WEFT_OK) {
        made->loop = loop_new(take_wake, made);
        code = made->loop ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
    }
    const struct coordinator_options options = {.plan = &made->plan,
                                                .report = &made->report,
                                                .loop = made->loop,
                                                .keeps_replays = spec->owns_process};
    if (code == WEFT_OK) {
        made->coordinator = coordinator_new(&options);
        code = made->coordinator ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
    }
    if (code == WEFT_OK)
        code = bell_init(&made->stop);
    if (code != WEFT_OK) {
        driver_free(made);
        *driver = NULL;
    }
    return code;
}

void driver_free(struct driver *driver)
{
    if (!driver)
        return;
    output_free(driver->output);
    coordinator_free(driver->coordinator);
    run_plan_fini(&driver->plan);
    loop_free(driver->loop);
    bell_fini(&driver->stop);
    report_fini(&driver->report);
    entrance_close(&driver->entrance);
    free(driver);
}
