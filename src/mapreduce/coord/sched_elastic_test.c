// Tests of workers on machines that come and go: losses with a process, and with a machine.
#include "mapreduce/coord/sched_testing.h"

// Two map tasks, one committed by each worker, and two reduce tasks that run: r0 at worker 1, r1 at worker 2.
static void job_in_reduce(void)
{
    static const struct sched_stage stage = {0, 2, 2};
    plan_of((struct sched_plan){
        .stages = &stage, .stage_count = 1, .worker_count = 2, .is_elastic = true});
    has_other_workers = true;
    assert_string_equal(start(), "worker1 worker2");
    worker = 1;
    assert_string_equal(ready(1), "open0#1 plan0#1 m0.1@0#1 m1.1@0#1");
    assert_string_equal(held("m0.1@0"), "");
    worker = 2;
    ready(1);
    worker = 1;
    assert_string_equal(held("m1.1@0"), "seal@0#1");
    committed(SCHED_MAP, 0);
    committed(SCHED_MAP, 1);
    assert_string_equal(sealed(0), "r0.1@0#1 open0#2 plan0#2 r1.1@0#2");
}

static const char *lose(uint32_t number, const char *inside, bool is_machine)
{
    struct sched_attempt at = {0};
    if (*inside)
        at = attempt(inside);
    at.stage = sched_stage(sched);
    worker = number;
    return step((struct sched_event){.type = EVENT_WORKER_LOST,
                                     .inside = &at,
                                     .inside_count = *inside ? 1 : 0,
                                     .crash_slot = SCHED_NO_SLOT,
                                     .code = WEFT_ABORTED,
                                     .is_blameless = is_machine,
                                     .keeps_commits = !is_machine});
}

static void a_lost_process_leaves_its_commits(void **unused)
{
    (void)unused;
    job_in_reduce();
    assert_string_equal(lose(1, "r0.1@0", false), "worker3 r0.2@0#2");
    assert_int_equal(charges(SCHED_REDUCE, 0), 1);
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 0), SCHED_COMMITTED);
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 1), SCHED_COMMITTED);
}

static void the_machine_of_a_lost_process_takes_it_along_later(void **unused)
{
    (void)unused;
    job_in_reduce();
    lose(1, "r0.1@0", false);
    lose(3, "", true);
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 0), SCHED_PENDING);
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 1), SCHED_PENDING);
}

static void a_task_that_ended_but_was_not_written_is_lost_with_its_process(void **unused)
{
    (void)unused;
    job_in_reduce();
    worker = 1;
    assert_string_equal(held("r0.1@0"), "");
    assert_string_equal(lose(1, "", false), "worker3 r0.2@0#2");
}

// Its input is outdated: map output of all is made anew.
static void a_worker_that_reduces_opens_its_stage_again_before_it_maps(void **unused)
{
    (void)unused;
    job_in_reduce();
    assert_string_equal(lose(1, "r0.1@0", true), "worker3");
    assert_int_equal(charges(SCHED_REDUCE, 0), 0);
    worker = 2;
    written(SCHED_REDUCE, 1);
    assert_string_equal(held("r1.1@0"), "open0#2 plan0#2 m0.2@0#2 m1.2@0#2");
    held("m0.2@0");
    assert_string_equal(held("m1.2@0"), "seal@0#2");
    committed(SCHED_MAP, 0);
    committed(SCHED_MAP, 1);
    assert_string_equal(sealed(0), "r0.2@0#2");
}

static void an_attempt_without_its_input_ends_and_frees_its_worker(void **unused)
{
    (void)unused;
    job_in_reduce();
    lose(1, "", true);
    worker = 2;
    const char *next = step((struct sched_event){.type = EVENT_TASK_FAILED,
                                                 .at = attempt("r1.1@0"),
                                                 .code = WEFT_UNAVAILABLE,
                                                 .is_blameless = true});
    assert_string_equal(next, "open0#2 plan0#2 m0.2@0#2 m1.2@0#2");
    assert_int_equal(charges(SCHED_REDUCE, 1), 0);
}

// A worker that comes before the others have ended opens the stage for the first time, and maps.
static void a_late_worker_makes_lost_map_output_again(void **unused)
{
    (void)unused;
    job_in_reduce();
    lose(1, "", true);
    worker = 3;
    assert_string_equal(ready(2), "open0#3 plan0#3 m0.2@0#3 m1.2@1#3");
    held("m0.2@0");
    held("m1.2@1");
    committed(SCHED_MAP, 0);
    committed(SCHED_MAP, 1);
    sealed(0);
    assert_string_equal(sealed(1), "r0.2@0#3");
    // The worker that was outdated reads the new map output only after it has opened the stage again.
    worker = 2;
    const char *next = step((struct sched_event){.type = EVENT_TASK_FAILED,
                                                 .at = attempt("r1.1@0"),
                                                 .code = WEFT_UNAVAILABLE,
                                                 .is_blameless = true});
    assert_string_equal(next, "open0#2 plan0#2 r1.2@0#2");
}

static void a_worker_that_fails_gives_its_place_to_another(void **unused)
{
    (void)unused;
    const struct sched_event full = {.type = EVENT_WORKER_FAILED, .code = WEFT_RESOURCE_EXHAUSTED};
    job_in_reduce();
    worker = 1;
    assert_string_equal(step(full), "kill#1");
    assert_string_equal(lose(1, "", true), "worker3");
    worker = 2;
    assert_string_equal(step(full), "kill#2");
    assert_string_equal(lose(2, "", true), "worker4");
    assert_false(sched_is_over(sched));
}

static void machines_may_be_lost_without_limit(void **unused)
{
    (void)unused;
    job_in_reduce();
    for (uint32_t number = 1; number < 41; number += 2) {
        lose(number, "", true);
        assert_false(sched_is_over(sched));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_process_leaves_its_commits),
        cmocka_unit_test(the_machine_of_a_lost_process_takes_it_along_later),
        cmocka_unit_test(a_task_that_ended_but_was_not_written_is_lost_with_its_process),
        cmocka_unit_test(a_worker_that_reduces_opens_its_stage_again_before_it_maps),
        cmocka_unit_test(an_attempt_without_its_input_ends_and_frees_its_worker),
        cmocka_unit_test(a_late_worker_makes_lost_map_output_again),
        cmocka_unit_test(a_worker_that_fails_gives_its_place_to_another),
        cmocka_unit_test(machines_may_be_lost_without_limit),
    };
    return cmocka_run_group_tests_name("sched_elastic", tests, NULL, teardown);
}
