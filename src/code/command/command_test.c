// Tests of the job of commands with the whole engine: this program is driver and worker.

#include "code/command/command.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/file/folder_testing.h"

static struct buf output;
static int64_t counter;  // "Group.name" of the last run

static int tear_down(void **state)
{
    buf_fini(&output);
    return testing_remove_folder(state);
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(testing_path(name), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void read_output(void)
{
    char chunk[65536];
    FILE *file = fopen(testing_path("out"), "r");
    output.size = 0;
    assert_non_null(file);
    for (size_t got; (got = fread(chunk, 1, sizeof chunk, file)) > 0;)
        buf_append(&output, chunk, got);
    fclose(file);
    unlink(testing_path("out"));
}

// Runs the job over the inputs "a" and, if it is there, "b".
static weft_err run(const char *const *arguments)
{
    char a[128], b[128], out[128];
    snprintf(a, sizeof a, "%s", testing_path("a"));
    snprintf(b, sizeof b, "%s", testing_path("b"));
    snprintf(out, sizeof out, "%s", testing_path("out"));
    const char *const inputs[] = {a, access(b, F_OK) == 0 ? b : NULL, NULL};
    const weft_options options = {.inputs = inputs,
                                  .output = out,
                                  .slots = 2,
                                  .memory_bytes = 256 << 20,
                                  .tmp = testing_folder,
                                  .max_attempts = 1,
                                  .arguments = arguments};
    weft_run *job = weft_submit(&command_job, &options);
    if (!job)
        return WEFT_INVALID_ARGUMENT;
    const weft_err code = weft_run_wait(job, 0);
    counter = weft_run_counter(job, "Group.name");
    weft_run_free(job);
    return code;
}

static void expect_output(const char *const *arguments, const char *expected)
{
    const weft_err code = run(arguments);
    if (code)
        print_error("%s\n", weft_error());
    assert_int_equal(code, WEFT_OK);
    read_output();
    assert_string_equal(buf_text(&output), expected);
}

static void expect_failure(const char *const *arguments, const char *words)
{
    assert_int_not_equal(run(arguments), WEFT_OK);
    if (!strstr(weft_error(), words))
        print_error("%s\n", weft_error());
    assert_non_null(strstr(weft_error(), words));
}

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void lines_go_through_a_mapper_alone(void **state)
{
    (void)state;
    write_file("a", "one\ntwo\nthree");
    expect_output(OPTIONS("-m", "cat"), "one\ntwo\nthree\n");
    expect_output(OPTIONS("-m", "tr a-z A-Z"), "ONE\nTWO\nTHREE\n");
    expect_output(OPTIONS("-m", "sort | head -n 1", "-S"), "one\n");
    expect_output(OPTIONS("-m", ""), "one\ntwo\nthree\n");
}

static void a_reducer_sees_sorted_lines(void **state)
{
    (void)state;
    write_file("a", "b\t1\na\t2\nword\nb\t0\n");
    expect_output(OPTIONS("-m", "cat", "-r", "cat -A"), "a^I2$\nb^I1$\nb^I0$\nword$\n");
    expect_output(OPTIONS("-m", "", "-r", ""), "a\t2\nb\t1\nb\t0\nword\n");
}

static void one_reducer_sees_a_whole_part(void **state)
{
    (void)state;
    write_file("a", "b\na\nc\n");
    expect_output(OPTIONS("-m", "cat", "-r", "wc -l"), "3\n");
}

static void key_fields_and_orders_are_kept(void **state)
{
    (void)state;
    write_file("a", "b.2.x\na.10.y\na.9.z\n");
    expect_output(OPTIONS("-m", "cat", "-r", "cat", "-s", ".", "-k", "2", "-i", "\\t"),
                  "a.10\ty\na.9\tz\nb.2\tx\n");
    expect_output(OPTIONS("-m", "cat", "-r", "cat", "-s", ".", "-k", "2", "-o", "-k1,1 -k2,2n"),
                  "a.9.z\na.10.y\nb.2.x\n");
    expect_output(OPTIONS("-m", "cat", "-r", "", "-s", ".", "-k", "2", "-o", "-k2,2nr"),
                  "a.10\ty\na.9\tz\nb.2\tx\n");
}

static void a_combiner_sees_sorted_pairs_and_replaces_them(void **state)
{
    (void)state;
    write_file("a", "b\t1\na\t1\nb\t1\n");
    expect_output(OPTIONS("-m", "cat", "-c", "uniq -c", "-r", "cat"),
                  "      1 a\t1\n      2 b\t1\n");
}

static void aggregates_are_made(void **state)
{
    (void)state;
    write_file("a", "LongValueSum:b\t1\nLongValueSum:a\t2\nLongValueSum:b\t3\n"
                    "UniqValueCount:u\tx\nUniqValueCount:u\ty\nUniqValueCount:u\tx\n");
    expect_output(OPTIONS("-m", "cat", "-r", "aggregate"), "a\t2\nb\t4\nu\t2\n");
    write_file("a", "b\t1\n");
    expect_failure(OPTIONS("-m", "cat", "-r", "aggregate"), "the key 'b' does not say what to do");
}

static void counters_are_counted_once(void **state)
{
    (void)state;
    write_file("a", "x\n");
    expect_output(OPTIONS("-m", "echo reporter:counter:Group,name,5 >&2; cat", "-S", "-r", "cat"),
                  "x\n");
    assert_int_equal(counter, 5);
}

static void a_mapper_that_asks_for_its_file_is_noticed(void **state)
{
    (void)state;
    char path[] = "/tmp/weft-asks-XXXXXX", line[64];
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "print(1)\n", 9), 9);
    snprintf(line, sizeof line, "python3 -u %s x", path);
    assert_false(command_asks_for_file(line));
    assert_int_equal(write(fd, "os.environ['map_input_file']\n", 29), 29);
    close(fd);
    assert_true(command_asks_for_file(line));
    unlink(path);
    assert_false(command_asks_for_file(line));
    assert_true(command_asks_for_file("sed \"s|^|$mapreduce_map_input_file|\""));
    assert_false(command_asks_for_file(""));
    assert_false(command_asks_for_file("cat | sort 'x"));
}

static void each_input_file_is_known_to_its_mapper(void **state)
{
    (void)state;
    write_file("a", "1\n");
    write_file("b", "2\n");
    expect_output(OPTIONS("-m", "sed \"s|^|${map_input_file##*/} |\"", "-S", "-F"), "a 1\nb 2\n");
    // One process for both files gets the name of neither.
    expect_output(OPTIONS("-m", "echo \"<$map_input_file>\"; cat", "-S"), "<>\n1\n2\n");
    expect_output(OPTIONS("-m", "echo $mapreduce_task_ismap $COLOR", "-S", "-e", "COLOR=red"),
                  "true red\n");
    unlink(testing_path("b"));
}

static void a_mapper_may_stop_reading(void **state)
{
    (void)state;
    struct buf text = {0};
    for (int i = 0; i < 400000; i++)
        buf_format(&text, "line %d\n", i);
    write_file("a", buf_text(&text));
    buf_fini(&text);
    assert_int_equal(run(OPTIONS("-m", "head -n 2")), WEFT_OK);  // of every task
    read_output();
    assert_true(output.size > 14 && output.size < 1000);
    assert_memory_equal(output.data, "line 0\nline 1\n", 14);
    write_file("a", "x\n");
    expect_output(OPTIONS("-m", "echo done"), "done\n");
}

static void a_command_that_fails_is_quoted(void **state)
{
    (void)state;
    write_file("a", "x\n");
    expect_failure(OPTIONS("-m", "sh -c 'echo oops >&2; exit 3'"),
                   "map command 'sh -c 'echo oops >&2; exit 3'' exited with code 3 on ");
    const char *tail = strstr(weft_error(), "; the end of its standard error:\n");
    assert_non_null(tail);
    assert_non_null(strstr(tail, "    oops"));
    expect_failure(OPTIONS("-m", "cat", "-r", "sh -c 'kill -9 $$'"),
                   "was killed by signal 9 (killed); it printed nothing on standard error");
    expect_failure(OPTIONS("-m", "cat", "-c", "false", "-r", "cat"),
                   "combine command 'false' exited with code 1");
    expect_output(OPTIONS("-m", "grep y", "-x"), "");
}

static void a_command_that_cannot_be_started_is_named(void **state)
{
    (void)state;
    write_file("a", "x\n");
    expect_failure(OPTIONS("-m", "no-such-program"),
                   "cannot start no-such-program: there is no such program in PATH");
    expect_failure(OPTIONS("-m", "cat | wc"), "which only a shell understands\n  try: --shell");
}

static void a_kept_command_serves_all_tasks(void **state)
{
    (void)state;
    write_file("a", "1\n");
    write_file("b", "2\n");
    expect_output(OPTIONS("-K", "-m", "sed -u 's/^[0-9]/> &/'"), "> 1\n> 2\n");
    expect_failure(OPTIONS("-K", "-m", "head -n 1"),
                   "instead of answering the end of a task; without --keep it need not");
    unlink(testing_path("b"));
}

static void hadoops_own_ways_are_known(void **state)
{
    (void)state;
    write_file("a", "b\r\na.x\n");
    expect_output(OPTIONS("-H", "-m", "cat"), "b\t\na.x\t\n");
    expect_output(OPTIONS("-H", "-m", "cat", "-s", ".", "-O", ";"), "b;\na;x\n");
    expect_output(OPTIONS("-H", "-m", "cat", "-I", "offset"), "0\tb\n3\ta.x\n");
    expect_output(OPTIONS("-H", "-m", "cat", "-I", "pairs", "-r", "cat"), "a.x\t\nb\t\n");
    expect_output(OPTIONS("-H", "-m", "cat", "-r", "cat", "-R", ".", "-n", "1"), "a\tx\t\nb\t\t\n");
    write_file("a", "");
    expect_output(OPTIONS("-H", "-m", "cat", "-r", "wc -l"), "");
    expect_failure(OPTIONS("-H", "-m", "cat", "-r", "false"), "reduce command 'false' exited");
}

int main(int argc, char **argv)
{
    const weft_job *const jobs[] = {&command_job, NULL};
    weft_start(argc, argv, jobs);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_go_through_a_mapper_alone),
        cmocka_unit_test(a_reducer_sees_sorted_lines),
        cmocka_unit_test(one_reducer_sees_a_whole_part),
        cmocka_unit_test(key_fields_and_orders_are_kept),
        cmocka_unit_test(a_combiner_sees_sorted_pairs_and_replaces_them),
        cmocka_unit_test(aggregates_are_made),
        cmocka_unit_test(counters_are_counted_once),
        cmocka_unit_test(a_mapper_that_asks_for_its_file_is_noticed),
        cmocka_unit_test(each_input_file_is_known_to_its_mapper),
        cmocka_unit_test(a_mapper_may_stop_reading),
        cmocka_unit_test(a_command_that_fails_is_quoted),
        cmocka_unit_test(a_command_that_cannot_be_started_is_named),
        cmocka_unit_test(a_kept_command_serves_all_tasks),
        cmocka_unit_test(hadoops_own_ways_are_known),
    };
    return cmocka_run_group_tests(tests, testing_make_folder, tear_down);
}
