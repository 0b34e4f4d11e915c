// Guests that fetch.

#include "transport/fetch_server.h"

#include <stdlib.h>

#include "base/list.h"

struct fetch_server {
    struct fetch_files *files;
    struct link guests;
    size_t buffered_bytes;
};

struct fetch_guest {
    struct fetch_server *server;
    struct guest *guest;
    struct fetch_serve serve;
    struct link in_server;
    size_t buffered_bytes;  // its part
    uint64_t tick_bytes;    // put since the last tick
    size_t seen_bytes;      // that waited for it then,
    uint64_t moved_ms;      // and since when they are as many
};

static void count(struct fetch_guest *guest, size_t bytes)
{
    guest->server->buffered_bytes += bytes - guest->buffered_bytes;
    guest->buffered_bytes = bytes;
}

static void drop(struct fetch_guest *guest)
{
    count(guest, 0);
    list_take_out(&guest->in_server);
    guest_free(guest->guest);
    fetch_serve_fini(&guest->serve);
    free(guest);
}

static bool has_room(struct fetch_guest *guest, size_t unsent)
{
    count(guest, unsent);
    return unsent < FETCH_GUEST_BYTES_MAX && guest->server->buffered_bytes < FETCH_SERVER_BYTES_MAX;
}

// Sends until the client takes no more at once; its credit ends this, however fast it is.
static void push(struct fetch_guest *guest)
{
    struct loop_stream *stream = guest_stream(guest->guest);
    while (has_room(guest, loop_stream_unsent(stream)) && fetch_serve_has_more(&guest->serve) &&
           guest->tick_bytes < FETCH_TICK_BYTES_MAX) {
        struct buf *out = loop_stream_out(stream);
        const size_t before = out->size;
        fetch_serve_put(&guest->serve, out,
                        out->size + FETCH_GUEST_BYTES_MAX - loop_stream_unsent(stream));
        guest->tick_bytes += out->size - before;
        loop_stream_flush(stream);
    }
}

static void on_frame(void *owner, const struct frame *frame)
{
    struct fetch_guest *guest = owner;
    if (fetch_serve_receive(&guest->serve, frame)) {
        err_clear();
        drop(guest);
        return;
    }
    push(guest);
}

static void on_end(void *owner)
{
    drop(owner);
}

static void on_drained(void *owner)
{
    push(owner);
}

void fetch_server_adopt(struct fetch_server *server, struct guest *guest)
{
    static const struct guest_calls calls = {
        .frame = on_frame, .ended = on_end, .drained = on_drained};
    struct fetch_guest *made = calloc(1, sizeof *made);
    if (!made) {
        door_refuse(guest, err_no_memory("for a client that fetches"));
        return;
    }
    made->server = server;
    made->guest = guest;
    made->serve.files = server->files;
    list_append(&server->guests, &made->in_server);
    door_welcome(guest, &(struct hello_welcome){.epoch = 1}, &calls, made);
    guest_limit_frames(guest, FETCH_REQUEST_BYTES);
    loop_stream_flush(guest_stream(guest));
}

// Whether bytes wait for the guest, and have not become fewer for too long.
static bool is_stalled(struct fetch_guest *guest, uint64_t now_ms)
{
    const size_t unsent = loop_stream_unsent(guest_stream(guest->guest));
    if (unsent == 0 || unsent != guest->seen_bytes || guest->tick_bytes)
        guest->moved_ms = now_ms;
    guest->seen_bytes = unsent;
    guest->tick_bytes = 0;
    return now_ms - guest->moved_ms >= FETCH_STALL_MS;
}

void fetch_server_tick(struct fetch_server *server, uint64_t now_ms)
{
    for (struct link *at = server->guests.next, *next; at != &server->guests; at = next) {
        struct fetch_guest *guest = LIST_ITEM(at, struct fetch_guest, in_server);
        next = at->next;
        if (is_stalled(guest, now_ms))
            drop(guest);
        else
            push(guest);
    }
}

size_t fetch_server_buffered_bytes(const struct fetch_server *server)
{
    return server->buffered_bytes;
}

struct fetch_server *fetch_server_new(struct fetch_files *files)
{
    struct fetch_server *server = calloc(1, sizeof *server);
    if (!server) {
        err_no_memory("to serve files");
        return NULL;
    }
    server->files = files;
    list_init(&server->guests);
    return server;
}

void fetch_server_free(struct fetch_server *server)
{
    if (!server)
        return;
    while (!list_is_empty(&server->guests))
        drop(LIST_ITEM(server->guests.next, struct fetch_guest, in_server));
    free(server);
}
