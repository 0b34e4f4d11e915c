// What must hold at every step, whatever comes, goes and breaks; seen from outside the scheduler.
#include <stdlib.h>

#include "sim_elastic/elastic.h"

static struct account *account_of(uint32_t number)
{
    return &world.accounts[(number - 1) % world.options.place_count];
}

static bool is_alive(uint32_t number)
{
    const struct account *account = number ? account_of(number) : NULL;
    return account && account->number == number && account->is_started;
}

uint64_t rules_count_charges(void)
{
    uint64_t sum = 0;
    for (uint32_t stage = 0; stage < world.options.stage_count; stage++) {
        const struct sched_stage *plan = &world.options.stages[stage];
        const uint32_t counts[] = {plan->sample_count, plan->map_count, plan->reduce_count};
        for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++)
            for (uint32_t task = 0; task < counts[kind]; task++)
                sum += sched_charges(world.sched, stage, kind, task);
    }
    return sum;
}

uint64_t rules_count_committed(void)
{
    uint64_t sum = 0;
    for (uint32_t stage = 0; stage < world.options.stage_count; stage++)
        for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++)
            sum += sched_count(world.sched, stage, kind, SCHED_COMMITTED);
    return sum;
}

// ---- Attempts ---------------------------------------------------------------------------------

// Of the attempts of the task that count.
static uint32_t count_live(const struct sched_attempt *at)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < world.options.place_count; w++) {
        const struct account *account = &world.accounts[w];
        for (uint32_t i = 0; account->is_started && i < account->slot_count; i++)
            for (uint32_t k = 0; k < account->queue_count[i]; k++) {
                const struct sched_attempt *in = &account->queue[i][k];
                count += in->stage == at->stage && in->kind == at->kind && in->task == at->task &&
                         sched_waits_for(world.sched, account->number, in);
            }
    }
    return count;
}

// Tasks that two attempts count for: a second one whose first is gone is a first one itself.
static uint32_t count_backups(void)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < world.options.place_count; w++) {
        const struct account *account = &world.accounts[w];
        for (uint32_t i = 0; account->is_started && i < account->slot_count; i++)
            for (uint32_t k = 0; k < account->queue_count[i]; k++)
                count += sched_waits_for(world.sched, account->number, &account->queue[i][k]) &&
                         count_live(&account->queue[i][k]) == 2;
    }
    return count / 2;
}

static uint32_t count_slots(void)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < world.options.place_count; w++)
        count += world.accounts[w].is_ready ? world.accounts[w].slot_count : 0;
    return count;
}

// The other attempts of the task that count: none, or one at another worker for a backup.
static void check_twins(const struct sched_action *action)
{
    uint32_t others = 0;
    bool is_excused = false;
    for (uint32_t w = 0; w < world.options.place_count; w++) {
        const struct account *account = &world.accounts[w];
        for (uint32_t i = 0; account->is_started && i < account->slot_count; i++)
            for (uint32_t k = 0; k < account->queue_count[i]; k++) {
                const struct sched_attempt *in = &account->queue[i][k];
                if (in->stage != action->stage || in->kind != action->at.kind ||
                    in->task != action->at.task)
                    continue;
                if (account->number == action->worker)
                    wrong("two attempts of task %u at worker %u", in->task, action->worker);
                if (!sched_waits_for(world.sched, account->number, in))
                    continue;
                others++;
                is_excused = account->is_silent || account->is_leaving;
            }
    }
    if (others != (action->is_backup ? 1 : 0))
        wrong("task %u has %u other attempts", action->at.task, others);
    const uint32_t limit = count_slots() < 20 ? 1 : count_slots() / 10;
    if (action->is_backup && !is_excused && count_backups() >= limit)
        wrong("%u backups, and one more of an attempt that is only late", count_backups());
}

// Without suspects, which are charged unless it would be for the last time.
static bool has_pending(const struct sched_action *action)
{
    const struct sched_stage *plan = &world.options.stages[action->stage];
    const uint32_t counts[] = {plan->sample_count, plan->map_count, plan->reduce_count};
    const enum sched_kind kind = action->at.kind;
    if (sched_count(world.sched, action->stage, kind, SCHED_PENDING) == 0)
        return false;
    for (uint32_t task = 0; task < counts[kind] && world.options.max_attempts > 1; task++)
        if (sched_task_state(world.sched, action->stage, kind, task) == SCHED_PENDING &&
            sched_charges(world.sched, action->stage, kind, task) == 0)
            return true;
    return false;
}

static void check_run(const struct sched_action *action)
{
    const struct account *account = account_of(action->worker);
    const uint32_t slot = action->at.slot;
    if (!account->is_ready || account->is_silent || account->is_leaving)
        wrong("a task for worker %u, which is silent, leaves or is not ready", action->worker);
    if (account->queue_count[slot] == SCHED_QUEUE_MAX || account->is_sealing[slot])
        wrong("no room in slot %u", slot);
    if (account->opened != action->stage + 1)
        wrong("a task for worker %u, which has not opened its stage", action->worker);
    if (action->is_backup && has_pending(action))
        wrong("a backup while tasks are pending");
    if (action->is_backup && is_collected(&action->at) && account->held[slot].count > 0)
        wrong("a backup in slot %u, which holds others", slot);
    if (!world.options.is_large)
        check_twins(action);
}

void rules_take_action(const struct sched_action *action)
{
    const bool is_for_worker = action->worker > 0 && action->type != ACTION_START_WORKER;
    struct account *account = is_for_worker ? account_of(action->worker) : NULL;
    const uint32_t slot = action->at.slot;
    if (account && !is_alive(action->worker))
        wrong("action %d for worker %u, which is over", action->type, action->worker);
    if (action->type == ACTION_RUN)
        check_run(action);
    if (action->type == ACTION_SEAL &&
        (account->queue_count[slot] > 0 || account->is_sealing[slot] || account->is_silent))
        wrong("slot %u of worker %u cannot be sealed", slot, action->worker);
    if (action->type == ACTION_DROP) {
        if (account->queue_count[slot] > 0 || account->is_sealing[slot])
            wrong("slot %u of worker %u cannot be emptied", slot, action->worker);
        account->held[slot].count = 0;
    }
    if (action->type == ACTION_STAGE_OPEN)
        for (uint32_t i = 0; i < account->slot_count; i++)
            if (account->queue_count[i] > 0)
                wrong("stage %u is opened at worker %u, which is at work", action->stage,
                      action->worker);
}

void rules_check_event(const struct sched_event *event, uint64_t charges_before)
{
    const bool is_from_worker = event->type != EVENT_START && event->type != EVENT_CHECKPOINT &&
                                event->type != EVENT_TASK_EXCUSED;
    const bool is_stale =
        is_from_worker && event->type != EVENT_WORKER_LOST && !is_alive(event->worker);
    if (is_stale && world.actions.count > 0)
        wrong("a frame of worker %u, which is over, brings about something", event->worker);
    if (event->type == EVENT_WORKER_LOST && event->is_blameless && !world.options.is_large &&
        rules_count_charges() != charges_before)
        wrong("the loss of a machine charges a task");
}

// ---- Map output -------------------------------------------------------------------------------

// A worker is about to seal what a slot has: tasks that were granted to it, and to no other.
void rules_check_seal(const struct machine *machine, uint32_t index)
{
    const struct place_in_work *slot = &machine->slots[index];
    const uint32_t stage = machine->opened - 1;
    if (!is_alive(machine->number))
        return;  // it was given up, and what it says will not count
    for (size_t i = 0; i < slot->collected.count; i++) {
        const uint32_t task = slot->collected.items[i];
        uint32_t *granted = &world.granted[stage][task];
        if (sched_task_state(world.sched, stage, SCHED_MAP, task) != SCHED_HELD &&
            sched_count(world.sched, stage, SCHED_REDUCE, SCHED_COMMITTED) !=
                world.options.stages[stage].reduce_count)
            wrong("worker %u seals map task %u, which it has not got", machine->number, task);
        if (*granted != machine->number && is_alive(*granted) &&
            sched_task_state(world.sched, stage, SCHED_MAP, task) == SCHED_COMMITTED)
            wrong("workers %u and %u seal map task %u", *granted, machine->number, task);
        *granted = machine->number;
    }
}

// Each map task is there once.
void rules_check_cover(const struct cover *cover, uint32_t stage)
{
    const uint32_t count = world.options.stages[stage].map_count;
    uint32_t *owners = calloc(count + 1, sizeof *owners), found = 0;
    if (!owners)
        exit(2);
    for (uint32_t i = 0; i < cover->count; i++)
        for (uint32_t k = 0; k < cover->batches[i]->count; k++) {
            const uint32_t task = cover->batches[i]->tasks[k];
            if (owners[task])
                wrong("map task %u is in the seals of workers %u and %u", task, owners[task],
                      cover->batches[i]->number);
            owners[task] = cover->batches[i]->number;
            found++;
        }
    if (found != count)
        wrong("%u of %u map tasks are in the seals", found, count);
    free(owners);
}
