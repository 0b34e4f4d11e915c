// Connections: two directions of bytes that arrive in pieces, stand still, and break. What was on its way when one breaks arrives in part.
#include <stdio.h>
#include <stdlib.h>

#include "sys/env.h"
#include "world/net_state.h"

enum {
    STREAM_BYTES_MAX = 2 << 20,
    HELLO_BYTES_MAX = 400,   // after which bytes may change on their way
    SLOW_BYTES_MAX = 20000,  // that arrive at once where it is slow
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
    bool is_paused;
};

int world_new_descriptor(void)
{
    return ++world.last_descriptor;
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
    if (wire->ends[0].stream || wire->ends[1].stream || wire->to || wire->ends[1].is_child ||
        !wire->ends[0].has_ended || !wire->ends[1].has_ended)
        return;
    list_take_out(&wire->in_world);
    buf_fini(&wire->ends[0].coming);
    buf_fini(&wire->ends[1].coming);
    free(wire);
}

void net_close_end(struct wire *wire, int side)
{
    wire->ends[side].stream = NULL;
    wire->ends[side].has_ended = true;
    wire->ends[!side].is_lost = true;  // after what is on its way
    free_if_unused(wire);
}

static struct wire *find_wire(int fd, int *side)
{
    for (struct link *at = world.wires.next; at != &world.wires; at = at->next)
        for (*side = 0; *side < 2; ++*side)
            if (wire_of(at)->ends[*side].fd == fd)
                return wire_of(at);
    return NULL;
}

// ---- Faults -------------------------------------------------------------------------------------------------

static struct wire *some_wire(void)
{
    struct link *at = world.wires.next;
    for (uint32_t i = world_below(8); i > 0 && at->next != &world.wires; i--)
        at = at->next;
    return list_is_empty(&world.wires) || !wire_of(at)->port ? NULL : wire_of(at);
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
               side == LISTENER ? "one that was dialed" : "dialer", pause_ms);
}

static uint64_t *blocked_until(const struct wire *wire, int side)
{
    return &world.blocked_until_ns[wire->ends[!side].process->number]
                                  [wire->ends[side].process->number];
}

uint64_t net_next_ns(void)
{
    uint64_t next = UINT64_MAX;
    for (struct link *at = world.wires.next; at != &world.wires; at = at->next)
        for (int side = 0; side < 2; side++) {
            const uint64_t silent_ns = wire_of(at)->ends[side].silent_until_ns;
            const uint64_t blocked_ns = *blocked_until(wire_of(at), side);
            if (silent_ns > world.now_ns && silent_ns < next)
                next = silent_ns;
            if (blocked_ns > world.now_ns && blocked_ns < next)
                next = blocked_ns;
        }
    return next;
}

bool net_close(int fd)
{
    int side;
    struct wire *wire = find_wire(fd, &side);
    if (!wire)
        return false;
    if (!wire->ends[side].is_child)
        net_close_end(wire, side);
    return true;
}

void net_kill(struct loop *process)
{
    net_close_listeners(process);
    for (struct link *at = world.wires.next, *next; at != &world.wires; at = next) {
        next = at->next;
        for (int side = 0; side < 2; side++) {
            struct wire *wire = wire_of(at);
            struct end *end = &wire->ends[side];
            if (end->process != process || end->is_child || (end->has_ended && !end->stream))
                continue;
            const bool is_freed = wire->ends[!side].has_ended;
            net_close_end(wire, side);
            if (is_freed)
                break;
        }
    }
}

void net_check_closed(const struct loop *process)
{
    for (struct link *at = world.listeners.next; at != &world.listeners; at = at->next)
        if (listener_of(at)->process == process)
            world_wrong("process %d has ended, and listens at port %u", process->number,
                        listener_of(at)->port);
    for (struct link *at = world.wires.next; at != &world.wires; at = at->next)
        for (int side = 0; side < 2; side++)
            if (wire_of(at)->ends[side].process == process && wire_of(at)->ends[side].stream)
                world_wrong("process %d has ended, and its end of connection %d is open",
                            process->number, wire_of(at)->number);
}

struct wire *net_add_wire(struct loop *from, struct loop *to, uint16_t port)
{
    struct wire *wire = calloc(1, sizeof *wire);
    ASSERT(wire);
    wire->number = ++world.last_wire;
    wire->port = port;
    wire->ends[DIALER] = (struct end){.process = from, .fd = world_new_descriptor()};
    wire->ends[LISTENER] = (struct end){.process = to, .fd = world_new_descriptor()};
    list_append(&world.wires, &wire->in_world);
    return wire;
}

// ---- Pairs --------------------------------------------------------------------------------------------------

void net_make_pair(int fds[2])
{
    const struct wire *wire = net_add_wire(world.running, world.running, 0);
    fds[0] = wire->ends[DIALER].fd;
    fds[1] = wire->ends[LISTENER].fd;
}

struct wire *net_give_to_child(int fd)
{
    int side;
    struct wire *wire = find_wire(fd, &side);
    ASSERT(wire && side == LISTENER);
    wire->ends[side].is_child = true;
    return wire;
}

struct buf *net_child_arrived(struct wire *wire)
{
    return &wire->ends[LISTENER].coming;
}

void net_child_put(struct wire *wire, weft_bytes bytes)
{
    struct end *there = &wire->ends[DIALER];
    if (!there->has_ended && !there->is_lost)
        buf_append(&there->coming, bytes.data, bytes.size);
}

void net_child_end(struct wire *wire)
{
    wire->ends[LISTENER].is_child = false;
    net_close_end(wire, LISTENER);
}

// ---- Streams ------------------------------------------------------------------------------------------------

struct loop_stream *loop_stream_new(struct loop *loop, int fd,
                                    const struct loop_stream_calls *calls, void *owner)
{
    struct loop_stream *stream = calloc(1, sizeof *stream);
    ASSERT(stream);
    *stream = (struct loop_stream){.process = loop, .calls = *calls, .owner = owner};
    stream->wire = find_wire(fd, &stream->side);
    ASSERT(stream->wire && !stream->wire->ends[stream->side].stream);
    stream->wire->ends[stream->side].stream = stream;
    if (stream->side == DIALER && loop->last_attempt != stream->wire->attempt)
        loop->last_wire = stream->wire->number;
    if (stream->side == DIALER)
        loop->last_attempt = stream->wire->attempt;
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

void loop_stream_pause(struct loop_stream *stream, bool is_paused)
{
    stream->is_paused = is_paused;
}

void loop_stream_free(struct loop_stream *stream)
{
    if (!stream)
        return;
    net_close_end(stream->wire, stream->side);
    buf_fini(&stream->out);
    free(stream);
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

void net_name_peer(int fd, char *text, size_t size)
{
    snprintf(text, size, "pid %d", fd);
}

// ---- What arrives -------------------------------------------------------------------------------------------

static bool accept_wire(struct wire *wire)
{
    const struct listener *listener = wire->to;
    if (!listener || !listener->accept || world_is_stopped(listener->process) ||
        world.now_ns < *blocked_until(wire, LISTENER))
        return false;
    wire->to = NULL;
    world.running = listener->process;
    listener->accept(listener->owner, wire->ends[LISTENER].fd);
    world.running = NULL;
    return true;
}

static void flip_some(struct wire *wire, const struct end *end, struct buf *piece)
{
    const bool was_greeted = wire->carried > HELLO_BYTES_MAX;
    if (end != &wire->ends[DIALER])
        return;
    wire->carried += piece->size;
    if (!world.has_faults || !world.rates.flip || !was_greeted || !wire->port ||
        !sim_may_flip(end->process, wire->port) || !world_chance(world.rates.flip))
        return;
    piece->data[world_below((uint32_t)piece->size)] ^= (char)(1 << world_below(8));
    world.flips++;
    world_note("connection %d: a bit changes", wire->number);
}

static size_t draw_size(const struct wire *wire, const struct end *end)
{
    const uint32_t slow_ms =
        world.slow_ms[wire->ends[end == &wire->ends[0]].process->number][end->process->number];
    const size_t size =
        world_chance(700) ? end->coming.size : 1 + world_below((uint32_t)end->coming.size);
    return slow_ms && size > SLOW_BYTES_MAX ? SLOW_BYTES_MAX : size;
}

static void deliver(struct wire *wire, struct end *end)
{
    const size_t size = draw_size(wire, end);
    struct buf piece = {0};
    buf_append(&piece, end->coming.data, size);
    cut_front(&end->coming, size);
    const struct end *from = &wire->ends[end == &wire->ends[0]];
    if (from->stream && from->stream->flushed)
        push(from->stream);
    if (end == &wire->ends[LISTENER] && from->process->last_wire == wire->number)
        sim_heard(from->process);
    flip_some(wire, end, &piece);
    const uint32_t slow_ms = world.slow_ms[from->process->number][end->process->number];
    if (slow_ms)
        end->silent_until_ns = world.now_ns + (uint64_t)slow_ms * NS_PER_MS;
    world.running = end->process;
    end->stream->calls.data(end->stream->owner, buf_bytes(&piece));
    world.running = NULL;
    buf_fini(&piece);
}

// All that has arrived, to the end: its sender is dead.
void loop_stream_drain(struct loop_stream *stream)
{
    struct end *end = &stream->wire->ends[stream->side];
    struct buf all = end->coming;
    end->coming = (struct buf){0};
    if (all.size)
        stream->calls.data(stream->owner, buf_bytes(&all));
    buf_fini(&all);
}

static bool move_end(struct wire *wire, int side)
{
    struct end *end = &wire->ends[side];
    struct loop_stream *stream = end->stream;
    if (!stream || world_is_stopped(stream->process))
        return false;
    world.running = stream->process;
    if (stream->has_waited && stream->flushed == 0) {
        stream->has_waited = false;
        if (stream->calls.drained)
            stream->calls.drained(stream->owner);
        world.running = NULL;
        return true;
    }
    world.running = NULL;
    if (end->has_ended || world.now_ns < end->silent_until_ns ||
        world.now_ns < *blocked_until(wire, side))
        return false;
    if (stream->is_paused && !end->is_lost)
        return false;
    if (end->coming.size) {
        deliver(wire, end);
        return true;
    }
    if (!end->is_lost)
        return false;
    end->has_ended = true;
    world.running = stream->process;
    stream->calls.ended(stream->owner, WEFT_OK);
    world.running = NULL;
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
    memset(world.blocked_until_ns, 0, sizeof world.blocked_until_ns);
}

// Connections that were never accepted are left when both sides are gone.
void net_fini(void)
{
    while (!list_is_empty(&world.wires)) {
        struct wire *wire = wire_of(world.wires.next);
        if (wire->ends[0].stream || wire->ends[1].stream)
            world_wrong("a stream is left");
        wire->to = NULL;
        wire->ends[0].has_ended = wire->ends[1].has_ended = true;
        free_if_unused(wire);
    }
}
