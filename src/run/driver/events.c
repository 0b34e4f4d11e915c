// events: what a worker says and does becomes events; what the scheduler wants becomes frames.
//
// What comes from a worker means nothing until it is checked here: it ran user code. A worker that breaks the
// rules is killed, and is then a lost worker like any other.

#include "run/answers.h"
#include "run/driver/driver_state.h"
#include "run/driver/messages.h"
#include "sys/time/clock.h"

#include <stdio.h>

// ---- Carrying out actions -----------------------------------------------------------------------

static void defer(struct driver *driver, const struct sched_event *event)
{
    if (!driver->has_deferred)  // the first thing that went wrong is the one to tell
        driver->deferred = *event;
    driver->has_deferred = true;
}

void driver_fail(struct driver *driver, weft_err code)
{
    const struct sched_event event = {.type = EVENT_CANCEL, .code = code};
    snprintf(driver->why, sizeof driver->why, "%s", err_text());
    driver->next[0] = 0;
    driver_step(driver, &event);
}

static void end(struct driver *driver, weft_err code)
{
    driver->code = code;
    driver->is_over = true;
    probe_stop(&driver->probe);
    resume_stop(driver->resume);
    loop_stop(driver->loop);
}

static void start_worker(struct driver *driver, uint32_t worker)
{
    const struct output_place *place = output_place(driver->output);
    driver->worker = worker;
    if (agent_start(&driver->agent, place->kind == OUTPUT_PLACE_FD ? place->fd : -1) == WEFT_OK)
        return;
    const struct sched_event event = {.type = EVENT_WORKER_LOST,
                                      .worker = worker,
                                      .crash_slot = SCHED_NO_SLOT,
                                      .code = WEFT_UNAVAILABLE};
    snprintf(driver->why, sizeof driver->why, "%s", err_text());
    defer(driver, &event);
}

static weft_err send_seal(struct driver *driver, uint32_t slot)
{
    Weft__Seal seal = WEFT__SEAL__INIT;
    seal.slot = slot;
    return agent_send(&driver->agent, WEFT__FRAME_TYPE__FRAME_SEAL, &seal.base);
}

static weft_err send_checkpoint(struct driver *driver, uint32_t slot)
{
    Weft__Checkpoint checkpoint = WEFT__CHECKPOINT__INIT;
    checkpoint.slot = slot;
    return agent_send(&driver->agent, WEFT__FRAME_TYPE__FRAME_CHECKPOINT, &checkpoint.base);
}

// The sentence of a failed run: what, how often it was tried, what next.
static void take_failure(struct driver *driver, const struct sched_action *action)
{
    char tries[64] = "";
    const uint32_t charges =
        action->at.task == SCHED_NO_TASK
            ? 0
            : sched_charges(driver->sched, action->stage, action->at.kind, action->at.task);
    if (charges > 1)
        snprintf(tries, sizeof tries, " (attempt %u of %u)", charges,
                 driver->options->max_attempts);
    // A sentence of several lines has its own advice behind the first; what the first one announces stays
    // in front of it.
    const char *rest = strchr(driver->why, '\n');
    if (rest && rest > driver->why && rest[-1] == ':') {
        const char *announcement = memrchr(driver->why, ';', (size_t)(rest - driver->why));
        rest = announcement ? announcement : rest;
    }
    const int first = rest ? (int)(rest - driver->why) : (int)strlen(driver->why);
    snprintf(driver->error, sizeof driver->error, "%.*s%s%s%s%s", first, driver->why, tries,
             rest ? rest : "", driver->next[0] ? "\n  try: " : "", driver->next);
    end(driver, action->code);
}

static weft_err finish_job(struct driver *driver)
{
    driver->is_done = true;
    resume_stop(driver->resume);
    return agent_release(&driver->agent);
}

// The first reduce task begins: all records have been seen, nothing has been written yet.
static weft_err send_reduce(struct driver *driver, const struct sched_action *action)
{
    weft_err code = WEFT_OK;
    if (action->stage == 0 && !driver->bad.is_judged)
        code = driver_judge_bad(driver);
    return code != WEFT_OK ? code : driver_send_task(driver, action);
}

static weft_err carry_out(struct driver *driver, const struct sched_action *action)
{
    switch (action->type) {
    case ACTION_START_WORKER:
        start_worker(driver, action->worker);
        return WEFT_OK;
    case ACTION_STAGE_OPEN:
        return driver_send_stage_open(driver, action->stage);
    case ACTION_STAGE_PLAN:
        return driver_send_stage_plan(driver, action->stage);
    case ACTION_RUN:
        return action->at.kind == SCHED_REDUCE ? send_reduce(driver, action)
                                               : driver_send_task(driver, action);
    case ACTION_SEAL:
        return send_seal(driver, action->at.slot);
    case ACTION_TASK_STUCK:
        driver_look_into(driver, action);
        return WEFT_OK;
    case ACTION_CHECKPOINT:
        return send_checkpoint(driver, action->at.slot);
    case ACTION_KILL_WORKER:
        agent_kill(&driver->agent);
        return WEFT_OK;
    case ACTION_JOB_DONE:
        return finish_job(driver);
    case ACTION_JOB_FAILED:
        take_failure(driver, action);
        return WEFT_OK;
    }
    return WEFT_OK;
}

static void carry_out_all(struct driver *driver)
{
    for (uint32_t i = 0; i < driver->actions->count && !driver->has_deferred; i++) {
        const weft_err code = carry_out(driver, &driver->actions->items[i]);
        if (code != WEFT_OK)
            driver_fail(driver, code);
    }
}

void driver_step(struct driver *driver, const struct sched_event *event)
{
    if (driver->is_over)
        return;
    if (driver->is_stepping) {
        defer(driver, event);
        return;
    }
    struct sched_event now = *event;
    do {
        driver->is_stepping = true;
        driver->has_deferred = false;
        if (now.type != EVENT_TASK_RESTORED)  // what a worker says is about the stage it is in
            now.at.stage = sched_stage(driver->sched);
        sched_step(driver->sched, &now, driver->actions);
        carry_out_all(driver);
        while (driver->actions->has_more && !driver->has_deferred) {
            sched_more(driver->sched, driver->actions);
            carry_out_all(driver);
        }
        driver->is_stepping = false;
        // The scheduler does not listen after the last task, but the last of the answer may still go wrong.
        if (now.type == EVENT_CANCEL && !driver->is_over && !driver->has_deferred) {
            snprintf(driver->error, sizeof driver->error, "%s", driver->why);
            end(driver, now.code);
        }
        now = driver->deferred;
    } while (driver->has_deferred && !driver->is_over);
}

void driver_show_progress(struct driver *driver)
{
    if (!report_is_shown(&driver->report) || driver->is_over || !driver->sched)
        return;
    const uint32_t stage = sched_stage(driver->sched);
    const struct run_stage *at = &driver->plan.stages[stage];
    struct report_facts facts = {.stage = stage,
                                 .stage_count = driver->plan.stage_count,
                                 .is_map_only = at->is_map_only,
                                 .input_bytes = driver->plan.inputs.total_bytes};
    for (enum sched_kind kind = SCHED_SAMPLE; kind < SCHED_KIND_COUNT; kind++) {
        facts.done_counts[kind] = sched_count(driver->sched, stage, kind, SCHED_COMMITTED) +
                                  sched_count(driver->sched, stage, kind, SCHED_HELD);
        facts.task_counts[kind] = run_stage_task_count(at, kind);
    }
    struct status_words words;
    agent_read_figures(&driver->agent, &facts.figures);
    if (agent_read_status(&driver->agent, &words))
        report_status(&driver->report, &words);
    report_show(&driver->report, &facts, clock_now_ns());
}

// ---- What the worker says -------------------------------------------------------------------------

static void tell_wrong(void *owner, const char *what)
{
    struct driver *driver = owner;
    char text[ERR_TEXT_BYTES_MAX + 32];
    snprintf(text, sizeof text, "the worker sent %s", what);
    report_warn(&driver->report, text);
    driver_show_progress(driver);
}

// The worker broke the rules: its end is all that can still be expected of it.
static void give_up_worker(struct driver *driver, const char *what)
{
    tell_wrong(driver, what);
    agent_kill(&driver->agent);
}

static struct sched_attempt attempt_of(const struct driver *driver, const struct agent_attempt *at)
{
    return (struct sched_attempt){(enum sched_kind)at->kind, at->task, at->attempt, at->slot,
                                  sched_stage(driver->sched)};
}

static bool is_task(const struct driver *driver, uint32_t kind, uint32_t task)
{
    const struct run_stage *stage = &driver->plan.stages[sched_stage(driver->sched)];
    return kind < SCHED_KIND_COUNT && task < run_stage_task_count(stage, (enum sched_kind)kind);
}

// Where an attempt was that read an input.
static void note_harm(struct driver *driver, const struct agent_attempt *at)
{
    if (sched_stage(driver->sched) == 0 && at->kind != SCHED_REDUCE)
        probe_note_harm(&driver->probe, (enum sched_kind)at->kind, at->task,
                        (struct place){at->input, at->offset}, at->fed_end);
}

static void take_silence(void *owner)
{
    driver_fail(owner, err_set(WEFT_DEADLINE_EXCEEDED,
                               "the worker was not ready within a minute\n  try: call weft_main or "
                               "weft_start first in main(), before anything that takes time"));
}

static void take_ready(void *owner, weft_err code)
{
    struct driver *driver = owner;
    if (code == WEFT_OK)
        code = run_plan_send_job(&driver->plan, &driver->agent, driver->plan.slot_count);
    if (code != WEFT_OK) {
        driver_fail(driver, code);
    } else {
        const struct sched_event event = {.type = EVENT_WORKER_READY,
                                          .worker = driver->worker,
                                          .slot_count = driver->plan.slot_count};
        driver_step(driver, &event);
    }
    driver_show_progress(driver);
}

// Tells that an attempt is tried again, once it is clear that it is.
static void tell_retry(struct driver *driver, uint32_t stage, const struct sched_attempt *at)
{
    const bool is_stuck = sched_task_state(driver->sched, stage, at->kind, at->task) == SCHED_STUCK;
    if (driver->is_over || is_stuck)
        return;
    report_retry(&driver->report, at, sched_charges(driver->sched, stage, at->kind, at->task),
                 driver->options->max_attempts, driver->why);
}

static void take_failed_task(struct driver *driver, const Weft__TaskEnd *end,
                             struct sched_event *event)
{
    const uint32_t stage = sched_stage(driver->sched);
    const uint32_t before = sched_charges(driver->sched, stage, event->at.kind, event->at.task);
    event->type = EVENT_TASK_FAILED;
    event->code = (weft_err)end->code;
    event->is_final = end->is_final;
    driver_explain_failure(driver, end);
    if (end->place && end->place->input < driver->plan.inputs.count && stage == 0)
        probe_note_harm(&driver->probe, event->at.kind, event->at.task,
                        (struct place){end->place->input, end->place->offset}, end->fed_end);
    driver_step(driver, event);
    // A stale attempt changed nothing and is not told.
    if (sched_charges(driver->sched, stage, event->at.kind, event->at.task) > before)
        tell_retry(driver, stage, &event->at);
}

// Takes the message over when it must live longer; tells so by returning true.
static bool take_task_end(struct driver *driver, Weft__TaskEnd *end)
{
    struct sched_event event = {
        .type = EVENT_TASK_HELD,
        .worker = driver->worker,
        .at = {.kind = (enum sched_kind)end->kind,
               .task = end->task,
               .attempt = end->attempt,
               .slot = end->slot},
    };
    if (end->code != WEFT_OK) {
        take_failed_task(driver, end, &event);
        return false;
    }
    const struct run_stage *stage = &driver->plan.stages[sched_stage(driver->sched)];
    const size_t number = stage->first_task[event.at.kind] + event.at.task;
    const bool is_current = driver->tally.tasks[number].attempt == end->attempt;
    weft_err code = tally_hold(&driver->tally, number, end);
    if (code == WEFT_OK && is_current && event.at.kind == SCHED_MAP && end->n_bad)
        code = bad_records_take(&driver->bad, number, end);
    if (code == WEFT_OK && end->n_bad)
        code = bad_records_check(&driver->bad, 0, false);
    const bool is_kept =
        code == WEFT_OK && is_current && event.at.kind == SCHED_SAMPLE && !driver->samples[number];
    if (is_kept)
        driver->samples[number] = end;
    if (code != WEFT_OK)
        driver_fail(driver, code);
    else
        driver_step(driver, &event);
    return is_kept;
}

static bool is_output_kind(const struct run_stage *stage, uint32_t kind)
{
    return stage->is_last && kind == (stage->is_map_only ? SCHED_MAP : SCHED_REDUCE);
}

// What was made of it may outlive this run, and with that what it has counted and left out.
static void note_committed_task(struct driver *driver, uint32_t stage, enum sched_kind kind,
                                uint32_t task, bool is_noted)
{
    if (is_noted || kind == SCHED_SAMPLE ||
        sched_task_state(driver->sched, stage, kind, task) != SCHED_COMMITTED)
        return;
    const weft_err code = resume_note_task(driver->resume, stage, kind, task);
    if (code != WEFT_OK)
        driver_fail(driver, code);
}

static void take_committed_task(struct driver *driver, uint32_t stage,
                                const Weft__Committed *committed, size_t i)
{
    const uint32_t task = committed->tasks[i];
    const enum sched_kind kind = (enum sched_kind)committed->kind;
    const bool is_output = is_output_kind(&driver->plan.stages[stage], kind);
    const struct sched_event event = {.type = EVENT_TASK_COMMITTED,
                                      .worker = driver->worker,
                                      .at = {.kind = kind, .task = task},
                                      .is_durable = is_output};
    const bool was_durable = sched_is_durable(driver->sched, stage, kind, task);
    driver_step(driver, &event);
    if (!is_output) {
        note_committed_task(driver, stage, kind, task, was_durable);
        return;
    }
    if (was_durable || !sched_is_durable(driver->sched, stage, kind, task))
        return;
    driver->pieces[task] = (struct output_piece){.bytes = committed->output_bytes[i],
                                                 .records = committed->output_records[i],
                                                 .crc32c = committed->output_crc[i],
                                                 .is_done = true};
    weft_err code = output_piece_committed(driver->output, task, committed->output_bytes[i],
                                           committed->output_crc[i], committed->output_records[i]);
    if (code == WEFT_OK)
        code = resume_note_piece(driver->resume, task);
    if (code != WEFT_OK)
        driver_fail(driver, code);
}

static void take_committed(struct driver *driver, const Weft__Committed *committed)
{
    const uint32_t stage = sched_stage(driver->sched);
    // Behind the last task of a stage nothing can be meant that was checked before it.
    for (size_t i = 0; i < committed->n_tasks && sched_stage(driver->sched) == stage; i++)
        take_committed_task(driver, stage, committed, i);
}

static void take_sealed(struct driver *driver, const Weft__Sealed *sealed)
{
    const struct sched_event event = {
        .type = EVENT_SEALED, .worker = driver->worker, .at = {.slot = sealed->slot}};
    driver_step(driver, &event);
}

static void take_checkpointed(struct driver *driver, const Weft__Checkpointed *done)
{
    const weft_err code = resume_note_checkpoint(driver->resume, done);
    if (code != WEFT_OK) {
        driver_fail(driver, code);
        return;
    }
    for (size_t i = 0; i < done->n_tasks; i++) {
        const struct sched_event event = {.type = EVENT_TASK_COMMITTED,
                                          .worker = driver->worker,
                                          .at = {.kind = SCHED_MAP, .task = done->tasks[i]},
                                          .is_durable = true};
        driver_step(driver, &event);
    }
    const struct sched_event event = {
        .type = EVENT_CHECKPOINTED, .worker = driver->worker, .at = {.slot = done->slot}};
    driver_step(driver, &event);
}

// After the last task: with the last of the output.
static void take_worker_failed(struct driver *driver, const Weft__WorkerFailed *failed)
{
    struct sched_event event = {.worker = driver->worker, .code = (weft_err)failed->code};
    event.type = driver->is_done ? EVENT_CANCEL : EVENT_WORKER_FAILED;
    snprintf(driver->why, sizeof driver->why, "%s", failed->text);
    driver->next[0] = 0;
    driver_step(driver, &event);
}

static struct answer_rules rules_of(const struct driver *driver)
{
    const uint32_t number = sched_stage(driver->sched);
    const struct run_stage *stage = &driver->plan.stages[number];
    return (struct answer_rules){
        .stage = number,
        .slot_count = driver->plan.slot_count,
        .task_counts = {run_stage_task_count(stage, SCHED_SAMPLE),
                        run_stage_task_count(stage, SCHED_MAP),
                        run_stage_task_count(stage, SCHED_REDUCE)},
        .is_map_only = stage->is_map_only,
        .is_last = stage->is_last,
        .input_count = driver->plan.inputs.count,
    };
}

static bool take_message(void *owner, Weft__FrameType type, ProtobufCMessage *message)
{
    struct driver *driver = owner;
    const struct answer_rules rules = rules_of(driver);
    bool is_kept = false;
    if (answer_check(type, &rules, message) != WEFT_OK)
        give_up_worker(driver, err_text());
    else if (type == WEFT__FRAME_TYPE__FRAME_TASK_END)
        is_kept = take_task_end(driver, (Weft__TaskEnd *)message);
    else if (type == WEFT__FRAME_TYPE__FRAME_COMMITTED)
        take_committed(driver, (Weft__Committed *)message);
    else if (type == WEFT__FRAME_TYPE__FRAME_SEALED)
        take_sealed(driver, (Weft__Sealed *)message);
    else if (type == WEFT__FRAME_TYPE__FRAME_CHECKPOINTED)
        take_checkpointed(driver, (Weft__Checkpointed *)message);
    else
        take_worker_failed(driver, (Weft__WorkerFailed *)message);
    driver_show_progress(driver);
    return is_kept;
}

static void take_bye(void *owner)
{
    struct driver *driver = owner;
    driver->has_bye = true;
    driver_check_end(driver);
}

static void take_late(void *owner, const struct agent_attempt *late, bool is_record)
{
    struct driver *driver = owner;
    if (driver->is_over || !is_task(driver, late->kind, late->task))
        return;
    const uint32_t stage = sched_stage(driver->sched);
    const struct sched_event event = {
        .type = EVENT_TASK_TIMED_OUT, .worker = driver->worker, .at = attempt_of(driver, late)};
    const uint32_t before = sched_charges(driver->sched, stage, event.at.kind, event.at.task);
    driver_explain_timeout(driver, late, is_record);
    note_harm(driver, late);
    driver_step(driver, &event);
    if (sched_charges(driver->sched, stage, event.at.kind, event.at.task) > before)
        tell_retry(driver, stage, &event.at);
}

// ---- The end of a worker ------------------------------------------------------------------------

// The attempts that were begun and not ended, as far as they are tasks of this stage.
static uint32_t find_inside(struct driver *driver, const struct agent_loss *loss,
                            const struct agent_attempt **seen, uint32_t *crash_slot)
{
    uint32_t count = 0;
    *crash_slot = SCHED_NO_SLOT;
    for (uint32_t i = 0; i < loss->inside_count; i++) {
        const struct agent_attempt *at = &loss->inside[i];
        if (!is_task(driver, at->kind, at->task))
            continue;
        seen[count] = at;
        driver->inside[count++] = attempt_of(driver, at);
        if (at->crash_signal != 0)
            *crash_slot = at->slot;
    }
    return count;
}

// Charges that the loss brought are told one by one; a loss without any is told as such.
static void tell_loss(struct driver *driver, uint32_t stage, const struct sched_event *event,
                      const uint32_t *charges, bool is_told)
{
    for (uint32_t i = 0; i < event->inside_count; i++) {
        const struct sched_attempt *at = &event->inside[i];
        if (sched_charges(driver->sched, stage, at->kind, at->task) <= charges[i])
            continue;
        tell_retry(driver, stage, at);
        is_told = true;
    }
    if (!is_told && !driver->is_over)
        report_warn(&driver->report, driver->why);
}

// All work is done: a worker that ends badly now cannot harm it, but the user should know.
static void take_last_end(struct driver *driver, const struct process_exit *exit)
{
    char how[128], text[256];
    process_describe_exit(exit, how, sizeof how);
    snprintf(text, sizeof text, "the worker did not end well (%s); the output is complete", how);
    if (!driver->has_bye && !driver->is_over)
        report_warn(&driver->report, text);
    driver->has_bye = driver->is_gone = true;
    driver_check_end(driver);
}

static void take_loss(void *owner, const struct agent_loss *loss)
{
    struct driver *driver = owner;
    const uint32_t stage = sched_stage(driver->sched);
    const struct agent_attempt *seen[SLOTS_MAX];
    uint32_t charges[SLOTS_MAX];
    if (driver->is_done) {
        take_last_end(driver, loss->exit);
        return;
    }
    driver->summary.worker_lost_count++;
    struct sched_event event = {.type = EVENT_WORKER_LOST,
                                .worker = driver->worker,
                                .inside = driver->inside,
                                .code = loss->was_ready ? WEFT_ABORTED : WEFT_UNAVAILABLE};
    event.inside_count = find_inside(driver, loss, seen, &event.crash_slot);
    for (uint32_t i = 0; i < event.inside_count; i++)
        charges[i] =
            sched_charges(driver->sched, stage, driver->inside[i].kind, driver->inside[i].task);
    if (loss->code != WEFT_OK)
        snprintf(driver->why, sizeof driver->why, "the connection to the worker broke: %s",
                 err_text());
    else
        driver_explain_loss(driver, loss, seen, event.inside_count, event.crash_slot);
    for (uint32_t i = 0; i < event.inside_count; i++)
        note_harm(driver, seen[i]);
    const bool is_told = loss->is_told;
    driver_step(driver, &event);
    tell_loss(driver, stage, &event, charges, is_told);
}

const struct agent_calls driver_agent_calls = {
    .ready = take_ready,
    .silent = take_silence,
    .message = take_message,
    .wrong = tell_wrong,
    .left = take_bye,
    .late = take_late,
    .lost = take_loss,
};

// ---- What an earlier run has done ---------------------------------------------------------------

static void take_restored(void *owner, uint32_t stage, enum sched_kind kind, uint32_t task)
{
    const struct sched_event event = {.type = EVENT_TASK_RESTORED,
                                      .at = {.kind = kind, .task = task, .stage = stage}};
    driver_step(owner, &event);
}

static void take_due(void *owner)
{
    struct driver *driver = owner;
    if (sched_stage(driver->sched) == 0)  // later stages read what only their worker has
        driver_step(driver, &(struct sched_event){.type = EVENT_CHECKPOINT});
}

const struct resume_calls driver_resume_calls = {
    .restored = take_restored,
    .due = take_due,
};
