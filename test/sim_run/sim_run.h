// The simulation of one run: the real driver, with its plan, scheduler, tally, journal and output, in a world whose
// time, chance and workers are ours. The agent (run/driver/agent/agent.h), the loop and the clock are replaced (sys/env.h).
//
//   sim_run.c  draws a job and its faults from a seed, lives a run as often as it is killed, looks at the answer
//   loop.c     a clock and timers in a time that goes by steps; what happens next is drawn
//   worker.c   a worker: frames, slots, attempts, pieces of the answer
//   shared.c   what it leaves for others: seals, checkpoints, pairs between stages
//   cuts.c     by which keys the ranges were cut when a task was done
//   agents.c   how workers live and die
//
// A life is a process of its own, and a kill is its end between two steps, with nothing tidied up: what the next
// life finds is what is in the files.
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/driver/agent/agent.h"

enum {
    PIECE_BYTES = 9,  // "piece 07\n"
    TASKS_MAX = 60,   // of a kind: they fit the bits of a uint64_t
    BAD_TEXT_BYTES = 8,
    WORKERS_MAX = 4,
    DAMAGES_MAX = 3,  // of a worker, before it is set aside
};

// The job and its faults; rates per mille of steps, or of attempts where it says so.
struct sim_options {
    uint32_t map_count, reducers, slots, workers, max_attempts;
    bool is_map_only, has_two_stages, has_directory;
    uint32_t fail_rate, crash_rate, hang_rate;  // of attempts
    uint32_t kill_rate;                         // of the worker
    uint32_t wrong_rate, stale_rate, failed_rate;
    uint32_t end_rate;              // of the whole life
    uint32_t checkpoint_lost_rate;  // of checkpoints: their file is damaged
    bool has_bad_record, crashes_at_bad_record;
    uint32_t skip_max;
    uint64_t bad_offset;
    uint32_t lives_max, fault_steps;
};

struct sim {
    uint64_t seed, random;
    struct sim_options options;
    const char *program;
    char folder[64];
    uint32_t life, step;
    bool is_verbose;
    bool may_fail;          // something happened that may end the job
    uint32_t damage_count;  // how often a worker of this life found damaged map output
};

extern struct sim sim;

uint32_t sim_below(uint32_t limit);
bool sim_chance(uint32_t per_mille);
bool sim_has_faults(void);
void sim_path(char *path, size_t size, const char *name);
_Noreturn void sim_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

// All tasks of a stage were done by the same cuts, in whichever life.
void sim_check_cuts(void);
// Something a worker or the world does, if there is anything; false: nothing can happen by itself.
bool workers_step(void);

#endif
