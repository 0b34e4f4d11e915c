// Every public call without a handle, an item or a place for its answer: it fails, and nothing else
// happens. 95-cluster-api.sh compares the calls here with the headers.

#include "cluster_api.h"

static void queues_without_a_handle(void)
{
    weft_item item = {0}, items[2];
    weft_queue_state state;
    uint32_t count = 7;
    const weft_bytes text = weft_text("x");
    CLAIM(!weft_queue_open(NULL, "/one/0/q", NULL));
    weft_queue_free(NULL);
    GIVES(FAILED_PRECONDITION, weft_push(NULL, text, weft_none()));
    GIVES(FAILED_PRECONDITION, weft_push_tuple(NULL, NULL, 0, weft_none()));
    GIVES(FAILED_PRECONDITION, weft_push_many(NULL, &text, 1));
    CLAIM(!weft_take(NULL, &item));
    GIVES(FAILED_PRECONDITION, weft_queue_error(NULL));
    CLAIM(weft_item_components(NULL, NULL, 0) == 0);
    CLAIM(weft_item_components(&item, NULL, 0) == 0);
    weft_item_fail(NULL);
    weft_item_free(NULL);
    weft_item_free(&item);
    GIVES(FAILED_PRECONDITION, weft_done(NULL, &item));
    GIVES(FAILED_PRECONDITION, weft_give_back(NULL, &item, 0));
    GIVES(FAILED_PRECONDITION, weft_extend(NULL, &item, 0));
    GIVES(FAILED_PRECONDITION, weft_pop(NULL, &item));
    GIVES(FAILED_PRECONDITION, weft_pop_many(NULL, items, 2, false, &count));
    CLAIM(count == 0);
    GIVES(FAILED_PRECONDITION, weft_queue_peek(NULL, items, 2, &count));
    GIVES(FAILED_PRECONDITION, weft_queue_close(NULL));
    GIVES(FAILED_PRECONDITION, weft_queue_cancel(NULL));
    GIVES(FAILED_PRECONDITION, weft_queue_look(NULL, &state));
    GIVES(FAILED_PRECONDITION, weft_queue_remove(NULL));
    CLAIM(!weft_push_start(NULL, text, text));
    CLAIM(!weft_take_start(NULL));
    CLAIM(!weft_done_start(NULL, NULL));
    CLAIM(!weft_call_is_done(NULL));
    GIVES(FAILED_PRECONDITION, weft_call_wait(NULL, 0));
    GIVES(FAILED_PRECONDITION, weft_call_item(NULL, 0, &item));
}

// What a program gets that hands the NULL of one failed call to the next.
static void queues_without_anything(void)
{
    CLAIM(!weft_queue_open_sized(NULL, NULL, NULL, 0));
    CLAIM(!weft_take(NULL, NULL));
    GIVES(FAILED_PRECONDITION, weft_done(NULL, NULL));
    GIVES(FAILED_PRECONDITION, weft_give_back(NULL, NULL, 0));
    GIVES(FAILED_PRECONDITION, weft_extend(NULL, NULL, 0));
    GIVES(FAILED_PRECONDITION, weft_pop(NULL, NULL));
    GIVES(FAILED_PRECONDITION, weft_pop_many(NULL, NULL, 2, false, NULL));
    GIVES(FAILED_PRECONDITION, weft_push_many(NULL, NULL, 0));
    GIVES(FAILED_PRECONDITION, weft_queue_peek(NULL, NULL, 2, NULL));
    GIVES(FAILED_PRECONDITION, weft_queue_look(NULL, NULL));
    GIVES(FAILED_PRECONDITION, weft_call_item(NULL, 0, NULL));
}

static void variables_without_a_handle(void)
{
    int64_t value = 0;
    size_t got;
    CLAIM(!weft_var_open(NULL, "/one/0/v"));
    CLAIM(!weft_var_open_as(NULL, "/one/0/v", NULL));
    weft_var_free(NULL);
    weft_var_set_timeout(NULL, 1);
    GIVES(FAILED_PRECONDITION, weft_var_remove(NULL));
    GIVES(FAILED_PRECONDITION, weft_var_get(NULL, &value));
    GIVES(FAILED_PRECONDITION, weft_var_set(NULL, 1));
    GIVES(FAILED_PRECONDITION, weft_var_add(NULL, 1, NULL, &value));
    GIVES(FAILED_PRECONDITION, weft_var_swap(NULL, 1, 2, &value));
    GIVES(FAILED_PRECONDITION, weft_var_min(NULL, 1, NULL));
    GIVES(FAILED_PRECONDITION, weft_var_max(NULL, 1, NULL));
    CLAIM(!weft_var_next(NULL, &value));
    GIVES(FAILED_PRECONDITION, weft_var_error(NULL));
    GIVES(FAILED_PRECONDITION, weft_var_read(NULL, &value, sizeof value, &got));
    GIVES(FAILED_PRECONDITION, weft_var_write(NULL, &value, sizeof value));
    GIVES(FAILED_PRECONDITION, weft_var_accumulate(NULL, WEFT_VAR_ADD, &value, 8, NULL, NULL));
    GIVES(FAILED_PRECONDITION, weft_var_compare_write(NULL, weft_none(), weft_none()));
    CLAIM(!weft_var_read_next(NULL, &value, sizeof value, NULL));
    CLAIM(!weft_var_add_start(NULL, 1, NULL));
    CLAIM(!weft_var_open_as_sized(NULL, NULL, NULL, 0));
    GIVES(FAILED_PRECONDITION, weft_var_get(NULL, NULL));
    GIVES(FAILED_PRECONDITION, weft_var_read(NULL, NULL, 0, NULL));
    CLAIM(!weft_var_next(NULL, NULL) && !weft_var_read_next(NULL, NULL, 0, NULL));
}

static void others_without_a_handle(void)
{
    weft_kv_entry entry;
    CLAIM(!weft_member_is(NULL, "one") && !*weft_member_role(NULL) && weft_member_index(NULL) == 0);
    CLAIM(weft_member_count(NULL, "one") == 0);
    CLAIM(!weft_kv_open(NULL, "/one/0/k"));
    weft_kv_free(NULL);
    weft_kv_set_timeout(NULL, 1);
    GIVES(FAILED_PRECONDITION, weft_kv_remove_all(NULL));
    GIVES(FAILED_PRECONDITION, weft_kv_get(NULL, weft_text("k"), &entry));
    weft_kv_entry_free(NULL);
    weft_kv_entry_free(&entry);
    GIVES(FAILED_PRECONDITION, weft_kv_put(NULL, weft_text("k"), weft_none(), NULL, NULL));
    GIVES(FAILED_PRECONDITION, weft_kv_remove(NULL, weft_text("k"), NULL));
    CLAIM(!weft_kv_range(NULL, weft_none(), weft_none()));
    CLAIM(!weft_kv_watch(NULL, weft_none()));
    CLAIM(!weft_kv_next(NULL, &entry));
    GIVES(FAILED_PRECONDITION, weft_kv_walk_error(NULL));
    weft_kv_walk_free(NULL);
    CLAIM(!weft_barrier_open(NULL, "/one/0/b", 1));
    weft_barrier_free(NULL);
    GIVES(FAILED_PRECONDITION, weft_barrier_remove(NULL));
    GIVES(FAILED_PRECONDITION, weft_barrier_wait(NULL, 0, NULL));
    CLAIM(!weft_member_is(NULL, NULL) && weft_member_count(NULL, NULL) == 0);
    CLAIM(!weft_kv_open(NULL, NULL) && !weft_barrier_open(NULL, NULL, 0));
    GIVES(FAILED_PRECONDITION, weft_kv_get(NULL, weft_none(), NULL));
    GIVES(FAILED_PRECONDITION, weft_kv_put_sized(NULL, weft_none(), weft_none(), NULL, 0, NULL));
    GIVES(FAILED_PRECONDITION, weft_kv_remove_sized(NULL, weft_none(), NULL, 0));
    CLAIM(!weft_kv_next(NULL, NULL));
}

static void runs_without_a_handle(void)
{
    CLAIM(!weft_submit(NULL, NULL) && *weft_error());
    CLAIM(!weft_run_is_done(NULL));
    GIVES(FAILED_PRECONDITION, weft_run_wait(NULL, 0));
    GIVES(FAILED_PRECONDITION, weft_take_now(NULL, NULL));
    CLAIM(weft_queue_descriptor(NULL) == -1);
    weft_run_cancel(NULL);
    CLAIM(weft_run_descriptor(NULL) == -1);
    CLAIM(*weft_error());
    CLAIM(weft_run_counter(NULL, "weft.records_in") == 0 && weft_run_counter(NULL, NULL) == 0);
    weft_run_free(NULL);
    CLAIM(!weft_option(NULL, 'n', 0) && !weft_argument(NULL, 0));
}

static bool says(const char *words)
{
    return strstr(weft_error(), words);
}

// The reason of the first failure is what every call without a handle says, also in other threads, however
// many calls fail and are cleaned up after in between.
static void *push_elsewhere(void *unused)
{
    (void)unused;
    GIVES(FAILED_PRECONDITION, weft_push(NULL, weft_text("x"), weft_none()));
    CLAIM(says("does not name this member"));
    return NULL;
}

static void first_reason_stays(void)
{
    pthread_t thread;
    CLAIM(!weft_join_sized(&(weft_join_options){.config = "{}"}, sizeof(weft_join_options)));
    CLAIM(says("does not name this member"));
    CLAIM(!weft_queue_open(NULL, "/one/0/q", NULL) && says("does not name this member"));
    queues_without_a_handle();
    queues_without_anything();
    others_without_a_handle();
    GIVES(FAILED_PRECONDITION, weft_done(NULL, NULL));
    CLAIM(says("does not name this member"));
    CLAIM(pthread_create(&thread, NULL, push_elsewhere, NULL) == 0);
    pthread_join(thread, NULL);
    CLAIM(weft_leave(NULL) == 2);  // as for other wrong words
}

int main(void)
{
    CLAIM(weft_leave(NULL) == 1);
    queues_without_a_handle();
    queues_without_anything();
    variables_without_a_handle();
    others_without_a_handle();
    runs_without_a_handle();
    first_reason_stays();
    return failed_count != 0;
}
