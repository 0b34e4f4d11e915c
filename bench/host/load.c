// load PORT OPERATION CLIENTS IN_FLIGHT SECONDS [BYTES [STORED]]: load for a host, by the client of the
// library.
//
// OPERATION: push; both (push, then pop what was pushed); mix (push and pop in turn); add. Each client is a session
// of its own with IN_FLIGHT calls under way; one thread serves them all in turn, as redis-benchmark's
// does. Elements have BYTES (100), and before the clock starts STORED (0) of them are pushed. HOST in the
// environment is where to connect, localhost by default. Prints operations per second and the median
// time of one in microseconds; for both, the pushes and pops per second.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster/peer.h"
#include "sys/time/clock.h"
#include "wire/ops/host.h"
#include "wire/ops/queue.h"
#include "wire/ops/var.h"

enum { CLIENTS_MAX = 64, SAMPLES_MAX = 1 << 18, STORE_IN_FLIGHT = 256 };

static const uint64_t pushed_bytes_max = UINT64_C(1) << 30;  // before they are popped again

static struct {
    struct net_address address;
    struct secret token;
    uint32_t client_count, in_flight;
    double seconds;
    char *element;
    size_t bytes;
    uint64_t stored;
} load;

enum operation { PUSH, POP, MIX, ADD };

struct client {
    struct peer *peer;
    struct peer_call *calls;
    uint64_t *started_ns;
    uint64_t started, done;  // in this phase
    uint16_t handle;
    uint32_t sample_count;
    uint64_t samples[SAMPLES_MAX / CLIENTS_MAX];
};

static struct client clients[CLIENTS_MAX];

static void must(weft_err err)
{
    if (!err)
        return;
    fprintf(stderr, "load: %s\n", err_text());
    exit(1);
}

// ---- Calls ------------------------------------------------------------------------------------------------

static void open_resource(struct client *client, bool adds)
{
    const int64_t zero = 0;
    struct buf name = {0};
    struct peer_call call = {0};
    ops_open_encode(&name, &(struct ops_open){.kind = adds ? CALL_KIND_VAR : CALL_KIND_QUEUE,
                                              .name = weft_text(adds ? "value" : "queue")});
    uint32_t life;
    must(peer_new_handle(client->peer, &client->handle, &life));
    const struct peer_ask open = {
        .op = CALL_OPEN, .handle = client->handle, .parts = {buf_bytes(&name)}};
    struct ops_call op;
    ops_var_change_make(&op, &(struct ops_var_change){.op = CALL_VAR_CREATE,
                                                      .value = {(const char *)&zero, sizeof zero}});
    struct peer_ask create;
    peer_ask_init(&create, &op, client->handle, 0);
    must(peer_ask(client->peer, &open, &call, UINT64_MAX));
    if (adds)
        must(peer_ask(client->peer, &create, &call, UINT64_MAX));
    peer_call_fini(&call);
    buf_fini(&name);
}

static void make_client(struct client *client, bool adds)
{
    const struct peer_options options = {.address = load.address,
                                         .host = "",
                                         .member = "",
                                         .token = &load.token,
                                         .patience_ms = 5000};
    const size_t most = load.in_flight < STORE_IN_FLIGHT ? STORE_IN_FLIGHT : load.in_flight;
    client->peer = peer_new(&options);
    client->calls = calloc(most, sizeof *client->calls);
    client->started_ns = calloc(most, sizeof *client->started_ns);
    if (!client->peer || !client->calls || !client->started_ns)
        abort();
    open_resource(client, adds);
}

// Looking at the clock twice for each call would be a seventh of the work.
static bool is_sampled(uint64_t number)
{
    return number % 17 == 0;
}

static void start_call(struct client *client, enum operation operation, bool is_followed)
{
    static const int64_t one = 1;
    const uint64_t number = client->started++;
    struct ops_call op;
    if (operation == ADD)
        ops_var_change_make(&op,
                            &(struct ops_var_change){.op = CALL_VAR_ADD,
                                                     .value = {(const char *)&one, sizeof one}});
    else if (operation == POP || (operation == MIX && number % 2))
        ops_queue_pop_make(&op);
    else
        ops_queue_push_make(&op, &(struct ops_queue_push){.element = {load.element, load.bytes}});
    struct peer_ask ask;
    peer_ask_init(&ask, &op, client->handle, 0);
    ask.is_followed = is_followed;
    if (is_sampled(number))
        client->started_ns[number % load.in_flight] = clock_now_ns();
    must(peer_start(client->peer, &ask, &client->calls[number % load.in_flight]));
}

static void finish_call(struct client *client)
{
    const uint64_t number = client->done++, slot = number % load.in_flight;
    must(peer_finish(client->peer, &client->calls[slot], UINT64_MAX));
    if (is_sampled(number) && client->sample_count < SAMPLES_MAX / CLIENTS_MAX)
        client->samples[client->sample_count++] = clock_now_ns() - client->started_ns[slot];
}

// ---- Phases -----------------------------------------------------------------------------------------------

// Waits for all of its calls and starts as many new ones together, as redis-benchmark does. False: it has
// started all it may.
static bool visit(struct client *client, enum operation operation, uint64_t calls_max)
{
    while (client->done < client->started)
        finish_call(client);
    for (uint32_t left = load.in_flight; left > 0 && client->started < calls_max; left--)
        start_call(client, operation, left > 1 && client->started + 1 < calls_max);
    return client->started < calls_max;
}

// Each client does as many calls as fit into the time, at most those of `calls_max`; per second.
static double run(enum operation operation, const uint64_t *calls_max, double seconds)
{
    const uint64_t start_ns = clock_now_ns();
    const uint64_t end_ns = start_ns + (uint64_t)(seconds * 1e9);
    uint64_t done = 0;
    bool goes_on = true;
    for (uint32_t i = 0; i < load.client_count; i++)
        clients[i].started = clients[i].done = clients[i].sample_count = 0;
    while (goes_on && clock_now_ns() < end_ns) {
        goes_on = false;
        for (uint32_t i = 0; i < load.client_count; i++)
            goes_on |= visit(&clients[i], operation, calls_max[i]);
    }
    for (uint32_t i = 0; i < load.client_count; i++) {
        while (clients[i].done < clients[i].started)
            finish_call(&clients[i]);
        done += clients[i].done;
    }
    return (double)done / ((double)(clock_now_ns() - start_ns) / 1e9);
}

static void store(uint64_t count)
{
    const uint32_t client_count = load.client_count, in_flight = load.in_flight;
    load.client_count = 1;
    load.in_flight = STORE_IN_FLIGHT;
    run(PUSH, &count, 1e6);
    for (size_t i = 0; i < STORE_IN_FLIGHT; i++)  // the ring is another one from here on
        peer_call_fini(&clients[0].calls[i]);
    load.client_count = client_count;
    load.in_flight = in_flight;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double find_median_us(void)
{
    static uint64_t samples[SAMPLES_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < load.client_count; i++) {
        memcpy(samples + count, clients[i].samples, clients[i].sample_count * sizeof *samples);
        count += clients[i].sample_count;
    }
    qsort(samples, count, sizeof *samples, compare);
    return count ? (double)samples[count / 2] / 1e3 : 0;
}

// What was pushed is popped by the client that pushed it: all of it, whatever time that takes.
static void run_both(uint64_t *calls_max)
{
    for (uint32_t i = 0; i < load.client_count; i++)
        calls_max[i] = pushed_bytes_max / load.bytes / load.client_count + load.in_flight;
    const double push_rate = run(PUSH, calls_max, load.seconds);
    for (uint32_t i = 0; i < load.client_count; i++)
        calls_max[i] = clients[i].done;
    const double pop_rate = run(POP, calls_max, 1e6);
    printf("%.1f %.1f\n", push_rate, pop_rate);
}

static void measure(const char *operation)
{
    uint64_t calls_max[CLIENTS_MAX];
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        calls_max[i] = UINT64_MAX;
    if (load.stored)
        store(load.stored);
    if (strcmp(operation, "both") == 0) {
        run_both(calls_max);
        return;
    }
    const enum operation one = operation[0] == 'a' ? ADD : operation[0] == 'm' ? MIX : PUSH;
    const double rate = run(one, calls_max, load.seconds);
    printf("%.1f %.1f\n", rate, find_median_us());
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr,
                "usage: load PORT push|both|mix|add CLIENTS IN_FLIGHT SECONDS [BYTES [STORED]]\n");
        return 2;
    }
    const char *host = getenv("HOST");
    snprintf(load.address.host, sizeof load.address.host, "%s", host ? host : "localhost");
    load.address.port = (uint16_t)atoi(argv[1]);
    load.client_count = (uint32_t)atoi(argv[3]);
    load.in_flight = (uint32_t)atoi(argv[4]);
    load.seconds = atof(argv[5]);
    load.bytes = argc > 6 ? (size_t)atoll(argv[6]) : 100;
    load.stored = argc > 7 ? (uint64_t)atoll(argv[7]) : 0;
    load.element = calloc(1, load.bytes);
    if (!load.element || load.client_count > CLIENTS_MAX)
        abort();
    must(secret_load(NULL, &load.token));
    for (uint32_t i = 0; i < load.client_count; i++)
        make_client(&clients[i], argv[2][0] == 'a');
    measure(argv[2]);
    return 0;
}
