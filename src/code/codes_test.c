// Tests of who runs which job.

#include "code/codes.h"
#include "code/command/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void a_job_is_native_unless_somebody_claims_it(void **state)
{
    const weft_job job = {.name = "wordcount"};
    (void)state;
    assert_ptr_equal(code_of(&job), &code_native);
    assert_ptr_equal(code_of(&command_job), &code_command);
    assert_ptr_equal(code_of(NULL), &code_native);
}

static void a_configured_copy_is_run_as_the_job_is(void **state)
{
    char name[] = "command";
    weft_job copy = command_job;
    copy.name = name;
    (void)state;
    copy.reduce = NULL;
    assert_ptr_equal(code_of(&copy), &code_command);
}

static void a_job_that_is_called_like_a_code_is_native(void **state)
{
    const weft_job job = {.name = "command"};
    (void)state;
    assert_ptr_equal(code_of(&job), &code_native);
}

static void each_code_has_a_number_of_its_own(void **state)
{
    (void)state;
    for (const struct code *const *code = codes; *code; code++)
        assert_ptr_equal(code_numbered((*code)->number), *code);
    assert_null(code_numbered(0));
    assert_null(code_numbered(4));
}

static const struct code *claimed(const char *first, const char *second)
{
    char *words[] = {(char *)first, (char *)second};
    return code_claimed_by(words, 2);
}

static void options_name_the_code(void **state)
{
    (void)state;
    assert_ptr_equal(claimed("input", "--map=cat"), &code_command);
    assert_ptr_equal(claimed("--reduce", "cat"), &code_command);
    assert_null(claimed("wordcount", "--reducers"));
    assert_null(claimed("--", "--map"));
    assert_null(claimed("--mapped", "map"));
}

static void letters_are_those_of_the_job(void **state)
{
    (void)state;
    assert_int_equal(code_command.letter("sort-fields"), COMMAND_COMPARE);
    assert_int_equal(code_command.letter("top"), 0);
}

static void a_mapper_that_asks_for_its_file_gets_one(void **state)
{
    struct weft_args args = {0};
    (void)state;
    assert_int_equal(code_command.complete(&args), WEFT_OK);
    assert_string_equal(weft_option(&args, COMMAND_MAP, 0), "");
    assert_false(code_command.starts_per_file(&args));
    args_fini(&args);
    args = (struct weft_args){0};
    assert_int_equal(args_add_option(&args, COMMAND_MAP, "echo $mapreduce_map_input_file"),
                     WEFT_OK);
    assert_int_equal(code_command.complete(&args), WEFT_OK);
    assert_true(code_command.starts_per_file(&args));
    args_fini(&args);
}

static void words_stand_for_what_they_name(void **state)
{
    (void)state;
    assert_int_equal(code_command.word(COMMAND_REDUCE), CODE_WORD_PROGRAM);
    assert_int_equal(code_command.word(COMMAND_DIRECTORY), CODE_WORD_FOLDER);
    assert_int_equal(code_command.word(COMMAND_SEPARATOR), CODE_WORD_TEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_native_unless_somebody_claims_it),
        cmocka_unit_test(a_configured_copy_is_run_as_the_job_is),
        cmocka_unit_test(a_job_that_is_called_like_a_code_is_native),
        cmocka_unit_test(each_code_has_a_number_of_its_own),
        cmocka_unit_test(options_name_the_code),
        cmocka_unit_test(letters_are_those_of_the_job),
        cmocka_unit_test(a_mapper_that_asks_for_its_file_gets_one),
        cmocka_unit_test(words_stand_for_what_they_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
