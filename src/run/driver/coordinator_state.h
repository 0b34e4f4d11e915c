// What a coordinator knows of its run. Private to:
//   coordinator.c  its life, in the order of a run
//   actions.c      what the scheduler wants becomes frames
//   events.c       what its agents and its journal report becomes events
//   results.c      what workers have made is kept, and becomes events
//   verdict.c      what follows from bad records
#ifndef RUN_DRIVER_COORDINATOR_STATE_H
#define RUN_DRIVER_COORDINATOR_STATE_H

#include "run/driver/arrivals.h"
#include "run/driver/blame.h"
#include "run/driver/coordinator.h"
#include "run/driver/drafts.h"
#include "run/driver/messages.h"
#include "run/driver/probe.h"
#include "run/driver/resume.h"
#include "run/driver/shelves.h"

// Where one of the workers is; the next one takes its place when it is lost.
struct worker_place {
    struct coordinator *coordinator;
    struct agent agent;
    uint32_t worker;      // its number in events; 0: none has been started
    uint32_t seals_sent;  // the last stage whose SEALS were sent to it, plus 1; 0: none
    bool has_bye, is_gone;
};

struct deferred {
    struct sched_event event;
    struct blame blame;
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
    uint32_t lacking_count;  // attempts in a row that lacked lent input
    struct sched_attempt inside[SLOTS_MAX];

    // What workers share; of one worker nothing.
    struct shelves shelves;
    struct drafts *drafts;

    // Where clients do the work.
    struct clients *clients;  // NULL: workers of our own do it
    struct holdings holdings;
    struct arrivals *arrivals;
    struct fetch_files *files;
    struct made_package *package;
    uint32_t client_count, client_slots;  // that have joined, for the summary
    bool *is_noted;  // by number in the tally: what the task counted is in the journal

    // The step under way.
    bool is_stepping;
    struct blame blame;             // of the event under way
    VEC(struct deferred) deferred;  // events that came up while actions were carried out, in order

    bool is_done, is_over;
    weft_err code;
    char error[2 * ERR_TEXT_BYTES_MAX];
    uint64_t bad_count;  // in the list, when it was last written
};

static inline struct whereabouts coordinator_whereabouts(const struct coordinator *coordinator)
{
    return (struct whereabouts){&coordinator->shelves, &coordinator->holdings,
                                coordinator->clients};
}

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

// A worker broke the rules: it is killed, and then it is lost like any other.
void coordinator_give_up_worker(struct worker_place *place, const char *what);

// ---- results.c

extern const struct drafts_calls coordinator_drafts_calls;
extern const struct arrivals_calls coordinator_arrivals_calls;

void coordinator_take_committed(struct worker_place *place, const Weft__Committed *committed);
void coordinator_take_sealed(const struct worker_place *place, uint32_t slot);
void coordinator_take_checkpointed(struct worker_place *place, const Weft__Checkpointed *done);

// ---- verdict.c

extern const struct probe_calls coordinator_probe_calls;

// Looks into a task that the scheduler gave up, and answers it: excused or condemned. `blame` is set before.
void coordinator_look_into(struct coordinator *coordinator, const struct sched_action *action);
// A job that left out too much is no good; what it left out is listed in any case. Once, when all records
// have been seen.
MUST_CHECK weft_err coordinator_judge_bad(struct coordinator *coordinator);

#endif
