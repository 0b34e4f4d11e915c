// Connecting: the Unix socket first where there may be one, then each address of the name in turn.

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "sys/net/net_state.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"

enum { NS_PER_MS = 1000000 };

// Waits for a connection under way; 0, or the number of the error.
static int finish(int fd, uint64_t deadline_ns)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    for (;;) {
        const uint64_t now = clock_now_ns(), until_ns = interrupt_slice(deadline_ns);
        const uint64_t left_ms = until_ns > now ? (until_ns - now + NS_PER_MS - 1) / NS_PER_MS : 0;
        const int ready = poll(&wait, 1, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms);
        if (ready > 0)
            break;
        if (ready <= 0 && (clock_now_ns() >= deadline_ns || interrupt_ends(deadline_ns)))
            return ETIMEDOUT;
        if (ready < 0 && errno != EINTR)
            return errno;
    }
    int number = 0;
    socklen_t size = sizeof number;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size);
    return number;
}

// One address; 0, or the number of the error.
static int try_endpoint(const struct net_endpoint *endpoint, uint64_t deadline_ns, int *connected)
{
    const int fd = net_open_socket(endpoint->storage.ss_family);
    if (fd < 0)
        return errno;
    net_set_options(fd);
    int number = 0;
    if (connect(fd, (const struct sockaddr *)&endpoint->storage, endpoint->size) != 0)
        number = errno == EINPROGRESS || errno == EINTR ? finish(fd, deadline_ns) : errno;
    if (number == 0 && net_leads_to_itself(fd, endpoint))
        number = ECONNREFUSED;
    if (number != 0)
        close(fd);
    else
        *connected = fd;
    return number;
}

static weft_err refuse(const struct net_address *address, uint32_t timeout_ms, int number)
{
    char text[NET_ADDRESS_TEXT_BYTES];
    net_write_address(address, text);
    if (number == ECONNREFUSED)
        return err_set(WEFT_UNAVAILABLE,
                       "cannot connect to %s: no program listens there (connection refused)", text);
    if (number == ETIMEDOUT)
        return err_set(WEFT_UNAVAILABLE, "cannot connect to %s: no answer within %u ms", text,
                       timeout_ms);
    errno = number;
    const weft_err code = err_errno("cannot connect to %s", text);
    return code == WEFT_RESOURCE_EXHAUSTED ? code : WEFT_UNAVAILABLE;
}

weft_err net_connect(const struct net_address *address, uint32_t timeout_ms, int *fd)
{
    if (address->port == 0)
        return err_set(WEFT_INVALID_ARGUMENT, "cannot connect to %.200s: it has no port",
                       address->host);
    if (net_connect_nearby(address, fd))
        return WEFT_OK;
    const uint64_t deadline_ns = clock_now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
    struct net_endpoint endpoints[NET_ENDPOINTS_MAX];
    size_t count = 0;
    const weft_err code = net_resolve(address, false, endpoints, &count);
    if (code != WEFT_OK)
        return code;
    int number = 0, first = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t now = clock_now_ns();
        // An address that never answers leaves time for the following ones.
        const uint64_t share = deadline_ns > now ? (deadline_ns - now) / (count - i) : 0;
        number = try_endpoint(&endpoints[i], now + share, fd);
        if (number == 0)
            return WEFT_OK;
        // The first address says most: the second one of localhost is often no family of this machine.
        first = i == 0 ? number : first;
    }
    return refuse(address, timeout_ms, first);
}
