// Queues as a program sees them.

#include <stdlib.h>

#include "client/item.h"
#include "client/keeper.h"
#include "client/prefetch.h"
#include "client/remote_call.h"
#include "sys/clock.h"
#include "wire/pack.h"

struct weft_queue {
    struct remote remote;  // first
    uint32_t lease_ms;
    struct prefetch prefetch;
};

// ---- Opening ---------------------------------------------------------------------------------------------

static weft_err write_attributes(struct buf *out, const weft_queue_options *options)
{
    if (options->capacity == 0 && options->capacity_bytes == 0 && options->deliveries_max == 0 &&
        options->type_count == 0)
        return WEFT_OK;
    pack_write_u64(out, (uint64_t)(options->capacity > 0 ? options->capacity : -1));
    pack_write_u64(out, options->capacity_bytes);
    pack_write_u32(out, options->deliveries_max);
    return options->type_count ? item_append_types(out, options->types, options->type_count)
                               : WEFT_OK;
}

weft_queue *weft_queue_open_sized(weft_cluster *cluster, const char *path,
                                  const weft_queue_options *options, size_t options_size)
{
    weft_queue_options all;
    struct buf attributes = {0};
    weft_queue *queue = calloc(1, sizeof *queue);
    if (!queue) {
        err_no_memory("for a queue");
        return NULL;
    }
    prefetch_init(&queue->prefetch, &queue->remote);
    weft_err err = sized_take(&all, sizeof all, options, options_size, "weft_queue_options");
    queue->lease_ms = all.lease_ms;
    queue->remote.timeout_ms = all.timeout_ms;
    if (!err)
        err = write_attributes(&attributes, &all);
    err = member_keep_error(cluster, err_wrap(err, "%s", path));
    if (!err)
        err = remote_open(cluster, path, CALL_KIND_QUEUE, buf_bytes(&attributes), &queue->remote);
    buf_fini(&attributes);
    if (!err) {
        keeper_add(cluster, &queue->prefetch);
        return queue;
    }
    weft_queue_free(queue);
    return NULL;
}

void weft_queue_free(weft_queue *queue)
{
    struct err_kept kept;
    if (!queue)
        return;
    err_keep(&kept);
    prefetch_fini(&queue->prefetch);
    remote_fini(&queue->remote);
    err_put_back(&kept);
    free(queue);
}

weft_err weft_queue_error(const weft_queue *queue)
{
    return queue ? queue->remote.failure : member_no_handle();
}

// ---- Pushing ---------------------------------------------------------------------------------------------

static weft_err start_push(weft_queue *queue, weft_bytes data, weft_bytes key, uint8_t flags,
                           struct peer_call *call)
{
    const uint16_t key_size = (uint16_t)key.size;
    if (key.size > CALL_NAME_BYTES_MAX)
        return member_keep_error(queue->remote.cluster,
                                 err_set(WEFT_INVALID_ARGUMENT, "a key of %zu bytes: at most %u go",
                                         key.size, CALL_NAME_BYTES_MAX));
    const weft_bytes parts[] = {{(const char *)&key_size, sizeof key_size}, key, data};
    return key.size ? remote_start(&queue->remote, CALL_QUEUE_PUSH, flags | CALL_FLAG_KEYED, parts,
                                   3, call)
                    : remote_start(&queue->remote, CALL_QUEUE_PUSH, flags, parts + 2, 1, call);
}

static weft_err push(weft_queue *queue, weft_bytes data, weft_bytes key, uint8_t flags)
{
    struct peer_call call = {0};
    weft_err err = start_push(queue, data, key, flags, &call);
    if (!err)
        err = remote_keep_error(&queue->remote,
                                remote_finish(&queue->remote, &call, queue->remote.timeout_ms));
    peer_call_fini(&call);
    return err;
}

weft_err weft_push(weft_queue *queue, weft_bytes data, weft_bytes key)
{
    return queue ? push(queue, data, key, 0) : member_no_handle();
}

weft_err weft_push_tuple(weft_queue *queue, const weft_tensor *components, size_t count,
                         weft_bytes key)
{
    if (!queue)
        return member_no_handle();
    struct buf tuple = {0};
    weft_err err = item_append_tuple(&tuple, components, count);
    if (!err && tuple.has_failed)
        err = err_no_memory("for an element");
    err = member_keep_error(queue->remote.cluster, err_wrap(err, "%s", queue->remote.path));
    if (!err)
        err = push(queue, buf_bytes(&tuple), key, CALL_FLAG_TUPLE);
    buf_fini(&tuple);
    return err;
}

weft_call *weft_push_start(weft_queue *queue, weft_bytes data, weft_bytes key)
{
    weft_call *call = remote_call_new(queue ? &queue->remote : NULL);
    return call ? remote_call_started(call, start_push(queue, data, key, 0, &call->call)) : NULL;
}

weft_err weft_push_many(weft_queue *queue, const weft_bytes *data, size_t count)
{
    if (!queue || (!data && count))
        return member_no_handle();
    struct buf list = {0};
    struct peer_call call = {0};
    pack_write_u32(&list, (uint32_t)count);
    for (size_t i = 0; i < count && list.size <= CALL_BYTES_MAX; i++)
        pack_write_blob(&list, data[i]);
    weft_err err =
        list.has_failed || count > UINT32_MAX ? err_no_memory("for %zu elements", count) : WEFT_OK;
    const weft_bytes part = buf_bytes(&list);
    if (!err)
        err = remote_ask(&queue->remote, CALL_QUEUE_PUSH_MANY, 0, &part, 1, &call);
    peer_call_fini(&call);
    buf_fini(&list);
    return err;
}

// What a call says that settles a lease.
struct settlement {
    uint8_t op;
    char named[CALL_ITEM_BYTES];
    char rest[12];  // milliseconds, and of a give back when, in seconds of the calendar
    weft_bytes parts[2];
};

static void draw_up(struct settlement *settlement, uint8_t op, const weft_item *item, uint32_t ms)
{
    const struct call_item name = item_name(item);
    const bool gives_back = op == CALL_QUEUE_GIVE_BACK;
    const uint64_t when_s = gives_back ? (uint64_t)clock_calendar_s() : 0;
    settlement->op = op;
    memcpy(settlement->rest, &ms, sizeof ms);
    memcpy(settlement->rest + sizeof ms, &when_s, sizeof when_s);
    pack_put_item(settlement->named, &name);
    settlement->parts[0] = (weft_bytes){settlement->named, sizeof settlement->named};
    settlement->parts[1] = (weft_bytes){settlement->rest, gives_back ? sizeof settlement->rest
                                                          : op == CALL_QUEUE_DONE ? 0
                                                                                  : sizeof ms};
}

// ---- Taking ----------------------------------------------------------------------------------------------

// The answer's memory becomes the item's, which needs a zero behind its data.
static weft_err fill_item(struct peer_call *call, size_t head_bytes, weft_item *item)
{
    if (call->flags & ANSWER_FLAG_TUPLE)
        return item_copy(
            (weft_bytes){call->answer.data + head_bytes, call->answer.size - head_bytes}, true,
            item);
    buf_text(&call->answer);
    if (call->answer.has_failed)
        return err_no_memory("for an element");
    item->memory_ = call->answer.data;
    item->data = call->answer.data + head_bytes;
    item->size = call->answer.size - head_bytes;
    call->answer = (struct buf){0};
    return WEFT_OK;
}

weft_err remote_take_item(struct peer_call *call, weft_item *item)
{
    struct pack_reader reader = {buf_bytes(&call->answer), false};
    struct call_item name;
    pack_read_item(&reader, &name);
    if (reader.has_failed)
        return err_set(WEFT_DATA_LOSS, "the answer is cut");
    item_take_name(item, &name);
    return fill_item(call, CALL_ITEM_BYTES, item);
}

static weft_err take(weft_queue *queue, bool is_popped, weft_item *item)
{
    struct peer_call *call;
    weft_err err = prefetch_next(&queue->prefetch, queue->lease_ms, is_popped,
                                 remote_deadline_ns(&queue->remote), &call);
    if (err)
        return remote_keep_error(&queue->remote, err);
    err = remote_take_item(call, item);
    item->is_popped_ = is_popped;
    peer_call_fini(call);
    free(call);
    return err;
}

// What lies here ahead of its time goes back first: who looks at the queue, or takes from it otherwise, finds it
// there, and in its order.
static void settle_ahead(weft_queue *queue)
{
    prefetch_give_back(&queue->prefetch, remote_deadline_ns(&queue->remote));
}

weft_call *weft_take_start(weft_queue *queue)
{
    weft_call *call = remote_call_new(queue ? &queue->remote : NULL);
    if (!call)
        return NULL;
    settle_ahead(queue);
    const weft_bytes part = {(const char *)&queue->lease_ms, sizeof queue->lease_ms};
    call->takes = true;
    return remote_call_started(
        call, remote_start(&queue->remote, CALL_QUEUE_TAKE, 0, &part, 1, &call->call));
}

bool weft_take_sized(weft_queue *queue, weft_item *item, size_t item_size)
{
    weft_item taken = {0};
    const weft_err err = queue && item ? take(queue, false, &taken) : member_no_handle();
    if (item)
        item_give(item, item_size, &taken);
    if (queue && item)
        queue->remote.failure = err;  // others may take by the same handle
    return !err;
}

weft_err weft_pop_sized(weft_queue *queue, weft_item *item, size_t item_size)
{
    weft_item taken = {0};
    const weft_err err = queue && item ? take(queue, true, &taken) : member_no_handle();
    if (item)
        item_give(item, item_size, &taken);
    return err;
}

// An entry of the answer to QUEUE_TAKE_MANY.
static weft_err copy_entry(struct pack_reader *list, weft_item *theirs, size_t item_size)
{
    struct call_item name;
    weft_item item = {.is_popped_ = true};
    pack_read_item(list, &name);
    const uint32_t size = pack_read_u32(list);
    const weft_bytes bytes = pack_read_bytes(list, size & ~CALL_TUPLE_BIT);
    item_take_name(&item, &name);
    const weft_err err = list->has_failed ? err_set(WEFT_DATA_LOSS, "the answer is cut")
                                          : item_copy(bytes, size & CALL_TUPLE_BIT, &item);
    item_give(theirs, item_size, &item);
    return err;
}

// Those that were read before a failure are freed.
static weft_err end_items(weft_err err, weft_item *items, size_t item_size, uint32_t *count)
{
    while (err && *count)
        weft_item_free(item_at(items, item_size, --*count));
    return err;
}

// They are ours by their leases. That they are done with is the last thing before they are returned.
static weft_err keep_many(struct remote *remote, weft_item *items, size_t item_size, uint32_t count)
{
    struct settlement *done = calloc(count, sizeof *done);
    struct peer_ask *asks = calloc(count, sizeof *asks);
    weft_err err = done && asks ? WEFT_OK : err_no_memory("for calls");
    for (uint32_t i = 0; i < count && !err; i++) {
        draw_up(&done[i], CALL_QUEUE_DONE, item_at(items, item_size, i), 0);
        asks[i] = (struct peer_ask){.op = CALL_QUEUE_DONE,
                                    .handle = remote->handle,
                                    .life = remote->life,
                                    .parts = {done[i].parts[0]}};
    }
    if (!err)
        err = peer_say(remote->peer, asks, count, remote_deadline_ns(remote));
    free(asks);
    free(done);
    return err;
}

static void give_back_many(struct remote *remote, weft_item *items, size_t item_size,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct settlement back;
        draw_up(&back, CALL_QUEUE_GIVE_BACK, item_at(items, item_size, i), 0);
        remote_tell(remote, CALL_QUEUE_GIVE_BACK, CALL_FLAG_UNBEGUN, back.parts, 2);
    }
}

weft_err weft_pop_many_sized(weft_queue *queue, weft_item *items, size_t item_size, uint32_t count,
                             bool up_to, uint32_t *taken)
{
    if (taken)
        *taken = 0;
    if (!queue || !items || !taken)
        return member_no_handle();
    settle_ahead(queue);
    struct peer_call call = {0};
    const weft_bytes part = {(const char *)&count, sizeof count};
    weft_err err = remote_ask(&queue->remote, CALL_QUEUE_TAKE_MANY, up_to ? CALL_FLAG_UP_TO : 0,
                              &part, 1, &call);
    struct pack_reader list = {buf_bytes(&call.answer), false};
    const uint32_t here = err ? 0 : pack_read_u32(&list);
    for (; *taken < here && *taken < count && !err; ++*taken)
        err = copy_entry(&list, item_at(items, item_size, *taken), item_size);
    if (!err && *taken) {
        err =
            remote_keep_error(&queue->remote, keep_many(&queue->remote, items, item_size, *taken));
        if (err)
            give_back_many(&queue->remote, items, item_size, *taken);
    }
    peer_call_fini(&call);
    return end_items(err, items, item_size, taken);
}

weft_err weft_queue_peek_sized(weft_queue *queue, weft_item *items, size_t item_size, uint32_t max,
                               uint32_t *count)
{
    if (count)
        *count = 0;
    if (!queue || !items || !count)
        return member_no_handle();
    settle_ahead(queue);
    struct peer_call call = {0};
    const weft_bytes part = {(const char *)&max, sizeof max};
    weft_err err = remote_ask(&queue->remote, CALL_QUEUE_PEEK, 0, &part, 1, &call);
    struct pack_reader list = {buf_bytes(&call.answer), false};
    while (!err && *count < max && list.rest.size) {
        weft_item item = {.id_ = pack_read_u64(&list)};
        item.delivery = pack_read_u32(&list);
        const bool is_tuple = pack_read_u8(&list);
        const weft_bytes bytes = pack_read_blob(&list);
        err = list.has_failed ? err_set(WEFT_DATA_LOSS, "the answer is cut")
                              : item_copy(bytes, is_tuple, &item);
        item_give(item_at(items, item_size, *count), item_size, &item);
        *count += !err;
    }
    peer_call_fini(&call);
    return end_items(err, items, item_size, count);
}

// ---- What becomes of it ------------------------------------------------------------------------------------

// It had its last chance: nobody will deal with it now, and that somebody should hear.
static weft_err tell_failed(struct remote *remote, const weft_item *item, bool is_buried)
{
    const unsigned long long id = item->id_;
    if (!is_buried)
        return err_set(WEFT_ABORTED, "%s: element %llu has failed and was given back", remote->path,
                       id);
    return member_keep_error(remote->cluster,
                             err_set(WEFT_ABORTED,
                                     "%s: element %llu has failed %u times and is in %s.dead now",
                                     remote->path, id, item->delivery, remote->path));
}

// The lease of its last delivery has ended before it was done: that has buried it.
static weft_err tell_late(const struct remote *remote, const weft_item *item)
{
    struct pack_reader attributes = {buf_bytes(&remote->found), false};
    pack_read_u64(&attributes);  // capacities
    pack_read_u64(&attributes);
    const uint32_t max = pack_read_u32(&attributes);
    if (attributes.has_failed || max == 0 || item->delivery < max || item->is_popped_ ||
        item->queue_ != remote->uid)
        return WEFT_ABORTED;
    return member_keep_error(remote->cluster,
                             err_set(WEFT_ABORTED,
                                     "%s: the lease on element %llu ended at its delivery %u of "
                                     "%u: it is in %s.dead now",
                                     remote->path, (unsigned long long)item->id_, item->delivery,
                                     max, remote->path));
}

weft_err remote_settled(struct remote *remote, const weft_item *item, weft_err err, uint8_t flags)
{
    if (err == WEFT_ABORTED && peer_life(remote->peer) == remote->life)
        return tell_late(remote, item);
    if (!err && item->has_failed_)
        return tell_failed(remote, item, flags & ANSWER_FLAG_BURIED);
    return remote_keep_error(remote, err);
}

static weft_err settle(weft_queue *queue, const struct settlement *settlement,
                       const weft_item *item)
{
    struct remote *remote = &queue->remote;
    struct peer_call call = {0};
    weft_err err = remote_ask_within(remote, remote->timeout_ms, settlement->op, 0,
                                     settlement->parts, 2, &call);
    err = remote_settled(remote, item, err, call.flags);
    peer_call_fini(&call);
    return err;
}

// What was marked as failed goes back, for others to try.
static uint8_t op_of_done(const weft_item *item)
{
    return item->has_failed_ ? CALL_QUEUE_GIVE_BACK : CALL_QUEUE_DONE;
}

weft_err weft_done(weft_queue *queue, weft_item *item)
{
    struct settlement settlement;
    if (!queue || !item)
        return member_no_handle();
    draw_up(&settlement, op_of_done(item), item, 0);
    const weft_err err = settle(queue, &settlement, item);
    weft_item_free(item);
    return err;
}

weft_call *weft_done_start(weft_queue *queue, weft_item *item)
{
    struct settlement settlement;
    weft_call *call = remote_call_new(queue && item ? &queue->remote : NULL);
    if (!call)
        return NULL;
    call->settles = true;
    call->settled = (weft_item){.queue_ = item->queue_,
                                .id_ = item->id_,
                                .delivery = item->delivery,
                                .has_failed_ = item->has_failed_,
                                .is_popped_ = item->is_popped_};
    draw_up(&settlement, op_of_done(item), item, 0);
    weft_item_free(item);
    return remote_call_started(
        call, remote_start(&queue->remote, settlement.op, 0, settlement.parts, 2, &call->call));
}

weft_err weft_give_back(weft_queue *queue, weft_item *item, uint32_t delay_ms)
{
    struct settlement settlement;
    if (!queue || !item)
        return member_no_handle();
    draw_up(&settlement, CALL_QUEUE_GIVE_BACK, item, delay_ms);
    const weft_item named = {.id_ = item->id_};  // he who gives it back knows
    const weft_err err = settle(queue, &settlement, &named);
    weft_item_free(item);
    return err;
}

weft_err weft_extend(weft_queue *queue, weft_item *item, uint32_t lease_ms)
{
    struct settlement settlement;
    if (!queue || !item)
        return member_no_handle();
    draw_up(&settlement, CALL_QUEUE_EXTEND, item, lease_ms);
    const weft_item named = {.id_ = item->id_};
    return settle(queue, &settlement, &named);
}

// ---- The queue itself --------------------------------------------------------------------------------------

weft_err weft_queue_close(weft_queue *queue)
{
    if (!queue)
        return member_no_handle();
    struct peer_call call = {0};
    struct remote *remote = &queue->remote;
    const weft_err err =
        remote_ask_within(remote, remote->timeout_ms, CALL_QUEUE_CLOSE, 0, NULL, 0, &call);
    peer_call_fini(&call);
    // That it is closed already is no failure of a program that was started again.
    return err == WEFT_CANCELLED ? err : remote_keep_error(remote, err);
}

weft_err weft_queue_cancel(weft_queue *queue)
{
    if (!queue)
        return member_no_handle();
    struct peer_call call = {0};
    const weft_err err =
        remote_ask(&queue->remote, CALL_QUEUE_CLOSE, CALL_FLAG_CANCEL_PENDING, NULL, 0, &call);
    peer_call_fini(&call);
    return err;
}

weft_err weft_queue_remove(weft_queue *queue)
{
    return queue ? remote_remove(&queue->remote) : member_no_handle();
}

weft_err remote_ask_queue_state(struct remote *remote, weft_queue_state *state)
{
    struct peer_call call = {0};
    weft_err err = remote_ask(remote, CALL_QUEUE_STATE, 0, NULL, 0, &call);
    struct pack_reader reader = {buf_bytes(&call.answer), false};
    *state = (weft_queue_state){0};
    if (!err) {
        state->size = pack_read_u64(&reader);
        state->bytes = pack_read_u64(&reader);
        state->pushed_count = pack_read_u64(&reader);
        state->leased_count = pack_read_u64(&reader);
        state->pusher_count = pack_read_u32(&reader);
        state->taker_count = pack_read_u32(&reader);
        state->is_closed = pack_read_u8(&reader);
        if (reader.has_failed)
            err = err_set(WEFT_DATA_LOSS, "the answer is cut");
    }
    peer_call_fini(&call);
    return err;
}

weft_err weft_queue_look_sized(weft_queue *queue, weft_queue_state *state, size_t state_size)
{
    weft_queue_state found = {0};
    weft_err err;
    if (queue && state) {
        settle_ahead(queue);
        err = remote_ask_queue_state(&queue->remote, &found);
    } else {
        err = member_no_handle();
    }
    if (state)
        sized_give(state, state_size, &found, sizeof found);
    return err;
}
