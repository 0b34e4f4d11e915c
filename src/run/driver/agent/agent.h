// agent: what looks after one worker at a time: starts its process, reads the page that its slots share, notices
// attempts that take too long, and says what it was doing when it ended.
//
// It reports facts to its owner and decides nothing: neither which worker comes next nor which task is to blame. The
// owner is the coordinator of a run, or the search for a bad record, whose worker is one of its own.
// The bytes of a worker are unproven, because it ran user code: frames are cut and unpacked here, and a worker
// that breaks the rules of frames is killed; the owner checks whether the numbers in a message mean anything.
//
// Nothing else touches a worker's process or its page, so an owner need not be in the same process.
// Thread: that of the loop.
#ifndef RUN_DRIVER_AGENT_H
#define RUN_DRIVER_AGENT_H

#include "mapreduce/slot_page.h"
#include "run/driver/agent/worker_process.h"

// An attempt that a slot is in, as its page shows it.
struct agent_attempt {
    uint32_t stage, kind, task, attempt, slot;
    uint32_t input;    // the record it is at,
    uint64_t offset;   // in that input
    uint64_t fed_end;  // all before it has been given to the job
    int crash_signal;  // 0: the slot is not known to have crashed
};

// How a worker came to its end.
struct agent_loss {
    const struct process_exit *exit;
    weft_err
        code;  // why we gave it up, with this thread's sentence; OK: it ended by itself or was killed
    bool was_ready;                      // it had said hello
    bool is_told;                        // agent_kill's, or it broke the rules
    bool is_released;                    // there was nothing left to do for it
    bool is_machine;                     // its machine is gone, with all files that it had
    const struct agent_attempt *inside;  // begun and not ended
    uint32_t inside_count;
};

// What slots have done, of this worker and of those before it; the memory is this one's.
struct agent_figures {
    uint64_t bytes_in, records_in;
    uint64_t bytes_begun;  // read of the blocks that maps are at, and not in bytes_in yet
    uint64_t spill_bytes, spill_runs, saved_bytes;
    uint64_t phase_ns[PHASE_COUNT];
    uint64_t memory_used, memory_peak;
    bool has_switched_to_sort;
};

// Of one worker after the other in one place.
static inline void agent_add_figures(struct agent_figures *total, const struct agent_figures *more)
{
    total->bytes_in += more->bytes_in;
    total->records_in += more->records_in;
    total->bytes_begun += more->bytes_begun;
    total->spill_bytes += more->spill_bytes;
    total->spill_runs += more->spill_runs;
    total->saved_bytes += more->saved_bytes;
    for (int phase = 0; phase < PHASE_COUNT; phase++)
        total->phase_ns[phase] += more->phase_ns[phase];
    total->memory_used += more->memory_used;
    if (total->memory_peak < more->memory_peak)
        total->memory_peak = more->memory_peak;
    total->has_switched_to_sort |= more->has_switched_to_sort;
}

struct agent_calls {
    // The worker is up; `code` is a failure, with its sentence set, when it is another version's.
    void (*ready)(void *owner, weft_err code);
    // It has not come up in a minute.
    void (*silent)(void *owner);
    // It said something; true: the owner keeps the message and frees it.
    bool (*message)(void *owner, Weft__FrameType type, ProtobufCMessage *message);
    // It wants bytes of a lent input; agent_lend answers, now or later. NULL: nothing is lent, and it may not ask.
    void (*need)(void *owner, const Weft__Need *need);
    // It broke the rules by sending `what` ("a frame that does not belong here"), and is being killed.
    void (*wrong)(void *owner, const char *what);
    // It has said goodbye after agent_release.
    void (*left)(void *owner);
    // An attempt is beyond its time; `is_record`: at one record. Again with each look until the attempt has ended.
    // May be NULL without limits.
    void (*late)(void *owner, const struct agent_attempt *at, bool is_record);
    // A worker on another machine: its client has finished work of an earlier session. May be NULL for a worker of ours.
    void (*offered)(void *owner, const Weft__ClientOffer *offer);
    // Of a worker at a client: that one has written a part of the answer, or could not. INTERNAL, with words for "sent ...". May be NULL.
    weft_err (*wrote)(void *owner, const Weft__PartWritten *written);
    // Likewise: the client will leave soon, and its worker gets nothing more to do. May be NULL.
    void (*leaving)(void *owner);
    // Likewise: it has copied work of another client, or could not. As `wrote`.
    weft_err (*taken)(void *owner, const Weft__ClientTaken *taken);
    // It is gone, whatever it was. May start the next one.
    void (*lost)(void *owner, const struct agent_loss *loss);
    // A worker on another machine: its client has gone, after `lost` if that had a worker. What comes next is of another client. May be NULL.
    void (*gone)(void *owner);
};

struct far_agent;

struct agent_options {
    struct loop *loop;
    struct far_agent *far;  // whose worker is on another machine; NULL: it is a process of ours
    uint32_t slot_count;    // of a worker of ours
    uint32_t task_timeout_ms, record_timeout_ms;  // 0: none
    const struct worker_program *program;  // that workers are started from, borrowed; NULL: this
    const struct agent_calls *calls;
    void *owner;
};

struct agent {
    struct agent_options options;
    struct worker_process process;
    struct loop_timer *hello;
    bool is_ready, is_told, is_released;
    bool is_counted;  // what its slots have done is in `past`
    struct agent_figures past;
    struct agent_attempt inside[SLOTS_MAX];
    // As they were at the last look.
    uint64_t serials[SLOTS_MAX];
    uint64_t record_since_ns[SLOTS_MAX], record_offsets[SLOTS_MAX];
    uint32_t status_serials[SLOTS_MAX], status_slot;
};

// In memory that is zero.
void agent_init(struct agent *agent, const struct agent_options *options);
// Kills the worker, if there is one. `lost` is not called. Figures can still be read.
void agent_fini(struct agent *agent);

// Starts a worker, in the place of the one before. `output_fd` is one more descriptor that it keeps; -1: none.
MUST_CHECK weft_err agent_start(struct agent *agent, int output_fd);
bool agent_has_worker(const struct agent *agent);
bool agent_is_ready(const struct agent *agent);  // it has one that has said hello
uint32_t agent_slot_count(const struct agent *agent);
// Which client has the files that the worker names; 0: they are on this machine.
uint32_t agent_holder(const struct agent *agent);

MUST_CHECK weft_err agent_send(struct agent *agent, Weft__FrameType type,
                               const ProtobufCMessage *message);
// The same with a payload that is packed already; not to a worker on another machine.
MUST_CHECK weft_err agent_send_bytes(struct agent *agent, Weft__FrameType type, weft_bytes payload);
// Answers a need: the bytes are in the input's file now; or a failure, with this thread's sentence. UNAVAILABLE is not charged to the
// attempt. After the worker that asked has ended, it may not be called any more.
MUST_CHECK weft_err agent_lend(struct agent *agent, uint32_t input, uint64_t offset, uint64_t size,
                               weft_err code);
// Opens for reading a file that the worker has open under that number, so that the file outlives the worker.
// UNAVAILABLE: the worker has ended; other failures: it has no such file.
MUST_CHECK weft_err agent_open_file(const struct agent *agent, uint32_t number, int *fd);
// There is nothing left to do: the worker may end.
MUST_CHECK weft_err agent_release(struct agent *agent);
// Kills the worker; `lost` follows, with is_told: the owner knows why.
void agent_kill(struct agent *agent);
// A frame for the client, not for its worker; it goes nowhere when the client is gone.
MUST_CHECK weft_err agent_tell_client(struct agent *agent, Weft__FrameType type,
                                      const ProtobufCMessage *message);
// Forgets the worker, which is on another machine that does not answer; `lost` does not follow.
void agent_abandon(struct agent *agent);

// The client, which leaves, is to list its finished work: `offered` follows, also for the last time.
MUST_CHECK weft_err agent_ask_work(struct agent *agent);

// No task reads this file of a worker's client any more.
void agent_forget_file(struct agent *agent, uint64_t file);

// Looks for attempts beyond their time.
void agent_look(struct agent *agent);

// What a slot is in, whether an attempt runs or not.
void agent_read_attempt(const struct agent *agent, uint32_t slot, struct agent_attempt *at);
// Whether the attempt in the slot is ended by the slot itself when it stays at one record.
bool agent_times_records(const struct agent *agent, uint32_t slot);
void agent_read_figures(const struct agent *agent, struct agent_figures *figures);
// The newest status of an attempt, a slot at a time, in turns; false: there is no new one.
bool agent_read_status(struct agent *agent, struct status_words *words);

#endif
