// How many takes are under way, and what becomes of those that are not wanted.

#include "app/prefetch.h"

#include <stdlib.h>

#include "sys/clock.h"

static const uint64_t ahead_ns = 2000000;    // work that may lie here
static const uint64_t fresh_ns = 250000000;  // a lease that is no older need not be asked about

void prefetch_init(struct prefetch *prefetch)
{
    *prefetch = (struct prefetch){.credit = 1};
    mutex_init(&prefetch->lock);
}

static void free_call(struct peer_call *call)
{
    peer_call_fini(call);
    free(call);
}

static struct peer_call *take_first(struct prefetch *prefetch)
{
    struct peer_call *call = prefetch->calls[prefetch->first];
    prefetch->first = (prefetch->first + 1) % PREFETCH_MAX;
    prefetch->count--;
    return call;
}

static weft_err start_one(struct prefetch *prefetch, struct remote *remote)
{
    const uint32_t lease_ms = PREFETCH_LEASE_MS;
    const weft_bytes part = {(const char *)&lease_ms, sizeof lease_ms};
    struct peer_call *call = calloc(1, sizeof *call);
    if (!call)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for a call");
    const weft_err err = remote_start(remote, CALL_QUEUE_TAKE, 0, &part, 1, call);
    if (err) {
        free_call(call);
        return err;
    }
    prefetch->calls[(prefetch->first + prefetch->count++) % PREFETCH_MAX] = call;
    return WEFT_OK;
}

// Asks for more when half of what may be under way is used up, so that questions go in batches.
static weft_err refill(struct prefetch *prefetch, struct remote *remote)
{
    weft_err err = WEFT_OK;
    if (prefetch->count > prefetch->credit / 2)
        return WEFT_OK;
    while (!err && prefetch->count < prefetch->credit)
        err = start_one(prefetch, remote);
    return err;
}

// How long its consumer needed for the last one says how many to ask for. Where deliveries are counted none
// is asked for ahead: one that went back unseen would have had a chance of few, or its last.
static void adapt(struct prefetch *prefetch)
{
    if (prefetch->is_limited) {
        prefetch->credit = 1;
        return;
    }
    if (!prefetch->handed_ns)
        return;
    const uint64_t took_ns = clock_now_ns() - prefetch->handed_ns;
    prefetch->mean_ns = (prefetch->mean_ns * 3 + took_ns) / 4;
    const uint64_t credit = 1 + ahead_ns / (prefetch->mean_ns + 1);
    prefetch->credit = credit < PREFETCH_MAX ? (uint32_t)credit : PREFETCH_MAX;
}

// ---- Handing out -----------------------------------------------------------------------------------------

static weft_err ask_about_lease(struct remote *remote, uint8_t op, const weft_bytes *parts,
                                size_t count)
{
    struct peer_call call = {0};
    const weft_err err = remote_ask_within(remote, remote->timeout_ms, op, 0, parts, count, &call);
    peer_call_fini(&call);
    return err;
}

// The lease that was for waiting here becomes the one the consumer wants, or ends. Whether it still
// stands need not be waited for while it must: we looked for it a moment ago.
static weft_err secure(struct prefetch *prefetch, struct remote *remote, uint32_t lease_ms,
                       bool is_popped, const struct peer_call *call)
{
    const weft_bytes parts[] = {{call->answer.data, CALL_ITEM_BYTES},
                                {(const char *)&lease_ms, sizeof lease_ms}};
    const uint8_t op = is_popped ? CALL_QUEUE_DONE : CALL_QUEUE_EXTEND;
    const size_t part_count = is_popped ? 1 : 2;
    const uint64_t now_ns = clock_now_ns();
    if (now_ns - prefetch->looked_ns > fresh_ns)
        return ask_about_lease(remote, op, parts, part_count);
    remote_tell(remote, op, parts, part_count);
    return WEFT_OK;
}

// After a failure all others that are under way have failed too, or are about to.
static void drop_all(struct prefetch *prefetch, struct remote *remote)
{
    while (prefetch->count) {
        struct peer_call *call = take_first(prefetch);
        const weft_err err = peer_finish(remote->peer, call, clock_now_ns());
        if (!err && call->answer.size >= CALL_ITEM_BYTES) {
            const uint32_t at_once = 0;
            const weft_bytes parts[] = {{call->answer.data, CALL_ITEM_BYTES},
                                        {(const char *)&at_once, sizeof at_once}};
            remote_tell(remote, CALL_QUEUE_GIVE_BACK, parts, 2);
        }
        free_call(call);
    }
    err_clear();
}

static weft_err finish_first(struct prefetch *prefetch, struct remote *remote,
                             struct peer_call **taken)
{
    struct peer_call *call = take_first(prefetch);
    const bool was_here = peer_has_answer(remote->peer, call);
    mutex_unlock(&prefetch->lock);
    weft_err err = remote_finish(remote, call, remote->timeout_ms);
    if (!err && call->answer.size < CALL_ITEM_BYTES)
        err = err_set(WEFT_DATA_LOSS, "%s: the answer is cut", remote->path);
    mutex_lock(&prefetch->lock);
    if (!was_here)
        prefetch->looked_ns = clock_now_ns();
    if (err) {
        free_call(call);
        return err;
    }
    prefetch->is_limited = call->flags & ANSWER_FLAG_LIMITED;
    *taken = call;
    return WEFT_OK;
}

static void keep_sentence_and_drop(struct prefetch *prefetch, struct remote *remote, weft_err err)
{
    char sentence[ERR_TEXT_BYTES_MAX];
    memcpy(sentence, err_text(), strlen(err_text()) + 1);
    drop_all(prefetch, remote);
    err_set(err, "%s", sentence);
}

weft_err prefetch_next(struct prefetch *prefetch, struct remote *remote, uint32_t lease_ms,
                       bool is_popped, struct peer_call **taken)
{
    weft_err err;
    mutex_lock(&prefetch->lock);
    adapt(prefetch);
    do {
        err = refill(prefetch, remote);
        if (!err && prefetch->count == 0)
            err = start_one(prefetch, remote);
        if (!err)
            err = finish_first(prefetch, remote, taken);
        if (err) {
            keep_sentence_and_drop(prefetch, remote, err);
            break;
        }
        err = secure(prefetch, remote, lease_ms, is_popped, *taken);
        if (err)
            free_call(*taken);
    } while (err == WEFT_ABORTED);  // it went to another meanwhile
    prefetch->handed_ns = clock_now_ns();
    mutex_unlock(&prefetch->lock);
    return err;
}

void prefetch_fini(struct prefetch *prefetch, struct remote *remote)
{
    drop_all(prefetch, remote);
    mutex_fini(&prefetch->lock);
}
