// host_load PORT OPERATION CLIENTS IN_FLIGHT SECONDS: load for a host, over the client of the library.
//
// OPERATION: push, mix (push and pop in turn), add. Each client is a session of its own with IN_FLIGHT
// calls under way; one thread serves them all in turn, as redis-benchmark's does. HOST in the environment
// is where to connect, localhost by default. Prints operations per second and the median time of one in
// microseconds. Built by bench/hosts.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster/peer.h"
#include "sys/clock.h"

enum { CLIENTS_MAX = 64, SAMPLES_MAX = 1 << 18, ELEMENT_BYTES = 100 };

static struct {
    struct net_address address;
    struct secret token;
    const char *operation;
    uint32_t in_flight;
} load;

struct client {
    struct peer *peer;
    struct peer_call *calls;
    uint64_t *started_ns;
    uint64_t done, started;
    uint16_t handle;
    uint32_t sample_count;
    uint64_t samples[SAMPLES_MAX / CLIENTS_MAX];
};

static void must(weft_err err)
{
    if (!err)
        return;
    fprintf(stderr, "host_load: %s\n", err_text());
    exit(1);
}

static void open_resource(struct client *client)
{
    const bool adds = strcmp(load.operation, "add") == 0;
    const int64_t zero = 0;
    struct buf name = {0};
    struct peer_call call = {0};
    call_write_u8(&name, adds ? CALL_KIND_VAR : CALL_KIND_QUEUE);
    call_write_text(&name, weft_none());
    call_write_text(&name, weft_text(adds ? "value" : "queue"));
    client->handle = peer_next_handle(client->peer);
    const struct peer_ask open = {
        .op = CALL_OPEN, .handle = client->handle, .parts = {buf_bytes(&name)}};
    const struct peer_ask create = {.op = CALL_VAR_CREATE,
                                    .handle = client->handle,
                                    .parts = {{(const char *)&zero, sizeof zero}}};
    must(peer_ask(client->peer, &open, &call, UINT64_MAX));
    if (adds)
        must(peer_ask(client->peer, &create, &call, UINT64_MAX));
    peer_call_fini(&call);
    buf_fini(&name);
}

// Looking at the clock twice for each call would be a seventh of the work.
static bool is_sampled(uint64_t number)
{
    return number % 17 == 0;
}

static void start_call(struct client *client, uint64_t number, bool is_followed)
{
    static const char element[ELEMENT_BYTES] = "an element of a hundred bytes";
    static const int64_t one = 1;
    struct peer_ask ask = {.handle = client->handle, .is_followed = is_followed};
    if (load.operation[0] == 'a') {
        ask.op = CALL_VAR_ADD;
        ask.parts[0] = (weft_bytes){(const char *)&one, sizeof one};
    } else if (load.operation[0] == 'm' && number % 2) {
        ask.op = CALL_QUEUE_POP;
    } else {
        ask.op = CALL_QUEUE_PUSH;
        ask.parts[0] = (weft_bytes){element, sizeof element};
    }
    if (is_sampled(number))
        client->started_ns[number % load.in_flight] = clock_now_ns();
    must(peer_start(client->peer, &ask, &client->calls[number % load.in_flight]));
}

static void finish_call(struct client *client, uint64_t number)
{
    const uint64_t slot = number % load.in_flight;
    must(peer_finish(client->peer, &client->calls[slot], UINT64_MAX));
    if (is_sampled(number - load.in_flight) && client->sample_count < SAMPLES_MAX / CLIENTS_MAX)
        client->samples[client->sample_count++] = clock_now_ns() - client->started_ns[slot];
    client->done++;
}

static void start_all(struct client *client)
{
    for (uint32_t i = 1; i <= load.in_flight; i++)
        start_call(client, client->started++, i < load.in_flight);
}

// Waits for all of its calls and starts as many new ones together, as redis-benchmark does.
static void visit(struct client *client)
{
    for (uint32_t i = 0; i < load.in_flight; i++)
        finish_call(client, client->started + i);
    start_all(client);
}

static double run(struct client *clients, uint32_t count, double seconds)
{
    const uint64_t start_ns = clock_now_ns();
    const uint64_t end_ns = start_ns + (uint64_t)(seconds * 1e9);
    for (uint32_t i = 0; i < count; i++)
        start_all(&clients[i]);
    while (clock_now_ns() < end_ns)
        for (uint32_t i = 0; i < count; i++)
            visit(&clients[i]);
    return (double)(clock_now_ns() - start_ns) / 1e9;
}

static void make_client(struct client *client)
{
    const struct peer_options options = {.address = load.address,
                                         .host = "",
                                         .member = "",
                                         .token = &load.token,
                                         .patience_ms = 5000};
    client->peer = peer_new(&options);
    client->calls = calloc(load.in_flight, sizeof *client->calls);
    client->started_ns = calloc(load.in_flight, sizeof *client->started_ns);
    if (!client->peer || !client->calls || !client->started_ns)
        abort();
    open_resource(client);
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void report(const struct client *clients, uint32_t count, double seconds)
{
    static uint64_t samples[SAMPLES_MAX];
    uint64_t done = 0;
    size_t sample_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        done += clients[i].done;
        memcpy(samples + sample_count, clients[i].samples,
               clients[i].sample_count * sizeof *samples);
        sample_count += clients[i].sample_count;
    }
    qsort(samples, sample_count, sizeof *samples, compare);
    printf("%.0f %.1f\n", (double)done / seconds,
           sample_count ? (double)samples[sample_count / 2] / 1e3 : 0);
}

int main(int argc, char **argv)
{
    static struct client clients[CLIENTS_MAX];
    if (argc != 6) {
        fprintf(stderr, "usage: host_load PORT push|mix|add CLIENTS IN_FLIGHT SECONDS\n");
        return 2;
    }
    const char *host = getenv("HOST");
    snprintf(load.address.host, sizeof load.address.host, "%s", host ? host : "localhost");
    load.address.port = (uint16_t)atoi(argv[1]);
    load.operation = argv[2];
    const uint32_t count = (uint32_t)atoi(argv[3]);
    load.in_flight = (uint32_t)atoi(argv[4]);
    must(secret_load(NULL, &load.token));
    for (uint32_t i = 0; i < count; i++)
        make_client(&clients[i]);
    const double seconds = run(clients, count, atof(argv[5]));
    report(clients, count, seconds);
    return 0;
}
