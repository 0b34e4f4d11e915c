// Tests of store/inputs: the files that each kind of word becomes, their order, and words that are refused.

#include "store/inputs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/file/file.h"
#include "sys/file/folder_testing.h"

static void put(const char *path, const char *text, size_t size)
{
    int fd;
    assert_int_equal(file_create(path, &fd), WEFT_OK);
    assert_int_equal(file_write(fd, path, text, size), WEFT_OK);
    file_close(fd);
}

static void put_text(const char *path, const char *text)
{
    put(path, text, strlen(text));
}

static weft_err expand(struct inputs *inputs, const char *const *words)
{
    struct inputs_request request = {.words = words, .tmp = testing_folder};
    while (words[request.word_count])
        request.word_count++;
    return inputs_expand(inputs, &request);
}

static void assert_expands(const char *expected, const char *const *words)
{
    struct inputs inputs;
    struct buf names = {0};
    assert_int_equal(expand(&inputs, words), WEFT_OK);
    for (size_t i = 0; i < inputs.count; i++)
        buf_format(&names, "%s ", inputs.items[i].name);
    assert_string_equal(buf_text(&names), expected);
    buf_fini(&names);
    inputs_fini(&inputs);
}

static void assert_refuses(weft_err code, const char *sentence, const char *const *words)
{
    struct inputs inputs;
    assert_int_equal(expand(&inputs, words), code);
    assert_non_null(strstr(err_text(), sentence));
    inputs_fini(&inputs);
}

#define EXPANDS(expected, ...) assert_expands(expected, (const char *const[]){__VA_ARGS__, NULL})
#define REFUSES(code, sentence, ...)                                                               \
    assert_refuses(code, sentence, (const char *const[]){__VA_ARGS__, NULL})

static void words_are_expanded_in_the_order_given(void **state)
{
    (void)state;
    mkdir("d", 0777), mkdir("d/sub", 0777);
    put_text("b", "12"), put_text("a", ""), put_text("d/2", ""), put_text("d/10", "");
    put_text("d/sub/x", ""), put_text("d/.hidden", "");
    EXPANDS("b d/10 d/2 d/sub/x a b ", "b", "d", "a", "b");
    EXPANDS("d/10 d/2 ", "d/[0-9]*");
    EXPANDS("d/sub/x ", "d/s*");
    EXPANDS("./d/.hidden ", "./d/.hidden");
}

static void sizes_are_added_up(void **state)
{
    (void)state;
    struct inputs inputs;
    put_text("a", "123"), put_text("b", "45");
    assert_int_equal(expand(&inputs, (const char *const[]){"a", "b", "a", NULL}), WEFT_OK);
    assert_int_equal(inputs.total_bytes, 8);
    assert_int_equal(inputs.items[1].size, 2);
    assert_ptr_equal(inputs.items[1].name, inputs.items[1].path);
    inputs_fini(&inputs);
}

static void a_file_named_like_a_pattern_or_list_can_be_given(void **state)
{
    (void)state;
    put_text("a[1]", ""), put_text("a1", ""), put_text("@x", "");
    EXPANDS("a[1] ", "a[1]");
    EXPANDS("./@x ", "./@x");
}

static void a_list_gives_a_name_per_line(void **state)
{
    (void)state;
    mkdir("d", 0777);
    put_text("a", ""), put_text("b*", ""), put_text("d/x", "");
    put_text("names", "b*\n\nd\na");
    EXPANDS("b* d/x a ", "@names");
    put("zeros", "a\0two\nlines\0", 12);
    put_text("two\nlines", "");
    EXPANDS("a two\nlines ", "@zeros");
    put_text("empty", "");
    EXPANDS("", "@empty");
    put_text("wrong", "a\nnone\n");
    REFUSES(WEFT_NOT_FOUND, "@wrong: cannot find the input none", "@wrong");
    REFUSES(WEFT_NOT_FOUND, "@nolist", "@nolist");
    put_text("dash", "-\n");
    REFUSES(WEFT_NOT_FOUND, "cannot find the input -", "@dash");
}

static void standard_input_is_read_once(void **state)
{
    (void)state;
    struct inputs inputs;
    put_text("f", "first\nsecond\n");
    dup2(open("f", O_RDONLY), STDIN_FILENO);
    assert_int_equal(expand(&inputs, (const char *const[]){"-", NULL}), WEFT_OK);
    assert_string_equal(inputs.items[0].name, "-");
    assert_int_equal(inputs.total_bytes, 13);
    char text[32] = "";
    const int fd = open(inputs.items[0].path, O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text), 13);
    close(fd);
    inputs_fini(&inputs);
    REFUSES(WEFT_INVALID_ARGUMENT, "- stands twice", "-", "-");
    put_text("names", "f\n");
    dup2(open("names", O_RDONLY), STDIN_FILENO);
    EXPANDS("f ", "@-");
    REFUSES(WEFT_INVALID_ARGUMENT, "- stands twice", "@-", "-");
}

static void what_is_no_plain_file_is_kept_for_others_to_open(void **state)
{
    (void)state;
    struct inputs inputs;
    char path[32];
    put_text("f", "by number");
    const int fd = open("f", O_RDONLY);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    assert_int_equal(expand(&inputs, (const char *const[]){path, "/dev/null", NULL}), WEFT_OK);
    assert_int_equal(inputs.count, 2);
    assert_string_equal(inputs.items[0].name, path);
    assert_memory_equal(inputs.items[0].path, "/proc/", 6);
    assert_null(strstr(inputs.items[0].path, "self"));
    assert_int_equal(inputs.items[0].size, 9);
    assert_int_equal(inputs.items[1].size, 0);
    close(fd);
    inputs_fini(&inputs);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    struct inputs inputs;
    put_text("f", "");
    REFUSES(WEFT_NOT_FOUND, "cannot find the input none", "f", "none");
    REFUSES(WEFT_NOT_FOUND, "cannot find the input f/x", "f/x");
    REFUSES(WEFT_NOT_FOUND, "no file matches none*", "none*");
    REFUSES(WEFT_INVALID_ARGUMENT, "empty", "");
    assert_int_equal(inputs_expand(&inputs, &(struct inputs_request){.tmp = testing_folder}),
                     WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "no input is given"));
    inputs_fini(&inputs);
}

static void a_file_that_is_also_the_output_is_refused(void **state)
{
    (void)state;
    struct inputs inputs;
    const char *const words[] = {"out"};
    struct inputs_request request = {
        .words = words, .word_count = 1, .tmp = testing_folder, .stdout_is_output = true};
    const int kept = dup(STDOUT_FILENO);
    put_text("out", "");
    fflush(stdout);
    dup2(open("out", O_WRONLY), STDOUT_FILENO);
    const weft_err refused = inputs_expand(&inputs, &request);
    inputs_fini(&inputs);
    request.stdout_is_output = false;
    const weft_err accepted = inputs_expand(&inputs, &request);
    inputs_fini(&inputs);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    assert_int_equal(refused, WEFT_INVALID_ARGUMENT);
    assert_int_equal(accepted, WEFT_OK);
}

static void a_file_may_be_replaced_only_when_it_is_the_only_input(void **state)
{
    (void)state;
    struct inputs inputs;
    static const char *const words[] = {"./f", "g"}, *const own[] = {"f"};
    put_text("f", ""), put_text("g", "");
    struct inputs_request request = {
        .words = words, .word_count = 2, .tmp = testing_folder, .own = own, .own_count = 1};
    assert_int_equal(inputs_expand(&inputs, &request), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "./f is an input and also an output of this run"));
    inputs_fini(&inputs);
    request.word_count = 1;
    assert_int_equal(inputs_expand(&inputs, &request), WEFT_OK);
    assert_int_equal(inputs.count, 1);
    inputs_fini(&inputs);
}

static weft_err expand_with_own(struct inputs *inputs, const char *word, const char *own)
{
    const struct inputs_request request = {
        .words = &word, .word_count = 1, .tmp = testing_folder, .own = &own, .own_count = 1};
    return inputs_expand(inputs, &request);
}

static void what_the_run_writes_is_left_out_of_a_directory(void **state)
{
    (void)state;
    struct inputs inputs;
    static const char *const own[] = {"d/out", "d/./out/", "link"};
    mkdir("d", 0777), mkdir("d/out", 0777), assert_int_equal(symlink("d/out", "link"), 0);
    put_text("d/out/part-00000", "1"), put_text("d/x", "");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        assert_int_equal(expand_with_own(&inputs, "d", own[i]), WEFT_OK);
        assert_int_equal(inputs.count, 1);
        assert_int_equal(inputs.own.count, 1);
        assert_string_equal(inputs.own.first, "d/out/");
        inputs_fini(&inputs);
    }
    assert_int_equal(expand_with_own(&inputs, "d", "d/x"), WEFT_OK);
    assert_string_equal(inputs.items[0].name, "d/out/part-00000");
    assert_string_equal(inputs.own.first, "d/x");
    inputs_fini(&inputs);
    assert_int_equal(expand_with_own(&inputs, "d", "d/nothing yet"), WEFT_OK);
    assert_int_equal(inputs.count, 2);
    inputs_fini(&inputs);
}

static void what_the_run_writes_is_refused_by_name(void **state)
{
    (void)state;
    struct inputs inputs;
    mkdir("d", 0777), mkdir("d/out", 0777);
    put_text("d/out/part-00000", "1"), put_text("f", "");
    static const char *const refused[][2] = {
        {"d/out", "d/out"}, {"d/out/part-00000", "d/out"}, {"./d/out", "d/out"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(expand_with_own(&inputs, refused[i][0], refused[i][1]),
                         WEFT_INVALID_ARGUMENT);
        assert_non_null(strstr(err_text(), "output of this run"));
        inputs_fini(&inputs);
    }
    assert_int_equal(expand_with_own(&inputs, "f*", "f"), WEFT_OK);
    assert_int_equal(inputs.count, 0);
    assert_string_equal(inputs.own.first, "f");
    inputs_fini(&inputs);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)
    const struct CMUnitTest tests[] = {
        TEST(words_are_expanded_in_the_order_given),
        TEST(sizes_are_added_up),
        TEST(a_file_named_like_a_pattern_or_list_can_be_given),
        TEST(a_list_gives_a_name_per_line),
        TEST(standard_input_is_read_once),
        TEST(what_is_no_plain_file_is_kept_for_others_to_open),
        TEST(mistakes_are_named),
        TEST(a_file_that_is_also_the_output_is_refused),
        TEST(what_the_run_writes_is_left_out_of_a_directory),
        TEST(what_the_run_writes_is_refused_by_name),
        TEST(a_file_may_be_replaced_only_when_it_is_the_only_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
