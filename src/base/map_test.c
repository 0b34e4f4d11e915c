// Tests of maps: against a plain array, with keys that collide, at every size.

#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"

enum { ITEMS = 2000, STEPS = 200000 };

struct item {
    char text[16];
    bool is_in;
};

static weft_bytes key_of(const void *item)
{
    return weft_text(((const struct item *)item)->text);
}

static struct item items[ITEMS];

static void make_items(void)
{
    for (int i = 0; i < ITEMS; i++) {
        items[i] = (struct item){.is_in = false};
        snprintf(items[i].text, sizeof items[i].text, "%d", i * 7919);
    }
}

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

// Every item is found or not, as the array says; a walk meets each one once.
static void check_all(const struct map *map)
{
    size_t count = 0, walked = 0;
    for (int i = 0; i < ITEMS; i++) {
        count += items[i].is_in;
        assert_ptr_equal(map_find(map, key_of(&items[i])), items[i].is_in ? &items[i] : NULL);
    }
    assert_int_equal(map->count, count);
    size_t at = 0;
    for (struct item *item; (item = map_next(map, &at)) != NULL; walked++)
        assert_true(item->is_in);
    assert_int_equal(walked, count);
}

static void a_map_is_what_a_plain_array_says(void **state)
{
    (void)state;
    uint64_t random = 1;
    make_items();
    struct map map;
    map_init(&map, key_of, 42);
    for (int step = 0; step < STEPS; step++) {
        // Few at first, then many, then few again: it grows, and holes are closed.
        const uint64_t limit = step < STEPS / 3 ? 40 : ITEMS;
        struct item *item = &items[draw(&random) % limit];
        if (item->is_in && (step > STEPS * 2 / 3 || draw(&random) % 3 == 0)) {
            assert_ptr_equal(map_take_out(&map, key_of(item)), item);
            item->is_in = false;
        } else if (item->is_in) {
            assert_ptr_equal(map_find(&map, key_of(item)), item);
        } else if (step <= STEPS * 2 / 3) {
            assert_true(map_add(&map, item));
            item->is_in = true;
        } else {
            assert_null(map_take_out(&map, key_of(item)));
        }
        if (step % 2500 == 0)
            check_all(&map);
    }
    check_all(&map);
    map_fini(&map);
}

static void an_empty_map_has_nothing_and_can_be_walked(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, key_of, 0);
    size_t at = 0;
    assert_null(map_find(&map, weft_text("a")));
    assert_null(map_take_out(&map, weft_text("a")));
    assert_null(map_next(&map, &at));
    map_fini(&map);
}

// A cluster that wraps around the end of the table: taking out moves the right ones up.
static void holes_are_closed_across_the_end_of_the_table(void **state)
{
    (void)state;
    make_items();
    for (int seed = 0; seed < 200; seed++) {
        struct map map;
        map_init(&map, key_of, (uint64_t)seed);
        for (int i = 0; i < 12; i++) {  // 12 of 16 places: as full as it gets
            assert_true(map_add(&map, &items[i]));
            items[i].is_in = true;
        }
        assert_int_equal(map.capacity, 16);
        for (int i = 0; i < 12; i++) {
            const int victim = (i * 5 + seed) % 12;
            assert_ptr_equal(map_take_out(&map, key_of(&items[victim])), &items[victim]);
            items[victim].is_in = false;
            check_all(&map);
        }
        map_fini(&map);
    }
}

static void keys_may_be_empty_and_hold_zeros(void **state)
{
    (void)state;
    const weft_bytes keys[] = {{"", 0}, {"\0", 1}, {"\0\0", 2}, {"\0a", 2}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(map_hash(1, keys[i]) != map_hash(1, keys[j]));
}

// Each byte and each length counts; sizes around the steps of 8 and 16 read nothing beyond the end.
static void every_byte_of_a_key_changes_its_hash(void **state)
{
    (void)state;
    for (size_t size = 0; size <= 70; size++) {
        char *bytes = calloc(1, size + !size);  // exactly: AddressSanitizer watches its end
        assert_non_null(bytes);
        const uint64_t plain = map_hash(9, (weft_bytes){bytes, size});
        assert_true(plain != map_hash(10, (weft_bytes){bytes, size}));
        for (size_t i = 0; i < size; i++) {
            bytes[i] = 1;
            assert_true(plain != map_hash(9, (weft_bytes){bytes, size}));
            bytes[i] = 0;
        }
        if (size)
            assert_true(plain != map_hash(9, (weft_bytes){bytes, size - 1}));
        free(bytes);
    }
}

static void hashes_are_spread_evenly(void **state)
{
    (void)state;
    unsigned buckets[64] = {0};
    for (unsigned i = 0; i < 64000; i++)
        buckets[map_hash(3, (weft_bytes){(const char *)&i, sizeof i}) % 64]++;
    for (int i = 0; i < 64; i++)
        assert_in_range(buckets[i], 800, 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_is_what_a_plain_array_says),
        cmocka_unit_test(an_empty_map_has_nothing_and_can_be_walked),
        cmocka_unit_test(holes_are_closed_across_the_end_of_the_table),
        cmocka_unit_test(keys_may_be_empty_and_hold_zeros),
        cmocka_unit_test(every_byte_of_a_key_changes_its_hash),
        cmocka_unit_test(hashes_are_spread_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
