// A worker whose driver breaks the rules: it says which one, and ends by itself.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "mapreduce/slot_page.h"
#include "run/worker/worker.h"
#include "sys/process/process.h"
#include "wire/messages.h"

static void map_nothing(weft_task *task, weft_bytes record)
{
    (void)task;
    (void)record;
}

static const weft_job job = {.name = "nothing", .map = map_nothing, .reduce = weft_sum};
static const weft_job *const jobs[] = {&job, NULL};

struct fixture {
    int fd;
    pid_t pid;
    char why[ERR_TEXT_BYTES_MAX];
};

static void start_worker(struct fixture *fixture)
{
    int sockets[2], page_fd;
    void *page;
    assert_int_equal(process_make_shared(sizeof(struct worker_page), &page_fd, &page), WEFT_OK);
    assert_int_equal(process_make_socket_pair(sockets), WEFT_OK);
    fixture->pid = fork();
    assert_true(fixture->pid >= 0);
    if (fixture->pid == 0) {
        close(sockets[0]);
        _exit(worker_main(sockets[1], page_fd, jobs, sizeof(weft_job)));
    }
    close(sockets[1]);
    close(page_fd);
    process_unmap_shared(page, sizeof(struct worker_page));
    fixture->fd = sockets[0];
}

// A worker that has refused an earlier frame may be gone already.
static void tell(const struct fixture *fixture, Weft__FrameType type, const void *message)
{
    const weft_err err = message_send(fixture->fd, type, message);
    assert_true(err == WEFT_OK || err == WEFT_UNAVAILABLE);
}

// Reads to the end of the connection; returns how the process ended.
static int hear_out(struct fixture *fixture)
{
    struct frame frame = {0};
    Weft__WorkerFailed *failed = NULL;
    fixture->why[0] = 0;
    while (frame_receive(fixture->fd, &frame) == WEFT_OK) {
        if (frame.type != WEFT__FRAME_TYPE__FRAME_WORKER_FAILED)
            continue;
        assert_int_equal(message_unpack(&frame, &weft__worker_failed__descriptor, &failed),
                         WEFT_OK);
        snprintf(fixture->why, sizeof fixture->why, "%s", failed->text);
        message_free(failed);
    }
    frame_fini(&frame);
    close(fixture->fd);
    int status = 0;
    assert_int_equal(waitpid(fixture->pid, &status, 0), fixture->pid);
    return status;
}

static void assert_refused(struct fixture *fixture, const char *why)
{
    const int status = hear_out(fixture);
    assert_non_null(strstr(fixture->why, why));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 76);
}

static void tell_job(const struct fixture *fixture, uint32_t slots)
{
    Weft__JobStart start = WEFT__JOB_START__INIT;
    Weft__RecordFormat format = WEFT__RECORD_FORMAT__INIT;
    format.delimiter = '\n';
    start.job = (char *)"nothing";
    start.format = &format;
    start.slots = slots;
    start.memory_bytes = 64 << 20;
    start.tmp = (char *)"/tmp";
    tell(fixture, WEFT__FRAME_TYPE__FRAME_JOB_START, &start);
}

static void tell_stage(const struct fixture *fixture, uint32_t range_count)
{
    Weft__StageOpen open = WEFT__STAGE_OPEN__INIT;
    Weft__Output output = WEFT__OUTPUT__INIT;
    open.part_count = 1;
    open.range_count = range_count;
    open.map_count = 2;
    open.output = &output;
    tell(fixture, WEFT__FRAME_TYPE__FRAME_STAGE_OPEN, &open);
}

static void worker_refuses_more_slots_than_there_can_be(void **state)
{
    struct fixture fixture;
    (void)state;
    start_worker(&fixture);
    tell_job(&fixture, 100000);
    assert_refused(&fixture, "100000 slots, not 1 to 256");
}

static void worker_refuses_a_slot_that_there_is_not(void **state)
{
    struct fixture fixture;
    Weft__TaskRun run = WEFT__TASK_RUN__INIT;
    (void)state;
    start_worker(&fixture);
    tell_job(&fixture, 2);
    tell_stage(&fixture, 1);
    run.slot = 2;
    tell(&fixture, WEFT__FRAME_TYPE__FRAME_TASK_RUN, &run);
    assert_refused(&fixture, "a task for slot 2 of 2");
}

static void worker_refuses_no_ranges(void **state)
{
    struct fixture fixture;
    Weft__StagePlan plan = WEFT__STAGE_PLAN__INIT;
    (void)state;
    start_worker(&fixture);
    tell_job(&fixture, 1);
    tell_stage(&fixture, 0);
    tell(&fixture, WEFT__FRAME_TYPE__FRAME_STAGE_PLAN, &plan);
    assert_refused(&fixture, "0 ranges of keys for 1 parts");
}

static void worker_refuses_a_task_before_the_job(void **state)
{
    struct fixture fixture;
    Weft__TaskRun run = WEFT__TASK_RUN__INIT;
    (void)state;
    start_worker(&fixture);
    tell(&fixture, WEFT__FRAME_TYPE__FRAME_TASK_RUN, &run);
    assert_refused(&fixture, "a task before any stage");
}

static void worker_refuses_what_is_no_frame(void **state)
{
    struct fixture fixture;
    (void)state;
    start_worker(&fixture);
    assert_int_equal(write(fixture.fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
    assert_refused(&fixture, "not a frame");
}

// A job that this program does not have breaks no rule: the driver gets a report and ends the
// worker.
static void frames_behind_a_failure_are_passed_over(void **state)
{
    struct fixture fixture;
    Weft__JobStart start = WEFT__JOB_START__INIT;
    Weft__RecordFormat format = WEFT__RECORD_FORMAT__INIT;
    (void)state;
    start_worker(&fixture);
    start.job = (char *)"another";
    start.format = &format;
    start.slots = 1;
    start.tmp = (char *)"/tmp";
    tell(&fixture, WEFT__FRAME_TYPE__FRAME_JOB_START, &start);
    tell_stage(&fixture, 1);
    tell(&fixture, WEFT__FRAME_TYPE__FRAME_BYE, NULL);
    const int status = hear_out(&fixture);
    assert_non_null(strstr(fixture.why, "this program has no job 'another'"));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker_refuses_more_slots_than_there_can_be),
        cmocka_unit_test(worker_refuses_a_slot_that_there_is_not),
        cmocka_unit_test(worker_refuses_no_ranges),
        cmocka_unit_test(worker_refuses_a_task_before_the_job),
        cmocka_unit_test(worker_refuses_what_is_no_frame),
        cmocka_unit_test(frames_behind_a_failure_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
