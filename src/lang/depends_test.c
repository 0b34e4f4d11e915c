// Tests of lang/depends: the lists that compilers write, and headers that move with their source.

#include "lang/depends.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_paths(const char *text, const char *expected)
{
    struct depends depends = {0};
    struct buf paths = {0};
    assert_int_equal(depends_parse(&depends, weft_text(text)), WEFT_OK);
    for (size_t i = 0; i < depends.paths.count; i++)
        buf_format(&paths, "[%s]", depends.paths.items[i]);
    assert_string_equal(buf_text(&paths), expected);
    buf_fini(&paths);
    depends_fini(&depends);
}

static void headers_are_listed_without_the_source(void **state)
{
    (void)state;
    assert_paths("job: a.c\n", "");
    assert_paths("job: a.c x.h /usr/include/y.h\n", "[x.h][/usr/include/y.h]");
    assert_paths("job: a.c \\\n x.h \\\n  y.h\n", "[x.h][y.h]");
    assert_paths("job: a.c x.h", "[x.h]");
    assert_paths("job: my\\ words.c my\\ header.h a\\#b.h c$$d.h e\\\\f.h\n",
                 "[my header.h][a#b.h][c$d.h][e\\f.h]");
    assert_paths("job: a.c\\\n x.h\\\n", "[x.h]");
}

static void what_is_no_list_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "\n", "job", "job:", "job: \\\n", "job a.c b.h\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct depends depends = {0};
        assert_int_equal(depends_parse(&depends, weft_text(wrong[i])), WEFT_INVALID_ARGUMENT);
        depends_fini(&depends);
    }
}

static void headers_beside_the_source_move_with_it(void **state)
{
    (void)state;
    struct depends depends = {0};
    struct buf path = {0}, text = {0};
    assert_int_equal(
        depends_parse(&depends, weft_text("job: d/a.c d/x.h d/../y.h /abs/z.h e/w.h\n")), WEFT_OK);
    assert_int_equal(depends_make_relative(&depends, "d/a.c"), WEFT_OK);
    assert_int_equal(depends_format(&depends, &text), WEFT_OK);
    assert_string_equal(buf_text(&text), "<src>/x.h\n<src>/../y.h\n/abs/z.h\ne/w.h\n");
    assert_int_equal(depends_locate("<src>/x.h", "other/a.c", &path), WEFT_OK);
    assert_string_equal(buf_text(&path), "other/x.h");
    assert_int_equal(depends_locate("<src>/x.h", "a.c", &path), WEFT_OK);
    assert_string_equal(buf_text(&path), "x.h");
    assert_int_equal(depends_locate("/abs/z.h", "other/a.c", &path), WEFT_OK);
    assert_string_equal(buf_text(&path), "/abs/z.h");
    struct depends again = {0};
    assert_int_equal(depends_read(&again, buf_bytes(&text)), WEFT_OK);
    assert_int_equal(again.paths.count, 4);
    assert_string_equal(again.paths.items[3], "e/w.h");
    depends_fini(&again);
    depends_fini(&depends);
    buf_fini(&path);
    buf_fini(&text);
}

static void a_source_without_a_directory_has_its_headers_here(void **state)
{
    (void)state;
    struct depends depends = {0};
    assert_int_equal(depends_parse(&depends, weft_text("job: a.c x.h /abs/z.h\n")), WEFT_OK);
    assert_int_equal(depends_make_relative(&depends, "a.c"), WEFT_OK);
    assert_string_equal(depends.paths.items[0], "<src>/x.h");
    assert_string_equal(depends.paths.items[1], "/abs/z.h");
    depends_fini(&depends);
}

static void a_name_that_cannot_be_kept_is_told(void **state)
{
    (void)state;
    struct depends depends = {0};
    struct buf text = {0};
    char *name = strdup("two\nlines.h");
    assert_true(VEC_PUSH(&depends.paths, name));
    assert_int_equal(depends_format(&depends, &text), WEFT_INVALID_ARGUMENT);
    depends_fini(&depends);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_listed_without_the_source),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(headers_beside_the_source_move_with_it),
        cmocka_unit_test(a_source_without_a_directory_has_its_headers_here),
        cmocka_unit_test(a_name_that_cannot_be_kept_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
