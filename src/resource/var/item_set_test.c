// The set of counted elements against a plain array of flags, and its ranges at the ends of numbers.
#include "resource/var/item_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void add(struct item_set *set, uint64_t queue, uint64_t id)
{
    assert_int_equal(item_set_add(set, queue, id), WEFT_OK);
}

static void elements_in_order_are_one_range(void **state)
{
    (void)state;
    struct item_set set = {0};
    for (uint64_t id = 1; id <= 1000; id++)
        add(&set, 7, id);
    assert_int_equal(set.range_count, 1);
    assert_int_equal(set.queues.items[0].ranges.items[0].first, 1);
    assert_int_equal(set.queues.items[0].ranges.items[0].last, 1000);
    item_set_fini(&set);
}

static void ranges_join_when_the_gap_is_filled(void **state)
{
    (void)state;
    struct item_set set = {0};
    add(&set, 7, 1);
    add(&set, 7, 3);
    add(&set, 7, 5);
    assert_int_equal(set.range_count, 3);
    add(&set, 7, 4);
    assert_int_equal(set.range_count, 2);
    add(&set, 7, 2);
    add(&set, 7, 2);
    assert_int_equal(set.range_count, 1);
    item_set_fini(&set);
}

static void queues_are_apart(void **state)
{
    (void)state;
    struct item_set set = {0};
    static const uint64_t queues[] = {9, 2, UINT64_MAX, 0, 5};
    for (size_t i = 0; i < 5; i++)
        add(&set, queues[i], i + 1);
    for (size_t i = 0; i < 5; i++)
        for (uint64_t id = 0; id < 7; id++)
            assert_int_equal(item_set_has(&set, queues[i], id), id == i + 1);
    assert_false(item_set_has(&set, 3, 1));
    for (size_t i = 1; i < set.queues.count; i++)
        assert_true(set.queues.items[i - 1].uid < set.queues.items[i].uid);
    item_set_fini(&set);
}

static void ends_of_the_numbers_do_not_wrap(void **state)
{
    (void)state;
    struct item_set set = {0};
    add(&set, 1, UINT64_MAX);
    add(&set, 1, 0);
    assert_int_equal(set.range_count, 2);
    add(&set, 1, UINT64_MAX - 1);
    add(&set, 1, 1);
    assert_int_equal(set.range_count, 2);
    assert_true(item_set_has(&set, 1, UINT64_MAX) && item_set_has(&set, 1, 0));
    assert_false(item_set_has(&set, 1, 2) || item_set_has(&set, 1, UINT64_MAX - 2));
    item_set_fini(&set);
}

static void any_order_gives_the_same_as_flags(void **state)
{
    (void)state;
    enum { IDS = 300 };
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct item_set set = {0};
        bool flags[IDS + 2] = {false};
        uint32_t random = seed;
        for (int i = 0; i < 400; i++) {
            random = random * 1664525 + 1013904223;
            const uint64_t id = 1 + (random >> 8) % IDS;
            assert_int_equal(item_set_has(&set, 4, id), flags[id]);
            add(&set, 4, id);
            flags[id] = true;
        }
        size_t ranges = 0;
        for (uint64_t id = 1; id <= IDS; id++) {
            assert_int_equal(item_set_has(&set, 4, id), flags[id]);
            ranges += flags[id] && !flags[id + 1];
        }
        assert_int_equal(set.range_count, ranges);
        item_set_fini(&set);
    }
}

static void number_of_ranges_is_limited(void **state)
{
    (void)state;
    struct item_set set = {0};
    for (uint64_t i = 0; i < ITEM_SET_RANGES_MAX; i++)
        add(&set, 1, 2 * i);
    assert_int_equal(item_set_add(&set, 1, 2 * (uint64_t)ITEM_SET_RANGES_MAX),
                     WEFT_RESOURCE_EXHAUSTED);
    assert_int_equal(item_set_add(&set, 2, 1), WEFT_RESOURCE_EXHAUSTED);
    assert_false(item_set_has(&set, 2, 1));
    add(&set, 1, 1);  // joins two: there is room again
    add(&set, 2, 1);
    item_set_fini(&set);
}

static void saved_ranges_come_in_order(void **state)
{
    (void)state;
    static const struct {
        uint64_t queue;
        struct item_range range;
        bool is_sound;
    } rows[] = {
        {5, {1, 3}, true},          {5, {4, 4}, false}, {5, {3, 9}, false}, {5, {5, 4}, false},
        {5, {5, 9}, true},          {4, {1, 1}, false}, {6, {1, 1}, true},  {5, {20, 21}, false},
        {6, {3, UINT64_MAX}, true}, {6, {0, 1}, false},
    };
    struct item_set set = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(item_set_append(&set, rows[i].queue, rows[i].range),
                         rows[i].is_sound ? WEFT_OK : WEFT_DATA_LOSS);
    assert_int_equal(set.range_count, 4);
    item_set_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_in_order_are_one_range),
        cmocka_unit_test(ranges_join_when_the_gap_is_filled),
        cmocka_unit_test(queues_are_apart),
        cmocka_unit_test(ends_of_the_numbers_do_not_wrap),
        cmocka_unit_test(any_order_gives_the_same_as_flags),
        cmocka_unit_test(number_of_ranges_is_limited),
        cmocka_unit_test(saved_ranges_come_in_order),
    };
    return cmocka_run_group_tests_name("resource/item_set", tests, NULL, NULL);
}
