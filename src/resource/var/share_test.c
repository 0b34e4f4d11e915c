// Vars among members: what counts once however often it is asked, who is woken, what survives.
#include "resource/resource_testing.h"
#include "wire/pack.h"
#include "wire/tuple.h"

static uint16_t open_total(struct testing_member *member)
{
    return testing_open(member, CALL_KIND_VAR, "total", weft_none());
}

static uint64_t set(struct testing_member *member, uint16_t var, int64_t value)
{
    return testing_call(member, CALL_VAR_SET, 0, var, PAYLOAD(U64(value)));
}

static uint64_t add_for(struct testing_member *member, uint16_t var, struct call_item item,
                        int64_t amount)
{
    return testing_call(member, CALL_VAR_ADD, CALL_FLAG_ONCE, var,
                        PAYLOAD(ITEM(item.queue, item.id, item.slot, item.delivery), U64(amount)));
}

static uint64_t watch(struct testing_member *member, uint16_t var, uint64_t known)
{
    return testing_call(member, CALL_VAR_WATCH, 0, var, PAYLOAD(U64(known)));
}

static void item_counts_once_whoever_delivers_it(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_total(a), of_b = open_total(b);
    set(a, of_a, 0);
    const struct call_item first = {7, 1, 0, 1}, again = {7, 1, 9, 2}, other = {8, 1, 0, 1};
    testing_expect(a, add_for(a, of_a, first, 5), 0, PAYLOAD(U64(2), U64(5)));
    testing_expect(a, add_for(a, of_a, first, 5), ANSWER_FLAG_SEEN, PAYLOAD(U64(2), U64(5)));
    testing_restart();
    testing_expect(b, add_for(b, of_b, again, 5), ANSWER_FLAG_SEEN, PAYLOAD(U64(2), U64(5)));
    testing_expect(b, add_for(b, of_b, other, 5), 0, PAYLOAD(U64(3), U64(10)));
    testing_restart_from_snapshot();
    testing_expect(a, add_for(a, of_a, other, 5), ANSWER_FLAG_SEEN, PAYLOAD(U64(3), U64(10)));
    testing_expect(a, add_for(a, of_a, (struct call_item){7, 2, 0, 1}, 1), 0,
                   PAYLOAD(U64(4), U64(11)));
}

static uint64_t add_by_key(struct testing_member *member, uint16_t var, const char *key,
                           int64_t amount)
{
    return testing_call(member, CALL_VAR_ADD, CALL_FLAG_KEYED, var,
                        PAYLOAD(TEXT(key), U64(amount)));
}

static void key_counts_once_also_after_a_restart(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_total(a), of_b = open_total(b);
    testing_expect_failure(a, add_by_key(a, of_a, "k", 1), WEFT_FAILED_PRECONDITION, "no value");
    set(a, of_a, INT64_MAX);
    testing_expect_failure(a, add_by_key(a, of_a, "k", 1), WEFT_FAILED_PRECONDITION, "fit");
    set(a, of_a, 0);
    testing_expect(a, add_by_key(a, of_a, "k", 5), 0, PAYLOAD(U64(3), U64(5)));
    testing_expect(b, add_by_key(b, of_b, "k", 5), ANSWER_FLAG_SEEN, PAYLOAD(U64(3), U64(5)));
    testing_restart();
    testing_expect(b, add_by_key(b, of_b, "k", 7), ANSWER_FLAG_SEEN, PAYLOAD(U64(3), U64(5)));
    testing_expect(b, add_by_key(b, of_b, "other", 5), 0, PAYLOAD(U64(4), U64(10)));
    testing_restart_from_snapshot();
    testing_expect(a, add_by_key(a, of_a, "other", 5), ANSWER_FLAG_SEEN, PAYLOAD(U64(4), U64(10)));
    testing_expect_failure(a, add_by_key(a, of_a, "", 5), WEFT_INVALID_ARGUMENT, "key");
}

static void all_changes_can_count_once(void **state)
{
    (void)state;
    static const uint8_t ops[] = {CALL_VAR_SET, CALL_VAR_ADD, CALL_VAR_MIN, CALL_VAR_MAX,
                                  CALL_VAR_SWAP};
    struct testing_member *a = testing_join("/work/0");
    const uint16_t var = open_total(a);
    set(a, var, 4);
    for (size_t i = 0; i < sizeof ops; i++) {
        struct buf payload = {0};
        pack_write_item(&payload, &(struct call_item){7, i + 1, 0, 1});
        if (ops[i] == CALL_VAR_SWAP) {
            const struct answer now =
                testing_answer(a, testing_call(a, CALL_VAR_READ, 0, var, weft_none()));
            pack_write_blob(&payload, (weft_bytes){now.payload.data + 8, 8});
        }
        pack_write_u64(&payload, 100 + i);
        const uint64_t first = testing_call(a, ops[i], CALL_FLAG_ONCE, var, buf_bytes(&payload));
        assert_int_equal(testing_answer(a, first).flags, 0);
        set(a, var, 4);
        const uint64_t second = testing_call(a, ops[i], CALL_FLAG_ONCE, var, buf_bytes(&payload));
        const struct answer seen = testing_answer(a, second);
        assert_int_equal(seen.flags, ANSWER_FLAG_SEEN);
        assert_memory_equal(seen.payload.data + 8, "\4\0\0\0\0\0\0\0", 8);
        buf_fini(&payload);
    }
}

static void what_failed_or_missed_has_not_counted(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t var = open_total(a);
    const struct call_item item = {7, 1, 0, 1};
    testing_expect_failure(a, add_for(a, var, item, 1), WEFT_FAILED_PRECONDITION, "no value");
    set(a, var, INT64_MAX);
    testing_expect_failure(a, add_for(a, var, item, 1), WEFT_FAILED_PRECONDITION, "fit");
    const weft_bytes swap = PAYLOAD(ITEM(7, 1, 0, 1), U32(8), U64(3), U64(4));
    testing_expect(a, testing_call(a, CALL_VAR_SWAP, CALL_FLAG_ONCE, var, swap), ANSWER_FLAG_MISSED,
                   PAYLOAD(U64(1), U64(INT64_MAX)));
    testing_expect(a, add_for(a, var, item, -1), 0, PAYLOAD(U64(2), U64(INT64_MAX - 1)));
    testing_expect(a, add_for(a, var, item, -1), ANSWER_FLAG_SEEN,
                   PAYLOAD(U64(2), U64(INT64_MAX - 1)));
}

static void add_of_nothing_counts_but_wakes_nobody(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_total(a), of_b = open_total(b);
    set(a, of_a, 5);
    const uint64_t waiting = watch(b, of_b, 1);
    testing_expect(a, set(a, of_a, 5), 0, PAYLOAD(U64(1)));
    testing_expect(a, add_for(a, of_a, (struct call_item){7, 1, 0, 1}, 0), 0,
                   PAYLOAD(U64(1), U64(5)));
    testing_expect_waiting(b, waiting);
    testing_expect(a, add_for(a, of_a, (struct call_item){7, 1, 0, 1}, 1), ANSWER_FLAG_SEEN,
                   PAYLOAD(U64(1), U64(5)));
    set(a, of_a, 6);
    testing_expect(b, waiting, 0, PAYLOAD(U64(2), U64(6)));
}

static void watch_waits_for_a_version_beyond_the_known(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_total(a), of_b = open_total(b);
    const uint64_t first = watch(b, of_b, 0), later = watch(b, of_b, 2);
    testing_expect_waiting(b, first);
    set(a, of_a, 10);
    testing_expect(b, first, 0, PAYLOAD(U64(1), U64(10)));
    set(a, of_a, 20);
    testing_expect_waiting(b, later);
    set(a, of_a, 30);
    testing_expect(b, later, 0, PAYLOAD(U64(3), U64(30)));
    testing_expect(b, watch(b, of_b, 2), 0, PAYLOAD(U64(3), U64(30)));
    testing_expect_waiting(b, watch(b, of_b, 3));
}

static void watch_ends_with_what_it_watches(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    struct testing_member *c = testing_join("/work/2");
    const uint16_t of_a = open_total(a), of_b = open_total(b), of_c = open_total(c);
    const uint64_t cancelled = watch(a, of_a, 0), removed = watch(b, of_b, 0);
    watch(c, of_c, 0);
    testing_end(c);
    testing_call(a, CALL_CANCEL, 0, 0, PAYLOAD(U64(cancelled)));
    testing_expect_failure(a, cancelled, WEFT_CANCELLED,
                           "the watch of the variable 'total' has ended");
    testing_expect_waiting(b, removed);
    testing_call(a, CALL_REMOVE, 0, of_a, weft_none());
    testing_expect_failure(b, removed, WEFT_ABORTED, "removed");
}

static void watch_ends_when_nobody_is_left_to_write(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    struct testing_member *tool = testing_join("");
    const uint16_t of_a = open_total(a), of_b = open_total(b), of_tool = open_total(tool);
    const uint64_t waiting = watch(b, of_b, 0), looking = watch(tool, of_tool, 0);
    testing_expect_waiting(b, waiting);
    testing_call(a, CALL_LEAVE, 0, 0, weft_none());
    testing_expect_failure(b, waiting, WEFT_OUT_OF_RANGE, "all members that could write have left");
    testing_expect_failure(tool, looking, WEFT_OUT_OF_RANGE,
                           "all members that could write have left");
    set(b, of_b, 3);
    testing_expect(b, watch(b, of_b, 0), 0, PAYLOAD(U64(1), U64(3)));
    testing_expect_failure(b, watch(b, of_b, 1), WEFT_OUT_OF_RANGE, "left");
    (void)of_a;
}

static void two_who_watch_each_other_are_told(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_total(a), of_b = open_total(b);
    const uint64_t first = watch(a, of_a, 0);
    testing_expect_waiting(a, first);
    testing_expect_failure(b, watch(b, of_b, 0), WEFT_OUT_OF_RANGE, "left");
    testing_expect_failure(a, first, WEFT_OUT_OF_RANGE, "left");
}

static void large_values_are_kept_in_parts(void **state)
{
    (void)state;
    enum { ELEMENTS = 700000 };
    struct testing_member *a = testing_join("/work/0");
    const uint16_t var =
        testing_open(a, CALL_KIND_VAR, "big", PAYLOAD(U8(TUPLE_INT64), U8(1), U64(ELEMENTS)));
    int64_t *value = malloc(ELEMENTS * sizeof *value);
    assert_non_null(value);
    for (int64_t i = 0; i < ELEMENTS; i++)
        value[i] = i * i;
    const weft_bytes bytes = {(const char *)value, ELEMENTS * sizeof *value};
    testing_expect(a, testing_call(a, CALL_VAR_SET, 0, var, bytes), 0, PAYLOAD(U64(1)));
    testing_restart_from_snapshot();
    const struct answer answer =
        testing_answer(a, testing_call(a, CALL_VAR_READ, 0, var, weft_none()));
    assert_int_equal(answer.payload.size, 8 + bytes.size);
    assert_memory_equal(answer.payload.data + 8, bytes.data, bytes.size);
    free(value);
}

static void damaged_parts_are_refused(void **state)
{
    (void)state;
    const weft_bytes parts[] = {
        weft_none(),
        PAYLOAD(U8(9)),
        PAYLOAD(U8(1), U64(1)),
        PAYLOAD(U8(1), U64(0), U64(8), U64(5)),
        PAYLOAD(U8(1), U64(1), U64(4), U32(5)),
        PAYLOAD(U8(1), U64(1), U64(8), U64(5), U8(1)),
        PAYLOAD(U8(2), U64(1), U64(8)),
        PAYLOAD(U8(2), U64(1), U64(8), U64(7)),
    };
    struct host *host = testing_new_host(false);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct resource *var;
        char name[2] = {(char)('a' + i), 0};
        testing_must(host_open_resource(host, CALL_KIND_VAR, weft_text("files"), weft_text(name),
                                        weft_none(), &var));
        struct pack_reader reader = {parts[i], false};
        assert_int_equal(var->kind->load(var, &reader), WEFT_DATA_LOSS);
    }
    host_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(item_counts_once_whoever_delivers_it),
        TEST(key_counts_once_also_after_a_restart),
        TEST(all_changes_can_count_once),
        TEST(what_failed_or_missed_has_not_counted),
        TEST(add_of_nothing_counts_but_wakes_nobody),
        TEST(watch_waits_for_a_version_beyond_the_known),
        TEST(watch_ends_with_what_it_watches),
        TEST_ENDING_WATCHES(watch_ends_when_nobody_is_left_to_write),
        TEST_ENDING_WATCHES(two_who_watch_each_other_are_told),
        TEST(large_values_are_kept_in_parts),
        TEST(damaged_parts_are_refused),
    };
    return cmocka_run_group_tests_name("resource/var_share", tests, NULL, NULL);
}
