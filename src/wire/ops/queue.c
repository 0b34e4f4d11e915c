// Calls of a queue as bytes.

#include "wire/ops/queue.h"

#include "wire/pack.h"

void ops_queue_attributes_encode(struct buf *out, const struct ops_queue_attributes *from)
{
    pack_write_u64(out, (uint64_t)from->capacity);
    pack_write_u64(out, from->capacity_bytes);
    pack_write_u32(out, from->deliveries_max);
    buf_append(out, from->signature.data, from->signature.size);
}

bool ops_queue_attributes_decode(weft_bytes bytes, struct ops_queue_attributes *to)
{
    struct pack_reader reader = {bytes, false};
    *to = (struct ops_queue_attributes){.capacity = -1};
    if (bytes.size == 0)
        return true;
    to->capacity = (int64_t)pack_read_u64(&reader);
    to->capacity_bytes = pack_read_u64(&reader);
    to->deliveries_max = pack_read_u32(&reader);
    to->signature = reader.rest;
    return !reader.has_failed;
}

// ---- Calls -------------------------------------------------------------------------------------------------------

void ops_queue_push_many_make(struct ops_call *call, const struct ops_queue_list *from)
{
    ops_call_init(call, CALL_QUEUE_PUSH_MANY, 0);
    ops_call_put(call, &from->count, sizeof from->count);
    call->first = from->entries;
}

bool ops_queue_push_many_decode(weft_bytes bytes, struct ops_queue_list *to)
{
    to->entries = bytes;
    return ops_queue_count_next(&to->entries, &to->count);
}

bool ops_queue_take_decode(const struct call *call, struct ops_queue_take *to)
{
    struct pack_reader reader = {call->payload, false};
    to->is_ahead = call->flags & CALL_FLAG_AHEAD;
    to->lease_ms = pack_read_u32(&reader);
    return !reader.has_failed;
}

void ops_queue_take_many_make(struct ops_call *call, const struct ops_queue_take_many *from)
{
    ops_call_init(call, from->op, from->up_to ? CALL_FLAG_UP_TO : 0);
    ops_call_put(call, &from->count, sizeof from->count);
}

bool ops_queue_take_many_decode(const struct call *call, struct ops_queue_take_many *to)
{
    struct pack_reader reader = {call->payload, false};
    to->op = call->op;
    to->up_to = call->flags & CALL_FLAG_UP_TO;
    to->count = pack_read_u32(&reader);
    return !reader.has_failed;
}

bool ops_queue_settle_decode(const struct call *call, struct ops_queue_settle *to)
{
    struct pack_reader reader = {call->payload, false};
    *to = (struct ops_queue_settle){.op = call->op,
                                    .is_buried = call->flags & CALL_FLAG_BURY,
                                    .is_unbegun = call->flags & CALL_FLAG_UNBEGUN};
    pack_read_item(&reader, &to->item);
    if (to->op != CALL_QUEUE_DONE)
        to->ms = pack_read_u32(&reader);
    to->has_when = to->op == CALL_QUEUE_GIVE_BACK && reader.rest.size;
    if (to->has_when)
        to->when_s = pack_read_u64(&reader);
    if (to->has_when && reader.rest.size)
        to->reason = pack_read_text(&reader);
    return !reader.has_failed;
}

void ops_queue_close_make(struct ops_call *call, bool cancels_pending)
{
    ops_call_init(call, CALL_QUEUE_CLOSE, cancels_pending ? CALL_FLAG_CANCEL_PENDING : 0);
}

void ops_queue_state_make(struct ops_call *call)
{
    ops_call_init(call, CALL_QUEUE_STATE, 0);
}

void ops_queue_retry_make(struct ops_call *call, const struct ops_queue_retry *from)
{
    ops_call_init(call, CALL_QUEUE_RETRY, 0);
    ops_call_put(call, &from->count, sizeof from->count);
}

bool ops_queue_retry_decode(weft_bytes bytes, struct ops_queue_retry *to)
{
    struct pack_reader reader = {bytes, false};
    to->count = pack_read_u64(&reader);
    return !reader.has_failed;
}

void ops_queue_peek_make(struct ops_call *call, const struct ops_queue_peek *from)
{
    ops_call_init(call, CALL_QUEUE_PEEK, from->with_notes ? CALL_FLAG_NOTES : 0);
    ops_call_put(call, &from->count, sizeof from->count);
}

bool ops_queue_peek_decode(const struct call *call, struct ops_queue_peek *to)
{
    struct pack_reader reader = {call->payload, false};
    to->with_notes = call->flags & CALL_FLAG_NOTES;
    to->count = pack_read_u32(&reader);
    return !reader.has_failed;
}

// ---- Lists of elements -------------------------------------------------------------------------------------------

void ops_queue_entry_encode(struct buf *out, weft_bytes element, bool is_tuple)
{
    ASSERT(element.size < CALL_TUPLE_BIT);
    pack_write_u32(out, (uint32_t)element.size | (is_tuple ? CALL_TUPLE_BIT : 0));
    buf_append(out, element.data, element.size);
}

bool ops_queue_popped_next(weft_bytes *list, bool *is_tuple, weft_bytes *element)
{
    struct pack_reader reader = {*list, false};
    const uint32_t size = pack_read_u32(&reader);
    *is_tuple = size & CALL_TUPLE_BIT;
    *element = pack_read_bytes(&reader, size & ~CALL_TUPLE_BIT);
    *list = reader.rest;
    return !reader.has_failed;
}

bool ops_queue_has_entries(weft_bytes entries, uint32_t count)
{
    bool is_whole = true, is_tuple;
    weft_bytes element;
    for (; count > 0 && is_whole; count--)
        is_whole = ops_queue_popped_next(&entries, &is_tuple, &element);
    return is_whole && entries.size == 0;
}

// ---- Answers -----------------------------------------------------------------------------------------------------

char *ops_queue_count_put(char *to, uint32_t count)
{
    memcpy(to, &count, OPS_QUEUE_COUNT_BYTES);
    return to + OPS_QUEUE_COUNT_BYTES;
}

char *ops_queue_entry_put(char *to, weft_bytes element, bool is_tuple)
{
    const uint32_t head = (uint32_t)element.size | (is_tuple ? CALL_TUPLE_BIT : 0);
    memcpy(to, &head, OPS_QUEUE_ENTRY_BYTES);
    to += OPS_QUEUE_ENTRY_BYTES;
    if (element.size)
        memcpy(to, element.data, element.size);
    return to + element.size;
}

bool ops_queue_count_next(weft_bytes *list, uint32_t *count)
{
    struct pack_reader reader = {*list, false};
    *count = pack_read_u32(&reader);
    *list = reader.rest;
    return !reader.has_failed;
}

bool ops_queue_taken_next(weft_bytes *list, struct ops_queue_taken *to)
{
    struct pack_reader reader = {*list, false};
    pack_read_item(&reader, &to->item);
    *list = reader.rest;
    return !reader.has_failed && ops_queue_popped_next(list, &to->is_tuple, &to->element);
}

void ops_queue_state_encode(struct buf *out, const struct ops_queue_state *from)
{
    pack_write_u64(out, from->count);
    pack_write_u64(out, from->bytes);
    pack_write_u64(out, from->last_id);
    pack_write_u64(out, from->leases);
    pack_write_u32(out, from->givers);
    pack_write_u32(out, from->takers);
    pack_write_u8(out, from->is_closed);
}

bool ops_queue_state_decode(weft_bytes bytes, struct ops_queue_state *to)
{
    struct pack_reader reader = {bytes, false};
    to->count = pack_read_u64(&reader);
    to->bytes = pack_read_u64(&reader);
    to->last_id = pack_read_u64(&reader);
    to->leases = pack_read_u64(&reader);
    to->givers = pack_read_u32(&reader);
    to->takers = pack_read_u32(&reader);
    to->is_closed = pack_read_u8(&reader);
    return !reader.has_failed;
}

void ops_queue_stored_encode(struct buf *out, const struct ops_queue_stored *from)
{
    pack_write_u64(out, from->id);
    pack_write_u32(out, from->deliveries);
    pack_write_u8(out, from->is_tuple);
    pack_write_blob(out, from->element);
}

bool ops_queue_stored_next(weft_bytes *list, struct ops_queue_stored *to)
{
    struct pack_reader reader = {*list, false};
    to->id = pack_read_u64(&reader);
    to->deliveries = pack_read_u32(&reader);
    to->is_tuple = pack_read_u8(&reader);
    to->element = pack_read_blob(&reader);
    *list = reader.rest;
    return !reader.has_failed;
}

void ops_queue_note_encode(struct buf *out, const struct ops_queue_note *from)
{
    pack_write_u64(out, from->when_s);
    pack_write_u32(out, from->deliveries);
    pack_write_text(out, from->reason);
}

bool ops_queue_note_next(weft_bytes *list, struct ops_queue_note *to)
{
    struct pack_reader reader = {*list, false};
    to->when_s = pack_read_u64(&reader);
    to->deliveries = pack_read_u32(&reader);
    to->reason = pack_read_text(&reader);
    *list = reader.rest;
    return !reader.has_failed;
}

void ops_queue_peeked_note_encode(struct buf *out, const struct ops_queue_note *from)
{
    pack_write_u8(out, from != NULL);
    if (from)
        ops_queue_note_encode(out, from);
}

bool ops_queue_peeked_note_next(weft_bytes *list, bool *has_note, struct ops_queue_note *to)
{
    struct pack_reader reader = {*list, false};
    *has_note = pack_read_u8(&reader);
    *list = reader.rest;
    return !reader.has_failed && (!*has_note || ops_queue_note_next(list, to));
}

void ops_queue_retried_put(char to[OPS_QUEUE_RETRIED_BYTES], uint64_t count)
{
    memcpy(to, &count, OPS_QUEUE_RETRIED_BYTES);
}

bool ops_queue_retried_decode(weft_bytes bytes, uint64_t *count)
{
    struct pack_reader reader = {bytes, false};
    *count = pack_read_u64(&reader);
    return !reader.has_failed;
}
