// Tests of store/output_tidy: the unfinished file of a run that was killed goes with the next run, and no other one does.

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/output.h"
#include "sys/file/file.h"
#include "sys/file/folder_testing.h"

static void make_file(const char *path)
{
    int fd;
    assert_int_equal(file_create(path, &fd), WEFT_OK);
    file_close(fd);
}

static int count_names(void)
{
    int count = -2;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

// A run that writes "out", as far as its first piece.
static struct output *begin(bool force)
{
    struct output *output;
    const struct output_options options = {
        .target = "out", .force = force, .tmp = testing_folder, .job_name = "job"};
    assert_int_equal(output_open(&output, &options), WEFT_OK);
    assert_int_equal(output_plan(output, 1, 0, NULL), WEFT_OK);
    return output;
}

static void what_a_killed_run_has_left_goes_with_the_next_one(void **state)
{
    (void)state;
    // Names alike, which are not ours to remove.
    make_file(".out.weft-");
    make_file(".out.weft-1-0123456");
    make_file(".out.weft-1-0123456g");
    make_file(".other.weft-1-01234567");
    mkdir(".out.weft-1-01234567", 0700);
    const pid_t child = fork();
    if (child == 0) {
        begin(false);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(count_names(), 6);
    struct output *output = begin(false);
    assert_int_equal(count_names(), 6);
    assert_int_equal(access(output_place(output)->path, F_OK), 0);
    output_free(output);
    assert_int_equal(count_names(), 5);
}

static void a_run_leaves_the_unfinished_file_of_another_one(void **state)
{
    (void)state;
    struct output *first = begin(false), *second = begin(true);
    assert_int_equal(count_names(), 2);
    assert_int_equal(output_commit(first), WEFT_OK);
    assert_int_equal(output_commit(second), WEFT_OK);
    output_free(first);
    output_free(second);
    assert_int_equal(count_names(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_a_killed_run_has_left_goes_with_the_next_one),
        TEST(a_run_leaves_the_unfinished_file_of_another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
