// Joining a server, and leaving it.

#include "run/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "run/client/porter.h"
#include "run/options.h"
#include "sys/file/file.h"
#include "sys/machine/machine.h"
#include "sys/process/process.h"
#include "sys/process/signals.h"
#include "transport/spoke.h"

enum {
    SERVER_PORT = 18125,
    SIGNALS_MAX = 5,
    OWN_BYTES_MAX = 16 << 20,   // of the memory, for this process
    SLOT_BYTES_MIN = 8 << 20,   // less is slower than having fewer slots
    FIRST_PATIENCE_MS = 10000,  // for a server that is about to start
    STAY_PATIENCE_MS = 24 * 3600 * 1000,
    FAREWELL_MS = 1000,  // for a server to hear that we leave
};

struct client {
    const struct client_options *options;
    struct run_options machine;  // slots, memory and tmp, as weft run chooses them
    struct net_address server;
    struct secret token;
    char name[MACHINE_NAME_BYTES_MAX + 32];
    struct loop *loop;
    struct loop_signal *signals[SIGNALS_MAX];
    struct loop_timer *farewell;
    struct spoke *spoke;
    struct porter *porter;
    bool has_joined;  // this time, or before
    bool has_ended;   // the server has said so
    bool is_leaving;
    bool must_rejoin;  // the server took us for lost, or was started again
    int signal;
    weft_err code;
    char why[ERR_TEXT_BYTES_MAX];
};

// ---- Messages -----------------------------------------------------------------------------------------------

static void say(const struct client *client, const char *event, const char *sentence)
{
    struct buf text = {0};
    if (client->options->is_quiet)
        return;
    if (client->options->json) {
        json_open(&text, NULL, '{');
        json_append_text(&text, "event", event);
        json_append_text(&text, "text", sentence);
        json_close(&text, '}');
        buf_append_text(&text, "\n");
    } else {
        buf_format(&text, "weft: %s\n", sentence);
    }
    if (file_write(STDERR_FILENO, "standard error", text.data, text.size) != WEFT_OK)
        err_clear();  // a closed standard error is not a failure
    buf_fini(&text);
}

static void tell_joined(const struct client *client)
{
    char address[NET_ADDRESS_TEXT_BYTES];
    struct buf text = {0};
    net_write_address(&client->server, address);
    buf_format(&text, "joined %s with %u slot%s and ", address, client->machine.slots,
               client->machine.slots == 1 ? "" : "s");
    text_append_bytes(&text, client->machine.memory_bytes);
    buf_append_text(&text, " of memory");
    say(client, "joined", buf_text(&text));
    buf_fini(&text);
}

static void append_bytes(struct buf *text, uint64_t bytes, const char *what)
{
    if (!bytes)
        return;
    buf_append_text(text, ", ");
    text_append_bytes(text, bytes);
    buf_format(text, " %s", what);
}

static void tell_end(const struct client *client, weft_err code, const char *why)
{
    struct porter_figures figures = {0};
    struct buf text = {0};
    if (client->porter)
        porter_read_figures(client->porter, &figures);
    buf_format(&text, code == WEFT_OK ? "the job is done" : "the job has ended: %s", why);
    buf_format(&text, "; %llu task%s here", (unsigned long long)figures.task_count,
               figures.task_count == 1 ? "" : "s");
    append_bytes(&text, figures.code_bytes, "of code");
    append_bytes(&text, figures.lent_bytes, "of input from the server");
    append_bytes(&text, figures.fetched_bytes, "from other clients");
    say(client, "end", buf_text(&text));
    buf_fini(&text);
}

// ---- The end --------------------------------------------------------------------------------------------------

// With this thread's sentence; the first one counts.
static void stop(struct client *client, weft_err code)
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

// Once; the second signal has its default effect.
static void take_signal(void *owner, int number)
{
    struct client *client = owner;
    client->signal = number;
    client->is_leaving = true;
    release_signals(client);
    loop_stop(client->loop);
}

// The server need not wait until we have been silent for long.
static void say_goodbye(struct client *client)
{
    if (!client->spoke || !client->has_joined || client->has_ended ||
        spoke_send(client->spoke, WEFT__FRAME_TYPE__FRAME_CLIENT_LEAVE, NULL) != WEFT_OK)
        return;
    struct loop_timer *limit = loop_timer_new(client->loop, FAREWELL_MS, 0, end_farewell, client);
    struct loop_timer *look = loop_timer_new(client->loop, 10, 10, look_at_farewell, client);
    if (limit && look)
        loop_run(client->loop);
    loop_timer_free(look);
    loop_timer_free(limit);
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

static void take_broken(void *owner, weft_err code)
{
    stop(owner, code);
}

static weft_err open_porter(struct client *client)
{
    static const struct porter_calls calls = {send_frame, send_bytes, take_broken};
    const uint64_t all = client->machine.memory_bytes;
    const uint64_t own = all / 4 < OWN_BYTES_MAX ? all / 4 : OWN_BYTES_MAX;
    const uint64_t fitting = (all - own) / SLOT_BYTES_MIN;
    if (client->machine.slots > fitting)
        client->machine.slots = fitting ? (uint32_t)fitting : 1;
    const struct porter_options options = {
        .loop = client->loop,
        .token = &client->token,
        .name = client->name,
        .server = client->server,
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

static void take_joined(void *owner)
{
    struct client *client = owner;
    Weft__ClientJoin join = WEFT__CLIENT_JOIN__INIT;
    join.slots = client->machine.slots;
    join.memory_bytes = client->machine.memory_bytes;
    join.port = porter_port(client->porter);
    join.host = client->name;
    join.pid = (uint32_t)getpid();
    client->has_joined = true;
    tell_joined(client);
    const weft_err code =
        spoke_send(client->spoke, WEFT__FRAME_TYPE__FRAME_CLIENT_JOIN, &join.base);
    if (code != WEFT_OK)
        stop(client, code);
}

static void take_end(struct client *client, const struct frame *frame)
{
    Weft__ClientEnd *end = NULL;
    weft_err code = message_unpack(frame, &weft__client_end__descriptor, &end);
    client->has_ended = true;
    if (code == WEFT_OK && end->is_aside)
        code = err_set(WEFT_ABORTED, "%s", end->text);
    else if (code == WEFT_OK)
        tell_end(client, (weft_err)end->code, end->text);
    message_free(end);
    stop(client, code);
}

static void take_frame(void *owner, const struct frame *frame)
{
    struct client *client = owner;
    if (frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_END)
        take_end(client, frame);
    else if (!client->has_ended)
        porter_take(client->porter, frame);
}

static void take_cut(void *owner)
{
    struct client *client = owner;
    struct buf text = {0};
    buf_format(&text, "the connection to the server is cut: %s; trying again", err_text());
    if (client->has_joined)
        say(client, "cut", buf_text(&text));
    buf_fini(&text);
}

static void take_back(void *owner)
{
    say(owner, "back", "the connection to the server is back");
}

static void take_lost(void *owner, weft_err code)
{
    struct client *client = owner;
    client->must_rejoin = code == WEFT_ABORTED;
    if (client->must_rejoin)
        say(client, "lost", err_text());
    stop(client, client->must_rejoin ? WEFT_OK : code);
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
        .patience_ms = client->options->stays ? STAY_PATIENCE_MS
                       : client->has_joined   ? 0
                                              : FIRST_PATIENCE_MS,
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
    return secret_read(mark + 1, &client->token);
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
    client->has_ended = client->must_rejoin = false;
    weft_err code = open_porter(client);
    if (code == WEFT_OK)
        code = open_spoke(client);
    if (code == WEFT_OK) {
        loop_run(client->loop);
        say_goodbye(client);
    }
    porter_free(client->porter);
    client->porter = NULL;
    spoke_free(client->spoke);
    client->spoke = NULL;
    if (client->code != WEFT_OK)
        code = err_set(client->code, "%s", client->why);
    return code;
}

static bool goes_on(const struct client *client, weft_err code)
{
    return code == WEFT_OK && !client->is_leaving &&
           (client->must_rejoin || (client->has_ended && client->options->stays));
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
    if (code == WEFT_OK)
        do {
            code = serve(&client);
        } while (goes_on(&client, code));
    *exit_code = client.is_leaving ? signal_exit_code(client.signal) : 0;
    release_signals(&client);
    loop_free(client.loop);
    options_fini(&client.machine);
    secret_clear(&client.token);
    return client.is_leaving ? WEFT_OK : code;
}
