// Tests of held text: what comes out is what went in, wherever it waited, and memory is used again.

#include "mapreduce/work/output/held.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sys/file/file.h"

enum { MIB = 1 << 20, TEXT_BYTES = 5 * MIB + 77 };

static char text[TEXT_BYTES];

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEXT_BYTES; i++)
        text[i] = (char)(i * 7 + (i >> 8) * 13 + (i >> 16));
    return 0;
}

static void add_in_pieces(struct held_store *store, struct held *held, size_t piece)
{
    for (size_t at = 0; at < TEXT_BYTES; at += piece) {
        const size_t left = TEXT_BYTES - at;
        assert_int_equal(
            held_add(store, held, (weft_bytes){text + at, left < piece ? left : piece}), WEFT_OK);
    }
}

static void assert_writes_text(struct held_store *store, struct held *held)
{
    static char got[TEXT_BYTES];
    int fd;
    size_t size;
    uint64_t offset = 3;
    assert_int_equal(file_create_nameless("/tmp", &fd), WEFT_OK);
    assert_int_equal(held_write(store, held, fd, "it", &offset), WEFT_OK);
    assert_int_equal(offset, 3 + TEXT_BYTES);
    assert_int_equal(file_read_at(fd, "it", got, sizeof got, 3, &size), WEFT_OK);
    assert_int_equal(size, TEXT_BYTES);
    assert_memory_equal(got, text, TEXT_BYTES);
    assert_int_equal(held->chunks.count, 0);
    file_close(fd);
}

static void text_comes_out_as_it_went_in_wherever_it_waited(void **state)
{
    (void)state;
    const size_t limits[] = {0, 1000, MIB / 2, 8 * MIB, 2 * MIB, 64 * MIB};
    const size_t pieces[] = {TEXT_BYTES, 3 * MIB, MIB, MIB + 1, 300000, 70000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
            struct held_store store;
            struct held held = {0};
            held_store_init(&store, "/tmp", limits[i]);
            add_in_pieces(&store, &held, pieces[k]);
            assert_true(store.bytes <= limits[i]);
            assert_writes_text(&store, &held);
            held_store_fini(&store);
        }
}

static void room_is_filled_in_place_behind_what_was_added(void **state)
{
    (void)state;
    struct held_store store;
    struct held held = {0};
    size_t at = 1000, size = 2 * MIB;
    held_store_init(&store, "/tmp", 64 * MIB);
    assert_null(held_room(&store, &held, &size));  // more than a block
    assert_int_equal(held_add(&store, &held, (weft_bytes){text, at}), WEFT_OK);
    while (at < TEXT_BYTES) {
        size = 300;
        char *room = held_room(&store, &held, &size);
        assert_non_null(room);
        assert_true(size >= 300);
        const size_t left = TEXT_BYTES - at, filled = left < size * 2 / 3 ? left : size * 2 / 3;
        memcpy(room, text + at, filled);
        held_fill(&held, filled);
        at += filled;
    }
    assert_writes_text(&store, &held);
    held_store_fini(&store);
    held_store_init(&store, "/tmp", MIB);
    size = 1;
    assert_null(held_room(&store, &held, &size));
    held_store_fini(&store);
}

static void memory_of_what_was_written_is_used_again(void **state)
{
    (void)state;
    struct held_store store;
    struct held held = {0};
    held_store_init(&store, "/tmp", 64 * MIB);
    for (int round = 0; round < 5; round++) {
        add_in_pieces(&store, &held, MIB + 1000);
        assert_true(store.bytes <= 6 * MIB);
        if (round % 2)
            held_drop(&store, &held);
        else
            assert_writes_text(&store, &held);
    }
    assert_int_equal(store.spool_fd, -1);
    held_store_fini(&store);
}

static void unused_blocks_make_room_for_what_is_short(void **state)
{
    (void)state;
    struct held_store store;
    struct held held = {0};
    held_store_init(&store, "/tmp", 8 * MIB);
    for (int i = 0; i < 8; i++)
        assert_int_equal(held_add(&store, &held, (weft_bytes){text, MIB}), WEFT_OK);
    assert_false(held_has_room(&store, 1));
    held_drop(&store, &held);
    assert_true(held_has_room(&store, 8 * MIB));
    assert_false(held_has_room(&store, 8 * MIB + 1));
    assert_int_equal(held_add(&store, &held, (weft_bytes){text, 1000}), WEFT_OK);
    assert_int_equal(store.bytes, 7 * MIB + 1000);
    assert_int_equal(store.spool_fd, -1);
    held_drop(&store, &held);
    held_store_fini(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_comes_out_as_it_went_in_wherever_it_waited),
        cmocka_unit_test(room_is_filled_in_place_behind_what_was_added),
        cmocka_unit_test(memory_of_what_was_written_is_used_again),
        cmocka_unit_test(unused_blocks_make_room_for_what_is_short),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
