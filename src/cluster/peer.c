// Calls of a peer: numbered, kept until the host has them, matched with their answers.

#include "cluster/peer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster/peer_state.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"
#include "wire/ops/host.h"
#include "wire/ops/queue.h"

enum {
    RING_SIZE_MIN = 64,
    GATHER_BYTES_MAX = 64 << 10,  // more than that does not wait for company
    GATHER_CALLS_MAX = 32,
    KEPT_FRONT_BYTES = 64 << 10,
    TAKE_BACK_MIN_MS = 100,  // how long the answer to a cancelled call may take: as long as
    TAKE_BACK_MAX_MS = 1000  // the call itself was given, within these bounds
};

static const uint64_t ns_per_ms = 1000000;
static const uint64_t pause_ns = 50000;  // calls that come sooner after each other go together

static void draw_session(struct peer *peer)
{
    secret_random(peer->session, sizeof peer->session);
    peer->has_session = false;
    peer->life++;
    peer->last_sequence = peer->answered = peer->answers_received = 0;
    peer->host_life = peer->host_life_mark = peer->changes = 0;
    peer->session_number = 0;
    peer->kept.size = peer->kept_from = peer->kept_sent = 0;
    peer->is_held = false;
    peer->new_asks.size = 0;
    peer->last_handle = 0;
    peer->free_handles.count = 0;
}

struct peer *peer_new(const struct peer_options *options)
{
    struct peer *peer = calloc(1, sizeof *peer);
    struct peer_slot *ring = calloc(RING_SIZE_MIN, sizeof *ring);
    if (!peer || !ring) {
        free(peer);
        free(ring);
        err_no_memory("for a connection");
        return NULL;
    }
    peer->options = *options;
    peer->token = *options->token;
    snprintf(peer->host, sizeof peer->host, "%s", options->host);
    snprintf(peer->member, sizeof peer->member, "%s", options->member);
    peer->ring = ring;
    peer->ring_size = RING_SIZE_MIN;
    list_init(&peer->asks);
    mutex_init(&peer->lock);
    condition_init(&peer->changed);
    draw_session(peer);
    return peer;
}

void peer_free(struct peer *peer, bool says_goodbye)
{
    if (!peer)
        return;
    struct err_kept kept;  // of what the caller may be ending for
    err_keep(&kept);
    if (says_goodbye && peer_leave(peer) != WEFT_OK)
        err_clear();  // not reported: err_put_back() below restores the sentence from before
    mutex_lock(&peer->lock);
    err_set(WEFT_CANCELLED, "the connection was closed");
    peer_fail_all(peer, WEFT_CANCELLED);
    mutex_unlock(&peer->lock);
    err_put_back(&kept);
    peer_disconnect(peer);
    buf_fini(&peer->in);
    buf_fini(&peer->out);
    buf_fini(&peer->kept);
    buf_fini(&peer->new_asks);
    VEC_FINI(&peer->free_handles);
    free(peer->ring);
    secret_clear(&peer->token);
    condition_fini(&peer->changed);
    mutex_fini(&peer->lock);
    free(peer);
}

bool peer_has_spoken(struct peer *peer)
{
    mutex_lock(&peer->lock);
    const bool has_spoken = peer->has_session;
    mutex_unlock(&peer->lock);
    return has_spoken;
}

// ---- The ring -----------------------------------------------------------------------------------------------

static struct peer_slot *slot_of(struct peer *peer, uint64_t sequence)
{
    return &peer->ring[sequence & (peer->ring_size - 1)];
}

static bool grow_ring(struct peer *peer)
{
    const size_t size = peer->ring_size * 2;
    struct peer_slot *ring = calloc(size, sizeof *ring);
    if (!ring)
        return false;
    for (size_t i = 0; i < peer->ring_size; i++)
        if (peer->ring[i].sequence)
            ring[peer->ring[i].sequence & (size - 1)] = peer->ring[i];
    free(peer->ring);
    peer->ring = ring;
    peer->ring_size = size;
    return true;
}

static bool make_slot(struct peer *peer, uint64_t sequence)
{
    while (slot_of(peer, sequence)->sequence)
        if (!grow_ring(peer))
            return false;
    return true;
}

// ---- What the host has ----------------------------------------------------------------------------------------

void peer_forget_kept(struct peer *peer, uint64_t sequence)
{
    peer->changes = sequence > peer->changes ? sequence : peer->changes;
    while (peer->kept_from < peer->kept.size) {
        uint32_t size;
        uint64_t kept;
        memcpy(&size, peer->kept.data + peer->kept_from, sizeof size);
        memcpy(&kept, peer->kept.data + peer->kept_from + 8, sizeof kept);
        if (kept > sequence)
            break;
        peer->kept_from += size;
    }
    if (peer->kept_sent < peer->kept_from)
        peer->kept_sent = peer->kept_from;
    const size_t left = peer->kept.size - peer->kept_from;
    if (left > 0 && (peer->kept_from < KEPT_FRONT_BYTES || left > peer->kept_from))
        return;
    if (left > 0)
        memmove(peer->kept.data, peer->kept.data + peer->kept_from, left);
    peer->kept_sent -= peer->kept_from;
    peer->kept.size = left;
    peer->kept_from = 0;
}

// ---- Numbering ------------------------------------------------------------------------------------------------

static void append_call(struct buf *out, const struct peer_ask *ask, uint64_t sequence, size_t size)
{
    call_append_head(out, ask->op, ask->flags, ask->handle, sequence, size);
    for (size_t i = 0; i < PEER_PARTS_MAX; i++)
        buf_append(out, ask->parts[i].data, ask->parts[i].size);
}

bool peer_start_change(struct peer *peer, const struct peer_ask *ask, struct peer_call *call,
                       size_t size)
{
    const uint64_t sequence = peer->last_sequence + 1;
    if (!make_slot(peer, sequence) || !buf_reserve(&peer->kept, CALL_HEAD_BYTES + size))
        return false;
    peer->last_sequence = sequence;
    if (call)
        call->sequence = sequence;
    *slot_of(peer, sequence) = (struct peer_slot){call, sequence, ask->handle, ask->op, false};
    peer->unanswered++;
    append_call(&peer->kept, ask, sequence, size);
    return true;
}

// ---- Answers ---------------------------------------------------------------------------------------------------

// False: there was no memory for the answer. A zero after it needs none later: an element of text can be handed out.
static bool end_call(struct peer_call *call, const struct answer *answer)
{
    const size_t size = answer->payload.size;
    call->code = answer->code;
    call->flags = answer->flags;
    call->answer.size = 0;
    const bool is_whole = size == 0 || buf_reserve(&call->answer, size + 1);
    if (is_whole)
        buf_append(&call->answer, answer->payload.data, size);
    call->is_under_way = false;
    atomic_store_explicit(&call->is_done, true, memory_order_release);
    return is_whole;
}

static bool is_done(struct peer_call *call)
{
    return atomic_load_explicit(&call->is_done, memory_order_acquire);
}

static void give_back(struct peer *peer, uint16_t handle, const struct call_item *item)
{
    struct ops_call op;
    ops_queue_settle_make(&op, &(struct ops_queue_settle){
                                   .op = CALL_QUEUE_GIVE_BACK, .is_unbegun = true, .item = *item});
    struct peer_ask ask;
    peer_ask_init(&ask, &op, handle, 0);
    // Without memory for it the lease ends with the session.
    peer_start_change(peer, &ask, NULL, op.head_size);
}

// No caller waits for it any more, or can have it; what came with it must not be lost.
static void give_back_unwanted(struct peer *peer, const struct peer_slot *slot,
                               const struct answer *answer)
{
    struct ops_queue_taken taken;
    uint32_t count = 0;
    weft_bytes list = answer->payload;
    if (answer->code)
        return;
    if (slot->op == CALL_QUEUE_TAKE && ops_queue_taken_decode(answer->payload, &taken))
        give_back(peer, slot->handle, &taken.item);
    if (slot->op == CALL_QUEUE_TAKE_MANY && !ops_queue_count_next(&list, &count))
        return;
    for (; count > 0 && ops_queue_taken_next(&list, &taken); count--)
        give_back(peer, slot->handle, &taken.item);
}

static void receive_ask_answer(struct peer *peer, const struct answer *answer)
{
    for (struct link *at = peer->asks.next; at != &peer->asks; at = at->next) {
        struct peer_call *call = LIST_ITEM(at, struct peer_call, in_asks);
        if (call->sequence != answer->sequence)
            continue;
        list_take_out(&call->in_asks);
        end_call(call, answer);
        return;
    }
}

void peer_receive_answer(struct peer *peer, const struct answer *answer)
{
    if (answer->sequence & CALL_ASKS_BIT) {
        receive_ask_answer(peer, answer);
        return;
    }
    if (answer->flags & ANSWER_FLAG_COUNTED)
        peer->answers_received++;
    if (answer->sequence > peer->answered) {
        peer->answered = answer->sequence;
        peer_forget_kept(peer, answer->sequence);
    }
    struct peer_slot *slot = slot_of(peer, answer->sequence);
    if (slot->sequence != answer->sequence)
        return;
    const struct peer_slot ended = *slot;
    *slot = (struct peer_slot){0};
    peer->unanswered--;
    if (!ended.call || !end_call(ended.call, answer))
        give_back_unwanted(peer, &ended, answer);
    if (ended.holds_handle)
        peer_let_go_of_handle(peer, ended.handle);
}

void peer_fail_all(struct peer *peer, weft_err code)
{
    struct answer answer = {.code = code, .payload = weft_text(err_text())};
    peer->last_code = code;
    snprintf(peer->last_words, sizeof peer->last_words, "%s", err_text());
    for (size_t i = 0; i < peer->ring_size; i++) {
        if (peer->ring[i].call)
            end_call(peer->ring[i].call, &answer);
        peer->ring[i] = (struct peer_slot){0};
    }
    while (!list_is_empty(&peer->asks)) {
        struct peer_call *call = LIST_ITEM(peer->asks.next, struct peer_call, in_asks);
        list_take_out(&call->in_asks);
        end_call(call, &answer);
    }
    peer->unanswered = 0;
    peer_disconnect(peer);
    draw_session(peer);
    condition_broadcast(&peer->changed);
}

// ---- Starting --------------------------------------------------------------------------------------------------

size_t peer_size_of_ask(const struct peer_ask *ask)
{
    size_t size = 0;
    for (size_t i = 0; i < PEER_PARTS_MAX; i++)
        size += ask->parts[i].size;
    return size;
}

static bool start_ask(struct peer *peer, const struct peer_ask *ask, struct peer_call *call,
                      size_t size)
{
    call->sequence = ++peer->last_ask | CALL_ASKS_BIT;
    call->record.size = 0;
    append_call(&call->record, ask, call->sequence, size);
    if (call->record.has_failed || !buf_reserve(&peer->new_asks, call->record.size))
        return false;
    buf_append(&peer->new_asks, call->record.data, call->record.size);
    list_append(&peer->asks, &call->in_asks);
    return true;
}

static void flush_locked(struct peer *peer)
{
    bool has_moved;
    // Callers that do not wait read the answers here; to look for them before anything was sent is vain.
    const bool may_have_answers = peer->kept_sent > peer->kept_from;
    if (!peer_is_connected(peer))
        return;
    peer_gather(peer);
    if (may_have_answers && !peer->has_reader)
        peer_pump(peer, &has_moved);
    else
        peer_send(peer);
}

weft_err peer_check_ask(const struct peer *peer, const struct peer_ask *ask, size_t size)
{
    if (size > CALL_BYTES_MAX - CALL_HEAD_BYTES)
        return err_set(WEFT_INVALID_ARGUMENT, "a call of %zu bytes is too long: at most %u", size,
                       CALL_BYTES_MAX - CALL_HEAD_BYTES);
    if (ask->life && ask->life != peer->life)
        return err_set(peer->last_code == WEFT_DATA_LOSS ? WEFT_DATA_LOSS : WEFT_ABORTED,
                       "it was opened before this: %s%s", peer->last_words,
                       strchr(peer->last_words, '\n') ? "" : "\n  try: open it again");
    return WEFT_OK;
}

// Nagle's rule by answers: the first goes at once, those after it go together. A host in this process
// answers at once: there, those that follow each other closely and are not waited for go together.
static bool goes_at_once(const struct peer *peer, const struct peer_ask *ask, bool was_idle)
{
    if (!peer->is_at_port || ask->is_awaited)
        return was_idle || peer->is_at_port;
    return clock_now_ns() - peer->exchanged_ns >= pause_ns;
}

void peer_flush_if_due(struct peer *peer, const struct peer_ask *ask, bool was_idle)
{
    const bool is_due = goes_at_once(peer, ask, was_idle) || peer->is_held ||
                        (peer->last_sequence & (GATHER_CALLS_MAX - 1)) == 0;
    peer->is_held = is_due && ask->is_followed;
    if ((is_due && !ask->is_followed) || peer->kept.size - peer->kept_sent >= GATHER_BYTES_MAX)
        flush_locked(peer);
    else if (!ask->is_awaited)
        peer_leave_to_tending(peer);
}

void peer_leave_to_tending(struct peer *peer)
{
    if (peer->is_to_be_tended || !peer->options.asks_to_be_tended)
        return;
    peer->is_to_be_tended = peer->options.asks_to_be_tended(peer->options.owner);
    if (!peer->is_to_be_tended)
        flush_locked(peer);
}

weft_err peer_start(struct peer *peer, const struct peer_ask *ask, struct peer_call *call)
{
    const size_t size = peer_size_of_ask(ask);
    mutex_lock(&peer->lock);
    const bool was_idle = peer->unanswered == 0;
    weft_err err = peer_check_ask(peer, ask, size);
    if (!err) {
        call->is_done = false;
        call->is_under_way = call_op_changes(ask->op) ? peer_start_change(peer, ask, call, size)
                                                      : start_ask(peer, ask, call, size);
        if (call->is_under_way)
            peer_flush_if_due(peer, ask, was_idle);
        else
            err = err_no_memory("for a call");
    }
    mutex_unlock(&peer->lock);
    return err;
}

weft_err peer_tell(struct peer *peer, const struct peer_ask *ask)
{
    const size_t size = peer_size_of_ask(ask);
    mutex_lock(&peer->lock);
    const bool was_idle = peer->unanswered == 0;
    weft_err err = peer_check_ask(peer, ask, size);
    if (!err && !peer_start_change(peer, ask, NULL, size))
        err = err_no_memory("for a call");
    if (!err)
        peer_flush_if_due(peer, ask, was_idle);
    mutex_unlock(&peer->lock);
    return err;
}

// ---- Waiting ----------------------------------------------------------------------------------------------------

// Reads until the call is done or the deadline has come. One thread at a time, the lock is held.
static void read_until_done(struct peer *peer, struct peer_call *call, uint64_t deadline_ns)
{
    peer->has_reader = true;
    while (!is_done(call) && clock_now_ns() < deadline_ns && !interrupt_ends(deadline_ns)) {
        const weft_err err = peer_connect(peer, deadline_ns);
        if (err == WEFT_DEADLINE_EXCEEDED)
            break;
        if (err) {
            peer_fail_all(peer, err);
            break;
        }
        bool has_moved;
        peer_look(peer, &has_moved);
        if (has_moved && peer->waiter_count)
            condition_broadcast(&peer->changed);
        if (!is_done(call) && !has_moved && peer_is_connected(peer))
            peer_sleep(peer, deadline_ns);
    }
    // Elements and handles that were given back during the wait: perhaps the program does not call again for long.
    peer_gather(peer);
    peer_send(peer);
    peer->has_reader = false;
    if (peer->waiter_count)
        condition_broadcast(&peer->changed);
}

static void wait_until(struct peer *peer, struct peer_call *call, uint64_t deadline_ns)
{
    while (!is_done(call) && clock_now_ns() < deadline_ns && !interrupt_ends(deadline_ns)) {
        if (!peer->has_reader) {
            read_until_done(peer, call, deadline_ns);
            continue;
        }
        peer_gather(peer);
        peer_send(peer);
        if (is_done(call))  // a host in this process answers at once
            break;
        peer->waiter_count++;
        condition_wait_until(&peer->changed, &peer->lock, interrupt_slice(deadline_ns));
        peer->waiter_count--;
    }
}

bool peer_start_cancel(struct peer *peer, uint64_t sequence, struct peer_call *cancel)
{
    struct ops_call op;
    ops_recall_make(&op, &(struct ops_recall){CALL_CANCEL, sequence});
    struct peer_ask ask;
    peer_ask_init(&ask, &op, 0, 0);
    return peer_start_change(peer, &ask, cancel, op.head_size);
}

void peer_forget_call(struct peer *peer, struct peer_call *call)
{
    struct peer_slot *slot = slot_of(peer, call->sequence);
    if (slot->call == call)
        slot->call = NULL;
    call->is_under_way = false;
    peer_leave_to_tending(peer);  // what comes with the answer is to be given back
}

// A question has nothing to undo: the host has to let go of it. One out of reach has, with the connection.
static void withdraw(struct peer *peer, struct peer_call *call)
{
    struct ops_call op;
    ops_recall_make(&op, &(struct ops_recall){CALL_WITHDRAW, call->sequence});
    struct peer_ask ask;
    peer_ask_init(&ask, &op, 0, 0);
    list_take_out(&call->in_asks);
    call->is_under_way = false;
    if (!peer_is_connected(peer) || !buf_reserve(&peer->new_asks, CALL_HEAD_BYTES + op.head_size))
        return;
    append_call(&peer->new_asks, &ask, ++peer->last_ask | CALL_ASKS_BIT, op.head_size);
    flush_locked(peer);
}

static uint64_t take_back_ns(uint64_t given_ns)
{
    if (given_ns < TAKE_BACK_MIN_MS * ns_per_ms)
        return TAKE_BACK_MIN_MS * ns_per_ms;
    return given_ns < TAKE_BACK_MAX_MS * ns_per_ms ? given_ns : TAKE_BACK_MAX_MS * ns_per_ms;
}

// Asks the host to take the call back, so that the answer says whether it was done. A host that is stopped does not
// answer: a caller with a short deadline must not wait long for that.
static void take_back(struct peer *peer, struct peer_call *call, uint64_t given_ns)
{
    if (call->sequence & CALL_ASKS_BIT) {
        withdraw(peer, call);
        return;
    }
    struct peer_call cancel = {0};
    const uint64_t deadline_ns = clock_now_ns() + take_back_ns(given_ns);
    if (peer_start_cancel(peer, call->sequence, &cancel)) {
        if (peer_is_connected(peer))  // else the host gets it when it is there again
            wait_until(peer, &cancel, deadline_ns);
        if (!is_done(&cancel))
            peer_forget_call(peer, &cancel);
    }
    peer_call_fini(&cancel);
    if (!is_done(call))
        peer_forget_call(peer, call);
}

weft_err peer_late(const struct peer *peer)
{
    return err_set(WEFT_DEADLINE_EXCEEDED, "%s did not answer in time",
                   peer->host[0] ? peer->host : "the host");
}

// Waits and, when it is too late, takes the call back.
static weft_err wait_or_take_back(struct peer *peer, struct peer_call *call, uint64_t deadline_ns)
{
    bool is_late = false;
    const uint64_t now_ns = deadline_ns == UINT64_MAX ? 0 : clock_now_ns();
    mutex_lock(&peer->lock);
    if (!is_done(call) && !call->is_under_way) {
        mutex_unlock(&peer->lock);
        return err_set(WEFT_FAILED_PRECONDITION, "the call was taken back");
    }
    wait_until(peer, call, deadline_ns);
    if (!is_done(call)) {
        is_late = true;
        const bool is_hurried = interrupt_ends(UINT64_MAX) || deadline_ns <= now_ns;
        take_back(peer, call, is_hurried ? 0 : deadline_ns - now_ns);
    }
    mutex_unlock(&peer->lock);
    if (!is_done(call))
        return peer_late(peer);
    // The host has answered: the queue was full, or the barrier lacked others.
    return is_late && call->code == WEFT_CANCELLED
               ? err_set(WEFT_DEADLINE_EXCEEDED, "it could not be done before the deadline")
               : WEFT_OK;
}

static weft_err end_of(const struct peer_call *call)
{
    if (call->answer.has_failed)
        return err_no_memory("for an answer");
    if (call->code)
        return err_set(call->code, "%.*s", (int)call->answer.size,
                       call->answer.size ? call->answer.data : "");
    return WEFT_OK;
}

weft_err peer_finish(struct peer *peer, struct peer_call *call, uint64_t deadline_ns)
{
    // The answer of one in flight with many others came with theirs: no lock for it.
    const weft_err err = is_done(call) ? WEFT_OK : wait_or_take_back(peer, call, deadline_ns);
    return err ? err : end_of(call);
}

weft_err peer_wait(struct peer *peer, struct peer_call *call, uint64_t deadline_ns)
{
    if (!is_done(call)) {
        mutex_lock(&peer->lock);
        wait_until(peer, call, deadline_ns);
        mutex_unlock(&peer->lock);
    }
    return is_done(call) ? end_of(call) : peer_late(peer);
}

bool peer_has_answer(struct peer *peer, struct peer_call *call)
{
    (void)peer;
    return is_done(call);
}

bool peer_is_done(struct peer *peer, struct peer_call *call)
{
    bool has_moved;
    if (is_done(call))
        return true;
    mutex_lock(&peer->lock);
    if (!is_done(call) && (!peer->has_reader || peer->is_at_port) && peer_is_connected(peer)) {
        peer_gather(peer);
        peer_pump(peer, &has_moved);
    }
    mutex_unlock(&peer->lock);
    return is_done(call);
}

void peer_call_fini(struct peer_call *call)
{
    buf_fini(&call->answer);
    buf_fini(&call->record);
}

weft_err peer_ask(struct peer *peer, const struct peer_ask *ask, struct peer_call *call,
                  uint64_t deadline_ns)
{
    struct peer_ask awaited = *ask;
    awaited.is_awaited = true;
    const weft_err err = peer_start(peer, &awaited, call);
    return err ? err : peer_finish(peer, call, deadline_ns);
}
