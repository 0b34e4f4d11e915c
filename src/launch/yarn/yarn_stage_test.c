// Tests of the program in HDFS, with a name node and a data node of our own.
#include "store/hdfs/hdfs_testing.h"

#include "launch/yarn/yarn_stage.h"
#include "sys/file/folder_testing.h"

static const char program[] = "the program";
static const char there[] = "/user/ada/.weft/bin/weft-abc123";
enum { PROGRAM_BYTES = sizeof program - 1 };

static void write_program(void)
{
    FILE *file = fopen("program", "we");
    assert_non_null(file);
    fputs(program, file);
    fclose(file);
    setenv("HADOOP_USER_NAME", "ada", 1);
}

static weft_err put(struct yarn_stage *stage, const char *directory)
{
    *stage = (struct yarn_stage){
        .directory = directory, .path = "program", .hash = "abc123", .bytes = PROGRAM_BYTES};
    return yarn_stage_put(stage);
}

static void the_program_is_sent_once(void **state)
{
    struct yarn_stage stage;
    (void)state;
    fake_start(1);
    write_program();
    assert_int_equal(put(&stage, NULL), WEFT_OK);
    assert_true(stage.was_sent);
    assert_string_equal(buf_text(&stage.url), "hdfs://fake/user/ada/.weft/bin/weft-abc123");
    assert_int_equal(stage.mtime_ms, FAKE_MTIME_MS);
    assert_non_null(fake_find(there));
    assert_memory_equal(fake_find(there)->bytes, program, PROGRAM_BYTES);
    yarn_stage_fini(&stage);
    assert_int_equal(put(&stage, NULL), WEFT_OK);
    assert_false(stage.was_sent);
    assert_int_equal(fake->uploads, 1);
    yarn_stage_fini(&stage);
    fake_end();
}

static void one_that_is_not_whole_is_sent_again(void **state)
{
    struct yarn_stage stage;
    (void)state;
    fake_start(1);
    write_program();
    struct fake_file *file = fake_add(there, false, 0644);
    file->size = 3;
    assert_int_equal(put(&stage, NULL), WEFT_OK);
    assert_true(stage.was_sent);
    assert_int_equal(fake_find(there)->size, PROGRAM_BYTES);
    yarn_stage_fini(&stage);
    fake_end();
}

static void a_directory_of_the_user_is_taken(void **state)
{
    struct yarn_stage stage;
    (void)state;
    fake_start(1);
    write_program();
    assert_int_equal(put(&stage, "hdfs:///shared/bin"), WEFT_OK);
    assert_string_equal(buf_text(&stage.url), "hdfs://fake/shared/bin/weft-abc123");
    assert_non_null(fake_find("/shared/bin/weft-abc123"));
    yarn_stage_fini(&stage);
    fake_end();
}

static void a_cut_upload_is_not_taken_for_the_program(void **state)
{
    struct yarn_stage stage;
    (void)state;
    fake_start(1);
    write_program();
    fake->cut_uploads = 1;
    assert_int_not_equal(put(&stage, NULL), WEFT_OK);
    assert_null(fake_find(there));
    yarn_stage_fini(&stage);
    fake_end();
}

static void without_hdfs_the_user_hears_what_to_do(void **state)
{
    struct yarn_stage stage;
    (void)state;
    write_program();
    unsetenv("HADOOP_CONF_DIR");
    unsetenv("HADOOP_HOME");
    assert_int_equal(put(&stage, NULL), WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "--set stage=hdfs://HOST:PORT/DIR"));
    yarn_stage_fini(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)
        TEST(the_program_is_sent_once),
        TEST(one_that_is_not_whole_is_sent_again),
        TEST(a_directory_of_the_user_is_taken),
        TEST(a_cut_upload_is_not_taken_for_the_program),
        TEST(without_hdfs_the_user_hears_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
