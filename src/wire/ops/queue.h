// The calls of a queue.
//
//     attributes         i64 capacity, u64 capacity in bytes, u32 deliveries, signature; none: no limits, texts
//     item               u64 queue, u64 id, u32 slot, u32 delivery
//     entry              u32 size, with CALL_TUPLE_BIT where it is a tuple; the element
//
//     QUEUE_PUSH         [text key,] element           -> nothing; SEEN: the key was here before
//     QUEUE_PUSH_MANY    u32 count, entries            -> nothing
//     QUEUE_POP          nothing                       -> element
//     QUEUE_POP_MANY     u32 count                     -> u32 count, entries
//     QUEUE_TAKE         u32 lease ms, 0: no end       -> item, element
//     QUEUE_TAKE_MANY    u32 count                     -> u32 count, {item, entry}
//     QUEUE_DONE         item                          -> nothing
//     QUEUE_EXTEND       item, u32 lease ms            -> nothing
//     QUEUE_GIVE_BACK    item, u32 delay ms [, u64 when in seconds of the calendar [, text why]]
//                                                      -> nothing; BURIED: it is among the dead letters now
//     QUEUE_CLOSE        nothing                       -> nothing
//     QUEUE_STATE        nothing                       -> u64 count, u64 bytes, u64 last id, u64 leases, u32 givers,
//                                                         u32 takers, u8 is closed
//     QUEUE_PEEK         u32 count                     -> {u64 id, u32 deliveries, u8 is tuple, blob element}; with
//                                                         NOTES after each u8, and if it is 1 a note:
//                                                         u64 when, u32 deliveries, text why
//     QUEUE_RETRY        u64 count, 0: all             -> u64 how many there were
#ifndef WIRE_OPS_QUEUE_H
#define WIRE_OPS_QUEUE_H

#include "wire/ops/ops.h"

struct ops_queue_attributes {
    int64_t capacity;         // elements; negative: no limit
    uint64_t capacity_bytes;  // 0: no limit
    uint32_t deliveries_max;  // of one element, then it goes to the dead letters; 0: no limit
    weft_bytes signature;     // wire/tuple.h; empty: texts
};

struct ops_queue_push {
    bool is_tuple;
    weft_bytes key;  // empty: none
    weft_bytes element;
};

// QUEUE_PUSH_MANY.
struct ops_queue_list {
    uint32_t count;
    weft_bytes entries;
};

// QUEUE_TAKE.
struct ops_queue_take {
    bool is_ahead;
    uint32_t lease_ms;
};

// QUEUE_POP_MANY, QUEUE_TAKE_MANY.
struct ops_queue_take_many {
    uint8_t op;
    bool up_to;
    uint32_t count;
};

// QUEUE_DONE, QUEUE_EXTEND, QUEUE_GIVE_BACK.
struct ops_queue_settle {
    uint8_t op;
    bool is_buried, is_unbegun;  // of a give back
    struct call_item item;
    uint32_t ms;        // of an extend and a give back
    bool has_when;      // of a give back; with a reason there is one
    uint64_t when_s;    // 0: not known
    weft_bytes reason;  // empty: none
};

struct ops_queue_retry {
    uint64_t count;
};

struct ops_queue_peek {
    uint32_t count;
    bool with_notes;
};

// The answer to QUEUE_TAKE, or an entry of that to QUEUE_TAKE_MANY.
struct ops_queue_taken {
    struct call_item item;
    bool is_tuple;  // of an entry; elsewhere the answer's flag has it
    weft_bytes element;
};

struct ops_queue_state {
    uint64_t count, bytes, last_id, leases;
    uint32_t givers, takers;
    bool is_closed;
};

// Why an element was not done.
struct ops_queue_note {
    uint64_t when_s;  // 0: not known
    uint32_t deliveries;
    weft_bytes reason;
};

// A stored element, in the answer to QUEUE_PEEK and in snapshots.
struct ops_queue_stored {
    uint64_t id;
    uint32_t deliveries;
    bool is_tuple;
    weft_bytes element;
};

enum { OPS_QUEUE_ENTRY_BYTES = 4, OPS_QUEUE_COUNT_BYTES = 4 };

// ---- Attributes --------------------------------------------------------------------------------------------------

void ops_queue_attributes_encode(struct buf *out, const struct ops_queue_attributes *from);
MUST_CHECK bool ops_queue_attributes_decode(weft_bytes bytes, struct ops_queue_attributes *to);

// ---- Calls -------------------------------------------------------------------------------------------------------

static inline void ops_queue_push_make(struct ops_call *call, const struct ops_queue_push *from)
{
    const uint16_t size = (uint16_t)from->key.size;
    ASSERT(from->key.size <= UINT16_MAX);
    ops_call_init(call, CALL_QUEUE_PUSH,
                  (uint8_t)((from->is_tuple ? CALL_FLAG_TUPLE : 0) | (size ? CALL_FLAG_KEYED : 0)));
    if (size)
        ops_call_put(call, &size, sizeof size);
    call->first = from->key;
    call->second = from->element;
}

// False: the key is empty or cut. Inline, because every push uses it.
MUST_CHECK static inline bool ops_queue_push_decode(weft_bytes bytes, uint8_t flags,
                                                    struct ops_queue_push *to)
{
    uint16_t size = 0;
    *to = (struct ops_queue_push){.is_tuple = flags & CALL_FLAG_TUPLE, .element = bytes};
    if (!(flags & CALL_FLAG_KEYED))
        return true;
    if (bytes.size >= sizeof size)
        memcpy(&size, bytes.data, sizeof size);
    if (size == 0 || bytes.size < sizeof size + size)
        return false;
    to->key = (weft_bytes){bytes.data + sizeof size, size};
    to->element = (weft_bytes){bytes.data + sizeof size + size, bytes.size - sizeof size - size};
    return true;
}

void ops_queue_push_many_make(struct ops_call *call, const struct ops_queue_list *from);

// Only the count is checked: the entries may be anything.
MUST_CHECK bool ops_queue_push_many_decode(weft_bytes bytes, struct ops_queue_list *to);

static inline void ops_queue_pop_make(struct ops_call *call)
{
    ops_call_init(call, CALL_QUEUE_POP, 0);
}

static inline void ops_queue_take_make(struct ops_call *call, const struct ops_queue_take *from)
{
    ops_call_init(call, CALL_QUEUE_TAKE, from->is_ahead ? CALL_FLAG_AHEAD : 0);
    ops_call_put(call, &from->lease_ms, sizeof from->lease_ms);
}

MUST_CHECK bool ops_queue_take_decode(const struct call *call, struct ops_queue_take *to);
void ops_queue_take_many_make(struct ops_call *call, const struct ops_queue_take_many *from);
MUST_CHECK bool ops_queue_take_many_decode(const struct call *call, struct ops_queue_take_many *to);

static inline void ops_queue_settle_make(struct ops_call *call, const struct ops_queue_settle *from)
{
    const uint16_t size = (uint16_t)from->reason.size;
    const bool gives_back = from->op == CALL_QUEUE_GIVE_BACK;
    ASSERT(from->reason.size <= UINT16_MAX);
    ops_call_init(call, from->op,
                  (uint8_t)((gives_back && from->is_buried ? CALL_FLAG_BURY : 0) |
                            (gives_back && from->is_unbegun ? CALL_FLAG_UNBEGUN : 0)));
    ops_call_put_item(call, &from->item);
    if (from->op != CALL_QUEUE_DONE)
        ops_call_put(call, &from->ms, sizeof from->ms);
    if (!gives_back || !(from->has_when || size))
        return;
    ops_call_put(call, &from->when_s, sizeof from->when_s);
    if (size) {
        ops_call_put(call, &size, sizeof size);
        call->first = from->reason;
    }
}

MUST_CHECK bool ops_queue_settle_decode(const struct call *call, struct ops_queue_settle *to);

void ops_queue_close_make(struct ops_call *call, bool cancels_pending);
void ops_queue_state_make(struct ops_call *call);
void ops_queue_retry_make(struct ops_call *call, const struct ops_queue_retry *from);
MUST_CHECK bool ops_queue_retry_decode(weft_bytes bytes, struct ops_queue_retry *to);
void ops_queue_peek_make(struct ops_call *call, const struct ops_queue_peek *from);
MUST_CHECK bool ops_queue_peek_decode(const struct call *call, struct ops_queue_peek *to);

// ---- Lists of elements -------------------------------------------------------------------------------------------

void ops_queue_entry_encode(struct buf *out, weft_bytes element, bool is_tuple);

// Whether these are `count` whole entries and nothing else.
MUST_CHECK bool ops_queue_has_entries(weft_bytes entries, uint32_t count);

// Takes the next entry off entries that were checked.
static inline weft_bytes ops_queue_entry_next(weft_bytes *entries, bool *is_tuple)
{
    uint32_t size;
    memcpy(&size, entries->data, OPS_QUEUE_ENTRY_BYTES);
    *is_tuple = size & CALL_TUPLE_BIT;
    size &= ~CALL_TUPLE_BIT;
    const weft_bytes element = {entries->data + OPS_QUEUE_ENTRY_BYTES, size};
    entries->data += OPS_QUEUE_ENTRY_BYTES + size;
    entries->size -= OPS_QUEUE_ENTRY_BYTES + size;
    return element;
}

// ---- Answers -----------------------------------------------------------------------------------------------------

// In place: the answer to QUEUE_TAKE, of CALL_ITEM_BYTES and the element; and the count and the entries of those to
// QUEUE_POP_MANY and, with an item, QUEUE_TAKE_MANY. Return where the next goes.
static inline char *ops_queue_item_put(char *to, const struct call_item *item)
{
    _Static_assert(sizeof *item == CALL_ITEM_BYTES, "as it is sent");
    memcpy(to, item, sizeof *item);
    return to + sizeof *item;
}

static inline void ops_queue_taken_put(char *to, const struct ops_queue_taken *from)
{
    to = ops_queue_item_put(to, &from->item);
    if (from->element.size)
        memcpy(to, from->element.data, from->element.size);
}

char *ops_queue_count_put(char *to, uint32_t count);
char *ops_queue_entry_put(char *to, weft_bytes element, bool is_tuple);

static inline MUST_CHECK bool ops_queue_taken_decode(weft_bytes bytes, struct ops_queue_taken *to)
{
    if (bytes.size < CALL_ITEM_BYTES)
        return false;
    memcpy(&to->item, bytes.data, CALL_ITEM_BYTES);
    to->is_tuple = false;
    to->element = (weft_bytes){bytes.data + CALL_ITEM_BYTES, bytes.size - CALL_ITEM_BYTES};
    return true;
}

MUST_CHECK bool ops_queue_count_next(weft_bytes *list, uint32_t *count);
MUST_CHECK bool ops_queue_popped_next(weft_bytes *list, bool *is_tuple, weft_bytes *element);
MUST_CHECK bool ops_queue_taken_next(weft_bytes *list, struct ops_queue_taken *to);

void ops_queue_state_encode(struct buf *out, const struct ops_queue_state *from);
MUST_CHECK bool ops_queue_state_decode(weft_bytes bytes, struct ops_queue_state *to);

void ops_queue_stored_encode(struct buf *out, const struct ops_queue_stored *from);
MUST_CHECK bool ops_queue_stored_next(weft_bytes *list, struct ops_queue_stored *to);
void ops_queue_note_encode(struct buf *out, const struct ops_queue_note *from);
MUST_CHECK bool ops_queue_note_next(weft_bytes *list, struct ops_queue_note *to);

// Follows an element in the answer to a QUEUE_PEEK with notes; NULL, or false in *has_note: it has
// none.
void ops_queue_peeked_note_encode(struct buf *out, const struct ops_queue_note *from);
MUST_CHECK bool ops_queue_peeked_note_next(weft_bytes *list, bool *has_note,
                                           struct ops_queue_note *to);

enum { OPS_QUEUE_RETRIED_BYTES = 8 };
void ops_queue_retried_put(char to[OPS_QUEUE_RETRIED_BYTES], uint64_t count);
MUST_CHECK bool ops_queue_retried_decode(weft_bytes bytes, uint64_t *count);

#endif
