// The door: lets guests in, and limits the cost of strangers.

#include "transport/door.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "sys/file/file.h"
#include "sys/secure/tls.h"

struct door {
    struct door_options options;
    struct loop_listener *listeners[NET_LISTENERS_MAX];
    struct link strangers;  // the oldest first
    uint32_t guest_count, stranger_count;
    uint32_t guests_max, strangers_max;
};

struct guest {
    struct door *door;
    struct loop_stream *stream;
    struct hello_server *hello;  // NULL once it is over: a kilobyte that idle guests need not cost
    struct frame_parser parser;
    struct link in_strangers;
    uint64_t since_ms;
    struct guest_calls calls;  // of one that was welcomed
    void *owner;
    pid_t pid;
    char peer[64];
    bool is_welcome, is_closing, is_reading, is_freed;
};

static uint64_t now_ms(const struct door *door)
{
    return door->options.calls->now_ms(door->options.owner);
}

static void say_refused(struct door *door, const char *peer)
{
    door->options.calls->refused(door->options.owner, peer);
}

// ---- Coming -------------------------------------------------------------------------------------------------

static void drop_stranger(struct guest *guest);

static bool drop_oldest_stranger(struct door *door)
{
    if (list_is_empty(&door->strangers))
        return false;
    struct guest *guest = LIST_ITEM(door->strangers.next, struct guest, in_strangers);
    err_set(WEFT_RESOURCE_EXHAUSTED, "%u connections at once", door->guest_count);
    say_refused(door, guest->peer);
    drop_stranger(guest);
    return true;
}

// Makes room for one more connection: the oldest stranger goes. False: there is none.
static bool make_room(struct door *door)
{
    // A few more are heard, only to be refused with a sentence.
    const uint32_t eighth = door->guests_max / 8;
    const uint32_t extra = eighth < DOOR_REFUSED_MAX ? eighth : DOOR_REFUSED_MAX;
    if (door->guest_count < door->guests_max + extra && door->stranger_count < door->strangers_max)
        return true;
    return drop_oldest_stranger(door);
}

static void on_data(void *owner, weft_bytes bytes);
static void on_end(void *owner, weft_err code);
static void on_drained(void *owner);

static void start_hello(struct guest *guest, int fd)
{
    struct door *door = guest->door;
    uint8_t nonce[HELLO_NONCE_BYTES];
    secret_random(nonce, sizeof nonce);
    guest->pid = net_peer_pid(fd);
    net_name_peer(fd, guest->peer, sizeof guest->peer);
    guest->since_ms = now_ms(door);
    guest->parser.payload_bytes_max = HELLO_FRAME_BYTES_MAX;
    hello_server_init(guest->hello, door->options.token, nonce, door->options.member);
}

// Takes the descriptor over. False: with a sentence, and nothing is left.
static bool start_stream(struct guest *guest, int fd)
{
    static const struct loop_stream_calls calls = {on_data, on_end, on_drained};
    const struct door_options *options = &guest->door->options;
    const bool needs_tls = !net_is_local_stream(fd);
    struct tls *tls = needs_tls ? tls_new(true, options->token) : NULL;
    guest->stream = loop_stream_new(options->loop, fd, &calls, guest);
    if (guest->stream && (tls || !needs_tls)) {
        if (tls)
            loop_stream_secure(guest->stream, tls);
        return true;
    }
    if (guest->stream)
        loop_stream_free(guest->stream);
    tls_free(tls);
    return false;
}

static void accept_guest(void *owner, int fd)
{
    struct door *door = owner;
    struct guest *guest = make_room(door) ? calloc(1, sizeof *guest) : NULL;
    struct hello_server *hello = guest ? calloc(1, sizeof *hello) : NULL;
    if (!hello) {
        free(guest);
        file_close(fd);
        return;
    }
    guest->door = door;
    guest->hello = hello;
    start_hello(guest, fd);
    if (!start_stream(guest, fd)) {
        say_refused(door, guest->peer);  // as without OpenSSL
        free(hello);
        free(guest);
        return;
    }
    list_append(&door->strangers, &guest->in_strangers);
    door->guest_count++;
    door->stranger_count++;
}

// ---- Going --------------------------------------------------------------------------------------------------

static void release(struct guest *guest)
{
    frame_parser_fini(&guest->parser);
    free(guest->hello);
    free(guest);
}

static void leave(struct guest *guest)
{
    struct door *door = guest->door;
    door->guest_count--;
    door->stranger_count -= !guest->is_welcome;
    list_take_out(&guest->in_strangers);
    loop_stream_free(guest->stream);
    guest->is_freed = true;
    if (!guest->is_reading)  // else its own frame is being read
        release(guest);
}

static void drop_stranger(struct guest *guest)
{
    ASSERT(!guest->is_welcome);
    leave(guest);
}

void guest_free(struct guest *guest)
{
    ASSERT(guest->is_welcome && !guest->is_freed);
    leave(guest);
}

void door_tick(struct door *door)
{
    const uint64_t now = now_ms(door);
    for (struct link *at = door->strangers.next, *next; at != &door->strangers; at = next) {
        next = at->next;
        struct guest *guest = LIST_ITEM(at, struct guest, in_strangers);
        if (now - guest->since_ms >= (guest->is_closing ? DOOR_REFUSED_MS : DOOR_HELLO_MS))
            drop_stranger(guest);
    }
}

// ---- The hello ----------------------------------------------------------------------------------------------

void door_refuse(struct guest *guest, weft_err code)
{
    char sentence[ERR_TEXT_BYTES_MAX];
    snprintf(sentence, sizeof sentence, "%s", err_text());
    if (hello_server_refuse(guest->hello, code, sentence, loop_stream_out(guest->stream)))
        err_clear();
    guest->is_closing = true;
    loop_stream_flush(guest->stream);
    err_clear();
}

void door_welcome(struct guest *guest, const struct hello_welcome *welcome,
                  const struct guest_calls *calls, void *owner)
{
    guest->calls = *calls;
    guest->owner = owner;
    guest->is_welcome = true;
    guest->door->stranger_count--;
    list_take_out(&guest->in_strangers);
    guest->parser.payload_bytes_max = 0;
    if (hello_server_welcome(guest->hello, welcome, loop_stream_out(guest->stream)))
        err_clear();
    free(guest->hello);
    guest->hello = NULL;
}

static bool has_place(struct guest *guest)
{
    const struct door *door = guest->door;
    if (door->guest_count <= door->guests_max)
        return true;
    struct err_kept kept;
    err_set(WEFT_UNAVAILABLE,
            "it has %u connections, as many as its limit of open files allows (ulimit -n)",
            door->guests_max);
    err_keep(&kept);
    say_refused(guest->door, guest->peer);
    err_put_back(&kept);
    return false;
}

static void receive_hello(struct guest *guest, const struct frame *frame)
{
    struct door *door = guest->door;
    const weft_err err = hello_server_take(guest->hello, frame, loop_stream_out(guest->stream));
    if (err) {
        say_refused(door, guest->peer);
        guest->is_closing = true;
    }
    if (err || guest->hello->state != HELLO_SERVER_PROVEN)
        loop_stream_flush(guest->stream);
    else if (!has_place(guest))
        door_refuse(guest, WEFT_UNAVAILABLE);
    else
        door->options.calls->proven(door->options.owner, guest, &guest->hello->hello);
}

// ---- What arrives -------------------------------------------------------------------------------------------

// A guest that breaks the rules of frames, or whose connection is over.
static void end_guest(struct guest *guest)
{
    if (guest->is_welcome)
        guest->calls.ended(guest->owner);
    else
        drop_stranger(guest);
}

// Before the proof a guest sends one short frame at a time, and waits for the answer.
static weft_err check_hello_size(const struct guest *guest, size_t more)
{
    const size_t held = guest->parser.pending.size - guest->parser.taken;
    return !guest->is_welcome && held + more > FRAME_HEADER_BYTES + HELLO_FRAME_BYTES_MAX
               ? err_set(WEFT_DATA_LOSS, "more than %d bytes before the proof",
                         HELLO_FRAME_BYTES_MAX)
               : WEFT_OK;
}

static bool wants_bytes(const struct guest *guest)
{
    return guest->is_welcome && guest->calls.data;
}

// What came with the proof, for an owner that wants bytes.
static void hand_on_rest(struct guest *guest)
{
    struct frame_parser parser = guest->parser;
    guest->parser = (struct frame_parser){0};
    const weft_bytes rest = {parser.pending.data + parser.taken,
                             parser.pending.size - parser.taken};
    if (rest.size)
        guest->calls.data(guest->owner, rest);
    frame_parser_fini(&parser);
}

static weft_err receive_frames(struct guest *guest)
{
    while (!guest->is_freed && !guest->is_closing && !wants_bytes(guest)) {
        struct frame frame = {0};
        bool has_frame = false;
        const weft_err err = frame_parser_next(&guest->parser, &frame, &has_frame);
        if (err || !has_frame)
            return err;
        if (guest->is_welcome)
            guest->calls.frame(guest->owner, &frame);
        else
            receive_hello(guest, &frame);
    }
    if (!guest->is_freed && wants_bytes(guest))
        hand_on_rest(guest);
    return WEFT_OK;
}

static weft_err receive_bytes(struct guest *guest, weft_bytes bytes)
{
    if (guest->is_freed)
        return WEFT_OK;
    if (wants_bytes(guest)) {
        guest->calls.data(guest->owner, bytes);
        return WEFT_OK;
    }
    weft_err err = check_hello_size(guest, bytes.size);
    if (!err)
        err = frame_parser_feed(&guest->parser, bytes.data, bytes.size);
    return err ? err : receive_frames(guest);
}

static void on_data(void *owner, weft_bytes bytes)
{
    struct guest *guest = owner;
    if (guest->is_closing)
        return;
    guest->is_reading = true;
    if (guest->is_welcome && guest->calls.heard)
        guest->calls.heard(guest->owner);
    const weft_err err = receive_bytes(guest, bytes);
    guest->is_reading = false;
    if (err)
        say_refused(guest->door, guest->peer);
    if (guest->is_freed)
        release(guest);
    else if (err)
        end_guest(guest);
}

static void on_end(void *owner, weft_err code)
{
    struct guest *guest = owner;
    if (code && !guest->is_welcome)
        say_refused(guest->door, guest->peer);
    err_clear();
    end_guest(guest);
}

static void on_drained(void *owner)
{
    struct guest *guest = owner;
    if (!guest->is_welcome)
        guest->since_ms = now_ms(guest->door);
    else if (guest->calls.drained)
        guest->calls.drained(guest->owner);
}

struct loop_stream *guest_stream(struct guest *guest)
{
    return guest->stream;
}

pid_t guest_pid(const struct guest *guest)
{
    return guest->pid;
}

const char *guest_peer(const struct guest *guest)
{
    return guest->peer;
}

void guest_limit_frames(struct guest *guest, size_t payload_bytes_max)
{
    guest->parser.payload_bytes_max = payload_bytes_max;
}

// ---- Beginning and end --------------------------------------------------------------------------------------

static bool start_listening(struct door *door)
{
    const struct net_listener *listener = door->options.listener;
    for (size_t i = 0; i < listener->count; i++) {
        door->listeners[i] =
            loop_listener_new(door->options.loop, listener->fds[i], accept_guest, door);
        if (!door->listeners[i])
            return false;
    }
    return true;
}

struct door *door_new(const struct door_options *options)
{
    struct door *door = calloc(1, sizeof *door);
    if (!door) {
        err_no_memory("for connections");
        return NULL;
    }
    door->options = *options;
    door->guests_max = net_connections_max();
    door->strangers_max =
        door->guests_max / 2 < DOOR_STRANGERS_MAX ? door->guests_max / 2 : DOOR_STRANGERS_MAX;
    list_init(&door->strangers);
    if (start_listening(door))
        return door;
    door_free(door);
    return NULL;
}

void door_free(struct door *door)
{
    if (!door)
        return;
    while (!list_is_empty(&door->strangers))
        drop_stranger(LIST_ITEM(door->strangers.next, struct guest, in_strangers));
    ASSERT(door->guest_count == 0);
    for (size_t i = 0; i < NET_LISTENERS_MAX; i++)
        if (door->listeners[i])
            loop_listener_free(door->listeners[i]);
    free(door);
}
