// Tests of the folding tables against a plain list of keys and totals: every kernel, every operation,
// growth, keys of all sizes, sums that leave 64 bits.

#include "mapreduce/work/collect/fold_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mapreduce/work/sort/random_pairs.h"
#include "sys/machine/cpu.h"

enum { BATCHES = 60, KEYS_MAX = 4000, TABLE_BYTES_MAX = 64 << 20 };

// ---- the oracle: a list of keys and the value of each after folding, sums in 128 bits

struct total {
    uint64_t high, low;
    __int128 total;
    bool is_seen;
};

static struct total totals[KEYS_MAX];

static void oracle_init(size_t count, uint64_t *seed, bool is_wide)
{
    for (size_t i = 0; i < count; i++) {
        // Unlike in the others: neighbours, keys of one letter, keys that differ in one bit.
        const uint64_t low = random_below(seed, 2) ? i + 1 : random_next(seed) | 1;
        totals[i] = (struct total){.low = low << (seed[0] % 8 * 8) | 1, .total = 0};
        if (is_wide)
            totals[i].high = random_below(seed, 2) ? 0 : random_next(seed);
    }
}

static void oracle_fold(struct total *total, enum fold_op op, int64_t value)
{
    if (!total->is_seen)
        total->total = value;
    else if (op == FOLD_SUM)
        total->total += value;
    else if (op == FOLD_MIN ? value < total->total : value > total->total)
        total->total = value;
    total->is_seen = true;
}

// Keys drawn twice are one key: fold them together.
static int by_key(const void *left, const void *right)
{
    const struct total *a = left, *b = right;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return (a->low > b->low) - (a->low < b->low);
}

static size_t oracle_unique(size_t count)
{
    qsort(totals, count, sizeof *totals, by_key);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || by_key(&totals[kept - 1], &totals[i]))
            totals[kept++] = totals[i];
    return kept;
}

static struct total *oracle_find(size_t count, uint64_t high, uint64_t low)
{
    const struct total key = {.high = high, .low = low};
    return bsearch(&key, totals, count, sizeof *totals, by_key);
}

static int64_t draw_value(uint64_t *seed, bool has_large)
{
    if (has_large && random_below(seed, 3) == 0)
        return random_below(seed, 2) ? INT64_MAX - (int64_t)random_below(seed, 3)
                                     : INT64_MIN + (int64_t)random_below(seed, 3);
    return (int64_t)random_below(seed, 2000) - 1000;
}

// ---- short keys

static struct mem_budget budget;
static struct pages pages;

static void take_found(size_t count, uint64_t key, int64_t value, __int128 *found)
{
    struct total *total = oracle_find(count, 0, key);
    assert_non_null(total);
    found[total - totals] += value;
}

// Every key once in the table, its partial sums set aside beside it; nothing else.
static void check_short(const struct short_table *table, size_t count)
{
    static __int128 found[KEYS_MAX];
    memset(found, 0, sizeof found);
    size_t used = 0, seen = 0;
    for (uint64_t i = 0; i >> table->bits == 0; i++) {
        for (int j = 0; j < 4; j++) {
            const uint64_t key = table->buckets[i].keys[j];
            if (!key)
                continue;
            used++;
            take_found(count, key, table->buckets[i].values[j], found);
        }
    }
    for (size_t i = 0; i < table->aside.count; i++)
        take_found(count, table->aside.items[i].key, table->aside.items[i].value, found);
    for (size_t i = 0; i < count; i++) {
        seen += totals[i].is_seen;
        assert_true(found[i] == totals[i].total);
    }
    assert_int_equal(used, seen);
    assert_int_equal(used, table->used);
}

static void fold_batches(fold_kernel *kernel, enum fold_op op, size_t count, bool has_large,
                         uint64_t *seed, struct short_table *table)
{
    static uint64_t keys[FOLD_QUEUE + FOLD_AHEAD];
    static int64_t values[FOLD_QUEUE];
    for (int batch = 0; batch < BATCHES; batch++) {
        const size_t size = random_below(seed, FOLD_BATCH + 1);
        const bool is_ones = random_below(seed, 3) == 0;
        for (size_t i = 0; i < size + FOLD_AHEAD; i++)
            keys[i] = i < size ? totals[random_below(seed, count)].low : random_next(seed);
        for (size_t i = 0; i < size; i++) {
            values[i] = is_ones ? 1 : draw_value(seed, has_large);
            oracle_fold(oracle_find(count, 0, keys[i]), op, values[i]);
        }
        assert_true(short_table_grow(table, &pages, TABLE_BYTES_MAX, size));
        kernel(table, keys, is_ones ? NULL : values, size, op);
    }
}

static void fold_short(fold_kernel *kernel, enum fold_op op, bool has_large)
{
    pages_init(&pages, &budget, 64 << 10, 1 << 30);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        uint64_t random = seed * 77;
        struct short_table table = {0};
        oracle_init(KEYS_MAX, &random, false);
        const size_t count = oracle_unique(1 + random_below(&random, KEYS_MAX));
        fold_batches(kernel, op, count, has_large, &random, &table);
        check_short(&table, count);
        short_table_free(&table, &budget);
    }
    pages_fini(&pages);
    assert_int_equal(budget.used, 0);
}

static void fold_all(fold_kernel *kernel)
{
    fold_short(kernel, FOLD_SUM, false);
    fold_short(kernel, FOLD_SUM, true);
    fold_short(kernel, FOLD_MIN, true);
    fold_short(kernel, FOLD_MAX, true);
}

static void plain_kernel_folds_as_a_list_does(void **state)
{
    (void)state;
    fold_all(fold_kernel_plain);
}

static void avx2_kernel_folds_as_a_list_does(void **state)
{
    (void)state;
    if (cpu_isa() < CPU_AVX2)
        skip();
    fold_all(fold_kernel_avx2);
}

static void avx512_kernel_folds_as_a_list_does(void **state)
{
    (void)state;
    if (cpu_isa() < CPU_AVX512)
        skip();
    fold_all(fold_kernel_avx512);
}

static void the_chosen_kernel_folds_as_a_list_does(void **state)
{
    (void)state;
    fold_all(short_table_fold);
}

// A key with that hash: the multiplier's inverse, by Newton's steps.
static uint64_t key_of_hash(uint64_t hash)
{
    uint64_t inverse = FOLD_MULTIPLIER;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - FOLD_MULTIPLIER * inverse;
    assert_int_equal(short_hash(hash * inverse), hash);
    return hash * inverse;
}

// All keys hash to the last bucket, also of a larger table: probes run over the end.
static void full_buckets_run_over_into_the_first(void **state)
{
    (void)state;
    fold_kernel *const kernels[] = {fold_kernel_plain, short_table_fold};
    pages_init(&pages, &budget, 64 << 10, 1 << 30);
    for (size_t i = 0; i < 2; i++) {
        struct short_table table = {0};
        uint64_t keys[11 + FOLD_AHEAD] = {0};
        for (size_t j = 0; j < 11; j++)
            keys[j] = key_of_hash(UINT64_MAX - j);
        for (uint64_t room = 1; room < 200000; room *= 20) {
            assert_true(short_table_grow(&table, &pages, 1 << 24, room));
            kernels[i](&table, keys, NULL, 11, FOLD_SUM);
            assert_int_equal(table.used, 11);
            assert_int_equal(table.buckets[1].keys[3], 0);
        }
        for (int j = 0; j < 7; j++)
            assert_int_equal(table.buckets[j / 4].values[j % 4], 5);
        short_table_free(&table, &budget);
    }
    pages_fini(&pages);
    assert_int_equal(budget.used, 0);
}

// None of them is large, but together they are.
static void many_middling_values_leave_64_bits_too(void **state)
{
    (void)state;
    static uint64_t keys[FOLD_BATCH + FOLD_AHEAD];
    static int64_t values[FOLD_BATCH];
    pages_init(&pages, &budget, 64 << 10, 1 << 30);
    for (int sign = -1; sign <= 1; sign += 2) {
        struct short_table table = {0};
        assert_true(short_table_grow(&table, &pages, 1 << 20, FOLD_BATCH));
        for (size_t i = 0; i < FOLD_BATCH; i++) {
            keys[i] = 17;
            values[i] = sign * (INT64_C(1) << 50);
        }
        for (int batch = 0; batch < 20; batch++)
            short_table_fold(&table, keys, values, FOLD_BATCH, FOLD_SUM);
        const __int128 sum = (__int128)values[0] * FOLD_BATCH * 20;
        totals[0] = (struct total){.low = 17, .total = sum, .is_seen = true};
        check_short(&table, 1);
        assert_true(table.aside.count > 0);
        short_table_free(&table, &budget);
    }
    pages_fini(&pages);
    assert_int_equal(budget.used, 0);
}

static void a_short_table_grows_no_further_than_it_may(void **state)
{
    (void)state;
    struct short_table table = {0};
    pages_init(&pages, &budget, 64 << 10, 1 << 30);
    assert_false(short_table_has_room(&table, 0));
    assert_false(short_table_grow(&table, &pages, 1000, 1));
    assert_null(table.buckets);
    assert_true(short_table_grow(&table, &pages, 1 << 20, 1));
    assert_false(short_table_grow(&table, &pages, 1 << 20, 1 << 20));
    assert_true(table.buckets && sizeof *table.buckets << table.bits <= 1 << 20);
    budget.limit = budget.used;
    assert_false(short_table_grow(&table, &pages, 1 << 30, 1 << 17));
    budget.limit = 0;
    assert_true(short_table_grow(&table, &pages, 1 << 30, 1 << 17));
    assert_true(short_table_has_room(&table, 1 << 17));
    short_table_free(&table, &budget);
    pages_fini(&pages);
    assert_int_equal(budget.used, 0);
}

static void a_squeezed_table_hands_out_every_key_once(void **state)
{
    (void)state;
    for (size_t page_bytes = 4096; page_bytes <= 2 << 20; page_bytes *= 8) {
        uint64_t seed = 5;
        struct short_table table = {0};
        pages_init(&pages, &budget, page_bytes, 1 << 30);
        oracle_init(KEYS_MAX, &seed, false);
        const size_t count = oracle_unique(KEYS_MAX);
        fold_batches(fold_kernel_plain, FOLD_SUM, count, false, &seed, &table);
        const uint64_t used = table.used;
        size_t size, memory_bytes;
        struct fold_aside *entries = short_table_squeeze(&table, &pages, &size, &memory_bytes);
        assert_int_equal(size, used);
        assert_true(memory_bytes >= size * sizeof *entries);
        for (size_t i = 0; i < size; i++) {
            struct total *total = oracle_find(count, 0, entries[i].key);
            assert_true(total && total->is_seen && total->total == entries[i].value);
            total->is_seen = false;
        }
        assert_null(table.buckets);
        mem_put(&budget, entries, memory_bytes);
        pages_fini(&pages);
        assert_int_equal(budget.used, 0);
    }
}

static void a_cleared_table_is_as_new(void **state)
{
    (void)state;
    uint64_t keys[2 + FOLD_AHEAD] = {17, 18};
    const int64_t values[2] = {INT64_MAX, 4};
    struct short_table table = {0};
    pages_init(&pages, &budget, 4096, 1 << 30);
    assert_true(short_table_grow(&table, &pages, 1 << 20, 2));
    short_table_fold(&table, keys, values, 2, FOLD_SUM);
    short_table_fold(&table, keys, values, 2, FOLD_SUM);
    assert_int_equal(table.aside.count, 1);
    short_table_clear(&table);
    assert_int_equal(table.used + table.aside.count, 0);
    short_table_fold(&table, keys, NULL, 2, FOLD_SUM);
    memset(totals, 0, sizeof totals);
    totals[0] = (struct total){.low = 17, .total = 1, .is_seen = true};
    totals[1] = (struct total){.low = 18, .total = 1, .is_seen = true};
    check_short(&table, 2);
    short_table_free(&table, &budget);
    pages_fini(&pages);
    assert_int_equal(budget.used, 0);
}

// A key that has the largest sum already and is then counted.
static void counting_beyond_the_largest_sum_sets_aside_too(void **state)
{
    (void)state;
    fold_kernel *const kernels[] = {fold_kernel_plain, short_table_fold};
    pages_init(&pages, &budget, 4096, 1 << 30);
    for (size_t i = 0; i < 2; i++) {
        uint64_t keys[2 + FOLD_AHEAD] = {17, 17};
        const int64_t values[1] = {INT64_MAX};
        struct short_table table = {0};
        assert_true(short_table_grow(&table, &pages, 1 << 20, 2));
        kernels[i](&table, keys, values, 1, FOLD_SUM);
        kernels[i](&table, keys, NULL, 2, FOLD_SUM);
        totals[0] = (struct total){.low = 17, .total = (__int128)INT64_MAX + 2, .is_seen = true};
        check_short(&table, 1);
        short_table_free(&table, &budget);
    }
    pages_fini(&pages);
}

// ---- wide keys

static void check_wide(const struct wide_table *table, size_t count, const __int128 *aside)
{
    size_t used = 0, seen = 0;
    for (size_t i = 0; i < count; i++)
        seen += totals[i].is_seen;
    for (uint64_t i = 0; i >> table->bits == 0; i++) {
        if (!table->slots[i].low)
            continue;
        struct total *total = oracle_find(count, table->slots[i].high, table->slots[i].low);
        assert_non_null(total);
        used++;
        assert_true(total->total == aside[total - totals] + table->slots[i].value);
    }
    assert_int_equal(used, seen);
    assert_int_equal(used, table->used);
}

static void fold_wide_keys(enum fold_op op, bool has_large, uint64_t seed)
{
    static __int128 aside[KEYS_MAX];
    memset(aside, 0, sizeof aside);
    struct wide_table table = {0};
    pages_init(&pages, &budget, 32 << 10, 1 << 30);
    oracle_init(KEYS_MAX, &seed, true);
    const size_t count = oracle_unique(KEYS_MAX);
    for (int i = 0; i < 30000; i++) {
        struct total *total = &totals[random_below(&seed, count)];
        const int64_t value = draw_value(&seed, has_large);
        int64_t old = 0;
        oracle_fold(total, op, value);
        while (!wide_table_has_room(&table, 1))
            assert_true(wide_table_grow(&table, &pages, TABLE_BYTES_MAX));
        wide_table_prefetch(&table, total->high, total->low);
        if (!wide_table_fold(&table, total->high, total->low, value, op, &old))
            aside[total - totals] += old;
    }
    check_wide(&table, count, aside);
    wide_table_clear(&table);
    assert_int_equal(table.used, 0);
    wide_table_free(&table, &budget);
    pages_fini(&pages);
    assert_int_equal(budget.used, 0);
}

static void wide_table_folds_as_a_list_does(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        fold_wide_keys(FOLD_SUM, false, seed);
        fold_wide_keys(FOLD_SUM, true, seed);
        fold_wide_keys(FOLD_MIN, true, seed);
        fold_wide_keys(FOLD_MAX, true, seed);
    }
}

static void a_wide_table_grows_no_further_than_it_may(void **state)
{
    (void)state;
    struct wide_table table = {0};
    pages_init(&pages, &budget, 64 << 10, 1 << 30);
    wide_table_prefetch(&table, 1, 1);  // of no table: nothing happens
    assert_false(wide_table_grow(&table, &pages, 100));
    while (wide_table_grow(&table, &pages, 1 << 20))
        assert_true(sizeof *table.slots << table.bits <= 1 << 20);
    assert_int_equal(sizeof *table.slots << table.bits, 1 << 20);
    wide_table_free(&table, &budget);
    pages_fini(&pages);
    assert_int_equal(budget.used, 0);
}

// ---- long keys

static void long_table_finds_every_key_again_through_growth(void **state)
{
    (void)state;
    static weft_bytes keys[KEYS_MAX];
    static struct record *records[KEYS_MAX];
    uint64_t seed = 12;
    struct long_table table = {0};
    for (size_t i = 0; i < KEYS_MAX; i++) {
        keys[i] = random_key(&seed);
        const uint64_t hash = long_hash(keys[i]);
        while (!long_table_has_room(&table, 1))
            assert_true(long_table_grow(&table, &budget, TABLE_BYTES_MAX));
        struct long_slot *slot = long_table_find(&table, keys[i], hash);
        if (slot->record) {
            assert_int_equal(slot->record->key_size, keys[i].size);
            assert_memory_equal(slot->record->bytes, keys[i].data, keys[i].size);
            continue;
        }
        records[i] = malloc(sizeof *records[i] + keys[i].size);
        *records[i] = (struct record){.key_size = (uint32_t)keys[i].size, .task = (uint32_t)i};
        memcpy(records[i]->bytes, keys[i].data, keys[i].size);
        *slot = (struct long_slot){hash, records[i]};
        table.used++;
    }
    for (size_t i = 0; i < KEYS_MAX; i++) {
        const struct long_slot *slot = long_table_find(&table, keys[i], long_hash(keys[i]));
        assert_non_null(slot->record);
        assert_true(records[i] ? slot->record == records[i] : slot->record->task < i);
    }
    long_table_clear(&table);
    assert_null(long_table_find(&table, keys[0], long_hash(keys[0]))->record);
    assert_false(long_table_grow(&table, &budget, 1000));
    long_table_free(&table, &budget);
    assert_int_equal(budget.used, 0);
    for (size_t i = 0; i < KEYS_MAX; i++) {
        free((char *)keys[i].data);
        free(records[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_kernel_folds_as_a_list_does),
        cmocka_unit_test(avx2_kernel_folds_as_a_list_does),
        cmocka_unit_test(avx512_kernel_folds_as_a_list_does),
        cmocka_unit_test(the_chosen_kernel_folds_as_a_list_does),
        cmocka_unit_test(full_buckets_run_over_into_the_first),
        cmocka_unit_test(many_middling_values_leave_64_bits_too),
        cmocka_unit_test(a_short_table_grows_no_further_than_it_may),
        cmocka_unit_test(a_squeezed_table_hands_out_every_key_once),
        cmocka_unit_test(a_cleared_table_is_as_new),
        cmocka_unit_test(counting_beyond_the_largest_sum_sets_aside_too),
        cmocka_unit_test(wide_table_folds_as_a_list_does),
        cmocka_unit_test(a_wide_table_grows_no_further_than_it_may),
        cmocka_unit_test(long_table_finds_every_key_again_through_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
