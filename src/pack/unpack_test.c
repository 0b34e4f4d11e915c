// Tests of unpacking: the content of an archive comes out, and a hostile one touches nothing outside.

#include "pack/pack_testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include "pack/unpack.h"

static weft_err unpack(struct buf *tar)
{
    struct buf archive = {0};
    struct label label;
    int fd;
    testing_compress(tar, &archive);
    testing_write(testing_path("archive"), &archive);
    buf_fini(&archive);
    assert_int_equal(file_remove_tree(testing_path("out")), WEFT_OK);
    assert_int_equal(file_open(testing_path("archive"), &fd), WEFT_OK);
    const weft_err code = unpack_file(fd, "archive", testing_path("out"), "/at/home", &label);
    file_close(fd);
    return code;
}

static void files_directories_and_links_come_out(void **state)
{
    struct buf tar = {0};
    struct stat status;
    char target[64] = "";
    (void)state;
    testing_add_label(&tar, 5, 7);
    testing_add(&tar, TAR_DIRECTORY, "a", NULL);
    testing_add(&tar, TAR_FILE, "a/f", "content");
    testing_add(&tar, TAR_LINK, "a/l", "../b/f");
    testing_add(&tar, TAR_DIRECTORY, "b", NULL);
    testing_add(&tar, TAR_LINK, "b/f", "../a/f");
    assert_int_equal(unpack(&tar), WEFT_OK);
    assert_int_equal(stat(testing_path("out/a/l"), &status), 0);
    assert_int_equal(status.st_size, 7);
    assert_int_equal(status.st_mtime, TAR_TIME_S);
    assert_int_equal(status.st_mode & 07777, 0644);
    assert_int_equal(readlink(testing_path("out/b/f"), target, sizeof target - 1), 6);
}

// From 3.14 on Python finds a venv by that line alone.
static void a_venv_that_needs_it_gets_the_place(void **state)
{
    struct buf tar = {0}, text = {0};
    const struct label label = {.kind = LABEL_VENV,
                                .name = "v",
                                .python = "3.14",
                                .needs_home = true,
                                .entries = 1,
                                .bytes = 10};
    char got[64] = "";
    size_t size;
    int fd;
    (void)state;
    label_write(&label, &text);
    testing_add(&tar, TAR_FILE, LABEL_NAME, buf_text(&text));
    testing_add(&tar, TAR_FILE, "pyvenv.cfg", "version=1\n");
    assert_int_equal(unpack(&tar), WEFT_OK);
    assert_int_equal(file_open(testing_path("out/pyvenv.cfg"), &fd), WEFT_OK);
    assert_int_equal(file_read_at(fd, "pyvenv.cfg", got, sizeof got - 1, 0, &size), WEFT_OK);
    assert_string_equal(got, "version=1\nhome = /at/home/.python/bin\n");
    file_close(fd);
    buf_fini(&text);
}

struct hostile {
    enum tar_kind kind;
    const char *path, *text, *why;
};

static void hostile_entries_are_refused(void **state)
{
    static const struct hostile entries[] = {
        {TAR_FILE, "/tmp/x", "x", "not a path inside"},
        {TAR_FILE, "../x", "x", "not a path inside"},
        {TAR_FILE, "a/../../x", "x", "not a path inside"},
        {TAR_FILE, "a/./x", "x", "not a path inside"},
        {TAR_FILE, "a//x", "x", "not a path inside"},
        {TAR_FILE, "", "x", "not a path inside"},
        {TAR_FILE, "a/f", "x", "twice"},
        {TAR_DIRECTORY, "a", "x", "twice"},
        {TAR_LINK, "a", "b", "twice"},
        {TAR_FILE, "none/x", "x", "no directory before"},
        {TAR_LINK, "none/x", "f", "no directory before"},
        {TAR_FILE, "a/f/x", "x", "cannot create|no directory before"},
        {TAR_LINK, "a/l", "/etc/passwd", "leads out"},
        {TAR_LINK, "a/l", "../../x", "leads out"},
        {TAR_LINK, "l", "..", "leads out"},
        {TAR_LINK, "l", "a/../../x", "leads out"},
        {TAR_LINK, "a/l", "f/../../../x", "leads out"},
        {TAR_LINK, "a/l", "", "leads out"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        const struct hostile *entry = &entries[i];
        struct buf tar = {0};
        testing_add_label(&tar, 3, 1 + (entry->kind == TAR_FILE));
        testing_add(&tar, TAR_DIRECTORY, "a", NULL);
        testing_add(&tar, TAR_FILE, "a/f", "x");
        testing_add(&tar, entry->kind, entry->path, entry->text);
        if (unpack(&tar) == WEFT_OK)
            fail_msg("\"%s\" -> \"%s\" was unpacked", entry->path, entry->text);
        const char *other = strchr(entry->why, '|');
        char why[64];
        snprintf(why, sizeof why, "%.*s", (int)strcspn(entry->why, "|"), entry->why);
        if (!strstr(err_text(), why) && !(other && strstr(err_text(), other + 1)))
            fail_msg("\"%s\" does not say \"%s\"", err_text(), entry->why);
        assert_int_not_equal(access(testing_path("x"), F_OK), 0);
    }
}

// A link to a directory, and then entries below it: none may be made where the link leads.
static void nothing_is_made_through_a_link(void **state)
{
    struct buf tar = {0};
    (void)state;
    testing_add_label(&tar, 3, 1);
    testing_add(&tar, TAR_DIRECTORY, "a", NULL);
    testing_add(&tar, TAR_LINK, "l", "a");
    testing_add(&tar, TAR_FILE, "l/f", "x");
    assert_int_equal(unpack(&tar), WEFT_INVALID_ARGUMENT);
    assert_int_not_equal(access(testing_path("out/a/f"), F_OK), 0);
    // Where "here" leads to the root, "../x" of a link in it would lead out.
    testing_add_label(&tar, 2, 0);
    testing_add(&tar, TAR_LINK, "here", ".");
    testing_add(&tar, TAR_LINK, "here/l", "../x");
    assert_int_equal(unpack(&tar), WEFT_INVALID_ARGUMENT);
    // The link first, the directory later.
    testing_add_label(&tar, 3, 1);
    testing_add(&tar, TAR_LINK, "a", ".");
    testing_add(&tar, TAR_DIRECTORY, "a", NULL);
    testing_add(&tar, TAR_FILE, "a/f", "x");
    assert_int_equal(unpack(&tar), WEFT_INVALID_ARGUMENT);
    assert_int_not_equal(access(testing_path("out/f"), F_OK), 0);
}

static void the_label_bounds_what_comes(void **state)
{
    struct buf tar = {0};
    (void)state;
    testing_add_label(&tar, 1, 6);
    testing_add(&tar, TAR_FILE, "f", "content");
    assert_int_equal(unpack(&tar), WEFT_INVALID_ARGUMENT);
    testing_add_label(&tar, 1, 7);
    testing_add(&tar, TAR_FILE, "f", "content");
    testing_add(&tar, TAR_DIRECTORY, "a", NULL);
    assert_int_equal(unpack(&tar), WEFT_INVALID_ARGUMENT);
    testing_add_label(&tar, 2, 7);
    testing_add(&tar, TAR_FILE, "f", "content");
    assert_int_equal(unpack(&tar), WEFT_DATA_LOSS);
    testing_add(&tar, TAR_FILE, "f", "content");
    assert_int_equal(unpack(&tar), WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "not an archive of weft pack"));
    testing_add(&tar, TAR_FILE, LABEL_NAME, "{\"format\":2,\"kind\":\"venv\"}");
    assert_int_equal(unpack(&tar), WEFT_UNIMPLEMENTED);
}

static void links_may_lead_anywhere_inside(void **state)
{
    (void)state;
    assert_true(unpack_is_link("l", "a"));
    assert_true(unpack_is_link("l", "a/b"));
    assert_true(unpack_is_link("l", "."));
    assert_true(unpack_is_link("a/l", ".."));
    assert_true(unpack_is_link("a/l", "../b"));
    assert_true(unpack_is_link("a/b/l", "../../c"));
    assert_false(unpack_is_link("l", "../b"));
    assert_false(unpack_is_link("a/l", "../../b"));
    assert_false(unpack_is_link("a/l", "../.."));
    assert_false(unpack_is_link("a/l", "b/.."));
    assert_false(unpack_is_link("a/l", "/b"));
}

int main(void)
{
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, testing_make_folder, testing_remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(files_directories_and_links_come_out),
        IN_FOLDER(hostile_entries_are_refused),
        IN_FOLDER(a_venv_that_needs_it_gets_the_place),
        IN_FOLDER(nothing_is_made_through_a_link),
        IN_FOLDER(the_label_bounds_what_comes),
        cmocka_unit_test(links_may_lead_anywhere_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
