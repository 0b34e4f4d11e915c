// Tests of sys/command with real programs.

#include "sys/process/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file/file.h"

static void programs_are_found_on_the_path(void **state)
{
    (void)state;
    char *path;
    assert_int_equal(command_find("sh", &path), WEFT_OK);
    assert_int_equal(path[0], '/');
    free(path);
    assert_int_equal(command_find("/bin/sh", &path), WEFT_OK);
    assert_string_equal(path, "/bin/sh");
    free(path);
    assert_int_equal(command_find("no-such-program-here", &path), WEFT_NOT_FOUND);
    assert_null(path);
    assert_int_equal(command_find("/dev/null", &path), WEFT_NOT_FOUND);
    assert_int_equal(command_find("/", &path), WEFT_NOT_FOUND);
}

static int run_shell(const char *script, int output)
{
    int exit_code = -1;
    assert_int_equal(command_run("/bin/sh", (char *const[]){"sh", "-c", (char *)script, NULL},
                                 output, &exit_code),
                     WEFT_OK);
    return exit_code;
}

static void the_end_of_a_program_is_told(void **state)
{
    (void)state;
    assert_int_equal(run_shell("exit 0", -1), 0);
    assert_int_equal(run_shell("exit 3", -1), 3);
    assert_int_equal(run_shell("kill -9 $$", -1), 137);
    int exit_code;
    assert_int_equal(command_run("/no/such", (char *const[]){"such", NULL}, -1, &exit_code),
                     WEFT_OK);
    assert_int_equal(exit_code, 127);
}

static void what_it_prints_goes_where_we_say_and_it_reads_nothing(void **state)
{
    (void)state;
    int fd;
    char text[64] = "";
    size_t got;
    assert_int_equal(file_create_nameless("/tmp", &fd), WEFT_OK);
    assert_int_equal(run_shell("cat; echo out; echo err >&2", fd), 0);
    assert_int_equal(file_read_at(fd, "f", text, sizeof text - 1, 0, &got), WEFT_OK);
    assert_string_equal(text, "out\nerr\n");
    file_close(fd);
}

static void becoming_what_is_no_program_fails_and_returns(void **state)
{
    (void)state;
    assert_int_equal(command_become("/no/such", (char *const[]){"such", NULL}), WEFT_NOT_FOUND);
    assert_int_equal(command_become("/dev/null", (char *const[]){"null", NULL}),
                     WEFT_PERMISSION_DENIED);
}

static void we_know_where_we_are(void **state)
{
    (void)state;
    char *path;
    assert_int_equal(command_own_path(&path), WEFT_OK);
    assert_non_null(strstr(path, "command"));
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_found_on_the_path),
        cmocka_unit_test(the_end_of_a_program_is_told),
        cmocka_unit_test(what_it_prints_goes_where_we_say_and_it_reads_nothing),
        cmocka_unit_test(becoming_what_is_no_program_fails_and_returns),
        cmocka_unit_test(we_know_where_we_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
