// Tests of the collector: emitted pairs come out folded, whichever way they take through tables,
// buckets and runs, with any budget that is enough; and it gives its memory back.

#include "mapreduce/work/slot_testing.h"

static void map_nothing(weft_task *task, weft_bytes line)
{
    (void)task, (void)line;
}

static const weft_job sum_job = {.name = "sum", .map = map_nothing, .reduce = weft_sum};
static const weft_job sort_job = {.name = "sort", .map = map_nothing, .reduce = weft_identity};

static void begin(struct rig *rig)
{
    rig_open(rig);
    slot_begin_attempt(&rig->slots[0], SLOT_COLLECT, 0);
}

static void emit(struct rig *rig, const char *key, int64_t value)
{
    weft_emit_int(&rig->slots[0].hot, weft_text(key), value);
}

static void finish(struct rig *rig)
{
    emit_flush(&rig->slots[0]);
    if (rig->slots[0].has_failed)
        print_error("%s\n", rig->slots[0].error);
    assert_false(rig->slots[0].has_failed);
    rig_seal(rig);
    rig_reduce_all(rig);
}

// ---- sums

static void a_sum_that_leaves_64_bits_on_the_way_comes_back(void **state)
{
    (void)state;
    static struct rig rig;
    const char *const keys[] = {"short", "wider than 8", "longer than sixteen bytes"};
    rig_init(&rig, &sum_job, weft_text(""));
    begin(&rig);
    for (size_t i = 0; i < 3; i++) {
        emit(&rig, keys[i], INT64_MAX);
        emit(&rig, keys[i], INT64_MAX);
        emit(&rig, keys[i], 5);
        emit(&rig, keys[i], -INT64_MAX);
        emit(&rig, keys[i], -INT64_MAX);
        emit(&rig, keys[i], INT64_MIN);
        emit(&rig, keys[i], INT64_MIN);
        emit(&rig, keys[i], INT64_MAX);
        emit(&rig, keys[i], INT64_MAX);
    }
    finish(&rig);
    rig_check_output(&rig, "longer than sixteen bytes\t3\nshort\t3\nwider than 8\t3\n");
    rig_fini(&rig);
}

// Every key has integers, doubles and text; ways through tables, buckets and runs mix them differently.
static void emit_mixed(weft_task *task, uint32_t number)
{
    char key[32];
    const size_t size = (size_t)snprintf(key, sizeof key, "%.*s%03u", (int)(number % 3 * 9),
                                         "a key of many bytes", number % 500);
    const weft_bytes bytes = {key, size};
    if (number % 7 == 0)
        weft_emit_double(task, bytes, 0.5);
    else if (number % 5 == 0)
        weft_emit(task, bytes, weft_text("0.25"));
    else if (number % 3 == 0)
        weft_emit(task, bytes, weft_text("1"));
    else
        weft_emit_int(task, bytes, 1);
}

static char *run_mixed(weft_reduce_fn *reduce, size_t pages_bytes)
{
    static struct rig rig;
    const weft_job job = {.name = "mixed", .map = map_nothing, .reduce = reduce};
    size_t size;
    rig_init(&rig, &job, weft_text(""));
    struct memory_plan *plan = &rig.stage.memory;
    plan->collect_bytes = plan->table_bytes * 5 / 2 + pages_bytes;
    begin(&rig);
    for (uint32_t i = 0; i < 60000; i++)
        emit_mixed(&rig.slots[0].hot, i);
    finish(&rig);
    char *text = rig_output(&rig, &size);
    rig_fini(&rig);
    return text;
}

static void integers_doubles_and_text_fold_to_the_same_in_any_memory(void **state)
{
    (void)state;
    weft_reduce_fn *const reducers[] = {weft_sum, weft_min, weft_max};
    // 1500 different keys with 40 numbers each: of 105, 15 are doubles, 18 text, 72 ones.
    const char *const lines[] = {"\n000\t", "\na key of 000\t", "\na key of many byte000\t"};
    for (size_t i = 0; i < 3; i++) {
        char *first = run_mixed(reducers[i], 32 << 20);
        for (size_t pages_bytes = 64 << 10; pages_bytes < 2 << 20; pages_bytes *= 4) {
            char *again = run_mixed(reducers[i], pages_bytes);
            assert_string_equal(again, first);
            free(again);
        }
        assert_non_null(strstr(first, lines[1]));
        assert_non_null(strstr(first, lines[2]));
        free(first);
    }
}

static void keys_that_end_in_zeros_are_different_keys(void **state)
{
    (void)state;
    static struct rig rig;
    static const char keys[20];
    rig_init(&rig, &sum_job, weft_text(""));
    begin(&rig);
    for (int64_t i = 1; i <= 3; i++)
        for (size_t size = 0; size <= 18; size++)
            weft_emit_int(&rig.slots[0].hot, (weft_bytes){keys, size}, i);
    finish(&rig);
    size_t size, at = 0;
    char *text = rig_output(&rig, &size);
    for (size_t zeros = 0; zeros <= 18; zeros++) {
        assert_memory_equal(text + at, keys, zeros);
        assert_memory_equal(text + at + zeros, "\t6\n", 3);
        at += zeros + 3;
    }
    assert_int_equal(at, size);
    free(text);
    rig_fini(&rig);
}

// ---- failures

static uint32_t beyond_all_parts(weft_bytes key, uint32_t part_count)
{
    return key.size == 3 ? part_count : 0;
}

static void a_part_that_does_not_exist_is_the_jobs_failure(void **state)
{
    (void)state;
    static struct rig rig;
    weft_job jobs[] = {sum_job, sort_job};
    for (size_t i = 0; i < 2; i++) {
        jobs[i].partition = beyond_all_parts;
        rig_init(&rig, &jobs[i], weft_text(""));
        begin(&rig);
        emit(&rig, "good", 1);
        emit(&rig, "bad", 1);
        emit_flush(&rig.slots[0]);
        const weft_err code =
            rig.slots[0].has_failed ? rig.slots[0].code : collector_seal(&rig.slots[0]);
        assert_int_equal(code, WEFT_INVALID_ARGUMENT);
        rig_fini(&rig);
    }
}

static void emit_other_key(weft_task *task, weft_bytes key, weft_values *values)
{
    (void)key, (void)values;
    weft_emit_int(task, weft_text("another"), 1);
}

static void a_combiner_may_emit_its_own_key_only(void **state)
{
    (void)state;
    static struct rig rig;
    const weft_job job = {
        .name = "other", .map = map_nothing, .reduce = weft_identity, .combine = emit_other_key};
    rig_init(&rig, &job, weft_text(""));
    rig.stage.memory.combine_bytes = 100 << 10;
    begin(&rig);
    for (int i = 0; i < 10000 && !rig.slots[0].has_failed; i++)
        emit(&rig, "key", i);
    assert_int_equal(rig.slots[0].code, WEFT_INVALID_ARGUMENT);
    assert_true(rig.slots[0].is_final);
    assert_non_null(strstr(rig.slots[0].error, "combiner"));
    rig_fini(&rig);
}

// What a failed attempt left in tables, queues, buckets and runs is gone.
static void a_reset_collector_is_as_new(void **state)
{
    (void)state;
    static struct rig rig;
    const weft_job *const jobs[] = {&sum_job, &sort_job};
    for (size_t i = 0; i < 2; i++) {
        rig_init(&rig, jobs[i], weft_text(""));
        rig.stage.memory.collect_bytes = rig.stage.memory.table_bytes * 5 / 2 + (256 << 10);
        begin(&rig);
        for (int round = 0; round < 3; round++) {
            for (uint32_t number = 0; number < 60000; number++)
                emit_mixed(&rig.slots[0].hot, number);
            emit(&rig, "waits in a queue", 1);
            collector_reset(&rig.slots[0].collector, &rig.slots[0]);
            slot_begin_attempt(&rig.slots[0], SLOT_COLLECT, 0);
        }
        emit(&rig, "only", 1);
        finish(&rig);
        rig_check_output(&rig, "only\t1\n");
        rig_fini(&rig);
    }
}

// ---- in little memory

// Small pairs until something is spilled; afterwards their memory is free for a large one.
static void a_large_pair_fits_where_small_ones_were_spilled(void **state)
{
    (void)state;
    static struct rig rig;
    static char value[200 << 10];
    memset(value, 'v', sizeof value);
    rig_init(&rig, &sort_job, weft_text(""));
    rig.stage.memory.collect_bytes = 1 << 20;
    begin(&rig);
    weft_task *task = &rig.slots[0].hot;
    uint32_t count = 0;
    for (; rig.slots[0].collector.runs.count == 0; count++) {
        char key[16];
        weft_emit(task, (weft_bytes){key, (size_t)snprintf(key, 16, "%08u", count)},
                  (weft_bytes){value, 20});
    }
    for (int i = 0; i < 20; i++)
        weft_emit(task, weft_text("large"), (weft_bytes){value, sizeof value});
    finish(&rig);
    size_t size;
    char *text = rig_output(&rig, &size);
    assert_int_equal(size, count * (8 + 1 + 20 + 1) + 20 * (5 + 1 + sizeof value + 1));
    free(text);
    rig_fini(&rig);
}

// The budget may be used up by others while this slot holds nothing that could be spilled.
static void a_pair_is_refused_when_there_is_no_memory_and_nothing_to_spill(void **state)
{
    (void)state;
    static struct rig rig;
    const weft_job *const jobs[] = {&sum_job, &sort_job};
    const char *const keys[] = {"short", "wider than 8", "longer than sixteen bytes"};
    for (size_t i = 0; i < 6; i++) {
        rig_init(&rig, jobs[i % 2], weft_text(""));
        begin(&rig);
        rig.budget.limit = rig.budget.used;
        emit(&rig, keys[i / 2], 1);
        emit_flush(&rig.slots[0]);
        assert_true(rig.slots[0].has_failed && rig.slots[0].is_final);
        assert_int_equal(rig.slots[0].code, WEFT_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(rig.slots[0].error, "--memory"));
        rig_fini(&rig);
    }
}

// Counts as the output says them, and how many lines it has.
static uint64_t sum_of_output(struct rig *rig, uint64_t *lines)
{
    size_t size;
    char *text = rig_output(rig, &size);
    uint64_t sum = 0;
    *lines = 0;
    for (weft_bytes rest = {text, size}, line; weft_next_line(&rest, &line); ++*lines)
        sum += strtoull((const char *)memchr(line.data, '\t', line.size) + 1, NULL, 10);
    free(text);
    return sum;
}

// Keys that never come again, then few that often do, then many that come twice: to the buckets, back
// to the tables, and the tables emptied again and again while the buckets fill up.
static uint32_t key_number(uint32_t i)
{
    if (i < 140000)
        return i;
    return i < 600000 ? i % 3000 : 10000000 + i / 2;
}

// Tables in use leave the pages that much less.
static void check_shares(struct rig *rig)
{
    const struct collector *c = &rig->slots[0].collector;
    assert_false(c->is_direct);
    size_t tables = 0;
    tables += c->shorts.buckets ? sizeof *c->shorts.buckets << c->shorts.bits : 0;
    tables += c->wides.slots ? sizeof *c->wides.slots << c->wides.bits : 0;
    assert_true(tables > 0);
    assert_true(c->pages.bytes_max + tables <= rig->stage.memory.collect_bytes);
}

// Keys are eight digits and a tail, spread evenly over as many ranges as there can be.
static void begin_with_ranges(struct rig *rig, uint64_t bytes)
{
    static char cuts[RIG_RANGES_MAX][3];
    rig_init(rig, &sum_job, weft_text(""));
    rig->stage.range_count = RIG_RANGES_MAX;
    rig->budget.limit = bytes;
    assert_true(memory_plan_make(&rig->stage.memory, bytes, 1, 1, RIG_RANGES_MAX));
    for (uint32_t i = 0; i < RIG_RANGES_MAX; i++, rig->cut_count++) {
        snprintf(cuts[i], 3, "%02u", i * 100 / RIG_RANGES_MAX);
        rig->cuts[i] = weft_text(cuts[i]);
    }
    begin(rig);
}

static void emit_number(struct rig *rig, uint32_t key_number, const char *tail)
{
    char key[24];
    uint32_t number = key_number * 2654435761u % 99999989;
    for (int digit = 8; digit--; number /= 10)
        key[digit] = (char)('0' + number % 10);
    strcpy(key + 8, tail);
    emit(rig, key, 1);
}

static void run_changing_keys(struct rig *rig, const char *tail, uint64_t bytes)
{
    enum { EMITS = 1000000 };
    begin_with_ranges(rig, bytes);
    for (uint32_t i = 0; i < EMITS; i++)
        emit_number(rig, key_number(i), tail);
    check_shares(rig);
    finish(rig);
    uint64_t lines;
    assert_int_equal(sum_of_output(rig, &lines), EMITS);
    assert_true(lines > 330000);
    rig_fini(rig);
}

static void keys_that_change_their_ways_stay_inside_the_budget(void **state)
{
    (void)state;
    static struct rig rig;
    run_changing_keys(&rig, "", 5 << 20);
    run_changing_keys(&rig, "wider", 5 << 20);
}

// Drawn evenly from many keys, each looks new for a long time: 1,600,000 draws out of 400,000.
static void keys_that_only_seem_distinct_go_back_to_the_tables(void **state)
{
    (void)state;
    enum { KEYS = 400000, EMITS = 1600000 };
    static struct rig rig;
    const char *const tails[] = {"", "wider"};
    for (size_t t = 0; t < 2; t++) {
        begin_with_ranges(&rig, 128 << 20);
        uint64_t random = 1;
        for (uint32_t i = 0; i < EMITS; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            emit_number(&rig, (uint32_t)(random >> 33) % KEYS, tails[t]);
            if (i % 50000 == 0)
                emit_flush(&rig.slots[0]);  // as at the end of an attempt
        }
        assert_true(rig.slots[0].collector.is_settled && !rig.slots[0].collector.is_direct);
        finish(&rig);
        uint64_t lines;
        assert_int_equal(sum_of_output(&rig, &lines), EMITS);
        assert_in_range(lines, 380000, KEYS);
        rig_fini(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_that_leaves_64_bits_on_the_way_comes_back),
        cmocka_unit_test(integers_doubles_and_text_fold_to_the_same_in_any_memory),
        cmocka_unit_test(keys_that_end_in_zeros_are_different_keys),
        cmocka_unit_test(a_part_that_does_not_exist_is_the_jobs_failure),
        cmocka_unit_test(a_combiner_may_emit_its_own_key_only),
        cmocka_unit_test(a_reset_collector_is_as_new),
        cmocka_unit_test(a_large_pair_fits_where_small_ones_were_spilled),
        cmocka_unit_test(keys_that_change_their_ways_stay_inside_the_budget),
        cmocka_unit_test(keys_that_only_seem_distinct_go_back_to_the_tables),
        cmocka_unit_test(a_pair_is_refused_when_there_is_no_memory_and_nothing_to_spill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
