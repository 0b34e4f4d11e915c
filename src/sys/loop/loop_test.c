// Tests of the loop: timers, signals, streams, waking from another thread.

#include "sys/loop/loop.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int refusal;  // errno of the next send

ssize_t send(int fd, const void *data, size_t size, int flags)
{
    if (refusal) {
        errno = refusal;
        refusal = 0;
        return -1;
    }
    return sendto(fd, data, size, flags, NULL, 0);
}

struct scene {
    struct loop *loop;
    struct loop_stream *stream;
    struct loop_timer *timer;
    struct loop_signal *signal;
    struct loop_watch *watch;
    struct buf got;
    int calls, ends, number, peer;
    size_t wanted;
    weft_err end_code;
};

static void stop(void *owner)
{
    struct scene *scene = owner;
    scene->calls++;
    loop_stop(scene->loop);
}

static void take(void *owner, weft_bytes bytes)
{
    struct scene *scene = owner;
    buf_append(&scene->got, bytes.data, bytes.size);
    if (scene->got.size == scene->wanted)
        loop_stop(scene->loop);
}

static void take_end(void *owner, weft_err code)
{
    struct scene *scene = owner;
    scene->ends++;
    scene->end_code = code;
    loop_stop(scene->loop);
}

static const struct loop_stream_calls calls = {.data = take, .ended = take_end};

static void open_scene(struct scene *scene)
{
    int fds[2];
    *scene = (struct scene){.wanted = SIZE_MAX};
    scene->loop = loop_new(stop, scene);
    assert_non_null(scene->loop);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    scene->stream = loop_stream_new(scene->loop, fds[0], &calls, scene);
    assert_non_null(scene->stream);
    scene->peer = fds[1];
}

static void close_scene(struct scene *scene)
{
    if (scene->peer >= 0)
        close(scene->peer);
    loop_free(scene->loop);
    buf_fini(&scene->got);
}

static void bytes_arrive_and_then_the_end_once(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    assert_int_equal(send(scene.peer, "hello", 5, 0), 5);
    scene.wanted = 5;
    loop_run(scene.loop);
    assert_memory_equal(scene.got.data, "hello", 5);
    assert_int_equal(scene.ends, 0);
    assert_int_equal(send(scene.peer, "!", 1, 0), 1);
    close(scene.peer);
    scene.peer = -1;
    loop_run(scene.loop);
    loop_stream_drain(scene.stream);
    assert_int_equal(scene.got.size, 6);
    assert_int_equal(scene.ends, 1);
    assert_int_equal(scene.end_code, WEFT_OK);
    loop_stream_free(scene.stream);
    close_scene(&scene);
}

static void *read_all(void *argument)
{
    struct scene *scene = argument;
    char bytes[1000];
    uintptr_t sum = 0;
    for (ssize_t got; (got = recv(scene->peer, bytes, sizeof bytes, 0)) > 0;)
        for (ssize_t i = 0; i < got; i++)
            sum = sum * 31 + (unsigned char)bytes[i];
    loop_wake(scene->loop);
    return (void *)sum;
}

// Far more than a socket holds: it goes out as the other side reads.
static void what_the_peer_does_not_take_at_once_goes_out_later(void **state)
{
    (void)state;
    struct scene scene;
    pthread_t reader;
    void *sum = NULL;
    uintptr_t expected = 0;
    open_scene(&scene);
    for (int i = 0; i < 3000000; i++) {
        const char byte = (char)(i * 7 >> 3);
        buf_append(loop_stream_out(scene.stream), &byte, 1);
        expected = expected * 31 + (unsigned char)byte;
    }
    loop_stream_flush(scene.stream);
    assert_int_equal(pthread_create(&reader, NULL, read_all, &scene), 0);
    scene.timer = loop_timer_new(scene.loop, 1, 1, stop, &scene);
    while (loop_stream_out(scene.stream)->size > 0)
        loop_run(scene.loop);
    loop_timer_free(scene.timer);
    loop_stream_free(scene.stream);
    loop_run(scene.loop);  // until the reader, which sees the end now, wakes us
    pthread_join(reader, &sum);
    assert_true((uintptr_t)sum == expected);
    close_scene(&scene);
}

// With those bytes missing in the middle the other side would wait for them, or take others for them.
static void bytes_that_the_kernel_refuses_end_the_stream(void **state)
{
    static const int refusals[] = {ENOBUFS, ENOMEM, EIO};
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct scene scene;
        char bytes[8];
        open_scene(&scene);
        scene.timer = loop_timer_new(scene.loop, 5000, 0, stop, &scene);
        buf_append_text(loop_stream_out(scene.stream), "first");
        refusal = refusals[i];
        loop_stream_flush(scene.stream);
        buf_append_text(loop_stream_out(scene.stream), "second");
        loop_stream_flush(scene.stream);
        loop_run(scene.loop);
        assert_int_equal(scene.calls, 0);
        assert_int_equal(scene.ends, 1);
        assert_int_equal(recv(scene.peer, bytes, sizeof bytes, 0), 0);
        loop_timer_free(scene.timer);
        loop_stream_free(scene.stream);
        close_scene(&scene);
    }
}

static void sending_to_a_dead_peer_is_an_end_and_no_signal(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    close(scene.peer);
    scene.peer = -1;
    buf_append_text(loop_stream_out(scene.stream), "too late");
    loop_stream_flush(scene.stream);
    loop_run(scene.loop);
    assert_int_equal(scene.ends, 1);
    close_scene(&scene);
}

// A new socket gets the number of the one closed before it: the loop must not mix them up.
static void a_stream_with_a_reused_number_is_heard(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    for (int i = 0; i < 5; i++) {
        int fds[2];
        close(scene.peer);
        loop_run(scene.loop);
        assert_int_equal(scene.ends, i + 1);
        loop_stream_free(scene.stream);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        scene.stream = loop_stream_new(scene.loop, fds[0], &calls, &scene);
        scene.peer = fds[1];
        scene.got.size = 0;
        scene.wanted = 2;
        assert_int_equal(send(scene.peer, "ok", 2, 0), 2);
        loop_run(scene.loop);
        assert_int_equal(scene.got.size, 2);
    }
    close_scene(&scene);
}

static void catch_signal(void *owner, int number)
{
    struct scene *scene = owner;
    scene->number = number;
    loop_stop(scene->loop);
}

static void a_signal_is_caught_and_given_back(void **state)
{
    (void)state;
    struct scene scene;
    struct sigaction action;
    open_scene(&scene);
    scene.signal = loop_signal_new(scene.loop, SIGUSR2, catch_signal, &scene);
    assert_non_null(scene.signal);
    raise(SIGUSR2);
    loop_run(scene.loop);
    assert_int_equal(scene.number, SIGUSR2);
    loop_signal_free(scene.signal);
    sigaction(SIGUSR2, NULL, &action);
    assert_ptr_equal(action.sa_handler, SIG_DFL);
    close_scene(&scene);
}

static void a_timer_repeats_until_it_is_freed(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    scene.timer = loop_timer_new(scene.loop, 1, 1, stop, &scene);
    for (int i = 1; i <= 3; i++) {
        loop_run(scene.loop);
        assert_true(scene.calls >= i);
    }
    loop_timer_free(scene.timer);
    close_scene(&scene);
}

static void *wake(void *argument)
{
    loop_wake(argument);
    return NULL;
}

static void another_thread_wakes_the_loop(void **state)
{
    (void)state;
    struct scene scene;
    pthread_t thread;
    open_scene(&scene);
    assert_int_equal(pthread_create(&thread, NULL, wake, scene.loop), 0);
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
    pthread_join(thread, NULL);
    close_scene(&scene);
}

static void a_watched_descriptor_tells_when_it_is_readable(void **state)
{
    (void)state;
    struct scene scene;
    int fds[2];
    open_scene(&scene);
    assert_int_equal(pipe(fds), 0);
    scene.watch = loop_watch_new(scene.loop, fds[0], stop, &scene);
    assert_non_null(scene.watch);
    assert_int_equal(write(fds[1], "x", 1), 1);
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
    loop_watch_free(scene.watch);
    close(fds[0]);
    close(fds[1]);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive_and_then_the_end_once),
        cmocka_unit_test(what_the_peer_does_not_take_at_once_goes_out_later),
        cmocka_unit_test(bytes_that_the_kernel_refuses_end_the_stream),
        cmocka_unit_test(sending_to_a_dead_peer_is_an_end_and_no_signal),
        cmocka_unit_test(a_stream_with_a_reused_number_is_heard),
        cmocka_unit_test(a_signal_is_caught_and_given_back),
        cmocka_unit_test(a_timer_repeats_until_it_is_freed),
        cmocka_unit_test(another_thread_wakes_the_loop),
        cmocka_unit_test(a_watched_descriptor_tells_when_it_is_readable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
