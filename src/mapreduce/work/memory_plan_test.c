// Tests of dividing memory: for every budget and number of slots the shares add up to no more than there
// is, and each is enough to work in.

#include "mapreduce/work/stage.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MIB = 1 << 20 };

static void check_plan(const struct memory_plan *plan, uint64_t bytes, uint32_t slots)
{
    const uint64_t share =
        (uint64_t)plan->read_bytes + plan->text_bytes + plan->area_bytes + plan->collect_bytes;
    assert_true(slots * share + plan->held_bytes <= bytes);
    // Tables: all three, the old one while the largest grows, and room to empty them; then some pages.
    const uint64_t tables = plan->table_bytes * 3 / 2 + plan->table_bytes;
    assert_true(plan->collect_bytes >= tables + 2 * plan->page_bytes);
    assert_true(plan->table_bytes >= 64 << 10);
    assert_int_equal(plan->table_bytes & (plan->table_bytes - 1), 0);
    assert_int_equal(plan->page_bytes & (plan->page_bytes - 1), 0);
    assert_int_equal(mem_round(plan->page_bytes), plan->page_bytes);
    assert_true(plan->combine_bytes >= 2 * plan->page_bytes);
}

static void check_small_things(const struct memory_plan *plan, uint32_t slots)
{
    assert_true(plan->chunk_entries >= 16);
    assert_true(plan->chunk_entries * sizeof(struct entry) < plan->page_bytes / 4);
    assert_true(plan->runs_per_merge >= 2);
    assert_true(plan->read_bytes >= 64 << 10);
    assert_true(plan->block_bytes >= 4 << 10 && plan->block_bytes <= plan->area_bytes / 4);
    // A sorting slot needs some entries; a reducing one has the entries of all slots for a range.
    assert_true(plan->area_bytes >= 64 * sizeof(struct entry) * slots);
}

static void shares_add_up_to_no_more_than_the_budget(void **state)
{
    (void)state;
    const uint32_t ranges[] = {1, 16, 256, 2048, 65535};
    size_t count = 0;
    for (uint64_t bytes = 5 * MIB; bytes <= (uint64_t)64 << 30; bytes += bytes / 7 + 4321) {
        for (uint32_t slots = 1; slots <= 64; slots++) {
            for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
                struct memory_plan plan;
                if (!memory_plan_make(&plan, bytes, slots, 1, ranges[i]))
                    continue;
                check_plan(&plan, bytes, slots);
                check_small_things(&plan, slots);
                count++;
            }
        }
    }
    assert_true(count > 10000);
}

static void a_budget_is_refused_when_a_slot_would_get_too_little(void **state)
{
    (void)state;
    struct memory_plan plan;
    assert_true(memory_plan_make(&plan, 5 * MIB, 1, 1, 64));
    assert_true(memory_plan_make(&plan, 12 * MIB, 2, 1, 64));
    assert_false(memory_plan_make(&plan, 12 * MIB, 64, 1, 64));
    assert_false(memory_plan_make(&plan, MIB, 1, 1, 1));
    assert_false(memory_plan_make(&plan, 0, 1, 1, 1));
    for (uint64_t bytes = MIB; bytes < 64 * MIB; bytes += MIB / 3) {
        for (uint32_t slots = 2; slots <= 64; slots++) {
            // Memory that is enough for some slots is enough for fewer.
            if (memory_plan_make(&plan, bytes, slots, 1, 64))
                assert_true(memory_plan_make(&plan, bytes, slots - 1, 1, 64));
        }
    }
}

static void more_memory_is_never_less_of_anything(void **state)
{
    (void)state;
    struct memory_plan less, more;
    assert_true(memory_plan_make(&less, 4 * MIB, 1, 1, 64));
    for (uint64_t bytes = 5 * MIB; bytes < 4096ull * MIB; bytes += bytes / 5, less = more) {
        assert_true(memory_plan_make(&more, bytes, 1, 1, 64));
        assert_true(more.read_bytes >= less.read_bytes && more.text_bytes >= less.text_bytes);
        assert_true(more.area_bytes >= less.area_bytes && more.table_bytes >= less.table_bytes);
        assert_true(more.page_bytes >= less.page_bytes && more.held_bytes >= less.held_bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_add_up_to_no_more_than_the_budget),
        cmocka_unit_test(a_budget_is_refused_when_a_slot_would_get_too_little),
        cmocka_unit_test(more_memory_is_never_less_of_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
