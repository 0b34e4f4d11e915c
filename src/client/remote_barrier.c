// Barriers as a program sees them.

#include <stdlib.h>

#include "client/member.h"
#include "wire/pack.h"

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
    const weft_bytes attributes = {(const char *)&count, count ? sizeof count : 0};
    if (!remote_open(cluster, path, CALL_KIND_BARRIER, attributes, &barrier->remote))
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
    struct peer_call call = {0};
    weft_err err = remote_keep_error(
        &barrier->remote,
        remote_ask_within(&barrier->remote, timeout_ms, CALL_BARRIER_WAIT, 0, NULL, 0, &call));
    struct pack_reader reader = {buf_bytes(&call.answer), false};
    const uint64_t number = err ? 0 : pack_read_u64(&reader);
    if (reader.has_failed)
        err = err_set(WEFT_DATA_LOSS, "the answer of a barrier is cut");
    if (!err && generation)
        *generation = number;
    peer_call_fini(&call);
    return err;
}
