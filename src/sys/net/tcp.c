// Waiting for sockets of foreign services.

#include "sys/net/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"

enum { NS_PER_MS = 1000000, BUFFER_BYTES = 64 << 10 };

struct tcp {
    int fd;
    uint32_t silence_ms;
    char name[NET_ADDRESS_TEXT_BYTES];
    size_t begin, end;  // of the bytes in the buffer
    char buffer[BUFFER_BYTES];
};

weft_err tcp_open(const struct net_address *address, uint32_t connect_ms, uint32_t silence_ms,
                  struct tcp **opened)
{
    struct tcp *tcp = malloc(sizeof *tcp);
    *opened = NULL;
    if (!tcp)
        return err_no_memory("for a connection");
    tcp->silence_ms = silence_ms;
    tcp->begin = tcp->end = 0;
    net_write_address(address, tcp->name);
    const weft_err code = net_connect(address, connect_ms, &tcp->fd);
    if (code == WEFT_OK)
        *opened = tcp;
    else
        free(tcp);
    return code;
}

weft_err tcp_adopt(int fd, const char *name, uint32_t silence_ms, struct tcp **adopted)
{
    struct tcp *tcp = malloc(sizeof *tcp);
    *adopted = tcp;
    if (!tcp) {
        close(fd);
        return err_no_memory("for a connection");
    }
    tcp->fd = fd;
    tcp->silence_ms = silence_ms;
    tcp->begin = tcp->end = 0;
    snprintf(tcp->name, sizeof tcp->name, "%s", name);
    const weft_err code = net_adopt(fd);
    if (code == WEFT_OK)
        return code;
    tcp_close(tcp);
    *adopted = NULL;
    return code;
}

void tcp_close(struct tcp *tcp)
{
    if (!tcp)
        return;
    close(tcp->fd);
    free(tcp);
}

const char *tcp_name(const struct tcp *tcp)
{
    return tcp->name;
}

// Numbers need no library of the system to be found (getnameinfo would load some for names).
weft_err tcp_own_host(const struct tcp *tcp, char host[TCP_HOST_BYTES])
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_storage storage;
    } own;
    socklen_t size = sizeof own;
    memset(&own, 0, sizeof own);
    if (getsockname(tcp->fd, &own.any, &size) != 0)
        return err_errno("%s: our own address", tcp->name);
    const bool is_six = own.any.sa_family == AF_INET6;
    const void *address = is_six ? (const void *)&own.six.sin6_addr : &own.four.sin_addr;
    if ((!is_six && own.any.sa_family != AF_INET) ||
        !inet_ntop(own.any.sa_family, address, host, TCP_HOST_BYTES))
        return err_set(WEFT_UNKNOWN, "%s: our own address is not known", tcp->name);
    // An IPv4 address in the clothes of IPv6.
    if (is_six && strncmp(host, "::ffff:", 7) == 0 && strchr(host, '.'))
        memmove(host, host + 7, strlen(host + 7) + 1);
    return WEFT_OK;
}

static weft_err await(const struct tcp *tcp, short events)
{
    struct pollfd wait = {.fd = tcp->fd, .events = events};
    const uint64_t deadline_ns = clock_now_ns() + (uint64_t)tcp->silence_ms * NS_PER_MS;
    for (;;) {
        const uint64_t now = clock_now_ns(), until_ns = interrupt_slice(deadline_ns);
        const uint64_t left_ms = until_ns > now ? (until_ns - now + NS_PER_MS - 1) / NS_PER_MS : 0;
        const int ready = poll(&wait, 1, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms);
        if (ready > 0)
            return WEFT_OK;
        if (ready < 0 && errno != EINTR)
            return err_errno("cannot wait for %s", tcp->name);
        if (clock_now_ns() >= deadline_ns || interrupt_ends(deadline_ns))
            return err_set(WEFT_UNAVAILABLE, "%s has been silent for %u ms", tcp->name,
                           tcp->silence_ms);
    }
}

static weft_err tell_broken(const struct tcp *tcp)
{
    const weft_err code = err_errno("the connection to %s broke", tcp->name);
    return code == WEFT_RESOURCE_EXHAUSTED ? code : WEFT_UNAVAILABLE;
}

weft_err tcp_send(struct tcp *tcp, const void *data, size_t size)
{
    const char *from = data;
    while (size > 0) {
        const ssize_t sent = send(tcp->fd, from, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return tell_broken(tcp);
        if (sent < 0) {
            const weft_err code = await(tcp, POLLOUT);
            if (code != WEFT_OK)
                return code;
            continue;
        }
        from += sent;
        size -= (size_t)sent;
    }
    return WEFT_OK;
}

// Whatever has arrived, after a wait if that is nothing; 0 at the end.
static weft_err receive_now(const struct tcp *tcp, void *data, size_t size, size_t *got)
{
    for (;;) {
        const ssize_t taken = recv(tcp->fd, data, size, 0);
        if (taken >= 0) {
            *got = (size_t)taken;
            return WEFT_OK;
        }
        if (errno != EAGAIN && errno != EINTR)
            return tell_broken(tcp);
        const weft_err code = await(tcp, POLLIN);
        if (code != WEFT_OK)
            return code;
    }
}

weft_err tcp_receive_some(struct tcp *tcp, void *data, size_t size, size_t *got)
{
    *got = 0;
    if (size == 0)
        return WEFT_OK;
    if (tcp->begin == tcp->end && size >= BUFFER_BYTES)
        return receive_now(tcp, data, size, got);
    if (tcp->begin == tcp->end) {
        tcp->begin = tcp->end = 0;
        const weft_err code = receive_now(tcp, tcp->buffer, BUFFER_BYTES, &tcp->end);
        if (code != WEFT_OK)
            return code;
    }
    *got = tcp->end - tcp->begin < size ? tcp->end - tcp->begin : size;
    memcpy(data, tcp->buffer + tcp->begin, *got);
    tcp->begin += *got;
    return WEFT_OK;
}

weft_err tcp_receive(struct tcp *tcp, void *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        size_t got;
        const weft_err code = tcp_receive_some(tcp, (char *)data + done, size - done, &got);
        if (code != WEFT_OK)
            return code;
        if (got == 0)
            return err_set(WEFT_UNAVAILABLE, "%s closed the connection too early", tcp->name);
        done += got;
    }
    return WEFT_OK;
}
