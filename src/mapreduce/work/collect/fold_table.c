// The tables that combine on every emit: growing, clearing, and the wide and long ones.
//
// Growth multiplies by 4 (by 2 when memory is short) and walks the old table in order: because
// the index is the top of the hash, the new one is filled front to back, two streams for the prefetcher.

#include "mapreduce/work/collect/fold_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sys/machine/cpu.h"

enum {
    SHORT_BITS_MIN = 12,  // 256 KiB
    WIDE_BITS_MIN = 10,   // 32 KiB
    LONG_BITS_MIN = 10,   // 16 KiB
    BITS_MAX = 40,
};

static fold_kernel *chosen_kernel(void)
{
#if defined(__x86_64__)
    switch (cpu_isa()) {
    case CPU_AVX512:
        return fold_kernel_avx512;
    case CPU_AVX2:
        return fold_kernel_avx2;
    case CPU_PLAIN:
        break;
    }
#endif
    return fold_kernel_plain;
}

void short_table_fold(struct short_table *table, const uint64_t *keys, const int64_t *values,
                      size_t count, enum fold_op op)
{
    chosen_kernel()(table, keys, values, count, op);
}

// Takes memory for a table of more bits than now: by 4, else by 2. Returns the bits, 0 for none.
static uint32_t grown_bits(uint32_t bits, uint32_t bits_min, size_t slot_bytes, size_t bytes_max,
                           struct mem_budget *budget, void **memory)
{
    const uint32_t tries[] = {bits ? bits + 2 : bits_min, bits ? bits + 1 : bits_min};
    for (size_t i = 0; i < 2; i++) {
        if (tries[i] > BITS_MAX || slot_bytes << tries[i] > bytes_max)
            continue;
        *memory = mem_get(budget, slot_bytes << tries[i]);
        if (*memory)
            return tries[i];
    }
    return 0;
}

// Memory of a table that has grown is touched already and good as pages; less than one is not.
static void give_back(struct pages *pages, void *memory, size_t size)
{
    if (size >= pages->page_bytes && size % pages->page_bytes == 0)
        pages_donate(pages, memory, size);
    else
        mem_put(pages->budget, memory, size);
}

// ---- short

static void short_move(struct short_table *to, const struct short_table *from)
{
    const uint32_t shift = 64 - to->bits;
    const uint64_t mask = (UINT64_C(1) << to->bits) - 1;
    for (uint64_t i = 0; i >> from->bits == 0; i++) {
        const struct short_bucket *bucket = from->buckets + i;
        for (int j = 0; j < 4 && bucket->keys[j]; j++) {
            uint64_t at = short_hash(bucket->keys[j]) >> shift;
            while (to->buckets[at].keys[3])
                at = (at + 1) & mask;
            int place = 0;
            while (to->buckets[at].keys[place])
                place++;
            to->buckets[at].keys[place] = bucket->keys[j];
            to->buckets[at].values[place] = bucket->values[j];
        }
    }
}

static bool short_grow_once(struct short_table *table, struct pages *pages, size_t bytes_max)
{
    struct mem_budget *budget = pages->budget;
    struct short_table grown = *table;
    void *memory = NULL;
    const uint32_t bits = grown_bits(table->buckets ? table->bits : 0, SHORT_BITS_MIN,
                                     sizeof *table->buckets, bytes_max, budget, &memory);
    if (!bits)
        return false;
    grown.buckets = memory;
    grown.bits = bits;
    if (table->buckets) {
        short_move(&grown, table);
        give_back(pages, table->buckets, sizeof *table->buckets << table->bits);
    }
    *table = grown;
    return true;
}

bool short_table_grow(struct short_table *table, struct pages *pages, size_t bytes_max,
                      uint64_t room_for)
{
    while (!short_table_has_room(table, room_for))
        if (!short_grow_once(table, pages, bytes_max))
            return false;
    return true;
}

// A bucket takes 64 bytes for at most 4 entries of 16: writing never gets ahead of reading.
struct fold_aside *short_table_squeeze(struct short_table *table, struct pages *pages,
                                       size_t *count, size_t *memory_bytes)
{
    struct fold_aside *entries = (struct fold_aside *)table->buckets;
    const size_t size = table->buckets ? sizeof *table->buckets << table->bits : 0;
    *count = 0;
    for (uint64_t i = 0; size && i >> table->bits == 0; i++) {
        const struct short_bucket bucket = table->buckets[i];
        for (int j = 0; j < 4 && bucket.keys[j]; j++)
            entries[(*count)++] = (struct fold_aside){bucket.keys[j], bucket.values[j]};
    }
    size_t kept = size;
    if (size >= 2 * pages->page_bytes) {
        const size_t page = pages->page_bytes;
        kept = (*count * sizeof *entries + page - 1) / page * page;
        if (kept < size)
            pages_donate(pages, (char *)entries + kept, size - kept);
    }
    *memory_bytes = kept;
    table->buckets = NULL;
    table->bits = 0;
    table->used = table->sum_max = 0;
    return entries;
}

void short_table_free(struct short_table *table, struct mem_budget *budget)
{
    if (table->buckets)
        mem_put(budget, table->buckets, sizeof *table->buckets << table->bits);
    VEC_FINI(&table->aside);
    *table = (struct short_table){0};
}

void short_table_clear(struct short_table *table)
{
    if (table->buckets)
        memset(table->buckets, 0, sizeof *table->buckets << table->bits);
    table->used = table->sum_max = 0;
    table->aside.count = 0;
}

// ---- wide

static struct wide_slot *wide_find(const struct wide_table *table, uint64_t high, uint64_t low)
{
    const uint64_t mask = (UINT64_C(1) << table->bits) - 1;
    for (uint64_t at = wide_hash(high, low) >> (64 - table->bits);; at = (at + 1) & mask) {
        struct wide_slot *slot = table->slots + at;
        if (!slot->low || (slot->high == high && slot->low == low))
            return slot;
    }
}

bool wide_table_fold(struct wide_table *table, uint64_t high, uint64_t low, int64_t value,
                     enum fold_op op, int64_t *old)
{
    struct wide_slot *slot = wide_find(table, high, low);
    if (!slot->low) {
        *slot = (struct wide_slot){high, low, value, 0};
        table->used++;
        return true;
    }
    if (fold_number(op, &slot->value, value))
        return true;
    *old = slot->value;
    slot->value = value;
    return false;
}

bool wide_table_grow(struct wide_table *table, struct pages *pages, size_t bytes_max)
{
    void *memory = NULL;
    const uint32_t bits = grown_bits(table->slots ? table->bits : 0, WIDE_BITS_MIN,
                                     sizeof *table->slots, bytes_max, pages->budget, &memory);
    if (!bits)
        return false;
    struct wide_table grown = {.slots = memory, .bits = bits, .used = table->used};
    for (uint64_t i = 0; table->slots && i >> table->bits == 0; i++)
        if (table->slots[i].low)
            *wide_find(&grown, table->slots[i].high, table->slots[i].low) = table->slots[i];
    if (table->slots)
        give_back(pages, table->slots, sizeof *table->slots << table->bits);
    *table = grown;
    return true;
}

void wide_table_free(struct wide_table *table, struct mem_budget *budget)
{
    if (table->slots)
        mem_put(budget, table->slots, sizeof *table->slots << table->bits);
    *table = (struct wide_table){0};
}

void wide_table_clear(struct wide_table *table)
{
    if (table->slots)
        memset(table->slots, 0, sizeof *table->slots << table->bits);
    table->used = 0;
}

// ---- long

uint64_t long_hash(weft_bytes key)
{
    return XXH3_64bits(key.data, key.size);
}

struct long_slot *long_table_find(const struct long_table *table, weft_bytes key, uint64_t hash)
{
    const uint64_t mask = (UINT64_C(1) << table->bits) - 1;
    for (uint64_t at = hash >> (64 - table->bits);; at = (at + 1) & mask) {
        struct long_slot *slot = table->slots + at;
        if (!slot->record)
            return slot;
        if (slot->hash == hash &&
            bytes_equal((weft_bytes){slot->record->bytes, slot->record->key_size}, key))
            return slot;
    }
}

bool long_table_grow(struct long_table *table, struct mem_budget *budget, size_t bytes_max)
{
    void *memory = NULL;
    const uint32_t bits = grown_bits(table->slots ? table->bits : 0, LONG_BITS_MIN,
                                     sizeof *table->slots, bytes_max, budget, &memory);
    if (!bits)
        return false;
    struct long_table grown = {.slots = memory, .bits = bits, .used = table->used};
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    for (uint64_t i = 0; table->slots && i >> table->bits == 0; i++) {
        if (!table->slots[i].record)
            continue;
        uint64_t at = table->slots[i].hash >> (64 - bits);
        while (grown.slots[at].record)
            at = (at + 1) & mask;
        grown.slots[at] = table->slots[i];
    }
    if (table->slots)
        mem_put(budget, table->slots, sizeof *table->slots << table->bits);
    *table = grown;
    return true;
}

void long_table_free(struct long_table *table, struct mem_budget *budget)
{
    if (table->slots)
        mem_put(budget, table->slots, sizeof *table->slots << table->bits);
    *table = (struct long_table){0};
}

void long_table_clear(struct long_table *table)
{
    if (table->slots)
        memset(table->slots, 0, sizeof *table->slots << table->bits);
    table->used = 0;
}
