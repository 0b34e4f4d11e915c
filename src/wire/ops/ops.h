// ops: calls and their answers by name. Each kind has a header here that draws the layouts of its calls and has, for
// each, a struct with named members, a function that makes the call and one that reads it. Members, hosts, the command
// and replayed journals use these and nothing else: a layout is known in one place.
//
// A call is made as a struct ops_call: it holds the fixed values, and borrows keys and values, so a
// payload is copied once, to the place that it is sent from. Pushing, taking and adding are made
// inline: they are most of all calls. Values that are read borrow from the bytes. A function that
// reads returns false when the bytes are cut; the caller writes the message, because it knows whose
// bytes they are.
#ifndef WIRE_OPS_OPS_H
#define WIRE_OPS_OPS_H

#include "wire/call.h"

enum { OPS_HEAD_BYTES = 40, OPS_PARTS = 3 };

// A call that can be sent: the head, then `first`, then `second`.
struct ops_call {
    uint8_t op, flags;
    uint8_t head_size;
    char head[OPS_HEAD_BYTES];
    weft_bytes first, second;  // borrowed
};

// The payload's parts; they live as long as the call stays where it is.
static inline void ops_call_parts(const struct ops_call *call, weft_bytes parts[OPS_PARTS])
{
    parts[0].data = call->head;
    parts[0].size = call->head_size;
    parts[1].data = call->first.data;
    parts[1].size = call->first.size;
    parts[2].data = call->second.data;
    parts[2].size = call->second.size;
}

// Appends the payload.
static inline void ops_call_append(struct buf *out, const struct ops_call *call)
{
    buf_append(out, call->head, call->head_size);
    buf_append(out, call->first.data, call->first.size);
    buf_append(out, call->second.data, call->second.size);
}

// A call without operands.
static inline void ops_call_init(struct ops_call *call, uint8_t op, uint8_t flags)
{
    call->op = op;
    call->flags = flags;
    call->head_size = 0;
    call->first.data = call->second.data = NULL;
    call->first.size = call->second.size = 0;
}

// For the files of this folder: puts a value after those that are in the head.
static inline void ops_call_put(struct ops_call *call, const void *value, size_t size)
{
    memcpy(call->head + call->head_size, value, size);
    call->head_size = (uint8_t)(call->head_size + size);
}

static inline void ops_call_put_item(struct ops_call *call, const struct call_item *item)
{
    _Static_assert(sizeof *item == CALL_ITEM_BYTES, "as it is sent");
    ops_call_put(call, item, sizeof *item);
}

#endif
