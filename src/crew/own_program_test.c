// Tests of programs that travel with a run.
#include "crew/own_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/file/folder_testing.h"

static const char *find(const char *program, const char *directory)
{
    const char *target;
    assert_int_equal(own_program_find(program, directory, &target), WEFT_OK);
    return target;
}

static void files_of_this_directory_travel(void **state)
{
    (void)state;
    FILE *file = fopen(testing_path("count"), "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(chdir(testing_folder), 0);
    assert_string_equal(find("./count", NULL), "count");
    assert_string_equal(find("././count", NULL), "count");
    assert_null(find("./count", "/srv"));  // --cd: a path of the hosts
    assert_null(find("count", NULL));      // looked for in PATH there
    assert_null(find("./missing", NULL));
    assert_null(find("/bin/sh", NULL));
    assert_int_equal(chdir("/"), 0);
}

static void one_above_this_directory_is_refused(void **state)
{
    (void)state;
    const char *target;
    FILE *file = fopen(testing_path("count"), "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(mkdir(testing_path("below"), 0700), 0);
    assert_int_equal(chdir(testing_path("below")), 0);
    assert_int_equal(own_program_find("../count", NULL, &target), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "try: --file ../count, and the program ./count"));
    err_clear();
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(testing_path("below")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_of_this_directory_travel, testing_make_folder,
                                        testing_remove_folder),
        cmocka_unit_test_setup_teardown(one_above_this_directory_is_refused, testing_make_folder,
                                        testing_remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
