// actions: what the scheduler wants becomes frames; what goes wrong with that is one more event.

#include "run/driver/coordinator/coordinator_state.h"

#include "run/driver/messages.h"

#include "sys/time/clock.h"

#include <stdio.h>

static void end(struct coordinator *coordinator, weft_err code)
{
    coordinator->code = code;
    coordinator_stop(coordinator);
}

// Its turn comes when all actions of the step under way are carried out: other workers wait for theirs.
static void defer(struct coordinator *coordinator, const struct sched_event *event)
{
    const struct deferred deferred = {*event, coordinator->blame};
    ASSERT(event->inside_count == 0);  // they are borrowed
    if (VEC_PUSH(&coordinator->deferred, deferred))
        return;
    const weft_err code = err_no_memory("for an event of a worker");
    snprintf(coordinator->error, sizeof coordinator->error, "%s", err_text());
    end(coordinator, code);
}

void coordinator_fail(struct coordinator *coordinator, weft_err code)
{
    const struct sched_event event = {.type = EVENT_CANCEL, .code = code};
    const struct blame before = coordinator->blame;
    const bool is_stepping = coordinator->is_stepping;
    snprintf(coordinator->blame.why, sizeof coordinator->blame.why, "%s", err_text());
    coordinator->blame.next[0] = 0;
    coordinator_step(coordinator, &event);
    if (is_stepping)
        coordinator->blame = before;
}

static struct worker_place *place_of(struct coordinator *coordinator, uint32_t worker)
{
    return &coordinator->places[sched_place(coordinator->sched, worker)];
}

static void start_worker(struct coordinator *coordinator, uint32_t worker)
{
    const struct output_place *output = output_place(coordinator->output);
    struct worker_place *place = place_of(coordinator, worker);
    const bool writes = output->kind == OUTPUT_PLACE_FD && !run_plan_is_shared(coordinator->plan);
    place->worker = worker;
    place->is_ready_kept = false;
    place->seals_sent = 0;
    if (agent_start(&place->agent, writes ? output->fd : -1) == WEFT_OK)
        return;
    const struct sched_event event = {.type = EVENT_WORKER_LOST,
                                      .worker = worker,
                                      .crash_slot = SCHED_NO_SLOT,
                                      .code = WEFT_UNAVAILABLE};
    const struct blame before = coordinator->blame;
    snprintf(coordinator->blame.why, sizeof coordinator->blame.why, "%s", err_text());
    defer(coordinator, &event);
    coordinator->blame = before;
}

static weft_err send_seal(struct agent *agent, uint32_t slot)
{
    Weft__Seal seal = WEFT__SEAL__INIT;
    seal.slot = slot;
    return agent_send(agent, WEFT__FRAME_TYPE__FRAME_SEAL, &seal.base);
}

static weft_err send_checkpoint(struct agent *agent, uint32_t slot)
{
    Weft__Checkpoint checkpoint = WEFT__CHECKPOINT__INIT;
    checkpoint.slot = slot;
    return agent_send(agent, WEFT__FRAME_TYPE__FRAME_CHECKPOINT, &checkpoint.base);
}

static weft_err send_drop(struct agent *agent, uint32_t slot)
{
    Weft__Drop drop = WEFT__DROP__INIT;
    drop.slot = slot;
    return agent_send(agent, WEFT__FRAME_TYPE__FRAME_DROP, &drop.base);
}

// The sentence of a failed run: what, how often it was tried, what next.
static void take_failure(struct coordinator *coordinator, const struct sched_action *action)
{
    char tries[64] = "";
    const uint32_t charges =
        action->at.task == SCHED_NO_TASK
            ? 0
            : sched_charges(coordinator->sched, action->stage, action->at.kind, action->at.task);
    if (charges > 1)
        snprintf(tries, sizeof tries, " (attempt %u of %u)", charges,
                 coordinator->plan->options->max_attempts);
    // A sentence of several lines has its own advice after the first line; the words of the first one that announce the
    // advice stay in front of it.
    const char *rest = strchr(coordinator->blame.why, '\n');
    if (rest && rest > coordinator->blame.why && rest[-1] == ':') {
        const char *announcement =
            memrchr(coordinator->blame.why, ';', (size_t)(rest - coordinator->blame.why));
        rest = announcement ? announcement : rest;
    }
    const int first =
        rest ? (int)(rest - coordinator->blame.why) : (int)strlen(coordinator->blame.why);
    snprintf(coordinator->error, sizeof coordinator->error, "%.*s%s%s%s%s", first,
             coordinator->blame.why, tries, rest ? rest : "",
             coordinator->blame.next[0] ? "\n  try: " : "", coordinator->blame.next);
    end(coordinator, action->code);
}

// A worker that is not ready has done no task: the run does not wait for it. Nor for one that is silent, or still at work: what
// it does is not needed any more.
static weft_err release_worker(struct worker_place *place)
{
    struct coordinator *coordinator = place->coordinator;
    if (coordinator->clients && (place->is_silent || place->leaving ||
                                 !sched_is_settled(coordinator->sched, place->worker))) {
        agent_kill(&place->agent);
        place->has_bye = place->is_gone = true;
        return WEFT_OK;
    }
    if (agent_is_ready(&place->agent))
        return agent_release(&place->agent);
    agent_fini(&place->agent);
    place->has_bye = place->is_gone = true;
    return WEFT_OK;
}

static weft_err finish_job(struct coordinator *coordinator)
{
    coordinator->is_done = true;
    resume_stop(coordinator->resume);
    weft_err code = WEFT_OK;
    for (uint32_t i = 0; i < coordinator->place_count && code == WEFT_OK; i++)
        code = release_worker(&coordinator->places[i]);
    coordinator_check_end(coordinator);
    return code;
}

static weft_err open_stage(struct coordinator *coordinator, struct agent *agent, uint32_t stage)
{
    const bool shelves = run_plan_is_shared(coordinator->plan) && !coordinator->clients;
    const weft_err code = shelves
                              ? shelves_begin_stage(&coordinator->shelves, stage,
                                                    coordinator->plan->stages[stage].piece_count)
                              : WEFT_OK;
    return code != WEFT_OK
               ? code
               : run_plan_send_stage_open(coordinator->plan, agent, stage, coordinator->output,
                                          coordinator->pieces, coordinator->resume);
}

static weft_err send_stage_plan(struct coordinator *coordinator, struct agent *agent,
                                uint32_t stage)
{
    Weft__TaskEnd *const *samples =
        coordinator->samples + run_plan_number(coordinator->plan, stage, SCHED_SAMPLE, 0);
    uint8_t cuts[IDENTITY_KEY_BYTES];
    const weft_err code = run_plan_send_stage_plan(coordinator->plan, agent, stage, samples,
                                                   coordinator->resume, cuts);
    if (coordinator->clients) {
        memcpy(coordinator->holdings.stages[stage].cuts, cuts, sizeof cuts);
        coordinator->holdings.stages[stage].is_cut = true;
    }
    return code;
}

static weft_err send_task(struct coordinator *coordinator, struct agent *agent,
                          const struct sched_action *action)
{
    const size_t number =
        run_plan_number(coordinator->plan, action->at.stage, action->at.kind, action->at.task);
    if (!action->is_backup)
        tally_begin(&coordinator->tally, number, action->at.attempt);
    const uint32_t place = sched_place(coordinator->sched, action->worker);
    if (coordinator->lateness)
        lateness_begin(coordinator->lateness, place, &action->at, clock_now_ns());
    if (action->is_backup && coordinator->clients)
        clients_place(coordinator->clients, place)->backup_count++;
    const struct whereabouts where = coordinator_whereabouts(coordinator);
    return run_plan_send_task(coordinator->plan, agent, action, &coordinator->bad, &where);
}

// Where workers share, each is sent once the places of the map output of all.
static weft_err send_seals(struct coordinator *coordinator, struct worker_place *place,
                           uint32_t stage)
{
    if (!run_plan_is_shared(coordinator->plan) || place->seals_sent == stage + 1)
        return WEFT_OK;
    place->seals_sent = stage + 1;
    const struct whereabouts where = coordinator_whereabouts(coordinator);
    return run_plan_send_seals(&place->agent, stage, coordinator->resume, &where);
}

// The first reduce task begins: all records have been seen, nothing has been written yet.
static weft_err send_reduce(struct coordinator *coordinator, struct worker_place *place,
                            const struct sched_action *action)
{
    weft_err code = WEFT_OK;
    if (action->stage == 0 && !coordinator->bad.is_judged)
        code = coordinator_judge_bad(coordinator);
    if (code == WEFT_OK)
        code = send_seals(coordinator, place, action->stage);
    return code != WEFT_OK ? code : send_task(coordinator, &place->agent, action);
}

// Sends the frame of an action to its worker.
static weft_err send_action(struct coordinator *coordinator, const struct sched_action *action)
{
    struct worker_place *place = place_of(coordinator, action->worker);
    struct agent *agent = &place->agent;
    switch (action->type) {
    case ACTION_STAGE_OPEN:
        place->seals_sent = 0;
        if (coordinator->stage_most < action->stage)
            coordinator->stage_most = action->stage;
        return open_stage(coordinator, agent, action->stage);
    case ACTION_STAGE_PLAN:
        return send_stage_plan(coordinator, agent, action->stage);
    case ACTION_RUN:
        return action->at.kind == SCHED_REDUCE ? send_reduce(coordinator, place, action)
                                               : send_task(coordinator, agent, action);
    case ACTION_SEAL:
        return send_seal(agent, action->at.slot);
    case ACTION_CHECKPOINT:
        return send_checkpoint(agent, action->at.slot);
    case ACTION_DROP:
        return send_drop(agent, action->at.slot);
    default:
        agent_kill(agent);
        return WEFT_OK;
    }
}

static weft_err carry_out(struct coordinator *coordinator, const struct sched_action *action)
{
    switch (action->type) {
    case ACTION_START_WORKER:
        start_worker(coordinator, action->worker);
        return WEFT_OK;
    case ACTION_TASK_STUCK:
        coordinator_look_into(coordinator, action);
        return WEFT_OK;
    case ACTION_JOB_DONE:
        return finish_job(coordinator);
    case ACTION_JOB_FAILED:
        take_failure(coordinator, action);
        return WEFT_OK;
    case ACTION_STAGE_OPEN:
    case ACTION_STAGE_PLAN:
    case ACTION_RUN:
    case ACTION_SEAL:
    case ACTION_CHECKPOINT:
    case ACTION_DROP:
    case ACTION_KILL_WORKER:
        return send_action(coordinator, action);
    }
    return WEFT_OK;
}

// False: one failed, which ends the job. The actions after it may depend on it: a task needs its plan.
static bool carry_out_all(struct coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->actions->count && !coordinator->is_over; i++) {
        const weft_err code = carry_out(coordinator, &coordinator->actions->items[i]);
        if (code == WEFT_OK)
            continue;
        coordinator_fail(coordinator, code);
        return false;
    }
    return true;
}

static void take_event(struct coordinator *coordinator, const struct sched_event *event)
{
    coordinator->is_stepping = true;
    sched_step(coordinator->sched, event, coordinator->actions);
    bool goes_on = carry_out_all(coordinator);
    while (goes_on && coordinator->actions->has_more && !coordinator->is_over) {
        sched_more(coordinator->sched, coordinator->actions);
        goes_on = carry_out_all(coordinator);
    }
    coordinator->is_stepping = false;
    // The scheduler does not listen after the last task, but the last of the answer may still go wrong.
    if (event->type == EVENT_CANCEL && !coordinator->is_over) {
        snprintf(coordinator->error, sizeof coordinator->error, "%s", coordinator->blame.why);
        end(coordinator, event->code);
    }
}

void coordinator_step(struct coordinator *coordinator, const struct sched_event *event)
{
    if (coordinator->is_over)
        return;
    if (coordinator->is_stepping) {
        defer(coordinator, event);
        return;
    }
    take_event(coordinator, event);
    for (size_t i = 0; i < coordinator->deferred.count && !coordinator->is_over; i++) {
        const struct deferred next = coordinator->deferred.items[i];
        coordinator->blame = next.blame;
        take_event(coordinator, &next.event);
    }
    coordinator->deferred.count = 0;
}
