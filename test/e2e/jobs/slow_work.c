// slow_work MODE PORT PORT PORT PORT: work that takes longer than anything the library might assume; see
// 95-slow-work.sh. One process is the host /one/0 and several consumers /two/N, each a member of its own.
// Says on stderr what is not so, and exits with 1 then.

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "cluster_api.h"

enum { CONSUMERS = 3, SLOW_MS = 1500, SOON_MS = 300 };

static char **ports;  // the host's, then the consumers'
static weft_cluster *host, *consumers[CONSUMERS];

static weft_cluster *join(const char *role, int index)
{
    char config[512];
    snprintf(config, sizeof config,
             "{\"cluster\": {\"one\": [\"localhost:%s\"], \"two\": [\"localhost:%s\", "
             "\"localhost:%s\", \"localhost:%s\"]}, \"task\": {\"type\": \"%s\", \"index\": %d}}",
             ports[0], ports[1], ports[2], ports[3], role, index);
    return weft_join(&(weft_join_options){.config = config});
}

static void join_all(void)
{
    host = join("one", 0);
    for (int i = 0; i < CONSUMERS; i++)
        consumers[i] = join("two", i);
}

static void leave_all(void)
{
    for (int i = 0; i < CONSUMERS; i++)
        CLAIM(weft_leave(consumers[i]) == 0);
    CLAIM(weft_leave(host) == 0);
}

static void push_numbers(weft_queue *queue, int count)
{
    char text[16];
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%d", i);
        GIVES(OK, weft_push(queue, weft_text(text), weft_none()));
    }
}

// A consumer that was quick: whatever it asks for ahead, it asks for now.
static void be_quick(weft_queue *queue, int count)
{
    weft_item item;
    for (int i = 0; i < count; i++) {
        CLAIM(weft_take(queue, &item) && item.delivery == 1);
        GIVES(OK, weft_done(queue, &item));
    }
}

static void sleep_ms(int ms)
{
    usleep((useconds_t)ms * 1000);
}

// ---- One consumer ----------------------------------------------------------------------------------

static void element_stays_with_its_holder(weft_cluster *who, const char *path)
{
    weft_queue *queue = weft_queue_open(who, path, &(weft_queue_options){.capacity = 1000});
    weft_item item;
    push_numbers(queue, 60);
    be_quick(queue, 50);
    for (int i = 50; i < 53; i++) {
        CLAIM(weft_take(queue, &item) && atoi(item.data) == i && item.delivery == 1);
        sleep_ms(SLOW_MS);
        GIVES(OK, weft_done(queue, &item));
    }
    for (int i = 53; i < 60; i++) {
        CLAIM(weft_take(queue, &item) && atoi(item.data) == i && item.delivery == 1);
        GIVES(OK, weft_done(queue, &item));
    }
    GIVES(OK, weft_queue_close(queue));
    CLAIM(!weft_take(queue, &item));
    GIVES(OUT_OF_RANGE, weft_queue_error(queue));
}

static void last_delivery_is_not_lost(void)
{
    weft_queue *queue =
        weft_queue_open(consumers[0], "/one/0/last", &(weft_queue_options){.deliveries_max = 1});
    weft_queue *dead = weft_queue_open(consumers[0], "/one/0/last.dead", NULL);
    weft_queue_state state;
    weft_item item;
    push_numbers(queue, 20);
    be_quick(queue, 18);
    for (int i = 18; i < 20; i++) {
        CLAIM(weft_take(queue, &item) && item.delivery == 1);
        sleep_ms(SLOW_MS);
        GIVES(OK, weft_done(queue, &item));
    }
    GIVES(OK, weft_queue_look(dead, &state));
    CLAIM(state.pushed_count == 0);
}

// ---- Several -----------------------------------------------------------------------------------------

struct worker {
    weft_cluster *cluster;
    const char *path;
    bool pops, is_slow;
    atomic_int count;
};

static void *work(void *owner)
{
    struct worker *worker = owner;
    weft_queue *queue = weft_queue_open(worker->cluster, worker->path, NULL);
    weft_item item;
    for (;;) {
        if (worker->pops ? weft_pop(queue, &item) != WEFT_OK : !weft_take(queue, &item))
            break;
        atomic_fetch_add(&worker->count, 1);
        if (worker->is_slow)
            sleep_ms(SLOW_MS);
        if (worker->pops)
            weft_item_free(&item);
        else
            GIVES(OK, weft_done(queue, &item));
    }
    return NULL;
}

static int count_with_one_slow(const char *path, bool pops, int pushed)
{
    pthread_t threads[CONSUMERS];
    struct worker workers[CONSUMERS] = {0};
    weft_queue *queue = weft_queue_open(host, path, NULL);
    int total = 0;
    for (int i = 0; i < CONSUMERS; i++) {
        workers[i].cluster = consumers[i];
        workers[i].path = path;
        workers[i].pops = pops;
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    push_numbers(queue, pushed - 5);
    sleep_ms(50);
    workers[0].is_slow = true;
    push_numbers(queue, 5);
    GIVES(OK, weft_queue_close(queue));
    for (int i = 0; i < CONSUMERS; i++) {
        pthread_join(threads[i], NULL);
        total += workers[i].count;
    }
    return total;
}

// Jobs for workers that all wait: each begins one at once.
static void nobody_is_idle(void)
{
    pthread_t threads[CONSUMERS];
    struct worker workers[CONSUMERS] = {0};
    weft_queue *queue = weft_queue_open(host, "/one/0/jobs", NULL);
    for (int i = 0; i < CONSUMERS; i++) {
        workers[i].cluster = consumers[i];
        workers[i].path = "/one/0/jobs";
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    push_numbers(queue, 3000);
    for (int begun = 0; begun < 3000; sleep_ms(100)) {
        begun = 0;
        for (int i = 0; i < CONSUMERS; i++)
            begun += workers[i].count;
    }
    int before[CONSUMERS];
    for (int i = 0; i < CONSUMERS; i++) {
        before[i] = workers[i].count;
        workers[i].is_slow = true;
    }
    push_numbers(queue, 2 * CONSUMERS);
    sleep_ms(SOON_MS);
    for (int i = 0; i < CONSUMERS; i++) {
        if (workers[i].count - before[i] != 1)
            fprintf(stderr, "worker %d has begun %d jobs\n", i, workers[i].count - before[i]);
        CLAIM(workers[i].count - before[i] == 1);
    }
    GIVES(OK, weft_queue_close(queue));
    for (int i = 0; i < CONSUMERS; i++) {
        pthread_join(threads[i], NULL);
        CLAIM(workers[i].count - before[i] == 2);
    }
}

// ---- Deadlines ---------------------------------------------------------------------------------------

// Takes and pops that give up after a millisecond, again and again, beside a producer: all arrive, once.
static void deadlines_lose_nothing(bool pops)
{
    const char *path = pops ? "/one/0/late_pops" : "/one/0/late_takes";
    weft_queue *in = weft_queue_open(host, path, NULL);
    weft_queue *out = weft_queue_open(consumers[0], path, &(weft_queue_options){.timeout_ms = 1});
    char seen[400] = {0};
    weft_item item;
    int count = 0;
    for (int i = 0; i < 400; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        GIVES(OK, weft_push(in, weft_text(text), weft_none()));
        if (i % 3 == 0)
            sleep_ms(i % 4);
        if (pops ? weft_pop(out, &item) != WEFT_OK : !weft_take(out, &item))
            continue;
        seen[atoi(item.data)]++;
        count++;
        if (pops)
            weft_item_free(&item);
        else
            while (item.data && weft_done(out, &item) == WEFT_DEADLINE_EXCEEDED)
                ;
    }
    GIVES(OK, weft_queue_close(in));
    for (int i = 0; i < 5000 && count < 400; i++) {
        if (pops ? weft_pop(out, &item) != WEFT_OK : !weft_take(out, &item))
            continue;
        seen[atoi(item.data)]++;
        count++;
        if (pops)
            weft_item_free(&item);
        else
            weft_done(out, &item);
    }
    for (int i = 0; i < 400; i++)
        CLAIM(seen[i] == 1);
}

// ---- What an item is -------------------------------------------------------------------------------

static void popped_items_count_once_each(void)
{
    weft_queue *queue = weft_queue_open(consumers[0], "/one/0/popped", NULL);
    weft_var *sum = weft_var_open(consumers[0], "/one/0/popped_sum");
    weft_item item;
    int64_t now = 0;
    push_numbers(queue, 10);
    for (int i = 0; i < 10; i++) {
        GIVES(OK, weft_pop(queue, &item));
        GIVES(OK, weft_var_add(sum, 1, &item, &now));
        GIVES(OK, weft_var_add(sum, 1, &item, &now));
        weft_item_free(&item);
    }
    CLAIM(now == 10);
}

// What was started goes out, though the program then does something else.
static void what_was_started_goes_out(void)
{
    weft_queue *in = weft_queue_open(consumers[0], "/one/0/started", NULL);
    weft_queue *look = weft_queue_open(consumers[1], "/one/0/started", NULL);
    weft_queue_state state = {0};
    weft_call *calls[3];
    for (int i = 0; i < 3; i++)
        calls[i] = weft_push_start(in, weft_text("x"), weft_none());
    for (int i = 0; i < 100 && state.size < 3; i++) {
        sleep_ms(10);
        GIVES(OK, weft_queue_look(look, &state));
    }
    CLAIM(state.size == 3);
    for (int i = 0; i < 3; i++)
        GIVES(OK, weft_call_wait(calls[i], 0));
}

// What lies at a quick consumer ahead of its time is in the queue for whoever looks, and in its order.
static void what_lies_ahead_is_in_the_queue(void)
{
    weft_queue *queue = weft_queue_open(consumers[0], "/one/0/whole", NULL);
    weft_queue_state state;
    weft_item items[200];
    uint32_t count = 0;
    push_numbers(queue, 400);
    be_quick(queue, 200);
    GIVES(OK, weft_queue_look(queue, &state));
    CLAIM(state.size == 200 && state.leased_count == 0);
    be_quick(queue, 50);
    GIVES(OK, weft_queue_close(queue));
    GIVES(OK, weft_pop_many(queue, items, 200, true, &count));
    CLAIM(count == 150);
    for (uint32_t i = 0; i < count; i++) {
        CLAIM(atoi(items[i].data) == 250 + (int)i);
        weft_item_free(&items[i]);
    }
}

struct producer {
    weft_queue *queue;
    atomic_int pushed;
};

static void *produce(void *owner)
{
    struct producer *producer = owner;
    for (; producer->pushed < 1000; producer->pushed++)
        GIVES(OK, weft_push(producer->queue, weft_text("x"), weft_none()));
    return NULL;
}

// A queue of little room: its producer is never further ahead than that.
static void room_is_what_was_said(void)
{
    const weft_queue_options little = {.capacity = 2};
    struct producer producer = {.queue = weft_queue_open(consumers[1], "/one/0/little", &little)};
    weft_queue *queue = weft_queue_open(consumers[0], "/one/0/little", &little);
    pthread_t thread;
    weft_item item;
    pthread_create(&thread, NULL, produce, &producer);
    for (int i = 1; i <= 1000; i++) {
        GIVES(OK, weft_pop(queue, &item));
        weft_item_free(&item);
        CLAIM(producer.pushed <= i + 3);  // what is stored, and one that was just answered
    }
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    const char *mode = argc == 6 ? argv[1] : "";
    if (argc != 6)
        return 2;
    ports = argv + 2;
    join_all();
    if (!strcmp(mode, "own"))
        element_stays_with_its_holder(host, "/one/0/own");
    else if (!strcmp(mode, "other"))
        element_stays_with_its_holder(consumers[0], "/one/0/other");
    else if (!strcmp(mode, "last"))
        last_delivery_is_not_lost();
    else if (!strcmp(mode, "pops"))
        CLAIM(count_with_one_slow("/one/0/pops", true, 305) == 305);
    else if (!strcmp(mode, "takes"))
        CLAIM(count_with_one_slow("/one/0/takes", false, 305) == 305);
    else if (!strcmp(mode, "idle"))
        nobody_is_idle();
    else if (!strcmp(mode, "deadlines"))
        deadlines_lose_nothing(false), deadlines_lose_nothing(true);
    else if (!strcmp(mode, "popped"))
        popped_items_count_once_each();
    else if (!strcmp(mode, "whole"))
        what_lies_ahead_is_in_the_queue();
    else if (!strcmp(mode, "room"))
        room_is_what_was_said();
    else if (!strcmp(mode, "started"))
        what_was_started_goes_out();
    else
        return 2;
    if (!strcmp(mode, "deadlines"))
        _exit(failed_count > 0);  // that calls were late is no failure to be told by weft_leave
    leave_all();
    return failed_count > 0;
}
