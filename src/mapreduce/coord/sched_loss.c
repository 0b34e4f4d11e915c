// What a lost worker takes with it, and who is charged for it.
#include "mapreduce/coord/sched_state.h"

// Whether the task of the attempt has to be run again.
static bool is_undone(struct sched *sched, const struct worker *worker,
                      const struct sched_attempt *at)
{
    const struct queued *queued = sched_find_queued(sched, worker, at);
    if (sched->is_elastic)
        return queued && sched_counts(sched, queued);
    const struct task *task = &set_of(sched, at)->tasks[at->task];
    return task->state != SCHED_COMMITTED || !task->is_durable;
}

// The last charge is never a suspicion: the job does not fail by what another task may have done.
static void suspect(struct sched *sched, const struct sched_attempt *at)
{
    struct task_set *set = set_of(sched, at);
    struct task *task = &set->tasks[at->task];
    task_set_suspect(set, at->task, true);
    if (!task->has_suspect_charge && task->charges + 1 < sched->max_attempts) {
        task->has_suspect_charge = true;
        task->charges++;
    }
}

// Charges the loss to the attempt that crashed, or to the only one there was; else to none for
// certain. An attempt whose task is done for good may be the guilty one, but is not run again.
static void blame(struct sched *sched, const struct worker *worker, const struct sched_event *event)
{
    struct sched_attempt suspects[SLOTS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < event->inside_count && count < SLOTS_MAX; i++) {
        const struct sched_attempt *at = &event->inside[i];
        const bool may_be = event->crash_slot == SCHED_NO_SLOT || event->crash_slot == at->slot;
        if (may_be && sched_find_queued(sched, worker, at))
            suspects[count++] = *at;
    }
    if (count == 1 && is_undone(sched, worker, &suspects[0]))
        return sched_charge(sched, &suspects[0], event->code ? event->code : WEFT_UNAVAILABLE);
    if (count == 1 && sched->is_elastic)
        return;  // a loser, which is not run again

    for (uint32_t i = 0; i < count; i++)
        if (is_undone(sched, worker, &suspects[i]))
            suspect(sched, &suspects[i]);
    const uint32_t workers = sched->is_elastic ? sched->ready_most : sched->worker_count;
    if (++sched->unexplained_loss_count >= SCHED_LOSSES_MAX * (workers ? workers : 1))
        sched_end_failed(sched, WEFT_UNAVAILABLE, NULL);
}

// Sends back what ran there or shared the worker's fate, and forgets its slots.
static void lose_all(struct sched *sched, struct worker *worker, bool keeps_commits)
{
    for (uint32_t i = 0; i < worker->slot_count; i++) {
        struct slot *slot = slot_of(sched, worker, i);
        for (uint32_t k = 0; k < slot->queue_count; k++) {
            sched->backup_count -= slot->queue[k].is_backup;
            sched_give_back(sched, &slot->queue[k], slot_id(sched, worker, i));
        }
        sched_drop_list(sched, &slot->held);
    }
    if (keeps_commits)
        sched_drop_held(sched, &worker->kept);
    else
        sched_drop_list(sched, &worker->kept);
    sched->busy_count -= worker->busy_count;
    sched->sealing_count -= worker->sealing_count;
    sched->checkpointing_count -= worker->checkpointing_count;
    worker->busy_count = worker->sealing_count = worker->checkpointing_count = 0;
    worker->slot_count = worker->loser_count = 0;
    worker->is_occupied = worker->is_changing = false;
}

// The next worker has not opened anything, so it begins with the empty stages too.
static void forget_opened(struct sched *sched, uint32_t number)
{
    for (uint32_t i = 0; i < sched->stage_count; i++)
        if (sched->stages[i].opened_by == number)
            sched->stages[i].opened_by = 0;
}

void sched_take_lost(struct sched *sched, struct worker *worker, const struct sched_event *event)
{
    const bool is_by_us =
        worker->state == WORKER_DYING;  // the attempt that timed out is charged already
    if (worker->state == WORKER_READY) {
        sched->ready_count--;
        sched->slot_count -= worker->slot_count;
    }
    worker->state = WORKER_NONE;
    if (!is_by_us && !event->is_blameless)
        blame(sched, worker, event);
    if (sched->is_over)
        return;
    sched_file_worker(sched, worker);
    lose_all(sched, worker, event->keeps_commits);
    forget_opened(sched, worker->number);
    sched_enter_stage(sched, sched_first_stage(sched));
    if (sched->is_elastic)
        sched_outdate_reducing(sched, false);

    // Output that was restored is not there before some worker opened its stage.
    if (stage_has_output(current(sched)) && current(sched)->was_opened &&
        (sched->busy_count == 0 || sched->is_elastic))
        return sched_end_done(sched);
    if (!worker->is_set_aside)
        sched_start_worker(sched, worker);
}

static bool is_the_last(const struct sched *sched, const struct worker *worker)
{
    for (uint32_t place = 0; place < sched->worker_count; place++)
        if (&sched->workers[place] != worker && !sched->workers[place].is_set_aside)
            return false;
    return true;
}

void sched_take_worker_failed(struct sched *sched, struct worker *worker, weft_err code)
{
    if (sched->is_elastic) {
        if (worker->state != WORKER_DYING)
            sched_kill_worker(sched, worker);
        return;
    }
    if (is_the_last(sched, worker))
        return sched_end_failed(sched, code, NULL);
    if (worker->is_set_aside)
        return;
    worker->is_set_aside = true;
    if (worker->state != WORKER_DYING)
        sched_kill_worker(sched, worker);
}

// ---- Damage -----------------------------------------------------------------------------------

// A worker that has opened the stage may have read the map output, or have it in a file to which it adds more.
static void renew_stage(struct sched *sched, struct worker *worker, uint32_t stage)
{
    if (worker->state != WORKER_READY || worker->opened != stage + 1)
        return;
    if (!sched->is_elastic)
        return sched_kill_worker(sched, worker);
    worker->is_outdated = true;
    worker->is_changing = !sched_is_settled(sched, worker->number);
    sched_file_worker(sched, worker);
}

void sched_take_spoiled(struct sched *sched, const struct sched_attempt *at)
{
    if (at->stage >= sched->stage_count || at->kind >= SCHED_KIND_COUNT)
        return;
    struct task_set *set = set_of(sched, at);
    if (at->kind == SCHED_SAMPLE || at->task >= set->count)
        return;
    struct task *task = &set->tasks[at->task];
    if (task->state != SCHED_COMMITTED && (task->state != SCHED_HELD || is_collecting(sched, at)))
        return;
    task->is_durable = false;
    sched_move(sched, set, at->task, SCHED_PENDING);
    for (uint32_t place = 0; is_collecting(sched, at) && place < sched->worker_max; place++)
        renew_stage(sched, &sched->workers[place], at->stage);
    sched_enter_stage(sched, sched_first_stage(sched));
}
