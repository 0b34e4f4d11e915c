// A peer whose host is in this process. Calls are kept, numbered and matched as those of any other; only
// the way is shorter: the thread that sends them does them, and comes back with the answers.

#include "cluster/peer_state.h"
#include "sys/time/clock.h"

weft_err peer_port_connect(struct peer *peer, const struct hello *hello)
{
    struct hello_welcome welcome = {0};
    const weft_err err = peer->options.port->open(peer->options.port_owner, hello, &welcome);
    if (err)
        return err_wrap(err, "%s", peer->host);
    peer->is_at_port = true;
    peer_resume(peer, &welcome);
    return WEFT_OK;
}

// Answers for others than the thread that fetched them.
static void tell_others(struct peer *peer)
{
    if (peer->waiter_count)
        condition_broadcast(&peer->changed);
    peer->fetched++;
    if (peer->has_reader)
        peer->options.port->poke(peer->options.port_owner);
}

void peer_port_pump(struct peer *peer, bool *has_moved)
{
    struct peer_batch batch = {
        .answered = peer->answers_received,
        .calls = peer_unsent_calls(peer),
        .asks = buf_bytes(&peer->new_asks),
    };
    peer->in.size = 0;
    peer->exchanged_ns = clock_now_ns();
    const weft_err err = peer->options.port->exchange(peer->options.port_owner, &batch, &peer->in);
    *has_moved = peer->in.size > 0;
    if (!err) {
        peer->is_to_be_tended = false;
        peer->new_asks.size = 0;
        peer_forget_kept(peer, peer->last_sequence);  // it has them all
    }
    const weft_err broken = peer_receive_answers(peer, buf_bytes(&peer->in));
    const bool is_over = err == WEFT_ABORTED || err == WEFT_UNAVAILABLE;
    if (is_over || broken)
        peer_fail_all(peer, is_over ? err : broken);
    else if (*has_moved)
        tell_others(peer);
    err_clear();
}

void peer_port_sleep(struct peer *peer, uint64_t deadline_ns)
{
    const uint64_t before = peer->fetched;
    mutex_unlock(&peer->lock);
    peer->options.port->wait(peer->options.port_owner, &peer->fetched, before, deadline_ns);
    mutex_lock(&peer->lock);
}
