// Blocks split in the middle when they are full, except at the very end: keys that come in ascending
// order fill their blocks.

#include "resource/kv/kv_map.h"

#include "base/bytes.h"

struct kv_entry *kv_entry_new(weft_bytes key)
{
    struct kv_entry *entry = calloc(1, sizeof *entry + key.size);
    if (!entry)
        return NULL;
    if (key.size)
        memcpy(entry->key_memory, key.data, key.size);
    entry->key = (weft_bytes){entry->key_memory, key.size};
    return entry;
}

void kv_entry_free(struct kv_entry *entry)
{
    free((char *)entry->value.data);
    free(entry);
}

void kv_map_fini(struct kv_map *map)
{
    for (size_t i = 0; i < map->blocks.count; i++) {
        struct kv_block *block = map->blocks.items[i];
        for (size_t j = 0; j < block->count; j++)
            kv_entry_free(block->entries[j]);
        free(block);
    }
    VEC_FINI(&map->blocks);
    map->count = 0;
}

// The last block that begins at the key or before it; the first one for keys before all.
static size_t find_block(const struct kv_map *map, weft_bytes key)
{
    size_t low = 0, high = map->blocks.count;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (bytes_compare(map->blocks.items[middle]->entries[0]->key, key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t find_index(const struct kv_block *block, weft_bytes key)
{
    size_t low = 0, high = block->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (bytes_compare(block->entries[middle]->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct kv_place kv_map_seek(const struct kv_map *map, weft_bytes key)
{
    struct kv_place place = {find_block(map, key), 0};
    if (place.block == map->blocks.count)
        return place;
    const struct kv_block *block = map->blocks.items[place.block];
    place.index = find_index(block, key);
    if (place.index == block->count)
        place = (struct kv_place){place.block + 1, 0};
    return place;
}

struct kv_entry *kv_map_at(const struct kv_map *map, struct kv_place place)
{
    return place.block < map->blocks.count ? map->blocks.items[place.block]->entries[place.index]
                                           : NULL;
}

void kv_map_advance(const struct kv_map *map, struct kv_place *place)
{
    if (++place->index == map->blocks.items[place->block]->count)
        *place = (struct kv_place){place->block + 1, 0};
}

struct kv_entry *kv_map_find(const struct kv_map *map, weft_bytes key)
{
    struct kv_entry *entry = kv_map_at(map, kv_map_seek(map, key));
    return entry && bytes_equal(entry->key, key) ? entry : NULL;
}

static struct kv_block *add_block(struct kv_map *map, size_t at)
{
    struct kv_block *block = VEC_NEXT(&map->blocks) ? malloc(sizeof *block) : NULL;
    if (!block)
        return NULL;
    block->count = 0;
    struct kv_block **to = map->blocks.items + at;
    memmove(to + 1, to, (map->blocks.count - at) * sizeof *to);
    *to = block;
    map->blocks.count++;
    return block;
}

// Makes room in the block at *at, or finds a better one, for an entry at *index.
static bool make_room(struct kv_map *map, size_t *at, size_t *index)
{
    struct kv_block *full = map->blocks.items[*at];
    struct kv_block *behind = add_block(map, *at + 1);
    if (!behind)
        return false;
    const bool is_at_end = *index == full->count && *at + 2 == map->blocks.count;
    const size_t kept = is_at_end ? full->count : full->count / 2;
    behind->count = full->count - kept;
    memcpy(behind->entries, full->entries + kept, behind->count * sizeof *behind->entries);
    full->count = kept;
    if (*index > kept || is_at_end) {
        *index -= kept;
        ++*at;
    }
    return true;
}

bool kv_map_insert(struct kv_map *map, struct kv_entry *entry)
{
    if (map->blocks.count == 0 && !add_block(map, 0))
        return false;
    size_t at = find_block(map, entry->key);
    size_t index = find_index(map->blocks.items[at], entry->key);
    if (map->blocks.items[at]->count == KV_BLOCK_ENTRIES && !make_room(map, &at, &index))
        return false;
    struct kv_block *block = map->blocks.items[at];
    struct kv_entry **to = block->entries + index;
    memmove(to + 1, to, (block->count - index) * sizeof *to);
    *to = entry;
    block->count++;
    map->count++;
    return true;
}

void kv_map_take_out(struct kv_map *map, const struct kv_entry *entry)
{
    const struct kv_place place = kv_map_seek(map, entry->key);
    ASSERT(kv_map_at(map, place) == entry);
    struct kv_block *block = map->blocks.items[place.block];
    struct kv_entry **at = block->entries + place.index;
    block->count--;
    map->count--;
    memmove(at, at + 1, (block->count - place.index) * sizeof *at);
    if (block->count)
        return;
    free(block);
    struct kv_block **gone = map->blocks.items + place.block;
    map->blocks.count--;
    memmove(gone, gone + 1, (map->blocks.count - place.block) * sizeof *gone);
}
