// Tests of answers in HDFS under faults that real daemons do not produce on demand, with a name node and a data node of our own.
#include "store/hdfs/hdfs_testing.h"

#include "base/crc32c.h"
#include "store/output.h"
#include "store/store.h"
#include "sys/file/file.h"
#include "sys/file/folder_testing.h"

static const char text[] = "one\ntwo\nthree\n";
enum { TEXT_BYTES = sizeof text - 1 };

static struct output *begin(const char *target, bool force)
{
    struct output *output;
    const struct output_options options = {
        .target = target, .force = force, .tmp = testing_folder, .job_name = "job"};
    assert_int_equal(output_open(&output, &options), WEFT_OK);
    return output;
}

// Writes a part as a worker would, and commits it.
static weft_err write_part(struct output *output, uint32_t part, bool has_parts)
{
    char path[600];
    int fd;
    const char *place = output_place(output)->path;
    snprintf(path, sizeof path, has_parts ? "%s/part-%05u" : "%s", place, part);
    assert_int_equal(has_parts ? file_create(path, &fd) : file_open_kept(path, &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, path, text, TEXT_BYTES, 0), WEFT_OK);
    file_close(fd);
    return output_piece_committed(output, part, TEXT_BYTES, crc32c(0, text, TEXT_BYTES), 3);
}

static weft_err write_answer(const char *target, bool force)
{
    static const uint32_t parts[] = {0, 1, 2};
    const bool has_parts = target[strlen(target) - 1] == '/';
    struct output *output = begin(target, force);
    weft_err code = output_plan(output, has_parts ? 3 : 1, has_parts ? 3 : 1, parts);
    for (uint32_t i = 0; code == WEFT_OK && i < (has_parts ? 3 : 1); i++)
        code = write_part(output, i, has_parts);
    if (code == WEFT_OK)
        code = output_commit(output);
    output_free(output);
    return code;
}

static void expect_file(const char *path)
{
    const struct fake_file *file = fake_find(path);
    assert_non_null(file);
    assert_int_equal(file->size, TEXT_BYTES);
    assert_memory_equal(file->bytes, text, TEXT_BYTES);
    assert_int_equal(file->mode, 0644);
}

static void expect_parts(void)
{
    expect_file("/out/part-00000");
    expect_file("/out/part-00001");
    expect_file("/out/part-00002");
    assert_non_null(fake_find("/out/_SUCCESS"));
    assert_non_null(fake_find("/out/_manifest.json"));
    assert_int_equal(fake_find("/out")->mode, 0755);
}

// No hidden name is left there.
static void expect_nothing_hidden(void)
{
    for (int i = 0; i < FAKE_FILES_MAX; i++)
        if (strstr(fake->files[i].path, "weft-"))
            fail_msg("%s is left", fake->files[i].path);
}

static void parts_and_files_appear_at_the_end(void **state)
{
    (void)state;
    fake_start(1);
    assert_int_equal(write_answer("hdfs:///out/", false), WEFT_OK);
    expect_parts();
    assert_int_equal(write_answer("hdfs:///file", false), WEFT_OK);
    expect_file("/file");
    expect_nothing_hidden();
    fake_end();
}

static void uploads_that_are_cut_are_made_again(void **state)
{
    (void)state;
    fake_start(1);
    fake->cut_uploads = 2;
    assert_int_equal(write_answer("hdfs:///file", false), WEFT_OK);
    expect_file("/file");
    assert_int_equal(fake->cut_uploads, 0);
    fake->broken_uploads = 3;
    assert_int_equal(write_answer("hdfs:///out/", false), WEFT_OK);
    expect_parts();
    assert_int_equal(fake->broken_uploads, 0);
    expect_nothing_hidden();
    fake_end();
}

static void an_upload_that_is_always_cut_is_a_failure(void **state)
{
    (void)state;
    fake_start(1);
    fake->cut_uploads = 100;
    assert_int_equal(write_answer("hdfs:///file", false), WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "HDFS has 7 bytes of the 14 that were sent"));
    assert_null(fake_find("/file"));
    expect_nothing_hidden();
    err_clear();
    fake_end();
}

static void a_quota_ends_the_run_at_once(void **state)
{
    (void)state;
    fake_start(1);
    fake->full_uploads = 1;
    assert_int_equal(write_answer("hdfs:///out/", false), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "quota is exceeded"));
    assert_int_equal(fake->uploads, 1);
    expect_nothing_hidden();
    assert_null(fake_find("/out"));
    err_clear();
    fake_end();
}

static void a_renaming_whose_answer_is_lost_counts_once(void **state)
{
    (void)state;
    fake_start(1);
    fake->lost_renames = 1;
    assert_int_equal(write_answer("hdfs:///out/", false), WEFT_OK);
    expect_parts();
    assert_int_equal(fake->renames, 1);
    assert_int_equal(fake->lost_renames, 0);
    fake_end();
}

static void a_name_node_in_safe_mode_is_waited_for(void **state)
{
    (void)state;
    fake_start(1);
    fake->safe_calls = 3;
    assert_int_equal(write_answer("hdfs:///out/", false), WEFT_OK);
    expect_parts();
    assert_int_equal(fake->safe_calls, 0);
    fake_end();
}

static void an_output_is_replaced_as_a_whole(void **state)
{
    (void)state;
    fake_start(1);
    assert_int_equal(write_answer("hdfs:///out/", false), WEFT_OK);
    fake_find("/out/part-00001")->size = 1;
    fake_find("/out")->mode = 0750;
    struct output *output;
    const struct output_options again = {
        .target = "hdfs:///out/", .tmp = testing_folder, .job_name = "job"};
    assert_int_equal(output_open(&output, &again), WEFT_ALREADY_EXISTS);
    err_clear();
    assert_int_equal(write_answer("hdfs:///out/", true), WEFT_OK);
    assert_int_equal(fake_find("/out")->mode, 0750);
    fake_find("/out")->mode = 0755;
    expect_parts();
    expect_nothing_hidden();
    fake_add("/out/notes", false, 0644);
    const struct output_options forced = {
        .target = "hdfs:///out/", .force = true, .tmp = testing_folder, .job_name = "job"};
    assert_int_equal(output_open(&output, &forced), WEFT_ALREADY_EXISTS);
    assert_non_null(strstr(err_text(), "holds other files"));
    err_clear();
    fake_end();
}

static void one_that_appears_meanwhile_stays(void **state)
{
    (void)state;
    fake_start(1);
    static const uint32_t parts[] = {0};
    struct output *output = begin("hdfs:///file", false);
    assert_int_equal(output_plan(output, 1, 1, parts), WEFT_OK);
    assert_int_equal(write_part(output, 0, false), WEFT_OK);
    fake_add("/file", false, 0600)->size = 5;
    assert_int_equal(output_commit(output), WEFT_ALREADY_EXISTS);
    assert_non_null(strstr(err_text(), "appeared while the job was running"));
    err_clear();
    output_free(output);
    assert_int_equal(fake_find("/file")->size, 5);
    expect_nothing_hidden();
    fake_end();
}

static void what_a_killed_run_has_left_goes_with_the_next_one(void **state)
{
    (void)state;
    fake_start(1);
    const pid_t child = fork();
    if (child == 0) {
        static const uint32_t parts[] = {0, 1};
        struct output *output = begin("hdfs:///out/", false);
        assert_int_equal(output_plan(output, 2, 2, parts), WEFT_OK);
        assert_int_equal(write_part(output, 0, true), WEFT_OK);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    fake_add("/.out.weft-0123abcd-99999999-00000000", true, 0700);  // of another machine
    int count = 0;
    for (int i = 0; i < FAKE_FILES_MAX; i++)
        count += strncmp(fake->files[i].path, "/.out.weft-", 11) == 0;
    assert_true(count >= 2);
    assert_int_equal(write_answer("hdfs:///out/", false), WEFT_OK);
    expect_parts();
    assert_true(fake_delete("/.out.weft-0123abcd-99999999-00000000"));
    expect_nothing_hidden();
    fake_end();
}

static void an_earlier_answer_that_is_all_there_is_stays(void **state)
{
    (void)state;
    fake_start(1);
    const pid_t child = fork();
    if (child == 0) {
        struct output *output = begin("hdfs:///out/", true);
        assert_int_equal(output_plan(output, 0, 0, NULL), WEFT_OK);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    // As after the first of the two renamings of a run that was killed.
    for (int i = 0; i < FAKE_FILES_MAX; i++)
        if (strncmp(fake->files[i].path, "/.out.weft-", 11) == 0)
            strcat(fake->files[i].path, "-old");
    static const uint32_t parts[] = {0};
    struct output *output = begin("hdfs:///out/", true);
    assert_int_equal(output_plan(output, 1, 1, parts), WEFT_OK);
    output_free(output);
    int count = 0;
    for (int i = 0; i < FAKE_FILES_MAX; i++)
        count += strncmp(fake->files[i].path, "/.out.weft-", 11) == 0;
    assert_int_equal(count, 1);
    fake_end();
}

static void bytes_that_changed_here_do_not_go_there(void **state)
{
    (void)state;
    static const uint32_t parts[] = {0};
    char path[600];
    int fd;
    fake_start(1);
    struct output *output = begin("hdfs:///out/", false);
    assert_int_equal(output_plan(output, 1, 1, parts), WEFT_OK);
    snprintf(path, sizeof path, "%s/part-00000", output_place(output)->path);
    assert_int_equal(file_create(path, &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, path, "one\nTwo\nthree\n", TEXT_BYTES, 0), WEFT_OK);
    file_close(fd);
    weft_err code = output_piece_committed(output, 0, TEXT_BYTES, crc32c(0, text, TEXT_BYTES), 3);
    if (code == WEFT_OK)
        code = output_commit(output);
    assert_int_equal(code, WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "other bytes than the job has written"));
    err_clear();
    output_free(output);
    expect_nothing_hidden();
    fake_end();
}

static void the_active_one_of_two_name_nodes_is_used(void **state)
{
    (void)state;
    fake_start(2);
    fake->is_standby[0] = true;
    assert_int_equal(write_answer("hdfs:///out/", false), WEFT_OK);
    expect_parts();
    fake_end();
}

static void another_name_node_takes_over_during_a_job(void **state)
{
    (void)state;
    static const uint32_t parts[] = {0, 1};
    fake_start(2);
    fake->is_standby[1] = true;
    struct output *output = begin("hdfs://fake/out/", false);
    assert_int_equal(output_plan(output, 2, 2, parts), WEFT_OK);
    assert_int_equal(write_part(output, 0, true), WEFT_OK);
    fake->is_standby[1] = false;
    fake->is_standby[0] = true;
    assert_int_equal(write_part(output, 1, true), WEFT_OK);
    assert_int_equal(output_commit(output), WEFT_OK);
    output_free(output);
    expect_file("/out/part-00000");
    expect_file("/out/part-00001");
    assert_true(fake->calls[0] > 0 && fake->calls[1] > 0);
    expect_nothing_hidden();
    fake_end();
}

static void append(struct store_place *place, uint64_t offset, const char *bytes, weft_err expected)
{
    const weft_err code = place->calls->append(place, "/log", offset, weft_text(bytes));
    if (code != expected)
        fail_msg("%s", err_text());
    err_clear();
}

static void a_file_grows_by_stretches_that_may_come_twice(void **state)
{
    (void)state;
    struct store_place *place;
    fake_start(1);
    assert_int_equal(store_open_place("hdfs:///", 1000, &place), WEFT_OK);
    append(place, 0, "one\n", WEFT_OK);
    append(place, 4, "two\n", WEFT_OK);
    append(place, 4, "two\n", WEFT_OK);
    append(place, 0, "one\ntwo\nthree\n", WEFT_OK);
    assert_int_equal(fake_find("/log")->size, TEXT_BYTES);
    assert_memory_equal(fake_find("/log")->bytes, text, TEXT_BYTES);
    // Half of a stretch came, and nothing is known of it.
    fake->broken_uploads = 1;
    append(place, 14, "abcdefgh", WEFT_UNAVAILABLE);
    assert_int_equal(fake_find("/log")->size, TEXT_BYTES + 4);
    append(place, 14, "abcdefgh", WEFT_OK);
    assert_memory_equal(fake_find("/log")->bytes + TEXT_BYTES, "abcdefgh", 8);
    assert_int_equal(fake_find("/log")->size, TEXT_BYTES + 8);
    append(place, 100, "x", WEFT_DATA_LOSS);
    fake_delete("/log");
    append(place, 22, "x", WEFT_NOT_FOUND);
    store_close_place(place);
    fake_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(parts_and_files_appear_at_the_end),
        TEST(uploads_that_are_cut_are_made_again),
        TEST(an_upload_that_is_always_cut_is_a_failure),
        TEST(a_quota_ends_the_run_at_once),
        TEST(a_renaming_whose_answer_is_lost_counts_once),
        TEST(a_name_node_in_safe_mode_is_waited_for),
        TEST(an_output_is_replaced_as_a_whole),
        TEST(one_that_appears_meanwhile_stays),
        TEST(what_a_killed_run_has_left_goes_with_the_next_one),
        TEST(an_earlier_answer_that_is_all_there_is_stays),
        TEST(bytes_that_changed_here_do_not_go_there),
        TEST(the_active_one_of_two_name_nodes_is_used),
        TEST(another_name_node_takes_over_during_a_job),
        TEST(a_file_grows_by_stretches_that_may_come_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
