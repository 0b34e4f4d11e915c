// Tests of the sink as a shelf: pieces lie in the order in which they came.
#include "mapreduce/work/output/sink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "sys/file/file.h"

enum { PIECES = 5, LONG_BYTES = 300000, HELD_BYTES = 100000 };

static struct sink_piece last;
static int written_count;

static void note_written(void *owner, const struct sink_piece *piece)
{
    (void)owner;
    last = *piece;
    written_count++;
}

static struct sink *open_shelf(void)
{
    static const uint32_t parts[PIECES] = {0, 0, 1, 1, 1};
    const struct sink_options options = {.kind = SINK_SHELF,
                                         .piece_count = PIECES,
                                         .part_count = 2,
                                         .part_of_piece = parts,
                                         .tmp = "/var/tmp",
                                         .held_bytes_max = HELD_BYTES,
                                         .written = note_written};
    struct sink *sink = sink_new(&options);
    assert_non_null(sink);
    written_count = 0;
    return sink;
}

static void check_last(const struct sink *sink, uint32_t piece, weft_bytes text)
{
    char *found = malloc(text.size + 1);
    size_t got;
    assert_int_equal(last.piece, piece);
    assert_int_equal(last.bytes, text.size);
    assert_int_equal(last.crc32c, crc32c(0, text.data, text.size));
    assert_int_equal(
        file_read_at(sink_shelf_fd(sink), "shelf", found, text.size, last.offset, &got), WEFT_OK);
    assert_int_equal(got, text.size);
    assert_memory_equal(found, text.data, text.size);
    free(found);
}

static void pieces_lie_in_the_order_in_which_they_come(void **state)
{
    (void)state;
    struct sink *sink = open_shelf();
    assert_int_equal(sink_submit(sink, 3, weft_text("three"), 1), WEFT_OK);
    assert_int_equal(last.offset, 0);
    check_last(sink, 3, weft_text("three"));
    assert_int_equal(sink_submit(sink, 0, weft_text(""), 0), WEFT_OK);
    assert_int_equal(sink_submit(sink, 1, weft_text("one"), 7), WEFT_OK);
    assert_int_equal(last.offset, 5);
    assert_int_equal(last.records, 7);
    check_last(sink, 1, weft_text("one"));
    // One that is made again is kept and reported again, also when it is another one: the reader decides.
    assert_int_equal(sink_submit(sink, 3, weft_text("drei"), 1), WEFT_OK);
    assert_int_equal(last.offset, 8);
    check_last(sink, 3, weft_text("drei"));
    assert_int_equal(written_count, 4);
    assert_true(sink_is_first(sink, 0) && sink_is_first(sink, 2) && !sink_is_first(sink, 3));
    assert_int_equal(sink_finish(sink), WEFT_OK);
    sink_free(sink);
}

// More than may be held in memory, in parts, with another piece between, and once for nothing.
static void a_long_piece_comes_in_parts(void **state)
{
    (void)state;
    struct sink *sink = open_shelf();
    char *text = malloc(LONG_BYTES);
    for (size_t i = 0; i < LONG_BYTES; i++)
        text[i] = (char)(i * 7 / 5);
    assert_int_equal(sink_append(sink, 2, weft_text("of a failed attempt")), WEFT_OK);
    sink_discard(sink, 2);
    for (size_t at = 0; at < LONG_BYTES / 2; at += 10000)
        assert_int_equal(sink_append(sink, 2, (weft_bytes){text + at, 10000}), WEFT_OK);
    assert_int_equal(sink_submit(sink, 4, weft_text("between"), 1), WEFT_OK);
    assert_int_equal(sink_submit(sink, 2, (weft_bytes){text + LONG_BYTES / 2, LONG_BYTES / 2}, 9),
                     WEFT_OK);
    assert_int_equal(last.offset, 7);
    check_last(sink, 2, (weft_bytes){text, LONG_BYTES});
    free(text);
    sink_free(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_lie_in_the_order_in_which_they_come),
        cmocka_unit_test(a_long_piece_comes_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
