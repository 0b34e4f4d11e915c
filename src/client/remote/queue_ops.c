// Queues by their handle: for queue.c, for callers that take many items, and for the command line.

#include "client/item/item.h"
#include "client/remote/ops.h"

weft_err remote_queue_describe(struct buf *out, const weft_queue_options *options)
{
    if (options->capacity == 0 && options->capacity_bytes == 0 && options->deliveries_max == 0 &&
        options->type_count == 0)
        return WEFT_OK;
    ops_queue_attributes_encode(out, &(struct ops_queue_attributes){
                                         .capacity = options->capacity > 0 ? options->capacity : -1,
                                         .capacity_bytes = options->capacity_bytes,
                                         .deliveries_max = options->deliveries_max,
                                     });
    return options->type_count ? item_append_types(out, options->types, options->type_count)
                               : WEFT_OK;
}

uint32_t remote_queue_deliveries_max(const struct remote *queue)
{
    struct ops_queue_attributes attributes;
    return ops_queue_attributes_decode(buf_bytes(&queue->found), &attributes)
               ? attributes.deliveries_max
               : 0;
}

weft_err remote_queue_state(struct remote *queue, weft_queue_state *state)
{
    struct ops_call op;
    struct ops_queue_state is;
    struct peer_call call = {0};
    *state = (weft_queue_state){0};
    ops_queue_state_make(&op);
    weft_err err = remote_ask(queue, &op, &call);
    if (!err && !ops_queue_state_decode(buf_bytes(&call.answer), &is))
        err = err_set(WEFT_DATA_LOSS, "the answer is cut");
    if (!err)
        *state = (weft_queue_state){.size = is.count,
                                    .bytes = is.bytes,
                                    .pushed_count = is.last_id,
                                    .leased_count = is.leases,
                                    .pusher_count = is.givers,
                                    .taker_count = is.takers,
                                    .is_closed = is.is_closed};
    peer_call_fini(&call);
    return err;
}

weft_err remote_queue_start_push(struct remote *queue, const struct ops_queue_push *push,
                                 struct peer_call *call)
{
    struct ops_call op;
    if (push->key.size > CALL_NAME_BYTES_MAX)
        return member_keep_error(queue->cluster,
                                 err_set(WEFT_INVALID_ARGUMENT,
                                         "a key of %zu bytes is too long: at most %u",
                                         push->key.size, CALL_NAME_BYTES_MAX));
    ops_queue_push_make(&op, push);
    return remote_start(queue, &op, call);
}

void remote_batch_add(struct remote_batch *batch, weft_bytes element)
{
    ops_queue_entry_encode(&batch->entries, element, false);
    batch->count++;
}

void remote_batch_fini(struct remote_batch *batch)
{
    buf_fini(&batch->entries);
    batch->count = 0;
}

static void make_batch(struct ops_call *op, const struct remote_batch *batch)
{
    ops_queue_push_many_make(op,
                             &(struct ops_queue_list){batch->count, buf_bytes(&batch->entries)});
}

weft_err remote_queue_start_batch(struct remote *queue, const struct remote_batch *batch,
                                  struct peer_call *call)
{
    struct ops_call op;
    if (batch->entries.has_failed)
        return err_no_memory("for items");
    make_batch(&op, batch);
    return remote_start(queue, &op, call);
}

weft_err remote_queue_push_batch(struct remote *queue, const struct remote_batch *batch,
                                 struct peer_call *call)
{
    struct ops_call op;
    if (batch->entries.has_failed)
        return err_no_memory("for %u elements", batch->count);
    make_batch(&op, batch);
    return remote_ask(queue, &op, call);
}

weft_err remote_queue_start_take(struct remote *queue, uint32_t lease_ms, struct peer_call *call)
{
    struct ops_call op;
    ops_queue_take_make(&op, &(struct ops_queue_take){.lease_ms = lease_ms});
    return remote_start(queue, &op, call);
}

weft_err remote_queue_start_settling(struct remote *queue, const struct ops_queue_settle *settle,
                                     struct peer_call *call)
{
    struct ops_call op;
    ops_queue_settle_make(&op, settle);
    return remote_start(queue, &op, call);
}

void remote_queue_tell_unbegun(struct remote *queue, const struct call_item *item)
{
    struct ops_call op;
    ops_queue_settle_make(&op, &(struct ops_queue_settle){
                                   .op = CALL_QUEUE_GIVE_BACK, .is_unbegun = true, .item = *item});
    remote_tell(queue, &op);
}

weft_err remote_queue_peek(struct remote *queue, const struct ops_queue_peek *wish,
                           struct remote_peek *peek)
{
    struct ops_call op;
    ops_queue_peek_make(&op, wish);
    const weft_err err = remote_ask(queue, &op, &peek->call);
    peek->with_notes = wish->with_notes;
    peek->rest = err ? weft_none() : buf_bytes(&peek->call.answer);
    return err;
}

weft_err remote_peek_next(struct remote_peek *peek, struct remote_peeked *next)
{
    next->has_note = false;
    if (peek->rest.size == 0)
        return WEFT_OUT_OF_RANGE;
    return ops_queue_stored_next(&peek->rest, &next->stored) &&
                   (!peek->with_notes ||
                    ops_queue_peeked_note_next(&peek->rest, &next->has_note, &next->note))
               ? WEFT_OK
               : err_set(WEFT_DATA_LOSS, "the answer is cut");
}

void remote_peek_fini(struct remote_peek *peek)
{
    peer_call_fini(&peek->call);
}

weft_err remote_queue_close(struct remote *queue, bool cancels_pending)
{
    struct ops_call op;
    struct peer_call call = {0};
    ops_queue_close_make(&op, cancels_pending);
    const weft_err err = remote_ask_within(queue, queue->timeout_ms, &op, &call);
    peer_call_fini(&call);
    return err;
}

weft_err remote_queue_retry(struct remote *queue, uint64_t count, uint64_t *moved)
{
    struct ops_call op;
    struct peer_call call = {0};
    ops_queue_retry_make(&op, &(struct ops_queue_retry){count});
    weft_err err = remote_ask(queue, &op, &call);
    if (!err && !ops_queue_retried_decode(buf_bytes(&call.answer), moved))
        err = err_set(WEFT_DATA_LOSS, "the answer is cut");
    peer_call_fini(&call);
    return err;
}
