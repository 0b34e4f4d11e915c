// The scheduler's state of a job: its stages, its workers, and which tasks are queued and held
// where.
//
// Private to the sched*.c files: sched.c has the course of a job and hands out tasks,
// sched_attempt.c takes in how attempts and seals end, sched_loss.c what a lost worker takes with
// it, sched_state.c makes the state, keeps it consistent and answers questions.
// sched_backup.c has second attempts, and workers that are silent or leave.
//
// A worker has a place, from 0, and each of its lives a number that no other has, by which events
// of an earlier life are recognized. A slot's id is slot * worker_max + place, so that the lowest
// free ids are those of different workers. A task's id counts through all sets of the job.
#ifndef MAPREDUCE_COORD_SCHED_STATE_H
#define MAPREDUCE_COORD_SCHED_STATE_H

#include "mapreduce/coord/task_set.h"

#define SCHED_NO_PLACE UINT32_MAX

enum worker_state {
    WORKER_NONE,      // none has been started, or the last one is lost
    WORKER_STARTING,  // no READY yet
    WORKER_READY,
    WORKER_DYING,  // killed by us; it may still report finished tasks, but gets nothing to do
};

struct queued {
    struct sched_attempt at;
    bool is_charged;  // it timed out: however it ends, it is not charged again
    bool is_alone;    // nothing else may run in the worker
    bool is_late, is_backup;
    bool is_void;   // it does not count, though its task may still run elsewhere
    uint32_t twin;  // the id of the slot that has the other attempt of the task, or SCHED_NO_SLOT
};

struct slot {
    struct queued queue[SCHED_QUEUE_MAX];  // [0] runs, [1] waits; all of the stage its worker is in
    uint32_t queue_count;
    uint32_t held;  // the first of the map tasks in its collector
    bool is_sealing, is_checkpointing;
    // Elastic:
    bool is_slow;      // its last attempt was late
    bool wants_seal;   // before its next task
    bool has_a_loser;  // its pairs are to be dropped
};

struct worker {
    uint32_t number;  // of this life, or the last one; 0: never started
    enum worker_state state;
    bool is_set_aside;  // not started again
    bool is_changing;   // it still has attempts of another stage than the current one to end
    bool is_reducing;   // it was sent a reduce task of the stage that it has opened
    // It has to open its stage again: it reads map output that was lost since, or has collected tasks that are to be done again.
    bool is_outdated;
    bool is_quarantined, is_occupied;  // kept free for suspects; has one that runs alone
    bool is_silent, is_leaving;
    uint32_t loser_count;  // slots that have one, of samples or of maps for a reduce
    uint32_t slot_count;
    uint32_t home;                                               // HOMES_NONE: at none
    uint32_t busy_count;                                         // attempts in its queues
    uint32_t holding_count, sealing_count, checkpointing_count;  // slots
    uint32_t opened, planned;  // the last stage it was sent, plus 1; 0: none
    uint32_t kept;  // the first of the tasks that are lost with it, and are in no slot any more
};

struct stage {
    struct task_set sets[SCHED_KIND_COUNT];
    uint32_t opened_by;  // the number of the first living worker that was sent it; 0: none
    bool was_opened;
};

struct sched {
    struct task *tasks;  // of all stages; each set has its part of them
    struct stage *stages;
    struct worker *workers;  // worker_max
    struct slot *slots;      // slots_max of each
    uint32_t stage_count, stage_index, worker_max, slots_max;
    uint32_t worker_count;  // that are started, and again when they are lost
    uint32_t max_attempts;
    bool asks_before_failing, is_elastic, is_started;
    uint32_t ready_count, slot_count;             // workers, and their slots
    uint32_t ready_most;                          // of ready_count, ever
    uint32_t busy_count;                          // attempts in all queues
    uint32_t sealing_count, checkpointing_count;  // slots
    uint32_t unexplained_loss_count;
    uint32_t quarantine;  // the place that is kept free for suspects, or SCHED_NO_PLACE

    struct bits free_workers;  // ready and in no change: the stage can be opened there
    struct bits free_slots[SCHED_QUEUE_MAX];  // [n]: with n attempts in their queue
    struct bits holding_slots;  // hold map tasks, and are neither sealing nor at a checkpoint
    struct bits leaving_slots;  // the same, but of a stage that their worker has to leave
    // Where workers are elastic, no slot with an attempt is in one of the two above.
    struct bits due_slots;   // those of holding_slots that are to be sealed before their next task
    struct bits late_slots;  // with an attempt that may have a backup; some may not any more
    uint32_t backup_count;   // attempts in queues

    uint32_t to_start,
        to_kill;  // the next place of those still to be started, or killed at the end
    bool wants_checkpoint;
    bool is_over;
    bool is_told;                 // that it has failed
    struct sched_action failure;  // when is_over and its code is not WEFT_OK
    struct sched_actions *out;    // of the step under way
};

// ---- sched_state.c ----------------------------------------------------------------------------

// Puts a slot, or all of a worker, where its state belongs: among the free, the holding, or
// nowhere. To be called after every change of a field that this depends on.
void sched_file_slot(struct sched *sched, uint32_t slot_id);
void sched_file_worker(struct sched *sched, struct worker *worker);

// Sets the state of a task, after taking it out of the list it is in. True: further than ever before.
bool sched_move(struct sched *sched, struct task_set *set, uint32_t task, enum sched_state state);

// What the task made now shares the fate of the slot's collector, or of the worker.
void sched_hold(struct sched *sched, struct task_set *set, uint32_t task, uint32_t slot_id);
void sched_keep(struct sched *sched, struct task_set *set, uint32_t task, struct worker *worker);

// The place of the worker that has what the task made; SCHED_NO_PLACE when it is in no list.
uint32_t sched_place_of_task(const struct sched *sched, const struct task *task);

// Sends all tasks in the list back to pending.
void sched_drop_list(struct sched *sched, const uint32_t *list);
// The same without those that are committed.
void sched_drop_held(struct sched *sched, const uint32_t *list);

// Goes to a stage, forward or back. Workers that are still at work for another one get nothing to
// do until they have ended that and sealed their slots; going forward drops their tasks, which are
// not needed any more.
void sched_enter_stage(struct sched *sched, uint32_t stage);

// The stage at which to continue: the one after the last that is complete, or the last one when
// that is complete itself.
uint32_t sched_first_stage(const struct sched *sched);

// Map output may be lost, or not where it was: workers that reduce in a stage that it concerns have to open it again, also those
// that are in a later stage than the job.
void sched_outdate_reducing(struct sched *sched, bool is_only_moved);

// A worker that is changing may have come to the end of what kept it.
void sched_settle(struct sched *sched, struct worker *worker);

// ---- sched.c ----------------------------------------------------------------------------------

struct sched_action *sched_put(struct sched *sched, enum sched_action_type type);
void sched_start_worker(struct sched *sched, struct worker *worker);
void sched_kill_worker(struct sched *sched, struct worker *worker);
void sched_end_done(struct sched *sched);

// `at` names the task by its stage, kind and number; NULL: no task is at fault.
void sched_end_failed(struct sched *sched, weft_err code, const struct sched_attempt *at);

// ---- sched_attempt.c: all for an event of a living worker --------------------------------------

// The attempt in its slot's queue, NULL when it is not there: stale, or said twice.
struct queued *sched_find_queued(struct sched *sched, const struct worker *worker,
                                 const struct sched_attempt *at);

// Charges an attempt to its task for certain.
void sched_charge(struct sched *sched, const struct sched_attempt *at, weft_err code);

void sched_take_held(struct sched *sched, struct worker *worker, const struct sched_attempt *at);
void sched_take_failed(struct sched *sched, struct worker *worker, const struct sched_event *event);
void sched_take_committed(struct sched *sched, struct worker *worker,
                          const struct sched_event *event);
void sched_take_offered(struct sched *sched, struct worker *worker,
                        const struct sched_event *event);
void sched_take_sealed(struct sched *sched, struct worker *worker, uint32_t slot);
void sched_take_checkpointed(struct sched *sched, struct worker *worker, uint32_t slot);
void sched_take_timed_out(struct sched *sched, struct worker *worker,
                          const struct sched_attempt *at);

// ---- sched_backup.c ---------------------------------------------------------------------------

// Whether the task of the attempt waits for it.
bool sched_counts(const struct sched *sched, const struct queued *queued);

// The attempt, which was in this slot's queue, has left it: its twin has none any more. Returns the id of that one's slot, or SCHED_NO_SLOT.
uint32_t sched_part_twins(struct sched *sched, const struct queued *queued, uint32_t slot_id);

// An attempt in the slot lost, or will: what the slot collects is of no use until it was dropped.
void sched_spoil_slot(struct sched *sched, uint32_t slot_id);
// The last attempt has left a spoiled slot; `is_collected`: with pairs in it.
void sched_drop_spoiled(struct sched *sched, uint32_t slot_id, bool is_collected);

// A queued attempt is not waited for any more: its task goes back to pending, unless its twin is under way.
void sched_give_back(struct sched *sched, struct queued *queued, uint32_t slot_id);

// Its task may have got stuck: then the twin has lost as well.
void sched_forsake_twin(struct sched *sched, const struct queued *queued, uint32_t slot_id);

// Whether one of the attempts in the worker's queues is of that task.
bool sched_lingers(struct sched *sched, const struct worker *worker,
                   const struct sched_attempt *at);

// The late attempt of a slot that can have a backup; NULL: the slot has none.
struct queued *sched_find_late(struct sched *sched, uint32_t slot_id);

void sched_take_late(struct sched *sched, struct worker *worker, const struct sched_attempt *at);
void sched_take_away(struct sched *sched, struct worker *worker, enum sched_event_type type);
void sched_want_seals(struct sched *sched);

// ---- sched_loss.c -----------------------------------------------------------------------------

void sched_take_spoiled(struct sched *sched, const struct sched_attempt *at);
void sched_take_lost(struct sched *sched, struct worker *worker, const struct sched_event *event);
void sched_take_worker_failed(struct sched *sched, struct worker *worker, weft_err code);

// ---- Small questions --------------------------------------------------------------------------

static inline struct stage *current(struct sched *sched)
{
    return &sched->stages[sched->stage_index];
}

static inline struct task_set *set_of(struct sched *sched, const struct sched_attempt *at)
{
    return &sched->stages[at->stage].sets[at->kind];
}

static inline uint32_t place_of(const struct sched *sched, const struct worker *worker)
{
    return (uint32_t)(worker - sched->workers);
}

static inline uint32_t slot_id(const struct sched *sched, const struct worker *worker,
                               uint32_t slot)
{
    return slot * sched->worker_max + place_of(sched, worker);
}

static inline struct slot *slot_of(struct sched *sched, const struct worker *worker, uint32_t slot)
{
    return &sched->slots[slot_id(sched, worker, slot)];
}

// Its pairs are collected for a reduce, with those of others.
static inline bool is_collecting(const struct sched *sched, const struct sched_attempt *at)
{
    return at->kind == SCHED_MAP && sched->stages[at->stage].sets[SCHED_REDUCE].count > 0;
}

// A loser of its kind is in the way of others in its worker.
static inline bool can_spoil(const struct sched *sched, const struct sched_attempt *at)
{
    return at->kind == SCHED_SAMPLE || is_collecting(sched, at);
}

static inline bool stage_is_map_only(const struct stage *stage)
{
    return stage->sets[SCHED_REDUCE].count == 0;
}

static inline const struct task_set *stage_output(const struct stage *stage)
{
    return &stage->sets[stage_is_map_only(stage) ? SCHED_MAP : SCHED_REDUCE];
}

// There is output, and all of it is committed.
static inline bool stage_has_output(const struct stage *stage)
{
    return stage_output(stage)->count > 0 && task_set_is_committed(stage_output(stage));
}

// What a stage is for is committed. A stage without output is complete once a worker opened it, since
// opening makes the (empty) output, and its samples are taken.
static inline bool stage_is_complete(const struct stage *stage)
{
    return stage_has_output(stage) || (stage_output(stage)->count == 0 && stage->opened_by > 0 &&
                                       task_set_is_committed(&stage->sets[SCHED_SAMPLE]));
}

#endif
