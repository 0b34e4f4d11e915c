// Tests of the places where the static command is looked for.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sys/file/folder_testing.h"
#include "sys/process/lean.h"

static void make_program(const char *name, unsigned mode)
{
    int fd;
    assert_int_equal(file_create(testing_path(name), &fd), WEFT_OK);
    assert_int_equal(file_set_mode(fd, name, mode), WEFT_OK);
    file_close(fd);
}

static void the_one_that_is_named_is_taken(void **state)
{
    char *path;
    (void)state;
    make_program("mine", 0755);
    setenv("WEFT_LEAN", testing_path("mine"), 1);
    assert_int_equal(lean_find(&path), WEFT_OK);
    assert_string_equal(path, testing_path("mine"));
    free(path);
    unsetenv("WEFT_LEAN");
}

static void one_that_is_named_and_not_a_program_is_refused(void **state)
{
    char *path;
    (void)state;
    make_program("text", 0644);
    setenv("WEFT_LEAN", testing_path("text"), 1);
    assert_int_equal(lean_find(&path), WEFT_NOT_FOUND);
    assert_null(path);
    unsetenv("WEFT_LEAN");
}

static void a_program_without_one_names_the_places(void **state)
{
    char *path;
    (void)state;
#ifdef WEFT_STATIC
    skip();
#endif
    // This test stands in build/tests, where there is none.
    assert_int_equal(lean_find(&path), WEFT_NOT_FOUND);
    assert_null(path);
    assert_non_null(strstr(err_text(), "/tests and "));
    assert_non_null(strstr(err_text(), "lib/weft"));
}

int main(void)
{
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, testing_make_folder, testing_remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(the_one_that_is_named_is_taken),
        IN_FOLDER(one_that_is_named_and_not_a_program_is_refused),
        cmocka_unit_test(a_program_without_one_names_the_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
