// cluster_handles COUNT: opens and frees so many handles, one after the other, in one session; then removes
// a resource of each kind. Says on stderr what is not so, and exits with 1 then.

#include "cluster_api.h"

static weft_cluster *cluster;

static void open_and_free(long count)
{
    weft_var *total = weft_var_open(cluster, "/one/0/total");
    for (long i = 0; i < count && failed_count == 0; i++) {
        weft_kv *kv = weft_kv_open(cluster, i % 2 ? "/one/0/odd" : "/one/0/even");
        CLAIM(kv);
        weft_kv_free(kv);
    }
    int64_t now = 0;
    GIVES(OK, weft_var_add(total, 1, NULL, &now));
    CLAIM(now == 1);
    weft_var_free(total);
}

static void a_variable_is_removed(void)
{
    weft_var *var = weft_var_open(cluster, "/one/0/gone"), *other;
    int64_t value = 0;
    GIVES(OK, weft_var_set(var, 7));
    GIVES(OK, weft_var_remove(var));
    GIVES(NOT_FOUND, weft_var_get(var, &value));
    other = weft_var_open(cluster, "/one/0/gone");
    GIVES(OK, weft_var_get(other, &value));
    CLAIM(value == 0);
    GIVES(NOT_FOUND, weft_var_remove(var));
    weft_var_free(var);
    GIVES(OK, weft_var_get(other, &value));
    weft_var_free(other);
}

static void a_map_is_removed(void)
{
    weft_kv *kv = weft_kv_open(cluster, "/one/0/gone"), *other;
    weft_kv_walk *walk = weft_kv_watch(kv, weft_none());
    weft_kv_entry entry;
    GIVES(OK, weft_kv_put(kv, weft_text("key"), weft_text("value"), NULL, NULL));
    CLAIM(weft_kv_next(walk, &entry) && entry.what == WEFT_KV_PUT);
    GIVES(OK, weft_kv_remove_all(kv));
    CLAIM(!weft_kv_next(walk, &entry));
    GIVES(NOT_FOUND, weft_kv_walk_error(walk));
    weft_kv_walk_free(walk);
    other = weft_kv_open(cluster, "/one/0/gone");
    GIVES(NOT_FOUND, weft_kv_get(other, weft_text("key"), &entry));
    weft_kv_free(other);
    weft_kv_free(kv);
}

static void *wait_at(void *barrier)
{
    const weft_err err = weft_barrier_wait(barrier, 0, NULL);
    CLAIM(err == WEFT_ABORTED || err == WEFT_NOT_FOUND);  // the latter: it came too late to wait
    return NULL;
}

static void a_barrier_is_removed(void)
{
    weft_barrier *three = weft_barrier_open(cluster, "/one/0/gone", 3), *other;
    pthread_t waiter;
    CLAIM(pthread_create(&waiter, NULL, wait_at, three) == 0);
    GIVES(DEADLINE_EXCEEDED, weft_barrier_wait(three, 50, NULL));
    GIVES(OK, weft_barrier_remove(three));
    CLAIM(pthread_join(waiter, NULL) == 0);
    other = weft_barrier_open(cluster, "/one/0/gone", 1);
    GIVES(OK, weft_barrier_wait(other, 0, NULL));
    weft_barrier_free(other);
    weft_barrier_free(three);
}

int main(int argc, char **argv)
{
    cluster = weft_join(NULL);
    open_and_free(argc > 1 ? atol(argv[1]) : 0);
    CLAIM(weft_leave(cluster) == 0);
    cluster = weft_join(NULL);
    a_variable_is_removed();
    a_map_is_removed();
    a_barrier_is_removed();
    weft_leave(cluster);  // tells of calls by handles of what was removed
    return failed_count > 0;
}
