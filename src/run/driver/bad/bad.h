// bad: the records that a run leaves out under the limit of --skip-bad: which, how many, and their list.
//
// They come from two sides. Those that tries have found (run/driver/bad/probe.h) are left out by every attempt from then
// on. Those that an attempt has left out by itself count when the attempt does, which the tally knows. Whether there
// are too many is judged here; what follows from that is for the coordinator. Thread: that of the loop.
#ifndef RUN_DRIVER_BAD_H
#define RUN_DRIVER_BAD_H

#include "run/driver/bad/bad_list.h"
#include "run/driver/coordinator/tally.h"
#include "run/driver/plan.h"

// A record that an attempt has left out by itself.
struct left_out {
    size_t task;  // in the tally
    uint32_t attempt;
    struct bad_record bad;
};

struct bad_records {
    const struct run_plan *plan;
    const struct tally *tally;
    VEC(struct bad_record) found;  // by tries, in order of their places
    VEC(struct left_out) left_out;
    struct bad_list list;
    bool is_judged;
};

void bad_records_init(struct bad_records *bad, const struct run_plan *plan,
                      const struct tally *tally);
void bad_records_fini(struct bad_records *bad);

// How many are left out of the answer.
uint64_t bad_records_count(const struct bad_records *bad);

// ---- Those that tries have found

// Whether there may be one more; a share is judged at the end only.
bool bad_records_may_skip(const struct bad_records *bad);
// Leaves a record out from now on; one that is known already is not added again.
MUST_CHECK weft_err bad_records_add(struct bad_records *bad, const struct bad_record *record);
void bad_records_forget_found(struct bad_records *bad);
// Fills in the records that an attempt leaves out; bad_records_free_skips in every case.
MUST_CHECK weft_err bad_records_fill_skips(const struct bad_records *bad, Weft__TaskRun *run);
void bad_records_free_skips(Weft__TaskRun *run);

// ---- Those that attempts have left out

// What the attempt of a task has left out, by its message; the task is numbered as in the tally.
MUST_CHECK weft_err bad_records_take(struct bad_records *bad, size_t task,
                                     const Weft__TaskEnd *end);
// What the task has left out in an earlier run. Counts unless this run hands the task out.
MUST_CHECK weft_err bad_records_restore(struct bad_records *bad, size_t task,
                                        const struct bad_record *record);
// What the attempt that counts has left out, one by one: begin with *next 0; NULL: no more.
const struct bad_record *bad_records_next(const struct bad_records *bad, size_t task, size_t *next);

// ---- Too many, and the list

// ABORTED: there are more than the limit allows. A share of `records_in` is only looked at when is_end.
MUST_CHECK weft_err bad_records_check(const struct bad_records *bad, uint64_t records_in,
                                      bool is_end);
// Writes the list of those so far; without any, a list of an earlier run goes.
MUST_CHECK weft_err bad_records_write(const struct bad_records *bad);

#endif
