// Tests of the promise: a budget that was divided among slots is enough, whatever the job emits. Every slot
// collects several times its share, all at once, then all reduce; nothing is refused, nothing is lost,
// and the budget is never passed.

#include "mapreduce/work/slot_testing.h"

#include "sys/thread/thread.h"

enum { SLOTS = 3, PER_ROUND = 2000, SLOT_BYTES = 2 << 20, VALUE_MAX = 600 };

static void map_nothing(weft_task *task, weft_bytes line)
{
    (void)task, (void)line;
}

static void own_total(weft_task *task, weft_bytes key, weft_values *values)
{
    int64_t total = 0;
    for (int64_t value; weft_next_int(values, &value);)
        total += value;
    weft_emit_int(task, key, total);
}

// Makes nothing smaller.
static void repeat_all(weft_task *task, weft_bytes key, weft_values *values)
{
    for (weft_bytes value; weft_next(values, &value);)
        weft_emit(task, key, value);
}

// Makes everything larger.
static void pad_all(weft_task *task, weft_bytes key, weft_values *values)
{
    char padded[VALUE_MAX];
    memset(padded, ' ', sizeof padded);
    for (weft_bytes value; weft_next(values, &value);)
        weft_emit(task, key, (weft_bytes){padded, sizeof padded});
}

static int backwards(weft_bytes a, weft_bytes b)
{
    return -bytes_compare(a, b);
}

// The pairs that a job emits: pair `number` of a slot.
struct mixture {
    uint32_t distinct;  // keys
    size_t key_tail;    // bytes after the 8 that make keys different
    size_t value_size;  // 0: the integer 1
    uint32_t rounds;    // of every slot
};

static uint64_t pairs_of(const struct mixture *mixture)
{
    return (uint64_t)mixture->rounds * SLOTS * PER_ROUND;
}

static void emit_pair(weft_task *task, const struct mixture *mixture, uint32_t number)
{
    char key[64], value[VALUE_MAX];
    uint32_t digits = number * 2654435761u % mixture->distinct;
    for (int i = 8; i--; digits /= 10)
        key[i] = (char)('0' + digits % 10);
    memset(key + 8, 't', mixture->key_tail);
    const weft_bytes bytes = {key, 8 + mixture->key_tail};
    if (mixture->value_size == 0) {
        weft_emit_int(task, bytes, 1);
        return;
    }
    memset(value, '0', mixture->value_size);
    snprintf(value, sizeof value, "%09u", number);
    value[9] = '0';
    weft_emit(task, bytes, (weft_bytes){value, mixture->value_size});
}

static void open_divided(struct rig *rig, const weft_job *job)
{
    static char cuts[16][3];
    rig_init(rig, job, weft_text(""));
    rig->stage.slot_count = SLOTS;
    rig->stage.range_count = 16;
    rig->budget.limit = SLOTS * SLOT_BYTES;
    assert_true(memory_plan_make(&rig->stage.memory, SLOTS * SLOT_BYTES, SLOTS, 1, 16));
    for (; rig->cut_count < 16; rig->cut_count++) {
        snprintf(cuts[rig->cut_count], 3, "%02zu", rig->cut_count * 100 / 16);
        rig->cuts[rig->cut_count] = weft_text(cuts[rig->cut_count]);
    }
    rig_open(rig);
}

static void collect_round(struct slot *slot, const struct mixture *mixture, uint32_t round)
{
    if (slot->has_failed)
        return;
    slot_begin_attempt(slot, SLOT_COLLECT, slot->index + SLOTS * round);
    for (uint32_t i = 0; i < PER_ROUND; i++)
        emit_pair(&slot->hot, mixture, (round * SLOTS + slot->index) * PER_ROUND + i);
    emit_flush(slot);
}

static struct rig rig;
static const struct mixture *current;

static void collect_in_turns(void)
{
    for (uint32_t round = 0; round < current->rounds; round++)
        for (uint32_t i = 0; i < SLOTS; i++)
            collect_round(&rig.slots[i], current, round);
    for (uint32_t i = 0; i < SLOTS; i++)
        if (!rig.slots[i].has_failed && collector_seal(&rig.slots[i]))
            slot_fail(&rig.slots[i], WEFT_RESOURCE_EXHAUSTED, true);
}

static void collect_in_thread(void *slot)
{
    for (uint32_t round = 0; round < current->rounds; round++)
        collect_round(slot, current, round);
    if (!((struct slot *)slot)->has_failed && collector_seal(slot))
        slot_fail(slot, WEFT_RESOURCE_EXHAUSTED, true);
}

static void reduce_in_thread(void *argument)
{
    struct slot *slot = argument;
    for (uint32_t range = slot->index; range < 16 && !slot->has_failed; range += SLOTS)
        if (rig_reduce_range(&rig, slot->index, range))
            slot_fail(slot, WEFT_RESOURCE_EXHAUSTED, true);
}

static void run_in_threads(void (*body)(void *slot))
{
    struct thread threads[SLOTS];
    for (uint32_t i = 0; i < SLOTS; i++)
        rig_expect(thread_start(&threads[i], body, &rig.slots[i], 0));
    for (uint32_t i = 0; i < SLOTS; i++)
        thread_join(&threads[i]);
}

static void check_slots(void)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (rig.slots[i].has_failed)
            print_error("slot %u: %s\n", i, rig.slots[i].error);
        assert_false(rig.slots[i].has_failed);
    }
}

static bool is_threaded;

static struct buf run(const weft_job *job, const struct mixture *mixture)
{
    struct buf output = {0};
    current = mixture;
    open_divided(&rig, job);
    if (is_threaded)
        run_in_threads(collect_in_thread);
    else
        collect_in_turns();
    check_slots();
    if (is_threaded)
        run_in_threads(reduce_in_thread);
    else
        rig_reduce_all(&rig);
    check_slots();
    assert_true(rig.budget.peak <= rig.budget.limit);
    assert_true(mixture->distinct < 10000 || rig.budget.peak > rig.budget.limit / 3);
    output.data = rig_output(&rig, &output.size);
    rig_fini(&rig);
    return output;
}

// Lines, and the sum of the numbers after their first TAB.
static void check_run(const weft_job *job, const struct mixture *mixture, uint64_t lines_expected,
                      uint64_t sum_expected)
{
    struct buf bytes = run(job, mixture), *output = &bytes;
    uint64_t lines = 0, sum = 0;
    for (weft_bytes rest = buf_bytes(output), line; weft_next_line(&rest, &line); lines++)
        sum += strtoull((const char *)memchr(line.data, '\t', line.size) + 1, NULL, 10);
    assert_int_equal(lines, lines_expected);
    if (sum_expected)
        assert_int_equal(sum, sum_expected);
    buf_fini(output);
}

static void check_counts(const weft_job *job, const struct mixture *mixture)
{
    const uint64_t pairs = pairs_of(mixture);
    check_run(job, mixture, mixture->distinct < pairs ? mixture->distinct : pairs, pairs);
}

static const struct mixture mixtures[] = {
    {99999989, 0, 0, 25}, {99999989, 5, 0, 25}, {99999989, 30, 0, 8},
    {1000, 0, 0, 15},     {1000, 5, 0, 15},     {1000, 30, 0, 15},
    {20000, 0, 0, 25},    {20000, 5, 0, 25},    {20000, 30, 0, 8},
};

static void counting_is_enough(void **state)
{
    (void)state;
    weft_job job = {.name = "sum", .map = map_nothing, .reduce = weft_sum};
    for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++)
        check_counts(&job, &mixtures[i]);
    job.compare = backwards;
    check_counts(&job, &mixtures[2]);
}

static void a_jobs_own_combiner_is_enough(void **state)
{
    (void)state;
    const weft_job job = {
        .name = "own", .map = map_nothing, .reduce = own_total, .combine = own_total};
    for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i += 2)
        check_counts(&job, &mixtures[i]);
}

static void a_combiner_that_makes_nothing_smaller_is_enough(void **state)
{
    (void)state;
    const weft_job job = {
        .name = "repeat", .map = map_nothing, .reduce = repeat_all, .combine = repeat_all};
    const struct mixture mixture = {20000, 0, 100, 10};
    check_run(&job, &mixture, pairs_of(&mixture), 0);
}

static void a_combiner_that_makes_everything_larger_is_enough(void **state)
{
    (void)state;
    const weft_job job = {
        .name = "pad", .map = map_nothing, .reduce = weft_count, .combine = pad_all};
    const struct mixture mixture = {20000, 0, 10, 10};
    check_counts(&job, &mixture);
}

static void sorting_values_of_any_size_is_enough(void **state)
{
    (void)state;
    const weft_job job = {.name = "sort", .map = map_nothing, .reduce = weft_identity};
    const struct mixture values[] = {
        {99999989, 0, 10, 15}, {99999989, 30, 100, 6}, {5, 0, VALUE_MAX, 2}};
    for (size_t i = 0; i < 3; i++)
        check_run(&job, &values[i], pairs_of(&values[i]), 0);
}

static void different_values_of_few_keys_are_enough(void **state)
{
    (void)state;
    const weft_job job = {.name = "distinct", .map = map_nothing, .reduce = weft_distinct};
    const struct mixture mixture = {5000, 0, 12, 12};
    check_run(&job, &mixture, 5000, 0);
}

static void all_of_it_is_enough_for_slots_in_threads(void **state)
{
    is_threaded = true;
    counting_is_enough(state);
    a_combiner_that_makes_everything_larger_is_enough(state);
    sorting_values_of_any_size_is_enough(state);
    is_threaded = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counting_is_enough),
        cmocka_unit_test(a_jobs_own_combiner_is_enough),
        cmocka_unit_test(a_combiner_that_makes_nothing_smaller_is_enough),
        cmocka_unit_test(a_combiner_that_makes_everything_larger_is_enough),
        cmocka_unit_test(sorting_values_of_any_size_is_enough),
        cmocka_unit_test(different_values_of_few_keys_are_enough),
        cmocka_unit_test(all_of_it_is_enough_for_slots_in_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
