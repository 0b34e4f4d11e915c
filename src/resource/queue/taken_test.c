// Tests of queues: leases, redelivery, dead letters, and the end of a queue that has leases out.

#include "resource/queue/queue_testing.h"

static void set_time(uint64_t now_ms)
{
    host_set_time(testing.host, now_ms);
    host_expire(testing.host);
}

static uint16_t open_for_one(struct testing_member **a)
{
    *a = testing_join("/work/0");
    return open_queue(*a, "q", (struct queue_limits){0});
}

// Both have the same number for the queue.
static uint16_t open_for_two(struct testing_member **a, struct testing_member **b,
                             struct queue_limits limits)
{
    *a = testing_join("/work/0");
    *b = testing_join("/work/1");
    const uint16_t q = open_queue(*a, "q", limits);
    assert_int_equal(open_queue(*b, "q", limits), q);
    return q;
}

// An element "a" that this member has.
static struct call_item push_and_take(struct testing_member *member, uint16_t queue)
{
    expect_ok(member, push(member, queue, "a"));
    return take_now(member, queue, "a", 1);
}

// ---- Taking and ending ------------------------------------------------------------------------------------

static void an_element_that_is_taken_is_out_until_it_is_done(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){0});
    expect_ok(a, push_many(a, q, "ab"));
    const struct call_item first = take_now(a, q, "a", 1), second = take_now(b, q, "b", 1);
    assert_int_equal(first.id, 1);
    assert_int_equal(first.slot, 0);
    assert_int_equal(second.id, 2);
    assert_int_equal(second.slot, 1);
    assert_int_equal(state_of(a, q).leases, 2);
    assert_int_equal(state_of(a, q).count, 0);
    expect_ok(a, done(a, q, first));
    expect_ok(b, done(b, q, second));
    assert_int_equal(state_of(a, q).leases, 0);
    expect_waits(a, pop(a, q));
}

static void a_take_waits_its_turn_and_makes_room(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){.capacity = 1});
    const uint64_t first = take(a, q), second = take(b, q);
    expect_ok(a, push(a, q, "a"));
    expect_item(a, first, "a", 1);
    expect_waits(b, second);
    expect_ok(a, push(a, q, "b"));
    expect_item(b, second, "b", 1);
    expect_ok(a, push(a, q, "c"));
    const uint64_t waits = push(a, q, "d");
    take_now(b, q, "c", 1);  // a leased element is not stored
    expect_ok(a, waits);
}

static void what_is_given_back_is_first_again(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){0});
    expect_ok(a, push_many(a, q, "abc"));
    const struct call_item first = take_now(a, q, "a", 1), second = take_now(a, q, "b", 1);
    expect_ok(a, give_back(a, q, second, 0));
    expect_ok(a, give_back(a, q, first, 0));
    expect_stored(a, q, "abc");
    take_now(b, q, "a", 2);
    take_now(b, q, "b", 2);
    take_now(b, q, "c", 1);
}

static void what_is_given_back_goes_to_who_waits(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){0});
    const struct call_item item = push_and_take(a, q);
    const uint64_t waits = take(b, q);
    expect_ok(a, give_back(a, q, item, 0));
    expect_item(b, waits, "a", 2);
}

static void giving_back_with_a_delay_keeps_it_out_for_so_long(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){0});
    set_time(1000);
    const struct call_item item = push_and_take(a, q);
    expect_ok(a, give_back(a, q, item, 16));
    expect_stale(a, done(a, q, item));
    const uint64_t waits = take(b, q);
    set_time(1015);
    expect_waits(b, waits);
    assert_int_equal(state_of(a, q).leases, 1);
    assert_true(host_next_deadline(testing.host) == 1016);
    testing_end(a);  // it has no holder: it does not come back earlier
    expect_waits(b, waits);
    set_time(1016);
    expect_item(b, waits, "a", 2);
}

static void a_lease_ends_by_the_clock(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){0});
    set_time(100);
    expect_ok(a, push_many(a, q, "abc"));
    const struct call_item late = expect_item(a, take_for(a, q, 30), "a", 1);
    const struct call_item early = expect_item(a, take_for(a, q, 10), "b", 1);
    const struct call_item never = expect_item(a, take_for(a, q, 0), "c", 1);
    assert_true(host_next_deadline(testing.host) == 110);
    set_time(109);
    assert_int_equal(state_of(a, q).leases, 3);
    set_time(110);
    assert_true(host_next_deadline(testing.host) == 130);
    expect_stale(a, done(a, q, early));
    take_now(b, q, "b", 2);
    expect_stale(a, done(a, q, early));
    set_time(1000000);
    assert_true(host_next_deadline(testing.host) == UINT64_MAX);
    expect_stale(a, extend(a, q, late, 100));
    expect_stored(a, q, "a");
    expect_ok(a, done(a, q, never));
}

static void leases_that_end_together_come_back_in_order(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){0});
    expect_ok(a, push_many(a, q, "abcd"));
    expect_item(a, take_for(a, q, 20), "a", 1);
    expect_item(a, take_for(a, q, 10), "b", 1);
    expect_item(a, take_for(a, q, 10), "c", 1);
    set_time(50);
    expect_stored(b, q, "abcd");
}

static void a_lease_can_be_made_longer_and_shorter(void **state)
{
    (void)state;
    struct testing_member *a;
    const uint16_t q = open_for_one(&a);
    expect_ok(a, push(a, q, "a"));
    const struct call_item item = expect_item(a, take_for(a, q, 10), "a", 1);
    set_time(9);
    expect_ok(a, extend(a, q, item, 20));
    assert_true(host_next_deadline(testing.host) == 29);
    expect_ok(a, extend(a, q, item, 2));
    assert_true(host_next_deadline(testing.host) == 11);
    expect_ok(a, extend(a, q, item, 0));
    assert_true(host_next_deadline(testing.host) == UINT64_MAX);
    set_time(1000);
    expect_ok(a, done(a, q, item));
}

// ---- Stale ------------------------------------------------------------------------------------------------

static void a_lease_that_has_ended_cannot_be_done(void **state)
{
    (void)state;
    struct testing_member *a;
    const uint16_t q = open_for_one(&a);
    const struct call_item item = push_and_take(a, q);
    expect_ok(a, give_back(a, q, item, 0));
    expect_stale(a, done(a, q, item));
    expect_stale(a, give_back(a, q, item, 0));
    expect_stale(a, bury(a, q, item));
    expect_stale(a, extend(a, q, item, 10));
    const struct call_item again = take_now(a, q, "a", 2);
    assert_int_equal(again.slot, item.slot);
    expect_stale(a, done(a, q, item));  // another delivery in the same slot
    expect_ok(a, done(a, q, again));
    expect_stale(a, done(a, q, again));
}

static void a_lease_of_another_session_cannot_be_done(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){0});
    const struct call_item item = push_and_take(a, q);
    expect_stale(b, done(b, q, item));
    expect_stale(b, give_back(b, q, item, 5));
    expect_ok(a, done(a, q, item));
}

static void items_that_never_were_are_stale(void **state)
{
    (void)state;
    struct testing_member *a;
    const uint16_t q = open_for_one(&a);
    const struct call_item item = push_and_take(a, q);
    struct call_item wrong = item;
    wrong.slot = UINT32_MAX;
    expect_stale(a, done(a, q, wrong));
    wrong = item;
    wrong.id = 7;
    expect_stale(a, done(a, q, wrong));
    wrong = item;
    wrong.delivery = 0;
    expect_stale(a, done(a, q, wrong));
    expect_ok(a, done(a, q, item));
}

// Also the queue of the same name that was there before: its items are of a time that is over.
static void an_item_of_another_queue_is_stale(void **state)
{
    (void)state;
    struct testing_member *a;
    const uint16_t q = open_for_one(&a);
    const uint16_t r = open_queue(a, "r", (struct queue_limits){0});
    expect_ok(a, push(a, q, "a"));
    expect_ok(a, push(a, r, "a"));
    const struct call_item of_q = take_now(a, q, "a", 1), of_r = take_now(a, r, "a", 1);
    testing_expect_failure(a, done(a, r, of_q), WEFT_ABORTED, "of another queue than 'r'");
    expect_ok(a, done(a, r, of_r));
    expect_ok(a, remove_queue(a, q));
    const uint16_t anew = open_queue(a, "q", (struct queue_limits){0});
    expect_ok(a, push(a, anew, "b"));
    take_now(a, anew, "b", 1);
    expect_stale(a, done(a, anew, of_q));
}

// ---- Dead letters -------------------------------------------------------------------------------------------

static void an_element_that_had_its_deliveries_goes_to_the_dead_letters(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){.deliveries = 2});
    const uint16_t dead = testing_open(a, CALL_KIND_QUEUE, "q.dead", weft_none());
    const uint64_t waits = take(a, dead);
    expect_ok(a, push_many(a, q, "ab"));
    expect_ok(a, give_back(a, q, take_now(a, q, "a", 1), 0));
    expect_waits(a, waits);
    expect_buried(a, give_back(a, q, take_now(a, q, "a", 2), 100));  // no delay for the last one
    expect_item(a, waits, "a", 1);
    expect_stored(a, q, "b");
    take_now(b, q, "b", 1);
    testing_end(b);
    take_now(a, q, "b", 2);
    expect_ok(a, done(a, q, (struct call_item){host_epoch(testing.host) + 1, 2, 0, 2}));
    expect_stored(a, dead, "");
}

static void the_clock_and_the_end_of_a_session_count_as_deliveries(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){.deliveries = 1});
    expect_ok(a, push_many(a, q, "abc"));
    expect_item(a, take_for(a, q, 10), "a", 1);
    take_now(b, q, "b", 1);
    set_time(10);
    testing_end(b);
    const uint16_t dead = testing_open(a, CALL_KIND_QUEUE, "q.dead", weft_none());
    expect_stored(a, dead, "ab");
    expect_stored(a, q, "c");
    assert_int_equal(state_of(a, q).leases, 0);
}

static void what_is_buried_goes_to_the_dead_letters_at_once(void **state)
{
    (void)state;
    struct testing_member *a;
    const uint16_t q = open_for_one(&a);
    expect_ok(a, push_many(a, q, "ab"));
    expect_buried(a, bury(a, q, take_now(a, q, "a", 1)));
    const uint16_t dead = testing_open(a, CALL_KIND_QUEUE, "q.dead", weft_none());
    expect_stored(a, dead, "a");
    const struct call_item item = take_now(a, dead, "a", 1);
    expect_buried(a, bury(a, dead, item));
    expect_stored(a, testing_open(a, CALL_KIND_QUEUE, "q.dead.dead", weft_none()), "a");
}

// A name that is as long as one may be has no room for ".dead".
static void what_cannot_be_buried_comes_back(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    char name[CALL_NAME_BYTES_MAX + 1];
    memset(name, 'n', sizeof name);
    name[CALL_NAME_BYTES_MAX] = 0;
    const uint16_t q = open_queue(a, name, (struct queue_limits){.deliveries = 1});
    expect_ok(a, push(a, q, "a"));
    expect_ok(a, bury(a, q, take_now(a, q, "a", 1)));
    expect_ok(a, give_back(a, q, take_now(a, q, "a", 2), 0));
    expect_stored(a, q, "a");
}

static void dead_letters_are_in_the_order_in_which_the_elements_were(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){.deliveries = 1});
    expect_ok(a, push_many(a, q, "abc"));
    const struct call_item first = take_now(b, q, "a", 1);
    take_now(b, q, "b", 1);
    expect_ok(b, done(b, q, first));
    take_now(b, q, "c", 1);  // in the slot before that of b
    testing_end(b);
    expect_stored(a, testing_open(a, CALL_KIND_QUEUE, "q.dead", weft_none()), "bc");
}

// ---- The end of a queue --------------------------------------------------------------------------------------

static void a_closed_queue_is_not_at_its_end_while_leases_are_out(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){0});
    expect_ok(a, push_many(a, q, "ab"));
    const struct call_item one = take_now(a, q, "a", 1), two = take_now(a, q, "b", 1);
    expect_ok(a, close_queue(a, q));
    const uint64_t takes = take(b, q), pops = pop(b, q), many = pop_many(b, q, 2);
    const uint64_t up_to = pop_up_to(b, q, 2);
    expect_waits(b, takes);
    expect_ok(a, give_back(a, q, one, 0));
    const struct call_item again = expect_item(b, takes, "a", 2);
    expect_ok(b, done(b, q, again));
    expect_waits(b, pops);
    expect_ok(a, done(a, q, two));
    expect_end(b, pops);
    expect_end(b, many);
    expect_end(b, up_to);
    expect_end(a, take(a, q));
}

static void a_delayed_element_keeps_a_closed_queue_from_its_end(void **state)
{
    (void)state;
    struct testing_member *a;
    const uint16_t q = open_for_one(&a);
    expect_ok(a, push(a, q, "a"));
    expect_ok(a, close_queue(a, q));
    expect_ok(a, give_back(a, q, take_now(a, q, "a", 1), 10));
    const uint64_t waits = pop(a, q);
    expect_waits(a, waits);
    set_time(10);
    expect_element(a, waits, "a");
    expect_end(a, pop(a, q));
}

static void burying_the_last_element_is_the_end_too(void **state)
{
    (void)state;
    struct testing_member *a;
    const uint16_t q = open_for_one(&a);
    expect_ok(a, push(a, q, "a"));
    expect_ok(a, close_queue(a, q));
    const struct call_item item = take_now(a, q, "a", 1);
    const uint64_t waits = take(a, q);
    expect_buried(a, bury(a, q, item));
    expect_end(a, waits);
}

static void up_to_does_not_wait_for_leases_when_it_has_something(void **state)
{
    (void)state;
    struct testing_member *a;
    const uint16_t q = open_for_one(&a);
    expect_ok(a, push_many(a, q, "ab"));
    take_now(a, q, "a", 1);
    expect_ok(a, close_queue(a, q));
    expect_elements(a, pop_up_to(a, q, 5), "b");
}

// ---- A restart --------------------------------------------------------------------------------------------

static void leases_survive_a_restart_and_their_time_begins_anew(void **state)
{
    (void)state;
    struct testing_member *a, *b;
    const uint16_t q = open_for_two(&a, &b, (struct queue_limits){0});
    expect_ok(a, push_many(a, q, "abc"));
    const struct call_item first = expect_item(a, take_for(a, q, 10), "a", 1);
    const struct call_item second = take_now(a, q, "b", 1);
    const struct call_item third = take_now(b, q, "c", 1);
    expect_ok(b, give_back(b, q, third, 8));
    set_time(7);
    testing_restart_from_snapshot();
    assert_true(host_next_deadline(testing.host) == 15);
    set_time(15);
    expect_stored(a, q, "c");
    expect_ok(a, done(a, q, first));
    testing_end(a);
    expect_stored(b, q, "bc");
    take_now(b, q, "b", 2);
    testing_restart();
    expect_ok(b, done(b, q, (struct call_item){second.queue, second.id, 0, 2}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_element_that_is_taken_is_out_until_it_is_done),
        TEST(a_take_waits_its_turn_and_makes_room),
        TEST(what_is_given_back_is_first_again),
        TEST(what_is_given_back_goes_to_who_waits),
        TEST(giving_back_with_a_delay_keeps_it_out_for_so_long),
        TEST(a_lease_ends_by_the_clock),
        TEST(leases_that_end_together_come_back_in_order),
        TEST(a_lease_can_be_made_longer_and_shorter),
        TEST(a_lease_that_has_ended_cannot_be_done),
        TEST(a_lease_of_another_session_cannot_be_done),
        TEST(items_that_never_were_are_stale),
        TEST(an_item_of_another_queue_is_stale),
        TEST(an_element_that_had_its_deliveries_goes_to_the_dead_letters),
        TEST(the_clock_and_the_end_of_a_session_count_as_deliveries),
        TEST(what_is_buried_goes_to_the_dead_letters_at_once),
        TEST(what_cannot_be_buried_comes_back),
        TEST(dead_letters_are_in_the_order_in_which_the_elements_were),
        TEST(a_closed_queue_is_not_at_its_end_while_leases_are_out),
        TEST(a_delayed_element_keeps_a_closed_queue_from_its_end),
        TEST(burying_the_last_element_is_the_end_too),
        TEST(up_to_does_not_wait_for_leases_when_it_has_something),
        TEST(leases_survive_a_restart_and_their_time_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
