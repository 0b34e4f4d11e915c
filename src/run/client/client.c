// Joining a server, and leaving it.

#include "run/client/client_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/file/file.h"
#include "sys/machine/machine.h"
#include "sys/process/process.h"
#include "sys/process/signals.h"
#include "transport/hub.h"
#include "transport/spoke.h"

enum {
    SERVER_PORT = 18125,
    OWN_BYTES_MAX = 16 << 20,   // of the memory, for this process
    SLOT_BYTES_MIN = 8 << 20,   // less is slower than having fewer slots
    FIRST_PATIENCE_MS = 10000,  // for a server that is about to start
    STAY_PATIENCE_MS = 24 * 3600 * 1000,
    FAREWELL_MS = 1000,  // for a server to hear that we leave
    PROGRESS_MS = 1000,
};

// ---- The end --------------------------------------------------------------------------------------------------

// With this thread's sentence; the first one counts.
void client_stop(struct client *client, weft_err code)
{
    if (client->code == WEFT_OK) {
        client->code = code;
        snprintf(client->why, sizeof client->why, "%s", code == WEFT_OK ? "" : err_text());
    }
    loop_stop(client->loop);
}

static void end_farewell(void *owner)
{
    struct client *client = owner;
    loop_stop(client->loop);
}

static void look_at_farewell(void *owner)
{
    struct client *client = owner;
    if (!client->spoke || spoke_kept_bytes(client->spoke) == 0 ||
        !spoke_is_connected(client->spoke))
        loop_stop(client->loop);
}

static void release_signals(struct client *client)
{
    for (int i = 0; i < SIGNALS_MAX; i++) {
        if (client->signals[i])
            loop_signal_free(client->signals[i]);
        client->signals[i] = NULL;
    }
}

// The server need not wait until we have been silent for long.
static void say_goodbye(struct client *client)
{
    Weft__ClientEnd end = WEFT__CLIENT_END__INIT;
    end.is_aside = client->is_broken;
    end.code = message_code(client->code);
    end.text = client->why;
    if (!client->spoke || !client->has_joined || client->has_ended ||
        spoke_send(client->spoke, WEFT__FRAME_TYPE__FRAME_CLIENT_LEAVE, &end.base) != WEFT_OK)
        return;
    struct loop_timer *limit = loop_timer_new(client->loop, FAREWELL_MS, 0, end_farewell, client);
    struct loop_timer *look = loop_timer_new(client->loop, 10, 10, look_at_farewell, client);
    if (limit && look)
        loop_run(client->loop);
    loop_timer_free(look);
    loop_timer_free(limit);
}

// ---- Signals ---------------------------------------------------------------------------------------------------

// The second one ends it at once, and the third has its default effect.
static void take_signal(void *owner, int number)
{
    struct client *client = owner;
    const bool is_second = client->is_leaving;
    client->signal = number;
    client->is_leaving = true;
    if (is_second) {
        release_signals(client);
        snprintf(client->why, sizeof client->why, "a second signal came");
    }
    if (is_second || !client_begin_to_leave(client))
        client_go(client);
}

// ---- The porter's side ------------------------------------------------------------------------------------------

static weft_err send_frame(void *owner, Weft__FrameType type, const ProtobufCMessage *message)
{
    struct client *client = owner;
    return client->spoke ? spoke_send(client->spoke, type, message) : WEFT_OK;
}

static weft_err send_bytes(void *owner, Weft__FrameType type, weft_bytes payload)
{
    struct client *client = owner;
    return client->spoke ? spoke_send_bytes(client->spoke, type, payload) : WEFT_OK;
}

// Whatever this machine lacks: the job continues without it.
static void take_broken(void *owner, weft_err code)
{
    struct client *client = owner;
    (void)code;
    client->is_broken = true;
    client_stop(client, WEFT_ABORTED);
}

static uint64_t own_bytes(const struct client *client)
{
    const uint64_t all = client->machine.memory_bytes;
    return all / 4 < OWN_BYTES_MAX ? all / 4 : OWN_BYTES_MAX;
}

// A half for what waits for other clients and for the server: each of both has its own.
static size_t serve_bytes_max(const struct client *client)
{
    return (size_t)(own_bytes(client) / 4);
}

static weft_err open_porter(struct client *client)
{
    static const struct porter_calls calls = {send_frame, send_bytes, take_broken};
    const uint64_t all = client->machine.memory_bytes, own = own_bytes(client);
    const uint64_t fitting = (all - own) / SLOT_BYTES_MIN;
    if (client->machine.slots > fitting)
        client->machine.slots = fitting ? (uint32_t)fitting : 1;
    const struct porter_options options = {
        .loop = client->loop,
        .token = &client->token,
        .name = client->name,
        .server = client->server,
        .estate = &client->estate,
        .slot_count = client->machine.slots,
        .memory_bytes = all - own,
        .tmp = client->machine.tmp,
        .calls = &calls,
        .owner = client,
    };
    client->porter = porter_new(&options);
    return client->porter ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

// ---- The server's side --------------------------------------------------------------------------------------------

static weft_err send_offer(void *owner, const Weft__ClientOffer *offer)
{
    struct client *client = owner;
    return spoke_send(client->spoke, WEFT__FRAME_TYPE__FRAME_CLIENT_OFFER, &offer->base);
}

static void take_joined(void *owner)
{
    struct client *client = owner;
    Weft__ClientJoin join = WEFT__CLIENT_JOIN__INIT;
    join.slots = client->machine.slots;
    join.memory_bytes = client->machine.memory_bytes;
    join.port = client->estate.listener.port;
    join.epoch = hub_epoch(client->estate.door);
    join.host = client->name;
    join.pid = (uint32_t)getpid();
    client->has_joined = client->is_joined = true;
    client->has_told_waiting = false;
    client_tell_joined(client);
    weft_err code = spoke_send(client->spoke, WEFT__FRAME_TYPE__FRAME_CLIENT_JOIN, &join.base);
    if (code == WEFT_OK)
        code = ledger_offer(&client->estate.ledger, send_offer, client);
    if (code != WEFT_OK)
        client_stop(client, code);
    else if (client->is_leaving)
        porter_leave(client->porter, client->options->grace_ms);
}

static void take_end(struct client *client, const struct frame *frame)
{
    Weft__ClientEnd *end = NULL;
    weft_err code = message_unpack(frame, &weft__client_end__descriptor, &end);
    client->has_ended = true;
    if (code == WEFT_OK && end->is_aside)
        code = err_set(WEFT_ABORTED, "%s", end->text);
    else if (code == WEFT_OK)
        client_tell_end(client, (weft_err)end->code, end->text);
    client->is_handed_over = code == WEFT_OK;
    message_free(end);
    client_stop(client, code);
}

static void take_frame(void *owner, const struct frame *frame)
{
    struct client *client = owner;
    if (frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_END)
        take_end(client, frame);
    else if (client->is_leaving && frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_RELEASED)
        client_take_released(client, frame);
    else if (!client->has_ended)
        porter_take(client->porter, frame);
}

static void take_cut(void *owner)
{
    struct client *client = owner;
    struct buf text = {0};
    buf_format(&text, "the connection to the server is cut: %s; trying again", err_text());
    if (client->has_joined)
        client_say(client, "cut", buf_text(&text));
    buf_fini(&text);
}

static void take_back(void *owner)
{
    client_say(owner, "back", "the connection to the server is back");
}

static void take_lost(void *owner, weft_err code)
{
    struct client *client = owner;
    client->must_rejoin = code == WEFT_ABORTED;
    if (client->must_rejoin)
        client_say(client, "lost", err_text());
    client_stop(client, client->must_rejoin ? WEFT_OK : code);
}

// Tests have less patience than the usual one.
static uint32_t find_patience_ms(const char *variable, uint32_t usual_ms)
{
    const char *text = getenv(variable);
    return text ? (uint32_t)strtoul(text, NULL, 10) : usual_ms;
}

// For a server that was there before.
static uint32_t rejoin_patience_ms(void)
{
    return find_patience_ms("WEFT_REJOIN_MS", SPOKE_PATIENCE_MS);
}

static weft_err open_spoke(struct client *client)
{
    static const struct spoke_calls calls = {take_joined, take_frame, take_cut, take_back,
                                             take_lost};
    const struct spoke_options options = {
        .loop = client->loop,
        .address = client->server,
        .token = &client->token,
        .name = client->name,
        .calls = &calls,
        .owner = client,
        .files = client->estate.files,
        .serve_bytes_max = serve_bytes_max(client),
        .patience_ms = client->options->stays ? STAY_PATIENCE_MS
                       : client->has_joined   ? rejoin_patience_ms()
                                              : find_patience_ms("WEFT_JOIN_MS", FIRST_PATIENCE_MS),
        .cut_patience_ms = client->options->stays ? STAY_PATIENCE_MS : rejoin_patience_ms(),
    };
    client->spoke = spoke_new(&options);
    return client->spoke ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

// ---- Its life -------------------------------------------------------------------------------------------------------

static weft_err find_token(struct client *client, char *at)
{
    char *mark = strchr(at, '#');
    if (!mark)
        return secret_load(client->options->token_file, &client->token);
    *mark = 0;
    if (secret_read(mark + 1, &client->token))
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "the text after # is not a token\n  a token is 32 to 128 hexadecimal digits, "
            "as weft server prints it");
    return WEFT_OK;
}

static weft_err find_server(struct client *client)
{
    char *at = strdup(client->options->at);
    if (!at)
        return err_no_memory("to join a server");
    weft_err code = find_token(client, at);
    if (code == WEFT_OK)
        code = net_read_address(at, SERVER_PORT, &client->server);
    free(at);
    return code;
}

static weft_err choose_machine(struct client *client)
{
    const struct client_options *options = client->options;
    client->machine.slots = options->slots;
    client->machine.memory_bytes = options->memory_bytes;
    client->machine.tmp = options->tmp ? strdup(options->tmp) : NULL;
    if (options->tmp && !client->machine.tmp)
        return err_no_memory("to join a server");
    char host[MACHINE_NAME_BYTES_MAX];
    machine_host_name(host);
    snprintf(client->name, sizeof client->name, "%s/%d", host, (int)getpid());
    return options_complete(&client->machine);
}

static weft_err take_over_signals(struct client *client)
{
    for (size_t i = 0; i < SIGNALS_MAX && signals_to_end[i]; i++) {
        if (signal_is_ignored(signals_to_end[i]))
            continue;
        client->signals[i] = loop_signal_new(client->loop, signals_to_end[i], take_signal, client);
        if (!client->signals[i])
            return WEFT_RESOURCE_EXHAUSTED;
    }
    return WEFT_OK;
}

// One session, from joining to its end.
static weft_err serve(struct client *client)
{
    client->has_ended = client->must_rejoin = client->is_joined = client->is_broken = false;
    weft_err code = open_porter(client);
    if (code == WEFT_OK)
        code = open_spoke(client);
    if (code == WEFT_OK) {
        loop_run(client->loop);
        say_goodbye(client);
    }
    struct spoke *spoke = client->spoke;
    client->spoke = NULL;  // the porter has nothing more to say
    spoke_free(spoke);
    porter_free(client->porter);
    client->porter = NULL;
    if (client->has_ended)
        estate_begin(&client->estate, (weft_bytes){0});  // finished work is needed no more
    if (client->code != WEFT_OK)
        code = err_set(client->code, "%s", client->why);
    return code;
}

static bool goes_on(const struct client *client, weft_err code)
{
    const bool has_next = client->has_ended && client->options->stays && !client->is_leaving;
    return code == WEFT_OK && !client->must_go && (client->must_rejoin || has_next);
}

static void ignore_wake(void *owner)
{
    (void)owner;
}

weft_err client_run(const struct client_options *options, int *exit_code)
{
    struct client client = {.options = options};
    process_allow_descriptors();
    weft_err code = find_server(&client);
    if (code == WEFT_OK)
        code = choose_machine(&client);
    if (code == WEFT_OK) {
        client.loop = loop_new(ignore_wake, &client);
        code = client.loop ? take_over_signals(&client) : WEFT_RESOURCE_EXHAUSTED;
    }
    if (code == WEFT_OK && !options->is_quiet) {
        client.progress =
            loop_timer_new(client.loop, PROGRESS_MS, PROGRESS_MS, client_tell_progress, &client);
        code = client.progress ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
    }
    const struct estate_options estate = {.loop = client.loop,
                                          .token = &client.token,
                                          .name = client.name,
                                          .server = client.server,
                                          .serve_bytes_max = serve_bytes_max(&client)};
    if (code == WEFT_OK)
        code = estate_open(&client.estate, &estate);
    if (code == WEFT_OK)
        do {
            code = serve(&client);
        } while (goes_on(&client, code));
    if (client.is_leaving)
        client_tell_left(&client);
    *exit_code = client.is_leaving && !client.is_handed_over ? signal_exit_code(client.signal) : 0;
    client_free_leaving(&client);
    release_signals(&client);
    loop_timer_free(client.progress);
    estate_close(&client.estate);
    loop_free(client.loop);
    options_fini(&client.machine);
    secret_clear(&client.token);
    return client.is_leaving ? WEFT_OK : code;
}
