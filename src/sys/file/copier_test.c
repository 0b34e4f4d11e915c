// Tests of sys/copier with real pipes: slow readers, readers that leave, and an owner that stops it.

#include "sys/file/copier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/file/file.h"

enum { SIZE = 3 << 20 };

static int file;
static char *content;
static atomic_int halts;

static void count_halt(void *owner)
{
    (void)owner;
    atomic_fetch_add(&halts, 1);
}

static int make_file(void **state)
{
    (void)state;
    content = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        content[i] = (char)(i * 31 + (i >> 12));
    atomic_store(&halts, 0);
    return file_create_nameless("/tmp", &file) == WEFT_OK &&
                   file_write_at(file, "f", content, SIZE, 0) == WEFT_OK
               ? 0
               : -1;
}

static int close_file(void **state)
{
    (void)state;
    free(content);
    close(file);
    return 0;
}

static struct copier *start(int to)
{
    struct copier *copier = copier_new(&(struct copier_spec){
        .from = file, .to = to, .to_name = "the reader", .halted = count_halt});
    assert_non_null(copier);
    return copier;
}

struct reader {
    int fd;
    size_t wanted;  // leaves after this many bytes
    size_t got;
    bool is_right;
    pthread_t thread;
};

static void *read_all(void *argument)
{
    struct reader *reader = argument;
    reader->is_right = true;
    while (reader->got < reader->wanted) {
        char data[5000];
        const size_t room = reader->wanted - reader->got;
        const ssize_t n = read(reader->fd, data, room < sizeof data ? room : sizeof data);
        if (n <= 0)
            break;
        reader->is_right &= memcmp(data, content + reader->got, (size_t)n) == 0;
        reader->got += (size_t)n;
    }
    close(reader->fd);
    return NULL;
}

static void start_reader(struct reader *reader)
{
    assert_int_equal(pthread_create(&reader->thread, NULL, read_all, reader), 0);
}

static void copy_in_steps(int to, struct reader *reader)
{
    struct copier *copier = start(to);
    start_reader(reader);
    for (uint64_t size = 0; size < SIZE; size += 300001)
        copier_extend(copier, size);
    copier_extend(copier, SIZE);
    assert_int_equal(copier_wait(copier), WEFT_OK);
    assert_true(copier_is_idle(copier));
    assert_int_equal(copier_bytes_out(copier), SIZE);
    copier_free(copier);
    close(to);
    pthread_join(reader->thread, NULL);
    assert_true(reader->is_right);
    assert_int_equal(reader->got, SIZE);
    assert_true(atomic_load(&halts) >= 1);
}

static void a_pipe_gets_every_byte_in_order(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    copy_in_steps(ends[1], &(struct reader){.fd = ends[0], .wanted = SIZE + 1});
}

static void a_socket_gets_every_byte_in_order(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    copy_in_steps(ends[1], &(struct reader){.fd = ends[0], .wanted = SIZE + 1});
}

static void a_file_for_appending_gets_every_byte_behind_its_end(void **state)
{
    (void)state;
    char path[] = "/tmp/weft-copier-test-XXXXXX";
    const int to = mkostemp(path, O_APPEND);
    assert_int_equal(write(to, "before", 6), 6);
    struct copier *copier = start(to);
    copier_extend(copier, SIZE);
    assert_int_equal(copier_wait(copier), WEFT_OK);
    copier_free(copier);
    char *got = malloc(SIZE);
    assert_int_equal(pread(to, got, SIZE, 6), SIZE);
    assert_memory_equal(got, content, SIZE);
    assert_int_equal(lseek(to, 0, SEEK_END), SIZE + 6);
    free(got);
    close(to);
    unlink(path);
}

static void others_may_write_to_the_same_file(void **state)
{
    (void)state;
    char path[] = "/tmp/weft-copier-test-XXXXXX";
    const int to = mkstemp(path), other = dup(to);
    struct copier *copier = start(to);
    size_t others = 0;
    for (uint64_t size = 0; size <= SIZE; size += SIZE / 64) {
        copier_extend(copier, size);
        others += (size_t)write(other, "other\n", 6);
    }
    assert_int_equal(copier_wait(copier), WEFT_OK);
    copier_free(copier);
    // Nothing was written over: the file has the bytes of both.
    assert_int_equal(lseek(to, 0, SEEK_END), SIZE + others);
    close(other);
    close(to);
    unlink(path);
}

static void only_what_is_final_is_copied(void **state)
{
    (void)state;
    int ends[2];
    char data[64];
    assert_int_equal(pipe(ends), 0);
    struct copier *copier = start(ends[1]);
    assert_true(copier_is_idle(copier));
    copier_extend(copier, 10);
    assert_int_equal(copier_wait(copier), WEFT_OK);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    assert_int_equal(read(ends[0], data, sizeof data), 10);
    assert_int_equal(read(ends[0], data, sizeof data), -1);
    assert_int_equal(copier_bytes_out(copier), 10);
    copier_free(copier);
    close(ends[0]);
    close(ends[1]);
}

static void a_reader_that_leaves_is_no_failure(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct copier *copier = start(ends[1]);
    struct reader reader = {.fd = ends[0], .wanted = 1000};
    start_reader(&reader);
    copier_extend(copier, SIZE);
    assert_int_equal(copier_wait(copier), WEFT_OK);
    assert_true(copier_reader_left(copier));
    assert_true(copier_is_idle(copier));
    copier_extend(copier, SIZE);
    pthread_join(reader.thread, NULL);
    assert_true(reader.is_right);
    copier_free(copier);
    close(ends[1]);
}

static void a_reader_that_does_not_read_cannot_hold_it(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct copier *copier = start(ends[1]);
    copier_extend(copier, SIZE);
    usleep(20000);  // it is stuck in the full pipe by now, or soon
    assert_false(copier_is_idle(copier));
    copier_free(copier);
    close(ends[0]);
    close(ends[1]);
}

static void a_full_device_is_an_error_that_names_it(void **state)
{
    (void)state;
    const int full = open("/dev/full", O_WRONLY);
    if (full < 0)
        skip();
    struct copier *copier = start(full);
    copier_extend(copier, SIZE);
    assert_int_equal(copier_wait(copier), WEFT_RESOURCE_EXHAUSTED);
    assert_string_equal(err_text(),
                        "cannot write the reader: no space left on device\n"
                        "  try: make room there (df -h shows the disks), or write elsewhere");
    assert_int_equal(copier_error(copier), WEFT_RESOURCE_EXHAUSTED);
    assert_false(copier_reader_left(copier));
    copier_free(copier);
    close(full);
}

static void one_that_never_had_work_ends_at_once(void **state)
{
    (void)state;
    struct copier *copier = start(2);
    copier_extend(copier, 0);
    assert_int_equal(copier_wait(copier), WEFT_OK);
    copier_free(copier);
    copier_free(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_file, close_file)
    const struct CMUnitTest tests[] = {
        TEST(a_pipe_gets_every_byte_in_order),
        TEST(a_socket_gets_every_byte_in_order),
        TEST(a_file_for_appending_gets_every_byte_behind_its_end),
        TEST(others_may_write_to_the_same_file),
        TEST(only_what_is_final_is_copied),
        TEST(a_reader_that_leaves_is_no_failure),
        TEST(a_reader_that_does_not_read_cannot_hold_it),
        TEST(a_full_device_is_an_error_that_names_it),
        TEST(one_that_never_had_work_ends_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
