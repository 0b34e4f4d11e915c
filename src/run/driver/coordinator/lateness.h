// lateness: which attempts take much longer than others of their kind did, and how much work a worker has in its hands.
//
// An attempt is late when it has been at the head of its slot for twice the median of those that ended well, and a bit; three of them,
// or half of the tasks, must have ended. Pure: the time comes with each call. Thread: one owner.
#ifndef RUN_DRIVER_LATENESS_H
#define RUN_DRIVER_LATENESS_H

#include "mapreduce/coord/sched.h"

struct lateness;

struct lateness *lateness_new(uint32_t place_count);  // NULL with a sentence
void lateness_free(struct lateness *lateness);        // NULL is fine

// An attempt was sent to a worker's slot, where it may have to wait for another one.
void lateness_begin(struct lateness *lateness, uint32_t place, const struct sched_attempt *at,
                    uint64_t now_ns);
// It has ended; `is_good`: as its kind should. `is_kept`: its output is lost with its machine. `task_count`: of its kind in its stage.
struct lateness_end {
    const struct sched_attempt *at;
    bool is_good, is_kept;
    uint32_t task_count;
};
void lateness_end(struct lateness *lateness, uint32_t place, const struct lateness_end *end,
                  uint64_t now_ns);
// The worker is gone; `is_machine`: with its output.
void lateness_forget(struct lateness *lateness, uint32_t place, bool is_machine);

// How long the attempts took whose output the place has.
uint64_t lateness_made_ns(const struct lateness *lateness, uint32_t place);

// Calls for each attempt that is late now; the call may not change the lateness.
typedef void lateness_fn(void *owner, uint32_t place, const struct sched_attempt *at);
void lateness_look(const struct lateness *lateness, uint64_t now_ns, lateness_fn *late,
                   void *owner);

#endif
