// Barriers as a program sees them.

#include <stdlib.h>

#include "client/remote/ops.h"
#include "wire/ops/barrier.h"

struct weft_barrier {
    struct remote remote;  // first
};

weft_barrier *weft_barrier_open(weft_cluster *cluster, const char *path, uint32_t count)
{
    weft_barrier *barrier = calloc(1, sizeof *barrier);
    if (!barrier) {
        err_no_memory("for a barrier");
        return NULL;
    }
    struct buf attributes = {0};
    remote_barrier_describe(&attributes, count);
    const weft_err err =
        remote_open(cluster, path, CALL_KIND_BARRIER, buf_bytes(&attributes), &barrier->remote);
    buf_fini(&attributes);
    if (!err)
        return barrier;
    weft_barrier_free(barrier);
    return NULL;
}

void weft_barrier_free(weft_barrier *barrier)
{
    if (!barrier)
        return;
    remote_fini(&barrier->remote);
    free(barrier);
}

weft_err weft_barrier_remove(weft_barrier *barrier)
{
    return barrier ? remote_remove(&barrier->remote) : member_no_handle();
}

weft_err weft_barrier_wait(weft_barrier *barrier, uint32_t timeout_ms, uint64_t *generation)
{
    if (!barrier)
        return member_no_handle();
    uint64_t number;
    const weft_err err = remote_barrier_wait(&barrier->remote, timeout_ms, &number);
    if (!err && generation)
        *generation = number;
    return err;
}

// ---- By its handle -------------------------------------------------------------------------------------------------

void remote_barrier_describe(struct buf *attributes, uint32_t count)
{
    if (count)
        ops_barrier_attributes_encode(attributes, &(struct ops_barrier_attributes){count});
}

weft_err remote_barrier_count(struct remote *barrier, uint32_t *count)
{
    struct ops_barrier_attributes attributes;
    const weft_err err = remote_make(barrier);
    if (err)
        return err;
    if (!ops_barrier_attributes_decode(buf_bytes(&barrier->found), &attributes))
        return err_set(WEFT_DATA_LOSS, "the answer of a barrier is cut");
    *count = attributes.count;
    return WEFT_OK;
}

weft_err remote_barrier_wait(struct remote *barrier, uint32_t timeout_ms, uint64_t *generation)
{
    struct ops_call op;
    struct ops_barrier_opened opened;
    struct peer_call call = {0};
    ops_barrier_wait_make(&op);
    weft_err err = remote_keep_error(barrier, remote_ask_within(barrier, timeout_ms, &op, &call));
    if (!err && !ops_barrier_opened_decode(buf_bytes(&call.answer), &opened))
        err = err_set(WEFT_DATA_LOSS, "the answer of a barrier is cut");
    if (!err)
        *generation = opened.generation;
    peer_call_fini(&call);
    return err;
}
