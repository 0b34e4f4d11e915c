// sim_queue [--seed N] [--seeds COUNT] [-v]: consumers of a queue, as programs write them, against a real host.
//
// The library's own files (remote_queue, prefetch, keeper, peer...) run in the simulated world. A seed draws how
// long work takes, from nothing to minutes, deadlines, connections that break, hosts that stop or are killed
// and come again with their journal, consumers that are killed. What must hold, whatever happens:
//
//   - an element is with one consumer at a time, and stays there as long as that one lives;
//   - every element is settled once in the end: done, or popped by a call that returned it;
//   - no consumer waits while an element that nobody has begun lies somewhere, for more than a moment;
//   - what the host keeps for a consumer is bounded, however long that one works.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sanitized.h"
#include "client/keeper.h"
#include "host/server.h"
#include "seeds.h"
#include "sim_host/client.h"
#include "sim_host/net.h"
#include "sys/env.h"

enum {
    SEEDS_DEFAULT = IS_SANITIZED ? 100 : 500,
    STEPS_MAX = 3000000,
    ELEMENTS_MAX = 200,
    CONSUMERS_MAX = 3,
    FIBERS_MAX = 2,
    CLIENTS_MAX = 30,
    MOMENT_MS = 3000,  // nobody idles longer beside an element; a line may take 50 bytes at a time
    POLL_MS = 100000,  // then a program with a loop of its own looks by itself
    CALM_MS = 20000,   // after a fault: it may have to be noticed first
    KEPT_BYTES_MAX = 1 << 20,  // what may lie at a consumer, and as many other answers
};

static const uint64_t ns_per_ms = 1000000;

struct element {
    enum { ABSENT, MAYBE, PUSHED } is_pushed;
    int holder;  // the number of a client; -1: nobody
    uint32_t begun_count, done_count;
    bool may_be_done;  // nobody knows whether it is
    uint64_t free_ns;  // since when nobody has begun it
};

struct consumer {
    weft_cluster cluster;
    struct peer *peer;
    weft_queue *queue;
    int number;  // of this life
    bool is_used, is_producer, is_last;
    bool may_be_lost;  // it was stopped for so long that the host may have given it up
    uint32_t fibers_left;
};

struct fiber_of {
    struct consumer *consumer;
    uint64_t waits_ns;  // since when it wants an element; 0: it does not
};

static struct plan {
    bool pops, polls, has_loop, has_kills, has_crashes;
    uint32_t element_count, consumer_count, fiber_count;
    uint32_t timeout_ms, slow_per_mille, slow_ms, quick_us, stop_per_mille;
} plan;

static struct element elements[ELEMENTS_MAX];
static struct consumer consumers[CLIENTS_MAX];
static struct fiber_of waiters[CLIENTS_MAX * FIBERS_MAX];
static int consumer_total, waiter_total;
static bool is_all_pushed, is_over;
static uint32_t
    killed_pops;  // processes that were killed in a pop: its element may be gone, with nobody who saw it
static uint64_t fault_ns;
static uint64_t total_taken, total_again, total_steps;

static bool is_dead(const struct consumer *consumer)
{
    return world.dead_clients >> consumer->number & 1;
}

// ---- What the library asks of a member ----------------------------------------------------------------

weft_err member_find_peer_at(weft_cluster *cluster, const char *name,
                             const struct cluster_member *member, struct peer **peer)
{
    (void)name, (void)member;
    *peer = ((struct consumer *)cluster)->peer;
    return WEFT_OK;
}

weft_err member_find_peer(weft_cluster *cluster, const char *role, uint32_t index,
                          struct peer **peer)
{
    (void)role, (void)index;
    return member_find_peer_at(cluster, "", NULL, peer);
}

weft_err member_keep_error(weft_cluster *cluster, weft_err code)
{
    (void)cluster;
    return code;
}

bool weft_member_is(const weft_cluster *cluster, const char *role)
{
    (void)cluster, (void)role;
    return false;
}

uint32_t weft_member_index(const weft_cluster *cluster)
{
    (void)cluster;
    return 0;
}

// ---- What may be -----------------------------------------------------------------------------------------

static void begin(struct consumer *consumer, uint32_t number, bool is_popped)
{
    struct element *element = &elements[number];
    if (number >= plan.element_count || element->is_pushed == ABSENT)
        world_wrong("element %u comes from nowhere", number);
    if (element->done_count)
        world_wrong("element %u was settled, and is handed out again", number);
    if (element->holder >= 0 && !consumers[element->holder].may_be_lost)
        world_wrong("element %u is with client %d and goes to %d", number, element->holder,
                    consumer->number);
    element->begun_count++;
    total_taken++;
    total_again += element->begun_count > 1;
    if (is_popped)
        element->done_count++;
    else
        element->holder = consumer->number;
}

static void end_work(struct consumer *consumer, uint32_t number, weft_err err)
{
    struct element *element = &elements[number];
    if (element->holder != consumer->number)
        return;  // it was killed, and the element is another's
    element->holder = -1;
    element->free_ns = world.now_ns;
    if (!err)
        element->done_count++;
    else if (err == WEFT_DEADLINE_EXCEEDED || consumer->may_be_lost)
        element->may_be_done = true;
    else
        world_wrong("element %u was with client %d all the time, but done says: %s", number,
                    consumer->number, err_text());
}

static bool is_free(const struct element *element)
{
    return element->is_pushed == PUSHED && element->holder < 0 && !element->done_count &&
           !element->may_be_done;
}

static bool is_calm(void)
{
    return world.host && !world.disk.is_full &&
           world.now_ns - fault_ns > (uint64_t)CALM_MS * ns_per_ms;
}

static void check_idlers(void)
{
    const uint64_t moment_ns = (uint64_t)MOMENT_MS * ns_per_ms;
    for (int i = 0; i < waiter_total; i++) {
        const struct fiber_of *waiter = &waiters[i];
        if (!waiter->waits_ns || is_dead(waiter->consumer) ||
            world.now_ns - waiter->waits_ns < moment_ns)
            continue;
        for (uint32_t e = 0; e < plan.element_count; e++)
            if (is_free(&elements[e]) && world.now_ns - elements[e].free_ns > moment_ns)
                world_wrong("client %d waits since %.3f s, and nobody has begun element %u, which "
                            "is free since %.3f s",
                            waiter->consumer->number, (double)waiter->waits_ns / 1e9, e,
                            (double)elements[e].free_ns / 1e9);
    }
}

static void check_memory(void)
{
    struct session *session = NULL;
    while ((session = host_next_session(host_server_host(world.host), session)) != NULL)
        if (session->answers.size - session->kept_from > KEPT_BYTES_MAX)
            world_wrong("the host keeps %zu bytes for %s",
                        session->answers.size - session->kept_from, session->member);
}

static void check(void)
{
    if (is_calm())
        check_idlers();
    if (world.host)
        check_memory();
}

// ---- Consumers ---------------------------------------------------------------------------------------------

static void sleep_ns(uint64_t ns)
{
    fiber_wait(NULL, world.now_ns + ns);
}

static void work_a_while(void)
{
    if (world_chance(plan.slow_per_mille))
        sleep_ns((uint64_t)(1 + world_below(plan.slow_ms)) * ns_per_ms);
    else if (plan.quick_us)
        sleep_ns((uint64_t)world_below(plan.quick_us) * 1000);
}

// Without waiting: an element that the host has is not missed for long. With a loop of its own the program looks again
// when the descriptor says so; one that looks at it for too long has missed it.
static weft_err poll_one(struct fiber_of *self, weft_item *item)
{
    if (!self->waits_ns)
        self->waits_ns = world.now_ns;
    const weft_err err = weft_take_now(self->consumer->queue, item);
    if (err != WEFT_CANCELLED) {
        self->waits_ns = 0;
        return err;
    }
    if (plan.has_loop)
        world_poll(weft_queue_descriptor(self->consumer->queue),
                   world.now_ns + (uint64_t)POLL_MS * ns_per_ms);
    else
        sleep_ns((uint64_t)world_below(200) * ns_per_ms);
    return WEFT_DEADLINE_EXCEEDED;
}

static weft_err take_one(struct fiber_of *self, weft_item *item)
{
    if (plan.polls)
        return poll_one(self, item);
    weft_queue *queue = self->consumer->queue;
    self->waits_ns = world.now_ns;
    weft_err err = plan.pops                ? weft_pop(queue, item)
                   : weft_take(queue, item) ? WEFT_OK
                                            : weft_queue_error(queue);
    self->waits_ns = 0;
    return err;
}

static uint32_t number_of(const weft_item *item)
{
    uint32_t number = UINT32_MAX;
    if (item->size == sizeof number)
        memcpy(&number, item->data, sizeof number);
    return number;
}

static void start(bool is_producer, bool is_last);

// Its handles are void: a program would open them again, or be started again.
static void replace_lost(const struct consumer *consumer)
{
    world_note("client %d: was given up: %s", consumer->number, err_text());
    if (consumer->fibers_left == 1 && consumer_total < CLIENTS_MAX)
        start(false, false);
}

// False: the queue is at its end, or the process.
static bool deal_with_one(struct fiber_of *self)
{
    struct consumer *consumer = self->consumer;
    weft_item item;
    const weft_err err = take_one(self, &item);
    if (is_dead(consumer)) {
        killed_pops += plan.pops;
        if (!err)
            weft_item_free(&item);
        return false;
    }
    if (err == WEFT_DEADLINE_EXCEEDED)
        return true;
    if (err == WEFT_OUT_OF_RANGE)
        return false;
    if (err && consumer->may_be_lost) {
        replace_lost(consumer);
        return false;
    }
    if (err)
        world_wrong("client %d cannot take: %s", consumer->number, err_text());
    const uint32_t number = number_of(&item);
    world_note("client %d: has %u", consumer->number, number);
    begin(consumer, number, plan.pops);
    work_a_while();
    if (is_dead(consumer) || plan.pops) {
        weft_item_free(&item);
        return !is_dead(consumer);
    }
    const weft_err done = weft_done(consumer->queue, &item);
    world_note("client %d: done with %u: %d", consumer->number, number, (int)done);
    if (!is_dead(consumer))
        end_work(consumer, number, done);
    else if (elements[number].holder == consumer->number || elements[number].holder < 0)
        elements[number].may_be_done = true;
    return !is_dead(consumer);
}

static void leave(struct consumer *consumer)
{
    if (--consumer->fibers_left)
        return;
    weft_queue_free(consumer->queue);
    consumer->queue = NULL;
    keeper_stop(&consumer->cluster);
    keeper_fini(&consumer->cluster.keeper);
    peer_free(consumer->peer, !is_dead(consumer));
    consumer->peer = NULL;
    VEC_FINI(&consumer->cluster.remotes);
    VEC_FINI(&consumer->cluster.links);
    consumer->is_used = false;
    world_note("client %d: gone", consumer->number);
}

static void consume(void *owner)
{
    struct fiber_of *self = owner;
    while (deal_with_one(self))
        ;
    leave(self->consumer);
}

// Elements that no call is known to have settled: the last consumer, without faults, gets the rest.
static void produce(void *owner)
{
    struct fiber_of *self = owner;
    struct consumer *consumer = self->consumer;
    for (uint32_t i = 0; i < plan.element_count; i++) {
        elements[i].is_pushed = MAYBE;
        const weft_err err =
            weft_push(consumer->queue, (weft_bytes){(const char *)&i, sizeof i}, weft_none());
        if (err)
            world_wrong("cannot push: %s", err_text());
        elements[i].is_pushed = PUSHED;
        if (elements[i].begun_count == 0)
            elements[i].free_ns = world.now_ns;
        if (world_chance(100))
            clock_sleep_ms(world_below(3000));
    }
    is_all_pushed = true;
    if (weft_queue_close(consumer->queue))
        world_wrong("cannot close: %s", err_text());
    leave(consumer);
}

static void keep_link(struct consumer *consumer)
{
    static struct member_link links[CLIENTS_MAX];
    struct member_link *link = &links[consumer->number];
    link->peer = consumer->peer;
    ASSERT(VEC_PUSH(&consumer->cluster.links, link));
}

static bool tend(void *owner)
{
    return keeper_arm(owner);
}

static void start(bool is_producer, bool is_last)
{
    char member[32];
    ASSERT(consumer_total < CLIENTS_MAX);
    struct consumer *consumer = &consumers[consumer_total];
    *consumer = (struct consumer){.number = consumer_total++,
                                  .is_used = true,
                                  .is_producer = is_producer,
                                  .is_last = is_last,
                                  .fibers_left = is_producer ? 1 : plan.fiber_count};
    snprintf(member, sizeof member, "/map/%d", consumer->number);
    consumer->cluster.has_at = consumer->cluster.is_looked_after = true;
    keeper_init(&consumer->cluster.keeper);
    mutex_init(&consumer->cluster.lock);
    const struct peer_options options = {
        .address = {.host = "h", .port = 1},
        .host = "/files/0",
        .member = member,
        .incarnation = (uint64_t)consumer->number + 1,
        .token = &sim_token,
        .patience_ms = 3600000,
        .asks_to_be_tended = tend,
        .owner = &consumer->cluster,
    };
    consumer->peer = peer_new(&options);
    ASSERT(consumer->peer);
    keep_link(consumer);
    world.running_client = consumer->number;
    const weft_queue_options limits = {.timeout_ms = is_producer || is_last ? 0 : plan.timeout_ms};
    consumer->queue = weft_queue_open(&consumer->cluster, "q", &limits);
    ASSERT(consumer->queue);
    for (uint32_t i = 0; i < consumer->fibers_left; i++) {
        struct fiber_of *self = &waiters[waiter_total++];
        *self = (struct fiber_of){.consumer = consumer};
        fiber_start(is_producer ? produce : consume, self)->client = consumer->number;
    }
}

// ---- What happens to them ------------------------------------------------------------------------------------

static void kill_one(void)
{
    struct consumer *consumer = &consumers[world_below((uint32_t)consumer_total)];
    if (!consumer->is_used || consumer->is_producer || is_dead(consumer) ||
        consumer_total >= CLIENTS_MAX - 2)
        return;
    world_note("client %d: killed", consumer->number);
    world.counts[COUNT_CLIENT_CRASHES]++;
    world.dead_clients |= 1u << consumer->number;
    net_end_process(consumer->number);
    for (uint32_t e = 0; e < plan.element_count; e++)
        if (elements[e].holder == consumer->number) {
            elements[e].holder = -1;
            elements[e].free_ns = world.now_ns;
        }
    fault_ns = world.now_ns;
    start(false, false);
}

// As SIGSTOP does, or a machine that is suspended: nothing of it runs, its connection stays.
static void stop_one(void)
{
    struct consumer *consumer = &consumers[world_below((uint32_t)consumer_total)];
    const bool is_long = world_chance(500) && !(plan.pops && plan.has_crashes);
    if (!consumer->is_used || consumer->is_producer || is_dead(consumer) ||
        world.now_ns < world.stopped_until_ns || consumer_total >= CLIENTS_MAX - 6)
        return;
    const uint32_t stop_ms = is_long ? world_between(8000, 90000) : world_below(3000);
    world_note("client %d: stopped for %u ms", consumer->number, stop_ms);
    consumer->may_be_lost |= is_long;
    world.stopped_client = consumer->number;
    world.stopped_until_ns = world.now_ns + (uint64_t)stop_ms * ns_per_ms;
}

static bool is_anybody_here(void)
{
    for (int i = 0; i < consumer_total; i++)
        if (consumers[i].is_used)
            return true;
    return false;
}

static void note_faults(uint64_t crashes, uint64_t cuts, uint64_t before_ns)
{
    if (world.counts[COUNT_CRASHES] != crashes || world.counts[COUNT_CUTS] != cuts || !world.host ||
        world.disk.is_full || world.now_ns < world.stopped_until_ns ||
        world.now_ns - before_ns > 900 * ns_per_ms)
        fault_ns = world.now_ns;
}

static void check_end(void)
{
    uint32_t missing = 0;
    for (uint32_t e = 0; e < plan.element_count; e++) {
        const struct element *element = &elements[e];
        if (element->done_count + element->may_be_done == 0 && ++missing > killed_pops)
            world_wrong("element %u was never settled", e);
    }
}

// ---- Seeds ---------------------------------------------------------------------------------------------------

static uint32_t draw_rate(uint32_t most)
{
    return world_chance(500) ? 0 : 1 + world_below(most);
}

static void draw_plan(void)
{
    static const uint32_t slow[] = {5, 100, 2000, 30000, 180000};
    client_plan = (struct client_plan){.session_ttl_ms = 10000};
    plan = (struct plan){
        .pops = world_chance(300),
        .has_kills = world_chance(400),
        .element_count = world_between(20, ELEMENTS_MAX),
        .consumer_count = world_between(1, CONSUMERS_MAX),
        .fiber_count = world_between(1, FIBERS_MAX),
        .timeout_ms = world_chance(600) ? 0 : world_between(1, 3000),
        .slow_per_mille = world_chance(200) ? 0 : world_between(1, 200),
        .slow_ms = slow[world_below(5)],
        .quick_us = world_chance(500) ? 0 : world_between(1, 3000),
    };
    plan.stop_per_mille = draw_rate(3);
    plan.polls = !plan.pops && world_chance(500);
    plan.has_loop = plan.polls && world_chance(500);
    // What a dying process has written and a dying host or a broken connection has not brought is lost: no pop can
    // help that.
    plan.has_crashes = !(plan.pops && plan.has_kills);
    world.rates = (struct world_rates){
        .cut = plan.has_crashes ? draw_rate(4) : 0,
        .host_crash = plan.has_crashes ? draw_rate(2) : 0,
        .client_crash = plan.has_kills ? draw_rate(3) : 0,
        .hasty_clock = draw_rate(20),
        .sync_crash = plan.has_crashes ? draw_rate(3) : 0,
        .flush_crash = plan.has_crashes ? draw_rate(3) : 0,
    };
}

static void run_seed(uint64_t seed)
{
    world_init(seed);
    draw_plan();
    memset(elements, 0, sizeof elements);
    memset(consumers, 0, sizeof consumers);
    for (size_t i = 0; i < ELEMENTS_MAX; i++)
        elements[i].holder = -1;
    consumer_total = waiter_total = 0;
    is_all_pushed = is_over = false;
    killed_pops = 0;
    world.has_faults = true;
    world.start_ns = fault_ns = world.now_ns;
    const uint64_t quiet_at = world_between(2000, 30000);
    start(true, false);
    for (uint32_t i = 0; i < plan.consumer_count; i++)
        start(false, false);
    while (is_anybody_here()) {
        const uint64_t crashes = world.counts[COUNT_CRASHES], cuts = world.counts[COUNT_CUTS];
        const uint64_t before_ns = world.now_ns;
        if (world.steps > quiet_at)
            world.has_faults = false;
        if (world.has_faults && world_chance(world.rates.client_crash))
            kill_one();
        if (world.has_faults && world_chance(plan.stop_per_mille))
            stop_one();
        if (!world_step())
            world_wrong("nothing goes on any more");
        note_faults(crashes, cuts, before_ns);
        check();
        if (world.steps > STEPS_MAX)
            world_wrong("it does not end");
    }
    check_end();
    world_fini();
    total_steps += world.steps;
}

int main(int argc, char **argv)
{
    struct seeds seeds = {.name = "sim_queue",
                          .known = "test/sim_host/seeds_queue.txt",
                          .count_default = SEEDS_DEFAULT,
                          .is_verbose = &world.is_verbose,
                          .run = run_seed};
    world.program = argv[0];
    seeds_run_all(&seeds, argc, argv);
    printf("%" PRIu64 " seeds, %" PRIu64 " steps: %" PRIu64 " elements begun, %" PRIu64
           " of them again\n",
           seeds.run_count, total_steps, total_taken, total_again);
    return 0;
}
