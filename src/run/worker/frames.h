// frames: the orders that a driver may send a worker, and when. The one entrance for values from
// outside.
//
// A frame is read, its message unpacked, and every number in it compared with earlier frames. Only
// then is it an order that the worker carries out: later code does not check again. A frame that
// breaks the rules is refused with a sentence that says which rule. No part of it is carried out,
// and the connection is not to be read any further. The frames_* calls at the end record the
// answers of the slots.
//
// Pure: no files, no threads, no user code. Thread: one at a time, by the caller's lock.
#ifndef RUN_WORKER_FRAMES_H
#define RUN_WORKER_FRAMES_H

#include "base/vec.h"
#include "mapreduce/coord/sched.h"
#include "run/chain.h"
#include "wire/messages.h"

enum {
    // Orders for one slot that it has not answered: two tasks, a checkpoint, a seal.
    FRAMES_WAITING_MAX = SCHED_QUEUE_MAX + 2,
};

// A checked frame. The message belongs to the caller that took the order, except that of JOB_START,
// on which later checks rely: it lives as long as the state below.
struct order {
    Weft__FrameType type;
    union {
        ProtobufCMessage *message;  // NULL: BYE, SEAL, CHECKPOINT, DROP
        Weft__JobStart *start;
        Weft__StageOpen *open;
        Weft__StagePlan *plan;
        Weft__Seals *seals;
        Weft__TaskRun *run;
        Weft__Lent *lent;
    };
    uint32_t slot;  // SEAL, CHECKPOINT, DROP
};

struct told_task {
    Weft__TaskKind kind;
    uint32_t task;
};

struct told_slot {
    struct told_task tasks[FRAMES_WAITING_MAX];
    uint32_t task_count;
    uint32_t held_count;  // map tasks in its collector since it was last sealed or made safe
    bool is_sealing, is_sealed, is_checkpointing;
};

struct told_stage {
    bool is_open, is_planned;
    bool has_source;   // the pairs of the stage before are there
    bool is_probe;     // it is there to look at records, not for their output
    bool is_map_only;  // as the driver said
    bool is_kept;      // the pairs are for the next stage
    bool keeps_runs;   // checkpoints can be made
    bool has_seals;    // where workers share: the map output of all is known
    bool is_reducing;  // a reduce task was ordered
    uint32_t number, piece_count;
    uint32_t task_counts[SCHED_KIND_COUNT];
};

// Bytes of a lent input that were asked for.
struct told_need {
    uint32_t input;
    uint64_t offset, size;
};

struct told {
    int fd;  // of the connection: no output
    const Weft__JobStart *start;
    const struct chain *chain;
    struct told_stage stage;
    uint64_t *held;  // a bit for each map task that a collector holds, or has sealed or made safe
    struct told_slot slots[SLOTS_MAX];
    VEC(struct told_need) needs;  // not answered: a few for each slot
};

// `fd` is the descriptor of the connection.
void told_init(struct told *told, int fd);
void told_fini(struct told *told);  // not the JOB_START

// Reads and checks a frame. A failure has its sentence, and there is no order. After JOB_START the next call is
// frames_know_chain.
MUST_CHECK weft_err frames_take(struct told *told, const struct frame *frame, struct order *order);

// The job of JOB_START has been found and configured: from now on stages can be checked. The chain stays.
MUST_CHECK weft_err frames_know_chain(struct told *told, const struct chain *chain);

// ---- what the slots answer, before the driver hears of it

// A task ended; is_held: its pairs are in the slot's collector.
void frames_note_end(struct told *told, uint32_t slot, Weft__TaskKind kind, uint32_t task,
                     bool is_held);
// A map task failed, and with it went these tasks that the slot held.
void frames_note_dropped(struct told *told, uint32_t slot, const uint32_t *tasks, size_t count);
void frames_note_sealed(struct told *told, uint32_t slot);
void frames_note_checkpointed(struct told *told, uint32_t slot);
// Bytes of a lent input are asked for, before the agent hears of it.
void frames_note_need(struct told *told, uint32_t input, uint64_t offset, uint64_t size);

// ---- frames_check.c: the values of single messages

weft_err frames_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
MUST_CHECK weft_err frames_check_job(const Weft__JobStart *start);
MUST_CHECK weft_err frames_check_stage(const struct told *told, const Weft__StageOpen *open);
MUST_CHECK weft_err frames_check_pieces(const struct told *told, const Weft__TaskRun *run);

#endif
