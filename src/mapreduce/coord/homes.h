// homes: which tasks are best done on which machines: those that have the input of the task.
//
// A task has up to HOMES_OF_TASK homes, which are numbers below home_count. The lowest task of a home that is in the set is found
// without looking at the others. Pure. Thread: one owner.
#ifndef MAPREDUCE_COORD_HOMES_H
#define MAPREDUCE_COORD_HOMES_H

#include "mapreduce/coord/bits.h"

enum { HOMES_OF_TASK = 3 };
#define HOMES_NONE UINT32_MAX

struct task_homes {
    uint32_t numbers[HOMES_OF_TASK];  // from the front; HOMES_NONE: no further one
};

struct homes {
    uint32_t home_count, task_count;
    uint32_t *first;             // home h has the entries first[h] up to first[h + 1]
    uint32_t *tasks;             // of an entry; rising within a home
    struct task_homes *entries;  // of a task
    struct bits in;              // entries whose task is in the set
};

// No task is in the set. False when out of memory; homes_fini is right either way.
MUST_CHECK bool homes_init(struct homes *homes, const struct task_homes *of_tasks,
                           uint32_t task_count, uint32_t home_count);
void homes_fini(struct homes *homes);  // zeroed is fine

void homes_set(struct homes *homes, uint32_t task, bool is_in);

// BITS_NONE: no task of that home is in the set, or it is HOMES_NONE.
uint32_t homes_lowest(const struct homes *homes, uint32_t home);

#endif
