// Tests of sys/find: the order of a tree, names that are left out, and patterns.

#include "sys/file/find.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/file/folder_testing.h"

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static weft_err note(void *owner, const struct found *found)
{
    buf_format(owner, "%s:%d ", found->path, (int)found->size);
    return WEFT_OK;
}

static void assert_walk(const char *path, const char *expected)
{
    struct buf seen = {0};
    assert_int_equal(find_walk(path, &(struct find_calls){.visit = note}, &seen), WEFT_OK);
    assert_string_equal(buf_text(&seen), expected);
    buf_fini(&seen);
}

static void files_come_in_the_byte_order_of_their_paths(void **state)
{
    (void)state;
    mkdir("t", 0777), mkdir("t/a", 0777), mkdir("t/a/deep", 0777), mkdir("t/Z", 0777);
    put("t/a/x", "1"), put("t/a.txt", "22"), put("t/a0", ""), put("t/Z/z", ""), put("t/b", "");
    put("t/a/deep/y", "");
    // '.' sorts before '/', and that before '0': as `find | LC_ALL=C sort` has it.
    const char *expected = "t/Z/z:0 t/a.txt:2 t/a/deep/y:0 t/a/x:1 t/a0:0 t/b:0 ";
    assert_walk("t", expected);
    assert_walk("t/", expected);
}

static void hidden_ones_streams_and_loops_are_left_out_and_links_followed(void **state)
{
    (void)state;
    mkdir("t", 0777), mkdir("t/.hidden", 0777), mkdir("t/empty", 0777), mkdir("away", 0777);
    put("t/.hidden/f", ""), put("t/.f", ""), put("t/f", "123"), put("away/f", "");
    assert_int_equal(symlink("../away", "t/linked"), 0);
    assert_int_equal(symlink(".", "t/loop"), 0);
    assert_int_equal(symlink("f", "t/g"), 0);
    assert_int_equal(mkfifo("t/fifo", 0666), 0);
    assert_walk("t", "t/f:3 t/g:3 t/linked/f:0 ");
    assert_walk("t/.hidden", "t/.hidden/f:0 ");
    assert_int_equal(chdir("t"), 0);
    assert_walk(".", "./f:3 ./g:3 ./linked/f:0 ");
}

static void a_link_that_leads_nowhere_is_told(void **state)
{
    (void)state;
    struct buf seen = {0};
    mkdir("t", 0777);
    assert_int_equal(symlink("nowhere", "t/link"), 0);
    assert_int_equal(find_walk("t", &(struct find_calls){.visit = note}, &seen), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "t/link"));
    assert_int_equal(find_walk("missing", &(struct find_calls){.visit = note}, &seen),
                     WEFT_NOT_FOUND);
    buf_fini(&seen);
}

static weft_err note_aside(void *owner, enum find_aside why, const char *path)
{
    buf_format(owner, "(%s is %s) ", path,
               why == FIND_MARKED ? "marked"
               : why == FIND_LOOP ? "a loop"
                                  : "dangling");
    return WEFT_OK;
}

static void what_is_set_aside_is_told(void **state)
{
    (void)state;
    struct buf seen = {0};
    mkdir("t", 0777), mkdir("t/_logs", 0777), mkdir("t/d", 0777);
    put("t/_manifest.json", "{}"), put("t/_logs/f", ""), put("t/f", "1"), put("t/d/g", "");
    assert_int_equal(symlink("..", "t/d/up"), 0);
    assert_int_equal(symlink("itself", "t/d/itself"), 0);
    assert_int_equal(
        find_walk("t", &(struct find_calls){.visit = note, .aside = note_aside}, &seen), WEFT_OK);
    const char *text = buf_text(&seen);
    assert_non_null(strstr(text, "(t/_manifest.json is marked) "));
    assert_non_null(strstr(text, "(t/_logs is marked) "));
    assert_non_null(strstr(text, "(t/d/up/ is a loop) "));
    assert_non_null(strstr(text, "(t/d/itself is dangling) "));
    assert_non_null(strstr(text, "t/d/g:0 "));
    assert_non_null(strstr(text, "t/f:1 "));
    assert_null(strstr(text, "t/_logs/f"));
    buf_fini(&seen);
}

static weft_err refuse(void *owner, const struct found *found)
{
    (void)found;
    ++*(int *)owner;
    return err_set(WEFT_ABORTED, "enough");
}

static void a_visit_that_fails_ends_the_walk(void **state)
{
    (void)state;
    int calls = 0;
    mkdir("t", 0777);
    put("t/a", ""), put("t/b", "");
    assert_int_equal(find_walk("t", &(struct find_calls){.visit = refuse}, &calls), WEFT_ABORTED);
    assert_int_equal(calls, 1);
}

static void a_very_deep_tree_needs_few_descriptors(void **state)
{
    (void)state;
    mkdir("t", 0777);
    char path[1024] = "t";
    for (int i = 0; i < 200; i++) {
        strcat(path, "/d");
        assert_int_equal(mkdir(path, 0777), 0);
    }
    strcat(path, "/f");
    put(path, "x");
    const int before = dup(0);
    close(before);
    struct buf seen = {0};
    assert_int_equal(find_walk("t", &(struct find_calls){.visit = note}, &seen), WEFT_OK);
    assert_int_equal(seen.size, strlen(path) + 3);
    buf_fini(&seen);
    const int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

static void looking_tells_the_kind(void **state)
{
    (void)state;
    struct found found;
    put("f", "abc");
    assert_int_equal(find_look("f", &found), WEFT_OK);
    assert_int_equal(found.kind, FILE_REGULAR);
    assert_int_equal(found.size, 3);
    struct found other;
    assert_int_equal(link("f", "g"), 0);
    assert_int_equal(find_look("g", &other), WEFT_OK);
    assert_true(found.inode == other.inode && found.device == other.device);
    assert_int_equal(find_look(".", &found), WEFT_OK);
    assert_int_equal(found.kind, FILE_DIRECTORY);
    assert_int_equal(find_look("/dev/null", &found), WEFT_OK);
    assert_int_equal(found.kind, FILE_STREAM);
    assert_int_equal(find_look("f/below", &found), WEFT_OK);
    assert_int_equal(found.kind, FILE_MISSING);
    assert_int_equal(find_look_fd(9999, "nothing", &found), WEFT_UNKNOWN);
}

static void what_may_not_be_read_is_refused(void **state)
{
    (void)state;
    struct found found;
    struct buf seen = {0};
    if (geteuid() == 0)
        skip();  // root may read everything
    mkdir("t", 0777);
    put("t/f", "secret");
    chmod("t/f", 0);
    assert_int_equal(find_look("t/f", &found), WEFT_PERMISSION_DENIED);
    assert_int_equal(find_walk("t", &(struct find_calls){.visit = note}, &seen),
                     WEFT_PERMISSION_DENIED);
    assert_non_null(strstr(err_text(), "t/f"));
    buf_fini(&seen);
}

static void patterns_match_in_byte_order(void **state)
{
    (void)state;
    struct find_matches matches;
    put("b.txt", ""), put("B.txt", ""), put("a10.txt", ""), put("a2.txt", ""), put(".c.txt", "");
    assert_int_equal(find_match("*.txt", &matches), WEFT_OK);
    assert_int_equal(matches.count, 4);
    assert_string_equal(matches.paths[0], "B.txt");
    assert_string_equal(matches.paths[1], "a10.txt");
    assert_string_equal(matches.paths[2], "a2.txt");
    assert_string_equal(matches.paths[3], "b.txt");
    find_free_matches(&matches);
    assert_int_equal(find_match("*.none", &matches), WEFT_OK);
    assert_int_equal(matches.count, 0);
    find_free_matches(&matches);
}

static bool is_part(const void *owner, const char *name, enum file_kind kind)
{
    (void)owner;
    if (kind != FILE_REGULAR)
        return false;
    return strncmp(name, "part-", 5) == 0;
}

static void a_directory_is_asked_whether_it_holds_other_things(void **state)
{
    (void)state;
    bool has_only = false;
    mkdir("t", 0777);
    assert_int_equal(find_has_only("t", is_part, NULL, &has_only), WEFT_OK);
    assert_true(has_only);
    put("t/part-0", "");
    assert_int_equal(find_has_only("t", is_part, NULL, &has_only), WEFT_OK);
    assert_true(has_only);
    put("t/.hidden", "");
    assert_int_equal(find_has_only("t", is_part, NULL, &has_only), WEFT_OK);
    assert_false(has_only);
    assert_int_equal(find_has_only("none", is_part, NULL, &has_only), WEFT_NOT_FOUND);
}

static void the_target_of_a_link_is_cut_to_the_room(void **state)
{
    char target[8], small[4];
    (void)state;
    put("f", "");
    assert_int_equal(symlink("nowhere", "link"), 0);
    assert_true(find_link_target("link", target, sizeof target));
    assert_string_equal(target, "nowhere");
    assert_true(find_link_target("link", small, sizeof small));
    assert_string_equal(small, "now");
    assert_false(find_link_target("f", target, sizeof target));
    assert_string_equal(target, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)
    const struct CMUnitTest tests[] = {
        TEST(files_come_in_the_byte_order_of_their_paths),
        TEST(hidden_ones_streams_and_loops_are_left_out_and_links_followed),
        TEST(a_link_that_leads_nowhere_is_told),
        TEST(what_is_set_aside_is_told),
        TEST(the_target_of_a_link_is_cut_to_the_room),
        TEST(a_visit_that_fails_ends_the_walk),
        TEST(a_very_deep_tree_needs_few_descriptors),
        TEST(looking_tells_the_kind),
        TEST(what_may_not_be_read_is_refused),
        TEST(patterns_match_in_byte_order),
        TEST(a_directory_is_asked_whether_it_holds_other_things),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
