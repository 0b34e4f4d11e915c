// Linear probing with the hash beside the item: a miss touches no item. Taking out moves later items
// up instead of leaving tombstones, so a map that lives long does not slow down.

#include "base/map.h"

#include <stdlib.h>

#include "base/bytes.h"

enum { CAPACITY_MIN = 16 };

static uint64_t fold(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t map_hash(uint64_t seed, weft_bytes bytes)
{
    static const uint64_t odd1 = 0x9e3779b97f4a7c15u, odd2 = 0xd6e8feb86659fd93u;
    uint64_t state = fold(seed ^ odd1, bytes.size + odd2);
    while (bytes.size > 16) {
        uint64_t a, b;
        memcpy(&a, bytes.data, 8);
        memcpy(&b, bytes.data + 8, 8);
        state = fold(a ^ odd1 ^ state, b ^ odd2 ^ (state >> 32));
        bytes.data += 16;
        bytes.size -= 16;
    }
    uint64_t a = 0, b = 0;
    const size_t first = bytes.size < 8 ? bytes.size : 8;
    if (first)
        memcpy(&a, bytes.data, first);
    if (bytes.size > 8)
        memcpy(&b, bytes.data + 8, bytes.size - 8);
    state = fold(a ^ odd2 ^ state, b ^ odd1 ^ seed);
    return fold(state, odd1);
}

void map_init(struct map *map, weft_bytes (*key)(const void *item), uint64_t seed)
{
    *map = (struct map){.key = key, .seed = seed};
}

void map_fini(struct map *map)
{
    free(map->places);
    map->places = NULL;
    map->count = map->capacity = 0;
}

// The place that holds the key, or the free one where it would be.
static struct map_place *find_place(const struct map *map, weft_bytes key, uint64_t hash)
{
    size_t at = hash & (map->capacity - 1);
    for (;; at = (at + 1) & (map->capacity - 1)) {
        struct map_place *place = &map->places[at];
        if (!place->item || (place->hash == hash && bytes_equal(map->key(place->item), key)))
            return place;
    }
}

void *map_find(const struct map *map, weft_bytes key)
{
    return map->count ? find_place(map, key, map_hash(map->seed, key))->item : NULL;
}

static bool grow(struct map *map)
{
    const size_t capacity = map->capacity ? map->capacity * 2 : CAPACITY_MIN;
    struct map_place *places = calloc(capacity, sizeof *places);
    if (!places)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        if (!map->places[i].item)
            continue;
        size_t at = map->places[i].hash & (capacity - 1);
        while (places[at].item)
            at = (at + 1) & (capacity - 1);
        places[at] = map->places[i];
    }
    free(map->places);
    map->places = places;
    map->capacity = capacity;
    return true;
}

bool map_add(struct map *map, void *item)
{
    if ((map->count + 1) * 4 > map->capacity * 3 && !grow(map))
        return false;
    const weft_bytes key = map->key(item);
    const uint64_t hash = map_hash(map->seed, key);
    *find_place(map, key, hash) = (struct map_place){hash, item};
    map->count++;
    return true;
}

void *map_take_out(struct map *map, weft_bytes key)
{
    if (!map->count)
        return NULL;
    struct map_place *hole = find_place(map, key, map_hash(map->seed, key));
    void *item = hole->item;
    if (!item)
        return NULL;
    const size_t mask = map->capacity - 1;
    size_t free_at = (size_t)(hole - map->places);
    for (size_t at = (free_at + 1) & mask; map->places[at].item; at = (at + 1) & mask) {
        const size_t home = map->places[at].hash & mask;
        if (((at - home) & mask) >= ((at - free_at) & mask)) {
            map->places[free_at] = map->places[at];
            free_at = at;
        }
    }
    map->places[free_at] = (struct map_place){0};
    map->count--;
    return item;
}

void *map_next(const struct map *map, size_t *at)
{
    while (*at < map->capacity) {
        void *item = map->places[(*at)++].item;
        if (item)
            return item;
    }
    return NULL;
}
