// A peer between calls: unsent calls go, arrived answers are taken, a broken connection is made again.

#include "cluster/peer_state.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"

enum { KEEP_MS = 100, RETRY_MS = 1, LEAVE_MS = 1000 };

static const uint64_t ns_per_ms = 1000000;

// Also what TLS has sealed and the network did not take: it is in this process, and ends with it.
static size_t left_to_send(const struct peer *peer)
{
    return peer_unsent_calls(peer).size + peer->new_asks.size + peer->out.size - peer->out_sent +
           (peer->channel ? channel_unsent_bytes(peer->channel) : 0);
}

static bool has_unsent(const struct peer *peer)
{
    return left_to_send(peer) > 0;
}

uint32_t peer_life(struct peer *peer)
{
    mutex_lock(&peer->lock);
    const uint32_t life = peer->life;
    mutex_unlock(&peer->lock);
    return life;
}

bool peer_is_here(struct peer *peer, uint32_t life)
{
    mutex_lock(&peer->lock);
    const bool is_here = peer_is_connected(peer) && peer->life == life;
    mutex_unlock(&peer->lock);
    return is_here;
}

void peer_cancel(struct peer *peer, struct peer_call *call)
{
    mutex_lock(&peer->lock);
    // Without memory for it the call waits on, and is cancelled another time.
    if (call->is_under_way && peer_start_cancel(peer, call->sequence, NULL))
        peer_leave_to_tending(peer);
    mutex_unlock(&peer->lock);
}

void peer_abandon(struct peer *peer, struct peer_call *call)
{
    mutex_lock(&peer->lock);
    if (call->is_under_way) {
        peer_start_cancel(peer, call->sequence, NULL);
        peer_forget_call(peer, call);
    }
    mutex_unlock(&peer->lock);
}

// ---- Saying ------------------------------------------------------------------------------------------------

// Connects, as the one thread that reads; the lock is held.
static weft_err connect_as_reader(struct peer *peer, uint64_t deadline_ns)
{
    peer->has_reader = true;
    const weft_err err = peer_connect(peer, deadline_ns);
    peer->has_reader = false;
    if (peer->waiter_count)
        condition_broadcast(&peer->changed);
    return err;
}

static weft_err await_connection(struct peer *peer, uint64_t deadline_ns)
{
    while (!peer_is_connected(peer)) {
        if (clock_now_ns() >= deadline_ns || interrupt_ends(deadline_ns))
            return peer_late(peer);
        if (peer->has_reader) {  // which connects, or finds out that the connection broke
            peer->waiter_count++;
            condition_wait_until(&peer->changed, &peer->lock, interrupt_slice(deadline_ns));
            peer->waiter_count--;
            continue;
        }
        const weft_err err = connect_as_reader(peer, deadline_ns);
        if (err && err != WEFT_DEADLINE_EXCEEDED)
            peer_fail_all(peer, err);
        if (err)
            return err;
    }
    return WEFT_OK;
}

// Until the connection has taken all there is, broke, or time is over.
static void send_all(struct peer *peer, uint64_t deadline_ns)
{
    peer_gather(peer);
    peer_send(peer);
    while (has_unsent(peer) && peer_is_connected(peer) && clock_now_ns() < deadline_ns &&
           !interrupt_ends(deadline_ns)) {
        mutex_unlock(&peer->lock);
        clock_sleep_ms(RETRY_MS);
        mutex_lock(&peer->lock);
        peer_gather(peer);
        peer_send(peer);
    }
}

// Connected, and nothing before us that the connection does not take: what we then say goes at once.
static weft_err await_room(struct peer *peer, uint64_t deadline_ns)
{
    weft_err err = WEFT_OK;
    do {
        err = await_connection(peer, deadline_ns);
        if (!err)
            send_all(peer, deadline_ns);
    } while (!err && has_unsent(peer) && clock_now_ns() < deadline_ns &&
             !interrupt_ends(deadline_ns));
    return !err && has_unsent(peer) ? peer_late(peer) : err;
}

// A host in this process applies calls at once, but its journal may not take it now: so it is asked first
// whether it does, as long as there is time. A call that then goes is waited for: if both died, it would come again.
static weft_err tell_own_host(struct peer *peer, const struct peer_ask *asks, size_t count,
                              uint64_t deadline_ns)
{
    const struct peer_ask ping = {.op = CALL_PING};
    struct peer_call first = {0}, last = {0};
    weft_err err = peer_ask(peer, &ping, &first, deadline_ns);
    for (size_t i = 0; i + 1 < count && !err; i++)
        err = peer_tell(peer, &asks[i]);
    if (!err)
        err = peer_ask(peer, &asks[count - 1], &last, UINT64_MAX);
    peer_call_fini(&first);
    peer_call_fini(&last);
    return err;
}

static weft_err start_all(struct peer *peer, const struct peer_ask *asks, size_t count)
{
    weft_err err = WEFT_OK;
    size_t sizes = 0;
    for (size_t i = 0; i < count && !err; i++) {
        const size_t size = peer_size_of_ask(&asks[i]);
        sizes += CALL_HEAD_BYTES + size;
        err = peer_check_ask(peer, &asks[i], size);
    }
    if (!err && !buf_reserve(&peer->kept, sizes))
        err = err_no_memory("for a call");
    for (size_t i = 0; i < count && !err; i++)
        if (!peer_start_change(peer, &asks[i], NULL, peer_size_of_ask(&asks[i])))
            err = err_no_memory("for a call");
    return err;
}

weft_err peer_say(struct peer *peer, const struct peer_ask *asks, size_t count,
                  uint64_t deadline_ns)
{
    if (peer->options.port)
        return tell_own_host(peer, asks, count, deadline_ns);
    mutex_lock(&peer->lock);
    weft_err err = await_room(peer, deadline_ns);
    if (!err)
        err = start_all(peer, asks, count);
    // From here on it will be done: there is no way back, so no deadline, but for a line that broke.
    if (!err)
        send_all(peer, UINT64_MAX);
    if (!err && has_unsent(peer))
        peer_leave_to_tending(peer);
    mutex_unlock(&peer->lock);
    return err;
}

// ---- Tending -----------------------------------------------------------------------------------------------

bool peer_tend(struct peer *peer, bool *has_moved)
{
    bool has_arrived = false;
    mutex_lock(&peer->lock);
    const size_t left = left_to_send(peer);
    peer->is_to_be_tended = false;
    if (peer_is_connected(peer)) {
        peer_gather(peer);
        if (!peer->has_reader || peer->is_at_port)
            peer_pump(peer, &has_arrived);
        else
            peer_send(peer);
        // Answers that were taken may need an answer: an element that no caller wanted goes back.
        if (has_arrived) {
            peer_gather(peer);
            peer_send(peer);
        }
        if (has_arrived && peer->waiter_count)
            condition_broadcast(&peer->changed);
    }
    *has_moved |= has_arrived || left_to_send(peer) < left;
    const bool has_more = has_unsent(peer) || (peer->unanswered > 0 && !peer->has_reader);
    mutex_unlock(&peer->lock);
    return has_more;
}

void peer_keep_connected(struct peer *peer)
{
    mutex_lock(&peer->lock);
    if (peer->has_session && !peer->has_reader && !peer_is_connected(peer)) {
        const bool was_given_up = peer->was_given_up;
        const weft_err err = connect_as_reader(peer, clock_now_ns() + KEEP_MS * ns_per_ms);
        if (err == WEFT_ABORTED || err == WEFT_DATA_LOSS)
            peer_fail_all(peer, err);  // the host has forgotten us
        if (err)
            peer->was_given_up = was_given_up;
        err_clear();
    }
    mutex_unlock(&peer->lock);
}

// A member that only leaves is notified, too, that acknowledged changes are gone.
weft_err peer_leave(struct peer *peer)
{
    struct peer_call call = {0};
    const struct peer_ask ask = {.op = CALL_LEAVE};
    if (peer_has_spoken(peer) && peer_ask(peer, &ask, &call, clock_now_ns() + LEAVE_MS * ns_per_ms))
        err_clear();
    peer_call_fini(&call);
    mutex_lock(&peer->lock);
    const weft_err err = peer->last_code == WEFT_DATA_LOSS
                             ? err_set(WEFT_DATA_LOSS, "%s", peer->last_words)
                             : WEFT_OK;
    mutex_unlock(&peer->lock);
    return err;
}
