// What resume knows. Private to:
//   resume.c         identity, journal, pieces, time
//   resume_runs.c    files of map output
//   resume_bad.c     records that are left out
//   resume_counts.c  counters
//   resume_cuts.c    keys by which ranges are cut
//   resume_far.c     a server and its clients
#ifndef RUN_DRIVER_RESUME_STATE_H
#define RUN_DRIVER_RESUME_STATE_H

#include "run/driver/resume/resume.h"
#include "store/manifest.h"
#include "sys/secure/secret.h"

// What the journal of a run holds. Numbers stay as they are: another weft may read them.
enum resume_record {
    RECORD_BEGIN = 1,
    RECORD_PIECE,
    RECORD_RUNS,
    RECORD_BAD,
    RECORD_LEFT_OUT,
    RECORD_READ,
    RECORD_COUNTS,
    RECORD_CUTS,
    RECORD_RUN,
    RECORD_ENTRANCE,
    RECORD_HOLDER,
};

// A file of map output that outlives its worker: its name, and where its last index is.
struct resume_runs {
    char *name;
    uint64_t offset;
    uint32_t worker;  // of this run, by its number; 0: an earlier run has left it
    bool is_lost;     // by damage
};

// What the journal says that a map task has left out (or, is_read, how many records it had).
struct resume_found {
    uint32_t task;
    bool is_read;
    uint64_t records;
    struct bad_record bad;
};

struct resume {
    struct resume_options options;
    struct output *output;         // NULL: there is none
    struct output_piece *pieces;   // of the last stage; borrowed
    struct manifest origin;        // what this run is: its job and inputs
    struct manifest found;         // what the unfinished one was
    struct journal *journal;       // NULL: this run cannot be resumed
    VEC(struct resume_runs) runs;  // the number of one is its place here, from 1
    uint32_t *runs_of_task;        // of the first stage: in which one its output is; 0: in none
    VEC(struct resume_found) left_out;
    VEC(Weft__StagePlan *) cuts;  // of the stages that have them, with sample keys alone
    uint8_t run[RESUME_RUN_BYTES];
    bool has_run;
    uint16_t port;        // of the server; 0: not known
    struct secret token;  // that was made for the run; empty: none was
    VEC(char *) holders;  // clients that had finished work
    uint32_t task_count, restored_count;
    bool is_done;       // the answer is there already
    bool has_begun;     // there is an unfinished one
    bool has_progress;  // there is finished work that the next run can use
    bool has_checkpoints, is_stopped;
    struct loop_timer *timer;
    uint64_t every_ms, cost_ms;  // of checkpoints
};

// Reports a task as done.
void resume_restore_task(struct resume *resume, uint32_t stage, enum sched_kind kind,
                         uint32_t task);

// ---- resume_runs.c

// A record of the journal.
MUST_CHECK weft_err resume_take_runs(struct resume *resume, weft_bytes payload);
// Takes over those that are sound.
MUST_CHECK weft_err resume_restore_runs(struct resume *resume);
MUST_CHECK weft_err resume_note_runs(struct resume *resume, const Weft__Checkpointed *done,
                                     uint32_t worker);
void resume_forget_runs(struct resume *resume);

// ---- resume_bad.c

// What a map task of the first stage has left out: to be called, and its output to be noted, in one go.
MUST_CHECK weft_err resume_note_left_out(struct resume *resume, uint32_t task);
// A record of the journal of one of these types.
MUST_CHECK weft_err resume_take_bad(struct resume *resume, enum resume_record type,
                                    weft_bytes payload);
// Counts those of tasks that are taken over; when it is known which are.
MUST_CHECK weft_err resume_restore_bad(struct resume *resume);

// ---- resume_counts.c

// What a task that is committed has counted: to be called before its output is noted.
MUST_CHECK weft_err resume_note_counts(struct resume *resume, uint32_t stage, enum sched_kind kind,
                                       uint32_t task);
// A record of the journal.
MUST_CHECK weft_err resume_take_counts(struct resume *resume, weft_bytes payload);

// ---- resume_cuts.c

// A record of the journal.
MUST_CHECK weft_err resume_take_cuts(struct resume *resume, weft_bytes payload);
void resume_forget_cuts(struct resume *resume);
// Where the cuts are known no sample is taken.
void resume_restore_samples(struct resume *resume);
// NULL: not known.
const Weft__StagePlan *resume_find_cuts(const struct resume *resume, uint32_t stage);

// ---- resume_far.c

// A record of the journal of one of its types.
MUST_CHECK weft_err resume_take_far(struct resume *resume, enum resume_record type,
                                    weft_bytes payload);
void resume_forget_far(struct resume *resume);

#endif
