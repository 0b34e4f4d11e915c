// Tests of merging: random pairs in random streams, from memory and from runs, against a sort of all.

#include "mapreduce/work/sort/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mapreduce/work/run/run_file.h"
#include "mapreduce/work/sort/random_pairs.h"

// A sorted array as a stream. Hands out copies that it destroys with the next call, as a reader of
// runs does.
struct array_stream {
    struct pair_stream stream;
    const struct pair *at, *end;
    char *key;
    weft_err fails_at_end;
    bool has_ended;
    int *closed_count;
};

static weft_err array_next(struct pair_stream *stream, struct pair *pair, bool *has_pair)
{
    struct array_stream *array = (struct array_stream *)stream;
    free(array->key);
    array->key = NULL;
    assert_false(array->has_ended);  // a stream that has ended is not asked again
    *has_pair = array->at < array->end;
    array->has_ended = !*has_pair;
    if (!*has_pair)
        return array->fails_at_end ? err_set(array->fails_at_end, "the disk is gone") : WEFT_OK;
    *pair = *array->at++;
    if (pair->key.size) {
        array->key = malloc(pair->key.size);
        memcpy(array->key, pair->key.data, pair->key.size);
        pair->key.data = array->key;
    }
    return WEFT_OK;
}

static void array_close(struct pair_stream *stream)
{
    struct array_stream *array = (struct array_stream *)stream;
    if (array->closed_count)
        ++*array->closed_count;
    free(array->key);
    free(array);
}

static struct array_stream *array_new(const struct pair *pairs, size_t count)
{
    struct array_stream *array = calloc(1, sizeof *array);
    *array = (struct array_stream){
        .stream = {array_next, array_close}, .at = pairs, .end = pairs + count};
    return array;
}

// ---- The oracle ---------------------------------------------------------------------------------

struct placed {
    struct pair pair;
    size_t stream, position;
};

static const struct key_order *oracle_order;

static int compare_placed(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    int order = oracle_order->compare ? oracle_order->compare(a->pair.key, b->pair.key) : 0;
    if (!order)
        order = bytes_compare(a->pair.key, b->pair.key);
    if (!order)
        order = (a->pair.task > b->pair.task) - (a->pair.task < b->pair.task);
    if (!order)
        order = (a->stream > b->stream) - (a->stream < b->stream);
    if (!order)
        order = (a->position > b->position) - (a->position < b->position);
    return order;
}

struct scene {
    struct random_pairs pairs;
    struct placed *expected;
    struct pair *sorted;  // by stream
    size_t *begins;       // of each stream in `sorted`, and the end
    size_t stream_count;
    struct spill spill;
    struct run *runs;
};

// Deals random pairs out to streams, sorts each, and sorts all for the oracle.
static void scene_init(struct scene *scene, uint64_t *seed, const struct key_order *order)
{
    const size_t count = random_below(seed, 600);
    scene->stream_count = random_below(seed, random_below(seed, 4) ? 9 : 70);
    scene->pairs = random_pairs_new(seed, scene->stream_count ? count : 0, 6);
    scene->expected = calloc(count + 1, sizeof *scene->expected);
    scene->sorted = calloc(count + 1, sizeof *scene->sorted);
    scene->begins = calloc(scene->stream_count + 1, sizeof *scene->begins);
    scene->runs = calloc(scene->stream_count + 1, sizeof *scene->runs);
    assert_int_equal(spill_open(&scene->spill, "/tmp"), WEFT_OK);
    oracle_order = order;
    for (size_t i = 0; i < scene->pairs.count; i++) {
        struct pair *pair = &scene->pairs.items[i];
        pair->prefix = key_order_prefix(order, pair->key);
        scene->expected[i] = (struct placed){*pair, random_below(seed, scene->stream_count), i};
    }
    size_t filled = 0;
    for (size_t s = 0; s < scene->stream_count; s++) {
        struct placed *mine = calloc(count + 1, sizeof *mine);
        size_t mine_count = 0;
        for (size_t i = 0; i < scene->pairs.count; i++)
            if (scene->expected[i].stream == s)
                mine[mine_count++] = scene->expected[i];
        qsort(mine, mine_count, sizeof *mine, compare_placed);
        for (size_t i = 0; i < mine_count; i++)
            scene->sorted[filled++] = mine[i].pair;
        scene->begins[s + 1] = filled;
        free(mine);
    }
    qsort(scene->expected, scene->pairs.count, sizeof *scene->expected, compare_placed);
}

static void scene_fini(struct scene *scene)
{
    for (size_t s = 0; s < scene->stream_count; s++)
        run_fini(&scene->runs[s]);
    spill_close(&scene->spill);
    random_pairs_free(&scene->pairs);
    free(scene->expected);
    free(scene->sorted);
    free(scene->begins);
    free(scene->runs);
}

static void add_stream(struct merge *merge, struct scene *scene, size_t stream, bool is_run)
{
    const struct pair *pairs = scene->sorted + scene->begins[stream];
    const size_t count = scene->begins[stream + 1] - scene->begins[stream];
    if (!is_run) {
        assert_int_equal(merge_add_take(merge, &array_new(pairs, count)->stream), WEFT_OK);
        return;
    }
    struct run_writer *writer = run_writer_new(&scene->spill, 3, 700);
    assert_int_equal(run_writer_begin_range(writer, 1), WEFT_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(run_writer_add(writer, &pairs[i]), WEFT_OK);
    assert_int_equal(run_writer_finish(writer, &scene->runs[stream]), WEFT_OK);
    assert_int_equal(merge_add_run(merge, &scene->runs[stream], 1), WEFT_OK);
    assert_int_equal(merge_add_run(merge, &scene->runs[stream], 2), WEFT_OK);  // empty: left out
}

static void check_rounds(const struct key_order *order, uint64_t rounds)
{
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t seed = round * 1000003;
        struct scene scene;
        scene_init(&scene, &seed, order);
        struct merge *merge = merge_new(order);
        for (size_t s = 0; s < scene.stream_count; s++)
            add_stream(merge, &scene, s, random_below(&seed, 2));
        struct pair pair;
        bool has_pair;
        for (size_t i = 0; i < scene.pairs.count; i++) {
            assert_int_equal(merge_next(merge, &pair, &has_pair), WEFT_OK);
            assert_true(has_pair);
            if (!pair_is_same(&pair, &scene.expected[i].pair))
                fail_msg("round %llu: pair %zu is another", (unsigned long long)round, i);
        }
        for (int again = 0; again < 2; again++) {
            assert_int_equal(merge_next(merge, &pair, &has_pair), WEFT_OK);
            assert_false(has_pair);
        }
        merge_free(merge);
        scene_fini(&scene);
    }
}

static void merging_any_streams_gives_the_sorted_whole(void **state)
{
    (void)state;
    check_rounds(&(const struct key_order){.compare = NULL}, 120);
}

static int compare_by_size_backwards(weft_bytes a, weft_bytes b)
{
    return (b.size > a.size) - (b.size < a.size);
}

static void a_users_order_is_followed_and_completed_by_the_bytes(void **state)
{
    (void)state;
    check_rounds(&(const struct key_order){.compare = compare_by_size_backwards}, 60);
}

static void keys_of_the_largest_bytes_are_not_taken_for_the_end(void **state)
{
    (void)state;
    struct pair largest = {.key = {"\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9}, .type = VALUE_NONE};
    largest.prefix = bytes_prefix(largest.key);
    struct merge *merge = merge_new(&(const struct key_order){.compare = NULL});
    assert_int_equal(merge_add_take(merge, &array_new(&largest, 0)->stream), WEFT_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(merge_add_take(merge, &array_new(&largest, 1)->stream), WEFT_OK);
    int count = 0;
    struct pair pair;
    for (bool has_pair = true; has_pair; count += has_pair)
        assert_int_equal(merge_next(merge, &pair, &has_pair), WEFT_OK);
    assert_int_equal(count, 3);
    merge_free(merge);
}

static void a_failing_stream_fails_the_merge_and_all_are_closed(void **state)
{
    (void)state;
    int closed_count = 0;
    struct pair item = {.key = {"k", 1}, .type = VALUE_NONE};
    struct merge *merge = merge_new(&(const struct key_order){.compare = NULL});
    for (int i = 0; i < 3; i++) {
        struct array_stream *array = array_new(&item, 1);
        array->closed_count = &closed_count;
        array->fails_at_end = i == 1 ? WEFT_DATA_LOSS : WEFT_OK;
        assert_int_equal(merge_add_take(merge, &array->stream), WEFT_OK);
    }
    struct pair pair;
    bool has_pair = true;
    weft_err err = WEFT_OK;
    int count = 0;
    for (; has_pair && !err; count += has_pair)
        err = merge_next(merge, &pair, &has_pair);
    assert_int_equal(err, WEFT_DATA_LOSS);
    assert_int_equal(count, 2);
    assert_string_equal(err_text(), "the disk is gone");
    assert_int_equal(closed_count, 0);
    merge_free(merge);
    assert_int_equal(closed_count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging_any_streams_gives_the_sorted_whole),
        cmocka_unit_test(a_users_order_is_followed_and_completed_by_the_bytes),
        cmocka_unit_test(keys_of_the_largest_bytes_are_not_taken_for_the_end),
        cmocka_unit_test(a_failing_stream_fails_the_merge_and_all_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
