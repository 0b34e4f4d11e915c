// Tests of what the driver decides: verdicts on stuck tasks, restored tasks, checkpoints.
#include "mapreduce/coord/sched_testing.h"

// ---- Stuck tasks ------------------------------------------------------------------------------

// A job whose tasks get stuck at their second charge.
static void asking_job(uint32_t sample_count, uint32_t map_count, uint32_t reduce_count)
{
    const struct sched_stage stage = {sample_count, map_count, reduce_count};
    plan_of((struct sched_plan){
        .stages = &stage, .stage_count = 1, .max_attempts = 2, .asks_before_failing = true});
    assert_string_equal(start(), "worker1");
}

static enum sched_state state(enum sched_kind kind, uint32_t task)
{
    return sched_task_state(sched, 0, kind, task);
}

static void a_task_that_keeps_failing_gets_stuck_and_the_others_go_on(void **unused)
{
    (void)unused;
    asking_job(0, 3, 1);
    assert_string_equal(ready(1), "open0 plan0 m0.1@0 m1.1@0");
    assert_string_equal(failed("m0.1@0", WEFT_ABORTED), "m0.2@0");
    assert_string_equal(held("m1.1@0"), "m2.1@0");
    assert_string_equal(failed("m0.2@0", WEFT_DATA_LOSS), "stuck(DATA_LOSS m0.2) m1.2@0");
    assert_int_equal(state(SCHED_MAP, 0), SCHED_STUCK);
    assert_int_equal(charges(SCHED_MAP, 0), 2);
    assert_string_equal(failed("m0.2@0", WEFT_DATA_LOSS), "");
    assert_string_equal(held("m2.1@0"), "");
    assert_string_equal(held("m1.2@0"), "");  // nothing is sealed
    assert_int_equal(sched_count(sched, 0, SCHED_MAP, SCHED_HELD), 2);
}

static void an_excused_task_runs_again_with_all_its_attempts(void **unused)
{
    (void)unused;
    asking_job(0, 1, 1);
    ready(1);
    failed("m0.1@0", WEFT_ABORTED);
    assert_string_equal(failed("m0.2@0", WEFT_ABORTED), "stuck(ABORTED m0.2)");
    assert_string_equal(excused(SCHED_MAP, 0), "m0.3@0");
    assert_int_equal(charges(SCHED_MAP, 0), 0);
    assert_string_equal(excused(SCHED_MAP, 0), "");
    assert_string_equal(failed("m0.3@0", WEFT_ABORTED), "m0.4@0");
    assert_string_equal(failed("m0.4@0", WEFT_ABORTED), "stuck(ABORTED m0.4)");
    assert_string_equal(excused(SCHED_MAP, 0), "m0.5@0");
    assert_string_equal(held("m0.5@0"), "seal@0");
}

static void a_condemned_task_ends_the_job_with_the_code_of_the_verdict(void **unused)
{
    (void)unused;
    asking_job(0, 2, 1);
    ready(1);
    failed("m0.1@0", WEFT_ABORTED);
    failed("m0.2@0", WEFT_ABORTED);
    assert_string_equal(condemned(SCHED_MAP, 0, WEFT_INVALID_ARGUMENT),
                        "kill failed(INVALID_ARGUMENT m0)");
    assert_int_equal(sched_failure(sched)->at.attempt, 2);
}

static void verdicts_on_tasks_that_are_not_stuck_are_ignored(void **unused)
{
    (void)unused;
    asking_job(0, 2, 1);
    ready(1);
    failed("m0.1@0", WEFT_ABORTED);
    assert_string_equal(excused(SCHED_MAP, 0), "");
    assert_int_equal(charges(SCHED_MAP, 0), 1);
    assert_string_equal(condemned(SCHED_MAP, 0, WEFT_DATA_LOSS), "");
    assert_string_equal(condemned(SCHED_MAP, 99, WEFT_DATA_LOSS), "");
    assert_string_equal(condemned(SCHED_KIND_COUNT, 0, WEFT_DATA_LOSS), "");
    assert_false(sched_is_over(sched));
}

static void a_stuck_sample_task_holds_up_the_plan(void **unused)
{
    (void)unused;
    asking_job(2, 1, 1);
    ready(2);
    failed("s0.1@0", WEFT_ABORTED);
    assert_string_equal(failed("s0.2@0", WEFT_ABORTED), "stuck(ABORTED s0.2)");
    assert_string_equal(held("s1.1@1"), "");
    assert_string_equal(excused(SCHED_SAMPLE, 0), "s0.3@0");
    assert_string_equal(held("s0.3@0"), "plan0 m0.1@0");
}

static void a_stuck_task_stays_stuck_when_the_worker_is_lost(void **unused)
{
    (void)unused;
    asking_job(0, 2, 1);
    ready(1);
    failed("m0.1@0", WEFT_ABORTED);
    held("m1.1@0");
    failed("m0.2@0", WEFT_ABORTED);
    assert_string_equal(lost("", SCHED_NO_SLOT), "worker2");
    assert_string_equal(ready(1), "open0 plan0 m1.3@0");
    assert_string_equal(held("m1.3@0"), "");
}

static void a_verdict_counts_while_no_worker_is_ready(void **unused)
{
    (void)unused;
    asking_job(0, 1, 1);
    ready(1);
    lost("m0.1@0", SCHED_NO_SLOT);
    ready(1);
    assert_string_equal(lost("m0.2@0", SCHED_NO_SLOT), "stuck(ABORTED m0.2) worker3");
    assert_string_equal(excused(SCHED_MAP, 0), "");
    assert_string_equal(ready(1), "open0 plan0 m0.3@0");
}

static void a_task_that_times_out_too_often_is_stuck_before_its_worker_is_dead(void **unused)
{
    (void)unused;
    asking_job(0, 2, 0);
    ready(1);
    timed_out("m0.1@0");
    lost("m0.1@0", SCHED_NO_SLOT);
    ready(1);
    assert_string_equal(timed_out("m0.2@0"), "stuck(DEADLINE_EXCEEDED m0.2) kill");
    assert_string_equal(held("m0.2@0"), "");
    assert_string_equal(committed(SCHED_MAP, 0), "");  // in memory that goes with the worker
    assert_int_equal(state(SCHED_MAP, 0), SCHED_STUCK);
    assert_string_equal(excused(SCHED_MAP, 0), "");
    assert_string_equal(lost("", SCHED_NO_SLOT), "worker3");
    assert_string_equal(ready(1), "open0 plan0 m0.3@0 m1.3@0");
}

static void a_stuck_task_whose_text_is_written_after_all_is_committed(void **unused)
{
    (void)unused;
    asking_job(0, 1, 0);
    ready(1);
    failed("m0.1@0", WEFT_ABORTED);
    failed("m0.2@0", WEFT_ABORTED);
    assert_string_equal(written(SCHED_MAP, 0), "done");
}

static void an_attempt_that_hangs_after_its_text_is_written_is_not_looked_into(void **unused)
{
    (void)unused;
    asking_job(0, 1, 0);
    ready(1);
    failed("m0.1@0", WEFT_ABORTED);
    assert_string_equal(written(SCHED_MAP, 0), "");
    assert_string_equal(timed_out("m0.2@0"), "kill");
    assert_string_equal(lost("m0.2@0", SCHED_NO_SLOT), "done");
}

static void a_stuck_suspect_does_not_make_the_others_run_alone(void **unused)
{
    (void)unused;
    asking_job(0, 4, 1);
    ready(2);
    lost("m0.1@0 m1.1@1", SCHED_NO_SLOT);
    assert_string_equal(ready(2), "open0 plan0 m0.2@0");
    assert_string_equal(failed("m0.2@0", WEFT_ABORTED), "stuck(ABORTED m0.2) m1.2@0");
    assert_string_equal(held("m1.2@0"), "m2.2@0 m3.1@1");
    assert_string_equal(excused(SCHED_MAP, 0), "");
    assert_string_equal(held("m2.2@0"), "m0.3@0");
    held("m0.3@0");
    assert_int_equal(charges(SCHED_MAP, 0), 0);
}

static void getting_stuck_is_no_progress(void **unused)
{
    (void)unused;
    asking_job(0, 1, 1);
    ready(1);
    failed("m0.1@0", WEFT_ABORTED);
    assert_string_equal(failed("m0.2@0", WEFT_ABORTED), "stuck(ABORTED m0.2)");
    assert_string_equal(lost("", SCHED_NO_SLOT), "worker2");
    assert_string_equal(lost("", SCHED_NO_SLOT), "worker3");
    excused(SCHED_MAP, 0);
    ready(1);
    held("m0.3@0");  // further than ever: the losses are forgotten
    assert_string_equal(lost("", SCHED_NO_SLOT), "worker4");
}

static void reduce_tasks_and_later_stages_fail_without_a_question(void **unused)
{
    (void)unused;
    const struct sched_stage stages[] = {{0, 0, 1}, {0, 1, 0}};
    const struct sched_plan plan = {
        .stages = stages, .stage_count = 2, .max_attempts = 1, .asks_before_failing = true};
    plan_of(plan);
    start();
    ready(1);
    assert_string_equal(failed("r0.1@0", WEFT_ABORTED), "kill failed(ABORTED r0)");
    plan_of(plan);
    start();
    ready(1);
    held("r0.1@0");
    assert_string_equal(committed(SCHED_REDUCE, 0), "open1 plan1 m0.1@0");
    assert_string_equal(failed("m0.1@0", WEFT_ABORTED), "kill failed(ABORTED m0)");
}

static void a_final_failure_is_not_looked_into(void **unused)
{
    (void)unused;
    asking_job(0, 1, 1);
    ready(1);
    assert_string_equal(step((struct sched_event){.type = EVENT_TASK_FAILED,
                                                  .at = attempt("m0.1@0"),
                                                  .code = WEFT_NOT_FOUND,
                                                  .is_final = true}),
                        "kill failed(NOT_FOUND m0)");
}

// ---- Restored tasks ---------------------------------------------------------------------------

static void plan_stages(const struct sched_stage *stages, uint32_t count)
{
    plan_of((struct sched_plan){.stages = stages, .stage_count = count});
}

static void restored_tasks_are_not_run(void **unused)
{
    (void)unused;
    plan_stages(&(struct sched_stage){0, 3, 2}, 1);
    assert_string_equal(restored(0, SCHED_MAP, 1), "");
    assert_string_equal(restored(0, SCHED_REDUCE, 0), "");
    assert_string_equal(start(), "worker1");
    assert_true(sched_is_durable(sched, 0, SCHED_MAP, 1));
    assert_string_equal(ready(1), "open0 plan0 m0.1@0 m2.1@0");
    lost("", SCHED_NO_SLOT);
    assert_string_equal(ready(2), "open0 plan0 m0.2@0 m2.2@1");
    held("m0.2@0");
    assert_string_equal(held("m2.2@1"), "seal@0 seal@1");
    committed(SCHED_MAP, 0);
    sealed(0);
    committed(SCHED_MAP, 2);
    assert_string_equal(sealed(1), "r1.1@0");
    held("r1.1@0");
    assert_string_equal(written(SCHED_REDUCE, 1), "done");
}

static void reduce_starts_at_once_when_all_map_tasks_are_restored(void **unused)
{
    (void)unused;
    plan_stages(&(struct sched_stage){0, 2, 1}, 1);
    restored(0, SCHED_MAP, 0);
    restored(0, SCHED_MAP, 1);
    start();
    assert_string_equal(ready(1), "open0 plan0 r0.1@0");
}

static void a_job_that_is_restored_as_a_whole_opens_its_output_and_is_done(void **unused)
{
    (void)unused;
    plan_stages((struct sched_stage[]){{1, 1, 1}, {1, 1, 1}}, 2);
    restored(1, SCHED_REDUCE, 0);
    assert_string_equal(start(), "worker1");
    assert_string_equal(lost("", SCHED_NO_SLOT), "worker2");  // no worker has opened it yet
    assert_string_equal(ready(1), "open1 done");
}

static void a_stage_that_reads_restored_output_goes_on_alone(void **unused)
{
    (void)unused;
    plan_stages((struct sched_stage[]){{0, 1, 1}, {0, 1, 0}}, 2);
    restored(0, SCHED_REDUCE, 0);
    start();
    assert_string_equal(ready(1), "open1 plan1 m0.1@0");
}

static void nothing_is_restored_after_the_start_or_beyond_the_plan(void **unused)
{
    (void)unused;
    plan_stages(&(struct sched_stage){0, 2, 1}, 1);
    restored(1, SCHED_MAP, 0);
    restored(0, SCHED_MAP, 2);
    restored(0, SCHED_KIND_COUNT, 0);
    start();
    restored(0, SCHED_MAP, 0);
    assert_int_equal(sched_count(sched, 0, SCHED_MAP, SCHED_COMMITTED), 0);
}

// ---- Checkpoints ------------------------------------------------------------------------------

static void a_checkpoint_is_for_every_slot_that_holds_something(void **unused)
{
    (void)unused;
    job(0, 9, 1);
    assert_string_equal(checkpoint(), "");  // no worker
    ready(3);
    assert_string_equal(checkpoint(), "");
    held("m0.1@0");
    held("m2.1@2");
    assert_string_equal(checkpoint(), "checkpoint@0 checkpoint@2");
    held("m1.1@1");
    assert_string_equal(checkpoint(), "checkpoint@1");  // the others are at it
    assert_string_equal(checkpointed(0), "");
    assert_string_equal(checkpoint(), "checkpoint@0");  // it saved nothing
}

static void what_a_checkpoint_committed_outlives_attempts_and_workers(void **unused)
{
    (void)unused;
    job(0, 4, 1);
    ready(1);
    held("m0.1@0");
    assert_string_equal(checkpoint(), "checkpoint@0");
    held("m1.1@0");  // too late for the checkpoint
    written(SCHED_MAP, 0);
    checkpointed(0);
    assert_string_equal(failed("m2.1@0", WEFT_ABORTED), "m1.2@0");
    assert_int_equal(sched_task_state(sched, 0, SCHED_MAP, 0), SCHED_COMMITTED);
    lost("", SCHED_NO_SLOT);
    assert_true(sched_is_durable(sched, 0, SCHED_MAP, 0));
    assert_string_equal(ready(1), "open0 plan0 m1.3@0 m2.2@0");
}

static void an_attempt_that_fails_amid_a_checkpoint_takes_only_what_is_held(void **unused)
{
    (void)unused;
    job(0, 4, 1);
    ready(1);
    held("m0.1@0");
    held("m1.1@0");
    checkpoint();
    written(SCHED_MAP, 0);
    assert_string_equal(failed("m2.1@0", WEFT_ABORTED), "m1.2@0");
    assert_string_equal(checkpointed(0), "");
    assert_int_equal(sched_count(sched, 0, SCHED_MAP, SCHED_COMMITTED), 1);
    assert_int_equal(sched_count(sched, 0, SCHED_MAP, SCHED_HELD), 0);
}

static void seal_and_reduce_wait_for_the_end_of_a_checkpoint(void **unused)
{
    (void)unused;
    job(0, 3, 1);
    ready(2);
    held("m0.1@0");
    assert_string_equal(checkpoint(), "checkpoint@0");
    held("m2.1@0");
    assert_string_equal(held("m1.1@1"), "seal@1");
    assert_string_equal(written(SCHED_MAP, 0), "");
    assert_string_equal(checkpointed(0), "seal@0");
    assert_string_equal(checkpoint(), "");  // all are sealing
    committed(SCHED_MAP, 1);
    assert_string_equal(sealed(1), "");
    committed(SCHED_MAP, 2);
    assert_string_equal(sealed(0), "r0.1@0");
    assert_false(sched_is_durable(sched, 0, SCHED_MAP, 2));
}

static void a_slot_with_nothing_left_to_seal_is_not_sealed(void **unused)
{
    (void)unused;
    job(0, 2, 1);
    ready(1);
    held("m0.1@0");
    held("m1.1@0");  // sealing has begun: no checkpoint any more
    assert_string_equal(checkpoint(), "");
    lost("", SCHED_NO_SLOT);
    ready(2);
    held("m0.2@0");
    assert_string_equal(checkpoint(), "checkpoint@0");
    assert_string_equal(held("m1.2@1"), "seal@1");
    committed(SCHED_MAP, 1);
    assert_string_equal(sealed(1), "");
    assert_string_equal(written(SCHED_MAP, 0), "");
    assert_string_equal(checkpointed(0), "r0.1@0");
}

static void a_worker_after_a_whole_checkpoint_only_reduces(void **unused)
{
    (void)unused;
    job(0, 1, 2);
    ready(1);
    held("m0.1@0");
    lost("", SCHED_NO_SLOT);
    ready(2);
    held("m0.2@0");
    written(SCHED_MAP, 0);
    assert_string_equal(sealed(0), "r0.1@0 r1.1@1");
    lost("", SCHED_NO_SLOT);
    assert_string_equal(ready(1), "open0 plan0 r0.2@0 r1.2@0");
}

static void a_checkpoint_in_another_phase_is_ignored(void **unused)
{
    (void)unused;
    job(1, 1, 1);
    ready(1);
    assert_string_equal(checkpoint(), "");
    held("s0.1@0");
    held("m0.1@0");
    committed(SCHED_MAP, 0);
    sealed(0);
    assert_string_equal(checkpoint(), "");
    assert_string_equal(checkpointed(0), "");
    job(0, 3, 0);
    ready(1);
    held("m0.1@0");
    assert_string_equal(checkpoint(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_that_keeps_failing_gets_stuck_and_the_others_go_on),
        cmocka_unit_test(an_excused_task_runs_again_with_all_its_attempts),
        cmocka_unit_test(a_condemned_task_ends_the_job_with_the_code_of_the_verdict),
        cmocka_unit_test(verdicts_on_tasks_that_are_not_stuck_are_ignored),
        cmocka_unit_test(a_stuck_sample_task_holds_up_the_plan),
        cmocka_unit_test(a_stuck_task_stays_stuck_when_the_worker_is_lost),
        cmocka_unit_test(a_verdict_counts_while_no_worker_is_ready),
        cmocka_unit_test(a_task_that_times_out_too_often_is_stuck_before_its_worker_is_dead),
        cmocka_unit_test(a_stuck_task_whose_text_is_written_after_all_is_committed),
        cmocka_unit_test(an_attempt_that_hangs_after_its_text_is_written_is_not_looked_into),
        cmocka_unit_test(a_stuck_suspect_does_not_make_the_others_run_alone),
        cmocka_unit_test(getting_stuck_is_no_progress),
        cmocka_unit_test(reduce_tasks_and_later_stages_fail_without_a_question),
        cmocka_unit_test(a_final_failure_is_not_looked_into),
        cmocka_unit_test(restored_tasks_are_not_run),
        cmocka_unit_test(reduce_starts_at_once_when_all_map_tasks_are_restored),
        cmocka_unit_test(a_job_that_is_restored_as_a_whole_opens_its_output_and_is_done),
        cmocka_unit_test(a_stage_that_reads_restored_output_goes_on_alone),
        cmocka_unit_test(nothing_is_restored_after_the_start_or_beyond_the_plan),
        cmocka_unit_test(a_checkpoint_is_for_every_slot_that_holds_something),
        cmocka_unit_test(what_a_checkpoint_committed_outlives_attempts_and_workers),
        cmocka_unit_test(an_attempt_that_fails_amid_a_checkpoint_takes_only_what_is_held),
        cmocka_unit_test(seal_and_reduce_wait_for_the_end_of_a_checkpoint),
        cmocka_unit_test(a_slot_with_nothing_left_to_seal_is_not_sealed),
        cmocka_unit_test(a_worker_after_a_whole_checkpoint_only_reduces),
        cmocka_unit_test(a_checkpoint_in_another_phase_is_ignored),
    };
    return cmocka_run_group_tests_name("sched_driver", tests, NULL, teardown);
}
