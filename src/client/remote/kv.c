// Keys and values as a program sees them: one at a time. All of them are in kv_walk.c.

#include "client/remote/kv.h"

#include <stdlib.h>

#include "client/remote/ops.h"

weft_kv *weft_kv_open(weft_cluster *cluster, const char *path)
{
    weft_kv *kv = calloc(1, sizeof *kv);
    if (!kv) {
        err_no_memory("for a kv");
        return NULL;
    }
    if (!remote_open(cluster, path, CALL_KIND_KV, weft_none(), &kv->remote))
        return kv;
    weft_kv_free(kv);
    return NULL;
}

void weft_kv_free(weft_kv *kv)
{
    if (!kv)
        return;
    remote_fini(&kv->remote);
    free(kv);
}

void weft_kv_set_timeout(weft_kv *kv, uint32_t timeout_ms)
{
    if (kv)
        kv->remote.timeout_ms = timeout_ms;
}

weft_err weft_kv_remove_all(weft_kv *kv)
{
    return kv ? remote_remove(&kv->remote) : member_no_handle();
}

static weft_err check_key(const weft_kv *kv, weft_bytes key)
{
    if (key.size >= 1 && key.size <= CALL_NAME_BYTES_MAX)
        return WEFT_OK;
    return member_keep_error(kv->remote.cluster,
                             err_set(WEFT_INVALID_ARGUMENT, "%s: a key has 1 to %u bytes, not %zu",
                                     kv->remote.path, CALL_NAME_BYTES_MAX, key.size));
}

// ---- Reading -----------------------------------------------------------------------------------------------

weft_err remote_kv_get(struct remote *kv, weft_bytes key, struct remote_value *is)
{
    struct ops_call op;
    struct ops_kv_got got;
    ops_kv_get_make(&op, &(struct ops_kv_get){key});
    const weft_err err = remote_ask_within(kv, kv->timeout_ms, &op, &is->call);
    if (err)
        return err;
    if (!ops_kv_got_decode(buf_bytes(&is->call.answer), &got))
        return err_set(WEFT_DATA_LOSS, "the answer of a kv is cut");
    is->version = got.version;
    is->is_owned = got.is_owned;
    is->value = got.value;
    return WEFT_OK;
}

static weft_err fill_entry(const struct remote_value *is, weft_bytes key, weft_kv_entry *entry)
{
    const weft_bytes value = is->value;
    entry->version = is->version;
    entry->is_owned = is->is_owned;
    char *memory = malloc(value.size + 1 + key.size);
    if (!memory)
        return err_no_memory("for a value");
    if (value.size)
        memcpy(memory, value.data, value.size);
    memory[value.size] = 0;
    memcpy(memory + value.size + 1, key.data, key.size);
    entry->what = WEFT_KV_PUT;
    entry->value = (weft_bytes){memory, value.size};
    entry->key = (weft_bytes){memory + value.size + 1, key.size};
    entry->memory_ = memory;
    return WEFT_OK;
}

static weft_err get(weft_kv *kv, weft_bytes key, weft_kv_entry *entry)
{
    struct remote_value is = {0};
    weft_err err = check_key(kv, key);
    if (!err)
        err = remote_kv_get(&kv->remote, key, &is);
    if (err != WEFT_NOT_FOUND)  // which is an answer
        err = remote_keep_error(&kv->remote, err);
    if (!err)
        err = fill_entry(&is, key, entry);
    remote_value_fini(&is);
    return err;
}

weft_err weft_kv_get_sized(weft_kv *kv, weft_bytes key, weft_kv_entry *entry, size_t entry_size)
{
    weft_kv_entry found = {.version = 0};
    const weft_err err = kv && entry ? get(kv, key, &found) : member_no_handle();
    if (entry)
        sized_give(entry, entry_size, &found, sizeof found);
    return err;
}

void weft_kv_entry_free(weft_kv_entry *entry)
{
    if (!entry)
        return;
    free(entry->memory_);
    memset(entry, 0,
           offsetof(weft_kv_entry, memory_) + sizeof entry->memory_);  // the first header's
}

// ---- Changing ----------------------------------------------------------------------------------------------

weft_err remote_kv_change(struct remote *kv, const struct ops_kv_change *change,
                          struct remote_value *is)
{
    struct ops_call op;
    struct ops_kv_changed changed = {0};
    ops_kv_change_make(&op, change);
    const weft_err err = remote_ask(kv, &op, &is->call);
    if (err)
        return err;
    is->was_seen = is->call.flags & ANSWER_FLAG_SEEN;
    is->has_missed = is->call.flags & ANSWER_FLAG_MISSED;
    if ((is->has_missed || change->op == CALL_KV_PUT) &&
        !ops_kv_changed_decode(buf_bytes(&is->call.answer), &changed))
        return err_set(WEFT_DATA_LOSS, "the answer of a kv is cut");
    is->version = changed.version;
    is->value = changed.value;
    return WEFT_OK;
}

static weft_err change(weft_kv *kv, uint8_t op, weft_bytes key, weft_bytes value,
                       const weft_kv_options *options, size_t options_size, uint64_t *version)
{
    weft_kv_options all;
    if (!kv)
        return member_no_handle();
    weft_err err = member_keep_error(
        kv->remote.cluster, sized_take(&all, sizeof all, options, options_size, "weft_kv_options"));
    if (!err)
        err = check_key(kv, key);
    if (err)
        return err;
    const struct ops_kv_change wish = {
        .op = op,
        .has_expected = all.has_version,
        .is_owned = all.is_owned && op == CALL_KV_PUT,
        .expected = all.version,
        .key = key,
        .value = value,
    };
    struct remote_value is = {0};
    err = remote_kv_change(&kv->remote, &wish, &is);
    if (!err && version && (is.has_missed || op == CALL_KV_PUT))
        *version = is.version;
    if (!err && is.has_missed)
        err = err_set(WEFT_FAILED_PRECONDITION, "%s: the key '%.*s' has another version",
                      kv->remote.path, (int)key.size, key.data);
    remote_value_fini(&is);
    return err;
}

weft_err weft_kv_put_sized(weft_kv *kv, weft_bytes key, weft_bytes value,
                           const weft_kv_options *options, size_t options_size, uint64_t *version)
{
    return change(kv, CALL_KV_PUT, key, value, options, options_size, version);
}

weft_err weft_kv_remove_sized(weft_kv *kv, weft_bytes key, const weft_kv_options *options,
                              size_t options_size)
{
    return change(kv, CALL_KV_REMOVE, key, weft_none(), options, options_size, NULL);
}
