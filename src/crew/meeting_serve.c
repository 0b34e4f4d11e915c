// The server: connections of the loop, each with the bytes that it has sent so far. One that takes its time is closed.

#include "crew/meeting.h"

#include <stdlib.h>

#include "base/list.h"
#include "sys/loop/loop.h"
#include "sys/net/net.h"
#include "sys/process/signals.h"
#include "sys/secure/secret.h"

enum { GUEST_MS = 30000, GUESTS_MAX = 4096 };

struct server {
    struct loop *loop;
    struct meeting meeting;
    struct link guests;
    size_t count;  // of them
};

// A connection, from its first byte to the last of its answer.
struct guest {
    struct link link;
    struct server *server;
    struct loop_stream *stream;
    struct loop_timer *limit;
    struct buf request;
    bool is_answered;
};

static void free_guest(struct guest *guest)
{
    loop_timer_free(guest->limit);
    loop_stream_free(guest->stream);
    buf_fini(&guest->request);
    list_take_out(&guest->link);
    guest->server->count--;
    free(guest);
}

static void leave_when_sent(struct guest *guest)
{
    if (guest->is_answered && loop_stream_unsent(guest->stream) == 0)
        free_guest(guest);
}

static void data(void *owner, weft_bytes bytes)
{
    struct guest *guest = owner;
    if (guest->is_answered)
        return;
    buf_append(&guest->request, bytes.data, bytes.size);
    if (guest->request.has_failed) {
        free_guest(guest);
        return;
    }
    guest->is_answered = meeting_answer(&guest->server->meeting, buf_bytes(&guest->request),
                                        loop_stream_out(guest->stream));
    if (guest->is_answered)
        loop_stream_flush(guest->stream);
    leave_when_sent(guest);
}

static void ended(void *owner, weft_err code)
{
    (void)code;
    free_guest(owner);
}

static void drained(void *owner)
{
    leave_when_sent(owner);
}

static void late(void *owner)
{
    free_guest(owner);
}

static const struct loop_stream_calls calls = {.data = data, .ended = ended, .drained = drained};

static void accepted(void *owner, int fd)
{
    struct server *server = owner;
    struct guest *guest = calloc(1, sizeof *guest);
    struct loop_stream *stream = loop_stream_new(server->loop, fd, &calls, guest);
    if (!guest || !stream || server->count >= GUESTS_MAX) {
        loop_stream_free(stream);
        free(guest);
        err_clear();
        return;
    }
    *guest = (struct guest){.server = server, .stream = stream};
    guest->limit = loop_timer_new(server->loop, GUEST_MS, 0, late, guest);
    list_append(&server->guests, &guest->link);
    server->count++;
}

static void caught(void *owner, int number)
{
    const struct server *server = owner;
    (void)number;
    loop_stop(server->loop);
}

weft_err meeting_serve(uint16_t port)
{
    const struct net_address address = {.host = "", .port = port};
    struct server server = {.loop = loop_new(NULL, NULL)};
    struct net_listener listener = {0};
    uint64_t seed = 0;
    if (!server.loop)
        return WEFT_RESOURCE_EXHAUSTED;
    secret_random(&seed, sizeof seed);
    meeting_init(&server.meeting, seed);
    list_init(&server.guests);
    weft_err err = net_listen(&address, &listener);
    for (size_t i = 0; !err && i < listener.count; i++)
        if (!loop_listener_new(server.loop, listener.fds[i], accepted, &server))
            err = WEFT_RESOURCE_EXHAUSTED;
    for (const int *number = signals_to_end; !err && *number; number++)
        if (!loop_signal_new(server.loop, *number, caught, &server))
            err = WEFT_INTERNAL;
    if (!err)
        loop_run(server.loop);
    while (!list_is_empty(&server.guests))
        free_guest(LIST_ITEM(server.guests.next, struct guest, link));
    loop_free(server.loop);
    net_listener_close(&listener);
    meeting_fini(&server.meeting);
    return err;
}
