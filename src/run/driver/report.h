// report: what a run shows while it works. Made from facts alone: it asks neither the scheduler nor a worker, and
// changes nothing of a run.
//
// The coordinator brings the facts when report_is_shown; which step they amount to, how far it is and whether a
// silent run shows anything is decided here, how it looks in run/talk/progress.h. Thread: that of the loop.
#ifndef RUN_DRIVER_REPORT_H
#define RUN_DRIVER_REPORT_H

#include "mapreduce/coord/sched.h"
#include "run/driver/agent/agent.h"
#include "run/talk/progress.h"

// Where a run is.
struct report_facts {
    uint32_t stage, stage_count;
    bool is_map_only;                                                       // the stage at work
    uint32_t done_counts[SCHED_KIND_COUNT], task_counts[SCHED_KIND_COUNT];  // its tasks
    uint64_t input_bytes;                                                   // of the whole run
    struct agent_figures figures;
};

struct report {
    struct progress progress;
    bool is_silent;
    uint32_t retry_count;
    // The step that is shown, and how many bytes had been read when it began.
    const char *step;
    uint32_t step_stage;
    uint64_t step_bytes;
    uint64_t shown_ns;  // when that was
};

// `is_silent`: inside a program that did not ask for reports on standard error. `fd` is 2 except in tests.
void report_init(struct report *report, const struct run_options *options, bool is_silent, int fd,
                 uint64_t now_ns);
void report_fini(struct report *report);
// From now on nothing is shown, not even the end.
void report_silence(struct report *report);

void report_begin(struct report *report, const struct progress_begin *begin);
// Whether there is anybody to bring facts to; whether they are also wanted when nothing happens.
bool report_is_shown(const struct report *report);
bool report_needs_ticks(const struct report *report);
// Whether these facts, of which the figures may be missing, show anything new: the figures of a thousand workers are not
// put together for every message.
bool report_is_due(const struct report *report, const struct report_facts *facts, uint64_t now_ns);
void report_show(struct report *report, const struct report_facts *facts, uint64_t now_ns);
// The last words of an attempt; of a kind that there is not they are ignored: they come from a worker.
void report_status(struct report *report, const struct status_words *words);
// An attempt has failed and is tried again: its `charges`-th charge of `charges_max`.
void report_retry(struct report *report, const struct sched_attempt *at, uint32_t charges,
                  uint32_t charges_max, const char *why);
void report_warn(struct report *report, const char *text);
// A client of a server has come or gone.
void report_client(struct report *report, const struct crowd_change *change, uint64_t now_ns);
void report_end(struct report *report, const struct summary *summary);

#endif
