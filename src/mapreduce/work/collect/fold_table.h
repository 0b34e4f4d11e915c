// The tables that combine on every emit: key -> folded int64, one set per slot.
//
// Three tables by the size of the key, because the short ones are nearly all:
//   short   1..8 bytes not ending in NUL: 64-byte buckets of 4 keys and 4 values, one cache line a probe
//   wide    9..16 bytes not ending in NUL: 32-byte slots, key inline
//   long    everything else: 16-byte slots of hash and record
// All are ordered by the top bits of the hash, so that growing is one sweep. Keys come in batches and
// each probe prefetches the bucket of a key some hundred places later: a probe anywhere costs
// like a hit in the second-level cache. Thread: one slot.
#ifndef MAPREDUCE_WORK_COLLECT_FOLD_TABLE_H
#define MAPREDUCE_WORK_COLLECT_FOLD_TABLE_H

#include "base/err.h"
#include "base/vec.h"
#include "mapreduce/work/collect/pages.h"
#include "mapreduce/work/sort/entry.h"
#include "sys/machine/mem.h"

enum fold_op { FOLD_NONE, FOLD_SUM, FOLD_MIN, FOLD_MAX };

enum {
    FOLD_BATCH = 1024,  // keys folded at a time
    FOLD_AHEAD = 112,   // how far ahead a probe prefetches; those keys wait for the next batch
    FOLD_QUEUE = FOLD_BATCH + FOLD_AHEAD,
    FOLD_SLACK = 64,  // room after a queue for whole vectors
};

struct short_bucket {
    uint64_t keys[4];  // little-endian words, 0: free; filled from the front
    int64_t values[4];
};

struct wide_slot {
    uint64_t high, low;  // big-endian words, low 0: free
    int64_t value;
    uint64_t unused;
};

struct long_slot {
    uint64_t hash;
    struct record *record;  // NULL: free; its value bytes hold the folded number
};

// A key and a number of it: a partial sum that would have overflowed, set aside (sums are joined in 128
// bits at the end), or an entry of a squeezed table.
struct fold_aside {
    uint64_t key;
    int64_t value;
};

struct short_table {
    struct short_bucket *buckets;
    uint32_t bits;  // 2^bits buckets
    uint64_t used;
    uint64_t sum_max;  // no sum of it is larger, ones not counted
    VEC(struct fold_aside) aside;
};

struct wide_table {
    struct wide_slot *slots;
    uint32_t bits;
    uint64_t used;
};

struct long_table {
    struct long_slot *slots;
    uint32_t bits;
    uint64_t used;
};

// Adds value to total if it fits; false leaves total alone. Minimum and maximum always fit.
static inline bool fold_number(enum fold_op op, int64_t *total, int64_t value)
{
    int64_t sum;
    switch (op) {
    case FOLD_MIN:
        *total = value < *total ? value : *total;
        return true;
    case FOLD_MAX:
        *total = value > *total ? value : *total;
        return true;
    default:
        if (__builtin_add_overflow(*total, value, &sum))
            return false;
        *total = sum;
        return true;
    }
}

// From here on sums may leave 64 bits. A sum of ones cannot get from here to that limit.
#define FOLD_SAFE_SUM (UINT64_C(1) << 62)

#define FOLD_MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t short_hash(uint64_t key)
{
    return key * FOLD_MULTIPLIER;
}

static inline uint64_t wide_hash(uint64_t high, uint64_t low)
{
    const __uint128_t product =
        (__uint128_t)(high ^ UINT64_C(0xa0761d6478bd642f)) * (low ^ UINT64_C(0xe7037ed1a0b428db));
    return ((uint64_t)product ^ (uint64_t)(product >> 64)) * FOLD_MULTIPLIER;
}

// ---- short: the caller makes room (short_table_has_room) for the whole batch before it folds it

static inline bool short_table_has_room(const struct short_table *table, uint64_t more)
{
    return table->buckets && table->used + more <= (UINT64_C(4) << table->bits) * 6 / 10;
}

// Folds keys[0..count); keys[count..count+FOLD_AHEAD) are readable and prefetched (any content).
// values NULL: all ones.
void short_table_fold(struct short_table *table, const uint64_t *keys, const int64_t *values,
                      size_t count, enum fold_op op);

// Makes room for that many more by growing to at most `bytes_max`; false: stays as it is. Memory it grew
// out of goes to `pages`, touched as it is.
bool short_table_grow(struct short_table *table, struct pages *pages, size_t bytes_max,
                      uint64_t room_for);

// Moves all keys and values to the front of the table's memory, in table order, and gives the pages
// after them to `pages`. This ends the table: the caller gives *memory to pages, too, when it is
// done.
struct fold_aside *short_table_squeeze(struct short_table *table, struct pages *pages,
                                       size_t *count, size_t *memory_bytes);
void short_table_free(struct short_table *table, struct mem_budget *budget);
void short_table_clear(struct short_table *table);

// ---- wide and long: one key at a time, room made before

static inline bool wide_table_has_room(const struct wide_table *table, uint64_t more)
{
    return table->slots && table->used + more <= (UINT64_C(1) << table->bits) * 3 / 4;
}

// False: the sum would overflow; *old has the partial sum that was there, now replaced by value.
bool wide_table_fold(struct wide_table *table, uint64_t high, uint64_t low, int64_t value,
                     enum fold_op op, int64_t *old);
bool wide_table_grow(struct wide_table *table, struct pages *pages, size_t bytes_max);

static inline void wide_table_prefetch(const struct wide_table *table, uint64_t high, uint64_t low)
{
    if (table->slots)
        __builtin_prefetch(table->slots + (wide_hash(high, low) >> (64 - table->bits)));
}
void wide_table_free(struct wide_table *table, struct mem_budget *budget);
void wide_table_clear(struct wide_table *table);

static inline bool long_table_has_room(const struct long_table *table, uint64_t more)
{
    return table->slots && table->used + more <= (UINT64_C(1) << table->bits) * 6 / 10;
}

uint64_t long_hash(weft_bytes key);

// The slot of the key: its record, or NULL where the caller puts a new one (and counts it).
struct long_slot *long_table_find(const struct long_table *table, weft_bytes key, uint64_t hash);
bool long_table_grow(struct long_table *table, struct mem_budget *budget, size_t bytes_max);
void long_table_free(struct long_table *table, struct mem_budget *budget);
void long_table_clear(struct long_table *table);

// ---- kernels, one per instruction set, chosen once (fold_table.c)

typedef void fold_kernel(struct short_table *table, const uint64_t *keys, const int64_t *values,
                         size_t count, enum fold_op op);
fold_kernel fold_kernel_plain, fold_kernel_avx2, fold_kernel_avx512;

#endif
