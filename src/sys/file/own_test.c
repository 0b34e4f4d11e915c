// Tests of files of ours: links, other names, other users (only root can make files of theirs), permissions.

#include "sys/file/own.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/file/file.h"
#include "sys/file/folder_testing.h"

enum { OTHER_USER = 65534 };

static unsigned mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status.st_mode & 07777;
}

static void put(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CREAT, 0644);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void assert_holds(const char *path, const char *text)
{
    char got[64] = "";
    const int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && read(fd, got, sizeof got - 1) >= 0);
    close(fd);
    assert_string_equal(got, text);
}

static void no_way_to_make_a_file_follows_a_link(void **state)
{
    (void)state;
    weft_err (*const ways[])(const char *, int *) = {file_create, file_create_private,
                                                     file_open_kept, file_open_private, file_lock};
    put("precious", "precious");
    for (int is_hard = 0; is_hard < 2; is_hard++) {
        assert_int_equal(is_hard ? link("precious", "link") : symlink("precious", "link"), 0);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            int fd = -2;
            assert_int_equal(ways[i]("link", &fd), WEFT_PERMISSION_DENIED);
            assert_int_equal(fd, -1);
            assert_non_null(strstr(err_text(), is_hard ? "another name" : "symbolic link"));
        }
        int fd;
        assert_int_equal(file_create_new("link", &fd), WEFT_ALREADY_EXISTS);
        assert_int_not_equal(file_open_direct("link", false, &fd), WEFT_OK);
        assert_holds("precious", "precious");
        unlink("link");
    }
    // A name that the user gave is the user's to choose.
    int fd;
    symlink("precious", "link");
    assert_int_equal(file_create_named("link", &fd), WEFT_OK);
    file_close(fd);
    assert_holds("precious", "");
    assert_int_equal(file_create_named("/dev/null", &fd), WEFT_OK);
    file_close(fd);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    int fd;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(file_create("pipe", &fd), WEFT_PERMISSION_DENIED);
    assert_int_equal(file_create("/dev/null", &fd), WEFT_PERMISSION_DENIED);
}

static void what_is_private_is_so_for_any_umask(void **state)
{
    (void)state;
    int fd;
    const mode_t before = umask(0);
    assert_int_equal(own_make_directory("a/b/c"), WEFT_OK);
    assert_int_equal(own_make_named_directory("d/e/"), WEFT_OK);
    assert_int_equal(file_create_private("a/file", &fd), WEFT_OK);
    file_close(fd);
    assert_int_equal(file_lock("a/lock", &fd), WEFT_OK);
    file_close(fd);
    umask(before);
    static const char *const directories[] = {"a", "a/b", "a/b/c", "d", "d/e"};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(mode_of(directories[i]), 0700);
    assert_true(mode_of("a/file") == 0600 && mode_of("a/lock") == 0600);
}

static void a_directory_of_ours_is_closed_to_others_and_opened_again(void **state)
{
    (void)state;
    const mode_t before = umask(027);
    assert_int_equal(mkdir("old", 0777), 0);
    assert_int_equal(chmod("old", 02777), 0);
    assert_int_equal(own_make_directory("old"), WEFT_OK);
    assert_int_equal(mode_of("old") & 0777, 0700);
    assert_int_equal(own_check_directory("old"), WEFT_OK);
    assert_int_equal(own_open_directory("old", NULL), WEFT_OK);
    assert_int_equal(mode_of("old") & 0777, 0750);
    umask(before);
    // What the user has named keeps what the user gave it.
    assert_int_equal(own_make_named_directory("old"), WEFT_OK);
    assert_int_equal(mode_of("old") & 0777, 0750);
}

static void a_link_is_no_directory_of_ours(void **state)
{
    (void)state;
    assert_int_equal(mkdir("real", 0755), 0);
    assert_int_equal(symlink("real", "link"), 0);
    assert_int_equal(own_make_directory("link"), WEFT_PERMISSION_DENIED);
    assert_non_null(strstr(err_text(), "symbolic link"));
    assert_int_equal(own_check_directory("link"), WEFT_PERMISSION_DENIED);
    assert_int_equal(own_check_directory("none"), WEFT_NOT_FOUND);
    assert_int_equal(mode_of("real"), 0755);
    assert_int_equal(own_make_named_directory("link"), WEFT_OK);
    put("file", "");
    assert_int_equal(own_make_directory("file"), WEFT_PERMISSION_DENIED);
    assert_int_equal(own_make_named_directory("file"), WEFT_ALREADY_EXISTS);
}

static void what_belongs_to_another_user_is_refused(void **state)
{
    (void)state;
    int fd;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir("theirs", 0777), 0);
    assert_int_equal(chown("theirs", OTHER_USER, OTHER_USER), 0);
    assert_int_equal(own_make_directory("theirs"), WEFT_PERMISSION_DENIED);
    assert_non_null(strstr(err_text(), "another user"));
    assert_int_equal(own_check_directory("theirs"), WEFT_PERMISSION_DENIED);
    put("file", "theirs");
    assert_int_equal(chown("file", OTHER_USER, OTHER_USER), 0);
    assert_int_equal(file_open_kept("file", &fd), WEFT_PERMISSION_DENIED);
    assert_int_equal(file_create("file", &fd), WEFT_PERMISSION_DENIED);
    assert_holds("file", "theirs");
}

static void expect_way(const char *name, weft_err code, const char *why)
{
    assert_int_equal(own_check_above(testing_path(name)), code);
    if (code != WEFT_OK && !strstr(err_text(), why))
        fail_msg("\"%s\" does not name \"%s\"", err_text(), why);
}

static void a_way_that_others_can_change_is_found(void **state)
{
    (void)state;
    assert_int_equal(own_make_directory("way/below"), WEFT_OK);
    expect_way("way/below/file", WEFT_OK, "");
    expect_way("way/below/not/there/yet", WEFT_OK, "");
    assert_int_equal(chmod("way", 0777), 0);
    expect_way("way/below/file", WEFT_PERMISSION_DENIED, "/way");
    expect_way("way/below/not/there/yet", WEFT_PERMISSION_DENIED, "/way");
    assert_int_equal(chmod("way", 01777), 0);  // as /tmp
    expect_way("way/below/file", WEFT_OK, "");
    // Also where a link leads.
    assert_int_equal(chmod("way", 0777), 0);
    assert_int_equal(symlink("way/below", "link"), 0);
    expect_way("link/file", WEFT_PERMISSION_DENIED, "/way");
    assert_int_equal(own_check_above("way/below"), WEFT_INVALID_ARGUMENT);
}

static void a_kept_file_is_ours_alone(void **state)
{
    uint64_t size = 0;
    int fd;
    (void)state;
    put("kept", "content");
    assert_int_equal(own_open_kept("kept", &fd, &size), WEFT_OK);
    assert_int_equal(size, 7);
    close(fd);
    for (unsigned bit = 020; bit; bit = bit == 020 ? 02 : 0) {
        assert_int_equal(chmod("kept", 0500 | bit), 0);
        assert_int_equal(own_open_kept("kept", &fd, &size), WEFT_PERMISSION_DENIED);
        assert_int_equal(fd, -1);
    }
    assert_int_equal(chmod("kept", 0500), 0);
    assert_int_equal(symlink("kept", "link"), 0);
    assert_int_equal(own_open_kept("link", &fd, &size), WEFT_PERMISSION_DENIED);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(own_open_kept("pipe", &fd, &size), WEFT_PERMISSION_DENIED);
    assert_int_equal(own_open_kept("nowhere", &fd, &size), WEFT_NOT_FOUND);
    if (geteuid() != 0)
        return;
    assert_int_equal(chown("kept", OTHER_USER, OTHER_USER), 0);
    assert_int_equal(own_open_kept("kept", &fd, &size), WEFT_PERMISSION_DENIED);
    assert_non_null(strstr(err_text(), "another user"));
}

// In a folder like /tmp, where another user may have been first. `put` in the test is that user.
static void what_another_user_put_under_a_named_file_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        return;
    put("precious", "precious");
    assert_int_equal(mkdir("shared", 0700), 0);
    assert_int_equal(chmod("shared", 01777), 0);
    assert_int_equal(symlink("../precious", "shared/link"), 0);
    assert_int_equal(symlink("../new", "shared/to-nowhere"), 0);
    put("shared/file", "theirs");
    assert_int_equal(mkfifo("shared/pipe", 0666), 0);
    static const char *const names[] = {"shared/link", "shared/to-nowhere", "shared/file",
                                        "shared/pipe"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int fd = -2;
        assert_int_equal(lchown(names[i], OTHER_USER, OTHER_USER), 0);
        assert_int_equal(file_create_named(names[i], &fd), WEFT_PERMISSION_DENIED);
        assert_int_equal(fd, -1);
        assert_non_null(strstr(err_text(), "another user"));
    }
    assert_holds("precious", "precious");
    assert_holds("shared/file", "theirs");
    assert_int_not_equal(access("new", F_OK), 0);
    // In a directory of that user's it is for the caller to know.
    int fd;
    assert_int_equal(chown("shared", OTHER_USER, OTHER_USER), 0);
    assert_int_equal(file_create_named("shared/file", &fd), WEFT_OK);
    file_close(fd);
    assert_holds("shared/file", "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)
    const struct CMUnitTest tests[] = {
        TEST(no_way_to_make_a_file_follows_a_link),
        TEST(what_is_no_file_is_refused),
        TEST(what_is_private_is_so_for_any_umask),
        TEST(a_directory_of_ours_is_closed_to_others_and_opened_again),
        TEST(a_link_is_no_directory_of_ours),
        TEST(a_way_that_others_can_change_is_found),
        TEST(a_kept_file_is_ours_alone),
        TEST(what_belongs_to_another_user_is_refused),
        TEST(what_another_user_put_under_a_named_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
