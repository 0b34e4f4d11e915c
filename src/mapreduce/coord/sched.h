// The scheduler of a job: a pure function from events to actions.
//
//   START -> START_WORKER -> READY -> for each stage:
//       STAGE_OPEN -> sample tasks -> STAGE_PLAN -> map tasks -> SEAL of each slot -> reduce tasks
//   -> JOB_DONE, or JOB_FAILED from anywhere
//
// The driver turns frames, exits and signals into events, hands them in one at a time in the order
// they happened, and carries out the actions in the order they come out. No clock, no I/O, no
// allocation after sched_new, and the same events always give the same actions: the simulation in
// test/sim runs this very code.
//
// There may be several workers. Each takes tasks as its slots get free; what one has made is there for
// the reduce tasks of all, and is lost with it unless it is durable.
//
// A task is pending, running (in a slot, or queued after the attempt that is), held (it ended well,
// but its result is still lost with its slot or worker) or committed. Held map tasks are committed
// by the seal of their slot; held reduce tasks, and the map tasks of a stage without reduce, when
// their text is written. Sample tasks are committed as they end: the driver has the keys.
//
// Three things make a commit of a map task outlive its worker, or a task wait for the driver:
//   restored    before START the driver names the tasks whose output an earlier run has left
//   checkpoint  a slot saves its pairs while the stage continues; the driver says when
//   stuck       a task that keeps failing is looked into by the driver before it ends the job
#ifndef MAPREDUCE_COORD_SCHED_H
#define MAPREDUCE_COORD_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "mapreduce/coord/homes.h"
#include "mapreduce/slot_page.h"

enum {
    SCHED_STAGES_MAX = 1024,
    SCHED_TASKS_MAX = 1 << 24,  // over all stages; 28 bytes and a few bits each: 470 MiB at most
    SCHED_WORKERS_MAX = 1 << 14,
    SCHED_QUEUE_MAX = 2,  // per slot: one runs, one waits, so that no slot waits for the driver
    SCHED_LOSSES_MAX =
        3,  // losses without a known cause and without progress in between, per worker
    SCHED_ATTEMPTS_DEFAULT = 4,

    SCHED_ACTIONS_MAX = 1024,  // that come out at once; more follow when they are asked for
};

#define SCHED_NO_SLOT UINT32_MAX
#define SCHED_NO_TASK UINT32_MAX

enum sched_kind {
    SCHED_SAMPLE,
    SCHED_MAP,
    SCHED_REDUCE,
    SCHED_KIND_COUNT
};  // as TaskKind on the wire
enum sched_state {
    SCHED_PENDING,
    SCHED_RUNNING,
    SCHED_HELD,
    SCHED_COMMITTED,
    SCHED_STUCK,  // has used up its attempts, and waits for TASK_EXCUSED or TASK_CONDEMNED
    SCHED_STATE_COUNT
};

struct sched_stage {
    uint32_t sample_count, map_count, reduce_count;  // reduce_count 0: map-only
};

struct sched_plan {
    const struct sched_stage *stages;  // copied
    uint32_t stage_count;
    uint32_t max_attempts;  // charged attempts of one task before the job fails; 0: the default

    // Sample and map tasks of stage 0 get stuck instead: the driver finds the record that does it.
    bool asks_before_failing;

    uint32_t worker_count;  // that are started, and again when they are lost; 0: 1
    uint32_t slots_max;     // of one worker; 0: SLOTS_MAX

    // Workers are on machines that come and go: START_WORKER may wait for one without limit. One that fails is killed, and its
    // place is for another; whatever is lost with machines, the job does not fail by it.
    bool is_elastic;

    // The machines that have the input of each map task of stage 0; copied. NULL: not known.
    const struct task_homes *homes;
    uint32_t home_count;
};

// One attempt.
struct sched_attempt {
    enum sched_kind kind;
    uint32_t task, attempt, slot;
    uint32_t stage;
};

enum sched_event_type {
    EVENT_START,           // first of all, once
    EVENT_WORKER_READY,    // worker, slot_count: it said hello
    EVENT_TASK_HELD,       // worker, at: the attempt ended well
    EVENT_TASK_FAILED,     // worker, at, code, is_final, keeps_held: the attempt ended badly
    EVENT_TASK_COMMITTED,  // worker, at.stage, .kind, .task, is_durable; may come before TASK_HELD
    EVENT_SEALED,          // worker, at.slot: after the TASK_COMMITTED of all tasks the slot held
    EVENT_TASK_TIMED_OUT,  // worker, at: has been running longer than --task-timeout allows
    EVENT_WORKER_FAILED,   // worker, code: it reports that it cannot continue (disk full, ...)
    EVENT_WORKER_LOST,     // worker, inside, inside_count, crash_slot, code: its process is gone
    EVENT_CANCEL,          // code: Ctrl-C, --timeout

    // Of the driver itself; `worker` is ignored.
    EVENT_TASK_RESTORED,  // at.stage, at.kind, at.task: committed and durable; only before START
    EVENT_TASK_EXCUSED,   // at.kind, at.task: its bad record is left out from now on; charges are 0
    EVENT_TASK_CONDEMNED,  // at.kind, at.task, code: it ends the job
    EVENT_CHECKPOINT,      // what the slots hold is worth being made safe

    // at.stage, .kind, .task: its output is damaged, and is made again; a task that is neither held nor committed stays as it is
    EVENT_TASK_SPOILED,

    EVENT_CHECKPOINTED,  // worker, at.slot: after the durable TASK_COMMITTED of each saved task

    // worker, at.stage, .kind, .task, is_durable: it has what the task made, though it did not run it in this life: from before a
    // restart of the driver, or as a copy of another worker's
    EVENT_TASK_OFFERED,

    // Where workers are elastic; elsewhere ignored. The driver has a clock and a network, and reports these.
    EVENT_ATTEMPT_LATE,  // worker, at: runs much longer than others did; may be said again and again
    EVENT_WORKER_SILENT,   // worker: its machine does not answer, and may come back
    EVENT_WORKER_BACK,     // worker: it answers again
    EVENT_WORKER_LEAVING,  // worker: its machine will go, in good order; for good
};

// Fields that an event type does not name are ignored. `worker` is the number that START_WORKER gave, a
// new one for every life of a worker; events with the number of one that is lost are stale and
// ignored, so what an old socket still holds does no harm.
// Of one worker they come in the order of its frames; one that comes again within its stage is ignored.
struct sched_event {
    enum sched_event_type type;
    uint32_t worker;
    uint32_t slot_count;  // 1..SLOTS_MAX
    uint32_t home;        // WORKER_READY: where it is, plus 1; 0: at none of the homes of tasks
    struct sched_attempt at;
    weft_err code;
    bool is_final;  // TASK_FAILED: trying again cannot help
    // TASK_FAILED: its input was lost with another worker, or could not be lent; WORKER_LOST: its machine is gone.
    bool is_blameless;
    bool keeps_held;  // TASK_FAILED: it has left nothing in its slot, whose other tasks stay held
    bool keeps_commits;  // WORKER_LOST: of its process only: its commits can still be read
    bool is_durable;     // TASK_COMMITTED: outlives the worker (output written, not kept in memory)

    // WORKER_LOST: the attempts that the shared page shows as begun and not ended (borrowed), the slot
    // that crashed or SCHED_NO_SLOT, and what the crash counts as (WEFT_ABORTED, ...).
    const struct sched_attempt *inside;
    uint32_t inside_count;
    uint32_t crash_slot;
};

enum sched_action_type {
    ACTION_START_WORKER,  // worker: its number, to be given with its events; answer WORKER_READY or LOST
    ACTION_STAGE_OPEN,  // stage
    ACTION_STAGE_PLAN,  // stage: all its sample tasks are committed
    ACTION_RUN,         // stage, at: queue this attempt at the slot
    ACTION_SEAL,        // stage, at.slot
    ACTION_CHECKPOINT,  // stage, at.slot: queued like an attempt; answer CHECKPOINTED
    ACTION_TASK_STUCK,  // stage, at, code of the last charge; answer TASK_EXCUSED or TASK_CONDEMNED
    ACTION_KILL_WORKER,  // worker: at once; answer WORKER_LOST unless JOB_FAILED follows
    ACTION_JOB_DONE,     // everything is committed; the driver says BYE
    ACTION_JOB_FAILED,   // code, stage and at.kind, at.task; at.task SCHED_NO_TASK: no task's fault

    // stage, at.slot: the slot forgets the pairs that it collected since its last seal. No attempt is in it.
    ACTION_DROP,
};

struct sched_action {
    enum sched_action_type type;
    uint32_t worker, stage;
    struct sched_attempt at;
    bool is_backup;  // RUN: another attempt of the task is under way, at another worker
    weft_err code;
};

struct sched_actions {
    bool has_more;  // carry these out, then ask for the others by sched_more, before the next event
    uint32_t count;
    struct sched_action items[SCHED_ACTIONS_MAX];
};

struct sched;

// NULL with a sentence when the plan is beyond the limits above or when out of memory.
struct sched *sched_new(const struct sched_plan *plan);
void sched_free(struct sched *sched);

// Takes in one event and replaces the content of `out` by the actions that follow from it. No
// action comes after JOB_DONE or JOB_FAILED. The cost of an event does not depend on the number of
// tasks, workers or slots, with two exceptions: a lost worker costs as much as it had, and
// beginning a stage, or going back to one, costs O(workers).
//
// The rules, beyond the way of a stage drawn above:
// - The lowest pending task goes first; but where homes are known, first each free slot gets the lowest one that is at home there,
//   and then those that are left get any: no slot waits for a task of its home. Slots get their first task before any gets a second, and a
//   second only while there are at least as many pending tasks as slots: the last ones go to a slot
//   that is free; of several workers to those whose slot has the lowest number. Slots are sealed
//   when no map task is pending or running, and again if a seal loses some. A stage is opened at
//   one worker when it begins, and at each other one before its first task there; the same for its
//   plan.
// - A failed attempt is charged to its task, unless all output of its stage is committed;
//   max_attempts charges end the job with the last code. A map attempt that fails in a stage with
//   reduce takes all tasks that its slot holds with it: back to pending, uncharged; unless its worker
//   says that the slot still has all of theirs and nothing of the attempt (keeps_held).
// - A lost worker takes with it all tasks that run or are held there and its commits that are not
//   durable; the job continues at the first stage that is not complete then. Sample tasks stay
//   committed. The attempt in the crashed slot is charged. If no slot is known and several attempts
//   were inside, each becomes a suspect: charged (but never its last charge), and run with nothing
//   beside it in its worker next time; one worker is kept free for suspects as long as there are
//   any. Success takes that charge back.
// - Attempts at other workers continue when the job goes back to an earlier stage. A worker gets
//   tasks of that stage only when it has ended its attempts of the later one, and sealed its slots.
// - Two workers may make the same output when the text of an attempt that failed is written after
//   all. The first commit counts. So every attempt that makes output says TASK_COMMITTED, also
//   where its worker has it already: the one that counted may be lost since.
// - A worker that fails is set aside: killed and not started again. The last one ends the job. Not so where workers are
//   elastic: there it is killed, and the next one in its place is another.
// - Where workers are elastic, one that has reduced reads what all have sealed, and cannot map in the same stage any
//   more. When map tasks of the stage are lost, it ends its attempts and is sent STAGE_OPEN (and the plan) again before its
//   next task.
// - Where workers are elastic, a task may have two attempts under way, at different workers; the first that ends well counts.
//   The second one, a backup, begins when no task of its kind but suspects is pending and the first is late, or its worker silent, or
//   leaving while its slot holds nothing;
//   of those that are only late, a tenth of the slots may have one, at least one. A failed attempt whose twin is under way is
//   charged, and the task still runs. The loser is not awaited, not even at the end of a stage or of the job; one that is said to
//   be late again, and alone keeps its worker from other work, ends with its process.
// - A map task for a reduce is granted to a slot by its SEAL, and to one at a time. Elastic slots are sealed only when no
//   attempt is in them, so that they have collected the tasks that they hold, and no others. A slot in which a loser is gets no SEAL: the
//   tasks that it held go back to pending, and when its attempts have ended it gets DROP; until then its worker gets no task, and its
//   other slots are sealed. A worker in which a sample lost gets no task and no plan before that has ended, either.
// - Where several elastic workers are ready, slots that have no attempt are sealed as soon as fewer map tasks are pending than there are slots,
//   before their next task; so the last tasks are alone in their collectors, and a losing backup costs one task. A slot
//   whose last attempt was late is treated like that earlier, and gets no second task; all slots after a CHECKPOINT,
//   which asks for SEALs here; and those of a worker that is leaving.
// - A silent worker gets nothing, and is not sealed, until it is back or lost. A leaving one gets no tasks; its attempts may
//   end. When it is settled (sched_is_settled), others can offer copies of its commits: then its loss
//   takes nothing along. Workers that have read where map output of the stage is open it again before their next task.
// - With asks_before_failing, a sample or map task of stage 0 that reaches max_attempts gets stuck:
//   it is not run, nothing that needs it begins (no plan, no seal, no next stage), all else
//   continues. It stays stuck when a worker is lost. A final failure ends the job all the same. Its
//   text may turn out to be written by an attempt that ended badly: then it is committed, and an
//   answer is ignored, as for every task that is not stuck. The driver bounds how often it excuses
//   a task.
// - A stage whose output tasks are all committed for good is not worked on again, nor are those
//   before it. If they all were restored, the worker is started and the last stage opened (not
//   planned, nor sampled), and the job is done.
// - A checkpoint asks every slot that holds map tasks for a reduce, and is neither sealing nor at a
//   checkpoint. Of those tasks only the ones that the worker names are committed: no failed
//   attempt, lost seal or lost worker takes them away, and the slot must neither seal nor drop them
//   again. The others are held as before. Neither a seal of that slot nor a reduce task begins
//   before CHECKPOINTED; attempts do. The driver gives the worker of a STAGE_PLAN the list of
//   durable map tasks (sched_is_durable); if all are, it gets nothing to map or seal, only reduce
//   tasks.
// - A task that a worker offers is committed from then on, and lost with that worker unless it is durable, even if
//   another one had it before. One that is running, held or stuck stays as it is. The driver sees to it that a reduce task reads each
//   map task once.
// - A task whose output is spoiled goes back to pending, uncharged, wherever it was committed. If it is map output for a reduce, workers
//   that have opened the stage may have read it, or have it in their collectors: elastic ones open the stage again before
//   their next task, others are killed and started again.
// - A timed out attempt is charged DEADLINE_EXCEEDED and its worker killed: threads cannot be.
// - SCHED_LOSSES_MAX losses per worker that could not be charged to one attempt, and in between no
//   task that came further than ever before, end the job with UNAVAILABLE.
void sched_step(struct sched *sched, const struct sched_event *event, struct sched_actions *out);

// The actions that did not fit, after has_more.
void sched_more(struct sched *sched, struct sched_actions *out);

// "sample", "map", "reduce"; the same pointer every time.
const char *sched_kind_name(enum sched_kind kind);

// The place of the worker with that number: 0 to worker_count - 1; the next life of a worker has the same.
uint32_t sched_place(const struct sched *sched, uint32_t worker);

// Whether the end of this attempt will count: its task waits for it.
bool sched_waits_for(const struct sched *sched, uint32_t worker, const struct sched_attempt *at);
// Whether the worker has no attempt, and its slots are sealed.
bool sched_is_settled(const struct sched *sched, uint32_t worker);
// Whether a task that ended well at the worker waits for its commit: its output is not safe, or not reported yet.
bool sched_awaits_commit(const struct sched *sched, uint32_t worker);

// What a progress line and the end of the driver need. Counts are of one kind of task in one stage.
uint32_t sched_stage(const struct sched *sched);  // the one at work; the last one when done
uint32_t sched_count(const struct sched *sched, uint32_t stage, enum sched_kind kind,
                     enum sched_state state);
enum sched_state sched_task_state(const struct sched *sched, uint32_t stage, enum sched_kind kind,
                                  uint32_t task);
bool sched_is_durable(const struct sched *sched, uint32_t stage, enum sched_kind kind,
                      uint32_t task);
uint32_t sched_charges(const struct sched *sched, uint32_t stage, enum sched_kind kind,
                       uint32_t task);
bool sched_is_over(const struct sched *sched);
const struct sched_action *sched_failure(const struct sched *sched);  // the JOB_FAILED, or NULL

#endif
