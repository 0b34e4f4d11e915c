// Tests of queues: what becomes of calls that wait and of leases when something ends: the session, the
// member, the queue.

#include "resource/queue/queue_testing.h"

// ---- A session ends -----------------------------------------------------------------------------------------

static void leases_of_a_session_that_ends_come_back_in_order(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    expect_ok(a, push_many(a, q, "abcde"));
    expect_ok(b, give_back(b, q, take_now(b, q, "a", 1), 0));
    take_now(a, q, "a", 2);
    take_now(b, q, "b", 1);
    take_now(b, q, "c", 1);
    const struct call_item fourth = take_now(b, q, "d", 1);
    expect_ok(b, done(b, q, fourth));
    testing_end(b);
    expect_stored(a, q, "bce");
    take_now(a, q, "b", 2);
}

static void leases_of_a_session_that_ends_go_to_who_waits_in_order(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    expect_ok(a, push_many(a, q, "ab"));
    const struct call_item first = take_now(b, q, "a", 1);
    take_now(b, q, "b", 1);
    expect_ok(b, give_back(b, q, first, 0));
    take_now(b, q, "a", 2);  // it took b first, then a
    const uint64_t one = take(a, q), two = take(a, q);
    testing_end(b);
    expect_item(a, one, "a", 3);
    expect_item(a, two, "b", 2);
}

static void calls_of_a_session_that_ends_no_longer_wait(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 1});
    open_queue(b, "q", (struct queue_limits){.capacity = 1});
    const uint64_t big = pop_many(b, q, 3), behind = take(a, q);
    expect_ok(a, push(a, q, "a"));
    expect_waits(b, big);
    testing_end(b);
    expect_item(a, behind, "a", 1);
    expect_ok(a, push(a, q, "b"));
    struct testing_member *c = testing_join("/work/1");
    const uint16_t same = open_queue(c, "q", (struct queue_limits){.capacity = 1});
    push_many(c, same, "xy");
    close_queue(c, same);
    const uint64_t pending = push(a, q, "c");
    testing_end(c);
    expect_waits(a, pending);
    expect_element(a, pop(a, q), "b");
    expect_ok(a, pending);
    assert_false(state_of(a, q).is_closed);
}

// Elements that its first call had gathered must not go to its second: they would be lost.
static void a_session_that_ends_gets_nothing_on_its_way_out(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.deliveries = 1});
    open_queue(b, "q", (struct queue_limits){.deliveries = 1});
    pop_many(b, q, 3);
    pop(b, q);
    take(b, q);
    expect_ok(a, push_many(a, q, "ab"));
    testing_end(b);
    expect_stored(a, q, "ab");
    take_now(a, q, "a", 1);
}

static void a_member_that_leaves_gives_back_what_it_had(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    expect_ok(a, push_many(a, q, "abc"));
    take_now(b, q, "a", 1);
    const uint64_t big = pop_many(b, q, 5), single = pop(b, q);
    expect_ok(b, testing_call(b, CALL_LEAVE, 0, 0, weft_none()));
    testing_expect_failure(b, big, WEFT_CANCELLED, "its member has left");
    testing_expect_failure(b, single, WEFT_CANCELLED, "its member has left");
    expect_stored(a, q, "abc");
    assert_true(host_has_users(testing.host, NULL));
    assert_false(host_has_users(testing.host, a->session));
    testing_end(b);
    expect_stored(a, q, "abc");
}

// Calls of one member in two lines: a snapshot has them by resource, and yet they are answered alike.
static void calls_that_wait_are_cancelled_in_an_order_that_a_snapshot_keeps(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint16_t r = open_queue(a, "r", (struct queue_limits){0});
    const uint64_t one = pop(a, r), two = pop(a, q), three = pop(a, r);
    testing_restart_from_snapshot();
    expect_ok(a, testing_call(a, CALL_LEAVE, 0, 0, weft_none()));
    assert_true(testing_first_answered(a) == three);
    testing_expect_failure(a, three, WEFT_CANCELLED, "'r' has ended");
    assert_true(testing_first_answered(a) == two);
    testing_expect_failure(a, two, WEFT_CANCELLED, "'q' has ended");
    testing_expect_failure(a, one, WEFT_CANCELLED, "'r' has ended");
}

// ---- A queue is removed --------------------------------------------------------------------------------------

static void calls_on_a_queue_that_is_removed_are_aborted(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 1});
    const uint16_t r = open_queue(a, "r", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){.capacity = 1});
    expect_ok(a, push(a, q, "a"));
    const uint64_t giving = push(b, q, "b"), closing = close_queue(a, q), other = pop(a, r);
    expect_ok(b, remove_queue(b, q));
    testing_expect_failure(b, giving, WEFT_ABORTED, "it was removed");
    testing_expect_failure(a, closing, WEFT_ABORTED, "it was removed");
    expect_waits(a, other);
    testing_expect_failure(a, push(a, q, "c"), WEFT_NOT_FOUND, "the queue 'q' was removed");
    testing_expect_failure(a, remove_queue(a, q), WEFT_NOT_FOUND, "the queue 'q' was removed");
}

// Elements that the first had gathered are not for those after it: they go with the queue.
static void pops_on_a_queue_that_is_removed_are_all_aborted(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t calls[] = {pop_many(a, q, 3), pop(a, q), take(a, q)};
    const uint64_t others[] = {pop(b, q), take(b, q)};
    expect_ok(b, push_many(b, q, "ab"));
    expect_ok(b, remove_queue(b, q));
    for (int i = 0; i < 3; i++)
        testing_expect_failure(a, calls[i], WEFT_ABORTED, "it was removed");
    for (int i = 0; i < 2; i++)
        testing_expect_failure(b, others[i], WEFT_ABORTED, "it was removed");
}

static void leases_on_a_queue_that_is_removed_are_gone(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.deliveries = 1});
    open_queue(b, "q", (struct queue_limits){.deliveries = 1});
    expect_ok(a, push_many(a, q, "abc"));
    const struct call_item item = take_now(a, q, "a", 1);
    expect_item(b, take_for(b, q, 10), "b", 1);
    expect_ok(b, remove_queue(b, q));
    testing_expect_failure(a, done(a, q, item), WEFT_NOT_FOUND, "removed");
    host_set_time(testing.host, 1000);
    host_expire(testing.host);
    testing_end(b);
    // Nothing of it is among the dead letters: it was not wanted any more.
    testing_expect(a, testing_call(a, CALL_LIST, 0, 0, weft_none()), 0, weft_none());
}

static void a_delayed_element_of_a_removed_queue_is_gone(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    expect_ok(a, push(a, q, "a"));
    expect_ok(a, give_back(a, q, take_now(a, q, "a", 1), 10));
    expect_ok(a, remove_queue(a, q));
    host_set_time(testing.host, 10);
    host_expire(testing.host);
    assert_true(host_next_deadline(testing.host) == UINT64_MAX);
}

static void a_queue_can_be_made_again_under_the_name_of_a_removed_one(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 1});
    open_queue(b, "q", (struct queue_limits){.capacity = 1});
    expect_ok(a, push_keyed(a, q, "k", "a"));
    expect_ok(a, remove_queue(a, q));
    const uint16_t anew = open_queue(a, "q", (struct queue_limits){.capacity = 2});
    expect_stored(a, anew, "");
    expect_ok(a, push_keyed(a, anew, "k", "b"));
    testing_restart_from_snapshot();
    expect_stored(a, anew, "b");
    testing_expect_failure(b, pop(b, q), WEFT_NOT_FOUND, "removed");
    testing_end(b);
    testing_expect_failure(a, pop(a, q), WEFT_NOT_FOUND, "removed");
    testing_end(a);  // the last handle of the old one
    struct testing_member *c = testing_join("/work/2");
    expect_element(c, pop(c, open_queue(c, "q", (struct queue_limits){.capacity = 2})), "b");
}

// ---- Too many ------------------------------------------------------------------------------------------------

// So many calls wait in the queue q.
static void fill_with_waits(struct testing_member *member, uint16_t queue)
{
    for (uint32_t i = 0; i < SESSION_WAITS_MAX; i++)
        pop(member, queue);
}

static void no_more_than_so_many_calls_of_a_session_wait(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint16_t r = open_queue(a, "r", (struct queue_limits){.capacity = 2});
    open_queue(b, "r", (struct queue_limits){.capacity = 2});
    fill_with_waits(a, q);
    testing_expect_failure(a, pop(a, q), WEFT_RESOURCE_EXHAUSTED, "wait already");
    // The elements that it had gathered go back, those that it had put in stay, and others are served.
    expect_ok(b, push_many(b, 0, "ab"));
    testing_expect_failure(a, pop_many(a, r, 3), WEFT_RESOURCE_EXHAUSTED, "wait already");
    expect_stored(b, 0, "ab");
    expect_elements(b, pop_many(b, 0, 2), "ab");
    const uint64_t waits = pop(b, 0);
    testing_expect_failure(a, push_many(a, r, "cdef"), WEFT_RESOURCE_EXHAUSTED, "wait already");
    expect_element(b, waits, "c");
    expect_stored(b, 0, "d");
    expect_ok(b, push(b, 0, "x"));
    testing_end(a);
    testing_restart_from_snapshot();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(leases_of_a_session_that_ends_come_back_in_order),
        TEST(leases_of_a_session_that_ends_go_to_who_waits_in_order),
        TEST(calls_of_a_session_that_ends_no_longer_wait),
        TEST(a_session_that_ends_gets_nothing_on_its_way_out),
        TEST(a_member_that_leaves_gives_back_what_it_had),
        TEST(calls_that_wait_are_cancelled_in_an_order_that_a_snapshot_keeps),
        TEST(calls_on_a_queue_that_is_removed_are_aborted),
        TEST(pops_on_a_queue_that_is_removed_are_all_aborted),
        TEST(leases_on_a_queue_that_is_removed_are_gone),
        TEST(a_delayed_element_of_a_removed_queue_is_gone),
        TEST(a_queue_can_be_made_again_under_the_name_of_a_removed_one),
        TEST(no_more_than_so_many_calls_of_a_session_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
