// Numbers of handles: drawn here, freed here, sent to the host in the order of all changing calls. So a
// number may be opened again as soon as its release is on its way: the host hears of the release first.
//
// Only an element that comes too late needs its handle still, to be given back by it: a take that no thread
// waits for holds its handle until it is answered.

#include "cluster/peer_state.h"

weft_err peer_new_handle(struct peer *peer, uint16_t *handle, uint32_t *life)
{
    weft_err err = WEFT_OK;
    mutex_lock(&peer->lock);
    *life = peer->life;
    if (peer->free_handles.count)
        *handle = peer->free_handles.items[--peer->free_handles.count];
    else if (peer->last_handle < UINT16_MAX)
        *handle = ++peer->last_handle;
    else
        err = err_set(WEFT_RESOURCE_EXHAUSTED,
                      "%u handles are open at once: that is the limit\n  try: free some first",
                      UINT16_MAX);
    mutex_unlock(&peer->lock);
    return err;
}

// Out of memory, the number goes with the session.
static void tell_host(struct peer *peer, uint16_t handle)
{
    const struct peer_ask ask = {.op = CALL_RELEASE, .handle = handle};
    if (VEC_NEXT(&peer->free_handles) && peer_start_change(peer, &ask, NULL, 0))
        peer->free_handles.items[peer->free_handles.count++] = handle;
}

// Takes by this handle that are unanswered hold it from now on; false: there is none.
static bool is_held(struct peer *peer, uint16_t handle)
{
    bool is_held = false;
    for (size_t i = 0; i < peer->ring_size; i++) {
        struct peer_slot *slot = &peer->ring[i];
        const bool takes = slot->op == CALL_QUEUE_TAKE || slot->op == CALL_QUEUE_TAKE_MANY;
        if (slot->sequence && takes && slot->handle == handle)
            slot->holds_handle = is_held = true;
    }
    return is_held;
}

// Mostly called after a failure, whose words must stay: sending clears them.
void peer_release_handle(struct peer *peer, uint16_t handle, uint32_t life)
{
    struct err_kept kept;
    err_keep(&kept);
    mutex_lock(&peer->lock);
    if (life == peer->life && !is_held(peer, handle)) {
        tell_host(peer, handle);
        peer_flush_if_due(peer, &(struct peer_ask){0}, false);
    }
    mutex_unlock(&peer->lock);
    err_put_back(&kept);
}

void peer_let_go_of_handle(struct peer *peer, uint16_t handle)
{
    if (!is_held(peer, handle))
        tell_host(peer, handle);
}
