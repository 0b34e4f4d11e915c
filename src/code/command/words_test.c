// Tests of splitting a command line as a shell would.

#include "code/command/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect_words(const char *line, const char *const *expected)
{
    struct command_words words;
    assert_int_equal(command_words_init(&words, line), WEFT_OK);
    for (size_t i = 0; i < words.count && expected[i]; i++)
        assert_string_equal(words.words[i], expected[i]);
    assert_null(expected[words.count]);
    assert_null(words.words[words.count]);
    command_words_fini(&words);
}

#define EXPECT(line, ...) expect_words(line, (const char *const[]){__VA_ARGS__, NULL})

static void blanks_separate_words(void **unused)
{
    (void)unused;
    EXPECT("cat", "cat");
    EXPECT("  python3\tm.py \n -v ", "python3", "m.py", "-v");
}

static void quotes_keep_words_together(void **unused)
{
    (void)unused;
    EXPECT("awk '{print $1 \"\\t\" 1}'", "awk", "{print $1 \"\\t\" 1}");
    EXPECT("grep \"a b\"c' d'", "grep", "a bc d");
    EXPECT("echo '' \"\"", "echo", "", "");
    EXPECT("echo \"it's\" 'say \"so\"'", "echo", "it's", "say \"so\"");
}

static void a_backslash_takes_the_next_byte_as_it_is(void **unused)
{
    (void)unused;
    EXPECT("my\\ program a\\'b \\\\", "my program", "a'b", "\\");
    EXPECT("x \"\\$HOME \\n \\\" \\\\\"", "x", "$HOME \\n \" \\");
    EXPECT("x '\\n'", "x", "\\n");
    EXPECT("one \\\n two", "one", "two");
    EXPECT("on\\\ne", "one");
    EXPECT("end\\", "end\\");
}

static void expect_refusal(const char *line, const char *sentence)
{
    struct command_words words;
    assert_int_equal(command_words_init(&words, line), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), sentence);
    command_words_fini(&words);
}

static void an_open_quote_and_an_empty_line_are_refused(void **unused)
{
    (void)unused;
    expect_refusal("awk '{print", "the command awk '{print has a quote that does not end\n"
                                  "  try: close it, or \\ in front of it");
    expect_refusal(" \t", "the command is empty");
}

static void a_word_for_the_shell_is_refused_with_what_to_try(void **unused)
{
    (void)unused;
    expect_refusal("tr a b | sort",
                   "the command tr a b | sort has |, which only a shell "
                   "understands\n  try: --shell, or quotes around it to pass it to the command");
    struct command_words words;
    const char *const lines[] = {"a > b", "a && b", "a ; b", "cat 2>&1", "echo $(date)", "a &"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(command_words_init(&words, lines[i]), WEFT_INVALID_ARGUMENT);
        command_words_fini(&words);
    }
}

static void what_is_quoted_or_inside_a_word_is_the_commands_own(void **unused)
{
    (void)unused;
    EXPECT("grep '|'", "grep", "|");
    EXPECT("test a \\> b", "test", "a", ">", "b");
    EXPECT("sed s/a|b/c/", "sed", "s/a|b/c/");
}

static void expect_hadoop_words(const char *line, const char *const *expected)
{
    struct command_words words;
    assert_int_equal(command_words_init_hadoop(&words, line), WEFT_OK);
    for (size_t i = 0; i < words.count && expected[i]; i++)
        assert_string_equal(words.words[i], expected[i]);
    assert_null(expected[words.count]);
    command_words_fini(&words);
}

#define EXPECT_HADOOP(line, ...) expect_hadoop_words(line, (const char *const[]){__VA_ARGS__, NULL})

static void hadoop_splits_in_its_own_way(void **unused)
{
    (void)unused;
    EXPECT_HADOOP("  python3 m.py  -v ", "python3", "m.py", "-v");
    EXPECT_HADOOP("printf a'b c'd e", "printf", "a", "b c", "d", "e");
    EXPECT_HADOOP("printf a '' b", "printf", "a", "b");
    EXPECT_HADOOP("sed \"it's\" 'say \"so\"'", "sed", "it's", "say \"so\"");
    EXPECT_HADOOP("a \\n | b\tc", "a", "\\n", "|", "b\tc");
    EXPECT_HADOOP("a 'open b", "a", "open b");
}

static void what_a_shell_would_expand_is_found(void **unused)
{
    (void)unused;
    char found[32];
    command_words_find_expansion("python3 $HOME/m.py", found, sizeof found);
    assert_string_equal(found, "$HOME/m.py");
    command_words_find_expansion("cat *.txt", found, sizeof found);
    assert_string_equal(found, "*");
    command_words_find_expansion("echo `date`", found, sizeof found);
    assert_string_equal(found, "`date`");
    command_words_find_expansion("awk '{print $x * 2}' \"$y\" \\* $1", found, sizeof found);
    assert_string_equal(found, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blanks_separate_words),
        cmocka_unit_test(quotes_keep_words_together),
        cmocka_unit_test(a_backslash_takes_the_next_byte_as_it_is),
        cmocka_unit_test(an_open_quote_and_an_empty_line_are_refused),
        cmocka_unit_test(a_word_for_the_shell_is_refused_with_what_to_try),
        cmocka_unit_test(what_is_quoted_or_inside_a_word_is_the_commands_own),
        cmocka_unit_test(hadoop_splits_in_its_own_way),
        cmocka_unit_test(what_a_shell_would_expand_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
