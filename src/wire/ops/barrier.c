// Calls of a barrier as bytes.

#include "wire/ops/barrier.h"

#include "wire/pack.h"

void ops_barrier_attributes_encode(struct buf *out, const struct ops_barrier_attributes *from)
{
    pack_write_u32(out, from->count);
}

bool ops_barrier_attributes_decode(weft_bytes bytes, struct ops_barrier_attributes *to)
{
    struct pack_reader reader = {bytes, false};
    to->count = pack_read_u32(&reader);
    return pack_is_at_end(&reader);
}

void ops_barrier_wait_make(struct ops_call *call)
{
    ops_call_init(call, CALL_BARRIER_WAIT, 0);
}

void ops_barrier_opened_put(char to[OPS_BARRIER_OPENED_BYTES],
                            const struct ops_barrier_opened *from)
{
    memcpy(to, &from->generation, OPS_BARRIER_OPENED_BYTES);
}

bool ops_barrier_opened_decode(weft_bytes bytes, struct ops_barrier_opened *to)
{
    struct pack_reader reader = {bytes, false};
    to->generation = pack_read_u64(&reader);
    return !reader.has_failed;
}
