// Tests of values that another process has; the agent is ours.
#include "run/driver/server/items.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/loop/loop.h"
#include "wire/messages.h"

// ---- Agents that note tasks -----------------------------------------------------------------

static struct {
    uint32_t count, task, holder;
    uint64_t offset, size;
    bool is_far;
} sent;

weft_err agent_send(struct agent *agent, Weft__FrameType type, const ProtobufCMessage *message)
{
    const Weft__TaskRun *run = (const Weft__TaskRun *)message;
    (void)agent;
    assert_int_equal(type, WEFT__FRAME_TYPE__FRAME_TASK_RUN);
    sent.count++;
    sent.task = run->task;
    if (run->values) {
        sent.offset = run->values->offset;
        sent.size = run->values->size;
        sent.is_far = run->values->far != NULL;
    }
    return WEFT_OK;
}

uint32_t agent_holder(const struct agent *agent)
{
    (void)agent;
    return sent.holder;
}

// ---- The other side -----------------------------------------------------------------------------------

struct world {
    struct loop *loop;
    struct items *items;
    int other;
    char path[64];
    weft_err failure;
    char why[ERR_TEXT_BYTES_MAX];
};

static void take_failure(void *owner, weft_err code)
{
    struct world *world = owner;
    world->failure = code;
    snprintf(world->why, sizeof world->why, "%s", err_text());
}

static void nothing(void *owner)
{
    (void)owner;
}

static void open_world(struct world *world)
{
    int ends[2];
    char from[128];
    memset(&sent, 0, sizeof sent);
    *world = (struct world){.loop = loop_new(nothing, NULL)};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    world->other = ends[1];
    snprintf(world->path, sizeof world->path, "/tmp/weft-items-XXXXXX");
    const int fd = mkstemp(world->path);
    assert_true(fd >= 0);
    char block[8192];
    memset(block, 'x', sizeof block);
    assert_int_equal(write(fd, block, sizeof block), sizeof block);
    close(fd);
    snprintf(from, sizeof from, "%d:%s", ends[0], world->path);
    const struct items_options options = {
        .loop = world->loop, .from = from, .failed = take_failure, .owner = world};
    world->items = items_new(&options);
    assert_non_null(world->items);
}

static void close_world(struct world *world)
{
    items_free(world->items);
    loop_free(world->loop);
    close(world->other);
    unlink(world->path);
}

static void stop(void *owner)
{
    loop_stop(owner);
}

static void turn(struct world *world)
{
    struct loop_timer *timer = loop_timer_new(world->loop, 20, 0, stop, world->loop);
    loop_run(world->loop);
    loop_timer_free(timer);
}

static void ask(struct world *world, struct agent *agent, uint32_t task, uint64_t begin,
                uint64_t end)
{
    Weft__TaskRun run = WEFT__TASK_RUN__INIT;
    Weft__Piece piece = WEFT__PIECE__INIT;
    Weft__Piece *pieces[] = {&piece};
    piece.begin = begin;
    piece.end = end;
    run.kind = WEFT__TASK_KIND__TASK_MAP;
    run.task = task;
    run.pieces = pieces;
    run.n_pieces = 1;
    assert_int_equal(items_send(world->items, agent, &run), WEFT_OK);
}

static void expect_request(const struct world *world, uint64_t first, uint64_t count)
{
    uint64_t numbers[2] = {0};
    assert_int_equal(recv(world->other, numbers, sizeof numbers, MSG_DONTWAIT), sizeof numbers);
    assert_int_equal(numbers[0], first);
    assert_int_equal(numbers[1], count);
}

static void answer(struct world *world, uint64_t offset, uint64_t size)
{
    const uint64_t numbers[2] = {offset, size};
    assert_int_equal(send(world->other, numbers, sizeof numbers, MSG_NOSIGNAL), sizeof numbers);
    turn(world);
}

// ---- Tests --------------------------------------------------------------------------------------------

static void a_task_is_sent_when_its_values_are_there(void **state)
{
    struct world world;
    struct agent agent;
    (void)state;
    open_world(&world);
    ask(&world, &agent, 7, 2 * ITEMS_LINE_BYTES, 5 * ITEMS_LINE_BYTES);
    expect_request(&world, 2, 3);
    assert_int_equal(sent.count, 0);
    answer(&world, 4096, 100);
    assert_int_equal(sent.count, 1);
    assert_int_equal(sent.task, 7);
    assert_int_equal(sent.offset, 4096);
    assert_int_equal(sent.size, 100);
    assert_false(sent.is_far);
    close_world(&world);
}

static void an_item_belongs_to_the_piece_in_which_it_begins(void **state)
{
    struct world world;
    struct agent agent;
    (void)state;
    open_world(&world);
    ask(&world, &agent, 0, 1, ITEMS_LINE_BYTES + 1);
    expect_request(&world, 1, 1);
    ask(&world, &agent, 1, 0, 1);
    expect_request(&world, 0, 1);
    ask(&world, &agent, 2, 1, 2);
    expect_request(&world, 1, 0);
    close_world(&world);
}

static void a_client_gets_the_number_of_the_file(void **state)
{
    struct world world;
    struct agent agent;
    (void)state;
    open_world(&world);
    sent.holder = 3;
    ask(&world, &agent, 0, 0, 1);
    answer(&world, 0, 10);
    assert_true(sent.is_far);
    close_world(&world);
}

static void nobody_gets_the_values_of_a_worker_that_is_gone(void **state)
{
    struct world world;
    struct agent lost, other;
    (void)state;
    open_world(&world);
    ask(&world, &lost, 1, 0, 1);
    ask(&world, &other, 2, 0, 1);
    items_forget(world.items, &lost);
    answer(&world, 0, 10);
    assert_int_equal(sent.count, 0);
    answer(&world, 10, 10);
    assert_int_equal(sent.count, 1);
    assert_int_equal(sent.task, 2);
    close_world(&world);
}

static long blocks_of(const struct world *world)
{
    struct stat status;
    assert_int_equal(stat(world->path, &status), 0);
    return (long)status.st_blocks;
}

static void values_are_given_back_when_the_attempt_has_ended(void **state)
{
    struct world world;
    struct agent agent;
    (void)state;
    open_world(&world);
    const long before = blocks_of(&world);
    ask(&world, &agent, 1, 0, 1);
    answer(&world, 0, 4096);
    items_end_task(world.items, &agent, 2);
    assert_int_equal(blocks_of(&world), before);
    items_end_task(world.items, &agent, 1);
    assert_true(blocks_of(&world) < before);
    close_world(&world);
}

static void wrong_answers_and_a_process_that_is_gone_are_told(void **state)
{
    struct world world;
    struct agent agent;
    (void)state;
    open_world(&world);
    answer(&world, 0, 1);
    assert_int_equal(world.failure, WEFT_INTERNAL);
    close_world(&world);
    open_world(&world);
    ask(&world, &agent, 1, 0, 1);
    answer(&world, UINT64_MAX, 2);
    assert_int_equal(world.failure, WEFT_INTERNAL);
    close_world(&world);
    open_world(&world);
    ask(&world, &agent, 1, 0, 1);
    shutdown(world.other, SHUT_RDWR);
    turn(&world);
    assert_int_equal(world.failure, WEFT_UNAVAILABLE);
    assert_non_null(strstr(world.why, "is gone"));
    close_world(&world);
}

static void a_place_that_is_none_is_refused(void **state)
{
    struct loop *loop = loop_new(nothing, NULL);
    (void)state;
    static const char *const wrong[] = {"", "x", "7", "x:/tmp/f", "99999999999:/tmp/f", "2:/tmp/f"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct items_options options = {
            .loop = loop, .from = wrong[i], .failed = take_failure};
        assert_null(items_new(&options));
    }
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_is_sent_when_its_values_are_there),
        cmocka_unit_test(an_item_belongs_to_the_piece_in_which_it_begins),
        cmocka_unit_test(a_client_gets_the_number_of_the_file),
        cmocka_unit_test(nobody_gets_the_values_of_a_worker_that_is_gone),
        cmocka_unit_test(values_are_given_back_when_the_attempt_has_ended),
        cmocka_unit_test(wrong_answers_and_a_process_that_is_gone_are_told),
        cmocka_unit_test(a_place_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
