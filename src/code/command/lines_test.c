// Tests of rewriting lines.

#include "code/command/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct buf room;
static const struct command_separator tab = {"\t", 1}, dot = {".", 1}, arrow = {"=>", 2};

static int tear_down(void **state)
{
    (void)state;
    buf_fini(&room);
    return 0;
}

static void expect(weft_bytes got, const char *expected)
{
    assert_int_equal(got.size, strlen(expected));
    if (got.size)
        assert_memory_equal(got.data, expected, got.size);
}

static void lines_that_end_well_stay_where_they_are(void **state)
{
    (void)state;
    const weft_bytes block = weft_text("a\nb\r\n\n");
    assert_ptr_equal(command_lines_end(block, false, &room).data, block.data);
    const weft_bytes plain = weft_text("a\n");
    assert_ptr_equal(command_lines_end(plain, true, &room).data, plain.data);
    expect(command_lines_end(weft_text(""), true, &room), "");
}

static void a_last_line_gets_its_end(void **state)
{
    (void)state;
    expect(command_lines_end(weft_text("a\nb"), false, &room), "a\nb\n");
    expect(command_lines_end(weft_text("a\r"), false, &room), "a\r\n");
}

static void returns_end_lines_for_hadoop(void **state)
{
    (void)state;
    expect(command_lines_end(weft_text("a\r\nb\rc\n\rd\r\r\n"), true, &room), "a\nb\nc\n\nd\n\n");
    expect(command_lines_end(weft_text("a\r"), true, &room), "a\n");
    expect(command_lines_end(weft_text("\r\n"), true, &room), "\n");
}

static void lines_are_numbered_by_their_offset(void **state)
{
    (void)state;
    expect(command_lines_number(weft_text("one\ntwo\n\nlast"), false, 100, &room),
           "100\tone\n104\ttwo\n108\t\n109\tlast\n");
    expect(command_lines_number(weft_text("a\r\nb\n"), true, 0, &room), "0\ta\n3\tb\n");
}

static void lines_are_cut_and_joined(void **state)
{
    (void)state;
    const weft_bytes whole = weft_text("a\t1\n\t\n");
    assert_ptr_equal(command_lines_cut(whole, &tab, 1, &tab, &room).data, whole.data);
    expect(command_lines_cut(weft_text("a\t1\nb\n\nc\t\t2\n"), &tab, 1, &tab, &room),
           "a\t1\nb\t\n\t\nc\t\t2\n");
    expect(command_lines_cut(weft_text("a.b.c.d\ne.f\ng\n"), &dot, 2, &tab, &room),
           "a.b\tc.d\ne.f\t\ng\t\n");
    expect(command_lines_cut(weft_text("a\t1\n"), &tab, 1, &arrow, &room), "a=>1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_end_well_stay_where_they_are),
        cmocka_unit_test(a_last_line_gets_its_end),
        cmocka_unit_test(returns_end_lines_for_hadoop),
        cmocka_unit_test(lines_are_numbered_by_their_offset),
        cmocka_unit_test(lines_are_cut_and_joined),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
