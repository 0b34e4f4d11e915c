// Tests of reading the options of a job of commands.

#include "code/command/config.h"

#include "base/args.h"
#include "code/command/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct weft_args args;
static struct command_config config;

static int tear_down(void **state)
{
    (void)state;
    command_config_fini(&config);
    args_fini(&args);
    args = (struct weft_args){0};
    return 0;
}

static weft_err read_words(const char *const *words)
{
    size_t count = 0;
    tear_down(NULL);
    while (words[count])
        count++;
    assert_int_equal(args_parse_job(&command_job, (char *const *)words, count, &args), WEFT_OK);
    return command_config_init(&config, &args);
}

#define READ(...) read_words((const char *const[]){__VA_ARGS__, NULL})

static void a_step_is_a_process_or_done_by_us(void **state)
{
    (void)state;
    assert_int_equal(READ("-m", "python3 'm y.py'", "-r", "aggregate"), WEFT_OK);
    const struct command_step *map = &config.steps[COMMAND_ROLE_MAP];
    assert_int_equal(map->how, COMMAND_PROCESS);
    assert_string_equal(map->arguments[0], "python3");
    assert_string_equal(map->arguments[1], "m y.py");
    assert_null(map->arguments[2]);
    assert_int_equal(config.steps[COMMAND_ROLE_COMBINE].how, COMMAND_NONE);
    assert_int_equal(config.steps[COMMAND_ROLE_REDUCE].how, COMMAND_AGGREGATE);
    assert_int_equal(READ("-m", "", "-r", ""), WEFT_OK);
    assert_int_equal(config.steps[COMMAND_ROLE_MAP].how, COMMAND_IDENTITY);
    assert_int_equal(config.steps[COMMAND_ROLE_REDUCE].how, COMMAND_IDENTITY);
    // A mapper of that name is a program.
    assert_int_equal(READ("-m", "aggregate"), WEFT_OK);
    assert_int_equal(config.steps[COMMAND_ROLE_MAP].how, COMMAND_PROCESS);
}

static void a_shell_gets_the_line_as_it_is(void **state)
{
    (void)state;
    assert_int_equal(READ("-S", "-m", "sort | uniq > x"), WEFT_OK);
    const char *const *arguments = config.steps[COMMAND_ROLE_MAP].arguments;
    assert_string_equal(arguments[0], "/bin/sh");
    assert_string_equal(arguments[1], "-c");
    assert_string_equal(arguments[2], "sort | uniq > x");
    assert_null(arguments[3]);
}

static void separators_have_defaults_of_each_other(void **state)
{
    (void)state;
    assert_int_equal(READ("-m", "cat", "-s", "::"), WEFT_OK);
    assert_string_equal(config.separator.text, "::");
    assert_string_equal(config.reduce_separator.text, "::");
    assert_string_equal(config.output_separator.text, "\t");
    assert_int_equal(config.key_fields, 1);
    assert_int_equal(READ("-m", "cat", "-s", ",", "-i", "\\t", "-k", "3", "-n", "2"), WEFT_OK);
    assert_string_equal(config.reduce_separator.text, "\t");
    assert_string_equal(config.field_separator.text, ",");
    assert_int_equal(config.key_fields, 3);
    assert_int_equal(config.reduce_key_fields, 2);
}

static void of_two_variables_of_a_name_the_last_comes_first(void **state)
{
    (void)state;
    assert_int_equal(READ("-m", "cat", "-e", "A=1", "-e", "B=", "-e", "A=2"), WEFT_OK);
    assert_string_equal(config.variables.items[0], "A=2");
    assert_string_equal(config.variables.items[1], "B=");
    assert_string_equal(config.variables.items[2], "A=1");
    assert_null(config.variables.items[3]);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    assert_int_equal(READ("-r", "cat"), WEFT_INVALID_ARGUMENT);
    assert_string_equal(
        err_text(),
        "there is no command to map with\n  try: --map COMMAND; --map '' passes lines on unchanged");
    assert_int_equal(READ("-m", "cat", "-r", "a | b"), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "--reduce: the command a | b has |, which only a shell"));
    assert_int_equal(READ("-S", "-m", "  "), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "--map: the command is empty");
    assert_int_equal(READ("-m", "cat", "-k", "0"), WEFT_INVALID_ARGUMENT);
    assert_int_equal(READ("-m", "cat", "-s", ""), WEFT_INVALID_ARGUMENT);
    assert_int_equal(READ("-m", "cat", "-e", "NAME"), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "a variable for the commands is NAME=value, not 'NAME'");
    assert_int_equal(READ("-m", "cat", "-I", "bytes"), WEFT_INVALID_ARGUMENT);
}

static void a_program_beside_the_job_comes_first_for_hadoop(void **state)
{
    (void)state;
    assert_int_equal(READ("-H", "-m", "sh x", "-d", "/bin"), WEFT_OK);
    assert_string_equal(config.steps[COMMAND_ROLE_MAP].arguments[0], "./sh");
    assert_int_equal(READ("-H", "-m", "sh x", "-d", "/proc"), WEFT_OK);
    assert_string_equal(config.steps[COMMAND_ROLE_MAP].arguments[0], "sh");
    assert_int_equal(READ("-m", "sh x", "-d", "/bin"), WEFT_OK);
    assert_string_equal(config.steps[COMMAND_ROLE_MAP].arguments[0], "sh");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_step_is_a_process_or_done_by_us, tear_down),
        cmocka_unit_test_teardown(a_shell_gets_the_line_as_it_is, tear_down),
        cmocka_unit_test_teardown(separators_have_defaults_of_each_other, tear_down),
        cmocka_unit_test_teardown(of_two_variables_of_a_name_the_last_comes_first, tear_down),
        cmocka_unit_test_teardown(what_is_wrong_is_said, tear_down),
        cmocka_unit_test_teardown(a_program_beside_the_job_comes_first_for_hadoop, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
