// cluster_api MODE: what <weft/cluster.h> promises, one mode after the other; see 95-cluster-api.sh.
// Says on stderr what is not so, and exits with 1 then.

#include "cluster_api.h"

static weft_cluster *cluster;

#include "cluster_api_kv.inc.h"

// ---- Queues ------------------------------------------------------------------------------------------------

static void texts_go_through_a_queue(void)
{
    weft_queue *queue = weft_queue_open(cluster, "/one/0/texts", NULL);
    const weft_bytes three[] = {weft_text("b"), weft_text("c"), weft_text("d")};
    weft_item item, items[4];
    weft_queue_state state;
    uint32_t count;
    weft_tensor component;
    GIVES(OK, weft_push(queue, weft_text("a"), weft_text("key")));
    GIVES(OK, weft_push(queue, weft_text("again"), weft_text("key")));
    GIVES(OK, weft_push_many(queue, three, 3));
    GIVES(OK, weft_queue_peek(queue, items, 2, &count));
    CLAIM(count == 2 && item_is(&items[0], "a") && item_is(&items[1], "b") && !items[0].delivery);
    for (uint32_t i = 0; i < count; i++)
        weft_item_free(&items[i]);
    GIVES(OK, weft_pop_many(queue, items, 2, false, &count));
    CLAIM(count == 2 && item_is(&items[0], "a") && item_is(&items[1], "b"));
    for (uint32_t i = 0; i < count; i++)
        weft_item_free(&items[i]);
    CLAIM(weft_take(queue, &item) && item_is(&item, "c") && item.delivery == 1);
    CLAIM(weft_item_components(&item, &component, 1) == 1 && component.dtype == WEFT_DTYPE_BYTES &&
          component.rank == 0 && component.size == 1);
    GIVES(OK, weft_extend(queue, &item, 60000));
    GIVES(OK, weft_give_back(queue, &item, 0));
    CLAIM(weft_take(queue, &item) && item_is(&item, "c") && item.delivery == 2);
    GIVES(OK, weft_done(queue, &item));
    CLAIM(!weft_pop(queue, &item) && item_is(&item, "d"));
    weft_item_free(&item);
    GIVES(OK, weft_queue_look(queue, &state));
    CLAIM(state.size == 0 && state.pushed_count == 4 && !state.is_closed);
    GIVES(OK, weft_queue_close(queue));
    GIVES(CANCELLED, weft_queue_close(queue));
    CLAIM(!weft_take(queue, &item));
    GIVES(OUT_OF_RANGE, weft_queue_error(queue));
    GIVES(OK, weft_queue_remove(queue));
    weft_queue_free(queue);
}

static void what_fails_too_often_is_dead(void)
{
    weft_queue *queue =
        weft_queue_open(cluster, "/one/0/fails", &(weft_queue_options){.deliveries_max = 2});
    weft_queue *dead = weft_queue_open(cluster, "/one/0/fails.dead", NULL);
    weft_var *total = weft_var_open(cluster, "/one/0/fails_total");
    weft_item item;
    int64_t now = 0;
    GIVES(OK, weft_push(queue, weft_text("bad"), weft_none()));
    CLAIM(weft_take(queue, &item) && item.delivery == 1);
    weft_item_fail(&item);
    GIVES(ABORTED, weft_var_add(total, 5, &item, &now));
    GIVES(ABORTED, weft_call_wait(weft_done_start(queue, &item), 0));
    CLAIM(!item.data);
    CLAIM(weft_take(queue, &item) && item.delivery == 2);
    GIVES(OK, weft_var_add(total, 5, &item, &now));
    GIVES(OK, weft_var_add(total, 5, &item, &now));
    CLAIM(now == 5);
    GIVES(OK, weft_give_back(queue, &item, 0));
    GIVES(OK, weft_pop(dead, &item));
    CLAIM(item_is(&item, "bad"));
    weft_item_free(&item);  // the handles are freed by weft_leave
}

// What was asked for ahead and never handed out has not used up its delivery.
static void only_what_was_handed_out_was_delivered(void)
{
    enum { COUNT = 100 };
    const weft_queue_options once = {.deliveries_max = 1};
    weft_queue *queue = weft_queue_open(cluster, "/one/0/once", &once);
    weft_item item;
    int taken = 0;
    for (int i = 0; i < COUNT; i++)
        GIVES(OK, weft_push(queue, weft_text("x"), weft_none()));
    for (; taken < COUNT / 2 && weft_take(queue, &item); taken++)
        GIVES(OK, weft_done(queue, &item));
    weft_queue_free(queue);
    queue = weft_queue_open(cluster, "/one/0/once", &once);
    GIVES(OK, weft_queue_close(queue));
    for (; weft_take(queue, &item); taken++)
        GIVES(OK, weft_done(queue, &item));
    CLAIM(taken == COUNT);
    weft_queue_free(queue);
}

static void tuples_go_through_a_queue(void)
{
    const int64_t two = 2, any = -1;
    const weft_tensor types[] = {{.dtype = WEFT_DTYPE_INT64},
                                 {.dtype = WEFT_DTYPE_FLOAT, .rank = 1, .dims = &two},
                                 {.dtype = WEFT_DTYPE_BYTES}};
    weft_queue *queue = weft_queue_open(cluster, "/one/0/tuples",
                                        &(weft_queue_options){.types = types, .type_count = 3});
    const int64_t number = 42;
    const float pair[] = {1.5f, -2};
    const weft_tensor good[] = {{WEFT_DTYPE_INT64, 0, NULL, &number, sizeof number},
                                {WEFT_DTYPE_FLOAT, 1, &two, pair, sizeof pair},
                                {WEFT_DTYPE_BYTES, 0, NULL, "text", 4}};
    weft_tensor got[4];
    weft_item item, items[2];
    uint32_t count;
    for (int i = 0; i < 3; i++)
        GIVES(OK, weft_push_tuple(queue, good, 3, weft_none()));
    CLAIM(weft_take(queue, &item) && weft_item_components(&item, got, 4) == 3);
    CLAIM(got[0].dtype == WEFT_DTYPE_INT64 && got[0].rank == 0 &&
          *(const int64_t *)got[0].data == 42);
    CLAIM(got[1].rank == 1 && got[1].dims[0] == 2 && ((const float *)got[1].data)[1] == -2);
    CLAIM(got[2].size == 4 && strcmp(got[2].data, "text") == 0);
    GIVES(OK, weft_done(queue, &item));
    GIVES(OK, weft_pop_many(queue, items, 2, false, &count));
    CLAIM(count == 2 && weft_item_components(&items[1], got, 1) == 3 && got[0].size == 8);
    weft_item_free(&items[0]);
    weft_item_free(&items[1]);
    weft_queue_free(queue);
    const weft_tensor open_shape = {.dtype = WEFT_DTYPE_INT64, .rank = 1, .dims = &any};
    queue = weft_queue_open(cluster, "/one/0/shapes",
                            &(weft_queue_options){.types = &open_shape, .type_count = 1});
    const weft_tensor vector = {WEFT_DTYPE_INT64, 1, &(int64_t){1}, &number, sizeof number};
    GIVES(OK, weft_push_tuple(queue, &vector, 1, weft_text("once")));
    GIVES(OK, weft_push_tuple(queue, &vector, 1, weft_text("once")));
    GIVES(OK, weft_pop(queue, &item));
    CLAIM(weft_item_components(&item, got, 4) == 1 && got[0].dims[0] == 1);
    weft_item_free(&item);
    weft_queue_free(queue);
}

static void many_calls_are_under_way(void)
{
    enum { COUNT = 3000 };
    static weft_call *calls[COUNT];
    weft_queue *queue = weft_queue_open(cluster, "/one/0/async", NULL);
    weft_item item;
    char text[16];
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "%d", i);
        calls[i] = weft_push_start(queue, weft_text(text), weft_none());
    }
    for (int i = 0; i < COUNT; i++)
        GIVES(OK, weft_call_wait(calls[i], 0));
    for (int i = 0; i < COUNT; i++)
        calls[i] = weft_take_start(queue);
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "%d", i);
        GIVES(OK, weft_call_item(calls[i], 0, &item));
        CLAIM(item_is(&item, text));
        calls[i] = weft_done_start(queue, &item);
    }
    for (int i = 0; i < COUNT; i++)
        GIVES(OK, weft_call_wait(calls[i], 0));
    weft_call *late = weft_take_start(queue);
    CLAIM(!weft_call_is_done(late));
    GIVES(DEADLINE_EXCEEDED, weft_call_item(late, 30, &item));
    GIVES(OK, weft_push(queue, weft_text("kept"), weft_none()));
    GIVES(OK, weft_call_wait(weft_take_start(queue), 0));  // goes back
    CLAIM(weft_take(queue, &item) && item_is(&item, "kept") && item.delivery == 1);
    GIVES(OK, weft_done(queue, &item));
    weft_queue_free(queue);
}

// ---- Variables -----------------------------------------------------------------------------------------------

static void integers_are_shared(void)
{
    weft_var *var = weft_var_open(cluster, "/one/0/int");
    int64_t value = 7;
    GIVES(OK, weft_var_get(var, &value));
    CLAIM(value == 0);
    GIVES(OK, weft_var_set(var, INT64_MAX - 1));
    GIVES(OK, weft_var_add(var, 1, NULL, &value));
    CLAIM(value == INT64_MAX);
    GIVES(OK, weft_var_swap(var, INT64_MAX, 10, &value));
    CLAIM(value == 10);
    GIVES(FAILED_PRECONDITION, weft_var_swap(var, 11, 12, &value));
    CLAIM(value == 10);
    GIVES(OK, weft_var_min(var, 4, &value));
    CLAIM(value == 4);
    GIVES(OK, weft_var_max(var, 9, NULL));
    CLAIM(weft_var_next(var, &value) && value == 9);
    GIVES(OK, weft_call_wait(weft_var_add_start(var, 1, NULL), 0));
    CLAIM(weft_var_next(var, &value) && value == 10);
    weft_var_set_timeout(var, 30);
    CLAIM(!weft_var_next(var, &value));
    GIVES(DEADLINE_EXCEEDED, weft_var_error(var));
    weft_var_free(var);
}

static void variables_have_types(void)
{
    const double ten = 10, quarter = 0.25;
    double real = 0;
    size_t got;
    weft_var *var = weft_var_open_as(
        cluster, "/one/0/double",
        &(weft_var_options){.type = {WEFT_DTYPE_DOUBLE, 0, NULL, &ten, sizeof ten}});
    GIVES(OK, weft_var_read(var, &real, sizeof real, &got));
    CLAIM(real == 10 && got == sizeof real);
    GIVES(OK, weft_var_accumulate(var, WEFT_VAR_ADD, &quarter, 8, NULL, &real));
    CLAIM(real == 10.25);
    GIVES(OK, weft_var_accumulate(var, WEFT_VAR_MIN, &quarter, 8, NULL, &real));
    GIVES(OK, weft_var_accumulate(var, WEFT_VAR_MAX, &ten, 8, NULL, NULL));
    CLAIM(real == 0.25 && weft_var_read_next(var, &real, sizeof real, NULL) && real == 10);
    weft_var_free(var);
}

static void arrays_are_combined_element_by_element(void)
{
    const int64_t dims[] = {2, 2};
    size_t got;
    weft_var *var;
    float ones[] = {1, 2, 3, 4}, sums[4];
    var = weft_var_open_as(
        cluster, "/one/0/matrix",
        &(weft_var_options){.type = {.dtype = WEFT_DTYPE_FLOAT, .rank = 2, .dims = dims}});
    GIVES(OK, weft_var_accumulate(var, WEFT_VAR_ADD, ones, sizeof ones, NULL, sums));
    GIVES(OK, weft_var_accumulate(var, WEFT_VAR_ADD, ones, sizeof ones, NULL, sums));
    CLAIM(sums[0] == 2 && sums[3] == 8);
    GIVES(INVALID_ARGUMENT, weft_var_read(var, sums, 4, &got));
    CLAIM(got == sizeof sums);
    weft_var_free(var);

    const bool yes = true;
    bool flag = true;
    var = weft_var_open_as(cluster, "/one/0/bool",
                           &(weft_var_options){.type = {.dtype = WEFT_DTYPE_BOOL}});
    GIVES(OK, weft_var_read(var, &flag, sizeof flag, NULL));
    CLAIM(!flag);
    GIVES(OK, weft_var_write(var, &yes, sizeof yes));
    CLAIM(weft_var_read_next(var, &flag, sizeof flag, NULL) && flag);
    weft_var_free(var);
}

static void variables_may_have_no_value_and_any_bytes(void)
{
    char text[16] = "";
    size_t got = 0;
    weft_var *var = weft_var_open_as(
        cluster, "/one/0/bytes",
        &(weft_var_options){.type = {.dtype = WEFT_DTYPE_BYTES}, .is_unset = true});
    weft_var_set_timeout(var, 30);
    CLAIM(!weft_var_read_next(var, text, sizeof text, &got));
    GIVES(DEADLINE_EXCEEDED, weft_var_error(var));
    weft_var_set_timeout(var, 0);
    GIVES(OK, weft_var_write(var, "leader", 6));
    GIVES(OK, weft_var_compare_write(var, weft_text("leader"), weft_text("follower")));
    GIVES(FAILED_PRECONDITION, weft_var_compare_write(var, weft_text("leader"), weft_text("x")));
    CLAIM(weft_var_read_next(var, text, sizeof text, &got));
    CLAIM(is_text((weft_bytes){text, got}, "follower"));
    GIVES(OK, weft_var_write(var, NULL, 0));
    GIVES(OK, weft_var_read(var, text, sizeof text, &got));
    CLAIM(got == 0);
    weft_var_free(var);
    const int32_t seven = 7;
    int32_t small = 0;
    var = weft_var_open_as(cluster, "/one/0/small",
                           &(weft_var_options){.type = {WEFT_DTYPE_INT32, 0, NULL, &seven, 4}});
    GIVES(OK, weft_var_accumulate(var, WEFT_VAR_ADD, &seven, 4, NULL, &small));
    CLAIM(small == 14);
    weft_var_free(var);
}

// ---- Barriers and threads ----------------------------------------------------------------------------------------

enum { THREADS_MAX = 64 };
static weft_barrier *barrier;
static weft_var *counter;
static weft_queue *work;
static long adds_each;

static void run_threads(int count, void *(*run)(void *))
{
    pthread_t threads[THREADS_MAX];
    for (int i = 0; i < count; i++)
        CLAIM(pthread_create(&threads[i], NULL, run, NULL) == 0);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void *meet_twice(void *unused)
{
    (void)unused;
    for (uint64_t i = 1; i <= 2; i++) {
        uint64_t generation = 0;
        if (weft_barrier_wait(barrier, 0, &generation) || generation != i)
            fprintf(stderr, "generation %d, not %d: %s\n", (int)generation, (int)i, weft_error());
    }
    return NULL;
}

static void threads_meet_at_a_barrier(void)
{
    barrier = weft_barrier_open(cluster, "/one/0/barrier", 4);
    run_threads(4, meet_twice);
    GIVES(DEADLINE_EXCEEDED, weft_barrier_wait(barrier, 30, NULL));
    weft_barrier_free(barrier);
    barrier = weft_barrier_open(cluster, "/one/0/barrier", 0);
    GIVES(DEADLINE_EXCEEDED, weft_barrier_wait(barrier, 30, NULL));
    weft_barrier_free(barrier);
}

static void *add_one_by_one(void *unused)
{
    (void)unused;
    for (long i = 0; i < adds_each; i++)
        if (weft_var_add(counter, 1, NULL, NULL))
            fprintf(stderr, "add: %s\n", weft_error());
    return NULL;
}

static void *add_many_at_once(void *unused)
{
    enum { UNDER_WAY = 256 };
    weft_call *calls[UNDER_WAY] = {0};
    (void)unused;
    for (long i = 0; i < adds_each + UNDER_WAY; i++) {
        weft_call **call = &calls[i % UNDER_WAY];
        if (*call && weft_call_wait(*call, 0))
            fprintf(stderr, "add: %s\n", weft_error());
        *call = i < adds_each ? weft_var_add_start(counter, 1, NULL) : NULL;
    }
    return NULL;
}

static void *take_and_add(void *unused)
{
    (void)unused;
    for (weft_item item; weft_take(work, &item); weft_done(work, &item))
        weft_var_add(counter, atoi(item.data), &item, NULL);
    return NULL;
}

static void adds_are_exact(int threads, long each, void *(*run)(void *))
{
    int64_t total = 0;
    adds_each = each;
    counter = weft_var_open(cluster, "/one/0/counter");
    GIVES(OK, weft_var_set(counter, 0));
    run_threads(threads, run);
    GIVES(OK, weft_var_get(counter, &total));
    CLAIM(total == threads * each);
    weft_var_free(counter);
}

static void threads_share_handles(void)
{
    enum { COUNT = 2000 };
    char text[16];
    int64_t total = 0;
    work = weft_queue_open(cluster, "/one/0/work", NULL);
    counter = weft_var_open(cluster, "/one/0/work_total");
    for (int i = 1; i <= COUNT; i++) {
        snprintf(text, sizeof text, "%d", i);
        GIVES(OK, weft_push(work, weft_text(text), weft_none()));
    }
    GIVES(OK, weft_queue_close(work));
    run_threads(8, take_and_add);
    GIVES(OK, weft_var_get(counter, &total));
    CLAIM(total == COUNT * (COUNT + 1) / 2);
    weft_var_free(counter);
    weft_queue_free(work);
}

// ---- What goes wrong -----------------------------------------------------------------------------------------------

static void what_does_not_fit_is_refused(void)
{
    const int64_t number = 1;
    const weft_tensor type = {WEFT_DTYPE_INT64, 0, NULL, &number, sizeof number};
    const weft_tensor other = {WEFT_DTYPE_DOUBLE, 0, NULL, &number, sizeof number};
    const weft_queue_options of_ints = {.types = &type, .type_count = 1};
    const weft_queue_options of_doubles = {.types = &other, .type_count = 1};
    const weft_var_options as_double = {.type = {.dtype = WEFT_DTYPE_DOUBLE}};
    const weft_var_options as_int8 = {.type = {.dtype = WEFT_DTYPE_INT8}};
    const weft_var_options of_no_rank = {.type = {.dtype = WEFT_DTYPE_INT64, .rank = -1}};
    weft_queue *typed = weft_queue_open(cluster, "/one/0/typed", &of_ints);
    weft_queue *texts = weft_queue_open(cluster, "/one/0/untyped", NULL);
    weft_var *var = weft_var_open_as(cluster, "/one/0/d", &as_double);
    weft_var *full = weft_var_open(cluster, "/one/0/full");
    GIVES(INVALID_ARGUMENT, weft_push(typed, weft_text("text"), weft_none()));
    GIVES(INVALID_ARGUMENT, weft_push_tuple(typed, &other, 1, weft_none()));
    GIVES(INVALID_ARGUMENT, weft_push_tuple(typed, NULL, 0, weft_none()));
    GIVES(INVALID_ARGUMENT, weft_push_tuple(texts, &type, 1, weft_none()));
    CLAIM(!weft_queue_open(cluster, "/one/0/typed", &of_doubles));
    GIVES(INVALID_ARGUMENT, weft_var_add(var, 1, NULL, NULL));
    CLAIM(!weft_var_add_start(var, 1, NULL));
    GIVES(INVALID_ARGUMENT, weft_var_write(var, "x", 1));
    CLAIM(!weft_var_open(cluster, "/one/0/d") && strstr(weft_error(), "is double, not int64"));
    CLAIM(!weft_var_open_as(cluster, "/one/0/i", &of_no_rank));
    CLAIM(!weft_var_open_as(cluster, "/one/0/i8", &as_int8));
    GIVES(OK, weft_var_set(full, INT64_MAX));
    GIVES(FAILED_PRECONDITION, weft_var_add(full, 1, NULL, NULL));
    CLAIM(!weft_queue_open(cluster, "/nobody/0/q", NULL) && !weft_kv_open(cluster, "kv"));
    weft_var_free(full);
    weft_var_free(var);
    weft_queue_free(texts);
    weft_queue_free(typed);
}

static void calls_have_deadlines(void)
{
    weft_item item;
    weft_queue *queue =
        weft_queue_open(cluster, "/one/0/late",
                        &(weft_queue_options){.capacity = 1, .timeout_ms = 30, .lease_ms = 50});
    CLAIM(!weft_take(queue, &item) && weft_queue_error(queue) == WEFT_DEADLINE_EXCEEDED);
    GIVES(DEADLINE_EXCEEDED, weft_pop(queue, &item));
    GIVES(OK, weft_push(queue, weft_text("a"), weft_none()));
    GIVES(DEADLINE_EXCEEDED, weft_push(queue, weft_text("b"), weft_none()));
    weft_queue_free(queue);
}

// Nobody is at this address, and nobody is waited for longer than was said.
static void who_is_not_there_is_not_waited_for(void)
{
    weft_var *var = weft_var_open(cluster, "/gone/0/v");
    weft_kv *kv = weft_kv_open(cluster, "/gone/0/kv");
    weft_barrier *far = weft_barrier_open(cluster, "/gone/0/b", 1);
    weft_kv_entry entry;
    weft_var_set_timeout(var, 50);
    weft_kv_set_timeout(kv, 50);
    GIVES(DEADLINE_EXCEEDED, weft_var_set(var, 1));
    GIVES(DEADLINE_EXCEEDED, weft_kv_get(kv, weft_text("k"), &entry));
    GIVES(DEADLINE_EXCEEDED, weft_barrier_wait(far, 50, NULL));
    weft_barrier_free(far);
    weft_kv_free(kv);
    weft_var_free(var);
}

// Speaks with 95-cluster-api.sh: a line on standard input when the host has come again.
static void a_host_that_forgets_is_named(void)
{
    weft_var *var = weft_var_open(cluster, "/one/0/total");
    weft_queue *queue = weft_queue_open(cluster, "/one/0/queue", NULL);
    int64_t now = 0;
    GIVES(OK, weft_var_add(var, 5, NULL, &now));
    GIVES(OK, weft_push(queue, weft_text("lost"), weft_none()));
    puts("added");
    fflush(stdout);
    CLAIM(getchar() != EOF);
    GIVES(ABORTED, weft_var_add(var, 1, NULL, &now));
    CLAIM(strstr(weft_error(), "/one/0"));
    GIVES(ABORTED, weft_push(queue, weft_text("x"), weft_none()));
    weft_var_free(var);
    weft_queue_free(queue);
    var = weft_var_open(cluster, "/one/0/total");
    GIVES(OK, weft_var_add(var, 1, NULL, &now));
    CLAIM(now == 1);
    weft_var_free(var);
}

// Somebody has to be there who could change what is watched.
static void meet_the_other(void)
{
    weft_barrier *finish = weft_barrier_open(cluster, "/one/0/finish", 2);
    GIVES(OK, weft_barrier_wait(finish, 0, NULL));
}

static void everything_good(void)
{
    CLAIM(weft_member_is(cluster, "one") && weft_member_index(cluster) == 0 &&
          !strcmp(weft_member_role(cluster), "one"));
    CLAIM(weft_member_count(cluster, "one") == 1 && weft_member_count(cluster, "none") == 0);
    texts_go_through_a_queue();
    what_fails_too_often_is_dead();
    only_what_was_handed_out_was_delivered();
    tuples_go_through_a_queue();
    many_calls_are_under_way();
    integers_are_shared();
    variables_have_types();
    arrays_are_combined_element_by_element();
    variables_may_have_no_value_and_any_bytes();
    keys_are_shared();
    threads_meet_at_a_barrier();
    threads_share_handles();
    meet_the_other();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    const long each = argc > 2 ? atol(argv[2]) : 0;
    bool must_fail = false;
    cluster = weft_join(NULL);
    if (strcmp(mode, "good") == 0) {
        everything_good();
    } else if (strcmp(mode, "other") == 0) {
        meet_the_other();
    } else if (strcmp(mode, "bad") == 0) {
        what_does_not_fit_is_refused();
        must_fail = true;
    } else if (strcmp(mode, "late") == 0) {
        calls_have_deadlines();
    } else if (strcmp(mode, "absent") == 0) {
        who_is_not_there_is_not_waited_for();
    } else if (strcmp(mode, "threads") == 0) {
        adds_are_exact(8, each, add_one_by_one);
    } else if (strcmp(mode, "writers") == 0) {
        adds_are_exact(64, each, add_many_at_once);
    } else if (strcmp(mode, "forgets") == 0) {
        a_host_that_forgets_is_named();
        must_fail = true;
    } else if (strcmp(mode, "host") == 0) {
        CLAIM(weft_var_open(cluster, "/one/0/total"));  // who hosts nothing does not stay
    }
    if (each && !weft_member_is(cluster, "one"))
        meet_the_other();
    const int code = weft_leave(cluster);
    CLAIM(must_fail ? code != 0 : code == 0);
    return failed_count != 0;
}
