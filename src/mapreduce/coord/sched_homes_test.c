// Tests of tasks that are best done on certain machines: each slot gets those first, and never waits for them.
#include "mapreduce/coord/sched_testing.h"

#define NO HOMES_NONE

static const struct task_homes homes[] = {{{1, NO, NO}}, {{0, NO, NO}},  {{1, 2, NO}},
                                          {{0, 1, NO}},  {{NO, NO, NO}}, {{2, NO, NO}}};

static void job_with_homes(uint32_t worker_count)
{
    static const struct sched_stage stage = {0, 6, 1};
    plan_of((struct sched_plan){.stages = &stage,
                                .stage_count = 1,
                                .worker_count = worker_count,
                                .is_elastic = true,
                                .homes = homes,
                                .home_count = 3});
    has_other_workers = true;
    start();
}

// `home` counts from 0; NO: none of them.
static const char *ready_at(uint32_t number, uint32_t home, uint32_t slot_count)
{
    worker = number;
    return step((struct sched_event){
        .type = EVENT_WORKER_READY, .slot_count = slot_count, .home = home + 1});
}

static void a_slot_gets_the_tasks_of_its_home_first(void **state)
{
    (void)state;
    job_with_homes(2);
    // One to run, one to wait.
    assert_string_equal(ready_at(1, 0, 1), "open0#1 plan0#1 m1.1@0#1 m3.1@0#1");
    assert_string_equal(ready_at(2, 1, 1), "open0#2 plan0#2 m0.1@0#2 m2.1@0#2");
    worker = 1;
    // No other one is at home there: any.
    assert_string_equal(held("m1.1@0"), "m4.1@0#1");
}

static void a_slot_does_not_wait_for_tasks_of_its_home(void **state)
{
    (void)state;
    job_with_homes(2);
    assert_string_equal(ready_at(1, NO, 3), "open0#1 plan0#1 m0.1@0#1 m1.1@1#1 m2.1@2#1 "
                                            "m3.1@0#1");
    // The one of its home first, and the others, too.
    assert_string_equal(ready_at(2, 2, 2), "open0#2 plan0#2 m5.1@0#2 m4.1@1#2");
}

static void a_home_goes_before_the_number_of_a_worker(void **state)
{
    (void)state;
    job_with_homes(2);
    ready_at(1, 1, 2);  // has 0, 2, 3 and 1 or 4
    ready_at(2, 2, 1);  // has 5
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 5), SCHED_RUNNING);
    worker = 2;
    assert_string_equal(failed("m5.1@0", WEFT_UNKNOWN), "m5.2@0#2");
}

static void a_task_whose_worker_is_lost_is_at_home_again(void **state)
{
    (void)state;
    job_with_homes(2);
    ready_at(1, 0, 1);
    worker = 1;
    assert_string_equal(lost("", SCHED_NO_SLOT), "worker3");
    assert_string_equal(ready_at(3, 1, 1), "open0#3 plan0#3 m0.1@0#3 m2.1@0#3");
    assert_string_equal(ready_at(2, 0, 1), "open0#2 plan0#2 m1.2@0#2 m3.2@0#2");
}

static void homes_are_of_the_first_stage(void **state)
{
    (void)state;
    static const struct sched_stage stages[] = {{0, 2, 0}, {0, 2, 1}};
    plan_of((struct sched_plan){.stages = stages,
                                .stage_count = 2,
                                .worker_count = 1,
                                .is_elastic = true,
                                .homes = (const struct task_homes[]){{{NO}}, {{0, NO}}},
                                .home_count = 1});
    has_other_workers = false;
    start();
    assert_string_equal(ready_at(1, 0, 1), "open0 plan0 m1.1@0 m0.1@0");
    written(SCHED_MAP, 0);
    held("m1.1@0");
    held("m0.1@0");
    assert_string_equal(written(SCHED_MAP, 1), "open1 plan1 m0.1@0 m1.1@0");
}

static int end_job(void **state)
{
    (void)state;
    sched_free(sched);
    sched = NULL;
    has_other_workers = false;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_slot_gets_the_tasks_of_its_home_first, end_job),
        cmocka_unit_test_teardown(a_slot_does_not_wait_for_tasks_of_its_home, end_job),
        cmocka_unit_test_teardown(a_home_goes_before_the_number_of_a_worker, end_job),
        cmocka_unit_test_teardown(a_task_whose_worker_is_lost_is_at_home_again, end_job),
        cmocka_unit_test_teardown(homes_are_of_the_first_stage, end_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
