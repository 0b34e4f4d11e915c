// Whether blocks are compressed.

#include "transport/fetch_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transport/fetch.h"

enum { MB = 1000000 };

// A link, a compressor (megabytes per second) and how much of the bytes is left.
static bool pays(double link, double compressor, double left)
{
    struct fetch_pack pack = {.packing = FETCH_PACK_MEASURED};
    fetch_pack_note_span(&pack, (uint64_t)(link * MB), 1000000000);
    fetch_pack_note_link(&pack, (uint64_t)(link * MB), 1000000000);
    if (!fetch_pack_is_due(&pack))
        return false;
    fetch_pack_note_block(&pack, 100 * MB, (size_t)(left * 100 * MB),
                          (uint64_t)(1e11 / compressor));
    return pack.is_on;
}

static void it_pays_where_the_link_is_slow_and_the_bytes_shrink(void **state)
{
    (void)state;
    assert_true(pays(12.5, 500, 0.5));   // 100 Mbit/s
    assert_true(pays(125, 500, 0.4));    // 1 Gbit/s
    assert_false(pays(125, 500, 0.9));   // bytes that are compressed already
    assert_false(pays(1250, 500, 0.4));  // 10 Gbit/s
    assert_false(pays(125, 100, 0.3));   // a processor that is slower than the link
}

static void nothing_is_tried_before_the_link_is_known(void **state)
{
    struct fetch_pack fast = {.packing = FETCH_PACK_MEASURED}, near = {0};
    (void)state;
    assert_false(fetch_pack_is_due(&fast));
    fetch_pack_note_link(&near, 1000, 1000000000);
    assert_false(fetch_pack_is_due(&near));
}

static void a_link_that_becomes_faster_ends_it_and_one_that_becomes_slower_begins_it(void **state)
{
    struct fetch_pack pack = {.packing = FETCH_PACK_MEASURED};
    (void)state;
    fetch_pack_note_span(&pack, 1000 * (uint64_t)MB, 1000000000);
    fetch_pack_note_link(&pack, 1000 * (uint64_t)MB, 1000000000);
    assert_true(fetch_pack_is_due(&pack));  // to see
    fetch_pack_note_block(&pack, MB, MB / 2, 2000000);
    assert_false(pack.is_on);
    for (int i = 0; i < FETCH_PACK_PROBE_BLOCKS; i++)
        assert_false(fetch_pack_is_due(&pack));
    assert_true(fetch_pack_is_due(&pack));
    for (int i = 0; i < 20; i++)
        fetch_pack_note_link(&pack, 10 * (uint64_t)MB, 1000000000);
    assert_true(pack.is_on && fetch_pack_is_due(&pack));
    for (int i = 0; i < 20; i++)
        fetch_pack_note_link(&pack, 1000 * (uint64_t)MB, 1000000000);
    assert_false(pack.is_on);
}

// The other side is slow, not the link.
static void compressing_that_gains_nothing_ends_and_is_tried_ever_more_rarely(void **state)
{
    struct fetch_pack pack = {.packing = FETCH_PACK_MEASURED};
    uint32_t on = 0, off = 0;
    (void)state;
    fetch_pack_note_link(&pack, 50 * (uint64_t)MB, 1000000000);
    for (int i = 0; i < 1000; i++) {
        fetch_pack_note_span(&pack, 50 * (uint64_t)MB, 1000000000);
        if (fetch_pack_is_due(&pack))
            fetch_pack_note_block(&pack, MB, MB / 2, 2000000);
        on += pack.is_on;
        off += !pack.is_on;
    }
    assert_in_range(on, 3, 40);
    assert_int_equal(on + off, 1000);
}

static void compressing_that_gains_stays(void **state)
{
    struct fetch_pack pack = {.packing = FETCH_PACK_MEASURED};
    (void)state;
    fetch_pack_note_link(&pack, 50 * (uint64_t)MB, 1000000000);
    for (int i = 0; i < 100; i++) {
        fetch_pack_note_span(&pack, (pack.is_on ? 90 : 50) * (uint64_t)MB, 1000000000);
        if (fetch_pack_is_due(&pack))
            fetch_pack_note_block(&pack, MB, MB / 2, 2000000);
        assert_true(pack.is_on || i < 2);
    }
}

static void a_block_comes_back_as_it_was(void **state)
{
    struct fetch_pack pack = {.packing = FETCH_PACK_ALWAYS};
    char *data = calloc(1, FETCH_BLOCK_BYTES), *plain = malloc(FETCH_BLOCK_BYTES);
    (void)state;
    for (size_t i = 0; i < FETCH_BLOCK_BYTES; i++)
        data[i] = (char)(i / 700);
    const size_t size = fetch_pack_block(&pack, data, FETCH_BLOCK_BYTES);
    assert_in_range(size, 1, FETCH_BLOCK_BYTES / 10);
    assert_true(fetch_unpack_block(pack.room, size, plain, FETCH_BLOCK_BYTES));
    assert_memory_equal(data, plain, FETCH_BLOCK_BYTES);
    assert_false(fetch_unpack_block(pack.room, size - 1, plain, FETCH_BLOCK_BYTES));
    assert_false(fetch_unpack_block(pack.room, size, plain, FETCH_BLOCK_BYTES - 1));
    assert_int_equal(fetch_pack_block(&pack, "abc", 3), 0);  // it does not become shorter
    fetch_pack_fini(&pack);
    free(data);
    free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_pays_where_the_link_is_slow_and_the_bytes_shrink),
        cmocka_unit_test(nothing_is_tried_before_the_link_is_known),
        cmocka_unit_test(a_link_that_becomes_faster_ends_it_and_one_that_becomes_slower_begins_it),
        cmocka_unit_test(compressing_that_gains_nothing_ends_and_is_tried_ever_more_rarely),
        cmocka_unit_test(compressing_that_gains_stays),
        cmocka_unit_test(a_block_comes_back_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
