// The simulation of one job: the real scheduler between a modelled driver and one to four modelled workers.
//
//   sim_sched.c   draws a job and its faults from a seed, runs it, looks at its end
//   sim_driver.c  the driver: moves frames about, restores, asks for checkpoints, judges stuck tasks
//   sim_worker.c  a worker: slots, collectors, seals, what it reads of others, and how it dies
//   sim_sink.c    where the text of the last stage goes: pieces, in the order of their part
//   sim_ledger.c  what the driver can know, and what an event means for it
//   sim_rules.c   the rules that actions and states must keep after every step
//
// Data is modelled by 64-bit numbers: a map task turns one number into another, a reduce task adds up
// what every map task has for it. A task that is missing or counted twice changes the sum. What a task
// reads is where the driver knew it to be when it sent the task off: with a worker that is lost
// meanwhile it is gone, and the attempt fails by no fault of its own.
#ifndef SIM_H
#define SIM_H

#include "mapreduce/coord/sched.h"

enum {
    SIM_STAGES_MAX = 3,
    SIM_SLOTS_MAX = 8,
    SIM_TASKS_MAX = 48,    // of a kind in a stage: they fit the bits of a uint64_t
    SIM_FRAMES_MAX = 512,  // in flight one way between the driver and a worker
    SIM_WORKERS_MAX = 4,
    SIM_STALE_MAX = 4 * SIM_FRAMES_MAX,
};

struct sim_random {
    uint64_t state;
};

uint64_t sim_draw(struct sim_random *random);
uint32_t sim_below(struct sim_random *random, uint32_t limit);                 // 0 when limit is 0
uint32_t sim_between(struct sim_random *random, uint32_t low, uint32_t high);  // both included
bool sim_chance(struct sim_random *random, uint32_t per_mille);

uint64_t sim_mix(uint64_t value);

// What becomes of an attempt, drawn when it begins.
enum sim_fate {
    FATE_GOOD,
    FATE_FAIL,
    FATE_FAIL_LATE,  // an output task that fails after its text is in the sink
    FATE_FAIL_FINAL,
    FATE_CRASH,
    FATE_HANG,
};

// The job and its faults; rates per mille, 0 in about half of the seeds each.
struct sim_options {
    struct sched_stage stages[SIM_STAGES_MAX];
    uint32_t stage_count, part_count, max_attempts, slots_max, worker_count;
    uint32_t fail_rate, final_rate, crash_rate, hang_rate;  // of attempts
    uint32_t kill_rate, cancel_rate, worker_failed_rate;    // of steps
    uint32_t start_fail_rate;                               // of workers
    uint32_t seal_lost_rate, seal_crash_rate;               // of seals
    uint32_t crash_known_rate;                              // of crashes: the slot is known
    uint32_t cut_rate;     // of losses: the last frames are lost too
    uint32_t stale_rate;   // of frames at a loss: delivered after it
    uint32_t repeat_rate;  // of frames: delivered twice
    uint32_t hasty_rate;   // of steps: a timeout of an attempt that is not stuck
    bool has_poison;       // one task never ends well, until it is excused so many times
    uint32_t poison_stage, poison_task, poison_excuses;
    enum sched_kind poison_kind;
    enum sim_fate poison_fate;
    uint32_t weights[4];   // of the four things that can go on: see sim_sched.c
    uint32_t fault_steps;  // afterwards only poison is left

    bool asks_before_failing;
    uint32_t excuses_max;   // of the job; then stuck tasks are condemned
    uint32_t verdict_rate;  // of steps: a stuck task gets its answer
    uint32_t condemn_rate;  // of answers
    uint32_t restore_rates[SIM_STAGES_MAX][SCHED_KIND_COUNT];  // of tasks
    uint32_t nonsense_rate;          // of steps: the driver says what makes no sense now
    uint32_t checkpoint_rate;        // of steps
    uint32_t checkpoint_lost_rate;   // of checkpoints: only some tasks are safe, or none
    uint32_t checkpoint_crash_rate;  // of commits of a checkpoint: the worker dies before it
};

struct sim_frames {
    struct sched_event items[SIM_FRAMES_MAX];
    uint32_t first, count;
};

// A command on its way to a worker: an action, and for RUN where that finds what it reads: for each map
// task or piece the number of the worker that has it, 0 for a file.
struct sim_command {
    struct sched_action action;
    uint32_t sources[SIM_TASKS_MAX];
};

struct sim_slot {
    struct sim_command queue[4];
    uint32_t queue_count;
    bool is_inside;     // what the shared page shows
    bool is_submitted;  // the text of an output task is in the sink
    enum sim_fate fate;
    struct sched_attempt at;
    uint32_t sources[SIM_TASKS_MAX];
    uint64_t collected;  // the map tasks in its collector
    uint64_t collected_values[SIM_TASKS_MAX];
};

struct sim_worker {
    bool is_alive, is_killed;
    uint32_t number, slot_count, stage;
    bool has_stage;
    struct sim_slot slots[SIM_SLOTS_MAX];
    uint64_t sealed[SIM_STAGES_MAX];  // the map tasks whose pairs the reduce tasks will see
    uint64_t sealed_values[SIM_STAGES_MAX][SIM_TASKS_MAX];
    uint64_t kept[SIM_STAGES_MAX];  // the outputs of stages before the last, in memory
    uint64_t kept_values[SIM_STAGES_MAX][SIM_TASKS_MAX];
    struct sim_command inbox[SIM_FRAMES_MAX];
    uint32_t inbox_first, inbox_count;
    struct sim_frames frames;                    // to the driver
    struct sched_attempt inside[SIM_SLOTS_MAX];  // what the WORKER_LOST in flight points at
};

// The text of the last stage. What is submitted and not written is lost with its worker.
struct sim_sink {
    uint64_t submitted, written;
    uint64_t values[SIM_TASKS_MAX];
    uint32_t submitters[SIM_TASKS_MAX];  // numbers of workers
};

// What the driver can know of a worker.
struct sim_account {
    uint32_t number;
    bool is_started, is_ready, is_killed, is_set_aside;
    uint32_t slot_count, opened, planned;  // the stage it was told last, plus 1
    uint32_t ever_opened;                  // a bit per stage
    struct sched_attempt queues[SIM_SLOTS_MAX][SCHED_QUEUE_MAX];
    bool is_timed_out[SIM_SLOTS_MAX][SCHED_QUEUE_MAX];
    uint32_t queue_counts[SIM_SLOTS_MAX], busy_count;
    bool is_sealing[SIM_SLOTS_MAX], is_checkpointing[SIM_SLOTS_MAX];
    uint64_t held[SIM_SLOTS_MAX];  // the map tasks, of the stage it has opened, in the collector
};

// What the driver can know: kept by sim_ledger.c from events and actions alone.
struct sim_ledger {
    struct sim_account accounts[SIM_WORKERS_MAX];
    bool is_begun, is_over;
    uint32_t stage;  // the one at work
    uint64_t suspects[SIM_STAGES_MAX][SCHED_KIND_COUNT];
    uint32_t attempts[SIM_STAGES_MAX][SCHED_KIND_COUNT][SIM_TASKS_MAX];
    uint32_t charges[SIM_STAGES_MAX][SCHED_KIND_COUNT][SIM_TASKS_MAX];
    uint64_t suspect_charges[SIM_STAGES_MAX][SCHED_KIND_COUNT];
    uint8_t states[SIM_STAGES_MAX][SCHED_KIND_COUNT][SIM_TASKS_MAX];
    uint8_t furthest[SIM_STAGES_MAX][SCHED_KIND_COUNT][SIM_TASKS_MAX];
    uint64_t durable[SIM_STAGES_MAX][SCHED_KIND_COUNT];
    uint32_t keepers[SIM_STAGES_MAX][SCHED_KIND_COUNT][SIM_TASKS_MAX];  // who has what it made
    uint32_t unexplained_loss_count;
    uint32_t opened;     // a bit per stage that any worker opened
    uint64_t lost_held;  // map tasks of lost_stage that the event at hand took out of a collector
    uint32_t lost_stage;
    bool must_fail;   // the event at hand is the end of the job
    bool must_stick;  // the event at hand used up the attempts of `sticking`
    struct sched_attempt sticking;
    uint64_t stuck[SCHED_KIND_COUNT];  // of stage 0
};

struct sim_totals {
    uint64_t seeds, steps, events, done, failed, workers, losses, suspects, seals, seals_lost;
    uint64_t timeouts, stale, repeated, blamed, stages_again, steps_most;
    uint64_t stuck, excused, condemned, restored, checkpoints, saved, fetches_failed, set_aside;
};

struct sim {
    uint64_t seed;
    const char *program;
    bool is_verbose;
    struct sim_random random;
    struct sim_options options;
    struct sched *sched;
    struct sched_actions actions;
    struct sim_worker workers[SIM_WORKERS_MAX];
    struct sim_ledger ledger;
    struct sched_event stale[SIM_STALE_MAX];  // of lives that are over
    uint32_t stale_first, stale_count;
    struct sim_sink sink;
    // The files of checkpoints: map tasks, known to the driver or not.
    uint64_t saved[SIM_STAGES_MAX];
    uint64_t saved_values[SIM_STAGES_MAX][SIM_TASKS_MAX];
    uint64_t restored[SIM_STAGES_MAX][SCHED_KIND_COUNT];
    uint64_t oracle_maps[SIM_STAGES_MAX][SIM_TASKS_MAX];
    uint64_t oracle_pieces[SIM_STAGES_MAX][SIM_TASKS_MAX];
    uint64_t asked[SCHED_KIND_COUNT];  // stuck tasks that the driver looks into
    uint32_t excuse_count, poison_excuse_count;
    uint32_t bad[SIM_STAGES_MAX][SCHED_KIND_COUNT][SIM_TASKS_MAX];  // attempts that did go wrong
    uint32_t outside_kill_count;
    uint32_t step;
    struct sim_totals *totals;
};

// Prints what is wrong, the seed and the command that repeats it, and ends the program.
_Noreturn void sim_wrong(const struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void sim_frames_put(struct sim *sim, struct sim_frames *frames, const struct sched_event *event);
struct sched_event sim_frames_take(struct sim_frames *frames);

// The driver: its work before START, one step, and whether it has something to do.
void driver_restore(struct sim *sim);
void driver_step(struct sim *sim);
bool driver_is_waiting(const struct sim *sim);
void driver_drain(struct sim *sim);
void driver_hand_in(struct sim *sim, const struct sched_event *event);

bool sim_has_faults(const struct sim *sim);
uint64_t sim_all_of(uint32_t count);
uint32_t sim_task_count(const struct sim_options *options, uint32_t stage, uint32_t kind);
uint32_t sim_piece_count(const struct sim_options *options, uint32_t stage);
uint64_t sim_map_value(uint32_t stage, uint64_t input);
uint64_t sim_reduce_part(uint64_t map_value, uint32_t reduce_task);

// The worker in the life with this number; NULL when it is over.
struct sim_worker *sim_find_worker(struct sim *sim, uint32_t number);

// A worker: gets an action, goes on in one slot, dies.
void worker_start(struct sim *sim, uint32_t number);
void worker_send(struct sim *sim, const struct sched_action *action);
void worker_receive(struct sim *sim, struct sim_worker *worker);  // the next command of the inbox
bool worker_slot_can_go_on(const struct sim_worker *worker, uint32_t slot);
void worker_go_on(struct sim *sim, struct sim_worker *worker, uint32_t slot);
void worker_die(struct sim *sim, struct sim_worker *worker, uint32_t crash_slot);
void worker_say(struct sim *sim, struct sim_worker *worker, struct sched_event event);

// The sink: gets a piece, loses what of a dead worker is not written.
void sink_submit(struct sim *sim, struct sim_worker *worker, const struct sched_attempt *at,
                 uint64_t value);
void sink_forget(struct sim *sim, uint32_t number);

// The ledger: before the event is handed in; and after, with the actions, also those that come later.
void ledger_init(struct sim *sim);
void ledger_take_event(struct sim *sim, const struct sched_event *event);
void rules_take_actions(struct sim *sim, const struct sched_event *event);
void rules_check(struct sim *sim, const struct sched_event *event);

// The account of the worker in the life with this number, NULL when the driver knows that it is over.
struct sim_account *ledger_account(struct sim *sim, uint32_t number);
bool ledger_is_settled(const struct sim_account *account);

#endif
