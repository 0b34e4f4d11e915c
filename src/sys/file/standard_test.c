// Tests of sys/standard: the kind of a descriptor decides how the answer is written.

#include "sys/file/standard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/thread/bell.h"
#include "sys/time/clock.h"

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
    const int own =
        fcntl(ends[1], F_DUPFD_CLOEXEC, 3);  // a user who names its number means another
    assert_int_equal(kind_of(own), STANDARD_CLOSED);
    close(own);
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

static void *read_one_byte(void *path)
{
    char byte = 0;
    usleep(30000);
    const int fd = open(path, O_RDONLY);
    const ssize_t got = read(fd, &byte, 1);
    close(fd);
    return (void *)(intptr_t)(got == 1 && byte == 'x');
}

static void a_fifo_waits_for_its_reader_within_the_limit(void **state)
{
    (void)state;
    char folder[] = "/tmp/weft-standard-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd;
    const struct wait_limit soon = {.deadline_ns = clock_now_ns() + 20000000};
    assert_int_equal(standard_open_stream(path, &soon, &fd), WEFT_DEADLINE_EXCEEDED);
    struct bell bell;
    assert_int_equal(bell_init(&bell), WEFT_OK);
    bell_ring(&bell);
    const struct wait_limit stopped = {.stop_fd = bell.fd};
    assert_int_equal(standard_open_stream(path, &stopped, &fd), WEFT_CANCELLED);
    bell_fini(&bell);
    pthread_t reader;
    void *has_read;
    assert_int_equal(pthread_create(&reader, NULL, read_one_byte, path), 0);
    assert_int_equal(standard_open_stream(path, &(struct wait_limit){0}, &fd), WEFT_OK);
    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(write(fd, "x", 1), 1);
    pthread_join(reader, &has_read);
    assert_true(has_read);
    close(fd);
    unlink(path);
    rmdir(folder);
    assert_int_equal(standard_open_stream(path, &(struct wait_limit){0}, &fd), WEFT_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_known),
        cmocka_unit_test(a_duplicate_shares_the_position),
        cmocka_unit_test(names_of_descriptors_are_known),
        cmocka_unit_test(a_fifo_waits_for_its_reader_within_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
