// Waiting for calls that were started before.

#include "client/remote/call.h"

#include <stdlib.h>

#include "client/item/item.h"
#include "wire/ops/queue.h"

weft_call *remote_call_new(struct remote *remote)
{
    weft_call *call = remote ? calloc(1, sizeof *call) : NULL;
    if (call)
        call->remote = remote;
    else if (remote)
        err_no_memory("for a call");
    else
        member_no_handle();
    return call;
}

weft_call *remote_call_started(weft_call *call, weft_err err)
{
    if (!err)
        return call;
    if (call->once_per)
        call->once_per->has_failed_ = true;
    peer_call_fini(&call->call);
    free(call);
    return NULL;
}

bool weft_call_is_done(weft_call *call)
{
    return call && peer_is_done(call->remote->peer, &call->call);
}

static weft_err finish(weft_call *call, uint32_t timeout_ms)
{
    weft_err err = remote_finish(call->remote, &call->call, timeout_ms);
    err = call->settles ? remote_settled(call->remote, &call->settled, err, call->call.flags)
                        : remote_keep_error(call->remote, err);
    if (err && call->once_per)
        call->once_per->has_failed_ = true;
    return err;
}

static void free_call(weft_call *call)
{
    peer_call_fini(&call->call);
    free(call);
}

// An element that the caller does not want any more goes to another consumer.
static weft_err give_back(struct remote *remote, const struct call_item *item)
{
    struct ops_call op;
    struct peer_call call = {0};
    ops_queue_settle_make(&op, &(struct ops_queue_settle){
                                   .op = CALL_QUEUE_GIVE_BACK, .is_unbegun = true, .item = *item});
    const weft_err err = remote_ask(remote, &op, &call);
    peer_call_fini(&call);
    return err;
}

weft_err weft_call_wait(weft_call *call, uint32_t timeout_ms)
{
    if (!call)
        return member_no_handle();
    weft_err err = finish(call, timeout_ms);
    struct ops_queue_taken taken;
    if (!err && call->takes && ops_queue_taken_decode(buf_bytes(&call->call.answer), &taken))
        err = give_back(call->remote, &taken.item);
    free_call(call);
    return err;
}

static weft_err take_item(weft_call *call, uint32_t timeout_ms, weft_item *item)
{
    weft_err err = finish(call, timeout_ms);
    if (!err && !call->takes)
        err = err_set(WEFT_INVALID_ARGUMENT, "%s: only weft_take_start brings an element",
                      call->remote->path);
    if (!err)
        err = remote_take_item(call->remote, &call->call, false, item);
    free_call(call);
    return err;
}

weft_err weft_call_item_sized(weft_call *call, uint32_t timeout_ms, weft_item *item,
                              size_t item_size)
{
    weft_item taken = {0};
    const weft_err err = call && item ? take_item(call, timeout_ms, &taken) : member_no_handle();
    if (item)
        item_give(item, item_size, &taken);
    return err;
}
