// Tests of run/driver/probe, with a worker that is played here: the agent (run/driver/agent/agent.h) is replaced.

#include "run/driver/bad/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { KIB = 1024, INPUT_BYTES = 64 * KIB, NO_PLACE = -1 };

// ---- The worker ---------------------------------------------------------------------------------

// Its last orders, and how its tries end: one with the record at bad_offset fails, or crashes it.
static struct {
    struct agent *agent;
    bool has_worker, has_task, is_look, has_bad_record, can_start, fails_always;
    bool crashes, fails_when_looking;
    int64_t bad_offset;
    size_t skip_count;
    unsigned start_count, try_count;
} worker;

void agent_init(struct agent *agent, const struct agent_options *options)
{
    *agent = (struct agent){.options = *options};
    worker.agent = agent;
}

void agent_fini(struct agent *agent)
{
    (void)agent;
    worker.has_worker = false;
}

weft_err agent_start(struct agent *agent, int output_fd)
{
    (void)agent;
    (void)output_fd;
    if (!worker.can_start)
        return err_set(WEFT_UNAVAILABLE, "cannot start a process");
    worker.has_worker = true;
    worker.has_task = false;
    worker.start_count++;
    return WEFT_OK;
}

bool agent_has_worker(const struct agent *agent)
{
    (void)agent;
    return worker.has_worker;
}

uint32_t agent_holder(const struct agent *agent)
{
    (void)agent;
    return 0;
}

weft_err agent_send(struct agent *agent, Weft__FrameType type, const ProtobufCMessage *message)
{
    (void)agent;
    if (type != WEFT__FRAME_TYPE__FRAME_TASK_RUN)
        return WEFT_OK;
    const Weft__TaskRun *run = (const Weft__TaskRun *)message;
    worker.has_task = true;
    worker.is_look = run->purpose == WEFT__PURPOSE__PURPOSE_LOOK;
    worker.try_count += !worker.is_look;
    worker.skip_count = run->n_skips;
    worker.has_bad_record = false;
    for (size_t i = 0; i < run->n_pieces; i++)
        worker.has_bad_record |= worker.bad_offset >= (int64_t)run->pieces[i]->begin &&
                                 worker.bad_offset < (int64_t)run->pieces[i]->end;
    return WEFT_OK;
}

weft_err agent_open_file(const struct agent *agent, uint32_t number, int *fd)
{
    (void)agent, (void)number, (void)fd;
    fail_msg("%s", "a search shares no files");
    return WEFT_INTERNAL;
}

void agent_kill(struct agent *agent)
{
    (void)agent;
}

void agent_read_attempt(const struct agent *agent, uint32_t slot, struct agent_attempt *at)
{
    (void)agent;
    *at = (struct agent_attempt){.slot = slot};
}

bool agent_times_records(const struct agent *agent, uint32_t slot)
{
    (void)agent, (void)slot;
    return false;
}

static void end_task(bool has_failed)
{
    const struct agent_options *options = &worker.agent->options;
    Weft__TaskEnd end = WEFT__TASK_END__INIT;
    Weft__BadRecord record = WEFT__BAD_RECORD__INIT, *records[] = {&record};
    end.kind = WEFT__TASK_KIND__TASK_MAP;
    end.code = has_failed ? WEFT_ABORTED : WEFT_OK;
    end.text = has_failed ? "the moon is full" : end.text;
    record.offset = (uint64_t)worker.bad_offset;
    record.size = 7;
    record.text = message_bytes(weft_text("a record"));
    if (worker.is_look) {
        end.n_bad = 1;
        end.bad = records;
    }
    worker.has_task = false;
    options->calls->message(options->owner, WEFT__FRAME_TYPE__FRAME_TASK_END, &end.base);
}

static void die(void)
{
    const struct process_exit exit = {.is_known = true, .was_signalled = true, .number = 9};
    const struct agent_loss loss = {.exit = &exit, .was_ready = true};
    worker.has_worker = worker.has_task = false;
    worker.agent->options.calls->lost(worker.agent->options.owner, &loss);
}

// Plays the worker until there is nothing to do for it.
static void play(void)
{
    while (worker.has_worker) {
        if (!worker.has_task)
            worker.agent->options.calls->ready(worker.agent->options.owner, WEFT_OK);
        else if (worker.is_look && worker.fails_when_looking)
            die();
        else if (worker.is_look)
            end_task(false);
        else if ((worker.has_bad_record || worker.fails_always) && worker.crashes)
            die();
        else
            end_task(worker.has_bad_record || worker.fails_always);
    }
}

// ---- The owner ----------------------------------------------------------------------------------

struct scene {
    struct run_options options;
    struct input names[1];
    struct input_look looks[1];
    struct run_plan plan;
    struct tally tally;
    struct bad_records bad;
    struct probe probe;
    unsigned begun, found, not_found, failed;
    struct probe_task task;  // of the last answer
    struct bad_record record;
    char how[200];
    enum bisect_state state;
};

static void take_begun(void *owner)
{
    ((struct scene *)owner)->begun++;
}

static void take_found(void *owner, const struct probe_task *task, const struct bad_record *record,
                       const char *how)
{
    struct scene *scene = owner;
    scene->found++;
    scene->task = *task;
    scene->record = *record;
    snprintf(scene->how, sizeof scene->how, "%s", how);
}

static void take_not_found(void *owner, const struct probe_task *task, enum bisect_state state)
{
    struct scene *scene = owner;
    scene->not_found++;
    scene->task = *task;
    scene->state = state;
}

static void take_failed(void *owner, weft_err code)
{
    struct scene *scene = owner;
    assert_int_not_equal(code, WEFT_OK);
    scene->failed++;
}

static void map(weft_task *task, weft_bytes record)
{
    (void)task;
    (void)record;
}

static void set_up(struct scene *scene, int64_t bad_offset)
{
    static const weft_job job = {.name = "plain", .map = map};
    static const struct probe_calls calls = {take_begun, take_found, take_not_found, take_failed};
    const struct plan_input whole = {.size = INPUT_BYTES};
    worker = (typeof(worker)){.can_start = true, .bad_offset = bad_offset};
    *scene = (struct scene){.names = {{.name = "in", .path = "in", .size = INPUT_BYTES}},
                            .looks = {{.size = INPUT_BYTES}}};
    assert_int_equal(run_plan_init(&scene->plan, &job, &scene->options), WEFT_OK);
    assert_int_equal(plan_init(&scene->plan.split, &whole, 1, &(struct plan_options){0}), WEFT_OK);
    scene->plan.inputs = (struct inputs){.items = scene->names, .count = 1};
    scene->plan.looks = scene->looks;
    assert_int_equal(tally_init(&scene->tally, 1), WEFT_OK);
    bad_records_init(&scene->bad, &scene->plan, &scene->tally);
    static struct items *const no_items = NULL;
    const struct probe_options options = {.items = &no_items,
                                          .plan = &scene->plan,
                                          .bad = &scene->bad,
                                          .calls = &calls,
                                          .owner = scene};
    probe_init(&scene->probe, &options);
}

static void tear_down(struct scene *scene)
{
    probe_fini(&scene->probe);
    bad_records_fini(&scene->bad);
    tally_fini(&scene->tally);
    plan_fini(&scene->plan.split);
    chain_fini(&scene->plan.chain);
}

static void look_into(struct scene *scene, uint32_t attempt)
{
    const struct probe_task task = {.at = {.kind = SCHED_MAP, .attempt = attempt},
                                    .code = WEFT_ABORTED,
                                    .why = "it failed",
                                    .next = "another day"};
    probe_look_into(&scene->probe, &task);
}

// ---- The tests ----------------------------------------------------------------------------------

static void the_record_that_fails_is_found(void **state)
{
    (void)state;
    static const int64_t offsets[] = {0, 1, 12345, INPUT_BYTES - 1};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        for (int crashes = 0; crashes < 2; crashes++) {
            struct scene scene;
            set_up(&scene, offsets[i]);
            worker.crashes = crashes;
            look_into(&scene, 4);
            play();
            assert_int_equal(scene.begun, 1);
            assert_int_equal(scene.found, 1);
            assert_int_equal(scene.not_found + scene.failed, 0);
            assert_int_equal(scene.record.place.offset, offsets[i]);
            assert_int_equal(scene.record.size, 7);
            assert_int_equal(scene.task.at.attempt, 4);
            assert_string_equal(scene.task.why, "it failed");
            assert_string_equal(scene.record.reason, scene.how);
            if (!crashes)
                assert_string_equal(scene.how, "the moon is full");
            assert_int_equal(worker.start_count > 1, crashes);
            tear_down(&scene);
        }
}

static void where_harm_was_seen_is_tried_first(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 12345);
    look_into(&scene, 1);
    play();
    const unsigned tries = worker.try_count;
    assert_int_equal(scene.found, 1);
    tear_down(&scene);
    set_up(&scene, 12345);
    probe_note_harm(&scene.probe, SCHED_MAP, 0, (struct place){0, 99}, 100);
    probe_note_harm(&scene.probe, SCHED_MAP, 0, (struct place){0, 12345},
                    12400);  // the last counts
    look_into(&scene, 1);
    play();
    assert_int_equal(scene.found, 1);
    assert_int_equal(scene.record.place.offset, 12345);
    assert_true(worker.try_count < tries / 2);
    tear_down(&scene);
}

static void a_task_that_fails_without_a_record_is_no_records_fault(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, NO_PLACE);
    worker.fails_always = true;
    look_into(&scene, 1);
    play();
    assert_int_equal(scene.not_found, 1);
    assert_int_equal(scene.state, BISECT_NO_RECORD);
    assert_string_equal(scene.task.next, "another day");
    tear_down(&scene);
}

static void a_task_that_fails_no_more_is_no_single_records_fault(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, NO_PLACE);
    look_into(&scene, 1);
    play();
    assert_int_equal(scene.not_found, 1);
    assert_int_equal(scene.state, BISECT_NOT_ONE);
    tear_down(&scene);
}

static void a_worker_that_dies_while_it_looks_finds_nothing(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 500);
    worker.fails_when_looking = true;
    look_into(&scene, 1);
    play();
    assert_int_equal(scene.found, 0);
    assert_int_equal(scene.not_found, 1);
    tear_down(&scene);
}

static void tasks_are_looked_into_one_after_the_other(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 500);
    look_into(&scene, 1);
    look_into(&scene, 2);
    assert_int_equal(scene.begun, 1);
    play();
    assert_int_equal(scene.begun, 2);
    assert_int_equal(scene.found, 2);
    assert_int_equal(scene.task.at.attempt, 2);
    assert_int_equal(worker.start_count, 1);
    tear_down(&scene);
}

static void records_that_are_left_out_are_left_out_of_tries(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 500);
    const struct bad_record known = {.place = {0, 3}};
    assert_int_equal(bad_records_add(&scene.bad, &known), WEFT_OK);
    look_into(&scene, 1);
    play();
    assert_int_equal(worker.skip_count, 1);
    tear_down(&scene);
}

static void nothing_is_begun_after_the_end(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 500);
    look_into(&scene, 1);
    look_into(&scene, 2);
    probe_stop(&scene.probe);
    worker.agent->options.calls->ready(worker.agent->options.owner, WEFT_OK);
    const unsigned tries = worker.try_count;
    end_task(true);
    assert_int_equal(worker.try_count, tries);
    assert_int_equal(scene.begun, 1);
    assert_int_equal(scene.found + scene.not_found, 0);
    tear_down(&scene);
}

static void a_worker_that_cannot_start_fails_the_search(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 500);
    worker.can_start = false;
    look_into(&scene, 1);
    assert_int_equal(scene.failed, 1);
    assert_int_equal(scene.found + scene.not_found, 0);
    tear_down(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_record_that_fails_is_found),
        cmocka_unit_test(where_harm_was_seen_is_tried_first),
        cmocka_unit_test(a_task_that_fails_without_a_record_is_no_records_fault),
        cmocka_unit_test(a_task_that_fails_no_more_is_no_single_records_fault),
        cmocka_unit_test(a_worker_that_dies_while_it_looks_finds_nothing),
        cmocka_unit_test(tasks_are_looked_into_one_after_the_other),
        cmocka_unit_test(records_that_are_left_out_are_left_out_of_tries),
        cmocka_unit_test(nothing_is_begun_after_the_end),
        cmocka_unit_test(a_worker_that_cannot_start_fails_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
