// map: items found by their bytes. The items, and the bytes they are found by, are the caller's.
// Order of walking follows from the seed and means nothing: a caller that needs an order sorts. Thread: one owner.
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <weft/weft.h>

struct map {
    weft_bytes (*key)(const void *item);
    uint64_t seed;  // drawn by the owner where keys come from strangers
    struct map_place {
        uint64_t hash;
        void *item;  // NULL: free
    } * places;      // a power of two, linear probing, at most 3/4 full
    size_t count, capacity;
};

// Mixes bytes into 64 bits, evenly enough for tables; with a secret seed no sender can flood a table.
uint64_t map_hash(uint64_t seed, weft_bytes bytes);

void map_init(struct map *map, weft_bytes (*key)(const void *item), uint64_t seed);
void map_fini(struct map *map);

void *map_find(const struct map *map, weft_bytes key);  // NULL: there is none

// The key must not be there. False: out of memory.
bool map_add(struct map *map, void *item);
void *map_take_out(struct map *map, weft_bytes key);  // NULL: there was none

// Walks: starts with *at = 0; NULL at the end. Nothing may be added or taken out during a walk.
void *map_next(const struct map *map, size_t *at);

#endif
