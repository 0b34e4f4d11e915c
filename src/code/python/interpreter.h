// The interpreter of a slot: its process, the frames to it and from it, and its failure. Thread: the
// slot's own.
#ifndef CODE_PYTHON_INTERPRETER_H
#define CODE_PYTHON_INTERPRETER_H

#include "code/command/stderr.h"
#include "code/python/python.h"
#include "mapreduce/task.h"
#include "sys/process/nursery.h"

// An interpreter with its modules takes some 15 MiB; the rest is for its table, its frames and what
// user code keeps.
enum { PYTHON_BYTES_MIN = 32 << 20, PYTHON_BASE_BYTES = 24 << 20 };

enum { FRAME_HEAD_BYTES = 5, FRAME_BYTES_MAX = 1 << 30 };

// How much of the worker's memory the interpreter of each slot may take.
uint64_t python_outside_bytes(uint64_t memory_bytes, uint32_t slot_count);

enum python_kind { PYTHON_MAP, PYTHON_SUM, PYTHON_COUNT, PYTHON_FOLD, PYTHON_REDUCE };

struct python_shape {
    enum python_kind kind;
    bool is_typed;  // output is encoded pairs instead of text
};

// What the option PYTHON_KIND says. INVALID_ARGUMENT.
MUST_CHECK weft_err python_read_shape(const weft_args *args, struct python_shape *shape);

struct interpreter {
    const weft_args *args;
    struct python_shape shape;
    struct nursery *nursery;
    uint64_t table_bytes;  // that its table may take; 0: as it likes
    struct child child;
    bool is_running;
    bool holds;     // sums of attempts that have ended well
    bool is_mixed;  // among them, those of the attempt at hand
    uint64_t watched_ns;
    uint64_t begun_ns, took_ns;  // the attempt at hand, and the last one that ended
    struct command_stderr err;
    struct buf in;  // received, from the first byte that was not taken
    size_t
        waiting;  // bytes of whole frames at the front of `in`, which wait for the end of the attempt
    size_t waiting_max;
    struct buf batch;  // items of a frame of groups, collected
    struct buf room;   // for a pair that is written

    // the call of user code at hand, for --record-timeout
    uint32_t record_timeout_ms;  // 0: none
    bool is_at_work;             // there is one
    uint64_t counted_ns;         // when that was last counted:
    uint64_t waited_ns;          // for how long we have waited for it
    struct buf call;             // the function, a zero, and the key

    // the attempt
    weft_task *task;
    struct task_facts facts;
    bool has_input;        // the interpreter knows the input at hand
    uint32_t input_index;  // which one that is
    uint64_t sent_offset;  // of the last block
    uint64_t sent_bytes;   // of the attempt, in blocks
    uint64_t group_bytes;  // values of the group that is being sent
    char asked;            // the frame that it is to answer,
    bool has_ended;        // and it has
    bool defers;           // pairs wait for the end, so that one that fails leaves none
    bool has_emitted;      // some did not: they were too many
    bool has_lost;         // the process has ended, and sums of earlier attempts with it
    bool is_reported;      // the failure is an exception, which the interpreter has lived to report
    bool has_batch;        // groups went to it: later ones go there, too, to keep their order
    weft_err failure;      // reported at the end
    bool is_final;         // trying again cannot help
    struct buf failure_text;
};

MUST_CHECK weft_err interpreter_new(weft_task *task, struct nursery *nursery,
                                    struct interpreter **interpreter);
void interpreter_free(struct interpreter *interpreter);  // lets its process end by itself

void interpreter_begin(struct interpreter *interpreter, weft_task *task);

// Sends a frame; `head` and `body` are its payload. Takes what comes back in the meantime.
void interpreter_send(struct interpreter *interpreter, char kind, weft_bytes head, weft_bytes body);

// Sends the collected groups and waits until the attempt has ended. Returns its failure.
MUST_CHECK weft_err interpreter_end(struct interpreter *interpreter);

// Of an attempt that has failed: whether nothing of it was emitted, and all sums of earlier ones were.
bool interpreter_rescue(struct interpreter *interpreter);

// Takes the sums that the process holds of attempts that have ended.
MUST_CHECK weft_err interpreter_flush(struct interpreter *interpreter, weft_task *task);

// Kills the process: one that has run code that failed is not trusted with another task.
void interpreter_cancel(struct interpreter *interpreter);

// The failure of the attempt, as this thread's error.
MUST_CHECK weft_err interpreter_failure(struct interpreter *interpreter);

// Remembers this thread's sentence as the failure of the attempt, unless there is one.
void interpreter_fail(struct interpreter *interpreter, weft_err code, bool is_final);

// Takes all whole frames of `in` (frames.c).
void interpreter_take_frames(struct interpreter *interpreter);

#endif
