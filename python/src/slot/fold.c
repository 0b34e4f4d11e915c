// The tables. Capacities double, by four while they are small; a table is three fifths full at most.

#include "fold.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    CAPACITY_FIRST = 1 << 12,
    HUGE_BYTES_MIN = 2 << 20,  // from here on memory comes from the kernel, in huge pages
    PAGE_BYTES = 256 << 10,
    GROWS_BY_FOUR_BELOW = 1 << 20,
};

#define WIDE_MULTIPLIER UINT64_C(0xD6E8FEB86659FD93)

struct fold_page {
    struct fold_page *next;
    char bytes[];
};

// ---- Memory -------------------------------------------------------------------------------------------

static void *take_memory(struct fold *fold, size_t size)
{
    void *memory;
    if (size < HUGE_BYTES_MIN) {
        memory = calloc(1, size);
    } else {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            memory = NULL;
        else
            madvise(memory, size, MADV_HUGEPAGE);
    }
    if (memory)
        fold->bytes += size;
    else
        fold->has_failed = true;
    return memory;
}

// For a table that grows. NULL: it would be too large, and is full.
static void *take_more(struct fold *fold, size_t size)
{
    void *memory = fold->bytes + size > fold->bytes_max ? NULL : take_memory(fold, size);
    fold->is_full |= !memory;
    return memory;
}

static void put_memory(struct fold *fold, void *memory, size_t size)
{
    if (!memory)
        return;
    fold->bytes -= size;
    if (size < HUGE_BYTES_MIN)
        free(memory);
    else
        munmap(memory, size);
}

static unsigned shift_of(size_t capacity)
{
    return 64 - (unsigned)__builtin_ctzll(capacity);
}

static size_t larger(size_t capacity)
{
    return capacity * (capacity < GROWS_BY_FOUR_BELOW ? 4 : 2);
}

static bool is_full(size_t count, size_t capacity)
{
    return count * 5 > capacity * 3;
}

static bool take_tables(struct fold *fold)
{
    fold->short_capacity = fold->wide_capacity = fold->long_capacity = CAPACITY_FIRST;
    fold->short_shift = fold->wide_shift = fold->long_shift = shift_of(CAPACITY_FIRST);
    fold->shorts = take_memory(fold, CAPACITY_FIRST * sizeof *fold->shorts);
    fold->wides = take_memory(fold, CAPACITY_FIRST * sizeof *fold->wides);
    fold->longs = take_memory(fold, CAPACITY_FIRST * sizeof *fold->longs);
    return !fold->has_failed;
}

bool fold_init(struct fold *fold, size_t bytes_max, fold_visit_fn *set_aside, void *owner)
{
    *fold = (struct fold){.bytes_max = bytes_max, .set_aside = set_aside, .owner = owner};
    return take_tables(fold);
}

static void put_tables(struct fold *fold)
{
    put_memory(fold, fold->shorts, fold->short_capacity * sizeof *fold->shorts);
    put_memory(fold, fold->wides, fold->wide_capacity * sizeof *fold->wides);
    put_memory(fold, fold->longs, fold->long_capacity * sizeof *fold->longs);
}

static void free_pages(struct fold *fold)
{
    while (fold->pages) {
        struct fold_page *next = fold->pages->next;
        free(fold->pages);
        fold->pages = next;
    }
    fold->page_used = fold->page_size = 0;
}

void fold_fini(struct fold *fold)
{
    put_tables(fold);
    free_pages(fold);
    *fold = (struct fold){0};
}

// Whether the sum fits; otherwise the old one is set aside and the key begins with the value.
static inline void add(struct fold *fold, int64_t *sum, int64_t value, const char *key, size_t size)
{
    int64_t total;
    if (__builtin_expect(__builtin_add_overflow(*sum, value, &total), 0)) {
        if (!fold->set_aside(fold->owner, key, size, *sum))
            fold->has_failed = true;
        total = value;
    }
    *sum = total;
}

// ---- Short keys ---------------------------------------------------------------------------------------

static size_t size_of_short(uint64_t key)
{
    return 8 - (size_t)__builtin_clzll(key) / 8;
}

static __attribute__((noinline)) void grow_shorts(struct fold *fold)
{
    const size_t old_capacity = fold->short_capacity;
    struct fold_short *old = fold->shorts;
    const size_t capacity = larger(old_capacity);
    struct fold_short *table = take_more(fold, capacity * sizeof *table);
    if (!table)
        return;
    fold->shorts = table;
    fold->short_capacity = capacity;
    fold->short_shift = shift_of(capacity);
    for (size_t i = 0; i < old_capacity; i++) {
        if (!old[i].key)
            continue;
        size_t at = old[i].key * FOLD_MULTIPLIER >> fold->short_shift;
        while (table[at].key)
            at = (at + 1) & (capacity - 1);
        table[at] = old[i];
    }
    put_memory(fold, old, old_capacity * sizeof *old);
}

void fold_probe_short(struct fold *fold, uint64_t key, int64_t value)
{
    size_t at = key * FOLD_MULTIPLIER >> fold->short_shift;
    for (;; at = (at + 1) & (fold->short_capacity - 1)) {
        struct fold_short *place = &fold->shorts[at];
        if (place->key == key) {
            add(fold, &place->sum, value, (const char *)&key, size_of_short(key));
            return;
        }
        if (place->key == 0) {
            *place = (struct fold_short){key, value};
            break;
        }
    }
    if (is_full(++fold->short_count, fold->short_capacity) && !fold->is_full)
        grow_shorts(fold);
}

// ---- Wide keys ----------------------------------------------------------------------------------------

static uint64_t hash_wide(uint64_t low, uint64_t high)
{
    const uint64_t mixed = (low ^ high * WIDE_MULTIPLIER) * FOLD_MULTIPLIER;
    return (mixed ^ mixed >> 32) * WIDE_MULTIPLIER;
}

static __attribute__((noinline)) void grow_wides(struct fold *fold)
{
    const size_t old_capacity = fold->wide_capacity;
    struct fold_wide *old = fold->wides;
    const size_t capacity = larger(old_capacity);
    struct fold_wide *table = take_more(fold, capacity * sizeof *table);
    if (!table)
        return;
    fold->wides = table;
    fold->wide_capacity = capacity;
    fold->wide_shift = shift_of(capacity);
    for (size_t i = 0; i < old_capacity; i++) {
        if (!old[i].high)
            continue;
        size_t at = hash_wide(old[i].low, old[i].high) >> fold->wide_shift;
        while (table[at].high)
            at = (at + 1) & (capacity - 1);
        table[at] = old[i];
    }
    put_memory(fold, old, old_capacity * sizeof *old);
}

static void probe_wide(struct fold *fold, const struct fold_wide *one)
{
    size_t at = hash_wide(one->low, one->high) >> fold->wide_shift;
    for (;; at = (at + 1) & (fold->wide_capacity - 1)) {
        struct fold_wide *place = &fold->wides[at];
        if (place->low == one->low && place->high == one->high) {
            add(fold, &place->sum, one->sum, (const char *)one, 8 + size_of_short(one->high));
            return;
        }
        if (place->high == 0) {
            *place = *one;
            break;
        }
    }
    if (is_full(++fold->wide_count, fold->wide_capacity) && !fold->is_full)
        grow_wides(fold);
}

static inline void add_wide(struct fold *fold, const struct fold_wide *one)
{
    __builtin_prefetch(&fold->wides[hash_wide(one->low, one->high) >> fold->wide_shift], 1, 3);
    struct fold_wide *ring = &fold->wide_ring[fold->wide_at++ & (FOLD_RING - 1)];
    const struct fold_wide old = *ring;
    *ring = *one;
    if (old.high)
        probe_wide(fold, &old);
}

void fold_add_wide(struct fold *fold, const char *key, size_t size, int64_t value)
{
    struct fold_wide one = {.high = fold_load(key + 8, size - 8), .sum = value};
    memcpy(&one.low, key, 8);
    add_wide(fold, &one);
}

// ---- Long keys ----------------------------------------------------------------------------------------

static uint64_t hash_long(const char *key, size_t size)
{
    uint64_t hash = size * FOLD_MULTIPLIER, word;
    for (; size > 8; key += 8, size -= 8) {
        memcpy(&word, key, 8);
        hash = (hash ^ word) * WIDE_MULTIPLIER;
        hash ^= hash >> 29;
    }
    word = 0;
    if (size)
        memcpy(&word, key, size);
    hash = (hash ^ word) * WIDE_MULTIPLIER;
    return (hash ^ hash >> 32) * FOLD_MULTIPLIER;
}

static const char *keep_key(struct fold *fold, const char *key, size_t size)
{
    if (fold->page_size - fold->page_used < size || !fold->pages) {
        const size_t room = size > PAGE_BYTES ? size : PAGE_BYTES;
        struct fold_page *page = malloc(sizeof *page + room);
        if (!page) {
            fold->has_failed = true;
            return NULL;
        }
        page->next = fold->pages;
        fold->pages = page;
        fold->page_size = room;
        fold->page_used = 0;
        fold->bytes += room;
        fold->is_full |= fold->bytes > fold->bytes_max;
    }
    char *kept = fold->pages->bytes + fold->page_used;
    if (size)
        memcpy(kept, key, size);
    fold->page_used += size;
    return kept;
}

static __attribute__((noinline)) void grow_longs(struct fold *fold)
{
    const size_t old_capacity = fold->long_capacity;
    struct fold_long *old = fold->longs;
    const size_t capacity = larger(old_capacity);
    struct fold_long *table = take_more(fold, capacity * sizeof *table);
    if (!table)
        return;
    fold->longs = table;
    fold->long_capacity = capacity;
    fold->long_shift = shift_of(capacity);
    for (size_t i = 0; i < old_capacity; i++) {
        if (!old[i].key)
            continue;
        size_t at = old[i].hash >> fold->long_shift;
        while (table[at].key)
            at = (at + 1) & (capacity - 1);
        table[at] = old[i];
    }
    put_memory(fold, old, old_capacity * sizeof *old);
}

void fold_add_long(struct fold *fold, const char *key, size_t size, int64_t value)
{
    const uint64_t hash = hash_long(key, size);
    size_t at = hash >> fold->long_shift;
    for (; fold->longs[at].key; at = (at + 1) & (fold->long_capacity - 1)) {
        struct fold_long *place = &fold->longs[at];
        if (place->hash == hash && place->size == size && memcmp(place->key, key, size) == 0) {
            add(fold, &place->sum, value, key, size);
            return;
        }
    }
    const char *kept = size <= UINT32_MAX ? keep_key(fold, key, size) : NULL;
    if (!kept) {
        fold->has_failed = true;
        return;
    }
    fold->longs[at] = (struct fold_long){hash, kept, value, (uint32_t)size};
    if (is_full(++fold->long_count, fold->long_capacity) && !fold->is_full)
        grow_longs(fold);
}

// ---- Taking -------------------------------------------------------------------------------------------

static void drain_rings(struct fold *fold)
{
    for (size_t i = 0; i < FOLD_RING; i++) {
        if (fold->short_ring[i].key)
            fold_probe_short(fold, fold->short_ring[i].key, fold->short_ring[i].sum);
        fold->short_ring[i].key = 0;
        if (fold->wide_ring[i].high)
            probe_wide(fold, &fold->wide_ring[i]);
        fold->wide_ring[i].high = 0;
    }
}

// Tables that leave little room for the others and for long keys begin small again.
static bool clear(struct fold *fold)
{
    if (fold->short_count)
        memset(fold->shorts, 0, fold->short_capacity * sizeof *fold->shorts);
    if (fold->wide_count)
        memset(fold->wides, 0, fold->wide_capacity * sizeof *fold->wides);
    if (fold->long_count)
        memset(fold->longs, 0, fold->long_capacity * sizeof *fold->longs);
    fold->short_count = fold->wide_count = fold->long_count = 0;
    fold->is_full = false;
    free_pages(fold);
    fold->bytes = fold->short_capacity * sizeof *fold->shorts +
                  fold->wide_capacity * sizeof *fold->wides +
                  fold->long_capacity * sizeof *fold->longs;
    if (fold->bytes <= fold->bytes_max / 2)
        return true;
    put_tables(fold);
    return take_tables(fold);
}

bool fold_take(struct fold *fold, fold_visit_fn *visit, void *owner)
{
    bool goes_on = true;
    drain_rings(fold);
    for (size_t i = 0; goes_on && i < fold->short_capacity; i++) {
        const struct fold_short *place = &fold->shorts[i];
        if (place->key)
            goes_on =
                visit(owner, (const char *)&place->key, size_of_short(place->key), place->sum);
    }
    for (size_t i = 0; goes_on && i < fold->wide_capacity; i++) {
        const struct fold_wide *place = &fold->wides[i];
        if (place->high)
            goes_on = visit(owner, (const char *)place, 8 + size_of_short(place->high), place->sum);
    }
    for (size_t i = 0; goes_on && i < fold->long_capacity; i++) {
        const struct fold_long *place = &fold->longs[i];
        if (place->key)
            goes_on = visit(owner, place->key, place->size, place->sum);
    }
    return clear(fold) && goes_on;
}

// ---- Moving -------------------------------------------------------------------------------------------

static size_t count_of(const struct fold *fold)
{
    return fold->short_count + fold->wide_count + fold->long_count;
}

// Makes room for all keys of the other at once: they come in the order of this table's own hash, and
// would crowd at the front of one that grows on the way. False: there is no room.
static bool reserve(struct fold *fold, const struct fold *other)
{
    while (!fold->is_full && is_full(fold->short_count + other->short_count, fold->short_capacity))
        grow_shorts(fold);
    while (!fold->is_full && is_full(fold->wide_count + other->wide_count, fold->wide_capacity))
        grow_wides(fold);
    while (!fold->is_full && is_full(fold->long_count + other->long_count, fold->long_capacity))
        grow_longs(fold);
    return !fold->is_full;
}

static void keep_owner(struct fold *fold, const struct fold *as)
{
    fold->bytes_max = as->bytes_max;
    fold->set_aside = as->set_aside;
    fold->owner = as->owner;
}

static void swap(struct fold *a, struct fold *b)
{
    const struct fold old_a = *a, old_b = *b;
    *a = old_b;
    *b = old_a;
    keep_owner(a, &old_a);
    keep_owner(b, &old_b);
}

bool fold_move(struct fold *from, struct fold *to, fold_visit_fn *visit, void *owner)
{
    drain_rings(from);
    if (count_of(to) && !reserve(to, from) && !fold_take(to, visit, owner))
        return false;
    if (!count_of(to)) {
        swap(from, to);
        return !to->has_failed;
    }
    for (size_t i = 0; from->short_count && i < from->short_capacity; i++)
        if (from->shorts[i].key)
            fold_add_short(to, from->shorts[i].key, from->shorts[i].sum);
    for (size_t i = 0; from->wide_count && i < from->wide_capacity; i++)
        if (from->wides[i].high)
            add_wide(to, &from->wides[i]);
    for (size_t i = 0; from->long_count && i < from->long_capacity; i++)
        if (from->longs[i].key)
            fold_add_long(to, from->longs[i].key, from->longs[i].size, from->longs[i].sum);
    drain_rings(to);
    return clear(from) && !to->has_failed;
}
