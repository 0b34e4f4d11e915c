// Requests in their order, and the connection that answers them.

#include "transport/fetch_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "sys/file/file.h"
#include "transport/dial.h"
#include "transport/door.h"
#include "transport/fetch_intake.h"
#include "transport/hub.h"
#include "transport/lived.h"

enum { TICK_MS = 100, DIAL_MS = 3000, RETRY_MS = 200, CREDITS_PER_WINDOW = 8 };

struct request {
    struct fetch_wanted wanted;
    uint64_t number;
    uint64_t got;      // bytes that have arrived
    uint64_t checked;  // of them, in blocks with a right checksum
    struct link in_client;
    bool is_forgotten;  // the owner does not wait for it; like a failed one, but it ends in silence
    weft_err code;      // a failure on this side: the rest is read and not used
    char *reason;       // its sentence; NULL: no memory for it
};

struct fetch_client {
    struct fetch_client_options options;
    struct secret token;
    struct net_route *route, *relay_route;
    struct dial *dial;    // NULL: not connected, or by a line
    struct guest *guest;  // a line; NULL: none
    struct line *line;    // that was asked for and has not come; NULL: none
    bool is_relayed;      // the next connection is to the relay
    bool has_heard;       // something arrived by this connection
    bool is_gone;         // no line will come any more
    struct loop_timer *tick;
    struct lived lived;
    struct fetch_intake *intake;
    struct link requests;  // the oldest first: answers come in this order
    size_t request_count;
    size_t forgotten_count;  // of them; all are under way
    size_t sent_count;       // of them, in this connection
    uint64_t last_number;
    uint64_t used_bytes;  // of the window since credit was last given
    uint64_t relayed_bytes;
    uint64_t progress_ms;  // when something last arrived
    uint64_t dialed_ms, next_ms;
    uint32_t attempt;
    char unreachable[ERR_TEXT_BYTES_MAX];  // why the last connection ended
};

static struct loop_stream *stream_of(struct fetch_client *client)
{
    return client->guest ? guest_stream(client->guest) : dial_stream(client->dial);
}

static bool is_connected(const struct fetch_client *client)
{
    return client->guest || (client->dial && dial_is_welcomed(client->dial));
}

static struct request *first_of(struct fetch_client *client)
{
    return LIST_ITEM(client->requests.next, struct request, in_client);
}

// ---- The end of a request -----------------------------------------------------------------------------------

static void keep_failure(struct request *request, weft_err code)
{
    if (request->code)
        return;
    request->code = code;
    request->reason = strdup(err_text());
    err_clear();
}

static void free_request(struct fetch_client *client, struct request *request)
{
    list_take_out(&request->in_client);
    client->request_count--;
    client->forgotten_count -= request->is_forgotten;
    free(request->reason);
    free(request);
}

static void end_first(struct fetch_client *client)
{
    struct request *request = first_of(client);
    const struct fetch_wanted wanted = request->wanted;
    const bool is_forgotten = request->is_forgotten;
    const weft_err code = request->code;
    if (code)
        err_set(code, "%s", request->reason ? request->reason : "no memory to say why");
    client->sent_count -= client->sent_count > 0;
    free_request(client, request);
    if (!is_forgotten)
        wanted.done(wanted.owner, code);
    err_clear();
}

// Nothing under way is left for them: their answers will not come.
static void free_forgotten(struct fetch_client *client)
{
    for (struct link *at = client->requests.next, *next; client->forgotten_count; at = next) {
        struct request *request = LIST_ITEM(at, struct request, in_client);
        next = at->next;
        if (request->is_forgotten)
            free_request(client, request);
    }
}

static void hang_up(struct fetch_client *client)
{
    dial_free(client->dial);
    client->dial = NULL;
    if (client->guest)
        guest_free(client->guest);
    client->guest = NULL;
    line_free(client->line);
    client->line = NULL;
    client->sent_count = 0;
    free_forgotten(client);
}

// All requests of now, for this thread's reason; those that are made in the calls are not among them.
static void fail_all(struct fetch_client *client, weft_err code)
{
    char address[NET_ADDRESS_TEXT_BYTES] = "a client";
    if (client->options.address.port)
        net_write_address(&client->options.address, address);
    struct err_kept kept;
    err_keep(&kept);
    hang_up(client);
    for (uint64_t last = client->last_number;
         client->request_count && first_of(client)->number <= last;) {
        err_put_back(&kept);
        keep_failure(first_of(client), err_wrap(code, "cannot fetch from %s", address));
        end_first(client);
    }
}

// ---- Asking -------------------------------------------------------------------------------------------------

static void put_frame(struct fetch_client *client, Weft__FrameType type, const void *payload,
                      size_t size)
{
    struct buf *out = loop_stream_out(stream_of(client));
    uint8_t header[FRAME_HEADER_BYTES];
    frame_encode_header(header, type, size);
    buf_append(out, header, sizeof header);
    buf_append(out, payload, size);
}

static void give_credit(struct fetch_client *client, uint64_t bytes)
{
    put_frame(client, WEFT__FRAME_TYPE__FRAME_FETCH_CREDIT, &bytes, sizeof bytes);
}

static void send_requests(struct fetch_client *client)
{
    struct link *at = client->requests.next;
    if (client->sent_count == client->request_count || client->sent_count == FETCH_REQUESTS_MAX)
        return;
    for (size_t i = 0; i < client->sent_count; i++)
        at = at->next;
    for (; at != &client->requests && client->sent_count < FETCH_REQUESTS_MAX; at = at->next) {
        const struct request *request = LIST_ITEM(at, struct request, in_client);
        const struct fetch_wanted *wanted = &request->wanted;
        const struct fetch_request wire = {request->number, wanted->file,
                                           wanted->offset + request->got,
                                           wanted->size - request->got};
        put_frame(client, WEFT__FRAME_TYPE__FRAME_FETCH, &wire, sizeof wire);
        client->sent_count++;
    }
}

// ---- Answers ------------------------------------------------------------------------------------------------

static weft_err on_block(void *owner, const struct fetch_block *block, size_t size)
{
    struct fetch_client *client = owner;
    if (!client->sent_count)
        return err_set(WEFT_DATA_LOSS, "it sent a block that was not asked for");
    const struct request *request = first_of(client);
    const struct fetch_wanted *wanted = &request->wanted;
    if (block->request != request->number || block->offset != wanted->offset + request->got ||
        size > wanted->size - request->got || (size == 0 && wanted->size))
        return err_set(WEFT_DATA_LOSS, "it sent a block of another place than was asked for");
    return WEFT_OK;
}

static void on_bytes(void *owner, weft_bytes bytes)
{
    struct fetch_client *client = owner;
    struct request *request = first_of(client);
    const struct fetch_wanted *wanted = &request->wanted;
    if (!request->code && !request->is_forgotten) {
        const char *path = wanted->path ? wanted->path : "a fetched file";
        const weft_err code = file_write_at(wanted->fd, path, bytes.data, bytes.size,
                                            wanted->to_offset + request->got);
        if (code)
            keep_failure(request, code);
    }
    request->got += bytes.size;
    client->used_bytes += bytes.size;
}

static void on_checked(void *owner, bool is_sound)
{
    struct fetch_client *client = owner;
    struct request *request = first_of(client);
    if (!is_sound)
        keep_failure(request, err_set(WEFT_DATA_LOSS,
                                      "a block of file %" PRIu64 " before offset %" PRIu64
                                      " arrived with a wrong checksum",
                                      request->wanted.file, request->wanted.offset + request->got));
    request->checked = request->got;
    if (request->got == request->wanted.size)
        end_first(client);
}

static weft_err on_failed(void *owner, uint64_t number, weft_err code, const char *sentence)
{
    struct fetch_client *client = owner;
    if (!client->sent_count || first_of(client)->number != number)
        return err_set(WEFT_DATA_LOSS, "it answered something that was not asked");
    keep_failure(first_of(client), err_set(code, "%s", sentence));
    end_first(client);
    return WEFT_OK;
}

static void on_data(void *owner, weft_bytes bytes)
{
    struct fetch_client *client = owner;
    client->progress_ms = lived_now_ms(&client->lived);
    client->has_heard = true;
    client->relayed_bytes += client->is_relayed ? bytes.size : 0;
    const weft_err code = fetch_intake_receive(client->intake, bytes);
    if (code) {
        fail_all(client, code);
        return;
    }
    if (!is_connected(client))
        return;
    if (client->used_bytes >= client->options.window_bytes / CREDITS_PER_WINDOW) {
        give_credit(client, client->used_bytes);
        client->used_bytes = 0;
    }
    send_requests(client);
    loop_stream_flush(stream_of(client));
}

// ---- The connection -----------------------------------------------------------------------------------------

// A request that has failed on this side is not asked for again.
static void end_failed(struct fetch_client *client)
{
    while (client->request_count && first_of(client)->code)
        end_first(client);
}

static void begin(struct fetch_client *client)
{
    client->sent_count = 0;
    client->used_bytes = 0;
    fetch_intake_restart(client->intake);
    if (client->request_count)
        first_of(client)->got = first_of(client)->checked;  // the only one that can be cut
    end_failed(client);
    if (!is_connected(client))  // by a call
        return;
    give_credit(client, client->options.window_bytes);
    send_requests(client);
    loop_stream_flush(stream_of(client));
}

// For this thread's reason. A connection that brought nothing may do better the other way: to the address, or through the relay.
static void try_again_later(struct fetch_client *client)
{
    const bool switches = client->options.relay_number && !client->has_heard;
    snprintf(client->unreachable, sizeof client->unreachable, "%s", err_text());
    err_clear();
    hang_up(client);
    client->is_relayed ^= switches;
    client->next_ms =
        lived_now_ms(&client->lived) + (switches && client->is_relayed ? 0 : RETRY_MS);
}

static void on_welcome(void *owner, const struct hello_welcome *welcome)
{
    struct fetch_client *client = owner;
    const uint64_t epoch = client->options.epoch;
    if (client->is_relayed || !epoch || welcome->epoch == epoch) {
        begin(client);
        return;
    }
    err_set(WEFT_UNAVAILABLE, "another process is there");
    try_again_later(client);
}

static void on_end(void *owner, weft_err code, bool is_proven)
{
    struct fetch_client *client = owner;
    const bool has_other_way = client->options.relay_number && !client->is_relayed;
    if (code == WEFT_UNAVAILABLE || code == WEFT_RESOURCE_EXHAUSTED || has_other_way)
        try_again_later(client);
    else if (client->is_relayed && code == WEFT_NOT_FOUND && is_proven)
        fail_all(client, err_set(WEFT_UNAVAILABLE, "%s", err_text()));
    else
        fail_all(client, code);
}

static weft_err open_route(struct fetch_client *client, struct net_route **route)
{
    struct net_route **at = client->is_relayed ? &client->relay_route : &client->route;
    const struct net_address *address =
        client->is_relayed ? &client->options.relay : &client->options.address;
    const weft_err code = *at ? WEFT_OK : net_route_open(address, at);
    *route = *at;
    return code;
}

static void dial(struct fetch_client *client)
{
    static const struct dial_calls calls = {
        .welcomed = on_welcome, .data = on_data, .ended = on_end};
    struct hello hello = {.purpose = client->is_relayed ? HELLO_FOR_RELAY : HELLO_FOR_FETCH,
                          .target = client->options.relay_number};
    struct net_route *route;
    snprintf(hello.member, sizeof hello.member, "%s", client->options.name);
    weft_err code = open_route(client, &route);
    const struct dial_options options = {
        .loop = client->options.loop,
        .route = route,
        .attempt = client->attempt++,
        .token = &client->token,
        .hello = &hello,
        .calls = &calls,
        .owner = client,
    };
    if (!code)
        code = dial_new(&options, &client->dial);
    if (code)
        try_again_later(client);
}

// ---- Lines --------------------------------------------------------------------------------------------------

static void on_line_end(void *owner)
{
    struct fetch_client *client = owner;
    err_set(WEFT_UNAVAILABLE, "the other side has closed the connection");
    try_again_later(client);
}

static void on_line(void *owner, struct guest *guest)
{
    static const struct guest_calls calls = {.data = on_data, .ended = on_line_end};
    struct fetch_client *client = owner;
    client->line = NULL;
    if (!guest)
        return;  // the requests fail with the next tick
    client->guest = guest;
    door_welcome(guest, &(struct hello_welcome){.epoch = 1}, &calls, client);
    begin(client);
}

static void ask_line(struct fetch_client *client)
{
    const weft_err code = hub_ask_line(client->options.hub, client->options.peer_number, on_line,
                                       client, &client->line);
    client->is_gone = code == WEFT_NOT_FOUND;
    if (code)
        try_again_later(client);
}

static bool is_by_line(const struct fetch_client *client)
{
    return client->options.hub;
}

static void connect_again(struct fetch_client *client)
{
    client->dialed_ms = lived_now_ms(&client->lived);
    client->has_heard = false;
    if (is_by_line(client))
        ask_line(client);
    else
        dial(client);
}

// ---- The clock ----------------------------------------------------------------------------------------------

// The connection does not come about, or brings nothing.
static bool is_late(const struct fetch_client *client, uint64_t now)
{
    const bool has_relay = client->options.relay_number;
    const bool is_direct = has_relay && !client->is_relayed;
    const uint64_t waited_ms = now - client->dialed_ms;
    if (is_connected(client))
        return (has_relay || is_by_line(client)) && waited_ms >= FETCH_SILENT_MS &&
               now - client->progress_ms >= FETCH_SILENT_MS;
    return (client->dial || client->line) && waited_ms >= (is_direct ? FETCH_DIRECT_MS : DIAL_MS);
}

static void tick(void *owner)
{
    struct fetch_client *client = owner;
    const uint64_t now = lived_now_ms(&client->lived);
    if (!client->request_count)
        return;
    if (client->is_gone) {
        fail_all(client, err_set(WEFT_UNAVAILABLE, "it is gone"));
    } else if (now - client->progress_ms >= client->options.patience_ms) {
        const weft_err code = err_set(WEFT_UNAVAILABLE, "nothing arrived for %u s%s%s",
                                      client->options.patience_ms / 1000,
                                      client->unreachable[0] ? ": " : "", client->unreachable);
        client->progress_ms = now;
        fail_all(client, code);
    } else if (is_late(client, now)) {
        err_set(WEFT_UNAVAILABLE, "no answer");
        try_again_later(client);
    } else if (!client->dial && !client->guest && !client->line && now >= client->next_ms) {
        connect_again(client);
    }
}

weft_err fetch_client_get(struct fetch_client *client, const struct fetch_wanted *wanted)
{
    struct request *request = calloc(1, sizeof *request);
    if (!request)
        return err_no_memory("for a request");
    request->wanted = *wanted;
    request->number = ++client->last_number;
    if (!client->request_count)
        client->progress_ms = lived_now_ms(&client->lived);
    list_append(&client->requests, &request->in_client);
    client->request_count++;
    if (is_connected(client)) {
        send_requests(client);
        loop_stream_flush(stream_of(client));
    } else if (!client->dial && !client->line && lived_now_ms(&client->lived) >= client->next_ms) {
        connect_again(client);
    }
    return WEFT_OK;
}

// A request whose answer is on its way keeps its place, so that the answer finds it.
void fetch_client_forget(struct fetch_client *client, const void *owner)
{
    size_t left = client->sent_count;
    for (struct link *at = client->requests.next, *next; at != &client->requests; at = next) {
        struct request *request = LIST_ITEM(at, struct request, in_client);
        const bool is_sent = left > 0;
        next = at->next;
        left -= is_sent;
        if (request->wanted.owner != owner || request->is_forgotten)
            continue;
        request->is_forgotten = true;
        client->forgotten_count++;
        if (!is_sent)
            free_request(client, request);
    }
}

uint64_t fetch_client_relayed_bytes(const struct fetch_client *client)
{
    return client->relayed_bytes;
}

size_t fetch_client_pending(const struct fetch_client *client)
{
    return client->request_count - client->forgotten_count;
}

// ---- Beginning and end --------------------------------------------------------------------------------------

struct fetch_client *fetch_client_new(const struct fetch_client_options *options)
{
    static const struct fetch_intake_calls calls = {on_block, on_bytes, on_checked, on_failed};
    struct fetch_client *client = calloc(1, sizeof *client);
    if (!client) {
        err_no_memory("to fetch");
        return NULL;
    }
    client->options = *options;
    client->token = *options->token;
    if (!client->options.window_bytes)
        client->options.window_bytes = FETCH_WINDOW_BYTES;
    if (!client->options.patience_ms)
        client->options.patience_ms = FETCH_PATIENCE_MS;
    list_init(&client->requests);
    lived_start(&client->lived);
    client->intake = fetch_intake_new(&calls, client);
    client->tick = loop_timer_new(options->loop, TICK_MS, TICK_MS, tick, client);
    if (client->intake && client->tick)
        return client;
    fetch_client_free(client);
    return NULL;
}

void fetch_client_free(struct fetch_client *client)
{
    if (!client)
        return;
    while (client->request_count)
        free_request(client, first_of(client));
    hang_up(client);
    net_route_close(client->route);
    net_route_close(client->relay_route);
    fetch_intake_free(client->intake);
    if (client->tick)
        loop_timer_free(client->tick);
    secret_clear(&client->token);
    free(client);
}
