// What a coordinator knows of its run. Private to:
//   coordinator.c  its life, in the order of a run
//   actions.c      what the scheduler wants becomes frames
//   events.c       what its agent and its journal report becomes events
//   verdict.c      what follows from bad records
#ifndef RUN_DRIVER_COORDINATOR_STATE_H
#define RUN_DRIVER_COORDINATOR_STATE_H

#include "run/driver/blame.h"
#include "run/driver/coordinator.h"
#include "run/driver/probe.h"
#include "run/driver/resume.h"

// Where one of the workers is; the next one takes its place when it is lost.
struct worker_place {
    struct coordinator *coordinator;
    struct agent agent;
    uint32_t worker;  // its number in events; 0: none has been started
    bool has_bye, is_gone;
};

struct coordinator {
    struct run_plan *plan;
    struct report *report;
    struct loop *loop;
    struct output *output;  // borrowed
    bool keeps_replays;

    // What there is to decide, and what is kept of it.
    struct sched *sched;
    struct sched_actions *actions;  // of the step under way
    struct tally tally;
    struct output_piece *pieces;  // of the last stage
    Weft__TaskEnd **samples;      // by number in the tally; only those of sample tasks are set
    struct resume *resume;
    struct bad_records bad;
    struct probe probe;

    // Its workers.
    struct worker_place *places;
    uint32_t place_count;
    uint32_t worker_lost_count;
    struct sched_attempt inside[SLOTS_MAX];

    // The step under way.
    bool is_stepping, has_deferred;
    struct sched_event deferred;  // found while actions are carried out
    struct blame blame;           // of the event under way

    bool is_done, is_over;
    weft_err code;
    char error[2 * ERR_TEXT_BYTES_MAX];
    uint64_t bad_count;  // in the list, when it was last written
};

// ---- actions.c

// Takes one event to the scheduler and carries out what follows. `blame` is set before.
void coordinator_step(struct coordinator *coordinator, const struct sched_event *event);

// ---- events.c

extern const struct agent_calls coordinator_agent_calls;
extern const struct resume_calls coordinator_resume_calls;

// What all workers have done.
void coordinator_read_figures(const struct coordinator *coordinator, struct agent_figures *figures);
// Brings the report where the run is.
void coordinator_show_progress(struct coordinator *coordinator);

// ---- verdict.c

extern const struct probe_calls coordinator_probe_calls;

// Looks into a task that the scheduler gave up, and answers it: excused or condemned. `blame` is set before.
void coordinator_look_into(struct coordinator *coordinator, const struct sched_action *action);
// A job that left out too much is no good; what it left out is listed in any case. Once, when all records
// have been seen.
MUST_CHECK weft_err coordinator_judge_bad(struct coordinator *coordinator);

#endif
