// Tests of what a lost worker takes with it, and of who is charged for it.
#include "mapreduce/coord/sched_testing.h"

// One map task committed, two reduce tasks in two slots.
static void job_in_reduce(void)
{
    job(1, 1, 2);
    ready(2);
    held("s0.1@0");
    held("m0.1@0");
    committed(SCHED_MAP, 0);
    assert_string_equal(sealed(0), "r0.1@0 r1.1@1");
}

static void lost_worker_takes_map_commits_but_not_written_output(void **unused)
{
    (void)unused;
    job_in_reduce();
    held("r0.1@0");
    written(SCHED_REDUCE, 0);
    assert_string_equal(lost("r1.1@1", SCHED_NO_SLOT), "worker2");
    assert_string_equal(ready(2), "open0 plan0 m0.2@0");
    held("m0.2@0");
    committed(SCHED_MAP, 0);
    assert_string_equal(sealed(0), "r1.2@0");
    held("r1.2@0");
    assert_string_equal(written(SCHED_REDUCE, 1), "done");
}

static void worker_lost_after_the_last_text_is_written_is_not_missed(void **unused)
{
    (void)unused;
    job_in_reduce();
    written(SCHED_REDUCE, 0);
    written(SCHED_REDUCE, 1);
    assert_string_equal(lost("r1.1@1", SCHED_NO_SLOT), "done");
}

static void an_attempt_that_hangs_after_all_output_is_written_fails_no_job(void **unused)
{
    (void)unused;
    job_of_stages(&(struct sched_stage){0, 2, 0}, 1, 1);
    ready(2);
    held("m1.1@1");
    written(SCHED_MAP, 0);
    written(SCHED_MAP, 1);
    assert_string_equal(timed_out("m0.1@0"), "kill");
    assert_string_equal(lost("m0.1@0", SCHED_NO_SLOT), "done");
}

static void worker_lost_in_a_later_stage_takes_the_job_back_to_the_first(void **unused)
{
    (void)unused;
    job_of_stages((struct sched_stage[]){{1, 1, 0}, {1, 1, 0}}, 2, 0);
    ready(1);
    held("s0.1@0");
    held("m0.1@0");
    assert_string_equal(committed(SCHED_MAP, 0), "open1 s0.1@0");
    assert_string_equal(lost("s0.1@0", SCHED_NO_SLOT), "worker2");
    assert_int_equal(sched_stage(sched), 0);
    assert_string_equal(ready(1), "open0 plan0 m0.2@0");
}

static void later_stage_goes_on_alone_when_what_it_reads_is_durable(void **unused)
{
    (void)unused;
    job_of_stages((struct sched_stage[]){{0, 1, 0}, {0, 1, 0}}, 2, 0);
    ready(1);
    held("m0.1@0");
    assert_string_equal(written(SCHED_MAP, 0), "open1 plan1 m0.1@0");
    assert_string_equal(lost("", SCHED_NO_SLOT), "worker2");
    assert_string_equal(ready(1), "open1 plan1 m0.2@0");
}

static void what_a_lost_worker_still_says_is_ignored(void **unused)
{
    (void)unused;
    job_in_reduce();
    lost("", SCHED_NO_SLOT);
    worker = 1;
    assert_string_equal(held("r0.1@0"), "");
    assert_string_equal(written(SCHED_REDUCE, 0), "");
    assert_string_equal(ready(2), "");
    assert_string_equal(lost("", SCHED_NO_SLOT), "");
    worker = 2;
    assert_string_equal(ready(1), "open0 plan0 m0.2@0");
    assert_int_equal(sched_count(sched, 0, SCHED_REDUCE, SCHED_PENDING), 2);
}

static void crash_in_a_known_slot_is_charged_to_its_attempt_only(void **unused)
{
    (void)unused;
    job_in_reduce();
    assert_string_equal(lost("r0.1@0 r1.1@1", 1), "worker2");
    assert_int_equal(charges(SCHED_REDUCE, 0), 0);
    assert_int_equal(charges(SCHED_REDUCE, 1), 1);
}

static void the_task_that_waits_in_a_queue_is_not_charged(void **unused)
{
    (void)unused;
    job(0, 4, 1);
    ready(1);
    assert_string_equal(lost("m0.1@0", SCHED_NO_SLOT), "worker2");
    assert_int_equal(charges(SCHED_MAP, 0), 1);
    assert_int_equal(charges(SCHED_MAP, 1), 0);
}

static void suspects_of_a_crash_run_alone_and_before_the_others(void **unused)
{
    (void)unused;
    job(0, 9, 1);
    ready(3);
    held("m0.1@0");
    assert_string_equal(lost("m3.1@0 m1.1@1 m2.1@2", SCHED_NO_SLOT), "worker2");
    assert_string_equal(ready(3), "open0 plan0 m1.2@0");
    assert_string_equal(held("m1.2@0"), "m2.2@0");
    assert_string_equal(failed("m2.2@0", WEFT_ABORTED), "m2.3@0");
    assert_string_equal(held("m2.3@0"), "m3.2@0");
    assert_string_equal(held("m3.2@0"), "m0.2@0 m1.3@1 m4.2@2 m5.2@0 m6.2@1");
}

static void innocent_suspect_gets_its_charge_back_and_the_guilty_one_is_found(void **unused)
{
    (void)unused;
    job(0, 2, 1);
    ready(2);
    lost("m0.1@0 m1.1@1", SCHED_NO_SLOT);
    assert_int_equal(charges(SCHED_MAP, 0), 1);
    assert_int_equal(charges(SCHED_MAP, 1), 1);
    assert_string_equal(ready(2), "open0 plan0 m0.2@0");
    assert_string_equal(held("m0.2@0"), "m1.2@0");
    assert_int_equal(charges(SCHED_MAP, 0), 0);
    lost("m1.2@0", SCHED_NO_SLOT);
    assert_string_equal(ready(2), "open0 plan0 m1.3@0");
    lost("m1.3@0", SCHED_NO_SLOT);
    assert_string_equal(ready(2), "open0 plan0 m1.4@0");
    assert_string_equal(lost("m1.4@0", SCHED_NO_SLOT), "failed(ABORTED m1)");
}

static void a_job_does_not_fail_by_suspicion(void **unused)
{
    (void)unused;
    job_of_stages(&(struct sched_stage){0, 2, 1}, 1, 1);
    ready(2);
    assert_string_equal(lost("m0.1@0 m1.1@1", SCHED_NO_SLOT), "worker2");
    assert_string_equal(ready(2), "open0 plan0 m0.2@0");
    assert_string_equal(lost("m0.2@0", SCHED_NO_SLOT), "failed(ABORTED m0)");
}

static void an_attempt_beside_one_that_is_committed_is_only_a_suspect(void **unused)
{
    (void)unused;
    job_in_reduce();
    written(SCHED_REDUCE, 0);
    lost("r0.1@0 r1.1@1", SCHED_NO_SLOT);
    assert_int_equal(charges(SCHED_REDUCE, 0), 0);
    assert_int_equal(charges(SCHED_REDUCE, 1), 1);
    ready(1);
    held("m0.2@0");
    committed(SCHED_MAP, 0);
    assert_string_equal(sealed(0), "r1.2@0");
    held("r1.2@0");
    assert_int_equal(charges(SCHED_REDUCE, 1), 0);
}

static void three_unexplained_losses_without_progress_end_the_job(void **unused)
{
    (void)unused;
    job(0, 1, 1);
    assert_string_equal(lost("", SCHED_NO_SLOT), "worker2");
    assert_string_equal(lost("", SCHED_NO_SLOT), "worker3");
    assert_string_equal(lost("", SCHED_NO_SLOT), "failed(UNAVAILABLE)");
}

static void only_a_task_that_comes_further_than_ever_is_progress(void **unused)
{
    (void)unused;
    job(0, 1, 1);
    lost("", SCHED_NO_SLOT);
    lost("", SCHED_NO_SLOT);
    ready(1);
    held("m0.1@0");  // for the first time
    assert_string_equal(lost("", 0), "worker4");
    ready(1);
    held("m0.2@0");
    assert_string_equal(lost("", 0), "worker5");
    ready(1);
    held("m0.3@0");
    assert_string_equal(lost("", 0), "failed(UNAVAILABLE)");  // each time while sealing
}

static void timed_out_attempt_is_charged_once_and_its_worker_killed(void **unused)
{
    (void)unused;
    job(0, 4, 1);
    ready(2);
    assert_string_equal(timed_out("m0.1@0"), "kill");
    assert_string_equal(timed_out("m0.1@0"), "");
    assert_string_equal(held("m1.1@1"), "");  // still in the socket; it gets nothing more to do
    assert_string_equal(failed("m0.1@0", WEFT_ABORTED), "");
    assert_string_equal(lost("m3.1@1", SCHED_NO_SLOT), "worker2");
    assert_int_equal(charges(SCHED_MAP, 0), 1);
    assert_int_equal(charges(SCHED_MAP, 3), 0);
    assert_string_equal(ready(1), "open0 plan0 m0.2@0 m1.2@0");
}

static void attempts_that_always_time_out_fail_the_job(void **unused)
{
    (void)unused;
    job_of_stages(&(struct sched_stage){0, 1, 0}, 1, 2);
    ready(1);
    timed_out("m0.1@0");
    lost("m0.1@0", SCHED_NO_SLOT);
    ready(1);
    assert_string_equal(timed_out("m0.2@0"), "kill failed(DEADLINE_EXCEEDED m0)");
}

static void a_timeout_that_comes_after_the_end_is_ignored(void **unused)
{
    (void)unused;
    job(0, 2, 1);
    ready(1);
    held("m0.1@0");
    assert_string_equal(timed_out("m0.1@0"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_worker_takes_map_commits_but_not_written_output),
        cmocka_unit_test(worker_lost_after_the_last_text_is_written_is_not_missed),
        cmocka_unit_test(an_attempt_that_hangs_after_all_output_is_written_fails_no_job),
        cmocka_unit_test(worker_lost_in_a_later_stage_takes_the_job_back_to_the_first),
        cmocka_unit_test(later_stage_goes_on_alone_when_what_it_reads_is_durable),
        cmocka_unit_test(what_a_lost_worker_still_says_is_ignored),
        cmocka_unit_test(crash_in_a_known_slot_is_charged_to_its_attempt_only),
        cmocka_unit_test(the_task_that_waits_in_a_queue_is_not_charged),
        cmocka_unit_test(suspects_of_a_crash_run_alone_and_before_the_others),
        cmocka_unit_test(innocent_suspect_gets_its_charge_back_and_the_guilty_one_is_found),
        cmocka_unit_test(a_job_does_not_fail_by_suspicion),
        cmocka_unit_test(an_attempt_beside_one_that_is_committed_is_only_a_suspect),
        cmocka_unit_test(three_unexplained_losses_without_progress_end_the_job),
        cmocka_unit_test(only_a_task_that_comes_further_than_ever_is_progress),
        cmocka_unit_test(timed_out_attempt_is_charged_once_and_its_worker_killed),
        cmocka_unit_test(attempts_that_always_time_out_fail_the_job),
        cmocka_unit_test(a_timeout_that_comes_after_the_end_is_ignored),
    };
    return cmocka_run_group_tests_name("sched_loss", tests, NULL, teardown);
}
