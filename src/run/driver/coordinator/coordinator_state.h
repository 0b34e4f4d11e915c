// What a coordinator knows of its run. Private to:
//   coordinator.c  its life, in the order of a run
//   actions.c      what the scheduler wants becomes frames
//   events.c       what its agents and its journal report becomes events
//   results.c      what workers have made is kept, and becomes events
//   returns.c      clients that come back bring finished work
//   leaving.c      clients that leave hand it over
//   verdict.c      what follows from bad records
//   watch.c        clients that are slow or silent
//   unfit.c        clients whose machines are to blame
#ifndef RUN_DRIVER_COORDINATOR_STATE_H
#define RUN_DRIVER_COORDINATOR_STATE_H

#include "run/driver/answer/drafts.h"
#include "run/driver/answer/shelves.h"
#include "run/driver/bad/blame.h"
#include "run/driver/bad/probe.h"
#include "run/driver/coordinator/coordinator.h"
#include "run/driver/coordinator/lateness.h"
#include "run/driver/machines.h"
#include "run/driver/messages.h"
#include "run/driver/resume/resume.h"
#include "run/driver/server/arrivals.h"
#include "run/driver/server/handovers.h"
#include "run/driver/server/shared_parts.h"

// Of a client that was asked to end.
enum leaving {
    LEAVING_NOT,
    LEAVING_WORKS,     // until its attempts have ended, and their output is sealed or safe
    LEAVING_GIVES,     // its finished work is being copied
    LEAVING_RELEASED,  // it may go
};

// Where one of the workers is; the next one takes its place when it is lost.
struct worker_place {
    struct coordinator *coordinator;
    struct agent agent;
    uint32_t worker;      // its number in events; 0: none has been started
    uint32_t seals_sent;  // the last stage whose SEALS were sent to it, plus 1; 0: none
    bool has_bye, is_gone;
    bool is_silent;  // its client does not answer,
    uint64_t silent_since_ns;
    bool is_ready_kept;     // it is ready, and the scheduler does not know it yet
    uint32_t damage_count;  // how often its map output was found damaged; of our own workers
    uint32_t
        useless_count;  // how often in a row it could not be started, or ended between two attempts
    uint32_t brought_count;  // tasks whose output its client has brought along
    enum leaving leaving;
    bool has_lost_work;     // its client leaves, and was taken for lost before
    size_t listed_count;    // seals and pairs of its client that it has listed,
    uint32_t handed_count;  // and tasks that were handed over
    uint64_t taken_bytes;   // its client has copied, or is to copy, from others that leave
    char holder
        [HELLO_MEMBER_BYTES];  // as the journal knows that its client has finished work; "": it does not
};

// A sample or map task of the first stage that failed, and at which client.
struct failed_task {
    size_t number;  // in the tally
    uint32_t holder;
    bool is_elsewhere;  // at others, too
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

    // The scheduler, and the results of tasks.
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
    uint32_t stage_most;  // the last stage that was opened
    uint32_t *
        seal_of_task;  // by number in the tally: of a map task, the number of the seal that has its output
    uint32_t lacking_count;  // attempts in a row that lacked lent input
    uint32_t unfit_count;    // clients that could not load the code
    bool has_worked;         // some attempt has ended well
    VEC(struct failed_task) failed_tasks;
    struct sched_attempt inside[SLOTS_MAX];

    struct items *items;  // NULL: records are all there is

    // What workers share; of one worker nothing.
    struct shelves shelves;
    struct drafts *drafts;

    // Where clients do the work.
    struct clients *clients;  // NULL: workers of our own do it
    struct holdings holdings;
    struct machines machines;  // that have inputs
    struct arrivals *arrivals;
    struct shared_parts *shared_parts;  // NULL: all of the answer comes to us
    struct handovers *handovers;
    VEC(int) handed;  // files that clients have left to us
    struct fetch_files *files;
    struct made_package *package;
    uint64_t relayed_bytes;              // between clients that are gone by now
    struct summary_client *client_list;  // that have joined, for the summary
    size_t client_count;
    bool *has_ended;  // by number in the tally: an attempt of the task has ended well
    bool *is_noted;   // by number in the tally: what the task counted is in the journal
    struct lateness *lateness;
    struct loop_timer *watch_timer;
    struct loop_timer *return_timer;
    bool awaits_returns;       // of clients that had finished work when the server was killed
    uint32_t offered_attempt;  // the last number of an attempt that was taken over

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
    return (struct whereabouts){&coordinator->shelves, &coordinator->holdings, coordinator->clients,
                                coordinator->items};
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

struct answer_rules coordinator_rules_of(const struct worker_place *place, uint32_t stage);

// ---- returns.c

void coordinator_take_offer(void *owner, const Weft__ClientOffer *offer);
// The client of the place has finished work; or is lost with all of it.
void coordinator_note_holder(struct worker_place *place);
void coordinator_lose_holder(struct worker_place *place);
// Before the first worker is ready: those that have finished work come first.
void coordinator_await_returns(struct coordinator *coordinator);
// A worker is ready, for the scheduler now or later.
void coordinator_tell_ready(struct worker_place *place);

// ---- leaving.c

extern const struct handovers_calls coordinator_handovers_calls;

void coordinator_take_leaving(void *place);
weft_err coordinator_take_taken(void *place, const Weft__ClientTaken *taken);
// The list of the finished work of a client that leaves.
void coordinator_take_list(struct worker_place *place, const Weft__ClientOffer *offer);
// Whether there is something to be done for a client that leaves. To be called now and then.
void coordinator_look_at_leaving(struct worker_place *place);
// Its client is gone or given up: copies of its work that are complete count.
void coordinator_end_leaving(struct worker_place *place);
// The place is for another client.
void coordinator_clear_place(void *place);

// ---- results.c

extern const struct drafts_calls coordinator_drafts_calls;
extern const struct arrivals_calls coordinator_arrivals_calls;
extern const struct shared_parts_calls coordinator_shared_parts_calls;

// What a committed task has counted may outlive this run.
void coordinator_note_task(struct coordinator *coordinator, uint32_t stage, enum sched_kind kind,
                           uint32_t task);
void coordinator_take_committed(struct worker_place *place, const Weft__Committed *committed);
void coordinator_take_sealed(const struct worker_place *place, uint32_t slot);
void coordinator_take_checkpointed(struct worker_place *place, const Weft__Checkpointed *done);

// ---- damage.c

// An attempt has ended because the bytes that it reads are damaged: they are made again, or read again first. False: they are gone already, or cannot be
// made again.
bool coordinator_take_damage(struct worker_place *place, const Weft__TaskEnd *end);
// A piece of the answer that came from a client differs from the one that the client's worker has made.
void coordinator_take_damaged_piece(struct coordinator *coordinator, const struct arrival *arrival,
                                    const char *why);

// ---- unfit.c
// Of clients: if that many could not do anything for the job, and none could, the reason is not their machines.
enum { UNFIT_MAX = 3 };

// The attempt has failed at the client in that place, by its own fault or that of the machine.
void coordinator_note_failed_at(const struct worker_place *place, const struct sched_attempt *at);
// A task that is well on the server failed at one client only, which is set aside for it: true, and others try it.
bool coordinator_blame_client(struct coordinator *coordinator, const struct probe_task *task);
// A worker of a client could not be started, or has ended while it did nothing: no task is to blame. True when it is so for the third time in a row.
bool coordinator_take_useless(struct worker_place *place, const struct agent_loss *loss,
                              struct sched_event *event);
// The client in that place is set aside, or the job ends by blame.why where no client can do it.
void coordinator_set_aside(struct worker_place *place);

// ---- watch.c

// Begins to look after clients.
MUST_CHECK weft_err coordinator_watch(struct coordinator *coordinator);
void coordinator_take_silence(void *coordinator, const struct far_agent *far, bool is_silent);
// An attempt of a worker has ended.
void coordinator_note_end(const struct worker_place *place, const struct sched_attempt *at,
                          bool is_good);

// ---- verdict.c

extern const struct probe_calls coordinator_probe_calls;

// Looks into a task that the scheduler gave up, and answers it: excused or condemned. `blame` is set before.
void coordinator_look_into(struct coordinator *coordinator, const struct sched_action *action);
// Fails the job if it left out too many records; they are listed in any case. Once, when all records
// have been seen.
MUST_CHECK weft_err coordinator_judge_bad(struct coordinator *coordinator);

#endif
