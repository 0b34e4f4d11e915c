// Consumers whose elements end among the dead letters: those that fail them, and those that are late.
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <weft/weft.h>

// Counts each element once, and fails it if told so.
static void count(weft_cluster *cluster, bool fails)
{
    weft_queue *jobs = weft_queue_open(cluster, "jobs", &(weft_queue_options){.deliveries_max = 1});
    weft_var *sum = weft_var_open(cluster, "sum");
    weft_item item;
    while (weft_take(jobs, &item)) {
        weft_var_add(sum, 1, &item, NULL);
        if (fails)
            weft_item_fail(&item);
        weft_done(jobs, &item);
    }
}

// Until nothing is leased any more: a minute, for slow machines.
static void wait_for_the_end_of_leases(weft_queue *queue)
{
    weft_queue_state state = {.leased_count = 1};
    for (int i = 0; i < 6000 && state.leased_count; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        weft_queue_look(queue, &state);
    }
}

// Takes the first of a queue and comes too late with its end.
static void be_late(weft_cluster *cluster, bool starts)
{
    weft_queue *late = weft_queue_open(cluster, "late", &(weft_queue_options){.lease_ms = 50});
    weft_item item;
    if (!weft_take(late, &item))
        return;
    wait_for_the_end_of_leases(late);
    fprintf(stderr, "delivery %u\n", item.delivery);
    const weft_err err =
        starts ? weft_call_wait(weft_done_start(late, &item), 0) : weft_done(late, &item);
    fprintf(stderr, "%s\n", weft_err_name(err));
}

// What is popped is done with.
static void pop(weft_cluster *cluster)
{
    weft_queue *popped = weft_queue_open(cluster, "popped", NULL);
    weft_item item;
    if (!weft_pop(popped, &item))
        fprintf(stderr, "%s\n", weft_err_name(weft_done(popped, &item)));
}

int main(int count_of_words, char **words)
{
    const char *mode = count_of_words > 1 ? words[1] : "";
    weft_cluster *cluster = weft_connect(NULL);
    if (strcmp(mode, "pop") == 0)
        pop(cluster);
    else if (strncmp(mode, "late", 4) == 0)
        be_late(cluster, strcmp(mode, "late_start") == 0);
    else
        count(cluster, strcmp(mode, "fail") == 0);
    return weft_leave(cluster);
}
