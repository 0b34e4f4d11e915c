// Tests of sys/spool with real pipes, FIFOs and redirected files; another process must be able to
// read the result by its path.

#include "sys/file/spool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/file/file.h"
#include "sys/file/folder_testing.h"
#include "sys/thread/bell.h"
#include "sys/time/clock.h"

static const struct spool_limits limits = {.tmp = testing_folder};

static void put(const char *path, const char *text)
{
    int fd;
    assert_int_equal(file_create(path, &fd), WEFT_OK);
    assert_int_equal(file_write(fd, path, text, strlen(text)), WEFT_OK);
    close(fd);
}

static void make_stdin(int fd)
{
    dup2(fd, STDIN_FILENO);
    close(fd);
}

// A child opens the path and compares.
static void assert_child_reads(const struct spool *spool, const char *expected)
{
    assert_int_equal(spool->size, strlen(expected));
    const pid_t child = fork();
    if (child == 0) {
        char data[256] = "";
        const int fd = open(spool->path, O_RDONLY);
        const ssize_t got = fd < 0 ? -1 : pread(fd, data, sizeof data, 0);
        _exit(got == (ssize_t)strlen(expected) && memcmp(data, expected, (size_t)got) == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_pipe_is_copied(void **state)
{
    (void)state;
    int ends[2];
    struct spool spool;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "from a pipe", 11), 11);
    close(ends[1]);
    make_stdin(ends[0]);
    assert_int_equal(spool_open_stdin(&spool, &limits), WEFT_OK);
    assert_child_reads(&spool, "from a pipe");
    spool_close(&spool);
}

static void a_redirected_file_is_used_as_it_is(void **state)
{
    (void)state;
    struct spool spool;
    struct stat file, same;
    put("f", "from a file");
    make_stdin(open("f", O_RDONLY));
    assert_int_equal(spool_open_stdin(&spool, &limits), WEFT_OK);
    assert_child_reads(&spool, "from a file");
    assert_int_equal(stat("f", &file), 0);
    assert_int_equal(fstat(spool.fd, &same), 0);
    assert_true(file.st_ino == same.st_ino);
    spool_close(&spool);
}

static void a_file_is_read_from_where_it_stands(void **state)
{
    (void)state;
    struct spool spool;
    put("f", "first\nsecond\n");
    make_stdin(open("f", O_RDONLY));
    lseek(STDIN_FILENO, 6, SEEK_SET);
    assert_int_equal(spool_open_stdin(&spool, &limits), WEFT_OK);
    assert_child_reads(&spool, "second\n");
    spool_close(&spool);
}

static void a_closed_input_and_a_directory_are_refused(void **state)
{
    (void)state;
    struct spool spool;
    close(STDIN_FILENO);
    assert_int_equal(spool_open_stdin(&spool, &limits), WEFT_FAILED_PRECONDITION);
    assert_int_equal(open("/dev/null", O_WRONLY), STDIN_FILENO);
    assert_int_equal(spool_open_stdin(&spool, &limits), WEFT_FAILED_PRECONDITION);
    make_stdin(open(".", O_RDONLY));
    assert_int_equal(spool_open_stdin(&spool, &limits), WEFT_INVALID_ARGUMENT);
    make_stdin(open("/dev/null", O_RDONLY));
    assert_int_equal(spool_open_stdin(&spool, &limits), WEFT_OK);
    assert_child_reads(&spool, "");
    spool_close(&spool);
}

static void *write_late(void *path)
{
    usleep(30000);
    const int fd = open(path, O_WRONLY);
    for (int i = 0; i < 3 && fd >= 0; i++) {
        if (write(fd, "late ", 5) != 5)
            break;
        usleep(5000);
    }
    close(fd);
    return NULL;
}

static void a_fifo_waits_for_its_writer(void **state)
{
    (void)state;
    pthread_t writer;
    struct spool spool;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_late, "fifo"), 0);
    assert_int_equal(spool_open(&spool, "fifo", &limits), WEFT_OK);
    pthread_join(writer, NULL);
    assert_child_reads(&spool, "late late late ");
    spool_close(&spool);
}

static void a_deadline_ends_the_waiting(void **state)
{
    (void)state;
    struct spool spool;
    const struct spool_limits soon = {.tmp = testing_folder,
                                      .wait.deadline_ns = clock_now_ns() + 20000000};
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(spool_open(&spool, "fifo", &soon), WEFT_DEADLINE_EXCEEDED);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    make_stdin(ends[0]);
    assert_int_equal(spool_open_stdin(&spool, &soon), WEFT_DEADLINE_EXCEEDED);
    assert_non_null(strstr(err_text(), "standard input"));
    close(ends[1]);
}

static void a_bell_ends_the_waiting(void **state)
{
    (void)state;
    struct spool spool;
    struct bell bell;
    assert_int_equal(bell_init(&bell), WEFT_OK);
    bell_ring(&bell);
    const struct spool_limits stopped = {.tmp = testing_folder, .wait.stop_fd = bell.fd};
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(spool_open(&spool, "fifo", &stopped), WEFT_CANCELLED);
    // Also where there is always more to read.
    assert_int_equal(spool_open(&spool, "/dev/zero", &stopped), WEFT_CANCELLED);
    bell_fini(&bell);
}

static void our_own_names_are_known(void **state)
{
    (void)state;
    struct spool spool;
    assert_true(spool_is_own_name("/dev/stdin"));
    assert_true(spool_is_own_name("/dev/fd/63"));
    assert_true(spool_is_own_name("/proc/self/fd/3"));
    assert_false(spool_is_own_name("/dev/null"));
    assert_false(spool_is_own_name("stdin"));
    put("f", "by number");
    char path[32];
    const int fd = open("f", O_RDONLY);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    assert_int_equal(spool_open(&spool, path, &limits), WEFT_OK);
    assert_child_reads(&spool, "by number");
    spool_close(&spool);
    close(fd);
    assert_int_equal(spool_open(&spool, "none", &limits), WEFT_NOT_FOUND);
}

static void a_place_that_is_full_or_missing_is_told(void **state)
{
    (void)state;
    struct spool spool;
    const struct spool_limits nowhere = {.tmp = "nowhere"};
    assert_int_equal(spool_open(&spool, "/dev/null", &nowhere), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "nowhere"));
    assert_int_equal(spool.fd, -1);
}

static void copying_ends_when_nobody_reads_the_answer(void **state)
{
    (void)state;
    int ends[2], answer[2];
    struct spool spool;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(answer), 0);
    make_stdin(ends[0]);  // its writer stays
    close(answer[0]);
    const struct spool_limits watching = {.tmp = testing_folder, .answer_fd = answer[1]};
    assert_int_equal(spool_open_stdin(&spool, &watching), WEFT_CANCELLED);
    close(answer[1]);
    close(ends[1]);
}

static void *write_until_closed(void *argument)
{
    static char data[1 << 16];
    const int fd = *(int *)argument;
    for (int i = 0; i < 1024 && write(fd, data, sizeof data) > 0; i++)
        ;
    close(fd);
    return NULL;
}

static weft_err copy_64_megabytes(uint64_t room_bytes_left)
{
    int ends[2];
    pthread_t writer;
    struct spool spool;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    make_stdin(ends[0]);
    assert_int_equal(pthread_create(&writer, NULL, write_until_closed, &ends[1]), 0);
    const struct spool_limits narrow = {.tmp = testing_folder, .room_bytes_left = room_bytes_left};
    const weft_err err = spool_open_stdin(&spool, &narrow);
    spool_close(&spool);
    dup2(testing_kept[STDIN_FILENO], STDIN_FILENO);
    pthread_join(writer, NULL);
    return err;
}

static void what_has_no_end_does_not_fill_the_disk(void **state)
{
    (void)state;
    assert_int_equal(copy_64_megabytes(1), WEFT_OK);
    assert_int_equal(copy_64_megabytes(UINT64_MAX), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "standard input has no end after 16 MB"));
    assert_non_null(strstr(err_text(), "try: --tmp DIR"));
}

static void little_is_copied_however_little_room_there_is(void **state)
{
    (void)state;
    int ends[2];
    struct spool spool;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "from a pipe", 11), 11);
    close(ends[1]);
    make_stdin(ends[0]);
    const struct spool_limits narrow = {.tmp = testing_folder, .room_bytes_left = UINT64_MAX};
    assert_int_equal(spool_open_stdin(&spool, &narrow), WEFT_OK);
    assert_child_reads(&spool, "from a pipe");
    spool_close(&spool);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_pipe_is_copied),
        TEST(a_redirected_file_is_used_as_it_is),
        TEST(a_file_is_read_from_where_it_stands),
        TEST(a_closed_input_and_a_directory_are_refused),
        TEST(a_fifo_waits_for_its_writer),
        TEST(a_deadline_ends_the_waiting),
        TEST(a_bell_ends_the_waiting),
        TEST(our_own_names_are_known),
        TEST(a_place_that_is_full_or_missing_is_told),
        TEST(little_is_copied_however_little_room_there_is),
        TEST(what_has_no_end_does_not_fill_the_disk),
        TEST(copying_ends_when_nobody_reads_the_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
