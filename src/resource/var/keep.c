// A var in a snapshot: its value, and the items it has counted.

#include "resource/host.h"
#include "resource/var/var_state.h"
#include "wire/pack.h"

enum {
    PART_BYTES_MAX = 2 << 20,
    PART_VALUE = 1,  // u64 version, u64 size of the value, the next bytes of it
    PART_ITEMS = 2,  // {u64 queue, u64 first, u64 last} of counted items
    PART_KEYS = 3,   // texts, the oldest first
};

static weft_err save_part(struct host_saver *saver, struct buf *part)
{
    const weft_err err =
        part->has_failed ? err_no_memory("to save a var") : host_save_part(saver, buf_bytes(part));
    part->size = 0;
    return err;
}

static weft_err save_value(const struct var *var, struct host_saver *saver, struct buf *part)
{
    weft_err err = WEFT_OK;
    size_t saved = 0;
    do {
        const size_t left = var->value.size - saved;
        const size_t size = left < PART_BYTES_MAX ? left : PART_BYTES_MAX;
        pack_write_u8(part, PART_VALUE);
        pack_write_u64(part, var->version);
        pack_write_u64(part, var->value.size);
        if (size)
            buf_append(part, var->value.data + saved, size);
        saved += size;
        err = save_part(saver, part);
    } while (!err && saved < var->value.size);
    return err;
}

static weft_err save_items(const struct item_set *set, struct host_saver *saver, struct buf *part)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; i < set->queues.count && !err; i++) {
        const struct item_queue *queue = &set->queues.items[i];
        for (size_t j = 0; j < queue->ranges.count && !err; j++) {
            if (part->size == 0)
                pack_write_u8(part, PART_ITEMS);
            pack_write_u64(part, queue->uid);
            pack_write_u64(part, queue->ranges.items[j].first);
            pack_write_u64(part, queue->ranges.items[j].last);
            if (part->size >= PART_BYTES_MAX)
                err = save_part(saver, part);
        }
    }
    return err || part->size == 0 ? err : save_part(saver, part);
}

static weft_err save_keys(const struct seen_keys *keys, struct host_saver *saver, struct buf *part)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; i < keys->count && !err; i++) {
        if (part->size == 0)
            pack_write_u8(part, PART_KEYS);
        pack_write_text(part, seen_keys_at(keys, i));
        if (part->size >= PART_BYTES_MAX)
            err = save_part(saver, part);
    }
    return err || part->size == 0 ? err : save_part(saver, part);
}

weft_err var_save(const struct resource *resource, struct host_saver *saver)
{
    const struct var *var = (const struct var *)resource;
    struct buf part = {0};
    weft_err err = var->has_value ? save_value(var, saver, &part) : WEFT_OK;
    if (!err)
        err = save_items(&var->counted, saver, &part);
    if (!err)
        err = save_keys(&var->keys, saver, &part);
    buf_fini(&part);
    return err;
}

static weft_err refuse_part(void)
{
    return err_set(WEFT_DATA_LOSS, "a saved var does not fit together");
}

static weft_err load_value(struct var *var, struct pack_reader *part)
{
    var->version = pack_read_u64(part);
    const uint64_t size = pack_read_u64(part);
    const bool fits = var->dtype == TUPLE_STRING ? size <= VAR_BYTES_MAX : size == var->size;
    if (part->has_failed || var->has_value || var->version == 0 || !fits ||
        var->value.size > size || part->rest.size > size - var->value.size)
        return refuse_part();
    buf_append(&var->value, part->rest.data, part->rest.size);
    var->has_value = var->value.size == size;
    return var->value.has_failed ? err_no_memory("for a var") : WEFT_OK;
}

static weft_err load_items(struct var *var, struct pack_reader *part)
{
    weft_err err = WEFT_OK;
    while (part->rest.size && !err) {
        const uint64_t queue = pack_read_u64(part);
        const uint64_t first = pack_read_u64(part);
        const uint64_t last = pack_read_u64(part);
        err = part->has_failed
                  ? refuse_part()
                  : item_set_append(&var->counted, queue, (struct item_range){first, last});
    }
    return err;
}

static weft_err load_keys(struct var *var, struct pack_reader *part)
{
    while (part->rest.size) {
        const weft_bytes key = pack_read_text(part);
        if (part->has_failed || key.size == 0 || seen_keys_have(&var->keys, key))
            return refuse_part();
        if (!seen_keys_add(&var->keys, key, host_seed(var->resource.host)))
            return err_no_memory("for a key");
        seen_keys_trim(&var->keys);
    }
    return WEFT_OK;
}

weft_err var_load(struct resource *resource, struct pack_reader *part)
{
    struct var *var = (struct var *)resource;
    switch (pack_read_u8(part)) {
    case PART_VALUE:
        return load_value(var, part);
    case PART_ITEMS:
        return load_items(var, part);
    case PART_KEYS:
        return load_keys(var, part);
    default:
        return refuse_part();
    }
}
