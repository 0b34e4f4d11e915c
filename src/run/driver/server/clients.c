// The clients of a server.

#include "run/driver/server/clients.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "run/driver/server/holdings.h"
#include "transport/hub.h"

enum { SENTENCE_BYTES = 1024, RELAYED_MAX = 8 };

// A client from its joining to its loss.
struct client {
    struct clients *clients;
    struct hub_peer *peer;
    struct far_agent *far;  // NULL: it has not said who it is
    uint32_t holder;
    struct fetch_client *fetch;  // NULL: nothing was fetched from it yet
    VEC(struct wish *) wishes;   // that have not ended
    bool is_silent;
    char name[HELLO_MEMBER_BYTES];
    char address[NET_ADDRESS_TEXT_BYTES];  // where it serves files to other clients,
    uint64_t epoch;                        // and the number that says that it is this one
    size_t record;  // its place in the list of all, once it has said who it is
    struct client *next;
};

struct wish {
    struct client *client;
    fetch_done_fn *done;
    void *owner;
};

// Of two clients, the first cannot reach the second.
struct relayed {
    char from[HELLO_MEMBER_BYTES];
    uint32_t to;
};

struct clients {
    struct clients_options options;
    struct hub *hub;
    struct far_agent places[CLIENTS_MAX];
    struct client *first;
    VEC(struct client *) by_holder;  // the client with number N at N - 1; NULL: it is gone
    struct client *gone;             // to be freed when none of their calls is under way
    struct loop_timer *funeral;
    uint32_t count;
    VEC(struct relayed) relayed;         // pairs that were reported
    VEC(struct summary_client) records;  // also of those that are gone
    bool is_over;
};

static struct client *find(const struct clients *clients, uint32_t holder)
{
    return holder > 0 && holder <= clients->by_holder.count ? clients->by_holder.items[holder - 1]
                                                            : NULL;
}

static void tell_change(const struct client *client, enum crowd_kind kind, const char *sentence)
{
    const struct clients *clients = client->clients;
    const bool is_gone = kind == CROWD_LEFT || kind == CROWD_LOST || kind == CROWD_ASIDE;
    const struct crowd_change change = {kind, client->name,
                                        client->far ? client->far->slot_count : 0,
                                        clients->count - (client->far && is_gone), sentence};
    if (client->far)
        clients->records.items[client->record].end = kind;
    clients->options.calls->changed(clients->options.owner, &change);
}

// The work of a client, as reported last.
static void update_record(const struct client *client)
{
    struct summary_client *record = &client->clients->records.items[client->record];
    record->lent_bytes = client->far->lent_bytes;
    record->fetched_bytes = client->far->fetched_bytes;
    record->relayed_bytes = client->far->relayed_bytes;
    record->backup_count = client->far->backup_count;
}

// ---- The end of a client ----------------------------------------------------------------------------

static void unlink_client(struct client *client)
{
    struct client **at = &client->clients->first;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    client->clients->by_holder.items[client->holder - 1] = NULL;
    client->clients->count -= client->far ? 1 : 0;
}

static void free_client(struct client *client)
{
    fetch_client_free(client->fetch);
    for (size_t i = 0; i < client->wishes.count; i++)
        free(client->wishes.items[i]);
    VEC_FINI(&client->wishes);
    free(client);
}

static void free_gone(void *owner)
{
    struct clients *clients = owner;
    if (clients->funeral)
        loop_timer_free(clients->funeral);
    clients->funeral = NULL;
    while (clients->gone) {
        struct client *client = clients->gone;
        clients->gone = client->next;
        free_client(client);
    }
}

static void bury(struct client *client)
{
    struct clients *clients = client->clients;
    client->next = clients->gone;
    clients->gone = client;
    if (!clients->funeral)
        clients->funeral = loop_timer_new(clients->options.loop, 0, 0, free_gone, clients);
    if (!clients->funeral)
        err_clear();  // then with the next one, or at the end
}

// Nothing is written to their files any more, which their owners may close.
static void fail_wishes(struct client *client)
{
    for (size_t i = 0; i < client->wishes.count; i++) {
        struct wish *wish = client->wishes.items[i];
        fetch_client_forget(client->fetch, wish);
        wish->done(wish->owner, err_set(WEFT_UNAVAILABLE, "client %s is gone", client->name));
    }
}

static void lose(struct client *client, weft_err code)
{
    struct err_kept kept;
    err_keep(&kept);
    if (client->far)
        update_record(client);
    unlink_client(client);
    fail_wishes(client);
    err_put_back(&kept);
    if (client->far)
        far_agent_detach(client->far, code);
    bury(client);
}

static void on_lost(void *owner, struct hub_peer *peer, weft_err code)
{
    struct clients *clients = owner;
    struct client *client = hub_peer_owner(peer);
    if (!client)
        return;
    if (client->far && !clients->is_over) {
        char sentence[SENTENCE_BYTES];
        snprintf(sentence, sizeof sentence, "client %s is lost: %.300s", client->name, err_text());
        tell_change(client, CROWD_LOST, sentence);
    }
    lose(client, code);
}

static void tell_end(struct hub_peer *peer, weft_err code, const char *text, bool is_aside)
{
    Weft__ClientEnd end = WEFT__CLIENT_END__INIT;
    end.is_aside = is_aside;
    end.code = message_code(code);
    end.text = (char *)text;
    if (hub_send(peer, WEFT__FRAME_TYPE__FRAME_CLIENT_END, &end.base) != WEFT_OK)
        err_clear();  // it has left too much unread, and will be lost soon
}

void clients_drop(struct clients *clients, uint32_t holder, const char *why)
{
    struct client *client = find(clients, holder);
    char sentence[SENTENCE_BYTES];
    if (!client)
        return;
    snprintf(sentence, sizeof sentence, "client %s is set aside: %.380s", client->name, why);
    tell_change(client, CROWD_ASIDE, sentence);
    struct hub_peer *peer = client->peer;
    hub_peer_set_owner(peer, NULL);
    tell_end(peer, WEFT_ABORTED, sentence, true);
    lose(client, err_set(WEFT_ABORTED, "%s", sentence));
}

// ---- Joining --------------------------------------------------------------------------------------------

// Numbers rise from 1; some are of processes that were refused.
static bool note_holder(struct clients *clients, struct client *client)
{
    bool has_room = true;
    while (has_room && clients->by_holder.count < client->holder)
        has_room = VEC_PUSH(&clients->by_holder, NULL);
    if (has_room)
        clients->by_holder.items[client->holder - 1] = client;
    return has_room;
}

static weft_err on_joined(void *owner, struct hub_peer *peer, const struct hello *hello)
{
    (void)hello;
    struct clients *clients = owner;
    if (clients->is_over)
        return err_set(WEFT_UNAVAILABLE, "the job is over");
    struct client *client = calloc(1, sizeof *client);
    if (client)
        client->holder = (uint32_t)hub_peer_number(peer);
    if (!client || !note_holder(clients, client)) {
        free(client);
        return err_no_memory("for a client");
    }
    client->clients = clients;
    client->peer = peer;
    snprintf(client->name, sizeof client->name, "%s", hub_peer_name(peer));
    client->next = clients->first;
    clients->first = client;
    hub_peer_set_owner(peer, client);
    return WEFT_OK;
}

// A peer on this machine is known to others by our own name.
static void find_address(struct client *client, uint16_t port)
{
    const struct entrance *entrance = client->clients->options.entrance;
    const char *where = hub_peer_address(client->peer);
    struct net_address files = {0};
    char ours[NET_ADDRESS_TEXT_BYTES];
    if (strncmp(where, "pid ", 4) == 0 || net_read_address(where, 1, &files) != WEFT_OK) {
        err_clear();
        entrance_name(entrance, ours);
        if (net_read_address(ours, 1, &files) != WEFT_OK)
            err_clear();
    }
    files.port = port;
    net_write_address(&files, client->address);
}

static struct far_agent *find_place(struct clients *clients)
{
    for (uint32_t i = 0; i < CLIENTS_MAX; i++)
        if (clients->places[i].is_wanted && !clients->places[i].peer)
            return &clients->places[i];
    return NULL;
}

static void tell_joined(struct client *client, const Weft__ClientJoin *join)
{
    char sentence[SENTENCE_BYTES];
    snprintf(sentence, sizeof sentence, "client %.200s has joined with %u slot%s (%u now)",
             client->name, join->slots, join->slots == 1 ? "" : "s", client->clients->count);
    tell_change(client, CROWD_JOINED, sentence);
}

// All places are taken, or the last tasks are done and no worker is wanted any more.
static void turn_away(struct client *client)
{
    if (client->clients->count == CLIENTS_MAX)
        return clients_drop(client->clients, client->holder, "there is no place left");
    tell_end(client->peer, WEFT_OK, "", false);
    hub_peer_set_owner(client->peer, NULL);
    lose(client, WEFT_OK);
}

static bool add_record(struct client *client, const Weft__ClientJoin *join)
{
    struct summary_client record = {.slots = join->slots};
    snprintf(record.name, sizeof record.name, "%.127s", client->name);
    client->record = client->clients->records.count;
    return VEC_PUSH(&client->clients->records, record);
}

static weft_err take_join(struct client *client, const struct frame *frame)
{
    struct clients *clients = client->clients;
    Weft__ClientJoin *join = NULL;
    weft_err code = frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_JOIN
                        ? message_unpack(frame, &weft__client_join__descriptor, &join)
                        : err_set(WEFT_INTERNAL, "something before it said who it is");
    if (code == WEFT_OK)
        code = far_agent_check(join);
    struct far_agent *place = code == WEFT_OK ? find_place(clients) : NULL;
    if (code == WEFT_OK && !place)
        turn_away(client);
    if (place && !add_record(client, join)) {
        code = err_no_memory("for a client");
        place = NULL;
    }
    if (place) {
        client->far = place;
        clients->count++;
        find_address(client, (uint16_t)join->port);
        client->epoch = join->epoch;
        far_agent_attach(place, client->peer, client->holder, join, client->address);
        tell_joined(client, join);
    }
    message_free(join);
    return code;
}

static void tell_state(struct clients *clients, const struct hub_peer *peer, enum crowd_kind kind,
                       const char *state)
{
    const struct client *client = hub_peer_owner(peer);
    char sentence[SENTENCE_BYTES];
    if (!client || !client->far || clients->is_over)
        return;
    snprintf(sentence, sizeof sentence, "client %.200s %s", client->name, state);
    tell_change(client, kind, sentence);
}

// It goes by itself, and knows why. One that cannot work says why.
static void take_leave(struct client *client, const struct frame *frame)
{
    struct clients *clients = client->clients;
    Weft__ClientEnd *end = NULL;
    const weft_err code = message_unpack(frame, &weft__client_end__descriptor, &end);
    if (code == WEFT_OK && end->is_aside && !clients->is_over) {
        clients_drop(clients, client->holder, end->text);
    } else {
        tell_state(clients, client->peer, CROWD_LEFT, "has left");
        hub_peer_set_owner(client->peer, NULL);
        lose(client, err_set(WEFT_UNAVAILABLE, "client %.200s has left", client->name));
    }
    message_free(end);
}

static void on_frame(void *owner, struct hub_peer *peer, const struct frame *frame)
{
    struct clients *clients = owner;
    struct client *client = hub_peer_owner(peer);
    char why[ERR_TEXT_BYTES_MAX];
    if (!client)
        return;  // it has to go
    const uint32_t holder = client->holder;
    if (frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_LEAVE)
        return take_leave(client, frame);
    if (frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_LEAVING)
        tell_state(clients, peer, CROWD_LEAVING, "is leaving: it hands over its finished work");
    const weft_err code =
        client->far ? far_agent_take(client->far, frame) : take_join(client, frame);
    if (code == WEFT_OK)
        return;
    snprintf(why, sizeof why, "it sent %.900s", err_text());
    err_clear();
    clients_drop(clients, holder, why);
}

static void set_silent(struct clients *clients, const struct hub_peer *peer, bool is_silent)
{
    struct client *client = hub_peer_owner(peer);
    if (!client || !client->far)
        return;
    client->is_silent = is_silent;
    clients->options.calls->silent(clients->options.owner, client->far, is_silent);
}

static void on_suspect(void *owner, struct hub_peer *peer)
{
    tell_state(owner, peer, CROWD_SILENT, "does not answer");
    set_silent(owner, peer, true);
}

static void on_back(void *owner, struct hub_peer *peer)
{
    tell_state(owner, peer, CROWD_BACK, "answers again");
    set_silent(owner, peer, false);
}

static void on_say(void *owner, const char *sentence)
{
    const struct clients *clients = owner;
    clients->options.calls->say(clients->options.owner, sentence);
}

static bool is_reported(const struct clients *clients, const char *from, uint32_t to)
{
    for (size_t i = 0; i < clients->relayed.count; i++)
        if (clients->relayed.items[i].to == to && strcmp(clients->relayed.items[i].from, from) == 0)
            return true;
    return clients->relayed.count == RELAYED_MAX;
}

// Once for each pair, as it may come back often, and not for all of many.
static void on_relayed(void *owner, const char *name, struct hub_peer *peer)
{
    struct clients *clients = owner;
    const struct client *to = hub_peer_owner(peer);
    char sentence[SENTENCE_BYTES];
    if (!to || is_reported(clients, name, to->holder))
        return;
    struct relayed pair = {.to = to->holder};
    snprintf(pair.from, sizeof pair.from, "%s", name);
    if (!VEC_PUSH(&clients->relayed, pair))
        return;
    snprintf(sentence, sizeof sentence,
             "%.200s cannot reach %.200s: their map output passes through this server%s", name,
             to->name,
             clients->relayed.count == RELAYED_MAX ? "; more such pairs are not listed" : "");
    on_say(clients, sentence);
}

// ---- Fetching ---------------------------------------------------------------------------------------------

static void take_fetched(void *owner, weft_err code)
{
    struct wish *wish = owner;
    const struct wish copy = *wish;
    struct client *client = wish->client;
    for (size_t i = 0; i < client->wishes.count; i++)
        if (client->wishes.items[i] == wish) {
            client->wishes.items[i] = client->wishes.items[--client->wishes.count];
            break;
        }
    free(wish);
    copy.done(copy.owner, code);
}

static weft_err connect_fetch(struct client *client)
{
    const struct clients *clients = client->clients;
    const struct fetch_client_options options = {
        .loop = clients->options.loop,
        .hub = clients->hub,
        .peer_number = client->holder,
        .token = &clients->options.entrance->token,
        .name = "server",
    };
    if (!client->fetch)
        client->fetch = fetch_client_new(&options);
    return client->fetch ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

weft_err clients_fetch(struct clients *clients, uint32_t holder, const struct fetch_wanted *wanted)
{
    struct client *client = find(clients, holder);
    struct wish *wish = malloc(sizeof *wish);
    struct fetch_wanted own = *wanted;
    weft_err code = WEFT_OK;
    if (!client)
        code = err_set(WEFT_UNAVAILABLE, "the client is gone");
    else if (!wish)
        code = err_no_memory("to fetch from a client");
    else
        code = connect_fetch(client);
    own.done = take_fetched;
    own.owner = wish;
    if (code == WEFT_OK && !VEC_PUSH(&client->wishes, wish))
        code = err_no_memory("to fetch from a client");
    if (code != WEFT_OK) {
        free(wish);
        return code;
    }
    *wish = (struct wish){.client = client, .done = wanted->done, .owner = wanted->owner};
    code = fetch_client_get(client->fetch, &own);
    if (code != WEFT_OK) {
        client->wishes.count--;
        free(wish);
    }
    return code;
}

// ---- Questions, beginning and end ---------------------------------------------------------------------------

void clients_set_job(struct clients *clients, const Weft__CodePackage *package, weft_bytes run)
{
    for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
        clients->places[i].package = package;
        clients->places[i].run = run;
    }
}

struct far_agent *clients_place(struct clients *clients, uint32_t place)
{
    return &clients->places[place];
}

struct far_agent *clients_find(const struct clients *clients, uint32_t holder)
{
    const struct client *client = find(clients, holder);
    return client ? client->far : NULL;
}

uint32_t clients_count(const struct clients *clients)
{
    return clients->count;
}

void clients_note_task(struct clients *clients, uint32_t holder, uint64_t bytes_in, bool is_again)
{
    const struct client *client = find(clients, holder);
    if (!client || !client->far)
        return;
    struct summary_client *record = &clients->records.items[client->record];
    record->task_count++;
    record->again_count += is_again;
    record->bytes_in += bytes_in;
}

struct summary_client *clients_sum_up(struct clients *clients, size_t *count)
{
    for (const struct client *client = clients->first; client; client = client->next)
        if (client->far)
            update_record(client);
    struct summary_client *list = clients->records.items;
    *count = clients->records.count;
    clients->records.items = NULL;
    VEC_FINI(&clients->records);
    return list;
}

void clients_fill_place(const struct clients *clients, uint32_t holder, Weft__FarFile *far)
{
    struct client *client = find(clients, holder);
    far->address = client ? client->address : "";
    far->holder = holder == HOLDER_SERVER ? 0 : holder;
    far->epoch = client ? client->epoch : 0;
}

uint64_t clients_relayed_bytes(const struct clients *clients)
{
    return hub_relayed_bytes(clients->hub);
}

const char *clients_name(const struct clients *clients, uint32_t holder)
{
    const struct client *client = find(clients, holder);
    return client ? client->name : "";
}

void clients_end(struct clients *clients, weft_err code, const char *text)
{
    clients->is_over = true;
    for (struct client *client = clients->first; client; client = client->next)
        tell_end(client->peer, code, text, false);
}

bool clients_have_heard(const struct clients *clients)
{
    for (const struct client *client = clients->first; client; client = client->next)
        if (hub_peer_is_connected(client->peer) && hub_peer_kept_bytes(client->peer) > 0 &&
            !client->is_silent)
            return false;
    return true;
}

struct clients *clients_new(const struct clients_options *options)
{
    static const struct hub_calls calls = {
        .joined = on_joined,
        .frame = on_frame,
        .suspect = on_suspect,
        .back = on_back,
        .lost = on_lost,
        .say = on_say,
        .relayed = on_relayed,
    };
    struct clients *clients = calloc(1, sizeof *clients);
    if (!clients) {
        (void)err_no_memory("for the clients of a server");
        return NULL;
    }
    clients->options = *options;
    const struct hub_options hub = {
        .loop = options->loop,
        .listener = &options->entrance->listener,
        .token = &options->entrance->token,
        .name = "server",
        .calls = &calls,
        .owner = clients,
        .files = options->files,
    };
    clients->hub = hub_new(&hub);
    if (clients->hub)
        return clients;
    clients_free(clients);
    return NULL;
}

void clients_free(struct clients *clients)
{
    if (!clients)
        return;
    free_gone(clients);
    while (clients->first) {
        struct client *client = clients->first;
        clients->first = client->next;
        free_client(client);
    }
    hub_free(clients->hub);
    VEC_FINI(&clients->relayed);
    VEC_FINI(&clients->by_holder);
    VEC_FINI(&clients->records);
    free(clients);
}
