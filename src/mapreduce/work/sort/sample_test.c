// Tests of the sample: the same keys for the same input, an even choice of them, and only as many as
// are needed.

#include "mapreduce/work/slot_testing.h"

static void emit_line(weft_task *task, weft_bytes line)
{
    weft_emit_int(task, line, 1);
}

static const weft_job sort_job = {.name = "sort", .map = emit_line, .reduce = weft_identity};
static const weft_job count_job = {.name = "count", .map = emit_line, .reduce = weft_sum};

// Samples the text read in pieces of a size that must not matter, as {u32 size, bytes}.
static struct buf sample_of(const weft_job *job, weft_bytes text, size_t read_bytes, size_t max)
{
    static struct rig rig;
    struct buf keys = {0};
    rig_init(&rig, job, text);
    rig.stage.memory.read_bytes = read_bytes;
    rig_open(&rig);
    slot_begin_attempt(&rig.slots[0], SLOT_SAMPLE, 0);
    const struct input_stretch piece = {0, 0, text.size};
    rig_expect(map_run(&rig.slots[0], &piece, 1));
    rig_expect(sample_finish(&rig.slots[0], max, &keys));
    assert_int_equal(rig.page->slots[0].records_in, 0);  // not counted as progress
    assert_int_equal(rig.slots[0].collector.buckets.entry_count, 0);
    rig_fini(&rig);
    return keys;
}

static size_t list(const struct buf *keys, weft_bytes *items)
{
    size_t count = 0;
    for (size_t at = 0; at < keys->size; count++) {
        uint32_t size;
        memcpy(&size, keys->data + at, sizeof size);
        items[count] = (weft_bytes){keys->data + at + sizeof size, size};
        at += sizeof size + size;
        assert_true(at <= keys->size);
    }
    return count;
}

static char *numbers(size_t *size)
{
    char *text = malloc(1000 * 8 + 1);
    *size = 0;
    for (uint32_t i = 0; i < 1000; i++)
        *size += (size_t)sprintf(text + *size, "%06u\n", i * 7919 % 1000);
    return text;
}

static void a_sample_depends_on_the_input_only(void **state)
{
    (void)state;
    size_t size;
    char *text = numbers(&size);
    struct buf first = sample_of(&sort_job, (weft_bytes){text, size}, 64, 100);
    for (size_t read_bytes = 100; read_bytes < 20000; read_bytes *= 5) {
        struct buf again = sample_of(&sort_job, (weft_bytes){text, size}, read_bytes, 100);
        assert_int_equal(again.size, first.size);
        assert_memory_equal(again.data, first.data, first.size);
        buf_fini(&again);
    }
    buf_fini(&first);
    free(text);
}

static void a_sample_is_an_even_choice_of_the_sorted_keys(void **state)
{
    (void)state;
    size_t size;
    char *text = numbers(&size);
    for (size_t max = 1; max <= 1500; max = max * 3 + 1) {
        static weft_bytes items[2000];
        struct buf keys = sample_of(&sort_job, (weft_bytes){text, size}, 4096, max);
        const size_t count = list(&keys, items);
        assert_int_equal(count, max < 1000 ? max : 1000);
        for (size_t i = 0; i < count; i++) {
            char expected[8];
            snprintf(expected, sizeof expected, "%06zu", i * 1000 / count);
            assert_int_equal(items[i].size, 6);
            assert_memory_equal(items[i].data, expected, 6);
        }
        buf_fini(&keys);
    }
    free(text);
}

static void check_keys(const weft_job *job, const char *text, const char *const *expected)
{
    weft_bytes items[100];
    struct buf keys = sample_of(job, weft_text(text), 64, 100);
    const size_t count = list(&keys, items);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(expected[i]);
        assert_true(bytes_equal(items[i], weft_text(expected[i])));
    }
    assert_null(expected[count]);
    buf_fini(&keys);
}

static void keys_weigh_once_when_they_are_folded_and_each_time_otherwise(void **state)
{
    (void)state;
    check_keys(&count_job, "b\na\nb\nb\n\nb", (const char *const[]){"", "a", "b", NULL});
    check_keys(&sort_job, "b\na\nb\nb\n\nb",
               (const char *const[]){"", "a", "b", "b", "b", "b", NULL});
}

static void an_empty_input_has_an_empty_sample(void **state)
{
    (void)state;
    check_keys(&count_job, "", (const char *const[]){NULL});
    check_keys(&sort_job, "", (const char *const[]){NULL});
}

static int by_last_byte(weft_bytes a, weft_bytes b)
{
    return a.data[a.size - 1] - b.data[b.size - 1];
}

// A long key cuts as well by its beginning, unless the job orders keys in its own way.
static void long_keys_are_cut_unless_the_job_compares_them(void **state)
{
    (void)state;
    enum { LONG = 5000 };
    static char text[LONG];
    weft_bytes item;
    memset(text, 'k', sizeof text);
    struct buf keys = sample_of(&count_job, (weft_bytes){text, LONG}, 4096, 10);
    assert_int_equal(list(&keys, &item), 1);
    assert_true(item.size >= 8 && item.size < LONG);
    buf_fini(&keys);
    weft_job own_order = count_job;
    own_order.compare = by_last_byte;
    keys = sample_of(&own_order, (weft_bytes){text, LONG}, 4096, 10);
    assert_int_equal(list(&keys, &item), 1);
    assert_int_equal(item.size, LONG);
    buf_fini(&keys);
}

static void emit_much(weft_task *task, weft_bytes line)
{
    char key[200];
    memset(key, 'x', sizeof key);
    for (uint32_t i = 0; i < 100000; i++) {
        memcpy(key, &i, sizeof i);
        weft_emit_int(task, (weft_bytes){key, sizeof key}, (int64_t)line.size);
    }
}

static void a_job_that_emits_without_end_is_sampled_to_a_limit(void **state)
{
    (void)state;
    static weft_bytes items[100];
    const weft_job job = {.name = "much", .map = emit_much, .reduce = weft_sum};
    struct buf keys = sample_of(&job, weft_text("one\ntwo\nthree\n"), 64, 100);
    assert_int_equal(list(&keys, items), 100);
    assert_true(keys.size <= 100 * 204);
    buf_fini(&keys);
}

// ---- the sample of a later stage, from what the one before has kept

static void emit_key(weft_task *task, weft_bytes value)
{
    weft_emit(task, weft_input_key(task), value);
}

static struct dataset *kept_numbers(struct mem_budget *budget)
{
    struct dataset *dataset = dataset_new(budget, 2, 16 << 20, RIG_TMP);
    for (uint32_t range = 0; range < 2; range++) {
        struct buf pairs = {0};
        for (uint32_t i = 0; i < 20000; i++) {
            const uint32_t sizes[2] = {8, 3};
            buf_append(&pairs, sizes, sizeof sizes);
            buf_format(&pairs, "%u%07u100", range, i);
        }
        rig_expect(dataset_append(dataset, range, buf_bytes(&pairs)));
        dataset_finish(dataset, range);
        buf_fini(&pairs);
    }
    return dataset;
}

static struct buf sample_of_kept(size_t read_bytes)
{
    static struct rig rig;
    struct buf keys = {0};
    const weft_job job = {.name = "second", .map = emit_key, .reduce = weft_identity};
    rig_init(&rig, &job, weft_text(""));
    rig.stage.memory.read_bytes = read_bytes;
    rig.stage.source = kept_numbers(&rig.budget);
    rig.stage.sample_count = 2;
    rig_open(&rig);
    for (uint32_t task = 0; task < 2; task++) {
        slot_begin_attempt(&rig.slots[0], SLOT_SAMPLE, task);
        rig_expect(map_run(&rig.slots[0], NULL, 0));
        rig_expect(sample_finish(&rig.slots[0], 300, &keys));
    }
    rig_fini(&rig);
    return keys;
}

// The budget decides how much is read at a time; where the parts are cut must not hang on it.
static void a_sample_of_kept_pairs_depends_on_them_only(void **state)
{
    (void)state;
    struct buf first = sample_of_kept(100);
    assert_int_equal(first.size, 2 * 300 * (4 + 8));
    for (size_t read_bytes = 1000; read_bytes < 2 << 20; read_bytes *= 4) {
        struct buf again = sample_of_kept(read_bytes);
        assert_int_equal(again.size, first.size);
        assert_memory_equal(again.data, first.data, first.size);
        buf_fini(&again);
    }
    buf_fini(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_depends_on_the_input_only),
        cmocka_unit_test(a_sample_is_an_even_choice_of_the_sorted_keys),
        cmocka_unit_test(keys_weigh_once_when_they_are_folded_and_each_time_otherwise),
        cmocka_unit_test(an_empty_input_has_an_empty_sample),
        cmocka_unit_test(long_keys_are_cut_unless_the_job_compares_them),
        cmocka_unit_test(a_sample_of_kept_pairs_depends_on_them_only),
        cmocka_unit_test(a_job_that_emits_without_end_is_sampled_to_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
