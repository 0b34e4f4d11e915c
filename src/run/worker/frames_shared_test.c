// Tests of the orders for a worker that shares the work with others.
#include "run/worker/frames_testing.h"

static Weft__AdoptedRuns seal = WEFT__ADOPTED_RUNS__INIT, *seal_list[] = {&seal};
static Weft__Source source = WEFT__SOURCE__INIT;

static weft_err tell_seals(struct talk *talk, uint32_t stage)
{
    Weft__Seals seals = WEFT__SEALS__INIT;
    seals.stage = stage;
    seals.seals = seal_list;
    seals.n_seals = 1;
    return tell(talk, WEFT__FRAME_TYPE__FRAME_SEALS, &seals.base);
}

static int begin_shared(void **state)
{
    const int code = begin(state);
    struct talk *talk = *state;
    talk->start.worker_count = 2;
    talk->open.runs_directory = (char *)"";
    seal.path = (char *)"/proc/1/fd/5";
    source.path = (char *)"/proc/1/fd/6";
    source.offset = 7, source.size = 8;
    return code;
}

static void a_slot_may_be_sealed_again(void **state)
{
    struct talk *talk = *state;
    plan_stage(talk);
    for (uint32_t i = 0; i < 2; i++) {
        assert_taken(tell_task(talk, MAP, i, 0));
        frames_note_end(&talk->told, 0, MAP, i, true);
        assert_taken(tell_seal(talk, 0));
        frames_note_sealed(&talk->told, 0);
    }
    assert_refused(tell_task(talk, MAP, 0, 0), "map task 0, which is done");
}

static void reduce_tasks_follow_the_map_output_of_all(void **state)
{
    struct talk *talk = *state;
    plan_stage(talk);
    assert_refused(tell_task(talk, REDUCE, 0, 0), "before the map output of all");
    assert_taken(tell_seals(talk, 0));
    assert_taken(tell_task(talk, REDUCE, 0, 0));
    assert_refused(tell_seals(talk, 0), "again");
    assert_refused(tell_task(talk, MAP, 1, 1), "after the first reduce task");
    assert_refused(tell_seal(talk, 1), "nothing to collect");
}

static void the_map_output_of_all_comes_when_nothing_is_held(void **state)
{
    struct talk *talk = *state;
    open_stage(talk);
    assert_refused(tell_seals(talk, 0), "which is not planned");
    assert_taken(tell_plan(talk));
    assert_refused(tell_seals(talk, 1), "stage 1, which is not planned");
    assert_taken(tell_task(talk, MAP, 0, 0));
    assert_refused(tell_seals(talk, 0), "while slot 0 is at work");
    frames_note_end(&talk->told, 0, MAP, 0, true);
    assert_refused(tell_seals(talk, 0), "while slot 0 is not sealed");
    seal.path = (char *)"";
    assert_refused(tell_seals(talk, 0), "from nowhere");
}

static void a_worker_may_begin_with_any_stage(void **state)
{
    struct talk *talk = *state;
    start_job(talk);
    talk->open.stage = talk->open.job_index = 1;
    talk->open.is_map_only = true;
    assert_taken(tell_stage(talk));
    talk->plan.stage = 1;
    assert_taken(tell_plan(talk));
    assert_refused(tell_task(talk, MAP, 0, 0), "reads pairs from nowhere");
    talk->run.source = &source;
    assert_taken(tell_task(talk, MAP, 0, 0));
    source.size = UINT64_MAX;
    assert_refused(tell_task(talk, MAP, 1, 0), "bytes of pairs");
    source.size = 8, source.offset = INT64_MAX;
    assert_refused(tell_task(talk, MAP, 1, 0), "bytes of pairs");
    source.offset = 7, source.path = (char *)"";
    assert_refused(tell_task(talk, MAP, 1, 0), "bytes of pairs");
    frames_note_end(&talk->told, 0, MAP, 0, false);
    talk->open.stage = 0, talk->open.job_index = 0;  // what another had of it is lost
    talk->open.is_map_only = false;
    assert_taken(tell_stage(talk));
}

static void pairs_are_for_tasks_that_read_them(void **state)
{
    struct talk *talk = *state;
    plan_stage(talk);
    talk->run.source = &source;
    assert_refused(tell_task(talk, MAP, 0, 0), "pairs for a task that reads none");
}

static weft_err tell_drop(struct talk *talk, uint32_t slot)
{
    Weft__Drop drop = WEFT__DROP__INIT;
    drop.slot = slot;
    return tell(talk, WEFT__FRAME_TYPE__FRAME_DROP, &drop.base);
}

// Task 0 is sealed, task 1 lost: only that may come again.
static void a_drop_is_of_what_was_collected_since_the_last_seal(void **state)
{
    struct talk *talk = *state;
    const uint32_t dropped[] = {1};
    plan_stage(talk);
    assert_taken(tell_task(talk, MAP, 0, 0));
    frames_note_end(&talk->told, 0, MAP, 0, true);
    assert_taken(tell_seal(talk, 0));
    assert_refused(tell_drop(talk, 0), "slot 0, which has one");
    frames_note_sealed(&talk->told, 0);
    assert_taken(tell_task(talk, MAP, 1, 0));
    assert_refused(tell_drop(talk, 0), "slot 0, which is at a task");
    frames_note_end(&talk->told, 0, MAP, 1, true);
    assert_taken(tell_drop(talk, 0));
    frames_note_dropped(&talk->told, 0, dropped, 1);
    assert_refused(tell_task(talk, MAP, 0, 1), "map task 0, which is done");
    assert_taken(tell_task(talk, MAP, 1, 1));
}

static void a_drop_is_for_a_slot_that_collects(void **state)
{
    struct talk *talk = *state;
    assert_refused(tell_drop(talk, 0), "no other worker");
    open_stage(talk);
    assert_refused(tell_drop(talk, 0), "nothing to collect");
    assert_taken(tell_plan(talk));
    assert_refused(tell_drop(talk, 1000), "slot 1000 of");
    assert_taken(tell_drop(talk, 0));  // it may be empty
    assert_taken(tell_seals(talk, 0));
    assert_refused(tell_drop(talk, 0), "nothing to collect");
}

static void a_worker_alone_drops_nothing(void **state)
{
    struct talk *talk = *state;
    talk->start.worker_count = 1;
    plan_stage(talk);
    assert_refused(tell_drop(talk, 0), "no other worker");
}

static void a_worker_alone_is_told_of_no_others(void **state)
{
    struct talk *talk = *state;
    assert_refused(tell_seals(talk, 0), "which there are not");
    talk->start.worker_count = 1;
    plan_stage(talk);
    assert_refused(tell_seals(talk, 0), "which there are not");
}

static void a_crowd_of_workers_is_refused(void **state)
{
    struct talk *talk = *state;
    talk->start.worker_count = SCHED_WORKERS_MAX + 1;
    assert_refused(tell_job(talk), "workers, at most");
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin_shared, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_slot_may_be_sealed_again),
        test(reduce_tasks_follow_the_map_output_of_all),
        test(the_map_output_of_all_comes_when_nothing_is_held),
        test(a_worker_may_begin_with_any_stage),
        test(pairs_are_for_tasks_that_read_them),
        test(a_drop_is_of_what_was_collected_since_the_last_seal),
        test(a_drop_is_for_a_slot_that_collects),
        test(a_worker_alone_drops_nothing),
        test(a_worker_alone_is_told_of_no_others),
        test(a_crowd_of_workers_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
