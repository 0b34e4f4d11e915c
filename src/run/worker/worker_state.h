// What a worker knows of its job. Private to worker*.c:
//   worker.c   the control thread: orders to commands, stages
//   shared.c   reads map output and pairs of other workers
//   lend.c     asks for bytes of inputs that are lent
//   frames*.c  what the driver may say, and when: frames to orders
//   slot.c     the slot threads: commands to attempts, attempts to frames
//   top.c      the job of --top
#ifndef RUN_WORKER_WORKER_STATE_H
#define RUN_WORKER_WORKER_STATE_H

#include "mapreduce/work/slot.h"
#include "run/chain.h"
#include "run/worker/frames.h"
#include "sys/thread/thread.h"
#include "wire/messages.h"

enum {
    WORKER_QUEUE_MAX = FRAMES_WAITING_MAX + 1,  // what the driver may ask of a slot, and an end
};

enum command_type {
    COMMAND_RUN,
    COMMAND_SEAL,
    COMMAND_CHECKPOINT,
    COMMAND_DROP,
    COMMAND_TEAR_DOWN,
    COMMAND_STOP
};

struct command {
    enum command_type type;
    Weft__TaskRun *run;  // COMMAND_RUN: owned
};

// A slot's thread and what waits for it. The lock guards the queue and is_busy.
struct slot_thread {
    struct worker *worker;
    struct slot *slot;
    struct thread thread;
    struct mutex lock;
    struct condition changed;
    struct command queue[WORKER_QUEUE_MAX];
    uint32_t queue_first, queue_count;
    bool is_busy;
    VEC(uint32_t) held;            // map tasks in the collector since it was last sealed
    struct input_stretch *pieces;  // of the task at hand; reused
    size_t piece_capacity;
    struct place *skips;  // likewise
    size_t skip_capacity;
};

// A file in which another worker has left pairs.
struct source_file {
    char *path;
    int fd;
};

struct worker {
    int fd;
    struct mutex send_lock;  // for the connection and the next member
    struct told told;
    bool has_failed;  // the job cannot continue here, and the driver was notified
    struct worker_page *page;
    const weft_job *const *jobs;  // of the program,
    size_t job_size;              // each of its size
    Weft__JobStart *start;        // kept: strings are borrowed from it
    struct weft_args args;
    struct chain chain;
    const struct code *code;  // of its first job; NULL before
    struct mem_budget budget;
    uint32_t slot_count;
    struct slot *slots;
    struct slot_thread *threads;
    struct input *inputs;
    struct mutex inputs_lock;
    struct lending *lending;  // NULL: no input is lent
    char *runs_directory;     // of the first stage, for good; NULL: nowhere
    weft_bytes runs_identity;
    struct stage *stage;              // NULL before the first
    VEC(struct source_file) sources;  // where workers share: that tasks of this stage have read
    // Map output of others that could not be adopted, and why: no range can be reduced without it. 0: none.
    uint32_t bad_seal;
    char bad_seal_why[ERR_TEXT_BYTES_MAX];
    bool has_mapped_inputs;
};

// Any thread: sends a frame; a driver that is gone ends this process.
void worker_send(struct worker *worker, Weft__FrameType type, const ProtobufCMessage *message);
void worker_send_failed(struct worker *worker, weft_err code);

// Reports to the driver that an output piece (or kept range) is where it belongs.
void worker_send_committed(struct worker *worker, const struct sink_piece *piece);

// Several workers share the work.
static inline bool worker_shares(const struct worker *worker)
{
    return worker->start->worker_count > 1;
}

// ---- shared.c

// From now on map output goes where it outlives this worker, or where others read it.
MUST_CHECK weft_err worker_keep_runs(struct worker *worker, const struct stage *stage,
                                     const Weft__StageOpen *open);
// Deals map output of other workers out to the slots, as if they had made it. If some is damaged, reduce tasks fail by it.
MUST_CHECK weft_err worker_adopt_runs(struct worker *worker, Weft__AdoptedRuns *const *runs,
                                      size_t count);
MUST_CHECK weft_err worker_take_seals(struct worker *worker, const Weft__Seals *seals);
// Where the pairs are that a task reads.
MUST_CHECK weft_err worker_take_source(struct worker *worker, const Weft__TaskRun *run);
void worker_forget_sources(struct worker *worker);

// ---- lend.c

// Inputs that are lent get their lender.
MUST_CHECK weft_err worker_begin_lending(struct worker *worker);
void worker_take_lent(struct worker *worker, const Weft__Lent *lent);
// Slots that wait for bytes fail: the worker ends.
void worker_end_lending(struct worker *worker);

// ---- slot.c
void slot_thread_run(void *thread);  // the thread's body
void slot_thread_push(struct slot_thread *thread, struct command command);
void slot_thread_wait_idle(struct slot_thread *thread);

// ---- top.c: the largest `count` of the pairs of the stage before
extern const weft_job worker_top_job;

#endif
