// driver: the life of a run. Prepare, run the loop until everything is committed or something ended
// it, then make the output visible or take it back, and tell.

#include "run/driver/driver_state.h"

#include "jobs/builtin.h"
#include "sys/log.h"
#include "sys/process/signals.h"
#include "sys/time/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_MS = 100,  // of the progress line
    EXIT_PATIENCE_MS =
        5000  // for a worker that said BYE and still runs what the user put at its exit
};

// ---- Reasons to stop ----------------------------------------------------------------------------

static void take_timeout(void *owner)
{
    struct driver *driver = owner;
    char limit[32];
    driver_format_duration(driver->options->timeout_ms, limit, sizeof limit);
    driver_fail(driver,
                err_set(WEFT_DEADLINE_EXCEEDED,
                        "the job timed out: it ran longer than --timeout %s\n  try: a longer "
                        "--timeout, or less input",
                        limit));
}

static void release_signals(struct driver *driver)
{
    for (size_t i = 0; i < sizeof driver->signals / sizeof *driver->signals; i++) {
        if (driver->signals[i])
            loop_signal_free(driver->signals[i]);
        driver->signals[i] = NULL;
    }
}

// Once: end cleanly. From then on the signals do what they do by default, so that the second leaves
// at once, and the kernel takes the worker along.
static void take_signal(void *owner, int number)
{
    struct driver *driver = owner;
    char words[64];
    release_signals(driver);
    signal_describe(number, words, sizeof words);
    driver->exit_code = signal_exit_code(number);
    const char *output = driver->options->output;
    if (output)
        driver_fail(driver, err_set(WEFT_CANCELLED, "stopped by a signal (%s); %s was not written",
                                    words, output));
    else
        driver_fail(driver, err_set(WEFT_CANCELLED, "stopped by a signal (%s)", words));
}

static weft_err take_over_signals(struct driver *driver)
{
    for (size_t i = 0; driver->owns_process && signals_to_end[i]; i++) {
        if (signal_is_ignored(signals_to_end[i]))
            continue;
        driver->signals[i] = loop_signal_new(driver->loop, signals_to_end[i], take_signal, driver);
        if (!driver->signals[i])
            return WEFT_RESOURCE_EXHAUSTED;
    }
    return WEFT_OK;
}

// Another thread wants something: to cancel, or to tell that the reader of the answer came to a halt.
static void take_wake(void *owner)
{
    struct driver *driver = owner;
    if (atomic_load(&driver->is_cancelled) && !driver->is_over)
        driver_fail(driver, err_set(WEFT_CANCELLED, "the run was cancelled"));
    if (driver->output && output_reader_left(driver->output) && !driver->is_over) {
        driver->is_over = driver->has_reader_left = true;
        probe_stop(&driver->probe);
        resume_stop(driver->resume);
        loop_stop(driver->loop);
    }
    driver_check_end(driver);
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

void driver_check_end(struct driver *driver)
{
    if (driver->is_done && driver->has_bye && output_is_drained(driver->output))
        loop_stop(driver->loop);
}

// ---- Time ---------------------------------------------------------------------------------------

static void take_tick(void *owner)
{
    struct driver *driver = owner;
    const struct run_options *options = driver->options;
    if ((options->task_timeout_ms || options->record_timeout_ms) && !driver->is_over)
        agent_look(&driver->agent);
    driver_show_progress(driver);
}

static weft_err start_timers(struct driver *driver)
{
    const uint32_t task_ms = driver->options->task_timeout_ms;
    const uint32_t record_ms = driver->options->record_timeout_ms;
    const uint64_t limit = record_ms && (!task_ms || record_ms < task_ms) ? record_ms : task_ms;
    // A tenth of the limit is near enough to it, and nobody needs more than a hundred looks a second.
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

// For what is waited for before the loop runs: the other end of a pipe.
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
    driver_format_duration(driver->options->timeout_ms, limit, sizeof limit);
    return err_wrap(code, "the job timed out (--timeout %s)", limit);
}

static weft_err open_output(struct driver *driver)
{
    // For measuring what it costs.
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
    if (bad_list_old_path(&driver->bad.list))
        paths[count++] = bad_list_old_path(&driver->bad.list);
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

static weft_err make_sched(struct driver *driver)
{
    const struct run_plan *plan = &driver->plan;
    struct sched_stage *stages = calloc(plan->stage_count, sizeof *stages);
    driver->actions = malloc(sizeof *driver->actions);
    if (!stages || !driver->actions) {
        free(stages);
        return err_no_memory("to plan the job");
    }
    for (uint32_t i = 0; i < plan->stage_count; i++)
        stages[i] = (struct sched_stage){
            .sample_count = plan->stages[i].sample_count,
            .map_count = plan->stages[i].map_count,
            .reduce_count = run_stage_task_count(&plan->stages[i], SCHED_REDUCE),
        };
    const struct sched_plan all = {.stages = stages,
                                   .stage_count = plan->stage_count,
                                   .max_attempts = driver->options->max_attempts,
                                   .asks_before_failing = true};
    driver->sched = sched_new(&all);
    free(stages);
    return driver->sched ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

// The plan, and what is kept of its tasks.
static weft_err make_plan(struct driver *driver)
{
    struct run_plan *plan = &driver->plan;
    weft_err code = run_plan_make(plan, &driver->report);
    if (code != WEFT_OK)
        return code;
    driver->samples = calloc(plan->task_count + 1, sizeof *driver->samples);
    driver->pieces = calloc(run_plan_last_stage(plan)->piece_count + 1, sizeof *driver->pieces);
    if (!driver->samples || !driver->pieces)
        return err_no_memory("to plan the job");
    code = tally_init(&driver->tally, plan->task_count);
    if (code == WEFT_OK)
        code = make_sched(driver);
    return code == WEFT_OK ? run_plan_divide_memory(plan) : code;
}

// Everything that can be refused before a process is started.
static weft_err prepare(struct driver *driver)
{
    // The output first: it is refused at once, while finding the inputs may mean waiting for a pipe.
    // A plan goes to standard output itself.
    const bool has_output = driver->options->output || !driver->options->dry_run;
    weft_err code = bad_list_check(&driver->bad.list);
    if (code == WEFT_OK && has_output)
        code = open_output(driver);
    if (code == WEFT_OK)
        code = find_inputs(driver);
    if (code == WEFT_OK)
        code = bad_list_check_inputs(&driver->bad.list, &driver->plan.inputs);
    if (code == WEFT_OK)
        code = resume_check(driver->resume, driver->output);
    if (resume_is_done(driver->resume) && !driver->options->dry_run)
        return code;
    if (code == WEFT_OK)
        code = make_plan(driver);
    if (code == WEFT_OK && driver->options->dry_run)
        return driver_print_plan(driver);
    // From here on there are things to take away again, so that a signal may no longer just kill us.
    if (code == WEFT_OK)
        code = take_over_signals(driver);
    if (code == WEFT_OK)
        code = resume_open(driver->resume, driver->pieces);
    if (code == WEFT_OK)
        code = run_plan_divide_output(&driver->plan, driver->output);
    if (code == WEFT_OK)
        code = resume_restore(driver->resume);
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
    driver->is_gone = true;
    loop_stop(driver->loop);
}

// A worker that said BYE may still be giving its memory back, or run what the user put at its exit.
static void await_exit(struct driver *driver)
{
    struct loop_timer *patience =
        loop_timer_new(driver->loop, EXIT_PATIENCE_MS, 0, give_up_waiting, driver);
    while (patience && agent_has_worker(&driver->agent) && !driver->is_gone && !driver->is_over)
        loop_run(driver->loop);
    loop_timer_free(patience);
}

// What committed tasks read in the first map, and what all others did. A task that need not run for a run that
// goes on is not committed: what was made of it is.
static bool counts(const struct driver *driver, uint32_t stage, enum sched_kind kind, uint32_t task)
{
    return sched_task_state(driver->sched, stage, kind, task) == SCHED_COMMITTED ||
           (driver->is_done &&
            tally_is_restored(&driver->tally, run_plan_number(&driver->plan, stage, kind, task)));
}

static void add_up(struct driver *driver, struct tally_totals *totals, struct tally_totals *others)
{
    for (uint32_t i = 0; driver->sched && i < driver->plan.stage_count; i++)
        for (enum sched_kind kind = SCHED_SAMPLE; kind < SCHED_KIND_COUNT; kind++)
            for (uint32_t task = 0; task < run_stage_task_count(&driver->plan.stages[i], kind);
                 task++)
                if (counts(driver, i, kind, task))
                    tally_add(&driver->tally, run_plan_number(&driver->plan, i, kind, task),
                              i == 0 && kind == SCHED_MAP ? totals : others);
}

static void make_agent(struct driver *driver)
{
    const struct agent_options options = {
        .loop = driver->loop,
        .slot_count = driver->plan.slot_count,
        .task_timeout_ms = driver->options->task_timeout_ms,
        .record_timeout_ms = driver->options->record_timeout_ms,
        .calls = &driver_agent_calls,
        .owner = driver,
    };
    agent_init(&driver->agent, &options);
}

static weft_err run(struct driver *driver)
{
    const struct progress_begin begin = {
        .job = run_plan_title(&driver->plan),
        .input_count = driver->plan.inputs.count,
        .input_bytes = driver->plan.inputs.total_bytes,
        .slots = driver->plan.slot_count,
        .memory_bytes = driver->options->memory_bytes,
    };
    report_begin(&driver->report, &begin);
    make_agent(driver);
    resume_start(driver->resume);
    driver_step(driver, &(struct sched_event){.type = EVENT_START});
    if (atomic_load(&driver->is_cancelled))
        loop_wake(driver->loop);
    if (!driver->is_over)
        loop_run(driver->loop);
    if (driver->is_over || !driver->is_done)
        return driver->code;
    const weft_err judged = driver->bad.is_judged ? WEFT_OK : driver_judge_bad(driver);
    if (judged != WEFT_OK)
        return judged;
    // Renaming and the worker's exit go side by side.
    const weft_err code = output_commit(driver->output);
    if (code != WEFT_OK)
        return code;
    await_exit(driver);
    // A signal that came after the commit came too late.
    driver->exit_code = 0;
    return WEFT_OK;
}

// Large inputs that one task had to read alone.
static void count_whole(struct driver *driver)
{
    struct summary *summary = &driver->summary;
    for (size_t i = 0; driver->plan.looks && i < driver->plan.inputs.count; i++) {
        const struct input_look *look = &driver->plan.looks[i];
        if (!look->is_whole || driver->plan.inputs.items[i].size <= driver->plan.split.split_bytes)
            continue;
        summary->whole_count++;
        if (look->codec > 0)
            summary->whole_codec = codec_name((enum codec_kind)(look->codec - 1));
    }
}

static void add_figures(struct driver *driver)
{
    struct summary *summary = &driver->summary;
    struct agent_figures figures;
    agent_read_figures(&driver->agent, &figures);
    summary->memory_peak = figures.memory_peak;
    summary->has_switched_to_sort = figures.has_switched_to_sort;
    summary->spill_bytes = figures.spill_bytes;
    summary->spill_runs = figures.spill_runs;
    memcpy(summary->phase_ns, figures.phase_ns, sizeof summary->phase_ns);
}

static void sum_up(struct driver *driver)
{
    struct summary *summary = &driver->summary;
    struct tally_totals totals = {0}, others = {0};
    add_up(driver, &totals, &others);
    tally_sort(&driver->tally);
    for (uint32_t i = 0; driver->plan.stages && i < driver->plan.stage_count; i++) {
        summary->map_count += driver->plan.stages[i].map_count;
        summary->reduce_count += run_stage_task_count(&driver->plan.stages[i], SCHED_REDUCE);
    }
    summary->job = run_plan_title(&driver->plan);
    summary->output = driver->options->output;
    summary->input_count = driver->plan.inputs.count;
    count_whole(driver);
    summary->records_in = totals.records_in;
    summary->bytes_in = totals.bytes_in;
    summary->records_out = driver->output ? output_records(driver->output) : 0;
    summary->bytes_out = driver->output ? output_bytes(driver->output) : 0;
    add_figures(driver);
    summary->slots = driver->plan.slot_count;
    summary->retry_count = driver->report.retry_count;
    summary->resumed_count = resume_restored_count(driver->resume);
    summary->has_checkpoints = resume_has_checkpoints(driver->resume);
    summary->memory_limit = driver->options->memory_bytes;
    summary->stage_count = driver->plan.stage_count;
    summary->counters = driver->tally.counters.items;
    summary->counter_count = driver->tally.counters.count;
    summary->elapsed_ns = clock_now_ns() - driver->begun_ns;
}

static void tell_what_is_out(struct driver *driver, weft_err code)
{
    struct summary *summary = &driver->summary;
    const uint64_t out = driver->output ? output_bytes_out(driver->output) : 0;
    const bool is_whole = driver->is_done && out == output_bytes(driver->output);
    summary->is_output_cut = code != WEFT_OK && out > 0 && !is_whole;
    summary->is_output_out = code != WEFT_OK && out > 0 && is_whole;
}

static void close_journal(struct driver *driver, weft_err code)
{
    const size_t length = strlen(driver->error);
    if (resume_end(driver->resume, code != WEFT_OK && driver->exit_code == 0))
        snprintf(driver->error + length, sizeof driver->error - length,
                 "\n  finished work is kept: the same command continues it, --force starts again");
}

weft_err driver_run(struct driver *driver)
{
    driver->begun_ns = clock_now_ns();
    report_init(&driver->report, driver->options, driver->is_silent, 2, driver->begun_ns);
    weft_err code = prepare(driver);
    // As at any later time that is no failure.
    if (driver->has_reader_left)
        code = WEFT_OK;
    if (driver->has_reader_left)
        err_clear();
    else if (code == WEFT_OK && driver->options->dry_run)
        report_silence(&driver->report);
    else if (code == WEFT_OK && resume_is_done(driver->resume))
        tell_done(driver);
    else if (code == WEFT_OK)
        code = run(driver);
    if (code != WEFT_OK && driver->error[0] == 0)
        snprintf(driver->error, sizeof driver->error, "%s", err_text());
    agent_fini(&driver->agent);
    probe_end_worker(&driver->probe);
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
    // The reader has seen enough, and said so by leaving: nothing is worth telling.
    const bool has_told = resume_is_done(driver->resume) && !driver->options->json;
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
    bad_records_init(&made->bad, &made->plan, &made->tally);
    if (code == WEFT_OK) {
        made->loop = loop_new(take_wake, made);
        code = made->loop ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
    }
    const struct probe_options probe = {.plan = &made->plan,
                                        .bad = &made->bad,
                                        .loop = made->loop,
                                        .calls = &driver_probe_calls,
                                        .owner = made};
    probe_init(&made->probe, &probe);
    const struct resume_options resume = {.plan = &made->plan,
                                          .tally = &made->tally,
                                          .bad = &made->bad,
                                          .loop = made->loop,
                                          .calls = &driver_resume_calls,
                                          .owner = made};
    made->resume = code == WEFT_OK ? resume_new(&resume) : NULL;
    if (code == WEFT_OK && !made->resume)
        code = WEFT_RESOURCE_EXHAUSTED;
    if (code == WEFT_OK)
        code = bell_init(&made->stop);
    if (code != WEFT_OK) {
        driver_free(made);
        *driver = NULL;
    }
    return code;
}

static void free_samples(struct driver *driver)
{
    for (size_t i = 0; driver->samples && i < driver->plan.task_count; i++)
        message_free(driver->samples[i]);
    free(driver->samples);
}

void driver_free(struct driver *driver)
{
    if (!driver)
        return;
    output_free(driver->output);
    probe_fini(&driver->probe);
    bad_records_fini(&driver->bad);
    resume_free(driver->resume);
    free_samples(driver);
    free(driver->pieces);
    tally_fini(&driver->tally);
    run_plan_fini(&driver->plan);
    loop_free(driver->loop);
    bell_fini(&driver->stop);
    report_fini(&driver->report);
    free(driver->actions);
    sched_free(driver->sched);
    free(driver);
}
