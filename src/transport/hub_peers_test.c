// Tests of a hub with several peers, of which one is lost, or keeps the owner busy, while the owner needs the others.

#include "transport/hub.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/loop/loop.h"
#include "sys/time/clock.h"
#include "transport/spoke.h"

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};

enum { PEERS = 8, BUSY_MS = 450 };

struct scene {
    struct loop *loop;
    struct net_listener listener;
    struct hub *hub;
    struct spoke *spokes[PEERS];
    uint64_t numbers[PEERS];
    int joined_count;
    bool is_late;
    int frame_count, silent_count;
    weft_err asked[PEERS];  // for a line, when the second peer was lost
};

static weft_err on_joined(void *owner, struct hub_peer *peer, const struct hello *hello)
{
    struct scene *scene = owner;
    (void)hello;
    scene->numbers[scene->joined_count++] = hub_peer_number(peer);
    loop_stop(scene->loop);
    return WEFT_OK;
}

static void on_frame(void *owner, struct hub_peer *peer, const struct frame *frame)
{
    struct scene *scene = owner;
    (void)peer, (void)frame;
    scene->frame_count++;
    clock_sleep_ms(BUSY_MS);
}

static void on_silent(void *owner, struct hub_peer *peer)
{
    struct scene *scene = owner;
    (void)peer;
    scene->silent_count++;
}

static void on_state(void *owner, struct hub_peer *peer)
{
    (void)owner, (void)peer;
}

static void on_line(void *owner, struct guest *guest)
{
    (void)owner, (void)guest;
}

static void on_lost(void *owner, struct hub_peer *peer, weft_err code)
{
    struct scene *scene = owner;
    (void)peer, (void)code;
    for (int i = 0; i < PEERS; i++) {
        struct line *line = NULL;
        scene->asked[i] = hub_ask_line(scene->hub, scene->numbers[i], on_line, scene, &line);
        line_free(line);
    }
    loop_stop(scene->loop);
}

static void ignore(void *owner)
{
    (void)owner;
}

static void ignore_frame(void *owner, const struct frame *frame)
{
    (void)owner, (void)frame;
}

static void ignore_loss(void *owner, weft_err code)
{
    (void)owner, (void)code;
}

static void give_up(void *owner)
{
    struct scene *scene = owner;
    scene->is_late = true;
    loop_stop(scene->loop);
}

static void run(struct scene *scene)
{
    struct loop_timer *limit = loop_timer_new(scene->loop, 20000, 0, give_up, scene);
    loop_run(scene->loop);
    loop_timer_free(limit);
    assert_false(scene->is_late);
}

static void join(struct scene *scene, int i)
{
    static const struct spoke_calls calls = {ignore, ignore_frame, ignore, ignore, ignore_loss};
    struct spoke_options options = {.loop = scene->loop,
                                    .address = {.port = scene->listener.port},
                                    .token = &token,
                                    .name = "tester",
                                    .calls = &calls,
                                    .owner = scene};
    snprintf(options.address.host, sizeof options.address.host, "127.0.0.1");
    scene->spokes[i] = spoke_new(&options);
    assert_non_null(scene->spokes[i]);
    run(scene);
}

static void start(struct scene *scene)
{
    static const struct hub_calls calls = {.joined = on_joined,
                                           .frame = on_frame,
                                           .suspect = on_silent,
                                           .back = on_state,
                                           .lost = on_lost};
    *scene = (struct scene){.loop = loop_new(NULL, NULL)};
    assert_int_equal(net_listen(&(struct net_address){.host = ""}, &scene->listener), WEFT_OK);
    scene->hub = hub_new(&(struct hub_options){.loop = scene->loop,
                                               .listener = &scene->listener,
                                               .token = &token,
                                               .name = "",
                                               .calls = &calls,
                                               .owner = scene});
    assert_non_null(scene->hub);
    for (int i = 0; i < PEERS; i++)
        join(scene, i);
}

static void end(struct scene *scene)
{
    for (int i = 0; i < PEERS; i++)
        spoke_free(scene->spokes[i]);
    hub_free(scene->hub);
    net_listener_close(&scene->listener);
    loop_free(scene->loop);
    err_clear();
}

// All peers are looked at in turn; a loss among them makes the owner act at once, and the others are there.
static void the_others_are_there_when_one_is_lost(void **state)
{
    struct scene scene;
    (void)state;
    start(&scene);
    spoke_free(scene.spokes[1]);
    scene.spokes[1] = NULL;
    run(&scene);
    assert_int_equal(scene.asked[0], WEFT_OK);
    assert_int_equal(scene.asked[1], WEFT_NOT_FOUND);
    assert_int_equal(scene.asked[2], WEFT_OK);
    end(&scene);
}

static void stop(void *owner)
{
    struct scene *scene = owner;
    loop_stop(scene->loop);
}

// While the owner is busy with the frames of all, one after the other, nothing more is read of the first.
static void time_spent_with_others_is_not_silence(void **state)
{
    struct scene scene;
    (void)state;
    start(&scene);
    for (int i = 0; i < PEERS; i++)
        assert_int_equal(spoke_send(scene.spokes[i], WEFT__FRAME_TYPE__FRAME_BYE, NULL), WEFT_OK);
    struct loop_timer *timer = loop_timer_new(scene.loop, BUSY_MS * PEERS + 1000, 0, stop, &scene);
    run(&scene);
    loop_timer_free(timer);
    assert_int_equal(scene.frame_count, PEERS);
    assert_int_equal(scene.silent_count, 0);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_others_are_there_when_one_is_lost),
        cmocka_unit_test(time_spent_with_others_is_not_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
