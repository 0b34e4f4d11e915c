// A program that is no member of anything and uses what a host holds: connect MODE [ADDRESS]. Compiled as
// C and as C++.

#include <stdio.h>
#include <weft/weft.h>

static int failed_count;
#define CLAIM(claim)                                                                               \
    ((claim) ? (void)0                                                                             \
             : (void)(failed_count++, fprintf(stderr, "line %d: not so: %s (%s)\n", __LINE__,      \
                                              #claim, weft_error())))

// All four kinds, by name and by path.
static void use_all(weft_cluster *host)
{
    weft_item item, held;
    weft_kv_entry entry;
    int64_t now = 0;
    uint64_t generation = 0;
    weft_queue *queue = weft_queue_open(host, "jobs", NULL);
    weft_queue *same = weft_queue_open(host, "/jobs", NULL);
    weft_var *var = weft_var_open(host, "/total");
    weft_kv *kv = weft_kv_open(host, "conf");
    weft_barrier *barrier = weft_barrier_open(host, "door", 1);
    CLAIM(weft_take_now(queue, &item) == WEFT_CANCELLED);
    CLAIM(weft_push(queue, weft_text("zero"), weft_none()) == WEFT_OK);
    CLAIM(weft_take_now(queue, &held) == WEFT_OK && strcmp(held.data, "zero") == 0);
    CLAIM(weft_take_now(queue, &item) == WEFT_CANCELLED && !item.data);
    CLAIM(weft_done(queue, &held) == WEFT_OK);
    CLAIM(weft_push(queue, weft_text("one"), weft_none()) == WEFT_OK);
    CLAIM(weft_take(same, &item) && strcmp(item.data, "one") == 0);
    CLAIM(weft_var_add(var, 42, &item, &now) == WEFT_OK && now == 42);
    CLAIM(weft_done(same, &item) == WEFT_OK);
    CLAIM(weft_kv_put(kv, weft_text("rate"), weft_text("0.1"), NULL, NULL) == WEFT_OK);
    CLAIM(weft_kv_get(kv, weft_text("rate"), &entry) == WEFT_OK && entry.value.size == 3);
    weft_kv_entry_free(&entry);
    CLAIM(weft_barrier_wait(barrier, 1000, &generation) == WEFT_OK && generation == 1);
    weft_barrier *lonely = weft_barrier_open(host, "gate", 2);
    CLAIM(weft_barrier_wait(lonely, 20, NULL) == WEFT_DEADLINE_EXCEEDED);
    CLAIM(strstr(weft_error(), "could not be done before the deadline") != NULL);  // it did answer
    CLAIM(weft_push(queue, weft_text("left"), weft_none()) == WEFT_OK);
    CLAIM(!weft_member_is(host, "map") && !*weft_member_role(host) &&
          weft_member_count(host, "map") == 0);
}

// Standard output is closed: what is printed must not get into a connection that has its number.
static void print_nowhere(weft_cluster *host)
{
    weft_queue *queue = weft_queue_open(host, "jobs", NULL);
    CLAIM(weft_push(queue, weft_text("before"), weft_none()) == WEFT_OK);
    printf("a line for nobody\n");
    CLAIM(fflush(stdout) != 0);
    CLAIM(weft_push(queue, weft_text("after"), weft_none()) == WEFT_OK);
}

// Elements that were only looked at are known apart, and are the same when they are taken.
static void count_peeked(weft_cluster *host)
{
    weft_item seen, taken;
    uint32_t count = 0;
    int64_t now = 0;
    weft_var *var = weft_var_open(host, "peeked");
    const char *const names[] = {"peek/one", "peek/two"};
    for (int i = 0; i < 2; i++) {
        weft_queue *queue = weft_queue_open(host, names[i], NULL);
        CLAIM(weft_push(queue, weft_text("x"), weft_none()) == WEFT_OK);
        CLAIM(weft_queue_peek(queue, &seen, 1, &count) == WEFT_OK && count == 1);
        CLAIM(weft_var_add(var, 1, &seen, &now) == WEFT_OK && now == i + 1);
        weft_item_free(&seen);
        CLAIM(weft_take(queue, &taken));
        CLAIM(weft_var_add(var, 1, &taken, &now) == WEFT_OK && now == i + 1);
        CLAIM(weft_done(queue, &taken) == WEFT_OK);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    weft_join_options options;
    memset(&options, 0, sizeof options);
    options.at = argc > 2 ? argv[2] : NULL;
    options.token_file = argc > 3 ? argv[3] : NULL;
    options.patience_ms = 500;
    weft_cluster *host =
        strcmp(mode, "join") == 0 ? weft_join(&options) : weft_connect(argc > 2 ? argv[2] : NULL);
    if (strcmp(mode, "use") == 0 || strcmp(mode, "join") == 0) {
        CLAIM(host != NULL);
        use_all(host);
        count_peeked(host);
    } else if (strcmp(mode, "print") == 0) {
        print_nowhere(host);
    } else {  // a short program, which checks nothing
        weft_push(weft_queue_open(host, "jobs", NULL), weft_text("more"), weft_none());
    }
    const int code = weft_leave(host);
    return failed_count ? 99 : code;
}
