// machines: which machines have the input of each map task of the first stage, and which client is on which of them.
//
// A guess about speed: where a store does not answer in time, it is not known, and nothing else changes. Thread: that of the loop.
#ifndef RUN_DRIVER_MACHINES_H
#define RUN_DRIVER_MACHINES_H

#include "mapreduce/coord/homes.h"
#include "run/driver/plan.h"

struct machine {
    char *name, *number;  // as in store/store.h
};

struct machines {
    VEC(struct machine) all;
    struct task_homes *homes;  // of each map task; NULL: nothing is known. Numbers in `all`
};

// Asks the stores of the inputs, for some seconds at most. RESOURCE_EXHAUSTED: out of memory.
MUST_CHECK weft_err machines_find(struct machines *machines, const struct run_plan *plan);
void machines_fini(struct machines *machines);  // zeroed is fine

// The number of the machine of a client plus 1; 0: none of them. `name` is "HOST/PID", `address` "HOST:PORT".
uint32_t machines_of_client(const struct machines *machines, const char *name, const char *address);

// ---- Private to machines.c and its test ---------------------------------------------------------------------------

// Where one input is.
struct machines_stretch {
    uint64_t begin, end;
    struct task_homes machines;
};

// Finds the machine, or adds it. False: out of memory.
MUST_CHECK bool machines_number(struct machines *machines, const struct store_machine *machine,
                                uint32_t *number);

// The machines that have most of a task's bytes, of those that are added up.
enum { MACHINES_SUM_MAX = 32 };
struct machines_sum {
    uint32_t machines[MACHINES_SUM_MAX];
    uint64_t bytes[MACHINES_SUM_MAX];
    uint32_t count;
};
void machines_add(struct machines_sum *sum, const struct machines_stretch *stretch, uint64_t begin,
                  uint64_t end);
struct task_homes machines_choose(const struct machines_sum *sum);

#endif
