// Agents that connect to this process by themselves: where no command leads to a host, and something else starts the agent there.
//
//   the launcher makes a token for them, and listens            weft agent --join HOST:PORT --place NAME --token-file FILE
//     CONNECTING  the host waits for its agent             <-   connects by TLS, proves the token, says its place
//     GREETING    the frames of far_frames.h follow        ->
//     CUT         the connection has ended: the launcher asks what has become of the host
//
// A place names a host and how often it was another one: an agent that comes too late is refused.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "launch/far/far_state.h"
#include "sys/time/clock.h"

// ---- The stream of a host ------------------------------------------------------------------------------------

bool far_is_connected(const struct far_host *host)
{
    return host->guest || host->child.nursery;
}

struct buf *far_out(struct far_host *host)
{
    return host->guest ? loop_stream_out(guest_stream(host->guest)) : &host->out.unsent;
}

size_t far_unsent(const struct far_host *host)
{
    return host->guest ? loop_stream_unsent(guest_stream(host->guest)) : outlet_unsent(&host->out);
}

// ---- Places --------------------------------------------------------------------------------------------------

uint16_t far_port(const struct launch *launch)
{
    return ((const struct far *)launch)->listener.port;
}

const struct secret *far_secret(const struct launch *launch)
{
    return &((const struct far *)launch)->secret;
}

void far_append_place(const struct launch *launch, size_t host, struct buf *text)
{
    buf_format(text, "%zu.%" PRIu32, host, ((const struct far *)launch)->hosts[host].generation);
}

static struct far_host *find_place(struct far *far, const char *name)
{
    struct far_host *found = NULL;
    for (size_t i = 0; i < far->host_count && !found; i++) {
        struct buf place = {0};
        far_append_place(&far->base, i, &place);
        if (strcmp(buf_text(&place), name) == 0)
            found = &far->hosts[i];
        buf_fini(&place);
    }
    return found;
}

// ---- Connections ---------------------------------------------------------------------------------------------

void far_note_cut(struct far_host *host)
{
    struct far *far = host->far;
    if (host->state == FAR_LEAVING) {
        far_lose(host, WEFT_OK, "it was asked to end");
        return;
    }
    far_drop_connection(host);
    host->state = FAR_CUT;
    far->route->cut(far->owner, (size_t)(host - far->hosts));
}

void far_end_host(struct launch *launch, size_t number, weft_err err, const char *why,
                  bool is_charged)
{
    struct far_host *host = &((struct far *)launch)->hosts[number];
    host->is_charged = is_charged;
    far_lose(host, err, why);
}

bool far_awaits(const struct launch *launch, size_t host)
{
    const enum far_host_state state = ((const struct far *)launch)->hosts[host].state;
    return state == FAR_IDLE || state == FAR_CONNECTING;
}

void far_await_another(struct launch *launch, size_t host)
{
    ((struct far *)launch)->hosts[host].generation++;
}

struct far_program far_get_program(const struct launch *launch)
{
    const struct far *far = (const struct far *)launch;
    return (struct far_program){far->program, far->program_hash, far->program_bytes};
}

static void data_came(void *owner, weft_bytes bytes)
{
    struct far_host *host = owner;
    host->heard_ns = clock_now_ns();
    host->is_suspect = false;
    far_take_frames(host, bytes);
}

static void connection_ended(void *owner)
{
    err_clear();
    far_note_cut(owner);
}

static void drained(void *owner)
{
    far_flush(owner);
}

static void agent_came(void *owner, struct guest *guest, const struct hello *hello)
{
    static const struct guest_calls calls = {
        .data = data_came, .ended = connection_ended, .drained = drained};
    struct far *far = owner;
    const struct hello_welcome welcome = {0};
    struct far_host *host =
        hello->purpose == HELLO_FOR_AGENT ? find_place(far, hello->member) : NULL;
    if (!host || host->state != FAR_CONNECTING) {
        door_refuse(guest,
                    err_set(WEFT_NOT_FOUND, "no agent is awaited for the place %s", hello->member));
        return;
    }
    host->guest = guest;
    host->heard_ns = clock_now_ns();
    host->is_suspect = false;
    door_welcome(guest, &welcome, &calls, host);
    far_greet(host);
}

// People need not hear of strangers at an open port.
static void stranger_refused(void *owner, const char *peer)
{
    (void)owner, (void)peer;
    err_clear();
}

static uint64_t now_ms(void *owner)
{
    (void)owner;
    return clock_now_ns() / 1000000;
}

// ---- The door ------------------------------------------------------------------------------------------------

weft_err far_open_door(struct far *far)
{
    static const struct door_calls calls = {agent_came, stranger_refused, now_ms};
    const struct net_address everywhere = {.host = ""};
    secret_make(&far->secret);
    const weft_err err = net_listen(&everywhere, &far->listener);
    if (err)
        return err;
    far->door = door_new(&(struct door_options){
        .loop = far->options.loop,
        .listener = &far->listener,
        .token = &far->secret,
        .member = "",
        .calls = &calls,
        .owner = far,
    });
    return far->door ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

void far_tick_door(struct far *far)
{
    door_tick(far->door);
}

void far_close_door(struct far *far)
{
    door_free(far->door);
    net_listener_close(&far->listener);
    secret_clear(&far->secret);
}
