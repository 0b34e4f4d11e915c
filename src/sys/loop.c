// The loop over libuv. Sockets are only watched by it; reading and writing is done here, because
// libuv's own writes raise SIGPIPE, and a library may not change a program's signals to prevent that.

#include "sys/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

enum { READ_BYTES = 64 << 10 };

struct loop {
    uv_loop_t uv;
    uv_async_t waker;
    loop_fn *woken;
    void *owner;
    char bytes[READ_BYTES];  // what a stream read last
};

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

struct loop_stream {
    uv_poll_t uv;
    struct loop *loop;
    int fd;
    bool has_ended;
    struct loop_stream_calls calls;
    void *owner;
    struct buf unsent;
    size_t sent;  // bytes of unsent that are gone
};

static weft_err refuse(int uv_code, const char *what)
{
    errno = -uv_code;
    return err_errno("cannot %s", what);
}

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for the event loop");
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
    if (loop->woken)
        loop->woken(loop->owner);
}

struct loop *loop_new(loop_fn *woken, void *owner)
{
    struct loop *loop = allocate(sizeof *loop);
    if (!loop)
        return NULL;
    loop->woken = woken;
    loop->owner = owner;
    loop->waker.data = loop;
    int code = uv_loop_init(&loop->uv);
    if (code == 0) {
        code = uv_async_init(&loop->uv, &loop->waker, on_wake);
        if (code != 0)
            uv_loop_close(&loop->uv);
    }
    if (code != 0) {
        refuse(code, "start the event loop");
        free(loop);
        return NULL;
    }
    return loop;
}

static void stream_release(uv_handle_t *handle);

// Streams hold more than their handle.
static void close_leftover(uv_handle_t *handle, void *waker)
{
    if (uv_is_closing(handle))
        return;
    if (handle == waker)
        uv_close(handle, NULL);
    else
        uv_close(handle, handle->data ? stream_release : free_handle);
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    uv_walk(&loop->uv, close_leftover, &loop->waker);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    ASSERT(uv_loop_close(&loop->uv) == 0);
    free(loop);
}

void loop_run(struct loop *loop)
{
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
    uv_stop(&loop->uv);
}

void loop_wake(struct loop *loop)
{
    uv_async_send(&loop->waker);
}

// ---- Timers ---------------------------------------------------------------------------------------

static void on_timer(uv_timer_t *uv)
{
    struct loop_timer *timer = (struct loop_timer *)uv;
    timer->elapsed(timer->owner);
}

struct loop_timer *loop_timer_new(struct loop *loop, uint64_t first_ms, uint64_t repeat_ms,
                                  loop_fn *elapsed, void *owner)
{
    struct loop_timer *timer = allocate(sizeof *timer);
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
    signal->caught(signal->owner, number);
}

struct loop_signal *loop_signal_new(struct loop *loop, int number, loop_signal_fn *caught,
                                    void *owner)
{
    struct loop_signal *signal = allocate(sizeof *signal);
    if (!signal)
        return NULL;
    signal->caught = caught;
    signal->owner = owner;
    int code = uv_signal_init(&loop->uv, &signal->uv);
    if (code != 0) {
        refuse(code, "take a signal over");
        free(signal);
        return NULL;
    }
    code = uv_signal_start(&signal->uv, on_signal, number);
    if (code != 0) {
        refuse(code, "take a signal over");
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
    watch->readable(watch->owner);
}

struct loop_watch *loop_watch_new(struct loop *loop, int fd, loop_fn *readable, void *owner)
{
    struct loop_watch *watch = allocate(sizeof *watch);
    if (!watch)
        return NULL;
    watch->readable = readable;
    watch->owner = owner;
    int code = uv_poll_init(&loop->uv, &watch->uv, fd);
    if (code != 0) {
        refuse(code, "watch a descriptor");
        free(watch);
        return NULL;
    }
    code = uv_poll_start(&watch->uv, UV_READABLE, on_readable);
    if (code != 0) {
        refuse(code, "watch a descriptor");
        close_handle(watch);
        return NULL;
    }
    return watch;
}

void loop_watch_free(struct loop_watch *watch)
{
    close_handle(watch);
}

// ---- Streams --------------------------------------------------------------------------------------

static void on_stream(uv_poll_t *uv, int status, int events);

// Gives the connection up: nothing is called any more but the end, once.
static void stream_end(struct loop_stream *stream, weft_err code)
{
    if (stream->has_ended)
        return;
    uv_poll_stop(&stream->uv);
    stream->has_ended = true;
    stream->calls.ended(stream->owner, code);
}

// One read; false: nothing there now, or the end.
static bool stream_read(struct loop_stream *stream)
{
    struct loop *loop = stream->loop;
    const ssize_t got = recv(stream->fd, loop->bytes, sizeof loop->bytes, MSG_DONTWAIT);
    if (got > 0) {
        stream->calls.data(stream->owner, (weft_bytes){loop->bytes, (size_t)got});
        return true;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    // A peer that was killed with our bytes unread resets the connection: for us that is an end.
    if (got == 0 || errno == ECONNRESET)
        stream_end(stream, WEFT_OK);
    else
        stream_end(stream, err_errno("cannot read from the other side"));
    return false;
}

// Sends what the other side takes. What it does not take waits for on_stream; what it never will is
// dropped: its end is read in a moment.
static void stream_write(struct loop_stream *stream)
{
    struct buf *unsent = &stream->unsent;
    while (!stream->has_ended && stream->sent < unsent->size) {
        const ssize_t sent = send(stream->fd, unsent->data + stream->sent,
                                  unsent->size - stream->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0)
            break;
        stream->sent += (size_t)sent;
    }
    unsent->size = stream->sent = 0;
}

static void stream_watch(struct loop_stream *stream)
{
    const int events = UV_READABLE | (stream->unsent.size > 0 ? UV_WRITABLE : 0);
    if (!stream->has_ended)
        uv_poll_start(&stream->uv, events, on_stream);
}

static void on_stream(uv_poll_t *uv, int status, int events)
{
    struct loop_stream *stream = (struct loop_stream *)uv;
    if (events & UV_WRITABLE) {
        stream_write(stream);
        stream_watch(stream);
    }
    if ((events & UV_READABLE) || status < 0)
        stream_read(stream);
}

struct loop_stream *loop_stream_new(struct loop *loop, int fd,
                                    const struct loop_stream_calls *calls, void *owner)
{
    struct loop_stream *stream = allocate(sizeof *stream);
    if (!stream) {
        close(fd);
        return NULL;
    }
    const int code = uv_poll_init(&loop->uv, &stream->uv, fd);
    if (code != 0) {
        refuse(code, "watch a connection");
        close(fd);
        free(stream);
        return NULL;
    }
    stream->uv.data = stream;
    stream->loop = loop;
    stream->fd = fd;
    stream->calls = *calls;
    stream->owner = owner;
    stream_watch(stream);
    return stream;
}

struct buf *loop_stream_out(struct loop_stream *stream)
{
    return &stream->unsent;
}

void loop_stream_flush(struct loop_stream *stream)
{
    stream_write(stream);
    stream_watch(stream);
}

void loop_stream_drain(struct loop_stream *stream)
{
    while (!stream->has_ended && stream_read(stream))
        continue;
}

static void stream_release(uv_handle_t *handle)
{
    struct loop_stream *stream = (struct loop_stream *)handle;
    buf_fini(&stream->unsent);
    if (stream->fd >= 0)
        close(stream->fd);
    free(stream);
}

void loop_stream_free(struct loop_stream *stream)
{
    if (!stream || uv_is_closing((uv_handle_t *)&stream->uv))
        return;
    stream->has_ended = true;
    // The handle goes before the descriptor: libuv would take a later one with the same number out
    // of its set.
    uv_close((uv_handle_t *)&stream->uv, stream_release);
    close(stream->fd);
    stream->fd = -1;
}
