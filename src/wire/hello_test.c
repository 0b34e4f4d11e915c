// Tests of the hello: both machines joined by hand.

#include "wire/hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};
static const struct secret other_token = {.bytes = "0123456789abcdeg", .size = 16};

struct meeting {
    struct hello_client client;
    struct hello_server server;
    struct buf to_server, to_client;
    struct frame frame;
    struct frame_parser parser;
};

static void fill_hello(struct hello *hello)
{
    *hello = (struct hello){.member = "/map/3",
                            .incarnation = 7,
                            .session = "session-of-16-b",
                            .epoch = UINT64_MAX,
                            .resumes = true,
                            .answers_received = 1234567890123};
    memset(hello->nonce, 5, sizeof hello->nonce);
}

static void meet(struct meeting *meeting, const struct hello *hello,
                 const struct secret *host_token, const char *host)
{
    uint8_t nonce[HELLO_NONCE_BYTES];
    memset(nonce, 9, sizeof nonce);
    *meeting = (struct meeting){0};
    hello_server_init(&meeting->server, host_token, nonce, host);
    assert_int_equal(hello_client_start(&meeting->client, hello, &token, &meeting->to_server),
                     WEFT_OK);
}

// The only frame in `bytes`, which are then empty.
static const struct frame *next_frame(struct meeting *meeting, struct buf *bytes)
{
    bool has_frame = false;
    frame_parser_fini(&meeting->parser);
    meeting->parser.payload_bytes_max = HELLO_FRAME_BYTES_MAX;
    assert_int_equal(frame_parser_feed(&meeting->parser, bytes->data, bytes->size), WEFT_OK);
    assert_int_equal(frame_parser_next(&meeting->parser, &meeting->frame, &has_frame), WEFT_OK);
    assert_true(has_frame && !frame_parser_is_inside_frame(&meeting->parser));
    bytes->size = 0;
    return &meeting->frame;
}

static weft_err serve(struct meeting *meeting)
{
    return hello_server_take(&meeting->server, next_frame(meeting, &meeting->to_server),
                             &meeting->to_client);
}

static weft_err answer(struct meeting *meeting, bool *is_done, struct hello_welcome *welcome)
{
    return hello_client_take(&meeting->client, next_frame(meeting, &meeting->to_client),
                             &meeting->to_server, is_done, welcome);
}

static void part(struct meeting *meeting)
{
    hello_client_fini(&meeting->client);
    frame_parser_fini(&meeting->parser);
    buf_fini(&meeting->to_server);
    buf_fini(&meeting->to_client);
}

static void both_with_the_token_agree_on_a_session(void **state)
{
    (void)state;
    struct meeting meeting;
    struct hello hello;
    struct hello_welcome welcome, given = {.epoch = 3, .applied = 99};
    bool is_done = true;
    fill_hello(&hello);
    snprintf(hello.expected_host, sizeof hello.expected_host, "/ps/0");
    meet(&meeting, &hello, &token, "/ps/0");
    assert_int_equal(serve(&meeting), WEFT_OK);
    assert_int_equal(meeting.server.state, HELLO_SERVER_CHALLENGED);
    assert_int_equal(answer(&meeting, &is_done, &welcome), WEFT_OK);
    assert_false(is_done);
    assert_int_equal(serve(&meeting), WEFT_OK);
    assert_int_equal(meeting.server.state, HELLO_SERVER_PROVEN);
    const struct hello *told = &meeting.server.hello;
    assert_string_equal(told->member, "/map/3");
    assert_string_equal(told->version, WEFT_VERSION_TEXT);
    assert_int_equal(told->incarnation, 7);
    assert_memory_equal(told->session, hello.session, sizeof hello.session);
    assert_true(told->epoch == UINT64_MAX && told->resumes);
    assert_int_equal(told->answers_received, 1234567890123);
    assert_int_equal(hello_server_welcome(&meeting.server, &given, &meeting.to_client), WEFT_OK);
    assert_int_equal(answer(&meeting, &is_done, &welcome), WEFT_OK);
    assert_true(is_done);
    assert_true(welcome.epoch == 3 && welcome.applied == 99);
    assert_string_equal(welcome.host, "/ps/0");
    part(&meeting);
}

static void a_host_with_another_token_sees_no_proof(void **state)
{
    (void)state;
    struct meeting meeting;
    struct hello hello;
    struct hello_welcome welcome;
    bool is_done = true;
    fill_hello(&hello);
    meet(&meeting, &hello, &other_token, "");
    assert_int_equal(serve(&meeting), WEFT_OK);
    assert_int_equal(answer(&meeting, &is_done, &welcome), WEFT_UNAUTHENTICATED);
    assert_non_null(strstr(err_text(), "--token-file"));
    assert_false(is_done);
    assert_int_equal(meeting.to_server.size, 0);
    part(&meeting);
}

// A member without the token can only guess, or send back the bytes that it has seen.
static void a_member_without_the_token_is_refused(void **state)
{
    (void)state;
    for (int reflects = 0; reflects < 2; reflects++) {
        struct meeting meeting;
        struct hello hello;
        struct hello_welcome welcome;
        bool is_done;
        uint8_t guess[SECRET_MAC_BYTES] = {1};
        Weft__HostChallenge *challenge = NULL;
        Weft__HostProof proof = WEFT__HOST_PROOF__INIT;
        fill_hello(&hello);
        meet(&meeting, &hello, &token, "");
        assert_int_equal(serve(&meeting), WEFT_OK);
        assert_int_equal(message_unpack(next_frame(&meeting, &meeting.to_client),
                                        &weft__host_challenge__descriptor, &challenge),
                         WEFT_OK);
        proof.proof =
            reflects ? challenge->proof : (ProtobufCBinaryData){.len = sizeof guess, .data = guess};
        assert_int_equal(
            message_append(&meeting.to_server, WEFT__FRAME_TYPE__FRAME_HOST_PROOF, &proof.base),
            WEFT_OK);
        message_free(challenge);
        assert_int_equal(serve(&meeting), WEFT_UNAUTHENTICATED);
        assert_int_equal(meeting.server.state, HELLO_SERVER_REFUSED);
        assert_int_equal(answer(&meeting, &is_done, &welcome), WEFT_UNAUTHENTICATED);
        part(&meeting);
    }
}

static void another_member_at_the_address_is_named(void **state)
{
    (void)state;
    struct meeting meeting;
    struct hello hello;
    struct hello_welcome welcome;
    bool is_done;
    fill_hello(&hello);
    snprintf(hello.expected_host, sizeof hello.expected_host, "/ps/0");
    meet(&meeting, &hello, &token, "/ps/1");
    assert_int_equal(serve(&meeting), WEFT_OK);
    assert_int_equal(answer(&meeting, &is_done, &welcome), WEFT_OK);
    assert_int_equal(serve(&meeting), WEFT_FAILED_PRECONDITION);
    assert_int_equal(answer(&meeting, &is_done, &welcome), WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "/ps/0"));
    assert_non_null(strstr(err_text(), "/ps/1"));
    part(&meeting);
}

static void another_version_is_refused_by_name(void **state)
{
    (void)state;
    struct meeting meeting;
    struct hello hello;
    struct hello_welcome welcome;
    bool is_done;
    Weft__HostHello future = WEFT__HOST_HELLO__INIT;
    fill_hello(&hello);
    meet(&meeting, &hello, &token, "");
    meeting.to_server.size = 0;
    future.wire_version = WIRE_VERSION + 41;
    future.version = (char *)"9.8.7\nrefused\x9b";
    future.nonce = (ProtobufCBinaryData){.len = sizeof hello.nonce, .data = hello.nonce};
    assert_int_equal(
        message_append(&meeting.to_server, WEFT__FRAME_TYPE__FRAME_HOST_HELLO, &future.base),
        WEFT_OK);
    assert_int_equal(serve(&meeting), WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "9.8.7?refused?"));  // a line of a log stays one
    assert_int_equal(answer(&meeting, &is_done, &welcome), WEFT_FAILED_PRECONDITION);
    assert_true(meeting.client.is_host_proven);
    assert_non_null(strstr(err_text(), "9.8.7"));
    assert_non_null(strstr(err_text(), WEFT_VERSION_TEXT));
    assert_non_null(strstr(err_text(), "42"));
    part(&meeting);
}

// Whatever an impostor refuses with, it is not an answer of the host.
static void a_refusal_without_a_proof_is_a_hint(void **state)
{
    (void)state;
    static const struct secret *const tokens[] = {&other_token, NULL};
    for (int number = 0; number < 40; number++)
        for (size_t i = 0; i < 2; i++) {
            struct meeting meeting;
            struct hello hello;
            struct hello_welcome welcome;
            bool is_done;
            fill_hello(&hello);
            meet(&meeting, &hello, &token, "");
            hello_server_init(&meeting.server, tokens[i], meeting.server.nonce, "");
            memcpy(meeting.server.hello.nonce, hello.nonce, sizeof hello.nonce);
            meeting.server.has_nonce = tokens[i] != NULL;
            assert_int_equal(hello_server_refuse(&meeting.server, (weft_err)number, "it is over",
                                                 &meeting.to_client),
                             WEFT_OK);
            assert_int_equal(answer(&meeting, &is_done, &welcome), WEFT_UNAVAILABLE);
            assert_false(meeting.client.is_host_proven);
            assert_non_null(strstr(err_text(), "it is over"));
            part(&meeting);
        }
}

// One that answers another client, or whose words were changed, is none either.
static void a_refusal_is_for_one_client_and_as_it_was_said(void **state)
{
    (void)state;
    for (int change = 0; change < 3; change++) {
        struct meeting meeting;
        struct hello hello;
        struct hello_welcome welcome;
        bool is_done;
        fill_hello(&hello);
        meet(&meeting, &hello, &token, "");
        memcpy(meeting.server.hello.nonce, hello.nonce, sizeof hello.nonce);
        meeting.server.hello.nonce[31] ^= change == 1;
        meeting.server.has_nonce = true;
        assert_int_equal(
            hello_server_refuse(&meeting.server, WEFT_ABORTED, "it is over", &meeting.to_client),
            WEFT_OK);
        if (change == 2)
            *(char *)memmem(meeting.to_client.data, meeting.to_client.size, "over", 4) = 'O';
        assert_int_equal(answer(&meeting, &is_done, &welcome),
                         change ? WEFT_UNAVAILABLE : WEFT_ABORTED);
        part(&meeting);
    }
}

static void the_owner_may_refuse_with_his_own_words(void **state)
{
    (void)state;
    struct meeting meeting;
    struct hello hello;
    struct hello_welcome welcome;
    bool is_done;
    char words[5000];
    memset(words, 'w', sizeof words - 1);
    words[sizeof words - 1] = 0;
    memcpy(words, "too many sessions\x1b[2J", 21);
    fill_hello(&hello);
    meet(&meeting, &hello, &token, "");
    assert_int_equal(serve(&meeting), WEFT_OK);
    assert_int_equal(answer(&meeting, &is_done, &welcome), WEFT_OK);
    assert_int_equal(serve(&meeting), WEFT_OK);
    assert_int_equal(
        hello_server_refuse(&meeting.server, WEFT_RESOURCE_EXHAUSTED, words, &meeting.to_client),
        WEFT_OK);
    assert_int_equal(answer(&meeting, &is_done, &welcome), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "too many sessions?[2J"));
    part(&meeting);
}

static void frames_out_of_order_are_refused(void **state)
{
    (void)state;
    struct meeting meeting;
    struct hello hello;
    struct hello_welcome welcome;
    bool is_done = true;
    fill_hello(&hello);
    meet(&meeting, &hello, &token, "");
    const struct frame calls = {.type = WEFT__FRAME_TYPE__FRAME_CALLS, .payload = {"xyz", 3}};
    assert_int_equal(hello_server_take(&meeting.server, &calls, &meeting.to_client),
                     WEFT_DATA_LOSS);
    const struct frame early = {.type = WEFT__FRAME_TYPE__FRAME_HOST_WELCOME};
    assert_int_equal(
        hello_client_take(&meeting.client, &early, &meeting.to_server, &is_done, &welcome),
        WEFT_DATA_LOSS);
    assert_false(is_done);
    // And nothing brings them back.
    assert_int_equal(serve(&meeting), WEFT_DATA_LOSS);
    part(&meeting);
}

static void a_large_frame_is_refused_before_it_has_arrived(void **state)
{
    (void)state;
    struct frame_parser parser = {.payload_bytes_max = HELLO_FRAME_BYTES_MAX};
    struct frame frame = {0};
    uint8_t header[FRAME_HEADER_BYTES];
    bool has_frame = true;
    frame_encode_header(header, WEFT__FRAME_TYPE__FRAME_HOST_HELLO, HELLO_FRAME_BYTES_MAX + 1);
    assert_int_equal(frame_parser_feed(&parser, header, sizeof header), WEFT_OK);
    assert_int_equal(frame_parser_next(&parser, &frame, &has_frame), WEFT_DATA_LOSS);
    parser.payload_bytes_max = 0;
    assert_int_equal(frame_parser_next(&parser, &frame, &has_frame), WEFT_OK);
    assert_false(has_frame);
    frame_parser_fini(&parser);
}

static void the_longest_hello_fits(void **state)
{
    (void)state;
    struct meeting meeting;
    struct hello hello;
    fill_hello(&hello);
    memset(hello.member, 'm', sizeof hello.member - 1);
    memset(hello.expected_host, 'h', sizeof hello.expected_host - 1);
    meet(&meeting, &hello, &token, "");
    assert_int_equal(serve(&meeting), WEFT_OK);
    assert_string_equal(meeting.server.hello.member, hello.member);
    part(&meeting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_with_the_token_agree_on_a_session),
        cmocka_unit_test(a_host_with_another_token_sees_no_proof),
        cmocka_unit_test(a_member_without_the_token_is_refused),
        cmocka_unit_test(another_member_at_the_address_is_named),
        cmocka_unit_test(another_version_is_refused_by_name),
        cmocka_unit_test(a_refusal_without_a_proof_is_a_hint),
        cmocka_unit_test(a_refusal_is_for_one_client_and_as_it_was_said),
        cmocka_unit_test(the_owner_may_refuse_with_his_own_words),
        cmocka_unit_test(frames_out_of_order_are_refused),
        cmocka_unit_test(a_large_frame_is_refused_before_it_has_arrived),
        cmocka_unit_test(the_longest_hello_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
