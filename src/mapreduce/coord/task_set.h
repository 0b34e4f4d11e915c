// The tasks of one kind in one stage: the state of each, how many are in which, and whose turn it is.
//
// Changing a state and finding the lowest pending task never looks at all tasks. Thread: one owner.
#ifndef MAPREDUCE_COORD_TASK_SET_H
#define MAPREDUCE_COORD_TASK_SET_H

#include "mapreduce/coord/sched.h"

struct task {
    uint32_t attempt;    // the number of its last attempt, 0 before the first
    uint32_t next_held;  // the next one that the same slot holds, SCHED_NO_TASK at the end
    uint32_t charges;    // attempts that count against it
    uint8_t state, furthest_state;
    bool is_durable : 1;          // its commit outlives the worker
    bool is_suspect : 1;          // one of several that were inside a worker when it was lost
    bool has_suspect_charge : 1;  // one of the charges is only a suspicion
};

// Which task numbers are in, and the lowest of them. A bit per task and, above it, a bit per word of
// 64 tasks: 10,000 tasks are found in 3 words, 16 million in 4,096 at worst.
struct task_bits {
    uint64_t *words, *summary;
    uint32_t word_count;
};

struct task_set {
    struct task *tasks;
    uint32_t count;
    uint32_t counts[SCHED_STATE_COUNT];
    uint32_t suspect_count;
    struct task_bits pending, pending_suspects;  // every pending task is in one of them
};

// All tasks pending. False when memory is refused; the set can be given to task_set_fini either way.
MUST_CHECK bool task_set_init(struct task_set *set, uint32_t count);
void task_set_fini(struct task_set *set);

// The pending task whose turn it is: suspects first, then the lowest; SCHED_NO_TASK when none is.
uint32_t task_set_next(const struct task_set *set);

// Sets the state of a task and says whether it came further than ever before; being stuck is not far.
bool task_set_move(struct task_set *set, uint32_t task, enum sched_state state);

// Marks a task that is pending or running as a suspect, or no longer.
void task_set_suspect(struct task_set *set, uint32_t task, bool is_suspect);

// Sends back to pending all that was in a worker: running, held, or committed in its memory only. What
// is stuck stays so: that is no worker's affair.
void task_set_lose(struct task_set *set);

static inline bool task_set_is_committed(const struct task_set *set)
{
    return set->counts[SCHED_COMMITTED] == set->count;
}

#endif
