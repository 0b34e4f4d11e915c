// resume: a run that was interrupted continues. Finished work (pieces of the output, map output of a checkpoint) is noted
// in a journal in the unfinished directory when it is safe; the same command finds it there, checks it, and takes it over.
//
// The journal is its own, and so are the identity of the run, the files of map output that are safe, and the time of
// checkpoints. It hands counters and bad records that it takes over to the tally and to bad_records, and reports tasks
// that need not run to its owner, who has the scheduler. Only an output DIR/ can be resumed; for any other all of
// this does nothing. Thread: that of the loop.
#ifndef RUN_DRIVER_RESUME_H
#define RUN_DRIVER_RESUME_H

#include "run/driver/bad/bad.h"
#include "run/identity.h"
#include "store/output.h"

struct resume;
struct secret;

struct resume_calls {
    // An earlier run has done the task.
    void (*restored)(void *owner, uint32_t stage, enum sched_kind kind, uint32_t task);
    // It is time for a checkpoint.
    void (*due)(void *owner);
};

struct resume_options {
    const struct run_plan *plan;
    struct tally *tally;      // gets the counters of work that is taken over,
    struct bad_records *bad;  // and its bad records
    struct loop *loop;
    const struct resume_calls *calls;
    void *owner;
};

// NULL with a sentence: out of memory.
struct resume *resume_new(const struct resume_options *options);
void resume_free(struct resume *resume);

// ---- Before the work, in this order

// Finds out what this run is, and whether the answer is there already: resume_is_done. `output` may be NULL.
MUST_CHECK weft_err resume_check(struct resume *resume, struct output *output);
// What an unfinished run has done, without touching anything: fills in the pieces of the last stage, and
// resume_task_count. For --dry-run, instead of the next two.
void resume_look(struct resume *resume, struct output_piece *pieces);
// Opens or begins the journal; refuses another job's with ALREADY_EXISTS. With the plan, before the output's. `pieces`
// is borrowed until the end.
MUST_CHECK weft_err resume_open(struct resume *resume, struct output_piece *pieces);
// Checks the files that the journal names and takes over the sound ones. With the output's plan, before START.
MUST_CHECK weft_err resume_restore(struct resume *resume);
// From now on checkpoints are due from time to time.
void resume_start(struct resume *resume);

// ---- During the work: what becomes safe

// A piece of the output, as `pieces` has it.
MUST_CHECK weft_err resume_note_piece(struct resume *resume, uint32_t piece);
// A task whose output is not safe, but which need not run again if everything that depends on its output is.
MUST_CHECK weft_err resume_note_task(struct resume *resume, uint32_t stage, enum sched_kind kind,
                                     uint32_t task);
// A record that tries have found.
MUST_CHECK weft_err resume_note_bad(struct resume *resume, const struct bad_record *bad);
// A checkpoint of a slot of a worker, whose cost decides when the next one is due.
MUST_CHECK weft_err resume_note_checkpoint(struct resume *resume, const Weft__Checkpointed *done,
                                           uint32_t worker);

// The number of the safe map output that has the task's; 0: none has.
uint32_t resume_find_runs(const struct resume *resume, uint32_t task);
// It was found damaged: it is not used again. *worker has made it; 0: a worker of an earlier run. False: there is none of that
// number.
bool resume_lose_runs(struct resume *resume, uint32_t number, uint32_t *worker);
// Whether a checkpoint is in a file that was found damaged.
bool resume_is_lost(const struct resume *resume, const Weft__Checkpointed *done);

// ---- For the messages to a worker

// Where a worker of the first stage puts map output that is to outlive it. `directory` is lent to the message.
void resume_fill_open(const struct resume *resume, Weft__StageOpen *open, struct buf *directory);
// Whether map output of the first stage outlives this run.
bool resume_keeps_runs(const struct resume *resume);
// The sample keys of the plan become those that the stage was cut by in an earlier run; without one they are noted. The
// keys are lent until the end.
MUST_CHECK weft_err resume_keep_cuts(struct resume *resume, Weft__StagePlan *plan);
// Map output that is safe, whichever run made it; resume_free_adopted in every case.
MUST_CHECK weft_err resume_fill_adopted(const struct resume *resume, Weft__AdoptedRuns ***adopted,
                                        size_t *adopted_count);
void resume_free_adopted(Weft__AdoptedRuns **adopted, size_t count);

// ---- A server and its clients

enum { RESUME_RUN_BYTES = 16 };

// A server's: which run this is, drawn unless an earlier life of it has. Before the next one.
MUST_CHECK weft_err resume_begin_far(struct resume *resume);
weft_bytes resume_run(const struct resume *resume);
// Where it was reached before; 0 and NULL: not known.
uint16_t resume_port(const struct resume *resume);
const struct secret *resume_token(const struct resume *resume);
// `token` is one that was made for the run; NULL: others know it from elsewhere.
MUST_CHECK weft_err resume_note_entrance(struct resume *resume, uint16_t port,
                                         const struct secret *token);
// A client has finished work that outlives the server, or has none any more.
MUST_CHECK weft_err resume_note_holder(struct resume *resume, const char *name, bool is_gone);
// Such clients of the life before, until they are struck off; the order changes then.
size_t resume_holder_count(const struct resume *resume);
const char *resume_holder(const struct resume *resume, size_t i);
void resume_strike_holder(struct resume *resume, const char *name);
// All notes reach the journal: clients may offer the output of these tasks without their counters.
MUST_CHECK weft_err resume_flush(struct resume *resume);
// `count` tasks were taken over from clients.
void resume_count_offered(struct resume *resume, uint32_t count);
// A hash of the keys by which the stage was cut; false: it was not yet.
bool resume_hash_cuts(const struct resume *resume, uint32_t stage, uint8_t key[IDENTITY_KEY_BYTES]);

// ---- At the end

// No checkpoint is due any more.
void resume_stop(struct resume *resume);
// Closes the journal. `may_keep`: work that is done stays for the next run, if there is any; returns whether it does.
bool resume_end(struct resume *resume, bool may_keep);

// ---- Questions

bool resume_is_done(const struct resume *resume);  // the answer is there already
uint32_t resume_task_count(
    const struct resume *resume);  // map tasks whose output is safe, by the journal
uint32_t resume_restored_count(const struct resume *resume);  // tasks that were taken over
bool resume_has_checkpoints(const struct resume *resume);     // this run has made some
uint64_t resume_record_count(
    const struct resume *resume);  // how many records the tasks taken over had

#endif
