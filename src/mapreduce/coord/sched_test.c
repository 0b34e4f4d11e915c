// Tests of the scheduler, rule by rule. Actions are compared as text: "open0 plan0 m0.1@2" opens and
// plans stage 0 and runs attempt 1 of map task 0 in slot 2.

#include "mapreduce/coord/sched.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct sched *sched;
static struct sched_actions actions;
static uint32_t worker;  // whose events are sent

static const char *actions_text(void)
{
    static char text[4096];
    char *at = text;
    *at = 0;
    for (uint32_t i = 0; i < actions.count && at < text + sizeof text - 64; i++) {
        const struct sched_action *action = &actions.items[i];
        const struct sched_attempt *run = &action->at;
        const char kind = "smr"[run->kind];
        at += sprintf(at, "%s", i ? " " : "");
        if (action->type == ACTION_START_WORKER)
            at += sprintf(at, "worker%u", action->worker);
        else if (action->type == ACTION_STAGE_OPEN)
            at += sprintf(at, "open%u", action->stage);
        else if (action->type == ACTION_STAGE_PLAN)
            at += sprintf(at, "plan%u", action->stage);
        else if (action->type == ACTION_RUN)
            at += sprintf(at, "%c%u.%u@%u", kind, run->task, run->attempt, run->slot);
        else if (action->type == ACTION_SEAL)
            at += sprintf(at, "seal@%u", run->slot);
        else if (action->type == ACTION_KILL_WORKER)
            at += sprintf(at, "kill");
        else if (action->type == ACTION_JOB_DONE)
            at += sprintf(at, "done");
        else if (run->task == SCHED_NO_TASK)
            at += sprintf(at, "failed(%s)", weft_err_name(action->code));
        else
            at += sprintf(at, "failed(%s %c%u)", weft_err_name(action->code), kind, run->task);
    }
    return text;
}

static const char *step(struct sched_event event)
{
    event.worker = worker;
    sched_step(sched, &event, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        if (actions.items[i].type == ACTION_START_WORKER)
            worker = actions.items[i].worker;
    return actions_text();
}

// ---- Events in few words ----------------------------------------------------------------------

static struct sched_attempt attempt(const char *text)
{
    struct sched_attempt at = {0};
    char kind;
    assert_int_equal(sscanf(text, "%c%u.%u@%u", &kind, &at.task, &at.attempt, &at.slot), 4);
    at.kind = kind == 's' ? SCHED_SAMPLE : kind == 'm' ? SCHED_MAP : SCHED_REDUCE;
    return at;
}

static const char *ready(uint32_t slot_count)
{
    return step((struct sched_event){.type = EVENT_WORKER_READY, .slot_count = slot_count});
}

static const char *held(const char *at)
{
    return step((struct sched_event){.type = EVENT_TASK_HELD, .at = attempt(at)});
}

static const char *failed(const char *at, weft_err code)
{
    return step((struct sched_event){.type = EVENT_TASK_FAILED, .at = attempt(at), .code = code});
}

static const char *committed(enum sched_kind kind, uint32_t task)
{
    return step((struct sched_event){.type = EVENT_TASK_COMMITTED, .at = {kind, task, 0, 0}});
}

static const char *written(enum sched_kind kind, uint32_t task)
{
    return step((struct sched_event){
        .type = EVENT_TASK_COMMITTED, .at = {kind, task, 0, 0}, .is_durable = true});
}

static const char *sealed(uint32_t slot)
{
    return step((struct sched_event){.type = EVENT_SEALED, .at.slot = slot});
}

static const char *timed_out(const char *at)
{
    return step((struct sched_event){.type = EVENT_TASK_TIMED_OUT, .at = attempt(at)});
}

// The attempts inside, separated by blanks.
static const char *lost(const char *inside_text, uint32_t crash_slot)
{
    struct sched_attempt inside[8];
    uint32_t count = 0;
    for (const char *at = inside_text; at && *at; at = strchr(at, ' '))
        inside[count++] = attempt(at += *at == ' ');
    return step((struct sched_event){.type = EVENT_WORKER_LOST,
                                     .inside = inside,
                                     .inside_count = count,
                                     .crash_slot = crash_slot,
                                     .code = WEFT_ABORTED});
}

static void job_of_stages(const struct sched_stage *stages, uint32_t count, uint32_t max_attempts)
{
    sched_free(sched);
    worker = 0;
    sched = sched_new(&(struct sched_plan){stages, count, max_attempts});
    assert_non_null(sched);
    assert_string_equal(step((struct sched_event){.type = EVENT_START}), "worker1");
}

static void job(uint32_t sample_count, uint32_t map_count, uint32_t reduce_count)
{
    job_of_stages(&(struct sched_stage){sample_count, map_count, reduce_count}, 1, 0);
}

static uint32_t charges(enum sched_kind kind, uint32_t task)
{
    return sched_charges(sched, sched_stage(sched), kind, task);
}

static int teardown(void **unused)
{
    (void)unused;
    sched_free(sched);
    sched = NULL;
    return 0;
}

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

static void all_that_one_event_can_bring_about_has_room(void **unused)
{
    (void)unused;
    static struct sched_stage stages[SCHED_STAGES_MAX];
    stages[SCHED_STAGES_MAX - 1] = (struct sched_stage){0, 2000, 1};
    job_of_stages(stages, SCHED_STAGES_MAX, 0);
    ready(SLOTS_MAX);
    assert_int_equal(actions.count, 2 * SCHED_STAGES_MAX + SCHED_QUEUE_MAX * SLOTS_MAX);
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

// ---- Losses -----------------------------------------------------------------------------------

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
    assert_null(sched_new(&(struct sched_plan){&stage, 1, 0}));
    assert_string_equal(err_text(), "a job of 16777217 tasks: at most 16777216 are possible");
    assert_null(sched_new(&(struct sched_plan){&stage, 0, 0}));
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
        cmocka_unit_test(all_that_one_event_can_bring_about_has_room),
        cmocka_unit_test(second_finisher_of_a_task_is_discarded),
        cmocka_unit_test(an_end_that_is_said_twice_counts_once),
        cmocka_unit_test(an_end_from_another_slot_or_attempt_is_ignored),
        cmocka_unit_test(failed_map_takes_what_its_slot_holds_with_it_uncharged),
        cmocka_unit_test(failed_task_whose_output_goes_to_the_sink_takes_nothing_with_it),
        cmocka_unit_test(fourth_charged_attempt_fails_the_job_with_its_code),
        cmocka_unit_test(final_failure_ends_the_job_at_once),
        cmocka_unit_test(seal_that_loses_tasks_is_followed_by_them_and_another_seal),
        cmocka_unit_test(a_map_task_for_a_reduce_is_committed_only_while_it_is_held),
        cmocka_unit_test(lost_worker_takes_map_commits_but_not_written_output),
        cmocka_unit_test(worker_lost_after_the_last_text_is_written_is_not_missed),
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
        cmocka_unit_test(cancel_kills_the_worker_and_fails_with_its_code),
        cmocka_unit_test(worker_that_says_it_cannot_go_on_ends_the_job),
        cmocka_unit_test(nothing_comes_out_after_the_end),
        cmocka_unit_test(plans_beyond_the_limits_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests_name("sched", tests, NULL, teardown);
}
