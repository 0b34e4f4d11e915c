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
    bool is_sealing;
};

struct stage {
    struct task_set sets[SCHED_KIND_COUNT];
    uint32_t opened_by, planned_by;  // the number of the worker that was told last
};

struct sched {
    struct stage *stages;
    uint32_t stage_count, stage_index;
    uint32_t max_attempts;
    uint32_t worker;  // the number of the current worker, from 1
    enum worker_state worker_state;
    uint32_t slot_count;
    uint32_t busy_count;     // attempts in all queues
    uint32_t sealing_count;  // slots
    uint32_t unexplained_loss_count;
    bool is_over;
    struct sched_action failure;  // when is_over and its code is not WEFT_OK
    struct sched_actions *out;    // of the step under way
    struct slot slots[SLOTS_MAX];
};

// Nothing queued, held or sealing: as before a worker is ready.
void sched_clear_slots(struct sched *sched);

static inline struct stage *current(struct sched *sched)
{
    return &sched->stages[sched->stage_index];
}

static inline bool stage_is_map_only(const struct stage *stage)
{
    return stage->sets[SCHED_REDUCE].count == 0;
}

// What a stage is for is committed. A stage without tasks is complete once a worker opened it, since
// opening makes the (empty) output.
static inline bool stage_is_complete(const struct stage *stage, uint32_t worker)
{
    const enum sched_kind kind = stage_is_map_only(stage) ? SCHED_MAP : SCHED_REDUCE;
    const struct task_set *output = &stage->sets[kind];
    return task_set_is_committed(output) && (output->count > 0 || stage->opened_by == worker);
}

#endif
