// Connections: two directions of bytes that arrive in pieces, stand still, and break. What was on its way when one breaks arrives in part.
#include <stdio.h>
#include <stdlib.h>

#include "sim_transport/world.h"
#include "sys/env.h"

enum { DIALER, LISTENER, CONNECTIONS_MAX = 1000, STREAM_BYTES_MAX = 2 << 20 };

// One side of a connection, and the bytes on their way to it.
struct end {
    struct loop_stream *stream;
    struct buf coming;
    uint64_t silent_until_ns;
    bool is_lost;  // no more bytes come; then the end
    bool has_ended;
};

struct wire {
    struct link in_world;
    int number, process;  // that has dialed
    bool is_accepted;
    struct end ends[2];
};

struct loop_stream {
    struct loop *process;
    struct wire *wire;
    int side;
    struct loop_stream_calls calls;
    void *owner;
    struct buf out;
    size_t flushed;
    bool has_waited;  // drained() is due when all is gone
};

struct net_route {
    int unused;
};

static struct wire *wire_of(struct link *at)
{
    return LIST_ITEM(at, struct wire, in_world);
}

static void cut_front(struct buf *bytes, size_t size)
{
    bytes->size -= size;
    if (bytes->size)
        memmove(bytes->data, bytes->data + size, bytes->size);
}

// A connection whose dialer has gone is accepted all the same.
static void free_if_unused(struct wire *wire)
{
    const bool may_be_accepted = !wire->is_accepted && world.processes[HUB_PROCESS].accept;
    if (wire->ends[0].stream || wire->ends[1].stream || may_be_accepted)
        return;
    list_take_out(&wire->in_world);
    buf_fini(&wire->ends[0].coming);
    buf_fini(&wire->ends[1].coming);
    free(wire);
}

// ---- Faults -------------------------------------------------------------------------------------------------

static struct wire *some_wire(void)
{
    struct link *at = world.wires.next;
    for (uint32_t i = world_below(8); i > 0 && at->next != &world.wires; i--)
        at = at->next;
    return list_is_empty(&world.wires) ? NULL : wire_of(at);
}

void net_break_some(void)
{
    struct wire *wire = some_wire();
    if (!wire)
        return;
    world_note("connection %d breaks", wire->number);
    world.cuts++;
    for (int side = 0; side < 2; side++) {
        struct end *end = &wire->ends[side];
        end->coming.size = world_below((uint32_t)end->coming.size + 1);
        end->is_lost = true;
    }
}

void net_silence_some(void)
{
    struct wire *wire = some_wire();
    if (!wire)
        return;
    const int side = (int)world_below(2);
    const uint32_t pause_ms = world_chance(700) ? world_below(4000) : world_below(25000);
    wire->ends[side].silent_until_ns = world.now_ns + (uint64_t)pause_ms * NS_PER_MS;
    world.silences++;
    world_note("connection %d: nothing arrives at the %s for %u ms", wire->number,
               side == LISTENER ? "hub" : "spoke", pause_ms);
}

uint64_t net_next_ns(void)
{
    uint64_t next = UINT64_MAX;
    for (struct link *at = world.wires.next; at != &world.wires; at = at->next)
        for (int side = 0; side < 2; side++) {
            const uint64_t until_ns = wire_of(at)->ends[side].silent_until_ns;
            if (until_ns > world.now_ns && until_ns < next)
                next = until_ns;
        }
    return next;
}

// ---- Connecting ---------------------------------------------------------------------------------------------

weft_err net_route_open(const struct net_address *address, struct net_route **route)
{
    (void)address;
    *route = calloc(1, sizeof **route);
    return WEFT_OK;
}

void net_route_close(struct net_route *route)
{
    free(route);
}

weft_err net_route_connect(const struct net_route *route, uint32_t attempt, int *fd)
{
    (void)route, (void)attempt;
    if (!world.processes[HUB_PROCESS].accept)
        return err_set(WEFT_UNAVAILABLE, "no program listens there");
    struct wire *wire = calloc(1, sizeof *wire);
    ASSERT(wire);
    wire->number = ++world.last_wire;
    list_append(&world.wires, &wire->in_world);
    *fd = wire->number * 2 + DIALER;
    return WEFT_OK;
}

struct loop_listener *loop_listener_new(struct loop *loop, int fd, loop_accept_fn *accepted,
                                        void *owner)
{
    (void)fd;
    loop->accept = accepted;
    loop->accept_owner = owner;
    return (struct loop_listener *)loop;
}

void loop_listener_free(struct loop_listener *listener)
{
    ((struct loop *)listener)->accept = NULL;
    for (struct link *at = world.wires.next, *next; at != &world.wires; at = next) {
        next = at->next;
        if (wire_of(at)->is_accepted)
            continue;
        wire_of(at)->is_accepted = true;
        wire_of(at)->ends[DIALER].is_lost = true;
        wire_of(at)->ends[LISTENER].has_ended = true;
        free_if_unused(wire_of(at));
    }
}

// A connection that the door does not want, or a file.
void file_close(int fd)
{
    if (sim_close_file(fd))
        return;
    for (struct link *at = world.wires.next; at != &world.wires; at = at->next) {
        if (wire_of(at)->number != fd / 2)
            continue;
        wire_of(at)->ends[DIALER].is_lost = true;
        wire_of(at)->ends[LISTENER].has_ended = true;
        free_if_unused(wire_of(at));
        return;
    }
}

// ---- Streams ------------------------------------------------------------------------------------------------

struct loop_stream *loop_stream_new(struct loop *loop, int fd,
                                    const struct loop_stream_calls *calls, void *owner)
{
    struct loop_stream *stream = calloc(1, sizeof *stream);
    ASSERT(stream);
    *stream =
        (struct loop_stream){.process = loop, .side = fd & 1, .calls = *calls, .owner = owner};
    for (struct link *at = world.wires.next; at != &world.wires; at = at->next)
        if (wire_of(at)->number == fd / 2)
            stream->wire = wire_of(at);
    ASSERT(stream->wire && !stream->wire->ends[stream->side].stream);
    stream->wire->ends[stream->side].stream = stream;
    if (stream->side == DIALER) {
        stream->wire->process = loop->number;
        world.dialed[loop->number] = stream->wire->number;
    }
    return stream;
}

struct buf *loop_stream_out(struct loop_stream *stream)
{
    return &stream->out;
}

static void push(struct loop_stream *stream)
{
    struct end *there = &stream->wire->ends[!stream->side];
    if (there->is_lost || there->has_ended) {
        cut_front(&stream->out, stream->flushed);
        stream->flushed = 0;
        return;
    }
    const size_t room = world.room > there->coming.size ? world.room - there->coming.size : 0;
    const size_t size = stream->flushed < room ? stream->flushed : room;
    buf_append(&there->coming, stream->out.data, size);
    cut_front(&stream->out, size);
    stream->flushed -= size;
    stream->has_waited |= stream->flushed > 0;
}

void loop_stream_flush(struct loop_stream *stream)
{
    if (stream->out.size > STREAM_BYTES_MAX)
        world_wrong("%zu bytes wait in a stream", stream->out.size);
    stream->flushed = stream->out.size;
    if (world.dying != stream->process)
        push(stream);
}

size_t loop_stream_unsent(const struct loop_stream *stream)
{
    return stream->out.size;
}

void loop_stream_free(struct loop_stream *stream)
{
    struct wire *wire = stream->wire;
    wire->ends[stream->side].stream = NULL;
    wire->ends[stream->side].has_ended = true;
    wire->ends[!stream->side].is_lost = true;  // after what is on its way
    buf_fini(&stream->out);
    free(stream);
    free_if_unused(wire);
}

void loop_stream_secure(struct loop_stream *stream, struct tls *tls)
{
    (void)stream, (void)tls;
    world_wrong("a local connection asks for TLS");
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
    snprintf(text, size, "connection %d", fd / 2);
}

uint32_t net_connections_max(void)
{
    return CONNECTIONS_MAX;
}

// ---- What arrives -------------------------------------------------------------------------------------------

static bool accept_wire(struct wire *wire)
{
    struct loop *hub = &world.processes[HUB_PROCESS];
    if (wire->is_accepted || !hub->accept || world_is_stopped(hub))
        return false;
    wire->is_accepted = true;
    hub->accept(hub->accept_owner, wire->number * 2 + LISTENER);
    return true;
}

static void deliver(struct wire *wire, struct end *end)
{
    const size_t size =
        world_chance(700) ? end->coming.size : 1 + world_below((uint32_t)end->coming.size);
    struct buf piece = {0};
    buf_append(&piece, end->coming.data, size);
    cut_front(&end->coming, size);
    struct end *from = &wire->ends[end == &wire->ends[0]];
    if (from->stream && from->stream->flushed)
        push(from->stream);
    if (end == &wire->ends[LISTENER] && world.dialed[wire->process] == wire->number)
        sim_heard(wire->process);
    const bool may_flip = end == &wire->ends[DIALER] && wire->process >= FIRST_FETCHER;
    if (world.has_faults && may_flip && world_chance(world.rates.flip)) {
        piece.data[world_below((uint32_t)size)] ^= (char)(1 << world_below(8));
        world.flips++;
    }
    end->stream->calls.data(end->stream->owner, buf_bytes(&piece));
    buf_fini(&piece);
}

static bool move_end(struct wire *wire, int side)
{
    struct end *end = &wire->ends[side];
    struct loop_stream *stream = end->stream;
    if (!stream || world_is_stopped(stream->process))
        return false;
    if (stream->has_waited && stream->flushed == 0) {
        stream->has_waited = false;
        stream->calls.drained(stream->owner);
        return true;
    }
    if (end->has_ended || world.now_ns < end->silent_until_ns)
        return false;
    if (end->coming.size) {
        deliver(wire, end);
        return true;
    }
    if (!end->is_lost)
        return false;
    end->has_ended = true;
    stream->calls.ended(stream->owner, WEFT_OK);
    return true;
}

bool net_move_some(void)
{
    uint32_t count = 0;
    for (struct link *at = world.wires.next; at != &world.wires; at = at->next)
        count++;
    const uint32_t first = world_below(count);
    struct link *at = world.wires.next;
    for (uint32_t i = 0; i < first; i++)
        at = at->next;
    const int side = (int)world_below(2);
    for (uint32_t i = 0; i < count; i++) {
        struct link *next = at->next == &world.wires ? world.wires.next : at->next;
        struct wire *wire = wire_of(at);
        if (accept_wire(wire) || move_end(wire, side) || move_end(wire, !side))
            return true;
        at = next;
    }
    return false;
}

void net_calm(void)
{
    for (struct link *at = world.wires.next; at != &world.wires; at = at->next)
        wire_of(at)->ends[0].silent_until_ns = wire_of(at)->ends[1].silent_until_ns = 0;
}

// Connections that were never accepted are left when both sides are gone.
void net_fini(void)
{
    while (!list_is_empty(&world.wires)) {
        struct wire *wire = wire_of(world.wires.next);
        if (wire->ends[0].stream || wire->ends[1].stream)
            world_wrong("a stream is left");
        wire->is_accepted = true;
        free_if_unused(wire);
    }
}
