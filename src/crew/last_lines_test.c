// Tests of the last lines of a member.

#include "crew/last_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct last_lines tail;

static void feed(const char *text)
{
    last_lines_feed(&tail, (weft_bytes){text, strlen(text)});
}

static void expect(const char *expected)
{
    struct buf out = {0};
    last_lines_append(&out, &tail);
    assert_string_equal(buf_text(&out), expected);
    buf_fini(&out);
    last_lines_fini(&tail);
}

static void nothing_has_no_lines(void **state)
{
    (void)state;
    expect("");
}

static void lines_come_in_pieces(void **state)
{
    (void)state;
    feed("on");
    feed("e\ntw");
    feed("o");
    expect("  one\n  two\n");
}

static void only_the_last_ten_are_kept(void **state)
{
    (void)state;
    char line[16];
    for (int i = 0; i < 2000; i++) {
        snprintf(line, sizeof line, "%d\n", i);
        feed(line);
    }
    expect("  1990\n  1991\n  1992\n  1993\n  1994\n  1995\n  1996\n  1997\n  1998\n  1999\n");
}

static void a_line_that_is_cut_is_left_out(void **state)
{
    (void)state;
    static char block[100000];
    memset(block, 'x', sizeof block - 1);
    feed(block);
    feed("\nend\n");
    expect("  end\n");
}

static void empty_lines_count(void **state)
{
    (void)state;
    feed("a\n\n\nb\n");
    expect("  a\n  \n  \n  b\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_no_lines),
        cmocka_unit_test(lines_come_in_pieces),
        cmocka_unit_test(only_the_last_ten_are_kept),
        cmocka_unit_test(a_line_that_is_cut_is_left_out),
        cmocka_unit_test(empty_lines_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
