// Tests of what hosts need of the loop: listeners, turns, spinning, pausing, TLS.

#include "sys/loop/loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/net/net.h"
#include "sys/secure/tls.h"

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};
static const struct secret other_token = {.bytes = "0123456789abcdeg", .size = 16};

// Two ends of a connection, both on the loop.
struct end {
    struct scene *scene;
    struct loop_stream *stream;
    struct buf got;
    int ends, drains;
    weft_err code;
};

struct scene {
    struct loop *loop;
    struct end ends[2];
    size_t wanted;  // bytes at the second end until the loop stops
    int ends_wanted;
    int turns, events;
    int accepted[200], accepted_count, accepted_wanted;
};

static void take(void *owner, weft_bytes bytes)
{
    struct end *end = owner;
    buf_append(&end->got, bytes.data, bytes.size);
    end->scene->events++;
    if (end == &end->scene->ends[1] && end->got.size >= end->scene->wanted)
        loop_stop(end->scene->loop);
}

static void take_end(void *owner, weft_err code)
{
    struct end *end = owner;
    end->ends++;
    end->code = code;
    if (end->scene->ends[0].ends + end->scene->ends[1].ends >= end->scene->ends_wanted)
        loop_stop(end->scene->loop);
}

static void take_drained(void *owner)
{
    struct end *end = owner;
    end->drains++;
}

static void stop(void *owner)
{
    struct scene *scene = owner;
    loop_stop(scene->loop);
}

static void open_scene(struct scene *scene)
{
    static const struct loop_stream_calls calls = {
        .data = take, .ended = take_end, .drained = take_drained};
    int fds[2];
    *scene = (struct scene){.wanted = SIZE_MAX, .ends_wanted = 1};
    scene->loop = loop_new(stop, scene);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    for (int i = 0; i < 2; i++) {
        scene->ends[i].scene = scene;
        scene->ends[i].stream = loop_stream_new(scene->loop, fds[i], &calls, &scene->ends[i]);
        assert_non_null(scene->ends[i].stream);
    }
}

static void close_scene(struct scene *scene)
{
    loop_free(scene->loop);
    for (int i = 0; i < 2; i++)
        buf_fini(&scene->ends[i].got);
}

static void say(struct end *end, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        buf_append_text(loop_stream_out(end->stream), text);
    loop_stream_flush(end->stream);
}

static void run_until(struct scene *scene, size_t wanted)
{
    scene->wanted = wanted;
    loop_run(scene->loop);
    assert_int_equal(scene->ends[1].got.size, wanted);
}

// ---- Turns and spinning ---------------------------------------------------------------------------

static void end_turn(void *owner)
{
    struct scene *scene = owner;
    scene->turns++;
    // Bytes that are appended here are sent for both ends at once.
    if (scene->turns == 1)
        say(&scene->ends[0], "first", 1);
}

static void a_turn_ends_before_the_loop_sleeps(void **state)
{
    (void)state;
    for (uint32_t spin = 0; spin <= 50; spin += 50) {
        struct scene scene;
        open_scene(&scene);
        loop_set_spin(scene.loop, spin);
        loop_set_turn(scene.loop, (struct loop_turn){.ended = end_turn}, &scene);
        run_until(&scene, 5);  // sent by the turn before the first
        const int turns = scene.turns;
        assert_true(turns >= 2);  // and what arrived had its own end
        say(&scene.ends[0], "more", 1);
        run_until(&scene, 9);
        assert_true(scene.turns > turns);
        // Rounds in which nothing happened have none.
        assert_true(scene.turns <= scene.events + 2);
        loop_set_turn(scene.loop, (struct loop_turn){0}, NULL);
        close_scene(&scene);
    }
}

static void *say_later(void *argument)
{
    struct scene *scene = argument;
    usleep(2000);
    loop_wake(scene->loop);
    return NULL;
}

static void a_spinning_loop_still_sleeps_and_wakes(void **state)
{
    (void)state;
    struct scene scene;
    pthread_t thread;
    open_scene(&scene);
    loop_set_spin(scene.loop, 20);
    assert_int_equal(pthread_create(&thread, NULL, say_later, &scene), 0);
    loop_run(scene.loop);
    pthread_join(thread, NULL);
    struct loop_timer *timer = loop_timer_new(scene.loop, 2, 0, stop, &scene);
    loop_run(scene.loop);
    loop_timer_free(timer);
    say(&scene.ends[0], "x", 300000);
    run_until(&scene, 300000);
    loop_set_spin(scene.loop, 0);
    say(&scene.ends[0], "y", 1);
    run_until(&scene, 300001);
    loop_stop(scene.loop);  // before it runs: it does not
    loop_run(scene.loop);
    close_scene(&scene);
}

// ---- Pausing --------------------------------------------------------------------------------------

static void run_for_a_moment(struct scene *scene)
{
    struct loop_timer *timer = loop_timer_new(scene->loop, 5, 0, stop, scene);
    loop_run(scene->loop);
    loop_timer_free(timer);
}

static void a_paused_stream_makes_the_other_side_wait(void **state)
{
    (void)state;
    enum { SIZE = 4000000 };
    struct scene scene;
    open_scene(&scene);
    loop_stream_pause(scene.ends[1].stream, true);
    say(&scene.ends[0], "0123456789", SIZE / 10);
    run_for_a_moment(&scene);
    assert_int_equal(scene.ends[1].got.size, 0);
    assert_int_equal(scene.ends[0].drains, 0);
    assert_true(loop_stream_unsent(scene.ends[0].stream) > SIZE / 2);
    loop_stream_pause(scene.ends[1].stream, false);
    run_until(&scene, SIZE);
    run_for_a_moment(&scene);
    assert_int_equal(loop_stream_unsent(scene.ends[0].stream), 0);
    assert_int_equal(scene.ends[0].drains, 1);
    close_scene(&scene);
}

static void a_paused_stream_hears_of_the_end(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    loop_stream_pause(scene.ends[1].stream, true);
    say(&scene.ends[0], "last words", 1);
    loop_stream_free(scene.ends[0].stream);
    loop_run(scene.loop);
    assert_int_equal(scene.ends[1].ends, 1);
    assert_int_equal(scene.ends[1].got.size, 10);
    close_scene(&scene);
}

// A reader that is never done: the buffer stays as small as its content.
static void an_output_that_is_never_empty_does_not_grow(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    say(&scene.ends[0], "0123456789", 100000);
    for (size_t i = 1; i < 100; i++) {
        say(&scene.ends[0], "0123456789", 10000);
        scene.wanted = i * 100000;
        loop_run(scene.loop);
        assert_true(loop_stream_out(scene.ends[0].stream)->capacity <= 4 << 20);
    }
    close_scene(&scene);
}

// ---- TLS ------------------------------------------------------------------------------------------

static void secure(struct scene *scene, const struct secret *server_token)
{
    loop_stream_secure(scene->ends[0].stream, tls_new(false, &token));
    loop_stream_secure(scene->ends[1].stream, tls_new(true, server_token));
}

// Bytes are sealed when the other side takes them, in the order in which they came; those that were not flushed stay.
static void a_slow_reader_gets_all_through_tls(void **state)
{
    (void)state;
    enum { NUMBERS = 100000, SIZE = NUMBERS * sizeof(int) };
    static int numbers[NUMBERS];
    struct scene scene;
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = i;
    open_scene(&scene);
    secure(&scene, &token);
    say(&scene.ends[0], "!", 1);
    run_until(&scene, 1);
    loop_stream_pause(scene.ends[1].stream, true);
    for (int i = 0; i < 10; i++) {
        buf_append(loop_stream_out(scene.ends[0].stream), numbers, SIZE);
        loop_stream_flush(scene.ends[0].stream);
        run_for_a_moment(&scene);
    }
    assert_true(loop_stream_unsent(scene.ends[0].stream) > SIZE);
    buf_append(loop_stream_out(scene.ends[0].stream), "later", 5);
    loop_stream_pause(scene.ends[1].stream, false);
    run_until(&scene, 1 + 10 * SIZE);
    run_for_a_moment(&scene);
    assert_int_equal(scene.ends[1].got.size, 1 + 10 * SIZE);
    for (size_t i = 0; i < 10; i++)
        assert_memory_equal(scene.ends[1].got.data + 1 + i * SIZE, numbers, SIZE);
    assert_int_equal(loop_stream_unsent(scene.ends[0].stream), 5);
    loop_stream_flush(scene.ends[0].stream);
    run_until(&scene, 1 + 10 * SIZE + 5);
    assert_memory_equal(scene.ends[1].got.data + 1 + 10 * SIZE, "later", 5);
    close_scene(&scene);
}

static void bytes_pass_through_tls(void **state)
{
    (void)state;
    enum { SIZE = 3000000 };
    struct scene scene;
    open_scene(&scene);
    secure(&scene, &token);
    say(&scene.ends[0], "early", 1);
    assert_true(loop_stream_unsent(scene.ends[0].stream) >= 5);
    assert_false(loop_stream_is_secure(scene.ends[0].stream));
    run_until(&scene, 5);
    assert_true(loop_stream_is_secure(scene.ends[0].stream));
    assert_true(loop_stream_is_secure(scene.ends[1].stream));
    assert_memory_equal(scene.ends[1].got.data, "early", 5);
    say(&scene.ends[0], "0123456789", SIZE / 10);
    run_until(&scene, SIZE + 5);
    assert_memory_equal(scene.ends[1].got.data + SIZE - 5, "0123456789", 10);
    say(&scene.ends[1], "back", 1);
    run_for_a_moment(&scene);
    assert_int_equal(scene.ends[0].got.size, 4);
    loop_stream_free(scene.ends[0].stream);
    loop_run(scene.loop);
    assert_int_equal(scene.ends[1].ends, 1);
    assert_int_equal(scene.ends[1].code, WEFT_OK);
    close_scene(&scene);
}

static void another_token_ends_both_streams(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    scene.ends_wanted = 2;
    secure(&scene, &other_token);
    say(&scene.ends[0], "secret", 1);
    loop_run(scene.loop);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(scene.ends[i].ends, 1);
        assert_int_equal(scene.ends[i].code, WEFT_UNAUTHENTICATED);
        assert_int_equal(scene.ends[i].got.size, 0);
    }
    close_scene(&scene);
}

static void garbage_ends_a_secure_stream(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    loop_stream_secure(scene.ends[1].stream, tls_new(true, &token));
    say(&scene.ends[0], "GET / HTTP/1.1\r\n\r\n", 1);
    loop_run(scene.loop);
    assert_int_equal(scene.ends[1].code, WEFT_DATA_LOSS);
    close_scene(&scene);
}

// ---- Listeners ------------------------------------------------------------------------------------

static void accept_one(void *owner, int fd)
{
    struct scene *scene = owner;
    scene->accepted[scene->accepted_count++] = fd;
    if (scene->accepted_count == scene->accepted_wanted)
        loop_stop(scene->loop);
}

static void listen_here(struct net_address *address, struct net_listener *listener)
{
    assert_int_equal(net_read_address("localhost:0", 0, address), WEFT_OK);
    assert_int_equal(net_listen(address, listener), WEFT_OK);
    address->port = listener->port;
}

static void a_crowd_is_accepted(void **state)
{
    (void)state;
    enum { CROWD = 150 };
    struct scene scene;
    struct net_address address;
    struct net_listener listener;
    struct loop_listener *watched;
    int fds[CROWD];
    open_scene(&scene);
    listen_here(&address, &listener);
    watched = loop_listener_new(scene.loop, listener.fds[listener.count - 1], accept_one, &scene);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(net_connect(&address, 1000, &fds[i]), WEFT_OK);
    scene.accepted_wanted = CROWD;
    loop_run(scene.loop);
    assert_int_equal(scene.accepted_count, CROWD);
    for (int i = 0; i < CROWD; i++) {
        close(fds[i]);
        close(scene.accepted[i]);
    }
    loop_listener_free(watched);
    loop_listener_free(NULL);
    net_listener_close(&listener);
    close_scene(&scene);
}

static void without_descriptors_it_rests_and_goes_on(void **state)
{
    (void)state;
    struct scene scene;
    struct net_address address;
    struct net_listener listener;
    struct rlimit before, none;
    int fd;
    open_scene(&scene);
    listen_here(&address, &listener);
    struct loop_listener *watched =
        loop_listener_new(scene.loop, listener.fds[listener.count - 1], accept_one, &scene);
    loop_set_turn(scene.loop, (struct loop_turn){.ended = end_turn}, &scene);
    scene.turns = 1;
    assert_int_equal(net_connect(&address, 1000, &fd), WEFT_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct loop_timer *timer = loop_timer_new(scene.loop, 30, 0, stop, &scene);
    loop_run(scene.loop);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(scene.accepted_count, 0);
    assert_true(scene.turns < 10);  // it did not ask all the time
    scene.accepted_wanted = 1;
    loop_run(scene.loop);
    assert_int_equal(scene.accepted_count, 1);
    loop_timer_free(timer);
    loop_listener_free(watched);
    close(scene.accepted[0]);
    close(fd);
    net_listener_close(&listener);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_ends_before_the_loop_sleeps),
        cmocka_unit_test(a_spinning_loop_still_sleeps_and_wakes),
        cmocka_unit_test(a_paused_stream_makes_the_other_side_wait),
        cmocka_unit_test(a_paused_stream_hears_of_the_end),
        cmocka_unit_test(an_output_that_is_never_empty_does_not_grow),
        cmocka_unit_test(bytes_pass_through_tls),
        cmocka_unit_test(a_slow_reader_gets_all_through_tls),
        cmocka_unit_test(another_token_ends_both_streams),
        cmocka_unit_test(garbage_ends_a_secure_stream),
        cmocka_unit_test(a_crowd_is_accepted),
        cmocka_unit_test(without_descriptors_it_rests_and_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
