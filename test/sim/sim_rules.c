// The rules of a job, checked from outside after every step, by what the driver can see.
#include "sim/sim.h"

#include <string.h>

static const char *const kind_names[] = {"sample", "map", "reduce"};

static uint32_t task_count(const struct sim *sim, uint32_t stage, uint32_t kind)
{
    return sim_task_count(&sim->options, stage, kind);
}

static uint32_t state_count(const struct sim *sim, enum sched_kind kind, enum sched_state state)
{
    return sched_count(sim->sched, sim->ledger.stage, kind, state);
}

static bool is_suspect(const struct sim *sim, const struct sched_attempt *at)
{
    return sim->ledger.suspects[at->stage][at->kind] >> at->task & 1;
}

// All output of a stage is there for good.
static bool is_safe(const struct sim *sim, uint32_t stage)
{
    const bool has_reduce = task_count(sim, stage, SCHED_REDUCE) > 0;
    const uint64_t all = sim_all_of(sim_piece_count(&sim->options, stage));
    return all && sim->ledger.durable[stage][has_reduce ? SCHED_REDUCE : SCHED_MAP] == all;
}

// All output of the stage is committed, after the event at hand.
static bool has_output(const struct sim *sim, uint32_t stage)
{
    const enum sched_kind kind =
        task_count(sim, stage, SCHED_REDUCE) > 0 ? SCHED_REDUCE : SCHED_MAP;
    const uint32_t count = task_count(sim, stage, kind);
    return count > 0 && sched_count(sim->sched, stage, kind, SCHED_COMMITTED) == count;
}

// Tasks are stuck that the job needs.
static bool is_held_up(const struct sim *sim)
{
    return (sim->ledger.stuck[SCHED_SAMPLE] || sim->ledger.stuck[SCHED_MAP]) && !has_output(sim, 0);
}

static bool is_sealing_somewhere(const struct sim *sim)
{
    for (uint32_t w = 0; w < sim->options.worker_count; w++)
        for (uint32_t i = 0; i < sim->ledger.accounts[w].slot_count; i++)
            if (sim->ledger.accounts[w].is_sealing[i] ||
                sim->ledger.accounts[w].is_checkpointing[i])
                return true;
    return false;
}

// ---- Tasks that are to run --------------------------------------------------------------------

// Whether the stage has come far enough for tasks of this kind.
static void check_phase(const struct sim *sim, const struct sim_account *account,
                        const struct sched_action *action)
{
    const enum sched_kind kind = action->at.kind;
    if (!account->is_ready || account->is_killed)
        sim_wrong(sim, "a task for a worker that is not ready");
    if (action->stage != sim->ledger.stage || action->at.stage != action->stage)
        sim_wrong(sim, "a task of stage %u while %u is at work", action->stage, sim->ledger.stage);
    if (account->opened != action->stage + 1)
        sim_wrong(sim, "a task of stage %u, which its worker has not opened", action->stage);
    if (kind != SCHED_SAMPLE && account->planned != action->stage + 1)
        sim_wrong(sim, "a %s task before the plan of its stage", kind_names[kind]);
    if (kind != SCHED_REDUCE)
        return;
    if (state_count(sim, SCHED_MAP, SCHED_COMMITTED) != task_count(sim, action->stage, SCHED_MAP))
        sim_wrong(sim, "a reduce task before all map tasks are committed");
    if (is_sealing_somewhere(sim))
        sim_wrong(sim, "a reduce task while a slot is sealing or at a checkpoint");
}

// A suspect is alone in its worker; one worker alone runs nothing else before its suspects.
static void check_order(const struct sim *sim, const struct sim_account *account,
                        const struct sched_attempt *at)
{
    const uint64_t suspects = sim->ledger.suspects[at->stage][at->kind];
    if (suspects && !is_suspect(sim, at) && sim->options.worker_count == 1)
        sim_wrong(sim, "task %u runs before the suspects do", at->task);
    if (is_suspect(sim, at) && account->busy_count > 0)
        sim_wrong(sim, "suspect %u is not alone", at->task);
    for (uint32_t i = 0; i < account->slot_count; i++)
        for (uint32_t k = 0; k < account->queue_counts[i]; k++)
            if (is_suspect(sim, &account->queues[i][k]))
                sim_wrong(sim, "task %u runs beside a suspect", at->task);
    for (uint32_t task = 0; task < at->task; task++) {
        const bool is_next = is_suspect(sim, at) == (suspects >> task & 1);
        if (is_next && sched_task_state(sim->sched, at->stage, at->kind, task) == SCHED_PENDING)
            sim_wrong(sim, "task %u runs while %u is pending", at->task, task);
    }
}

// Whether the slot could get a task of the stage at work; who is kept free for suspects is not known here.
static bool is_free(const struct sim *sim, const struct sim_account *account, uint32_t slot)
{
    if (!account->is_ready || account->is_killed || account->is_sealing[slot] ||
        account->queue_counts[slot] > 0)
        return false;
    for (uint32_t i = 0; i < account->slot_count; i++)
        for (uint32_t k = 0; k < account->queue_counts[i]; k++)
            if (is_suspect(sim, &account->queues[i][k]))
                return false;
    return account->opened == 0 || account->opened == sim->ledger.stage + 1 ||
           ledger_is_settled(account);
}

static void check_second(const struct sim *sim, const struct sched_attempt *at)
{
    if (sim->ledger.suspects[at->stage][at->kind])
        return;
    for (uint32_t w = 0; w < sim->options.worker_count; w++)
        for (uint32_t i = 0; i < sim->ledger.accounts[w].slot_count; i++)
            if (is_free(sim, &sim->ledger.accounts[w], i))
                sim_wrong(sim, "slot %u gets a second task before slot %u of worker %u has one",
                          at->slot, i, sim->ledger.accounts[w].number);
}

static void take_run(struct sim *sim, struct sim_account *account,
                     const struct sched_action *action)
{
    struct sim_ledger *ledger = &sim->ledger;
    const struct sched_attempt *at = &action->at;
    check_phase(sim, account, action);
    check_order(sim, account, at);
    if (at->slot >= account->slot_count || account->queue_counts[at->slot] == SCHED_QUEUE_MAX)
        sim_wrong(sim, "no room in slot %u", at->slot);
    if (account->is_sealing[at->slot])
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
    if (account->queue_counts[at->slot] == 1)
        check_second(sim, at);
    account->queues[at->slot][account->queue_counts[at->slot]++] = *at;
    account->busy_count++;
}

// ---- Other actions ----------------------------------------------------------------------------

static void take_seal(struct sim *sim, struct sim_account *account,
                      const struct sched_action *action)
{
    const uint32_t slot = action->at.slot;
    const bool is_leaving = account->opened != sched_stage(sim->sched) + 1;
    if (!account->is_ready || slot >= account->slot_count || account->is_sealing[slot])
        sim_wrong(sim, "slot %u cannot be sealed", slot);
    if (action->stage + 1 != account->opened)
        sim_wrong(sim, "slot %u is sealed for stage %u, which it is not in", slot, action->stage);
    if (!is_leaving &&
        (state_count(sim, SCHED_MAP, SCHED_PENDING) + state_count(sim, SCHED_MAP, SCHED_RUNNING) >
             0 ||
         (action->stage == 0 && sim->ledger.stuck[SCHED_MAP])))
        sim_wrong(sim, "slot %u is sealed while map tasks are left", slot);
    if (account->is_checkpointing[slot] || !account->held[slot])
        sim_wrong(sim, "slot %u has nothing to seal, or a checkpoint", slot);
    account->is_sealing[slot] = true;
}

static void take_checkpoint(struct sim *sim, struct sim_account *account,
                            const struct sched_event *event, uint32_t slot)
{
    if (event->type != EVENT_CHECKPOINT || !account->is_ready || account->is_killed)
        sim_wrong(sim, "a checkpoint that nobody wants");
    if (slot >= account->slot_count || account->is_sealing[slot] ||
        account->is_checkpointing[slot] || !account->held[slot])
        sim_wrong(sim, "a checkpoint of slot %u, which is not free or holds nothing", slot);
    account->is_checkpointing[slot] = true;
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
    const uint32_t losses_max = SCHED_LOSSES_MAX * sim->options.worker_count;
    const weft_err code = event->type == EVENT_TASK_TIMED_OUT            ? WEFT_DEADLINE_EXCEEDED
                          : ledger->unexplained_loss_count == losses_max ? WEFT_UNAVAILABLE
                                                                         : event->code;
    if (!ledger->must_fail || action->code != code)
        sim_wrong(sim, "failed with %s for no reason", weft_err_name(action->code));
    for (uint32_t w = 0; w < sim->options.worker_count; w++)
        if (ledger->accounts[w].is_started && !ledger->accounts[w].is_killed)
            sim_wrong(sim, "failed, and worker %u lives on", ledger->accounts[w].number);
    if (at->task == SCHED_NO_TASK)
        return;
    sim->totals->blamed++;
    check_guilt(sim, action, event->type == EVENT_TASK_FAILED && event->is_final);
}

// A worker changes its stage when it has ended what it does there; forward it drops what it holds.
static void take_open(struct sim *sim, struct sim_account *account, uint32_t stage)
{
    struct sim_ledger *ledger = &sim->ledger;
    for (uint32_t later = stage + 1; later < sim->options.stage_count; later++)
        if (is_safe(sim, later))
            sim_wrong(sim, "stage %u is opened, and %u is safe already", stage, later);
    if (stage > 0 && is_held_up(sim))
        sim_wrong(sim, "stage %u is opened while a task is stuck", stage);
    if (stage != ledger->stage || !account->is_ready || account->is_killed)
        sim_wrong(sim, "stage %u is opened out of turn", stage);
    if (account->opened > 0 && account->opened != stage + 1 && !ledger_is_settled(account))
        sim_wrong(sim, "stage %u is opened at a worker that is at work", stage);
    // The only worker has the output of the stage before, even an empty one, or reads it from files.
    if (sim->options.worker_count == 1 && stage > 0 && !(account->ever_opened >> (stage - 1) & 1) &&
        !is_safe(sim, stage - 1) && !is_safe(sim, stage))
        sim_wrong(sim, "stage %u is opened before %u", stage, stage - 1);
    account->ever_opened |= UINT32_C(1) << stage;
    sim->totals->stages_again += ledger->opened >> (stage + 1) ? 1 : 0;
    account->opened = stage + 1;
    account->planned = 0;
    ledger->opened |= UINT32_C(1) << stage;
}

static void take_done(struct sim *sim)
{
    struct sim_ledger *ledger = &sim->ledger;
    for (uint32_t w = 0; w < sim->options.worker_count; w++)
        if (ledger->accounts[w].busy_count > 0)
            sim_wrong(sim, "done, and worker %u is at work", ledger->accounts[w].number);
    if (ledger->must_fail || is_held_up(sim))
        sim_wrong(sim, "done before its end");
    if (!(ledger->opened >> (sim->options.stage_count - 1) & 1))
        sim_wrong(sim, "done, but the last stage was never opened");
    ledger->is_over = true;
}

static void take_start(struct sim *sim, uint32_t number)
{
    const uint32_t place = (number - 1) % sim->options.worker_count;
    struct sim_account *account = &sim->ledger.accounts[place];
    const uint32_t expected =
        account->number ? account->number + sim->options.worker_count : place + 1;
    if (number != expected || account->is_started || account->is_set_aside)
        sim_wrong(sim, "worker %u is started in the place of %u", number, account->number);
    account->number = number;
    account->is_started = true;
}

static void take_worker_action(struct sim *sim, const struct sched_event *event,
                               const struct sched_action *action)
{
    struct sim_account *account = ledger_account(sim, action->worker);
    if (!account)
        sim_wrong(sim, "an action for worker %u, which is not there", action->worker);
    if (action->type == ACTION_STAGE_OPEN)
        return take_open(sim, account, action->stage);
    if (action->type == ACTION_RUN)
        return take_run(sim, account, action);
    if (action->type == ACTION_SEAL)
        return take_seal(sim, account, action);
    if (action->type == ACTION_CHECKPOINT)
        return take_checkpoint(sim, account, event, action->at.slot);
    if (action->type == ACTION_KILL_WORKER) {
        account->is_killed = true;
        return;
    }
    if (state_count(sim, SCHED_SAMPLE, SCHED_COMMITTED) !=
        task_count(sim, action->stage, SCHED_SAMPLE))
        sim_wrong(sim, "stage %u planned without its whole sample", action->stage);
    if (account->opened != action->stage + 1)
        sim_wrong(sim, "stage %u planned where it is not open", action->stage);
    account->planned = action->stage + 1;
}

static void take_action(struct sim *sim, const struct sched_event *event,
                        const struct sched_action *action)
{
    struct sim_ledger *ledger = &sim->ledger;
    if (ledger->is_over)
        sim_wrong(sim, "an action after the end");
    switch (action->type) {
    case ACTION_START_WORKER:
        return take_start(sim, action->worker);
    case ACTION_TASK_STUCK:
        return take_stuck(sim, event, action);
    case ACTION_JOB_FAILED:
        check_failure(sim, action, event);
        ledger->is_over = true;
        break;
    case ACTION_JOB_DONE:
        return take_done(sim);
    default:
        return take_worker_action(sim, event, action);
    }
}

// The next stage needs nothing that is still held for this one.
static void follow_stage(struct sim *sim, const struct sched_action *action)
{
    struct sim_ledger *ledger = &sim->ledger;
    const uint32_t stage = action ? action->stage : sched_stage(sim->sched);
    const bool is_about_now = !action || action->type == ACTION_STAGE_OPEN ||
                              action->type == ACTION_STAGE_PLAN || action->type == ACTION_RUN;
    if (!is_about_now || stage == ledger->stage)
        return;
    for (uint32_t w = 0; w < sim->options.worker_count && stage > ledger->stage; w++)
        for (uint32_t i = 0; i < SIM_SLOTS_MAX; i++)
            if (!ledger->accounts[w].is_killed && !ledger->accounts[w].is_sealing[i] &&
                !ledger->accounts[w].is_checkpointing[i])
                ledger->accounts[w].held[i] = 0;
    ledger->stage = stage;
}

void rules_take_actions(struct sim *sim, const struct sched_event *event)
{
    for (uint32_t i = 0; i < sim->actions.count; i++) {
        follow_stage(sim, &sim->actions.items[i]);
        take_action(sim, event, &sim->actions.items[i]);
    }
    follow_stage(sim, NULL);
}

// ---- States -----------------------------------------------------------------------------------

// Why a task may be committed now, and whether that is for good.
static void check_commit(const struct sim *sim, const struct sched_event *event, uint32_t stage,
                         uint32_t kind, uint32_t task)
{
    const bool is_restored = event->type == EVENT_TASK_RESTORED && !sim->ledger.is_begun;
    const bool is_reason =
        kind == SCHED_SAMPLE ? event->type == EVENT_TASK_HELD : event->type == EVENT_TASK_COMMITTED;
    const bool is_durable = is_restored || kind == SCHED_SAMPLE || event->is_durable;
    if (event->at.stage != stage || event->at.kind != kind || event->at.task != task ||
        (!is_reason && !is_restored))
        sim_wrong(sim, "%s task %u is committed for no reason", kind_names[kind], task);
    if (sched_is_durable(sim->sched, stage, kind, task) != is_durable)
        sim_wrong(sim, "%s task %u is taken for %ssafe", kind_names[kind], task,
                  is_durable ? "un" : "");
}

static void check_change(const struct sim *sim, const struct sched_event *event,
                         const struct sched_attempt *at, bool was_durable, uint8_t before,
                         uint8_t now)
{
    const bool is_it =
        event->at.stage == at->stage && event->at.kind == at->kind && event->at.task == at->task;
    const bool is_stuck_now =
        now == SCHED_STUCK && at->stage == 0 && sim->ledger.stuck[at->kind] >> at->task & 1;
    const bool is_lost = event->type == EVENT_WORKER_LOST &&
                         sim->ledger.keepers[at->stage][at->kind][at->task] == event->worker;
    if (before == SCHED_COMMITTED &&
        (was_durable || at->kind == SCHED_SAMPLE || (!is_stuck_now && !is_lost)))
        sim_wrong(sim, "the commit of %s task %u is gone", kind_names[at->kind], at->task);
    if (now == SCHED_HELD && (event->type != EVENT_TASK_HELD || !is_it || before != SCHED_RUNNING))
        sim_wrong(sim, "%s task %u is held for no reason", kind_names[at->kind], at->task);
}

// A task is where its state says: in a queue, in a collector, or with a worker that lives.
static void check_place(struct sim *sim, const struct sched_attempt *at, uint8_t state)
{
    const struct sim_ledger *ledger = &sim->ledger;
    const bool is_collecting =
        at->kind == SCHED_MAP && task_count(sim, at->stage, SCHED_REDUCE) > 0;
    const uint32_t attempt = ledger->attempts[at->stage][at->kind][at->task];
    bool is_queued = false, is_held = false;
    for (uint32_t w = 0; w < sim->options.worker_count; w++) {
        const struct sim_account *account = &ledger->accounts[w];
        for (uint32_t i = 0; i < account->slot_count; i++) {
            is_held =
                is_held || (account->opened == at->stage + 1 && account->held[i] >> at->task & 1);
            for (uint32_t k = 0; k < account->queue_counts[i]; k++) {
                const struct sched_attempt *in = &account->queues[i][k];
                is_queued = is_queued || (in->stage == at->stage && in->kind == at->kind &&
                                          in->task == at->task && in->attempt == attempt);
            }
        }
    }
    if (state == SCHED_RUNNING && !is_queued)
        sim_wrong(sim, "%s task %u runs nowhere", kind_names[at->kind], at->task);
    if (state == SCHED_HELD && is_collecting && !is_held)
        sim_wrong(sim, "map task %u is held nowhere", at->task);
    const bool is_kept =
        (state == SCHED_HELD && !is_collecting) ||
        (state == SCHED_COMMITTED && !sched_is_durable(sim->sched, at->stage, at->kind, at->task));
    if (is_kept && !ledger_account(sim, ledger->keepers[at->stage][at->kind][at->task]))
        sim_wrong(sim, "nobody has what %s task %u made", kind_names[at->kind], at->task);
}

// The ledger knows which tasks are stuck, and what an event commits.
static void check_state(struct sim *sim, const struct sched_event *event,
                        const struct sched_attempt *at, uint8_t before, uint8_t now)
{
    const struct sim_ledger *ledger = &sim->ledger;
    const bool is_it =
        event->at.stage == at->stage && event->at.kind == at->kind && event->at.task == at->task;
    const bool is_stuck = at->stage == 0 && ledger->stuck[at->kind] >> at->task & 1;
    if ((now == SCHED_STUCK) != is_stuck)
        sim_wrong(sim, "%s task %u is %sstuck", kind_names[at->kind], at->task,
                  is_stuck ? "not " : "");
    if (event->type == EVENT_TASK_RESTORED && is_it && !ledger->is_begun && now != SCHED_COMMITTED)
        sim_wrong(sim, "%s task %u is not restored", kind_names[at->kind], at->task);
    if (event->type == EVENT_TASK_COMMITTED && is_it && ledger_account(sim, event->worker) &&
        before == SCHED_HELD && now != SCHED_COMMITTED && !ledger->is_over &&
        ledger->keepers[at->stage][at->kind][at->task] == event->worker)
        sim_wrong(sim, "the commit of %s task %u is not taken in", kind_names[at->kind], at->task);
    if (at->kind == SCHED_MAP && at->stage == ledger->lost_stage &&
        ledger->lost_held >> at->task & 1 && now == SCHED_HELD)
        sim_wrong(sim, "map task %u is held, but its collector is gone", at->task);
    if (!ledger->is_over)
        check_place(sim, at, now);
}

static void check_set(struct sim *sim, const struct sched_event *event, uint32_t stage,
                      enum sched_kind kind)
{
    struct sim_ledger *ledger = &sim->ledger;
    uint32_t counts[SCHED_STATE_COUNT] = {0};
    for (uint32_t task = 0; task < task_count(sim, stage, kind); task++) {
        const uint64_t bit = UINT64_C(1) << task;
        const struct sched_attempt at = {.kind = kind, .task = task, .stage = stage};
        uint8_t *state = &ledger->states[stage][kind][task];
        const uint8_t now = (uint8_t)sched_task_state(sim->sched, stage, kind, task);
        if (now != *state)
            check_change(sim, event, &at, ledger->durable[stage][kind] & bit, *state, now);
        if (now != *state && now == SCHED_COMMITTED)
            check_commit(sim, event, stage, kind, task);
        check_state(sim, event, &at, *state, now);
        *state = now;
        counts[now]++;
        if (sched_is_durable(sim->sched, stage, kind, task))
            ledger->durable[stage][kind] |= bit;
        const uint32_t charges = sched_charges(sim->sched, stage, kind, task);
        if (charges != ledger->charges[stage][kind][task] || charges > sim->options.max_attempts)
            sim_wrong(sim, "%s task %u has %u charges", kind_names[kind], task, charges);
    }
    for (uint32_t state = 0; state < SCHED_STATE_COUNT; state++)
        if (counts[state] != sched_count(sim->sched, stage, kind, state))
            sim_wrong(sim, "%s tasks of stage %u are miscounted", kind_names[kind], stage);
}

// ---- Who has nothing to do --------------------------------------------------------------------

// No slot stands idle while there is a task that it could run. Where there are suspects, one worker is
// kept free for them: then it is enough that somebody works.
static void check_idle(const struct sim *sim)
{
    const struct sim_ledger *ledger = &sim->ledger;
    uint32_t kind = 0;
    while (kind < SCHED_KIND_COUNT &&
           state_count(sim, kind, SCHED_COMMITTED) == task_count(sim, ledger->stage, kind))
        kind++;
    if (kind == SCHED_KIND_COUNT || has_output(sim, ledger->stage) ||
        state_count(sim, kind, SCHED_PENDING) == 0 ||
        (kind == SCHED_REDUCE && is_sealing_somewhere(sim)))
        return;
    uint32_t busy_count = 0, idle_count = 0;
    for (uint32_t w = 0; w < sim->options.worker_count; w++) {
        busy_count += ledger->accounts[w].busy_count;
        for (uint32_t i = 0; i < ledger->accounts[w].slot_count; i++)
            idle_count += is_free(sim, &ledger->accounts[w], i);
    }
    if (idle_count > 0 && (busy_count == 0 || !ledger->suspects[ledger->stage][kind]))
        sim_wrong(sim, "%u slots are idle while %s tasks are pending", idle_count,
                  kind_names[kind]);
}

// A checkpoint is for all slots that can have one.
static void check_checkpoint(const struct sim *sim)
{
    for (uint32_t w = 0; w < sim->options.worker_count; w++) {
        const struct sim_account *account = &sim->ledger.accounts[w];
        for (uint32_t i = 0; i < account->slot_count; i++)
            if (account->is_ready && !account->is_killed && account->held[i] &&
                !account->is_sealing[i] && !account->is_checkpointing[i])
                sim_wrong(sim, "slot %u is left out of the checkpoint", i);
    }
}

void rules_check(struct sim *sim, const struct sched_event *event)
{
    for (uint32_t stage = 0; stage < sim->options.stage_count; stage++)
        for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++)
            check_set(sim, event, stage, kind);
    if (sim->ledger.is_over != sched_is_over(sim->sched))
        sim_wrong(sim, "over, and nobody was told");
    if (!sim->ledger.is_over)
        check_idle(sim);
    if (!sim->ledger.is_over && event->type == EVENT_CHECKPOINT)
        check_checkpoint(sim);
    if (sim->ledger.must_stick && !sim->ledger.is_over)
        sim_wrong(sim, "a task is stuck, and nobody was told");
    if (sim->ledger.must_fail && !sim->ledger.is_over)
        sim_wrong(sim, "goes on where it must end");
}
