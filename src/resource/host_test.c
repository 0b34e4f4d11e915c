// Tests of the host: sequences, handles, sessions, time, and a journal that refuses.

#include "resource/host_state.h"
#include "resource/queue/queue_testing.h"

// Sends a call under a number of one's own.
static weft_err call_as(struct testing_member *member, uint8_t op, uint64_t sequence,
                        uint16_t handle, weft_bytes payload)
{
    struct buf bytes = {0};
    call_append_head(&bytes, op, 0, handle, sequence, payload.size);
    buf_append(&bytes, payload.data, payload.size);
    weft_bytes rest = buf_bytes(&bytes);
    struct call call;
    testing_must(call_next(&rest, &call));
    const weft_err err = host_call(testing.host, member->session, &call, member->answered);
    buf_fini(&bytes);
    return err;
}

// ---- Sequences ---------------------------------------------------------------------------------------------

static void a_call_that_comes_again_is_not_done_again(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint64_t first = push(a, q, "a");
    expect_ok(a, first);
    testing_must(call_as(a, CALL_QUEUE_PUSH, first, q, weft_text("a")));
    testing_must(call_as(a, CALL_OPEN, 1, q, weft_text("whatever")));
    struct answer answer;
    assert_false(testing_take(a, first, &answer));
    expect_stored(a, q, "a");
    const uint64_t waits = pop_many(a, q, 2);
    testing_must(call_as(a, CALL_QUEUE_POP_MANY, waits, q, PAYLOAD(U32(2))));
    assert_int_equal(state_of(a, q).takers, 1);
}

// The calls between were forgotten by their caller: it was in a journal that is not this one.
static void numbers_may_not_be_left_out(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    assert_int_equal(call_as(a, CALL_QUEUE_PUSH, a->sequence + 2, q, weft_text("b")),
                     WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "calls are missing between 1 and 3 of /work/0"));
    assert_true(a->session->applied == a->sequence);
    expect_ok(a, push(a, q, "a"));
    expect_stored(a, q, "a");
}

static void questions_are_answered_as_often_as_they_come(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint64_t ping = testing_call(a, CALL_PING, 0, 0, weft_none());
    expect_ok(a, ping);
    testing_must(call_as(a, CALL_PING, ping, 0, weft_none()));
    expect_ok(a, ping);
    assert_int_equal(a->session->applied, 0);
    assert_int_equal(testing_record_count(buf_bytes(&testing.journal)), 2);  // epoch and session
}

static void two_sessions_have_numbers_and_handles_of_their_own(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint16_t r = open_queue(b, "r", (struct queue_limits){0});
    assert_int_equal(q, r);
    expect_ok(a, push(a, q, "a"));
    expect_ok(b, push(b, r, "b"));
    expect_stored(a, q, "a");
    expect_stored(b, r, "b");
    assert_int_equal(a->sequence, b->sequence);
    assert_ptr_equal(host_find_session(testing.host, a->session->id), a->session);
    assert_ptr_equal(host_next_session(testing.host, NULL), a->session);
    assert_ptr_equal(host_next_session(testing.host, a->session), b->session);
    assert_null(host_next_session(testing.host, b->session));
}

// Each of three sessions of a member goes first once, and each as the second.
static void other_lives_of_a_member_are_found(void **state)
{
    (void)state;
    static const size_t orders[][2] = {{0, 1}, {1, 2}, {2, 0}, {2, 1}};
    testing_join("");
    assert_null(host_find_other_life(testing.host, "/work/0", 1));
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct testing_member *lives[] = {testing_join("/work/0"), testing_join("/work/0"),
                                          testing_join("/work/0")};
        const size_t first = orders[i][0], second = orders[i][1], third = 3 - first - second;
        const uint64_t last = lives[third]->session->incarnation;
        testing_end(lives[first]);
        assert_ptr_equal(host_find_other_life(testing.host, "/work/0", last),
                         lives[second]->session);
        testing_end(lives[second]);
        assert_null(host_find_other_life(testing.host, "/work/0", last));
        assert_ptr_equal(host_find_other_life(testing.host, "/work/0", 0), lives[third]->session);
        testing_end(lives[third]);
        assert_null(host_find_other_life(testing.host, "/work/0", 0));
    }
}

static void acknowledged_answers_are_gone_from_a_replay_too(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    for (int i = 0; i < 5; i++)
        expect_ok(a, push(a, q, "a"));
    a->answered = 4;
    expect_element(a, pop(a, q), "a");
    assert_int_equal(a->session->acknowledged, 4);
    testing_restart();
    assert_int_equal(a->session->acknowledged, 4);
    session_rewind(a->session);
    assert_true(testing_first_answered(a) == 5);
}

// ---- Handles -----------------------------------------------------------------------------------------------

static void a_handle_that_was_never_opened_is_an_invalid_argument(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    testing_expect_failure(a, push(a, 0, "a"), WEFT_INVALID_ARGUMENT, "handle 0 is not open");
    testing_expect_failure(a, push(a, 65535, "a"), WEFT_INVALID_ARGUMENT, "handle 65535");
    testing_expect_failure(a, testing_call(a, CALL_QUEUE_STATE, 0, 3, weft_none()),
                           WEFT_INVALID_ARGUMENT, "handle 3");
    testing_expect_failure(a, remove_queue(a, 9), WEFT_INVALID_ARGUMENT, "handle 9");
}

static void the_highest_handle_can_be_used(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    a->handle_count = 65535;
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    assert_int_equal(q, 65535);
    expect_ok(a, push(a, q, "a"));
}

static void a_handle_is_opened_once(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    a->handle_count = q;
    testing_expect_failure(a, testing_try_open(a, CALL_KIND_QUEUE, "r", weft_none()),
                           WEFT_INVALID_ARGUMENT, "handle 0 is in use");
    expect_ok(a, push(a, q, "a"));
    // A refused call has made nothing.
    testing_expect(a, testing_call(a, CALL_LIST, 0, 0, weft_none()), 0,
                   PAYLOAD(U8(CALL_KIND_QUEUE), TEXT("files"), TEXT("q")));
}

static void a_resource_stays_when_its_last_handle_goes(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    expect_ok(a, push(a, open_queue(a, "q", (struct queue_limits){0}), "a"));
    testing_end(a);
    expect_element(b, pop(b, open_queue(b, "q", (struct queue_limits){0})), "a");
}

static uint64_t release(struct testing_member *member, uint16_t handle)
{
    return testing_call(member, CALL_RELEASE, 0, handle, weft_none());
}

static void a_released_handle_can_be_opened_again(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    expect_ok(a, push(a, q, "a"));
    expect_ok(a, release(a, q));
    testing_expect_failure(a, push(a, q, "b"), WEFT_INVALID_ARGUMENT, "handle 0 is not open");
    testing_expect_failure(a, release(a, q), WEFT_INVALID_ARGUMENT, "handle 0 is not open");
    testing_restart();
    a->handle_count = q;
    assert_int_equal(open_queue(a, "r", (struct queue_limits){0}), q);
    expect_ok(a, push(a, q, "b"));
    testing_restart_from_snapshot();
    expect_element(a, pop(a, open_queue(a, "q", (struct queue_limits){0})), "a");
}

static void a_release_that_comes_again_does_not_release_again(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint64_t released = release(a, q);
    expect_ok(a, released);
    a->handle_count = q;
    open_queue(a, "q", (struct queue_limits){0});
    const uint64_t last = a->sequence;
    a->sequence = released - 1;
    release(a, q);  // sent again after a break: it has the number it had
    a->sequence = last;
    expect_ok(a, push(a, q, "a"));
}

static void what_waits_by_a_released_handle_goes_on_waiting(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint64_t waits = pop(a, q), taken = take(a, q);
    expect_ok(a, release(a, q));
    const uint16_t of_b = open_queue(b, "q", (struct queue_limits){0});
    testing_restart_from_snapshot();
    push_many(b, of_b, "xy");
    expect_element(a, waits, "x");
    const struct call_item item = expect_item(a, taken, "y", 1);
    expect_ok(a, done(a, open_queue(a, "q", (struct queue_limits){0}), item));
}

static void what_was_removed_is_freed_with_its_last_handle(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint16_t again = open_queue(a, "q", (struct queue_limits){0});
    const uint16_t of_b = open_queue(b, "q", (struct queue_limits){0});
    const uint64_t waits = pop(b, of_b);
    expect_ok(a, release(a, again));
    expect_ok(a, remove_queue(a, q));
    testing_expect_failure(b, waits, WEFT_ABORTED, "removed");
    expect_ok(a, release(a, q));
    assert_int_equal(host_resource_count(testing.host), 1);
    testing_restart_from_snapshot();
    expect_ok(b, release(b, of_b));
    assert_int_equal(host_resource_count(testing.host), 0);
}

// A misspelt name would otherwise stay in the list of the host.
static void a_queue_or_map_that_was_only_looked_for_goes_with_its_last_handle(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = testing_open(a, CALL_KIND_QUEUE, "q", weft_none());
    const uint16_t of_b = testing_open(b, CALL_KIND_QUEUE, "q", weft_none());
    const uint16_t map = testing_open(a, CALL_KIND_KV, "map", weft_none());
    const uint64_t waits = take(a, q);
    expect_ok(a, testing_call(a, CALL_CANCEL, 0, 0, PAYLOAD(U64(waits))));
    testing_expect_failure(a, waits, WEFT_CANCELLED, "cancelled");
    expect_ok(a, release(a, q));
    assert_int_equal(host_resource_count(testing.host), 2);  // the other has it still
    testing_restart();
    testing_end(b);
    (void)of_b;
    assert_int_equal(host_resource_count(testing.host), 1);
    expect_ok(a, release(a, map));
    assert_int_equal(host_resource_count(testing.host), 0);
    testing_restart();
    assert_int_equal(host_resource_count(testing.host), 0);
    expect_ok(a, push(a, testing_open(a, CALL_KIND_QUEUE, "q", weft_none()), "a"));
}

static void a_queue_that_was_used_closed_or_described_stays(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t used = testing_open(a, CALL_KIND_QUEUE, "used", weft_none());
    expect_ok(a, push(a, used, "a"));
    expect_element(a, pop(a, used), "a");
    const uint16_t closed = testing_open(a, CALL_KIND_QUEUE, "closed", weft_none());
    expect_ok(a, testing_call(a, CALL_QUEUE_CLOSE, 0, closed, weft_none()));
    open_queue(a, "described", (struct queue_limits){.capacity = 3});
    const uint16_t map = testing_open(a, CALL_KIND_KV, "map", weft_none());
    testing_call(a, CALL_KV_PUT, 0, map, PAYLOAD(TEXT("k"), RAW("v")));
    testing_call(a, CALL_KV_REMOVE, 0, map, PAYLOAD(TEXT("k")));
    testing_end(a);
    assert_int_equal(host_resource_count(testing.host), 4);
}

static void what_makes_no_sense_to_open_is_refused(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    testing_expect_failure(a, testing_call(a, CALL_OPEN, 0, 0, weft_none()), WEFT_INVALID_ARGUMENT,
                           "cut");
    testing_expect_failure(a, testing_call(a, CALL_OPEN, 0, 0, PAYLOAD(U8(1), TEXT(""), U16(9))),
                           WEFT_INVALID_ARGUMENT, "cut");
    testing_expect_failure(a, testing_try_open(a, (enum call_kind)99, "q", weft_none()),
                           WEFT_UNIMPLEMENTED, "kind 99");
}

// ---- Sessions ------------------------------------------------------------------------------------------------

static void a_session_with_a_name_that_is_too_long_is_refused(void **state)
{
    (void)state;
    char name[SESSION_MEMBER_BYTES + 1];
    memset(name, 'n', sizeof name);
    name[SESSION_MEMBER_BYTES] = 0;
    struct session *session;
    struct session_name wish = {.id = {9}, .member = name};
    assert_int_equal(host_open_session(testing.host, &wish, &session), WEFT_INVALID_ARGUMENT);
    err_clear();
    wish.member = name + 1;  // as long as one may be
    testing_must(host_open_session(testing.host, &wish, &session));
}

static void a_broker_is_nobodys_member(void **state)
{
    (void)state;
    struct host *host = host_new(&(struct host_options){.member = "", .epoch = 5});
    struct session *session;
    const struct session_name name = {.id = {1}, .member = ""};
    testing_must(host_open_session(host, &name, &session));
    assert_string_equal(host_member(host), "");
    assert_false(host_has_users(host, NULL));  // a tool is none
    host_expect(host, true);
    assert_true(host_has_users(host, NULL));
    struct buf bytes = {0};
    const weft_bytes payload = PAYLOAD(U8(CALL_KIND_QUEUE), TEXT(""), TEXT("q"));
    call_append_head(&bytes, CALL_OPEN, 0, 0, 1, payload.size);
    buf_append(&bytes, payload.data, payload.size);
    call_append_head(&bytes, CALL_LIST, 0, 0, 1 | CALL_ASKS_BIT, 0);
    weft_bytes rest = buf_bytes(&bytes);
    struct call call;
    while (rest.size) {
        testing_must(call_next(&rest, &call));
        testing_must(host_call(host, session, &call, 0));
    }
    weft_bytes answers = session_unsent(session);
    struct answer answer;
    testing_must(answer_next(&answers, &answer));
    testing_must(answer_next(&answers, &answer));
    const weft_bytes wanted = PAYLOAD(U8(CALL_KIND_QUEUE), TEXT("localhost"), TEXT("q"));
    assert_true(bytes_equal(answer.payload, wanted));
    buf_fini(&bytes);
    host_free(host);
}

// ---- Time ----------------------------------------------------------------------------------------------------

static void the_next_deadline_is_that_of_all_resources(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint16_t r = open_queue(a, "r", (struct queue_limits){0});
    assert_true(host_next_deadline(testing.host) == UINT64_MAX);
    expect_ok(a, push(a, q, "a"));
    expect_ok(a, push(a, r, "b"));
    host_set_time(testing.host, 1000);
    expect_item(a, take_for(a, q, 20), "a", 1);
    expect_item(a, take_for(a, r, 10), "b", 1);
    assert_true(host_next_deadline(testing.host) == 1010);
    host_set_time(testing.host, 1010);
    host_expire(testing.host);
    assert_true(host_next_deadline(testing.host) == 1020);
    expect_stored(a, r, "b");
    assert_int_equal(state_of(a, q).leases, 1);
    host_set_time(testing.host, 5000);
    host_expire(testing.host);
    assert_true(host_next_deadline(testing.host) == UINT64_MAX);
}

static void a_session_with_a_name_that_terminals_obey_is_refused(void **state)
{
    (void)state;
    struct session *session;
    const struct session_name name = {.id = {9}, .member = "/work/\x1b[31m0"};
    assert_int_equal(host_open_session(testing.host, &name, &session), WEFT_INVALID_ARGUMENT);
    err_clear();
}

// ---- Calls that gather -----------------------------------------------------------------------------------------

static size_t count_records(void)
{
    return testing_record_count(buf_bytes(&testing.journal));
}

static void calls_of_one_session_are_one_record(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    testing_must(host_write_calls(testing.host));
    const size_t before = count_records();
    for (int i = 0; i < 10; i++)
        push(a, q, "a");
    assert_int_equal(count_records(), before);
    push(b, q, "b");  // another session
    assert_int_equal(count_records(), before + 1);
    b->answered = 1;
    push(b, q, "b");  // the same, with another count
    assert_int_equal(count_records(), before + 2);
    testing_end(b);  // not a call
    assert_int_equal(count_records(), before + 4);
    testing_must(host_write_calls(testing.host));
    assert_int_equal(count_records(), before + 4);
}

static void a_record_of_calls_does_not_grow_for_ever(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    char element[4097] = "";
    memset(element, 'x', sizeof element - 1);
    testing_must(host_write_calls(testing.host));
    const size_t before = count_records();
    for (int i = 0; i < 100; i++)
        push(a, q, element);
    assert_int_equal(count_records(), before + 1);
}

static void gathered_calls_that_the_journal_refuses_wait_on(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    push(b, q, "a");
    testing.refuses_with = WEFT_RESOURCE_EXHAUSTED;
    assert_int_equal(host_write_calls(testing.host), WEFT_RESOURCE_EXHAUSTED);
    // After those that wait there is no place for others, and a call without a place is not done.
    assert_int_equal(call_as(a, CALL_QUEUE_PUSH, a->sequence + 1, q, weft_text("b")),
                     WEFT_RESOURCE_EXHAUSTED);
    err_clear();
    testing.refuses_with = WEFT_OK;
    testing_must(call_as(a, CALL_QUEUE_PUSH, ++a->sequence, q, weft_text("b")));
    expect_stored(a, q, "ab");
}

// ---- A journal that refuses ------------------------------------------------------------------------------------

static void a_session_that_the_journal_refuses_does_not_begin(void **state)
{
    (void)state;
    testing.refuses_with = WEFT_UNAVAILABLE;
    const struct session_name name = {.id = {9}, .member = "/work/0"};
    struct session *session;
    assert_int_equal(host_open_session(testing.host, &name, &session), WEFT_UNAVAILABLE);
    err_clear();
    assert_null(host_find_session(testing.host, name.id));
    testing.refuses_with = WEFT_OK;
    testing_join("/work/0");
}

static void a_call_that_the_journal_refuses_may_come_again(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    const uint64_t sequence = ++a->sequence;
    testing.refuses_with = WEFT_RESOURCE_EXHAUSTED;
    assert_int_equal(call_as(a, CALL_QUEUE_PUSH, sequence, q, weft_text("a")),
                     WEFT_RESOURCE_EXHAUSTED);
    err_clear();
    testing.refuses_with = WEFT_OK;
    expect_stored(a, q, "");
    // A new connection: it lacks this one, and sends it again.
    assert_true(a->session->applied == sequence - 1);
    testing_must(call_as(a, CALL_QUEUE_PUSH, sequence, q, weft_text("a")));
    expect_ok(a, sequence);
    expect_stored(a, q, "a");
}

// Or a restart would find its leases, and not what others have done since.
static void a_session_whose_end_the_journal_refuses_goes_on(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){0});
    expect_ok(a, push(a, q, "a"));
    take_now(a, q, "a", 1);
    testing.refuses_with = WEFT_RESOURCE_EXHAUSTED;
    assert_int_equal(host_end_session(testing.host, a->session), WEFT_RESOURCE_EXHAUSTED);
    err_clear();
    testing.refuses_with = WEFT_OK;
    assert_int_equal(state_of(b, q).leases, 1);
    testing_end(a);
    expect_stored(b, q, "a");
}

static void a_lease_whose_end_the_journal_refuses_goes_on(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){0});
    expect_ok(a, push(a, q, "a"));
    expect_item(a, take_for(a, q, 10), "a", 1);
    testing.refuses_with = WEFT_RESOURCE_EXHAUSTED;
    host_set_time(testing.host, 100);
    host_expire(testing.host);
    assert_string_equal(err_text(), "");
    assert_int_equal(state_of(a, q).leases, 1);
    testing.refuses_with = WEFT_OK;
    host_expire(testing.host);
    expect_stored(a, q, "a");
}

// ---- All at once -----------------------------------------------------------------------------------------------

static void a_snapshot_holds_everything_that_is_in_flight(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t q = open_queue(a, "q", (struct queue_limits){.capacity = 2, .deliveries = 3});
    const uint16_t r = open_queue(a, "r", (struct queue_limits){0});
    open_queue(b, "q", (struct queue_limits){.capacity = 2, .deliveries = 3});
    open_queue(b, "r", (struct queue_limits){0});
    expect_ok(a, push_keyed(a, q, "key", "a"));
    expect_ok(a, push(a, q, "b"));
    const struct call_item item = take_now(b, q, "a", 1);
    expect_ok(b, give_back(b, q, expect_item(b, take_for(b, q, 50), "b", 1), 0));
    const uint64_t many = push_many(a, q, "cdef"), keyed = push_keyed(b, q, "new", "g");
    const uint64_t closing = close_queue(a, q);
    const uint64_t big = pop_many(a, r, 3), single = take_for(b, r, 30);
    expect_ok(b, push_many(b, r, "xy"));
    testing_restart_from_snapshot();
    expect_seen(a, push_keyed(a, q, "key", "a"));
    expect_ok(b, push_many(b, r, "zw"));
    expect_elements(a, big, "xyz");
    expect_item(b, single, "w", 1);
    expect_stored(a, q, "bc");
    expect_ok(b, give_back(b, q, item, 0));
    expect_elements(b, pop_many(b, q, 7), "abcdefg");
    expect_ok(a, many);
    expect_ok(b, keyed);
    expect_ok(a, closing);
    expect_end(a, pop(a, q));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_call_that_comes_again_is_not_done_again),
        TEST(numbers_may_not_be_left_out),
        TEST(questions_are_answered_as_often_as_they_come),
        TEST(two_sessions_have_numbers_and_handles_of_their_own),
        TEST(other_lives_of_a_member_are_found),
        TEST(acknowledged_answers_are_gone_from_a_replay_too),
        TEST(a_handle_that_was_never_opened_is_an_invalid_argument),
        TEST(the_highest_handle_can_be_used),
        TEST(a_handle_is_opened_once),
        TEST(a_resource_stays_when_its_last_handle_goes),
        TEST(a_released_handle_can_be_opened_again),
        TEST(a_release_that_comes_again_does_not_release_again),
        TEST(what_waits_by_a_released_handle_goes_on_waiting),
        TEST(what_was_removed_is_freed_with_its_last_handle),
        TEST(a_queue_or_map_that_was_only_looked_for_goes_with_its_last_handle),
        TEST(a_queue_that_was_used_closed_or_described_stays),
        TEST(what_makes_no_sense_to_open_is_refused),
        TEST(a_session_with_a_name_that_is_too_long_is_refused),
        TEST(a_session_with_a_name_that_terminals_obey_is_refused),
        TEST(a_broker_is_nobodys_member),
        TEST(the_next_deadline_is_that_of_all_resources),
        TEST_GATHERING(calls_of_one_session_are_one_record),
        TEST_GATHERING(a_record_of_calls_does_not_grow_for_ever),
        TEST_GATHERING(gathered_calls_that_the_journal_refuses_wait_on),
        TEST(a_session_that_the_journal_refuses_does_not_begin),
        TEST(a_call_that_the_journal_refuses_may_come_again),
        TEST(a_session_whose_end_the_journal_refuses_goes_on),
        TEST(a_lease_whose_end_the_journal_refuses_goes_on),
        TEST(a_snapshot_holds_everything_that_is_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
