// Tests of programs for containers.
#include "launch/yarn/yarn_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static Hadoop__LaunchContext *context;

static int begin(void **state)
{
    struct yarn_maker maker = {0};
    (void)state;
    context = yarn_make(&maker, &hadoop__launch_context__descriptor);
    return maker.has_failed;
}

static int end(void **state)
{
    (void)state;
    yarn_free(context);
    err_clear();
    return 0;
}

static weft_err set(const struct yarn_program *program)
{
    struct yarn_maker maker = {0};
    yarn_free(context);
    context = yarn_make(&maker, &hadoop__launch_context__descriptor);
    assert_non_null(context);
    return yarn_set_program(&maker, program, (weft_bytes){"usual", 5}, context);
}

// As a node manager makes a script: its own words are replaced first.
static void expect_output(const char *command, const char *expected)
{
    struct buf script = {0};
    char got[200] = "";
    const struct yarn_program program = {.command = command};
    assert_int_equal(set(&program), WEFT_OK);
    buf_append_text(&script, "exec bash -c \"");
    const char *text = context->commands[context->n_commands - 1];
    for (const char *at; (at = strstr(text, "<LOG_DIR>")); text = at + strlen("<LOG_DIR>")) {
        buf_append(&script, text, (size_t)(at - text));
        buf_append_text(&script, "/dev/fd");
    }
    buf_append_text(&script, text);
    buf_append_text(&script, "\"");
    // The redirection goes to the files stdout and stderr: here to the pipe.
    char *at = strstr(script.data, "/dev/fd/stdout");
    assert_non_null(at);
    memcpy(at, "/dev/stdout   ", 14);
    at = strstr(script.data, "/dev/fd/stderr");
    assert_non_null(at);
    memcpy(at, "/dev/stderr   ", 14);
    FILE *shell = popen(buf_text(&script), "r");
    assert_non_null(shell);
    got[fread(got, 1, sizeof got - 1, shell)] = 0;
    pclose(shell);
    assert_string_equal(got, expected);
    buf_fini(&script);
}

static void a_command_runs_as_it_is(void **state)
{
    (void)state;
    expect_output("echo one; echo two", "one\ntwo\n");
    expect_output("x=5; echo \"$x\" '$x' $((x + 1)) # ends", "5 $x 6\n");
    expect_output("exec printf '%s' '{{a}} <LOG_DIR>'", "{{a}} <LOG_DIR>");
}

static void variables_have_names(void **state)
{
    static const char *const good[] = {"A_1=", "b=x=y", NULL};
    static const char *const bad[] = {"=x", "A", "1A=x", "A B=x", "A-B=x", "A;B=x"};
    (void)state;
    assert_int_equal(set(&(struct yarn_program){.command = "", .environment = good}), WEFT_OK);
    assert_int_equal(context->n_variables, 2);
    assert_string_equal(context->variables[0]->value, "");
    assert_string_equal(context->variables[1]->name, "b");
    assert_string_equal(context->variables[1]->value, "x=y");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const one[] = {bad[i], NULL};
        if (set(&(struct yarn_program){.command = "", .environment = one}) != WEFT_INVALID_ARGUMENT)
            fail_msg("\"%s\" is taken", bad[i]);
    }
}

static void credentials_of_a_program_come_before_the_usual_ones(void **state)
{
    (void)state;
    assert_int_equal(set(&(struct yarn_program){.command = ""}), WEFT_OK);
    assert_int_equal(context->tokens.len, 5);
    assert_memory_equal(context->tokens.data, "usual", 5);
    assert_int_equal(set(&(struct yarn_program){.command = "", .credentials = {"own", 3}}),
                     WEFT_OK);
    assert_int_equal(context->tokens.len, 3);
    assert_memory_equal(context->tokens.data, "own", 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_command_runs_as_it_is),
        TEST(variables_have_names),
        TEST(credentials_of_a_program_come_before_the_usual_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
