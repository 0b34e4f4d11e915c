// tally: what every task of a job read, made and counted, until it is known which attempts count.
//
// An attempt's figures are kept when it ends well and replaced when the task has to run again, so
// that at the end each task is in the sums once, whatever was retried. Thread: the driver's.
#ifndef RUN_DRIVER_TALLY_H
#define RUN_DRIVER_TALLY_H

#include "base/vec.h"
#include "run/talk/summary.h"
#include "wire/messages.h"

#define TALLY_NO_ATTEMPT UINT32_MAX  // this run has not handed the task out

struct tally_value {
    uint32_t counter;  // its place in the names
    int64_t value;
};

struct tally_task {
    uint32_t attempt;  // handed out last
    uint32_t held;     // the attempt whose figures these are; TALLY_NO_ATTEMPT: none
    uint64_t records_in, bytes_in, records_out;
    struct tally_value *values;
    size_t value_count;
};

struct tally_totals {
    uint64_t records_in, bytes_in, records_out;
};

struct tally {
    struct tally_task *tasks;
    size_t task_count;
    VEC(struct summary_counter) counters;  // sorted by name after tally_sum; names are owned
};

MUST_CHECK weft_err tally_init(struct tally *tally, size_t task_count);
void tally_fini(struct tally *tally);

// `task` numbers all tasks of all stages. Notes which attempt is the current one.
void tally_begin(struct tally *tally, size_t task, uint32_t attempt);

// Keeps the figures of an attempt that ended well; those of an attempt that is not the current one
// are ignored.
MUST_CHECK weft_err tally_hold(struct tally *tally, size_t task, const Weft__TaskEnd *end);

// Adds a counter that an earlier run has noted of a task that this one has not handed out. What the task counts
// when it is run after all takes its place.
MUST_CHECK weft_err tally_restore(struct tally *tally, size_t task, const char *name,
                                  int64_t value);

// Whether the task was never handed out: its figures are those of an earlier run, or none.
bool tally_is_restored(const struct tally *tally, size_t task);

// Forgets what a task held: it has to run again.
void tally_drop(struct tally *tally, size_t task);

// Adds task `task` to the totals and the counters.
void tally_add(struct tally *tally, size_t task, struct tally_totals *totals);

// Puts the counters in order of their names. Afterwards counters.items is what a summary shows.
void tally_sort(struct tally *tally);

#endif
