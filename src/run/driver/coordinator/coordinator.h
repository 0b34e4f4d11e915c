// coordinator: decides what a run does next, and keeps what has been done: scheduler, tally, journal, output.
//
//   agent, probe, resume -> facts -> sched -> actions -> agent
//
// It decides nothing about tasks by itself (sched does) and touches no data (the worker does): it turns what its agent,
// the search for bad records and the journal report into events, and actions into frames. Signals, limits of time and the
// process around it are its owner's (run/driver/driver.h). Thread: that of the loop.
#ifndef RUN_DRIVER_COORDINATOR_H
#define RUN_DRIVER_COORDINATOR_H

#include "run/driver/plan.h"

struct coordinator;
struct entrance;

struct coordinator_options {
    struct run_plan *plan;
    struct report *report;
    struct loop *loop;
    bool keeps_replays;  // a record that ends the job can be run again by weft replay
};

// NULL with a sentence: out of memory. The objects that the options name outlive it.
struct coordinator *coordinator_new(const struct coordinator_options *options);
void coordinator_free(struct coordinator *coordinator);

// ---- Before the work, in this order; each may refuse

// Whether the list of bad records can be written where it goes.
MUST_CHECK weft_err coordinator_check_list(struct coordinator *coordinator);
// A list of an earlier run, which is not an input of this one; NULL: there is none.
const char *coordinator_old_list(const struct coordinator *coordinator);
// When the inputs are known: whether the answer is there already (coordinator_is_complete). `output` may be NULL for a
// plan that is only printed; it is borrowed.
MUST_CHECK weft_err coordinator_check_answer(struct coordinator *coordinator,
                                             struct output *output);
bool coordinator_is_complete(const struct coordinator *coordinator);
// Makes the plan, and the notes on each of its tasks.
MUST_CHECK weft_err coordinator_make_plan(struct coordinator *coordinator);
// --dry-run: instead of the following calls.
MUST_CHECK weft_err coordinator_print_plan(struct coordinator *coordinator);
// Takes over what an earlier run has done. From here on there are files to take away again.
MUST_CHECK weft_err coordinator_take_over(struct coordinator *coordinator);

// With --listen: where an earlier life of this server was reached; 0 and NULL: not known.
uint16_t coordinator_earlier_port(const struct coordinator *coordinator);
const struct secret *coordinator_earlier_token(const struct coordinator *coordinator);
// Lets clients in, who do the work. The entrance outlives it.
MUST_CHECK weft_err coordinator_let_in(struct coordinator *coordinator,
                                       const struct entrance *entrance);

// ---- The work, while the loop runs

void coordinator_start(struct coordinator *coordinator);
// Ends the run with this thread's sentence.
void coordinator_fail(struct coordinator *coordinator, weft_err code);
// Ends the run without a word.
void coordinator_stop(struct coordinator *coordinator);
bool coordinator_is_over(const struct coordinator *coordinator);  // failed or stopped
bool coordinator_is_done(const struct coordinator *coordinator);  // all tasks are committed
// Looks for attempts that are late, and shows where the run is.
void coordinator_look(struct coordinator *coordinator);
// Stops the loop when there is nothing more to wait for.
void coordinator_check_end(struct coordinator *coordinator);

// ---- After it

// How the work ended; when it went well, makes the output visible.
MUST_CHECK weft_err coordinator_finish(struct coordinator *coordinator);
// Whether a worker that has nothing left to do still runs.
bool coordinator_awaits_exit(const struct coordinator *coordinator);
// Clients get to know how the job ended; whether all have heard it.
void coordinator_dismiss_clients(struct coordinator *coordinator, weft_err code, const char *text);
bool coordinator_awaits_clients(const struct coordinator *coordinator);
// Ends all workers.
void coordinator_end_workers(struct coordinator *coordinator);
// The sentence of the failure; "": this thread's.
const char *coordinator_error(const struct coordinator *coordinator);
// Fills in the figures that it knows; counters are borrowed.
void coordinator_sum_up(struct coordinator *coordinator, struct summary *summary);
// Closes the journal. Returns whether finished work is kept for the next run, which `may_keep` allows.
bool coordinator_close(struct coordinator *coordinator, bool may_keep);

#endif
