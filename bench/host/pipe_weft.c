// A pipe over a queue of Weft, by the public C API: the queue is on a member that only hosts it, or, with
// "here", in the producer's own process. PORTS: four, of the members. Consumers take and are done with each; with
// PIPE_POPS in the environment they pop: gone for good when the call returns.

#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

#include "pipe.h"

enum { HOST = 0, PRODUCE, CONSUME };

static weft_cluster *cluster;
static weft_queue *queue;
static weft_call **calls;  // a ring of pushes under way
static uint64_t first, last;

static void must(weft_err err)
{
    if (err)
        pipe_fail(weft_error());
}

static void join(int role, int number)
{
    static const char *const roles[] = {"host", "produce", "consume"};
    const uint16_t *ports = pipe_setup.ports;
    char config[512];
    snprintf(config, sizeof config,
             "{\"cluster\":{\"host\":[\"localhost:%u\"],\"produce\":[\"localhost:%u\"],"
             "\"consume\":[\"localhost:%u\",\"localhost:%u\"]},"
             "\"task\":{\"type\":\"%s\",\"index\":%d}}",
             ports[0], ports[1], ports[2], ports[3], roles[role], number);
    cluster = weft_join(&(weft_join_options){.config = config});
    if (!cluster)
        pipe_fail(weft_error());
    queue =
        weft_queue_open(cluster, pipe_setup.is_here ? "/produce/0/queue" : "/host/0/queue", NULL);
    if (!queue)
        pipe_fail(weft_error());
}

static void run_host(int number)
{
    join(HOST, number);
    weft_leave(cluster);
}

void carrier_prepare(void)
{
    if (!pipe_setup.is_here)
        pipe_start(run_host, 0);
}

void carrier_open_producer(void)
{
    join(PRODUCE, 0);
    calls = calloc(pipe_setup.window, sizeof *calls);
    if (!calls)
        pipe_fail("no memory");
}

void carrier_push(void)
{
    weft_call *call =
        weft_push_start(queue, (weft_bytes){pipe_element, PIPE_ELEMENT_BYTES}, weft_none());
    if (!call)
        pipe_fail(weft_error());
    calls[last++ % pipe_setup.window] = call;
}

bool carrier_settle(void)
{
    must(weft_call_wait(calls[first++ % pipe_setup.window], 0));
    return true;
}

void carrier_open_consumer(int consumer)
{
    weft_queue_state state;
    join(CONSUME, consumer);
    must(weft_queue_look(queue, &state));
}

static void pop_one(void)
{
    weft_item item;
    must(weft_pop(queue, &item));
    weft_item_free(&item);
}

// That it is done with is not waited for: the host hears of it with what goes next.
static void take_one(void)
{
    enum { DONE_MAX = 64 };
    static weft_call *done[DONE_MAX];
    weft_item item;
    if (!weft_take(queue, &item))
        pipe_fail(weft_error());
    weft_call **place = &done[last++ % DONE_MAX];
    if (*place)
        must(weft_call_wait(*place, 0));
    *place = weft_done_start(queue, &item);
    if (!*place)
        pipe_fail(weft_error());
}

void carrier_consume(void)
{
    if (getenv("PIPE_POPS"))
        pop_one();
    else
        take_one();
}
