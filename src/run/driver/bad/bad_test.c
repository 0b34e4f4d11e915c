// Tests of run/driver/bad: which records count, when they are too many, and what their list says.

#include "run/driver/bad/bad.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { TASKS = 4 };

static char folder[] = "/tmp/weft-bad-XXXXXX";
static char list_path[64];

struct scene {
    struct run_options options;
    struct input names[2];
    struct run_plan plan;
    struct tally tally;
    struct bad_records bad;
};

static void set_up(struct scene *scene, struct skip_limit limit)
{
    *scene = (struct scene){.options = {.skip_bad = limit, .bad_records = list_path},
                            .names = {{.name = "one"}, {.name = "two"}}};
    scene->plan = (struct run_plan){.options = &scene->options,
                                    .inputs = {.items = scene->names, .count = 2}};
    assert_int_equal(tally_init(&scene->tally, TASKS), WEFT_OK);
    bad_records_init(&scene->bad, &scene->plan, &scene->tally);
    unlink(list_path);
}

static void tear_down(struct scene *scene)
{
    bad_records_fini(&scene->bad);
    tally_fini(&scene->tally);
}

static void add(struct scene *scene, uint32_t input, uint64_t offset)
{
    const struct bad_record record = {.place = {input, offset}, .size = 3};
    assert_int_equal(bad_records_add(&scene->bad, &record), WEFT_OK);
}

// The attempt ends, having left out the records at these offsets of input 0.
static weft_err take(struct scene *scene, size_t task, uint32_t attempt, uint32_t input,
                     uint64_t offset)
{
    Weft__TaskEnd end = WEFT__TASK_END__INIT;
    Weft__BadRecord record = WEFT__BAD_RECORD__INIT, *records[] = {&record};
    end.attempt = attempt;
    end.n_bad = 1;
    end.bad = records;
    record.input = input;
    record.offset = offset;
    record.size = 5;
    record.text = message_bytes(weft_text("a\"b"));
    record.reason = "not a number";
    return bad_records_take(&scene->bad, task, &end);
}

static const char *read_list(void)
{
    static char text[2000];
    FILE *file = fopen(list_path, "rb");
    const size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[size] = 0;
    if (file)
        fclose(file);
    return file ? text : NULL;
}

static void found_records_are_left_out_once_and_in_order(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, (struct skip_limit){.is_set = true, .count = 9});
    add(&scene, 1, 5);
    add(&scene, 0, 70);
    add(&scene, 0, 8);
    add(&scene, 0, 70);
    Weft__TaskRun run = WEFT__TASK_RUN__INIT;
    assert_int_equal(bad_records_fill_skips(&scene.bad, &run), WEFT_OK);
    assert_int_equal(run.n_skips, 3);
    assert_int_equal(run.skips[0]->offset, 8);
    assert_int_equal(run.skips[1]->offset, 70);
    assert_int_equal(run.skips[2]->input, 1);
    bad_records_free_skips(&run);
    bad_records_forget_found(&scene.bad);
    assert_int_equal(bad_records_count(&scene.bad), 0);
    tear_down(&scene);
}

static void only_the_attempt_that_counts_has_left_something_out(void **state)
{
    (void)state;
    struct scene scene;
    size_t next = 0;
    set_up(&scene, (struct skip_limit){.is_set = true, .count = 9});
    tally_begin(&scene.tally, 2, 1);
    assert_int_equal(take(&scene, 2, 1, 0, 100), WEFT_OK);
    assert_int_equal(bad_records_count(&scene.bad), 1);
    tally_begin(&scene.tally, 2, 2);  // its slot was lost: it runs again
    assert_int_equal(bad_records_count(&scene.bad), 0);
    assert_null(bad_records_next(&scene.bad, 2, &next));
    assert_int_equal(take(&scene, 2, 2, 0, 200), WEFT_OK);
    next = 0;
    const struct bad_record *record = bad_records_next(&scene.bad, 2, &next);
    assert_non_null(record);
    assert_int_equal(record->place.offset, 200);
    assert_null(bad_records_next(&scene.bad, 2, &next));
    tear_down(&scene);
}

static void what_an_earlier_run_left_out_counts_until_its_task_runs(void **state)
{
    (void)state;
    struct scene scene;
    const struct bad_record record = {.place = {0, 7}, .size = 2};
    set_up(&scene, (struct skip_limit){.is_set = true, .count = 9});
    assert_int_equal(bad_records_restore(&scene.bad, 1, &record), WEFT_OK);
    assert_int_equal(bad_records_count(&scene.bad), 1);
    tally_begin(&scene.tally, 1, 1);
    assert_int_equal(bad_records_count(&scene.bad), 0);
    tear_down(&scene);
}

static void a_record_of_no_input_is_refused(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, (struct skip_limit){.is_set = true, .count = 9});
    tally_begin(&scene.tally, 0, 1);
    assert_int_not_equal(take(&scene, 0, 1, 2, 0), WEFT_OK);
    assert_int_equal(bad_records_count(&scene.bad), 0);
    tear_down(&scene);
}

static void a_number_is_judged_at_once(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, (struct skip_limit){.is_set = true, .count = 2});
    add(&scene, 0, 1);
    assert_true(bad_records_may_skip(&scene.bad));
    add(&scene, 0, 2);
    assert_false(bad_records_may_skip(&scene.bad));
    assert_int_equal(bad_records_check(&scene.bad, 0, false), WEFT_OK);
    add(&scene, 0, 3);
    assert_int_equal(bad_records_check(&scene.bad, 0, false), WEFT_ABORTED);
    assert_non_null(strstr(err_text(), "more than 2 bad records"));
    tear_down(&scene);
}

static void a_share_is_judged_at_the_end(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, (struct skip_limit){.is_set = true, .is_share = true, .percent = 10});
    add(&scene, 0, 1);
    add(&scene, 0, 2);
    assert_true(bad_records_may_skip(&scene.bad));
    assert_int_equal(bad_records_check(&scene.bad, 10, false), WEFT_OK);
    assert_int_equal(bad_records_check(&scene.bad, 20, true), WEFT_OK);
    assert_int_equal(bad_records_check(&scene.bad, 19, true), WEFT_ABORTED);
    tear_down(&scene);
}

static void without_a_limit_nothing_may_be_skipped(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, (struct skip_limit){.is_set = false, .count = 5});
    assert_false(bad_records_may_skip(&scene.bad));
    tear_down(&scene);
}

static void the_list_has_all_that_count_in_order_of_their_places(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, (struct skip_limit){.is_set = true, .count = 9});
    tally_begin(&scene.tally, 0, 1);
    tally_begin(&scene.tally, 3, 2);
    add(&scene, 1, 9);
    assert_int_equal(take(&scene, 0, 1, 0, 4), WEFT_OK);
    assert_int_equal(take(&scene, 3, 1, 0, 6), WEFT_OK);  // an attempt that does not count
    assert_int_equal(bad_records_write(&scene.bad), WEFT_OK);
    assert_string_equal(
        read_list(),
        "{\"file\":\"one\",\"offset\":4,\"bytes\":5,\"reason\":\"not a number\","
        "\"record\":\"a\\\"b\"}\n"
        "{\"file\":\"two\",\"offset\":9,\"bytes\":3,\"reason\":\"\",\"record\":\"\"}\n");
    // The next run has none, and takes the list away; it leaves a file that is not one.
    bad_records_forget_found(&scene.bad);
    tally_begin(&scene.tally, 0, 7);
    assert_int_equal(bad_records_write(&scene.bad), WEFT_OK);
    assert_null(read_list());
    FILE *file = fopen(list_path, "wb");
    fputs("dear diary\n", file);
    fclose(file);
    assert_int_equal(bad_records_write(&scene.bad), WEFT_OK);
    assert_string_equal(read_list(), "dear diary\n");
    add(&scene, 0, 1);
    assert_int_equal(bad_records_write(&scene.bad), WEFT_ALREADY_EXISTS);
    tear_down(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_records_are_left_out_once_and_in_order),
        cmocka_unit_test(only_the_attempt_that_counts_has_left_something_out),
        cmocka_unit_test(what_an_earlier_run_left_out_counts_until_its_task_runs),
        cmocka_unit_test(a_record_of_no_input_is_refused),
        cmocka_unit_test(a_number_is_judged_at_once),
        cmocka_unit_test(a_share_is_judged_at_the_end),
        cmocka_unit_test(without_a_limit_nothing_may_be_skipped),
        cmocka_unit_test(the_list_has_all_that_count_in_order_of_their_places),
    };
    if (!mkdtemp(folder))
        return 2;
    snprintf(list_path, sizeof list_path, "%s/list", folder);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(list_path);
    rmdir(folder);
    return failed;
}
