// The connection of a peer: made, lost, made again.

#include <inttypes.h>
#include <stdio.h>

#include "cluster/peer_state.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"
#include "transport/greet.h"

enum {
    CONNECT_MS = 3000,  // for one try,
    CONNECT_MIN_MS =
        100,  // whatever the deadline: else a short one would never come to an end of it
    RETRY_FIRST_MS = 10,  // between two tries, doubled up to
    RETRY_MAX_MS = 500,
    TELL_FIRST_MS = 2000,  // when we say for whom we wait
    TELL_HINT_MS = 300,    // the same when something is there that is not our host
    TELL_NEXT_MS = 10000,
    CONFIRM_BYTES = 8 << 20,  // of answers
};

static const uint64_t ns_per_ms = 1000000;
static const uint64_t answer_ns = 3000;  // no answer comes sooner

void peer_disconnect(struct peer *peer)
{
    if (peer->is_at_port)
        peer->options.port->close(peer->options.port_owner);
    peer->is_at_port = false;
    channel_close(peer->channel);
    peer->channel = NULL;
    frame_parser_fini(&peer->parser);
    peer->in.size = peer->out.size = peer->out_sent = 0;
}

// ---- The hello --------------------------------------------------------------------------------------------

static void fill_hello(const struct peer *peer, struct hello *hello)
{
    *hello = (struct hello){
        .incarnation = peer->options.incarnation,
        .epoch = peer->epoch,
        .resumes = peer->has_session,
        .answers_received = peer->answers_received,
        .life = peer->host_life,
        .life_mark = peer->host_life_mark,
        .session_number = peer->session_number,
        .changes = peer->changes,
    };
    memcpy(hello->session, peer->session, sizeof hello->session);
    secret_random(hello->nonce, sizeof hello->nonce);
    snprintf(hello->member, sizeof hello->member, "%s", peer->member);
    snprintf(hello->expected_host, sizeof hello->expected_host, "%s", peer->host);
}

// An error that a process without the token can cause. It is a hint why the host is out of reach, and
// ends nothing: the host may be there in a moment.
static bool is_hint(weft_err err, bool is_proven)
{
    return !is_proven && (err == WEFT_UNAUTHENTICATED || err == WEFT_DATA_LOSS);
}

// One try, without the lock: `hello` is a copy.
static weft_err try_once(const struct peer *peer, const struct hello *hello, uint64_t deadline_ns,
                         struct channel **channel, struct frame_parser *parser,
                         struct hello_welcome *welcome, bool *has_hint)
{
    bool is_proven = false;
    const uint64_t now_ns = clock_now_ns();
    const uint64_t left_ms = deadline_ns > now_ns ? (deadline_ns - now_ns) / ns_per_ms : 0;
    const uint32_t try_ms = left_ms < CONNECT_MIN_MS ? CONNECT_MIN_MS
                            : left_ms < CONNECT_MS   ? (uint32_t)left_ms
                                                     : CONNECT_MS;
    weft_err err = channel_open(&peer->options.address, &peer->token, try_ms, channel);
    *has_hint = is_hint(err, false);
    if (err)
        return err;
    err = greet_host(*channel, hello, &peer->token, now_ns + try_ms * ns_per_ms, parser, welcome,
                     &is_proven);
    *has_hint = is_hint(err, is_proven);
    if (!err)
        return WEFT_OK;
    channel_close(*channel);
    frame_parser_fini(parser);
    *channel = NULL;
    return err;
}

// ---- Connecting ---------------------------------------------------------------------------------------------

// Errors that time mends: no host there yet, gone for a moment, or at its limits.
static bool is_worth_another_try(weft_err err)
{
    return err == WEFT_UNAVAILABLE || err == WEFT_RESOURCE_EXHAUSTED;
}

static void tell(const struct peer *peer, uint64_t since_ns, uint64_t *next_ns)
{
    const uint64_t now_ns = clock_now_ns();
    if (now_ns < *next_ns || !peer->options.waits)
        return;
    char address[NET_ADDRESS_TEXT_BYTES], sentence[ERR_TEXT_BYTES_MAX];
    net_write_address(&peer->options.address, address);
    snprintf(sentence, sizeof sentence, "waiting for %s at %s since %" PRIu64 " s: %s",
             peer->host[0] ? peer->host : "the host", address,
             (now_ns - since_ns) / (1000 * ns_per_ms), err_text());
    peer->options.waits(peer->options.owner, sentence);
    *next_ns = now_ns + TELL_NEXT_MS * ns_per_ms;
}

// Patience is over, or trying makes no sense.
static weft_err explain(const struct peer *peer, weft_err err, bool has_hint, uint64_t since_ns)
{
    char address[NET_ADDRESS_TEXT_BYTES];
    net_write_address(&peer->options.address, address);
    const char *who = peer->host[0] ? peer->host : "the host";
    if (has_hint && err != WEFT_UNAUTHENTICATED)
        err = WEFT_UNAVAILABLE;  // no host was found there: nothing is known of its data
    if (!has_hint && !is_worth_another_try(err))
        return err_wrap(err, "%s at %s", who, address);
    if (peer->was_given_up)
        return err_wrap(err, "%s at %s was given up before, and is not waited for again", who,
                        address);
    return err_wrap(err, "%s at %s was out of reach for %.1f s", who, address,
                    (double)(clock_now_ns() - since_ns) / 1e9);
}

// Tries until it works, patience or the deadline ends, or trying makes no sense.
static weft_err try_again_and_again(const struct peer *peer, const struct hello *hello,
                                    uint64_t deadline_ns, struct channel **channel,
                                    struct frame_parser *parser, struct hello_welcome *welcome)
{
    const uint64_t since_ns = clock_now_ns();
    const uint32_t patience_ms = hello->resumes && peer->options.patience_again_ms
                                     ? peer->options.patience_again_ms
                                     : peer->options.patience_ms;
    // A host that was waited for in vain is not waited for again: the next calls find out at once.
    const uint64_t patience_ns = peer->was_given_up ? since_ns : since_ns + patience_ms * ns_per_ms;
    uint64_t next_tell_ns = since_ns + TELL_FIRST_MS * ns_per_ms, pause_ms = RETRY_FIRST_MS;
    const uint64_t hint_tell_ns = since_ns + TELL_HINT_MS * ns_per_ms;
    for (bool has_hint = false, has_told = false;;) {
        const weft_err err =
            try_once(peer, hello, deadline_ns, channel, parser, welcome, &has_hint);
        const uint64_t now_ns = clock_now_ns();
        if (!err)
            return WEFT_OK;
        if ((!has_hint && !is_worth_another_try(err)) || now_ns >= patience_ns)
            return explain(peer, err, has_hint, since_ns);
        if (now_ns >= deadline_ns || interrupt_ends(deadline_ns))
            return explain(peer, err_wrap(WEFT_DEADLINE_EXCEEDED, "the time is over"), false,
                           since_ns);
        if (has_hint && !has_told && now_ns >= hint_tell_ns) {
            next_tell_ns = now_ns;
            has_told = true;
        }
        tell(peer, since_ns, &next_tell_ns);
        const uint64_t left_ms = (deadline_ns - now_ns) / ns_per_ms + 1;
        interrupt_sleep_ms((uint32_t)(pause_ms < left_ms ? pause_ms : left_ms));
        pause_ms = pause_ms * 2 < RETRY_MAX_MS ? pause_ms * 2 : RETRY_MAX_MS;
    }
}

void peer_resume(struct peer *peer, const struct hello_welcome *welcome)
{
    peer->epoch = welcome->epoch;
    peer->host_life = welcome->life;
    peer->host_life_mark = welcome->life_mark;
    peer->session_number = welcome->session_number;
    peer->has_session = true;
    peer->out.size = peer->out_sent = 0;
    peer_forget_kept(peer, welcome->applied);
    peer->kept_sent = peer->kept_from;
    peer->new_asks.size = 0;
    for (struct link *at = peer->asks.next; at != &peer->asks; at = at->next) {
        const struct peer_call *call = LIST_ITEM(at, struct peer_call, in_asks);
        buf_append(&peer->new_asks, call->record.data, call->record.size);
    }
    peer_gather(peer);
}

// ---- Sending and receiving -------------------------------------------------------------------------------------

static void append_frame(struct peer *peer, weft_bytes calls, weft_bytes asks)
{
    uint8_t head[FRAME_HEADER_BYTES];
    frame_encode_header(head, WEFT__FRAME_TYPE__FRAME_CALLS,
                        CALL_FRAME_HEAD_BYTES + calls.size + asks.size);
    buf_append(&peer->out, head, sizeof head);
    call_append_frame_head(&peer->out, peer->answers_received);
    peer->unconfirmed_bytes = 0;
    buf_append(&peer->out, calls.data, calls.size);
    buf_append(&peer->out, asks.data, asks.size);
}

static void append_frames(struct peer *peer, weft_bytes calls)
{
    while (calls.size) {
        const size_t batch =
            call_size_of_batch(calls, FRAME_PAYLOAD_BYTES_MAX - CALL_FRAME_HEAD_BYTES);
        append_frame(peer, (weft_bytes){calls.data, batch}, weft_none());
        calls.data += batch;
        calls.size -= batch;
    }
}

void peer_gather(struct peer *peer)
{
    const weft_bytes calls = peer_unsent_calls(peer), asks = buf_bytes(&peer->new_asks);
    const size_t size = calls.size + asks.size;
    if (size == 0 || !peer->channel)
        return;
    if (CALL_FRAME_HEAD_BYTES + size <= FRAME_PAYLOAD_BYTES_MAX) {
        append_frame(peer, calls, asks);
    } else {
        append_frames(peer, calls);
        append_frames(peer, asks);
    }
    peer->kept_sent = peer->kept.size;
    peer->new_asks.size = 0;
    peer->is_held = false;
    peer->is_to_be_tended = false;
}

static weft_err send_out(struct peer *peer)
{
    if (peer->out_sent == peer->out.size && channel_unsent_bytes(peer->channel) == 0)
        return WEFT_OK;
    size_t sent = 0;
    const weft_err err = channel_send(
        peer->channel,
        (weft_bytes){peer->out.data + peer->out_sent, peer->out.size - peer->out_sent}, &sent);
    peer->out_sent += sent;
    if (sent)
        peer->sent_ns = clock_now_ns();
    if (peer->out_sent == peer->out.size)
        peer->out.size = peer->out_sent = 0;
    return err;
}

// The host keeps answers until it hears that we have them, and does no more calls when it keeps too much. Who
// has nothing to ask says so by itself.
static void confirm_if_much(struct peer *peer, size_t bytes)
{
    peer->unconfirmed_bytes += bytes;
    if (!peer->channel || peer->unconfirmed_bytes < CONFIRM_BYTES)
        return;
    append_frame(peer, weft_none(), weft_none());
    if (send_out(peer))
        err_clear();  // the next reader finds out
}

weft_err peer_receive_answers(struct peer *peer, weft_bytes answers)
{
    const size_t bytes = answers.size;
    weft_err err = WEFT_OK;
    while (answers.size && !err) {
        struct answer answer;
        err = answer_next(&answers, &answer);
        if (!err)
            peer_receive_answer(peer, &answer);
    }
    if (!err)
        confirm_if_much(peer, bytes);
    return err;
}

static weft_err receive_frame(struct peer *peer, const struct frame *frame)
{
    if (frame->type != WEFT__FRAME_TYPE__FRAME_ANSWERS)
        return err_set(WEFT_DATA_LOSS, "%s sent a frame of type %d", peer->host, (int)frame->type);
    return peer_receive_answers(peer, frame->payload);
}

static weft_err receive_frames(struct peer *peer)
{
    bool has_frame = true;
    weft_err err = frame_parser_feed(&peer->parser, peer->in.data, peer->in.size);
    while (!err && has_frame) {
        struct frame frame = {0};
        err = frame_parser_next(&peer->parser, &frame, &has_frame);
        if (!err && has_frame)
            err = receive_frame(peer, &frame);
    }
    return err;
}

void peer_send(struct peer *peer)
{
    bool has_moved;
    if (peer->is_at_port && peer_unsent_calls(peer).size + peer->new_asks.size > 0)
        peer_port_pump(peer, &has_moved);
    // The next read reports why sending failed.
    if (peer->channel && send_out(peer))
        err_clear();
}

void peer_look(struct peer *peer, bool *has_moved)
{
    *has_moved = false;
    peer_gather(peer);
    if (!peer->is_at_port)
        peer_send(peer);
    if (clock_now_ns() - peer->sent_ns >= answer_ns)  // else it cannot be answered yet
        peer_pump(peer, has_moved);
}

void peer_pump(struct peer *peer, bool *has_moved)
{
    if (peer->is_at_port) {
        peer_port_pump(peer, has_moved);
        return;
    }
    size_t received = 0;
    *has_moved = false;
    weft_err err = send_out(peer);
    peer->in.size = 0;
    // Also after a failed send: answers from before the end count.
    const weft_err end = channel_receive(peer->channel, &peer->in, &received);
    weft_err broken = WEFT_OK;
    if (received) {
        *has_moved = true;
        broken = receive_frames(peer);
    }
    if (!err && !end && !broken)
        return;
    err_clear();
    peer_disconnect(peer);
}

// Without the lock: others may send during that time; arriving bytes are the reader's.
static void sleep_at_channel(struct peer *peer, uint64_t until_ns, bool can_nap)
{
    struct channel *channel = peer->channel;
    const bool wants_to_send = peer->out_sent < peer->out.size || channel_unsent_bytes(channel);
    size_t received = 0;
    bool timed_out;
    peer->in.size = 0;
    mutex_unlock(&peer->lock);
    const weft_err err = can_nap && !wants_to_send
                             ? channel_await(channel, &peer->in, &received)
                             : channel_watch(channel, wants_to_send, until_ns, &timed_out);
    if (err)
        err_clear();  // the next look says what is wrong
    mutex_lock(&peer->lock);
    peer->sent_ns = 0;  // from now on it pays to look
    if (received && receive_frames(peer)) {
        err_clear();
        peer_disconnect(peer);
    }
    if (received && peer->waiter_count)
        condition_broadcast(&peer->changed);
}

void peer_sleep(struct peer *peer, uint64_t deadline_ns)
{
    // A reader looks up now and then: another thread may have left something to send.
    const uint64_t nap_ns = clock_now_ns() + CHANNEL_NAP_MS * ns_per_ms;
    const uint64_t until_ns = interrupt_slice(nap_ns < deadline_ns ? nap_ns : deadline_ns);
    if (peer->is_at_port)
        peer_port_sleep(peer, until_ns);
    else
        sleep_at_channel(peer, until_ns, nap_ns <= deadline_ns);
}

weft_err peer_connect(struct peer *peer, uint64_t deadline_ns)
{
    if (peer_is_connected(peer))
        return WEFT_OK;
    struct hello hello;
    struct hello_welcome welcome = {0};
    struct channel *channel = NULL;
    struct frame_parser parser = {0};
    fill_hello(peer, &hello);
    if (peer->options.port)
        return peer_port_connect(peer, &hello);
    mutex_unlock(&peer->lock);
    const weft_err err =
        try_again_and_again(peer, &hello, deadline_ns, &channel, &parser, &welcome);
    mutex_lock(&peer->lock);
    peer->was_given_up = is_worth_another_try(err) || err == WEFT_UNAUTHENTICATED;
    if (err)
        return err;
    peer->channel = channel;
    peer->parser = parser;
    if (welcome.applied < peer->changes)
        return err_set(WEFT_DATA_LOSS,
                       "%s has lost %" PRIu64 " calls that it had answered\n  try: look at the "
                       "present state, and repeat the missing calls",
                       peer->host[0] ? peer->host : "the host", peer->changes - welcome.applied);
    peer_resume(peer, &welcome);
    // Answers may have come together with the welcome, also for others than this thread.
    peer->in.size = 0;
    if (receive_frames(peer)) {
        err_clear();
        peer_disconnect(peer);
    }
    if (peer->waiter_count)
        condition_broadcast(&peer->changed);
    return WEFT_OK;
}
