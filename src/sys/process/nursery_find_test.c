// nursery_find: a program is looked for before anything is started, and refused as its start would be.

#include "sys/process/nursery.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/nursery_find_test.XXXXXX";

static void make_file(const char *name, mode_t mode)
{
    const int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    close(fd);
}

static void expect(const char *program, weft_err code, const char *sentence)
{
    err_clear();
    assert_int_equal(nursery_find(program), code);
    assert_string_equal(err_text(), sentence);
}

static void what_can_be_started_is_found(void **state)
{
    (void)state;
    expect("sh", WEFT_OK, "");
    expect("/bin/sh", WEFT_OK, "");
    expect("./runs", WEFT_OK, "");
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    expect("no-such-program", WEFT_NOT_FOUND,
           "cannot start no-such-program: there is no such program in PATH");
    expect("./no-such-file", WEFT_NOT_FOUND, "cannot start ./no-such-file: there is no such file");
    expect("runs", WEFT_NOT_FOUND,
           "cannot start runs: there is no such program in PATH; try: ./runs");
}

static void what_is_no_program_is_named_with_the_cure(void **state)
{
    (void)state;
    expect("./data", WEFT_PERMISSION_DENIED,
           "cannot start ./data: it is not executable; try: chmod +x ./data");
    expect("/usr", WEFT_PERMISSION_DENIED, "cannot start /usr: it is a directory");
}

int main(void)
{
    if (!mkdtemp(directory) || chdir(directory) != 0)
        return 1;
    make_file("runs", 0755);
    make_file("data", 0644);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_started_is_found),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(what_is_no_program_is_named_with_the_cure),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink("runs");
    unlink("data");
    rmdir(directory);
    return failed;
}
