// What a driver knows of its run. Private to this folder:
//   driver.c    the life of a run, from inputs to the end
//   messages.c  what a worker is told of it
//   events.c    frames, ends and limits to events; actions to frames
//   blame.c     sentences about what went wrong
//   verdict.c   what follows from bad records
//   dry.c       --dry-run
#ifndef RUN_DRIVER_DRIVER_STATE_H
#define RUN_DRIVER_DRIVER_STATE_H

#include "run/driver/agent.h"
#include "run/driver/driver.h"
#include "run/driver/probe.h"
#include "run/driver/resume.h"
#include "sys/thread/bell.h"

struct driver {
    const struct run_options *options;
    bool owns_process;
    bool is_silent;  // inside a program that did not ask to be told on standard error
    struct run_plan plan;
    struct output *output;
    struct report report;
    struct tally tally;
    struct output_piece *pieces;  // of the last stage
    Weft__TaskEnd **samples;      // by number in the tally; only those of sample tasks are set

    struct loop *loop;
    struct loop_timer *timeout, *tick;
    struct loop_signal *signals[5];  // as many as signals_to_end
    _Atomic bool is_cancelled;
    struct bell stop;  // rung when it is, for what is waited for outside of the loop

    struct sched *sched;
    struct sched_actions *actions;  // of the step under way
    struct agent agent;
    uint32_t worker;  // its number in events
    bool has_bye, is_gone;
    bool is_stepping, is_done, is_over, has_reader_left;
    struct sched_event deferred;  // found while actions are carried out
    bool has_deferred;
    char why[ERR_TEXT_BYTES_MAX];   // of the event under way
    char next[ERR_TEXT_BYTES_MAX];  // what to try about it; "": nothing comes to mind
    struct sched_attempt inside[SLOTS_MAX];

    struct resume *resume;
    struct probe probe;
    struct bad_records bad;

    uint64_t begun_ns;
    weft_err code;
    int exit_code;  // 0: from the code
    char error[2 * ERR_TEXT_BYTES_MAX];
    struct summary summary;
};

// ---- messages.c

MUST_CHECK weft_err driver_send_stage_open(struct driver *driver, uint32_t stage);
MUST_CHECK weft_err driver_send_stage_plan(struct driver *driver, uint32_t stage);
MUST_CHECK weft_err driver_send_task(struct driver *driver, const struct sched_action *action);

// ---- events.c

extern const struct agent_calls driver_agent_calls;
extern const struct resume_calls driver_resume_calls;

// Takes one event to the scheduler and carries out what follows. `why` and `next` are set before.
void driver_step(struct driver *driver, const struct sched_event *event);
// Ends the run with this thread's sentence.
void driver_fail(struct driver *driver, weft_err code);
// Brings the report where the run is.
void driver_show_progress(struct driver *driver);
// Stops the loop when there is nothing more to wait for.
void driver_check_end(struct driver *driver);

// ---- verdict.c

// Looks into a task that the scheduler gave up, and answers it: excused or condemned. `why` and `next`
// are set before.
void driver_look_into(struct driver *driver, const struct sched_action *action);
extern const struct probe_calls driver_probe_calls;
// A job that left out too much is no good; what it left out is listed in any case. Once, when all records
// have been seen.
MUST_CHECK weft_err driver_judge_bad(struct driver *driver);

// ---- dry.c

MUST_CHECK weft_err driver_print_plan(struct driver *driver);

// ---- blame.c

// `inside` are those attempts that are tasks of this stage; crash_slot is SCHED_NO_SLOT when nobody is known to
// have done it.
void driver_explain_loss(struct driver *driver, const struct agent_loss *loss,
                         const struct agent_attempt *const *inside, uint32_t inside_count,
                         uint32_t crash_slot);
void driver_explain_timeout(struct driver *driver, const struct agent_attempt *at, bool is_record);
void driver_explain_failure(struct driver *driver, const Weft__TaskEnd *end);
// "500ms", "30s", "10m": as the option is written.
void driver_format_duration(uint32_t milliseconds, char *text, size_t text_size);

#endif
