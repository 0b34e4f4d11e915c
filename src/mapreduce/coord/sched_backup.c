// Second attempts of tasks, and workers that are silent or leave.
//
// A task has at most two attempts that count; each knows the slot of the other, its twin. When one has ended well the other one
// has lost. Where it maps for a reduce, its slot is spoiled from then on: its collector has, or will have,
// pairs of a task that counts elsewhere, mixed with those of others.
#include "mapreduce/coord/sched_state.h"

// ---- Twins ------------------------------------------------------------------------------------

bool sched_counts(const struct sched *sched, const struct queued *queued)
{
    const struct sched_attempt *at = &queued->at;
    const struct task *task = &sched->stages[at->stage].sets[at->kind].tasks[at->task];
    return task->state == SCHED_RUNNING && at->attempt >= task->first_live && !queued->is_void;
}

static bool is_same_task(const struct sched_attempt *a, const struct sched_attempt *b)
{
    return a->stage == b->stage && a->kind == b->kind && a->task == b->task;
}

uint32_t sched_part_twins(struct sched *sched, const struct queued *queued, uint32_t id)
{
    const uint32_t twin = queued->twin;
    if (twin == SCHED_NO_SLOT)
        return SCHED_NO_SLOT;
    struct slot *slot = &sched->slots[twin];
    for (uint32_t i = 0; i < slot->queue_count; i++) {
        struct queued *other = &slot->queue[i];
        if (other->twin != id || !is_same_task(&other->at, &queued->at))
            continue;
        other->twin = SCHED_NO_SLOT;
        // The only one now: it is second to none, and may need a second one itself.
        sched->backup_count -= other->is_backup;
        other->is_backup = false;
        sched_file_slot(sched, twin);
        return twin;
    }
    return SCHED_NO_SLOT;
}

void sched_forsake_twin(struct sched *sched, const struct queued *queued, uint32_t id)
{
    if (!can_spoil(sched, &queued->at) ||
        set_of(sched, &queued->at)->tasks[queued->at.task].state == SCHED_RUNNING)
        return;
    const uint32_t twin = sched_part_twins(sched, queued, id);
    if (twin != SCHED_NO_SLOT)
        sched_spoil_slot(sched, twin);
}

void sched_give_back(struct sched *sched, struct queued *queued, uint32_t id)
{
    sched_forsake_twin(sched, queued, id);
    const bool counts = sched_counts(sched, queued);
    const uint32_t twin = sched_part_twins(sched, queued, id);
    queued->twin = SCHED_NO_SLOT;
    queued->is_void = true;
    if (counts && twin == SCHED_NO_SLOT)
        sched_move(sched, set_of(sched, &queued->at), queued->at.task, SCHED_PENDING);
}

bool sched_lingers(struct sched *sched, const struct worker *worker, const struct sched_attempt *at)
{
    for (uint32_t i = 0; i < worker->slot_count; i++) {
        const struct slot *slot = slot_of(sched, worker, i);
        for (uint32_t k = 0; k < slot->queue_count; k++)
            if (is_same_task(&slot->queue[k].at, at))
                return true;
    }
    return false;
}

// ---- Spoiled slots ----------------------------------------------------------------------------

void sched_spoil_slot(struct sched *sched, uint32_t id)
{
    struct slot *slot = &sched->slots[id];
    struct worker *worker = &sched->workers[id % sched->worker_max];
    sched_drop_list(sched, &slot->held);
    for (uint32_t i = 0; i < slot->queue_count; i++)
        sched_give_back(sched, &slot->queue[i], id);
    if (!slot->has_a_loser) {
        slot->has_a_loser = true;
        worker->loser_count++;
    }
    sched_file_worker(sched, worker);
}

void sched_drop_spoiled(struct sched *sched, uint32_t id, bool is_collected)
{
    struct slot *slot = &sched->slots[id];
    struct worker *worker = &sched->workers[id % sched->worker_max];
    slot->has_a_loser = false;
    worker->loser_count--;
    sched_file_worker(sched, worker);
    if (!is_collected || worker->state != WORKER_READY)
        return;
    struct sched_action *action = sched_put(sched, ACTION_DROP);
    action->worker = worker->number;
    action->stage = worker->opened - 1;
    action->at.slot = id / sched->worker_max;
}

// ---- Late attempts ----------------------------------------------------------------------------

// A suspect has to run alone, and so has no backup beside others.
struct queued *sched_find_late(struct sched *sched, uint32_t id)
{
    const struct worker *worker = &sched->workers[id % sched->worker_max];
    struct slot *slot = &sched->slots[id];
    // One that leaves will seal what its slot holds, unless the attempt in it loses.
    const bool are_all = worker->is_silent || (worker->is_leaving && slot->held == SCHED_NO_TASK);
    for (uint32_t i = 0; i < slot->queue_count; i++) {
        struct queued *queued = &slot->queue[i];
        if ((are_all || queued->is_late) && queued->twin == SCHED_NO_SLOT && !queued->is_alone &&
            sched_counts(sched, queued))
            return queued;
    }
    return NULL;
}

// Nothing there is of use to anybody.
static bool has_only_losers(struct sched *sched, const struct worker *worker)
{
    if (worker->holding_count + worker->sealing_count + worker->checkpointing_count > 0)
        return false;
    for (uint32_t i = 0; i < worker->slot_count; i++) {
        const struct slot *slot = slot_of(sched, worker, i);
        for (uint32_t k = 0; k < slot->queue_count; k++)
            if (sched_counts(sched, &slot->queue[k]))
                return false;
    }
    return true;
}

// An attempt that waits for it in the slot is late, too, also when it has lost.
void sched_take_late(struct sched *sched, struct worker *worker, const struct sched_attempt *at)
{
    const struct queued *late = sched_find_queued(sched, worker, at);
    if (!late || !sched->is_elastic)
        return;
    struct slot *slot = slot_of(sched, worker, at->slot);
    if (worker->state == WORKER_READY && has_only_losers(sched, worker))
        return sched_kill_worker(sched, worker);
    for (uint32_t i = (uint32_t)(late - slot->queue); i < slot->queue_count; i++)
        slot->queue[i].is_late = true;
    slot->is_slow = true;
    sched_file_slot(sched, slot_id(sched, worker, at->slot));
}

// ---- Workers ----------------------------------------------------------------------------------

void sched_take_away(struct sched *sched, struct worker *worker, enum sched_event_type type)
{
    if (!sched->is_elastic || worker->state == WORKER_STARTING)
        return;
    if (type == EVENT_WORKER_LEAVING)
        worker->is_leaving = true;
    else
        worker->is_silent = type == EVENT_WORKER_SILENT;
    sched_file_worker(sched, worker);
}

void sched_want_seals(struct sched *sched)
{
    for (uint32_t place = 0; place < sched->worker_max; place++)
        for (uint32_t i = 0; i < sched->workers[place].slot_count; i++) {
            const uint32_t id = slot_id(sched, &sched->workers[place], i);
            if (sched->slots[id].held == SCHED_NO_TASK || sched->slots[id].is_sealing)
                continue;
            sched->slots[id].wants_seal = true;
            sched_file_slot(sched, id);
        }
}
