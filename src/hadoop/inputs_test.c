// Tests of how Hadoop finds inputs, on real files.
#include "hadoop/inputs.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/file/file.h"

static char root[] = "/tmp/weft-inputs-test-XXXXXX";
static struct streaming_options options;
static struct streaming_list paths, left_out;

static void touch(const char *path)
{
    const int fd = open(path, O_CREAT | O_WRONLY, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static int setup(void **unused)
{
    (void)unused;
    assert_non_null(mkdtemp(root));
    assert_int_equal(chdir(root), 0);
    assert_int_equal(mkdir("in", 0777) | mkdir("in/_logs", 0777) | mkdir("deep", 0777) |
                         mkdir("deep/sub", 0777) | mkdir("odd[1]", 0777) | mkdir("empty", 0777),
                     0);
    static const char *const names[] = {"in/b.txt",     "in/a.txt",   "in/_SUCCESS", "in/.hidden",
                                        "in/_logs/x",   "deep/z.txt", "deep/sub/y",  "odd[1]/f",
                                        "deep/sub/_no", "_named"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        touch(names[i]);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    return chdir("/") == 0 && file_remove_tree(root) == WEFT_OK ? 0 : -1;
}

static weft_err find(const char *input, bool is_recursive)
{
    streaming_drop(&paths);
    streaming_drop(&options.inputs);
    options.is_recursive = is_recursive;
    assert_int_equal(streaming_push(&options.inputs, input), WEFT_OK);
    const weft_err err = streaming_find_inputs(&options, &paths, &left_out);
    streaming_drop(&options.inputs);
    return err;
}

// `names` are divided by blanks, below the root.
static void assert_found(const char *input, bool is_recursive, const char *names)
{
    struct buf found = {0};
    if (find(input, is_recursive))
        fail_msg("%s: %s", input, weft_error());
    for (size_t i = 0; i < paths.count; i++) {
        assert_memory_equal(paths.items[i], root, strlen(root));
        buf_format(&found, "%s%s", i ? " " : "", paths.items[i] + strlen(root) + 1);
    }
    assert_string_equal(buf_text(&found), names);
    buf_fini(&found);
    streaming_drop(&paths);
}

static void assert_not_found(const char *input, weft_err code, const char *words)
{
    assert_int_equal(find(input, false), code);
    if (!strstr(weft_error(), words))
        fail_msg("%s: %s", input, weft_error());
    streaming_drop(&paths);
}

static void a_directory_is_its_files_in_order(void **unused)
{
    (void)unused;
    assert_found("in", false, "in/a.txt in/b.txt");
    assert_found("in/", false, "in/a.txt in/b.txt");
    assert_found("in/b.txt", false, "in/b.txt");
}

static void a_directory_below_is_an_error_unless_wanted(void **unused)
{
    (void)unused;
    assert_not_found("deep", WEFT_INVALID_ARGUMENT, "deep/sub");
    assert_found("deep", true, "deep/sub/y deep/z.txt");
}

static void what_the_job_writes_is_left_out_and_refused_by_name(void **unused)
{
    (void)unused;
    options.output = (char *)"deep/sub";
    assert_found("deep", false, "deep/z.txt");
    assert_int_equal(left_out.count, 1);
    assert_string_equal(left_out.items[0], "deep/sub");
    assert_found("deep/*", false, "deep/z.txt");
    assert_not_found("deep/../deep/sub", WEFT_INVALID_ARGUMENT, "also the output of this run");
    options.output = NULL;
    streaming_drop(&left_out);
}

static void patterns_have_braces_and_classes(void **unused)
{
    (void)unused;
    assert_found("in/*", false, "in/a.txt in/b.txt");
    assert_found("{in/b,in/a,in/b}.txt", false, "in/a.txt in/b.txt");
    assert_found("in/[b-z].{txt,log}", false, "in/b.txt");
    assert_found("i?", false, "in/a.txt in/b.txt");
    assert_found("odd\\[1]*", false, "odd[1]/f");
    assert_not_found("in/*.log", WEFT_NOT_FOUND, "in/*.log");
    assert_not_found("in/_*", WEFT_NOT_FOUND, "in/_*");
    assert_not_found("in/{a", WEFT_INVALID_ARGUMENT, "in/{a");
}

static void what_is_hidden_is_left_out_also_when_named(void **unused)
{
    (void)unused;
    assert_not_found("_named", WEFT_NOT_FOUND, "_named");
    assert_not_found("in/.hidden", WEFT_NOT_FOUND, ".hidden");
    assert_not_found("nowhere", WEFT_NOT_FOUND, "nowhere");
    assert_found("empty", false, "");
}

static void braces_can_stand_in_braces(void **unused)
{
    (void)unused;
    struct streaming_list patterns = {0};
    assert_int_equal(streaming_expand_braces("a{b,c{d,e},}f{g}", &patterns), WEFT_OK);
    static const char *const expected[] = {"abfg", "acdfg", "acefg", "afg"};
    assert_int_equal(patterns.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < patterns.count; i++)
        assert_string_equal(patterns.items[i], expected[i]);
    streaming_drop(&patterns);
    assert_int_equal(streaming_expand_braces("{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}"
                                             "{0,1}{0,1}{0,1}{0,1}{0,1}",
                                             &patterns),
                     WEFT_RESOURCE_EXHAUSTED);
    streaming_drop(&patterns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_is_its_files_in_order),
        cmocka_unit_test(a_directory_below_is_an_error_unless_wanted),
        cmocka_unit_test(what_the_job_writes_is_left_out_and_refused_by_name),
        cmocka_unit_test(patterns_have_braces_and_classes),
        cmocka_unit_test(what_is_hidden_is_left_out_also_when_named),
        cmocka_unit_test(braces_can_stand_in_braces),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
