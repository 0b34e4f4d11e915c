// Tests of a spoke whose hub has the token and breaks the rules. hub_test.c has those of one that keeps them.

#include "transport/spoke.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/loop/loop.h"
#include "transport/door.h"

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};

struct scene {
    struct loop *loop;
    struct net_listener listener;
    struct door *door;
    struct guest *guest;
    struct spoke *spoke;
    const struct hello_welcome *welcomes;  // for its connections, one after the other
    int welcome_count;
    int joined, backs;
    weft_err lost_code;
    char lost[ERR_TEXT_BYTES_MAX];
    bool is_late;
};

// ---- The hub ------------------------------------------------------------------------------------------------

static void ignore_frame(void *owner, const struct frame *frame)
{
    (void)owner, (void)frame;
}

static void on_guest_end(void *owner)
{
    struct scene *scene = owner;
    guest_free(scene->guest);
    scene->guest = NULL;
}

static void on_proven(void *owner, struct guest *guest, const struct hello *hello)
{
    static const struct guest_calls calls = {.frame = ignore_frame, .ended = on_guest_end};
    struct scene *scene = owner;
    (void)hello;
    if (scene->guest)
        guest_free(scene->guest);
    scene->guest = guest;
    door_welcome(guest, &scene->welcomes[scene->welcome_count++], &calls, scene);
    loop_stream_flush(guest_stream(guest));
}

static void on_refused(void *owner, const char *peer)
{
    (void)owner, (void)peer;
}

static uint64_t door_now_ms(void *owner)
{
    (void)owner;
    return 0;
}

// ---- The spoke ----------------------------------------------------------------------------------------------

static void on_joined(void *owner)
{
    struct scene *scene = owner;
    scene->joined++;
    loop_stop(scene->loop);
}

static void on_frame(void *owner, const struct frame *frame)
{
    (void)owner, (void)frame;
}

static void on_back(void *owner)
{
    struct scene *scene = owner;
    scene->backs++;
    loop_stop(scene->loop);
}

static void on_lost(void *owner, weft_err code)
{
    struct scene *scene = owner;
    scene->lost_code = code;
    snprintf(scene->lost, sizeof scene->lost, "%s", err_text());
    loop_stop(scene->loop);
}

static void on_time(void *owner)
{
    struct scene *scene = owner;
    scene->is_late = true;
    loop_stop(scene->loop);
}

static void start(struct scene *scene, const struct hello_welcome *welcomes)
{
    static const struct door_calls calls = {on_proven, on_refused, door_now_ms};
    static const struct spoke_calls spoke_calls = {
        .joined = on_joined, .frame = on_frame, .back = on_back, .lost = on_lost};
    *scene = (struct scene){.loop = loop_new(NULL, NULL), .welcomes = welcomes};
    assert_int_equal(net_listen(&(struct net_address){.host = ""}, &scene->listener), WEFT_OK);
    scene->door = door_new(&(struct door_options){.loop = scene->loop,
                                                  .listener = &scene->listener,
                                                  .token = &token,
                                                  .member = "",
                                                  .calls = &calls,
                                                  .owner = scene});
    assert_non_null(scene->door);
    struct spoke_options options = {.loop = scene->loop,
                                    .address = {.port = scene->listener.port},
                                    .token = &token,
                                    .name = "tester",
                                    .calls = &spoke_calls,
                                    .owner = scene};
    snprintf(options.address.host, sizeof options.address.host, "127.0.0.1");
    scene->spoke = spoke_new(&options);
    assert_non_null(scene->spoke);
}

static void run(struct scene *scene)
{
    struct loop_timer *limit = loop_timer_new(scene->loop, 20000, 0, on_time, scene);
    loop_run(scene->loop);
    loop_timer_free(limit);
    assert_false(scene->is_late);
}

static void cut(struct scene *scene)
{
    guest_free(scene->guest);
    scene->guest = NULL;
}

static void end(struct scene *scene)
{
    spoke_free(scene->spoke);
    if (scene->guest)
        guest_free(scene->guest);
    door_free(scene->door);
    net_listener_close(&scene->listener);
    loop_free(scene->loop);
    err_clear();
}

// ---- The tests ----------------------------------------------------------------------------------------------

static void a_hub_without_an_epoch_is_not_joined(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, (const struct hello_welcome[]){{.epoch = 0}});
    run(&scene);
    assert_int_equal(scene.joined, 0);
    assert_int_equal(scene.lost_code, WEFT_DATA_LOSS);
    assert_non_null(strstr(scene.lost, "another session"));
    end(&scene);
}

static void the_epoch_of_a_session_does_not_change(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, (const struct hello_welcome[]){{.epoch = 5}, {.epoch = 5}, {.epoch = 7}});
    run(&scene);
    assert_int_equal(scene.joined, 1);
    cut(&scene);
    run(&scene);
    assert_int_equal(scene.backs, 1);
    cut(&scene);
    run(&scene);
    assert_int_equal(scene.lost_code, WEFT_DATA_LOSS);
    assert_int_equal(scene.joined, 1);
    assert_int_equal(scene.backs, 1);
    end(&scene);
}

static void frames_that_were_never_sent_are_not_acknowledged(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, (const struct hello_welcome[]){{.epoch = 5, .applied = 1}});
    run(&scene);
    assert_int_equal(scene.joined, 0);
    assert_int_equal(scene.lost_code, WEFT_DATA_LOSS);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hub_without_an_epoch_is_not_joined),
        cmocka_unit_test(the_epoch_of_a_session_does_not_change),
        cmocka_unit_test(frames_that_were_never_sent_are_not_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
