// Tests of sys/place: nothing is ever lost that was not ours to replace.

#include "sys/file/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file/file.h"
#include "sys/file/folder_testing.h"

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_holds(const char *path, const char *expected)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    assert_string_equal(text, expected);
}

static void a_temporary_name_is_hidden_and_beside_the_target(void **state)
{
    (void)state;
    static const struct {
        const char *target, *start;
    } cases[] = {{"out", "./.out.weft-"}, {"a/out", "a/.out.weft-"}, {"/x/out/", "/x/.out.weft-"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *name, *other;
        assert_int_equal(place_make_name(cases[i].target, &name), WEFT_OK);
        assert_int_equal(place_make_name(cases[i].target, &other), WEFT_OK);
        assert_memory_equal(name, cases[i].start, strlen(cases[i].start));
        assert_string_not_equal(name, other);
        free(name);
        free(other);
    }
    char long_name[251];
    memset(long_name, 'n', 250);
    long_name[250] = 0;
    char *name;
    assert_int_equal(place_make_name(long_name, &name), WEFT_OK);
    put(name, "fits");
    free(name);
}

static void looking_tells_what_is_there(void **state)
{
    (void)state;
    enum place_kind kind;
    put("f", "");
    mkdir("d", 0777);
    assert_int_equal(symlink("nowhere", "dangling"), 0);
    assert_int_equal(symlink("f", "link"), 0);
    static const struct {
        const char *path;
        enum place_kind kind;
    } cases[] = {{"f", PLACE_FILE},        {"d", PLACE_DIRECTORY}, {"none", PLACE_FREE},
                 {"dangling", PLACE_FILE}, {"link", PLACE_FILE},   {"/dev/null", PLACE_STREAM}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(place_look(cases[i].path, &kind), WEFT_OK);
        assert_int_equal(kind, cases[i].kind);
    }
    assert_int_equal(place_look("f/below", &kind), WEFT_NOT_FOUND);
}

static void links_are_followed(void **state)
{
    (void)state;
    char *path;
    put("f", "");
    assert_int_equal(symlink("f", "link"), 0);
    assert_int_equal(place_follow("f", &path), WEFT_OK);
    assert_string_equal(path, "f");
    free(path);
    assert_int_equal(place_follow("link", &path), WEFT_OK);
    assert_string_equal(strrchr(path, '/'), "/f");
    free(path);
    assert_int_equal(place_follow("none", &path), WEFT_OK);
    assert_string_equal(path, "none");
    free(path);
}

static void a_parent_must_be_a_directory_to_write_in(void **state)
{
    (void)state;
    put("f", "");
    assert_int_equal(place_check_parent("."), WEFT_OK);
    assert_int_equal(place_check_parent("none"), WEFT_NOT_FOUND);
    assert_int_equal(place_check_parent("f"), WEFT_NOT_FOUND);
    if (geteuid() != 0) {
        mkdir("d", 0555);
        assert_int_equal(place_check_parent("d"), WEFT_PERMISSION_DENIED);
    }
}

static void a_move_to_a_free_name_never_replaces(void **state)
{
    (void)state;
    put("new", "new"), put("old", "old");
    assert_int_equal(place_move_new("new", "old"), WEFT_ALREADY_EXISTS);
    assert_holds("old", "old");
    assert_holds("new", "new");
    assert_int_equal(place_move_new("new", "free"), WEFT_OK);
    assert_holds("free", "new");
    assert_int_equal(access("new", F_OK), -1);
    mkdir("d", 0777), mkdir("e", 0777);
    assert_int_equal(place_move_new("d", "e"), WEFT_ALREADY_EXISTS);
    assert_int_equal(place_move_new("d", "old"), WEFT_ALREADY_EXISTS);
    assert_int_equal(place_move_new("d", "g"), WEFT_OK);
    assert_int_equal(place_move_new("d", "h"), WEFT_NOT_FOUND);
}

static void a_move_over_replaces_a_file(void **state)
{
    (void)state;
    put("new", "new"), put("old", "old");
    assert_int_equal(place_move_over("new", "old"), WEFT_OK);
    assert_holds("old", "new");
    assert_int_equal(access("new", F_OK), -1);
}

static void a_move_over_replaces_a_whole_directory(void **state)
{
    (void)state;
    mkdir("new", 0777), mkdir("old", 0777), mkdir("old/sub", 0777);
    put("new/part-0", "new"), put("old/part-0", "old"), put("old/sub/part-1", "old");
    assert_int_equal(place_move_over("new", "old"), WEFT_OK);
    assert_holds("old/part-0", "new");
    assert_int_equal(access("old/sub", F_OK), -1);
    assert_int_equal(access("new", F_OK), -1);
    mkdir("new", 0777);
    assert_int_equal(place_move_over("new", "free"), WEFT_OK);
    assert_int_equal(access("free", F_OK), 0);
    // A directory cannot take the name of a file: that stays.
    mkdir("new", 0777);
    put("file", "old");
    assert_int_not_equal(place_move_over("new", "file/x"), WEFT_OK);
    assert_holds("file", "old");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_temporary_name_is_hidden_and_beside_the_target),
        TEST(looking_tells_what_is_there),
        TEST(links_are_followed),
        TEST(a_parent_must_be_a_directory_to_write_in),
        TEST(a_move_to_a_free_name_never_replaces),
        TEST(a_move_over_replaces_a_file),
        TEST(a_move_over_replaces_a_whole_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
