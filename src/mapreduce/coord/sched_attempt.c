// How attempts, seals and checkpoints end, and what that means for their tasks.
#include "mapreduce/coord/sched_state.h"

// ---- The end of an attempt --------------------------------------------------------------------

struct queued *sched_find_queued(struct sched *sched, const struct worker *worker,
                                 const struct sched_attempt *at)
{
    if (at->slot >= worker->slot_count)
        return NULL;
    struct slot *slot = slot_of(sched, worker, at->slot);
    for (uint32_t i = 0; i < slot->queue_count; i++) {
        const struct sched_attempt *in = &slot->queue[i].at;
        if (in->stage == at->stage && in->kind == at->kind && in->task == at->task &&
            in->attempt == at->attempt)
            return &slot->queue[i];
    }
    return NULL;
}

// An attempt that has ended.
struct ended {
    bool was_queued;
    bool counts;      // its task waits for it; a task that was committed in the meantime does not
    bool is_charged;  // already
    uint32_t twin;    // the slot of the other attempt of the task, or SCHED_NO_SLOT
};

// Takes an ended attempt out of its queue.
static struct ended end_attempt(struct sched *sched, struct worker *worker,
                                const struct sched_attempt *at)
{
    const struct queued *queued = sched_find_queued(sched, worker, at);
    if (!queued)
        return (struct ended){.twin = SCHED_NO_SLOT};
    struct slot *slot = slot_of(sched, worker, at->slot);
    const uint32_t id = slot_id(sched, worker, at->slot);
    const struct ended ended = {.was_queued = true,
                                .counts = sched_counts(sched, queued),
                                .is_charged = queued->is_charged,
                                .twin = sched_part_twins(sched, queued, id)};
    const bool was_alone = queued->is_alone;
    sched->backup_count -= queued->is_backup;
    slot->is_slow &= queued->is_late;
    if (queued == &slot->queue[0])
        slot->queue[0] = slot->queue[1];
    slot->queue[--slot->queue_count].is_alone = false;
    worker->busy_count--;
    sched->busy_count--;
    sched_file_slot(sched, id);
    if (was_alone) {
        worker->is_occupied = false;
        sched_file_worker(sched, worker);
    }
    return ended;
}

// The attempt has ended, its task is settled: the twin has lost. Or it has lost itself, and its pairs are in the
// slot's collector. A spoiled slot without attempts can be cleaned. Samples leave nothing in it, but no worker gets a plan while
// it takes one.
static void settle_losers(struct sched *sched, const struct worker *worker,
                          const struct sched_attempt *at, const struct ended *ended,
                          bool is_collected)
{
    const uint32_t id = slot_id(sched, worker, at->slot);
    if (!sched->is_elastic || !ended->was_queued || !can_spoil(sched, at))
        return;
    const bool runs = set_of(sched, at)->tasks[at->task].state == SCHED_RUNNING;
    if (ended->twin != SCHED_NO_SLOT && !(ended->counts && runs))
        sched_spoil_slot(sched, ended->twin);
    if (is_collected && !ended->counts)
        sched_spoil_slot(sched, id);
    if (sched->slots[id].has_a_loser && sched->slots[id].queue_count == 0)
        sched_drop_spoiled(sched, id, is_collecting(sched, at));
}

// The task waits for the driver. It is not a suspect any more: its last charge was certain, and the
// others need not run alone for its sake.
static void get_stuck(struct sched *sched, const struct sched_attempt *at, weft_err code)
{
    struct task_set *set = set_of(sched, at);
    struct task *task = &set->tasks[at->task];
    if (task->state == SCHED_COMMITTED && task->is_durable)
        return;  // its output is there, whatever became of the attempt
    task->has_suspect_charge = false;
    task_set_suspect(set, at->task, false);
    sched_move(sched, set, at->task, SCHED_STUCK);
    struct sched_action *action = sched_put(sched, ACTION_TASK_STUCK);
    action->stage = at->stage;
    action->at = *at;
    action->code = code;
}

void sched_charge(struct sched *sched, const struct sched_attempt *at, weft_err code)
{
    struct task *task = &set_of(sched, at)->tasks[at->task];
    if (stage_has_output(&sched->stages[at->stage]))
        return;  // it is not needed any more
    if (++task->charges < sched->max_attempts)
        return;
    if (sched->asks_before_failing && at->stage == 0 && at->kind != SCHED_REDUCE)
        return get_stuck(sched, at, code);
    sched_end_failed(sched, code, at);
}

// Others may run beside an attempt of a task that is not a suspect any more.
static void admit_company(struct sched *sched, struct worker *worker,
                          const struct sched_attempt *at)
{
    for (uint32_t i = 0; i < worker->slot_count; i++) {
        struct queued *first =
            slot_of(sched, worker, i)->queue;  // a task that runs alone is the first
        if (first->is_alone && first->at.stage == at->stage && first->at.kind == at->kind &&
            first->at.task == at->task) {
            first->is_alone = worker->is_occupied = false;
            sched_file_worker(sched, worker);
        }
    }
}

// A task came to a better state: it is not a suspect any more, and there may be progress.
static void advance(struct sched *sched, struct worker *worker, const struct sched_attempt *at,
                    enum sched_state state)
{
    struct task_set *set = set_of(sched, at);
    struct task *task = &set->tasks[at->task];
    if (task->is_suspect && worker->is_occupied)
        admit_company(sched, worker, at);
    task->charges -= task->has_suspect_charge ? 1 : 0;
    task->has_suspect_charge = false;
    task_set_suspect(set, at->task, false);
    if (sched_move(sched, set, at->task, state))
        sched->unexplained_loss_count = 0;
}

void sched_take_held(struct sched *sched, struct worker *worker, const struct sched_attempt *at)
{
    const struct ended ended = end_attempt(sched, worker, at);
    if (ended.counts) {
        struct task_set *set = set_of(sched, at);
        const bool is_sample = at->kind == SCHED_SAMPLE;
        advance(sched, worker, at, is_sample ? SCHED_COMMITTED : SCHED_HELD);
        set->tasks[at->task].is_durable = is_sample;
        if (is_collecting(sched, at))
            sched_hold(sched, set, at->task, slot_id(sched, worker, at->slot));
        else if (!is_sample)
            sched_keep(sched, set, at->task, worker);
    }
    settle_losers(sched, worker, at, &ended, is_collecting(sched, at));
    sched_settle(sched, worker);
}

// An attempt that has lost is forgotten, but what its slot held is gone as well.
void sched_take_failed(struct sched *sched, struct worker *worker, const struct sched_event *event)
{
    const struct sched_attempt *at = &event->at;
    const struct ended ended = end_attempt(sched, worker, at);
    if (ended.counts && event->is_final)
        return sched_end_failed(sched, event->code, at);
    if (ended.counts && ended.twin == SCHED_NO_SLOT)
        sched_move(sched, set_of(sched, at), at->task, SCHED_PENDING);
    if ((ended.counts || (ended.was_queued && sched->is_elastic)) && at->kind == SCHED_MAP &&
        !event->keeps_held)
        sched_drop_list(sched, &slot_of(sched, worker, at->slot)->held);
    if (ended.counts && !ended.is_charged && !event->is_blameless)
        sched_charge(sched, at, event->code);
    if (sched->is_over)
        return;
    settle_losers(sched, worker, at, &ended, false);
    sched_settle(sched, worker);
}

// A thread cannot be stopped from outside: the worker has to go.
void sched_take_timed_out(struct sched *sched, struct worker *worker,
                          const struct sched_attempt *at)
{
    struct queued *queued = sched_find_queued(sched, worker, at);
    if (!queued || queued->is_charged)
        return;
    queued->is_charged = true;
    if (!sched->is_elastic || sched_counts(sched, queued))
        sched_charge(sched, at, WEFT_DEADLINE_EXCEEDED);
    sched_forsake_twin(sched, queued, slot_id(sched, worker, at->slot));
    if (!sched->is_over && worker->state != WORKER_DYING)
        sched_kill_worker(sched, worker);
}

// ---- Commits ----------------------------------------------------------------------------------

// The job had gone back to make lost data again, which is not needed any more.
static void skip_needless(struct sched *sched, uint32_t stage)
{
    if (stage > sched->stage_index && stage_has_output(&sched->stages[stage]))
        sched_enter_stage(sched, sched_first_stage(sched));
}

// The text of an output task may be written before its attempt ended, or after it ended badly; it will
// not be written again, so the commit counts in every state. A stuck task that is kept in memory only
// stays stuck: it timed out, and the memory goes with the worker. A map task for a reduce counts only
// while a slot of this worker holds it.
void sched_take_committed(struct sched *sched, struct worker *worker,
                          const struct sched_event *event)
{
    const struct sched_attempt *at = &event->at;
    struct stage *stage = &sched->stages[at->stage];
    struct task_set *set = set_of(sched, at);
    if (at->kind == SCHED_SAMPLE || at->task >= set->count)
        return;
    struct task *task = &set->tasks[at->task];
    const bool is_output = at->kind == SCHED_REDUCE || stage_is_map_only(stage);
    if (task->state == SCHED_COMMITTED || task->attempt == 0)
        return;
    if (!is_output &&
        (task->state != SCHED_HELD || sched_place_of_task(sched, task) != place_of(sched, worker)))
        return;
    if (task->state == SCHED_STUCK && !event->is_durable)
        return;
    task->is_durable = event->is_durable;
    advance(sched, worker, at, SCHED_COMMITTED);
    if (!event->is_durable)
        sched_keep(sched, set, at->task, worker);
    skip_needless(sched, at->stage);
}

// It may have a copy of what another worker made, or have made it in an earlier life of the driver.
void sched_take_offered(struct sched *sched, struct worker *worker, const struct sched_event *event)
{
    const struct sched_attempt *at = &event->at;
    struct task_set *set = set_of(sched, at);
    if (at->kind == SCHED_SAMPLE || at->task >= set->count)
        return;
    struct task *task = &set->tasks[at->task];
    const bool is_committed = task->state == SCHED_COMMITTED;
    if ((task->state != SCHED_PENDING && !is_committed) || (is_committed && task->is_durable))
        return;
    task->is_durable = event->is_durable;
    advance(sched, worker, at, SCHED_COMMITTED);
    if (!event->is_durable)
        sched_keep(sched, set, at->task, worker);
    // It is not where reduce tasks would look for it.
    if (sched->is_elastic && is_committed && is_collecting(sched, at))
        sched_outdate_reducing(sched, true);
    skip_needless(sched, at->stage);
}

void sched_take_sealed(struct sched *sched, struct worker *worker, uint32_t slot_index)
{
    if (slot_index >= worker->slot_count || !slot_of(sched, worker, slot_index)->is_sealing)
        return;
    struct slot *slot = slot_of(sched, worker, slot_index);
    slot->is_sealing = slot->wants_seal = false;
    worker->sealing_count--;
    sched->sealing_count--;
    sched_drop_list(sched, &slot->held);
    sched_file_slot(sched, slot_id(sched, worker, slot_index));
    sched_settle(sched, worker);
}

// What the checkpoint committed has left the list, so that a slot with nothing else need not be sealed.
void sched_take_checkpointed(struct sched *sched, struct worker *worker, uint32_t slot_index)
{
    if (slot_index >= worker->slot_count || !slot_of(sched, worker, slot_index)->is_checkpointing)
        return;
    slot_of(sched, worker, slot_index)->is_checkpointing = false;
    worker->checkpointing_count--;
    sched->checkpointing_count--;
    sched_file_slot(sched, slot_id(sched, worker, slot_index));
    sched_settle(sched, worker);
}
