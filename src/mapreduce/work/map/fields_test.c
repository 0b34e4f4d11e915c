// What a job asks of a record stays as it is until map returns, whatever else it asks.

#include "mapreduce/work/slot_testing.h"

#include "mapreduce/work/map/stretches.h"

static struct mutex lock;

static void run_map(weft_map_fn *map, const char *format, const char *text, weft_err expected)
{
    static struct rig rig;
    const weft_job job = {.name = "ask", .map = map, .reduce = weft_count};
    mutex_init(&lock);
    rig_init(&rig, &job, weft_text(text));
    rig.stage.inputs_lock = &lock;
    rig_expect(record_format_parse(format, &rig.stage.format));
    rig_open(&rig);
    assert_int_equal(rig_map_piece(&rig, 0, 0, 0, rig.input.size), expected);
    stretches_free(rig.input.stretches);
    rig_fini(&rig);
    mutex_fini(&lock);
}

static void assert_text(weft_bytes got, const char *expected)
{
    assert_int_equal(got.size, strlen(expected));
    assert_memory_equal(got.data, expected, got.size);
}

static void map_nested(weft_task *task, weft_bytes record)
{
    const weft_bytes first = weft_json(task, record, "a");
    const weft_bytes inner = weft_json(task, record, "in");
    const weft_bytes second = weft_json(task, inner, "a");
    const weft_bytes again = weft_json(task, record, "a");
    assert_text(first, "1\n1");
    assert_text(second, "2\n2");
    assert_text(again, "1\n1");
}

static void values_of_several_objects_stay(void **state)
{
    (void)state;
    run_map(
        map_nested, "jsonl",
        "{\"a\":\"1\\n1\",\"in\":{\"a\":\"2\\n2\"}}\n{\"in\":{\"a\":\"2\\n2\"},\"a\":\"1\\n1\"}\n",
        WEFT_OK);
}

static void map_often(weft_task *task, weft_bytes record)
{
    weft_bytes values[300];
    for (int i = 0; i < 300; i++)
        values[i] = weft_json(task, record, "a");
    for (int i = 0; i < 300; i++)
        assert_text(values[i], "\tthe same\t");
}

static void values_that_are_asked_for_often_stay(void **state)
{
    (void)state;
    run_map(map_often, "jsonl", "{\"a\":\"\\tthe same\\t\"}\n{\"a\":\"\\tthe same\\t\"}\n",
            WEFT_OK);
}

static void map_json_in_csv(weft_task *task, weft_bytes record)
{
    weft_bytes fields[3];
    assert_int_equal(weft_csv_fields(task, record, fields, 3), 3);
    assert_text(weft_json(task, fields[1], "k"), "v\"w");
    assert_text(fields[1], "{\"k\":\"v\\\"w\"}");
    assert_text(fields[2], "say \"x\"");
    weft_bytes again[3];
    assert_int_equal(weft_csv_fields(task, record, again, 3), 3);
    assert_text(fields[2], "say \"x\"");
}

static void fields_stay_while_json_in_them_is_read(void **state)
{
    (void)state;
    run_map(map_json_in_csv, "csv", "1,\"{\"\"k\"\":\"\"v\\\"\"w\"\"}\",\"say \"\"x\"\"\"\n",
            WEFT_OK);
}

static weft_err ask_too_early(weft_task *task)
{
    assert_int_equal(weft_input_record(task), 0);
    weft_csv_column(task, "a");
    return WEFT_OK;
}

static void map_nothing(weft_task *task, weft_bytes record)
{
    (void)task, (void)record;
}

static void columns_are_of_a_record(void **state)
{
    (void)state;
    static struct rig rig;
    const weft_job job = {
        .name = "ask", .map = map_nothing, .begin = ask_too_early, .reduce = weft_count};
    rig_init(&rig, &job, weft_text("a,b\n1,2\n"));
    rig_expect(record_format_parse("csv:header", &rig.stage.format));
    rig_open(&rig);
    assert_int_equal(rig_map_piece(&rig, 0, 0, 0, rig.input.size), WEFT_ABORTED);
    assert_non_null(strstr(err_text(), "no record"));
    rig_fini(&rig);
}

static void map_columns(weft_task *task, weft_bytes record)
{
    weft_bytes fields[2];
    assert_int_equal(weft_csv_column(task, "say \"b\""), 1);
    assert_int_equal(weft_csv_fields(task, record, fields, 2), 2);
    assert_text(fields[weft_csv_column(task, "a")], "1");
    weft_csv_column(task, "c");
}

static void a_column_that_is_not_there_fails_the_task(void **state)
{
    (void)state;
    run_map(map_columns, "csv:header", "a,\"say \"\"b\"\"\"\n1,2\n", WEFT_ABORTED);
    assert_non_null(strstr(err_text(), "no column 'c'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_several_objects_stay),
        cmocka_unit_test(values_that_are_asked_for_often_stay),
        cmocka_unit_test(fields_stay_while_json_in_them_is_read),
        cmocka_unit_test(columns_are_of_a_record),
        cmocka_unit_test(a_column_that_is_not_there_fails_the_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
