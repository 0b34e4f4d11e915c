// Tests of buckets: entries added to a range come out of it in order, whatever the size of a chunk.

#include "mapreduce/work/collect/buckets.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "mapreduce/work/sort/random_pairs.h"

enum { RANGES = 7, ENTRIES_MAX = 5000 };

static struct mem_budget budget;
static struct pages pages;
static struct buckets buckets;
static uint64_t counts[RANGES], wide_counts[RANGES];

static void init(uint32_t chunk_entries, size_t bytes_max)
{
    pages_init(&pages, &budget, 4096, bytes_max);
    assert_true(buckets_init(&buckets, &pages, RANGES, chunk_entries));
    memset(counts, 0, sizeof counts);
    memset(wide_counts, 0, sizeof wide_counts);
}

static void fini(void)
{
    buckets_fini(&buckets);
    pages_fini(&pages);
    assert_int_equal(budget.used, 0);
}

// Entry number n of a range says so: whatever comes out can be checked. Returns how many fitted.
static size_t add(uint64_t *seed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t range = (uint32_t)random_below(seed, RANGES - 1);  // the last stays empty
        const uint64_t tag = (uint64_t)range << 32;
        if (random_below(seed, 3)) {
            if (!buckets_add(&buckets, range, (struct entry){tag | counts[range], ~counts[range]}))
                return i;
            counts[range]++;
        } else {
            const struct wide_entry wide = {tag | wide_counts[range], ~wide_counts[range]};
            if (!buckets_add_wide(&buckets, range, wide))
                return i;
            wide_counts[range]++;
        }
    }
    return count;
}

static void check_stretch(const struct bucket *bucket, uint32_t range, uint64_t total,
                          uint64_t first, size_t max)
{
    static struct entry copied[ENTRIES_MAX];
    assert_int_equal(bucket_count(&buckets, bucket), total);
    const size_t wanted = first >= total ? 0 : total - first < max ? (size_t)(total - first) : max;
    assert_int_equal(bucket_copy(&buckets, bucket, first, max, copied), wanted);
    for (size_t i = 0; i < wanted; i++) {
        assert_int_equal(copied[i].prefix, (uint64_t)range << 32 | (first + i));
        assert_int_equal(copied[i].payload, ~(first + i));
    }
}

static void check_all(uint64_t *seed)
{
    uint64_t entries = 0, wides = 0;
    for (uint32_t range = 0; range < RANGES; range++) {
        for (int i = 0; i < 5; i++) {
            const uint64_t first = i ? random_below(seed, counts[range] + 3) : 0;
            const size_t max = i ? random_below(seed, counts[range] + 3) : SIZE_MAX;
            check_stretch(&buckets.entries[range], range, counts[range], first, max);
            if (buckets.wides)
                check_stretch(&buckets.wides[range], range, wide_counts[range], first, max);
        }
        entries += counts[range];
        wides += wide_counts[range];
    }
    assert_int_equal(buckets.entry_count, entries);
    assert_int_equal(buckets.wide_count, wides);
}

static const uint32_t chunk_sizes[] = {1, 2, 3, 7, 31, 63, 255, 500};

static void entries_come_out_as_they_went_in_for_any_chunk_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof chunk_sizes / sizeof *chunk_sizes; i++) {
        uint64_t seed = 1;
        init(chunk_sizes[i], 1 << 30);
        for (size_t count = 0; count < ENTRIES_MAX - 900; count += 800) {
            check_all(&seed);
            assert_int_equal(add(&seed, 800), 800);
        }
        check_all(&seed);
        fini();
    }
}

static void what_does_not_fit_leaves_the_rest_as_it_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof chunk_sizes / sizeof *chunk_sizes; i++) {
        uint64_t seed = 2;
        init(chunk_sizes[i], 64 << 10);
        assert_true(add(&seed, 1000000) < 5000);
        assert_true(budget.used <= 64 << 10);
        check_all(&seed);
        assert_true(add(&seed, 1000000) < 5000);  // still no room; other buckets may have some
        check_all(&seed);
        fini();
    }
}

static void a_reset_forgets_all_and_reuses_the_pages(void **state)
{
    (void)state;
    uint64_t seed = 3;
    init(31, 64 << 10);
    size_t before = 0;
    for (int round = 0; round < 5; round++) {
        const size_t count = add(&seed, 1000000);
        assert_true(round == 0 || count + count / 2 > before);
        before = count;
        check_all(&seed);
        buckets_reset(&buckets);
        pages_reset(&pages);
        memset(counts, 0, sizeof counts);
        memset(wide_counts, 0, sizeof wide_counts);
        check_all(&seed);
    }
    fini();
}

// As compacting does: a bucket is emptied and filled again while the others stay.
static void chunks_of_a_cleared_bucket_are_used_again(void **state)
{
    (void)state;
    uint64_t seed = 4;
    init(7, 64 << 10);
    add(&seed, 1000000);
    const uint64_t used = budget.used;
    for (uint32_t range = 0; range < RANGES; range++) {
        buckets.entry_count -= counts[range];
        buckets_clear_bucket(&buckets, &buckets.entries[range]);
        for (uint64_t i = 0; i < counts[range]; i++)
            assert_true(
                buckets_add(&buckets, range, (struct entry){(uint64_t)range << 32 | i, ~i}));
    }
    assert_int_equal(budget.used, used);
    check_all(&seed);
    fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_out_as_they_went_in_for_any_chunk_size),
        cmocka_unit_test(what_does_not_fit_leaves_the_rest_as_it_was),
        cmocka_unit_test(a_reset_forgets_all_and_reuses_the_pages),
        cmocka_unit_test(chunks_of_a_cleared_bucket_are_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
