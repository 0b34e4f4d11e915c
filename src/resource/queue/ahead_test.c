// Tests of queues: elements that are handed out before a caller wants them, given back unseen, or taken many at once.

#include "resource/queue/queue_testing.h"
#include "wire/pack.h"

static uint64_t take_ahead(struct testing_member *member, uint16_t queue)
{
    return testing_call(member, CALL_QUEUE_TAKE, CALL_FLAG_AHEAD, queue, PAYLOAD(U32(0)));
}

static uint64_t give_back_unbegun(struct testing_member *member, uint16_t queue,
                                  struct call_item item)
{
    return testing_call(member, CALL_QUEUE_GIVE_BACK, CALL_FLAG_UNBEGUN, queue,
                        PAYLOAD(RAW_BYTES(item_payload(item)), U32(0)));
}

static uint64_t take_many(struct testing_member *member, uint16_t queue, uint32_t count)
{
    return testing_call(member, CALL_QUEUE_TAKE_MANY, 0, queue, PAYLOAD(U32(count)));
}

static void leave(struct testing_member *member)
{
    expect_ok(member, testing_call(member, CALL_LEAVE, 0, 0, weft_none()));
    testing_end(member);
}

static void what_was_not_begun_was_not_delivered(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.deliveries = 2});
    expect_ok(a, push(a, q, "a"));
    for (int i = 0; i < 5; i++)
        expect_ok(a, give_back_unbegun(a, q, take_now(a, q, "a", 1)));
    testing_restart();
    expect_ok(a, give_back(a, q, take_now(a, q, "a", 1), 0));
    expect_ok(a, give_back_unbegun(a, q, take_now(a, q, "a", 2)));
    expect_buried(a, give_back(a, q, take_now(a, q, "a", 2), 0));
}

static void what_was_not_begun_comes_back_in_its_order(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    expect_ok(a, push_many(a, q, "abc"));
    const struct call_item first = take_now(a, q, "a", 1), second = take_now(a, q, "b", 1);
    expect_ok(a, give_back_unbegun(a, q, second));
    expect_ok(a, give_back_unbegun(a, q, first));
    expect_stored(a, q, "abc");
    expect_stale(a, give_back_unbegun(a, q, first));
}

static void a_goodbye_is_no_delivery(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    struct testing_member *c = testing_join("/work/2");
    const struct queue_limits limits = {.deliveries = 2};
    const uint16_t q = open_queue(a, "q", limits);
    open_queue(b, "q", limits);
    open_queue(c, "q", limits);
    expect_ok(a, push(a, q, "a"));
    take_now(b, q, "a", 1);
    leave(b);
    take_now(c, q, "a", 1);
    testing_end(c);  // lost
    take_now(a, q, "a", 2);
}

static void takes_ahead_get_small_elements_in_turn(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t first = take_ahead(a, q), second = take(b, q);
    expect_ok(a, push_many(a, q, "ab"));
    expect_item(a, first, "a", 1);
    expect_item(b, second, "b", 1);
}

static void a_large_element_does_not_go_ahead(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t ahead = take_ahead(a, q), wanted = take(b, q);
    char large[CALL_AHEAD_BYTES_MAX + 2];
    memset(large, 'x', sizeof large);
    large[sizeof large - 1] = 0;
    expect_ok(a, push(a, q, large));
    testing_expect_failure(a, ahead, WEFT_CANCELLED, "ahead");
    expect_item(b, wanted, large, 1);
}

static void nothing_goes_ahead_where_deliveries_count(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.deliveries = 1});
    const uint64_t ahead = take_ahead(a, q);
    expect_ok(a, push(a, q, "a"));
    testing_expect_failure(a, ahead, WEFT_CANCELLED, "ahead");
    take_now(a, q, "a", 1);
}

static void many_are_leased_at_once(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint64_t taken = take_many(a, q, 2);
    expect_ok(a, push(a, q, "a"));
    expect_waits(a, taken);
    testing_restart_from_snapshot();
    expect_ok(a, push(a, q, "b"));
    struct pack_reader reader = {testing_answer(a, taken).payload, false};
    assert_int_equal(pack_read_u32(&reader), 2);
    for (const char *letter = "ab"; *letter; letter++) {
        struct call_item item;
        pack_read_item(&reader, &item);
        const weft_bytes element = pack_read_blob(&reader);
        assert_int_equal(element.size, 1);
        assert_int_equal(element.data[0], *letter);
        assert_int_equal(item.delivery, 1);
        if (*letter == 'a')
            expect_ok(a, done(a, q, item));
        else
            expect_ok(a, give_back_unbegun(a, q, item));
    }
    assert_int_equal(reader.rest.size, 0);
    expect_stored(a, q, "b");
    assert_int_equal(state_of(a, q).leases, 0);
}

static void many_that_were_taken_come_back_with_the_session(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    expect_ok(b, push_many(b, q, "abc"));
    take_many(a, q, 2);
    expect_stored(b, q, "c");
    testing_end(a);
    expect_stored(b, q, "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_not_begun_was_not_delivered),
        TEST(what_was_not_begun_comes_back_in_its_order),
        TEST(a_goodbye_is_no_delivery),
        TEST(takes_ahead_get_small_elements_in_turn),
        TEST(a_large_element_does_not_go_ahead),
        TEST(nothing_goes_ahead_where_deliveries_count),
        TEST(many_are_leased_at_once),
        TEST(many_that_were_taken_come_back_with_the_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
