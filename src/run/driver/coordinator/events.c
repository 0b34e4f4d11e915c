// events: what a worker says and does becomes events, and so does what an earlier run has done.
//
// What comes from a worker means nothing until it is checked here: it ran user code. A worker that breaks the
// rules is killed, and is then a lost worker like any other.

#include "code/codes.h"
#include "run/answers.h"
#include "run/driver/coordinator/coordinator_state.h"
#include "run/driver/messages.h"
#include "sys/time/clock.h"

#include <stdio.h>

// ---- Where it is -------------------------------------------------------------------------------

void coordinator_read_figures(const struct coordinator *coordinator, struct agent_figures *figures)
{
    *figures = (struct agent_figures){0};
    for (uint32_t i = 0; i < coordinator->place_count; i++) {
        struct agent_figures one;
        const uint64_t peak = figures->memory_peak;
        agent_read_figures(&coordinator->places[i].agent, &one);
        agent_add_figures(figures, &one);
        figures->memory_peak = peak + one.memory_peak;  // they work at the same time
    }
}

void coordinator_show_progress(struct coordinator *coordinator)
{
    if (!report_is_shown(coordinator->report) || coordinator->is_over || !coordinator->sched)
        return;
    const uint32_t stage = sched_stage(coordinator->sched);
    const struct run_stage *at = &coordinator->plan->stages[stage];
    struct report_facts facts = {.stage = stage,
                                 .stage_count = coordinator->plan->stage_count,
                                 .is_map_only = at->is_map_only,
                                 .input_bytes = coordinator->plan->inputs.total_bytes};
    for (enum sched_kind kind = SCHED_SAMPLE; kind < SCHED_KIND_COUNT; kind++) {
        facts.done_counts[kind] = sched_count(coordinator->sched, stage, kind, SCHED_COMMITTED) +
                                  sched_count(coordinator->sched, stage, kind, SCHED_HELD);
        facts.task_counts[kind] = run_stage_task_count(at, kind);
    }
    struct status_words words;
    // Those of clients do not travel.
    for (uint32_t i = 0; !coordinator->clients && i < coordinator->place_count; i++)
        if (agent_read_status(&coordinator->places[i].agent, &words))
            report_status(coordinator->report, &words);
    const uint64_t now_ns = clock_now_ns();
    if (!report_is_due(coordinator->report, &facts, now_ns))
        return;
    coordinator_read_figures(coordinator, &facts.figures);
    report_show(coordinator->report, &facts, now_ns);
}

// ---- What the worker says -------------------------------------------------------------------------

static void tell_wrong(void *owner, const char *what)
{
    const struct worker_place *place = owner;
    struct coordinator *coordinator = place->coordinator;
    char text[ERR_TEXT_BYTES_MAX + 32];
    snprintf(text, sizeof text, "the worker sent %s", what);
    report_warn(coordinator->report, text);
    coordinator_show_progress(coordinator);
}

// The worker broke the rules: nothing but its end is expected of it any more.
void coordinator_give_up_worker(struct worker_place *place, const char *what)
{
    tell_wrong(place, what);
    agent_kill(&place->agent);
}

static struct sched_attempt attempt_of(const struct agent_attempt *at)
{
    return (struct sched_attempt){.kind = (enum sched_kind)at->kind,
                                  .task = at->task,
                                  .attempt = at->attempt,
                                  .slot = at->slot,
                                  .stage = at->stage};
}

// Whether the attempt is one of the stage at work: what a page says of itself is unproven.
static bool is_task(const struct coordinator *coordinator, const struct agent_attempt *at)
{
    const uint32_t stage = sched_stage(coordinator->sched);
    return at->stage == stage && at->kind < SCHED_KIND_COUNT &&
           at->task <
               run_stage_task_count(&coordinator->plan->stages[stage], (enum sched_kind)at->kind);
}

// Where an attempt was that read an input.
static void note_harm(struct coordinator *coordinator, const struct agent_attempt *at)
{
    if (at->stage == 0 && at->kind != SCHED_REDUCE)
        probe_note_harm(&coordinator->probe, (enum sched_kind)at->kind, at->task,
                        (struct place){at->input, at->offset}, at->fed_end);
}

static void take_silence(void *owner)
{
    const struct worker_place *place = owner;
    coordinator_fail(place->coordinator,
                     err_set(WEFT_DEADLINE_EXCEEDED,
                             "the worker was not ready within a minute\n  try: call weft_main or "
                             "weft_start first in main(), before anything that takes time"));
}

// How many workers read from each other, as far as is known now; above 1 they do in any case.
static uint32_t count_sharing(const struct coordinator *coordinator)
{
    const uint32_t clients = coordinator->clients ? clients_count(coordinator->clients) : 0;
    return !coordinator->clients ? coordinator->plan->worker_count : clients > 2 ? clients : 2;
}

static void take_ready(void *owner, weft_err code)
{
    struct worker_place *place = owner;
    struct coordinator *coordinator = place->coordinator;
    if (place->leaving)
        return;  // it gets nothing to do
    if (code == WEFT_OK)
        code = run_plan_send_job(coordinator->plan, &place->agent, agent_slot_count(&place->agent),
                                 count_sharing(coordinator));
    if (code != WEFT_OK)
        coordinator_fail(coordinator, code);
    else
        coordinator_tell_ready(place);
    coordinator_show_progress(coordinator);
}

// Reports that an attempt is tried again, once it is clear that it is.
static void tell_retry(struct coordinator *coordinator, uint32_t stage,
                       const struct sched_attempt *at)
{
    const bool is_stuck =
        sched_task_state(coordinator->sched, stage, at->kind, at->task) == SCHED_STUCK;
    if (coordinator->is_over || is_stuck)
        return;
    report_retry(coordinator->report, at,
                 sched_charges(coordinator->sched, stage, at->kind, at->task),
                 coordinator->plan->options->max_attempts, coordinator->blame.why);
}

// Attempts that lack lent input are not charged, so nothing else ends a job whose input is out of reach for good. A short
// outage ends one attempt in each slot.
static void check_lacking(struct coordinator *coordinator, const Weft__TaskEnd *end)
{
    enum { LACKING_PER_SLOT_MAX = 8 };
    uint32_t ready_count = 0;
    for (uint32_t i = 0; i < coordinator->place_count; i++)
        ready_count += agent_is_ready(&coordinator->places[i].agent);
    const uint32_t limit = LACKING_PER_SLOT_MAX * ready_count * coordinator->plan->slot_count;
    if (!end->is_blameless || ++coordinator->lacking_count < limit || coordinator->is_over)
        return;
    coordinator_fail(
        coordinator,
        err_set((weft_err)end->code,
                "%s\n  %u attempts in a row lacked input, and none ended well in "
                "between\n  try: look whether workers can reach the machine that has it",
                end->text, coordinator->lacking_count));
}

static void take_failed_task(struct worker_place *place, const Weft__TaskEnd *end,
                             struct sched_event *event)
{
    struct coordinator *coordinator = place->coordinator;
    const uint32_t stage = end->stage;
    const uint32_t before =
        sched_charges(coordinator->sched, stage, event->at.kind, event->at.task);
    event->type = EVENT_TASK_FAILED;
    event->code = (weft_err)end->code;
    event->is_final = end->is_final;
    // Processes of a client that leaves may be asked to end with it.
    event->is_blameless = end->is_blameless || place->leaving;
    event->keeps_held = end->keeps_held;
    const bool is_damage = end->bad_seal || end->has_bad_source;
    const bool is_mended = is_damage && coordinator_take_damage(place, end);
    if (end->has_bad_source && !is_mended && !coordinator->clients) {
        event->is_blameless = false;
        event->is_final = true;
    }
    blame_explain_failure(&coordinator->blame, end);
    if (!end->is_blameless && end->place && end->place->input < coordinator->plan->inputs.count &&
        stage == 0)
        probe_note_harm(&coordinator->probe, event->at.kind, event->at.task,
                        (struct place){end->place->input, end->place->offset}, end->fed_end);
    if (!event->is_blameless)
        coordinator_note_failed_at(place, &event->at);
    coordinator_step(coordinator, event);
    // A stale attempt changed nothing and is not reported.
    if (sched_charges(coordinator->sched, stage, event->at.kind, event->at.task) > before)
        tell_retry(coordinator, stage, &event->at);
    if (!is_mended)
        check_lacking(coordinator, end);
}

// Trying again on this machine cannot help: the script imports a module that it lacks, a command is not installed, a file that the job
// opens is not there.
static bool is_of_machine(const struct coordinator *coordinator, const Weft__TaskEnd *end)
{
    switch (end->is_final ? end->code : WEFT_OK) {
    case WEFT_FAILED_PRECONDITION:
        return code_of(coordinator->plan->options->job)->loads_late;
    case WEFT_NOT_FOUND:
    case WEFT_PERMISSION_DENIED:
        return true;
    default:
        return false;
    }
}

// Such a client is set aside, and others continue. If it is so at every client, the reason is not their machines.
static bool set_unfit_aside(const struct worker_place *place, const Weft__TaskEnd *end)
{
    struct coordinator *coordinator = place->coordinator;
    const bool is_unfit = coordinator->clients && is_of_machine(coordinator, end);
    if (!is_unfit || (++coordinator->unfit_count >= UNFIT_MAX && !coordinator->has_worked))
        return false;
    clients_drop(coordinator->clients, agent_holder(&place->agent), end->text);
    return true;
}

static void note_client_task(const struct worker_place *place, const Weft__TaskEnd *end)
{
    struct coordinator *coordinator = place->coordinator;
    if (!coordinator->clients)
        return;
    bool *has_ended = &coordinator->has_ended[run_plan_number(
        coordinator->plan, end->stage, (enum sched_kind)end->kind, end->task)];
    clients_note_task(coordinator->clients, agent_holder(&place->agent), end->bytes_in, *has_ended);
    *has_ended = true;
}

// Of two attempts of a task at clients the first counts, whichever was sent last.
static bool choose_winner(const struct worker_place *place, const struct sched_attempt *at,
                          size_t number)
{
    struct coordinator *coordinator = place->coordinator;
    if (!sched_waits_for(coordinator->sched, place->worker, at))
        return false;
    tally_begin(&coordinator->tally, number, at->attempt);
    return true;
}

static struct sched_event event_of(const struct worker_place *place, const Weft__TaskEnd *end)
{
    return (struct sched_event){
        .type = EVENT_TASK_HELD,
        .worker = place->worker,
        .at = {.kind = (enum sched_kind)end->kind,
               .task = end->task,
               .attempt = end->attempt,
               .slot = end->slot,
               .stage = end->stage},
    };
}

// Returns true if it takes the message over, which must then live longer.
static bool take_task_end(struct worker_place *place, Weft__TaskEnd *end)
{
    struct coordinator *coordinator = place->coordinator;
    struct sched_event event = event_of(place, end);
    coordinator_note_end(place, &event.at, end->code == WEFT_OK);
    if (end->code != WEFT_OK) {
        if (!set_unfit_aside(place, end))
            take_failed_task(place, end, &event);
        return false;
    }
    coordinator->lacking_count = 0;
    coordinator->has_worked = true;
    note_client_task(place, end);
    const size_t number =
        run_plan_number(coordinator->plan, end->stage, event.at.kind, event.at.task);
    // Its records are counted already.
    if (end->stage < sched_stage(coordinator->sched) ||
        (coordinator->clients && !choose_winner(place, &event.at, number))) {
        coordinator_step(coordinator, &event);
        return false;
    }
    const bool is_current = coordinator->tally.tasks[number].attempt == end->attempt;
    weft_err code = tally_hold(&coordinator->tally, number, end);
    if (code == WEFT_OK && is_current && event.at.kind == SCHED_MAP && end->n_bad)
        code = bad_records_take(&coordinator->bad, number, end);
    if (code == WEFT_OK && end->n_bad)
        code = bad_records_check(&coordinator->bad, 0, false);
    const bool is_kept = code == WEFT_OK && is_current && event.at.kind == SCHED_SAMPLE &&
                         !coordinator->samples[number];
    if (is_kept)
        coordinator->samples[number] = end;
    if (code != WEFT_OK)
        coordinator_fail(coordinator, code);
    else
        coordinator_step(coordinator, &event);
    return is_kept;
}

// After the last task: with the last of the output.
static void take_worker_failed(const struct worker_place *place, const Weft__WorkerFailed *failed)
{
    struct coordinator *coordinator = place->coordinator;
    struct sched_event event = {.worker = place->worker, .code = (weft_err)failed->code};
    event.type = coordinator->is_done ? EVENT_CANCEL : EVENT_WORKER_FAILED;
    if (coordinator->clients) {  // others can continue
        clients_drop(coordinator->clients, agent_holder(&place->agent), failed->text);
        return;
    }
    snprintf(coordinator->blame.why, sizeof coordinator->blame.why, "%s", failed->text);
    coordinator->blame.next[0] = 0;
    coordinator_step(coordinator, &event);
}

struct answer_rules coordinator_rules_of(const struct worker_place *place, uint32_t number)
{
    const struct coordinator *coordinator = place->coordinator;
    const struct run_stage *stage = &coordinator->plan->stages[number];
    return (struct answer_rules){
        .stage = number,
        .slot_count = agent_slot_count(&place->agent),
        .task_counts = {run_stage_task_count(stage, SCHED_SAMPLE),
                        run_stage_task_count(stage, SCHED_MAP),
                        run_stage_task_count(stage, SCHED_REDUCE)},
        .is_map_only = stage->is_map_only,
        .is_last = stage->is_last,
        .is_shared = run_plan_is_shared(coordinator->plan),
        .is_lent = coordinator->plan->options->lends_inputs || coordinator->clients,
        .input_count = coordinator->plan->inputs.count,
    };
}

static bool take_message(void *owner, Weft__FrameType type, ProtobufCMessage *message)
{
    struct worker_place *place = owner;
    struct coordinator *coordinator = place->coordinator;
    const uint32_t at_work = sched_stage(coordinator->sched);
    const uint32_t stage = answer_stage(type, message, at_work);
    // The job may have gone back while attempts of a later stage continue at clients.
    const uint32_t most = coordinator->clients ? coordinator->stage_most : at_work;
    const struct answer_rules rules = coordinator_rules_of(place, stage <= most ? stage : at_work);
    bool is_kept = false;
    if (answer_check(type, &rules, message) != WEFT_OK)
        coordinator_give_up_worker(place, err_text());
    else if (type == WEFT__FRAME_TYPE__FRAME_TASK_END)
        is_kept = take_task_end(place, (Weft__TaskEnd *)message);
    else if (type == WEFT__FRAME_TYPE__FRAME_COMMITTED)
        coordinator_take_committed(place, (Weft__Committed *)message);
    else if (type == WEFT__FRAME_TYPE__FRAME_SEALED)
        coordinator_take_sealed(place, ((Weft__Sealed *)message)->slot);
    else if (type == WEFT__FRAME_TYPE__FRAME_CHECKPOINTED)
        coordinator_take_checkpointed(place, (Weft__Checkpointed *)message);
    else
        take_worker_failed(place, (Weft__WorkerFailed *)message);
    coordinator_look_at_leaving(place);
    coordinator_show_progress(coordinator);
    return is_kept;
}

static void take_bye(void *owner)
{
    struct worker_place *place = owner;
    place->has_bye = true;
    coordinator_check_end(place->coordinator);
}

static void take_late(void *owner, const struct agent_attempt *late, bool is_record)
{
    const struct worker_place *place = owner;
    struct coordinator *coordinator = place->coordinator;
    if (coordinator->is_over || !is_task(coordinator, late))
        return;
    const uint32_t stage = sched_stage(coordinator->sched);
    const struct sched_event event = {
        .type = EVENT_TASK_TIMED_OUT, .worker = place->worker, .at = attempt_of(late)};
    const uint32_t before = sched_charges(coordinator->sched, stage, event.at.kind, event.at.task);
    blame_explain_timeout(&coordinator->blame, stage, late, is_record);
    note_harm(coordinator, late);
    coordinator_step(coordinator, &event);
    if (sched_charges(coordinator->sched, stage, event.at.kind, event.at.task) > before)
        tell_retry(coordinator, stage, &event.at);
}

// ---- The end of a worker ------------------------------------------------------------------------

// The attempts that were begun and not ended, as far as they are tasks of this stage.
static uint32_t find_inside(struct coordinator *coordinator, const struct agent_loss *loss,
                            const struct agent_attempt **seen, uint32_t *crash_slot)
{
    uint32_t count = 0;
    *crash_slot = SCHED_NO_SLOT;
    for (uint32_t i = 0; i < loss->inside_count; i++) {
        const struct agent_attempt *at = &loss->inside[i];
        if (!is_task(coordinator, at))
            continue;
        seen[count] = at;
        coordinator->inside[count++] = attempt_of(at);
        if (at->crash_signal != 0)
            *crash_slot = at->slot;
    }
    return count;
}

// Charges because of the loss are reported one by one; a loss without any is reported as such.
static void tell_loss(struct coordinator *coordinator, uint32_t stage,
                      const struct sched_event *event, const uint32_t *charges, bool is_told)
{
    for (uint32_t i = 0; i < event->inside_count; i++) {
        const struct sched_attempt *at = &event->inside[i];
        if (sched_charges(coordinator->sched, stage, at->kind, at->task) <= charges[i])
            continue;
        tell_retry(coordinator, stage, at);
        is_told = true;
    }
    if (!is_told && !coordinator->is_over)
        report_warn(coordinator->report, coordinator->blame.why);
}

// All work is done: a worker that ends badly now cannot harm it, but the user should know.
static void take_last_end(struct worker_place *place, const struct process_exit *exit, bool is_told)
{
    struct coordinator *coordinator = place->coordinator;
    char how[128], text[256];
    process_describe_exit(exit, how, sizeof how);
    snprintf(text, sizeof text, "the worker did not end well (%s); the output is complete", how);
    if (!place->has_bye && !coordinator->is_over && !is_told)
        report_warn(coordinator->report, text);
    place->has_bye = place->is_gone = true;
    coordinator_check_end(coordinator);
}

// What a lost machine had is gone, too; a lost process leaves it to the client.
static void take_machine_loss(struct worker_place *place, const struct agent_loss *loss,
                              struct sched_event *event)
{
    struct coordinator *coordinator = place->coordinator;
    event->is_blameless =
        loss->is_machine || place->leaving;  // one that leaves may give tasks back
    event->keeps_commits = coordinator->clients && !loss->is_machine;
    place->is_ready_kept = false;
    if (loss->is_machine)
        coordinator_end_leaving(place);
    if (loss->is_machine)
        coordinator_lose_holder(place);
    if (loss->is_machine)
        holdings_lose(&coordinator->holdings, agent_holder(&place->agent));
    if (loss->is_machine && coordinator->shared_parts)
        shared_parts_lose(coordinator->shared_parts, agent_holder(&place->agent));
    if (coordinator->lateness)
        lateness_forget(coordinator->lateness, (uint32_t)(place - coordinator->places),
                        loss->is_machine);
    if (loss->is_machine)
        place->is_silent = false;
}

static void tell_alone(const struct coordinator *coordinator)
{
    if (coordinator->clients && clients_count(coordinator->clients) == 0 && !coordinator->is_over &&
        !coordinator->plan->options->quiet)
        report_warn(coordinator->report, "no client is left: waiting for others to join");
}

static void take_loss(void *owner, const struct agent_loss *loss)
{
    struct worker_place *place = owner;
    struct coordinator *coordinator = place->coordinator;
    const uint32_t stage = sched_stage(coordinator->sched);
    const struct agent_attempt *seen[SLOTS_MAX];
    uint32_t charges[SLOTS_MAX];
    items_forget(coordinator->items, &place->agent);
    if (coordinator->is_done) {
        take_last_end(place, loss->exit, loss->is_machine);
        return;
    }
    coordinator->worker_lost_count +=
        !(loss->is_machine ? place->leaving == LEAVING_RELEASED : place->leaving != LEAVING_NOT);
    struct sched_event event = {.type = EVENT_WORKER_LOST,
                                .worker = place->worker,
                                .inside = coordinator->inside,
                                .code = loss->was_ready ? WEFT_ABORTED : WEFT_UNAVAILABLE};
    event.inside_count = find_inside(coordinator, loss, seen, &event.crash_slot);
    take_machine_loss(place, loss, &event);
    const bool is_hopeless = coordinator_take_useless(place, loss, &event);
    for (uint32_t i = 0; i < event.inside_count; i++)
        charges[i] = sched_charges(coordinator->sched, stage, coordinator->inside[i].kind,
                                   coordinator->inside[i].task);
    if (loss->code != WEFT_OK)
        snprintf(coordinator->blame.why, sizeof coordinator->blame.why, "the %s: %s",
                 loss->was_ready ? "connection to the worker broke" : "worker could not be started",
                 err_text());
    else
        blame_explain_loss(&coordinator->blame, stage, loss, seen, event.inside_count,
                           event.crash_slot);
    for (uint32_t i = 0; i < event.inside_count; i++)
        note_harm(coordinator, seen[i]);
    for (uint32_t i = 0; i < event.inside_count && !event.is_blameless; i++)
        coordinator_note_failed_at(place, &event.inside[i]);
    const bool is_told = loss->is_told;
    coordinator_step(coordinator, &event);
    tell_loss(coordinator, stage, &event, charges, is_told);
    if (loss->is_machine)
        tell_alone(coordinator);
    if (is_hopeless && !coordinator->is_over)
        coordinator_set_aside(place);
}

static weft_err take_wrote(void *owner, const Weft__PartWritten *written)
{
    const struct worker_place *place = owner;
    const struct coordinator *coordinator = place->coordinator;
    if (!coordinator->shared_parts)
        return err_set(WEFT_INTERNAL, "a part that it was not asked for");
    return coordinator->is_over ? WEFT_OK
                                : shared_parts_answer(coordinator->shared_parts,
                                                      agent_holder(&place->agent), written);
}

const struct agent_calls coordinator_agent_calls = {
    .ready = take_ready,
    .silent = take_silence,
    .message = take_message,
    .wrong = tell_wrong,
    .left = take_bye,
    .late = take_late,
    .offered = coordinator_take_offer,
    .wrote = take_wrote,
    .leaving = coordinator_take_leaving,
    .taken = coordinator_take_taken,
    .lost = take_loss,
    .gone = coordinator_clear_place,
};

// ---- What an earlier run has done ---------------------------------------------------------------

static void take_restored(void *owner, uint32_t stage, enum sched_kind kind, uint32_t task)
{
    const struct sched_event event = {.type = EVENT_TASK_RESTORED,
                                      .at = {.kind = kind, .task = task, .stage = stage}};
    coordinator_step(owner, &event);
}

static void take_due(void *owner)
{
    struct coordinator *coordinator = owner;
    // Later stages of our own workers read what only these have.
    if (coordinator->clients || sched_stage(coordinator->sched) == 0)
        coordinator_step(coordinator, &(struct sched_event){.type = EVENT_CHECKPOINT});
}

const struct resume_calls coordinator_resume_calls = {
    .restored = take_restored,
    .due = take_due,
};
