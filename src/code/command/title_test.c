// Tests of what a job of commands is called.

#include "code/command/title.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/args.h"
#include "code/command/command.h"

static void expect_title(const char *const *words, size_t count, const char *expected)
{
    struct weft_args args = {0};
    char title[CODE_TITLE_BYTES];
    memset(title, 'x', sizeof title);
    assert_int_equal(args_parse_job(&command_job, (char *const *)words, count, &args), WEFT_OK);
    command_title(&args, title);
    assert_string_equal(title, expected);
    args_fini(&args);
}

#define EXPECT_TITLE(expected, ...)                                                                \
    expect_title((const char *const[]){__VA_ARGS__},                                               \
                 sizeof(const char *const[]){__VA_ARGS__} / sizeof(char *), expected)

static void a_job_is_called_like_its_mapper(void **state)
{
    (void)state;
    EXPECT_TITLE("cat", "-m", "cat", "-r", "uniq -c");
    EXPECT_TITLE("uniq -c", "-m", "", "-r", "uniq -c");
    EXPECT_TITLE("command", "-m", "", "-r", "");
    EXPECT_TITLE("a b", "-m", "  a\t\n b\n");
}

static void a_job_with_a_name_is_called_by_it(void **state)
{
    (void)state;
    EXPECT_TITLE("my words", "-e", "mapreduce_job_name=x", "-e", "mapreduce_job_name=my words",
                 "-m", "cat");
    EXPECT_TITLE("cat", "-e", "mapreduce_job_name=streaming", "-m", "cat");
}

static void a_long_one_is_cut_behind_a_whole_character(void **state)
{
    (void)state;
    EXPECT_TITLE("12345678901234567890123456789012345678901234567", "-m",
                 "12345678901234567890123456789012345678901234567");
    EXPECT_TITLE("12345678901234567890123456789012345678901234...", "-m",
                 "123456789012345678901234567890123456789012345678");
    EXPECT_TITLE("1234567890123456789012345678901234567890123...", "-m",
                 "1234567890123456789012345678901234567890123\xc3\xa4\xc3\xa4\xc3\xa4");
}

static void it_does_nothing_to_a_terminal(void **state)
{
    (void)state;
    EXPECT_TITLE("a [2J b c d \xc3\xa4", "-m",
                 "a\033[2J\r\nb\x7f"
                 "c\xc2\x9b\xff"
                 "d \xc3\xa4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_called_like_its_mapper),
        cmocka_unit_test(a_job_with_a_name_is_called_by_it),
        cmocka_unit_test(a_long_one_is_cut_behind_a_whole_character),
        cmocka_unit_test(it_does_nothing_to_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
