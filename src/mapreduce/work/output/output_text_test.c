// Tests of text on its way out: every type of value as a line or as a kept pair, pieces larger than the
// slot's share, attempts that fail half way, and no memory.

#include "mapreduce/work/slot_testing.h"

static void map_nothing(weft_task *task, weft_bytes line)
{
    (void)task, (void)line;
}

static const weft_job job = {.name = "text", .map = map_nothing, .reduce = weft_identity};
static struct rig rig;

static void begin(bool is_kept, size_t text_bytes)
{
    rig_init(&rig, &job, weft_text(""));
    rig.stage.range_count = 2;
    rig.stage.memory.text_bytes = text_bytes;
    if (is_kept)
        rig.stage.kept = dataset_new(&rig.budget, 2, 1 << 20, RIG_TMP);
    rig_open(&rig);
    slot_begin_attempt(&rig.slots[0], SLOT_OUTPUT, 0);
}

static void write_double(struct slot *slot, const char *key, double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    text_write_pair(slot, weft_text(key), VALUE_DOUBLE, bits, weft_none());
}

static void write_every_type(struct slot *slot)
{
    text_write_pair(slot, weft_text("none"), VALUE_NONE, 0, weft_none());
    text_write_pair(slot, weft_text("bytes"), VALUE_BYTES, 0, weft_text("some\tbytes"));
    text_write_pair(slot, weft_text("empty"), VALUE_BYTES, 0, weft_text(""));
    text_write_pair(slot, weft_text("int"), VALUE_INT, INT64_MIN, weft_none());
    write_double(slot, "double", 0.1);
    text_write_pair(slot, weft_text(""), VALUE_INT, 7, weft_none());
    text_write_pair(slot, weft_none(), VALUE_NONE, 0, weft_none());
}

static void pairs_are_lines_with_a_tab_unless_there_is_no_value(void **state)
{
    (void)state;
    begin(false, 1 << 20);
    write_every_type(&rig.slots[0]);
    rig_expect(text_submit(&rig.slots[0]));
    slot_begin_attempt(&rig.slots[0], SLOT_OUTPUT, 1);
    rig_expect(text_submit(&rig.slots[0]));
    rig_check_output(&rig, "none\nbytes\tsome\tbytes\nempty\t\nint\t-9223372036854775808\n"
                           "double\t0.1\n\t7\n\n");
    rig_fini(&rig);
}

static size_t read_kept(char *data, size_t size)
{
    size_t got;
    rig_expect(dataset_read(rig.stage.kept, 0, 0, data, size, &got));
    return got;
}

static void kept_pairs_are_sizes_key_and_value_as_text(void **state)
{
    (void)state;
    static const char *const expected[][2] = {{"none", ""},      {"bytes", "some\tbytes"},
                                              {"empty", ""},     {"int", "-9223372036854775808"},
                                              {"double", "0.1"}, {"", "7"},
                                              {"", ""}};
    char data[1000];
    size_t at = 0;
    begin(true, 1 << 20);
    write_every_type(&rig.slots[0]);
    rig_expect(text_submit(&rig.slots[0]));
    const size_t size = read_kept(data, sizeof data);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        uint32_t sizes[2];
        assert_true(size - at >= 8);
        memcpy(sizes, data + at, 8);
        assert_true(bytes_equal((weft_bytes){data + at + 8, sizes[0]}, weft_text(expected[i][0])));
        assert_true(bytes_equal((weft_bytes){data + at + 8 + sizes[0], sizes[1]},
                                weft_text(expected[i][1])));
        at += 8 + sizes[0] + sizes[1];
    }
    assert_int_equal(at, size);
    rig_fini(&rig);
}

// Lines of all sizes, more than the share.
static struct buf write_much(struct slot *slot, uint32_t lines, size_t largest)
{
    struct buf expected = {0};
    char *value = malloc(largest);
    for (uint32_t i = 0; i < lines; i++) {
        const size_t size = i % 50 == 49 ? largest : i * 31 % 500;
        memset(value, 'a' + (int)(i % 26), size);
        text_write_pair(slot, weft_text("key"), VALUE_BYTES, 0, (weft_bytes){value, size});
        buf_append_text(&expected, "key\t");
        buf_append(&expected, value, size);
        buf_append_text(&expected, "\n");
    }
    free(value);
    return expected;
}

static void a_piece_larger_than_the_share_comes_out_whole(void **state)
{
    (void)state;
    for (size_t text_bytes = 1000; text_bytes <= 1 << 20; text_bytes *= 10) {
        begin(false, text_bytes);
        struct buf expected = write_much(&rig.slots[0], 2000, 200000);
        rig_expect(text_submit(&rig.slots[0]));
        size_t size;
        char *text = rig_output(&rig, &size);
        assert_int_equal(size, expected.size);
        assert_memory_equal(text, expected.data, size);
        free(text);
        buf_fini(&expected);
        rig_fini(&rig);
    }
}

static void the_share_is_passed_only_by_a_pair_that_is_larger(void **state)
{
    (void)state;
    begin(false, 300000);
    struct buf expected = write_much(&rig.slots[0], 5000, 4000);
    assert_true(rig.slots[0].text.capacity <= 300000);
    buf_fini(&expected);
    expected = write_much(&rig.slots[0], 50, 1000000);
    assert_true(rig.slots[0].text.capacity >= 1000000);
    buf_fini(&expected);
    rig_fini(&rig);
}

static void a_discarded_attempt_leaves_nothing_in_the_output(void **state)
{
    (void)state;
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        begin(is_kept, 1000);
        struct buf lost = write_much(&rig.slots[0], 500, 4000);
        text_discard(&rig.slots[0]);
        slot_begin_attempt(&rig.slots[0], SLOT_OUTPUT, 0);
        text_write_pair(&rig.slots[0], weft_text("k"), VALUE_INT, 1, weft_none());
        rig_expect(text_submit(&rig.slots[0]));
        if (is_kept) {
            char data[100];
            assert_int_equal(read_kept(data, sizeof data), 10);
        } else {
            // With the last piece what the discarded attempt has left is cut off.
            for (uint32_t piece = 1; piece < rig.stage.range_count; piece++) {
                slot_begin_attempt(&rig.slots[0], SLOT_OUTPUT, piece);
                rig_expect(text_submit(&rig.slots[0]));
            }
            rig_check_output(&rig, "k\t1\n");
        }
        buf_fini(&lost);
        rig_fini(&rig);
    }
}

static void a_pair_no_memory_is_left_for_fails_the_attempt_for_good(void **state)
{
    (void)state;
    static char value[1 << 20];
    memset(value, 'v', sizeof value);
    begin(false, 100000);
    text_write_pair(&rig.slots[0], weft_text("k"), VALUE_INT, 1, weft_none());
    rig.budget.limit = rig.budget.used + 100000;
    text_write_pair(&rig.slots[0], weft_text("large"), VALUE_BYTES, 0,
                    (weft_bytes){value, sizeof value});
    assert_true(rig.slots[0].has_failed && rig.slots[0].is_final);
    assert_int_equal(rig.slots[0].code, WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(rig.slots[0].error, "--memory"));
    text_discard(&rig.slots[0]);
    rig_fini(&rig);
}

// Little memory, but enough for one pair at a time: slower, not wrong.
static void text_is_handed_on_earlier_when_memory_is_short(void **state)
{
    (void)state;
    begin(false, 16 << 20);
    rig.budget.limit = rig.budget.used + (400 << 10);
    struct buf expected = write_much(&rig.slots[0], 5000, 3000);
    assert_false(rig.slots[0].has_failed);
    rig_expect(text_submit(&rig.slots[0]));
    size_t size;
    char *text = rig_output(&rig, &size);
    assert_int_equal(size, expected.size);
    assert_memory_equal(text, expected.data, size);
    free(text);
    buf_fini(&expected);
    rig_fini(&rig);
}

// There is memory for a little more text, not for twice as much: it is not copied for every pair.
static void text_does_not_grow_by_single_pairs(void **state)
{
    (void)state;
    uint32_t growth_count = 0;
    begin(false, 16 << 20);
    rig.budget.limit = rig.budget.used + (560 << 10);
    for (int i = 0; i < 100000; i++) {
        const size_t before = rig.slots[0].text.capacity;
        text_write_pair(&rig.slots[0], weft_text("key"), VALUE_INT, i, weft_none());
        growth_count += rig.slots[0].text.capacity != before;
    }
    assert_false(rig.slots[0].has_failed);
    assert_in_range(growth_count, 1, 10);
    text_discard(&rig.slots[0]);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_lines_with_a_tab_unless_there_is_no_value),
        cmocka_unit_test(kept_pairs_are_sizes_key_and_value_as_text),
        cmocka_unit_test(a_piece_larger_than_the_share_comes_out_whole),
        cmocka_unit_test(the_share_is_passed_only_by_a_pair_that_is_larger),
        cmocka_unit_test(a_discarded_attempt_leaves_nothing_in_the_output),
        cmocka_unit_test(a_pair_no_memory_is_left_for_fails_the_attempt_for_good),
        cmocka_unit_test(text_is_handed_on_earlier_when_memory_is_short),
        cmocka_unit_test(text_does_not_grow_by_single_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
