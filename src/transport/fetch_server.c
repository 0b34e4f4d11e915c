// Guests that fetch.

#include "transport/fetch_server.h"

#include <stdlib.h>

#include "base/list.h"

struct fetch_server {
    const struct fetch_files *files;
    struct link guests;
    size_t buffered_bytes;
};

struct fetch_guest {
    struct fetch_server *server;
    struct guest *guest;
    struct fetch_serve serve;
    struct link in_server;
    size_t buffered_bytes;  // its part
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
    while (has_room(guest, loop_stream_unsent(stream)) && fetch_serve_has_more(&guest->serve)) {
        struct buf *out = loop_stream_out(stream);
        fetch_serve_put(&guest->serve, out,
                        out->size + FETCH_GUEST_BYTES_MAX - loop_stream_unsent(stream));
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

void fetch_server_tick(struct fetch_server *server)
{
    for (struct link *at = server->guests.next; at != &server->guests; at = at->next)
        push(LIST_ITEM(at, struct fetch_guest, in_server));
}

struct fetch_server *fetch_server_new(const struct fetch_files *files)
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
