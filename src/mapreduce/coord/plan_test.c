// Tests of the plan: which task reads which bytes, and that none are read twice or forgotten.
#include "mapreduce/coord/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define COUNT(array) (uint32_t)(sizeof(array) / sizeof *(array))

static struct plan plan;

static void make(const uint64_t *sizes, uint32_t count, uint32_t reducers)
{
    plan_fini(&plan);
    struct plan_input *inputs = calloc(count + 1, sizeof *inputs);
    for (uint32_t i = 0; i < count; i++)
        inputs[i].size = sizes[i];
    assert_int_equal(plan_init(&plan, inputs, count, &(struct plan_options){.reducers = reducers}),
                     WEFT_OK);
    free(inputs);
}

static int teardown(void **unused)
{
    (void)unused;
    plan_fini(&plan);
    return 0;
}

static void assert_piece(uint32_t task, size_t index, uint32_t input, uint64_t begin, uint64_t end)
{
    size_t count;
    const struct plan_piece *pieces = plan_pieces(&plan, task, &count);
    assert_true(index < count);
    assert_int_equal(pieces[index].input, input);
    assert_int_equal(pieces[index].begin, begin);
    assert_int_equal(pieces[index].end, end);
}

static size_t count_pieces(uint32_t task)
{
    size_t count;
    plan_pieces(&plan, task, &count);
    return count;
}

// Every byte of every input is in one piece, in input order, and every input has a piece.
static void assert_all_is_read_once(const uint64_t *sizes, uint32_t input_count)
{
    uint32_t input = 0;
    uint64_t at = 0, offset = 0;
    size_t seen = 0;
    for (uint32_t task = 0; task < plan.map_count; task++) {
        size_t count;
        const struct plan_piece *pieces = plan_pieces(&plan, task, &count);
        assert_true(count > 0);
        assert_int_equal(plan.first_bytes[task], offset + pieces[0].begin);
        for (size_t i = 0; i < count; i++, seen++) {
            assert_int_equal(pieces[i].input, input);
            assert_int_equal(pieces[i].begin, at);
            assert_true(pieces[i].end > at || sizes[input] == 0);
            at = pieces[i].end;
            if (at < sizes[input])
                continue;
            assert_int_equal(at, sizes[input]);
            offset += sizes[input++];
            at = 0;
        }
    }
    assert_int_equal(input, input_count);
    assert_int_equal(seen, plan.piece_count);
}

static void no_inputs_make_no_tasks(void **unused)
{
    (void)unused;
    make(NULL, 0, 0);
    assert_int_equal(plan.map_count, 0);
    assert_int_equal(plan.sample_count, 0);
    assert_int_equal(plan.part_count, 1);
    assert_int_equal(plan.range_count, 1);
}

static void an_empty_input_is_a_piece_of_a_task(void **unused)
{
    (void)unused;
    make((uint64_t[]){0}, 1, 0);
    assert_int_equal(plan.map_count, 1);
    assert_piece(0, 0, 0, 0, 0);
    assert_int_equal(plan_part_of_task(&plan, 0), 0);
}

static void small_inputs_are_packed_in_their_order_up_to_the_split_size(void **unused)
{
    (void)unused;
    make((uint64_t[]){400 * KIB, 600 * KIB, 20 * KIB, 100 * KIB}, 4, 0);
    assert_int_equal(plan.split_bytes, MIB);
    assert_int_equal(plan.map_count, 2);
    assert_int_equal(count_pieces(0), 3);
    assert_piece(0, 1, 1, 0, 600 * KIB);
    assert_int_equal(count_pieces(1), 1);
    assert_piece(1, 0, 3, 0, 100 * KIB);
}

static void a_large_input_is_cut_at_multiples_of_the_split_size(void **unused)
{
    (void)unused;
    make((uint64_t[]){300 * KIB, 2 * MIB + 5, 100 * KIB}, 3, 0);
    assert_int_equal(plan.map_count, 4);
    assert_piece(0, 0, 0, 0, 300 * KIB);
    assert_piece(1, 0, 1, 0, MIB);
    assert_piece(2, 0, 1, MIB, 2 * MIB);
    assert_piece(3, 0, 1, 2 * MIB, 2 * MIB + 5);
    assert_piece(3, 1, 2, 0, 100 * KIB);
}

static void the_split_is_a_256th_of_the_input_within_limits(void **unused)
{
    (void)unused;
    const struct {
        uint64_t size, split;
        uint32_t map_count;
    } cases[] = {
        {1, MIB, 1},
        {256 * MIB, MIB, 256},
        {256 * MIB + 1, MIB, 257},
        {257 * MIB, MIB + 64 * KIB, 242},
        {GIB, 4 * MIB, 256},
        {16 * GIB, 64 * MIB, 256},
        {1024 * GIB, 64 * MIB, 16384},
    };
    for (uint32_t i = 0; i < COUNT(cases); i++) {
        make(&cases[i].size, 1, 0);
        assert_int_equal(plan.split_bytes, cases[i].split);
        assert_int_equal(plan.map_count, cases[i].map_count);
    }
}

static void ten_thousand_small_files_are_many_tasks_of_few_files(void **unused)
{
    (void)unused;
    static uint64_t sizes[10000];
    for (uint32_t i = 0; i < COUNT(sizes); i++)
        sizes[i] = i % 100;
    make(sizes, COUNT(sizes), 0);
    assert_int_equal(plan.map_count, 157);  // 64 files of 16 KiB each, as they count, in 1 MiB
    assert_int_equal(count_pieces(0), 64);
    assert_all_is_read_once(sizes, COUNT(sizes));
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void every_byte_is_read_by_one_task_in_input_order(void **unused)
{
    (void)unused;
    uint64_t state = 1;
    for (uint32_t round = 0; round < 300; round++) {
        uint64_t sizes[40];
        const uint32_t count = 1 + (uint32_t)next_random(&state) % 40;
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t limits[] = {1, 100, 100 * KIB, 3 * MIB, 400 * MIB};
            sizes[i] = next_random(&state) % limits[next_random(&state) % 5];
        }
        make(sizes, count, 0);
        assert_all_is_read_once(sizes, count);
    }
}

static void parts_and_ranges_follow_from_the_total(void **unused)
{
    (void)unused;
    const struct {
        uint64_t size;
        uint32_t reducers, part_count, range_count;
    } cases[] = {
        {0, 0, 1, 1},
        {8 * MIB - 1, 0, 1, 1},
        {8 * MIB, 0, 1, 2},
        {32 * MIB, 0, 1, 8},
        {32 * MIB + 1, 0, 2, 8},
        {GIB, 0, 32, 256},
        {GIB, 100, 100, 300},
        {GIB, 1, 1, 256},
        {16 * GIB, 0, 256, 2048},
        {1024 * GIB, 0, 256, 2048},
        {1024 * GIB, 2047, 2047, 4094},
        {1, 4096, 4096, 4096},
        {0, 3, 3, 3},
    };
    for (uint32_t i = 0; i < COUNT(cases); i++) {
        make(&cases[i].size, 1, cases[i].reducers);
        assert_int_equal(plan.part_count, cases[i].part_count);
        assert_int_equal(plan.range_count, cases[i].range_count);
        assert_true(plan.range_count <= PLAN_RANGES_MAX);
    }
}

static void one_range_needs_no_sample(void **unused)
{
    (void)unused;
    make((uint64_t[]){7 * MIB}, 1, 0);
    assert_int_equal(plan.sample_count, 0);
    make((uint64_t[]){0}, 1, 8);
    assert_int_equal(plan.sample_count, 0);
}

static void samples_are_spread_evenly_over_all_bytes(void **unused)
{
    (void)unused;
    make((uint64_t[]){48 * MIB, 16 * MIB}, 2, 0);
    assert_int_equal(plan.sample_count, 32);
    for (uint32_t i = 0; i < 32; i++) {
        const struct plan_piece *piece = &plan.samples[i];
        assert_int_equal(piece->input, i < 24 ? 0 : 1);
        assert_int_equal(piece->begin, (2 * i + 1) * MIB - (i < 24 ? 0 : 48 * MIB));
        assert_int_equal(piece->end - piece->begin, PLAN_SAMPLE_BYTES);
    }
}

static void a_small_input_is_sampled_whole(void **unused)
{
    (void)unused;
    make((uint64_t[]){0, 1000, 0}, 3, 8);
    assert_int_equal(plan.sample_count, 1);
    assert_int_equal(plan.samples[0].input, 1);
    assert_int_equal(plan.samples[0].begin, 0);
    assert_int_equal(plan.samples[0].end, 1000);
}

static void samples_lie_inside_their_inputs(void **unused)
{
    (void)unused;
    uint64_t state = 2;
    for (uint32_t round = 0; round < 300; round++) {
        uint64_t sizes[200];
        for (uint32_t i = 0; i < COUNT(sizes); i++)
            sizes[i] = next_random(&state) % 3 ? next_random(&state) % (200 * KIB) : 0;
        make(sizes, COUNT(sizes), 2);
        assert_true(plan.sample_count > 1);
        for (uint32_t i = 0; i < plan.sample_count; i++) {
            const struct plan_piece *piece = &plan.samples[i];
            assert_true(piece->begin < piece->end && piece->end <= sizes[piece->input]);
            assert_true(i == 0 || piece->input >= piece[-1].input);
        }
    }
}

static void parts_of_a_map_only_job_get_the_tasks_by_their_first_byte(void **unused)
{
    (void)unused;
    make((uint64_t[]){3 * MIB, 1 * MIB, 0, 0}, 4, 2);
    const uint32_t parts[] = {0, 0, 1, 1, 1};
    assert_int_equal(plan.map_count, COUNT(parts));
    for (uint32_t task = 0; task < plan.map_count; task++)
        assert_int_equal(plan_part_of_task(&plan, task), parts[task]);
}

static void parts_of_a_map_only_job_never_decrease_and_reach_the_last(void **unused)
{
    (void)unused;
    make((uint64_t[]){700 * MIB, 300 * MIB}, 2, 7);
    uint32_t part = 0;
    for (uint32_t task = 0; task < plan.map_count; task++) {
        assert_true(plan_part_of_task(&plan, task) - part <= 1);
        part = plan_part_of_task(&plan, task);
    }
    assert_int_equal(part, 6);
}

static void plans_beyond_the_limits_are_refused_with_a_sentence(void **unused)
{
    (void)unused;
    plan_fini(&plan);
    assert_int_equal(plan_init(&plan, NULL, 0, &(struct plan_options){.reducers = 4097}),
                     WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "4097 parts: at most 4096 are possible");
    const struct plan_options options = {0};
    const struct plan_input huge = {.size = UINT64_MAX};
    assert_int_equal(plan_init(&plan, &huge, 1, &options), WEFT_RESOURCE_EXHAUSTED);
    assert_string_equal(err_text(), "more than 256 TiB of input");
    const struct plan_input large[] = {
        {.size = 200 * 1024 * GIB}, {.size = 200 * 1024 * GIB}, {.size = 1}};
    assert_int_equal(plan_init(&plan, large, 3, &options), WEFT_RESOURCE_EXHAUSTED);
}

static void an_input_that_cannot_be_cut_is_one_piece(void **unused)
{
    (void)unused;
    plan_fini(&plan);
    const struct plan_input inputs[] = {{.size = 300 << 20, .is_whole = true}, {.size = 3 << 20}};
    assert_int_equal(plan_init(&plan, inputs, 2, &(struct plan_options){0}), WEFT_OK);
    assert_int_equal(plan.pieces[0].begin, 0);
    assert_int_equal(plan.pieces[0].end, 300 << 20);
    assert_int_equal(plan.pieces[1].input, 1);
    assert_true(plan.map_count > 1);
}

static void told_cuts_make_tasks_and_nothing_else_does(void **unused)
{
    (void)unused;
    plan_fini(&plan);
    const uint64_t cuts[] = {10, 20};
    const struct plan_input inputs[] = {{.size = 25, .cuts = cuts, .cut_count = 2}, {.size = 7}};
    assert_int_equal(plan_init(&plan, inputs, 2, &(struct plan_options){.has_cuts = true}),
                     WEFT_OK);
    assert_int_equal(plan.map_count, 4);
    assert_int_equal(plan.pieces[1].begin, 10);
    assert_int_equal(plan.pieces[2].end, 25);
    assert_int_equal(plan.pieces[3].input, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_inputs_make_no_tasks),
        cmocka_unit_test(an_input_that_cannot_be_cut_is_one_piece),
        cmocka_unit_test(told_cuts_make_tasks_and_nothing_else_does),
        cmocka_unit_test(an_empty_input_is_a_piece_of_a_task),
        cmocka_unit_test(small_inputs_are_packed_in_their_order_up_to_the_split_size),
        cmocka_unit_test(a_large_input_is_cut_at_multiples_of_the_split_size),
        cmocka_unit_test(the_split_is_a_256th_of_the_input_within_limits),
        cmocka_unit_test(ten_thousand_small_files_are_many_tasks_of_few_files),
        cmocka_unit_test(every_byte_is_read_by_one_task_in_input_order),
        cmocka_unit_test(parts_and_ranges_follow_from_the_total),
        cmocka_unit_test(one_range_needs_no_sample),
        cmocka_unit_test(samples_are_spread_evenly_over_all_bytes),
        cmocka_unit_test(a_small_input_is_sampled_whole),
        cmocka_unit_test(samples_lie_inside_their_inputs),
        cmocka_unit_test(parts_of_a_map_only_job_get_the_tasks_by_their_first_byte),
        cmocka_unit_test(parts_of_a_map_only_job_never_decrease_and_reach_the_last),
        cmocka_unit_test(plans_beyond_the_limits_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, teardown);
}
