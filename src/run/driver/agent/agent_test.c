// Tests of the agent against real processes that play a worker. The program is its own worker.

#include "run/driver/agent/agent.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/time/clock.h"

enum { SLOTS = 2 };

// ---- The worker ----------------------------------------------------------------------------------------------------

static void begin_in_page(struct slot_page *slot, uint32_t task, int crash_signal)
{
    slot->kind = WEFT__TASK_KIND__TASK_MAP;
    slot->task = task;
    slot->attempt = 3;
    slot->input_index = 1;
    slot->input_offset = 42;
    slot->fed_end = 64;
    slot->begun_ns = clock_now_ns();
    slot->crash_signal = crash_signal;
    slot->attempt_serial++;
}

static void count_in_page(struct worker_page *page)
{
    page->memory_peak = 500;
    page->slots[0].phase_ns[PHASE_MAP] = 7;
    page->slots[1].phase_ns[PHASE_MAP] = 5;
    page->slots[1].bytes_in = 1000;
    page->slots[1].records_in = 10;
    page->slots[1].spill_bytes = 100;
    page->slots[1].spill_runs = 2;
    page->slots[2].phase_ns[PHASE_MAP] = 1000;  // not one of ours
}

static void say_hello(int fd, uint32_t version)
{
    Weft__Hello hello = WEFT__HELLO__INIT;
    hello.wire_version = version;
    hello.version = "1.2.3";
    if (message_send(fd, WEFT__FRAME_TYPE__FRAME_HELLO, &hello.base) != WEFT_OK)
        _exit(9);
}

static void await_bye(int fd)
{
    struct frame frame = {0};
    while (frame_receive(fd, &frame) == WEFT_OK)
        if (frame.type == WEFT__FRAME_TYPE__FRAME_BYE &&
            message_send(fd, WEFT__FRAME_TYPE__FRAME_BYE, NULL) == WEFT_OK)
            _exit(0);
    _exit(8);
}

// Ends with 5 when both answers are as they should be: the bytes are lent, then refused.
static void need_bytes(int fd)
{
    struct frame frame = {0};
    Weft__Need need = WEFT__NEED__INIT;
    Weft__Lent *lent;
    need.input = 3;
    need.offset = 1 << 20;
    need.size = 77;
    for (int i = 0; i < 2; i++) {
        if (message_send(fd, WEFT__FRAME_TYPE__FRAME_NEED, &need.base) ||
            frame_receive(fd, &frame) || frame.type != WEFT__FRAME_TYPE__FRAME_LENT ||
            message_unpack(&frame, &weft__lent__descriptor, &lent) || lent->input != need.input ||
            lent->offset != need.offset || lent->size != need.size ||
            lent->code != (i ? WEFT_UNAVAILABLE : WEFT_OK) ||
            strcmp(lent->text, i ? "out of reach" : ""))
            _exit(9);
    }
    _exit(5);
}

static _Noreturn void run_worker(int fd, int page_fd, const char *what)
{
    struct worker_page *page = NULL;
    if (process_map_shared(page_fd, sizeof *page, (void **)&page) != WEFT_OK)
        _exit(9);
    if (strcmp(what, "no hello") == 0)
        _exit(3);
    say_hello(fd, strcmp(what, "other version") == 0 ? 99 : WIRE_VERSION);
    count_in_page(page);
    if (strcmp(what, "crash") == 0) {
        begin_in_page(&page->slots[1], 5, SIGSEGV);
        raise(SIGKILL);
    }
    if (strcmp(what, "wait") == 0) {
        page->slots[0].waits_since_ns = clock_now_ns();
        begin_in_page(&page->slots[0], 6, 0);
    }
    if (strcmp(what, "need") == 0)
        need_bytes(fd);
    if (strcmp(what, "loop") == 0) {
        begin_in_page(&page->slots[0], 6, 0);
        pause();
    }
    if (strcmp(what, "bye too early") == 0 &&
        message_send(fd, WEFT__FRAME_TYPE__FRAME_BYE, NULL) != WEFT_OK)
        _exit(9);
    if (strcmp(what, "two hellos") == 0)
        say_hello(fd, WIRE_VERSION);
    if (strcmp(what, "unreadable") == 0 &&
        frame_send(fd, WEFT__FRAME_TYPE__FRAME_TASK_END, "\xff\xff", 2) != WEFT_OK)
        _exit(9);
    if (strcmp(what, "garbage") == 0)
        (void)!write(fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
    await_bye(fd);
    _exit(0);
}

// ---- Its owner -----------------------------------------------------------------------------------------------------

struct scene {
    struct loop *loop;
    struct agent agent;
    unsigned need_count, wait_count;
    unsigned ready_count, left_count, late_count, lost_count;
    weft_err ready_code;
    char wrong[128];
    bool releases;
    struct agent_attempt late, inside;
    struct agent_loss loss;
    struct process_exit exit;
};

static void take_ready(void *owner, weft_err code)
{
    struct scene *scene = owner;
    scene->ready_count++;
    scene->ready_code = code;
    if (scene->releases)
        assert_int_equal(agent_release(&scene->agent), WEFT_OK);
    if (code != WEFT_OK)
        loop_stop(scene->loop);
}

static void take_silence(void *owner)
{
    (void)owner;
    fail();
}

static bool take_message(void *owner, Weft__FrameType type, ProtobufCMessage *message)
{
    (void)owner;
    (void)type;
    (void)message;
    return false;
}

static void take_wrong(void *owner, const char *what)
{
    struct scene *scene = owner;
    snprintf(scene->wrong, sizeof scene->wrong, "%s", what);
}

static void take_left(void *owner)
{
    struct scene *scene = owner;
    scene->left_count++;
}

static void take_late(void *owner, const struct agent_attempt *at, bool is_record)
{
    struct scene *scene = owner;
    assert_false(is_record);
    scene->late_count++;
    scene->late = *at;
    agent_kill(&scene->agent);
}

static void take_loss(void *owner, const struct agent_loss *loss)
{
    struct scene *scene = owner;
    scene->lost_count++;
    scene->loss = *loss;
    scene->exit = *loss->exit;
    if (loss->inside_count)
        scene->inside = loss->inside[0];
    loop_stop(scene->loop);
}

static void take_need(void *owner, const Weft__Need *need)
{
    struct scene *scene = owner;
    const weft_err code = scene->need_count++ ? err_set(WEFT_UNAVAILABLE, "out of reach") : WEFT_OK;
    assert_int_equal(agent_lend(&scene->agent, need->input, need->offset, need->size, code),
                     WEFT_OK);
}

static const struct agent_calls calls = {
    .ready = take_ready,
    .silent = take_silence,
    .message = take_message,
    .wrong = take_wrong,
    .left = take_left,
    .late = take_late,
    .lost = take_loss,
};

static const struct agent_calls lending_calls = {
    .ready = take_ready,
    .silent = take_silence,
    .message = take_message,
    .need = take_need,
    .wrong = take_wrong,
    .lost = take_loss,
};

static void take_tick(void *owner)
{
    struct scene *scene = owner;
    agent_look(&scene->agent);
}

static void take_wake(void *owner)
{
    (void)owner;
}

static void set_up(struct scene *scene, uint32_t task_timeout_ms)
{
    *scene = (struct scene){.loop = loop_new(take_wake, scene)};
    assert_non_null(scene->loop);
    const struct agent_options options = {.loop = scene->loop,
                                          .slot_count = SLOTS,
                                          .task_timeout_ms = task_timeout_ms,
                                          .calls = &calls,
                                          .owner = scene};
    agent_init(&scene->agent, &options);
}

static void run(struct scene *scene, const char *what)
{
    setenv("WEFT_FAKE", what, 1);
    assert_int_equal(agent_start(&scene->agent, -1), WEFT_OK);
    assert_true(agent_has_worker(&scene->agent));
    loop_run(scene->loop);
}

static void tear_down(struct scene *scene)
{
    agent_fini(&scene->agent);
    assert_false(agent_has_worker(&scene->agent));
    loop_free(scene->loop);
    err_clear();
}

// ---- Its reports -----------------------------------------------------------------------------------------------------

static void a_crash_is_told_with_the_attempt_and_its_place(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 0);
    run(&scene, "crash");
    assert_int_equal(scene.ready_count, 1);
    assert_int_equal(scene.lost_count, 1);
    assert_true(scene.loss.was_ready && !scene.loss.is_told && scene.loss.code == WEFT_OK);
    assert_true(scene.exit.was_signalled);
    assert_int_equal(scene.loss.inside_count, 1);
    const struct agent_attempt *at = &scene.inside;
    assert_int_equal(at->task, 5);
    assert_int_equal(at->attempt, 3);
    assert_int_equal(at->slot, 1);
    assert_int_equal(at->input, 1);
    assert_int_equal(at->offset, 42);
    assert_int_equal(at->fed_end, 64);
    assert_int_equal(at->crash_signal, SIGSEGV);
    tear_down(&scene);
}

static void who_ends_before_its_hello_was_not_ready(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 0);
    run(&scene, "no hello");
    assert_int_equal(scene.ready_count, 0);
    assert_true(scene.lost_count == 1 && !scene.loss.was_ready);
    assert_int_equal(scene.loss.inside_count, 0);
    tear_down(&scene);
}

static void another_version_is_told_as_such(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 0);
    run(&scene, "other version");
    assert_int_equal(scene.ready_count, 1);
    assert_int_not_equal(scene.ready_code, WEFT_OK);
    tear_down(&scene);
}

static void what_a_worker_may_not_send_ends_it(void **state)
{
    (void)state;
    static const struct {
        const char *what, *wrong;
    } cases[] = {
        {"bye too early", "a frame that does not belong here"},
        {"two hellos", "a frame that does not belong here"},
        {"unreadable", "a TaskEnd that cannot be read"},
        {"need", "a frame that does not belong here"},  // nothing is lent
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        set_up(&scene, 0);
        run(&scene, cases[i].what);
        assert_string_equal(scene.wrong, cases[i].wrong);
        assert_true(scene.lost_count == 1 && scene.loss.is_told);
        tear_down(&scene);
    }
}

static void bytes_that_are_no_frames_break_the_connection(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 0);
    run(&scene, "garbage");
    assert_int_equal(scene.lost_count, 1);
    assert_int_not_equal(scene.loss.code, WEFT_OK);
    tear_down(&scene);
}

static void an_attempt_beyond_its_time_is_late(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 30);
    struct loop_timer *tick = loop_timer_new(scene.loop, 5, 5, take_tick, &scene);
    run(&scene, "loop");
    assert_true(scene.late_count >= 1);  // once more with each look until it is dead
    assert_int_equal(scene.late.task, 6);
    assert_true(scene.loss.is_told);
    assert_int_equal(scene.loss.inside_count, 1);
    loop_timer_free(tick);
    tear_down(&scene);
}

static void one_that_needs_bytes_is_lent_them(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 0);
    scene.agent.options.calls = &lending_calls;
    run(&scene, "need");
    assert_int_equal(scene.need_count, 2);
    assert_string_equal(scene.wrong, "");
    assert_true(scene.lost_count == 1 && !scene.loss.is_told);
    assert_true(scene.exit.is_known && !scene.exit.was_signalled);
    assert_int_equal(scene.exit.number, 5);
    tear_down(&scene);
}

// After a few looks at a worker that waits.
static void stop_waiting(void *owner)
{
    struct scene *scene = owner;
    struct slot_page *slot = &scene->agent.process.page->slots[0];
    if (atomic_load(&slot->waits_since_ns) == 0)
        return;
    assert_int_equal(scene->late_count, 0);
    if (++scene->wait_count == 5)
        atomic_store(&slot->waits_since_ns, 0);
}

static void waiting_for_lent_bytes_is_not_being_late(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 30);
    struct loop_timer *tick = loop_timer_new(scene.loop, 5, 5, take_tick, &scene);
    struct loop_timer *stop = loop_timer_new(scene.loop, 40, 40, stop_waiting, &scene);
    run(&scene, "wait");
    assert_true(scene.late_count >= 1);  // then it is
    loop_timer_free(stop);
    loop_timer_free(tick);
    tear_down(&scene);
}

static void one_that_is_released_says_goodbye(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, 0);
    scene.releases = true;
    run(&scene, "nothing");
    assert_int_equal(scene.left_count, 1);
    assert_true(scene.lost_count == 1 && scene.loss.is_released);
    assert_true(scene.exit.is_known && !scene.exit.was_signalled);
    tear_down(&scene);
}

static void what_all_workers_did_is_added_up_once(void **state)
{
    (void)state;
    struct scene scene;
    struct agent_figures figures;
    set_up(&scene, 0);
    run(&scene, "crash");
    run(&scene, "crash");
    for (int i = 0; i < 2; i++) {  // also after its end
        agent_read_figures(&scene.agent, &figures);
        assert_int_equal(figures.phase_ns[PHASE_MAP], 24);
        assert_int_equal(figures.bytes_in, 2000);
        assert_int_equal(figures.records_in, 20);
        assert_int_equal(figures.spill_bytes, 200);
        assert_int_equal(figures.spill_runs, 4);
        assert_int_equal(figures.memory_peak, 500);
        if (i == 0)
            agent_fini(&scene.agent);
    }
    tear_down(&scene);
}

int main(void)
{
    int fd, page_fd;
    if (worker_process_find_own(&fd, &page_fd))
        run_worker(fd, page_fd, getenv("WEFT_FAKE"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_is_told_with_the_attempt_and_its_place),
        cmocka_unit_test(who_ends_before_its_hello_was_not_ready),
        cmocka_unit_test(another_version_is_told_as_such),
        cmocka_unit_test(what_a_worker_may_not_send_ends_it),
        cmocka_unit_test(bytes_that_are_no_frames_break_the_connection),
        cmocka_unit_test(an_attempt_beyond_its_time_is_late),
        cmocka_unit_test(one_that_needs_bytes_is_lent_them),
        cmocka_unit_test(waiting_for_lent_bytes_is_not_being_late),
        cmocka_unit_test(one_that_is_released_says_goodbye),
        cmocka_unit_test(what_all_workers_did_is_added_up_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
