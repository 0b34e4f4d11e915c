// The hub: peers by their sessions, the clock, and who is fenced.

#include "transport/hub.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "sys/machine/architecture.h"
#include "transport/door.h"
#include "transport/fetch_server.h"
#include "transport/lived.h"
#include "transport/refusals.h"
#include "transport/tether_stream.h"

enum {
    TICK_MS = 100,
    TICKS_PER_SECOND = 10,
    FENCED_MAX =
        4096,  // the last sessions that ended; older ones are refused because they are not known
    SENTENCE_BYTES = 2048
};

struct fenced {
    uint8_t session[HELLO_SESSION_BYTES];
    bool was_lost;  // otherwise the owner has dropped it
};

struct hub {
    struct hub_options options;
    struct secret token;
    struct door *door;
    struct fetch_server *fetch;  // NULL: no files are served
    struct loop_timer *tick, *flush;
    struct lived lived;
    struct refusals refusals;
    struct link peers, unflushed, dropped;
    uint32_t peer_count, peers_max;
    uint64_t epoch, ticks;
    struct fenced fenced[FENCED_MAX];
    size_t fenced_count;  // also beyond FENCED_MAX
};

struct hub_peer {
    struct hub *hub;
    struct guest *guest;  // NULL: not connected
    struct tether tether;
    struct link in_hub, in_unflushed;
    uint8_t session[HELLO_SESSION_BYTES];
    uint64_t attempt;  // of the spoke to connect: the last one that was let in
    void *owner;
    char name[HELLO_MEMBER_BYTES];
    char address[NET_ADDRESS_TEXT_BYTES];
    bool is_dropped, has_closed;  // the connection was ended from the other side,
    uint64_t closed_ms;           // at that time, and none was made since
};

static uint64_t now_ms(struct hub *hub)
{
    return lived_now_ms(&hub->lived);
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

static void fence(struct hub_peer *peer, bool is_lost)
{
    struct hub *hub = peer->hub;
    struct fenced *fenced = &hub->fenced[hub->fenced_count++ % FENCED_MAX];
    memcpy(fenced->session, peer->session, sizeof fenced->session);
    fenced->was_lost = is_lost;
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
    fence(peer, false);
    end_peer(peer);
}

// For this thread's reason.
static void lose_peer(struct hub_peer *peer, weft_err code)
{
    struct hub *hub = peer->hub;
    fence(peer, true);
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
    if (tether_is_heartbeat_due(&peer->tether, hub->lived.now_ms))
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

static weft_err refuse_fenced(bool was_lost)
{
    return was_lost
               ? err_set(WEFT_ABORTED,
                         "it took this process for lost after %d s of silence, and has given its "
                         "work to others",
                         TETHER_LOST_MS / 1000)
               : err_set(WEFT_ABORTED, "it has ended the session with this process");
}

static weft_err check_fenced(const struct hub *hub, const struct hello *hello)
{
    const size_t count = hub->fenced_count < FENCED_MAX ? hub->fenced_count : FENCED_MAX;
    for (size_t i = 0; i < count; i++)
        if (memcmp(hub->fenced[i].session, hello->session, sizeof hello->session) == 0)
            return refuse_fenced(hub->fenced[i].was_lost);
    if (hello->resumes && hello->epoch != hub->epoch)
        return err_set(WEFT_ABORTED, "it was started again, and does not know this session");
    return hello->resumes ? refuse_fenced(true) : WEFT_OK;
}

static weft_err check_newcomer(const struct hub *hub, const struct hello *hello)
{
    const weft_err code = check_fenced(hub, hello);
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
        return code ? code : refuse_fenced(false);
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
    static const struct guest_calls calls = {on_frame, on_end, on_drained, on_heard};
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

static void on_proven(void *owner, struct guest *guest, const struct hello *hello)
{
    struct hub *hub = owner;
    if (hello->purpose == HELLO_FOR_SESSION)
        admit_session(hub, guest, hello);
    else if (hello->purpose == HELLO_FOR_FETCH && hub->fetch)
        fetch_server_adopt(hub->fetch, guest);
    else
        door_refuse(guest, err_set(WEFT_INVALID_ARGUMENT,
                                   hello->purpose == HELLO_FOR_FETCH
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

// A callback may drop any peers: those that were looked at go to the end, so that the first is always the next.
static void tick(void *owner)
{
    struct hub *hub = owner;
    const uint64_t now = now_ms(hub);
    free_dropped(hub);
    struct link looked_at;
    list_init(&looked_at);
    while (!list_is_empty(&hub->peers)) {
        struct hub_peer *peer = LIST_ITEM(hub->peers.next, struct hub_peer, in_hub);
        list_take_out(&peer->in_hub);
        list_append(&looked_at, &peer->in_hub);
        tick_peer(peer, now);
    }
    while (!list_is_empty(&looked_at)) {
        struct link *first = looked_at.next;
        list_take_out(first);
        list_append(&hub->peers, first);
    }
    if (++hub->ticks % TICKS_PER_SECOND == 0)
        door_tick(hub->door);
    if (hub->fetch)
        fetch_server_tick(hub->fetch, now);
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
    if (hub->options.files && !(hub->fetch = fetch_server_new(hub->options.files)))
        return false;
    hub->door = door_new(&options);
    if (hub->door)
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
    if (start(hub))
        return hub;
    hub_free(hub);
    return NULL;
}

void hub_free(struct hub *hub)
{
    if (!hub)
        return;
    while (!list_is_empty(&hub->peers))
        end_peer(LIST_ITEM(hub->peers.next, struct hub_peer, in_hub));
    free_dropped(hub);
    fetch_server_free(hub->fetch);
    door_free(hub->door);
    if (hub->tick)
        loop_timer_free(hub->tick);
    if (hub->flush)
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

uint64_t hub_epoch(const struct hub *hub)
{
    return hub->epoch;
}
