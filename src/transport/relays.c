// Two connections, and the bytes between them.

#include "transport/relays.h"

#include <stdlib.h>

#include "base/list.h"
#include "transport/hub.h"

enum { ASKS, SERVES };  // the sides

struct relay;

struct side {
    struct relay *relay;
    struct guest *guest;  // NULL: it has not come
    size_t buffered_bytes;
    size_t seen_bytes;  // that waited for it at the last tick,
    uint64_t moved_ms;  // and since when they are as many
    bool has_moved;     // something was sent to it since then
    bool is_paused;     // nothing is read from it
};

struct relay {
    struct relays *relays;
    struct link in_relays;
    struct line *line;  // NULL: it has come
    struct side sides[2];
};

struct relays {
    struct hub *hub;
    struct link list;
    size_t buffered_bytes, side_bytes_max;
    uint64_t passed_bytes, now_ms;
};

static struct side *other_side(struct side *side)
{
    return side == &side->relay->sides[ASKS] ? &side->relay->sides[SERVES]
                                             : &side->relay->sides[ASKS];
}

static void drop(struct relay *relay)
{
    for (int i = 0; i < 2; i++) {
        struct side *side = &relay->sides[i];
        relay->relays->buffered_bytes -= side->buffered_bytes;
        if (side->guest)
            guest_free(side->guest);
    }
    line_free(relay->line);
    list_take_out(&relay->in_relays);
    free(relay);
}

// ---- Bytes --------------------------------------------------------------------------------------------------

static void count(struct side *side)
{
    const size_t bytes = loop_stream_unsent(guest_stream(side->guest));
    side->relay->relays->buffered_bytes += bytes - side->buffered_bytes;
    side->buffered_bytes = bytes;
}

// One side is read only while the other takes bytes. A side for which nothing waits is always sent more: so every relay gets on.
static bool has_room(const struct side *side)
{
    const struct relays *relays = side->relay->relays;
    return side->buffered_bytes == 0 || (side->buffered_bytes < relays->side_bytes_max &&
                                         relays->buffered_bytes < RELAYS_BYTES_MAX);
}

static void pause_side(struct side *side, bool is_paused)
{
    side->is_paused = is_paused;
    loop_stream_pause(guest_stream(side->guest), is_paused);
}

static void on_data(void *owner, weft_bytes bytes)
{
    struct side *from = owner, *to = other_side(from);
    struct relay *relay = from->relay;
    if (from->is_paused) {  // it is gone, and these are its last bytes: there is no room for them
        drop(relay);
        return;
    }
    struct loop_stream *stream = guest_stream(to->guest);
    buf_append(loop_stream_out(stream), bytes.data, bytes.size);
    loop_stream_flush(stream);
    if (from == &relay->sides[SERVES])
        relay->relays->passed_bytes += bytes.size;
    to->has_moved = true;
    count(to);
    if (!has_room(to))
        pause_side(from, true);
}

static void on_drained(void *owner)
{
    struct side *side = owner, *from = other_side(side);
    count(side);
    side->has_moved = true;
    if (from->guest)
        pause_side(from, false);
}

static void on_end(void *owner)
{
    struct side *side = owner;
    drop(side->relay);
}

// ---- Beginning ----------------------------------------------------------------------------------------------

static const struct guest_calls calls = {.data = on_data, .ended = on_end, .drained = on_drained};

static void welcome(struct side *side, struct guest *guest)
{
    side->guest = guest;
    side->moved_ms = side->relay->relays->now_ms;
    door_welcome(guest, &(struct hello_welcome){.epoch = 1}, &calls, side);
    loop_stream_flush(guest_stream(guest));
}

static void on_line(void *owner, struct guest *guest)
{
    struct relay *relay = owner;
    relay->line = NULL;
    if (!guest) {
        drop(relay);
        return;
    }
    welcome(&relay->sides[SERVES], guest);
    pause_side(&relay->sides[ASKS], false);
}

void relays_adopt(struct relays *relays, struct guest *guest, uint64_t number)
{
    struct relay *relay = calloc(1, sizeof *relay);
    if (!relay) {
        door_refuse(guest, err_no_memory("to pass bytes on"));
        return;
    }
    const weft_err code = hub_ask_line(relays->hub, number, on_line, relay, &relay->line);
    if (code) {
        free(relay);
        door_refuse(guest, code);
        return;
    }
    relay->relays = relays;
    relay->sides[ASKS].relay = relay->sides[SERVES].relay = relay;
    list_append(&relays->list, &relay->in_relays);
    welcome(&relay->sides[ASKS], guest);
    pause_side(&relay->sides[ASKS], true);
}

// ---- The clock ----------------------------------------------------------------------------------------------

static bool is_stalled(struct side *side, uint64_t now_ms)
{
    if (!side->guest)
        return false;
    count(side);
    const bool waits = side->buffered_bytes || side->relay->line;
    if (!waits || side->buffered_bytes != side->seen_bytes || side->has_moved)
        side->moved_ms = now_ms;
    side->seen_bytes = side->buffered_bytes;
    side->has_moved = false;
    return now_ms - side->moved_ms >= RELAY_STALL_MS;
}

void relays_tick(struct relays *relays, uint64_t now_ms)
{
    relays->now_ms = now_ms;
    for (struct link *at = relays->list.next, *next; at != &relays->list; at = next) {
        struct relay *relay = LIST_ITEM(at, struct relay, in_relays);
        next = at->next;
        if (is_stalled(&relay->sides[ASKS], now_ms) || is_stalled(&relay->sides[SERVES], now_ms))
            drop(relay);
    }
}

size_t relays_bytes_max(const struct relays *relays)
{
    size_t most = 0;
    for (struct link *at = relays->list.next; at != &relays->list; at = at->next) {
        const struct relay *relay = LIST_ITEM(at, struct relay, in_relays);
        for (int i = 0; i < 2; i++)
            most = relay->sides[i].buffered_bytes > most ? relay->sides[i].buffered_bytes : most;
    }
    return most;
}

uint64_t relays_passed_bytes(const struct relays *relays)
{
    return relays->passed_bytes;
}

struct relays *relays_new(struct hub *hub, size_t side_bytes_max)
{
    struct relays *relays = calloc(1, sizeof *relays);
    if (!relays) {
        err_no_memory("to pass bytes on");
        return NULL;
    }
    relays->hub = hub;
    relays->side_bytes_max = side_bytes_max ? side_bytes_max : RELAY_BYTES_MAX;
    list_init(&relays->list);
    return relays;
}

void relays_free(struct relays *relays)
{
    if (!relays)
        return;
    while (!list_is_empty(&relays->list))
        drop(LIST_ITEM(relays->list.next, struct relay, in_relays));
    free(relays);
}
