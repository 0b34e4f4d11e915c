// The parts of the launcher of Slurm.
//
//   slurm.c        the launcher: what comes from above goes to the agents of launch/far, once there are jobs
//   slurm_jobs.c   jobs: submitted as arrays, one for each place; watched by one squeue for all; reminded; cancelled
//   slurm_tool.c   a command of Slurm, and its output
//   slurm_words.c  options and sentences of these commands
//
// A place is a job, for one member and those that want to be beside it. Agents are started when all jobs run, because no member
// can start before all have addresses. When a job is lost, its members get a new one, on another node.
#ifndef LAUNCH_SLURM_SLURM_STATE_H
#define LAUNCH_SLURM_SLURM_STATE_H

#include "base/vec.h"
#include "launch/slurm/slurm.h"
#include "launch/slurm/slurm_words.h"

typedef void slurm_tool_fn(void *owner, int exit_code);  // -1: it was killed

// A command that runs, and its output so far. One at a time.
struct slurm_tool {
    struct loop *loop;
    struct nursery *nursery;
    struct child child;  // .nursery NULL: none runs
    struct loop_watch *watches[3];
    struct loop_timer *limit;
    struct buf out, errors;
    slurm_tool_fn *done;
    void *owner;
};

enum slurm_job_state {
    SLURM_WANTED,   // not submitted yet
    SLURM_WAITING,  // in the queue
    SLURM_GRANTED,  // it runs
    SLURM_ENDED,
};

struct slurm_job {
    struct slurm_need need;
    enum slurm_job_state state;
    uint32_t array, index;  // how Slurm knows it while it waits
    uint32_t job;           // and when it runs; 0: not yet
    uint32_t tries;
    char *node;
    char *reason;        // why it waits
    VEC(size_t) movers;  // members that wait for it since their job was lost
};

struct slurm {
    struct launch base;
    struct launch_options options;
    struct far_route route;
    struct launch *far;
    char mark[40];  // of this run
    char partition[SLURM_NAME_BYTES_MAX];
    struct slurm_job *jobs;
    size_t job_count;
    size_t *job_of;          // of each member
    VEC(uint32_t) arrays;    // every array that was submitted
    struct buf exclude;      // nodes that were lost
    struct slurm_tool tool;  // sbatch or squeue
    struct slurm_tool reminder;
    size_t submitting, submit_count;  // the jobs that sbatch is asked for
    struct buf refusal;               // the answer of sbatch, while sinfo is asked
    struct loop_timer *rest;
    uint32_t rest_ms;
    uint64_t begun_ns, reminded_ns;
    char *said;       // the last news about the queue
    bool has_places;  // agents are being started, or were
    bool has_failed;
};

// Starts a command; `words` are freed in any case. `done` comes once, from the loop, unless the tool is stopped.
MUST_CHECK weft_err slurm_tool_start(struct slurm_tool *tool, struct far_command *words,
                                     uint32_t limit_ms, slurm_tool_fn *done, void *owner);
void slurm_tool_stop(struct slurm_tool *tool);

// The same without the loop: for the end of a run. False: it could not be run, or took too long.
MUST_CHECK bool slurm_tool_run(struct nursery *nursery, struct far_command *words,
                               uint32_t limit_ms, struct buf *out);

// Submits the wanted jobs, and watches until all jobs run.
void slurm_seek(struct slurm *slurm);

// Cancels the job that a member has lost, and wants another one.
void slurm_replace(struct slurm *slurm, struct slurm_job *job);

struct slurm_request slurm_make_request(struct slurm *slurm, const struct slurm_job *job,
                                        size_t count);

// Cancels all jobs of the run, and waits until they have left the queue. A message says which do not.
void slurm_cancel_all(struct slurm *slurm);

// ---- The launcher, as the jobs see it --------------------------------------------------------------------------

// All jobs run, or those of members that moved.
void slurm_found(struct slurm *slurm);
void slurm_failed(struct slurm *slurm, weft_err err);

#endif
