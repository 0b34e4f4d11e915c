// Tests of the ready-made reducers, without an engine: its answers are played here. The module is
// included, so that its calls go to the players and not to the engine in the library.

#define values_next played_values_next
#define task_emit_pair played_emit_pair
#define task_is_combining played_is_combining
#define task_top_k played_top_k
#define task_fail_job played_fail_job
#include "mapreduce/work/reduce/reducers.c"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PAIRS_MAX = 4096, POOL_BYTES = 1 << 20 };

// The only task: its values, and the pairs it emitted.
static struct {
    struct pair pairs[PAIRS_MAX];
    size_t count, next;
    struct pair emitted[PAIRS_MAX];
    size_t emitted_count;
    char pool[POOL_BYTES];  // emitted bytes are copied here
    size_t pool_size;
    bool is_combining;
    uint32_t top_k;
    weft_err failure;
} play;

bool values_next(weft_values *values, struct pair *pair)
{
    (void)values;
    if (play.failure || play.next == play.count)
        return false;
    *pair = play.pairs[play.next++];
    return true;
}

static weft_bytes keep(weft_bytes bytes)
{
    char *copy = play.pool + play.pool_size;
    assert_true(play.pool_size + bytes.size <= POOL_BYTES);
    if (bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    play.pool_size += bytes.size;
    return (weft_bytes){copy, bytes.size};
}

void task_emit_pair(weft_task *task, weft_bytes key, enum value_type type, int64_t number,
                    weft_bytes bytes)
{
    (void)task;
    assert_true(bytes_equal(key, weft_text("key")));
    assert_true(play.emitted_count < PAIRS_MAX);
    play.emitted[play.emitted_count++] =
        (struct pair){.type = type, .number = number, .bytes = keep(bytes)};
}

bool task_is_combining(const weft_task *task)
{
    (void)task;
    return play.is_combining;
}

uint32_t task_top_k(const weft_task *task)
{
    (void)task;
    return play.top_k;
}

void task_fail_job(weft_task *task, weft_err code)
{
    (void)task;
    play.failure = code;
}

static struct pair pair_of_int(int64_t value)
{
    return (struct pair){.type = VALUE_INT, .number = value};
}

static struct pair pair_of_double(double value)
{
    return (struct pair){.type = VALUE_DOUBLE, .number = bits_of(value)};
}

static struct pair pair_of_text(const char *text)
{
    return (struct pair){.type = VALUE_BYTES, .bytes = weft_text(text)};
}

static void play_begin(void)
{
    play.count = play.next = play.emitted_count = play.pool_size = 0;
    play.is_combining = false;
    play.failure = WEFT_OK;
    err_clear();
}

static void play_add(struct pair pair)
{
    play.pairs[play.count++] = pair;
}

static int setup(void **unused)
{
    (void)unused;
    play.top_k = 3;
    play_begin();
    return 0;
}

static void reduce(weft_reduce_fn *reducer, bool is_combining)
{
    play.is_combining = is_combining;
    play.next = play.emitted_count = 0;
    reducer(NULL, weft_text("key"), NULL);
}

// The printed form of the only pair that was emitted.
static const char *answer(void)
{
    static char text[4096];
    char room[NUMBER_TEXT_MAX];
    assert_int_equal(play.failure, WEFT_OK);
    assert_int_equal(play.emitted_count, 1);
    const weft_bytes printed = value_text(&play.emitted[0], room);
    assert_true(printed.size < sizeof text);
    memcpy(text, printed.data, printed.size);
    text[printed.size] = 0;
    return text;
}

static const char *reduced(weft_reduce_fn *reducer)
{
    reduce(reducer, false);
    return answer();
}

// Feeds the emitted pairs back in as values.
static void feed_back(void)
{
    memcpy(play.pairs, play.emitted, sizeof *play.pairs * play.emitted_count);
    play.count = play.emitted_count;
}

static uint64_t seed = 7;

static uint64_t next_random(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void a_sum_of_integers_is_an_integer(void **unused)
{
    (void)unused;
    play_add(pair_of_int(INT64_MAX));
    play_add(pair_of_int(-5));
    play_add(pair_of_text("3"));
    assert_string_equal(reduced(weft_sum), "9223372036854775805");
    assert_int_equal(play.emitted[0].type, VALUE_INT);
}

static void a_sum_that_does_not_fit_fails_the_job_and_names_the_key(void **unused)
{
    (void)unused;
    play_add(pair_of_int(INT64_MAX));
    play_add(pair_of_int(1));
    reduce(weft_sum, false);
    assert_int_equal(play.failure, WEFT_OUT_OF_RANGE);
    assert_int_equal(play.emitted_count, 0);
    assert_non_null(strstr(err_text(), "\"key\""));
}

static void a_part_of_a_sum_may_be_larger_than_the_whole(void **unused)
{
    (void)unused;
    for (int i = 0; i < 5; i++)
        play_add(pair_of_int(INT64_MIN));
    reduce(weft_sum, true);
    assert_int_equal(play.failure, WEFT_OK);
    feed_back();
    for (int i = 0; i < 5; i++)
        play_add(pair_of_int(INT64_MAX));
    assert_string_equal(reduced(weft_sum), "-5");
}

static void a_sum_with_doubles_is_exact(void **unused)
{
    (void)unused;
    play_add(pair_of_double(1e100));
    play_add(pair_of_int(1));
    play_add(pair_of_double(-1e100));
    play_add(pair_of_text("0.5"));
    assert_string_equal(reduced(weft_sum), "1.5");
    assert_int_equal(play.emitted[0].type, VALUE_DOUBLE);
    reduce(weft_sum, true);
    assert_int_equal(play.emitted[0].type, VALUE_SUM);
    feed_back();
    play_add(pair_of_int(INT64_MAX));
    play_add(pair_of_double(-0x1p63));
    assert_string_equal(reduced(weft_sum), "0.5");
}

static void a_mean_is_a_double_rounded_once(void **unused)
{
    (void)unused;
    play_add(pair_of_int(1));
    play_add(pair_of_int(2));
    assert_string_equal(reduced(weft_mean), "1.5");
    play_begin();
    for (int i = 0; i < 3; i++)
        play_add(pair_of_double(0.1));
    assert_string_equal(reduced(weft_mean), "0.1");
    play_begin();
    play_add(pair_of_int(INT64_MAX));
    play_add(pair_of_int(INT64_MAX));
    assert_string_equal(reduced(weft_mean), "9.223372036854776e+18");
}

static void means_are_joined_by_their_counts(void **unused)
{
    (void)unused;
    play_add(pair_of_int(1));
    play_add(pair_of_int(2));
    play_add(pair_of_int(6));
    reduce(weft_mean, true);
    assert_int_equal(play.emitted[0].type, VALUE_MEAN);
    feed_back();
    play_add(pair_of_int(11));
    assert_string_equal(reduced(weft_mean), "5");
}

static void least_and_largest_compare_integers_and_doubles_exactly(void **unused)
{
    (void)unused;
    play_add(pair_of_int((INT64_C(1) << 53) + 1));
    play_add(pair_of_double(0x1p53));
    play_add(pair_of_text("9007199254740994.0"));
    assert_string_equal(reduced(weft_min), "9007199254740992");
    assert_string_equal(reduced(weft_max), "9007199254740994");
    play_begin();
    play_add(pair_of_double(-1e300));
    play_add(pair_of_int(INT64_MIN));
    play_add(pair_of_double(HUGE_VAL));
    play_add(pair_of_double(1e19));
    assert_string_equal(reduced(weft_min), "-1e+300");
    assert_string_equal(reduced(weft_max), "inf");
    play_begin();
    play_add(pair_of_int(-2));
    play_add(pair_of_double(-2.5));
    play_add(pair_of_double(-1.5));
    assert_string_equal(reduced(weft_min), "-2.5");
    assert_string_equal(reduced(weft_max), "-1.5");
}

static void the_order_of_values_does_not_show_in_least_and_largest(void **unused)
{
    (void)unused;
    const struct pair same[] = {pair_of_double(-0.0), pair_of_int(0), pair_of_double(0.0),
                                pair_of_double((double)NAN)};
    const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 0, 3, 2}, {2, 3, 0, 1}};
    for (int order = 0; order < 4; order++) {
        play_begin();
        for (int i = 0; i < 4; i++)
            play_add(same[orders[order][i]]);
        assert_string_equal(reduced(weft_min), "-0");
        assert_string_equal(reduced(weft_max), "0");
        assert_int_equal(play.emitted[0].type, VALUE_INT);
    }
    play_begin();
    play_add(same[3]);
    assert_string_equal(reduced(weft_min), "nan");
}

static void a_value_that_is_no_number_fails_the_job(void **unused)
{
    (void)unused;
    weft_reduce_fn *const reducers[] = {weft_sum, weft_mean, weft_min, weft_max};
    for (size_t i = 0; i < sizeof reducers / sizeof *reducers; i++) {
        play_begin();
        play_add(pair_of_int(1));
        play_add(pair_of_text("two\n"));
        reduce(reducers[i], false);
        assert_int_equal(play.failure, WEFT_FAILED_PRECONDITION);
        assert_int_equal(play.emitted_count, 0);
        assert_non_null(strstr(err_text(), "\"two\\x0a\""));
        assert_non_null(strstr(err_text(), "\"key\""));
    }
    play_begin();
    play_add((struct pair){.type = VALUE_NONE});
    reduce(weft_sum, false);
    assert_int_equal(play.failure, WEFT_FAILED_PRECONDITION);
}

static void a_damaged_partial_result_is_not_taken(void **unused)
{
    (void)unused;
    play_add((struct pair){.type = VALUE_SUM, .bytes = {"\1\2\3", 3}});
    reduce(weft_sum, false);
    assert_int_equal(play.failure, WEFT_FAILED_PRECONDITION);
    play_begin();
    play_add((struct pair){.type = VALUE_MEAN, .bytes = {"\1\2\3", 3}});
    reduce(weft_mean, false);
    assert_int_equal(play.failure, WEFT_FAILED_PRECONDITION);
}

static void count_counts_values_of_any_type(void **unused)
{
    (void)unused;
    play_add(pair_of_text("x"));
    play_add((struct pair){.type = VALUE_NONE});
    play_add(pair_of_double(1));
    assert_string_equal(reduced(weft_count), "3");
    reduce(weft_count, true);
    assert_int_equal(play.emitted_count, 3);
    feed_back();
    assert_string_equal(reduced(weft_count), "3");
}

static void first_and_collect_keep_the_order_of_values(void **unused)
{
    (void)unused;
    play_add(pair_of_text("b"));
    play_add(pair_of_int(-7));
    play_add(pair_of_text(""));
    play_add(pair_of_double(0.5));
    assert_string_equal(reduced(weft_first), "b");
    assert_string_equal(reduced(weft_collect), "b\t-7\t\t0.5");
    reduce(weft_collect, true);
    feed_back();
    assert_string_equal(reduced(weft_collect), "b\t-7\t\t0.5");
    reduce(weft_first, true);
    assert_int_equal(play.emitted_count, 1);
    feed_back();
    play_add(pair_of_text("later"));
    assert_string_equal(reduced(weft_first), "b");
}

static void identity_hands_on_every_pair(void **unused)
{
    (void)unused;
    play_add((struct pair){.type = VALUE_NONE});
    play_add(pair_of_int(4));
    play_add(pair_of_text("t"));
    reduce(weft_identity, false);
    assert_int_equal(play.emitted_count, 3);
    assert_int_equal(play.emitted[0].type, VALUE_NONE);
    assert_int_equal(play.emitted[1].number, 4);
    assert_true(bytes_equal(play.emitted[2].bytes, weft_text("t")));
    // After weft_sum as a combiner it shows the rounded sum.
    play_begin();
    play_add(pair_of_double(0.25));
    reduce(weft_sum, true);
    feed_back();
    assert_string_equal(reduced(weft_identity), "0.25");
    assert_int_equal(play.emitted[0].type, VALUE_DOUBLE);
}

static void distinct_values_are_sorted_by_bytes(void **unused)
{
    (void)unused;
    const char *const texts[] = {"b", "a", "b", "", "aa", "10", "b", "", "a"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        play_add(pair_of_text(texts[i]));
    play_add(pair_of_int(9));
    play_add(pair_of_int(10));
    assert_string_equal(reduced(weft_distinct), "\t10\t9\ta\taa\tb");
    reduce(weft_distinct, true);
    assert_int_equal(play.emitted_count, 6);
    feed_back();
    play_add(pair_of_text("ab"));
    assert_string_equal(reduced(weft_distinct), "\t10\t9\ta\taa\tab\tb");
}

static void many_values_with_few_distinct_ones_are_kept_small(void **unused)
{
    (void)unused;
    struct value_bag bag;
    value_bag_init(&bag, 0);
    for (int i = 0; i < 200000; i++) {
        const struct pair pair = pair_of_int((int64_t)(next_random() % 100));
        assert_true(value_bag_add(&bag, &pair));
        assert_true(bag.items.count <= 200 && bag.text.size <= 400);
    }
    assert_true(value_bag_settle(&bag));
    assert_int_equal(bag.items.count, 100);
    value_bag_fini(&bag);
}

static void top_keeps_the_largest_numbers_then_texts(void **unused)
{
    (void)unused;
    play_add(pair_of_int(5));
    play_add(pair_of_double(5.5));
    play_add(pair_of_text("zebra"));
    play_add(pair_of_text("10"));
    play_add(pair_of_int(9));
    assert_string_equal(reduced(weft_top), "10\t9\t5.5");
    play_begin();
    const char *const words[] = {"b", "d", "a", "c", "d"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        play_add(pair_of_text(words[i]));
    assert_string_equal(reduced(weft_top), "d\td\tc");
    play.top_k = 0;
    reduce(weft_top, false);
    assert_int_equal(play.failure, WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "top_k"));
}

static struct pair random_pair(void)
{
    static const char *const texts[] = {
        "0", "-3", "1e3", "0.1", "7", "2.5", "12345678901234567890"};
    const uint64_t draw = next_random();
    switch (draw % 4) {
    case 0:
        return pair_of_int((int64_t)(draw >> 8) % 1000 - 500);
    case 1:
        return pair_of_double((double)((int64_t)(draw >> 8) % 1000) / 7);
    case 2:
        return pair_of_double(ldexp((double)(draw >> 40), (int)(draw % 200) - 100));
    default:
        return pair_of_text(texts[(draw >> 8) % 7]);
    }
}

// Any grouping into any number of rounds of combining gives the same answer.
static void combining_never_changes_the_answer(void **unused)
{
    (void)unused;
    weft_reduce_fn *const reducers[] = {weft_sum, weft_mean,     weft_min,
                                        weft_max, weft_distinct, weft_top};
    static struct pair values[200], kept[PAIRS_MAX];
    for (int round = 0; round < 1200; round++) {
        weft_reduce_fn *reducer = reducers[round % 6];
        const size_t count = 1 + next_random() % 200;
        play_begin();
        for (size_t i = 0; i < count; i++)
            play_add(values[i] = random_pair());
        char expected[4096];
        strcpy(expected, reduced(reducer));
        // Groups of any size, in any order, sometimes combined twice.
        play_begin();
        size_t kept_count = 0;
        for (size_t at = 0; at < count;) {
            play.count = 0;
            for (size_t size = 1 + next_random() % 40; size > 0 && at < count; size--)
                play_add(values[at++]);
            for (uint64_t twice = next_random() % 3; twice > 0; twice--) {
                reduce(reducer, true);
                feed_back();
            }
            for (size_t i = 0; i < play.count; i++)
                kept[kept_count++] = play.pairs[i];
        }
        play.count = 0;
        while (kept_count > 0) {
            const size_t pick = next_random() % kept_count;
            play_add(kept[pick]);
            kept[pick] = kept[--kept_count];
        }
        assert_string_equal(reduced(reducer), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_sum_of_integers_is_an_integer, setup),
        cmocka_unit_test_setup(a_sum_that_does_not_fit_fails_the_job_and_names_the_key, setup),
        cmocka_unit_test_setup(a_part_of_a_sum_may_be_larger_than_the_whole, setup),
        cmocka_unit_test_setup(a_sum_with_doubles_is_exact, setup),
        cmocka_unit_test_setup(a_mean_is_a_double_rounded_once, setup),
        cmocka_unit_test_setup(means_are_joined_by_their_counts, setup),
        cmocka_unit_test_setup(least_and_largest_compare_integers_and_doubles_exactly, setup),
        cmocka_unit_test_setup(the_order_of_values_does_not_show_in_least_and_largest, setup),
        cmocka_unit_test_setup(a_value_that_is_no_number_fails_the_job, setup),
        cmocka_unit_test_setup(a_damaged_partial_result_is_not_taken, setup),
        cmocka_unit_test_setup(count_counts_values_of_any_type, setup),
        cmocka_unit_test_setup(first_and_collect_keep_the_order_of_values, setup),
        cmocka_unit_test_setup(identity_hands_on_every_pair, setup),
        cmocka_unit_test_setup(distinct_values_are_sorted_by_bytes, setup),
        cmocka_unit_test_setup(many_values_with_few_distinct_ones_are_kept_small, setup),
        cmocka_unit_test_setup(top_keeps_the_largest_numbers_then_texts, setup),
        cmocka_unit_test_setup(combining_never_changes_the_answer, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
