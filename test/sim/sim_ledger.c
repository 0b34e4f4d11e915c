// What the driver can know of a job, and what each event means for it.
//
// The ledger is kept from events and actions alone and knows nothing of how the scheduler decides;
// sim_rules.c says by it which decisions are wrong, not which is right.
#include "sim/sim.h"

#include <string.h>

void ledger_init(struct sim *sim)
{
    sim->ledger = (struct sim_ledger){0};
}

struct sim_account *ledger_account(struct sim *sim, uint32_t number)
{
    struct sim_account *account = &sim->ledger.accounts[(number - 1) % sim->options.worker_count];
    return number > 0 && account->number == number && account->is_started ? account : NULL;
}

bool ledger_is_settled(const struct sim_account *account)
{
    bool is_settled = account->busy_count == 0;
    for (uint32_t i = 0; i < account->slot_count; i++)
        is_settled = is_settled && !account->held[i] && !account->is_sealing[i] &&
                     !account->is_checkpointing[i];
    return is_settled;
}

// All output of the stage was committed before the event at hand: nobody needs its other tasks.
static bool has_output(const struct sim *sim, uint32_t stage)
{
    const bool has_reduce = sim->options.stages[stage].reduce_count > 0;
    const uint8_t *states = sim->ledger.states[stage][has_reduce ? SCHED_REDUCE : SCHED_MAP];
    const uint32_t count = sim_piece_count(&sim->options, stage);
    for (uint32_t task = 0; task < count; task++)
        if (states[task] != SCHED_COMMITTED)
            return false;
    return count > 0;
}

// ---- Charges ----------------------------------------------------------------------------------

// The last charge ends the job, or makes the task wait for the driver unless its output is there.
static void charge(struct sim *sim, const struct sched_attempt *at)
{
    struct sim_ledger *ledger = &sim->ledger;
    const uint64_t bit = UINT64_C(1) << at->task;
    if (has_output(sim, at->stage))
        return;
    if (++ledger->charges[at->stage][at->kind][at->task] != sim->options.max_attempts)
        return;
    if (!sim->options.asks_before_failing || at->stage > 0 || at->kind == SCHED_REDUCE) {
        ledger->must_fail = true;
    } else if (!(ledger->durable[at->stage][at->kind] & bit)) {
        ledger->must_stick = true;
        ledger->sticking = *at;
        ledger->stuck[at->kind] |= bit;
        ledger->suspects[at->stage][at->kind] &= ~bit;
        ledger->suspect_charges[at->stage][at->kind] &= ~bit;
    }
}

// The task ended well: whatever it was suspected of is forgotten, and there may be progress.
static void clear(struct sim_ledger *ledger, const struct sched_attempt *at, uint8_t state)
{
    const uint64_t bit = UINT64_C(1) << at->task;
    if (ledger->suspect_charges[at->stage][at->kind] & bit)
        ledger->charges[at->stage][at->kind][at->task]--;
    ledger->suspect_charges[at->stage][at->kind] &= ~bit;
    ledger->suspects[at->stage][at->kind] &= ~bit;
    if (state > ledger->furthest[at->stage][at->kind][at->task]) {
        ledger->furthest[at->stage][at->kind][at->task] = state;
        ledger->unexplained_loss_count = 0;
    }
}

// ---- Attempts ---------------------------------------------------------------------------------

// The place of an attempt in its slot's queue, -1 when it is not there.
static int find_queued(const struct sim_account *account, const struct sched_attempt *at)
{
    if (at->slot >= account->slot_count)
        return -1;
    for (uint32_t i = 0; i < account->queue_counts[at->slot]; i++) {
        const struct sched_attempt *in = &account->queues[at->slot][i];
        if (in->stage == at->stage && in->kind == at->kind && in->task == at->task &&
            in->attempt == at->attempt)
            return (int)i;
    }
    return -1;
}

// An attempt that ended counts only if it is the one its task waits for.
static void take_end(struct sim *sim, struct sim_account *account, const struct sched_event *event,
                     int place)
{
    struct sim_ledger *ledger = &sim->ledger;
    const struct sched_attempt *at = &event->at;
    const bool is_collecting =
        at->kind == SCHED_MAP && sim_task_count(&sim->options, at->stage, SCHED_REDUCE) > 0;
    if (ledger->states[at->stage][at->kind][at->task] != SCHED_RUNNING ||
        ledger->attempts[at->stage][at->kind][at->task] != at->attempt)
        return;
    if (event->type == EVENT_TASK_HELD) {
        clear(ledger, at, at->kind == SCHED_SAMPLE ? SCHED_COMMITTED : SCHED_HELD);
        account->held[at->slot] |= is_collecting ? UINT64_C(1) << at->task : 0;
        if (!is_collecting)
            ledger->keepers[at->stage][at->kind][at->task] = account->number;
        return;
    }
    ledger->must_fail = event->is_final;
    if (!account->is_timed_out[at->slot][place] && !event->is_final && !event->is_blameless)
        charge(sim, at);
    if (is_collecting && !event->is_final && !event->keeps_held) {
        ledger->lost_held = account->held[at->slot];
        ledger->lost_stage = at->stage;
        account->held[at->slot] = 0;
    }
}

static void leave_queue(struct sim *sim, struct sim_account *account,
                        const struct sched_event *event)
{
    const uint32_t slot = event->at.slot;
    const int place = find_queued(account, &event->at);
    if (place < 0)
        return;
    take_end(sim, account, event, place);
    if (place == 0) {
        account->queues[slot][0] = account->queues[slot][1];
        account->is_timed_out[slot][0] = account->is_timed_out[slot][1];
    }
    account->is_timed_out[slot][1] = false;
    account->queue_counts[slot]--;
    account->busy_count--;
}

static void take_timed_out(struct sim *sim, struct sim_account *account,
                           const struct sched_attempt *at)
{
    const int place = find_queued(account, at);
    if (place < 0 || account->is_timed_out[at->slot][place])
        return;
    account->is_timed_out[at->slot][place] = true;
    charge(sim, at);
}

// Whether the driver may count a task as committed: see sched.h about texts of failed attempts.
static void take_committed(struct sim *sim, struct sim_account *account,
                           const struct sched_event *event)
{
    struct sim_ledger *ledger = &sim->ledger;
    const struct sched_attempt *at = &event->at;
    const uint64_t bit = UINT64_C(1) << at->task;
    const uint8_t state = ledger->states[at->stage][at->kind][at->task];
    const bool is_collected =
        at->kind == SCHED_MAP && sim_task_count(&sim->options, at->stage, SCHED_REDUCE) > 0;
    uint32_t holder = SIM_SLOTS_MAX;
    for (uint32_t i = 0; i < account->slot_count; i++)
        if (account->opened == at->stage + 1 && account->held[i] & bit)
            holder = i;
    if (state == SCHED_COMMITTED || (state == SCHED_STUCK && !event->is_durable))
        return;
    if (is_collected && (state != SCHED_HELD || holder == SIM_SLOTS_MAX))
        return;
    clear(ledger, at, SCHED_COMMITTED);
    if (at->stage == 0)
        ledger->stuck[at->kind] &= ~bit;
    if (is_collected)
        account->held[holder] &= ~bit;
    ledger->keepers[at->stage][at->kind][at->task] = account->number;
}

// ---- Losses -----------------------------------------------------------------------------------

// The loss is nobody's for certain: those who were inside and have to run again become suspects.
static void take_unexplained(struct sim *sim, const struct sched_attempt *inside, uint32_t count)
{
    struct sim_ledger *ledger = &sim->ledger;
    for (uint32_t i = 0; i < count; i++) {
        const struct sched_attempt *at = &inside[i];
        const uint64_t bit = UINT64_C(1) << at->task;
        if (ledger->durable[at->stage][at->kind] & bit)
            continue;
        sim->totals->suspects++;
        ledger->suspects[at->stage][at->kind] |= bit;
        uint32_t *charges = &ledger->charges[at->stage][at->kind][at->task];
        if (!(ledger->suspect_charges[at->stage][at->kind] & bit) &&
            *charges + 1 < sim->options.max_attempts) {
            ledger->suspect_charges[at->stage][at->kind] |= bit;
            ++*charges;
        }
    }
    if (++ledger->unexplained_loss_count == SCHED_LOSSES_MAX * sim->options.worker_count)
        ledger->must_fail = true;
}

static void take_lost(struct sim *sim, struct sim_account *account, const struct sched_event *event)
{
    struct sim_ledger *ledger = &sim->ledger;
    struct sched_attempt inside[SIM_SLOTS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < event->inside_count; i++) {
        const struct sched_attempt *at = &event->inside[i];
        const bool may_be = event->crash_slot == SCHED_NO_SLOT || event->crash_slot == at->slot;
        if (may_be && find_queued(account, at) >= 0)
            inside[count++] = *at;
    }
    const bool is_one =
        count == 1 && !(ledger->durable[inside[0].stage][inside[0].kind] >> inside[0].task & 1);
    if (!account->is_killed && is_one)
        charge(sim, &inside[0]);
    else if (!account->is_killed)
        take_unexplained(sim, inside, count);
    sim->totals->losses++;
    *account =
        (struct sim_account){.number = account->number, .is_set_aside = account->is_set_aside};
}

static void take_worker_failed(struct sim *sim, struct sim_account *account)
{
    bool is_last = true;
    for (uint32_t i = 0; i < sim->options.worker_count; i++)
        if (&sim->ledger.accounts[i] != account && !sim->ledger.accounts[i].is_set_aside)
            is_last = false;
    sim->ledger.must_fail = is_last;
    if (is_last || account->is_set_aside)
        return;
    account->is_set_aside = true;
    sim->totals->set_aside++;
}

// ---- Events -----------------------------------------------------------------------------------

// What the driver says itself. False for an event of another kind.
static bool take_decision(struct sim *sim, const struct sched_event *event)
{
    struct sim_ledger *ledger = &sim->ledger;
    const struct sched_attempt *at = &event->at;
    const uint64_t bit = UINT64_C(1) << at->task;
    const bool is_stuck = !ledger->is_over && ledger->stuck[at->kind] & bit;
    if (event->type == EVENT_START)
        ledger->is_begun = true;
    const bool is_the_end = event->type == EVENT_TASK_CONDEMNED && !has_output(sim, 0);
    if (is_the_end) {
        ledger->must_fail = is_stuck;
    } else if (is_stuck &&
               (event->type == EVENT_TASK_EXCUSED || event->type == EVENT_TASK_CONDEMNED)) {
        ledger->stuck[at->kind] &= ~bit;
        ledger->charges[0][at->kind][at->task] = 0;
    } else if (event->type == EVENT_TASK_RESTORED && !ledger->is_begun) {
        ledger->furthest[at->stage][at->kind][at->task] = SCHED_COMMITTED;
    }
    return event->type == EVENT_START ||
           (event->type >= EVENT_CANCEL && event->type <= EVENT_CHECKPOINT);
}

static void take_frame(struct sim *sim, struct sim_account *account,
                       const struct sched_event *event)
{
    if (event->type == EVENT_WORKER_READY) {
        account->is_ready = true;
        account->slot_count = event->slot_count;
    } else if (event->type == EVENT_TASK_HELD || event->type == EVENT_TASK_FAILED) {
        leave_queue(sim, account, event);
    } else if (event->type == EVENT_TASK_COMMITTED) {
        take_committed(sim, account, event);
    } else if (event->type == EVENT_TASK_TIMED_OUT) {
        take_timed_out(sim, account, &event->at);
    } else if (event->type == EVENT_SEALED) {
        if (account->is_sealing[event->at.slot])
            account->held[event->at.slot] = 0;
        account->is_sealing[event->at.slot] = false;
    } else if (event->type == EVENT_CHECKPOINTED) {
        account->is_checkpointing[event->at.slot] = false;
    } else if (event->type == EVENT_WORKER_FAILED) {
        take_worker_failed(sim, account);
    } else if (event->type == EVENT_WORKER_LOST) {
        take_lost(sim, account, event);
    }
}

void ledger_take_event(struct sim *sim, const struct sched_event *event)
{
    struct sim_ledger *ledger = &sim->ledger;
    ledger->must_fail = event->type == EVENT_CANCEL;
    ledger->must_stick = false;
    ledger->lost_held = 0;
    struct sim_account *account = ledger_account(sim, event->worker);
    if (!take_decision(sim, event) && account && !ledger->is_over)
        take_frame(sim, account, event);
}
