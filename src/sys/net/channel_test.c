// Tests of channels against hosts in another thread: plain, through TLS, slow, gone.

#include "sys/net/channel.h"

#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/loop/loop.h"
#include "sys/secure/tls.h"
#include "sys/time/clock.h"

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};
static const struct secret other_token = {.bytes = "0123456789abcdeg", .size = 16};

struct guest {
    struct echo *echo;
    struct loop_stream *stream;
};

// A host that sends every byte back, all connections on one loop.
struct echo {
    struct loop *loop;
    struct net_listener listener;
    struct loop_listener *listeners[NET_LISTENERS_MAX];
    pthread_t thread;
    const struct secret *token;
    bool is_secure;          // TLS for connections by TCP
    struct guest guests[8];  // they go with the loop
    size_t guest_count;
};

static void echo_data(void *owner, weft_bytes bytes)
{
    struct guest *guest = owner;
    if (bytes.data[0] == '!') {
        loop_stream_free(guest->stream);
        return;
    }
    buf_append(loop_stream_out(guest->stream), bytes.data, bytes.size);
    loop_stream_flush(guest->stream);
}

static void echo_ended(void *owner, weft_err code)
{
    struct guest *guest = owner;
    (void)code;
    loop_stream_free(guest->stream);
}

static void echo_accepted(void *owner, int fd)
{
    static const struct loop_stream_calls calls = {.data = echo_data, .ended = echo_ended};
    struct echo *echo = owner;
    assert_true(echo->guest_count < 8);
    struct guest *guest = &echo->guests[echo->guest_count++];
    guest->echo = echo;
    const bool is_local = net_is_local_stream(fd);
    guest->stream = loop_stream_new(guest->echo->loop, fd, &calls, guest);
    if (!is_local && guest->echo->is_secure)
        loop_stream_secure(guest->stream, tls_new(true, guest->echo->token));
}

static void echo_woken(void *owner)
{
    struct echo *echo = owner;
    loop_stop(echo->loop);
}

static void *echo_run(void *argument)
{
    struct echo *echo = argument;
    loop_run(echo->loop);
    return NULL;
}

static void echo_start(struct echo *echo, const char *text, struct net_address *address)
{
    assert_int_equal(net_read_address(text, 0, address), WEFT_OK);
    echo->loop = loop_new(echo_woken, echo);
    assert_int_equal(net_listen(address, &echo->listener), WEFT_OK);
    address->port = echo->listener.port;
    for (size_t i = 0; i < echo->listener.count; i++)
        echo->listeners[i] =
            loop_listener_new(echo->loop, echo->listener.fds[i], echo_accepted, echo);
    assert_int_equal(pthread_create(&echo->thread, NULL, echo_run, echo), 0);
}

static void echo_stop(struct echo *echo)
{
    loop_wake(echo->loop);
    pthread_join(echo->thread, NULL);
    loop_free(echo->loop);
    net_listener_close(&echo->listener);
}

// Sends and receives until all of it is back.
static void bounce(struct channel *channel, size_t size)
{
    char *bytes = malloc(size);
    struct buf in = {0};
    size_t done = 0;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)('a' + i * 7 % 23);
    while (in.size < size) {
        size_t sent = 0, received = 0;
        bool timed_out = false;
        assert_int_equal(channel_send(channel, (weft_bytes){bytes + done, size - done}, &sent),
                         WEFT_OK);
        done += sent;
        assert_int_equal(channel_receive(channel, &in, &received), WEFT_OK);
        if (sent == 0 && received == 0)
            assert_int_equal(channel_wait(channel, done < size, -1, UINT64_MAX, &timed_out),
                             WEFT_OK);
        assert_false(timed_out);
    }
    assert_true(in.size == size && memcmp(in.data, bytes, size) == 0);
    buf_fini(&in);
    free(bytes);
}

static void check_bounces(const char *listen_at, const char *host, bool is_local, bool is_secure)
{
    struct echo echo = {.token = &token, .is_secure = true};
    struct net_address address;
    struct channel *channel = NULL;
    echo_start(&echo, listen_at, &address);
    snprintf(address.host, sizeof address.host, "%s", host);
    assert_int_equal(channel_open(&address, &token, 5000, &channel), WEFT_OK);
    assert_int_equal(channel_is_local(channel), is_local);
    assert_int_equal(channel_is_secure(channel), is_secure);
    bounce(channel, 1);
    bounce(channel, 100);
    bounce(channel, 3000000);
    bounce(channel, 17);
    channel_close(channel);
    echo_stop(&echo);
}

static void everything_comes_back_over_the_unix_socket(void **state)
{
    (void)state;
    check_bounces("localhost:0", "localhost", true, false);
}

// 127.0.0.3 stands for a client whose Unix socket is not there: the host is known by another name.
static void everything_comes_back_through_tls_over_loopback(void **state)
{
    (void)state;
    check_bounces("0.0.0.0:0", "127.0.0.3", false, true);
}

static bool find_own_name(char *name, size_t size)
{
    struct net_address address = {.port = 9};
    int fd;
    // A name of this machine that does not look like loopback, and leads to it all the same.
    snprintf(address.host, sizeof address.host, "127.1");
    if (net_address_is_loopback(&address) || size < 6)
        return false;
    if (net_connect(&address, 100, &fd) == WEFT_OK)
        close(fd);
    else if (!strstr(err_text(), "refused"))
        return false;
    memcpy(name, "127.1", 6);
    return true;
}

static void everything_comes_back_through_tls(void **state)
{
    (void)state;
    char name[64];
    if (!find_own_name(name, sizeof name))
        skip();
    check_bounces("0.0.0.0:0", name, false, true);
}

static void another_token_is_refused_with_the_address(void **state)
{
    (void)state;
    struct echo echo = {.token = &other_token, .is_secure = true};
    struct net_address address;
    struct channel *channel = NULL;
    char name[64];
    if (!find_own_name(name, sizeof name))
        skip();
    echo_start(&echo, "0.0.0.0:0", &address);
    memcpy(address.host, name, strlen(name) + 1);
    assert_int_equal(channel_open(&address, &token, 5000, &channel), WEFT_UNAUTHENTICATED);
    assert_non_null(strstr(err_text(), name));
    assert_null(channel);
    echo_stop(&echo);
}

// A program that accepts connections and says nothing, or something that is not TLS.
static void check_stranger(const char *words, weft_err expected)
{
    const struct sockaddr_in any = {.sin_family = AF_INET};
    struct sockaddr_in bound;
    socklen_t size = sizeof bound;
    struct channel *channel = NULL;
    struct net_address address = {0};
    if (!find_own_name(address.host, sizeof address.host))
        skip();
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(listener, 5), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&bound, &size), 0);
    address.port = ntohs(bound.sin_port);
    const pid_t pid = fork();
    if (pid == 0) {
        const int fd = accept(listener, NULL, NULL);
        if (send(fd, words, strlen(words), 0) < 0)
            _exit(1);
        pause();
    }
    assert_int_equal(channel_open(&address, &token, 200, &channel), expected);
    assert_null(channel);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(listener);
}

static void a_host_that_says_nothing_is_given_up(void **state)
{
    (void)state;
    check_stranger("", WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "in time"));
}

static void a_host_that_speaks_something_else_is_told_apart(void **state)
{
    (void)state;
    check_stranger("220 mail.example.org ESMTP\r\n", WEFT_DATA_LOSS);
}

static void a_host_that_closes_is_unavailable(void **state)
{
    (void)state;
    struct echo echo = {.token = &token};
    struct net_address address;
    struct channel *channel = NULL;
    struct buf in = {0};
    size_t size = 0;
    weft_err code = WEFT_OK;
    bool timed_out = false;
    echo_start(&echo, "localhost:0", &address);
    assert_int_equal(channel_open(&address, &token, 5000, &channel), WEFT_OK);
    assert_int_equal(channel_send(channel, (weft_bytes){"!", 1}, &size), WEFT_OK);
    while (code == WEFT_OK) {
        assert_int_equal(channel_wait(channel, false, -1, UINT64_MAX, &timed_out), WEFT_OK);
        code = channel_receive(channel, &in, &size);
    }
    assert_int_equal(code, WEFT_UNAVAILABLE);
    assert_int_equal(in.size, 0);
    code = WEFT_OK;
    for (int i = 0; i < 3 && code == WEFT_OK; i++)
        code = channel_send(channel, (weft_bytes){"x", 1}, &size);
    assert_int_equal(code, WEFT_UNAVAILABLE);
    buf_fini(&in);
    channel_close(channel);
    channel_close(NULL);
    echo_stop(&echo);
}

static void waiting_ends_by_the_deadline_or_by_a_wake_up(void **state)
{
    (void)state;
    struct echo echo = {.token = &token};
    struct net_address address;
    struct channel *channel = NULL;
    const int waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const uint64_t one = 1;
    echo_start(&echo, "localhost:0", &address);
    assert_int_equal(channel_open(&address, &token, 5000, &channel), WEFT_OK);
    for (uint32_t spin = 0; spin <= 50; spin += 50) {
        bool timed_out = false;
        channel_set_spin(channel, spin);
        const uint64_t deadline_ns = clock_now_ns() + 2000000;
        assert_int_equal(channel_wait(channel, false, waker, deadline_ns, &timed_out), WEFT_OK);
        assert_true(timed_out && clock_now_ns() >= deadline_ns);
        assert_int_equal(channel_wait(channel, false, -1, 0, &timed_out), WEFT_OK);
        assert_true(timed_out);
        assert_int_equal(write(waker, &one, sizeof one), sizeof one);
        assert_int_equal(channel_wait(channel, false, waker, UINT64_MAX, &timed_out), WEFT_OK);
        assert_false(timed_out);
        uint64_t count;
        assert_int_equal(read(waker, &count, sizeof count), sizeof count);
        assert_int_equal(channel_wait(channel, true, waker, UINT64_MAX, &timed_out), WEFT_OK);
        assert_false(timed_out);  // there is room to send
    }
    close(waker);
    channel_close(channel);
    echo_stop(&echo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back_over_the_unix_socket),
        cmocka_unit_test(everything_comes_back_through_tls_over_loopback),
        cmocka_unit_test(everything_comes_back_through_tls),
        cmocka_unit_test(another_token_is_refused_with_the_address),
        cmocka_unit_test(a_host_that_says_nothing_is_given_up),
        cmocka_unit_test(a_host_that_speaks_something_else_is_told_apart),
        cmocka_unit_test(a_host_that_closes_is_unavailable),
        cmocka_unit_test(waiting_ends_by_the_deadline_or_by_a_wake_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
