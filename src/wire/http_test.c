// Tests of HTTP: requests as a server must see them, answers in all their forms, and those that are none.
#include "wire/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int other;  // the server's end
static struct http *http;

static void begin(const char *method, int64_t body_bytes)
{
    const struct net_address address = {.host = "node", .port = 9870};
    const struct http_request request = {.address = &address,
                                         .method = method,
                                         .target = "/a?b=c",
                                         .body_bytes = body_bytes,
                                         .content_type = body_bytes ? "text/plain" : NULL};
    int ends[2];
    struct tcp *tcp;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(tcp_adopt(ends[0], "node:9870", 200, &tcp), WEFT_OK);
    assert_int_equal(http_over(tcp, &request, &http), WEFT_OK);
    other = ends[1];
}

static void answer(const char *text)
{
    assert_int_equal(send(other, text, strlen(text), 0), (ssize_t)strlen(text));
}

// The server has said all.
static void hang_up(void)
{
    shutdown(other, SHUT_WR);
}

static void expect_request(const char *expected)
{
    char seen[1000] = "";
    assert_true(recv(other, seen, sizeof seen - 1, 0) > 0);
    assert_string_equal(seen, expected);
}

static void end(void)
{
    http_close(http);
    close(other);
    err_clear();
}

static void expect_body(const char *expected)
{
    struct buf text = {0};
    assert_int_equal(http_read_all(http, 1000, &text), WEFT_OK);
    assert_string_equal(buf_text(&text), expected);
    buf_fini(&text);
}

static void a_request_says_where_and_how_much(void **state)
{
    (void)state;
    begin("GET", HTTP_NO_BODY);
    expect_request(
        "GET /a?b=c HTTP/1.1\r\nHost: node:9870\r\nAccept: */*\r\nConnection: close\r\n\r\n");
    end();
    begin("PUT", 3);
    assert_int_equal(http_send(http, "abc", 3), WEFT_OK);
    expect_request("PUT /a?b=c HTTP/1.1\r\nHost: node:9870\r\nAccept: */*\r\nConnection: close\r\n"
                   "Content-Length: 3\r\nContent-Type: text/plain\r\n\r\nabc");
    end();
}

static void a_body_of_unknown_size_goes_in_chunks(void **state)
{
    (void)state;
    struct http_answer got;
    begin("PUT", HTTP_UNKNOWN_SIZE);
    assert_int_equal(http_send(http, "hello", 5), WEFT_OK);
    assert_int_equal(http_send(http, "", 0), WEFT_OK);
    answer("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(http_finish(http, &got), WEFT_OK);
    assert_int_equal(got.status, 201);
    char seen[1000] = "";
    assert_true(recv(other, seen, sizeof seen - 1, 0) > 0);
    assert_non_null(strstr(seen, "Transfer-Encoding: chunked\r\n"));
    assert_non_null(strstr(seen, "\r\n\r\n5\r\nhello\r\n0\r\n\r\n"));
    end();
}

static void answers_come_by_size_in_chunks_or_to_the_end(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello and more",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nA: b\r\n\r\n",
        "HTTP/1.0 200 OK\n\nhello",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct http_answer got;
        begin("GET", HTTP_NO_BODY);
        answer(answers[i]);
        hang_up();
        assert_int_equal(http_finish(http, &got), WEFT_OK);
        assert_int_equal(got.status, 200);
        expect_body("hello");
        end();
    }
}

static void a_body_that_is_cut_off_is_no_body(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct http_answer got;
        struct buf text = {0};
        begin("GET", HTTP_NO_BODY);
        answer(answers[i]);
        hang_up();
        assert_int_equal(http_finish(http, &got), WEFT_OK);
        assert_int_equal(http_read_all(http, 1000, &text), WEFT_UNAVAILABLE);
        buf_fini(&text);
        end();
    }
}

static void what_is_no_answer_is_refused(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "SSH-2.0-x\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct http_answer got;
        begin("GET", HTTP_NO_BODY);
        answer(answers[i]);
        hang_up();
        assert_int_equal(http_finish(http, &got), WEFT_DATA_LOSS);
        end();
    }
}

static void a_silent_server_is_not_waited_for_for_ever(void **state)
{
    (void)state;
    struct http_answer got;
    begin("GET", HTTP_NO_BODY);
    answer("HTTP/1.1 200 OK\r\n");
    assert_int_equal(http_finish(http, &got), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "silent"));
    end();
}

static void a_redirection_names_its_place(void **state)
{
    (void)state;
    struct http_answer got;
    struct net_address address;
    const char *target;
    begin("GET", HTTP_NO_BODY);
    answer(
        "HTTP/1.1 307 There\r\nLOCATION: http://dn:9864/x%20y?op=OPEN\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(http_finish(http, &got), WEFT_OK);
    assert_int_equal(http_read_url(got.location, &address, &target), WEFT_OK);
    assert_string_equal(address.host, "dn");
    assert_int_equal(address.port, 9864);
    assert_string_equal(target, "/x%20y?op=OPEN");
    end();
    static const char *const wrong[] = {
        "https://a/b",          "http://",  "http:///x", "http://a?b", "http://a/b c",
        "http://a/\r\nHost: b", "ftp://a/", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(http_read_url(wrong[i], &address, &target), WEFT_INVALID_ARGUMENT);
    err_clear();
}

static void names_are_escaped(void **state)
{
    (void)state;
    struct buf out = {0};
    http_append_escaped(&out, "/a b/\xc3\xa9?&%~-._", true);
    assert_string_equal(buf_text(&out), "/a%20b/%C3%A9%3F%26%25~-._");
    out.size = 0;
    http_append_escaped(&out, "a/b", false);
    assert_string_equal(buf_text(&out), "a%2Fb");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_says_where_and_how_much),
        cmocka_unit_test(a_body_of_unknown_size_goes_in_chunks),
        cmocka_unit_test(answers_come_by_size_in_chunks_or_to_the_end),
        cmocka_unit_test(a_body_that_is_cut_off_is_no_body),
        cmocka_unit_test(what_is_no_answer_is_refused),
        cmocka_unit_test(a_silent_server_is_not_waited_for_for_ever),
        cmocka_unit_test(a_redirection_names_its_place),
        cmocka_unit_test(names_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
