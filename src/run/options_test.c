// Tests of run/options: to whom a word belongs, what values mean, which ones are refused and in which words.

#include "run/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/file/file.h"

static const weft_job sort_job = {.name = "sort", .options = "nrk:"};
static const weft_job grep_job = {
    .name = "grep", .options = "ivo", .arguments = 1, .argument_names = "PATTERN"};
static const weft_job count_job = {.name = "count", .reduce = weft_sum};

static weft_err resolve(void *owner, const char *word, const weft_job **job)
{
    (void)owner;
    const weft_job *const jobs[] = {&sort_job, &grep_job, &count_job};
    for (size_t i = 0; i < 3; i++)
        if (strcmp(jobs[i]->name, word) == 0)
            *job = jobs[i];
    if (*job || strchr(word, '/'))
        return WEFT_OK;
    return err_set(WEFT_NOT_FOUND, "there is no job %s", word);
}

static const struct options_request request = {.resolve = resolve};

static weft_err parse(struct run_options *options, const weft_job *job, char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    const struct options_request own = {.job = job};
    return options_parse(options, job ? &own : &request, words, count);
}

#define PARSE(options, ...) parse(options, NULL, (char *const[]){__VA_ARGS__, NULL})

static void assert_refused(const char *expected, char *const *words)
{
    struct run_options options;
    assert_int_equal(parse(&options, NULL, words), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), expected);
    options_fini(&options);
}

#define REFUSED(expected, ...) assert_refused(expected, (char *const[]){__VA_ARGS__, NULL})

static void every_option_is_taken(void **state)
{
    (void)state;
    struct run_options options;
    assert_int_equal(PARSE(&options, "-o", "out/", "--force", "-n", "3", "--memory=64M", "--tmp",
                           "/x", "--reducers", "5", "--timeout", "1.5s", "--task-timeout", "2m",
                           "--max-attempts", "7", "-q", "-v", "--json", "--no-color", "--top", "9",
                           "count", "a", "b"),
                     WEFT_OK);
    assert_ptr_equal(options.job, &count_job);
    assert_string_equal(options.job_word, "count");
    assert_string_equal(options.output, "out/");
    assert_true(options.force && options.quiet && options.verbose && options.json);
    assert_true(options.no_color);
    assert_int_equal(options.slots, 3);
    assert_int_equal(options.memory_bytes, 64 << 20);
    assert_string_equal(options.tmp, "/x");
    assert_int_equal(options.reducers, 5);
    assert_int_equal(options.timeout_ms, 1500);
    assert_int_equal(options.task_timeout_ms, 120000);
    assert_int_equal(options.max_attempts, 7);
    assert_int_equal(options.top, 9);
    assert_int_equal(options.input_count, 2);
    assert_string_equal(options.inputs[0], "a");
    assert_string_equal(options.inputs[1], "b");
    assert_null(options.inputs[2]);
    assert_int_equal(options.job_word_count, 0);
    options_fini(&options);
}

static void what_is_left_open_is_zero(void **state)
{
    (void)state;
    struct run_options options;
    assert_int_equal(PARSE(&options, "count"), WEFT_OK);
    assert_null(options.output);
    assert_null(options.tmp);
    assert_int_equal(options.slots, 0);
    assert_int_equal(options.memory_bytes, 0);
    assert_int_equal(options.input_count, 0);
    assert_false(options.force || options.json || options.wants_help);
    options_fini(&options);
}

static void behind_the_job_its_letters_are_its_own(void **state)
{
    (void)state;
    struct run_options options;
    assert_int_equal(
        PARSE(&options, "-n", "2", "sort", "-n", "-k2,2", "f", "-r", "--slots", "4", "-q"),
        WEFT_OK);
    assert_int_equal(options.slots, 4);
    assert_true(options.quiet);
    assert_non_null(weft_option(&options.args, 'n', 0));
    assert_non_null(weft_option(&options.args, 'r', 0));
    assert_string_equal(weft_option(&options.args, 'k', 0), "2,2");
    assert_int_equal(options.input_count, 1);
    options_fini(&options);
    assert_int_equal(PARSE(&options, "count", "-n", "2", "f"), WEFT_OK);
    assert_int_equal(options.slots, 2);
    options_fini(&options);
}

static void a_word_that_could_be_an_output_or_an_input_is_asked_about(void **state)
{
    (void)state;
    struct run_options options;
    REFUSED("-o out can be read in two ways\n"
            "  after a job that has a -o it is the job's, and out an input\n"
            "  try: --output out; or for the -o of grep: -o -- out",
            "grep", "a", "f", "-o", "out");
    REFUSED("-n 4 can be read in two ways\n"
            "  after a job that has a -n it is the job's, and 4 an input\n"
            "  try: --slots 4; or for the -n of sort: -n -- 4",
            "sort", "-rn", "4", "f");
    char *const plain[][6] = {
        {"grep", "-o", "a", "f"},  {"grep", "a", "f", "-o"}, {"grep", "a", "-o", "--", "f"},
        {"grep", "a", "-oi", "f"}, {"sort", "-n", "f", "g"}, {"sort", "-k", "4", "f"},
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        assert_int_equal(parse(&options, NULL, plain[i]), WEFT_OK);
        assert_null(options.output);
        assert_int_equal(options.slots, 0);
        options_fini(&options);
    }
}

static void an_option_may_stand_for_the_arguments(void **state)
{
    (void)state;
    struct run_options options;
    const weft_job job = {.name = "find", .options = "e:", .arguments = 1, .argument_options = "e"};
    assert_int_equal(parse(&options, &job, (char *const[]){"f", "g", "-e", "a", "h", NULL}),
                     WEFT_OK);
    assert_int_equal(options.args.argument_count, 0);
    assert_int_equal(options.input_count, 3);
    assert_string_equal(options.inputs[0], "f");
    assert_string_equal(options.inputs[2], "h");
    struct weft_args args = {0};
    assert_int_equal(args_parse_job(&job, options.job_words, options.job_word_count, &args),
                     WEFT_OK);
    assert_string_equal(weft_option(&args, 'e', 0), "a");
    args_fini(&args);
    options_fini(&options);
}

static void the_jobs_arguments_come_before_the_inputs(void **state)
{
    (void)state;
    struct run_options options;
    assert_int_equal(PARSE(&options, "grep", "-v", "a.*b", "-i", "f1", "f2"), WEFT_OK);
    assert_string_equal(weft_argument(&options.args, 0), "a.*b");
    assert_int_equal(options.input_count, 2);
    assert_string_equal(options.inputs[0], "f1");
    options_fini(&options);
    REFUSED("grep needs PATTERN before the inputs\n"
            "  try: -h after the job shows how to use it",
            "grep", "-v");
}

static void an_argument_that_looks_like_an_option_is_told_how_to_write_it(void **state)
{
    (void)state;
    struct run_options options;
    REFUSED("unknown option -k\n  try: -h shows all options\n  for PATTERN itself: -- -k", "grep",
            "-k", "f");
    REFUSED("unknown option -k\n  try: -h shows all options", "grep", "a", "-k", "f");
    const weft_job job = {.name = "find", .options = "e:", .arguments = 1, .argument_options = "e"};
    assert_int_equal(parse(&options, &job, (char *const[]){"--to", NULL}), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "\n  for ARGUMENT itself: -e --to, or -- --to"));
    options_fini(&options);
    assert_int_equal(parse(&options, &job, (char *const[]){"-e", "a", "-k", NULL}),
                     WEFT_INVALID_ARGUMENT);
    assert_null(strstr(err_text(), "itself"));
    options_fini(&options);
    assert_int_equal(parse(&options, &job, (char *const[]){"-e", NULL}), WEFT_INVALID_ARGUMENT);
    assert_null(strstr(err_text(), "itself"));
    options_fini(&options);
}

static void help_of_a_job_that_says_nothing_has_its_name_and_letters(void **state)
{
    (void)state;
    struct buf help = {0};
    options_format_job_help(&help, "ship", &(weft_job){.name = "ship", .options = "k:r"});
    assert_non_null(strstr(buf_text(&help), "The job ship. Its own options are -k VALUE -r.\n"));
    buf_fini(&help);
    options_format_job_help(&help, "ship", &(weft_job){.name = "ship"});
    assert_non_null(strstr(buf_text(&help), "The job ship.\n"));
    buf_fini(&help);
}

static void arguments_are_called_by_their_names(void **state)
{
    (void)state;
    struct run_options options;
    struct buf help = {0};
    weft_job job = {.name = "ship", .arguments = 2};
    char *const words[] = {"here", NULL};
    assert_int_equal(parse(&options, &job, words), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "ship needs ARGUMENT ARGUMENT before the inputs, and not"));
    options_fini(&options);
    job.argument_names = "FROM TO";
    assert_int_equal(parse(&options, &job, words), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "ship needs FROM TO before the inputs, and not all of"));
    options_fini(&options);
    options_format_job_help(&help, "ship", &job);
    assert_non_null(strstr(buf_text(&help), "Usage: ship [options] FROM TO INPUT..."));
    buf_fini(&help);
}

static void the_worker_reads_the_same_from_the_jobs_words(void **state)
{
    (void)state;
    struct run_options options;
    struct weft_args args = {0};
    assert_int_equal(PARSE(&options, "grep", "-vi", "--", "-pattern", "-o"), WEFT_OK);
    assert_int_equal(args_parse_job(&grep_job, options.job_words, options.job_word_count, &args),
                     WEFT_OK);
    assert_non_null(weft_option(&args, 'v', 0));
    assert_non_null(weft_option(&args, 'i', 0));
    assert_null(weft_option(&args, 'o', 0));
    assert_string_equal(weft_argument(&args, 0), "-pattern");
    assert_string_equal(options.inputs[0], "-o");
    args_fini(&args);
    options_fini(&options);
    assert_int_equal(PARSE(&options, "sort", "-k", "-1", "-k", "", "f"), WEFT_OK);
    assert_int_equal(args_parse_job(&sort_job, options.job_words, options.job_word_count, &args),
                     WEFT_OK);
    assert_string_equal(weft_option(&args, 'k', 0), "-1");
    assert_string_equal(weft_option(&args, 'k', 1), "");
    args_fini(&args);
    options_fini(&options);
}

static void a_program_parses_its_own_line_by_the_same_rules(void **state)
{
    (void)state;
    struct run_options options;
    char *const words[] = {"-n", "f", "--slots=2", "-o", "out", NULL};
    assert_int_equal(parse(&options, &sort_job, words), WEFT_OK);
    assert_null(options.job_word);
    assert_non_null(weft_option(&options.args, 'n', 0));
    assert_int_equal(options.slots, 2);
    assert_string_equal(options.output, "out");
    assert_int_equal(options.input_count, 1);
    options_fini(&options);
}

static void a_program_named_as_job_gets_the_rest_untouched(void **state)
{
    (void)state;
    struct run_options options;
    assert_int_equal(PARSE(&options, "-n2", "--json", "-o", "out", "./job", "-n", "--wild", "f"),
                     WEFT_OK);
    assert_null(options.job);
    assert_string_equal(options.job_word, "./job");
    const char *const expected[] = {"--slots=2", "--json", "--output=out", "-n", "--wild", "f"};
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(options.program_words[i], expected[i]);
    assert_null(options.program_words[6]);
    assert_int_equal(options.program_option_count, 3);
    options_fini(&options);
    assert_int_equal(PARSE(&options, "./job"), WEFT_OK);
    assert_non_null(options.program_words);
    assert_null(options.program_words[0]);
    options_fini(&options);
    assert_int_equal(PARSE(&options, "--", "./job", "-x"), WEFT_OK);
    assert_string_equal(options.program_words[0], "--");
    assert_string_equal(options.program_words[1], "-x");
    assert_int_equal(options.program_option_count, 0);
    options_fini(&options);
}

static void values_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    REFUSED("--slots 0 makes no sense\n  it is a whole number from 1 to 256", "--slots", "0");
    REFUSED("--slots -2 makes no sense\n  it is a whole number from 1 to 256", "-n", "-2");
    REFUSED("--slots 257 makes no sense\n  it is a whole number from 1 to 256", "-n257");
    REFUSED("--reducers 4097 makes no sense\n  it is a whole number from 1 to 4096", "--reducers",
            "4097");
    REFUSED("--top x makes no sense\n  it is a whole number from 1 to 4294967295", "--top", "x");
    REFUSED("--memory lots is not a size\n  write it like 64M, 512M or 4G", "--memory", "lots");
    REFUSED("--memory 15M is too little to work in\n"
            "  try: --memory 16M, the least, or more: it is faster",
            "--memory", "15M");
    REFUSED("--timeout soon is not a time\n  write it like 500ms, 30s, 10m or 2h", "--timeout",
            "soon");
    REFUSED("--output is empty\n  try: -h shows what it needs", "-o", "", "count");
    REFUSED("no job is named\n  try: weft run wordcount FILE..., or weft run -h", "-q");
    REFUSED("unknown option --memmory\n  did you mean --memory?", "--memmory", "1G", "count");
}

static void an_unknown_job_is_the_resolvers_word(void **state)
{
    (void)state;
    struct run_options options;
    assert_int_equal(PARSE(&options, "--json", "none", "f"), WEFT_NOT_FOUND);
    assert_string_equal(err_text(), "there is no job none");
    assert_true(options.json);
    options_fini(&options);
}

static void json_is_known_also_when_a_later_word_is_wrong(void **state)
{
    (void)state;
    struct run_options options;
    assert_int_equal(PARSE(&options, "--slots", "x", "count", "--json"), WEFT_INVALID_ARGUMENT);
    assert_true(options.json);
    options_fini(&options);
    assert_int_equal(PARSE(&options, "--slots", "x", "--", "--json"), WEFT_INVALID_ARGUMENT);
    assert_false(options.json);
    options_fini(&options);
}

static void help_stops_the_checks(void **state)
{
    (void)state;
    struct run_options options;
    assert_int_equal(PARSE(&options, "grep", "-h"), WEFT_OK);
    assert_true(options.wants_help);
    assert_ptr_equal(options.job, &grep_job);
    options_fini(&options);
    assert_int_equal(PARSE(&options, "--help", "--nonsense"), WEFT_OK);
    assert_true(options.wants_help);
    assert_null(options.job);
    options_fini(&options);
}

static void a_submitted_run_is_copied_and_checked(void **state)
{
    (void)state;
    struct run_options options;
    weft_options api = {.inputs = (const char *const[]){"a", "b", NULL},
                        .output = "out",
                        .force = true,
                        .slots = 2,
                        .memory_bytes = 1 << 26,
                        .arguments = (const char *const[]){"-i", "pattern", NULL}};
    assert_int_equal(options_from_api(&options, &grep_job, &api), WEFT_OK);
    assert_string_equal(weft_argument(&options.args, 0), "pattern");
    assert_int_equal(options.input_count, 2);
    assert_string_equal(options.output, "out");
    assert_true(options.quiet);
    assert_int_equal(options.job_word_count, 3);
    options_fini(&options);
    api.arguments = NULL;
    assert_int_equal(options_from_api(&options, &grep_job, &api), WEFT_INVALID_ARGUMENT);
    options_fini(&options);
    api = (weft_options){.slots = 100000};
    assert_int_equal(options_from_api(&options, &count_job, &api), WEFT_INVALID_ARGUMENT);
    options_fini(&options);
    api = (weft_options){
        .format = "csv", .output_format = "jsonl", .compress = "zstd", .skip_bad = 3};
    assert_int_equal(options_from_api(&options, &count_job, &api), WEFT_OK);
    assert_string_equal(options.format, "csv");
    assert_int_equal(options.output_format, OUTPUT_JSONL);
    assert_int_equal(options.compress, CODEC_ZSTD);
    assert_true(options.skip_bad.is_set && options.skip_bad.count == 3);
    options_fini(&options);
    api = (weft_options){.compress = "rar"};
    assert_int_equal(options_from_api(&options, &count_job, &api), WEFT_INVALID_ARGUMENT);
    options_fini(&options);
}

static void defaults_come_from_the_machine(void **state)
{
    (void)state;
    struct run_options options;
    setenv("TMPDIR", "/nowhere/at/all", 1);
    assert_int_equal(PARSE(&options, "count"), WEFT_OK);
    const weft_err err = options_complete(&options);
    unsetenv("TMPDIR");
    assert_int_equal(err, WEFT_OK);
    assert_true(options.slots >= 1);
    assert_true(options.memory_bytes >= OPTIONS_MEMORY_MIN);
    assert_int_equal(options.max_attempts, OPTIONS_ATTEMPTS);
    assert_string_equal(options.tmp, "/var/tmp");
    options_fini(&options);
}

static void a_tmp_that_cannot_serve_is_refused(void **state)
{
    (void)state;
    struct run_options options;
    assert_int_equal(PARSE(&options, "count", "--tmp", "/nowhere/at/all"), WEFT_OK);
    assert_int_equal(options_complete(&options), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "/nowhere/at/all"));
    options_fini(&options);
    bool is_in_memory = false;
    if (file_is_in_memory("/dev/shm", &is_in_memory) != WEFT_OK || !is_in_memory)
        skip();
    assert_int_equal(PARSE(&options, "count", "--tmp", "/dev/shm"), WEFT_OK);
    assert_int_equal(options_complete(&options), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "tmpfs"));
    options_fini(&options);
}

static void top_needs_a_job_that_counts(void **state)
{
    (void)state;
    struct run_options options;
    const weft_job first = {.name = "two", .next = &count_job};
    assert_int_equal(PARSE(&options, "count", "--top", "3"), WEFT_OK);
    assert_int_equal(options_check_job(&options, &count_job), WEFT_OK);
    assert_int_equal(options_check_job(&options, &first), WEFT_OK);
    assert_int_equal(options_check_job(&options, &sort_job), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "--top needs a job that counts, and sort does not"));
    options.top = 0;
    assert_int_equal(options_check_job(&options, &sort_job), WEFT_OK);
    options_fini(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_taken),
        cmocka_unit_test(what_is_left_open_is_zero),
        cmocka_unit_test(behind_the_job_its_letters_are_its_own),
        cmocka_unit_test(a_word_that_could_be_an_output_or_an_input_is_asked_about),
        cmocka_unit_test(an_option_may_stand_for_the_arguments),
        cmocka_unit_test(the_jobs_arguments_come_before_the_inputs),
        cmocka_unit_test(an_argument_that_looks_like_an_option_is_told_how_to_write_it),
        cmocka_unit_test(help_of_a_job_that_says_nothing_has_its_name_and_letters),
        cmocka_unit_test(arguments_are_called_by_their_names),
        cmocka_unit_test(the_worker_reads_the_same_from_the_jobs_words),
        cmocka_unit_test(a_program_parses_its_own_line_by_the_same_rules),
        cmocka_unit_test(a_program_named_as_job_gets_the_rest_untouched),
        cmocka_unit_test(values_that_make_no_sense_are_refused),
        cmocka_unit_test(an_unknown_job_is_the_resolvers_word),
        cmocka_unit_test(json_is_known_also_when_a_later_word_is_wrong),
        cmocka_unit_test(help_stops_the_checks),
        cmocka_unit_test(a_submitted_run_is_copied_and_checked),
        cmocka_unit_test(defaults_come_from_the_machine),
        cmocka_unit_test(a_tmp_that_cannot_serve_is_refused),
        cmocka_unit_test(top_needs_a_job_that_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
