// The clients of a server.

#include "run/driver/clients.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "transport/hub.h"

enum { SENTENCE_BYTES = 1024 };

// A client from its joining to its loss.
struct client {
    struct clients *clients;
    struct hub_peer *peer;
    struct far_agent *far;  // NULL: it has not said who it is
    uint32_t holder;
    struct fetch_client *fetch;  // NULL: nothing was fetched from it yet
    VEC(struct wish *) wishes;   // that have not ended
    char name[HELLO_MEMBER_BYTES];
    struct net_address files;  // where it serves them
    char address[NET_ADDRESS_TEXT_BYTES];
    struct client *next;
};

struct wish {
    struct client *client;
    fetch_done_fn *done;
    void *owner;
    bool is_failed;  // its owner knows
};

struct clients {
    struct clients_options options;
    struct hub *hub;
    struct far_agent places[CLIENTS_MAX];
    struct client *first;
    struct client *gone;  // to be freed when none of their calls is under way
    struct loop_timer *funeral;
    uint32_t count, last_holder;
    uint32_t joined_count, joined_slots;  // also of those that are gone
    bool is_over;
};

static struct client *find(const struct clients *clients, uint32_t holder)
{
    struct client *client = clients->first;
    while (client && client->holder != holder)
        client = client->next;
    return client;
}

static void say(struct clients *clients, const char *sentence)
{
    clients->options.calls->changed(clients->options.owner, sentence);
}

// ---- The end of a client ----------------------------------------------------------------------------

static void unlink_client(struct client *client)
{
    struct client **at = &client->clients->first;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
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

// Their requests may still end, without an effect then.
static void fail_wishes(struct client *client)
{
    for (size_t i = 0; i < client->wishes.count; i++) {
        struct wish *wish = client->wishes.items[i];
        wish->is_failed = true;
        wish->done(wish->owner, err_set(WEFT_UNAVAILABLE, "client %s is gone", client->name));
    }
}

static void lose(struct client *client, weft_err code)
{
    struct err_kept kept;
    err_keep(&kept);
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
        say(clients, sentence);
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
    say(clients, sentence);
    struct hub_peer *peer = client->peer;
    hub_peer_set_owner(peer, NULL);
    tell_end(peer, WEFT_ABORTED, sentence, true);
    lose(client, err_set(WEFT_ABORTED, "%s", sentence));
}

// ---- Joining --------------------------------------------------------------------------------------------

static weft_err on_joined(void *owner, struct hub_peer *peer, const struct hello *hello)
{
    struct clients *clients = owner;
    (void)hello;
    if (clients->is_over)
        return err_set(WEFT_UNAVAILABLE, "the job is over");
    struct client *client = calloc(1, sizeof *client);
    if (!client)
        return err_no_memory("for a client");
    client->clients = clients;
    client->peer = peer;
    client->holder = ++clients->last_holder;
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
    char ours[NET_ADDRESS_TEXT_BYTES];
    if (strncmp(where, "pid ", 4) == 0 || net_read_address(where, 1, &client->files) != WEFT_OK) {
        err_clear();
        entrance_name(entrance, ours);
        if (net_read_address(ours, 1, &client->files) != WEFT_OK)
            err_clear();
    }
    client->files.port = port;
    net_write_address(&client->files, client->address);
}

static weft_err check_join(const Weft__ClientJoin *join)
{
    if (join->slots < 1 || join->slots > SLOTS_MAX)
        return err_set(WEFT_INTERNAL, "%u slots, not 1 to %d", join->slots, SLOTS_MAX);
    if (join->port < 1 || join->port > UINT16_MAX)
        return err_set(WEFT_INTERNAL, "port %u", join->port);
    return WEFT_OK;
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
    say(client->clients, sentence);
}

// All places are taken, or the last tasks are done and no worker is wanted any more.
static void turn_away(struct client *client)
{
    struct clients *clients = client->clients;
    if (clients->count == CLIENTS_MAX) {
        clients_drop(clients, client->holder, "there is no place left");
        return;
    }
    tell_end(client->peer, WEFT_OK, "", false);
    hub_peer_set_owner(client->peer, NULL);
    lose(client, WEFT_OK);
}

static weft_err take_join(struct client *client, const struct frame *frame)
{
    struct clients *clients = client->clients;
    Weft__ClientJoin *join = NULL;
    weft_err code = frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_JOIN
                        ? message_unpack(frame, &weft__client_join__descriptor, &join)
                        : err_set(WEFT_INTERNAL, "something before it said who it is");
    if (code == WEFT_OK)
        code = check_join(join);
    struct far_agent *place = code == WEFT_OK ? find_place(clients) : NULL;
    if (code == WEFT_OK && !place)
        turn_away(client);
    if (place) {
        client->far = place;
        clients->count++;
        clients->joined_count++;
        clients->joined_slots += join->slots;
        find_address(client, (uint16_t)join->port);
        tell_joined(client, join);
        far_agent_attach(place, client->peer, client->holder, join, client->address);
    }
    message_free(join);
    return code;
}

// It goes by itself, and knows why.
static void take_leave(struct client *client)
{
    char sentence[SENTENCE_BYTES];
    snprintf(sentence, sizeof sentence, "client %.200s has left", client->name);
    if (client->far)
        say(client->clients, sentence);
    hub_peer_set_owner(client->peer, NULL);
    lose(client, err_set(WEFT_UNAVAILABLE, "%s", sentence));
}

static void on_frame(void *owner, struct hub_peer *peer, const struct frame *frame)
{
    struct clients *clients = owner;
    struct client *client = hub_peer_owner(peer);
    char why[ERR_TEXT_BYTES_MAX];
    if (!client)
        return;  // it has to go
    const uint32_t holder = client->holder;
    if (frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_LEAVE) {
        take_leave(client);
        return;
    }
    const weft_err code =
        client->far ? far_agent_take(client->far, frame) : take_join(client, frame);
    if (code == WEFT_OK)
        return;
    snprintf(why, sizeof why, "it sent %.900s", err_text());
    err_clear();
    clients_drop(clients, holder, why);
}

static void tell_state(struct clients *clients, const struct hub_peer *peer, const char *state)
{
    const struct client *client = hub_peer_owner(peer);
    char sentence[SENTENCE_BYTES];
    if (!client || !client->far || clients->is_over)
        return;
    snprintf(sentence, sizeof sentence, "client %.200s %s", client->name, state);
    say(clients, sentence);
}

static void on_suspect(void *owner, struct hub_peer *peer)
{
    tell_state(owner, peer, "does not answer");
}

static void on_back(void *owner, struct hub_peer *peer)
{
    tell_state(owner, peer, "answers again");
}

static void on_say(void *owner, const char *sentence)
{
    say(owner, sentence);
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
    if (!copy.is_failed)
        copy.done(copy.owner, code);
}

static weft_err connect_fetch(struct client *client)
{
    const struct clients *clients = client->clients;
    const struct fetch_client_options options = {
        .loop = clients->options.loop,
        .address = client->files,
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

void clients_set_package(struct clients *clients, const Weft__CodePackage *package)
{
    for (uint32_t i = 0; i < CLIENTS_MAX; i++)
        clients->places[i].package = package;
}

struct far_agent *clients_place(struct clients *clients, uint32_t place)
{
    return &clients->places[place];
}

uint32_t clients_count(const struct clients *clients)
{
    return clients->count;
}

void clients_sum_up(const struct clients *clients, uint32_t *joined, uint32_t *slots)
{
    *joined = clients->joined_count;
    *slots = clients->joined_slots;
}

const char *clients_address(const struct clients *clients, uint32_t holder)
{
    const struct client *client = find(clients, holder);
    return client ? client->address : "";
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
        if (hub_peer_is_connected(client->peer) && hub_peer_kept_bytes(client->peer) > 0)
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
    hub_free(clients->hub);
    free_gone(clients);
    while (clients->first) {
        struct client *client = clients->first;
        clients->first = client->next;
        free_client(client);
    }
    free(clients);
}
