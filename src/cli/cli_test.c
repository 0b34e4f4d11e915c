// Tests of the command without running a job: its output on each stream, and its exit codes.
// test/golden has the whole texts, test/e2e runs real jobs.

#include "cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <unistd.h>

#include "jobs/builtin.h"
#include "sys/file/file.h"

static char printed[16384], said[16384];

// Runs the command with both outputs caught.
static int run(char *const *words)
{
    int out, err, kept_out, kept_err;
    size_t count = 0, got;
    while (words[count])
        count++;
    fflush(stdout);
    assert_int_equal(file_create_nameless("/tmp", &out), WEFT_OK);
    assert_int_equal(file_create_nameless("/tmp", &err), WEFT_OK);
    kept_out = dup(STDOUT_FILENO), kept_err = dup(STDERR_FILENO);
    dup2(out, STDOUT_FILENO), dup2(err, STDERR_FILENO);
    const int exit_code = cli_main(words, count);
    dup2(kept_out, STDOUT_FILENO), dup2(kept_err, STDERR_FILENO);
    close(kept_out), close(kept_err);
    assert_int_equal(file_read_at(out, "out", printed, sizeof printed - 1, 0, &got), WEFT_OK);
    printed[got] = 0;
    assert_int_equal(file_read_at(err, "err", said, sizeof said - 1, 0, &got), WEFT_OK);
    said[got] = 0;
    close(out), close(err);
    return exit_code;
}

#define RUN(...) run((char *const[]){__VA_ARGS__, NULL})

static void alone_it_shows_what_it_can_do(void **state)
{
    (void)state;
    assert_int_equal(run((char *const[]){NULL}), 0);
    assert_non_null(strstr(printed, "weft run wordcount"));
    assert_non_null(strstr(printed, "  run "));
    assert_null(strstr(printed, "verify"));
    assert_string_equal(said, "");
    char alone[sizeof printed];
    strcpy(alone, printed);
    assert_int_equal(RUN("help"), 0);
    assert_string_equal(printed, alone);
    assert_int_equal(RUN("-h"), 0);
    assert_string_equal(printed, alone);
    assert_int_equal(RUN("help", "--all"), 0);
    assert_non_null(strstr(printed, "verify"));
}

static void help_of_a_verb_is_the_same_in_every_form(void **state)
{
    (void)state;
    char help[sizeof printed];
    assert_int_equal(RUN("help", "run"), 0);
    strcpy(help, printed);
    assert_non_null(strstr(help, "--memory"));
    assert_int_equal(RUN("run", "-h"), 0);
    assert_string_equal(printed, help);
    assert_int_equal(RUN("run", "--help"), 0);
    assert_string_equal(printed, help);
    assert_int_equal(RUN("-h", "run"), 0);
    assert_string_equal(printed, help);
    assert_int_equal(RUN("-q", "run", "-h"), 0);
    assert_string_equal(printed, help);
}

static void verbs_of_other_tools_are_answered_with_one_of_ours(void **state)
{
    (void)state;
    static const struct {
        char *group, *word, *answer;
    } foreign[] = {
#define FOREIGN(group, word, answer) {#group, word, answer},
#include "cli/foreign_verbs.def"
#undef FOREIGN
    };
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        char verb[32];
        assert_int_equal(sscanf(foreign[i].answer, "%31s", verb), 1);
        assert_int_equal(RUN("help", foreign[i].group, verb), 0);
        assert_int_equal(RUN(foreign[i].group, foreign[i].word, "a"), 2);
        assert_non_null(strstr(said, foreign[i].answer));
    }
    assert_int_equal(RUN("get", "hits"), 2);
    assert_non_null(strstr(said, "did you mean: weft var get"));
    assert_int_equal(RUN("status"), 2);
    assert_non_null(strstr(said, "did you mean: weft cluster status"));
}

static void every_verb_and_job_has_a_help_of_readable_width(void **state)
{
    (void)state;
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        assert_int_equal(RUN("help", (char *)command->name), 0);
        assert_int_equal(RUN((char *)command->name, "--help"), 0);
        assert_true(printed[0]);
    }
    for (const weft_job *const *job = builtin_jobs; *job; job++) {
        char help[sizeof printed];
        assert_int_equal(RUN("help", (char *)(*job)->name), 0);
        strcpy(help, printed);
        assert_int_equal(RUN("run", (char *)(*job)->name, "-h"), 0);
        assert_string_equal(printed, help);
        weft_bytes text = weft_text(printed);
        for (weft_bytes line; weft_next_line(&text, &line);)
            assert_true(line.size <= 100);
    }
}

static void the_version_is_one_line(void **state)
{
    (void)state;
    char expected[64];
    snprintf(expected, sizeof expected, "weft %s\n", weft_version());
    assert_int_equal(RUN("version"), 0);
    assert_string_equal(printed, expected);
    assert_int_equal(RUN("--version"), 0);
    assert_string_equal(printed, expected);
}

static void assert_says(int expected_code, const char *expected, char *const *words)
{
    assert_int_equal(run(words), expected_code);
    assert_string_equal(said, expected);
    assert_string_equal(printed, "");
}

#define SAYS(code, expected, ...) assert_says(code, expected, (char *const[]){__VA_ARGS__, NULL})

static void a_typo_gets_a_guess(void **state)
{
    (void)state;
    SAYS(2, "weft: there is no verb rnu\n  did you mean: weft run\n", "rnu");
    SAYS(2, "weft: there is no verb xyz\n  try: weft help\n", "xyz", "a");
    SAYS(2, "weft: there is no verb sort\n  sort is a job\n  try: weft run sort\n", "sort", "a");
    SAYS(2, "weft: there is no verb sort\n  sort is a job\n  try: weft run sort\n", "-q", "sort");
    SAYS(2, "weft: there is no verb wordcont\n  did you mean: weft run wordcount\n", "wordcont");
    SAYS(2, "weft: there is no verb nosuch.c\n  a job is run by: weft run nosuch.c\n", "nosuch.c");
    SAYS(2, "weft: there is no verb ./nosuch\n  a job is run by: weft run ./nosuch\n", "./nosuch");
    SAYS(2, "weft: there is no help on wordcont\n  did you mean: weft help wordcount\n", "help",
         "wordcont");
    SAYS(4, "weft: there is no job wordcont\n  did you mean wordcount?\n", "run", "wordcont", "f");
    SAYS(2, "weft: unknown option --memmory\n  did you mean --memory?\n", "run", "--memmory", "1");
    SAYS(2, "weft: unknown option --josn\n  did you mean --json?\n", "--josn", "run");
}

static void a_job_that_is_none_is_told(void **state)
{
    (void)state;
    SAYS(4, "weft: there is no job ./none.c\n  there is no such file\n", "run", "./none.c", "f");
    SAYS(2,
         "weft: / is not a job\n  a job is a program, a C source, a Python script or a built-in\n",
         "run", "/");
    SAYS(2, "weft: no job is named\n  try: weft run wordcount FILE..., or weft run -h\n", "run");
    assert_int_equal(RUN("run", "abcdefgh"), 4);
    assert_non_null(strstr(said, "built in are: wordcount, count, sort, grep, index"));
    assert_non_null(strstr(said, "./abcdefgh"));
    assert_int_equal(RUN("run", "/dev/../etc/passwd", "f"), 2);
    assert_non_null(strstr(said, "is not a program that can be run"));
    assert_int_equal(RUN("run", "/bin/sh", "-c", "echo never"), 2);
    assert_non_null(strstr(said, "/bin/sh is not a job"));
    assert_string_equal(printed, "");
}

static void with_json_an_error_is_an_object(void **state)
{
    (void)state;
    assert_int_equal(RUN("run", "--json", "none", "f"), 4);
    assert_memory_equal(said, "{\"event\":\"end\",", 15);
    assert_non_null(strstr(said, "\"code\":\"NOT_FOUND\""));
    assert_int_equal(RUN("--json", "run", "sort", "--slots", "0", "f"), 2);
    assert_memory_equal(said, "{\"event\":\"end\",", 15);
}

static void verify_wants_a_directory(void **state)
{
    (void)state;
    SAYS(2, "weft: no directory is named\n  try: weft verify DIR\n", "verify");
    SAYS(2, "weft: verify takes one directory\n  try: weft verify b\n", "verify", "a", "b");
    SAYS(4,
         "weft: there is no directory /no/such\n"
         "  try: weft verify DIR, where DIR is what -o DIR/ named\n",
         "verify", "/no/such");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_it_shows_what_it_can_do),
        cmocka_unit_test(help_of_a_verb_is_the_same_in_every_form),
        cmocka_unit_test(verbs_of_other_tools_are_answered_with_one_of_ours),
        cmocka_unit_test(every_verb_and_job_has_a_help_of_readable_width),
        cmocka_unit_test(the_version_is_one_line),
        cmocka_unit_test(a_typo_gets_a_guess),
        cmocka_unit_test(a_job_that_is_none_is_told),
        cmocka_unit_test(with_json_an_error_is_an_object),
        cmocka_unit_test(verify_wants_a_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
