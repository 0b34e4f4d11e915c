// Sessions: what was sent, what has arrived, and who believes that a session is over.
//
// A frame holds its session and its number. Each side must get all numbers in order, without a gap, until the end of the session.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "sim_transport/parties.h"
#include "sys/net/net.h"
#include "transport/hub.h"
#include "transport/lived.h"
#include "transport/spoke.h"

enum { ACT_PER_MILLE = 500, SLACK_MS = 200 };
#define FRAME_TYPE WEFT__FRAME_TYPE__FRAME_TASK_RUN

// One life of a spoke, as it really was.
struct session {
    uint32_t number;
    int process;
    uint64_t sent_up, got_up, sent_down, got_down;
    struct hub_peer *peer;  // NULL: the hub has none for it
    bool has_joined;        // the hub has called joined()
    bool was_welcomed;      // the spoke knows of that
    uint32_t hub_life;      // in which it was
    bool is_over_at_hub, is_over_at_spoke;
    bool is_suspect;
    uint64_t heard_ns;    // when bytes of it last reached the hub
    uint64_t stopped_ns;  // since then, the hub stood still for that long
};

struct life {
    struct spoke *spoke;
    struct session *session;
    uint64_t start_ns;  // of the next one
};

static struct life lives[PROCESSES_MAX];
static VEC(struct session *) sessions;
static struct hub *hub;
static struct net_listener listener;
static uint64_t hub_start_ns;
static uint32_t hub_life;
struct plan plan;
uint64_t counts[COUNTS];
const struct secret sim_token = {.bytes = "0123456789abcdef", .size = 16};

// ---- Frames -------------------------------------------------------------------------------------------------

struct stamp {
    uint64_t number;
    uint32_t session, size;
};

static size_t draw_frame(struct session *session, uint64_t number, char *bytes)
{
    struct stamp stamp = {number, session->number, world_below(plan.frame_bytes)};
    memcpy(bytes, &stamp, sizeof stamp);
    memset(bytes + sizeof stamp, (int)(number & 0x7f), stamp.size);
    return sizeof stamp + stamp.size;
}

static void check_frame(const struct session *session, const struct frame *frame, uint64_t *got,
                        const char *side)
{
    struct stamp stamp;
    if (frame->type != FRAME_TYPE || frame->payload.size < sizeof stamp)
        world_wrong("the %s got something else than a frame", side);
    memcpy(&stamp, frame->payload.data, sizeof stamp);
    if (stamp.session != session->number || frame->payload.size != sizeof stamp + stamp.size)
        world_wrong("the %s of session %u got a frame of %u", side, session->number, stamp.session);
    if (stamp.number != *got + 1)
        world_wrong("the %s of session %u got frame %" PRIu64 " after %" PRIu64, side,
                    session->number, stamp.number, *got);
    ++*got;
    counts[COUNT_FRAMES]++;
}

static void send_up(struct life *life)
{
    static char bytes[1 << 20];
    struct session *session = life->session;
    const size_t size = draw_frame(session, session->sent_up + 1, bytes);
    if (spoke_send_bytes(life->spoke, FRAME_TYPE, (weft_bytes){bytes, size})) {
        counts[COUNT_FULL]++;
        err_clear();
        return;
    }
    session->sent_up++;
    if (spoke_kept_bytes(life->spoke) > plan.kept_bytes_max + plan.frame_bytes + 100)
        world_wrong("a spoke keeps %zu bytes", spoke_kept_bytes(life->spoke));
}

static void send_down(struct session *session)
{
    static char bytes[1 << 20];
    const size_t size = draw_frame(session, session->sent_down + 1, bytes);
    if (hub_send_bytes(session->peer, FRAME_TYPE, (weft_bytes){bytes, size})) {
        counts[COUNT_FULL]++;
        err_clear();
        return;
    }
    session->sent_down++;
    if (hub_peer_kept_bytes(session->peer) > plan.kept_bytes_max + plan.frame_bytes + 100)
        world_wrong("the hub keeps %zu bytes", hub_peer_kept_bytes(session->peer));
}

static void set_heard(struct session *session)
{
    session->heard_ns = world.now_ns;
    session->stopped_ns = 0;
}

// ---- The hub ------------------------------------------------------------------------------------------------

static weft_err on_joined(void *owner, struct hub_peer *peer, const struct hello *hello)
{
    (void)owner;
    const uint32_t number = (uint32_t)atoi(hello->member);
    struct session *session = sessions.items[number];
    world_note("hub: session %u joins", number);
    // A hub may be killed between its decision and the welcome: then the spoke has no session yet.
    const bool is_new = !session->was_welcomed && session->hub_life < hub_life;
    if (session->has_joined && !is_new)
        world_wrong("session %u joins again, and the hub %s", number,
                    session->is_over_at_hub ? "had declared it lost" : "has it");
    if (world.has_faults && world_chance(20))
        return err_set(WEFT_RESOURCE_EXHAUSTED, "not now");
    session->has_joined = true;
    session->hub_life = hub_life;
    session->is_over_at_hub = session->is_suspect = false;
    session->sent_down = 0;
    session->peer = peer;
    set_heard(session);
    hub_peer_set_owner(peer, session);
    if (world_chance(300))
        send_down(session);
    return WEFT_OK;
}

static void end_at_hub(struct session *session)
{
    session->peer = NULL;
    session->is_over_at_hub = true;
}

static struct session *session_of(struct hub_peer *peer)
{
    struct session *session = hub_peer_owner(peer);
    if (!session || session->peer != peer || session->is_over_at_hub)
        world_wrong("a call for a peer that is gone");
    return session;
}

static void on_up(void *owner, struct hub_peer *peer, const struct frame *frame)
{
    (void)owner;
    struct session *session = session_of(peer);
    check_frame(session, frame, &session->got_up, "hub");
    if (world_chance(300))
        send_down(session);
    if (world.has_faults && world_chance(2)) {
        world_note("hub: drops session %u", session->number);
        hub_drop(peer);
        end_at_hub(session);
    }
}

static void check_silence(const struct session *session, uint64_t least_ms, const char *what)
{
    const uint64_t silent_ms = (world.now_ns - session->heard_ns - session->stopped_ns) / NS_PER_MS;
    if (silent_ms + SLACK_MS < least_ms)
        world_wrong("session %u is %s after %" PRIu64 " ms of silence", session->number, what,
                    silent_ms);
}

static void on_suspect(void *owner, struct hub_peer *peer)
{
    (void)owner;
    struct session *session = session_of(peer);
    counts[COUNT_SUSPECTS]++;
    check_silence(session, TETHER_SUSPECT_MS, "suspect");
    if (session->is_suspect)
        world_wrong("session %u is suspect twice", session->number);
    session->is_suspect = true;
}

static void on_back(void *owner, struct hub_peer *peer)
{
    (void)owner;
    struct session *session = session_of(peer);
    counts[COUNT_BACK]++;
    if (!session->is_suspect)
        world_wrong("session %u is back, and was not suspect", session->number);
    session->is_suspect = false;
}

static void on_lost(void *owner, struct hub_peer *peer, weft_err code)
{
    (void)owner;
    struct session *session = session_of(peer);
    world_note("hub: session %u is lost: %s", session->number, err_text());
    counts[COUNT_LOST]++;
    if (code != WEFT_UNAVAILABLE)
        world_wrong("session %u is lost: %s", session->number, err_text());
    check_silence(session, strstr(err_text(), "closed") ? TETHER_GONE_MS : TETHER_LOST_MS, "lost");
    end_at_hub(session);
}

static void say(void *owner, const char *sentence)
{
    (void)owner;
    world_note("hub: %s", sentence);
}

static void on_relayed(void *owner, const char *name, struct hub_peer *peer)
{
    (void)owner;
    world_note("hub: passes bytes of session %u on to %s", session_of(peer)->number, name);
}

static void start_hub(void)
{
    const struct net_address address = {.host = "hub", .port = HUB_PORT};
    static const struct hub_calls calls = {.joined = on_joined,
                                           .frame = on_up,
                                           .suspect = on_suspect,
                                           .back = on_back,
                                           .lost = on_lost,
                                           .say = say,
                                           .relayed = on_relayed};
    const struct hub_options options = {
        .loop = &world.processes[HUB_PROCESS],
        .listener = &listener,
        .token = &sim_token,
        .name = "",
        .calls = &calls,
        .files = fetches_files(),
        .kept_bytes_max = plan.kept_bytes_max,
        .relay_bytes_max = plan.relay_bytes_max,
        .packs_always = plan.packs_always,
    };
    ASSERT(net_listen(&address, &listener) == WEFT_OK);
    hub = hub_new(&options);
    ASSERT(hub);
    hub_life++;
    world_note("hub: started");
}

void sessions_check_memory(void)
{
    if (hub && hub_relay_bytes_max(hub) > plan.relay_bytes_max + world.room)
        world_wrong("%zu bytes wait for one side of a relay", hub_relay_bytes_max(hub));
}

static void end_hub(void)
{
    world.dying = &world.processes[HUB_PROCESS];
    fetches_end_hub();
    hub_free(hub);
    net_listener_close(&listener);
    hub = NULL;
    world.dying = NULL;
    for (size_t i = 0; i < sessions.count; i++)
        if (sessions.items[i]->has_joined)
            end_at_hub(sessions.items[i]);
}

static void crash_hub(void)
{
    const uint32_t pause_ms = world_chance(700) ? world_below(2000) : world_below(20000);
    end_hub();
    counts[COUNT_CRASHES]++;
    hub_start_ns = world.now_ns + (uint64_t)pause_ms * NS_PER_MS;
    world_note("hub: killed; started again in %u ms", pause_ms);
}

// ---- Spokes -------------------------------------------------------------------------------------------------

static void on_welcome(void *owner)
{
    const struct life *life = owner;
    life->session->was_welcomed = true;
    world_note("session %u: joined", life->session->number);
}

static void on_down(void *owner, const struct frame *frame)
{
    struct life *life = owner;
    check_frame(life->session, frame, &life->session->got_down, "spoke");
    if (world_chance(300))
        send_up(life);
}

static void on_cut(void *owner)
{
    const struct life *life = owner;
    if (world.now_ns > plan.healthy_ns)
        world_wrong("session %u is cut, and nothing is wrong: %s", life->session->number,
                    err_text());
}

static void end_life(struct life *life, uint32_t pause_ms)
{
    spoke_free(life->spoke);
    life->spoke = NULL;
    life->session->is_over_at_spoke = true;
    life->session = NULL;
    life->start_ns = world.now_ns + (uint64_t)pause_ms * NS_PER_MS;
}

static void on_gone(void *owner, weft_err code)
{
    struct life *life = owner;
    world_note("session %u: lost for the spoke: %s", life->session->number, err_text());
    counts[COUNT_REFUSED] += code == WEFT_ABORTED;
    if (code != WEFT_ABORTED && code != WEFT_UNAVAILABLE)
        world_wrong("session %u: %s", life->session->number, err_text());
    if (code == WEFT_ABORTED && life->session->has_joined && !life->session->is_over_at_hub)
        world_wrong("session %u is refused, and the hub has it", life->session->number);
    end_life(life, world_below(1000));
}

static void start_life(struct life *life)
{
    static const struct spoke_calls calls = {
        .joined = on_welcome, .frame = on_down, .cut = on_cut, .lost = on_gone};
    static char names[PROCESSES_MAX][16];
    const int process = (int)(life - lives);
    struct session *session = calloc(1, sizeof *session);
    ASSERT(session);
    session->number = (uint32_t)sessions.count;
    session->process = process;
    ASSERT(VEC_PUSH(&sessions, session));
    life->session = session;
    snprintf(names[process], sizeof names[process], "%u", session->number);
    const struct spoke_options options = {
        .loop = &world.processes[process],
        .address = {.host = "hub", .port = HUB_PORT},
        .token = &sim_token,
        .name = names[process],
        .calls = &calls,
        .owner = life,
        .patience_ms = plan.patience_ms,
        .kept_bytes_max = plan.kept_bytes_max,
        .files = fetches_files(),
        .packs_always = plan.packs_always,
    };
    world.processes[process].last_attempt = 0;
    life->spoke = spoke_new(&options);
    ASSERT(life->spoke);
    counts[COUNT_SESSIONS]++;
    world_note("session %u: process %d begins", session->number, process);
}

static void crash_life(struct life *life)
{
    world.dying = &world.processes[life - lives];
    world_note("session %u: killed", life->session->number);
    end_life(life, world_chance(700) ? world_below(2000) : world_below(15000));
    world.dying = NULL;
    counts[COUNT_CRASHES]++;
}

void sim_heard(const struct loop *from)
{
    const struct life *life = &lives[from->number];
    // Before it was welcomed, bytes are those of a stranger.
    if (life->session && spoke_is_connected(life->spoke))
        set_heard(life->session);
}

// A standstill counts for LIVED_STANDSTILL_MS at most.
void sessions_stop_hub(uint64_t ns)
{
    const uint64_t counts_ns = (uint64_t)LIVED_STANDSTILL_MS * NS_PER_MS;
    for (size_t i = 0; i < sessions.count; i++)
        sessions.items[i]->stopped_ns += ns > counts_ns ? ns - counts_ns : 0;
}

// ---- What they do -------------------------------------------------------------------------------------------

static void act_as_spoke(struct life *life)
{
    if (!life->spoke && world.now_ns >= life->start_ns)
        start_life(life);
    else if (life->spoke && world.has_faults && world_chance(plan.crash_rate))
        crash_life(life);
    else if (life->spoke)
        send_up(life);
}

static void act_as_hub(void)
{
    if (!hub && world.now_ns >= hub_start_ns)
        start_hub();
    else if (hub && world.has_faults && world_chance(plan.crash_rate))
        crash_hub();
    else if (hub && sessions.count) {
        struct session *session = sessions.items[world_below((uint32_t)sessions.count)];
        if (session->peer)
            send_down(session);
    }
}

void sessions_act(void)
{
    const uint32_t who = world_below(1 + plan.spoke_count);
    const bool must_start = who ? !lives[who].spoke : !hub;
    if (world_is_stopped(&world.processes[who]) || !(must_start || world_chance(ACT_PER_MILLE)))
        return;
    world.running = &world.processes[who];
    if (who)
        act_as_spoke(&lives[who]);
    else
        act_as_hub();
    world.running = NULL;
}

// ---- The end ------------------------------------------------------------------------------------------------

static void check_session(const struct session *session)
{
    const bool is_over = session->is_over_at_hub || session->is_over_at_spoke;
    if (session->is_over_at_hub && !session->is_over_at_spoke)
        world_wrong("session %u is over for the hub, and the spoke does not know", session->number);
    if (session->is_over_at_spoke && session->has_joined && !session->is_over_at_hub)
        world_wrong("session %u is over for the spoke, and the hub does not know", session->number);
    if (is_over || !session->has_joined)
        return;
    if (session->got_up != session->sent_up || session->got_down != session->sent_down)
        world_wrong("session %u: %" PRIu64 " of %" PRIu64 " frames have reached the hub, %" PRIu64
                    " of %" PRIu64 " the spoke",
                    session->number, session->got_up, session->sent_up, session->got_down,
                    session->sent_down);
    if (session->is_suspect || hub_peer_kept_bytes(session->peer) ||
        spoke_kept_bytes(lives[session->process].spoke))
        world_wrong("session %u is not at rest", session->number);
}

void sessions_check(void)
{
    for (uint32_t i = 1; i <= plan.spoke_count; i++)
        if (!lives[i].spoke || !spoke_is_connected(lives[i].spoke))
            world_wrong("process %u is not connected, and nothing keeps it from that", i);
    for (size_t i = 0; i < sessions.count; i++)
        check_session(sessions.items[i]);
}

struct hub *sessions_hub(void)
{
    return hub;
}

struct hub_peer *sessions_some_peer(void)
{
    for (size_t i = sessions.count, first = i ? world_below((uint32_t)i) : 0; i-- > 0;) {
        struct hub_peer *peer = sessions.items[(first + i) % sessions.count]->peer;
        if (hub && peer)
            return peer;
    }
    return NULL;
}

bool sessions_has_peer(uint64_t number)
{
    for (size_t i = 0; hub && i < sessions.count; i++)
        if (sessions.items[i]->peer && hub_peer_number(sessions.items[i]->peer) == number)
            return true;
    return false;
}

void sessions_calm(void)
{
    for (size_t i = 0; i < sessions.count; i++)  // the hub may have been woken early
        sessions.items[i]->stopped_ns = 0;
    hub_start_ns = 0;
    for (int i = 0; i < PROCESSES_MAX; i++)
        lives[i].start_ns = 0;
}

void sessions_init(void)
{
    memset(lives, 0, sizeof lives);
    hub_start_ns = 0;
    hub_life = 0;
}

void sessions_fini(void)
{
    for (int i = 0; i < PROCESSES_MAX; i++)
        if (lives[i].spoke)
            end_life(&lives[i], 0);
    if (hub)
        end_hub();
    for (size_t i = 0; i < sessions.count; i++)
        free(sessions.items[i]);
    sessions.count = 0;
    VEC_FINI(&sessions);
}
