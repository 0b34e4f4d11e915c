// Calls of a host itself as bytes.

#include "wire/ops/host.h"

#include "wire/pack.h"

void ops_open_encode(struct buf *out, const struct ops_open *from)
{
    pack_write_u8(out, from->kind);
    pack_write_text(out, from->container);
    pack_write_text(out, from->name);
    buf_append(out, from->attributes.data, from->attributes.size);
}

bool ops_open_decode(weft_bytes bytes, struct ops_open *to)
{
    struct pack_reader reader = {bytes, false};
    to->kind = pack_read_u8(&reader);
    to->container = pack_read_text(&reader);
    to->name = pack_read_text(&reader);
    to->attributes = reader.rest;
    return !reader.has_failed;
}

void ops_opened_encode(struct buf *out, const struct ops_opened *from)
{
    pack_write_u64(out, from->uid);
    pack_write_u64(out, from->epoch);
    buf_append(out, from->attributes.data, from->attributes.size);
}

bool ops_opened_decode(weft_bytes bytes, struct ops_opened *to)
{
    struct pack_reader reader = {bytes, false};
    to->uid = pack_read_u64(&reader);
    to->epoch = pack_read_u64(&reader);
    to->attributes = reader.rest;
    return !reader.has_failed;
}

void ops_list_make(struct ops_call *call)
{
    ops_call_init(call, CALL_LIST, 0);
}

void ops_listed_encode(struct buf *out, const struct ops_listed *from)
{
    pack_write_u8(out, from->kind);
    pack_write_text(out, from->container);
    pack_write_text(out, from->name);
}

bool ops_listed_next(weft_bytes *list, struct ops_listed *to)
{
    struct pack_reader reader = {*list, false};
    to->kind = pack_read_u8(&reader);
    to->container = pack_read_text(&reader);
    to->name = pack_read_text(&reader);
    *list = reader.rest;
    return !reader.has_failed;
}

void ops_remove_make(struct ops_call *call)
{
    ops_call_init(call, CALL_REMOVE, 0);
}

void ops_recall_make(struct ops_call *call, const struct ops_recall *from)
{
    ops_call_init(call, from->op, 0);
    ops_call_put(call, &from->sequence, sizeof from->sequence);
}

bool ops_recall_decode(const struct call *call, struct ops_recall *to)
{
    struct pack_reader reader = {call->payload, false};
    to->op = call->op;
    to->sequence = pack_read_u64(&reader);
    return !reader.has_failed;
}
