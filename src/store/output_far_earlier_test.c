// Tests of answers that another process has begun in another store, with a name node and a data node of our own.
#include "store/hdfs/hdfs_testing.h"

#include <errno.h>

#include "base/crc32c.h"
#include "store/manifest.h"
#include "store/output.h"
#include "sys/file/file.h"
#include "sys/file/folder_testing.h"
#include "sys/file/own.h"
#include "sys/time/clock.h"

enum { TEXT_BYTES = 14, PARTS = 2, AWAIT_MS = 20000, LOOK_MS = 50 };
static const char text[] = "one\ntwo\nthree\n";
static const uint32_t parts[PARTS] = {0, 1};
static const char pieces_done[] = "both pieces";  // in place of a journal

static struct manifest origin = {.identity = "0123456789abcdef0123456789abcdef", .job = "job"};
static struct manifest other_origin = {.identity = "ffffffffffffffff0123456789abcdef",
                                       .job = "job"};

// A run on a machine with a --tmp of that name.
static struct output *begin(const char *tmp, const struct manifest *of, bool force)
{
    char path[600];
    struct output *output;
    snprintf(path, sizeof path, "%s/%s", testing_folder, tmp);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    const struct output_options options = {.target = "hdfs:///out/",
                                           .tmp = path,
                                           .job_name = "job",
                                           .force = force,
                                           .may_resume = true};
    assert_int_equal(output_open(&output, &options), WEFT_OK);
    output_set_origin(output, of);
    return output;
}

static void name_journal(const struct output *output, const char *name, char path[600])
{
    snprintf(path, 600, "%s/%s/%s", output_resume_place(output), OUTPUT_JOURNAL, name);
}

// As the owner of the journal would.
static void write_journal(struct output *output, const char *bytes)
{
    char path[600];
    int fd;
    assert_int_equal(output_make_unfinished(output), WEFT_OK);
    name_journal(output, "", path);
    assert_int_equal(own_make_directory(path), WEFT_OK);
    name_journal(output, "journal-000001", path);
    assert_int_equal(file_create_private(path, &fd), WEFT_OK);
    assert_int_equal(file_write(fd, path, bytes, strlen(bytes)), WEFT_OK);
    file_close(fd);
}

static void expect_journal(const struct output *output, const char *expected)
{
    char path[600], bytes[100] = "";
    int fd;
    size_t got;
    name_journal(output, "journal-000001", path);
    assert_int_equal(file_open(path, &fd), WEFT_OK);
    assert_int_equal(file_read_at(fd, path, bytes, sizeof bytes - 1, 0, &got), WEFT_OK);
    file_close(fd);
    assert_string_equal(bytes, expected);
}

static void write_part(struct output *output, uint32_t part)
{
    char path[600];
    int fd;
    snprintf(path, sizeof path, "%s/part-%05u", output_place(output)->path, part);
    assert_int_equal(file_create(path, &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, path, text, TEXT_BYTES, 0), WEFT_OK);
    file_close(fd);
    assert_int_equal(
        output_piece_committed(output, part, TEXT_BYTES, crc32c(0, text, TEXT_BYTES), 3), WEFT_OK);
}

static struct fake_file *find_hidden(const char *name)
{
    for (int i = 0; i < FAKE_FILES_MAX; i++) {
        struct fake_file *file = &fake->files[i];
        const size_t size = strlen(file->path), end = strlen(name);
        if (strncmp(file->path, "/.out.weft-", 11) == 0 && size >= end &&
            strcmp(file->path + size - end, name) == 0 && (*name || !strchr(file->path + 1, '/')))
            return file;
    }
    return NULL;
}

static void await_hidden(const char *name)
{
    const uint64_t until_ns = clock_now_ns() + (uint64_t)AWAIT_MS * 1000000;
    while (!find_hidden(name) && clock_now_ns() < until_ns)
        clock_sleep_ms(LOOK_MS);
    assert_non_null(find_hidden(name));
}

// A run that makes the first part and is killed when its journal is there.
static void leave_unfinished(const char *tmp)
{
    const pid_t child = fork();
    if (child == 0) {
        struct output *output = begin(tmp, &origin, false);
        write_journal(output, pieces_done);
        assert_int_equal(output_plan(output, PARTS, PARTS, parts), WEFT_OK);
        write_part(output, 0);
        await_hidden("/1/origin");
        await_hidden("/part-00000");
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

// As if the run that was left had been on another machine.
static void move_to_another_machine(void)
{
    static const char name[] = "/.out.weft-0123abcd-1-00000000";
    for (int i = 0; i < FAKE_FILES_MAX; i++) {
        char path[600];
        char *rest = fake->files[i].path;
        if (strncmp(rest, "/.out.weft-", 11) != 0)
            continue;
        rest = strchr(rest + 1, '/');
        snprintf(path, sizeof path, "%s%s", name, rest ? rest : "");
        snprintf(fake->files[i].path, sizeof fake->files[i].path, "%.199s", path);
    }
}

// The next run: the bytes of its pieces as the journal of the first one has them.
static void prepare(struct output *output, struct output_piece pieces[PARTS])
{
    for (int i = 0; i < PARTS; i++)
        pieces[i] = (struct output_piece){TEXT_BYTES, 3, crc32c(0, text, TEXT_BYTES), true};
    assert_int_equal(output_find_earlier(output), WEFT_OK);
    assert_int_equal(output_bring_earlier(output), WEFT_OK);
    assert_int_equal(output_make_unfinished(output), WEFT_OK);
    char path[600];
    name_journal(output, "", path);
    assert_int_equal(own_make_directory(path), WEFT_OK);
    assert_int_equal(output_plan(output, PARTS, PARTS, parts), WEFT_OK);
    assert_int_equal(output_check_pieces(output, pieces), WEFT_OK);
}

static void end_well(struct output *output, const struct output_piece pieces[PARTS])
{
    for (uint32_t i = 0; i < PARTS; i++)
        if (pieces[i].is_done)
            assert_int_equal(output_piece_committed(output, i, pieces[i].bytes, pieces[i].crc32c,
                                                    pieces[i].records),
                             WEFT_OK);
        else
            write_part(output, i);
    const weft_err code = output_commit(output);
    if (code != WEFT_OK)
        fail_msg("%s", err_text());
    output_free(output);
    for (uint32_t i = 0; i < PARTS; i++) {
        char path[100];
        snprintf(path, sizeof path, "/out/part-%05u", i);
        assert_non_null(fake_find(path));
        assert_memory_equal(fake_find(path)->bytes, text, TEXT_BYTES);
    }
    assert_null(fake_find("/out/" OUTPUT_JOURNAL));
    assert_int_equal(fake_find("/out")->mode, 0755);
}

static void a_part_that_is_there_is_not_made_again(void **state)
{
    (void)state;
    struct output_piece pieces[PARTS];
    fake_start(1);
    leave_unfinished("one");
    struct output *output = begin("two", &origin, false);
    prepare(output, pieces);
    expect_journal(output, pieces_done);
    assert_true(pieces[0].is_done);
    assert_false(pieces[1].is_done);
    end_well(output, pieces);
    assert_null(find_hidden(""));
    fake_end();
}

static void a_silent_machine_is_taken_for_lost(void **state)
{
    (void)state;
    struct output_piece pieces[PARTS];
    fake_start(1);
    leave_unfinished("one");
    move_to_another_machine();
    struct output *output = begin("two", &origin, false);
    prepare(output, pieces);
    assert_true(pieces[0].is_done);
    end_well(output, pieces);
    assert_null(find_hidden(""));
    fake_end();
}

static void one_that_works_is_left_alone(void **state)
{
    (void)state;
    struct output_piece pieces[PARTS];
    fake_start(1);
    leave_unfinished("one");
    move_to_another_machine();
    const pid_t child = fork();
    if (child == 0)
        for (prctl(PR_SET_PDEATHSIG, SIGKILL);;) {
            find_hidden("/alive")->mtime_ms++;
            clock_sleep_ms(LOOK_MS);
        }
    struct output *output = begin("two", &origin, false);
    prepare(output, pieces);
    assert_false(pieces[0].is_done);
    end_well(output, pieces);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_non_null(find_hidden("/1/origin"));
    fake_end();
}

static void one_of_another_job_is_left_alone(void **state)
{
    (void)state;
    struct output_piece pieces[PARTS];
    fake_start(1);
    leave_unfinished("one");
    move_to_another_machine();
    struct output *output = begin("two", &other_origin, false);
    prepare(output, pieces);
    assert_false(pieces[0].is_done);
    end_well(output, pieces);
    assert_non_null(find_hidden("/1/origin"));
    fake_end();
}

static void with_force_nothing_is_continued(void **state)
{
    (void)state;
    struct output_piece pieces[PARTS];
    fake_start(1);
    leave_unfinished("one");
    move_to_another_machine();
    struct output *output = begin("two", &origin, true);
    prepare(output, pieces);
    assert_false(pieces[0].is_done);
    end_well(output, pieces);
    assert_null(find_hidden(""));
    fake_end();
}

static void a_part_that_the_journal_does_not_know_is_made_again(void **state)
{
    (void)state;
    struct output_piece pieces[PARTS];
    fake_start(1);
    leave_unfinished("one");
    find_hidden("/part-00000")->size = 3;
    struct output *output = begin("two", &origin, false);
    prepare(output, pieces);
    assert_false(pieces[0].is_done);
    assert_null(find_hidden("/part-00000"));
    end_well(output, pieces);
    fake_end();
}

static void of_two_that_continue_it_one_begins_anew(void **state)
{
    (void)state;
    struct output_piece pieces[PARTS], others[PARTS];
    fake_start(1);
    leave_unfinished("one");
    struct output *output = begin("two", &origin, false), *other = begin("three", &origin, false);
    assert_int_equal(output_find_earlier(other), WEFT_OK);
    prepare(output, pieces);
    assert_true(pieces[0].is_done);
    for (int i = 0; i < PARTS; i++)
        others[i] = (struct output_piece){TEXT_BYTES, 3, crc32c(0, text, TEXT_BYTES), true};
    assert_int_equal(output_bring_earlier(other), WEFT_OK);
    write_journal(other, "");
    assert_int_equal(output_plan(other, PARTS, PARTS, parts), WEFT_OK);
    assert_int_equal(output_check_pieces(other, others), WEFT_OK);
    assert_false(others[0].is_done);
    end_well(output, pieces);
    output_free(other);
    fake_end();
}

// Its parts went with the process that took it for dead.
static void one_that_was_taken_over_does_not_end_well(void **state)
{
    (void)state;
    fake_start(1);
    struct output *output = begin("one", &origin, false);
    write_journal(output, pieces_done);
    assert_int_equal(output_plan(output, PARTS, PARTS, parts), WEFT_OK);
    write_part(output, 0);
    await_hidden("/part-00000");
    assert_true(fake_delete(find_hidden("/part-00000")->path));
    write_part(output, 1);
    assert_int_equal(output_commit(output), WEFT_ALREADY_EXISTS);
    assert_non_null(strstr(err_text(), "has taken over"));
    err_clear();
    output_free(output);
    assert_null(fake_find("/out"));
    fake_end();
}

static void the_journal_here_is_kept_if_it_is_ahead(void **state)
{
    (void)state;
    struct output_piece pieces[PARTS];
    fake_start(1);
    leave_unfinished("one");
    struct output *output = begin("one", &origin, false);
    write_journal(output, "both pieces and more");
    prepare(output, pieces);
    expect_journal(output, "both pieces and more");
    assert_true(pieces[0].is_done);
    end_well(output, pieces);
    fake_end();
}

// Another machine has continued it in the meantime: its parts are of that journal.
static void the_journal_here_goes_if_it_is_another(void **state)
{
    (void)state;
    struct output_piece pieces[PARTS];
    fake_start(1);
    leave_unfinished("one");
    struct output *output = begin("one", &origin, false);
    write_journal(output, "both pieced");
    prepare(output, pieces);
    expect_journal(output, pieces_done);
    assert_true(pieces[0].is_done);
    end_well(output, pieces);
    fake_end();
}

static void the_journal_here_of_another_job_stays(void **state)
{
    (void)state;
    fake_start(1);
    leave_unfinished("one");
    struct output *output = begin("two", &origin, false);
    write_journal(output, "of another job");
    assert_int_equal(output_find_earlier(output), WEFT_OK);
    assert_int_equal(output_bring_earlier(output), WEFT_OK);
    expect_journal(output, "of another job");
    output_free(output);
    fake_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_part_that_is_there_is_not_made_again),
        TEST(a_silent_machine_is_taken_for_lost),
        TEST(one_that_works_is_left_alone),
        TEST(one_of_another_job_is_left_alone),
        TEST(with_force_nothing_is_continued),
        TEST(a_part_that_the_journal_does_not_know_is_made_again),
        TEST(of_two_that_continue_it_one_begins_anew),
        TEST(one_that_was_taken_over_does_not_end_well),
        TEST(the_journal_here_is_kept_if_it_is_ahead),
        TEST(the_journal_here_goes_if_it_is_another),
        TEST(the_journal_here_of_another_job_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
