// progress: the reports of a run to its user, on standard error, while it works.
//
// On a terminal one line that is redrawn; otherwise a line per change of state; with --json one
// object per line (docs/json.md); with -q nothing but warnings and the end. The caller brings the
// time and calls often: this decides what to show, and when. Thread: one owner.
#ifndef RUN_TALK_PROGRESS_H
#define RUN_TALK_PROGRESS_H

#include "base/buf.h"
#include "run/options.h"
#include "run/talk/crowd.h"
#include "run/talk/summary.h"

enum progress_mode { PROGRESS_NONE, PROGRESS_LINES, PROGRESS_TERMINAL, PROGRESS_JSON };

struct progress_begin {
    const char *job;
    size_t input_count;
    uint64_t input_bytes;
    uint32_t workers, slots;  // slots of all workers
    uint64_t memory_bytes;
    const char
        *join;  // where clients do the work: the command by which they join; NULL: they do not
};

// Where the run is. A stage of a job goes through the steps sample, map, reduce.
struct progress_state {
    const char *step;                  // "sample", "map", "reduce"; static text
    uint32_t stage, stage_count;       // from 0; shown when there are several
    uint32_t tasks_done, task_count;   // of this step
    uint64_t bytes_done, bytes_total;  // input of this step; total 0: percent counts tasks
    uint64_t records_in, spill_bytes, memory_bytes;  // of the whole run so far
};

// What a task last said of itself.
struct progress_status {
    char task[32], text[STATUS_BYTES_MAX + 1];
    bool is_new;  // not shown yet
    uint64_t told_ns;
};

struct progress {
    enum progress_mode mode;
    int fd;
    uint32_t columns;  // width of the terminal
    bool has_color, is_verbose;
    bool is_line_drawn;
    uint64_t begun_ns, step_begun_ns, drawn_ns;
    uint32_t stage;
    const char *step;  // the last one shown; NULL: none
    char *last_why;    // of the last retry that was shown
    struct progress_status status;
    struct crowd crowd;
    struct buf text;
    weft_progress_fn *callback;  // of the program that submitted the job; NULL: none
    void *callback_data;
    uint64_t called_ns;
};

// Chooses the mode from the options, the descriptor (2) and NO_COLOR. `now_ns` is any steady clock,
// the same in all calls.
void progress_init(struct progress *progress, const struct run_options *options, int fd,
                   uint64_t now_ns);
void progress_fini(struct progress *progress);

void progress_begin(struct progress *progress, const struct progress_begin *begin);

// Whether progress_update does anything.
bool progress_is_shown(const struct progress *progress);

// Call on every event or ten times a second.
void progress_update(struct progress *progress, const struct progress_state *state,
                     uint64_t now_ns);

// What a task, such as "map task 12", says of itself: any bytes. On a terminal it stands in the line, with
// --json it is an object, otherwise with -v a line, at most one a second of the newest.
void progress_status(struct progress *progress, const char *task, const char *text);

// An attempt failed and is tried again. `what` such as "map task 12", `why` its sentence.
void progress_retry(struct progress *progress, const char *what, uint32_t attempt,
                    uint32_t attempts_max, const char *why);

// Something that the user should know although the run continues.
void progress_warn(struct progress *progress, const char *text);

// A client of a server has come or gone.
void progress_client(struct progress *progress, const struct crowd_change *change, uint64_t now_ns);
// The end, good or bad: clears the line, shows the error and the summary.
void progress_end(struct progress *progress, const struct summary *summary);

// An error outside a run (usage, missing input): "weft: sentence" and what to try next, or with json
// an "end" object. The sentence is this thread's. Returns the exit code.
int progress_report_error(int fd, const char *program, bool json, weft_err code);

// A warning outside a run, likewise.
void progress_report_warning(int fd, const char *program, bool json, const char *text);

#endif
