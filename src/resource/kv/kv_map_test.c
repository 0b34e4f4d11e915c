// The sorted map of a kv: order, splits, and removal, against a plain array of flags.
#include "resource/kv/kv_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"

enum { NAMES = 5000 };

static const char *name_of(unsigned number)
{
    static char text[16];
    snprintf(text, sizeof text, "%05u", number);
    return text;
}

static void insert(struct kv_map *map, unsigned number)
{
    struct kv_entry *entry = kv_entry_new(weft_text(name_of(number)));
    assert_non_null(entry);
    assert_true(kv_map_insert(map, entry));
}

// All keys whose flag is set, and no others, in order; no block is empty or too full.
static void check(const struct kv_map *map, const bool *flags)
{
    struct kv_place place = kv_map_seek(map, weft_none());
    size_t count = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        if (!flags[i])
            continue;
        const struct kv_entry *entry = kv_map_at(map, place);
        assert_non_null(entry);
        assert_true(bytes_equal(entry->key, weft_text(name_of(i))));
        kv_map_advance(map, &place);
        count++;
    }
    assert_null(kv_map_at(map, place));
    assert_int_equal(map->count, count);
    for (size_t i = 0; i < map->blocks.count; i++)
        assert_in_range(map->blocks.items[i]->count, 1, KV_BLOCK_ENTRIES);
}

static void empty_map_has_nothing(void **state)
{
    (void)state;
    struct kv_map map = {0};
    assert_null(kv_map_find(&map, weft_text("a")));
    assert_null(kv_map_at(&map, kv_map_seek(&map, weft_none())));
    kv_map_fini(&map);
}

static void ascending_keys_fill_their_blocks(void **state)
{
    (void)state;
    struct kv_map map = {0};
    bool flags[NAMES];
    for (unsigned i = 0; i < NAMES; i++) {
        insert(&map, i);
        flags[i] = true;
    }
    check(&map, flags);
    assert_int_equal(map.blocks.count, (NAMES + KV_BLOCK_ENTRIES - 1) / KV_BLOCK_ENTRIES);
    kv_map_fini(&map);
}

static void descending_keys_are_in_order(void **state)
{
    (void)state;
    struct kv_map map = {0};
    bool flags[NAMES];
    for (unsigned i = NAMES; i-- > 0;) {
        insert(&map, i);
        flags[i] = true;
    }
    check(&map, flags);
    kv_map_fini(&map);
}

static void keys_come_and_go_in_any_order(void **state)
{
    (void)state;
    struct kv_map map = {0};
    bool flags[NAMES] = {false};
    uint32_t random = 1;
    for (unsigned step = 0; step < 40000; step++) {
        random = random * 1664525 + 1013904223;
        const unsigned number = (random >> 8) % NAMES;
        struct kv_entry *entry = kv_map_find(&map, weft_text(name_of(number)));
        assert_int_equal(entry != NULL, flags[number]);
        if (entry) {
            kv_map_take_out(&map, entry);
            kv_entry_free(entry);
        } else {
            insert(&map, number);
        }
        flags[number] = !flags[number];
        if (step % 4000 == 0)
            check(&map, flags);
    }
    check(&map, flags);
    for (unsigned i = 0; i < NAMES; i++) {
        struct kv_entry *entry = kv_map_find(&map, weft_text(name_of(i)));
        if (!entry)
            continue;
        kv_map_take_out(&map, entry);
        kv_entry_free(entry);
    }
    assert_int_equal(map.blocks.count, 0);
    kv_map_fini(&map);
}

static void seek_finds_the_next_key(void **state)
{
    (void)state;
    struct kv_map map = {0};
    for (unsigned i = 10; i < NAMES; i += 10)
        insert(&map, i);
    for (unsigned i = 0; i < NAMES; i++) {
        const struct kv_entry *entry = kv_map_at(&map, kv_map_seek(&map, weft_text(name_of(i))));
        const unsigned next = i < 10 ? 10 : (i + 9) / 10 * 10;
        if (next >= NAMES)
            assert_null(entry);
        else
            assert_true(entry && bytes_equal(entry->key, weft_text(name_of(next))));
    }
    kv_map_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_map_has_nothing),
        cmocka_unit_test(ascending_keys_fill_their_blocks),
        cmocka_unit_test(descending_keys_are_in_order),
        cmocka_unit_test(keys_come_and_go_in_any_order),
        cmocka_unit_test(seek_finds_the_next_key),
    };
    return cmocka_run_group_tests_name("resource/kv_map", tests, NULL, NULL);
}
