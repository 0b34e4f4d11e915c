// Tests of base/args: every way to write an option, whose a letter is, and the messages about mistakes.

#include "base/args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { SLOTS = 1, QUIET, MEMORY, SECRET };

static const struct args_option table[] = {
    {SLOTS, 'n', "slots", "N", "run N tasks at a time"},
    {QUIET, 'q', "quiet", NULL, "say nothing"},
    {MEMORY, 0, "memory", "SIZE", "never use more"},
    {SECRET, 's', NULL, NULL, NULL},
    {0},
};

// What the reader makes of the words, as one text: "n=2 q word:a job:k=3".
static const char *reading(const char *letters, char *const *words, size_t count)
{
    static char text[512];
    struct args_reader reader;
    struct args_item item;
    args_start(&reader, words, count, table);
    reader.job_letters = letters;
    size_t at = 0;
    text[0] = 0;
    for (;;) {
        const weft_err err = args_next(&reader, &item);
        if (err) {
            snprintf(text + at, sizeof text - at, "error %s", err_text());
            return text;
        }
        if (item.kind == ARGS_END)
            return text;
        const char *name = item.kind == ARGS_OPTION && item.option->name ? item.option->name : "s";
        const int size =
            item.kind == ARGS_WORD ? snprintf(text + at, sizeof text - at, "word:%s ", item.text)
            : item.kind == ARGS_OPTION
                ? snprintf(text + at, sizeof text - at, "%s=%s ", name, item.text)
                : snprintf(text + at, sizeof text - at, "job:%c=%s ", item.letter, item.text);
        at += (size_t)size;
    }
}

#define READS(letters, expected, ...)                                                              \
    do {                                                                                           \
        char *words[] = {__VA_ARGS__};                                                             \
        assert_string_equal(reading(letters, words, sizeof words / sizeof *words), expected);      \
    } while (0)

static void options_are_read_in_every_form(void **state)
{
    (void)state;
    READS(NULL, "slots=2 ", "-n", "2");
    READS(NULL, "slots=2 ", "-n2");
    READS(NULL, "slots=2 ", "--slots", "2");
    READS(NULL, "slots=2 ", "--slots=2");
    READS(NULL, "slots= ", "--slots=");
    READS(NULL, "quiet= s= slots=2 ", "-qsn2");
    READS(NULL, "quiet= slots=-2 ", "-q", "--slots", "-2");
    READS(NULL, "word:a slots=1 word:b ", "a", "-n1", "b");
}

static void a_dash_is_a_word_and_two_end_the_options(void **state)
{
    (void)state;
    READS(NULL, "word:- ", "-");
    READS(NULL, "quiet= word:-q word:-- word:--x ", "-q", "--", "-q", "--", "--x");
    READS(NULL, "word: ", "");
    READS(NULL, "slots=-- word:a ", "-n", "--", "a");
}

static void a_letter_of_the_job_wins(void **state)
{
    (void)state;
    READS("nk:", "job:n= word:2 ", "-n", "2");
    READS("nk:", "slots=2 ", "--slots", "2");
    READS("nk:", "job:n= job:k=3 quiet= ", "-nk3", "-q");
    READS("nk:", "job:k=-1 ", "-k", "-1");
    READS("nk:", "job:n= quiet= s= ", "-nqs");
}

static void mistakes_are_told_with_a_guess(void **state)
{
    (void)state;
    READS(NULL, "error unknown option --memmory\n  did you mean --memory?", "--memmory", "1");
    READS(NULL, "error unknown option --mem\n  did you mean --memory?", "--mem=1");
    READS(NULL, "error unknown option --zzz\n  try: -h shows all options", "--zzz");
    READS(NULL, "error unknown option -Z\n  try: -h shows all options", "-Z");
    READS(NULL, "quiet= error unknown option -Z\n  try: -h shows all options", "-qZ");
    READS(NULL, "error option --memory needs a value\n  write: --memory SIZE", "--memory");
    READS(NULL, "error option -n needs a value\n  write: -n N", "-n");
    READS("k:", "error option -k needs a value\n  write: -k VALUE", "-k");
    READS(NULL, "error option --quiet takes no value\n  write: --quiet", "--quiet=1");
    READS("k:", "error unknown option -:\n  try: -h shows all options", "-:");
}

static void a_guess_is_near_or_none(void **state)
{
    (void)state;
    static const char *const names[] = {"wordcount", "count", "sort", "grep", NULL};
    assert_string_equal(args_guess("wordcont", names), "wordcount");
    assert_string_equal(args_guess("word", names), "wordcount");
    assert_string_equal(args_guess("srot", names), "sort");
    assert_string_equal(args_guess("coutn", names), "count");
    assert_null(args_guess("x", names));
    assert_null(args_guess("", names));
    assert_null(args_guess("something", names));
}

static void help_lists_what_has_a_text(void **state)
{
    (void)state;
    struct buf buf = {0};
    args_format_help(&buf, table, NULL);
    assert_string_equal(buf_text(&buf), "  -n, --slots N         run N tasks at a time\n"
                                        "  -q, --quiet           say nothing\n"
                                        "      --memory SIZE     never use more\n");
    buf_fini(&buf);
}

static void help_breaks_long_texts_between_words(void **state)
{
    (void)state;
    static const struct args_option wordy[] = {
        {1, 0, "a-name-that-is-very-long", "AND-A-VALUE",
         "a text that goes on and on until it no longer fits in the line that it was begun in and "
         "is broken"},
        {0},
    };
    struct buf buf = {0};
    args_format_help(&buf, wordy, NULL);
    assert_string_equal(
        buf_text(&buf),
        "      --a-name-that-is-very-long AND-A-VALUE\n"
        "                        a text that goes on and on until it no longer fits in the line\n"
        "                        that it was begun in and is broken\n");
    buf_fini(&buf);
}

static void headings_are_shown_and_are_no_options(void **state)
{
    (void)state;
    static const struct args_option grouped[] = {
        {ARGS_HEADING, 0, NULL, NULL, "Talk"},
        {1, 'q', "quiet", NULL, "say nothing"},
        {ARGS_HEADING, 0, NULL, NULL, "More"},
        {2, 'v', "verbose", NULL, "say more"},
        {0},
    };
    struct buf buf = {0};
    args_format_help(&buf, grouped, NULL);
    assert_string_equal(buf_text(&buf), "Talk\n"
                                        "  -q, --quiet           say nothing\n"
                                        "More\n"
                                        "  -v, --verbose         say more\n");
    buf.size = 0;
    args_format_help(&buf, grouped, "Talk");
    assert_string_equal(buf_text(&buf), "More\n"
                                        "  -v, --verbose         say more\n");
    buf_fini(&buf);
    char *words[] = {"-v", "--Talk"};
    struct args_reader reader;
    struct args_item item;
    args_start(&reader, words, 2, grouped);
    assert_int_equal(args_next(&reader, &item), WEFT_OK);
    assert_int_equal(item.option->id, 2);
    assert_int_equal(args_next(&reader, &item), WEFT_INVALID_ARGUMENT);
}

static void a_job_sees_its_options_and_arguments_in_order(void **state)
{
    (void)state;
    const weft_job job = {.name = "grep", .options = "ie:", .arguments = 2};
    char *words[] = {"-e", "a", "first", "-i", "-eb", "--", "-second"};
    struct weft_args args = {0};
    assert_int_equal(args_parse_job(&job, words, 7, &args), WEFT_OK);
    assert_string_equal(weft_option(&args, 'e', 0), "a");
    assert_string_equal(weft_option(&args, 'e', 1), "b");
    assert_null(weft_option(&args, 'e', 2));
    assert_string_equal(weft_option(&args, 'i', 0), "");
    assert_null(weft_option(&args, 'i', 1));
    assert_null(weft_option(&args, 'x', 0));
    assert_null(weft_option(&args, 'e', -1));
    assert_string_equal(weft_argument(&args, 0), "first");
    assert_string_equal(weft_argument(&args, 1), "-second");
    assert_null(weft_argument(&args, 2));
    assert_null(weft_argument(&args, -1));
    args_fini(&args);
    assert_null(weft_option(NULL, 'e', 0));
    assert_null(weft_argument(NULL, 0));
}

static void a_job_refuses_what_it_does_not_know(void **state)
{
    (void)state;
    const weft_job job = {.name = "grep", .options = "i", .arguments = 1};
    struct weft_args args = {0};
    assert_int_equal(args_parse_job(&job, (char *[]){"-x", "a"}, 2, &args), WEFT_INVALID_ARGUMENT);
    args_fini(&args);
    assert_int_equal(args_parse_job(&job, NULL, 0, &args), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "grep takes 1 argument, 0 given");
    args_fini(&args);
    assert_int_equal(args_parse_job(&job, (char *[]){"a", "b"}, 2, &args), WEFT_INVALID_ARGUMENT);
    args_fini(&args);
    const weft_job bare = {.name = "bare"};
    assert_int_equal(args_parse_job(&bare, NULL, 0, &args), WEFT_OK);
    args_fini(&args);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_read_in_every_form),
        cmocka_unit_test(a_dash_is_a_word_and_two_end_the_options),
        cmocka_unit_test(a_letter_of_the_job_wins),
        cmocka_unit_test(mistakes_are_told_with_a_guess),
        cmocka_unit_test(a_guess_is_near_or_none),
        cmocka_unit_test(help_lists_what_has_a_text),
        cmocka_unit_test(help_breaks_long_texts_between_words),
        cmocka_unit_test(headings_are_shown_and_are_no_options),
        cmocka_unit_test(a_job_sees_its_options_and_arguments_in_order),
        cmocka_unit_test(a_job_refuses_what_it_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
