// Walks over the keys of a kv, and over their changes.
//
//     range    KV_RANGE from `from`, again from after the last key while there is MORE
//     watch    KV_WATCH with the revision that is known, again and again. When the answer is ALL and there is
//              MORE, the rest is a range, and then the watch continues.
//
// An answer holds many entries; it is kept while they are handed out.

#include <stdlib.h>

#include "client/remote/kv.h"
#include "client/remote/ops.h"

struct weft_kv_walk {
    struct remote *kv;
    struct peer_call call;  // its answer is where `rest` points
    weft_bytes rest;
    bool rest_is_range;  // its entries are those of KV_RANGE
    bool is_watch, is_ended;
    bool has_range;     // there is more of a range to ask for
    bool has_seen;      // an answer of a watch
    uint64_t revision;  // that is known to a watch
    weft_err failure;
    struct buf from;  // where the range continues
    struct buf to;    // where it ends; empty: at the end
    struct buf prefix;
};

static weft_kv_walk *make_walk(struct remote *kv)
{
    weft_kv_walk *walk = kv ? calloc(1, sizeof *walk) : NULL;
    if (walk)
        walk->kv = kv;
    else if (kv)
        err_no_memory("for a walk");
    else
        member_no_handle();
    return walk;
}

static weft_kv_walk *end_making(weft_kv_walk *walk)
{
    const struct buf *bufs[] = {&walk->from, &walk->to, &walk->prefix};
    weft_err err = WEFT_OK;
    for (size_t i = 0; i < 3 && !err; i++) {
        if (bufs[i]->has_failed)
            err = err_no_memory("for a key");
        else if (bufs[i]->size > CALL_NAME_BYTES_MAX)
            err = err_set(WEFT_INVALID_ARGUMENT, "%s: a key has at most %u bytes, not %zu",
                          walk->kv->path, CALL_NAME_BYTES_MAX, bufs[i]->size);
    }
    if (!member_keep_error(walk->kv->cluster, err))
        return walk;
    weft_kv_walk_free(walk);
    return NULL;
}

weft_kv_walk *remote_kv_range(struct remote *kv, weft_bytes from, weft_bytes to)
{
    weft_kv_walk *walk = make_walk(kv);
    if (!walk)
        return NULL;
    buf_append(&walk->from, from.data, from.size);
    buf_append(&walk->to, to.data, to.size);
    walk->has_range = true;
    return end_making(walk);
}

// What has the prefix ends before the prefix with its last byte one higher.
static void append_end(struct buf *out, weft_bytes prefix)
{
    size_t size = prefix.size;
    while (size && (uint8_t)prefix.data[size - 1] == UINT8_MAX)
        size--;
    buf_append(out, prefix.data, size);
    if (size && !out->has_failed)
        out->data[size - 1]++;
}

weft_kv_walk *remote_kv_range_of_prefix(struct remote *kv, weft_bytes prefix)
{
    struct buf end = {0};
    append_end(&end, prefix);
    weft_kv_walk *walk = remote_kv_range(kv, prefix, buf_bytes(&end));
    buf_fini(&end);
    return walk;
}

weft_kv_walk *remote_kv_watch(struct remote *kv, weft_bytes prefix)
{
    weft_kv_walk *walk = make_walk(kv);
    if (!walk)
        return NULL;
    buf_append(&walk->prefix, prefix.data, prefix.size);
    append_end(&walk->to, prefix);
    walk->is_watch = true;
    return end_making(walk);
}

weft_kv_walk *weft_kv_range(weft_kv *kv, weft_bytes from, weft_bytes to)
{
    return remote_kv_range(kv ? &kv->remote : NULL, from, to);
}

weft_kv_walk *weft_kv_watch(weft_kv *kv, weft_bytes prefix)
{
    return remote_kv_watch(kv ? &kv->remote : NULL, prefix);
}

bool remote_kv_has_next(const weft_kv_walk *walk)
{
    return walk->rest.size > 0;
}

void weft_kv_walk_free(weft_kv_walk *walk)
{
    if (!walk)
        return;
    peer_call_fini(&walk->call);
    buf_fini(&walk->from);
    buf_fini(&walk->to);
    buf_fini(&walk->prefix);
    free(walk);
}

weft_err weft_kv_walk_error(const weft_kv_walk *walk)
{
    return walk ? walk->failure : member_no_handle();
}

// ---- Asking ------------------------------------------------------------------------------------------------

static weft_err ask(weft_kv_walk *walk, uint8_t number, const struct buf *payload)
{
    struct ops_call op;
    ops_call_init(&op, number, 0);
    op.first = buf_bytes(payload);
    peer_call_fini(&walk->call);
    walk->call = (struct peer_call){0};
    walk->rest = weft_none();
    if (payload->has_failed)
        return err_no_memory("for a key");
    const weft_err err = remote_ask(walk->kv, &op, &walk->call);
    if (!err)
        walk->rest = buf_bytes(&walk->call.answer);
    return err;
}

static weft_err refuse_cut(void)
{
    return err_set(WEFT_DATA_LOSS, "the answer of a kv is cut");
}

static weft_err ask_range(weft_kv_walk *walk)
{
    struct buf payload = {0};
    ops_kv_range_encode(&payload,
                        &(struct ops_kv_range){buf_bytes(&walk->from), buf_bytes(&walk->to), 0});
    const weft_err err = ask(walk, CALL_KV_RANGE, &payload);
    buf_fini(&payload);
    if (err)
        return err;
    uint64_t revision;
    if (!ops_kv_revision_next(&walk->rest, &revision))
        return refuse_cut();
    walk->rest_is_range = true;
    walk->has_range = walk->call.flags & ANSWER_FLAG_MORE;
    return WEFT_OK;
}

// *is_reset: entries that were reported before do not hold any more.
static weft_err ask_watch(weft_kv_walk *walk, bool *is_reset)
{
    struct buf payload = {0};
    ops_kv_watch_encode(&payload, &(struct ops_kv_watch){buf_bytes(&walk->prefix), walk->revision});
    const weft_err err = ask(walk, CALL_KV_WATCH, &payload);
    buf_fini(&payload);
    if (err)
        return err;
    if (!ops_kv_revision_next(&walk->rest, &walk->revision))
        return refuse_cut();
    walk->rest_is_range = false;
    walk->has_range = walk->call.flags & ANSWER_FLAG_MORE;
    *is_reset = walk->call.flags & ANSWER_FLAG_ALL && walk->has_seen;
    walk->has_seen = true;
    return WEFT_OK;
}

// ---- Handing out ---------------------------------------------------------------------------------------------

static weft_err read_entry(weft_kv_walk *walk, weft_kv_entry *entry)
{
    struct ops_kv_entry next;
    if (!(walk->rest_is_range ? ops_kv_range_entry_next(&walk->rest, &next)
                              : ops_kv_watch_entry_next(&walk->rest, &next)))
        return refuse_cut();
    *entry = (weft_kv_entry){.what = next.what == OPS_KV_REMOVED ? WEFT_KV_REMOVED : WEFT_KV_PUT,
                             .key = next.key,
                             .value = next.value,
                             .version = next.version,
                             .is_owned = next.is_owned};
    if (!walk->has_range || walk->rest.size)
        return WEFT_OK;
    walk->from.size = 0;  // after the last key: the next possible key is it and a zero
    buf_append(&walk->from, entry->key.data, entry->key.size);
    buf_append(&walk->from, "", 1);
    return WEFT_OK;
}

static weft_err next(weft_kv_walk *walk, weft_kv_entry *entry)
{
    weft_err err = WEFT_OK;
    while (!err && walk->rest.size == 0) {
        bool is_reset = false;
        if (walk->has_range)
            err = ask_range(walk);
        else if (walk->is_watch)
            err = ask_watch(walk, &is_reset);
        else
            return WEFT_OUT_OF_RANGE;
        if (!err && is_reset) {
            *entry = (weft_kv_entry){.what = WEFT_KV_RESET, .version = walk->revision};
            return WEFT_OK;
        }
    }
    return err ? err : read_entry(walk, entry);
}

bool weft_kv_next_sized(weft_kv_walk *walk, weft_kv_entry *entry, size_t entry_size)
{
    weft_kv_entry found = {.version = 0};
    if (!walk || !entry) {
        member_no_handle();
    } else if (!walk->is_ended) {
        walk->failure = next(walk, &found);
        walk->is_ended = walk->failure && walk->failure != WEFT_DEADLINE_EXCEEDED;
    }
    if (entry)
        sized_give(entry, entry_size, &found, sizeof found);
    return walk && entry && !walk->is_ended && !walk->failure;
}
