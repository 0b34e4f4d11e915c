// Tests of the place where processes meet: tables of requests, each with the answer that it gets from what the ones before have left.

#include "crew/meeting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define NOT_THERE "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define BAD "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

// NULL: the request is not whole.
static void ask(struct meeting *meeting, const char *request, const char *expected)
{
    struct buf answer = {0};
    const bool is_whole = meeting_answer(meeting, weft_text(request), &answer);
    assert_int_equal(is_whole, expected != NULL);
    assert_string_equal(buf_text(&answer), expected ? expected : "");
    buf_fini(&answer);
}

static int open(void **state)
{
    struct meeting *meeting = calloc(1, sizeof *meeting);
    meeting_init(meeting, 7);
    *state = meeting;
    return 0;
}

static int close(void **state)
{
    meeting_fini(*state);
    free(*state);
    return 0;
}

static void what_was_put_is_there_until_it_is_deleted(void **state)
{
    ask(*state, "GET /global/0 HTTP/1.1\r\nHost: h:1\r\n\r\n", NOT_THERE);
    ask(*state, "PUT /global/0 HTTP/1.1\r\nHost: h:1\r\nContent-Length: 5\r\n\r\nhello", OK);
    ask(*state, "GET /global/0 HTTP/1.1\r\nHost: h:1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
    ask(*state, "GET /global/1 HTTP/1.0\r\n\r\n", NOT_THERE);
    ask(*state, "GET /local_h/0 HTTP/1.1\r\n\r\n", NOT_THERE);
    ask(*state, "PUT /global/0 HTTP/1.1\r\ncontent-length:2\r\n\r\nhi", OK);
    ask(*state, "GET /global/0 HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
    ask(*state, "DELETE /global/0 HTTP/1.1\r\nContent-Length: 0\r\n\r\n", OK);
    ask(*state, "GET /global/0 HTTP/1.1\r\n\r\n", NOT_THERE);
    ask(*state, "DELETE /global/0 HTTP/1.1\r\n\r\n", OK);
    assert_int_equal(((struct meeting *)*state)->bytes, 0);
}

// As Horovod's client writes requests: a length with each, and values of a process that is alone in its group are empty.
static void a_length_may_be_zero(void **state)
{
    ask(*state, "GET /local_h/0 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", NOT_THERE);
    ask(*state, "PUT /local_h/0 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", OK);
    ask(*state, "GET /local_h/0 HTTP/1.1\r\nHost: h\r\nContent-Length: 00\r\n\r\n", OK);
}

static void a_request_may_come_in_pieces(void **state)
{
    static const char text[] = "PUT /a/b HTTP/1.1\r\nContent-Length: 3\r\n\r\nxyz";
    for (size_t size = 0; size + 1 < sizeof text - 1; size++) {
        struct buf answer = {0};
        assert_false(meeting_answer(*state, (weft_bytes){text, size}, &answer));
        assert_int_equal(answer.size, 0);
    }
    ask(*state, text, OK);
    ask(*state, "GET /a/b HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nxyz");
}

static void values_are_bytes(void **state)
{
    static const char head[] = "PUT /a/b HTTP/1.1\r\nContent-Length: 6\r\n\r\n";
    static const char bytes[6] = {0, '\r', '\n', '\r', '\n', (char)255};
    struct buf request = {0}, answer = {0};
    buf_append_text(&request, head);
    buf_append(&request, bytes, sizeof bytes);
    assert_true(meeting_answer(*state, buf_bytes(&request), &answer));
    answer.size = 0;
    assert_true(meeting_answer(*state, weft_text("GET /a/b HTTP/1.1\r\n\r\n"), &answer));
    assert_memory_equal(answer.data + answer.size - sizeof bytes, bytes, sizeof bytes);
    buf_fini(&request);
    buf_fini(&answer);
}

static void what_is_no_request_is_refused(void **state)
{
    static const char *const bad[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET /a HTTP/1.1\r\n\r\n",
        "GET /a/ HTTP/1.1\r\n\r\n",
        "GET //a HTTP/1.1\r\n\r\n",
        "GET /a/b/c HTTP/1.1\r\n\r\n",
        "GET a/b HTTP/1.1\r\n\r\n",
        "GET /a/b\r\n\r\n",
        "GET /a/b HTTP/2\r\n\r\n",
        "PUT /a/b HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "PUT /a/b HTTP/1.1\r\nContent-Length: 1x\r\n\r\n",
        "PUT /a/b HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ask(*state, bad[i], BAD);
    ask(*state, "POST /a/b HTTP/1.1\r\n\r\n",
        "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    ask(*state, "PUT /a/b HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n",
        "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

static void there_is_an_end_to_heads_and_values(void **state)
{
    struct buf request = {0}, answer = {0};
    char path[64];
    for (int i = 0; i <= MEETING_HEAD_BYTES_MAX; i++)
        buf_append_text(&request, "x");
    assert_true(meeting_answer(*state, buf_bytes(&request), &answer));
    assert_memory_equal(buf_text(&answer), "HTTP/1.1 431 ", 13);
    bool is_full = false;
    for (int i = 0; i < 2 * MEETING_BYTES_MAX / MEETING_VALUE_BYTES_MAX && !is_full; i++) {
        request.size = answer.size = 0;
        snprintf(path, sizeof path, "PUT /a/%d HTTP/1.1\r\nContent-Length: %d\r\n\r\n", i,
                 MEETING_VALUE_BYTES_MAX);
        buf_append_text(&request, path);
        memset(buf_reserve(&request, MEETING_VALUE_BYTES_MAX), 'v', MEETING_VALUE_BYTES_MAX);
        request.size += MEETING_VALUE_BYTES_MAX;
        assert_true(meeting_answer(*state, buf_bytes(&request), &answer));
        is_full = memcmp(buf_text(&answer), "HTTP/1.1 507 ", 13) == 0;
    }
    assert_true(is_full);
    assert_true(((struct meeting *)*state)->bytes <= MEETING_BYTES_MAX);
    buf_fini(&request);
    buf_fini(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_put_is_there_until_it_is_deleted, open, close),
        cmocka_unit_test_setup_teardown(a_length_may_be_zero, open, close),
        cmocka_unit_test_setup_teardown(a_request_may_come_in_pieces, open, close),
        cmocka_unit_test_setup_teardown(values_are_bytes, open, close),
        cmocka_unit_test_setup_teardown(what_is_no_request_is_refused, open, close),
        cmocka_unit_test_setup_teardown(there_is_an_end_to_heads_and_values, open, close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
