// Guests that fetch.

#include "transport/fetch_server.h"

#include <stdlib.h>

#include "base/list.h"
#include "sys/time/clock.h"

struct fetch_server {
    struct fetch_files *files;
    enum fetch_packing packing;
    struct link guests;
    size_t bytes_max, buffered_bytes;
    uint64_t now_ms;  // at the last tick
};

struct fetch_guest {
    struct fetch_server *server;
    struct guest *guest;  // NULL: it is a line, which we have opened
    struct dial *dial;
    struct fetch_serve serve;
    struct link in_server;
    size_t buffered_bytes;  // its part
    uint64_t tick_bytes;    // put since the last tick
    size_t seen_bytes;      // that waited for it then,
    uint64_t moved_ms;      // and since when they are as many
    uint64_t put_bytes;     // in all
    uint64_t waits_ns;      // since then bytes wait for it; 0: none do
    uint64_t gone_bytes;    // of put_bytes, those that had gone then
    uint64_t span_ns;       // since then there is always something to send; 0: there is not
    uint64_t span_bytes;    // of files, when that began
};

static struct loop_stream *stream_of(const struct fetch_guest *guest)
{
    return guest->guest ? guest_stream(guest->guest) : dial_stream(guest->dial);
}

static void count(struct fetch_guest *guest, size_t bytes)
{
    guest->server->buffered_bytes += bytes - guest->buffered_bytes;
    guest->buffered_bytes = bytes;
}

static void drop(struct fetch_guest *guest)
{
    count(guest, 0);
    list_take_out(&guest->in_server);
    if (guest->guest)
        guest_free(guest->guest);
    dial_free(guest->dial);
    fetch_serve_fini(&guest->serve);
    free(guest);
}

static bool is_scarce(const struct fetch_server *server)
{
    return server->buffered_bytes >= server->bytes_max;
}

// A guest for which nothing waits is always sent more: those at slow links may hold all memory for long.
static bool has_room(struct fetch_guest *guest, size_t unsent)
{
    count(guest, unsent);
    return unsent == 0 || (unsent < FETCH_GUEST_BYTES_MAX && !is_scarce(guest->server));
}

// Puts blocks until the guest's part of the memory is full, or a short one when there is none left.
static void put(struct fetch_guest *guest, size_t unsent, struct buf *out)
{
    const size_t before = out->size;
    const bool is_short = is_scarce(guest->server);
    guest->serve.block_bytes = is_short ? FETCH_SCARCE_BYTES : 0;
    fetch_serve_put(&guest->serve, out,
                    out->size + (is_short ? 1 : FETCH_GUEST_BYTES_MAX - unsent));
    guest->tick_bytes += out->size - before;
    guest->put_bytes += out->size - before;
}

// The rate of the link shows while bytes wait for it: from the first that was not taken to the last.
static void measure(struct fetch_guest *guest)
{
    const size_t unsent = loop_stream_unsent(stream_of(guest));
    const uint64_t gone = guest->put_bytes > unsent ? guest->put_bytes - unsent : 0;
    if (!guest->waits_ns && unsent) {
        guest->waits_ns = clock_now_ns();
        guest->gone_bytes = gone;
    } else if (guest->waits_ns && !unsent) {
        if (gone - guest->gone_bytes >= FETCH_BLOCK_BYTES / 4)
            fetch_pack_note_link(&guest->serve.pack, gone - guest->gone_bytes,
                                 clock_now_ns() - guest->waits_ns);
        guest->waits_ns = 0;
    }
}

// How fast bytes of files go, whatever they are on the wire. From a moment when bytes wait for the link: before, the kernel's buffers took them.
static void look_at_span(struct fetch_guest *guest)
{
    const uint64_t bytes = guest->serve.data_bytes - guest->span_bytes;
    const bool is_long = guest->span_ns && bytes >= FETCH_PACK_SPAN_BYTES;
    if (guest->serve.count && guest->span_ns && !is_long)
        return;
    const uint64_t now = clock_now_ns();
    if (is_long)
        fetch_pack_note_span(&guest->serve.pack, bytes, now - guest->span_ns);
    guest->span_ns = guest->serve.count && guest->waits_ns ? now : 0;
    guest->span_bytes = guest->serve.data_bytes;
}

// Sends until the client takes no more at once; its credit ends this, however fast it is.
static void push(struct fetch_guest *guest)
{
    struct loop_stream *stream = stream_of(guest);
    while (has_room(guest, loop_stream_unsent(stream)) && fetch_serve_has_more(&guest->serve) &&
           guest->tick_bytes < FETCH_TICK_BYTES_MAX) {
        put(guest, loop_stream_unsent(stream), loop_stream_out(stream));
        loop_stream_flush(stream);
        measure(guest);
        look_at_span(guest);
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
    measure(owner);
    push(owner);
}

static struct fetch_guest *new_guest(struct fetch_server *server, bool is_near)
{
    struct fetch_guest *made = calloc(1, sizeof *made);
    if (!made) {
        err_no_memory("for a client that fetches");
        return NULL;
    }
    made->server = server;
    made->serve.files = server->files;
    made->serve.pack.packing =
        is_near && server->packing != FETCH_PACK_ALWAYS ? FETCH_PACK_NEVER : server->packing;
    made->moved_ms = server->now_ms;
    list_append(&server->guests, &made->in_server);
    return made;
}

// By a Unix socket, or a loopback address: the link is memory.
static bool is_near(const struct guest *guest)
{
    struct net_address address;
    if (guest_pid(guest))
        return true;
    const weft_err code = net_read_address(guest_peer(guest), 1, &address);
    err_clear();
    return !code && net_address_is_loopback(&address);
}

void fetch_server_adopt(struct fetch_server *server, struct guest *guest, uint64_t epoch)
{
    static const struct guest_calls calls = {
        .frame = on_frame, .ended = on_end, .drained = on_drained};
    struct fetch_guest *made = new_guest(server, is_near(guest));
    if (!made) {
        door_refuse(guest, WEFT_RESOURCE_EXHAUSTED);
        return;
    }
    made->guest = guest;
    door_welcome(guest, &(struct hello_welcome){.epoch = epoch}, &calls, made);
    guest_limit_frames(guest, FETCH_REQUEST_BYTES);
    loop_stream_flush(guest_stream(guest));
}

// ---- Lines --------------------------------------------------------------------------------------------------

static void on_line_welcome(void *owner, const struct hello_welcome *welcome)
{
    (void)owner, (void)welcome;  // requests follow
}

static void on_line_end(void *owner, weft_err code, bool is_proven)
{
    (void)code, (void)is_proven;
    err_clear();
    drop(owner);
}

void fetch_server_open_line(struct fetch_server *server, const struct dial_options *options,
                            bool near)
{
    static const struct dial_calls calls = {.welcomed = on_line_welcome,
                                            .frame = on_frame,
                                            .ended = on_line_end,
                                            .drained = on_drained};
    struct dial_options own = *options;
    struct fetch_guest *made = new_guest(server, near);
    own.calls = &calls;
    own.owner = made;
    if (!made || dial_new(&own, &made->dial)) {
        err_clear();
        if (made) {
            list_take_out(&made->in_server);
            free(made);
        }
        return;
    }
    dial_limit_frames(made->dial, FETCH_REQUEST_BYTES);
}

// ---- The clock ----------------------------------------------------------------------------------------------

// Whether bytes wait for the guest, and have not become fewer for too long.
static bool is_stalled(struct fetch_guest *guest, uint64_t now_ms)
{
    if (guest->dial && !dial_is_welcomed(guest->dial))
        return now_ms - guest->moved_ms >= FETCH_LINE_MS;
    const size_t unsent = loop_stream_unsent(stream_of(guest));
    if (unsent == 0 || unsent != guest->seen_bytes || guest->tick_bytes)
        guest->moved_ms = now_ms;
    guest->seen_bytes = unsent;
    guest->tick_bytes = 0;
    return now_ms - guest->moved_ms >= FETCH_STALL_MS;
}

void fetch_server_tick(struct fetch_server *server, uint64_t now_ms)
{
    server->now_ms = now_ms;
    for (struct link *at = server->guests.next, *next; at != &server->guests; at = next) {
        struct fetch_guest *guest = LIST_ITEM(at, struct fetch_guest, in_server);
        next = at->next;
        if (is_stalled(guest, now_ms))
            drop(guest);
        else
            push(guest);
    }
}

bool fetch_server_is_busy(const struct fetch_server *server)
{
    for (const struct link *at = server->guests.next; at != &server->guests; at = at->next) {
        const struct fetch_guest *guest = LIST_ITEM(at, const struct fetch_guest, in_server);
        if (guest->serve.count > 0 || guest->buffered_bytes > 0)
            return true;
    }
    return false;
}

size_t fetch_server_buffered_bytes(const struct fetch_server *server)
{
    return server->buffered_bytes;
}

struct fetch_server *fetch_server_new(struct fetch_files *files, bool packs_always,
                                      size_t bytes_max)
{
    struct fetch_server *server = calloc(1, sizeof *server);
    if (!server) {
        err_no_memory("to serve files");
        return NULL;
    }
    server->files = files;
    server->bytes_max = bytes_max ? bytes_max : FETCH_SERVER_BYTES_MAX;
    server->packing = packs_always ? FETCH_PACK_ALWAYS : FETCH_PACK_MEASURED;
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
