// Queues as a program sees them.

#include <stdlib.h>

#include "client/item/item.h"
#include "client/keeper.h"
#include "client/queue_bell.h"
#include "client/remote/call.h"
#include "client/remote/ops.h"
#include "sys/time/clock.h"

struct weft_queue {
    struct remote remote;  // first
    uint32_t lease_ms;
    struct prefetch prefetch;
    struct queue_bell bell;
};

// ---- Opening ---------------------------------------------------------------------------------------------

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
    queue_bell_init(&queue->bell, &queue->prefetch);
    weft_err err = sized_take(&all, sizeof all, options, options_size, "weft_queue_options");
    queue->lease_ms = all.lease_ms;
    queue->remote.timeout_ms = all.timeout_ms;
    if (!err)
        err = remote_queue_describe(&attributes, &all);
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
    queue_bell_fini(&queue->bell);
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

static weft_err start_push(weft_queue *queue, weft_bytes data, weft_bytes key, bool is_tuple,
                           struct peer_call *call)
{
    const struct ops_queue_push push = {.is_tuple = is_tuple, .key = key, .element = data};
    return remote_queue_start_push(&queue->remote, &push, call);
}

static weft_err push(weft_queue *queue, weft_bytes data, weft_bytes key, bool is_tuple)
{
    struct peer_call call = {0};
    weft_err err = start_push(queue, data, key, is_tuple, &call);
    if (!err)
        err = remote_keep_error(&queue->remote,
                                remote_finish(&queue->remote, &call, queue->remote.timeout_ms));
    peer_call_fini(&call);
    return err;
}

weft_err weft_push(weft_queue *queue, weft_bytes data, weft_bytes key)
{
    return queue ? push(queue, data, key, false) : member_no_handle();
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
        err = push(queue, buf_bytes(&tuple), key, true);
    buf_fini(&tuple);
    return err;
}

weft_call *weft_push_start(weft_queue *queue, weft_bytes data, weft_bytes key)
{
    weft_call *call = remote_call_new(queue ? &queue->remote : NULL);
    return call ? remote_call_started(call, start_push(queue, data, key, false, &call->call))
                : NULL;
}

static weft_err check_many(const weft_queue *queue, const weft_bytes *data, size_t count)
{
    const size_t limit = CALL_BYTES_MAX - CALL_HEAD_BYTES - OPS_QUEUE_COUNT_BYTES;
    size_t left = limit;
    for (size_t i = 0; i < count; i++) {
        if (data[i].size > left || left - data[i].size < OPS_QUEUE_ENTRY_BYTES)
            return err_set(WEFT_INVALID_ARGUMENT,
                           "%s: %zu elements are more than a call has room for: %zu bytes",
                           queue->remote.path, count, limit);
        left -= data[i].size + OPS_QUEUE_ENTRY_BYTES;
    }
    return WEFT_OK;
}

weft_err weft_push_many(weft_queue *queue, const weft_bytes *data, size_t count)
{
    if (!queue || (!data && count))
        return member_no_handle();
    struct remote_batch batch = {0};
    struct peer_call call = {0};
    weft_err err = member_keep_error(queue->remote.cluster, check_many(queue, data, count));
    for (size_t i = 0; i < count && !err; i++)
        remote_batch_add(&batch, data[i]);
    if (!err)
        err = remote_queue_push_batch(&queue->remote, &batch, &call);
    peer_call_fini(&call);
    remote_batch_fini(&batch);
    return err;
}

// ---- Settling ----------------------------------------------------------------------------------------------

// What a call says that settles a lease.
static void draw_up(struct ops_call *op, uint8_t number, const weft_item *item, uint32_t ms,
                    bool is_unbegun)
{
    const bool gives_back = number == CALL_QUEUE_GIVE_BACK;
    ops_queue_settle_make(op, &(struct ops_queue_settle){
                                  .op = number,
                                  .item = item_name(item),
                                  .ms = ms,
                                  .is_unbegun = is_unbegun,
                                  .has_when = gives_back,
                                  .when_s = gives_back ? (uint64_t)clock_calendar_s() : 0,
                              });
}

// ---- Taking ----------------------------------------------------------------------------------------------

// The answer's memory becomes the item's, which needs a zero after its data.
static weft_err fill_item(struct peer_call *call, weft_bytes element, weft_item *item)
{
    if (call->flags & ANSWER_FLAG_TUPLE)
        return item_copy(element, true, item);
    const size_t head_bytes = (size_t)(element.data - call->answer.data);
    buf_text(&call->answer);
    if (call->answer.has_failed)
        return err_no_memory("for an element");
    item->memory_ = call->answer.data;
    item->data = call->answer.data + head_bytes;
    item->size = element.size;
    call->answer = (struct buf){0};
    return WEFT_OK;
}

// A popped one cannot go back: for the host it is done.
weft_err remote_take_item(struct remote *remote, struct peer_call *call, bool is_popped,
                          weft_item *item)
{
    struct ops_queue_taken taken;
    struct err_kept kept;
    if (!ops_queue_taken_decode(buf_bytes(&call->answer), &taken))
        return err_set(WEFT_DATA_LOSS, "the answer is cut");
    item_set_name(item, &taken.item);
    item->is_popped_ = is_popped;
    const weft_err err = fill_item(call, taken.element, item);
    if (err && !is_popped) {
        err_keep(&kept);
        remote_queue_tell_unbegun(remote, &taken.item);
        err_put_back(&kept);
    }
    return remote_keep_error(remote, err);
}

static weft_err hand_over(weft_queue *queue, struct peer_call *call, bool is_popped,
                          weft_item *item)
{
    const weft_err err = remote_take_item(&queue->remote, call, is_popped, item);
    peer_call_fini(call);
    free(call);
    return err;
}

static weft_err take(weft_queue *queue, bool is_popped, weft_item *item)
{
    struct peer_call *call;
    const weft_err err = prefetch_next(&queue->prefetch, queue->lease_ms, is_popped,
                                       remote_deadline_ns(&queue->remote), &call);
    if (err)
        return remote_keep_error(&queue->remote, err);
    return hand_over(queue, call, is_popped, item);
}

// Elements that were taken ahead go back first: a call that looks at the queue, or takes from it otherwise, finds them
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
    call->takes = true;
    return remote_call_started(
        call, remote_queue_start_take(&queue->remote, queue->lease_ms, &call->call));
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

weft_err weft_take_now_sized(weft_queue *queue, weft_item *item, size_t item_size)
{
    weft_item taken = {0};
    struct peer_call *call = NULL;
    weft_err err;
    if (queue && item) {
        queue_bell_begin_take(&queue->bell);
        err = prefetch_next_now(&queue->prefetch, queue->lease_ms,
                                remote_deadline_ns(&queue->remote), &call);
        queue_bell_end_take(&queue->bell, err == WEFT_CANCELLED);
        if (!err)
            err = hand_over(queue, call, false, &taken);
        else if (err != WEFT_CANCELLED)
            err = remote_keep_error(&queue->remote, err);
    } else {
        err = member_no_handle();
    }
    if (item)
        item_give(item, item_size, &taken);
    return err;
}

int weft_queue_descriptor(weft_queue *queue)
{
    int fd = -1;
    if (!queue)
        member_no_handle();
    else if (remote_keep_error(&queue->remote, queue_bell_descriptor(&queue->bell, &fd)))
        return -1;
    return fd;
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
static weft_err copy_entry(weft_bytes *list, weft_item *theirs, size_t item_size)
{
    struct ops_queue_taken taken;
    weft_item item = {.is_popped_ = true};
    weft_err err;
    if (ops_queue_taken_next(list, &taken)) {
        item_set_name(&item, &taken.item);
        err = item_copy(taken.element, taken.is_tuple, &item);
    } else {
        err = err_set(WEFT_DATA_LOSS, "the answer is cut");
    }
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
    struct ops_call *done = calloc(count, sizeof *done);
    struct peer_ask *asks = calloc(count, sizeof *asks);
    weft_err err = done && asks ? WEFT_OK : err_no_memory("for calls");
    for (uint32_t i = 0; i < count && !err; i++) {
        draw_up(&done[i], CALL_QUEUE_DONE, item_at(items, item_size, i), 0, false);
        peer_ask_init(&asks[i], &done[i], remote->handle, remote->life);
    }
    if (!err)
        err = peer_say(remote->peer, asks, count, remote_deadline_ns(remote));
    free(asks);
    free(done);
    return err;
}

// All of an answer, also those that were not copied.
static void give_back_many(struct remote *remote, weft_bytes list)
{
    struct err_kept kept;
    struct ops_queue_taken taken;
    uint32_t count = 0;
    err_keep(&kept);
    if (ops_queue_count_next(&list, &count))
        for (; count > 0 && ops_queue_taken_next(&list, &taken); count--)
            remote_queue_tell_unbegun(remote, &taken.item);
    err_put_back(&kept);
}

weft_err weft_pop_many_sized(weft_queue *queue, weft_item *items, size_t item_size, uint32_t count,
                             bool up_to, uint32_t *taken)
{
    if (taken)
        *taken = 0;
    if (!queue || !items || !taken)
        return member_no_handle();
    settle_ahead(queue);
    struct ops_call op;
    struct peer_call call = {0};
    uint32_t here = 0;
    ops_queue_take_many_make(&op,
                             &(struct ops_queue_take_many){CALL_QUEUE_TAKE_MANY, up_to, count});
    weft_err err = remote_ask(&queue->remote, &op, &call);
    weft_bytes list = buf_bytes(&call.answer);
    if (!err && !ops_queue_count_next(&list, &here))
        err = err_set(WEFT_DATA_LOSS, "the answer is cut");
    for (; *taken < here && *taken < count && !err; ++*taken)
        err = copy_entry(&list, item_at(items, item_size, *taken), item_size);
    if (!err && *taken)
        err = keep_many(&queue->remote, items, item_size, *taken);
    if (err && here) {
        give_back_many(&queue->remote, buf_bytes(&call.answer));
        err = remote_keep_error(&queue->remote, err);
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
    struct remote_peek peek = {0};
    weft_err err = remote_queue_peek(&queue->remote, &(struct ops_queue_peek){.count = max}, &peek);
    while (!err && *count < max) {
        struct remote_peeked next;
        err = remote_peek_next(&peek, &next);
        if (err)
            break;
        weft_item item = {
            .queue_ = queue->remote.uid, .id_ = next.stored.id, .delivery = next.stored.deliveries};
        err = item_copy(next.stored.element, next.stored.is_tuple, &item);
        item_give(item_at(items, item_size, *count), item_size, &item);
        *count += !err;
    }
    remote_peek_fini(&peek);
    return end_items(err == WEFT_OUT_OF_RANGE ? WEFT_OK : err, items, item_size, count);
}

// ---- What becomes of it ------------------------------------------------------------------------------------

// It had its last chance: no consumer will get it now, and the caller is notified of that.
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
    const uint32_t max = remote_queue_deliveries_max(remote);
    if (max == 0 || item->delivery < max || item->is_popped_ || item->queue_ != remote->uid)
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

static weft_err settle(weft_queue *queue, const struct ops_call *op, const weft_item *item)
{
    struct remote *remote = &queue->remote;
    struct peer_call call = {0};
    weft_err err = remote_ask_within(remote, remote->timeout_ms, op, &call);
    err = remote_settled(remote, item, err, call.flags);
    peer_call_fini(&call);
    return err;
}

// An element that was marked as failed goes back, for others to try.
static uint8_t op_of_done(const weft_item *item)
{
    return item->has_failed_ ? CALL_QUEUE_GIVE_BACK : CALL_QUEUE_DONE;
}

weft_err weft_done(weft_queue *queue, weft_item *item)
{
    struct ops_call op;
    if (!queue || !item)
        return member_no_handle();
    draw_up(&op, op_of_done(item), item, 0, false);
    const weft_err err = settle(queue, &op, item);
    weft_item_free(item);
    return err;
}

weft_call *weft_done_start(weft_queue *queue, weft_item *item)
{
    struct ops_call op;
    weft_call *call = remote_call_new(queue && item ? &queue->remote : NULL);
    if (!call)
        return NULL;
    call->settles = true;
    call->settled = (weft_item){.queue_ = item->queue_,
                                .id_ = item->id_,
                                .delivery = item->delivery,
                                .has_failed_ = item->has_failed_,
                                .is_popped_ = item->is_popped_};
    draw_up(&op, op_of_done(item), item, 0, false);
    weft_item_free(item);
    return remote_call_started(call, remote_start(&queue->remote, &op, &call->call));
}

weft_err weft_give_back(weft_queue *queue, weft_item *item, uint32_t delay_ms)
{
    struct ops_call op;
    if (!queue || !item)
        return member_no_handle();
    draw_up(&op, CALL_QUEUE_GIVE_BACK, item, delay_ms, false);
    const weft_item named = {.id_ = item->id_};  // the caller that gives it back knows
    const weft_err err = settle(queue, &op, &named);
    weft_item_free(item);
    return err;
}

weft_err weft_extend(weft_queue *queue, weft_item *item, uint32_t lease_ms)
{
    struct ops_call op;
    if (!queue || !item)
        return member_no_handle();
    draw_up(&op, CALL_QUEUE_EXTEND, item, lease_ms, false);
    const weft_item named = {.id_ = item->id_};
    return settle(queue, &op, &named);
}

// ---- The queue itself --------------------------------------------------------------------------------------

weft_err weft_queue_close(weft_queue *queue)
{
    if (!queue)
        return member_no_handle();
    const weft_err err = remote_queue_close(&queue->remote, false);
    // That it is closed already is not a failure of a program that was started again.
    return err == WEFT_CANCELLED ? err : remote_keep_error(&queue->remote, err);
}

weft_err weft_queue_cancel(weft_queue *queue)
{
    return queue ? remote_keep_error(&queue->remote, remote_queue_close(&queue->remote, true))
                 : member_no_handle();
}

weft_err weft_queue_remove(weft_queue *queue)
{
    return queue ? remote_remove(&queue->remote) : member_no_handle();
}

weft_err weft_queue_look_sized(weft_queue *queue, weft_queue_state *state, size_t state_size)
{
    weft_queue_state found = {0};
    weft_err err;
    if (queue && state) {
        settle_ahead(queue);
        err = remote_queue_state(&queue->remote, &found);
    } else {
        err = member_no_handle();
    }
    if (state)
        sized_give(state, state_size, &found, sizeof found);
    return err;
}
