// Tests of queues: who is served when, capacities and closing. The rows of TensorFlow's table, and where
// this queue differs. Leases are in taken_test.c, keys and limits in push_test.c.

#include "resource/queue/queue_testing.h"

// ---- Pushing and popping -------------------------------------------------------------------------------

static void elements_come_out_in_the_order_they_went_in(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint16_t same = open_queue(b, "q", (struct queue_limits){0});
    expect_ok(a, push(a, q, "one"));
    expect_ok(b, push(b, same, ""));
    expect_ok(a, push(a, q, "three"));
    expect_element(b, pop(b, same), "one");
    expect_element(b, pop(b, same), "");
    expect_element(a, pop(a, q), "three");
}

static void a_pop_waits_for_an_element(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t waits = pop(a, q);
    expect_waits(a, waits);
    assert_int_equal(state_of(b, q).takers, 1);
    expect_ok(b, push(b, q, "x"));
    expect_element(a, waits, "x");
    assert_int_equal(state_of(b, q).takers, 0);
}

static void pops_are_served_in_the_order_they_came(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t first = pop(a, q), second = pop(b, q), third = pop(a, q);
    expect_ok(b, push(b, q, "1"));
    expect_element(a, first, "1");
    expect_waits(b, second);
    expect_ok(b, push(b, q, "2"));
    expect_waits(a, third);
    expect_element(b, second, "2");
    expect_ok(b, push(b, q, "3"));
    expect_element(a, third, "3");
}

static void a_full_queue_lets_pushes_wait_in_order(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 2});
    open_queue(b, "q", (struct queue_limits){.capacity = 2});
    expect_ok(a, push(a, q, "a"));
    expect_ok(a, push(a, q, "b"));
    const uint64_t third = push(a, q, "c"), fourth = push(b, q, "d");
    expect_waits(a, third);
    expect_waits(b, fourth);
    assert_int_equal(state_of(a, q).givers, 2);
    expect_element(b, pop(b, q), "a");
    expect_ok(a, third);
    expect_waits(b, fourth);
    expect_stored(a, q, "bc");
    expect_element(b, pop(b, q), "b");
    expect_ok(b, fourth);
    expect_elements(a, pop_many(a, q, 2), "cd");
}

// ---- Many at once ----------------------------------------------------------------------------------------

static void a_big_pop_at_the_head_takes_all_that_arrives(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t big = pop_many(a, q, 3), single = pop(b, q);
    expect_ok(b, push(b, q, "a"));
    expect_ok(b, push(b, q, "b"));
    expect_waits(a, big);
    expect_waits(b, single);
    assert_int_equal(state_of(a, q).count, 0);  // elements that it has gathered are not counted
    expect_stored(a, q, "");
    expect_ok(b, push(b, q, "c"));
    expect_elements(a, big, "abc");
    expect_waits(b, single);
    expect_ok(b, push(b, q, "d"));
    expect_element(b, single, "d");
}

static void more_can_be_popped_than_the_queue_holds(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 2});
    const uint64_t given = push_many(a, q, "abcde");
    expect_waits(a, given);
    expect_stored(a, q, "ab");
    expect_elements(a, pop_many(a, q, 5), "abcde");
    expect_ok(a, given);
}

static void a_push_of_many_goes_in_by_pieces_and_nobody_comes_between(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 2});
    open_queue(b, "q", (struct queue_limits){.capacity = 2});
    const uint64_t many = push_many(a, q, "abcd"), other = push(b, q, "x");
    expect_stored(a, q, "ab");  // others see a beginning
    expect_element(b, pop(b, q), "a");
    expect_stored(a, q, "bc");
    expect_waits(a, many);
    expect_waits(b, other);
    expect_element(b, pop(b, q), "b");
    expect_ok(a, many);
    expect_waits(b, other);
    expect_elements(b, pop_many(b, q, 3), "cdx");
    expect_ok(b, other);
}

static void pushing_none_is_done_at_once_even_when_the_queue_is_full_or_closed(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 1});
    expect_ok(a, push(a, q, "a"));
    expect_waits(a, push(a, q, "b"));
    expect_ok(a, push_many(a, q, ""));
    expect_ok(a, close_and_cancel(a, q));
    expect_ok(a, push_many(a, q, ""));
}

static void popping_none_is_done_at_once(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    expect_elements(a, pop_many(a, q, 0), "");
    const uint64_t waits = pop(a, q);
    expect_elements(a, pop_up_to(a, q, 0), "");
    expect_waits(a, waits);
    expect_ok(a, close_queue(a, q));
    expect_elements(a, pop_many(a, q, 0), "");
}

static void popping_fewer_than_none_is_an_invalid_argument(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    testing_expect_failure(a, pop_many(a, q, -1), WEFT_INVALID_ARGUMENT, "negative");
    testing_expect_failure(a, pop_up_to(a, q, INT32_MIN), WEFT_INVALID_ARGUMENT, "negative");
    expect_waits(a, pop_many(a, q, INT32_MAX));
}

static void calls_that_are_cut_are_invalid_arguments(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    static const struct {
        uint8_t op, flags;
        weft_bytes payload;
        const char *words;
    } calls[] = {
        {CALL_QUEUE_POP_MANY, 0, {"", 0}, "the take of several from 'q': the call is cut"},
        {CALL_QUEUE_POP_MANY, 0, {"\1\0\0", 3}, "the take of several from 'q': the call is cut"},
        {CALL_QUEUE_TAKE, 0, {"\0\0\0", 3}, "the take from 'q': the call is cut"},
        {CALL_QUEUE_PUSH_MANY, 0, {"", 0}, "the push of several to 'q'"},
        {CALL_QUEUE_PUSH_MANY, 0, {"\1\0\0\0\3\0\0\0ab", 10}, "the push of several to 'q'"},
        {CALL_QUEUE_PUSH_MANY, 0, {"\2\0\0\0\1\0\0\0a", 9}, "the push of several to 'q'"},
        {CALL_QUEUE_PUSH_MANY, 0, {"\1\0\0\0\1\0\0\0ab", 10}, "the push of several to 'q'"},
        {CALL_QUEUE_PUSH_MANY, 0, {"\0\0\0\0x", 5}, "the push of several to 'q'"},
        {CALL_QUEUE_PUSH,
         CALL_FLAG_KEYED,
         {"\5\0abc", 5},
         "the push to 'q': the key is empty or cut"},
        {CALL_QUEUE_PUSH,
         CALL_FLAG_KEYED,
         {"\0\0abc", 5},
         "the push to 'q': the key is empty or cut"},
        {CALL_QUEUE_PUSH, CALL_FLAG_KEYED, {"", 0}, "the push to 'q': the key is empty or cut"},
        {CALL_QUEUE_DONE, 0, {"", 0}, "QUEUE_DONE"},
        {CALL_QUEUE_EXTEND, 0, {"123456789012345678901234", 24}, "QUEUE_EXTEND"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        testing_expect_failure(a, testing_call(a, calls[i].op, calls[i].flags, q, calls[i].payload),
                               WEFT_INVALID_ARGUMENT, calls[i].words);
    const struct queue_state end = state_of(a, q);
    assert_true(end.last_id == 0 && end.takers == 0 && end.givers == 0);
}

static void operations_of_other_kinds_are_invalid_arguments(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    testing_expect_failure(a, testing_call(a, CALL_VAR_ADD, 0, q, weft_none()),
                           WEFT_INVALID_ARGUMENT, "what this queue is asked for (VAR_ADD");
    testing_expect_failure(a, testing_call(a, CALL_KV_GET, 0, q, weft_none()),
                           WEFT_INVALID_ARGUMENT, "what this queue is asked for (KV_GET");
}

// ---- Closing ---------------------------------------------------------------------------------------------

static void a_closed_queue_is_emptied_and_then_at_its_end(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    expect_ok(a, push_many(a, q, "ab"));
    expect_ok(a, close_queue(a, q));
    assert_true(state_of(a, q).is_closed);
    expect_element(a, pop(a, q), "a");
    expect_element(a, pop(a, q), "b");
    testing_expect_failure(a, pop(a, q), WEFT_OUT_OF_RANGE,
                           "is closed and has insufficient elements (requested 1, current size 0)");
    expect_end(a, take(a, q));
}

static void nothing_can_be_pushed_into_a_closed_queue(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    expect_ok(a, close_queue(a, q));
    expect_closed(a, push(a, q, "a"));
    expect_closed(a, push_many(a, q, "ab"));
    expect_stored(a, q, "");
}

static void closing_twice_is_cancelled(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    expect_ok(a, close_queue(a, q));
    testing_expect_failure(a, close_queue(a, q), WEFT_CANCELLED, "already closed");
}

static void a_close_waits_behind_pending_pushes(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 1});
    open_queue(b, "q", (struct queue_limits){.capacity = 1});
    expect_ok(a, push(a, q, "a"));
    const uint64_t pending = push(a, q, "b"), closing = close_queue(b, q);
    const uint64_t late = push(a, q, "c"), again = close_queue(b, q);
    expect_waits(b, closing);
    assert_false(state_of(a, q).is_closed);  // while the close waits
    expect_element(b, pop(b, q), "a");
    expect_ok(a, pending);
    expect_ok(b, closing);
    assert_true(state_of(a, q).is_closed);
    expect_closed(a, late);
    expect_closed(b, again);
    expect_element(b, pop(b, q), "b");
    expect_end(b, pop(b, q));
}

static void a_full_queue_without_pending_pushes_is_closed_at_once(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 1});
    expect_ok(a, push(a, q, "a"));
    expect_ok(a, close_queue(a, q));
    expect_element(a, pop(a, q), "a");
}

static void closing_with_cancel_is_at_once_and_as_often_as_one_likes(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 2});
    open_queue(b, "q", (struct queue_limits){.capacity = 2});
    const uint64_t many = push_many(a, q, "abcd"), one = push(b, q, "x"), close = close_queue(a, q);
    expect_ok(b, close_and_cancel(b, q));
    expect_closed(a, many);
    expect_closed(b, one);
    expect_closed(a, close);
    expect_ok(a, close_and_cancel(a, q));
    expect_ok(b, close_and_cancel(b, q));
    expect_closed(a, close_queue(a, q));
    expect_stored(a, q, "ab");  // elements that are in stay, also a beginning of many
    expect_elements(b, pop_many(b, q, 2), "ab");
    expect_end(b, pop(b, q));
}

static void pops_that_wait_end_when_the_queue_is_closed(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t one = pop(a, q), two = take(b, q), three = pop_many(a, q, 2);
    const uint64_t four = pop_up_to(b, q, 2);
    expect_ok(b, close_queue(b, q));
    expect_end(a, one);
    expect_end(b, two);
    testing_expect_failure(a, three, WEFT_OUT_OF_RANGE, "(requested 2, current size 0)");
    expect_end(b, four);
}

static void a_big_pop_that_cannot_be_filled_puts_back_at_the_front_in_order(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t big = pop_many(a, q, 5);
    expect_ok(b, push_many(b, q, "abc"));
    const uint64_t behind = pop(b, q);
    expect_ok(b, close_queue(b, q));
    testing_expect_failure(a, big, WEFT_OUT_OF_RANGE, "(requested 5, current size 3)");
    expect_element(b, behind, "a");
    expect_stored(a, q, "bc");
    testing_expect_failure(a, pop_many(a, q, 3), WEFT_OUT_OF_RANGE,
                           "(requested 3, current size 2)");
    expect_elements(a, pop_many(a, q, 2), "bc");
}

static void up_to_waits_for_all_while_the_queue_is_open(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t up_to = pop_up_to(a, q, 3);
    expect_ok(b, push_many(b, q, "ab"));
    expect_waits(a, up_to);
    expect_ok(b, push_many(b, q, "cd"));
    expect_elements(a, up_to, "abc");
}

static void up_to_takes_what_is_left_of_a_closed_queue(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t waits = pop_up_to(a, q, 3);
    expect_ok(b, push_many(b, q, "ab"));
    expect_ok(b, close_queue(b, q));
    expect_elements(a, waits, "ab");
    expect_end(a, pop_up_to(a, q, 1));
}

static void up_to_gets_what_pending_pushes_bring_before_the_close(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 2});
    open_queue(b, "q", (struct queue_limits){.capacity = 2});
    const uint64_t many = push_many(b, q, "abcde"), closing = close_queue(b, q);
    const uint64_t late = push(b, q, "x");
    expect_elements(a, pop_up_to(a, q, 9), "abcde");
    expect_ok(b, many);
    expect_ok(b, closing);
    expect_closed(b, late);
}

// ---- Cancelling -------------------------------------------------------------------------------------------

static void a_cancelled_call_is_answered_and_others_go_on(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 1});
    open_queue(b, "q", (struct queue_limits){.capacity = 1});
    expect_ok(a, push(a, q, "a"));
    const uint64_t many = push_many(a, q, "xy"), next = push(b, q, "b");
    expect_ok(a, cancel(a, many));
    testing_expect_failure(a, many, WEFT_CANCELLED, "the push of several to 'q' has ended");
    expect_element(a, pop(a, q), "a");
    expect_ok(b, next);
    expect_element(a, pop(a, q), "b");
}

// TensorFlow drops the elements that it had gathered.
static void a_cancelled_big_pop_puts_back_what_it_had(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t big = pop_many(a, q, 5), behind = pop(b, q), last = pop_many(b, q, 4);
    expect_ok(b, push_many(b, q, "abc"));
    expect_ok(a, cancel(a, big));
    testing_expect_failure(a, big, WEFT_CANCELLED, "cancelled by its caller");
    expect_element(b, behind, "a");
    expect_waits(b, last);
    expect_ok(b, cancel(b, last));
    testing_expect_failure(b, last, WEFT_CANCELLED, "cancelled");
    expect_stored(a, q, "bc");
}

static void a_cancelled_close_does_not_close(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 1});
    expect_ok(a, push(a, q, "a"));
    const uint64_t pending = push(a, q, "b"), closing = close_queue(a, q), late = push(a, q, "c");
    expect_ok(a, cancel(a, closing));
    testing_expect_failure(a, closing, WEFT_CANCELLED, "the closing of 'q'");
    expect_elements(a, pop_many(a, q, 3), "abc");
    expect_ok(a, pending);
    expect_ok(a, late);
    assert_false(state_of(a, q).is_closed);
}

static void cancelling_what_is_answered_or_someone_elses_does_nothing(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t answered = push(a, q, "a");
    expect_ok(a, cancel(a, answered));
    expect_ok(a, answered);
    expect_stored(a, q, "a");
    expect_element(a, pop(a, q), "a");
    const uint64_t waits = pop(a, q);
    expect_ok(b, cancel(b, waits));
    expect_ok(b, cancel(b, 12345));
    expect_waits(a, waits);
    expect_ok(b, push(b, q, "b"));
    expect_element(a, waits, "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(elements_come_out_in_the_order_they_went_in),
        TEST(a_pop_waits_for_an_element),
        TEST(pops_are_served_in_the_order_they_came),
        TEST(a_full_queue_lets_pushes_wait_in_order),
        TEST(a_big_pop_at_the_head_takes_all_that_arrives),
        TEST(more_can_be_popped_than_the_queue_holds),
        TEST(a_push_of_many_goes_in_by_pieces_and_nobody_comes_between),
        TEST(pushing_none_is_done_at_once_even_when_the_queue_is_full_or_closed),
        TEST(popping_none_is_done_at_once),
        TEST(popping_fewer_than_none_is_an_invalid_argument),
        TEST(calls_that_are_cut_are_invalid_arguments),
        TEST(operations_of_other_kinds_are_invalid_arguments),
        TEST(a_closed_queue_is_emptied_and_then_at_its_end),
        TEST(nothing_can_be_pushed_into_a_closed_queue),
        TEST(closing_twice_is_cancelled),
        TEST(a_close_waits_behind_pending_pushes),
        TEST(a_full_queue_without_pending_pushes_is_closed_at_once),
        TEST(closing_with_cancel_is_at_once_and_as_often_as_one_likes),
        TEST(pops_that_wait_end_when_the_queue_is_closed),
        TEST(a_big_pop_that_cannot_be_filled_puts_back_at_the_front_in_order),
        TEST(up_to_waits_for_all_while_the_queue_is_open),
        TEST(up_to_takes_what_is_left_of_a_closed_queue),
        TEST(up_to_gets_what_pending_pushes_bring_before_the_close),
        TEST(a_cancelled_call_is_answered_and_others_go_on),
        TEST(a_cancelled_big_pop_puts_back_what_it_had),
        TEST(a_cancelled_close_does_not_close),
        TEST(cancelling_what_is_answered_or_someone_elses_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
