// Tests of pages: aligned memory with one owner, never beyond share and budget, all given back.

#include "mapreduce/work/collect/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mapreduce/work/sort/random_pairs.h"

enum { ALLOCATIONS = 2000 };

static struct mem_budget budget;
static struct pages pages;

static void fini(void)
{
    pages_fini(&pages);
    assert_int_equal(budget.used, 0);
    budget = (struct mem_budget){0};
}

// Fills allocations with their own number and looks at all of them later.
static size_t fill(uint64_t *seed, unsigned char **memory, size_t *sizes, size_t size_max)
{
    size_t count = 0;
    for (; count < ALLOCATIONS; count++) {
        sizes[count] = 1 + random_below(seed, random_below(seed, 20) ? 200 : size_max);
        memory[count] = pages_alloc(&pages, sizes[count]);
        if (!memory[count])
            break;
        assert_int_equal((uintptr_t)memory[count] % 16, 0);
        memset(memory[count], (int)(count % 251), sizes[count]);
    }
    return count;
}

static void check_filled(unsigned char **memory, const size_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < sizes[i]; at++)
            if (memory[i][at] != i % 251)
                fail_msg("byte %zu of allocation %zu", at, i);
}

static void allocations_do_not_overlap_whatever_their_size(void **state)
{
    (void)state;
    static unsigned char *memory[ALLOCATIONS];
    static size_t sizes[ALLOCATIONS];
    for (size_t page_bytes = 4096; page_bytes <= 256 << 10; page_bytes *= 4) {
        uint64_t seed = page_bytes;
        pages_init(&pages, &budget, page_bytes, 1 << 30);
        assert_int_equal(fill(&seed, memory, sizes, 3 * page_bytes / 2), ALLOCATIONS);
        check_filled(memory, sizes, ALLOCATIONS);
        pages_reset(&pages);
        assert_int_equal(pages_live_bytes(&pages), 0);
        assert_int_equal(fill(&seed, memory, sizes, 3 * page_bytes / 2), ALLOCATIONS);
        check_filled(memory, sizes, ALLOCATIONS);
        fini();
    }
}

static void the_share_is_never_passed(void **state)
{
    (void)state;
    static unsigned char *memory[ALLOCATIONS];
    static size_t sizes[ALLOCATIONS];
    uint64_t seed = 3;
    for (int round = 0; round < 50; round++) {
        const size_t bytes_max = 4096 + random_below(&seed, 200000);
        pages_init(&pages, &budget, 4096, bytes_max);
        for (int again = 0; again < 3; again++) {
            const size_t count = fill(&seed, memory, sizes, 20000);
            assert_true(count < ALLOCATIONS);
            assert_true(budget.used <= bytes_max);
            assert_int_equal(budget.used, pages.bytes_used);
            check_filled(memory, sizes, count);
            pages_reset(&pages);
        }
        fini();
    }
}

static void the_budget_is_never_passed(void **state)
{
    (void)state;
    static unsigned char *memory[ALLOCATIONS];
    static size_t sizes[ALLOCATIONS];
    uint64_t seed = 4;
    budget.limit = 100000;
    pages_init(&pages, &budget, 8192, 1 << 30);
    const size_t count = fill(&seed, memory, sizes, 20000);
    assert_true(count > 0 && count < ALLOCATIONS);
    assert_true(budget.peak <= budget.limit);
    check_filled(memory, sizes, count);
    fini();
}

// A page that was touched once is reused, not taken from the kernel again.
static void pages_are_kept_and_used_again_after_a_reset(void **state)
{
    (void)state;
    pages_init(&pages, &budget, 4096, 1 << 20);
    for (int i = 0; i < 100; i++)
        assert_non_null(pages_alloc(&pages, 1000));
    const uint64_t used = budget.used;
    pages_reset(&pages);
    assert_int_equal(budget.used, used);
    budget.limit = used;
    for (int i = 0; i < 100; i++)
        assert_non_null(pages_alloc(&pages, 1000));
    assert_int_equal(budget.used, used);
    fini();
}

static void spare_pages_make_way_for_a_large_allocation(void **state)
{
    (void)state;
    for (int is_budget = 0; is_budget < 2; is_budget++) {
        budget.limit = is_budget ? 100 << 10 : 0;
        pages_init(&pages, &budget, 4096, is_budget ? 1 << 30 : 100 << 10);
        while (pages_alloc(&pages, 1000))
            continue;
        assert_null(pages_alloc(&pages, 50000));
        pages_reset(&pages);
        char *large = pages_alloc(&pages, 90000);
        assert_non_null(large);
        memset(large, 1, 90000);
        assert_null(pages_alloc(&pages, 50000));
        pages_reset(&pages);
        while (pages_alloc(&pages, 1000))
            continue;
        assert_true(pages.bytes_used > 90 << 10);
        fini();
    }
}

static void donated_memory_becomes_pages(void **state)
{
    (void)state;
    pages_init(&pages, &budget, 64 << 10, 1 << 30);
    char *table = mem_get(&budget, 4 << 20);
    assert_non_null(table);
    budget.limit = budget.used;
    assert_null(pages_alloc(&pages, 100));
    pages_donate(&pages, table + (1 << 20), 3 << 20);
    for (int i = 0; i < 48 * 4; i++) {
        char *memory = pages_alloc(&pages, 16 << 10);
        assert_true(memory >= table + (1 << 20) && memory < table + (4 << 20));
        memset(memory, 7, 16 << 10);
    }
    assert_null(pages_alloc(&pages, 100));
    pages_reset(&pages);
    mem_put(&budget, table, 1 << 20);
    fini();
}

static void donated_memory_that_is_no_whole_page_goes_back(void **state)
{
    (void)state;
    pages_init(&pages, &budget, 64 << 10, 1 << 30);
    char *memory = mem_get(&budget, 100 << 10);
    pages_donate(&pages, memory, 100 << 10);
    assert_int_equal(budget.used, 64 << 10);
    pages_donate(&pages, NULL, 0);
    fini();
}

// A share that has become smaller since is kept to from the next reset on.
static void a_reset_gives_back_what_is_beyond_the_share(void **state)
{
    (void)state;
    pages_init(&pages, &budget, 4096, 1 << 20);
    while (pages_alloc(&pages, 1000))
        continue;
    pages.bytes_max = 100 << 10;
    pages_reset(&pages);
    assert_true(budget.used <= 100 << 10);
    fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_do_not_overlap_whatever_their_size),
        cmocka_unit_test(the_share_is_never_passed),
        cmocka_unit_test(the_budget_is_never_passed),
        cmocka_unit_test(pages_are_kept_and_used_again_after_a_reset),
        cmocka_unit_test(spare_pages_make_way_for_a_large_allocation),
        cmocka_unit_test(donated_memory_becomes_pages),
        cmocka_unit_test(donated_memory_that_is_no_whole_page_goes_back),
        cmocka_unit_test(a_reset_gives_back_what_is_beyond_the_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
