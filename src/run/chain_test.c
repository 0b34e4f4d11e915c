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
    assert_int_equal(chain_init(&chain, &first, sizeof(weft_job), &no_args), WEFT_OK);
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
    assert_int_equal(chain_init(&chain, &first, sizeof(weft_job), &no_args), WEFT_OK);
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
    assert_int_equal(chain_init(&chain, &job, sizeof(weft_job), &no_args), WEFT_INVALID_ARGUMENT);
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
        assert_int_equal(chain_init(&chain, &broken[i], sizeof(weft_job), &no_args),
                         WEFT_INVALID_ARGUMENT);
        chain_fini(&chain);
    }
}

static void blocks_may_come_first(void **state)
{
    (void)state;
    const weft_job job = {.name = "blocks", .map_block = map, .rounds = 1, .next = &last};
    struct chain chain;
    assert_int_equal(chain_init(&chain, &job, sizeof(weft_job), &no_args), WEFT_OK);
    chain_fini(&chain);
}

static void an_older_smaller_job_is_extended_by_zeros(void **state)
{
    (void)state;
    weft_job job;
    memset(&job, 0xff, sizeof job);
    weft_job whole;
    assert_int_equal(chain_take_job(&whole, &job, offsetof(weft_job, setup)), WEFT_OK);
    assert_true(whole.compare == job.compare);
    assert_null((void *)(uintptr_t)whole.setup);
    assert_null((void *)(uintptr_t)whole.configure);
    assert_null(whole.next);
}

// What lies after the struct of an older program is something else of its own.
static void every_stage_of_an_older_program_has_its_size(void **state)
{
    (void)state;
    weft_job stages[3];
    const size_t size = offsetof(weft_job, group);
    memset(stages, 0xff, sizeof stages);
    for (size_t i = 0; i < 3; i++) {
        memset(&stages[i], 0, size);
        stages[i].name = "stage";
        stages[i].map = map;
        stages[i].next = i < 2 ? &stages[i + 1] : NULL;
    }
    weft_job first;
    struct chain chain;
    assert_int_equal(chain_take_job(&first, &stages[0], size), WEFT_OK);
    assert_int_equal(chain_init(&chain, &first, size, &no_args), WEFT_OK);
    assert_int_equal(chain.jobs.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(chain.jobs.items[i].group == NULL);
    chain_fini(&chain);
}

struct newer_job {
    weft_job job;
    uint64_t news;
};

static weft_err set_news(weft_job *job, const weft_args *args)
{
    ((struct newer_job *)job)->news = 1;
    return args == &no_args ? WEFT_OK : WEFT_INTERNAL;
}

// A program may have been built for a library that is newer than this one.
static void a_newer_job_runs_unless_it_uses_what_is_new(void **state)
{
    (void)state;
    struct newer_job next = {{.name = "next", .map = map}, 0};
    const struct newer_job plain = {{.name = "plain", .map = map, .next = &next.job}, 0};
    const weft_job configured = {.name = "configured", .map = map, .configure = set_news};
    struct chain chain;
    assert_int_equal(chain_init(&chain, &plain.job, sizeof plain, &no_args), WEFT_OK);
    assert_int_equal(chain.jobs.count, 2);
    chain_fini(&chain);
    next.news = 1;
    assert_int_equal(chain_init(&chain, &plain.job, sizeof plain, &no_args), WEFT_UNIMPLEMENTED);
    chain_fini(&chain);
    assert_int_equal(chain_init(&chain, &configured, sizeof plain, &no_args), WEFT_UNIMPLEMENTED);
    assert_non_null(strstr(err_text(), "weft_job"));
    chain_fini(&chain);
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
        cmocka_unit_test(every_stage_of_an_older_program_has_its_size),
        cmocka_unit_test(a_newer_job_runs_unless_it_uses_what_is_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
