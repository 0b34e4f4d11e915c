// The spoke: one session, and the connections under it.
//
//     resting --> dialing --> connected --> resting ...           lost, from any of them
//
// A callback to the owner is the last thing that a function here does: the owner may free the spoke in it.

#include "transport/spoke.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/machine/architecture.h"
#include "transport/fetch_server.h"
#include "transport/lines.h"
#include "transport/lived.h"
#include "transport/tether_stream.h"

enum {
    TICK_MS = 100,
    RETRY_FIRST_MS = 100,  // between two attempts, doubled up to
    RETRY_MAX_MS = 1000
};

struct spoke {
    struct spoke_options options;
    struct secret token;
    struct net_route *route;     // NULL: not resolved yet
    struct dial *dial;           // NULL: resting
    struct fetch_server *fetch;  // NULL: no files are served
    struct loop_timer *tick, *flush;
    struct lived lived;
    struct tether tether;
    uint8_t session[HELLO_SESSION_BYTES];
    uint64_t epoch;     // of the hub; 0: never met
    uint64_t attempt;   // connections that were tried
    uint64_t since_ms;  // out of reach since then
    uint64_t dialed_ms, next_ms, pause_ms;
    char reason[ERR_TEXT_BYTES_MAX];  // of the last attempt
    bool is_connected, is_lost;
};

static uint64_t now_ms(struct spoke *spoke)
{
    return lived_now_ms(&spoke->lived);
}

// ---- The end ------------------------------------------------------------------------------------------------

static void rest(struct spoke *spoke)
{
    dial_free(spoke->dial);
    spoke->dial = NULL;
    spoke->is_connected = false;
}

static void lose(struct spoke *spoke, weft_err code)
{
    char address[NET_ADDRESS_TEXT_BYTES];
    struct err_kept kept;
    err_keep(&kept);
    rest(spoke);
    spoke->is_lost = true;
    net_write_address(&spoke->options.address, address);
    err_put_back(&kept);
    spoke->options.calls->lost(spoke->options.owner, err_wrap(code, "%s", address));
}

// ---- Sending ------------------------------------------------------------------------------------------------

static void push(struct spoke *spoke)
{
    if (spoke->is_connected)
        tether_push(&spoke->tether, dial_stream(spoke->dial), now_ms(spoke));
}

static void flush(void *owner)
{
    struct spoke *spoke = owner;
    loop_timer_free(spoke->flush);
    spoke->flush = NULL;
    push(spoke);
}

static void flush_soon(struct spoke *spoke)
{
    if (spoke->flush || !spoke->is_connected)
        return;
    spoke->flush = loop_timer_new(spoke->options.loop, 0, 0, flush, spoke);
    if (!spoke->flush)
        err_clear();  // then it goes with the next tick
}

weft_err spoke_send(struct spoke *spoke, Weft__FrameType type, const ProtobufCMessage *message)
{
    const weft_err code = tether_add_message(&spoke->tether, type, message);
    if (!code)
        flush_soon(spoke);
    return code;
}

weft_err spoke_send_bytes(struct spoke *spoke, Weft__FrameType type, weft_bytes payload)
{
    const weft_err code = tether_add_bytes(&spoke->tether, type, payload);
    if (!code)
        flush_soon(spoke);
    return code;
}

// ---- Connections --------------------------------------------------------------------------------------------

// For this thread's reason, which does not end the session.
static void try_again_later(struct spoke *spoke)
{
    const uint64_t now = now_ms(spoke);
    const bool was_connected = spoke->is_connected;
    snprintf(spoke->reason, sizeof spoke->reason, "%s", err_text());
    rest(spoke);
    if (was_connected) {
        spoke->since_ms = now;
        spoke->pause_ms = 0;
    }
    spoke->next_ms = now + spoke->pause_ms;
    const uint64_t longer_ms = spoke->pause_ms ? 2 * spoke->pause_ms : RETRY_FIRST_MS;
    spoke->pause_ms = longer_ms < RETRY_MAX_MS ? longer_ms : RETRY_MAX_MS;
    if (was_connected && spoke->options.calls->cut)
        spoke->options.calls->cut(spoke->options.owner);
    err_clear();
}

static void on_welcome(void *owner, const struct hello_welcome *welcome)
{
    struct spoke *spoke = owner;
    const bool is_first = spoke->epoch == 0;
    const bool is_same = is_first ? welcome->epoch != 0 : welcome->epoch == spoke->epoch;
    const weft_err code =
        is_same
            ? tether_resume(&spoke->tether, welcome->applied)
            : err_set(WEFT_DATA_LOSS, "it welcomes this process to another session than its own");
    if (code) {
        lose(spoke, code);
        return;
    }
    spoke->epoch = welcome->epoch;
    spoke->is_connected = true;
    spoke->tether.heard_ms = now_ms(spoke);
    spoke->pause_ms = 0;
    push(spoke);
    if (is_first)
        spoke->options.calls->joined(spoke->options.owner);
    else if (spoke->options.calls->back)
        spoke->options.calls->back(spoke->options.owner);
}

// Any byte counts: a large frame may take long.
static void on_heard(void *owner)
{
    struct spoke *spoke = owner;
    spoke->tether.heard_ms = now_ms(spoke);
}

// One that does not come is asked for again.
static void open_line(struct spoke *spoke, weft_bytes payload)
{
    struct hello hello = {.purpose = HELLO_FOR_LINE};
    memcpy(&hello.target, payload.data, sizeof hello.target);
    memcpy(hello.session, spoke->session, sizeof hello.session);
    snprintf(hello.member, sizeof hello.member, "%s", spoke->options.name);
    const struct dial_options options = {
        .loop = spoke->options.loop,
        .route = spoke->route,
        .attempt = (uint32_t)spoke->attempt,
        .token = &spoke->token,
        .hello = &hello,
    };
    fetch_server_open_line(spoke->fetch, &options,
                           net_address_is_loopback(&spoke->options.address));
}

static void on_frame(void *owner, const struct frame *frame)
{
    struct spoke *spoke = owner;
    struct frame inner = {0};
    bool has_inner = false;
    const weft_err code = tether_receive(&spoke->tether, frame, &inner, &has_inner);
    if (code) {
        lose(spoke, code);
        return;
    }
    if (tether_is_heartbeat_due(&spoke->tether, spoke->lived.now_ms))
        flush_soon(spoke);
    if (has_inner && inner.type == WEFT__FRAME_TYPE__FRAME_LINE && spoke->fetch &&
        inner.payload.size == LINE_FRAME_BYTES)
        open_line(spoke, inner.payload);
    else if (has_inner)
        spoke->options.calls->frame(spoke->options.owner, &inner);
}

// Whether another attempt makes sense. A process without the token can refuse us, too; once we have met the hub, that is only a hint why it is
// out of reach. Before, it is more likely that the address or the token is wrong, and that is reported at once.
static bool is_worth_another_try(const struct spoke *spoke, weft_err code, bool is_proven)
{
    if (code == WEFT_UNAVAILABLE || code == WEFT_RESOURCE_EXHAUSTED)
        return true;
    return !is_proven && spoke->epoch != 0;
}

static void on_end(void *owner, weft_err code, bool is_proven)
{
    struct spoke *spoke = owner;
    if (is_worth_another_try(spoke, code, is_proven))
        try_again_later(spoke);
    else
        lose(spoke, code);
}

static void on_drained(void *owner)
{
    push(owner);
}

static void fill_hello(const struct spoke *spoke, struct hello *hello)
{
    *hello = (struct hello){
        .purpose = HELLO_FOR_SESSION,
        .incarnation = spoke->attempt,
        .epoch = spoke->epoch,
        .resumes = spoke->epoch != 0,
        .answers_received = spoke->tether.received,
        .architecture = MACHINE_ARCHITECTURE,
    };
    memcpy(hello->session, spoke->session, sizeof hello->session);
    snprintf(hello->member, sizeof hello->member, "%s", spoke->options.name);
}

static void dial(struct spoke *spoke)
{
    static const struct dial_calls calls = {.welcomed = on_welcome,
                                            .frame = on_frame,
                                            .ended = on_end,
                                            .drained = on_drained,
                                            .heard = on_heard};
    struct hello hello;
    weft_err code = WEFT_OK;
    spoke->attempt++;
    spoke->dialed_ms = now_ms(spoke);
    fill_hello(spoke, &hello);
    if (!spoke->route)
        code = net_route_open(&spoke->options.address, &spoke->route);
    const struct dial_options options = {
        .loop = spoke->options.loop,
        .route = spoke->route,
        .attempt = (uint32_t)spoke->attempt,
        .token = &spoke->token,
        .hello = &hello,
        .calls = &calls,
        .owner = spoke,
    };
    if (!code)
        code = dial_new(&options, &spoke->dial);
    if (code)
        on_end(spoke, code, true);
}

// ---- The clock ----------------------------------------------------------------------------------------------

static void tick_connected(struct spoke *spoke, uint64_t now)
{
    if (now - spoke->tether.heard_ms >= SPOKE_SILENT_MS) {
        err_set(WEFT_UNAVAILABLE, "nothing arrived for %d s", SPOKE_SILENT_MS / 1000);
        try_again_later(spoke);
        return;
    }
    push(spoke);
}

static uint32_t patience_ms(const struct spoke *spoke)
{
    const struct spoke_options *options = &spoke->options;
    return spoke->epoch && options->cut_patience_ms ? options->cut_patience_ms
                                                    : options->patience_ms;
}

static void tick(void *owner)
{
    struct spoke *spoke = owner;
    const uint64_t now = now_ms(spoke);
    if (spoke->is_lost)
        return;
    if (spoke->fetch)
        fetch_server_tick(spoke->fetch, now);
    if (spoke->is_connected) {
        tick_connected(spoke, now);
    } else if (now - spoke->since_ms >= patience_ms(spoke)) {
        err_set(WEFT_UNAVAILABLE, "out of reach for %u s: %s", patience_ms(spoke) / 1000,
                spoke->reason[0] ? spoke->reason : "no answer");
        lose(spoke, WEFT_UNAVAILABLE);
    } else if (spoke->dial && now - spoke->dialed_ms >= SPOKE_DIAL_MS) {
        err_set(WEFT_UNAVAILABLE, "no answer within %d s", SPOKE_DIAL_MS / 1000);
        try_again_later(spoke);
    } else if (!spoke->dial && now >= spoke->next_ms) {
        dial(spoke);
    }
}

// ---- Beginning and end --------------------------------------------------------------------------------------

struct spoke *spoke_new(const struct spoke_options *options)
{
    struct spoke *spoke = calloc(1, sizeof *spoke);
    if (!spoke) {
        err_no_memory("for a session");
        return NULL;
    }
    spoke->options = *options;
    if (!spoke->options.patience_ms)
        spoke->options.patience_ms = SPOKE_PATIENCE_MS;
    spoke->token = *options->token;
    spoke->tether.kept_bytes_max = options->kept_bytes_max;
    secret_random(spoke->session, sizeof spoke->session);
    lived_start(&spoke->lived);
    spoke->since_ms = spoke->lived.now_ms;
    if (options->files)
        spoke->fetch =
            fetch_server_new(options->files, options->packs_always, options->serve_bytes_max);
    if (spoke->fetch || !options->files)
        spoke->tick = loop_timer_new(options->loop, 0, TICK_MS, tick, spoke);
    if (spoke->tick)
        return spoke;
    spoke_free(spoke);
    return NULL;
}

void spoke_free(struct spoke *spoke)
{
    if (!spoke)
        return;
    fetch_server_free(spoke->fetch);
    dial_free(spoke->dial);
    net_route_close(spoke->route);
    if (spoke->tick)
        loop_timer_free(spoke->tick);
    if (spoke->flush)
        loop_timer_free(spoke->flush);
    tether_fini(&spoke->tether);
    secret_clear(&spoke->token);
    free(spoke);
}

size_t spoke_kept_bytes(const struct spoke *spoke)
{
    return tether_kept_bytes(&spoke->tether);
}

bool spoke_is_fetched(const struct spoke *spoke)
{
    return spoke->fetch && fetch_server_is_busy(spoke->fetch);
}

bool spoke_is_connected(const struct spoke *spoke)
{
    return spoke->is_connected;
}
