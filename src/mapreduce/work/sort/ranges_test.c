// Tests of ranges: every key lies where a linear search over the cuts puts it, however the sample was.

#include "mapreduce/work/sort/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mapreduce/work/sort/random_pairs.h"

enum { SAMPLE_MAX = 600, KEYS = 3000 };

static weft_bytes sample[SAMPLE_MAX], sorted_sample[SAMPLE_MAX];
static const struct key_order *current_order;

static int by_order(const void *left, const void *right)
{
    const weft_bytes *a = left, *b = right;
    return key_order_keys(current_order, key_order_prefix(current_order, *a), *a,
                          key_order_prefix(current_order, *b), *b);
}

// The sample's quantiles are the cuts; a key lies after all of them that are not above it.
static uint32_t linear_find(uint32_t range_count, size_t sample_count, weft_bytes key)
{
    uint32_t range = 0;
    for (uint32_t i = 1; i < range_count && sample_count; i++)
        if (by_order(&sorted_sample[i * sample_count / range_count], &key) <= 0)
            range = i;
    return range;
}

static void check_key(const struct ranges *ranges, size_t sample_count, weft_bytes key)
{
    const uint32_t expected = linear_find(ranges->range_count, sample_count, key);
    const uint64_t prefix = key_order_prefix(current_order, key);
    assert_int_equal(ranges_find(ranges, prefix, key), expected);
    if (current_order->compare)
        return;
    bool is_tied;
    const uint32_t by_prefix = ranges_find_prefix(ranges, prefix, &is_tied);
    if (!is_tied)
        assert_int_equal(by_prefix, expected);
}

typedef weft_bytes key_fn(uint64_t *seed);

// The sample's own keys, their neighbours, and any others.
static void check_keys(const struct ranges *ranges, size_t sample_count, key_fn *draw,
                       uint64_t *seed)
{
    for (size_t i = 0; i < sample_count; i++) {
        weft_bytes near = random_bytes(seed, sample[i].size + 2, "\0\377", 2);
        if (sample[i].size)
            memcpy((char *)near.data, sample[i].data, sample[i].size);
        check_key(ranges, sample_count, sample[i]);
        for (size_t less = 1; less <= 3 && less <= near.size; less++)
            check_key(ranges, sample_count, (weft_bytes){near.data, near.size - less + 1});
        free((char *)near.data);
    }
    for (size_t i = 0; i < KEYS / 10; i++) {
        const weft_bytes key = draw(seed);
        check_key(ranges, sample_count, key);
        free((char *)key.data);
    }
}

static void check_ranges(const struct key_order *order, uint32_t range_count, uint32_t part_count,
                         size_t sample_count, key_fn *draw, uint64_t seed)
{
    struct ranges ranges;
    current_order = order;
    for (size_t i = 0; i < sample_count; i++)
        sample[i] = draw(&seed);
    memcpy(sorted_sample, sample, sizeof sample);
    qsort(sorted_sample, sample_count, sizeof *sample, by_order);
    assert_true(ranges_init(&ranges, range_count, part_count, order, NULL, sample, sample_count));
    check_keys(&ranges, sample_count, draw, &seed);
    ranges_fini(&ranges);
    for (size_t i = 0; i < sample_count; i++)
        free((char *)sample[i].data);
}

static weft_bytes few_keys(uint64_t *seed)
{
    return random_bytes(seed, random_below(seed, 4), "ab", 2);
}

static weft_bytes keys_with_one_top(uint64_t *seed)
{
    weft_bytes key = random_bytes(seed, 3 + random_below(seed, 20), "\0a\377", 3);
    memcpy((char *)key.data, "www", 3);
    return key;
}

static weft_bytes keys_at_the_edges(uint64_t *seed)
{
    const char byte = random_below(seed, 2) ? '\377' : '\0';
    return random_bytes(seed, random_below(seed, 20), &byte, 1);
}

static const struct key_order bytewise = {.compare = NULL};

static void check_all(const struct key_order *order)
{
    key_fn *const draws[] = {random_key, few_keys, keys_with_one_top, keys_at_the_edges};
    const uint32_t counts[][2] = {{1, 1}, {2, 1}, {3, 3}, {16, 4}, {64, 1}, {300, 10}};
    const size_t samples[] = {0, 1, 2, 5, 60, 250};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 6; j++)
            for (size_t k = 0; k < 6; k++)
                check_ranges(order, counts[j][0], counts[j][1], samples[k], draws[i], i + j + k);
}

static void every_key_lies_where_a_linear_search_puts_it(void **state)
{
    (void)state;
    check_all(&bytewise);
}

static int backwards(weft_bytes a, weft_bytes b)
{
    return -bytes_compare(a, b);
}

static int by_size(weft_bytes a, weft_bytes b)
{
    return (a.size > b.size) - (a.size < b.size);
}

static void a_jobs_own_order_makes_the_ranges(void **state)
{
    (void)state;
    const struct key_order reversed = {.compare = backwards}, sized = {.compare = by_size};
    check_all(&reversed);
    check_all(&sized);
}

static void without_a_sample_all_keys_are_in_the_first_range(void **state)
{
    (void)state;
    struct ranges ranges;
    const struct key_order orders[] = {{.compare = NULL}, {.compare = backwards}};
    for (size_t i = 0; i < 2; i++) {
        assert_true(ranges_init(&ranges, 8, 2, &orders[i], NULL, NULL, 0));
        const weft_bytes last = {"\377\377\377\377\377\377\377\377\377\377", 10};
        assert_int_equal(ranges_find(&ranges, key_order_prefix(&orders[i], last), last), 0);
        assert_int_equal(ranges_find(&ranges, 0, (weft_bytes){"", 0}), 0);
        ranges_fini(&ranges);
    }
}

static void a_sample_in_any_order_gives_the_same_ranges(void **state)
{
    (void)state;
    uint64_t seed = 9;
    struct ranges one, other;
    weft_bytes turned[100];
    for (size_t i = 0; i < 100; i++)
        sample[i] = turned[99 - i] = random_key(&seed);
    assert_true(ranges_init(&one, 12, 3, &bytewise, NULL, sample, 100));
    assert_true(ranges_init(&other, 12, 3, &bytewise, NULL, turned, 100));
    for (size_t i = 0; i < 1000; i++) {
        const weft_bytes key = random_key(&seed);
        assert_int_equal(ranges_find(&one, bytes_prefix(key), key),
                         ranges_find(&other, bytes_prefix(key), key));
        free((char *)key.data);
    }
    ranges_fini(&one);
    ranges_fini(&other);
    for (size_t i = 0; i < 100; i++)
        free((char *)sample[i].data);
}

static void ranges_lie_in_parts_of_the_same_size(void **state)
{
    (void)state;
    struct ranges ranges;
    assert_true(ranges_init(&ranges, 12, 3, &bytewise, NULL, NULL, 0));
    for (uint32_t range = 0; range < 12; range++)
        assert_int_equal(ranges_part(&ranges, range), range / 4);
    ranges_fini(&ranges);
}

static uint32_t last_digit(weft_bytes key, uint32_t part_count)
{
    assert_int_equal(part_count, 4);
    return key.size ? (uint32_t)(key.data[key.size - 1] - '0') : 0;
}

static void a_partition_function_has_the_first_range_of_each_part(void **state)
{
    (void)state;
    struct ranges ranges;
    const weft_bytes keys[] = {{"0", 1}, {"1", 1}, {"2", 1}};
    assert_true(ranges_init(&ranges, 12, 4, &bytewise, last_digit, keys, 3));
    for (char digit = '0'; digit < '4'; digit++) {
        const char text[] = {'k', 'e', 'y', digit, 0};
        const weft_bytes key = {text, 4};
        const uint32_t expected = (uint32_t)(digit - '0') * 3;
        assert_int_equal(ranges_find(&ranges, bytes_prefix(key), key), expected);
    }
    const weft_bytes beyond = {"key4", 4};
    assert_int_equal(ranges_find(&ranges, bytes_prefix(beyond), beyond), UINT32_MAX);
    ranges_fini(&ranges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_lies_where_a_linear_search_puts_it),
        cmocka_unit_test(a_jobs_own_order_makes_the_ranges),
        cmocka_unit_test(without_a_sample_all_keys_are_in_the_first_range),
        cmocka_unit_test(a_sample_in_any_order_gives_the_same_ranges),
        cmocka_unit_test(ranges_lie_in_parts_of_the_same_size),
        cmocka_unit_test(a_partition_function_has_the_first_range_of_each_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
