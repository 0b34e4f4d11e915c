// Keys and values as a program sees them: one at a time. All of them are in remote_kv_walk.c.

#include "client/remote_kv.h"

#include <stdlib.h>

#include "wire/pack.h"

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

static weft_err fill_entry(struct peer_call *call, weft_bytes key, weft_kv_entry *entry)
{
    struct pack_reader reader = {buf_bytes(&call->answer), false};
    entry->version = pack_read_u64(&reader);
    entry->is_owned = pack_read_u8(&reader);
    const weft_bytes value = reader.rest;
    if (reader.has_failed)
        return err_set(WEFT_DATA_LOSS, "the answer of a kv is cut");
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
    struct peer_call call = {0};
    const uint16_t size = (uint16_t)key.size;
    const weft_bytes parts[] = {{(const char *)&size, sizeof size}, key};
    weft_err err = check_key(kv, key);
    if (!err)
        err =
            remote_ask_within(&kv->remote, kv->remote.timeout_ms, CALL_KV_GET, 0, parts, 2, &call);
    if (err != WEFT_NOT_FOUND)  // which is an answer
        err = remote_keep_error(&kv->remote, err);
    if (!err)
        err = fill_entry(&call, key, entry);
    peer_call_fini(&call);
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
    const uint16_t size = (uint16_t)key.size;
    const bool is_owned = all.is_owned && op == CALL_KV_PUT;
    const uint8_t flags =
        (uint8_t)((is_owned ? CALL_FLAG_OWNED : 0) | (all.has_version ? CALL_FLAG_IF : 0));
    const weft_bytes parts[] = {
        {(const char *)&all.version, all.has_version ? sizeof all.version : 0},
        {(const char *)&size, sizeof size},
        key,
        value,
    };
    struct peer_call call = {0};
    err = remote_ask(&kv->remote, op, flags, parts, 4, &call);
    struct pack_reader reader = {buf_bytes(&call.answer), false};
    const bool has_missed = !err && call.flags & ANSWER_FLAG_MISSED;
    if (!err && version && (has_missed || op == CALL_KV_PUT))
        *version = pack_read_u64(&reader);
    if (has_missed)
        err = err_set(WEFT_FAILED_PRECONDITION, "%s: the key '%.*s' has another version",
                      kv->remote.path, (int)key.size, key.data);
    peer_call_fini(&call);
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
