// Tests of --top within a range: its N largest stay for the last stage, ties by key, nothing else is lost.

#include "mapreduce/work/slot_testing.h"

static void map_nothing(weft_task *task, weft_bytes line)
{
    (void)task, (void)line;
}

static const weft_job job = {.name = "top", .map = map_nothing, .reduce = weft_sum};
static struct rig rig;

static void begin(uint32_t top, size_t text_bytes)
{
    rig_init(&rig, &job, weft_text(""));
    rig.stage.top = top;
    rig.stage.memory.text_bytes = text_bytes;
    rig.stage.kept = dataset_new(&rig.budget, 1, 1 << 20, RIG_TMP);
    rig_open(&rig);
    slot_begin_attempt(&rig.slots[0], SLOT_OUTPUT, 0);
}

static void emit(const char *key, const char *value)
{
    weft_emit(&rig.slots[0].hot, weft_text(key), weft_text(value));
}

// What the range leaves, as "key=value ...".
static const char *kept(void)
{
    static char text[4096];
    char data[4096], *to = text;
    size_t got;
    rig_expect(top_keep_largest(&rig.slots[0]));
    rig_expect(text_submit(&rig.slots[0]));
    rig_expect(dataset_read(rig.stage.kept, 0, 0, data, sizeof data, &got));
    *to = 0;
    for (size_t at = 0; at < got;) {
        uint32_t sizes[2];
        memcpy(sizes, data + at, sizeof sizes);
        to += sprintf(to, "%s%.*s=%.*s", at ? " " : "", (int)sizes[0], data + at + 8, (int)sizes[1],
                      data + at + 8 + sizes[0]);
        at += 8 + sizes[0] + sizes[1];
    }
    return text;
}

static void the_largest_stay_and_ties_go_by_key(void **state)
{
    (void)state;
    begin(4, 1 << 20);
    emit("a", "3");
    emit("b", "-5");
    emit("c", "100");
    emit("d", "3");
    emit("e", "9223372036854775807");
    emit("f", "3");
    emit("g", "-9223372036854775808");
    assert_string_equal(kept(), "e=9223372036854775807 c=100 a=3 d=3");
    assert_int_equal(rig.slots[0].records_out, 4);
    rig_fini(&rig);
}

static void no_more_than_asked_for_stay_as_they_are(void **state)
{
    (void)state;
    for (uint32_t top = 3; top < 5; top++) {
        begin(top, 1 << 20);
        emit("a", "1");
        emit("b", "2");
        emit("c", "3");
        assert_string_equal(kept(), "a=1 b=2 c=3");
        assert_int_equal(rig.slots[0].records_out, 3);
        rig_fini(&rig);
    }
    begin(3, 1 << 20);
    assert_string_equal(kept(), "");
    rig_fini(&rig);
}

// The last stage says that it needs whole numbers: it must come to see what is none.
static void a_value_that_is_no_number_stays_for_the_last_stage_to_refuse(void **state)
{
    (void)state;
    begin(2, 1 << 20);
    emit("a", "9223372036854775807");
    emit("b", "5");
    emit("c", "many");
    emit("d", "6");
    assert_string_equal(kept(), "c=many a=9223372036854775807");
    rig_fini(&rig);
}

static void all_stay_when_part_was_handed_on_or_memory_is_short(void **state)
{
    (void)state;
    for (int variant = 0; variant < 2; variant++) {
        begin(1, variant ? 40 : 1 << 20);
        emit("a", "1");
        emit("b", "2");
        emit("c", "3");
        rig.budget.limit = variant ? 0 : rig.budget.used;
        if (variant) {
            char value[70000];
            memset(value, '0', sizeof value);
            value[sizeof value - 1] = 0;
            emit("d", value);
            rig_expect(top_keep_largest(&rig.slots[0]));
            assert_int_equal(rig.slots[0].records_out, 4);
        } else {
            rig_expect(top_keep_largest(&rig.slots[0]));
            assert_int_equal(rig.slots[0].records_out, 3);
        }
        rig_fini(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_stay_and_ties_go_by_key),
        cmocka_unit_test(no_more_than_asked_for_stay_as_they_are),
        cmocka_unit_test(a_value_that_is_no_number_stays_for_the_last_stage_to_refuse),
        cmocka_unit_test(all_stay_when_part_was_handed_on_or_memory_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
