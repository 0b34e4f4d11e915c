// The simulation of a job on machines that come, are slow, silent, come back, leave and are lost: the real scheduler between a
// modelled server and any number of modelled clients.
//
//   sim_elastic.c  draws a job and its faults from a seed, runs it, compares its end with a sequential program
//   server.c       the server: turns frames into events and actions into commands; knows who holds what; clock and network
//   machine.c      a client with its worker: slots, collectors, seals, what it reads of others
//   rules.c        the rules of distributed work, checked at every action and event
//
// Time passes in rounds of 100 ms; in each, every machine does a little. Data is modelled by 64-bit numbers: a reduce task adds up what every map task
// of its cover has for it, so that a task that is missing or there twice changes the sum.
#ifndef ELASTIC_H
#define ELASTIC_H

#include "base/vec.h"
#include "mapreduce/coord/sched.h"

enum { STAGES_MAX = 3, SLOTS_OF_ONE_MAX = 4, ROUNDS_PER_MINUTE = 600 };

uint64_t draw(void);
uint32_t below(uint32_t limit);  // 0 when limit is 0
bool chance(uint32_t per_million);
uint64_t mix(uint64_t value);

struct options {
    struct sched_stage stages[STAGES_MAX];
    uint32_t stage_count, place_count, slots_max, max_attempts;
    uint32_t work_rounds;  // that an attempt takes at most, on a machine that is not slow
    // Per million: of rounds of a machine,
    uint32_t loss_rate, silence_rate, leave_rate, crash_rate;
    uint32_t slow_rate, fail_rate;  // of machines, of attempts
    uint32_t hang_rate;             // of first attempts: they never end
    uint32_t time_out_rate;         // of attempts that are late, in a round
    uint32_t hasty_rate;            // of attempts in a round: said to be late for no reason
    uint32_t checkpoint_rate,
        stale_rate;         // of rounds, of frames that come after the end of their worker
    uint32_t fault_rounds;  // afterwards nothing goes wrong any more
    bool asks;              // tasks of the first stage get stuck, and only they fail
    bool is_large;          // rules that look at everything are left out
};

// What a slot has sealed, all of it: as its client serves it. It never changes; a later seal of the slot is another one.
struct batch {
    uint32_t holder, number, slot, file, stage;
    uint32_t count, *tasks;
    bool is_lost;
};

// The seals that together are the input of reduce tasks.
struct cover {
    uint32_t count;
    struct batch **batches;
};

// A command on its way to a worker, or waiting in a slot.
struct command {
    struct sched_action action;
    bool is_kill, is_start;
    const struct cover *cover;  // RUN of a reduce task
    uint32_t holder;            // RUN of a map task after the first stage: who has its piece
};

struct frame {
    struct sched_event event;
    struct batch *batch;  // SEALED
    uint64_t value;       // TASK_COMMITTED
    bool is_loss;         // of the process
    struct sched_attempt inside[SLOTS_OF_ONE_MAX];
};

struct place_in_work {
    bool is_inside;
    struct command run;
    uint32_t rounds_left;
    bool has_read;  // its input is here, whatever becomes of those who had it
    bool will_fail, is_hung;
    VEC(struct command) queue;
    VEC(uint32_t) collected, sealed;  // map tasks since the last seal, and all before
    uint32_t waiting_rounds;          // for what a silent machine has
};

// A client in its place; the next one in the same place has another holder number.
struct machine {
    uint32_t place, holder;  // holder 0: none is here
    uint32_t number;         // of the worker that runs here; 0: none
    uint32_t slot_count, slowness, opened, file;
    bool is_reducing;
    bool is_stopped;  // with all its processes; otherwise a silent one only has no network
    uint32_t silent_rounds, silent_until;
    VEC(struct command) inbox;
    VEC(struct frame) outbox;
    struct place_in_work slots[SLOTS_OF_ONE_MAX];
};

// What the server knows of a place.
struct account {
    uint32_t number, holder;
    bool is_started, is_ready, is_wanted;
    bool is_silent, is_leaving;
    bool awaits_funeral;  // the worker was given up, and its machine does not know it
    uint32_t slot_count, opened, leaving_rounds;
    const struct cover *cover;
    struct sched_attempt queue[SLOTS_OF_ONE_MAX][SCHED_QUEUE_MAX];
    uint32_t age[SLOTS_OF_ONE_MAX];  // rounds since the first of the queue was sent or got its turn
    bool is_backup[SLOTS_OF_ONE_MAX][SCHED_QUEUE_MAX];
    uint32_t queue_count[SLOTS_OF_ONE_MAX];
    bool is_sealing[SLOTS_OF_ONE_MAX];
    VEC(uint32_t) held[SLOTS_OF_ONE_MAX];  // as the events say
};

struct totals {
    uint64_t seeds, rounds, done, failed, losses, shunned, silences, left, moved, crashes;
    uint64_t backups, drops, seals, kills, starved, late, stale, hung, stuck, timed_out;
};

struct world {
    struct options options;
    struct sched *sched;
    struct sched_actions actions;
    struct machine *machines;
    struct account *accounts;
    VEC(struct batch *) seals[STAGES_MAX];  // that are known and not lost
    VEC(struct batch *) batches;            // all, to be freed
    VEC(struct cover *) covers;
    bool is_cover_old[STAGES_MAX];  // the last one of the stage is not what is known now
    const struct cover *last_cover[STAGES_MAX];
    uint32_t *piece_holders[STAGES_MAX];  // of stages before the last
    uint64_t *pieces;                     // of the last stage; 0: not written
    uint64_t *oracle[STAGES_MAX];
    uint32_t *granted[STAGES_MAX];  // of map tasks: the number of the worker that sealed it last
    VEC(struct sched_attempt) stuck;
    VEC(uint32_t) places_of_holders;
    uint32_t last_holder, last_file, round;
    uint32_t home_count;  // 0: it is not known where inputs are
    struct totals *totals;
};

extern struct world world;
extern bool is_verbose;

_Noreturn void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline bool has_faults(void)
{
    return world.round < world.options.fault_rounds;
}

static inline bool is_collected(const struct sched_attempt *at)
{
    return at->kind == SCHED_MAP && world.options.stages[at->stage].reduce_count > 0;
}

uint32_t piece_count(uint32_t stage);
uint64_t map_value(uint32_t stage, uint32_t task);
uint64_t reduce_part(uint64_t value, uint32_t task);

// ---- machine.c
void machine_arrive(uint32_t place);
void machine_pass_round(struct machine *machine);
void machine_vanish(struct machine *machine);
bool holder_is_there(uint32_t holder);
bool holder_is_silent(uint32_t holder);

// ---- server.c
void server_hand_in(const struct sched_event *event);
void server_pass_round(void);
void server_take(struct machine *machine, struct frame *frame);
void server_lose(struct machine *machine);

// ---- rules.c
void rules_take_action(const struct sched_action *action);
void rules_check_event(const struct sched_event *event, uint64_t charges_before);
void rules_check_cover(const struct cover *cover, uint32_t stage);
void rules_check_seal(const struct machine *machine, uint32_t slot);
uint64_t rules_count_charges(void);
uint64_t rules_count_committed(void);

#endif
