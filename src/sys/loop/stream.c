// Streams of the loop: connected sockets, plain or through TLS.

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/loop/loop_state.h"
#include "sys/secure/tls.h"

enum {
    IDLE_BYTES_MAX = 64 << 10,  // what an idle stream may keep of its buffer
    SPARE_BYTES_MAX = 1 << 20,  // and the loop for all of them
    SEAL_BYTES = 64 << 10,      // are sealed at once: they are sent while they are in a cache
};

struct loop_stream {
    uv_poll_t uv;  // first: libuv's callbacks know only that
    struct loop *loop;
    int fd;
    int watched;  // events that libuv watches for us
    bool has_ended, is_paused;
    struct loop_stream_calls calls;
    void *owner;
    struct tls *tls;    // NULL: none
    struct buf unsent;  // plain bytes; those of `flushed` may go
    size_t sent;        // bytes of unsent that are gone; with TLS, that are sealed
    size_t flushed;     // with TLS
};

static void on_stream(uv_poll_t *uv, int status, int events);

static weft_bytes stream_next(const struct loop_stream *stream)
{
    if (stream->tls)
        return tls_unsent(stream->tls);
    if (stream->sent == stream->unsent.size)
        return (weft_bytes){"", 0};
    return (weft_bytes){stream->unsent.data + stream->sent, stream->unsent.size - stream->sent};
}

// Sets the events that libuv watches. Setting the same events again would cost it two system calls.
static void stream_watch(struct loop_stream *stream)
{
    const int events = (stream->is_paused ? UV_DISCONNECT : UV_READABLE) |
                       (stream_next(stream).size > 0 ? UV_WRITABLE : 0);
    if (stream->has_ended || events == stream->watched)
        return;
    uv_poll_start(&stream->uv, events, on_stream);
    stream->watched = events;
}

// Gives the connection up: nothing is called any more but the end, once.
static void stream_end(struct loop_stream *stream, weft_err code)
{
    if (stream->has_ended)
        return;
    uv_poll_stop(&stream->uv);
    stream->has_ended = true;
    stream->calls.ended(stream->owner, code);
}

// ---- Sending --------------------------------------------------------------------------------------

// A buffer of this size costs a page fault for each page when it is new, more than filling it.
static void release_buffer(struct loop_stream *stream)
{
    struct buf *unsent = &stream->unsent, *spare = &stream->loop->spare;
    unsent->size = stream->sent = stream->flushed = 0;
    if (unsent->capacity <= IDLE_BYTES_MAX)
        return;
    if (spare->data || unsent->capacity > SPARE_BYTES_MAX)
        buf_fini(unsent);
    else
        *spare = *unsent;
    *unsent = (struct buf){0};
}

// A message with a hole in it must not be sent, and the owner must not be called from here: our
// side of the connection is closed and its end read in a moment.
static void refuse_bytes(struct loop_stream *stream)
{
    shutdown(stream->fd, SHUT_RDWR);
    stream->unsent.size = stream->sent = stream->flushed = 0;
}

// When all sealed bytes are gone, the next are sealed: at once, if they only wait for the handshake.
static void stream_seal(struct loop_stream *stream)
{
    const size_t left = stream->flushed - stream->sent;
    if (!stream->tls || left == 0 || tls_unsent(stream->tls).size)
        return;
    const size_t size = left < SEAL_BYTES || !tls_is_ready(stream->tls) ? left : SEAL_BYTES;
    const weft_bytes plain = {stream->unsent.data + stream->sent, size};
    if (tls_seal(stream->tls, plain) != WEFT_OK) {
        refuse_bytes(stream);
        return;
    }
    stream->sent += size;
    if (stream->sent == stream->unsent.size)
        release_buffer(stream);
}

static void stream_sent(struct loop_stream *stream, size_t size)
{
    if (stream->tls) {
        tls_sent(stream->tls, size);
        return;
    }
    stream->sent += size;
    if (stream->sent == stream->unsent.size)
        release_buffer(stream);
}

// A reader that is always a little late must not make the buffer grow without end.
static void stream_compact(struct loop_stream *stream)
{
    struct buf *unsent = &stream->unsent;
    if (stream->sent < IDLE_BYTES_MAX || stream->sent < unsent->size / 2)
        return;
    unsent->size -= stream->sent;
    memmove(unsent->data, unsent->data + stream->sent, unsent->size);
    stream->flushed -= stream->flushed ? stream->sent : 0;
    stream->sent = 0;
}

// Sends as much as the other side takes. The rest waits for on_stream; bytes that it will never take are
// dropped: its end is read in a moment. The kernel may also refuse bytes of a connection that is whole (ENOBUFS,
// ENOMEM).
static void stream_write(struct loop_stream *stream)
{
    for (;;) {
        stream_seal(stream);
        const weft_bytes next = stream_next(stream);
        if (stream->has_ended || next.size == 0)
            return;
        const ssize_t sent = send(stream->fd, next.data, next.size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            break;
        if (sent < 0 && errno != EINTR) {
            if (errno != EPIPE && errno != ECONNRESET)
                refuse_bytes(stream);
            else
                stream_sent(stream, next.size);
        }
        if (sent > 0)
            stream_sent(stream, (size_t)sent);
    }
    stream_compact(stream);
}

struct buf *loop_stream_out(struct loop_stream *stream)
{
    if (!stream->unsent.data && !stream->unsent.has_failed) {
        stream->unsent = stream->loop->spare;
        stream->loop->spare = (struct buf){0};
    }
    return &stream->unsent;
}

static void send_appended(struct loop_stream *stream)
{
    if (stream->unsent.has_failed)
        refuse_bytes(stream);
    stream->flushed = stream->tls ? stream->unsent.size : 0;
    stream_write(stream);
}

void loop_stream_flush(struct loop_stream *stream)
{
    send_appended(stream);
    stream_watch(stream);
}

bool loop_stream_push(struct loop_stream *stream)
{
    send_appended(stream);
    return stream_next(stream).size == 0;
}

size_t loop_stream_unsent(const struct loop_stream *stream)
{
    const size_t plain = stream->unsent.size - stream->sent;
    return plain + (stream->tls ? tls_waiting_bytes(stream->tls) : 0);
}

// ---- Receiving ------------------------------------------------------------------------------------

static void hand_on_secure(struct loop_stream *stream, weft_bytes cipher)
{
    struct loop *loop = stream->loop;
    // Taken off the loop: data() may read from another stream.
    struct buf plain = loop->plain;
    loop->plain = (struct buf){0};
    plain.size = 0;
    weft_err code = tls_feed(stream->tls, cipher, &plain);
    stream_write(stream);  // what the handshake has to say, or why it failed
    stream_watch(stream);
    if (plain.size > 0)
        stream->calls.data(stream->owner, buf_bytes(&plain));
    if (code != WEFT_OK && !stream->has_ended) {
        if (plain.size > 0)  // data() may have had sentences of its own
            code = tls_feed(stream->tls, (weft_bytes){0}, &plain);
        stream_end(stream, code == WEFT_UNAVAILABLE ? WEFT_OK : code);
    }
    if (loop->plain.data || plain.has_failed)
        buf_fini(&plain);
    else
        loop->plain = plain;
}

// One read; false: nothing there now, or the end.
static bool stream_read(struct loop_stream *stream)
{
    struct loop *loop = stream->loop;
    const ssize_t got = recv(stream->fd, loop->bytes, sizeof loop->bytes, MSG_DONTWAIT);
    if (got > 0) {
        const weft_bytes bytes = {loop->bytes, (size_t)got};
        if (stream->tls)
            hand_on_secure(stream, bytes);
        else
            stream->calls.data(stream->owner, bytes);
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

static void stream_go_on_writing(struct loop_stream *stream)
{
    stream_write(stream);
    stream_watch(stream);
    if (stream->calls.drained && stream_next(stream).size == 0)
        stream->calls.drained(stream->owner);
}

static void on_stream(uv_poll_t *uv, int status, int events)
{
    struct loop_stream *stream = (struct loop_stream *)uv;
    loop_begin_event(stream->loop);
    if (status < 0)
        stream->watched = 0;  // libuv has stopped by itself
    if (events & UV_WRITABLE)
        stream_go_on_writing(stream);
    if (stream->has_ended)
        return;
    const bool is_broken = status < 0 || (events & UV_DISCONNECT);
    if (is_broken)
        stream->is_paused = false;
    if (is_broken || ((events & UV_READABLE) && !stream->is_paused)) {
        stream_watch(stream);
        stream_read(stream);
    }
}

void loop_stream_pause(struct loop_stream *stream, bool is_paused)
{
    stream->is_paused = is_paused;
    stream_watch(stream);
}

void loop_stream_drain(struct loop_stream *stream)
{
    while (!stream->has_ended && stream_read(stream))
        continue;
}

// ---- From beginning to end ------------------------------------------------------------------------

struct loop_stream *loop_stream_new(struct loop *loop, int fd,
                                    const struct loop_stream_calls *calls, void *owner)
{
    struct loop_stream *stream = loop_allocate(sizeof *stream);
    if (!stream) {
        close(fd);
        return NULL;
    }
    const int code = uv_poll_init(&loop->uv, &stream->uv, fd);
    if (code != 0) {
        loop_refuse(code, "watch a connection");
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

void loop_stream_secure(struct loop_stream *stream, struct tls *tls)
{
    ASSERT(!stream->tls && stream->unsent.size == 0);
    stream->tls = tls;
    loop_stream_flush(stream);
}

bool loop_stream_is_secure(const struct loop_stream *stream)
{
    return stream->tls && tls_is_ready(stream->tls);
}

void loop_stream_release(uv_handle_t *handle)
{
    struct loop_stream *stream = (struct loop_stream *)handle;
    tls_free(stream->tls);
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
    uv_close((uv_handle_t *)&stream->uv, loop_stream_release);
    close(stream->fd);
    stream->fd = -1;
}
