// Tests of groups: one call per key whatever the reducer does with its values, and the questions
// that it can ask about a value.

#include "mapreduce/work/slot_testing.h"

#include "base/exact_sum.h"
#include "mapreduce/work/reduce/values.h"

static void map_nothing(weft_task *task, weft_bytes line)
{
    (void)task, (void)line;
}

static const weft_job job = {.name = "groups", .map = map_nothing, .reduce = weft_identity};

// ---- a stream from a list

struct list {
    struct pair_stream stream;
    const struct pair *pairs;
    size_t count, at, fail_at;
    bool is_closed;
    char room[2][64];  // a pair's bytes are gone when the next one is asked for
};

static weft_err list_next(struct pair_stream *stream, struct pair *pair, bool *has_pair)
{
    struct list *list = (struct list *)stream;
    memset(list->room, '?', sizeof list->room);
    *has_pair = list->at < list->count;
    if (list->at == list->fail_at)
        return err_set(WEFT_DATA_LOSS, "the list is torn");
    if (!*has_pair)
        return WEFT_OK;
    *pair = list->pairs[list->at++];
    memcpy(list->room[0], pair->key.data, pair->key.size);
    pair->key.data = list->room[0];
    if (pair->bytes.size)
        memcpy(list->room[1], pair->bytes.data, pair->bytes.size);
    if (pair->bytes.data)
        pair->bytes.data = list->room[1];
    return WEFT_OK;
}

static void list_close(struct pair_stream *stream)
{
    ((struct list *)stream)->is_closed = true;
}

static struct list list_of(const struct pair *pairs, size_t count)
{
    return (struct list){
        .stream = {list_next, list_close}, .pairs = pairs, .count = count, .fail_at = SIZE_MAX};
}

#define TEXT(key_text, value_text)                                                                 \
    {                                                                                              \
        .key = {key_text, sizeof key_text - 1}, .bytes = {value_text, sizeof value_text - 1},      \
        .type = VALUE_BYTES                                                                        \
    }

static const struct pair letters[] = {
    TEXT("", "0"),    TEXT("a", "1"), TEXT("a", "2"), TEXT("a", ""),
    TEXT("a\0", "3"), TEXT("b", "4"), TEXT("c", "5"), TEXT("c", "6"),
};
enum { LETTERS = sizeof letters / sizeof *letters };

// What reducers saw, as text.
static char seen[4096];
static size_t seen_size;
static int wanted;  // values a reducer takes

static void see(const char *text, size_t size)
{
    assert_true(seen_size + size + 1 < sizeof seen);
    memcpy(seen + seen_size, text, size);
    seen_size += size;
    seen[seen_size] = 0;
}

static void see_some(weft_task *task, weft_bytes key, weft_values *values)
{
    (void)task;
    char copy[16];
    memcpy(copy, key.data, key.size);
    see("[", 1);
    see(key.data, key.size);
    weft_bytes value;
    for (int i = 0; i < wanted && weft_next(values, &value); i++) {
        see(" ", 1);
        see(value.data, value.size);
    }
    assert_memory_equal(key.data, copy, key.size);  // the key stays while values are taken
    see("]", 1);
}

static struct rig rig;

static void begin(void)
{
    rig_init(&rig, &job, weft_text(""));
    rig_open(&rig);
    slot_begin_attempt(&rig.slots[0], SLOT_OUTPUT, 0);
    seen_size = 0;
}

static void check_groups(int values, const char *expected, size_t size)
{
    struct list list = list_of(letters, LETTERS);
    begin();
    wanted = values;
    assert_int_equal(groups_run(&rig.slots[0], &list.stream, see_some), WEFT_OK);
    assert_true(list.is_closed);
    assert_int_equal(seen_size, size);
    assert_memory_equal(seen, expected, size);
    rig_fini(&rig);
}

static void a_reducer_is_called_once_per_key_with_its_values_in_order(void **state)
{
    (void)state;
    const char all[] = "[ 0][a 1 2 ][a\0 3][b 4][c 5 6]";
    check_groups(100, all, sizeof all - 1);
    check_groups(3, all, sizeof all - 1);  // and asks once more at the end, or does not
}

static int by_first_letter(weft_bytes a, weft_bytes b)
{
    return a.size == 0 || b.size == 0 ? a.size != b.size : a.data[0] != b.data[0];
}

static void see_keys(weft_task *task, weft_bytes key, weft_values *values)
{
    (void)task;
    see("[", 1);
    see(key.data, key.size);
    for (weft_bytes value; weft_next(values, &value);) {
        see(" ", 1);
        see(weft_value_key(values).data, weft_value_key(values).size);
        see(value.data, value.size);
    }
    see("]", 1);
}

static void keys_of_a_group_are_one_call_but_not_for_a_combiner(void **state)
{
    (void)state;
    const char joined[] = "[ 0][a a1 a2 a a\0"
                          "3][b b4][c c5 c6]";
    const char apart[] = "[ 0][a a1 a2 a][a\0 a\0"
                         "3][b b4][c c5 c6]";
    for (int i = 0; i < 2; i++) {
        struct list list = list_of(letters, LETTERS);
        begin();
        rig.stage.order.group = by_first_letter;
        rig.slots[0].mode = i ? SLOT_COMBINE : SLOT_OUTPUT;
        assert_int_equal(groups_run(&rig.slots[0], &list.stream, see_keys), WEFT_OK);
        assert_int_equal(seen_size, i ? sizeof apart - 1 : sizeof joined - 1);
        assert_memory_equal(seen, i ? apart : joined, seen_size);
        rig.slots[0].mode = SLOT_OUTPUT;
        rig_fini(&rig);
    }
}

static void values_a_reducer_leaves_are_passed_over(void **state)
{
    (void)state;
    const char none[] = "[][a][a\0][b][c]", first[] = "[ 0][a 1][a\0 3][b 4][c 5]";
    const char two[] = "[ 0][a 1 2][a\0 3][b 4][c 5 6]";
    check_groups(0, none, sizeof none - 1);
    check_groups(1, first, sizeof first - 1);
    check_groups(2, two, sizeof two - 1);
}

static void an_empty_stream_has_no_groups(void **state)
{
    (void)state;
    struct list list = list_of(letters, 0);
    begin();
    assert_int_equal(groups_run(&rig.slots[0], &list.stream, see_some), WEFT_OK);
    assert_true(list.is_closed && seen_size == 0);
    rig_fini(&rig);
}

static void a_stream_that_fails_fails_the_attempt(void **state)
{
    (void)state;
    for (size_t at = 0; at <= LETTERS; at++) {
        struct list list = list_of(letters, LETTERS);
        list.fail_at = at;
        wanted = 100;
        begin();
        assert_int_equal(groups_run(&rig.slots[0], &list.stream, see_some), WEFT_DATA_LOSS);
        assert_string_equal(err_text(), "the list is torn");
        assert_true(list.is_closed && rig.slots[0].has_failed);
        rig_fini(&rig);
    }
}

static void fail_at_b(weft_task *task, weft_bytes key, weft_values *values)
{
    weft_bytes value;
    see(key.data, key.size);
    if (key.size && key.data[0] == 'b') {
        weft_fail(task, "no %s today", "b");
        assert_false(weft_next(values, &value));
    }
}

static void a_reducer_that_fails_is_not_called_again(void **state)
{
    (void)state;
    struct list list = list_of(letters, LETTERS);
    begin();
    assert_int_equal(groups_run(&rig.slots[0], &list.stream, fail_at_b), WEFT_ABORTED);
    assert_string_equal(err_text(), "no b today");
    assert_int_equal(seen_size, 4);  // a, a\0, b
    rig_fini(&rig);
}

static void emit_key_as_value(weft_task *task, weft_bytes key, weft_values *values)
{
    (void)values;
    weft_emit(task, weft_text("x"), key);
}

// A value without an address means none, and is written without a TAB.
static void an_empty_key_is_empty_bytes_and_not_none(void **state)
{
    (void)state;
    struct list list = list_of(letters, 2);
    begin();
    assert_int_equal(groups_run(&rig.slots[0], &list.stream, emit_key_as_value), WEFT_OK);
    assert_int_equal(rig.slots[0].text.size, 3 + 4);
    assert_memory_equal(rig.slots[0].text.data, "x\t\nx\ta\n", 7);
    rig_fini(&rig);
}

static void a_folded_number_is_a_group_of_one(void **state)
{
    (void)state;
    begin();
    wanted = 100;
    groups_run_one(&rig.slots[0], weft_text("k"), -42, see_some);
    assert_string_equal(seen, "[k -42]");
    rig_fini(&rig);
}

// ---- values

static int64_t double_bits(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static struct exact_sum two_and_half(void)
{
    struct exact_sum sum;
    exact_sum_init(&sum);
    exact_sum_add(&sum, 2);
    exact_sum_add(&sum, 0.5);
    return sum;
}

static struct pair sum_pair(char *room)
{
    const struct exact_sum sum = two_and_half();
    return (struct pair){
        .key = {"k", 1}, .bytes = {room, exact_sum_write(&sum, room)}, .type = VALUE_SUM};
}

static struct pair mean_pair(char *room)
{
    const struct exact_sum sum = two_and_half();
    const uint64_t count = 4;
    memcpy(room, &count, 8);
    return (struct pair){
        .key = {"k", 1}, .bytes = {room, 8 + exact_sum_write(&sum, room + 8)}, .type = VALUE_MEAN};
}

static double doubles[16];
static size_t double_count;

static void take_doubles(weft_task *task, weft_bytes key, weft_values *values)
{
    (void)task, (void)key;
    for (double_count = 0; weft_next_double(values, &doubles[double_count]); double_count++)
        continue;
}

static void every_type_of_value_reads_as_text_and_as_a_double(void **state)
{
    (void)state;
    char sum_room[EXACT_SUM_BYTES_MAX], mean_room[8 + EXACT_SUM_BYTES_MAX];
    const struct pair pairs[] = {
        TEXT("k", "1.25"),
        {.key = {"k", 1}, .number = -7, .type = VALUE_INT},
        {.key = {"k", 1}, .number = double_bits(0.1), .type = VALUE_DOUBLE},
        sum_pair(sum_room),
        mean_pair(mean_room),
        TEXT("k", "12"),
    };
    struct list list = list_of(pairs, 6);
    begin();
    wanted = 100;
    assert_int_equal(groups_run(&rig.slots[0], &list.stream, see_some), WEFT_OK);
    assert_string_equal(seen, "[k 1.25 -7 0.1 2.5 0.625 12]");
    list = list_of(pairs, 6);
    assert_int_equal(groups_run(&rig.slots[0], &list.stream, take_doubles), WEFT_OK);
    assert_int_equal(double_count, 6);
    const double expected[] = {1.25, -7, 0.1, 2.5, 0.625, 12};
    for (size_t i = 0; i < 6; i++)
        assert_true(doubles[i] == expected[i]);
    rig_fini(&rig);
}

static int64_t int_total;

static void take_ints(weft_task *task, weft_bytes key, weft_values *values)
{
    (void)task, (void)key;
    int_total = 0;
    for (int64_t value; weft_next_int(values, &value);)
        int_total += value;
}

static void text_in_decimal_is_an_integer(void **state)
{
    (void)state;
    const struct pair pairs[] = {
        TEXT("k", "40"), TEXT("k", "-1"), {.key = {"k", 1}, .number = 3, .type = VALUE_INT}};
    struct list list = list_of(pairs, 3);
    begin();
    assert_int_equal(groups_run(&rig.slots[0], &list.stream, take_ints), WEFT_OK);
    assert_int_equal(int_total, 42);
    rig_fini(&rig);
}

static void check_refused(struct pair pair, weft_reduce_fn *reducer, const char *sentence)
{
    struct list list = list_of(&pair, 1);
    begin();
    assert_int_equal(groups_run(&rig.slots[0], &list.stream, reducer), WEFT_ABORTED);
    assert_string_equal(err_text(), sentence);
    rig_fini(&rig);
}

static void a_value_that_is_no_number_fails_with_key_and_value(void **state)
{
    (void)state;
    check_refused((struct pair)TEXT("key", "1x"), take_ints,
                  "a value of key 'key' is not an integer: '1x'");
    check_refused((struct pair)TEXT("key", "1.5"), take_ints,
                  "a value of key 'key' is not an integer: '1.5'");
    check_refused((struct pair)TEXT("key", "one"), take_doubles,
                  "a value of key 'key' is not a number: 'one'");
    check_refused((struct pair){.key = {"key", 3}, .type = VALUE_NONE}, take_doubles,
                  "a value of key 'key' is not a number: ''");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reducer_is_called_once_per_key_with_its_values_in_order),
        cmocka_unit_test(keys_of_a_group_are_one_call_but_not_for_a_combiner),
        cmocka_unit_test(values_a_reducer_leaves_are_passed_over),
        cmocka_unit_test(an_empty_stream_has_no_groups),
        cmocka_unit_test(a_stream_that_fails_fails_the_attempt),
        cmocka_unit_test(a_reducer_that_fails_is_not_called_again),
        cmocka_unit_test(an_empty_key_is_empty_bytes_and_not_none),
        cmocka_unit_test(a_folded_number_is_a_group_of_one),
        cmocka_unit_test(every_type_of_value_reads_as_text_and_as_a_double),
        cmocka_unit_test(text_in_decimal_is_an_integer),
        cmocka_unit_test(a_value_that_is_no_number_fails_with_key_and_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
