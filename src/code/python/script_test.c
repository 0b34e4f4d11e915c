// Tests of a job of Python that came from another machine: its words, and the Python of this one.

#include "code/python/python.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct python_here here = {.interpreter = "/here/python3", .package = "/here/weft"};

static void settle(const char *const *words, const char *const *expected, weft_err code)
{
    char *list[16];
    size_t count = 0;
    for (; words[count]; count++)
        list[count] = strdup(words[count]);
    assert_int_equal(python_settle_words(&here, "/job \"1\"", list, count), code);
    for (size_t i = 0; i < count; i++) {
        if (code == WEFT_OK)
            assert_string_equal(list[i], expected[i]);
        free(list[i]);
    }
}

static void words_name_the_files_of_this_machine(void **state)
{
    (void)state;
    settle((const char *const[]){"-K", "sum,typed", "-P", "/there/python3", "-L", "/there/weft",
                                 "-S", "/there/wc.py", "-S", "cut.py", "-J", "{\"a\": \"\\udcff\"}",
                                 NULL},
           (const char *const[]){"-K", "sum,typed", "-P", "/here/python3", "-L", "/here/weft", "-S",
                                 "/job \"1\"/wc.py", "-S", "/job \"1\"/cut.py", "-J",
                                 "{\"here\":\"/job \\\"1\\\"\",\"a\": \"\\udcff\"}", NULL},
           WEFT_OK);
    settle((const char *const[]){"-Q", "-P", "x", NULL},
           (const char *const[]){"-Q", "-P", "/here/python3", NULL}, WEFT_OK);
}

static void a_path_keeps_its_part_after_the_mark(void **state)
{
    static const char *const names[][2] = {
        {"/a/b/c.py", "c.py"},         {"c.py", "c.py"},     {"/a/./b/c.py", "b/c.py"},
        {"/a/./b/./c/d.py", "c/d.py"}, {"./b/c.py", "c.py"}, {"/a/.b/c.py", "c.py"},
        {"/a/././c.py", "c.py"},       {"/a/./", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(python_name_there(names[i][0]), names[i][1]);
    settle((const char *const[]){"-S", "/of/./tools/cut.py", NULL},
           (const char *const[]){"-S", "/job \"1\"/tools/cut.py", NULL}, WEFT_OK);
}

static void other_words_are_refused(void **state)
{
    static const char *const wrong[] = {"", "-", "word", "-KK", "-Z", "-S", "--"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        settle((const char *const[]){"-K", "sum", wrong[i], NULL}, NULL, WEFT_INVALID_ARGUMENT);
}

// The package is beside the command in a build tree, where a test does not look.
static void another_version_is_refused(void **state)
{
    void *here_again = NULL;
    const char *build = getenv("WEFT_BUILD");
    char path[512];
    (void)state;
    snprintf(path, sizeof path, "%s/python", build ? build : "build");
    setenv("PYTHONPATH", path, 1);
    const weft_err code = python_find_here("0.0.1", &here_again);
    python_free_here(here_again);
    if (code == WEFT_UNIMPLEMENTED || strstr(weft_error(), "no package weft that works"))
        skip();
    assert_int_equal(code, WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(weft_error(), "that of the server is 0.0.1"));
    assert_int_equal(python_find_here(weft_version(), &here_again), WEFT_OK);
    assert_int_equal(((const struct python_here *)here_again)->package[0], '/');
    python_free_here(here_again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_name_the_files_of_this_machine),
        cmocka_unit_test(a_path_keeps_its_part_after_the_mark),
        cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(another_version_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
