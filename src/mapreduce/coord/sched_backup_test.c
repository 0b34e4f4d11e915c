// Tests of second attempts: when one begins, which of the two counts, and what becomes of the slot and worker of the loser.
#include "mapreduce/coord/sched_testing.h"

static const char *from(uint32_t number, const char *(*say)(const char *), const char *at)
{
    worker = number;
    return say(at);
}

static const char *late(const char *at)
{
    return step((struct sched_event){.type = EVENT_ATTEMPT_LATE, .at = attempt(at)});
}

static const char *ends_badly(const char *at)
{
    return failed(at, WEFT_DATA_LOSS);
}

static const char *tell(uint32_t number, enum sched_event_type type)
{
    worker = number;
    return step((struct sched_event){.type = type});
}

static const char *lose_machine(uint32_t number)
{
    worker = number;
    return step((struct sched_event){
        .type = EVENT_WORKER_LOST, .crash_slot = SCHED_NO_SLOT, .is_blameless = true});
}

static const char *lose_process(uint32_t number, const char *inside)
{
    struct sched_attempt at = attempt(inside);
    at.stage = sched_stage(sched);
    worker = number;
    return step((struct sched_event){.type = EVENT_WORKER_LOST,
                                     .inside = &at,
                                     .inside_count = 1,
                                     .crash_slot = SCHED_NO_SLOT,
                                     .code = WEFT_ABORTED,
                                     .keeps_commits = true});
}

static const char *seal_of(uint32_t number, uint32_t slot)
{
    worker = number;
    return sealed(slot);
}

static enum sched_state state_of(enum sched_kind kind, uint32_t task)
{
    return sched_task_state(sched, sched_stage(sched), kind, task);
}

// Worker 1 is ready with slot_count slots, 2 is to come.
static const char *job_of(struct sched_stage stage, uint32_t slot_count, uint32_t max_attempts)
{
    plan_of((struct sched_plan){.stages = &stage,
                                .stage_count = 1,
                                .worker_count = 3,
                                .max_attempts = max_attempts,
                                .asks_before_failing = true,
                                .is_elastic = true});
    has_other_workers = true;
    assert_string_equal(start(), "worker1 worker2 worker3");
    worker = 1;
    return ready(slot_count);
}

static const char *come(uint32_t number, uint32_t slot_count)
{
    worker = number;
    return ready(slot_count);
}

// Map task 0 runs at worker 1, and its backup at worker 2.
static void job_with_a_backup(uint32_t max_attempts)
{
    job_of((struct sched_stage){0, 1, 1}, 1, max_attempts);
    come(2, 1);
    assert_string_equal(from(1, late, "m0.1@0"), "open0#2 plan0#2 m0.2@0#2");
}

// ---- Who wins -----------------------------------------------------------------------------------

static void the_first_that_ends_counts_and_the_other_is_dropped(void **unused)
{
    (void)unused;
    job_with_a_backup(0);
    assert_string_equal(from(2, held, "m0.2@0"), "seal@0#2");
    worker = 2;
    committed(SCHED_MAP, 0);
    assert_string_equal(sealed(0), "r0.1@0#2");  // worker 1 is not waited for
    assert_string_equal(from(1, held, "m0.1@0"), "drop@0#1");
    assert_int_equal(state_of(SCHED_MAP, 0), SCHED_COMMITTED);
}

static void a_loser_that_fails_charges_nobody(void **unused)
{
    (void)unused;
    job_with_a_backup(0);
    from(2, held, "m0.2@0");
    assert_string_equal(from(1, ends_badly, "m0.1@0"), "drop@0#1");
    assert_int_equal(charges(SCHED_MAP, 0), 0);
    assert_int_equal(state_of(SCHED_MAP, 0), SCHED_HELD);
}

static void a_loser_that_crashes_charges_nobody(void **unused)
{
    (void)unused;
    job_with_a_backup(0);
    from(2, held, "m0.2@0");
    lose_process(1, "m0.1@0");
    assert_int_equal(charges(SCHED_MAP, 0), 0);
}

static void a_failure_is_charged_and_the_twin_goes_on(void **unused)
{
    (void)unused;
    job_with_a_backup(0);
    assert_string_equal(from(1, ends_badly, "m0.1@0"), "");
    assert_int_equal(charges(SCHED_MAP, 0), 1);
    assert_int_equal(state_of(SCHED_MAP, 0), SCHED_RUNNING);
    assert_string_equal(from(2, held, "m0.2@0"), "seal@0#2");
}

static void a_lost_worker_leaves_the_task_to_the_twin(void **unused)
{
    (void)unused;
    job_with_a_backup(0);
    assert_string_equal(lose_machine(1), "worker4");
    assert_int_equal(state_of(SCHED_MAP, 0), SCHED_RUNNING);
    assert_string_equal(from(2, held, "m0.2@0"), "seal@0#2");
}

// ---- What a loser costs ---------------------------------------------------------------------------

// Slot 0 of worker 1 holds m0, and is late with m1.
static void what_a_spoiled_slot_held_runs_again_at_once(void **unused)
{
    (void)unused;
    assert_string_equal(job_of((struct sched_stage){0, 2, 1}, 1, 0),
                        "open0#1 plan0#1 m0.1@0#1 m1.1@0#1");
    from(1, held, "m0.1@0");
    come(2, 1);
    assert_string_equal(from(1, late, "m1.1@0"), "open0#2 plan0#2 m1.2@0#2");
    assert_string_equal(from(2, held, "m1.2@0"), "seal@0#2");
    worker = 2;
    committed(SCHED_MAP, 1);
    assert_string_equal(sealed(0), "m0.2@0#2");
    assert_string_equal(from(1, held, "m1.1@0"), "drop@0#1");
    assert_int_equal(state_of(SCHED_MAP, 0), SCHED_RUNNING);
}

// Slot 1 of worker 1 holds m1 when m0 has lost in slot 0: it is sealed, so that the worker can end.
static void other_slots_of_a_loser_are_sealed_and_it_ends_with_its_process(void **unused)
{
    (void)unused;
    job_of((struct sched_stage){0, 2, 1}, 2, 0);
    come(2, 1);
    assert_string_equal(from(1, late, "m0.1@0"), "open0#2 plan0#2 m0.2@0#2");
    assert_string_equal(from(2, held, "m0.2@0"), "seal@0#2");
    lose_machine(2);  // what won is lost, and worker 1 is alone
    assert_string_equal(from(1, held, "m1.1@1"), "seal@1#1");
    worker = 1;
    committed(SCHED_MAP, 1);
    assert_string_equal(seal_of(1, 1), "");
    assert_string_equal(from(1, late, "m0.1@0"), "kill#1");
}

static void a_worker_that_still_does_something_useful_is_not_killed(void **unused)
{
    (void)unused;
    job_of((struct sched_stage){0, 2, 1}, 2, 0);
    come(2, 1);
    from(1, late, "m0.1@0");
    from(2, held, "m0.2@0");
    assert_string_equal(from(1, late, "m0.1@0"), "");
    assert_int_equal(state_of(SCHED_MAP, 1), SCHED_RUNNING);
}

// m1 waits for m0 in the slot of worker 1; m0 has lost, and m1 cannot begin.
static void an_attempt_that_waits_for_a_late_one_is_late_too(void **unused)
{
    (void)unused;
    job_of((struct sched_stage){0, 5, 0}, 1, 0);  // m0 and m1 are in the slot
    come(2, 1);                                   // m2 and m3
    come(3, 1);
    assert_string_equal(from(3, held, "m4.1@0"), "");
    assert_string_equal(from(1, late, "m0.1@0"), "m0.2@0#3");
    worker = 3;
    written(SCHED_MAP, 0);
    assert_string_equal(from(3, held, "m0.2@0"), "m1.2@0#3");
    assert_string_equal(from(1, late, "m0.1@0"), "");
    worker = 3;
    written(SCHED_MAP, 1);
    from(3, held, "m1.2@0");
    assert_string_equal(from(1, late, "m0.1@0"), "kill#1");
}

// Only worker 1 is left for m2, and m1, which has lost, is still in its slot.
static void an_attempt_behind_a_loser_is_late_when_the_loser_is(void **unused)
{
    (void)unused;
    assert_string_equal(job_of((struct sched_stage){0, 3, 0}, 1, 0),
                        "open0#1 plan0#1 m0.1@0#1 m1.1@0#1");
    come(2, 1);
    come(3, 1);
    assert_string_equal(tell(1, EVENT_WORKER_SILENT), "open0#3 plan0#3 m0.2@0#3");
    worker = 3;
    written(SCHED_MAP, 0);
    assert_string_equal(from(3, held, "m0.2@0"), "m1.2@0#3");
    worker = 3;
    written(SCHED_MAP, 1);
    from(3, held, "m1.2@0");
    tell(1, EVENT_WORKER_BACK);
    assert_string_equal(from(1, held, "m0.1@0"), "");
    lose_machine(3);
    assert_string_equal(lose_machine(2), "worker5 m2.2@0#1");
    assert_string_equal(come(5, 1), "");
    assert_string_equal(from(1, late, "m1.1@0"), "open0#5 plan0#5 m2.3@0#5");
}

// ---- Samples --------------------------------------------------------------------------------------

static void no_plan_comes_while_a_sample_that_lost_is_taken(void **unused)
{
    (void)unused;
    job_of((struct sched_stage){1, 2, 1}, 1, 0);
    come(2, 1);
    assert_string_equal(from(1, late, "s0.1@0"), "open0#2 s0.2@0#2");
    assert_string_equal(from(2, held, "s0.2@0"), "plan0#2 m0.1@0#2");
    assert_string_equal(from(1, held, "s0.1@0"), "plan0#1 m1.1@0#1");
}

static void the_twin_of_a_sample_that_got_stuck_has_lost(void **unused)
{
    (void)unused;
    job_of((struct sched_stage){1, 2, 1}, 1, 1);
    come(2, 1);
    from(1, late, "s0.1@0");
    assert_string_equal(lose_process(1, "s0.1@0"), "stuck(ABORTED s0.1) worker4");
    assert_string_equal(come(4, 1), "open0#4");
    assert_string_equal(excused(SCHED_SAMPLE, 0), "s0.3@0#4");
    assert_string_equal(from(4, held, "s0.3@0"), "plan0#4 m0.1@0#4");
    assert_string_equal(from(2, held, "s0.2@0"), "plan0#2 m1.1@0#2");
}

// ---- Who gets a backup ------------------------------------------------------------------------------

// The suspects m0 and m1 wait for worker 2 to end m2, which is late: without a second attempt at m2 all would wait for it.
static void suspects_that_wait_are_no_reason_to_wait_for_a_late_attempt(void **unused)
{
    (void)unused;
    struct sched_attempt inside[] = {{SCHED_MAP, 0, 1, 0, 0}, {SCHED_MAP, 1, 1, 1, 0}};
    job_of((struct sched_stage){0, 3, 1}, 2, 0);
    assert_string_equal(come(2, 1), "open0#2 plan0#2 m2.1@0#2");
    worker = 1;
    step((struct sched_event){.type = EVENT_WORKER_LOST,
                              .inside = inside,
                              .inside_count = 2,
                              .crash_slot = SCHED_NO_SLOT,
                              .code = WEFT_ABORTED,
                              .keeps_commits = true});
    assert_string_equal(come(3, 1), "");
    assert_string_equal(from(2, late, "m2.1@0"), "open0#3 plan0#3 m2.2@0#3");
}

static void all_attempts_of_a_silent_slot_get_a_second_one_at_once(void **unused)
{
    (void)unused;
    assert_string_equal(job_of((struct sched_stage){0, 2, 0}, 1, 0),
                        "open0#1 plan0#1 m0.1@0#1 m1.1@0#1");
    assert_string_equal(come(2, 2), "");
    assert_string_equal(tell(1, EVENT_WORKER_SILENT), "open0#2 plan0#2 m0.2@0#2 m1.2@1#2");
}

static void slots_are_sealed_when_only_suspects_are_pending(void **unused)
{
    (void)unused;
    assert_string_equal(job_of((struct sched_stage){0, 6, 1}, 1, 0),
                        "open0#1 plan0#1 m0.1@0#1 m1.1@0#1");
    assert_string_equal(come(2, 3), "open0#2 plan0#2 m2.1@0#2 m3.1@1#2 m4.1@2#2");
    const struct sched_attempt inside[] = {attempt("m2.1@0"), attempt("m3.1@1"), attempt("m4.1@2")};
    step((struct sched_event){.type = EVENT_WORKER_LOST,
                              .inside = inside,
                              .inside_count = 3,
                              .crash_slot = SCHED_NO_SLOT,
                              .code = WEFT_ABORTED,
                              .keeps_commits = true});
    assert_string_equal(come(5, 1), "open0#5 plan0#5 m5.1@0#5");
    // Three suspects wait for worker 1 to be free, which hangs.
    assert_string_equal(from(5, held, "m5.1@0"), "seal@0#5");
    worker = 5;
    committed(SCHED_MAP, 5);
    assert_string_equal(sealed(0), "");
    assert_string_equal(from(1, late, "m0.1@0"), "m0.2@0#5");
}

static void a_silent_worker_is_not_sealed_and_its_attempts_are_late(void **unused)
{
    (void)unused;
    job_of((struct sched_stage){0, 2, 1}, 2, 0);
    from(1, held, "m0.1@0");
    assert_string_equal(tell(1, EVENT_WORKER_SILENT), "");
    assert_string_equal(come(2, 1), "open0#2 plan0#2 m1.2@0#2");
    assert_string_equal(from(2, held, "m1.2@0"), "seal@0#2");
    assert_string_equal(tell(1, EVENT_WORKER_BACK), "seal@0#1");
}

static void of_late_attempts_one_has_a_backup_where_slots_are_few(void **unused)
{
    (void)unused;
    job_of((struct sched_stage){0, 2, 1}, 2, 0);
    come(2, 2);
    assert_string_equal(from(1, late, "m0.1@0"), "open0#2 plan0#2 m0.2@0#2");
    assert_string_equal(from(1, late, "m1.1@1"), "");
    assert_string_equal(from(2, held, "m0.2@0"), "seal@0#2 m1.2@1#2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_ends_counts_and_the_other_is_dropped),
        cmocka_unit_test(a_loser_that_fails_charges_nobody),
        cmocka_unit_test(a_loser_that_crashes_charges_nobody),
        cmocka_unit_test(a_failure_is_charged_and_the_twin_goes_on),
        cmocka_unit_test(a_lost_worker_leaves_the_task_to_the_twin),
        cmocka_unit_test(what_a_spoiled_slot_held_runs_again_at_once),
        cmocka_unit_test(other_slots_of_a_loser_are_sealed_and_it_ends_with_its_process),
        cmocka_unit_test(a_worker_that_still_does_something_useful_is_not_killed),
        cmocka_unit_test(an_attempt_that_waits_for_a_late_one_is_late_too),
        cmocka_unit_test(an_attempt_behind_a_loser_is_late_when_the_loser_is),
        cmocka_unit_test(no_plan_comes_while_a_sample_that_lost_is_taken),
        cmocka_unit_test(the_twin_of_a_sample_that_got_stuck_has_lost),
        cmocka_unit_test(suspects_that_wait_are_no_reason_to_wait_for_a_late_attempt),
        cmocka_unit_test(all_attempts_of_a_silent_slot_get_a_second_one_at_once),
        cmocka_unit_test(slots_are_sealed_when_only_suspects_are_pending),
        cmocka_unit_test(a_silent_worker_is_not_sealed_and_its_attempts_are_late),
        cmocka_unit_test(of_late_attempts_one_has_a_backup_where_slots_are_few),
    };
    return cmocka_run_group_tests_name("sched_backup", tests, NULL, teardown);
}
