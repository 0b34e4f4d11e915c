// Taking ahead, writing items that are here, settling items that were written.

#include "client/item/print.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "client/keeper.h"
#include "client/prefetch.h"
#include "client/remote/ops.h"
#include "client/tool.h"
#include "sys/file/file.h"
#include "sys/time/clock.h"

static const uint64_t give_back_ns = 1000000000;

enum {
    OUT_BYTES = 64 << 10,  // are written together
    STALL_MS = 20,         // a reader who takes longer is not waited for with items in hand
    DONES_MAX = PREFETCH_MAX,
    // So many of a queue that counts deliveries are under way. Who is killed then has used up one of each.
    LIMITED_MAX = 256,
    EMPTY_MS = 20,  // without an item: then the host is asked if there is none
};

static const uint64_t ns_per_ms = 1000000;

// One that lies in the text that is to be written.
struct text_item {
    struct call_item name;
    size_t end;  // of it, with the separator
};

struct printing {
    const struct item_print_options *options;
    struct remote *queue;
    struct prefetch prefetch;
    struct buf text;
    size_t written_bytes;
    VEC(struct text_item) items;
    size_t written, settled;  // of the items
    uint64_t count;           // items that were taken and not given back
    struct peer_call dones[DONES_MAX];
    uint64_t started, finished;
    bool has_told;  // that it waits, or need not
};

// ---- Settling ------------------------------------------------------------------------------------------------

static weft_err finish_oldest(struct printing *printing)
{
    return remote_finish(printing->queue, &printing->dones[printing->finished++ % DONES_MAX], 0);
}

static weft_err start_done(struct printing *printing, const struct text_item *item,
                           bool is_followed)
{
    struct ops_call op;
    ops_queue_settle_make(&op,
                          &(struct ops_queue_settle){.op = CALL_QUEUE_DONE, .item = item->name});
    struct peer_ask ask;
    peer_ask_init(&ask, &op, printing->queue->handle, printing->queue->life);
    ask.is_followed = is_followed;
    weft_err err =
        printing->started - printing->finished == DONES_MAX ? finish_oldest(printing) : WEFT_OK;
    if (!err)
        err = peer_start(printing->queue->peer, &ask,
                         &printing->dones[printing->started % DONES_MAX]);
    if (!err)
        printing->started++;
    return err;
}

static weft_err settle_written(struct printing *printing)
{
    weft_err err = WEFT_OK;
    for (; !err && printing->settled < printing->written; printing->settled++)
        err = start_done(printing, &printing->items.items[printing->settled],
                         printing->settled + 1 < printing->written);
    return err ? err_wrap(err, "%s", printing->queue->path) : WEFT_OK;
}

static size_t start_of(const struct printing *printing, size_t item)
{
    return item ? printing->items.items[item - 1].end : 0;
}

// The items of which no byte was written.
static void give_back_unbegun(struct printing *printing)
{
    size_t kept = printing->written;
    if (start_of(printing, kept) < printing->written_bytes)
        kept++;
    for (size_t i = kept; i < printing->items.count; i++) {
        remote_queue_tell_unbegun(printing->queue, &printing->items.items[i].name);
        printing->count--;
    }
    if (kept < printing->items.count) {
        printing->items.count = kept;
        printing->text.size = start_of(printing, kept);
    }
}

// ---- Writing -------------------------------------------------------------------------------------------------

// As many whole items as a pipe takes without making us wait, or a part of a long one: a pipe that is full then
// has no item by half, if it can be helped.
static weft_err write_some(struct printing *printing)
{
    const size_t from = printing->written_bytes, limit = from + FILE_ROOM_BYTES;
    size_t item = printing->written;
    while (item < printing->items.count && printing->items.items[item].end <= limit)
        item++;
    const size_t end = item > printing->written ? start_of(printing, item) : limit;
    const weft_err err =
        file_write(STDOUT_FILENO, "standard output", printing->text.data + from, end - from);
    if (err)
        return err;
    printing->written = item;
    printing->written_bytes = end;
    return WEFT_OK;
}

// No other consumer is to wait with us: written items are done, the others go back.
static weft_err wait_for_room(struct printing *printing)
{
    const weft_err err = settle_written(printing);
    if (err || file_has_room(STDOUT_FILENO, STALL_MS))
        return err;
    prefetch_give_back(&printing->prefetch, clock_now_ns() + give_back_ns);
    give_back_unbegun(printing);
    file_has_room(STDOUT_FILENO, -1);
    return WEFT_OK;
}

static weft_err flush(struct printing *printing)
{
    weft_err err = WEFT_OK;
    while (!err && printing->written_bytes < printing->text.size) {
        if (file_has_room(STDOUT_FILENO, 0))
            err = write_some(printing);
        else
            err = wait_for_room(printing);
    }
    if (!err)
        err = settle_written(printing);
    if (err)
        return err;
    printing->text.size = printing->written_bytes = 0;
    printing->items.count = printing->written = printing->settled = 0;
    return WEFT_OK;
}

// ---- Taking --------------------------------------------------------------------------------------------------

static weft_err append(struct printing *printing, const struct peer_call *call)
{
    struct text_item *item = VEC_NEXT(&printing->items);
    struct ops_queue_taken taken;
    if (!ops_queue_taken_decode(buf_bytes(&call->answer), &taken))
        return err_set(WEFT_DATA_LOSS, "the answer is cut");
    buf_append(&printing->text, taken.element.data, taken.element.size);
    buf_append(&printing->text, &printing->options->separator, 1);
    if (!item || printing->text.has_failed)
        return err_no_memory("for items");
    item->name = taken.item;
    item->end = printing->text.size;
    printing->items.count++;
    printing->count++;
    return WEFT_OK;
}

// None came for a moment. OUT_OF_RANGE: there is none. Items on their way to us have arrived with the answer.
static weft_err look_if_empty(struct printing *printing)
{
    weft_queue_state state;
    err_clear();
    const weft_err err = remote_queue_state(printing->queue, &state);
    if (err || state.size || prefetch_has_next(&printing->prefetch))
        return err;
    return WEFT_OUT_OF_RANGE;
}

static weft_err await_until_empty(struct printing *printing, struct peer_call **call)
{
    weft_err err = WEFT_OK;
    while (!err) {
        err = prefetch_next(&printing->prefetch, 0, false, clock_now_ns() + EMPTY_MS * ns_per_ms,
                            call);
        if (err != WEFT_DEADLINE_EXCEEDED)
            break;
        err = look_if_empty(printing);
    }
    return err;
}

static weft_err await_next(struct printing *printing, struct peer_call **call)
{
    const struct item_print_options *options = printing->options;
    const uint64_t now_ns = clock_now_ns(), silence_ns = now_ns + TOOL_SILENCE_MS * ns_per_ms;
    const uint64_t deadline_ns =
        options->has_timeout ? now_ns + options->timeout_ms * ns_per_ms : UINT64_MAX;
    if (options->until_empty)
        return await_until_empty(printing, call);
    if (!options->is_quiet && !printing->has_told && deadline_ns > silence_ns) {
        const weft_err err = prefetch_next(&printing->prefetch, 0, false, silence_ns, call);
        if (err != WEFT_DEADLINE_EXCEEDED)
            return err;
        err_clear();
        printing->has_told = true;
        tool_tell_waiting(printing->queue);
    }
    return prefetch_next(&printing->prefetch, 0, false, deadline_ns, call);
}

// Items that are here are written before another is waited for.
static weft_err take_next(struct printing *printing)
{
    const struct item_print_options *options = printing->options;
    struct peer_call *call;
    if (printing->text.size &&
        (printing->text.size >= OUT_BYTES || !prefetch_has_next(&printing->prefetch))) {
        const weft_err err = flush(printing);
        if (err)
            return err;
    }
    const uint64_t left = options->wanted - printing->count;
    printing->prefetch.credit_max = left < PREFETCH_MAX ? (uint32_t)left : PREFETCH_MAX;
    weft_err err = await_next(printing, &call);
    if (err)
        return err;
    printing->has_told = true;
    err = append(printing, call);
    peer_call_fini(call);
    free(call);
    return err;
}

// The code of what ended the taking, unless writing failed. Items that went back are taken again.
static weft_err print(struct printing *printing)
{
    weft_err end = WEFT_OK;
    while (!end && printing->count < printing->options->wanted) {
        while (!end && printing->count < printing->options->wanted)
            end = take_next(printing);
        const bool is_end = !end || end == WEFT_OUT_OF_RANGE || end == WEFT_DEADLINE_EXCEEDED;
        const weft_err err = is_end ? flush(printing) : end;
        if (err)
            return err;
    }
    while (printing->finished < printing->started) {
        const weft_err err = finish_oldest(printing);
        if (err)
            return err;
    }
    return end;
}

weft_err item_print_run(const struct item_print_options *options, struct remote *queue,
                        uint64_t *printed)
{
    struct err_kept kept;
    struct printing *printing = calloc(1, sizeof *printing);
    *printed = 0;
    if (!printing)
        return err_no_memory("for items");
    printing->options = options;
    printing->queue = queue;
    prefetch_init(&printing->prefetch, queue);
    printing->prefetch.limited_max = LIMITED_MAX;
    keeper_add(queue->cluster, &printing->prefetch);
    const weft_err err = print(printing);
    err_keep(&kept);
    give_back_unbegun(printing);
    prefetch_fini(&printing->prefetch);
    err_put_back(&kept);
    *printed = printing->count;
    for (; printing->finished < printing->started; printing->finished++)
        peer_abandon(queue->peer, &printing->dones[printing->finished % DONES_MAX]);
    for (size_t i = 0; i < DONES_MAX; i++)
        peer_call_fini(&printing->dones[i]);
    buf_fini(&printing->text);
    VEC_FINI(&printing->items);
    free(printing);
    return err;
}
