// seen_keys: the keys of a queue's pushes, or of additions to a variable, so that one that comes again
// counts once.
//
// The last million of them, or fewer with 64 MiB together: then the oldest is forgotten, in the order in which they
// came. It follows from the calls alone, so that a journal done again ends with the same ones. Why this many:
// docs/decisions/0034.
#ifndef RESOURCE_SEEN_KEYS_H
#define RESOURCE_SEEN_KEYS_H

#include "base/map.h"

enum { SEEN_KEYS_MAX = 1000000, SEEN_KEYS_BYTES_MAX = 64 << 20 };

struct seen_key;

struct seen_keys {
    struct map seen;
    struct seen_key **ring;  // in their order
    size_t first, count;
    size_t capacity;  // of the ring, a power of two
    size_t bytes;     // of the keys
};

void seen_keys_init(struct seen_keys *keys);
void seen_keys_fini(struct seen_keys *keys);

bool seen_keys_have(const struct seen_keys *keys, weft_bytes key);

// One that is not there; false: no memory. The seed is for the first of all.
bool seen_keys_add(struct seen_keys *keys, weft_bytes key, uint64_t seed);
void seen_keys_forget_last(struct seen_keys *keys);  // that was added

// Forgets the oldest while there are too many.
void seen_keys_trim(struct seen_keys *keys);

weft_bytes seen_keys_at(const struct seen_keys *keys, size_t i);  // 0: the oldest

#endif
