// answers: what a worker may say to its driver. The one entrance for values that come from a worker.
//
// A worker runs user code, perhaps on another machine: each answer is unpacked and compared with the orders that the
// worker was given before the driver acts on it. An answer that breaks the rules is refused with words for "the worker
// sent ...", and the driver then gives the worker up. Pure. Thread: any.
#ifndef RUN_ANSWERS_H
#define RUN_ANSWERS_H

#include "mapreduce/coord/sched.h"
#include "wire/messages.h"

// The orders that answers belong to: the stage that the answer names (answer_stage), which is the present one or an
// earlier one.
struct answer_rules {
    uint32_t stage, slot_count;
    uint32_t task_counts[SCHED_KIND_COUNT];
    bool is_map_only, is_last;
    bool is_shared;  // with other workers
    bool is_lent;    // inputs, or some of them: the worker may lack their bytes
    size_t input_count;
};

// The payload of a frame as the message of its type. INTERNAL with the words, and *message is NULL: it is none
// that a worker sends, or cannot be read. BYE has no message.
MUST_CHECK weft_err answer_unpack(const struct frame *frame, ProtobufCMessage **message);

// The stage that an answer names; `at_work` for an answer that names none.
uint32_t answer_stage(Weft__FrameType type, const ProtobufCMessage *message, uint32_t at_work);

// Whether the worker may ask for these bytes: of an input of the job that is lent. INTERNAL with the words: it may not. Whether
// the file has such bytes is not checked.
MUST_CHECK weft_err answer_check_need(const Weft__Need *need, const Weft__JobStart *start);

// Whether it can be an answer to the orders given. INTERNAL with the words: it cannot. HELLO is checked by
// message_check_hello alone.
MUST_CHECK weft_err answer_check(Weft__FrameType type, const struct answer_rules *rules,
                                 const ProtobufCMessage *message);

#endif
