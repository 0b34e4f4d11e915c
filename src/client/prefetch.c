// How many takes are under way, who gets their elements, and what becomes of those that are not wanted.

#include "client/prefetch.h"

#include <stdlib.h>

#include "client/keeper.h"
#include "client/remote/ops.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"

enum {
    WITHDRAW_MS = 1000,  // how long the host may take to answer when a handle is freed,
    GIVE_UP_MS = 100,    // or a call was too late
    AWAIT_MS = 1000,     // between two looks whether to stop, at a host that cannot be reached
    STALE_ROUNDS = 4     // of the keeper that an element may lie here
};

static const uint64_t ns_per_ms = 1000000;
static const uint64_t ahead_ns = 2000000;       // of work may lie here
static const uint64_t ahead_bytes = 512 << 10;  // and so much of elements
static const uint64_t slow_ns =
    500000;  // a consumer that takes longer for one asks for one at a time
static const uint64_t sure_ns = 1000000000;  // our session is not given up sooner

void prefetch_init(struct prefetch *prefetch, struct remote *remote)
{
    *prefetch = (struct prefetch){
        .credit = 1, .credit_max = PREFETCH_MAX, .limited_max = 1, .remote = remote};
    mutex_init(&prefetch->lock);
}

// ---- The ring ------------------------------------------------------------------------------------------------

static void free_call(struct peer_call *call)
{
    peer_call_fini(call);
    free(call);
}

static struct peer_call *call_at(const struct prefetch *prefetch, uint32_t i)
{
    return prefetch->calls[(prefetch->first + i) % PREFETCH_MAX];
}

static struct peer_call *remove_first(struct prefetch *prefetch)
{
    struct peer_call *call = prefetch->calls[prefetch->first];
    prefetch->first = (prefetch->first + 1) % PREFETCH_MAX;
    prefetch->count--;
    return call;
}

static bool read_element(const struct peer_call *call, struct ops_queue_taken *taken)
{
    return call->is_done && !call->code && ops_queue_taken_decode(buf_bytes(&call->answer), taken);
}

static bool has_element(const struct peer_call *call)
{
    struct ops_queue_taken taken;
    return read_element(call, &taken);
}

static void give_back(struct remote *remote, struct peer_call *call)
{
    struct ops_queue_taken taken;
    if (read_element(call, &taken))
        remote_queue_tell_unbegun(remote, &taken.item);
}

static struct peer_call *remove_last(struct prefetch *prefetch)
{
    return prefetch->calls[(prefetch->first + --prefetch->count) % PREFETCH_MAX];
}

// The element was not handed out after all: it is the next caller's.
static void put_first(struct prefetch *prefetch, struct peer_call *call)
{
    if (prefetch->count == PREFETCH_MAX) {  // others came in between
        if (call->is_done)
            give_back(prefetch->remote, call);
        else
            peer_abandon(prefetch->remote->peer, call);
        free_call(call);
        return;
    }
    prefetch->first = (prefetch->first + PREFETCH_MAX - 1) % PREFETCH_MAX;
    prefetch->calls[prefetch->first] = call;
    prefetch->count++;
    keeper_arm(prefetch->remote->cluster);
}

// One that was at the end of the ring, and is there again.
static void put_last(struct prefetch *prefetch, struct peer_call *call)
{
    if (prefetch->count == PREFETCH_MAX) {
        put_first(prefetch, call);  // which gives it back
        return;
    }
    prefetch->calls[(prefetch->first + prefetch->count++) % PREFETCH_MAX] = call;
    keeper_arm(prefetch->remote->cluster);
}

// ---- Asking --------------------------------------------------------------------------------------------------

static weft_err start_one(struct prefetch *prefetch, uint64_t now_ns, bool is_ahead,
                          bool is_followed)
{
    struct ops_call op;
    ops_queue_take_make(&op, &(struct ops_queue_take){.is_ahead = is_ahead});
    struct peer_ask ask;
    peer_ask_init(&ask, &op, prefetch->remote->handle, prefetch->remote->life);
    ask.is_followed = is_followed;
    struct peer_call *call = calloc(1, sizeof *call);
    if (!call)
        return err_no_memory("for a call");
    call->since_ns = now_ns;
    const weft_err err = peer_start(prefetch->remote->peer, &ask, call);
    if (err) {
        free_call(call);
        return err;
    }
    prefetch->calls[(prefetch->first + prefetch->count++) % PREFETCH_MAX] = call;
    return WEFT_OK;
}

// One for the caller, and more when half of what may be under way is used up, so that they go in batches. None is asked
// for ahead where no keeper would give it back.
static weft_err refill(struct prefetch *prefetch, uint64_t now_ns)
{
    weft_err err = WEFT_OK;
    if (prefetch->is_withdrawing && prefetch->count > 0)
        return WEFT_OK;
    prefetch->is_withdrawing = false;
    if (prefetch->count > prefetch->credit / 2)
        return WEFT_OK;
    const bool wants_more = prefetch->credit > 1 && keeper_arm(prefetch->remote->cluster);
    if (prefetch->count == 0)
        err = start_one(prefetch, now_ns, false, wants_more);
    while (!err && wants_more && prefetch->count < prefetch->credit)
        err = start_one(prefetch, now_ns, !prefetch->is_limited,
                        prefetch->count + 1 < prefetch->credit);
    return err;
}

static void lower(uint32_t *credit, uint64_t most)
{
    if (*credit > most)
        *credit = (uint32_t)most;
}

// How long its consumer needed for the last one says how many to ask for.
static void adapt(struct prefetch *prefetch, uint64_t now_ns)
{
    if (prefetch->handed_ns) {
        const uint64_t took_ns = now_ns - prefetch->handed_ns;
        prefetch->mean_ns = (prefetch->mean_ns * 3 + took_ns) / 4;
        prefetch->credit = PREFETCH_MAX;
        lower(&prefetch->credit, 1 + ahead_ns / (prefetch->mean_ns + 1));
        lower(&prefetch->credit, 1 + ahead_bytes / (prefetch->mean_bytes + 1));
    }
    lower(&prefetch->credit, prefetch->credit_max);
    if (prefetch->is_limited)
        lower(&prefetch->credit, prefetch->limited_max);
    if (prefetch->is_plain || prefetch->mean_ns > slow_ns)
        prefetch->credit = 1;
}

// ---- Giving back ---------------------------------------------------------------------------------------------

// Takes under way are asked back; true: all have been answered.
static bool withdraw(struct prefetch *prefetch)
{
    bool is_all_here = true;
    for (uint32_t i = 0; i < prefetch->count; i++) {
        struct peer_call *call = call_at(prefetch, i);
        if (call->is_done)
            continue;
        is_all_here = false;
        if (!prefetch->is_withdrawing)
            peer_cancel(prefetch->remote->peer, call);
    }
    prefetch->is_withdrawing = true;
    return is_all_here;
}

// All at once, before anything is asked for again: so elements stay in their order.
static void give_back_all(struct prefetch *prefetch)
{
    while (prefetch->count) {
        struct peer_call *call = remove_first(prefetch);
        if (call->is_done)
            give_back(prefetch->remote, call);
        else
            peer_abandon(prefetch->remote->peer, call);
        free_call(call);
    }
    prefetch->is_withdrawing = false;
    prefetch->credit = 1;
}

// Whether an element that was here some rounds ago still is: its consumer is slower than was thought.
static bool is_stale(struct prefetch *prefetch)
{
    if (prefetch->marked && call_at(prefetch, 0)->sequence <= prefetch->marked)
        return ++prefetch->marked_rounds >= STALE_ROUNDS;
    prefetch->marked = 0;
    prefetch->marked_rounds = 0;
    for (uint32_t i = 0; i < prefetch->count && call_at(prefetch, i)->is_done; i++)
        prefetch->marked = call_at(prefetch, i)->sequence;
    return false;
}

static bool is_left_alone(struct prefetch *prefetch)
{
    const bool was_left = prefetch->tended_count == prefetch->handed_count;
    prefetch->tended_count = prefetch->handed_count;
    return is_stale(prefetch) || was_left;
}

bool prefetch_tend(struct prefetch *prefetch)
{
    mutex_lock(&prefetch->lock);
    if (prefetch->count > 0 && prefetch->waiting_count == 0 && is_left_alone(prefetch) &&
        withdraw(prefetch))
        give_back_all(prefetch);
    const bool has_more = prefetch->count > 0 && prefetch->waiting_count == 0;
    mutex_unlock(&prefetch->lock);
    return has_more;
}

void prefetch_give_back(struct prefetch *prefetch, uint64_t deadline_ns)
{
    for (;;) {
        struct peer_call *last = NULL;
        mutex_lock(&prefetch->lock);
        if (prefetch->count == 0 || withdraw(prefetch))
            give_back_all(prefetch);
        else
            last = remove_last(prefetch);  // in the ring, another thread might free it
        mutex_unlock(&prefetch->lock);
        if (!last)
            return;
        // They are answered in their order: with the last, all are here, or about to be.
        if (last->is_done)
            clock_sleep_ms(1);
        else if (peer_wait(prefetch->remote->peer, last, deadline_ns))
            err_clear();
        mutex_lock(&prefetch->lock);
        put_last(prefetch, last);
        mutex_unlock(&prefetch->lock);
        if (clock_now_ns() >= deadline_ns || interrupt_ends(deadline_ns))
            return;
    }
}

void prefetch_fini(struct prefetch *prefetch)
{
    const weft_cluster *cluster = prefetch->remote->cluster;
    uint64_t deadline_ns = clock_now_ns() + WITHDRAW_MS * ns_per_ms;
    keeper_forget(prefetch->remote->cluster, prefetch);
    // One who leaves waits once, not for each handle.
    if (cluster && cluster->leave_by_ns && deadline_ns > cluster->leave_by_ns)
        deadline_ns = cluster->leave_by_ns;
    prefetch_give_back(prefetch, deadline_ns);
    mutex_lock(&prefetch->lock);
    give_back_all(prefetch);
    mutex_unlock(&prefetch->lock);
    mutex_fini(&prefetch->lock);
}

// ---- Handing out ---------------------------------------------------------------------------------------------

// The call that settles an element that came.
static void make_settling(struct ops_call *op, uint8_t number, const struct peer_call *call,
                          uint32_t ms)
{
    struct ops_queue_taken taken;
    const bool is_whole = ops_queue_taken_decode(buf_bytes(&call->answer), &taken);
    ASSERT(is_whole);  // wait_for_element has looked
    ops_queue_settle_make(op,
                          &(struct ops_queue_settle){.op = number, .item = taken.item, .ms = ms});
}

static weft_err confirm(struct remote *remote, const struct peer_call *call, uint64_t deadline_ns)
{
    struct ops_call op;
    make_settling(&op, CALL_QUEUE_EXTEND, call, 0);
    struct peer_ask ask;
    peer_ask_init(&ask, &op, remote->handle, remote->life);
    struct peer_call extend = {0};
    const weft_err err = peer_ask(remote->peer, &ask, &extend, deadline_ns);
    peer_call_fini(&extend);
    return err;
}

// The session may have been given up while we were stopped, or cut off: then the element is another's. That may
// happen while we ask, too.
static weft_err make_sure(struct remote *remote, struct peer_call *call, uint64_t *now_ns,
                          uint64_t deadline_ns)
{
    weft_err err = WEFT_OK;
    while (!err &&
           (*now_ns - call->since_ns >= sure_ns || !peer_is_here(remote->peer, remote->life))) {
        err = confirm(remote, call, deadline_ns);
        call->since_ns = err ? call->since_ns : *now_ns;
        *now_ns = clock_now_ns();
    }
    return err;
}

// What the host must know before the element is worked on, so that it knows it if that is our end.
static weft_err announce(struct remote *remote, const struct peer_call *call, uint32_t lease_ms,
                         bool is_popped, uint64_t *now_ns, uint64_t deadline_ns)
{
    if (!is_popped && lease_ms == 0)
        return WEFT_OK;
    struct ops_call op;
    make_settling(&op, is_popped ? CALL_QUEUE_DONE : CALL_QUEUE_EXTEND, call, lease_ms);
    struct peer_ask ask;
    peer_ask_init(&ask, &op, remote->handle, remote->life);
    const weft_err err = peer_say(remote->peer, &ask, 1, deadline_ns);
    *now_ns = clock_now_ns();  // a slow host is not a slow consumer
    return err;
}

// Time is over: takes under way are asked back, so that nothing is taken for a caller that has gone. The host says
// which came first, if it says so soon; else the keeper sees to it.
static weft_err give_up(struct prefetch *prefetch, struct peer_call *call)
{
    struct peer *peer = prefetch->remote->peer;
    peer_cancel(peer, call);
    mutex_lock(&prefetch->lock);
    if (prefetch->waiting_count == 1)
        withdraw(prefetch);
    mutex_unlock(&prefetch->lock);
    return peer_wait(peer, call, clock_now_ns() + GIVE_UP_MS * ns_per_ms);
}

// *is_new: the call was started just now, and no keeper has asked it back.
static weft_err begin_wait(struct prefetch *prefetch, uint64_t now_ns, struct peer_call **call,
                           bool *is_new)
{
    mutex_lock(&prefetch->lock);
    adapt(prefetch, now_ns);
    *is_new = prefetch->count == 0;
    const weft_err err = refill(prefetch, now_ns);
    if (!err) {
        *call = remove_first(prefetch);
        prefetch->waiting_count++;
    }
    mutex_unlock(&prefetch->lock);
    return err;
}

// After a failure all others that are under way have failed too, or are about to.
static weft_err drop_all(struct prefetch *prefetch, weft_err err)
{
    struct err_kept kept;
    err_keep(&kept);
    mutex_lock(&prefetch->lock);
    give_back_all(prefetch);
    mutex_unlock(&prefetch->lock);
    err_put_back(&kept);
    return err;
}

static void hand_out(struct prefetch *prefetch, const struct peer_call *call, uint64_t now_ns)
{
    prefetch->is_limited = call->flags & ANSWER_FLAG_LIMITED;
    prefetch->is_plain = (call->flags & ANSWER_FLAG_PLAIN && !prefetch->is_limited) ||
                         call->answer.size > CALL_ITEM_BYTES + CALL_AHEAD_BYTES_MAX;
    prefetch->mean_bytes = (prefetch->mean_bytes * 3 + call->answer.size) / 4;
    prefetch->handed_count++;
    prefetch->handed_ns = now_ns;
    if (prefetch->count > 0)
        keeper_arm(prefetch->remote->cluster);
}

// The call ended, or time is over; an element that was not handed out goes to its place. False: the next one is to be waited for.
static bool end_wait(struct prefetch *prefetch, struct peer_call *call, uint64_t now_ns,
                     weft_err *err)
{
    bool is_over = true;
    mutex_lock(&prefetch->lock);
    prefetch->waiting_count--;
    if (!*err) {
        hand_out(prefetch, call, now_ns);
    } else if (*err == WEFT_DEADLINE_EXCEEDED) {
        put_first(prefetch, call);
    } else {
        // CANCELLED: withdrawn, or not to be had ahead. ABORTED with an element: it is another's by now.
        is_over = !(*err == WEFT_CANCELLED || (*err == WEFT_ABORTED && has_element(call)));
        free_call(call);
    }
    mutex_unlock(&prefetch->lock);
    if (!is_over)
        *err = err_set(WEFT_DEADLINE_EXCEEDED,
                       "no element came in time");  // unless there is time for the next
    return is_over;
}

// ---- Waiting for others ----------------------------------------------------------------------------------------

static weft_err begin_await(struct prefetch *prefetch)
{
    mutex_lock(&prefetch->lock);
    const weft_err err = refill(prefetch, clock_now_ns());
    if (!err) {
        prefetch->awaited = remove_first(prefetch);
        prefetch->waiting_count++;
    }
    mutex_unlock(&prefetch->lock);
    return err;
}

// An element is the next caller's. It could not come for it sooner: that time is not its work.
static void end_await(struct prefetch *prefetch)
{
    mutex_lock(&prefetch->lock);
    struct peer_call *call = prefetch->awaited;
    prefetch->awaited = NULL;
    prefetch->waiting_count--;
    if (prefetch->handed_ns)
        prefetch->handed_ns = clock_now_ns();
    if (!call->is_done || has_element(call))
        put_first(prefetch, call);
    else
        free_call(call);
    mutex_unlock(&prefetch->lock);
}

void prefetch_await(struct prefetch *prefetch, const _Atomic(bool) *is_stopping)
{
    struct peer *peer = prefetch->remote->peer;
    weft_err err;
    do {
        err = begin_await(prefetch);
        if (err)
            break;
        do
            err = peer_wait(peer, prefetch->awaited, clock_now_ns() + AWAIT_MS * ns_per_ms);
        while (err == WEFT_DEADLINE_EXCEEDED && !*is_stopping);
        end_await(prefetch);
    } while (err == WEFT_CANCELLED && !*is_stopping);  // asked back, or not to be had ahead
    err_clear();
}

void prefetch_stop_awaiting(struct prefetch *prefetch)
{
    mutex_lock(&prefetch->lock);
    if (prefetch->awaited)
        peer_cancel(prefetch->remote->peer, prefetch->awaited);
    mutex_unlock(&prefetch->lock);
}

bool prefetch_has_next(struct prefetch *prefetch)
{
    mutex_lock(&prefetch->lock);
    struct peer_call *first = prefetch->count ? call_at(prefetch, 0) : NULL;
    const bool is_here = first && peer_is_done(prefetch->remote->peer, first) &&
                         has_element(first) && clock_now_ns() - first->since_ns < sure_ns;
    mutex_unlock(&prefetch->lock);
    return is_here;
}

// The element is here, or time is over. One that was here already costs no look at the clock.
static weft_err wait_for_element(struct prefetch *prefetch, struct peer_call *call,
                                 uint64_t *now_ns, uint64_t deadline_ns)
{
    const bool is_here = call->is_done;
    weft_err err = peer_wait(prefetch->remote->peer, call, deadline_ns);
    if (err == WEFT_DEADLINE_EXCEEDED)
        err = give_up(prefetch, call);
    if (!is_here)
        *now_ns = clock_now_ns();
    struct ops_queue_taken taken;
    if (!err && !ops_queue_taken_decode(buf_bytes(&call->answer), &taken))
        err = err_set(WEFT_DATA_LOSS, "the answer is cut");
    return err;
}

// Takes under way are asked back by a call after them: the host answers with an element it has, or with CANCELLED. Both
// come in the order of the calls, so nothing is lost between them. All of it, also while other threads wait: else
// they would ask for more ahead, and the caller would never come to a call of its own.
static void ask_back(struct prefetch *prefetch, struct peer_call *call)
{
    mutex_lock(&prefetch->lock);
    if (!call->is_done)
        peer_cancel(prefetch->remote->peer, call);
    withdraw(prefetch);
    mutex_unlock(&prefetch->lock);
}

// For a caller that does not wait, the host says whether there is one. Only a call that was started for this caller says that
// there is none: those before may have been asked back by the keeper, or refused because they were ahead.
static weft_err next(struct prefetch *prefetch, uint32_t lease_ms, bool is_popped, bool waits,
                     uint64_t deadline_ns, struct peer_call **taken)
{
    struct remote *remote = prefetch->remote;
    weft_err err = remote_make(remote);
    if (err)
        return err;
    uint64_t now_ns;
    bool is_new, is_empty;
    do {
        now_ns = clock_now_ns();
        err = begin_wait(prefetch, now_ns, taken, &is_new);
        if (err)
            return drop_all(prefetch, err);
        if (!waits && !(*taken)->is_done)
            ask_back(prefetch, *taken);
        err = wait_for_element(prefetch, *taken, &now_ns, deadline_ns);
        is_empty = !waits && is_new && err == WEFT_CANCELLED;
        if (!err)
            err = make_sure(remote, *taken, &now_ns, deadline_ns);
        if (!err)
            err = announce(remote, *taken, lease_ms, is_popped, &now_ns, deadline_ns);
    } while (!end_wait(prefetch, *taken, now_ns, &err) && !is_empty &&
             clock_now_ns() < deadline_ns && !interrupt_ends(deadline_ns));
    if (is_empty)
        return err_set(WEFT_CANCELLED, "%s: there is no element now", remote->path);
    err = err_wrap(err, "%s", remote->path);
    return err && err != WEFT_DEADLINE_EXCEEDED ? drop_all(prefetch, err) : err;
}

weft_err prefetch_next(struct prefetch *prefetch, uint32_t lease_ms, bool is_popped,
                       uint64_t deadline_ns, struct peer_call **taken)
{
    return next(prefetch, lease_ms, is_popped, true, deadline_ns, taken);
}

weft_err prefetch_next_now(struct prefetch *prefetch, uint32_t lease_ms, uint64_t deadline_ns,
                           struct peer_call **taken)
{
    return next(prefetch, lease_ms, false, false, deadline_ns, taken);
}
