// Tests of chains of jobs: rounds, configure, jobs that cannot run.

#include "run/chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void map(weft_task *task, weft_bytes record)
{
    (void)task;
    (void)record;
}

static void reduce(weft_task *task, weft_bytes key, weft_values *values)
{
    (void)task;
    (void)key;
    (void)values;
}

static const weft_job last = {.name = "last", .map = map};
static const weft_job middle = {.name = "middle", .map = map, .rounds = 3, .next = &last};
static const weft_args no_args = {0};

static void every_round_of_every_job_is_a_stage(void **state)
{
    (void)state;
    const weft_job first = {.name = "first", .map = map, .next = &middle};
    const uint32_t expected[] = {0, 1, 1, 1, 2, 3};
    struct chain chain;
    assert_int_equal(chain_init(&chain, &first, &no_args), WEFT_OK);
    assert_int_equal(chain.jobs.count, 3);
    assert_int_equal(chain.stage_count, 5);
    for (uint32_t stage = 0; stage < 6; stage++)
        assert_int_equal(chain_job_of_stage(&chain, stage), expected[stage]);
    chain_fini(&chain);
}

static weft_err choose_next(weft_job *job, const weft_args *args)
{
    (void)args;
    job->next = &middle;
    return WEFT_OK;
}

static void configure_changes_a_copy_and_may_choose_what_follows(void **state)
{
    (void)state;
    const weft_job first = {.name = "first", .map = map, .configure = choose_next};
    struct chain chain;
    assert_int_equal(chain_init(&chain, &first, &no_args), WEFT_OK);
    assert_int_equal(chain.stage_count, 5);
    assert_null(first.next);
    chain_fini(&chain);
}

static weft_err refuse_silently(weft_job *job, const weft_args *args)
{
    (void)job;
    (void)args;
    return WEFT_INVALID_ARGUMENT;
}

static void a_configure_that_refuses_without_words_gets_a_sentence(void **state)
{
    (void)state;
    const weft_job job = {.name = "picky", .map = map, .configure = refuse_silently};
    struct chain chain;
    err_set(WEFT_UNKNOWN, "something old");
    assert_int_equal(chain_init(&chain, &job, &no_args), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "the job picky does not accept these options "
                                    "(INVALID_ARGUMENT); -h lists them");
    chain_fini(&chain);
}

static void a_job_that_cannot_run_is_refused(void **state)
{
    (void)state;
    const weft_job endless = {.name = "endless", .map = map, .rounds = UINT32_MAX};
    weft_job circle = {.name = "circle", .map = map, .next = &circle};
    const weft_job broken[] = {
        {.map = map},
        {.name = "no map"},
        {.name = "two maps", .map = map, .map_block = map},
        {.name = "combiner alone", .map = map, .combine = reduce},
        {.name = "blocks of pairs", .map = map, .next = &(weft_job){.name = "b", .map_block = map}},
        {.name = "blocks of its own pairs", .map_block = map, .rounds = 2},
        endless,
        circle,
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct chain chain;
        assert_int_equal(chain_init(&chain, &broken[i], &no_args), WEFT_INVALID_ARGUMENT);
        chain_fini(&chain);
    }
}

static void blocks_may_come_first(void **state)
{
    (void)state;
    const weft_job job = {.name = "blocks", .map_block = map, .rounds = 1, .next = &last};
    struct chain chain;
    assert_int_equal(chain_init(&chain, &job, &no_args), WEFT_OK);
    chain_fini(&chain);
}

static void an_older_smaller_job_is_extended_by_zeros(void **state)
{
    (void)state;
    weft_job job;
    memset(&job, 0xff, sizeof job);
    const weft_job whole = chain_extend_job(&job, offsetof(weft_job, setup));
    assert_true(whole.compare == job.compare);
    assert_null((void *)(uintptr_t)whole.setup);
    assert_null((void *)(uintptr_t)whole.configure);
    assert_null(whole.next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_round_of_every_job_is_a_stage),
        cmocka_unit_test(configure_changes_a_copy_and_may_choose_what_follows),
        cmocka_unit_test(a_configure_that_refuses_without_words_gets_a_sentence),
        cmocka_unit_test(a_job_that_cannot_run_is_refused),
        cmocka_unit_test(blocks_may_come_first),
        cmocka_unit_test(an_older_smaller_job_is_extended_by_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
