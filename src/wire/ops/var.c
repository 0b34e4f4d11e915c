// Calls of a variable as bytes.

#include "wire/ops/var.h"

#include "wire/pack.h"

void ops_var_attributes_encode(struct buf *out, const struct ops_var_attributes *from)
{
    ASSERT(from->rank <= TUPLE_RANK_MAX);
    pack_write_u8(out, from->dtype);
    pack_write_u8(out, from->rank);
    buf_append(out, from->dims, from->rank * sizeof *from->dims);
}

bool ops_var_attributes_decode(weft_bytes bytes, struct ops_var_attributes *to)
{
    struct pack_reader reader = {bytes, false};
    *to = (struct ops_var_attributes){.dtype = TUPLE_INT64};
    if (bytes.size == 0)
        return true;
    to->dtype = pack_read_u8(&reader);
    to->rank = pack_read_u8(&reader);
    if (to->rank > TUPLE_RANK_MAX)
        return false;
    for (unsigned i = 0; i < to->rank; i++)
        to->dims[i] = (int64_t)pack_read_u64(&reader);
    return pack_is_at_end(&reader);
}

void ops_var_read_make(struct ops_call *call)
{
    ops_call_init(call, CALL_VAR_READ, 0);
}

enum ops_var_cut ops_var_change_decode(const struct call *call, struct ops_var_change *to)
{
    struct pack_reader reader = {call->payload, false};
    *to = (struct ops_var_change){.op = call->op,
                                  .is_once = call->flags & CALL_FLAG_ONCE,
                                  .is_keyed = call->flags & CALL_FLAG_KEYED};
    if (to->is_once)
        pack_read_item(&reader, &to->item);
    if (reader.has_failed)
        return OPS_VAR_CUT_ITEM;
    if (to->is_keyed)
        to->key = pack_read_text(&reader);
    if (reader.has_failed)
        return OPS_VAR_CUT_KEY;
    if (to->op == CALL_VAR_SWAP)
        to->expected = pack_read_blob(&reader);
    to->value = reader.rest;
    return reader.has_failed ? OPS_VAR_CUT_EXPECTED : OPS_VAR_WHOLE;
}

void ops_var_watch_make(struct ops_call *call, const struct ops_var_watch *from)
{
    ops_call_init(call, CALL_VAR_WATCH, 0);
    ops_call_put(call, &from->known, sizeof from->known);
}

bool ops_var_watch_decode(weft_bytes bytes, struct ops_var_watch *to)
{
    struct pack_reader reader = {bytes, false};
    to->known = pack_read_u64(&reader);
    return pack_is_at_end(&reader);
}

bool ops_var_answer_decode(weft_bytes bytes, struct ops_var_answer *to)
{
    struct pack_reader reader = {bytes, false};
    to->version = pack_read_u64(&reader);
    to->value = reader.rest;
    return !reader.has_failed;
}
