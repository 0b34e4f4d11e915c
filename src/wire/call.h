// call: the calls of members to a host and its answers, many in one frame.
//
//     FRAME_CALLS      u64 answers received so far, then calls
//     FRAME_ANSWERS    answers
//
//     0      4    5      6        8            16
//     +------+----+------+--------+------------+---------+
//     | size | op | flags| handle | sequence   | payload |    a call; size is all of it
//     +------+----+------+--------+------------+---------+
//     | size |code| flags| 0      | sequence   | payload |    an answer to the call of that sequence
//     +------+----+------+--------+------------+---------+    little-endian, not aligned
//
// Fixed layouts, because a queue's call is a hundred nanoseconds of work and a message would double
// that. Calls that change something are numbered 1, 2, 3, ... in their session; the others have
// numbers of their own with the top bit set. The answer to a failed call is a message for people.
//
// A session outlives its connection. A member that connects again reports how many answers to
// changing calls it has; the host reports how many of the member's changing calls have arrived.
// Both send again the frames that the other lacks, so each call is applied once and each answer
// arrives.
#ifndef WIRE_CALL_H
#define WIRE_CALL_H

#include "base/buf.h"
#include "base/err.h"

enum call_op {
#define OP(name, number, changes) CALL_##name = number,
#include "wire/ops.def"
#undef OP
    CALL_OP_LIMIT = 128
};

enum {
    CALL_HEAD_BYTES = 16,
    CALL_FRAME_HEAD_BYTES = 8,
    CALL_NAME_BYTES_MAX = 1024,       // of a resource, a key of kv
    CALL_BYTES_MAX = 60 << 20,        // of one call: it fits into a frame
    CALL_AHEAD_BYTES_MAX = 16 << 10,  // of an element that is handed out before it is asked for
};

#define CALL_TUPLE_BIT (UINT32_C(1) << 31)  // in the size of an entry of a list of elements
#define CALL_ASKS_BIT (UINT64_C(1) << 63)   // in the sequence of calls that change nothing

// Flags of calls.
enum {
    CALL_FLAG_TUPLE = 1,  // the element is a tuple (wire/tuple.h), not one string
    CALL_FLAG_KEYED = 2,  // QUEUE_PUSH, VAR_ADD: a key goes before the payload
    CALL_FLAG_UP_TO = 4,  // QUEUE_POP_MANY: the remaining elements of a closed queue will do
    CALL_FLAG_CANCEL_PENDING = 8,  // QUEUE_CLOSE
    CALL_FLAG_BURY = 16,           // QUEUE_GIVE_BACK: to the dead letters, at once
    CALL_FLAG_UNBEGUN = 32,  // QUEUE_GIVE_BACK: no consumer has worked on it; it was not delivered
    CALL_FLAG_NOTES = 8,     // QUEUE_PEEK: why they failed, too
    CALL_FLAG_AHEAD =
        64,  // QUEUE_TAKE: no caller waits for it yet; refused where that would be visible
    CALL_FLAG_ONCE = 32,   // VAR_*: the payload begins with a struct call_item; counts once
    CALL_FLAG_OWNED = 64,  // KV_PUT: the key is removed with the session
    CALL_FLAG_IF = 128,    // KV_PUT, KV_REMOVE: only if the key has the given version
};

// Flags of answers.
enum {
    ANSWER_FLAG_TUPLE = 1,
    ANSWER_FLAG_SEEN = 2,       // OK, and nothing happened: the key or the item was used before
    ANSWER_FLAG_MISSED = 4,     // VAR_SWAP, KV_*: it is not as expected; the present value follows
    ANSWER_FLAG_COUNTED = 128,  // to a changing call: kept until the other side has confirmed it
    ANSWER_FLAG_ALL = 8,  // KV_WATCH: all entries instead of changes: too many changes were missed
    ANSWER_FLAG_MORE = 16,     // KV_RANGE, KV_WATCH with ALL: there is more after the last key
    ANSWER_FLAG_PLAIN = 2,     // QUEUE_TAKE: nothing is handed out ahead here
    ANSWER_FLAG_LIMITED = 32,  // QUEUE_TAKE: deliveries are counted here, and are limited
    ANSWER_FLAG_BURIED = 64,   // QUEUE_GIVE_BACK: it is among the dead letters now
};

struct call {
    uint8_t op, flags;
    uint16_t handle;
    uint64_t sequence;
    weft_bytes payload;  // borrowed
    weft_bytes whole;    // with its head: the bytes in the journal
};

struct answer {
    weft_err code;
    uint8_t flags;
    uint64_t sequence;
    weft_bytes payload;
};

// Which delivery of which element of which queue: DONE names it, and an add may be tagged with it.
struct call_item {
    uint64_t
        queue;  // unique forever: another host has another one, and so has a queue that was created again
    uint64_t id;        // of the element: 1, 2, 3, ...
    uint32_t slot;      // the place of the lease in the host
    uint32_t delivery;  // 1 for the first: a fence
};
enum { CALL_ITEM_BYTES = 24 };

// The kinds of resources; the numbers are in journals.
enum call_kind { CALL_KIND_QUEUE = 1, CALL_KIND_VAR = 2, CALL_KIND_KV = 3, CALL_KIND_BARRIER = 4 };

bool call_op_is_known(uint8_t op);
bool call_op_changes(uint8_t op);
const char *call_op_name(uint8_t op);  // "QUEUE_PUSH"

// Takes the first call (answer) off `bytes`; DATA_LOSS if it is not whole and sound.
MUST_CHECK weft_err call_next(weft_bytes *bytes, struct call *call);
MUST_CHECK weft_err answer_next(weft_bytes *bytes, struct answer *answer);

// Writes the head of a call (an answer) whose payload of `size` bytes follows; inline, there is one for each.
static inline void call_put_head(char to[CALL_HEAD_BYTES], uint8_t op_or_code, uint8_t flags,
                                 uint16_t handle, uint64_t sequence, size_t size)
{
    const uint32_t whole = (uint32_t)(CALL_HEAD_BYTES + size);
    memcpy(to, &whole, 4);
    to[4] = (char)op_or_code;
    to[5] = (char)flags;
    memcpy(to + 6, &handle, 2);
    memcpy(to + 8, &sequence, 8);
}

// Appends such a head, and makes room for the payload.
void call_append_head(struct buf *out, uint8_t op, uint8_t flags, uint16_t handle,
                      uint64_t sequence, size_t size);
void answer_append(struct buf *out, const struct answer *answer);

// The beginning of a frame of calls: the number of answers that its sender has received. False: it
// is cut.
void call_append_frame_head(struct buf *out, uint64_t answers_received);
MUST_CHECK bool call_take_frame_head(weft_bytes *frame, uint64_t *answers_received);

// The bytes of as many whole records, calls or answers, as fit into `limit`; at least of the first.
size_t call_size_of_batch(weft_bytes records, size_t limit);

#endif
