// Tests of several workers: which one gets a task, and which tasks are lost with one of them.
#include "mapreduce/coord/sched_testing.h"

// Two workers, numbers 1 and 2, with slot_count slots each; the second is ready first.
static const char *job_of_two(const struct sched_stage *stages, uint32_t stage_count,
                              uint32_t slot_count)
{
    plan_of((struct sched_plan){.stages = stages, .stage_count = stage_count, .worker_count = 2});
    has_other_workers = true;
    assert_string_equal(start(), "worker1 worker2");
    ready(slot_count);
    worker = 1;
    return ready(slot_count);
}

static const char *from(uint32_t number, const char *(*say)(const char *), const char *at)
{
    worker = number;
    return say(at);
}

static const char *commit_from(uint32_t number, enum sched_kind kind, uint32_t task)
{
    worker = number;
    return committed(kind, task);
}

static const char *sealed_by(uint32_t number, uint32_t slot)
{
    worker = number;
    return sealed(slot);
}

static const char *lost_with(uint32_t number, const char *inside)
{
    worker = number;
    return lost(inside, SCHED_NO_SLOT);
}

static void tasks_are_spread_and_a_stage_is_opened_where_its_first_task_runs(void **unused)
{
    (void)unused;
    plan_of((struct sched_plan){
        .stages = &(struct sched_stage){0, 3, 1}, .stage_count = 1, .worker_count = 2});
    has_other_workers = true;
    assert_string_equal(start(), "worker1 worker2");
    assert_string_equal(ready(1), "open0#2 plan0#2 m0.1@0#2 m1.1@0#2");
    worker = 1;
    assert_string_equal(ready(1), "open0#1 plan0#1 m2.1@0#1");
    assert_string_equal(from(1, held, "m2.1@0"), "");
    assert_string_equal(from(2, held, "m0.1@0"), "");
    assert_string_equal(from(2, held, "m1.1@0"), "seal@0#1 seal@0#2");
}

static void slots_of_all_workers_get_a_first_task_before_any_gets_a_second(void **unused)
{
    (void)unused;
    const struct sched_stage stage = {1, 8, 1};
    job_of_two(&stage, 1, 2);
    assert_string_equal(from(2, held, "s0.1@0"),
                        "plan0#2 open0#1 plan0#1 m0.1@0#1 m1.1@0#2 m2.1@1#1 m3.1@1#2 "
                        "m4.1@0#1");
}

// Two map tasks, one committed by each worker, and two reduce tasks that run.
static void job_in_reduce(void)
{
    const struct sched_stage stage = {1, 2, 2};
    job_of_two(&stage, 1, 1);
    assert_string_equal(from(2, held, "s0.1@0"), "plan0#2 open0#1 plan0#1 m0.1@0#1 m1.1@0#2");
    from(1, held, "m0.1@0");
    assert_string_equal(from(2, held, "m1.1@0"), "seal@0#1 seal@0#2");
    commit_from(1, SCHED_MAP, 0);
    commit_from(2, SCHED_MAP, 1);
    sealed_by(1, 0);
    assert_string_equal(sealed_by(2, 0), "r0.1@0#1 r1.1@0#2");
}

static void a_lost_worker_takes_its_own_with_it_and_nothing_else(void **unused)
{
    (void)unused;
    job_in_reduce();
    assert_string_equal(lost_with(1, ""), "worker3 m0.2@0#2");
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 1), SCHED_COMMITTED);
    assert_int_equal(sched_task_state(sched, 0, SCHED_REDUCE, 0), SCHED_PENDING);
    assert_int_equal(sched_task_state(sched, 0, SCHED_REDUCE, 1), SCHED_RUNNING);
}

static void an_attempt_that_misses_its_input_is_run_again_uncharged(void **unused)
{
    (void)unused;
    job_in_reduce();
    assert_string_equal(lost_with(1, ""), "worker3 m0.2@0#2");
    worker = 2;
    const char *next = step((struct sched_event){.type = EVENT_TASK_FAILED,
                                                 .at = attempt("r1.1@0"),
                                                 .code = WEFT_UNAVAILABLE,
                                                 .is_blameless = true});
    assert_string_equal(next, "");
    assert_int_equal(charges(SCHED_REDUCE, 1), 0);
    assert_string_equal(from(2, held, "m0.2@0"), "seal@0#2");
    commit_from(2, SCHED_MAP, 0);
    assert_string_equal(sealed_by(2, 0), "r0.2@0#2 r1.2@0#2");
}

static void an_attempt_that_had_read_its_input_counts_though_the_input_is_lost(void **unused)
{
    (void)unused;
    job_in_reduce();
    lost_with(1, "");
    worker = 2;
    written(SCHED_REDUCE, 1);
    assert_string_equal(from(2, held, "r1.1@0"), "");
    assert_int_equal(sched_task_state(sched, 0, SCHED_REDUCE, 1), SCHED_COMMITTED);
}

static void a_suspect_runs_alone_in_its_worker_while_another_goes_on(void **unused)
{
    (void)unused;
    const struct sched_stage stage = {1, 8, 1};
    job_of_two(&stage, 1, 2);
    from(2, held, "s0.1@0");  // m0 m2 m4 at worker 1, m1 m3 at worker 2
    // Worker 2 is kept free for the suspects 0 and 2, and has to end its running attempts before.
    assert_string_equal(lost_with(1, "m0.1@0 m2.1@1"), "worker3");
    assert_string_equal(from(2, held, "m1.1@0"), "");
    assert_string_equal(from(2, held, "m3.1@1"), "m0.2@0#2");
    worker = 3;
    assert_string_equal(ready(2), "open0#3 plan0#3 m4.2@0#3 m5.1@1#3");
    assert_string_equal(from(2, held, "m0.2@0"), "m2.2@0#2");
    assert_string_equal(from(2, held, "m2.2@0"), "m6.1@0#2 m7.1@1#2");
    assert_int_equal(charges(SCHED_MAP, 0), 0);
}

static void a_worker_that_fails_is_set_aside_and_the_last_one_ends_the_job(void **unused)
{
    (void)unused;
    job_in_reduce();
    worker = 1;
    const struct sched_event full = {.type = EVENT_WORKER_FAILED, .code = WEFT_RESOURCE_EXHAUSTED};
    assert_string_equal(step(full), "kill#1");
    assert_string_equal(lost_with(1, ""), "m0.2@0#2");
    worker = 2;
    assert_string_equal(step(full), "kill#2 failed(RESOURCE_EXHAUSTED)");
}

// The output of stage 0 goes with a worker, twice: while another has nothing to do, and while it is at work.
static void a_worker_goes_back_a_stage_when_it_has_ended_what_it_does(void **unused)
{
    (void)unused;
    const struct sched_stage stages[] = {{0, 1, 0}, {0, 1, 1}};
    plan_of((struct sched_plan){.stages = stages, .stage_count = 2, .worker_count = 2});
    has_other_workers = true;
    start();
    worker = 1;
    assert_string_equal(ready(1), "open0#1 plan0#1 m0.1@0#1");
    commit_from(1, SCHED_MAP, 0);
    assert_string_equal(from(1, held, "m0.1@0"), "open1#1 plan1#1 m0.1@0#1");
    worker = 2;
    assert_string_equal(ready(1), "");
    assert_string_equal(lost_with(1, ""), "worker3 open0#2 plan0#2 m0.2@0#2");
    commit_from(2, SCHED_MAP, 0);
    assert_string_equal(from(2, held, "m0.2@0"), "open1#2 plan1#2 m0.2@0#2");
    worker = 3;
    assert_string_equal(ready(1), "");
    assert_string_equal(from(2, held, "m0.2@0"), "seal@0#2");
    commit_from(2, SCHED_MAP, 0);
    assert_string_equal(sealed_by(2, 0), "open1#3 plan1#3 r0.1@0#3");
    assert_string_equal(lost_with(2, ""), "worker4");  // both stages go with it; 3 is at work
    assert_int_equal(sched_stage(sched), 0);
    stage_said = 1;
    assert_string_equal(from(3, held, "r0.1@0"), "open0#3 plan0#3 m0.3@0#3");
    stage_said = -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_spread_and_a_stage_is_opened_where_its_first_task_runs),
        cmocka_unit_test(slots_of_all_workers_get_a_first_task_before_any_gets_a_second),
        cmocka_unit_test(a_lost_worker_takes_its_own_with_it_and_nothing_else),
        cmocka_unit_test(an_attempt_that_misses_its_input_is_run_again_uncharged),
        cmocka_unit_test(an_attempt_that_had_read_its_input_counts_though_the_input_is_lost),
        cmocka_unit_test(a_suspect_runs_alone_in_its_worker_while_another_goes_on),
        cmocka_unit_test(a_worker_that_fails_is_set_aside_and_the_last_one_ends_the_job),
        cmocka_unit_test(a_worker_goes_back_a_stage_when_it_has_ended_what_it_does),
    };
    return cmocka_run_group_tests_name("sched_workers", tests, NULL, teardown);
}
