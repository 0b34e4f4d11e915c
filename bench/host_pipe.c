// host_pipe WINDOW COUNT: one producer, two consumers, elements of 100 bytes, in three processes that
// `weft cluster run --role host=1 --role produce=1 --role consume=2` starts. With "here" behind, the queue
// is in the producer's process. The consumers' rate is printed by the one that ends last.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/weft.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void produce(weft_queue *queue, weft_var *rate, size_t window, size_t count)
{
    static const char element[100] = "an element of a hundred bytes";
    weft_call **calls = calloc(window, sizeof *calls);
    const double start = now();
    for (size_t i = 0; calls && i < count + window; i++) {
        if (calls[i % window])
            weft_call_wait(calls[i % window], 0);
        calls[i % window] =
            i < count ? weft_push_start(queue, (weft_bytes){element, sizeof element}, weft_none())
                      : NULL;
    }
    weft_queue_close(queue);
    weft_queue_state state = {.size = 1};
    while (weft_queue_look(queue, &state) == WEFT_OK && state.size + state.leased_count > 0)
        nanosleep(&(struct timespec){0, 200000}, NULL);
    weft_var_set(rate, (int64_t)((double)count / (now() - start)));
    free(calls);
}

int main(int argc, char **argv)
{
    weft_cluster *cluster = weft_join(NULL);
    const char *path = argc > 3 ? "/produce/0/queue" : "/host/0/queue";
    weft_queue *queue = weft_queue_open(cluster, path, NULL);
    weft_var *rate = weft_var_open(cluster, "/host/0/rate");
    if (argc > 2 && weft_is(cluster, "produce"))
        produce(queue, rate, (size_t)atol(argv[1]), (size_t)atol(argv[2]));
    for (weft_item item; weft_is(cluster, "consume") && weft_pop(queue, &item) == WEFT_OK;)
        weft_item_free(&item);
    int64_t last = 0;
    if (weft_is(cluster, "host")) {
        for (int64_t value; weft_watch(rate, &value);)
            last = value;
        printf("%" PRId64 "\n", last);
    }
    return weft_leave(cluster);
}
