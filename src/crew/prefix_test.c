// Tests of prefix: lines cut at every place, lines too long, bytes of any kind.

#include "crew/prefix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static weft_bytes bytes_of(const char *text)
{
    return (weft_bytes){text, strlen(text)};
}

static void only_whole_lines_go_out(void **state)
{
    (void)state;
    struct prefix prefix = {.text = "map/0| "};
    struct buf out = {0};
    prefix_feed(&prefix, bytes_of("one\ntw"), &out);
    assert_string_equal(buf_text(&out), "map/0| one\n");
    prefix_feed(&prefix, bytes_of("o\n\nthree"), &out);
    assert_string_equal(buf_text(&out), "map/0| one\nmap/0| two\nmap/0| \n");
    prefix_end(&prefix, &out);
    prefix_end(&prefix, &out);
    assert_string_equal(buf_text(&out), "map/0| one\nmap/0| two\nmap/0| \nmap/0| three\n");
    buf_fini(&out);
    prefix_fini(&prefix);
}

static void every_way_to_cut_the_input_gives_the_same(void **state)
{
    (void)state;
    const char text[] = "a\n\0b\xff\n\nlast";
    const size_t size = sizeof text - 1;
    const char expected[] = "> a\n> \0b\xff\n> \n> last\n";
    for (size_t i = 0; i <= size; i++)
        for (size_t k = i; k <= size; k++) {
            struct prefix prefix = {.text = "> "};
            struct buf out = {0};
            prefix_feed(&prefix, (weft_bytes){text, i}, &out);
            prefix_feed(&prefix, (weft_bytes){text + i, k - i}, &out);
            prefix_feed(&prefix, (weft_bytes){text + k, size - k}, &out);
            prefix_end(&prefix, &out);
            assert_int_equal(out.size, sizeof expected - 1);
            assert_memory_equal(out.data, expected, out.size);
            buf_fini(&out);
            prefix_fini(&prefix);
        }
}

// Feeds `size` bytes without a newline, then the end, in reads of `step` bytes.
static void feed_long(const char *prefix_text, size_t size, size_t step, const char *end,
                      struct buf *out)
{
    struct prefix prefix = {.text = prefix_text, .adds_no_breaks = !*prefix_text};
    char *block = malloc(step);
    assert_non_null(block);
    memset(block, 'x', step);
    for (size_t at = 0; at < size; at += step)
        prefix_feed(&prefix, (weft_bytes){block, size - at < step ? size - at : step}, out);
    prefix_feed(&prefix, bytes_of(end), out);
    prefix_end(&prefix, out);
    free(block);
    prefix_fini(&prefix);
}

static void a_long_line_goes_out_in_pieces(void **state)
{
    (void)state;
    const size_t steps[] = {1000, PREFIX_LINE_BYTES_MAX, 3 * PREFIX_LINE_BYTES_MAX};
    for (size_t i = 0; i < 3; i++) {
        struct buf out = {0};
        feed_long("> ", 2 * PREFIX_LINE_BYTES_MAX + 5, steps[i], "\n", &out);
        assert_int_equal(out.size, 2 * PREFIX_LINE_BYTES_MAX + 5 + 3 * strlen("> \n"));
        assert_string_equal(buf_text(&out) + out.size - 9, "\n> xxxxx\n");
        buf_fini(&out);
    }
}

static void a_line_of_just_the_limit_is_one_line(void **state)
{
    (void)state;
    struct buf out = {0};
    feed_long("> ", PREFIX_LINE_BYTES_MAX, PREFIX_LINE_BYTES_MAX, "\n", &out);
    assert_int_equal(out.size, PREFIX_LINE_BYTES_MAX + 3);
    buf_fini(&out);
}

static void long_lines_stay_whole_where_nothing_may_be_added(void **state)
{
    (void)state;
    struct buf out = {0};
    feed_long("", 2 * PREFIX_LINE_BYTES_MAX + 7, 4096, "\nend", &out);
    assert_int_equal(out.size, 2 * PREFIX_LINE_BYTES_MAX + 7 + strlen("\nend\n"));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_whole_lines_go_out),
        cmocka_unit_test(every_way_to_cut_the_input_gives_the_same),
        cmocka_unit_test(a_long_line_goes_out_in_pieces),
        cmocka_unit_test(a_line_of_just_the_limit_is_one_line),
        cmocka_unit_test(long_lines_stay_whole_where_nothing_may_be_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
