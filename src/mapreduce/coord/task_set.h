// The tasks of one kind in one stage: the state of each, how many are in which, and whose turn it is.
//
// Changing a state and finding the lowest pending task never looks at all tasks. Thread: one owner.
#ifndef MAPREDUCE_COORD_TASK_SET_H
#define MAPREDUCE_COORD_TASK_SET_H

#include "mapreduce/coord/bits.h"
#include "mapreduce/coord/homes.h"
#include "mapreduce/coord/sched.h"

struct task {
    uint32_t attempt;     // the number of its last attempt, 0 before the first
    uint32_t first_live;  // while it runs: attempts with lower numbers do not count any more
    uint32_t charges;     // attempts that count against it

    // The list it is in, of those that share the fate of one slot or worker (sched_state.h): whose, and its
    // neighbours by their ids.
    uint32_t owner, next, previous;
    uint8_t state, furthest_state;
    bool is_durable : 1;          // its commit outlives the worker
    bool is_suspect : 1;          // one of several that were inside a worker when it was lost
    bool has_suspect_charge : 1;  // one of the charges is only a suspicion
    bool was_doubled : 1;         // an attempt of it may still run though another one has counted
};

struct task_set {
    struct task *tasks;  // borrowed: the part of this set in the array of all tasks of the job
    uint32_t first;      // the id of its first task: its place in that array
    uint32_t count;
    uint32_t counts[SCHED_STATE_COUNT];
    uint32_t suspect_count;
    struct bits pending, pending_suspects;  // every pending task is in one of them
    struct homes homes;  // those of `pending` by where they are best done; empty: it is not known
};

// Where its tasks are best done. False when out of memory.
MUST_CHECK bool task_set_give_homes(struct task_set *set, const struct task_homes *of_tasks,
                                    uint32_t home_count);

// All tasks pending. False when out of memory; the set can be given to task_set_fini either way.
MUST_CHECK bool task_set_init(struct task_set *set, struct task *all, uint32_t first,
                              uint32_t count);
void task_set_fini(struct task_set *set);

// Sets the state of a task and says whether it came further than ever before; being stuck is not far.
bool task_set_move(struct task_set *set, uint32_t task, enum sched_state state);

// Marks a task that is pending or running as a suspect, or no longer.
void task_set_suspect(struct task_set *set, uint32_t task, bool is_suspect);

static inline bool task_set_is_committed(const struct task_set *set)
{
    return set->counts[SCHED_COMMITTED] == set->count;
}

#endif
