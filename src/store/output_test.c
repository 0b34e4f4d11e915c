// Tests of store/output: each target from open to commit or abort, played by a test that is driver and
// worker at once. The thread that copies to a pipe is real.

#include "store/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "store/manifest.h"
#include "sys/file/file.h"
#include "sys/file/folder_testing.h"

static void put(const char *path, const char *text)
{
    int fd;
    assert_int_equal(file_create(path, &fd), WEFT_OK);
    assert_int_equal(file_write(fd, path, text, strlen(text)), WEFT_OK);
    file_close(fd);
}

static void assert_holds(const char *path, const char *expected)
{
    char text[256] = "";
    int fd;
    size_t got;
    assert_int_equal(file_open(path, &fd), WEFT_OK);
    assert_int_equal(file_read_at(fd, path, text, sizeof text - 1, 0, &got), WEFT_OK);
    file_close(fd);
    assert_string_equal(text, expected);
}

// Names in the directory other than . and .., also the hidden ones.
static int count_names(const char *path)
{
    int count = -2;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static struct output *open_output(const char *target, bool force)
{
    struct output *output;
    assert_int_equal(output_open(&output, &(struct output_options){.target = target,
                                                                   .force = force,
                                                                   .tmp = testing_folder,
                                                                   .job_name = "job"}),
                     WEFT_OK);
    return output;
}

static void assert_refused(const char *target, bool force, weft_err code, const char *words)
{
    struct output *output;
    assert_int_equal(output_open(&output, &(struct output_options){.target = target,
                                                                   .force = force,
                                                                   .tmp = testing_folder}),
                     code);
    assert_null(output);
    assert_non_null(strstr(err_text(), words));
}

// Writes the text as the worker would, at an offset of the whole (or in its part).
static void write_piece(struct output *output, uint32_t part, uint64_t offset, const char *text)
{
    const struct output_place *place = output_place(output);
    char path[512];
    int fd = place->fd;
    if (place->kind == OUTPUT_PLACE_PARTS)
        snprintf(path, sizeof path, "%s/part-%05u", place->path, part);
    else if (place->kind == OUTPUT_PLACE_FILE)
        snprintf(path, sizeof path, "%s", place->path);
    if (place->kind != OUTPUT_PLACE_FD)
        fd = open(path, O_WRONLY | O_CREAT, 0666);
    assert_true(fd >= 0);
    assert_int_equal(file_write_at(fd, "piece", text, strlen(text), offset), WEFT_OK);
    if (fd != place->fd)
        close(fd);
}

static weft_err commit_piece(struct output *output, uint32_t piece, const char *text)
{
    return output_piece_committed(output, piece, strlen(text), crc32c(0, text, strlen(text)), 1);
}

// Three pieces "a\n", "bb\n", "ccc\n" in one part, committed in the order 2, 0, 1.
static void write_three(struct output *output)
{
    assert_int_equal(output_plan(output, 1, 3, NULL), WEFT_OK);
    write_piece(output, 0, 5, "ccc\n");
    assert_int_equal(commit_piece(output, 2, "ccc\n"), WEFT_OK);
    write_piece(output, 0, 0, "a\n");
    assert_int_equal(commit_piece(output, 0, "a\n"), WEFT_OK);
    write_piece(output, 0, 2, "bb\n");
    assert_int_equal(commit_piece(output, 1, "bb\n"), WEFT_OK);
    assert_int_equal(output_bytes(output), 9);
    assert_int_equal(output_records(output), 3);
}

// ---- FILE ------------------------------------------------------------------------------------------------

static void a_file_appears_when_it_is_complete(void **state)
{
    (void)state;
    struct output *output = open_output("out", false);
    assert_int_equal(count_names("."), 0);  // a kill now leaves nothing
    write_three(output);
    assert_int_equal(access("out", F_OK), -1);
    assert_int_equal(output_bytes_out(output), 0);
    assert_int_equal(output_commit(output), WEFT_OK);
    output_free(output);
    assert_holds("out", "a\nbb\nccc\n");
    assert_int_equal(count_names("."), 1);
}

static void an_aborted_file_leaves_nothing(void **state)
{
    (void)state;
    struct output *output = open_output("out", false);
    write_three(output);
    err_set(WEFT_ABORTED, "the reason");
    output_abort(output);
    assert_string_equal(err_text(), "the reason");
    output_free(output);
    assert_int_equal(count_names("."), 0);
}

static void an_existing_file_is_refused_or_replaced(void **state)
{
    (void)state;
    put("out", "old");
    assert_refused("out", false, WEFT_ALREADY_EXISTS, "--force");
    struct output *output = open_output("out", true);
    write_three(output);
    assert_holds("out", "old");
    output_abort(output);
    output_free(output);
    assert_holds("out", "old");
    output = open_output("out", true);
    write_three(output);
    assert_int_equal(output_commit(output), WEFT_OK);
    output_free(output);
    assert_holds("out", "a\nbb\nccc\n");
    assert_int_equal(count_names("."), 1);
}

static void a_file_that_appears_meanwhile_stays(void **state)
{
    (void)state;
    struct output *output = open_output("out", false);
    write_three(output);
    put("out", "another's");
    assert_int_equal(output_commit(output), WEFT_ALREADY_EXISTS);
    assert_non_null(strstr(err_text(), "appeared"));
    output_abort(output);
    output_free(output);
    assert_holds("out", "another's");
    assert_int_equal(count_names("."), 1);
}

static void a_link_is_followed_and_stays_a_link(void **state)
{
    (void)state;
    struct stat status;
    mkdir("d", 0777);
    put("d/real", "old");
    assert_int_equal(symlink("d/real", "link"), 0);
    assert_refused("link", false, WEFT_ALREADY_EXISTS, "link");
    struct output *output = open_output("link", true);
    write_three(output);
    assert_int_equal(output_commit(output), WEFT_OK);
    output_free(output);
    assert_holds("d/real", "a\nbb\nccc\n");
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

static void a_size_that_does_not_fit_is_data_loss(void **state)
{
    (void)state;
    struct output *output = open_output("out", false);
    write_three(output);
    write_piece(output, 0, 9, "stray");
    assert_int_equal(output_commit(output), WEFT_DATA_LOSS);
    output_free(output);
    assert_int_equal(count_names("."), 0);
}

static void places_that_cannot_be_are_refused_before_any_work(void **state)
{
    (void)state;
    put("f", "");
    mkdir("d", 0777);
    assert_refused("d", false, WEFT_INVALID_ARGUMENT, "d is a directory");
    assert_refused("d", true, WEFT_INVALID_ARGUMENT, "d is a directory");
    assert_refused("nowhere/out", false, WEFT_NOT_FOUND, "nowhere");
    assert_refused("nowhere/out/", false, WEFT_NOT_FOUND, "nowhere");
    assert_refused("f/out", false, WEFT_NOT_FOUND, "f/out");
    assert_refused("f/", false, WEFT_ALREADY_EXISTS, "f exists and is not a directory");
    if (geteuid() != 0) {
        chmod("d", 0555);
        assert_refused("d/out", false, WEFT_PERMISSION_DENIED, "d/out");
    }
    assert_int_equal(count_names("."), 2);
}

// ---- DIR/ ------------------------------------------------------------------------------------------------

// Three parts of which the second stays empty; the first has two pieces.
static void write_parts(struct output *output)
{
    assert_int_equal(output_plan(output, 3, 3, (const uint32_t[]){0, 0, 2}), WEFT_OK);
    write_piece(output, 0, 0, "a\nbb\n");
    write_piece(output, 1, 0, "");
    write_piece(output, 2, 0, "ccc\n");
    assert_int_equal(commit_piece(output, 1, "bb\n"), WEFT_OK);
    assert_int_equal(commit_piece(output, 2, "ccc\n"), WEFT_OK);
    assert_int_equal(commit_piece(output, 0, "a\n"), WEFT_OK);
}

static void a_directory_has_its_parts_a_manifest_and_success(void **state)
{
    (void)state;
    struct manifest manifest = {0};
    struct output *output = open_output("out/", false);
    assert_int_equal(count_names("."), 0);
    write_parts(output);
    assert_int_equal(access("out", F_OK), -1);
    assert_int_equal(output_commit(output), WEFT_OK);
    output_free(output);
    assert_int_equal(count_names("."), 1);
    assert_int_equal(count_names("out"), 5);
    assert_int_equal(manifest_verify("out", &manifest), WEFT_OK);
    assert_string_equal(manifest.job, "job");
    assert_int_equal(manifest.part_count, 3);
    assert_int_equal(manifest.parts[0].records, 2);
    assert_int_equal(manifest.parts[1].bytes, 0);
    manifest_fini(&manifest);
}

static void an_existing_directory_is_refused_or_replaced(void **state)
{
    (void)state;
    struct output *output = open_output("out/", false);
    write_parts(output);
    assert_int_equal(output_commit(output), WEFT_OK);
    output_free(output);
    put("out/part-00000", "old");
    assert_refused("out/", false, WEFT_ALREADY_EXISTS, "out/ exists already");
    output = open_output("out/", true);
    write_parts(output);
    output_abort(output);
    output_free(output);
    assert_holds("out/part-00000", "old");
    output = open_output("out/", true);
    write_parts(output);
    assert_int_equal(output_commit(output), WEFT_OK);
    output_free(output);
    assert_holds("out/part-00000", "a\nbb\n");
    assert_int_equal(count_names("."), 1);
}

// Whatever it is called: only what the manifest lists was made by us, and only files.
static void what_is_not_in_the_manifest_is_never_replaced(void **state)
{
    (void)state;
    struct output *output = open_output("out/", false);
    write_parts(output);
    assert_int_equal(output_commit(output), WEFT_OK);
    output_free(output);
    put("out/part-00007", "mine");
    assert_refused("out/", true, WEFT_ALREADY_EXISTS, "other files");
    unlink("out/part-00007");
    mkdir("out/part-1", 0777);
    assert_refused("out/", true, WEFT_ALREADY_EXISTS, "other files");
    rmdir("out/part-1");
    unlink("out/part-00000"), mkdir("out/part-00000", 0777);
    assert_refused("out/", true, WEFT_ALREADY_EXISTS, "other files");
    rmdir("out/part-00000"), assert_int_equal(symlink("_SUCCESS", "out/part-00000"), 0);
    assert_refused("out/", true, WEFT_ALREADY_EXISTS, "other files");
}

static void a_directory_with_other_files_is_never_replaced(void **state)
{
    (void)state;
    mkdir("home", 0777);
    put("home/letter", "precious");
    assert_refused("home/", true, WEFT_ALREADY_EXISTS, "other files");
    assert_refused("./", true, WEFT_ALREADY_EXISTS, "other files");
    assert_refused("/", true, WEFT_ALREADY_EXISTS, "other files");
    mkdir("late", 0777);
    struct output *output = open_output("late/", true);
    write_parts(output);
    put("late/letter", "precious");
    assert_int_equal(output_commit(output), WEFT_ALREADY_EXISTS);
    output_free(output);
    assert_holds("late/letter", "precious");
    assert_int_equal(count_names("."), 2);
}

static void a_directory_that_appears_meanwhile_stays(void **state)
{
    (void)state;
    struct output *first = open_output("out/", false), *second = open_output("out//", false);
    write_parts(first);
    write_parts(second);
    assert_int_equal(output_commit(second), WEFT_OK);
    assert_int_equal(output_commit(first), WEFT_ALREADY_EXISTS);
    output_free(first);
    output_free(second);
    assert_holds("out/part-00000", "a\nbb\n");
    assert_int_equal(count_names("."), 1);
}

// ---- Standard output -----------------------------------------------------------------------------------------

static void a_redirected_file_is_written_where_it_stands(void **state)
{
    (void)state;
    dup2(open("out", O_RDWR | O_CREAT, 0666), STDOUT_FILENO);
    assert_int_equal(write(STDOUT_FILENO, "head\n", 5), 5);
    struct output *output = open_output(NULL, false);
    assert_int_equal(output_place(output)->kind, OUTPUT_PLACE_FD);
    assert_true(output_place(output)->fd > 2);
    // Another program that has the same file, as standard error has after 2>&1.
    assert_int_equal(write(STDOUT_FILENO, "talk\n", 5), 5);
    write_three(output);
    assert_int_equal(output_commit(output), WEFT_OK);
    assert_true(output_is_drained(output));
    assert_int_equal(output_bytes_out(output), 9);
    output_free(output);
    assert_int_equal(write(STDOUT_FILENO, "tail\n", 5), 5);
    assert_holds("out", "head\ntalk\na\nbb\nccc\ntail\n");
}

static void a_redirected_file_has_only_what_was_committed(void **state)
{
    (void)state;
    dup2(open("out", O_RDWR | O_CREAT, 0666), STDOUT_FILENO);
    struct output *output = open_output("-", false);
    assert_int_equal(output_plan(output, 1, 3, NULL), WEFT_OK);
    write_piece(output, 0, 0, "a\n");
    write_piece(output, 0, 5, "ccc\n");
    assert_int_equal(commit_piece(output, 0, "a\n"), WEFT_OK);
    assert_int_equal(commit_piece(output, 2, "ccc\n"), WEFT_OK);
    while (!output_is_drained(output))
        usleep(1000);
    assert_int_equal(output_bytes_out(output), 2);
    output_abort(output);
    output_free(output);
    assert_holds("out", "a\n");
}

static void what_stood_behind_our_start_is_not_cut(void **state)
{
    (void)state;
    put("out", "0123456789");
    dup2(open("out", O_RDWR), STDOUT_FILENO);
    struct output *output = open_output(NULL, false);
    assert_int_equal(output_plan(output, 1, 1, NULL), WEFT_OK);
    output_abort(output);
    output_free(output);
    assert_holds("out", "0123456789");
}

static void a_pipe_gets_pieces_in_order_as_they_are_committed(void **state)
{
    (void)state;
    int ends[2];
    char text[32] = "";
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    struct output *output = open_output(NULL, false);
    assert_int_equal(output_plan(output, 1, 3, NULL), WEFT_OK);
    write_piece(output, 0, 2, "bb\n");
    assert_int_equal(commit_piece(output, 1, "bb\n"), WEFT_OK);
    assert_int_equal(output_bytes_out(output), 0);
    write_piece(output, 0, 0, "a\n");
    assert_int_equal(commit_piece(output, 0, "a\n"), WEFT_OK);
    assert_int_equal(read(ends[0], text, 5), 5);
    assert_string_equal(text, "a\nbb\n");
    write_piece(output, 0, 5, "ccc\n");
    assert_int_equal(commit_piece(output, 2, "ccc\n"), WEFT_OK);
    assert_int_equal(output_commit(output), WEFT_OK);
    assert_true(output_is_drained(output));
    assert_int_equal(output_bytes_out(output), 9);
    assert_int_equal(read(ends[0], text, sizeof text), 4);
    assert_false(output_reader_left(output));
    output_free(output);
    close(ends[0]);
}

static void a_reader_that_left_is_told(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    close(ends[0]);
    struct output *output = open_output(NULL, false);
    write_three(output);
    assert_int_equal(output_commit(output), WEFT_OK);
    assert_true(output_reader_left(output));
    output_free(output);
}

static void a_file_for_appending_is_appended_to(void **state)
{
    (void)state;
    put("log", "old\n");
    dup2(open("log", O_WRONLY | O_APPEND), STDOUT_FILENO);
    struct output *output = open_output(NULL, false);
    write_three(output);
    assert_int_equal(output_commit(output), WEFT_OK);
    output_free(output);
    assert_holds("log", "old\na\nbb\nccc\n");
}

static void devices_take_the_answer_and_a_full_one_fails(void **state)
{
    (void)state;
    struct output *output = open_output("/dev/null", false);
    write_three(output);
    assert_int_equal(output_commit(output), WEFT_OK);
    output_free(output);
    if (access("/dev/full", W_OK) != 0)
        skip();
    output = open_output("/dev/full", false);
    assert_int_equal(output_plan(output, 1, 1, NULL), WEFT_OK);
    write_piece(output, 0, 0, "a\n");
    // It may be noticed at once or at the end.
    weft_err err = commit_piece(output, 0, "a\n");
    if (!err)
        err = output_commit(output);
    assert_int_equal(err, WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "/dev/full"));
    assert_int_equal(output_bytes_out(output), 0);
    output_free(output);
}

static void a_closed_standard_output_is_refused(void **state)
{
    (void)state;
    struct output *output;
    close(STDOUT_FILENO);
    const weft_err err = output_open(&output, &(struct output_options){.tmp = testing_folder});
    dup2(testing_kept[STDOUT_FILENO], STDOUT_FILENO);
    assert_int_equal(err, WEFT_FAILED_PRECONDITION);
}

static void an_answer_without_pieces_is_empty(void **state)
{
    (void)state;
    struct output *output = open_output("out", false);
    assert_int_equal(output_plan(output, 1, 0, NULL), WEFT_OK);
    assert_int_equal(output_commit(output), WEFT_OK);
    output_free(output);
    assert_holds("out", "");
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 0777;
}

// A file that only its owner may read does not become readable for all by another answer.
static void a_replaced_output_keeps_its_permissions(void **state)
{
    (void)state;
    const mode_t kept = umask(022);
    static const char *const targets[] = {"out", "parts/"};
    for (size_t i = 0; i < 2; i++) {
        struct output *output = open_output(targets[i], false);
        write_three(output);
        assert_int_equal(output_commit(output), WEFT_OK);
        output_free(output);
        assert_int_equal(mode_of(targets[i]), i == 0 ? 0644 : 0755);
        assert_int_equal(chmod(targets[i], i == 0 ? 0440 : 0750), 0);
        output = open_output(targets[i], true);
        write_three(output);
        if (i == 0)
            assert_int_equal(mode_of(output_place(output)->path), 0640);
        assert_int_equal(output_commit(output), WEFT_OK);
        output_free(output);
        assert_int_equal(mode_of(targets[i]), i == 0 ? 0640 : 0750);
    }
    umask(kept);
}

static struct output *open_resumable(const char *target)
{
    struct output *output;
    const struct output_options options = {
        .target = target, .tmp = testing_folder, .job_name = "job", .may_resume = true};
    assert_int_equal(output_open(&output, &options), WEFT_OK);
    return output;
}

// As it is when a run is killed while it throws its work away.
static void the_rest_of_a_discarded_directory_goes_with_the_next_run(void **unused)
{
    (void)unused;
    struct output *output = open_resumable(testing_path("out/"));
    assert_int_equal(output_make_unfinished(output), WEFT_OK);
    put(testing_path(".out.weft-unfinished/part-00000"), "text");
    assert_int_equal(file_make_directory(testing_path(".out.weft-discarded/.weft-runs")), WEFT_OK);
    put(testing_path(".out.weft-discarded/.weft-runs/old"), "old");
    assert_int_equal(output_discard_unfinished(output), WEFT_OK);
    assert_int_equal(count_names(testing_folder), 0);
    assert_int_equal(file_make_directory(testing_path(".out.weft-discarded")), WEFT_OK);
    put(testing_path(".out.weft-discarded/part-00000"), "old");
    assert_int_equal(output_make_unfinished(output), WEFT_OK);
    assert_int_equal(count_names(testing_folder), 1);
    assert_int_equal(output_discard_unfinished(output), WEFT_OK);
    output_free(output);
    assert_int_equal(count_names(testing_folder), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)
    const struct CMUnitTest tests[] = {
        TEST(the_rest_of_a_discarded_directory_goes_with_the_next_run),
        TEST(a_file_appears_when_it_is_complete),
        TEST(an_aborted_file_leaves_nothing),
        TEST(an_existing_file_is_refused_or_replaced),
        TEST(a_file_that_appears_meanwhile_stays),
        TEST(a_link_is_followed_and_stays_a_link),
        TEST(a_size_that_does_not_fit_is_data_loss),
        TEST(places_that_cannot_be_are_refused_before_any_work),
        TEST(a_directory_has_its_parts_a_manifest_and_success),
        TEST(an_existing_directory_is_refused_or_replaced),
        TEST(a_directory_with_other_files_is_never_replaced),
        TEST(what_is_not_in_the_manifest_is_never_replaced),
        TEST(a_directory_that_appears_meanwhile_stays),
        TEST(a_redirected_file_is_written_where_it_stands),
        TEST(a_redirected_file_has_only_what_was_committed),
        TEST(what_stood_behind_our_start_is_not_cut),
        TEST(a_pipe_gets_pieces_in_order_as_they_are_committed),
        TEST(a_reader_that_left_is_told),
        TEST(a_file_for_appending_is_appended_to),
        TEST(devices_take_the_answer_and_a_full_one_fails),
        TEST(a_closed_standard_output_is_refused),
        TEST(an_answer_without_pieces_is_empty),
        TEST(a_replaced_output_keeps_its_permissions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
