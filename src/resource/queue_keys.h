// queue_keys: the keys of a queue's pushes, so that one that is pushed again counts once.
//
// The last million of them, or fewer with 64 MiB together: then the oldest is forgotten, in the order in which they
// came. It follows from the pushes alone, so that a journal done again ends with the same ones. Why so many:
// docs/decisions/0034.
#ifndef RESOURCE_QUEUE_KEYS_H
#define RESOURCE_QUEUE_KEYS_H

#include "base/map.h"

enum { QUEUE_KEYS_MAX = 1000000, QUEUE_KEYS_BYTES_MAX = 64 << 20 };

struct queue_key;

struct queue_keys {
    struct map seen;
    struct queue_key **ring;  // in their order
    size_t first, count;
    size_t capacity;  // of the ring, a power of two
    size_t bytes;     // of the keys
};

void queue_keys_init(struct queue_keys *keys);
void queue_keys_fini(struct queue_keys *keys);

bool queue_keys_have(const struct queue_keys *keys, weft_bytes key);

// One that is not there; false: no memory. The seed is for the first of all.
bool queue_keys_add(struct queue_keys *keys, weft_bytes key, uint64_t seed);
void queue_keys_forget_last(struct queue_keys *keys);  // that was added

// Forgets the oldest while there are too many.
void queue_keys_trim(struct queue_keys *keys);

weft_bytes queue_keys_at(const struct queue_keys *keys, size_t i);  // 0: the oldest

#endif
