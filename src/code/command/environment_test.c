// Tests of the variables that a command sees.

#include "code/command/environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct command_environment environment;

static const struct command_place map_place = {
    .job_id = "job_local_0001",
    .job_name = "count words",
    .task = 3,
    .attempt = 1,
    .task_count = 12,
    .map_count = 12,
    .is_map = true,
    .input_file = "logs/a b.txt",
    .input_start = 1048576,
    .input_bytes = 5000000000,
};

static int tear_down(void **state)
{
    (void)state;
    command_environment_fini(&environment);
    environment = (struct command_environment){0};
    return 0;
}

// The value of a variable, which is there once; NULL: not at all.
static const char *find(const char *name)
{
    const char *found = NULL;
    const size_t length = strlen(name);
    for (const char *const *at = environment.list.items; *at; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') {
            assert_null(found);
            found = *at + length + 1;
        }
    return found;
}

static void make(const struct command_place *place, const char *const *base, const char *const *set)
{
    const char *const none[] = {NULL};
    assert_int_equal(
        command_environment_make(&environment, place, base ? base : none, set ? set : none),
        WEFT_OK);
}

static void a_map_task_knows_itself_by_new_names_and_old(void **state)
{
    (void)state;
    make(&map_place, NULL, NULL);
    const char *const expected[][2] = {
        {"mapreduce_job_id", "job_local_0001"},
        {"mapred_job_id", "job_local_0001"},
        {"mapreduce_job_name", "count words"},
        {"mapreduce_task_id", "task_local_0001_m_000003"},
        {"mapred_tip_id", "task_local_0001_m_000003"},
        {"mapreduce_task_attempt_id", "attempt_local_0001_m_000003_1"},
        {"mapred_task_id", "attempt_local_0001_m_000003_1"},
        {"mapreduce_task_partition", "3"},
        {"mapred_task_partition", "3"},
        {"mapreduce_task_ismap", "true"},
        {"mapred_task_is_map", "true"},
        {"mapreduce_map_input_file", "logs/a b.txt"},
        {"map_input_file", "logs/a b.txt"},
        {"mapreduce_map_input_start", "1048576"},
        {"map_input_start", "1048576"},
        {"mapreduce_map_input_length", "5000000000"},
        {"map_input_length", "5000000000"},
        {"mapreduce_job_maps", "12"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(find(expected[i][0]), expected[i][1]);
}

static void a_reduce_task_has_no_input_file(void **state)
{
    (void)state;
    const struct command_place place = {
        .job_id = "7", .job_name = "x", .task = 12345678, .map_count = 5};
    make(&place, NULL, NULL);
    assert_string_equal(find("mapreduce_task_id"), "task_7_r_12345678");
    assert_string_equal(find("mapreduce_task_ismap"), "false");
    assert_null(find("map_input_file"));
    assert_string_equal(find("mapreduce_job_maps"), "5");
    assert_string_equal(find("mapred_map_tasks"), "5");
    assert_string_equal(find("mapreduce_job_reduces"), "0");
}

static void a_map_only_job_has_no_reducers(void **state)
{
    (void)state;
    struct command_place place = map_place;
    make(&place, NULL, NULL);
    assert_null(find("mapreduce_job_reduces"));
    place.is_map_only = true;
    make(&place, NULL, NULL);
    assert_string_equal(find("mapreduce_job_reduces"), "0");
}

static void hadoop_names_an_input_by_its_whole_path(void **state)
{
    (void)state;
    struct command_place place = map_place;
    place.names_input_as_hadoop = true;
    place.input_file = "/usr/../dev/null";
    make(&place, NULL, NULL);
    assert_string_equal(find("mapreduce_map_input_file"), "file:/dev/null");
    place.input_file = "no/such file";  // of which there is no whole path
    make(&place, NULL, NULL);
    assert_string_equal(find("map_input_file"), "no/such file");
}

static void the_user_wins_over_us_and_we_over_what_is_inherited(void **state)
{
    (void)state;
    const char *const base[] = {"HOME=/root", "COLOR=red", "mapred_job_id=old", "COLORS=many",
                                NULL};
    const char *const set[] = {"COLOR=blue", "mapreduce_job_name=mine", "EMPTY=", NULL};
    make(&map_place, base, set);
    assert_string_equal(find("HOME"), "/root");
    assert_string_equal(find("COLOR"), "blue");
    assert_string_equal(find("COLORS"), "many");
    assert_string_equal(find("mapred_job_id"), "job_local_0001");
    assert_string_equal(find("mapreduce_job_name"), "mine");
    assert_string_equal(find("EMPTY"), "");
}

static void it_is_made_anew_for_every_task(void **state)
{
    (void)state;
    struct command_place place = map_place;
    make(&place, NULL, NULL);
    const size_t count = environment.list.count;
    place.task = 4;
    make(&place, NULL, NULL);
    assert_int_equal(environment.list.count, count);
    assert_string_equal(find("mapred_task_partition"), "4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_map_task_knows_itself_by_new_names_and_old, tear_down),
        cmocka_unit_test_teardown(a_reduce_task_has_no_input_file, tear_down),
        cmocka_unit_test_teardown(a_map_only_job_has_no_reducers, tear_down),
        cmocka_unit_test_teardown(hadoop_names_an_input_by_its_whole_path, tear_down),
        cmocka_unit_test_teardown(the_user_wins_over_us_and_we_over_what_is_inherited, tear_down),
        cmocka_unit_test_teardown(it_is_made_anew_for_every_task, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
