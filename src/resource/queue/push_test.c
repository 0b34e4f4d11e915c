// Tests of queues: names and attributes, capacities in bytes, keys of pushes, limits of calls.

#include "resource/queue/queue_testing.h"
#include "wire/pack.h"
#include "wire/tuple.h"

// ---- Names and attributes --------------------------------------------------------------------------------

static void a_name_cannot_start_with_an_underscore(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    testing_expect_failure(a, testing_try_open(a, CALL_KIND_QUEUE, "_q", weft_none()),
                           WEFT_INVALID_ARGUMENT, "cannot start with '_'");
    testing_expect_failure(a, testing_try_open(a, CALL_KIND_QUEUE, "", weft_none()),
                           WEFT_INVALID_ARGUMENT, "1 to 1024 bytes");
    testing_open(a, CALL_KIND_QUEUE, "q_", weft_none());
}

static uint64_t open_in(struct testing_member *member, weft_bytes container, weft_bytes name)
{
    struct buf payload = {0};
    pack_write_u8(&payload, CALL_KIND_QUEUE);
    pack_write_text(&payload, container);
    pack_write_text(&payload, name);
    const uint64_t sequence =
        testing_call(member, CALL_OPEN, 0, member->handle_count++, buf_bytes(&payload));
    buf_fini(&payload);
    return sequence;
}

static void containers_and_names_have_their_rules(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    static const char *const bad[] = {"-a", "/a", "a b", "a*", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        testing_expect_failure(a, open_in(a, weft_text(bad[i]), weft_text("q")),
                               WEFT_INVALID_ARGUMENT, "is not a container");
    static const char *const good[] = {"a", ".", "9", "a-b/c.d", "job_1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(testing_answer(a, open_in(a, weft_text(good[i]), weft_text("q"))).code, 0);
    static char longest[1025];
    memset(longest, 'n', sizeof longest);
    assert_int_equal(testing_answer(a, open_in(a, weft_none(), (weft_bytes){longest, 1024})).code,
                     0);
    testing_expect_failure(a, open_in(a, weft_none(), (weft_bytes){longest, 1025}),
                           WEFT_INVALID_ARGUMENT, "1 to 1024 bytes");
    testing_expect_failure(a, open_in(a, (weft_bytes){longest, 1025}, weft_text("q")),
                           WEFT_INVALID_ARGUMENT, "container");
    testing_expect_failure(a, open_in(a, weft_none(), (weft_bytes){"a\0b", 3}),
                           WEFT_INVALID_ARGUMENT, "zero byte");
}

static void the_default_container_is_the_role_of_the_host(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    assert_int_equal(testing_answer(a, open_in(a, weft_text("files"), weft_text("q"))).code, 0);
    assert_int_equal(testing_answer(a, open_in(a, weft_text("other"), weft_text("q"))).code, 0);
    expect_ok(a, push(a, q, "a"));
    expect_stored(a, (uint16_t)(q + 1), "a");
    expect_stored(a, (uint16_t)(q + 2), "");
    testing_expect(a, testing_call(a, CALL_LIST, 0, 0, weft_none()), 0,
                   PAYLOAD(U8(CALL_KIND_QUEUE), TEXT("files"), TEXT("q"), U8(CALL_KIND_QUEUE),
                           TEXT("other"), TEXT("q")));
}

static void who_opens_it_with_other_attributes_is_refused(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const struct queue_limits limits = {.capacity = 10, .bytes = 1000, .deliveries = 3};
    open_queue(a, "q", limits);
    struct queue_limits other = limits;
    other.capacity = 20;
    testing_expect_failure(
        b, testing_try_open(b, CALL_KIND_QUEUE, "q", queue_attributes(other)),
        WEFT_INVALID_ARGUMENT,
        "'q' has a limit of 10 items, and was asked for with a limit of 20 items\n"
        "  try: the limits that the queue has, or none");
    other = limits;
    other.bytes = 1001;
    testing_expect_failure(b, testing_try_open(b, CALL_KIND_QUEUE, "q", queue_attributes(other)),
                           WEFT_INVALID_ARGUMENT,
                           "a limit of 1000 bytes, and was asked for with a limit of 1001");
    other = limits;
    other.deliveries = 0;
    testing_expect_failure(b, testing_try_open(b, CALL_KIND_QUEUE, "q", queue_attributes(other)),
                           WEFT_INVALID_ARGUMENT,
                           "a limit of 3 deliveries, and was asked for with no limit");
    testing_expect_failure(
        b,
        testing_try_open(b, CALL_KIND_QUEUE, "q",
                         PAYLOAD(U64(10), U64(1000), U32(3), U16(1), U8(TUPLE_INT64), U8(0))),
        WEFT_INVALID_ARGUMENT, "other component types");
    open_queue(b, "q", limits);
    testing_open(b, CALL_KIND_QUEUE, "q", weft_none());  // whatever it is
}

static void the_first_who_says_what_it_is_decides(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = testing_open(a, CALL_KIND_QUEUE, "q", weft_none());
    const uint64_t popped = pop(a, q);
    testing_restart_from_snapshot();  // which knows that it was not said yet
    const uint16_t of_b = open_queue(b, "q", (struct queue_limits){.capacity = 2});
    expect_ok(b, push(b, of_b, "x"));
    expect_element(a, popped, "x");
    expect_ok(b, push(b, of_b, "y"));
    expect_ok(b, push(b, of_b, "z"));
    expect_waits(b, push(b, of_b, "over"));
    testing_restart_from_snapshot();
    testing_expect_failure(a,
                           testing_try_open(a, CALL_KIND_QUEUE, "q",
                                            queue_attributes((struct queue_limits){.capacity = 3})),
                           WEFT_INVALID_ARGUMENT, "has a limit of 2 items");
}

static void what_it_holds_when_it_is_declared_stays(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = testing_open(a, CALL_KIND_QUEUE, "q", weft_none());
    expect_ok(a, push_many(a, q, "abc"));
    testing_expect_failure(
        a,
        testing_try_open(a, CALL_KIND_QUEUE, "q",
                         PAYLOAD(U64(-1), U64(0), U32(0), U16(1), U8(TUPLE_INT64), U8(0))),
        WEFT_INVALID_ARGUMENT, "other component types");
    open_queue(a, "q", (struct queue_limits){.capacity = 1});
    const uint64_t pushed = push(a, q, "d");
    expect_waits(a, pushed);
    expect_elements(a, pop_many(a, q, 3), "abc");
    expect_ok(a, pushed);
    testing_open(a, CALL_KIND_QUEUE, "r", weft_none());
    const uint16_t numbers = testing_open(
        a, CALL_KIND_QUEUE, "r", PAYLOAD(U64(-1), U64(0), U32(0), U16(1), U8(TUPLE_INT64), U8(0)));
    testing_expect_failure(a, push(a, numbers, "text"), WEFT_INVALID_ARGUMENT, "int64");
}

static void negative_capacities_are_all_the_same(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    open_queue(a, "q", (struct queue_limits){.capacity = -1});
    open_queue(a, "q", (struct queue_limits){.capacity = -5});
    testing_open(a, CALL_KIND_QUEUE, "r", weft_none());  // by default without a limit
    open_queue(a, "r", (struct queue_limits){.capacity = -1});
}

static void attributes_that_make_no_sense_are_refused_and_make_nothing(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    testing_expect_failure(
        a, testing_try_open(a, CALL_KIND_QUEUE, "q", PAYLOAD(U64(0), U64(0), U32(0))),
        WEFT_INVALID_ARGUMENT, "capacity 0");
    testing_expect_failure(a, testing_try_open(a, CALL_KIND_QUEUE, "q", PAYLOAD(U64(1), U64(0))),
                           WEFT_INVALID_ARGUMENT, "cut");
    testing_expect(a, testing_call(a, CALL_LIST, 0, 0, weft_none()), 0, weft_none());
}

static void opening_tells_what_there_is(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const weft_bytes attributes =
        PAYLOAD(U64(10), U64(1000), U32(3), U16(1), U8(TUPLE_INT64), U8(0));
    const uint64_t made = testing_try_open(a, CALL_KIND_QUEUE, "q", attributes);
    const uint64_t found = testing_try_open(a, CALL_KIND_QUEUE, "q", weft_none());
    const uint64_t epoch = host_epoch(testing.host);
    testing_expect(a, made, 0,
                   PAYLOAD(U64(epoch + 1), U64(epoch), U64(10), U64(1000), U32(3), U16(1),
                           U8(TUPLE_INT64), U8(0)));
    testing_expect(a, found, 0,
                   PAYLOAD(U64(epoch + 1), U64(epoch), U64(10), U64(1000), U32(3), U16(1),
                           U8(TUPLE_INT64), U8(0)));
}

// ---- Bytes -----------------------------------------------------------------------------------------------

static void a_queue_is_full_by_its_bytes_too(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.bytes = 10});
    expect_ok(a, push(a, q, "1234567"));
    expect_ok(a, push(a, q, ""));
    expect_ok(a, push(a, q, "890"));
    assert_int_equal(state_of(a, q).bytes, 10);
    const uint64_t waits = push(a, q, "x");
    expect_waits(a, waits);
    expect_element(a, pop(a, q), "1234567");
    expect_ok(a, waits);
    expect_element(a, pop(a, q), "");
    expect_element(a, pop(a, q), "890");
    expect_element(a, pop(a, q), "x");
    assert_int_equal(state_of(a, q).bytes, 0);
}

static void an_element_that_never_fits_is_an_invalid_argument(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.bytes = 4});
    testing_expect_failure(a, push(a, q, "12345"), WEFT_INVALID_ARGUMENT, "never fits");
    testing_expect_failure(a, push_keyed(a, q, "key", "12345"), WEFT_INVALID_ARGUMENT,
                           "never fits");
    testing_expect_failure(
        a, testing_call(a, CALL_QUEUE_PUSH_MANY, 0, q, PAYLOAD(U32(2), BLOB("ab"), BLOB("12345"))),
        WEFT_INVALID_ARGUMENT, "never fits");
    assert_int_equal(state_of(a, q).last_id, 0);  // not the first of the many either
    expect_ok(a, push_keyed(a, q, "key", "1234"));
}

static void a_small_element_waits_behind_a_large_one_that_does_not_fit(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.bytes = 4});
    expect_ok(a, push(a, q, "abc"));
    const uint64_t large = push(a, q, "1234"), small = push(a, q, "x");
    expect_waits(a, large);
    expect_waits(a, small);
    expect_element(a, pop(a, q), "abc");
    expect_ok(a, large);
    expect_waits(a, small);
    expect_element(a, pop(a, q), "1234");
    expect_ok(a, small);
}

// ---- Keys ------------------------------------------------------------------------------------------------

static void a_push_with_a_key_counts_once(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    expect_ok(a, push_keyed(a, q, "k", "1"));
    expect_seen(a, push_keyed(a, q, "k", "2"));
    expect_seen(b, push_keyed(b, q, "k", "1"));
    expect_ok(b, push_keyed(b, q, "l", "3"));
    expect_ok(b, push(b, q, "1"));
    expect_stored(a, q, "131");
    expect_element(a, pop(a, q), "1");
    expect_seen(b, push_keyed(b, q, "k", "1"));  // also when it is long gone
}

static void a_key_seen_before_is_ok_when_the_queue_is_closed_or_full(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 1});
    expect_ok(a, push_keyed(a, q, "k", "1"));
    const uint64_t waits = push(a, q, "2");
    expect_seen(a, push_keyed(a, q, "k", "1"));
    expect_waits(a, waits);
    expect_ok(a, close_and_cancel(a, q));
    expect_seen(a, push_keyed(a, q, "k", "1"));
    expect_closed(a, push_keyed(a, q, "l", "1"));
    expect_closed(a, push_keyed(a, q, "l", "1"));  // a refused key was not seen
}

static void of_two_equal_pushes_that_wait_the_second_is_seen(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 1});
    open_queue(b, "q", (struct queue_limits){.capacity = 1});
    expect_ok(a, push(a, q, "x"));
    const uint64_t first = push_keyed(a, q, "k", "1"), second = push_keyed(b, q, "k", "1");
    const uint64_t third = push(b, q, "y");
    expect_waits(b, second);
    expect_element(a, pop(a, q), "x");
    expect_ok(a, first);
    expect_seen(b, second);
    expect_waits(b, third);
    expect_element(a, pop(a, q), "1");
    expect_ok(b, third);
    expect_stored(a, q, "y");
}

static void when_the_first_of_two_equal_pushes_is_cancelled_the_second_counts(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 1});
    open_queue(b, "q", (struct queue_limits){.capacity = 1});
    expect_ok(a, push(a, q, "x"));
    const uint64_t first = push_keyed(a, q, "k", "1"), second = push_keyed(b, q, "k", "2");
    expect_ok(a, cancel(a, first));
    testing_expect_failure(a, first, WEFT_CANCELLED, "the push to");
    expect_element(a, pop(a, q), "x");
    expect_ok(b, second);
    expect_element(a, pop(a, q), "2");
}

static void keys_of_two_queues_are_different_keys(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint16_t r = open_queue(a, "r", (struct queue_limits){0});
    expect_ok(a, push_keyed(a, q, "k", "1"));
    expect_ok(a, push_keyed(a, r, "k", "1"));
}

// ---- Limits ----------------------------------------------------------------------------------------------

static void push_large(struct testing_member *member, uint16_t queue, size_t size)
{
    char *bytes = calloc(1, size);
    assert_non_null(bytes);
    expect_ok(member, testing_call(member, CALL_QUEUE_PUSH, 0, queue, (weft_bytes){bytes, size}));
    free(bytes);
}

// Frees large elements, so that the end of the test need not replay it again and again.
static void let_go(struct testing_member *member, uint16_t queue)
{
    expect_ok(member, remove_queue(member, queue));
    for (unsigned i = 0; i < testing.member_count; i++) {
        testing.members[i].answered = testing.members[i].sequence;
        testing_answer(&testing.members[i],
                       testing_call(&testing.members[i], CALL_PING, 0, 0, weft_none()));
    }
    testing_restart_from_snapshot();
    assert_true(testing.journal.size < 4 << 20);
}

static void more_than_an_answer_can_hold_is_refused_and_put_back(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    for (int i = 0; i < 3; i++)
        push_large(a, q, 25 << 20);
    expect_ok(a, push(a, q, "x"));
    testing_expect_failure(a, pop_many(a, q, 3), WEFT_RESOURCE_EXHAUSTED, "ask for fewer");
    assert_int_equal(state_of(a, q).count, 4);
    const struct answer two = testing_answer(a, pop_many(a, q, 2));
    assert_int_equal(two.code, WEFT_OK);
    assert_int_equal(two.payload.size, 4 + 2 * (4 + (25 << 20)));
    assert_int_equal(testing_answer(a, pop(a, q)).payload.size, 25 << 20);
    expect_element(a, pop(a, q), "x");
    let_go(a, q);
}

// It will never be answered: it must not hold up others and gather all there is.
static void a_big_pop_is_refused_as_soon_as_it_has_too_much(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    const uint64_t big = pop_many(a, q, 1000), behind = pop(b, q);
    push_large(b, q, 31 << 20);
    expect_waits(a, big);
    push_large(b, q, 31 << 20);
    testing_expect_failure(a, big, WEFT_RESOURCE_EXHAUSTED, "ask for fewer");
    assert_int_equal(testing_answer(b, behind).payload.size, 31 << 20);
    assert_int_equal(state_of(a, q).count, 1);
    testing_answer(a, pop(a, q));
    let_go(a, q);
}

static void looking_at_elements_gives_what_fits_into_an_answer(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    push_large(a, q, 50 << 20);
    push_large(a, q, 15 << 20);
    push_large(a, q, 50 << 20);
    const weft_bytes many = PAYLOAD(U32(10));
    struct answer all = testing_answer(a, testing_call(a, CALL_QUEUE_PEEK, 0, q, many));
    assert_int_equal(all.payload.size, 17 + (50 << 20));
    testing_answer(a, pop(a, q));
    all = testing_answer(a, testing_call(a, CALL_QUEUE_PEEK, 0, q, many));
    assert_int_equal(all.payload.size, 17 + (15 << 20));
    testing_answer(a, pop(a, q));
    testing_answer(a, pop(a, q));
    let_go(a, q);
}

static void looking_shows_ids_deliveries_and_no_more_than_asked(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    expect_ok(a, push_many(a, q, "abc"));
    expect_ok(a, give_back(a, q, take_now(a, q, "a", 1), 0));
    testing_expect(a, testing_call(a, CALL_QUEUE_PEEK, 0, q, PAYLOAD(U32(2))), 0,
                   PAYLOAD(U64(1), U32(1), U8(0), BLOB("a"), U64(2), U32(0), U8(0), BLOB("b")));
    testing_expect(a, testing_call(a, CALL_QUEUE_PEEK, 0, q, PAYLOAD(U32(0))), 0, weft_none());
    expect_stored(a, q, "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_name_cannot_start_with_an_underscore),
        TEST(containers_and_names_have_their_rules),
        TEST(the_default_container_is_the_role_of_the_host),
        TEST(who_opens_it_with_other_attributes_is_refused),
        TEST(the_first_who_says_what_it_is_decides),
        TEST(what_it_holds_when_it_is_declared_stays),
        TEST(negative_capacities_are_all_the_same),
        TEST(attributes_that_make_no_sense_are_refused_and_make_nothing),
        TEST(opening_tells_what_there_is),
        TEST(a_queue_is_full_by_its_bytes_too),
        TEST(an_element_that_never_fits_is_an_invalid_argument),
        TEST(a_small_element_waits_behind_a_large_one_that_does_not_fit),
        TEST(a_push_with_a_key_counts_once),
        TEST(a_key_seen_before_is_ok_when_the_queue_is_closed_or_full),
        TEST(of_two_equal_pushes_that_wait_the_second_is_seen),
        TEST(when_the_first_of_two_equal_pushes_is_cancelled_the_second_counts),
        TEST(keys_of_two_queues_are_different_keys),
        TEST(more_than_an_answer_can_hold_is_refused_and_put_back),
        TEST(a_big_pop_is_refused_as_soon_as_it_has_too_much),
        TEST(looking_at_elements_gives_what_fits_into_an_answer),
        TEST(looking_shows_ids_deliveries_and_no_more_than_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
