// Random pairs for the tests of sorting, spilling and merging: all types, keys that share much, hold
// zeros, are empty or larger than a block. Every key and value is an allocation of exactly its size, so
// that AddressSanitizer reports code that reads a byte too many.
#ifndef MAPREDUCE_WORK_SORT_RANDOM_PAIRS_H
#define MAPREDUCE_WORK_SORT_RANDOM_PAIRS_H

#include <stdlib.h>

#include "mapreduce/work/sort/pair.h"

struct random_pairs {
    struct pair *items;
    size_t count;
};

static inline uint64_t random_next(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline size_t random_below(uint64_t *seed, size_t limit)
{
    return (size_t)(random_next(seed) % limit);
}

static inline weft_bytes random_bytes(uint64_t *seed, size_t size, const char *alphabet,
                                      size_t letters)
{
    char *data = malloc(size ? size : 1);
    for (size_t i = 0; i < size; i++)
        data[i] = letters ? alphabet[random_below(seed, letters)] : (char)random_next(seed);
    return (weft_bytes){data, size};
}

static inline weft_bytes random_key(uint64_t *seed)
{
    switch (random_below(seed, 16)) {
    case 0:
        return random_bytes(seed, random_below(seed, 5000), NULL, 0);
    case 1:
    case 2: {  // the same long beginning, different ends
        weft_bytes key = random_bytes(seed, 250 + random_below(seed, 20), "ab", 2);
        memset((char *)key.data, 'p', 248);
        return key;
    }
    case 3:
    case 4:
    case 5:
        return random_bytes(seed, random_below(seed, 24), NULL, 0);
    default:  // few letters, zero and the largest byte among them: many ties and near ties
        return random_bytes(seed, random_below(seed, 12), "\0\1a\377", 4);
    }
}

static inline struct pair random_pair(uint64_t *seed, uint32_t task_count)
{
    struct pair pair = {
        .key = random_key(seed),
        .task = (uint32_t)random_below(seed, task_count),
        .type = (enum value_type)random_below(seed, VALUE_TYPE_COUNT),
    };
    pair.prefix = bytes_prefix(pair.key);
    if (pair.type == VALUE_INT)
        pair.number = (int64_t)(random_next(seed) << random_below(seed, 64));
    else if (pair.type == VALUE_DOUBLE)
        pair.number = (int64_t)random_next(seed);
    else if (pair.type != VALUE_NONE)
        pair.bytes =
            random_bytes(seed, random_below(seed, random_below(seed, 50) ? 40 : 20000), NULL, 0);
    return pair;
}

static inline struct random_pairs random_pairs_new(uint64_t *seed, size_t count,
                                                   uint32_t task_count)
{
    struct random_pairs pairs = {malloc((count ? count : 1) * sizeof(struct pair)), count};
    for (size_t i = 0; i < count; i++)
        pairs.items[i] = random_pair(seed, task_count);
    return pairs;
}

static inline void random_pairs_free(struct random_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        free((char *)pairs->items[i].key.data);
        free((char *)pairs->items[i].bytes.data);
    }
    free(pairs->items);
}

// What a reader must give back for a pair that was written.
static inline bool pair_is_same(const struct pair *a, const struct pair *b)
{
    return a->prefix == b->prefix && bytes_equal(a->key, b->key) &&
           bytes_equal(a->bytes, b->bytes) && a->number == b->number && a->task == b->task &&
           a->type == b->type;
}

#endif
