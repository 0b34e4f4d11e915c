// A map to find them by, and a ring that knows which is the oldest.

#include "resource/queue_keys.h"

#include <stdlib.h>
#include <string.h>

enum { RING_SIZE_MIN = 16 };

struct queue_key {
    size_t size;
    char bytes[];
};

static weft_bytes key_bytes(const void *item)
{
    const struct queue_key *key = item;
    return (weft_bytes){key->bytes, key->size};
}

static struct queue_key **place_of(const struct queue_keys *keys, size_t i)
{
    return &keys->ring[(keys->first + i) & (keys->capacity - 1)];
}

void queue_keys_init(struct queue_keys *keys)
{
    *keys = (struct queue_keys){0};
    map_init(&keys->seen, key_bytes, 0);
}

void queue_keys_fini(struct queue_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        free(*place_of(keys, i));
    free(keys->ring);
    map_fini(&keys->seen);
    queue_keys_init(keys);
}

bool queue_keys_have(const struct queue_keys *keys, weft_bytes key)
{
    return map_find(&keys->seen, key) != NULL;
}

static bool grow_ring(struct queue_keys *keys)
{
    const size_t capacity = keys->capacity ? keys->capacity * 2 : RING_SIZE_MIN;
    struct queue_key **ring = malloc(capacity * sizeof(struct queue_key *));
    if (!ring)
        return false;
    for (size_t i = 0; i < keys->count; i++)
        ring[i] = *place_of(keys, i);
    free(keys->ring);
    keys->ring = ring;
    keys->capacity = capacity;
    keys->first = 0;
    return true;
}

bool queue_keys_add(struct queue_keys *keys, weft_bytes bytes, uint64_t seed)
{
    if (keys->count == keys->capacity && !grow_ring(keys))
        return false;
    struct queue_key *key = malloc(sizeof *key + bytes.size);
    if (!key)
        return false;
    if (keys->seen.count == 0)
        keys->seen.seed = seed;
    key->size = bytes.size;
    memcpy(key->bytes, bytes.data, bytes.size);
    if (!map_add(&keys->seen, key)) {
        free(key);
        return false;
    }
    *place_of(keys, keys->count++) = key;
    keys->bytes += bytes.size;
    return true;
}

static void forget(struct queue_keys *keys, struct queue_key *key)
{
    map_take_out(&keys->seen, key_bytes(key));
    keys->bytes -= key->size;
    keys->count--;
    free(key);
}

void queue_keys_forget_last(struct queue_keys *keys)
{
    forget(keys, *place_of(keys, keys->count - 1));
}

void queue_keys_trim(struct queue_keys *keys)
{
    while (keys->count > QUEUE_KEYS_MAX || keys->bytes > QUEUE_KEYS_BYTES_MAX) {
        struct queue_key *oldest = *place_of(keys, 0);
        keys->first = (keys->first + 1) & (keys->capacity - 1);
        forget(keys, oldest);
    }
}

weft_bytes queue_keys_at(const struct queue_keys *keys, size_t i)
{
    return key_bytes(*place_of(keys, i));
}
