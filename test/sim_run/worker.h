// A worker as the simulation has it: worker.c is what it does with frames and tasks, agents.c how it lives and dies.
#ifndef SIM_RUN_WORKER_H
#define SIM_RUN_WORKER_H

#include "base/vec.h"
#include "sim_run/sim_run.h"

enum { AGENTS_MAX = WORKERS_MAX + 1, QUEUE_MAX = 8, FILES_MAX = 256 };

// A frame on its way: packed as it would be on the wire.
struct parcel {
    Weft__FrameType type;
    uint8_t *bytes;
    size_t size;
};

struct slot {
    Weft__TaskRun *runs[QUEUE_MAX];  // NULL: a seal or a checkpoint,
    bool is_seal[QUEUE_MAX];         // which of the two
    size_t run_count;
    bool is_inside, hangs, crashes, fails;
    uint64_t held;  // map tasks in its collector
    uint64_t safe;  // where workers share: those that its last seal covers
};

struct worker {
    struct agent *agent;
    bool is_alive, has_greeted, is_doomed, has_left;
    uint64_t sealed;     // map tasks that its reduces see
    uint64_t submitted;  // pieces that it was told of or has written
    uint64_t kept[3];    // pieces of earlier stages
    uint32_t stage;
    Weft__StageOpen *open;
    struct slot slots[SLOTS_MAX];
    VEC(struct parcel) in, out;
    VEC(struct parcel) past;  // ends of attempts that it has told of in stages before this one
    uint32_t checkpoint_count;
    uint32_t cuts;  // what the keys come to that the ranges of this stage are cut by

    // Where workers share.
    bool is_shared, has_seals;
    uint32_t bad_seal;     // the number of map output that cannot be read; 0: none
    bool is_gone;          // its process, while the driver still reads frames of it
    bool has_failed;       // it cannot go on, has said so, and carries out nothing more
    int files[FILES_MAX];  // that it has open
    size_t file_count;
    int shelf;  // one of them; 0: none yet
    uint64_t shelf_size;
};

extern struct worker workers[AGENTS_MAX];

static inline uint64_t bit(uint32_t task)
{
    return UINT64_C(1) << task;
}

static inline uint64_t all_of(uint32_t count)
{
    return bit(count) - 1;
}

// The next frame that it was sent, the next that it has to say, the next step of a slot.
void worker_receive(struct worker *worker);
void worker_deliver(struct worker *worker);
void worker_go_on(struct worker *worker, uint32_t slot);

struct parcel worker_pack(Weft__FrameType type, const ProtobufCMessage *message);
void worker_say(struct worker *worker, Weft__FrameType type, const ProtobufCMessage *message);
void worker_show(const struct worker *worker, const char *what, const struct parcel *parcel);
bool worker_has_faults(const struct worker *worker);
// ---- cuts.c

void worker_take_cuts(struct worker *worker, const Weft__StagePlan *plan);
// The task was done by these cuts.
void worker_note_cuts(const struct worker *worker, const Weft__TaskRun *run);

// ---- shared.c

// A piece of the answer, or pairs for the next stage: the same text stands for both.
void worker_shelve(struct worker *worker, const char *text, Weft__Committed *committed);
// It is reported by itself, or with the one before.
void worker_report_shelved(struct worker *worker, const Weft__Committed *committed);
// A task reads what the one with its number has left.
void worker_check_source(const struct worker *worker, const Weft__TaskRun *run);
void worker_seal(struct worker *worker, uint32_t slot);
void worker_checkpoint(struct worker *worker, uint32_t slot, bool is_seal);
void worker_adopt(struct worker *worker, Weft__AdoptedRuns *const *runs, size_t count);
void worker_take_seals(struct worker *worker, const Weft__Seals *seals);
// Opens one of its files, as /proc/PID/fd would.
weft_err worker_open_file(const struct worker *worker, uint32_t number, int *fd);
void worker_close_files(struct worker *worker);
// What its page would show of the slot.
void worker_fill_attempt(const struct worker *worker, uint32_t slot, struct agent_attempt *at);

// It ends now; crash_slot is known to have done it, -1: none is.
void worker_die(struct worker *worker, int crash_slot);

#endif
