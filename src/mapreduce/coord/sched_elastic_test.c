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

// ---- What a worker has without having run it ---------------------------------------------------------

static const char *offered(uint32_t number, enum sched_kind kind, uint32_t task, bool is_durable)
{
    worker = number;
    return step((struct sched_event){
        .type = EVENT_TASK_OFFERED, .at = {.kind = kind, .task = task}, .is_durable = is_durable});
}

// After a restart of the driver: the offers come before the worker is ready.
// Stage 0 is done, its second reduce task by worker 2; both workers reduce in stage 1.
static void job_in_second_reduce(void)
{
    static const struct sched_stage stages[] = {{0, 2, 2}, {0, 2, 2}};
    plan_of((struct sched_plan){
        .stages = stages, .stage_count = 2, .worker_count = 2, .is_elastic = true});
    has_other_workers = true;
    start();
    worker = 1;
    ready(1);
    held("m0.1@0");
    worker = 2;
    ready(1);
    worker = 1;
    held("m1.1@0");
    committed(SCHED_MAP, 0);
    committed(SCHED_MAP, 1);
    sealed(0);
    held("r0.1@0");
    committed(SCHED_REDUCE, 0);
    worker = 2;
    held("r1.1@0");
    assert_string_equal(committed(SCHED_REDUCE, 1),
                        "open1#1 plan1#1 m0.1@0#1 open1#2 plan1#2 m1.1@0#2");
    worker = 1;
    held("m0.1@0");
    worker = 2;
    held("m1.1@0");
    committed(SCHED_MAP, 1);
    sealed(0);
    worker = 1;
    committed(SCHED_MAP, 0);
    assert_string_equal(sealed(0), "r0.1@0#1 r1.1@0#2");
}

// The job goes back to stage 0, where worker 1 has nothing to do: it is still in a reduce task of stage 1.
static void a_worker_that_reduces_opens_its_stage_again_after_the_job_went_back(void **unused)
{
    (void)unused;
    job_in_second_reduce();
    assert_string_equal(lose(2, "r1.1@0", true), "worker4");
    worker = 4;
    assert_string_equal(ready(1), "open0#4 plan0#4 r1.2@0#4");
    held("r1.2@0");
    assert_string_equal(committed(SCHED_REDUCE, 1), "open1#4 plan1#4 m1.2@0#4");
    held("m1.2@0");
    committed(SCHED_MAP, 1);
    assert_string_equal(sealed(0), "r1.2@0#4");
    worker = 1;
    assert_string_equal(step((struct sched_event){.type = EVENT_TASK_FAILED,
                                                  .at = attempt("r0.1@0"),
                                                  .code = WEFT_UNAVAILABLE,
                                                  .is_blameless = true}),
                        "open1#1 plan1#1 r0.2@0#1");
}

static void offered_tasks_are_not_run(void **unused)
{
    (void)unused;
    static const struct sched_stage stage = {0, 3, 1};
    plan_of((struct sched_plan){
        .stages = &stage, .stage_count = 1, .worker_count = 2, .is_elastic = true});
    has_other_workers = true;
    start();
    assert_string_equal(offered(1, SCHED_MAP, 0, false), "");
    assert_string_equal(offered(1, SCHED_MAP, 2, false), "");
    worker = 1;
    assert_string_equal(ready(1), "open0#1 plan0#1 m1.1@0#1");
    assert_string_equal(held("m1.1@0"), "seal@0#1");
    committed(SCHED_MAP, 1);
    assert_string_equal(sealed(0), "r0.1@0#1");
}

static void all_that_is_offered_goes_with_its_machine(void **unused)
{
    (void)unused;
    static const struct sched_stage stage = {0, 2, 1};
    plan_of((struct sched_plan){
        .stages = &stage, .stage_count = 1, .worker_count = 2, .is_elastic = true});
    has_other_workers = true;
    start();
    offered(1, SCHED_MAP, 0, false);
    offered(1, SCHED_MAP, 1, true);
    assert_string_equal(lose(1, "", true), "worker3");
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 0), SCHED_PENDING);
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 1), SCHED_COMMITTED);
}

static void a_copy_outlives_the_worker_that_made_it(void **unused)
{
    (void)unused;
    job_in_reduce();
    assert_string_equal(offered(2, SCHED_MAP, 0, false), "");
    assert_string_equal(offered(2, SCHED_MAP, 1, false), "");
    lose(1, "", true);
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 0), SCHED_COMMITTED);
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 1), SCHED_COMMITTED);
    lose(2, "", true);
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 0), SCHED_PENDING);
}

static void a_task_that_runs_is_not_taken_from_an_offer(void **unused)
{
    (void)unused;
    job_in_reduce();
    offered(2, SCHED_REDUCE, 0, false);
    assert_int_equal(sched_task_state(sched, 0, SCHED_REDUCE, 0), SCHED_RUNNING);
    offered(2, SCHED_SAMPLE, 0, false);
    offered(2, SCHED_MAP, 2, false);  // there is none
}

// All output of the first stage is there: nothing of it is run.
static void a_stage_that_is_offered_whole_is_passed_by(void **unused)
{
    (void)unused;
    static const struct sched_stage stages[] = {{0, 2, 1}, {0, 1, 1}};
    plan_of((struct sched_plan){
        .stages = stages, .stage_count = 2, .worker_count = 1, .is_elastic = true});
    has_other_workers = true;
    start();
    offered(1, SCHED_REDUCE, 0, false);
    assert_string_equal(ready(1), "open0#1 open1#1 plan1#1 m0.1@0#1");
}

// Tasks that slots hold when a stage turns out to be complete are collected there, and done again should the job come back.
static void collectors_that_a_stage_did_not_need_are_emptied_when_it_comes_back(void **unused)
{
    (void)unused;
    static const struct sched_stage stages[] = {{0, 4, 1}, {0, 1, 1}};
    plan_of((struct sched_plan){
        .stages = stages, .stage_count = 2, .worker_count = 2, .is_elastic = true});
    has_other_workers = true;
    start();
    worker = 1;
    assert_string_equal(ready(2), "open0#1 plan0#1 m0.1@0#1 m1.1@1#1 m2.1@0#1");
    held("m0.1@0");
    held("m1.1@1");
    held("m3.1@1");  // slot 0 still maps, slot 1 does not
    worker = 2;
    const struct sched_event offer = {.type = EVENT_TASK_OFFERED,
                                      .at = {.kind = SCHED_REDUCE, .task = 0}};
    assert_string_equal(step(offer), "");
    assert_string_equal(ready(1), "open1#2 plan1#2 m0.1@0#2");
    assert_string_equal(lose(2, "", true), "worker4");
    worker = 1;
    assert_string_equal(held("m2.1@0"), "seal@0#1");
    committed(SCHED_MAP, 0);
    committed(SCHED_MAP, 2);
    assert_string_equal(sealed(0), "open0#1 plan0#1 m1.2@0#1 m3.2@1#1");
}

// Both have read where it was, and the one that made it may have it in its collectors.
static void map_output_that_is_damaged_is_made_again(void **unused)
{
    (void)unused;
    job_in_reduce();
    assert_string_equal(spoiled(SCHED_MAP, 1), "");
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 1), SCHED_PENDING);
    assert_int_equal(charges(SCHED_MAP, 1), 0);
    assert_string_equal(spoiled(SCHED_MAP, 1), "");
    worker = 2;
    written(SCHED_REDUCE, 1);
    assert_string_equal(held("r1.1@0"), "open0#2 plan0#2 m1.2@0#2");
    assert_string_equal(held("m1.2@0"), "seal@0#2");
    committed(SCHED_MAP, 1);
    assert_string_equal(sealed(0), "");
    worker = 1;
    assert_string_equal(step((struct sched_event){.type = EVENT_TASK_FAILED,
                                                  .at = attempt("r0.1@0"),
                                                  .is_blameless = true}),
                        "open0#1 plan0#1 r0.2@0#1");
}

static void pairs_that_are_damaged_send_the_job_back(void **unused)
{
    (void)unused;
    static const struct sched_stage stages[] = {{0, 1, 1}, {0, 1, 1}};
    plan_of((struct sched_plan){
        .stages = stages, .stage_count = 2, .worker_count = 1, .is_elastic = true});
    has_other_workers = false;
    start();
    ready(1);
    held("m0.1@0");
    committed(SCHED_MAP, 0);
    assert_string_equal(sealed(0), "r0.1@0");
    held("r0.1@0");
    assert_string_equal(committed(SCHED_REDUCE, 0), "open1 plan1 m0.1@0");
    stage_said = 0;
    assert_string_equal(spoiled(SCHED_REDUCE, 0), "");
    stage_said = 1;
    assert_string_equal(step((struct sched_event){.type = EVENT_TASK_FAILED,
                                                  .at = attempt("m0.1@0"),
                                                  .is_blameless = true}),
                        "open0 plan0 r0.2@0");
    stage_said = -1;
}

static void output_that_is_not_written_awaits_its_commit(void **unused)
{
    (void)unused;
    job_in_reduce();
    worker = 1;
    assert_false(sched_awaits_commit(sched, 1));
    held("r0.1@0");
    assert_true(sched_is_settled(sched, 1));
    assert_true(sched_awaits_commit(sched, 1));
    committed(SCHED_REDUCE, 0);
    assert_false(sched_awaits_commit(sched, 1));
    assert_false(sched_awaits_commit(sched, 99));
}

// Of one that leaves, an attempt has a second one at once only if nothing that its slot holds can be lost by that.
static void a_leaving_slot_that_holds_tasks_is_left_to_seal_them(void **unused)
{
    (void)unused;
    static const struct sched_stage stage = {0, 2, 1};
    plan_of((struct sched_plan){
        .stages = &stage, .stage_count = 1, .worker_count = 2, .is_elastic = true});
    has_other_workers = true;
    start();
    worker = 1;
    ready(1);
    held("m0.1@0");
    assert_string_equal(step((struct sched_event){.type = EVENT_WORKER_LEAVING}), "");
    worker = 2;
    assert_string_equal(ready(1), "");
    worker = 1;
    assert_string_equal(held("m1.1@0"), "seal@0#1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_that_is_not_written_awaits_its_commit),
        cmocka_unit_test(a_leaving_slot_that_holds_tasks_is_left_to_seal_them),
        cmocka_unit_test(offered_tasks_are_not_run),
        cmocka_unit_test(all_that_is_offered_goes_with_its_machine),
        cmocka_unit_test(a_copy_outlives_the_worker_that_made_it),
        cmocka_unit_test(a_task_that_runs_is_not_taken_from_an_offer),
        cmocka_unit_test(a_stage_that_is_offered_whole_is_passed_by),
        cmocka_unit_test(collectors_that_a_stage_did_not_need_are_emptied_when_it_comes_back),
        cmocka_unit_test(map_output_that_is_damaged_is_made_again),
        cmocka_unit_test(pairs_that_are_damaged_send_the_job_back),
        cmocka_unit_test(a_lost_process_leaves_its_commits),
        cmocka_unit_test(the_machine_of_a_lost_process_takes_it_along_later),
        cmocka_unit_test(a_task_that_ended_but_was_not_written_is_lost_with_its_process),
        cmocka_unit_test(a_worker_that_reduces_opens_its_stage_again_before_it_maps),
        cmocka_unit_test(an_attempt_without_its_input_ends_and_frees_its_worker),
        cmocka_unit_test(a_late_worker_makes_lost_map_output_again),
        cmocka_unit_test(a_worker_that_fails_gives_its_place_to_another),
        cmocka_unit_test(machines_may_be_lost_without_limit),
        cmocka_unit_test(a_worker_that_reduces_opens_its_stage_again_after_the_job_went_back),
    };
    return cmocka_run_group_tests_name("sched_elastic", tests, NULL, teardown);
}
