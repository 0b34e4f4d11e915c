// A watcher of a kv gets the keys that have changed under its prefix since the revision that it knows.
//
// Each key that has changed is reported with its present value: values in between, replaced since, are left
// out, so a watcher that was away does not read values that are gone. The answer's revision is the one
// to ask with next time; a long answer ends early, with the revision up to which it reports.
//
// Only the keys of the last changes are remembered, and none of a life before a restart. A watcher that knows too
// old a revision, or one that has not been yet because the host it came from lost its state, gets
// ALL: every key under the prefix. Keys that are not among them are gone. With MORE that was cut: the rest is
// read by KV_RANGE from after the last key, and later changes come with the next watch.
//
// None of this is saved: a watch asks again after a break.

#include <stdlib.h>

#include "resource/kv/kv_state.h"
#include "wire/ops/kv.h"

struct watch {
    struct wait wait;
    struct link in_kv;
    weft_bytes prefix;  // after this struct
    char prefix_memory[];
};

// ---- History -------------------------------------------------------------------------------------------

static struct kv_change *change_of(const struct kv *kv, uint64_t revision)
{
    return &kv->history[revision % KV_HISTORY_MAX];
}

static void forget_oldest(struct kv *kv)
{
    struct kv_change *oldest = change_of(kv, kv->revision + 1 - kv->history_count);
    kv->history_bytes -= oldest->key_size;
    kv->history_count--;
    free(oldest->key);
    *oldest = (struct kv_change){0};
}

void kv_forget_history(struct kv *kv)
{
    while (kv->history_count)
        forget_oldest(kv);
}

// Without memory the history begins anew after this change: watchers get all keys instead.
static void remember(struct kv *kv, enum ops_kv_what what, weft_bytes key)
{
    while (kv->history_count == KV_HISTORY_MAX ||
           (kv->history_count && kv->history_bytes + key.size > KV_HISTORY_BYTES_MAX))
        forget_oldest(kv);
    if (!kv->history)
        kv->history = calloc(KV_HISTORY_MAX, sizeof *kv->history);
    char *memory = kv->history ? malloc(key.size) : NULL;
    if (!memory) {
        kv_forget_history(kv);
        kv->revision++;
        return;
    }
    kv->revision++;
    memcpy(memory, key.data, key.size);
    *change_of(kv, kv->revision) = (struct kv_change){what, memory, key.size};
    kv->history_count++;
    kv->history_bytes += key.size;
}

// ---- Reporting -----------------------------------------------------------------------------------------

static bool has_prefix(weft_bytes key, weft_bytes prefix)
{
    return key.size >= prefix.size &&
           (prefix.size == 0 || memcmp(key.data, prefix.data, prefix.size) == 0);
}

static void write_change(struct buf *out, enum ops_kv_what what, weft_bytes key, uint64_t version,
                         weft_bytes value)
{
    ops_kv_watch_entry_encode(
        out, &(struct ops_kv_entry){.what = what, .key = key, .version = version, .value = value});
}

static void answer(struct session *session, uint64_t sequence, uint8_t flags, const struct buf *out)
{
    if (out->has_failed)
        session_fail(session, sequence, WEFT_RESOURCE_EXHAUSTED,
                     "no memory for a notice of a change");
    else
        session_answer(session, sequence, flags, buf_bytes(out));
}

static void drop_watch(struct watch *watch)
{
    host_end_watch(watch->wait.resource->host, watch->wait.session);
    session_drop_wait(&watch->wait);
    list_take_out(&watch->in_kv);
    free(watch);
}

// A watcher that waits has seen everything before: this change is all there is to report.
void kv_changed(struct kv *kv, enum ops_kv_what what, struct kv_entry *entry)
{
    remember(kv, what, entry->key);
    if (what == OPS_KV_PUT)
        entry->version = kv->revision;
    if (list_is_empty(&kv->watches))
        return;
    struct buf out = {0};
    ops_kv_list_begin(&out, kv->revision);
    write_change(&out, what, entry->key, kv->revision,
                 what == OPS_KV_PUT ? entry->value : weft_none());
    for (struct link *at = kv->watches.next, *next; at != &kv->watches; at = next) {
        next = at->next;
        struct watch *watch = LIST_ITEM(at, struct watch, in_kv);
        if (!has_prefix(entry->key, watch->prefix))
            continue;
        answer(watch->wait.session, watch->wait.sequence, 0, &out);
        drop_watch(watch);
    }
    buf_fini(&out);
}

static void tell_all(struct kv *kv, struct session *session, uint64_t sequence, weft_bytes prefix)
{
    struct buf out = {0};
    uint8_t flags = ANSWER_FLAG_ALL;
    ops_kv_list_begin(&out, kv->revision);
    struct kv_place place = kv_map_seek(&kv->map, prefix);
    const struct kv_entry *entry = kv_map_at(&kv->map, place);
    while (entry && has_prefix(entry->key, prefix)) {
        if (out.size > KV_ANSWER_BYTES_MAX) {
            flags |= ANSWER_FLAG_MORE;
            break;
        }
        write_change(&out, OPS_KV_PUT, entry->key, entry->version, entry->value);
        kv_map_advance(&kv->map, &place);
        entry = kv_map_at(&kv->map, place);
    }
    answer(session, sequence, flags, &out);
    buf_fini(&out);
}

// Appends the change of a revision unless it concerns another prefix or was overtaken.
static void gather(const struct kv *kv, uint64_t revision, weft_bytes prefix, struct buf *out)
{
    const struct kv_change *change = change_of(kv, revision);
    const weft_bytes key = {change->key, change->key_size};
    if (!has_prefix(key, prefix))
        return;
    const struct kv_entry *now = kv_map_find(&kv->map, key);
    if (change->what == OPS_KV_PUT && now && now->version == revision)
        write_change(out, OPS_KV_PUT, key, revision, now->value);
    else if (change->what == OPS_KV_REMOVED && !now)
        write_change(out, OPS_KV_REMOVED, key, revision, weft_none());
}

// False: nothing has changed under the prefix.
static bool tell_changes(struct kv *kv, struct session *session, uint64_t sequence,
                         weft_bytes prefix, uint64_t known)
{
    struct buf out = {0};
    uint64_t told = known;
    ops_kv_list_begin(&out, 0);
    while (told < kv->revision && out.size <= KV_ANSWER_BYTES_MAX)
        gather(kv, ++told, prefix, &out);
    const bool has_changes = !ops_kv_list_is_empty(&out);
    ops_kv_list_set_revision(&out, told);
    if (has_changes)
        answer(session, sequence, 0, &out);
    buf_fini(&out);
    return has_changes;
}

// ---- Watching ------------------------------------------------------------------------------------------

static void begin_watch(struct kv *kv, struct session *session, uint64_t sequence,
                        weft_bytes prefix)
{
    struct watch *watch = calloc(1, sizeof *watch + prefix.size);
    if (!watch) {
        session_fail(session, sequence, WEFT_RESOURCE_EXHAUSTED, "no memory for another watch");
        return;
    }
    if (!session_add_wait(session, &kv->resource, sequence, &watch->wait)) {
        free(watch);
        return;
    }
    if (prefix.size)
        memcpy(watch->prefix_memory, prefix.data, prefix.size);
    watch->prefix = (weft_bytes){watch->prefix_memory, prefix.size};
    list_append(&kv->watches, &watch->in_kv);
    host_begin_watch(kv->resource.host, session);
}

void kv_watch(struct kv *kv, struct session *session, const struct call *call)
{
    struct ops_kv_watch wish;
    if (!ops_kv_watch_decode(call->payload, &wish))
        session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT,
                     "KV_WATCH names a prefix and the revision that is known");
    else if (wish.known > kv->revision || kv->revision - wish.known > kv->history_count)
        tell_all(kv, session, call->sequence, wish.prefix);
    else if (!tell_changes(kv, session, call->sequence, wish.prefix, wish.known))
        begin_watch(kv, session, call->sequence, wish.prefix);
}

void kv_cancel_watch(struct wait *wait, weft_err code, const char *why)
{
    const weft_bytes name = wait->resource->name;
    session_fail(wait->session, wait->sequence, code, "the watch of the map '%.*s' has ended: %s",
                 (int)name.size, name.data, why);
    drop_watch((struct watch *)wait);
}

void kv_writers_gone(struct resource *resource)
{
    struct kv *kv = kv_of(resource);
    while (!list_is_empty(&kv->watches))
        kv_cancel_watch(&LIST_ITEM(kv->watches.next, struct watch, in_kv)->wait, WEFT_OUT_OF_RANGE,
                        "all members that could write have left");
}
