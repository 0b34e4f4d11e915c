// What the scheduler knows of a job: its stages, its worker, what is queued and held where.
//
// Private to sched.c, which decides, and sched_state.c, which makes it and answers questions.
#ifndef MAPREDUCE_COORD_SCHED_STATE_H
#define MAPREDUCE_COORD_SCHED_STATE_H

#include "mapreduce/coord/task_set.h"

enum worker_state {
    WORKER_NONE,      // none has been started, or the last one is lost
    WORKER_STARTING,  // no READY yet
    WORKER_READY,
    WORKER_DYING,  // killed by us; it may still report what it had done, but gets nothing to do
};

struct queued {
    struct sched_attempt at;
    bool is_charged;  // it timed out: however it ends, it is not charged again
};

struct slot {
    struct queued queue[SCHED_QUEUE_MAX];  // [0] runs, [1] waits; all of the current stage
    uint32_t queue_count;
    uint32_t held_first;  // the map tasks in its collector, linked by next_held
    bool is_sealing, is_checkpointing;
};

struct stage {
    struct task_set sets[SCHED_KIND_COUNT];
    uint32_t opened_by, planned_by;  // the number of the worker that was told last
};

struct sched {
    struct stage *stages;
    uint32_t stage_count, stage_index;
    uint32_t max_attempts;
    bool asks_before_failing;
    uint32_t worker;  // the number of the current worker, from 1
    enum worker_state worker_state;
    uint32_t slot_count;
    uint32_t busy_count;                          // attempts in all queues
    uint32_t sealing_count, checkpointing_count;  // slots
    uint32_t unexplained_loss_count;
    bool is_over;
    struct sched_action failure;  // when is_over and its code is not WEFT_OK
    struct sched_actions *out;    // of the step under way
    struct slot slots[SLOTS_MAX];
};

// Nothing queued, held, sealing or at a checkpoint: as before a worker is ready.
void sched_clear_slots(struct sched *sched);

// The stage at which a worker has to begin: the one after the last that is complete, or the last one
// when that is complete itself.
uint32_t sched_first_stage(const struct sched *sched, uint32_t worker);

static inline struct stage *current(struct sched *sched)
{
    return &sched->stages[sched->stage_index];
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

// What a stage is for is committed. A stage without tasks is complete once a worker opened it, since
// opening makes the (empty) output.
static inline bool stage_is_complete(const struct stage *stage, uint32_t worker)
{
    return stage_has_output(stage) ||
           (stage_output(stage)->count == 0 && stage->opened_by == worker);
}

#endif
