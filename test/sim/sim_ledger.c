// The rules of a job, checked from outside after every step, by what the driver can see.
//
// The ledger is kept from events and actions alone and knows nothing of how the scheduler decides; it
// says which decisions are wrong, not which is right.
#include "sim/sim.h"

#include <string.h>

static const char *const kind_names[] = {"sample", "map", "reduce"};

static uint32_t task_count(const struct sim *sim, uint32_t stage, uint32_t kind)
{
    return sim_task_count(&sim->options, stage, kind);
}

static uint32_t state_count(const struct sim *sim, enum sched_kind kind, enum sched_state state)
{
    return sched_count(sim->sched, sim->ledger.open_stage, kind, state);
}

void ledger_init(struct sim *sim)
{
    sim->ledger = (struct sim_ledger){.planned_stage = SIM_STAGES_MAX, .open_stage = 0};
}

// ---- Events -----------------------------------------------------------------------------------

// The place of an attempt in its slot's queue, -1 when it is not there.
static int find_queued(const struct sim_ledger *ledger, const struct sched_attempt *at)
{
    if (at->slot >= ledger->slot_count)
        return -1;
    for (uint32_t i = 0; i < ledger->queue_counts[at->slot]; i++) {
        const struct sched_attempt *in = &ledger->queues[at->slot][i];
        if (in->kind == at->kind && in->task == at->task && in->attempt == at->attempt)
            return (int)i;
    }
    return -1;
}

// The last charge ends the job, or makes the task wait for the driver unless its output is there.
static void charge(struct sim *sim, const struct sched_attempt *at)
{
    struct sim_ledger *ledger = &sim->ledger;
    const uint32_t stage = ledger->open_stage;
    const uint64_t bit = UINT64_C(1) << at->task;
    if (++ledger->charges[stage][at->kind][at->task] != sim->options.max_attempts)
        return;
    if (!sim->options.asks_before_failing || stage > 0 || at->kind == SCHED_REDUCE) {
        ledger->must_fail = true;
    } else if (!(ledger->durable[stage][at->kind] & bit)) {
        ledger->must_stick = true;
        ledger->sticking = *at;
        ledger->stuck[at->kind] |= bit;
        ledger->suspects[stage][at->kind] &= ~bit;
        ledger->suspect_charges[stage][at->kind] &= ~bit;
    }
}

// The task ended well: whatever it was suspected of is forgotten, and there may be progress.
static void clear(struct sim_ledger *ledger, enum sched_kind kind, uint32_t task, uint8_t state)
{
    const uint32_t stage = ledger->open_stage;
    const uint64_t bit = UINT64_C(1) << task;
    if (ledger->suspect_charges[stage][kind] & bit)
        ledger->charges[stage][kind][task]--;
    ledger->suspect_charges[stage][kind] &= ~bit;
    ledger->suspects[stage][kind] &= ~bit;
    if (state > ledger->furthest[stage][kind][task]) {
        ledger->furthest[stage][kind][task] = state;
        ledger->unexplained_loss_count = 0;
    }
}

// An attempt that ended counts only if it is the one its task waits for.
static void take_end(struct sim *sim, const struct sched_event *event, int place)
{
    struct sim_ledger *ledger = &sim->ledger;
    const struct sched_attempt *at = &event->at;
    const uint32_t stage = ledger->open_stage;
    const bool is_collecting = at->kind == SCHED_MAP && task_count(sim, stage, SCHED_REDUCE) > 0;
    if (ledger->states[stage][at->kind][at->task] != SCHED_RUNNING ||
        ledger->attempts[stage][at->kind][at->task] != at->attempt)
        return;
    if (event->type == EVENT_TASK_HELD) {
        clear(ledger, at->kind, at->task, at->kind == SCHED_SAMPLE ? SCHED_COMMITTED : SCHED_HELD);
        ledger->held[at->slot] |= is_collecting ? UINT64_C(1) << at->task : 0;
        return;
    }
    ledger->must_fail = event->is_final;
    if (!ledger->is_timed_out[at->slot][place] && !event->is_final)
        charge(sim, at);
    if (is_collecting && !event->is_final) {
        ledger->lost_held = ledger->held[at->slot];
        ledger->held[at->slot] = 0;
    }
}

static void leave_queue(struct sim *sim, const struct sched_event *event)
{
    struct sim_ledger *ledger = &sim->ledger;
    const uint32_t slot = event->at.slot;
    const int place = find_queued(ledger, &event->at);
    if (place < 0)
        return;
    take_end(sim, event, place);
    if (place == 0) {
        ledger->queues[slot][0] = ledger->queues[slot][1];
        ledger->is_timed_out[slot][0] = ledger->is_timed_out[slot][1];
    }
    ledger->is_timed_out[slot][1] = false;
    ledger->queue_counts[slot]--;
    ledger->busy_count--;
}

static void take_timed_out(struct sim *sim, const struct sched_attempt *at)
{
    const int place = find_queued(&sim->ledger, at);
    if (place < 0 || sim->ledger.is_timed_out[at->slot][place])
        return;
    sim->ledger.is_timed_out[at->slot][place] = true;
    charge(sim, at);
}

// The loss is nobody's for certain: those who were inside and have to run again become suspects.
static void take_unexplained(struct sim *sim, const struct sched_attempt *inside, uint32_t count)
{
    struct sim_ledger *ledger = &sim->ledger;
    const uint32_t stage = ledger->open_stage;
    for (uint32_t i = 0; i < count; i++) {
        const struct sched_attempt *at = &inside[i];
        const uint64_t bit = UINT64_C(1) << at->task;
        if (ledger->durable[stage][at->kind] & bit)
            continue;
        sim->totals->suspects++;
        ledger->suspects[stage][at->kind] |= bit;
        uint32_t *charges = &ledger->charges[stage][at->kind][at->task];
        if (!(ledger->suspect_charges[stage][at->kind] & bit) &&
            *charges + 1 < sim->options.max_attempts) {
            ledger->suspect_charges[stage][at->kind] |= bit;
            ++*charges;
        }
    }
    if (++ledger->unexplained_loss_count == SCHED_LOSSES_MAX)
        ledger->must_fail = true;
}

static void take_lost(struct sim *sim, const struct sched_event *event)
{
    struct sim_ledger *ledger = &sim->ledger;
    struct sched_attempt inside[SIM_SLOTS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < event->inside_count; i++) {
        const struct sched_attempt *at = &event->inside[i];
        const bool may_be = event->crash_slot == SCHED_NO_SLOT || event->crash_slot == at->slot;
        if (may_be && find_queued(ledger, at) >= 0)
            inside[count++] = *at;
    }
    const bool is_one =
        count == 1 && !(ledger->durable[ledger->open_stage][inside[0].kind] >> inside[0].task & 1);
    if (!ledger->is_killed && is_one)
        charge(sim, &inside[0]);
    else if (!ledger->is_killed)
        take_unexplained(sim, inside, count);
    sim->totals->losses++;
    ledger->is_started = ledger->is_ready = ledger->is_killed = false;
    ledger->busy_count = 0;
    memset(ledger->queue_counts, 0, sizeof ledger->queue_counts);
    memset(ledger->is_timed_out, 0, sizeof ledger->is_timed_out);
    memset(ledger->is_sealing, 0, sizeof ledger->is_sealing);
    memset(ledger->is_checkpointing, 0, sizeof ledger->is_checkpointing);
    memset(ledger->held, 0, sizeof ledger->held);
    ledger->planned_stage = SIM_STAGES_MAX;
}

// Whether the driver may count a task as committed: see sched.c about texts of failed attempts.
static void take_committed(struct sim *sim, const struct sched_event *event)
{
    struct sim_ledger *ledger = &sim->ledger;
    const struct sched_attempt *at = &event->at;
    const uint64_t bit = UINT64_C(1) << at->task;
    const uint8_t state = ledger->states[ledger->open_stage][at->kind][at->task];
    if (state == SCHED_COMMITTED || (state == SCHED_STUCK && !event->is_durable))
        return;
    clear(ledger, at->kind, at->task, SCHED_COMMITTED);
    if (ledger->open_stage == 0)
        ledger->stuck[at->kind] &= ~bit;
    for (uint32_t i = 0; i < SIM_SLOTS_MAX && at->kind == SCHED_MAP; i++)
        ledger->held[i] &= ~bit;
}

// What the driver says itself. False for an event of another kind.
static bool take_decision(struct sim *sim, const struct sched_event *event)
{
    struct sim_ledger *ledger = &sim->ledger;
    const struct sched_attempt *at = &event->at;
    const uint64_t bit = UINT64_C(1) << at->task;
    const bool is_stuck = !ledger->is_over && ledger->stuck[at->kind] & bit;
    if (event->type == EVENT_TASK_EXCUSED && is_stuck) {
        ledger->stuck[at->kind] &= ~bit;
        ledger->charges[0][at->kind][at->task] = 0;
    } else if (event->type == EVENT_TASK_CONDEMNED) {
        ledger->must_fail = is_stuck;
    } else if (event->type == EVENT_TASK_RESTORED && ledger->worker == 0) {
        ledger->furthest[event->at.stage][at->kind][at->task] = SCHED_COMMITTED;
    }
    return event->type >= EVENT_CANCEL && event->type <= EVENT_CHECKPOINT;
}

static void take_frame(struct sim *sim, const struct sched_event *event)
{
    struct sim_ledger *ledger = &sim->ledger;
    if (event->type == EVENT_WORKER_READY) {
        ledger->is_ready = true;
        ledger->slot_count = event->slot_count;
    } else if (event->type == EVENT_TASK_HELD || event->type == EVENT_TASK_FAILED) {
        leave_queue(sim, event);
    } else if (event->type == EVENT_TASK_COMMITTED) {
        take_committed(sim, event);
    } else if (event->type == EVENT_TASK_TIMED_OUT) {
        take_timed_out(sim, &event->at);
    } else if (event->type == EVENT_SEALED) {
        ledger->is_sealing[event->at.slot] = false;
        ledger->held[event->at.slot] = 0;
    } else if (event->type == EVENT_CHECKPOINTED) {
        ledger->is_checkpointing[event->at.slot] = false;
    } else if (event->type == EVENT_WORKER_FAILED) {
        ledger->must_fail = true;
    } else if (event->type == EVENT_WORKER_LOST) {
        take_lost(sim, event);
    }
}

void ledger_take_event(struct sim *sim, const struct sched_event *event)
{
    struct sim_ledger *ledger = &sim->ledger;
    ledger->must_fail = event->type == EVENT_CANCEL;
    ledger->must_stick = false;
    ledger->lost_held = 0;
    if (!take_decision(sim, event) && event->worker == ledger->worker && !ledger->is_over &&
        ledger->is_started)
        take_frame(sim, event);
}

// ---- Actions ----------------------------------------------------------------------------------

// Whether the stage has come far enough for tasks of this kind.
static void check_phase(const struct sim *sim, const struct sched_action *action)
{
    const struct sim_ledger *ledger = &sim->ledger;
    const enum sched_kind kind = action->at.kind;
    if (!ledger->is_ready || ledger->is_killed)
        sim_wrong(sim, "a task for a worker that is not ready");
    if (action->stage != ledger->open_stage)
        sim_wrong(sim, "a task of stage %u while %u is open", action->stage, ledger->open_stage);
    if (kind != SCHED_SAMPLE && ledger->planned_stage != ledger->open_stage)
        sim_wrong(sim, "a %s task before the plan of its stage", kind_names[kind]);
    if (kind != SCHED_REDUCE)
        return;
    if (state_count(sim, SCHED_MAP, SCHED_COMMITTED) != task_count(sim, action->stage, SCHED_MAP))
        sim_wrong(sim, "a reduce task before all map tasks are committed");
    for (uint32_t i = 0; i < ledger->slot_count; i++)
        if (ledger->is_sealing[i] || ledger->is_checkpointing[i])
            sim_wrong(sim, "a reduce task while slot %u is sealing or at a checkpoint", i);
}

static void check_order(const struct sim *sim, const struct sched_action *action)
{
    const struct sched_attempt *at = &action->at;
    const uint64_t suspects = sim->ledger.suspects[action->stage][at->kind];
    if (suspects && !(suspects >> at->task & 1))
        sim_wrong(sim, "task %u runs before the suspects do", at->task);
    if (suspects && sim->ledger.busy_count > 0)
        sim_wrong(sim, "suspect %u is not alone", at->task);
    for (uint32_t task = 0; task < at->task; task++) {
        const bool is_next = !suspects || suspects >> task & 1;
        if (is_next && sched_task_state(sim->sched, action->stage, at->kind, task) == SCHED_PENDING)
            sim_wrong(sim, "task %u runs while %u is pending", at->task, task);
    }
}

// All output of a stage is there for good.
static bool is_safe(const struct sim *sim, uint32_t stage)
{
    const bool has_reduce = task_count(sim, stage, SCHED_REDUCE) > 0;
    const uint64_t all = sim_all_of(sim_piece_count(&sim->options, stage));
    return all && sim->ledger.durable[stage][has_reduce ? SCHED_REDUCE : SCHED_MAP] == all;
}

static void take_run(struct sim *sim, const struct sched_action *action)
{
    struct sim_ledger *ledger = &sim->ledger;
    const struct sched_attempt *at = &action->at;
    check_phase(sim, action);
    check_order(sim, action);
    if (at->slot >= ledger->slot_count || ledger->queue_counts[at->slot] == SCHED_QUEUE_MAX)
        sim_wrong(sim, "no room in slot %u", at->slot);
    if (ledger->is_sealing[at->slot])
        sim_wrong(sim, "a task for slot %u, which is sealing", at->slot);
    if (is_safe(sim, action->stage))
        sim_wrong(sim, "%s task %u runs in vain", kind_names[at->kind], at->task);
    if (action->stage == 0 && ledger->stuck[at->kind] >> at->task & 1)
        sim_wrong(sim, "%s task %u runs, though it is stuck", kind_names[at->kind], at->task);
    if (ledger->states[action->stage][at->kind][at->task] == SCHED_COMMITTED &&
        ledger->durable[action->stage][at->kind] >> at->task & 1)
        sim_wrong(sim, "committed %s task %u runs again", kind_names[at->kind], at->task);
    uint32_t *attempt = &ledger->attempts[action->stage][at->kind][at->task];
    if (at->attempt <= *attempt)
        sim_wrong(sim, "attempt %u of task %u is not new", at->attempt, at->task);
    *attempt = at->attempt;
    if (ledger->queue_counts[at->slot] == 1)
        for (uint32_t i = 0; i < ledger->slot_count; i++)
            if (ledger->queue_counts[i] == 0 && !ledger->is_sealing[i])
                sim_wrong(sim, "slot %u gets a second task before slot %u has one", at->slot, i);
    ledger->queues[at->slot][ledger->queue_counts[at->slot]++] = *at;
    ledger->busy_count++;
}

static void take_seal(struct sim *sim, uint32_t slot)
{
    struct sim_ledger *ledger = &sim->ledger;
    if (!ledger->is_ready || slot >= ledger->slot_count || ledger->is_sealing[slot])
        sim_wrong(sim, "slot %u cannot be sealed", slot);
    if (ledger->busy_count > 0 || state_count(sim, SCHED_MAP, SCHED_PENDING) > 0 ||
        (ledger->open_stage == 0 && ledger->stuck[SCHED_MAP]))
        sim_wrong(sim, "slot %u is sealed while map tasks are left", slot);
    if (ledger->is_checkpointing[slot] || !ledger->held[slot])
        sim_wrong(sim, "slot %u has nothing to seal, or a checkpoint", slot);
    ledger->is_sealing[slot] = true;
}

static void take_checkpoint(struct sim *sim, const struct sched_event *event, uint32_t slot)
{
    struct sim_ledger *ledger = &sim->ledger;
    if (event->type != EVENT_CHECKPOINT || !ledger->is_ready || ledger->is_killed)
        sim_wrong(sim, "a checkpoint that nobody wants");
    if (slot >= ledger->slot_count || ledger->is_sealing[slot] || ledger->is_checkpointing[slot] ||
        !ledger->held[slot])
        sim_wrong(sim, "a checkpoint of slot %u, which is not free or holds nothing", slot);
    ledger->is_checkpointing[slot] = true;
}

// Only one charge can be a suspicion; a kill from outside may hit the innocent.
static void check_guilt(const struct sim *sim, const struct sched_action *action, bool is_final)
{
    const struct sched_attempt *at = &action->at;
    const uint32_t bad_count = sim->bad[action->stage][at->kind][at->task];
    if (sim->outside_kill_count == 0 &&
        (bad_count == 0 || (!is_final && bad_count + 1 < sim->options.max_attempts)))
        sim_wrong(sim, "%s task %u blamed, did wrong %u times", kind_names[at->kind], at->task,
                  bad_count);
}

static void take_stuck(struct sim *sim, const struct sched_event *event,
                       const struct sched_action *action)
{
    struct sim_ledger *ledger = &sim->ledger;
    const struct sched_attempt *at = &action->at, *expected = &ledger->sticking;
    const weft_err code =
        event->type == EVENT_TASK_TIMED_OUT ? WEFT_DEADLINE_EXCEEDED : event->code;
    if (!ledger->must_stick || action->stage != 0 || at->kind != expected->kind ||
        at->task != expected->task || at->attempt != expected->attempt || action->code != code)
        sim_wrong(sim, "%s task %u is stuck for no reason", kind_names[at->kind], at->task);
    check_guilt(sim, action, false);
    ledger->must_stick = false;
    sim->totals->stuck++;
}

// A failure needs a reason that the driver has seen, and a task that did wrong.
static void check_failure(const struct sim *sim, const struct sched_action *action,
                          const struct sched_event *event)
{
    const struct sim_ledger *ledger = &sim->ledger;
    const struct sched_attempt *at = &action->at;
    const weft_err code = event->type == EVENT_TASK_TIMED_OUT ? WEFT_DEADLINE_EXCEEDED
                          : ledger->unexplained_loss_count == SCHED_LOSSES_MAX ? WEFT_UNAVAILABLE
                                                                               : event->code;
    if (!ledger->must_fail || action->code != code)
        sim_wrong(sim, "failed with %s for no reason", weft_err_name(action->code));
    if (ledger->is_started && !ledger->is_killed)
        sim_wrong(sim, "failed, and the worker lives on");
    if (at->task == SCHED_NO_TASK)
        return;
    sim->totals->blamed++;
    check_guilt(sim, action, event->type == EVENT_TASK_FAILED && event->is_final);
}

static void take_open(struct sim *sim, uint32_t stage)
{
    struct sim_ledger *ledger = &sim->ledger;
    for (uint32_t later = stage + 1; later < sim->options.stage_count; later++)
        if (is_safe(sim, later))
            sim_wrong(sim, "stage %u is opened, and %u is safe already", stage, later);
    if (stage > 0 && (ledger->stuck[SCHED_SAMPLE] || ledger->stuck[SCHED_MAP]))
        sim_wrong(sim, "stage %u is opened while a task is stuck", stage);
    sim->totals->stages_again += stage < ledger->open_stage;
    ledger->open_stage = stage;
    ledger->opened |= UINT32_C(1) << stage;
}

static void take_done(struct sim *sim)
{
    struct sim_ledger *ledger = &sim->ledger;
    if (ledger->busy_count > 0 || ledger->must_fail || ledger->stuck[SCHED_SAMPLE] ||
        ledger->stuck[SCHED_MAP])
        sim_wrong(sim, "done before its end");
    if (!(ledger->opened >> (sim->options.stage_count - 1) & 1))
        sim_wrong(sim, "done, but the last stage was never opened");
    ledger->is_over = true;
}

static void take_action(struct sim *sim, const struct sched_event *event,
                        const struct sched_action *action)
{
    struct sim_ledger *ledger = &sim->ledger;
    if (ledger->is_over)
        sim_wrong(sim, "an action after the end");
    switch (action->type) {
    case ACTION_START_WORKER:
        if (action->worker != ledger->worker + 1)
            sim_wrong(sim, "worker %u after %u", action->worker, ledger->worker);
        ledger->worker = action->worker;
        ledger->is_started = true;
        break;
    case ACTION_STAGE_OPEN:
        return take_open(sim, action->stage);
    case ACTION_STAGE_PLAN:
        if (state_count(sim, SCHED_SAMPLE, SCHED_COMMITTED) !=
            task_count(sim, action->stage, SCHED_SAMPLE))
            sim_wrong(sim, "stage %u planned without its whole sample", action->stage);
        ledger->planned_stage = action->stage;
        break;
    case ACTION_RUN:
        return take_run(sim, action);
    case ACTION_SEAL:
        return take_seal(sim, action->at.slot);
    case ACTION_CHECKPOINT:
        return take_checkpoint(sim, event, action->at.slot);
    case ACTION_TASK_STUCK:
        return take_stuck(sim, event, action);
    case ACTION_KILL_WORKER:
        ledger->is_killed = true;
        break;
    case ACTION_JOB_FAILED:
        check_failure(sim, action, event);
        ledger->is_over = true;
        break;
    case ACTION_JOB_DONE:
        return take_done(sim);
    }
}

// ---- States -----------------------------------------------------------------------------------

// Why a task may be committed now, and whether that is for good.
static void check_commit(const struct sim *sim, const struct sched_event *event, uint32_t stage,
                         uint32_t kind, uint32_t task)
{
    const bool is_restored = event->type == EVENT_TASK_RESTORED && sim->ledger.worker == 0;
    const bool is_reason =
        kind == SCHED_SAMPLE ? event->type == EVENT_TASK_HELD : event->type == EVENT_TASK_COMMITTED;
    const bool is_durable = is_restored || kind == SCHED_SAMPLE || event->is_durable;
    if (event->at.kind != kind || event->at.task != task || (!is_reason && !is_restored))
        sim_wrong(sim, "%s task %u is committed for no reason", kind_names[kind], task);
    if (sched_is_durable(sim->sched, stage, kind, task) != is_durable)
        sim_wrong(sim, "%s task %u is taken for %ssafe", kind_names[kind], task,
                  is_durable ? "un" : "");
}

static void check_change(const struct sim *sim, const struct sched_event *event, uint32_t kind,
                         uint32_t task, bool was_durable, uint8_t before, uint8_t now)
{
    const bool is_it = event->at.kind == kind && event->at.task == task;
    const bool is_stuck_now = now == SCHED_STUCK && sim->ledger.stuck[kind] >> task & 1;
    if (before == SCHED_COMMITTED && (was_durable || kind == SCHED_SAMPLE || !is_stuck_now) &&
        (event->type != EVENT_WORKER_LOST || was_durable || kind == SCHED_SAMPLE))
        sim_wrong(sim, "the commit of %s task %u is gone", kind_names[kind], task);
    if (now == SCHED_HELD && (event->type != EVENT_TASK_HELD || !is_it || before != SCHED_RUNNING))
        sim_wrong(sim, "%s task %u is held for no reason", kind_names[kind], task);
}

// The ledger knows which tasks are stuck, and what an event commits.
static void check_state(const struct sim *sim, const struct sched_event *event, uint32_t stage,
                        uint32_t kind, uint32_t task, uint8_t before, uint8_t now)
{
    const struct sim_ledger *ledger = &sim->ledger;
    const bool is_it = event->at.kind == kind && event->at.task == task;
    const bool is_stuck = stage == 0 && ledger->stuck[kind] >> task & 1;
    if ((now == SCHED_STUCK) != is_stuck)
        sim_wrong(sim, "%s task %u is %sstuck", kind_names[kind], task, is_stuck ? "not " : "");
    if (event->type == EVENT_TASK_RESTORED && event->at.stage == stage && is_it &&
        ledger->worker == 0 && now != SCHED_COMMITTED)
        sim_wrong(sim, "%s task %u is not restored", kind_names[kind], task);
    if (event->type == EVENT_TASK_COMMITTED && event->worker == ledger->worker && is_it &&
        ledger->is_started && stage == ledger->open_stage && before == SCHED_HELD &&
        now != SCHED_COMMITTED && !ledger->is_over)
        sim_wrong(sim, "the commit of %s task %u is not taken in", kind_names[kind], task);
}

static void check_set(struct sim *sim, const struct sched_event *event, uint32_t stage,
                      enum sched_kind kind)
{
    struct sim_ledger *ledger = &sim->ledger;
    uint32_t counts[SCHED_STATE_COUNT] = {0};
    for (uint32_t task = 0; task < task_count(sim, stage, kind); task++) {
        const uint64_t bit = UINT64_C(1) << task;
        uint8_t *state = &ledger->states[stage][kind][task];
        const uint8_t now = (uint8_t)sched_task_state(sim->sched, stage, kind, task);
        if (now != *state)
            check_change(sim, event, kind, task, ledger->durable[stage][kind] & bit, *state, now);
        if (now != *state && now == SCHED_COMMITTED)
            check_commit(sim, event, stage, kind, task);
        check_state(sim, event, stage, kind, task, *state, now);
        *state = now;
        counts[now]++;
        if (sched_is_durable(sim->sched, stage, kind, task))
            ledger->durable[stage][kind] |= bit;
        const uint32_t charges = sched_charges(sim->sched, stage, kind, task);
        if (charges != ledger->charges[stage][kind][task] || charges > sim->options.max_attempts)
            sim_wrong(sim, "%s task %u has %u charges", kind_names[kind], task, charges);
        if (kind == SCHED_MAP && stage == ledger->open_stage && ledger->lost_held & bit &&
            now == SCHED_HELD)
            sim_wrong(sim, "map task %u is held, but its collector is gone", task);
    }
    for (uint32_t state = 0; state < SCHED_STATE_COUNT; state++)
        if (counts[state] != sched_count(sim->sched, stage, kind, state))
            sim_wrong(sim, "%s tasks of stage %u are miscounted", kind_names[kind], stage);
}

// No slot stands idle while there is a task that it could run.
static void check_idle(const struct sim *sim)
{
    const struct sim_ledger *ledger = &sim->ledger;
    if (!ledger->is_ready || ledger->is_killed || ledger->is_over)
        return;
    for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++) {
        if (state_count(sim, kind, SCHED_COMMITTED) == task_count(sim, ledger->open_stage, kind))
            continue;
        bool is_free = ledger->busy_count == 0 || !ledger->suspects[ledger->open_stage][kind];
        for (uint32_t i = 0; i < ledger->slot_count && kind == SCHED_REDUCE; i++)
            is_free = is_free && !ledger->is_sealing[i] && !ledger->is_checkpointing[i];
        for (uint32_t i = 0; i < ledger->slot_count; i++)
            if (ledger->queue_counts[i] == 0 && !ledger->is_sealing[i] && is_free &&
                state_count(sim, kind, SCHED_PENDING) > 0)
                sim_wrong(sim, "slot %u is idle while %s tasks are pending", i, kind_names[kind]);
        return;
    }
}

// A checkpoint is for all slots that can have one.
static void check_checkpoint(const struct sim *sim)
{
    const struct sim_ledger *ledger = &sim->ledger;
    for (uint32_t i = 0; i < ledger->slot_count; i++)
        if (ledger->held[i] && !ledger->is_sealing[i] && !ledger->is_checkpointing[i])
            sim_wrong(sim, "slot %u is left out of the checkpoint", i);
}

void ledger_take_actions(struct sim *sim, const struct sched_event *event)
{
    for (uint32_t i = 0; i < sim->actions.count; i++)
        take_action(sim, event, &sim->actions.items[i]);
    for (uint32_t stage = 0; stage < sim->options.stage_count; stage++)
        for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++)
            check_set(sim, event, stage, kind);
    check_idle(sim);
    if (sim->ledger.is_over != sched_is_over(sim->sched))
        sim_wrong(sim, "over, and nobody was told");
    if (event->type == EVENT_CHECKPOINT && sim->ledger.is_ready && !sim->ledger.is_killed)
        check_checkpoint(sim);
    if (sim->ledger.must_stick && !sim->ledger.is_over)
        sim_wrong(sim, "a task is stuck, and nobody was told");
    if (sim->ledger.must_fail && !sim->ledger.is_over)
        sim_wrong(sim, "goes on where it must end");
}
