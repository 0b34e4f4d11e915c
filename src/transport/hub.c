// The hub: peers by their sessions, the clock, and who is fenced.

#include "transport/hub.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "sys/machine/architecture.h"
#include "transport/door.h"
#include "transport/fences.h"
#include "transport/fetch_server.h"
#include "transport/lived.h"
#include "transport/refusals.h"
#include "transport/relays.h"
#include "transport/tether_stream.h"

enum { TICK_MS = 100, TICKS_PER_SECOND = 10, SENTENCE_BYTES = 2048 };

struct hub {
    struct hub_options options;
    struct secret token;
    struct door *door;
    struct fetch_server *fetch;  // NULL: no files are served
    struct relays *relays;       // NULL: nothing is passed on
    struct lines lines;
    struct loop_timer *tick, *flush;
    struct lived lived;
    struct refusals refusals;
    struct link peers, unflushed, dropped;
    uint32_t peer_count, peers_max;
    uint64_t epoch, ticks, last_peer;
    struct fences fences;
};

struct hub_peer {
    struct hub *hub;
    struct guest *guest;  // NULL: not connected
    struct tether tether;
    struct link in_hub, in_unflushed;
    uint8_t session[HELLO_SESSION_BYTES];
    uint64_t number;
    uint64_t attempt;  // of the spoke to connect: the last one that was let in
    uint64_t ticks;    // of the hub, when it was last looked at
    void *owner;
    char name[HELLO_MEMBER_BYTES];
    char address[NET_ADDRESS_TEXT_BYTES];
    bool is_dropped, has_closed;  // the connection was ended from the other side,
    uint64_t closed_ms;           // at that time, and none was made since
};

// The clock is moved by ticks only, between which the loop reads what every peer has sent: a turn that takes long, because there is much
// to do for all of them, is not the silence of those that were first.
static uint64_t now_ms(const struct hub *hub)
{
    return lived_peek_ms(&hub->lived);
}

// ---- Sending ------------------------------------------------------------------------------------------------

static void push_peer(struct hub_peer *peer)
{
    if (peer->guest && !peer->is_dropped)
        tether_push(&peer->tether, guest_stream(peer->guest), now_ms(peer->hub));
}

static void flush(void *owner)
{
    struct hub *hub = owner;
    loop_timer_free(hub->flush);
    hub->flush = NULL;
    while (!list_is_empty(&hub->unflushed)) {
        struct hub_peer *peer = LIST_ITEM(hub->unflushed.next, struct hub_peer, in_unflushed);
        list_take_out(&peer->in_unflushed);
        push_peer(peer);
    }
}

// Frames of one turn of the loop go together, at its end.
static void flush_soon(struct hub_peer *peer)
{
    struct hub *hub = peer->hub;
    if (peer->in_unflushed.next || !peer->guest)
        return;
    list_append(&hub->unflushed, &peer->in_unflushed);
    if (!hub->flush)
        hub->flush = loop_timer_new(hub->options.loop, 0, 0, flush, hub);
    if (!hub->flush)
        err_clear();  // then it goes with the next tick
}

weft_err hub_send(struct hub_peer *peer, Weft__FrameType type, const ProtobufCMessage *message)
{
    const weft_err code = tether_add_message(&peer->tether, type, message);
    if (!code)
        flush_soon(peer);
    return err_wrap(code, "%s", peer->name);
}

weft_err hub_send_bytes(struct hub_peer *peer, Weft__FrameType type, weft_bytes payload)
{
    const weft_err code = tether_add_bytes(&peer->tether, type, payload);
    if (!code)
        flush_soon(peer);
    return err_wrap(code, "%s", peer->name);
}

// ---- The end of a peer --------------------------------------------------------------------------------------

static void disconnect(struct hub_peer *peer)
{
    list_take_out(&peer->in_unflushed);
    if (peer->guest)
        guest_free(peer->guest);
    peer->guest = NULL;
}

// The memory stays until the next tick: callbacks of the peer may be under way.
static void end_peer(struct hub_peer *peer)
{
    struct hub *hub = peer->hub;
    disconnect(peer);
    peer->is_dropped = true;
    list_take_out(&peer->in_hub);
    list_append(&hub->dropped, &peer->in_hub);
    hub->peer_count--;
    struct err_kept kept;
    err_keep(&kept);
    lines_lose(&hub->lines, peer);
    err_put_back(&kept);
}

static void free_dropped(struct hub *hub)
{
    while (!list_is_empty(&hub->dropped)) {
        struct hub_peer *peer = LIST_ITEM(hub->dropped.next, struct hub_peer, in_hub);
        list_take_out(&peer->in_hub);
        tether_fini(&peer->tether);
        free(peer);
    }
}

void hub_drop(struct hub_peer *peer)
{
    if (peer->is_dropped)
        return;
    fences_add(&peer->hub->fences, peer->session, false);
    end_peer(peer);
}

// For this thread's reason.
static void lose_peer(struct hub_peer *peer, weft_err code)
{
    struct hub *hub = peer->hub;
    fences_add(&peer->hub->fences, peer->session, true);
    end_peer(peer);
    hub->options.calls->lost(hub->options.owner, peer, code);
    err_clear();
}

// ---- What a peer sends --------------------------------------------------------------------------------------

// Any byte counts: a large frame may take long.
static void on_heard(void *owner)
{
    struct hub_peer *peer = owner;
    struct hub *hub = peer->hub;
    if (tether_hear(&peer->tether, now_ms(hub)))
        hub->options.calls->back(hub->options.owner, peer);
}

static void on_frame(void *owner, const struct frame *frame)
{
    struct hub_peer *peer = owner;
    struct hub *hub = peer->hub;
    struct frame inner = {0};
    bool has_inner = false;
    const weft_err code = tether_receive(&peer->tether, frame, &inner, &has_inner);
    if (code) {
        lose_peer(peer, err_wrap(code, "%s", peer->name));
        return;
    }
    // For the bytes that came; by the time that has passed, one is due in a tick.
    if (tether_is_heartbeat_due(&peer->tether, peer->tether.spoke_ms))
        flush_soon(peer);
    if (has_inner)
        hub->options.calls->frame(hub->options.owner, peer, &inner);
}

static void on_end(void *owner)
{
    struct hub_peer *peer = owner;
    disconnect(peer);
    peer->has_closed = true;
    peer->closed_ms = now_ms(peer->hub);
}

static void on_drained(void *owner)
{
    push_peer(owner);
}

// ---- Who comes ----------------------------------------------------------------------------------------------

static struct hub_peer *find_peer(struct hub *hub, const uint8_t session[HELLO_SESSION_BYTES])
{
    for (struct link *at = hub->peers.next; at != &hub->peers; at = at->next) {
        struct hub_peer *peer = LIST_ITEM(at, struct hub_peer, in_hub);
        if (memcmp(peer->session, session, sizeof peer->session) == 0)
            return peer;
    }
    return NULL;
}

static weft_err check_newcomer(const struct hub *hub, const struct hello *hello)
{
    const weft_err code = fences_check(&hub->fences, hello, hub->epoch);
    if (code)
        return code;
    if (strcmp(hello->architecture, MACHINE_ARCHITECTURE) != 0)
        return err_set(WEFT_UNIMPLEMENTED,
                       "it runs on %s, and programs for that do not run on %.15s\n  try: start the "
                       "client on a machine of the same kind",
                       MACHINE_ARCHITECTURE, hello->architecture);
    if (hub->peer_count >= hub->peers_max)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "it has %u clients, as many as it may",
                       hub->peer_count);
    return WEFT_OK;
}

static struct hub_peer *new_peer(struct hub *hub, struct guest *guest, const struct hello *hello)
{
    struct hub_peer *peer = calloc(1, sizeof *peer);
    if (!peer)
        return NULL;
    peer->hub = hub;
    peer->number = ++hub->last_peer;
    peer->tether.kept_bytes_max = hub->options.kept_bytes_max;
    memcpy(peer->session, hello->session, sizeof peer->session);
    snprintf(peer->name, sizeof peer->name, "%s",
             hello->member[0] ? hello->member : guest_peer(guest));
    snprintf(peer->address, sizeof peer->address, "%s", guest_peer(guest));
    list_append(&hub->peers, &peer->in_hub);
    hub->peer_count++;
    return peer;
}

static weft_err join(struct hub *hub, struct guest *guest, const struct hello *hello,
                     struct hub_peer **joined)
{
    weft_err code = check_newcomer(hub, hello);
    if (code)
        return code;
    struct hub_peer *peer = new_peer(hub, guest, hello);
    if (!peer)
        return err_no_memory("for a client");
    code = hub->options.calls->joined(hub->options.owner, peer, hello);
    if (peer->is_dropped)
        return code ? code : fences_refuse(false);
    if (code)
        end_peer(peer);
    *joined = peer;
    return code;
}

// The same session by a new connection.
static weft_err resume(struct hub_peer *peer, const struct hello *hello)
{
    // Connections may overtake each other; the spoke listens to the last one only.
    if (hello->incarnation <= peer->attempt)
        return err_set(WEFT_UNAVAILABLE, "a later connection of this session is here");
    disconnect(peer);
    const weft_err code = tether_resume(&peer->tether, hello->answers_received);
    if (!code)
        return WEFT_OK;
    struct err_kept kept;
    err_keep(&kept);
    lose_peer(peer, code);
    err_put_back(&kept);
    return code;
}

static void connect_peer(struct hub_peer *peer, struct guest *guest, const struct hello *hello)
{
    static const struct guest_calls calls = {
        .frame = on_frame, .ended = on_end, .drained = on_drained, .heard = on_heard};
    struct hub *hub = peer->hub;
    const struct hello_welcome welcome = {.epoch = hub->epoch, .applied = peer->tether.received};
    peer->guest = guest;
    peer->has_closed = false;
    peer->attempt = hello->incarnation;
    door_welcome(guest, &welcome, &calls, peer);
    guest_limit_frames(
        guest, hub->options.frame_bytes_max ? hub->options.frame_bytes_max + TETHER_HEAD_BYTES : 0);
    const bool is_back = tether_hear(&peer->tether, now_ms(hub));
    push_peer(peer);
    if (is_back)
        hub->options.calls->back(hub->options.owner, peer);
}

static void admit_session(struct hub *hub, struct guest *guest, const struct hello *hello)
{
    struct hub_peer *peer = find_peer(hub, hello->session);
    const weft_err code = peer ? resume(peer, hello) : join(hub, guest, hello, &peer);
    if (code)
        door_refuse(guest, code);
    else
        connect_peer(peer, guest, hello);
}

static void admit_line(struct hub *hub, struct guest *guest, const struct hello *hello)
{
    struct line *line = lines_find(&hub->lines, hello->target);
    const bool is_asked =
        line && memcmp(line_peer(line)->session, hello->session, sizeof hello->session) == 0;
    if (is_asked)
        line_end(line, guest);
    else
        door_refuse(guest, err_set(WEFT_NOT_FOUND, "it does not wait for this connection"));
}

// NULL with a sentence.
static struct hub_peer *find_number(struct hub *hub, uint64_t number)
{
    for (struct link *at = hub->peers.next; at != &hub->peers; at = at->next) {
        struct hub_peer *peer = LIST_ITEM(at, struct hub_peer, in_hub);
        if (peer->number == number)
            return peer;
    }
    err_set(WEFT_NOT_FOUND, "the process that has the files is gone");
    return NULL;
}

static void admit_relay(struct hub *hub, struct guest *guest, const struct hello *hello)
{
    struct hub_peer *peer = find_number(hub, hello->target);
    if (peer)
        hub->options.calls->relayed(hub->options.owner, hello->member, peer);
    relays_adopt(hub->relays, guest, hello->target);
}

static void on_proven(void *owner, struct guest *guest, const struct hello *hello)
{
    struct hub *hub = owner;
    const weft_err code = fences_check_name(hello);
    if (code)
        door_refuse(guest, code);
    else if (hello->purpose == HELLO_FOR_SESSION)
        admit_session(hub, guest, hello);
    else if (hello->purpose == HELLO_FOR_FETCH && hub->fetch)
        fetch_server_adopt(hub->fetch, guest, hub->epoch);
    else if (hello->purpose == HELLO_FOR_LINE)
        admit_line(hub, guest, hello);
    else if (hello->purpose == HELLO_FOR_RELAY && hub->relays)
        admit_relay(hub, guest, hello);
    else
        door_refuse(guest,
                    err_set(WEFT_INVALID_ARGUMENT,
                            hello->purpose == HELLO_FOR_FETCH || hello->purpose == HELLO_FOR_RELAY
                                ? "it serves no files"
                                : "it runs a job, and hosts no queues and variables"));
}

static void on_refused(void *owner, const char *peer)
{
    struct hub *hub = owner;
    char sentence[SENTENCE_BYTES];
    if (refusals_describe(&hub->refusals, now_ms(hub), peer, sentence, sizeof sentence) &&
        hub->options.calls->say)
        hub->options.calls->say(hub->options.owner, sentence);
    err_clear();
}

static uint64_t door_now_ms(void *owner)
{
    return now_ms(owner);
}

// ---- The clock ----------------------------------------------------------------------------------------------

static void tick_peer(struct hub_peer *peer, uint64_t now)
{
    struct hub *hub = peer->hub;
    const bool has_changed = tether_tick(&peer->tether, now);
    if (has_changed && peer->tether.state == TETHER_LOST) {
        const weft_err code =
            err_set(WEFT_UNAVAILABLE, "%s was silent for %d s", peer->name, TETHER_LOST_MS / 1000);
        lose_peer(peer, code);
        return;
    }
    // A link that is cut brings no end of a connection, a process that ends does.
    if (peer->has_closed && now - peer->closed_ms >= TETHER_GONE_MS) {
        lose_peer(peer, err_set(WEFT_UNAVAILABLE, "%s closed its connection and did not come back",
                                peer->name));
        return;
    }
    if (peer->guest && (peer->in_unflushed.next || tether_is_heartbeat_due(&peer->tether, now)))
        push_peer(peer);
    if (has_changed)
        hub->options.calls->suspect(hub->options.owner, peer);
}

// A callback may drop any peers, and look for the others: those that were looked at go to the end of the list.
static void tick(void *owner)
{
    struct hub *hub = owner;
    const uint64_t now = lived_now_ms(&hub->lived);
    free_dropped(hub);
    hub->ticks++;
    while (!list_is_empty(&hub->peers)) {
        struct hub_peer *peer = LIST_ITEM(hub->peers.next, struct hub_peer, in_hub);
        if (peer->ticks == hub->ticks)
            break;
        peer->ticks = hub->ticks;
        list_take_out(&peer->in_hub);
        list_append(&hub->peers, &peer->in_hub);
        tick_peer(peer, now);
    }
    if (hub->ticks % TICKS_PER_SECOND == 0)
        door_tick(hub->door);
    if (hub->fetch)
        fetch_server_tick(hub->fetch, now);
    if (hub->relays)
        relays_tick(hub->relays, now);
}

// ---- Beginning and end --------------------------------------------------------------------------------------

static bool start(struct hub *hub)
{
    static const struct door_calls calls = {on_proven, on_refused, door_now_ms};
    const struct door_options options = {
        .loop = hub->options.loop,
        .listener = hub->options.listener,
        .token = &hub->token,
        .member = hub->options.name,
        .calls = &calls,
        .owner = hub,
    };
    if ((hub->options.files &&
         !(hub->fetch = fetch_server_new(hub->options.files, hub->options.packs_always,
                                         hub->options.serve_bytes_max))) ||
        (hub->options.calls->relayed &&
         !(hub->relays = relays_new(hub, hub->options.relay_bytes_max))))
        return false;
    if ((hub->door = door_new(&options)))
        hub->tick = loop_timer_new(hub->options.loop, TICK_MS, TICK_MS, tick, hub);
    return hub->tick;
}

struct hub *hub_new(const struct hub_options *options)
{
    struct hub *hub = calloc(1, sizeof *hub);
    if (!hub) {
        err_no_memory("for the clients of a job");
        return NULL;
    }
    hub->options = *options;
    hub->token = *options->token;
    hub->peers_max = options->peers_max ? options->peers_max : net_connections_max();
    secret_random(&hub->epoch, sizeof hub->epoch);
    hub->epoch |= 1;  // 0 is "none" in a hello
    lived_start(&hub->lived);
    list_init(&hub->peers);
    list_init(&hub->unflushed);
    list_init(&hub->dropped);
    lines_init(&hub->lines);
    if (start(hub))
        return hub;
    hub_free(hub);
    return NULL;
}

void hub_free(struct hub *hub)
{
    if (!hub)
        return;
    relays_free(hub->relays);
    lines_fini(&hub->lines);
    while (!list_is_empty(&hub->peers))
        end_peer(LIST_ITEM(hub->peers.next, struct hub_peer, in_hub));
    free_dropped(hub);
    fetch_server_free(hub->fetch);
    door_free(hub->door);
    loop_timer_free(hub->tick);
    loop_timer_free(hub->flush);
    secret_clear(&hub->token);
    free(hub);
}

// ---- What a peer is -----------------------------------------------------------------------------------------

void hub_peer_set_owner(struct hub_peer *peer, void *owner)
{
    peer->owner = owner;
}

void *hub_peer_owner(const struct hub_peer *peer)
{
    return peer->owner;
}

const char *hub_peer_name(const struct hub_peer *peer)
{
    return peer->name;
}

const char *hub_peer_address(const struct hub_peer *peer)
{
    return peer->address;
}

size_t hub_peer_kept_bytes(const struct hub_peer *peer)
{
    return tether_kept_bytes(&peer->tether);
}

bool hub_peer_is_connected(const struct hub_peer *peer)
{
    return peer->guest;
}

uint64_t hub_peer_number(const struct hub_peer *peer)
{
    return peer->number;
}

uint64_t hub_relayed_bytes(const struct hub *hub)
{
    return hub->relays ? relays_passed_bytes(hub->relays) : 0;
}

size_t hub_relay_bytes_max(const struct hub *hub)
{
    return hub->relays ? relays_bytes_max(hub->relays) : 0;
}

weft_err hub_ask_line(struct hub *hub, uint64_t number, line_fn *came, void *owner,
                      struct line **asked)
{
    struct hub_peer *peer = find_number(hub, number);
    if (!peer)
        return WEFT_NOT_FOUND;
    struct line *line = lines_add(&hub->lines, peer, came, owner);
    if (!line)
        return WEFT_RESOURCE_EXHAUSTED;
    const uint64_t of_line = line_number(line);
    const weft_bytes payload = {(const char *)&of_line, LINE_FRAME_BYTES};
    const weft_err code = hub_send_bytes(peer, WEFT__FRAME_TYPE__FRAME_LINE, payload);
    *asked = code ? NULL : line;
    if (code)
        line_free(line);
    return code;
}

bool hub_is_fetched(const struct hub *hub)
{
    return hub->fetch && fetch_server_is_busy(hub->fetch);
}

uint64_t hub_epoch(const struct hub *hub)
{
    return hub->epoch;
}
