// A worker as the simulation has it: worker.c is what it does with frames and tasks, agents.c how it lives and dies.
#ifndef SIM_RUN_WORKER_H
#define SIM_RUN_WORKER_H

#include "base/vec.h"
#include "sim_run/sim_run.h"

enum { AGENTS_MAX = 2, QUEUE_MAX = 8 };

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
};

extern struct worker workers[AGENTS_MAX];

// The next frame that it was sent, the next that it has to say, the next step of a slot.
void worker_receive(struct worker *worker);
void worker_deliver(struct worker *worker);
void worker_go_on(struct worker *worker, uint32_t slot);

struct parcel worker_pack(Weft__FrameType type, const ProtobufCMessage *message);
void worker_say(struct worker *worker, Weft__FrameType type, const ProtobufCMessage *message);
void worker_show(const struct worker *worker, const char *what, const struct parcel *parcel);
bool worker_has_faults(const struct worker *worker);
// What its page would show of the slot.
void worker_fill_attempt(const struct worker *worker, uint32_t slot, struct agent_attempt *at);

// It ends now; crash_slot is known to have done it, -1: none is.
void worker_die(struct worker *worker, int crash_slot);

#endif
