// Tests of sys/standard: what a descriptor is told to be decides how the answer is written.

#include "sys/standard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

static enum standard_kind kind_of(int fd)
{
    enum standard_kind kind;
    assert_int_equal(standard_look(fd, &kind), WEFT_OK);
    return kind;
}

static void every_kind_is_known(void **state)
{
    (void)state;
    int ends[2];
    char path[] = "/tmp/weft-standard-test-XXXXXX";
    assert_int_equal(pipe(ends), 0);
    const int file = mkstemp(path);
    const int appending = open(path, O_WRONLY | O_APPEND), reading = open(path, O_RDONLY);
    const int null = open("/dev/null", O_WRONLY), full = open("/dev/full", O_WRONLY);
    assert_int_equal(kind_of(9999), STANDARD_CLOSED);
    assert_int_equal(kind_of(reading), STANDARD_CLOSED);
    assert_int_equal(kind_of(file), STANDARD_STREAM);
    assert_int_equal(kind_of(appending), STANDARD_STREAM);
    assert_int_equal(kind_of(ends[1]), STANDARD_STREAM);
    assert_int_equal(kind_of(null), STANDARD_NULL);
    assert_int_equal(kind_of(full), STANDARD_STREAM);
    assert_false(standard_is_terminal(file));
    assert_int_equal(standard_columns(file), 80);
    const int all[] = {file, appending, reading, null, full, ends[0], ends[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        close(all[i]);
    unlink(path);
}

static void a_duplicate_shares_the_position(void **state)
{
    (void)state;
    char path[] = "/tmp/weft-standard-test-XXXXXX";
    const int file = mkstemp(path);
    assert_int_equal(write(file, "0123", 4), 4);
    const int copy = standard_duplicate(file);
    assert_true(copy > 2);
    assert_int_equal(write(copy, "x", 1), 1);
    assert_int_equal(lseek(file, 0, SEEK_CUR), 5);
    assert_int_equal(standard_duplicate(9999), -1);
    close(copy);
    close(file);
    unlink(path);
}

static void names_of_descriptors_are_known(void **state)
{
    (void)state;
    assert_int_equal(standard_number("/dev/stdin"), 0);
    assert_int_equal(standard_number("/dev/stdout"), 1);
    assert_int_equal(standard_number("/dev/fd/2"), 2);
    assert_int_equal(standard_number("/proc/self/fd/17"), 17);
    assert_int_equal(standard_number("/proc/thread-self/fd/3"), 3);
    static const char *const others[] = {"",           "/dev/stdout/",  "/dev/fd/",
                                         "/dev/fd/1x", "dev/fd/1",      "/dev/fd/-1",
                                         "/dev/null",  "/proc/self/fd", "/dev/fd/99999999999"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(standard_number(others[i]), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_known),
        cmocka_unit_test(a_duplicate_shares_the_position),
        cmocka_unit_test(names_of_descriptors_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
