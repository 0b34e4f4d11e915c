// Tests of sessions: which answers are kept, for how long, and when they are sent.

#include "resource/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "resource/host.h"

#define ASKS(n) ((uint64_t)(n) | CALL_ASKS_BIT)

static struct host *host;
static struct session *session;
static struct buf received;  // by the other side, as it came

static int start(void **state)
{
    (void)state;
    host = host_new(&(struct host_options){.member = "/work/0"});
    const struct session_name name = {.id = {1}, .member = "/work/1"};
    assert_int_equal(host_open_session(host, &name, &session), WEFT_OK);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    host_free(host);
    buf_fini(&received);
    received = (struct buf){0};
    return 0;
}

static void answer(uint64_t sequence, const char *text)
{
    session_answer(session, sequence, 0, weft_text(text));
}

// Sends up to that many bytes, as a connection does.
static void send_bytes(size_t most)
{
    weft_bytes unsent = session_unsent(session);
    const size_t size = unsent.size < most ? unsent.size : most;
    buf_append(&received, unsent.data, size);
    session_sent(session, size);
}

// The received bytes are the answers to these calls, up to a 0; it is forgotten.
static void expect_received(const uint64_t *sequences)
{
    weft_bytes rest = buf_bytes(&received);
    for (; *sequences; sequences++) {
        struct answer got;
        assert_int_equal(answer_next(&rest, &got), WEFT_OK);
        assert_true(got.sequence == *sequences);
        const bool is_counted = got.flags & ANSWER_FLAG_COUNTED;
        assert_true(is_counted == !(got.sequence & CALL_ASKS_BIT));
    }
    assert_int_equal(rest.size, 0);
    received.size = 0;
}

#define EXPECT_RECEIVED(...) expect_received((const uint64_t[]){__VA_ARGS__, 0})

static void reconnect(uint64_t answered)
{
    received.size = 0;
    session_acknowledge(session, answered);
    session_rewind(session);
    send_bytes(SIZE_MAX);
}

static void an_answer_is_kept_until_the_other_side_has_it(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 3; i++)
        answer(i, "abc");
    send_bytes(SIZE_MAX);
    EXPECT_RECEIVED(1, 2, 3);
    assert_int_equal(session_unsent(session).size, 0);
    reconnect(0);
    EXPECT_RECEIVED(1, 2, 3);
    reconnect(2);
    EXPECT_RECEIVED(3);
    assert_int_equal(session->acknowledged, 2);
    reconnect(3);
    EXPECT_RECEIVED(0);
    assert_int_equal(session->answers.size, 0);
}

static void what_is_not_counted_goes_when_it_is_sent(void **state)
{
    (void)state;
    answer(ASKS(1), "ping");
    answer(ASKS(2), "ping");
    send_bytes(SIZE_MAX);
    EXPECT_RECEIVED(ASKS(1), ASKS(2));
    assert_int_equal(session->answers.size, 0);
    assert_int_equal(session->acknowledged, 0);
    reconnect(0);
    EXPECT_RECEIVED(0);
}

static void what_is_not_counted_does_not_hold_up_what_is(void **state)
{
    (void)state;
    answer(1, "a");
    answer(ASKS(1), "b");
    answer(2, "c");
    answer(ASKS(2), "d");
    answer(3, "e");
    send_bytes(SIZE_MAX);
    EXPECT_RECEIVED(1, ASKS(1), 2, ASKS(2), 3);
    session_acknowledge(session, 2);
    assert_int_equal(session->acknowledged, 2);
    reconnect(2);
    EXPECT_RECEIVED(3);
    session_acknowledge(session, 3);
    assert_int_equal(session->answers.size, 0);
}

static void answers_may_be_sent_by_halves(void **state)
{
    (void)state;
    answer(ASKS(1), "not counted");
    answer(1, "first");
    answer(2, "second");
    const size_t all = session_unsent(session).size;
    for (size_t i = 0; i < all; i++)
        send_bytes(1);
    EXPECT_RECEIVED(ASKS(1), 1, 2);
    assert_int_equal(session_unsent(session).size, 0);
}

static void a_half_sent_answer_is_sent_again_whole(void **state)
{
    (void)state;
    answer(ASKS(1), "not counted");
    answer(1, "first");
    send_bytes(20);  // of the one that is not counted
    reconnect(0);
    EXPECT_RECEIVED(1);  // the other will be asked again
    answer(2, "second");
    send_bytes(20);
    reconnect(1);
    EXPECT_RECEIVED(2);
}

static void acknowledging_more_than_there_is_takes_what_there_is(void **state)
{
    (void)state;
    answer(1, "a");
    answer(2, "b");
    send_bytes(SIZE_MAX);
    session_acknowledge(session, 100);
    assert_int_equal(session->acknowledged, 2);
    assert_int_equal(session->answers.size, 0);
    received.size = 0;
    answer(3, "c");
    send_bytes(SIZE_MAX);
    EXPECT_RECEIVED(3);
    session_acknowledge(session, 1);  // an old frame
    assert_int_equal(session->acknowledged, 2);
    session_acknowledge(session, 3);
    assert_int_equal(session->acknowledged, 3);
}

// A replay acknowledges answers that it has not seen go.
static void what_was_never_sent_can_be_acknowledged(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 4; i++)
        answer(i, "abc");
    session_acknowledge(session, 3);
    send_bytes(SIZE_MAX);
    EXPECT_RECEIVED(4);
}

static void failures_are_answers_with_a_code_and_a_sentence(void **state)
{
    (void)state;
    session_fail(session, 1, WEFT_NOT_FOUND, "no %s", "such thing");
    session_fail_by_err(session, 2, err_set(WEFT_ABORTED, "%s", "gone"));
    assert_string_equal(err_text(), "");
    weft_bytes rest = session_unsent(session);
    static const weft_err codes[] = {WEFT_NOT_FOUND, WEFT_ABORTED};
    static const char *const texts[] = {"no such thing", "gone"};
    for (int i = 0; i < 2; i++) {
        struct answer got;
        assert_int_equal(answer_next(&rest, &got), WEFT_OK);
        assert_int_equal(got.code, codes[i]);
        assert_int_equal(got.flags, ANSWER_FLAG_COUNTED);
        assert_int_equal(got.payload.size, strlen(texts[i]));
        assert_memory_equal(got.payload.data, texts[i], got.payload.size);
    }
    assert_int_equal(rest.size, 0);
}

static void a_long_sentence_is_cut(void **state)
{
    (void)state;
    char text[3 * ERR_TEXT_BYTES_MAX];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    session_fail(session, 1, WEFT_NOT_FOUND, "%s", text);
    send_bytes(SIZE_MAX);
    assert_true(received.size <= CALL_HEAD_BYTES + ERR_TEXT_BYTES_MAX);
    EXPECT_RECEIVED(1);
}

static void an_answer_can_be_put_together_in_place(void **state)
{
    (void)state;
    answer(1, "before");
    memcpy(session_begin_answer(session, 2, ANSWER_FLAG_TUPLE, 6), "abcdef", 6);
    assert_non_null(session_begin_answer(session, 3, 0, 0));
    answer(4, "behind");
    weft_bytes rest = session_unsent(session);
    struct answer got;
    for (int i = 0; i < 2; i++)
        assert_int_equal(answer_next(&rest, &got), WEFT_OK);
    assert_int_equal(got.flags, ANSWER_FLAG_TUPLE | ANSWER_FLAG_COUNTED);
    assert_memory_equal(got.payload.data, "abcdef", 6);
    send_bytes(SIZE_MAX);
    EXPECT_RECEIVED(1, 2, 3, 4);
}

static void a_session_with_something_to_send_is_stirred_once(void **state)
{
    (void)state;
    assert_true(list_is_empty(host_stirred(host)));
    answer(1, "a");
    answer(2, "b");
    assert_ptr_equal(host_stirred(host)->next, &session->in_stirred);
    assert_ptr_equal(session->in_stirred.next, host_stirred(host));
    list_take_out(&session->in_stirred);
    send_bytes(SIZE_MAX);
    session_rewind(session);
    assert_ptr_equal(host_stirred(host)->next, &session->in_stirred);
    list_take_out(&session->in_stirred);
    session_acknowledge(session, 2);
    session_rewind(session);
    assert_true(list_is_empty(host_stirred(host)));
}

// Beside a plain list of the answers: the other side loses its connection at any byte, and never
// misses a counted answer nor sees one twice that it has said to have.
static void every_counted_answer_arrives_through_any_number_of_breaks(void **state)
{
    (void)state;
    uint64_t random = 3, next = 1, asks = 1, got = 0;
    for (int step = 0; step < 50000; step++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const uint32_t pick = (uint32_t)(random >> 33) % 16, size = (uint32_t)(random >> 40) % 300;
        if (pick < 5)
            session_answer(session, next++, 0, (weft_bytes){(const char[300]){0}, size});
        else if (pick < 7)
            session_answer(session, ASKS(asks++), 0, weft_none());
        else if (pick < 13)
            send_bytes(size);
        else if (pick < 15)
            session_acknowledge(session, got);
        else
            reconnect(got);
        weft_bytes rest = buf_bytes(&received);
        struct answer each;
        size_t whole = 0;
        while (rest.size && !answer_next(&rest, &each)) {
            whole = received.size - rest.size;
            if (!(each.sequence & CALL_ASKS_BIT))
                assert_true(each.sequence == ++got);
        }
        received.size -= whole;
        if (received.size)
            memmove(received.data, received.data + whole, received.size);
    }
    assert_true(got > 1000);
    assert_true(session->answers.capacity < 4 << 20);
    err_clear();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(an_answer_is_kept_until_the_other_side_has_it),
        TEST(what_is_not_counted_goes_when_it_is_sent),
        TEST(what_is_not_counted_does_not_hold_up_what_is),
        TEST(answers_may_be_sent_by_halves),
        TEST(a_half_sent_answer_is_sent_again_whole),
        TEST(acknowledging_more_than_there_is_takes_what_there_is),
        TEST(what_was_never_sent_can_be_acknowledged),
        TEST(failures_are_answers_with_a_code_and_a_sentence),
        TEST(a_long_sentence_is_cut),
        TEST(an_answer_can_be_put_together_in_place),
        TEST(a_session_with_something_to_send_is_stirred_once),
        TEST(every_counted_answer_arrives_through_any_number_of_breaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
