// Calls of a kv as bytes.

#include "wire/ops/kv.h"

#include "wire/pack.h"

static void put_key(struct ops_call *call, weft_bytes key)
{
    const uint16_t size = (uint16_t)key.size;
    ASSERT(key.size <= UINT16_MAX);
    ops_call_put(call, &size, sizeof size);
    call->first = key;
}

void ops_kv_get_make(struct ops_call *call, const struct ops_kv_get *from)
{
    ops_call_init(call, CALL_KV_GET, 0);
    put_key(call, from->key);
}

bool ops_kv_get_decode(weft_bytes bytes, struct ops_kv_get *to)
{
    struct pack_reader reader = {bytes, false};
    to->key = pack_read_text(&reader);
    return pack_is_at_end(&reader);
}

void ops_kv_change_make(struct ops_call *call, const struct ops_kv_change *from)
{
    ops_call_init(call, from->op,
                  (uint8_t)((from->has_expected ? CALL_FLAG_IF : 0) |
                            (from->is_owned ? CALL_FLAG_OWNED : 0)));
    if (from->has_expected)
        ops_call_put(call, &from->expected, sizeof from->expected);
    put_key(call, from->key);
    call->second = from->value;
}

bool ops_kv_change_decode(const struct call *call, struct ops_kv_change *to)
{
    struct pack_reader reader = {call->payload, false};
    *to = (struct ops_kv_change){.op = call->op,
                                 .has_expected = call->flags & CALL_FLAG_IF,
                                 .is_owned = call->flags & CALL_FLAG_OWNED};
    if (to->has_expected)
        to->expected = pack_read_u64(&reader);
    to->key = pack_read_text(&reader);
    to->value = reader.rest;
    return !reader.has_failed;
}

void ops_kv_range_encode(struct buf *out, const struct ops_kv_range *from)
{
    pack_write_text(out, from->from);
    pack_write_text(out, from->to);
    pack_write_u32(out, from->limit);
}

bool ops_kv_range_decode(weft_bytes bytes, struct ops_kv_range *to)
{
    struct pack_reader reader = {bytes, false};
    to->from = pack_read_text(&reader);
    to->to = pack_read_text(&reader);
    to->limit = pack_read_u32(&reader);
    return pack_is_at_end(&reader);
}

void ops_kv_watch_encode(struct buf *out, const struct ops_kv_watch *from)
{
    pack_write_text(out, from->prefix);
    pack_write_u64(out, from->known);
}

bool ops_kv_watch_decode(weft_bytes bytes, struct ops_kv_watch *to)
{
    struct pack_reader reader = {bytes, false};
    to->prefix = pack_read_text(&reader);
    to->known = pack_read_u64(&reader);
    return pack_is_at_end(&reader);
}

// ---- Answers -----------------------------------------------------------------------------------------------------

size_t ops_kv_got_size(const struct ops_kv_got *got)
{
    return sizeof got->version + 1 + got->value.size;
}

void ops_kv_got_put(char *to, const struct ops_kv_got *from)
{
    memcpy(to, &from->version, sizeof from->version);
    to[sizeof from->version] = from->is_owned;
    if (from->value.size)
        memcpy(to + sizeof from->version + 1, from->value.data, from->value.size);
}

bool ops_kv_got_decode(weft_bytes bytes, struct ops_kv_got *to)
{
    struct pack_reader reader = {bytes, false};
    to->version = pack_read_u64(&reader);
    to->is_owned = pack_read_u8(&reader);
    to->value = reader.rest;
    return !reader.has_failed;
}

size_t ops_kv_changed_size(const struct ops_kv_changed *changed)
{
    return sizeof changed->version + changed->value.size;
}

void ops_kv_changed_put(char *to, const struct ops_kv_changed *from)
{
    memcpy(to, &from->version, sizeof from->version);
    if (from->value.size)
        memcpy(to + sizeof from->version, from->value.data, from->value.size);
}

bool ops_kv_changed_decode(weft_bytes bytes, struct ops_kv_changed *to)
{
    struct pack_reader reader = {bytes, false};
    to->version = pack_read_u64(&reader);
    to->value = reader.rest;
    return !reader.has_failed;
}

void ops_kv_list_begin(struct buf *out, uint64_t revision)
{
    pack_write_u64(out, revision);
}

void ops_kv_list_set_revision(struct buf *out, uint64_t revision)
{
    if (!out->has_failed)
        memcpy(out->data, &revision, sizeof revision);
}

bool ops_kv_list_is_empty(const struct buf *list)
{
    return !list->has_failed && list->size <= sizeof(uint64_t);
}

void ops_kv_range_entry_encode(struct buf *out, const struct ops_kv_entry *from)
{
    pack_write_text(out, from->key);
    pack_write_u64(out, from->version);
    pack_write_u8(out, from->is_owned);
    pack_write_blob(out, from->value);
}

void ops_kv_watch_entry_encode(struct buf *out, const struct ops_kv_entry *from)
{
    pack_write_u8(out, (uint8_t)from->what);
    pack_write_text(out, from->key);
    pack_write_u64(out, from->version);
    pack_write_blob(out, from->value);
}

bool ops_kv_revision_next(weft_bytes *list, uint64_t *revision)
{
    struct pack_reader reader = {*list, false};
    *revision = pack_read_u64(&reader);
    *list = reader.rest;
    return !reader.has_failed;
}

bool ops_kv_range_entry_next(weft_bytes *list, struct ops_kv_entry *to)
{
    struct pack_reader reader = {*list, false};
    *to = (struct ops_kv_entry){.what = OPS_KV_PUT};
    to->key = pack_read_text(&reader);
    to->version = pack_read_u64(&reader);
    to->is_owned = pack_read_u8(&reader);
    to->value = pack_read_blob(&reader);
    *list = reader.rest;
    return !reader.has_failed;
}

bool ops_kv_watch_entry_next(weft_bytes *list, struct ops_kv_entry *to)
{
    struct pack_reader reader = {*list, false};
    *to = (struct ops_kv_entry){.what = OPS_KV_PUT};
    if (pack_read_u8(&reader) == OPS_KV_REMOVED)
        to->what = OPS_KV_REMOVED;
    to->key = pack_read_text(&reader);
    to->version = pack_read_u64(&reader);
    to->value = pack_read_blob(&reader);
    *list = reader.rest;
    return !reader.has_failed;
}
