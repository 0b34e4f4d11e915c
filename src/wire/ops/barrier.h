// The calls of a barrier.
//
//     attributes      u32 count
//     BARRIER_WAIT    -> u64 generation: 1 for the first `count` calls, 2 for the next, ...
#ifndef WIRE_OPS_BARRIER_H
#define WIRE_OPS_BARRIER_H

#include "wire/ops/ops.h"

struct ops_barrier_attributes {
    uint32_t count;  // of the calls that it waits for
};

struct ops_barrier_opened {
    uint64_t generation;
};

void ops_barrier_attributes_encode(struct buf *out, const struct ops_barrier_attributes *from);
MUST_CHECK bool ops_barrier_attributes_decode(weft_bytes bytes, struct ops_barrier_attributes *to);

void ops_barrier_wait_make(struct ops_call *call);

enum { OPS_BARRIER_OPENED_BYTES = 8 };
void ops_barrier_opened_put(char to[OPS_BARRIER_OPENED_BYTES],
                            const struct ops_barrier_opened *from);
MUST_CHECK bool ops_barrier_opened_decode(weft_bytes bytes, struct ops_barrier_opened *to);

#endif
