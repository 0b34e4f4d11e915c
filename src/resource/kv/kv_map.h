// kv_map: the keys of a kv with their values, in bytewise order.
//
// Sorted blocks of pointers in a sorted array: a key is found by two binary searches, and putting one
// into a million moves a block, not the million.
#ifndef RESOURCE_KV_KV_MAP_H
#define RESOURCE_KV_KV_MAP_H

#include "base/vec.h"
#include "resource/resource.h"

enum { KV_BLOCK_ENTRIES = 256 };

struct kv_entry {
    struct holding holding;  // its session: the owner; NULL: none
    uint64_t version;
    weft_bytes key;    // after this struct
    weft_bytes value;  // on the heap
    char key_memory[];
};

struct kv_block {
    size_t count;  // at least 1
    struct kv_entry *entries[KV_BLOCK_ENTRIES];
};

struct kv_map {  // zeros: an empty one
    VEC(struct kv_block *) blocks;
    size_t count;
};

// Where an entry stands; valid until something is inserted or taken out.
struct kv_place {
    size_t block, index;
};

struct kv_entry *kv_entry_new(weft_bytes key);  // without a value; NULL: out of memory
void kv_entry_free(struct kv_entry *entry);

void kv_map_fini(struct kv_map *map);  // and all entries

struct kv_entry *kv_map_find(const struct kv_map *map, weft_bytes key);  // NULL: there is none

// The place of the first entry that is not before the key.
struct kv_place kv_map_seek(const struct kv_map *map, weft_bytes key);
struct kv_entry *kv_map_at(const struct kv_map *map, struct kv_place place);  // NULL: the end
void kv_map_advance(const struct kv_map *map, struct kv_place *place);

// Its key must not be there. False: out of memory.
MUST_CHECK bool kv_map_insert(struct kv_map *map, struct kv_entry *entry);
void kv_map_take_out(struct kv_map *map, const struct kv_entry *entry);

#endif
