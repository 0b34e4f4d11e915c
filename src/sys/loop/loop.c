// The loop over libuv. Sockets are only watched by it; reading and writing is done by us, because
// libuv's own writes raise SIGPIPE, and a library may not change a program's signals to prevent that.
// Streams are in stream.c.

#include "sys/loop/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "sys/loop/loop_state.h"
#include "sys/net/net.h"

// A crowd that arrives at once must not keep others waiting, and who has no descriptors left must not
// ask for them all the time.
enum { ACCEPTS_PER_TURN_MAX = 64, ACCEPT_REST_MS = 100 };

enum { DESCRIPTORS_MIN = 32, DESCRIPTORS_USUAL = 1024 };

// Every handle starts with libuv's, so that one callback frees them all.
struct loop_timer {
    uv_timer_t uv;
    loop_fn *elapsed;
    void *owner;
};

struct loop_signal {
    uv_signal_t uv;
    loop_signal_fn *caught;
    void *owner;
};

struct loop_watch {
    uv_poll_t uv;
    loop_fn *readable;
    void *owner;
};

struct loop_listener {
    uv_poll_t uv;
    struct loop *loop;
    int fd;
    struct loop_timer *rest;  // until it continues; NULL: it listens
    loop_accept_fn *accepted;
    void *owner;
};

weft_err loop_refuse(int uv_code, const char *what)
{
    errno = -uv_code;
    return err_errno("cannot %s", what);
}

void *loop_allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        err_no_memory("for the event loop");
    return memory;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void close_handle(void *handle)
{
    if (handle && !uv_is_closing(handle))
        uv_close(handle, free_handle);
}

static void on_wake(uv_async_t *waker)
{
    struct loop *loop = waker->data;
    loop_begin_event(loop);
    if (loop->woken)
        loop->woken(loop->owner);
}

static void abandon(struct loop *loop)
{
    uv_close((uv_handle_t *)&loop->before_wait, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_loop_close(&loop->uv);
}

// libuv ends the process when it cannot open a pipe for its signals, and code that runs in a loop needs some
// more. A limit that we may raise is raised to the usual value.
static weft_err check_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= DESCRIPTORS_MIN)
        return WEFT_OK;
    const unsigned long had = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS_USUAL ? limit.rlim_max : DESCRIPTORS_USUAL;
    if (limit.rlim_cur >= DESCRIPTORS_MIN && setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return WEFT_OK;
    return err_set(WEFT_RESOURCE_EXHAUSTED,
                   "this process may only have %lu files open at a time, and needs at least %d\n  "
                   "try: ulimit -n 1024, before this",
                   had, DESCRIPTORS_MIN);
}

struct loop *loop_new(loop_fn *woken, void *owner)
{
    struct loop *loop = check_descriptors() ? NULL : loop_allocate(sizeof *loop);
    if (!loop)
        return NULL;
    loop->woken = woken;
    loop->owner = owner;
    loop->waker.data = loop;
    int code = uv_loop_init(&loop->uv);
    if (code == 0) {
        uv_prepare_init(&loop->uv, &loop->before_wait);
        loop->before_wait.data = loop;
        code = uv_async_init(&loop->uv, &loop->waker, on_wake);
        if (code != 0)
            abandon(loop);
    }
    if (code != 0) {
        loop_refuse(code, "start the event loop");
        free(loop);
        return NULL;
    }
    return loop;
}

// Streams hold more than their handle.
static void close_leftover(uv_handle_t *handle, void *argument)
{
    struct loop *loop = argument;
    if (uv_is_closing(handle))
        return;
    if (handle == (uv_handle_t *)&loop->waker || handle == (uv_handle_t *)&loop->before_wait)
        uv_close(handle, NULL);
    else
        uv_close(handle, handle->data ? loop_stream_release : free_handle);
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    uv_walk(&loop->uv, close_leftover, loop);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT) != 0)  // a loop that was stopped returns once more
        continue;
    ASSERT(uv_loop_close(&loop->uv) == 0);
    buf_fini(&loop->plain);
    buf_fini(&loop->spare);
    free(loop);
}

// ---- Running --------------------------------------------------------------------------------------

static void begin_turn(struct loop *loop)
{
    if (!loop->is_in_turn && loop->turn.began)
        loop->turn.began(loop->turn_owner);
    loop->is_in_turn = true;
}

void loop_begin_event(struct loop *loop)
{
    loop->events++;
    begin_turn(loop);
}

// A round may be empty, as most are while the loop spins.
static void end_turn(struct loop *loop)
{
    if (loop->events == loop->events_before)
        return;
    loop->events_before = loop->events;
    begin_turn(loop);
    if (loop->turn.ended)
        loop->turn.ended(loop->turn_owner);
    loop->is_in_turn = false;
}

// After timers and everything else that runs without waiting, so that nothing is left when the loop sleeps.
static void on_before_wait(uv_prepare_t *uv)
{
    end_turn(uv->data);
}

void loop_set_turn(struct loop *loop, struct loop_turn turn, void *owner)
{
    loop->turn = turn;
    loop->turn_owner = owner;
    loop->events_before = loop->events - 1;  // the work before the loop ran counts as a round
    if (turn.ended)
        uv_prepare_start(&loop->before_wait, on_before_wait);
    else
        uv_prepare_stop(&loop->before_wait);
}

void loop_set_spin(struct loop *loop, uint32_t microseconds)
{
    spin_set(&loop->spin, microseconds);
    uv_stop(&loop->uv);  // not loop_stop: loop_run only looks anew how to wait
}

// Looks for events for a while; false: there were none.
static bool spin_for_events(struct loop *loop)
{
    const uint64_t before = loop->events;
    if (!spin_begin(&loop->spin))
        return false;
    do {
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    } while (loop->events == before && !loop->is_stopped && spin_goes_on(&loop->spin));
    spin_end(&loop->spin, loop->events != before);
    return loop->events != before;
}

void loop_run(struct loop *loop)
{
    while (!loop->is_stopped) {
        if (loop->spin.limit_ns == 0)
            uv_run(&loop->uv, UV_RUN_DEFAULT);
        else if (!spin_for_events(loop) && !loop->is_stopped)
            uv_run(&loop->uv, UV_RUN_ONCE);
    }
    end_turn(loop);
    loop->is_stopped = false;
}

void loop_stop(struct loop *loop)
{
    loop->is_stopped = true;
    uv_stop(&loop->uv);
}

void loop_wake(struct loop *loop)
{
    uv_async_send(&loop->waker);
}

// The uv loop is the first member of ours.
#define loop_of(handle) ((struct loop *)(handle)->loop)

// ---- Timers ---------------------------------------------------------------------------------------

static void on_timer(uv_timer_t *uv)
{
    struct loop_timer *timer = (struct loop_timer *)uv;
    loop_begin_event(loop_of(uv));
    timer->elapsed(timer->owner);
}

struct loop_timer *loop_timer_new(struct loop *loop, uint64_t first_ms, uint64_t repeat_ms,
                                  loop_fn *elapsed, void *owner)
{
    struct loop_timer *timer = loop_allocate(sizeof *timer);
    if (!timer)
        return NULL;
    timer->elapsed = elapsed;
    timer->owner = owner;
    uv_timer_init(&loop->uv, &timer->uv);
    // The loop's idea of now is as old as its last wait.
    uv_update_time(&loop->uv);
    uv_timer_start(&timer->uv, on_timer, first_ms, repeat_ms);
    return timer;
}

void loop_timer_free(struct loop_timer *timer)
{
    close_handle(timer);
}

// ---- Signals --------------------------------------------------------------------------------------

static void on_signal(uv_signal_t *uv, int number)
{
    struct loop_signal *signal = (struct loop_signal *)uv;
    loop_begin_event(loop_of(uv));
    signal->caught(signal->owner, number);
}

struct loop_signal *loop_signal_new(struct loop *loop, int number, loop_signal_fn *caught,
                                    void *owner)
{
    struct loop_signal *signal = loop_allocate(sizeof *signal);
    if (!signal)
        return NULL;
    signal->caught = caught;
    signal->owner = owner;
    int code = uv_signal_init(&loop->uv, &signal->uv);
    if (code != 0) {
        loop_refuse(code, "take a signal over");
        free(signal);
        return NULL;
    }
    code = uv_signal_start(&signal->uv, on_signal, number);
    if (code != 0) {
        loop_refuse(code, "take a signal over");
        close_handle(signal);
        return NULL;
    }
    return signal;
}

void loop_signal_free(struct loop_signal *signal)
{
    close_handle(signal);
}

// ---- Descriptors ----------------------------------------------------------------------------------

static void on_readable(uv_poll_t *uv, int status, int events)
{
    struct loop_watch *watch = (struct loop_watch *)uv;
    (void)status;
    (void)events;
    loop_begin_event(loop_of(uv));
    watch->readable(watch->owner);
}

struct loop_watch *loop_watch_new(struct loop *loop, int fd, loop_fn *readable, void *owner)
{
    struct loop_watch *watch = loop_allocate(sizeof *watch);
    if (!watch)
        return NULL;
    watch->readable = readable;
    watch->owner = owner;
    int code = uv_poll_init(&loop->uv, &watch->uv, fd);
    if (code != 0) {
        loop_refuse(code, "watch a descriptor");
        free(watch);
        return NULL;
    }
    code = uv_poll_start(&watch->uv, UV_READABLE, on_readable);
    if (code != 0) {
        loop_refuse(code, "watch a descriptor");
        close_handle(watch);
        return NULL;
    }
    return watch;
}

void loop_watch_free(struct loop_watch *watch)
{
    close_handle(watch);
}

// ---- Listeners ------------------------------------------------------------------------------------

static void listener_start(struct loop_listener *listener);

static void listener_rest_ended(void *owner)
{
    struct loop_listener *listener = owner;
    loop_timer_free(listener->rest);
    listener->rest = NULL;
    listener_start(listener);
}

static void listener_rest(struct loop_listener *listener)
{
    listener->rest =
        loop_timer_new(listener->loop, ACCEPT_REST_MS, 0, listener_rest_ended, listener);
    if (listener->rest)
        uv_poll_stop(&listener->uv);
}

static void on_listener(uv_poll_t *uv, int status, int events)
{
    struct loop_listener *listener = (struct loop_listener *)uv;
    (void)status;
    (void)events;
    loop_begin_event(listener->loop);
    for (int i = 0; i < ACCEPTS_PER_TURN_MAX && !uv_is_closing((uv_handle_t *)uv); i++) {
        int fd = -1;
        const weft_err code = net_accept(listener->fd, &fd);
        if (code == WEFT_RESOURCE_EXHAUSTED)
            listener_rest(listener);
        if (code == WEFT_RESOURCE_EXHAUSTED || (code == WEFT_OK && fd < 0))
            return;
        if (code == WEFT_OK)
            listener->accepted(listener->owner, fd);
    }
}

static void listener_start(struct loop_listener *listener)
{
    uv_poll_start(&listener->uv, UV_READABLE, on_listener);
}

struct loop_listener *loop_listener_new(struct loop *loop, int fd, loop_accept_fn *accepted,
                                        void *owner)
{
    struct loop_listener *listener = loop_allocate(sizeof *listener);
    if (!listener)
        return NULL;
    const int code = uv_poll_init(&loop->uv, &listener->uv, fd);
    if (code != 0) {
        loop_refuse(code, "watch a listening socket");
        free(listener);
        return NULL;
    }
    listener->loop = loop;
    listener->fd = fd;
    listener->accepted = accepted;
    listener->owner = owner;
    listener_start(listener);
    return listener;
}

void loop_listener_free(struct loop_listener *listener)
{
    if (!listener)
        return;
    loop_timer_free(listener->rest);
    listener->rest = NULL;
    close_handle(listener);
}
