// Tests of the way of a job, of its attempts and of its end, rule by rule.
#include "mapreduce/coord/sched_testing.h"

// ---- The way of a job -------------------------------------------------------------------------

static void a_job_samples_maps_seals_reduces_and_is_done(void **unused)
{
    (void)unused;
    job(2, 3, 2);
    assert_string_equal(ready(2), "open0 s0.1@0 s1.1@1");
    assert_string_equal(held("s1.1@1"), "");
    assert_string_equal(held("s0.1@0"), "plan0 m0.1@0 m1.1@1");
    assert_string_equal(held("m0.1@0"), "m2.1@0");
    assert_string_equal(held("m1.1@1"), "");
    assert_string_equal(held("m2.1@0"), "seal@0 seal@1");
    assert_string_equal(committed(SCHED_MAP, 0), "");
    assert_string_equal(committed(SCHED_MAP, 2), "");
    assert_string_equal(sealed(0), "");
    assert_string_equal(committed(SCHED_MAP, 1), "");
    assert_string_equal(sealed(1), "r0.1@0 r1.1@1");
    assert_string_equal(held("r1.1@1"), "");
    assert_string_equal(held("r0.1@0"), "");
    assert_string_equal(written(SCHED_REDUCE, 0), "");
    assert_string_equal(written(SCHED_REDUCE, 1), "done");
    assert_true(sched_is_over(sched));
    assert_null(sched_failure(sched));
}

static void map_tasks_without_reduce_are_committed_without_a_seal(void **unused)
{
    (void)unused;
    job(0, 2, 0);
    assert_string_equal(ready(1), "open0 plan0 m0.1@0 m1.1@0");
    assert_string_equal(held("m0.1@0"), "");
    assert_string_equal(held("m1.1@0"), "");
    assert_string_equal(written(SCHED_MAP, 0), "");
    assert_string_equal(written(SCHED_MAP, 1), "done");
}

static void a_slot_that_holds_nothing_is_not_sealed(void **unused)
{
    (void)unused;
    job(0, 1, 1);
    ready(3);
    assert_string_equal(held("m0.1@0"), "seal@0");
}

static void slots_get_their_first_task_before_any_gets_a_second(void **unused)
{
    (void)unused;
    job(0, 9, 1);
    assert_string_equal(ready(3), "open0 plan0 m0.1@0 m1.1@1 m2.1@2 m3.1@0 m4.1@1 m5.1@2");
}

static void the_last_tasks_are_not_queued_behind_others(void **unused)
{
    (void)unused;
    job(0, 4, 1);
    assert_string_equal(ready(3), "open0 plan0 m0.1@0 m1.1@1 m2.1@2");
    assert_string_equal(held("m1.1@1"), "m3.1@1");
}

static void the_next_stage_begins_when_the_last_one_is_committed(void **unused)
{
    (void)unused;
    job_of_stages((struct sched_stage[]){{0, 1, 1}, {1, 1, 0}}, 2, 0);
    ready(1);
    held("m0.1@0");
    committed(SCHED_MAP, 0);
    sealed(0);
    assert_string_equal(held("r0.1@0"), "");
    assert_int_equal(sched_stage(sched), 0);
    assert_string_equal(committed(SCHED_REDUCE, 0), "open1 s0.1@0");
    assert_int_equal(sched_stage(sched), 1);
    assert_string_equal(held("s0.1@0"), "plan1 m0.1@0");
    assert_string_equal(held("m0.1@0"), "");
    assert_string_equal(written(SCHED_MAP, 0), "done");
}

static void a_job_without_tasks_opens_its_stages_and_is_done(void **unused)
{
    (void)unused;
    job_of_stages((struct sched_stage[]){{0, 0, 0}, {0, 0, 0}}, 2, 0);
    assert_string_equal(ready(2), "open0 plan0 open1 plan1 done");
}

static void reduce_tasks_run_without_any_map_task(void **unused)
{
    (void)unused;
    job(0, 0, 1);
    assert_string_equal(ready(2), "open0 plan0 r0.1@0");
}

static void the_end_of_the_last_attempt_is_awaited_though_its_text_is_written(void **unused)
{
    (void)unused;
    job(0, 1, 0);
    ready(1);
    assert_string_equal(written(SCHED_MAP, 0), "");
    assert_string_equal(held("m0.1@0"), "done");
}

static void more_than_fits_comes_out_when_it_is_asked_for(void **unused)
{
    (void)unused;
    static struct sched_stage stages[SCHED_STAGES_MAX];
    stages[SCHED_STAGES_MAX - 1] = (struct sched_stage){0, 2000, 1};
    job_of_stages(stages, SCHED_STAGES_MAX, 0);
    ready(SLOTS_MAX);
    uint32_t count = actions.count, rounds = 1;
    for (; actions.has_more; rounds++) {
        sched_more(sched, &actions);
        count += actions.count;
    }
    assert_int_equal(count, 2 * SCHED_STAGES_MAX + SCHED_QUEUE_MAX * SLOTS_MAX);
    assert_in_range(rounds, 2, 4);
    sched_more(sched, &actions);
    assert_int_equal(actions.count, 0);
}

// ---- Attempts ---------------------------------------------------------------------------------

static void second_finisher_of_a_task_is_discarded(void **unused)
{
    (void)unused;
    job(0, 2, 0);
    ready(1);
    assert_string_equal(failed("m0.1@0", WEFT_ABORTED), "m0.2@0");
    assert_string_equal(written(SCHED_MAP, 0), "");  // by the first attempt, which failed later
    assert_string_equal(held("m1.1@0"), "");
    assert_string_equal(held("m0.2@0"), "");
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 0), SCHED_COMMITTED);
    assert_string_equal(written(SCHED_MAP, 0), "");
    assert_string_equal(written(SCHED_MAP, 1), "done");
}

static void an_end_that_is_said_twice_counts_once(void **unused)
{
    (void)unused;
    job(0, 3, 1);
    ready(1);
    assert_string_equal(failed("m0.1@0", WEFT_ABORTED), "m0.2@0");
    assert_string_equal(failed("m0.1@0", WEFT_ABORTED), "");
    assert_int_equal(charges(SCHED_MAP, 0), 1);
    assert_string_equal(held("m1.1@0"), "m2.1@0");
    assert_string_equal(held("m1.1@0"), "");
    assert_int_equal(sched_count(sched, 0, SCHED_MAP, SCHED_HELD), 1);
}

static void an_end_from_another_slot_or_attempt_is_ignored(void **unused)
{
    (void)unused;
    job(0, 2, 1);
    ready(2);
    assert_string_equal(held("m0.1@1"), "");
    assert_string_equal(held("m0.2@0"), "");
    assert_string_equal(held("m0.1@7"), "");
    assert_string_equal(held("m7.1@0"), "");
    assert_int_equal(sched_count(sched, 0, SCHED_MAP, SCHED_RUNNING), 2);
}

static void failed_map_takes_what_its_slot_holds_with_it_uncharged(void **unused)
{
    (void)unused;
    job(0, 5, 1);
    ready(2);
    assert_string_equal(held("m0.1@0"), "");
    assert_string_equal(held("m1.1@1"), "");
    assert_string_equal(held("m2.1@0"), "m4.1@0");
    assert_string_equal(failed("m4.1@0", WEFT_ABORTED), "m0.2@0 m2.2@0");
    assert_int_equal(sched_count(sched, 0, SCHED_MAP, SCHED_HELD), 1);
    assert_int_equal(charges(SCHED_MAP, 0), 0);
    assert_int_equal(charges(SCHED_MAP, 4), 1);
}

static void failed_map_that_left_nothing_in_its_slot_takes_nothing_with_it(void **unused)
{
    (void)unused;
    job(0, 5, 1);
    ready(2);
    assert_string_equal(held("m0.1@0"), "");
    assert_string_equal(held("m1.1@1"), "");
    assert_string_equal(held("m2.1@0"), "m4.1@0");
    const struct sched_event event = {.type = EVENT_TASK_FAILED,
                                      .at = attempt("m4.1@0"),
                                      .code = WEFT_ABORTED,
                                      .keeps_held = true};
    assert_string_equal(step(event), "m4.2@0");
    assert_int_equal(sched_count(sched, 0, SCHED_MAP, SCHED_HELD), 3);
    assert_int_equal(charges(SCHED_MAP, 4), 1);
}

static void failed_task_whose_output_goes_to_the_sink_takes_nothing_with_it(void **unused)
{
    (void)unused;
    job(0, 3, 0);
    ready(1);
    held("m0.1@0");
    assert_string_equal(failed("m1.1@0", WEFT_ABORTED), "m1.2@0");
    assert_int_equal(sched_count(sched, 0, SCHED_MAP, SCHED_HELD), 1);
}

static void fourth_charged_attempt_fails_the_job_with_its_code(void **unused)
{
    (void)unused;
    job(0, 1, 1);
    ready(1);
    assert_string_equal(failed("m0.1@0", WEFT_ABORTED), "m0.2@0");
    assert_string_equal(failed("m0.2@0", WEFT_ABORTED), "m0.3@0");
    assert_string_equal(failed("m0.3@0", WEFT_ABORTED), "m0.4@0");
    assert_string_equal(failed("m0.4@0", WEFT_DATA_LOSS), "kill failed(DATA_LOSS m0)");
    assert_int_equal(sched_failure(sched)->code, WEFT_DATA_LOSS);
    assert_int_equal(sched_failure(sched)->at.attempt, 4);
}

static void final_failure_ends_the_job_at_once(void **unused)
{
    (void)unused;
    job(0, 1, 1);
    ready(1);
    const struct sched_event event = {.type = EVENT_TASK_FAILED,
                                      .at = attempt("m0.1@0"),
                                      .code = WEFT_INVALID_ARGUMENT,
                                      .is_final = true};
    assert_string_equal(step(event), "kill failed(INVALID_ARGUMENT m0)");
}

static void seal_that_loses_tasks_is_followed_by_them_and_another_seal(void **unused)
{
    (void)unused;
    job(0, 2, 1);
    ready(1);
    held("m0.1@0");
    assert_string_equal(held("m1.1@0"), "seal@0");
    committed(SCHED_MAP, 0);
    assert_string_equal(sealed(0), "m1.2@0");
    assert_string_equal(held("m1.2@0"), "seal@0");
    committed(SCHED_MAP, 1);
    assert_string_equal(sealed(0), "r0.1@0");
}

static void a_map_task_for_a_reduce_is_committed_only_while_it_is_held(void **unused)
{
    (void)unused;
    job(0, 3, 1);
    ready(1);
    committed(SCHED_MAP, 0);
    committed(SCHED_MAP, 2);
    assert_int_equal(sched_count(sched, 0, SCHED_MAP, SCHED_COMMITTED), 0);
    committed(SCHED_MAP, 99);
    committed(SCHED_REDUCE, 0);
    assert_int_equal(sched_count(sched, 0, SCHED_REDUCE, SCHED_COMMITTED), 0);
}

// ---- The end ----------------------------------------------------------------------------------

static void cancel_kills_the_worker_and_fails_with_its_code(void **unused)
{
    (void)unused;
    job(0, 2, 1);
    ready(1);
    const struct sched_event event = {.type = EVENT_CANCEL, .code = WEFT_CANCELLED};
    assert_string_equal(step(event), "kill failed(CANCELLED)");
}

static void worker_that_says_it_cannot_go_on_ends_the_job(void **unused)
{
    (void)unused;
    job(0, 2, 1);
    ready(1);
    const struct sched_event event = {.type = EVENT_WORKER_FAILED, .code = WEFT_RESOURCE_EXHAUSTED};
    assert_string_equal(step(event), "kill failed(RESOURCE_EXHAUSTED)");
}

static void nothing_comes_out_after_the_end(void **unused)
{
    (void)unused;
    job(0, 2, 1);
    ready(1);
    step((struct sched_event){.type = EVENT_CANCEL, .code = WEFT_CANCELLED});
    assert_string_equal(held("m0.1@0"), "");
    assert_string_equal(lost("m1.1@0", SCHED_NO_SLOT), "");
    assert_string_equal(step((struct sched_event){.type = EVENT_START}), "");
    assert_string_equal(step((struct sched_event){.type = EVENT_CANCEL, .code = 4}), "");
    assert_int_equal(sched_failure(sched)->code, WEFT_CANCELLED);
}

static void plans_beyond_the_limits_are_refused_with_a_sentence(void **unused)
{
    (void)unused;
    const struct sched_stage stage = {0, SCHED_TASKS_MAX, 1};
    assert_null(sched_new(&(struct sched_plan){.stages = &stage, .stage_count = 1}));
    assert_string_equal(err_text(), "a job of 16777217 tasks: at most 16777216 are possible");
    assert_null(sched_new(&(struct sched_plan){.stages = &stage}));
    assert_string_equal(err_text(), "a job of 0 stages: 1 to 1024 are possible");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_samples_maps_seals_reduces_and_is_done),
        cmocka_unit_test(map_tasks_without_reduce_are_committed_without_a_seal),
        cmocka_unit_test(a_slot_that_holds_nothing_is_not_sealed),
        cmocka_unit_test(slots_get_their_first_task_before_any_gets_a_second),
        cmocka_unit_test(the_last_tasks_are_not_queued_behind_others),
        cmocka_unit_test(the_next_stage_begins_when_the_last_one_is_committed),
        cmocka_unit_test(a_job_without_tasks_opens_its_stages_and_is_done),
        cmocka_unit_test(reduce_tasks_run_without_any_map_task),
        cmocka_unit_test(the_end_of_the_last_attempt_is_awaited_though_its_text_is_written),
        cmocka_unit_test(more_than_fits_comes_out_when_it_is_asked_for),
        cmocka_unit_test(second_finisher_of_a_task_is_discarded),
        cmocka_unit_test(an_end_that_is_said_twice_counts_once),
        cmocka_unit_test(an_end_from_another_slot_or_attempt_is_ignored),
        cmocka_unit_test(failed_map_takes_what_its_slot_holds_with_it_uncharged),
        cmocka_unit_test(failed_map_that_left_nothing_in_its_slot_takes_nothing_with_it),
        cmocka_unit_test(failed_task_whose_output_goes_to_the_sink_takes_nothing_with_it),
        cmocka_unit_test(fourth_charged_attempt_fails_the_job_with_its_code),
        cmocka_unit_test(final_failure_ends_the_job_at_once),
        cmocka_unit_test(seal_that_loses_tasks_is_followed_by_them_and_another_seal),
        cmocka_unit_test(a_map_task_for_a_reduce_is_committed_only_while_it_is_held),
        cmocka_unit_test(cancel_kills_the_worker_and_fails_with_its_code),
        cmocka_unit_test(worker_that_says_it_cannot_go_on_ends_the_job),
        cmocka_unit_test(nothing_comes_out_after_the_end),
        cmocka_unit_test(plans_beyond_the_limits_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests_name("sched", tests, NULL, teardown);
}
