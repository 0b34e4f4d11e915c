// kv: a small sorted map of keys and values that members share, and that can be watched.
//
// No attributes. Keys are bytes, 1 to CALL_NAME_BYTES_MAX of them, in bytewise order; values are bytes.
// The revision counts all changes; the version of a key is the revision that put it last.
//
// Its calls are in wire/ops/kv.h.
//
// With IF a call says which version it expects, 0 for a key that is not there. If it is another the
// answer is MISSED, with u64 version (0: absent) and value as they are, and nothing has changed.
// With OWNED the key is removed with the session, and all watches are notified. Every put decides anew
// which session owns the key.
// KV_RANGE goes from `from` up to and without `to` (empty: to the end); limit 0: all. MORE says that it
// was cut, by the limit or by KV_ANSWER_BYTES_MAX: ask again from after the last key.
// KV_WATCH is explained in watch.c.

#include <stdlib.h>

#include "base/bytes.h"
#include "resource/kv/kv_state.h"
#include "wire/ops/kv.h"

static struct resource *kv_make(weft_bytes attributes, weft_err *err)
{
    struct kv *kv = attributes.size ? NULL : calloc(1, sizeof *kv);
    if (!kv) {
        *err = attributes.size ? err_set(WEFT_INVALID_ARGUMENT, "a kv has no attributes")
                               : err_no_memory("for a kv");
        return NULL;
    }
    list_init(&kv->watches);
    return &kv->resource;
}

static weft_err kv_match(struct resource *resource, weft_bytes attributes)
{
    (void)resource;
    return attributes.size ? err_set(WEFT_INVALID_ARGUMENT, "a kv has no attributes") : WEFT_OK;
}

static void kv_describe(const struct resource *resource, struct buf *attributes)
{
    (void)resource;
    (void)attributes;
}

// What KV_PUT and KV_REMOVE begin with.
struct target {
    weft_bytes key, value;
    struct kv_entry *entry;  // NULL: the key is not there
};

// ---- Reading -------------------------------------------------------------------------------------------

static void get(struct kv *kv, struct session *session, const struct call *call)
{
    struct ops_kv_get wish;
    if (!ops_kv_get_decode(call->payload, &wish)) {
        session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT, "KV_GET names one key");
        return;
    }
    const weft_bytes key = wish.key;
    const struct kv_entry *entry = kv_map_find(&kv->map, key);
    if (!entry) {
        session_fail(session, call->sequence, WEFT_NOT_FOUND, "there is no key '%.*s'",
                     (int)(key.size < CALL_NAME_BYTES_MAX ? key.size : CALL_NAME_BYTES_MAX),
                     key.data);
        return;
    }
    const struct ops_kv_got got = {entry->version, entry->holding.session != NULL, entry->value};
    char *to = session_begin_answer(session, call->sequence, 0, ops_kv_got_size(&got));
    if (to)
        ops_kv_got_put(to, &got);
}

static void answer_or_give_up(struct session *session, uint64_t sequence, uint8_t flags,
                              struct buf *answer)
{
    if (answer->has_failed)
        session_fail(session, sequence, WEFT_RESOURCE_EXHAUSTED, "no memory for an answer");
    else
        session_answer(session, sequence, flags, buf_bytes(answer));
    buf_fini(answer);
}

static void range(struct kv *kv, struct session *session, const struct call *call)
{
    struct ops_kv_range wish;
    if (!ops_kv_range_decode(call->payload, &wish)) {
        session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT,
                     "KV_RANGE names where it begins, where it ends, and a limit");
        return;
    }
    struct buf answer = {0};
    ops_kv_list_begin(&answer, kv->revision);
    struct kv_place place = kv_map_seek(&kv->map, wish.from);
    const struct kv_entry *entry = kv_map_at(&kv->map, place);
    bool has_more = false;
    for (uint32_t count = 0; entry && !(wish.to.size && bytes_compare(entry->key, wish.to) >= 0);
         count++) {
        has_more = (wish.limit && count == wish.limit) || answer.size > KV_ANSWER_BYTES_MAX;
        if (has_more)
            break;
        ops_kv_range_entry_encode(&answer,
                                  &(struct ops_kv_entry){.key = entry->key,
                                                         .version = entry->version,
                                                         .is_owned = entry->holding.session != NULL,
                                                         .value = entry->value});
        kv_map_advance(&kv->map, &place);
        entry = kv_map_at(&kv->map, place);
    }
    answer_or_give_up(session, call->sequence, has_more ? ANSWER_FLAG_MORE : 0, &answer);
}

// ---- Changing ------------------------------------------------------------------------------------------

static void answer_changed(struct session *session, uint64_t sequence, uint8_t flags,
                           const struct ops_kv_changed *changed)
{
    char *to = session_begin_answer(session, sequence, flags, ops_kv_changed_size(changed));
    if (to)
        ops_kv_changed_put(to, changed);
}

static void answer_missed(struct session *session, uint64_t sequence, const struct kv_entry *entry)
{
    const struct ops_kv_changed is = {entry ? entry->version : 0,
                                      entry ? entry->value : weft_none()};
    answer_changed(session, sequence, ANSWER_FLAG_MISSED, &is);
}

// Reads what a change is about. False: it was answered.
static bool begin_change(struct kv *kv, struct session *session, const struct call *call,
                         struct target *target)
{
    struct ops_kv_change change;
    const bool is_whole = ops_kv_change_decode(call, &change);
    target->key = change.key;
    target->value = change.value;
    if (!is_whole || target->key.size == 0 || target->key.size > CALL_NAME_BYTES_MAX) {
        session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT,
                     "a key has 1 to %u bytes, and this one has %zu", CALL_NAME_BYTES_MAX,
                     target->key.size);
        return false;
    }
    target->entry = kv_map_find(&kv->map, target->key);
    if (!change.has_expected || change.expected == (target->entry ? target->entry->version : 0))
        return true;
    answer_missed(session, call->sequence, target->entry);
    return false;
}

static weft_err check_room(const struct kv *kv, const struct target *target)
{
    const weft_bytes value = target->value;
    if (value.size > KV_VALUE_BYTES_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "a value has at most %u bytes, not %zu: larger things belong in files",
                       KV_VALUE_BYTES_MAX, value.size);
    const uint64_t freed = target->entry ? kv_cost(target->key, target->entry->value.size) : 0;
    const uint64_t bytes = kv->bytes - freed + kv_cost(target->key, value.size);
    const weft_bytes name = kv->resource.name;
    if (bytes > KV_BYTES_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "the map '%.*s' is full: %zu keys have all of its %u bytes", (int)name.size,
                       name.data, kv->map.count, KV_BYTES_MAX);
    return WEFT_OK;
}

// The entry of the key, made if it is missing, with the value in it. NULL: out of memory, and
// nothing has changed.
static struct kv_entry *store(struct kv *kv, const struct target *target)
{
    const weft_bytes value = target->value;
    char *memory = malloc(value.size ? value.size : 1);
    struct kv_entry *entry = memory ? target->entry : NULL;
    if (memory && !entry) {
        entry = kv_entry_new(target->key);
        if (entry && !kv_map_insert(&kv->map, entry)) {
            kv_entry_free(entry);
            entry = NULL;
        }
    }
    if (!entry) {
        free(memory);
        return NULL;
    }
    if (value.size)
        memcpy(memory, value.data, value.size);
    kv->bytes += kv_cost(entry->key, value.size);
    if (target->entry)
        kv->bytes -= kv_cost(entry->key, entry->value.size);
    free((char *)entry->value.data);
    entry->value = (weft_bytes){memory, value.size};
    return entry;
}

static void put(struct kv *kv, struct session *session, const struct call *call)
{
    struct target target;
    if (!begin_change(kv, session, call, &target))
        return;
    weft_err err = check_room(kv, &target);
    struct kv_entry *entry = err ? NULL : store(kv, &target);
    if (!err && !entry)
        err = err_no_memory("for a key and its value");
    if (err) {
        session_fail_by_err(session, call->sequence, err);
        return;
    }
    // Taken anew even by its owner, so that a session's keys stand in the order of their versions:
    // in that order they go with it, also after a restart.
    if (entry->holding.session)
        session_drop_holding(&entry->holding);
    if (call->flags & CALL_FLAG_OWNED)
        session_add_holding(session, &kv->resource, &entry->holding);
    kv_changed(kv, OPS_KV_PUT, entry);
    entry->holding.order = entry->version;
    answer_changed(session, call->sequence, 0,
                   &(struct ops_kv_changed){entry->version, weft_none()});
}

static void remove_entry(struct kv *kv, struct kv_entry *entry)
{
    kv_map_take_out(&kv->map, entry);
    kv->bytes -= kv_cost(entry->key, entry->value.size);
    if (entry->holding.session)
        session_drop_holding(&entry->holding);
    kv_changed(kv, OPS_KV_REMOVED, entry);
    kv_entry_free(entry);
}

static void remove_key(struct kv *kv, struct session *session, const struct call *call)
{
    struct target target;
    if (!begin_change(kv, session, call, &target))
        return;
    if (target.value.size) {
        session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT,
                     "KV_REMOVE names one key, and %zu bytes follow it", target.value.size);
        return;
    }
    if (target.entry)
        remove_entry(kv, target.entry);
    session_answer(session, call->sequence, target.entry ? 0 : ANSWER_FLAG_SEEN, weft_none());
}

static void kv_release(struct holding *holding)
{
    remove_entry(kv_of(holding->resource), (struct kv_entry *)holding);
}

static void kv_apply(struct resource *resource, struct session *session, const struct call *call)
{
    static const struct {
        void (*apply)(struct kv *kv, struct session *session, const struct call *call);
        uint8_t flags;  // it may have
    } ops[CALL_OP_LIMIT] = {
        [CALL_KV_GET] = {get, 0},
        [CALL_KV_PUT] = {put, CALL_FLAG_OWNED | CALL_FLAG_IF},
        [CALL_KV_REMOVE] = {remove_key, CALL_FLAG_IF},
        [CALL_KV_RANGE] = {range, 0},
        [CALL_KV_WATCH] = {kv_watch, 0},
    };
    if (!ops[call->op].apply || call->flags & ~ops[call->op].flags)
        session_fail_unknown(session, call, "map");
    else
        ops[call->op].apply(kv_of(resource), session, call);
}

static void kv_free(struct resource *resource)
{
    struct kv *kv = kv_of(resource);
    kv_map_fini(&kv->map);
    kv_forget_history(kv);
    free(kv->history);
    free(kv);
}

static void kv_tell(const struct resource *resource, struct buf *text)
{
    const struct kv *kv = (const struct kv *)resource;
    buf_format(text, "%zu key%s", kv->map.count, kv->map.count == 1 ? "" : "s");
}

static bool kv_is_blank(const struct resource *resource)
{
    const struct kv *kv = (const struct kv *)resource;
    return kv->revision == 0 && list_is_empty(&kv->watches);
}

const struct resource_kind kv_kind = {
    .number = CALL_KIND_KV,
    .name = "kv",
    .make = kv_make,
    .match = kv_match,
    .apply = kv_apply,
    .cancel = kv_cancel_watch,
    .release = kv_release,
    .is_blank = kv_is_blank,
    .writers_gone = kv_writers_gone,
    .describe = kv_describe,
    .save = kv_save,
    .load = kv_load,
    .tell = kv_tell,
    .free = kv_free,
};
