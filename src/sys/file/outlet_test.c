// Tests of outlet with real pipes: bytes that are not read yet are kept, a reader that has gone is reported.

#include "sys/file/outlet.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MANY = 1 << 20 };

static void append_many(struct outlet *outlet)
{
    char *block = malloc(MANY);
    assert_non_null(block);
    for (size_t i = 0; i < MANY; i++)
        block[i] = (char)('a' + i % 23);
    buf_append(&outlet->unsent, block, MANY);
    free(block);
}

static bool can_be_written(const struct outlet *outlet)
{
    struct pollfd event = {.fd = outlet->ready, .events = POLLIN};
    return poll(&event, 1, 0) == 1;
}

static void a_full_pipe_is_not_waited_for(void **state)
{
    (void)state;
    int ends[2];
    struct outlet outlet;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(outlet_open(&outlet, ends[1]), WEFT_OK);
    assert_true(can_be_written(&outlet));
    append_many(&outlet);
    size_t received = 0;
    do {
        char block[5000];
        assert_int_equal(outlet_flush(&outlet, "a pipe"), WEFT_OK);
        if (outlet_unsent(&outlet) > 0)
            assert_false(can_be_written(&outlet));
        const ssize_t got = read(ends[0], block, sizeof block);
        assert_true(got > 0);
        for (ssize_t i = 0; i < got; i++)
            assert_int_equal(block[i], 'a' + (received + (size_t)i) % 23);
        received += (size_t)got;
    } while (received < MANY);
    assert_int_equal(outlet_unsent(&outlet), 0);
    outlet_close(&outlet);
    close(ends[0]);
    close(ends[1]);
}

static void a_reader_that_has_gone_is_told(void **state)
{
    (void)state;
    int ends[2];
    struct outlet outlet;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(outlet_open(&outlet, ends[1]), WEFT_OK);
    close(ends[0]);
    append_many(&outlet);
    assert_int_equal(outlet_flush(&outlet, "a pipe"), WEFT_CANCELLED);
    assert_int_equal(outlet_unsent(&outlet), 0);
    outlet_close(&outlet);
    close(ends[1]);
}

static void a_file_takes_all_at_once(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    struct outlet outlet;
    assert_non_null(file);
    assert_int_equal(outlet_open(&outlet, fileno(file)), WEFT_OK);
    assert_int_equal(outlet.ready, -1);
    append_many(&outlet);
    assert_int_equal(outlet_flush(&outlet, "a file"), WEFT_OK);
    assert_int_equal(outlet_unsent(&outlet), 0);
    assert_int_equal(lseek(fileno(file), 0, SEEK_END), MANY);
    outlet_close(&outlet);
    fclose(file);
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    struct outlet outlet;
    const int fd = open("/dev/full", O_WRONLY);
    assert_int_equal(outlet_open(&outlet, fd), WEFT_OK);
    buf_append_text(&outlet.unsent, "x");
    assert_int_equal(outlet_flush(&outlet, "the log"), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "the log"));
    outlet_close(&outlet);
    close(fd);
}

static void two_ends_of_one_file_are_the_same(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const int copy = dup(ends[1]);
    assert_true(outlet_is_same(ends[1], copy));
    assert_false(outlet_is_same(ends[1], STDIN_FILENO));
    assert_false(outlet_is_same(ends[1], -1));
    close(copy);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_pipe_is_not_waited_for),
        cmocka_unit_test(a_reader_that_has_gone_is_told),
        cmocka_unit_test(a_file_takes_all_at_once),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(two_ends_of_one_file_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
