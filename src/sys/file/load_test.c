// Tests of reading whole files.

#include "sys/file/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "sys/file/folder_testing.h"

static void a_file_is_appended_up_to_the_limit(void **state)
{
    (void)state;
    FILE *file = fopen(testing_path("whole"), "w");
    assert_non_null(file);
    assert_int_equal(fputs("warp and weft", file) < 0, 0);
    assert_int_equal(fclose(file), 0);
    struct buf text = {0};
    assert_int_equal(file_load(testing_path("whole"), 4, &text), WEFT_OK);
    assert_int_equal(file_load(testing_path("whole"), 100, &text), WEFT_OK);
    assert_string_equal(buf_text(&text), "warpwarp and weft");
    buf_fini(&text);
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    struct buf text = {0};
    const char *source = NULL;
    assert_int_equal(file_load(testing_path("missing"), 100, &text), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "missing"));
    err_clear();
    assert_int_equal(file_load_argument(testing_path("missing"), 100, &text, &source),
                     WEFT_NOT_FOUND);
    assert_string_equal(source, testing_path("missing"));
    err_clear();
    buf_fini(&text);
}

static void a_dash_is_standard_input(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "{}", 2), 2);
    close(ends[1]);
    const int before = dup(STDIN_FILENO);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    struct buf text = {0};
    const char *source = NULL;
    assert_int_equal(file_load_argument("-", 100, &text, &source), WEFT_OK);
    assert_string_equal(buf_text(&text), "{}");
    assert_string_equal(source, "standard input");
    if (before >= 0) {
        dup2(before, STDIN_FILENO);
        close(before);
    }
    close(ends[0]);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_appended_up_to_the_limit),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(a_dash_is_standard_input),
    };
    return cmocka_run_group_tests(tests, testing_make_folder, testing_remove_folder);
}
