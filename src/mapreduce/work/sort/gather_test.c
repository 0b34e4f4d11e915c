// Tests of gathering: entries of all kinds from several slots, sorted, folded and streamed, against a
// plain list of keys and values.

#include "mapreduce/work/sort/gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mapreduce/work/sort/random_pairs.h"

enum { SLOTS = 3, PAIRS_MAX = 3000 };

struct known {
    weft_bytes key;
    int64_t number;
};

static struct mem_budget budget;
static struct pages pages[SLOTS];
static struct buckets buckets[SLOTS];
static struct area area;
static struct known known[PAIRS_MAX];
static size_t known_count;
static const struct key_order bytewise = {.compare = NULL};

static void init(void)
{
    known_count = 0;
    area = (struct area){.budget = &budget};
    for (size_t i = 0; i < SLOTS; i++) {
        pages_init(&pages[i], &budget, 16 << 10, 1 << 30);
        assert_true(buckets_init(&buckets[i], &pages[i], 1, 5));
    }
}

static void fini(void)
{
    for (size_t i = 0; i < SLOTS; i++) {
        buckets_fini(&buckets[i]);
        pages_fini(&pages[i]);
    }
    area_fini(&area);
    for (size_t i = 0; i < known_count; i++)
        free((char *)known[i].key.data);
    assert_int_equal(budget.used, 0);
    budget = (struct mem_budget){0};
}

static void add_record(size_t slot, weft_bytes key, int64_t number)
{
    struct record *record = pages_alloc(&pages[slot], sizeof *record + key.size + 8);
    *record = (struct record){0, (uint32_t)key.size, 8, VALUE_INT};
    if (key.size)
        memcpy(record->bytes, key.data, key.size);
    memcpy(record->bytes + key.size, &number, 8);
    assert_true(buckets_add(&buckets[slot], 0,
                            (struct entry){bytes_prefix(key), ENTRY_RECORD | (uintptr_t)record}));
}

// As the collector does: a small number of a short key is an entry, a one of a wide key a wide entry, all
// else a record; and any of them may be a record, because tables are emptied at any time.
static void add(size_t slot, weft_bytes key, int64_t number, bool as_record)
{
    const bool is_plain = key.size && key.data[key.size - 1] && !as_record;
    known[known_count++] = (struct known){key, number};
    if (is_plain && key.size <= 8 && number >= 0 && number <= ENTRY_VALUE_MAX) {
        assert_true(
            buckets_add(&buckets[slot], 0, (struct entry){bytes_prefix(key), (uint64_t)number}));
    } else if (is_plain && key.size > 8 && key.size <= 16 && number == 1) {
        const uint64_t low = bytes_prefix((weft_bytes){key.data + 8, key.size - 8});
        assert_true(
            buckets_add_wide(&buckets[slot], 0, (struct wide_entry){bytes_prefix(key), low}));
    } else {
        add_record(slot, key, number);
    }
}

static weft_bytes draw_key(uint64_t *seed)
{
    switch (random_below(seed, 4)) {
    case 0:
        return random_bytes(seed, random_below(seed, 4), "ab\0", 3);
    case 1: {  // wide ones with the same beginning, and their short and long relatives
        weft_bytes key = random_bytes(seed, 8 + random_below(seed, 11), "ab\0", 3);
        memcpy((char *)key.data, "eight by", 8);
        return key;
    }
    case 2:
        return random_bytes(seed, 9 + random_below(seed, 8), "xy", 2);
    default:
        return random_key(seed);
    }
}

static void add_random(uint64_t *seed, size_t count, bool has_large)
{
    for (size_t i = 0; i < count; i++) {
        int64_t number = random_below(seed, 3) ? 1 : (int64_t)random_below(seed, 100) - 30;
        if (has_large && random_below(seed, 4) == 0)
            number = random_below(seed, 2) ? INT64_MAX : INT64_MIN;
        add(random_below(seed, SLOTS), draw_key(seed), number, random_below(seed, 4) == 0);
    }
}

static weft_err gather_all(struct sorted *sorted)
{
    const struct buckets *all[SLOTS] = {&buckets[0], &buckets[1], &buckets[2]};
    return gather_sorted(&area, all, SLOTS, 0, 0, UINT64_MAX, &bytewise, sorted);
}

static int by_key(const void *left, const void *right)
{
    return bytes_compare(((const struct known *)left)->key, ((const struct known *)right)->key);
}

// ---- folding

struct walk {
    enum fold_op op;
    size_t at;  // the next known pair
    weft_bytes last;
    __int128 owed;  // of the total of `last`, which may come in several calls
    size_t calls;
};

// The first call for a key takes all known pairs of it.
static weft_err take_total(void *owner, uint64_t prefix, weft_bytes key, int64_t total)
{
    struct walk *walk = owner;
    walk->calls++;
    assert_int_equal(prefix, bytes_prefix(key));
    if (walk->calls == 1 || !bytes_equal(key, walk->last)) {
        assert_true(walk->owed == 0);
        assert_true(walk->at < known_count && bytes_equal(known[walk->at].key, key));
        walk->last = known[walk->at].key;
        walk->owed = known[walk->at++].number;
        for (; walk->at < known_count && bytes_equal(known[walk->at].key, key); walk->at++) {
            const int64_t number = known[walk->at].number;
            if (walk->op == FOLD_SUM)
                walk->owed += number;
            else if (walk->op == FOLD_MIN ? number < walk->owed : number > walk->owed)
                walk->owed = number;
        }
    }
    walk->owed -= total;
    return WEFT_OK;
}

static void check_fold(enum fold_op op, bool is_final)
{
    struct sorted sorted;
    struct walk walk = {.op = op};
    assert_int_equal(gather_all(&sorted), WEFT_OK);
    assert_int_equal(sorted.entry_count + sorted.wide_count, known_count);
    qsort(known, known_count, sizeof *known, by_key);
    assert_int_equal(gather_fold(&sorted, op, is_final, take_total, &walk), WEFT_OK);
    assert_int_equal(walk.at, known_count);
    assert_true(walk.owed == 0);
}

static void totals_are_those_of_a_list_whatever_entries_stand_for_the_key(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed;
        const enum fold_op op = (enum fold_op)(FOLD_SUM + seed % 3);
        init();
        add_random(&random, random_below(&random, seed % 10 ? 200 : PAIRS_MAX), false);
        check_fold(op, true);
        fini();
    }
}

static void sums_beyond_64_bits_come_in_several_calls(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        uint64_t random = seed;
        init();
        add_random(&random, 400, true);
        check_fold(FOLD_SUM, false);
        fini();
        init();
        add_random(&random, 400, true);
        check_fold(seed % 2 ? FOLD_MIN : FOLD_MAX, true);
        fini();
    }
}

static void a_final_sum_beyond_64_bits_is_out_of_range_with_its_key(void **state)
{
    (void)state;
    const char *const keys[] = {"short", "wider than 8", "much longer than sixteen bytes"};
    for (size_t i = 0; i < 3; i++) {
        struct sorted sorted;
        struct walk walk = {.op = FOLD_SUM};
        init();
        for (size_t j = 0; j < 3; j++)
            add(j, (weft_bytes){strdup(keys[i]), strlen(keys[i])}, j ? 1 : INT64_MAX - 1, false);
        assert_int_equal(gather_all(&sorted), WEFT_OK);
        assert_int_equal(gather_fold(&sorted, FOLD_SUM, true, take_total, &walk),
                         WEFT_OUT_OF_RANGE);
        assert_non_null(strstr(err_text(), keys[i]));
        assert_int_equal(walk.calls, 0);
        fini();
    }
}

static weft_err refuse_total(void *owner, uint64_t prefix, weft_bytes key, int64_t total)
{
    (void)prefix, (void)key, (void)total;
    return --*(int *)owner ? WEFT_OK : err_set(WEFT_ABORTED, "no more");
}

static void a_fold_ends_with_the_failure_of_its_owner(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct sorted sorted;
    init();
    add_random(&seed, 500, false);
    assert_int_equal(gather_all(&sorted), WEFT_OK);
    for (int left = 1; left < 20; left++) {
        int countdown = left;
        assert_int_equal(gather_fold(&sorted, FOLD_SUM, true, refuse_total, &countdown),
                         WEFT_ABORTED);
        assert_int_equal(countdown, 0);
    }
    fini();
}

// ---- streaming

static void a_stream_has_every_pair_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed;
        struct sorted sorted;
        struct pair pair;
        bool has_pair;
        int64_t expected = 0, sum = 0;
        init();
        add_random(&random, random_below(&random, 600), false);
        assert_int_equal(gather_all(&sorted), WEFT_OK);
        qsort(known, known_count, sizeof *known, by_key);
        struct pair_stream *stream = gather_stream(&sorted);
        for (size_t i = 0; i < known_count; i++) {
            assert_int_equal(stream->next(stream, &pair, &has_pair), WEFT_OK);
            assert_true(has_pair && bytes_equal(pair.key, known[i].key));
            assert_int_equal(pair.prefix, bytes_prefix(pair.key));
            assert_int_equal(pair.type, VALUE_INT);
            sum += pair.number;
            expected += known[i].number;
        }
        assert_int_equal(sum, expected);
        for (int i = 0; i < 2; i++) {  // and at the end it stays
            assert_int_equal(stream->next(stream, &pair, &has_pair), WEFT_OK);
            assert_false(has_pair);
        }
        stream->close(stream);
        fini();
    }
}

// ---- stretches and memory

static void stretches_of_a_range_are_together_all_of_it(void **state)
{
    (void)state;
    uint64_t seed = 6;
    init();
    add_random(&seed, 1000, false);
    const struct buckets *const only = &buckets[1];
    for (uint64_t stretch = 1; stretch < 600; stretch = stretch * 3 + 1) {
        uint64_t entries = 0, wides = 0;
        for (uint64_t first = 0;; first += stretch) {
            struct sorted sorted;
            assert_int_equal(gather_sorted(&area, &only, 1, 0, first, stretch, &bytewise, &sorted),
                             WEFT_OK);
            assert_true(sorted.entry_count <= stretch && sorted.wide_count <= stretch);
            if (sorted.entry_count + sorted.wide_count == 0)
                break;
            entries += sorted.entry_count;
            wides += sorted.wide_count;
        }
        assert_int_equal(entries, only->entry_count);
        assert_int_equal(wides, only->wide_count);
    }
    fini();
}

static void sorting_without_memory_is_told_and_takes_nothing(void **state)
{
    (void)state;
    uint64_t seed = 7;
    struct sorted sorted;
    init();
    add_random(&seed, 1000, false);
    const uint64_t used = budget.used;
    budget.limit = used + 4096;
    assert_int_equal(gather_all(&sorted), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "--memory"));
    assert_int_equal(budget.used, used);
    // Just enough is enough, though it would rather have some more.
    budget.limit = used + mem_round(gather_bytes(1000, 0));
    assert_int_equal(gather_all(&sorted), WEFT_OK);
    fini();
}

static void an_area_grows_only_when_it_is_too_small(void **state)
{
    (void)state;
    area = (struct area){.budget = &budget};
    assert_true(area_reserve(&area, 0));
    assert_int_equal(budget.used, 0);
    assert_true(area_reserve(&area, 100000));
    assert_true(area.size >= 100000);
    memset(area.memory, 1, area.size);
    const void *memory = area.memory;
    assert_true(area_reserve(&area, 100));
    assert_ptr_equal(area.memory, memory);
    assert_true(area_reserve(&area, 3 << 20));
    assert_true(area.size >= 3 << 20);
    assert_int_equal(budget.used, mem_round(area.size));
    area_fini(&area);
    assert_int_equal(budget.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_those_of_a_list_whatever_entries_stand_for_the_key),
        cmocka_unit_test(sums_beyond_64_bits_come_in_several_calls),
        cmocka_unit_test(a_final_sum_beyond_64_bits_is_out_of_range_with_its_key),
        cmocka_unit_test(a_fold_ends_with_the_failure_of_its_owner),
        cmocka_unit_test(a_stream_has_every_pair_in_order),
        cmocka_unit_test(stretches_of_a_range_are_together_all_of_it),
        cmocka_unit_test(sorting_without_memory_is_told_and_takes_nothing),
        cmocka_unit_test(an_area_grows_only_when_it_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
