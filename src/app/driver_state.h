// What a driver knows of its run. Private to driver*.c:
//   driver.c          the life of a run, from inputs to the end
//   driver_plan.c     inputs and job to stages, and the messages that describe them
//   driver_events.c   frames, ends and limits to events; actions to frames
//   driver_blame.c    sentences about what went wrong
#ifndef APP_DRIVER_STATE_H
#define APP_DRIVER_STATE_H

#include "app/chain.h"
#include "app/driver.h"
#include "app/link.h"
#include "app/progress.h"
#include "app/tally.h"
#include "mapreduce/coord/plan.h"
#include "mapreduce/coord/sched.h"
#include "store/inputs.h"
#include "store/output.h"

struct driver_stage {
    uint32_t job_index;
    uint32_t part_count, range_count, map_count, sample_count;
    uint32_t piece_count;  // of its output: ranges, or map tasks without reduce
    bool is_map_only, is_last;
    size_t first_task[SCHED_KIND_COUNT];  // where its tasks start in the tally
};

// Bytes and records of workers that are gone: a new page starts at zero.
struct driver_past {
    uint64_t bytes_in, records_in, spill_bytes;
};

// A piece of the output that is written and committed.
struct driver_piece {
    uint64_t bytes;
    uint32_t crc32c;
    bool is_done;
};

struct driver {
    const struct run_options *options;
    bool owns_process;
    bool is_silent;  // inside a program that did not ask to be told on standard error
    struct chain chain;
    struct inputs inputs;
    struct plan plan;
    struct driver_stage *stages;
    uint32_t stage_count;
    uint32_t slot_count;
    uint64_t worker_bytes;  // its share of the memory
    struct output *output;
    struct progress progress;
    struct tally tally;
    struct driver_piece *pieces;  // of the last stage
    uint32_t *parts;              // the part of each of them
    Weft__TaskEnd **samples;      // by number in the tally; only those of sample tasks are set

    struct loop *loop;
    struct loop_timer *timeout, *tick, *hello;
    struct loop_signal *signals[4];
    _Atomic bool is_cancelled;

    struct sched *sched;
    struct sched_actions *actions;  // of the step under way
    struct link link;
    uint32_t worker;  // its number in events
    bool has_hello, has_bye, is_gone;
    bool is_expected_loss;  // we killed it ourselves, and have said why
    bool is_past_kept;
    uint64_t seen_serials[SLOTS_MAX];  // of the slots' pages, a tick ago
    bool is_stepping, is_done, is_over, has_reader_left;
    struct sched_event deferred;  // found while actions are carried out
    bool has_deferred;
    char why[ERR_TEXT_BYTES_MAX];   // of the event under way
    char next[ERR_TEXT_BYTES_MAX];  // what to try about it; "": nothing comes to mind
    struct sched_attempt inside[SLOTS_MAX];
    struct driver_past past;
    uint64_t step_bytes;  // read when the step that is shown began
    uint32_t step_stage;
    const char *step;

    uint64_t begun_ns;
    weft_err code;
    int exit_code;  // 0: from the code
    char error[2 * ERR_TEXT_BYTES_MAX];
    struct summary summary;
};

// ---- driver_plan.c

// Makes the stages and the scheduler, divides the memory.
MUST_CHECK weft_err driver_make_plan(struct driver *driver);
void driver_free_plan(struct driver *driver);
// Tells the output its pieces.
MUST_CHECK weft_err driver_plan_output(struct driver *driver);
MUST_CHECK weft_err driver_send_job(struct driver *driver);
MUST_CHECK weft_err driver_send_stage_open(struct driver *driver, uint32_t stage);
MUST_CHECK weft_err driver_send_stage_plan(struct driver *driver, uint32_t stage);
MUST_CHECK weft_err driver_send_task(struct driver *driver, const struct sched_action *action);

static inline uint32_t driver_task_count(const struct driver_stage *stage, enum sched_kind kind)
{
    return kind == SCHED_SAMPLE ? stage->sample_count
           : kind == SCHED_MAP  ? stage->map_count
           : stage->is_map_only ? 0
                                : stage->range_count;
}

// ---- driver_events.c

extern const struct link_calls driver_link_calls;

// Takes one event to the scheduler and carries out what follows. `why` and `next` are set before.
void driver_step(struct driver *driver, const struct sched_event *event);
// Ends the run with this thread's sentence.
void driver_fail(struct driver *driver, weft_err code);
// Closes the link to the worker, if any, keeping what its page counted.
void driver_close_link(struct driver *driver);
// Looks at the page for attempts beyond --task-timeout.
void driver_check_task_times(struct driver *driver);
void driver_show_progress(struct driver *driver);
void driver_warn(struct driver *driver, const char *text);
// Stops the loop when there is nothing more to wait for.
void driver_check_end(struct driver *driver);

// ---- driver_blame.c

const char *driver_kind_name(enum sched_kind kind);
void driver_explain_loss(struct driver *driver, const struct process_exit *exit,
                         const struct sched_event *event);
void driver_explain_timeout(struct driver *driver, const struct sched_attempt *at);
void driver_explain_failure(struct driver *driver, const Weft__TaskEnd *end);
// "500ms", "30s", "10m": as the option is written.
void driver_format_duration(uint32_t milliseconds, char *text, size_t text_size);

#endif
