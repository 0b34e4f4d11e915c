// So many waits that end at their deadline: short_waits COUNT. The host must not keep what nobody waits for.
// `short_waits stay` is another member, who could change what is watched, until they are done.

#include "cluster_api.h"

enum { THREADS = 64 };

static weft_cluster *cluster;
static long each;

static void *wait_for_nothing(void *unused)
{
    (void)unused;
    weft_var *var = weft_var_open(cluster, "/one/0/value");
    weft_kv *kv = weft_kv_open(cluster, "/one/0/conf");
    weft_kv_walk *walk = weft_kv_watch(kv, weft_none());
    weft_kv_entry entry;
    int64_t value;
    CLAIM(weft_var_next(var, &value));  // the present one
    weft_var_set_timeout(var, 1);
    weft_kv_set_timeout(kv, 1);
    for (long i = 0; i < each && failed_count == 0; i++) {
        CLAIM(!weft_var_next(var, &value));
        GIVES(DEADLINE_EXCEEDED, weft_var_error(var));
        if (i % 4 == 0) {
            CLAIM(!weft_kv_next(walk, &entry));
            GIVES(DEADLINE_EXCEEDED, weft_kv_walk_error(walk));
        }
    }
    weft_kv_walk_free(walk);
    weft_kv_free(kv);
    weft_var_free(var);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    cluster = weft_join(NULL);
    weft_queue *end = weft_queue_open(cluster, "/one/0/end", NULL);
    if (argc > 1 && strcmp(argv[1], "stay") == 0) {
        for (weft_item item; weft_take(end, &item);)
            weft_done(end, &item);
        return weft_leave(cluster);
    }
    each = (argc > 1 ? atol(argv[1]) : 1000) / THREADS + 1;
    for (int i = 0; i < THREADS; i++)
        CLAIM(pthread_create(&threads[i], NULL, wait_for_nothing, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    weft_queue_close(end);
    return weft_leave(cluster) || failed_count != 0;
}
