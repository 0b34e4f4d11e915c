// Tests of growing bytes: content, formats, and a failure that is noted once and sticks.

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void appended_bytes_stay_in_order_while_it_grows(void **state)
{
    (void)state;
    struct buf buf = {0};
    for (unsigned i = 0; i < 3000; i++) {
        unsigned char piece[40];
        memset(piece, (int)(i % 256), sizeof piece);
        buf_append(&buf, piece, i % 41);
    }
    size_t at = 0;
    for (unsigned i = 0; i < 3000; i++)
        for (unsigned j = 0; j < i % 41; j++)
            assert_int_equal((unsigned char)buf.data[at++], i % 256);
    assert_int_equal(at, buf.size);
    assert_true(buf.capacity >= buf.size);
    assert_int_equal(buf_bytes(&buf).size, at);
    assert_ptr_equal(buf_bytes(&buf).data, buf.data);
    buf_fini(&buf);
    assert_null(buf.data);
    assert_int_equal(buf.size + buf.capacity, 0);
}

static void appending_nothing_takes_no_memory(void **state)
{
    (void)state;
    struct buf buf = {0};
    buf_append(&buf, NULL, 0);
    buf_append_text(&buf, "");
    assert_null(buf.data);
    assert_false(buf.has_failed);
}

static void text_ends_in_a_zero_that_does_not_count(void **state)
{
    (void)state;
    struct buf buf = {0};
    assert_string_equal(buf_text(&buf), "");
    assert_int_equal(buf.size, 0);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(strlen(buf_text(&buf)), i);
        assert_int_equal(buf.size, i);
        buf_append_text(&buf, "x");
    }
    buf_fini(&buf);
}

static void formats_of_any_length_are_appended_whole(void **state)
{
    (void)state;
    for (int width = 0; width < 300; width += 7) {
        struct buf buf = {0};
        char expected[700];
        buf_format(&buf, "%*d|", width, -12);
        buf_format(&buf, "%s", "");
        buf_format(&buf, "%s %*c", "and", width, 'x');
        snprintf(expected, sizeof expected, "%*d|and %*c", width, -12, width, 'x');
        assert_string_equal(buf_text(&buf), expected);
        assert_int_equal(buf.size, strlen(expected));
        buf_fini(&buf);
    }
}

static void reserved_room_may_be_written_before_it_counts(void **state)
{
    (void)state;
    struct buf buf = {0};
    buf_append_text(&buf, "front");
    char *room = buf_reserve(&buf, 1000);
    assert_non_null(room);
    assert_ptr_equal(room, buf.data + 5);
    memset(room, 'r', 1000);
    assert_int_equal(buf.size, 5);
    assert_ptr_equal(buf_reserve(&buf, 1000), room);  // it is there already
    buf.size += 1000;
    assert_int_equal(buf_text(&buf)[1004], 'r');
    buf_fini(&buf);
}

static void after_a_refusal_nothing_is_appended_any_more(void **state)
{
    (void)state;
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 3, SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < 3; i++) {
        struct buf buf = {0};
        buf_append_text(&buf, "kept");
        assert_null(buf_reserve(&buf, sizes[i]));
        assert_true(buf.has_failed);
        buf_append_text(&buf, "lost");
        buf_format(&buf, "%d", 1);
        assert_null(buf_reserve(&buf, 1));
        assert_string_equal(buf_text(&buf), "");
        assert_int_equal(buf.size, 4);
        assert_memory_equal(buf.data, "kept", 4);
        buf_fini(&buf);
        assert_false(buf.has_failed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appended_bytes_stay_in_order_while_it_grows),
        cmocka_unit_test(appending_nothing_takes_no_memory),
        cmocka_unit_test(text_ends_in_a_zero_that_does_not_count),
        cmocka_unit_test(formats_of_any_length_are_appended_whole),
        cmocka_unit_test(reserved_room_may_be_written_before_it_counts),
        cmocka_unit_test(after_a_refusal_nothing_is_appended_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
