// Connections: two streams of bytes that arrive in pieces, and break. What was on its way when one breaks
// arrives in part.
#include "sim_host/net.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/env.h"

enum { SEALED_BYTES_MAX = 1000, CHANNEL_NAP_NS = CHANNEL_NAP_MS * 1000000, CONNECTIONS_MAX = 1000 };

static struct wire *wire_of(const struct link *at)
{
    return LIST_ITEM(at, struct wire, in_world);
}

static void cut_front(struct buf *bytes, size_t size)
{
    bytes->size -= size;
    if (bytes->size)
        memmove(bytes->data, bytes->data + size, bytes->size);
}

static void lose_some(struct buf *bytes)
{
    bytes->size = world_below((uint32_t)bytes->size + 1);
}

static void free_if_unused(struct wire *wire)
{
    if (wire->channel || wire->stream)
        return;
    list_take_out(&wire->in_world);
    buf_fini(&wire->up);
    buf_fini(&wire->down);
    buf_fini(&wire->arrived);
    free(wire);
}

static void break_wire(struct wire *wire)
{
    lose_some(&wire->up);
    lose_some(&wire->down);
    wire->is_up_lost = wire->is_down_lost = true;
}

void net_cut_some(void)
{
    if (list_is_empty(&world.wires))
        return;
    struct link *at = world.wires.next;
    for (uint32_t i = world_below(6); i > 0 && at->next != &world.wires; i--)
        at = at->next;
    world_note("net: connection %d breaks", wire_of(at)->number);
    world.counts[COUNT_CUTS]++;
    break_wire(wire_of(at));
}

// What the host has given to the kernel may still arrive.
void net_end_all(void)
{
    for (struct link *at = world.wires.next, *next; at != &world.wires; at = next) {
        next = at->next;
        break_wire(wire_of(at));
    }
}

void net_end_client(int client)
{
    for (struct link *at = world.wires.next, *next; at != &world.wires; at = next) {
        next = at->next;
        if (wire_of(at)->client == client)
            break_wire(wire_of(at));
    }
}

void net_end_process(int client)
{
    for (struct link *at = world.wires.next, *next; at != &world.wires; at = next) {
        next = at->next;
        if (wire_of(at)->client == client)
            wire_of(at)->is_up_lost = wire_of(at)->is_down_lost = true;
    }
}

static void free_channel(struct wire *wire)
{
    if (wire->channel)
        buf_fini(&wire->channel->sealed);
    free(wire->channel);
    wire->channel = NULL;
}

void net_fini(void)
{
    while (!list_is_empty(&world.wires)) {
        struct wire *wire = wire_of(world.wires.next);
        ASSERT(!wire->stream);
        free_channel(wire);
        free_if_unused(wire);
    }
}

// ---- The client's end ------------------------------------------------------------------------------

static bool is_dead(void)
{
    return world.dead_clients >> world.running_client & 1;
}

weft_err channel_open(const struct net_address *address, const struct secret *token,
                      uint32_t timeout_ms, struct channel **channel)
{
    (void)address, (void)token, (void)timeout_ms;
    if (is_dead())
        return err_set(WEFT_CANCELLED, "this process was killed");
    if (!world.host)
        return err_set(WEFT_UNAVAILABLE, "nobody listens there");
    struct wire *wire = calloc(1, sizeof *wire);
    struct channel *made = calloc(1, sizeof *made);
    ASSERT(wire && made);
    wire->number = ++world.last_wire;
    wire->client = world.running_client;
    wire->room = world_chance(200) ? world_between(50, 400) : 100000;
    wire->channel = made;
    made->wire = wire;
    made->seals = wire->room < 200 || wire->number % 4 == 3;
    list_append(&world.wires, &wire->in_world);
    *channel = made;
    return WEFT_OK;
}

void channel_close(struct channel *channel)
{
    if (!channel)
        return;
    struct wire *wire = channel->wire;
    free_channel(wire);
    if (!is_dead() && world_chance(300))  // of a process that was killed, all that it wrote arrives
        lose_some(&wire->up);
    wire->is_up_lost = true;
    wire->down.size = 0;
    if (!wire->is_accepted)
        free_if_unused(wire);
}

static size_t write_up(struct wire *wire, weft_bytes bytes)
{
    const size_t room = wire->room > wire->up.size ? wire->room - wire->up.size : 0;
    const size_t size = bytes.size < room ? bytes.size : room;
    buf_append(&wire->up, bytes.data, size);
    return size;
}

// As TLS: what was taken, and the network did not take, is in the process and dies with it.
static void push_sealed(struct channel *channel)
{
    if (channel->sealed.size && !channel->wire->is_up_lost)
        cut_front(&channel->sealed, write_up(channel->wire, buf_bytes(&channel->sealed)));
}

weft_err channel_send(struct channel *channel, weft_bytes bytes, size_t *sent)
{
    struct wire *wire = channel->wire;
    *sent = 0;
    if (wire->is_up_lost)
        return err_set(WEFT_UNAVAILABLE, "the connection broke");
    push_sealed(channel);
    if (channel->sealed.size >= SEALED_BYTES_MAX)
        return WEFT_OK;
    *sent = channel->seals ? bytes.size : write_up(wire, bytes);
    if (channel->seals)
        buf_append(&channel->sealed, bytes.data, bytes.size);
    push_sealed(channel);
    return WEFT_OK;
}

size_t channel_unsent_bytes(const struct channel *channel)
{
    return channel->sealed.size;
}

weft_err channel_receive(struct channel *channel, struct buf *in, size_t *received)
{
    struct wire *wire = channel->wire;
    push_sealed(channel);
    *received = wire->arrived.size;
    buf_append(in, wire->arrived.data, wire->arrived.size);
    wire->arrived.size = 0;
    if (*received == 0 && wire->has_ended_down)
        return err_set(WEFT_UNAVAILABLE, "the other side closed the connection");
    return WEFT_OK;
}

weft_err channel_watch(struct channel *channel, bool wants_to_send, uint64_t deadline_ns,
                       bool *timed_out)
{
    return channel_wait(channel, wants_to_send, -1, deadline_ns, timed_out);
}

// It only waits, as a channel with TLS does.
weft_err channel_await(struct channel *channel, struct buf *in, size_t *received)
{
    bool timed_out;
    (void)in;
    *received = 0;
    return channel_wait(channel, false, -1, world.now_ns + CHANNEL_NAP_NS, &timed_out);
}

bool net_has_news(const void *what, bool wants_to_send)
{
    for (struct link *at = world.wires.next; at != &world.wires; at = at->next) {
        const struct wire *wire = wire_of(at);
        if (what && wire->channel == what)
            return wire->arrived.size || wire->has_ended_down || wire->is_up_lost ||
                   (wants_to_send && wire->up.size < wire->room);
    }
    return false;
}

weft_err channel_wait(struct channel *channel, bool wants_to_send, int wake_fd,
                      uint64_t deadline_ns, bool *timed_out)
{
    (void)wake_fd;
    world.running->wants_to_send = wants_to_send;
    fiber_wait(channel, deadline_ns);
    *timed_out = world.now_ns >= deadline_ns;
    return WEFT_OK;
}

// ---- The host's end --------------------------------------------------------------------------------

struct loop_stream *loop_stream_new(struct loop *loop, int fd,
                                    const struct loop_stream_calls *calls, void *owner)
{
    (void)loop;
    struct loop_stream *stream = calloc(1, sizeof *stream);
    ASSERT(stream);
    stream->calls = *calls;
    stream->owner = owner;
    for (struct link *at = world.wires.next; at != &world.wires; at = at->next)
        if (wire_of(at)->number == fd)
            stream->wire = wire_of(at);
    ASSERT(stream->wire);
    stream->wire->stream = stream;
    return stream;
}

struct buf *loop_stream_out(struct loop_stream *stream)
{
    return &stream->out;
}

// Hands what goes to the network.
static void push_down(struct loop_stream *stream)
{
    struct wire *wire = stream->wire;
    if (wire->is_down_lost) {
        stream->out.size = stream->flushed = 0;
        return;
    }
    const size_t room = wire->room > wire->down.size ? wire->room - wire->down.size : 0;
    const size_t size = stream->flushed < room ? stream->flushed : room;
    buf_append(&wire->down, stream->out.data, size);
    cut_front(&stream->out, size);
    stream->flushed -= size;
    stream->has_waited |= stream->flushed > 0;
}

void loop_stream_flush(struct loop_stream *stream)
{
    if (world.has_faults && world_chance(world.rates.flush_crash))
        world.is_dying = true;
    if (world.is_dying)
        return;
    stream->flushed = stream->out.size;
    push_down(stream);
}

bool loop_stream_push(struct loop_stream *stream)
{
    loop_stream_flush(stream);
    return stream->out.size == 0;
}

size_t loop_stream_unsent(const struct loop_stream *stream)
{
    return stream->out.size;
}

void loop_stream_pause(struct loop_stream *stream, bool is_paused)
{
    stream->is_paused = is_paused;
}

void loop_stream_free(struct loop_stream *stream)
{
    struct wire *wire = stream->wire;
    wire->stream = NULL;
    wire->is_down_lost = true;  // after what is on its way
    wire->up.size = 0;
    wire->is_up_lost = true;
    buf_fini(&stream->out);
    free(stream);
    free_if_unused(wire);
}

// ---- Who is at the other end -----------------------------------------------------------------------
// A connection is local, so there is no TLS; its number stands for its process.

bool net_is_local_stream(int fd)
{
    return fd >= 0;
}

pid_t net_peer_pid(int fd)
{
    return (pid_t)fd;
}

void net_name_peer(int fd, char *text, size_t size)
{
    snprintf(text, size, "connection %d", fd);
}

// Nobody is known to be dead before his time is over.
bool net_process_is_gone(pid_t pid)
{
    (void)pid;
    return false;
}

uint32_t net_connections_max(void)
{
    return CONNECTIONS_MAX;
}

void file_close(int fd)
{
    (void)fd;
}

struct tls *tls_new(bool is_server, const struct secret *token)
{
    (void)is_server, (void)token;
    world_wrong("a local connection asks for TLS");
}

void tls_free(struct tls *tls)
{
    (void)tls;
}

void loop_stream_secure(struct loop_stream *stream, struct tls *tls)
{
    (void)stream, (void)tls;
    world_wrong("a local connection asks for TLS");
}

// ---- What arrives ----------------------------------------------------------------------------------

static size_t draw_piece(const struct buf *bytes)
{
    return world_chance(600) ? bytes->size : 1 + world_below((uint32_t)bytes->size);
}

static bool accept_wire(struct wire *wire)
{
    if (wire->is_accepted || !world.host || wire->is_up_lost)
        return false;
    wire->is_accepted = true;
    world.is_turn_due = true;
    world.accept(world.accept_owner, wire->number);
    return true;
}

static bool move_up(struct wire *wire)
{
    struct loop_stream *stream = wire->stream;
    if (!stream || world.is_dying || (stream->is_paused && !wire->is_up_lost))
        return false;
    world.is_turn_due = true;
    if (wire->up.size) {
        struct buf piece = {0};
        buf_append(&piece, wire->up.data, draw_piece(&wire->up));
        cut_front(&wire->up, piece.size);
        stream->calls.data(stream->owner, buf_bytes(&piece));
        buf_fini(&piece);
        return true;
    }
    if (!wire->is_up_lost || wire->has_ended_up)
        return false;
    wire->has_ended_up = true;
    stream->calls.ended(stream->owner, WEFT_OK);
    return true;
}

static bool move_down(struct wire *wire)
{
    if (!wire->channel || wire->has_ended_down)
        return false;
    if (wire->down.size) {
        const size_t size = draw_piece(&wire->down);
        buf_append(&wire->arrived, wire->down.data, size);
        cut_front(&wire->down, size);
        if (!wire->stream || !wire->stream->has_waited || world.is_dying)
            return true;
        struct loop_stream *stream = wire->stream;
        push_down(stream);
        if (stream->flushed == 0) {
            stream->has_waited = false;
            world.is_turn_due = true;
            stream->calls.drained(stream->owner);
        }
        return true;
    }
    if (!wire->is_down_lost)
        return false;
    wire->has_ended_down = true;
    return true;
}

bool net_move_some(void)
{
    uint32_t count = 0;
    for (struct link *at = world.wires.next; at != &world.wires; at = at->next)
        count++;
    for (uint32_t tries = 0; count && tries < 2 * count; tries++) {
        struct link *at = world.wires.next;
        for (uint32_t i = world_below(count); i > 0; i--)
            at = at->next;
        struct wire *wire = wire_of(at);
        const bool has_moved =
            world_chance(500) ? accept_wire(wire) || move_up(wire) : move_down(wire);
        if (has_moved)
            return true;
    }
    for (struct link *at = world.wires.next, *next; at != &world.wires; at = next) {
        next = at->next;
        struct wire *wire = wire_of(at);
        if (accept_wire(wire) || move_up(wire) || move_down(wire))
            return true;
    }
    return false;
}
