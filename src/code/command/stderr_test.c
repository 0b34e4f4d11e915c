// Tests of recognizing the kinds of lines on a command's standard error.

#include "code/command/stderr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct command_stderr err;
static char counted[256];
static FILE *passed;

static void count(void *owner, const char *name, int64_t amount)
{
    assert_ptr_equal(owner, counted);
    const size_t used = strlen(counted);
    snprintf(counted + used, sizeof counted - used, "%s=%lld ", name, (long long)amount);
}

static char said[256];

static void tell(void *owner, weft_bytes status)
{
    assert_ptr_equal(owner, counted);
    snprintf(said, sizeof said, "%.*s", (int)status.size, status.data);
}

static int set_up(void **state)
{
    (void)state;
    counted[0] = 0;
    passed = tmpfile();
    command_stderr_init(&err, passed ? fileno(passed) : -1, count, counted);
    err.tell = tell;
    command_stderr_begin(&err);
    err.begun_ns = 0;  // it has lived long enough
    return passed ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    command_stderr_fini(&err);
    return fclose(passed);
}

static void take(const char *text)
{
    command_stderr_take(&err, weft_text(text));
}

static void expect_passed(const char *expected)
{
    char text[1024];
    const ssize_t size = pread(fileno(passed), text, sizeof text - 1, 0);
    assert_true(size >= 0);
    text[size] = 0;
    assert_string_equal(text, expected);
}

static void expect_tail(size_t bytes_max, const char *expected)
{
    struct buf text = {0};
    assert_true(command_stderr_append_tail(&err, bytes_max, &text));
    assert_string_equal(buf_text(&text), expected);
    buf_fini(&text);
}

static void counters_are_counted_and_not_shown(void **state)
{
    (void)state;
    take("reporter:counter:Words,seen,3\nreporter:counter:a b,c,-1\n");
    take("reporter:counter: Words,seen,+4 \r\n");
    assert_string_equal(counted, "Words.seen=3 a b.c=-1 Words.seen=4 ");
    expect_passed("");
    struct buf none = {0};
    assert_false(command_stderr_append_tail(&err, 100, &none));
}

static void what_is_no_counter_is_shown_as_it_is(void **state)
{
    (void)state;
    const char text[] = "reporter:counter:Words,seen\nreporter:counter:a,b,c,1\n"
                        "reporter:counter:a,b,many\nreporter:else\n reporter:counter:a,b,1\n";
    take(text);
    assert_string_equal(counted, "");
    expect_passed(text);
}

static void a_status_is_told_and_not_shown(void **state)
{
    (void)state;
    take("reporter:status:one\nreporter:status: half done \n");
    assert_string_equal(said, "half done");
    expect_passed("");
}

static void lines_are_passed_on_whole_wherever_reads_cut_them(void **state)
{
    (void)state;
    take("rep");
    take("orter:counter:a,b");
    take(",5\nTrace");
    expect_passed("");
    assert_string_equal(counted, "a.b=5 ");
    take("back\n  last");
    expect_passed("Traceback\n");
    command_stderr_end(&err);
    command_stderr_settle(&err, true);
    expect_passed("Traceback\n  last\n");
    expect_tail(100, "    Traceback\n      last\n");
}

static void the_tail_is_of_whole_lines_that_fit(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        char line[32];
        snprintf(line, sizeof line, "line %d\n", i);
        take(line);
    }
    expect_tail(40, "    line 1998\n    line 1999\n");
    take("a line that is rather long\n");
    expect_tail(14, "    ther long\n");
    assert_true(err.tail.size <= 2 * COMMAND_TAIL_BYTES);
}

static void a_flood_is_passed_on_to_its_last_byte(void **state)
{
    (void)state;
    command_stderr_begin(&err);  // it has only just begun: nothing was passed on so far
    char line[1001];
    memset(line, 'x', 999);
    strcpy(line + 999, "\n");
    for (int i = 0; i < 200; i++)
        take(line);
    take("reporter:counter:a,b,1\nlast\n");
    assert_string_equal(counted, "a.b=1 ");
    assert_true(err.shown.capacity <= 4 * COMMAND_HELD_BYTES_MAX);
    command_stderr_settle(&err, true);
    assert_int_equal(lseek(fileno(passed), 0, SEEK_END), 200 * 1000 + 5);
    expect_tail(9, "    last\n");
}

static void a_long_line_stays_one_line(void **state)
{
    (void)state;
    char piece[5001];
    memset(piece, 'y', 5000);
    piece[5000] = 0;
    for (int i = 0; i < 4; i++)
        take(piece);
    take("reporter:counter:a,b,1\nnext\n");
    command_stderr_settle(&err, true);
    assert_string_equal(counted, "");
    const off_t size = lseek(fileno(passed), 0, SEEK_END);
    assert_int_equal(size, 4 * 5000 + 23 + 5);
    char end[29] = {0};
    assert_int_equal(pread(fileno(passed), end, 28, size - 28), 28);
    assert_string_equal(end, "reporter:counter:a,b,1\nnext\n");
}

static void a_line_without_an_end_does_not_grow_for_ever(void **state)
{
    (void)state;
    char piece[1001];
    memset(piece, 'y', 1000);
    piece[1000] = 0;
    for (int i = 0; i < 1000; i++)
        take(piece);
    assert_true(err.open.size <= COMMAND_ERROR_LINE_BYTES_MAX);
    assert_true(err.open.capacity < 4 * COMMAND_ERROR_LINE_BYTES_MAX);
}

static void who_fails_at_once_is_not_heard_twice(void **state)
{
    (void)state;
    command_stderr_begin(&err);
    take("oops\n");
    command_stderr_end(&err);
    command_stderr_settle(&err, false);
    expect_passed("");
    expect_tail(100, "    oops\n");
    command_stderr_begin(&err);
    take("fine\n");
    expect_passed("");
    command_stderr_settle(&err, true);
    expect_passed("fine\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counters_are_counted_and_not_shown),
        TEST(who_fails_at_once_is_not_heard_twice),
        TEST(what_is_no_counter_is_shown_as_it_is),
        TEST(a_status_is_told_and_not_shown),
        TEST(lines_are_passed_on_whole_wherever_reads_cut_them),
        TEST(the_tail_is_of_whole_lines_that_fit),
        TEST(a_flood_is_passed_on_to_its_last_byte),
        TEST(a_long_line_stays_one_line),
        TEST(a_line_without_an_end_does_not_grow_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
