// fold: key -> sum, the table in which a slot's Python adds up what mapfn emits.
//
// Keys of up to 8 bytes are numbers in an open table, keys of up to 16 bytes are pairs of numbers in
// another; longer ones, and those that end with a zero byte, are kept in an arena. A key waits in a
// short ring between being prefetched and being probed, because with many keys nearly every probe
// misses the cache. Thread: one owner.
#ifndef PYTHON_FOLD_H
#define PYTHON_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FOLD_RING = 16 };  // keys between prefetch and probe; a power of two

struct fold_short {
    uint64_t key;  // zero: free
    int64_t sum;
};

struct fold_wide {
    uint64_t low, high;  // high zero: free
    int64_t sum;
};

struct fold_long {
    uint64_t hash;
    const char *key;  // NULL: free
    int64_t sum;
    uint32_t size;
};

// Called for each key with its sum; false: stop.
typedef bool fold_visit_fn(void *owner, const char *key, size_t size, int64_t sum);

struct fold {
    struct fold_short *shorts;
    struct fold_wide *wides;
    struct fold_long *longs;
    size_t short_capacity, wide_capacity, long_capacity;  // powers of two
    size_t short_count, wide_count, long_count;
    unsigned short_shift, wide_shift, long_shift;  // 64 - log2 of the capacity
    struct fold_short short_ring[FOLD_RING];
    struct fold_wide wide_ring[FOLD_RING];
    unsigned short_at, wide_at;
    struct fold_page *pages;  // of the arena, newest first
    size_t page_used, page_size;
    size_t bytes, bytes_max;  // of memory
    bool is_full;             // the next key may need more: fold_take must come first
    bool has_failed;          // out of memory; keys were lost
    // A sum that would not fit into 64 bits goes here, and the key begins again.
    fold_visit_fn *set_aside;
    void *owner;
};

// bytes_max may be changed later. False: out of memory.
bool fold_init(struct fold *fold, size_t bytes_max, fold_visit_fn *set_aside, void *owner);
void fold_fini(struct fold *fold);

// Visits all keys, in no order, and empties the table. False: the visitor said so.
bool fold_take(struct fold *fold, fold_visit_fn *visit, void *owner);

// Adds all sums of one table to another, and empties it. When the other has no room, its sums
// are visited first. False: the visitor said so, or out of memory.
bool fold_move(struct fold *from, struct fold *to, fold_visit_fn *visit, void *owner);

void fold_probe_short(struct fold *fold, uint64_t key, int64_t value);
void fold_add_wide(struct fold *fold, const char *key, size_t size, int64_t value);
void fold_add_long(struct fold *fold, const char *key, size_t size, int64_t value);

// Not the multiplier of the engine's tables: keys that arrive there in the order of the same hash
// would crowd at the front of a growing table.
#define FOLD_MULTIPLIER UINT64_C(0xD1342543DE82EF95)

// `size` bytes (1 to 8) as a number. Reads eight bytes where they cannot lie on another page.
static inline uint64_t fold_load(const char *data, size_t size)
{
    uint64_t word = 0;
#if !defined(__SANITIZE_ADDRESS__)
    if (__builtin_expect(((uintptr_t)data & 4095) <= 4088, 1)) {
        __asm__("" : "+r"(data));  // else compilers warn about short constants
        memcpy(&word, data, 8);
        return word & (UINT64_MAX >> (64 - 8 * size));
    }
#endif
    memcpy(&word, data, size);
    return word;
}

static inline void fold_add_short(struct fold *fold, uint64_t key, int64_t value)
{
    __builtin_prefetch(&fold->shorts[key * FOLD_MULTIPLIER >> fold->short_shift], 1, 3);
    struct fold_short *ring = &fold->short_ring[fold->short_at++ & (FOLD_RING - 1)];
    const struct fold_short old = *ring;
    *ring = (struct fold_short){key, value};
    if (old.key)
        fold_probe_short(fold, old.key, old.sum);
}

static inline void fold_add(struct fold *fold, const char *key, size_t size, int64_t value)
{
    if (__builtin_expect(size - 1 < 8 && key[size - 1], 1))
        fold_add_short(fold, fold_load(key, size), value);
    else if (size - 9 < 8 && key[size - 1])
        fold_add_wide(fold, key, size, value);
    else
        fold_add_long(fold, key, size, value);
}

#endif
