// A kv in a snapshot: its revision, its entries in the order of their keys, and who owns which.
//
//     1   u64 revision
//     2   {text key, u64 version, blob value}
//     3   {u32 session, text key}, in the order of the keys' versions: a session's keys go in it
//
// The history is not kept: it only saves watchers from getting all keys again.

#include <stdlib.h>

#include "resource/kv/kv_state.h"
#include "wire/pack.h"

enum { PART_REVISION = 1, PART_ENTRIES = 2, PART_OWNERS = 3, PART_BYTES_MAX = 2 << 20 };

struct owned {
    VEC(const struct kv_entry *) entries;
};

static weft_err refuse_memory(void)
{
    return err_no_memory("to save a kv");
}

static weft_err save_part(struct host_saver *saver, struct buf *part)
{
    const weft_err err =
        part->has_failed ? refuse_memory() : host_save_part(saver, buf_bytes(part));
    part->size = 0;
    return err;
}

static void begin_part(struct buf *part, uint8_t what)
{
    if (part->size == 0)
        pack_write_u8(part, what);
}

static weft_err save_entries(const struct kv *kv, struct host_saver *saver, struct buf *part,
                             struct owned *owned)
{
    weft_err err = WEFT_OK;
    struct kv_place place = kv_map_seek(&kv->map, weft_none());
    for (const struct kv_entry *entry; !err && (entry = kv_map_at(&kv->map, place));
         kv_map_advance(&kv->map, &place)) {
        begin_part(part, PART_ENTRIES);
        pack_write_text(part, entry->key);
        pack_write_u64(part, entry->version);
        pack_write_blob(part, entry->value);
        if (part->size >= PART_BYTES_MAX)
            err = save_part(saver, part);
        if (!err && entry->holding.session && !VEC_PUSH(&owned->entries, entry))
            err = refuse_memory();
    }
    return err || part->size == 0 ? err : save_part(saver, part);
}

static int compare_versions(const void *a, const void *b)
{
    const uint64_t first = (*(const struct kv_entry *const *)a)->version;
    const uint64_t second = (*(const struct kv_entry *const *)b)->version;
    return (first > second) - (first < second);
}

static weft_err save_owners(struct host_saver *saver, struct buf *part, struct owned *owned)
{
    weft_err err = WEFT_OK;
    if (owned->entries.count)
        qsort(owned->entries.items, owned->entries.count, sizeof *owned->entries.items,
              compare_versions);
    for (size_t i = 0; i < owned->entries.count && !err; i++) {
        const struct kv_entry *entry = owned->entries.items[i];
        begin_part(part, PART_OWNERS);
        pack_write_u32(part, entry->holding.session->number);
        pack_write_text(part, entry->key);
        if (part->size >= PART_BYTES_MAX)
            err = save_part(saver, part);
    }
    return err || part->size == 0 ? err : save_part(saver, part);
}

weft_err kv_save(const struct resource *resource, struct host_saver *saver)
{
    const struct kv *kv = (const struct kv *)resource;
    struct buf part = {0};
    struct owned owned = {{0}};
    pack_write_u8(&part, PART_REVISION);
    pack_write_u64(&part, kv->revision);
    weft_err err = save_part(saver, &part);
    if (!err)
        err = save_entries(kv, saver, &part, &owned);
    if (!err)
        err = save_owners(saver, &part, &owned);
    VEC_FINI(&owned.entries);
    buf_fini(&part);
    return err;
}

static weft_err refuse_part(void)
{
    return err_set(WEFT_DATA_LOSS, "a saved kv does not fit together");
}

static weft_err load_entry(struct kv *kv, struct pack_reader *part)
{
    const weft_bytes key = pack_read_text(part);
    const uint64_t version = pack_read_u64(part);
    const weft_bytes value = pack_read_blob(part);
    if (part->has_failed || key.size == 0 || key.size > CALL_NAME_BYTES_MAX ||
        value.size > KV_VALUE_BYTES_MAX || version == 0 || version > kv->revision ||
        kv_map_find(&kv->map, key))
        return refuse_part();
    struct kv_entry *entry = kv_entry_new(key);
    char *memory = malloc(value.size ? value.size : 1);
    if (!entry || !memory || !kv_map_insert(&kv->map, entry)) {
        free(memory);
        free(entry);
        return err_no_memory("for a kv");
    }
    if (value.size)
        memcpy(memory, value.data, value.size);
    entry->value = (weft_bytes){memory, value.size};
    entry->version = version;
    kv->bytes += kv_cost(key, value.size);
    return WEFT_OK;
}

static weft_err load_owner(struct kv *kv, struct pack_reader *part)
{
    struct session *session = host_session_by_number(kv->resource.host, pack_read_u32(part));
    struct kv_entry *entry = kv_map_find(&kv->map, pack_read_text(part));
    if (part->has_failed || !session || !entry || entry->holding.session)
        return refuse_part();
    session_add_holding(session, &kv->resource, &entry->holding);
    entry->holding.order = entry->version;
    return WEFT_OK;
}

weft_err kv_load(struct resource *resource, struct pack_reader *part)
{
    struct kv *kv = kv_of(resource);
    const uint8_t what = pack_read_u8(part);
    if (what == PART_REVISION) {
        kv->revision = pack_read_u64(part);
        return part->has_failed || part->rest.size ? refuse_part() : WEFT_OK;
    }
    if (part->has_failed || (what != PART_ENTRIES && what != PART_OWNERS))
        return refuse_part();
    weft_err err = WEFT_OK;
    while (part->rest.size && !err)
        err = what == PART_ENTRIES ? load_entry(kv, part) : load_owner(kv, part);
    return err;
}
