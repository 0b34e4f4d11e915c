// Tests of frames and messages: sent bytes arrive, bytes that are not a frame are refused.

#include "wire/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int make_pair(void **state)
{
    int *fds = malloc(2 * sizeof *fds);
    *state = fds;
    return socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
}

static int drop_pair(void **state)
{
    int *fds = *state;
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(fds);
    return 0;
}

static void close_end(int *fds, int i)
{
    close(fds[i]);
    fds[i] = -1;
}

static void a_frame_arrives_as_it_was_sent(void **state)
{
    const int *fds = *state;
    struct frame frame = {0};
    assert_int_equal(frame_send(fds[0], WEFT__FRAME_TYPE__FRAME_SEAL, "payload", 7), WEFT_OK);
    assert_int_equal(frame_send(fds[0], WEFT__FRAME_TYPE__FRAME_BYE, NULL, 0), WEFT_OK);
    assert_int_equal(frame_receive(fds[1], &frame), WEFT_OK);
    assert_int_equal(frame.type, WEFT__FRAME_TYPE__FRAME_SEAL);
    assert_int_equal(frame.payload.size, 7);
    assert_memory_equal(frame.payload.data, "payload", 7);
    assert_int_equal(frame_receive(fds[1], &frame), WEFT_OK);
    assert_int_equal(frame.type, WEFT__FRAME_TYPE__FRAME_BYE);
    assert_int_equal(frame.payload.size, 0);
    frame_fini(&frame);
}

static void the_header_has_the_documented_bytes(void **state)
{
    (void)state;
    uint8_t header[FRAME_HEADER_BYTES];
    frame_encode_header(header, WEFT__FRAME_TYPE__FRAME_TASK_END, 0x01020304);
    assert_memory_equal(header, "\x04\x03\x02\x01\x06\x00\x00\x00", 8);
}

static void the_end_of_the_stream_is_told_between_frames_and_inside_one(void **state)
{
    int *fds = *state;
    struct frame frame = {0};
    assert_int_equal(write(fds[0], "\x07\0\0\0\x06\0\0\0abc", 11), 11);
    close_end(fds, 0);
    assert_int_equal(frame_receive(fds[1], &frame), WEFT_UNAVAILABLE);
    assert_int_equal(frame_receive(fds[1], &frame), WEFT_UNAVAILABLE);
    assert_string_equal(err_text(), "the other side has closed the connection");
    frame_fini(&frame);
}

static void sending_to_a_peer_that_has_gone_is_an_error_and_no_signal(void **state)
{
    int *fds = *state;
    close_end(fds, 1);
    assert_int_equal(frame_send(fds[0], WEFT__FRAME_TYPE__FRAME_BYE, NULL, 0), WEFT_UNAVAILABLE);
}

static void what_is_no_frame_is_refused(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "\x00\x00\x00\x00\x00\x00\x00\x00",  // type 0
        "\x00\x00\x00\x00\x01\x01\x00\x00",  // bytes that must be zero
        "\x00\x00\x00\x00\x01\x00\x00\x01",
        "\x01\x00\x00\x04\x01\x00\x00\x00",  // 64 MiB and one byte
        "HTTP/1.1 400 Bad Request",
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct frame_parser parser = {0};
        struct frame frame = {0};
        bool has_frame = true;
        assert_int_equal(frame_parser_feed(&parser, broken[i], 8), WEFT_OK);
        assert_int_equal(frame_parser_next(&parser, &frame, &has_frame), WEFT_DATA_LOSS);
        assert_false(has_frame);
        frame_parser_fini(&parser);
    }
}

static void a_message_over_the_limit_is_not_sent(void **state)
{
    const int *fds = *state;
    assert_int_equal(
        frame_send(fds[0], WEFT__FRAME_TYPE__FRAME_SEAL, NULL, (size_t)FRAME_PAYLOAD_BYTES_MAX + 1),
        WEFT_RESOURCE_EXHAUSTED);
}

// Frames of sizes 0..299, cut at every distance: they come out whole, whatever the cuts.
static void the_parser_does_not_care_how_the_stream_is_cut(void **state)
{
    (void)state;
    struct buf stream = {0};
    for (size_t size = 0; size < 300; size++) {
        uint8_t header[FRAME_HEADER_BYTES];
        frame_encode_header(header, WEFT__FRAME_TYPE__FRAME_TASK_RUN, size);
        buf_append(&stream, header, sizeof header);
        for (size_t i = 0; i < size; i++)
            buf_append(&stream, &(char){(char)(size + i)}, 1);
    }
    for (size_t cut = 1; cut < 900; cut += cut < 20 ? 1 : 97) {
        struct frame_parser parser = {0};
        size_t count = 0;
        for (size_t at = 0; at < stream.size; at += cut) {
            const size_t piece = stream.size - at < cut ? stream.size - at : cut;
            assert_int_equal(frame_parser_feed(&parser, stream.data + at, piece), WEFT_OK);
            struct frame frame = {0};
            for (bool has_frame = true; has_frame; count += has_frame) {
                assert_int_equal(frame_parser_next(&parser, &frame, &has_frame), WEFT_OK);
                if (!has_frame)
                    break;
                assert_int_equal(frame.payload.size, count);
                for (size_t i = 0; i < count; i++)
                    assert_int_equal(frame.payload.data[i], (char)(count + i));
            }
        }
        assert_int_equal(count, 300);
        assert_false(frame_parser_is_inside_frame(&parser));
        frame_parser_fini(&parser);
    }
    buf_fini(&stream);
}

static void a_message_arrives_as_it_was_sent(void **state)
{
    const int *fds = *state;
    char long_text[5000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    Weft__TaskEnd sent = WEFT__TASK_END__INIT;
    sent.task = 7;
    sent.code = WEFT_NOT_FOUND;
    sent.text = long_text;  // too long for the stack's buffer
    assert_int_equal(message_send(fds[0], WEFT__FRAME_TYPE__FRAME_TASK_END, &sent.base), WEFT_OK);
    struct frame frame = {0};
    Weft__TaskEnd *got = NULL;
    assert_int_equal(frame_receive(fds[1], &frame), WEFT_OK);
    assert_int_equal(message_unpack(&frame, &weft__task_end__descriptor, &got), WEFT_OK);
    assert_int_equal(got->task, 7);
    assert_int_equal(got->code, WEFT_NOT_FOUND);
    assert_string_equal(got->text, long_text);
    message_free(got);
    frame_fini(&frame);
}

static void a_payload_that_is_no_message_is_refused(void **state)
{
    (void)state;
    struct frame frame = {.type = WEFT__FRAME_TYPE__FRAME_HELLO, .payload = weft_text("\xff\xff")};
    Weft__Hello *hello = NULL;
    assert_int_equal(message_unpack(&frame, &weft__hello__descriptor, &hello), WEFT_DATA_LOSS);
    assert_null(hello);
    assert_string_equal(err_text(), "a frame of type 1 holds no readable Hello");
}

static void another_wire_version_is_refused_with_both_versions(void **state)
{
    (void)state;
    Weft__Hello hello = WEFT__HELLO__INIT;
    hello.wire_version = WIRE_VERSION;
    hello.version = "9.8.7";
    assert_int_equal(message_check_hello(&hello), WEFT_OK);
    hello.wire_version = WIRE_VERSION + 41;
    assert_int_equal(message_check_hello(&hello), WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "weft 9.8.7 and speaks wire version 42"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_frame_arrives_as_it_was_sent, make_pair, drop_pair),
        cmocka_unit_test(the_header_has_the_documented_bytes),
        cmocka_unit_test_setup_teardown(the_end_of_the_stream_is_told_between_frames_and_inside_one,
                                        make_pair, drop_pair),
        cmocka_unit_test_setup_teardown(sending_to_a_peer_that_has_gone_is_an_error_and_no_signal,
                                        make_pair, drop_pair),
        cmocka_unit_test(what_is_no_frame_is_refused),
        cmocka_unit_test_setup_teardown(a_message_over_the_limit_is_not_sent, make_pair, drop_pair),
        cmocka_unit_test(the_parser_does_not_care_how_the_stream_is_cut),
        cmocka_unit_test_setup_teardown(a_message_arrives_as_it_was_sent, make_pair, drop_pair),
        cmocka_unit_test(a_payload_that_is_no_message_is_refused),
        cmocka_unit_test(another_wire_version_is_refused_with_both_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
