// A map to find them by, and a ring that knows which is the oldest.

#include "resource/seen_keys.h"

#include <stdlib.h>
#include <string.h>

enum { RING_SIZE_MIN = 16 };

struct seen_key {
    size_t size;
    char bytes[];
};

static weft_bytes key_bytes(const void *item)
{
    const struct seen_key *key = item;
    return (weft_bytes){key->bytes, key->size};
}

static struct seen_key **place_of(const struct seen_keys *keys, size_t i)
{
    return &keys->ring[(keys->first + i) & (keys->capacity - 1)];
}

void seen_keys_init(struct seen_keys *keys)
{
    *keys = (struct seen_keys){0};
    map_init(&keys->seen, key_bytes, 0);
}

void seen_keys_fini(struct seen_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        free(*place_of(keys, i));
    free(keys->ring);
    map_fini(&keys->seen);
    seen_keys_init(keys);
}

bool seen_keys_have(const struct seen_keys *keys, weft_bytes key)
{
    return map_find(&keys->seen, key) != NULL;
}

static bool grow_ring(struct seen_keys *keys)
{
    const size_t capacity = keys->capacity ? keys->capacity * 2 : RING_SIZE_MIN;
    struct seen_key **ring = malloc(capacity * sizeof(struct seen_key *));
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

bool seen_keys_add(struct seen_keys *keys, weft_bytes bytes, uint64_t seed)
{
    if (keys->count == keys->capacity && !grow_ring(keys))
        return false;
    struct seen_key *key = malloc(sizeof *key + bytes.size);
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

static void forget(struct seen_keys *keys, struct seen_key *key)
{
    map_take_out(&keys->seen, key_bytes(key));
    keys->bytes -= key->size;
    keys->count--;
    free(key);
}

void seen_keys_forget_last(struct seen_keys *keys)
{
    forget(keys, *place_of(keys, keys->count - 1));
}

void seen_keys_trim(struct seen_keys *keys)
{
    while (keys->count > SEEN_KEYS_MAX || keys->bytes > SEEN_KEYS_BYTES_MAX) {
        struct seen_key *oldest = *place_of(keys, 0);
        keys->first = (keys->first + 1) & (keys->capacity - 1);
        forget(keys, oldest);
    }
}

weft_bytes seen_keys_at(const struct seen_keys *keys, size_t i)
{
    return key_bytes(*place_of(keys, i));
}
