// Tests of Hadoop's way of cutting the input. The figures are those that Hadoop 3.4.2 gave.
#include "mapreduce/coord/plan_hadoop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define COUNT(array) (uint32_t)(sizeof(array) / sizeof *(array))

static struct plan plan;

static void make(const struct plan_input *inputs, uint32_t count,
                 struct plan_hadoop_options options)
{
    plan_fini(&plan);
    assert_int_equal(plan_init_hadoop(&plan, inputs, count, &options), WEFT_OK);
}

static int teardown(void **unused)
{
    (void)unused;
    plan_fini(&plan);
    return 0;
}

static void assert_task(uint32_t task, uint32_t input, uint64_t begin, uint64_t end)
{
    size_t count;
    assert_true(task < plan.map_count);
    const struct plan_piece *pieces = plan_pieces(&plan, task, &count);
    assert_int_equal(count, 1);
    assert_int_equal(pieces[0].input, input);
    assert_int_equal(pieces[0].begin, begin);
    assert_int_equal(pieces[0].end, end);
}

static void a_small_file_is_one_task(void **unused)
{
    (void)unused;
    make(&(struct plan_input){.size = 311}, 1, (struct plan_hadoop_options){0});
    assert_int_equal(plan.map_count, 1);
    assert_task(0, 0, 0, 311);
    assert_int_equal(plan.part_count, 1);
    assert_int_equal(plan.sample_count, 0);
    assert_int_equal(plan.total_bytes, 311);
}

static void no_inputs_make_no_tasks(void **unused)
{
    (void)unused;
    make(NULL, 0, (struct plan_hadoop_options){.reducers = 2});
    assert_int_equal(plan.map_count, 0);
    assert_int_equal(plan.part_count, 2);
}

static void a_large_file_is_cut_at_blocks_a_byte_later(void **unused)
{
    (void)unused;
    make(&(struct plan_input){.size = 80 * MIB}, 1, (struct plan_hadoop_options){0});
    assert_int_equal(plan.map_count, 3);
    assert_task(0, 0, 0, 32 * MIB + 1);
    assert_task(1, 0, 32 * MIB + 1, 64 * MIB + 1);
    assert_task(2, 0, 64 * MIB + 1, 80 * MIB);
    assert_int_equal(plan.part_count, 3);
}

static void a_rest_of_a_tenth_stays_with_the_last_split(void **unused)
{
    (void)unused;
    const struct plan_hadoop_options blocks = {.block_bytes = 100};
    make(&(struct plan_input){.size = 210}, 1, blocks);
    assert_int_equal(plan.map_count, 2);
    assert_task(0, 0, 101, 210);
    assert_task(1, 0, 0, 101);
    make(&(struct plan_input){.size = 211}, 1, blocks);
    assert_int_equal(plan.map_count, 3);
    assert_task(2, 0, 201, 211);
}

static void tasks_are_ordered_by_falling_size_and_equal_ones_stay(void **unused)
{
    (void)unused;
    const struct plan_input inputs[] = {{.size = 5}, {.size = 0}, {.size = 90},
                                        {.size = 0}, {.size = 5}, {.size = 7}};
    make(inputs, COUNT(inputs), (struct plan_hadoop_options){0});
    const uint32_t order[] = {2, 5, 0, 4, 1, 3};
    assert_int_equal(plan.map_count, COUNT(order));
    for (uint32_t i = 0; i < COUNT(order); i++)
        assert_task(i, order[i], 0, inputs[order[i]].size);
    assert_int_equal(plan.part_count, 6);
}

static void a_compressed_file_is_one_task(void **unused)
{
    (void)unused;
    const struct plan_input inputs[] = {{.size = 250}, {.size = 1000, .is_whole = true}};
    make(inputs, COUNT(inputs), (struct plan_hadoop_options){.block_bytes = 100});
    assert_int_equal(plan.map_count, 4);
    assert_task(0, 1, 0, 1000);
    assert_task(1, 0, 0, 101);
    assert_task(2, 0, 101, 201);
    assert_task(3, 0, 201, 250);
}

static void a_least_size_of_splits_wins_over_blocks(void **unused)
{
    (void)unused;
    make(&(struct plan_input){.size = 1000}, 1,
         (struct plan_hadoop_options){.block_bytes = 100, .split_min = 500});
    assert_int_equal(plan.map_count, 2);
    assert_task(0, 0, 0, 501);
}

static void cuts_at_lines_keep_the_lines_together(void **unused)
{
    (void)unused;
    const uint64_t cuts[] = {14, 28, 42};
    const struct plan_input inputs[] = {{.size = 49, .cuts = cuts, .cut_count = 3}, {.size = 0}};
    make(inputs, COUNT(inputs), (struct plan_hadoop_options){.has_cuts = true});
    assert_int_equal(plan.map_count, 4);  // an empty file is none
    assert_task(0, 0, 14, 28);
    assert_task(1, 0, 28, 42);
    assert_task(2, 0, 0, 14);  // a byte shorter for Hadoop, therefore later
    assert_task(3, 0, 42, 49);
}

static void an_empty_first_line_is_read_once(void **unused)
{
    (void)unused;
    const uint64_t cuts[] = {1};
    const struct plan_input input = {.size = 5, .cuts = cuts, .cut_count = 1};
    make(&input, 1, (struct plan_hadoop_options){.has_cuts = true});
    assert_task(0, 0, 1, 5);
    assert_task(1, 0, 0, 1);
}

static void reducers_make_the_parts(void **unused)
{
    (void)unused;
    make(&(struct plan_input){.size = 80 * MIB}, 1, (struct plan_hadoop_options){.reducers = 7});
    assert_int_equal(plan.part_count, 7);
    assert_int_equal(plan.range_count, 7);
}

static void too_many_parts_are_refused(void **unused)
{
    (void)unused;
    const struct plan_hadoop_options tiny = {.block_bytes = 1};
    const struct plan_input input = {.size = PLAN_PARTS_MAX + 10};
    plan_fini(&plan);
    assert_int_equal(plan_init_hadoop(&plan, &input, 1, &tiny), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(weft_error(), "minsize"));
    plan_fini(&plan);
    const struct plan_hadoop_options many = {.reducers = PLAN_PARTS_MAX + 1};
    assert_int_equal(plan_init_hadoop(&plan, &input, 1, &many), WEFT_INVALID_ARGUMENT);
}

// Lines belong to the task in whose split they begin, or to the one before when they begin at its cut.
static void every_byte_is_in_one_piece_whatever_the_block(void **unused)
{
    (void)unused;
    enum { SIZE = 57 };
    for (uint64_t block = 1; block <= SIZE + 1; block++) {
        int seen[SIZE] = {0};
        make(&(struct plan_input){.size = SIZE}, 1,
             (struct plan_hadoop_options){.block_bytes = block});
        for (size_t i = 0; i < plan.piece_count; i++)
            for (uint64_t at = plan.pieces[i].begin; at < plan.pieces[i].end; at++)
                seen[at]++;
        for (size_t at = 0; at < SIZE; at++)
            assert_int_equal(seen[at], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_small_file_is_one_task, teardown),
        cmocka_unit_test_teardown(no_inputs_make_no_tasks, teardown),
        cmocka_unit_test_teardown(a_large_file_is_cut_at_blocks_a_byte_later, teardown),
        cmocka_unit_test_teardown(a_rest_of_a_tenth_stays_with_the_last_split, teardown),
        cmocka_unit_test_teardown(tasks_are_ordered_by_falling_size_and_equal_ones_stay, teardown),
        cmocka_unit_test_teardown(a_compressed_file_is_one_task, teardown),
        cmocka_unit_test_teardown(a_least_size_of_splits_wins_over_blocks, teardown),
        cmocka_unit_test_teardown(cuts_at_lines_keep_the_lines_together, teardown),
        cmocka_unit_test_teardown(an_empty_first_line_is_read_once, teardown),
        cmocka_unit_test_teardown(reducers_make_the_parts, teardown),
        cmocka_unit_test_teardown(too_many_parts_are_refused, teardown),
        cmocka_unit_test_teardown(every_byte_is_in_one_piece_whatever_the_block, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
