// Listening: one socket for each address of a name, all with one port, and a Unix socket beside them.

#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sys/net/net_state.h"

enum {
    PORT_TRIES_MAX = 32,  // a free port of one family may be taken in the other
    CONNECTIONS_MAX = 1 << 20,
    SPARE_DESCRIPTORS = 64,
};

static int open_socket(const struct net_endpoint *endpoint)
{
    const int family = endpoint->storage.ss_family, yes = 1;
    const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    // A host that starts anew must not wait for the connections of the last one to be forgotten.
    if (family != AF_UNIX)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, (const struct sockaddr *)&endpoint->storage, endpoint->size) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return fd;
    const int number = errno;
    close(fd);
    errno = number;
    return -1;
}

void net_listener_close(struct net_listener *listener)
{
    for (size_t i = 0; i < listener->count; i++)
        close(listener->fds[i]);
    *listener = (struct net_listener){0};
}

// Without a family, or without this address, another one of the same name may do.
static bool is_another_worth_trying(int number)
{
    return number == EAFNOSUPPORT || number == EADDRNOTAVAIL;
}

// False: errno says why.
static bool listen_on_network(struct net_endpoint *endpoints, size_t count,
                              struct net_listener *listener)
{
    int number = EADDRNOTAVAIL;
    for (size_t i = 0; i < count && listener->count < NET_LISTENERS_MAX - 1; i++) {
        net_set_port(&endpoints[i], listener->port);
        const int fd = open_socket(&endpoints[i]);
        if (fd < 0 && is_another_worth_trying(errno)) {
            number = errno;
            continue;
        }
        if (fd < 0)
            return false;
        listener->fds[listener->count++] = fd;
        struct net_endpoint chosen = {.size = sizeof chosen.storage};
        ASSERT(getsockname(fd, (struct sockaddr *)&chosen.storage, &chosen.size) == 0);
        listener->port = net_get_port(&chosen);
    }
    errno = number;
    return listener->count > 0;
}

// Whether a process of our own user listens under the name that we could not have.
static bool is_taken_by_us(const struct net_endpoint *local)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const bool is_ours = fd >= 0 &&
                         connect(fd, (const struct sockaddr *)&local->storage, local->size) == 0 &&
                         net_peer_is_ours(fd);
    if (fd >= 0)
        close(fd);
    return is_ours;
}

// False only when another host of this user has the name: a client of one of the two would reach the other.
// A name that another user has taken only costs speed: clients check which user listens.
static bool listen_nearby(const struct net_address *address, struct net_listener *listener)
{
    struct net_address chosen = *address;
    struct net_endpoint local;
    chosen.port = listener->port;
    if (!net_find_local(&chosen, &local))
        return true;
    const int fd = open_socket(&local);
    if (fd >= 0)
        listener->fds[listener->count++] = fd;
    else if (errno == EADDRINUSE && is_taken_by_us(&local)) {
        errno = EADDRINUSE;
        return false;
    }
    return true;
}

static weft_err refuse(const struct net_address *address)
{
    char text[NET_ADDRESS_TEXT_BYTES];
    net_write_address(address, text);
    switch (errno) {
    case EADDRINUSE:
        return err_set(WEFT_UNAVAILABLE,
                       "cannot listen on %s: the port is taken\n  try: another port, or 0 for any "
                       "that is free; `ss -ltnp` shows which process has it",
                       text);
    case EACCES:
        return err_set(WEFT_PERMISSION_DENIED,
                       "cannot listen on %s: ports under 1024 are for root\n  try: a higher one",
                       text);
    case EADDRNOTAVAIL:
        return err_set(WEFT_UNAVAILABLE,
                       "cannot listen on %s: this machine has no such address\n  try: :%u for all "
                       "its interfaces",
                       text, address->port);
    default:
        return err_errno("cannot listen on %s", text);
    }
}

weft_err net_listen(const struct net_address *address, struct net_listener *listener)
{
    struct net_endpoint endpoints[NET_ENDPOINTS_MAX];
    size_t count = 0;
    const weft_err code = net_resolve(address, true, endpoints, &count);
    if (code != WEFT_OK)
        return code;
    const int tries = address->port == 0 ? PORT_TRIES_MAX : 1;
    for (int i = 0; i < tries; i++) {
        struct net_listener opened = {.port = address->port};
        if (listen_on_network(endpoints, count, &opened) && listen_nearby(address, &opened)) {
            *listener = opened;
            return WEFT_OK;
        }
        const int number = errno;
        net_listener_close(&opened);
        errno = number;
        if (number != EADDRINUSE)
            break;
    }
    return refuse(address);
}

uint32_t net_connections_max(void)
{
    struct rlimit limit = {.rlim_cur = 1024};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t most = limit.rlim_cur > CONNECTIONS_MAX ? CONNECTIONS_MAX : limit.rlim_cur;
    return most > 2 * SPARE_DESCRIPTORS ? (uint32_t)most - SPARE_DESCRIPTORS
                                        : (uint32_t)(most + 1) / 2;
}

static weft_err check_accepted(int fd, int *accepted)
{
    if (net_is_local_stream(fd) && !net_peer_is_ours(fd)) {
        close(fd);
        return err_set(WEFT_PERMISSION_DENIED,
                       "refused a process of another user at the Unix socket");
    }
    net_set_options(fd);
    *accepted = fd;
    return WEFT_OK;
}

weft_err net_accept(int listener_fd, int *fd)
{
    *fd = -1;
    for (;;) {
        const int accepted = accept4(listener_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted >= 0)
            return check_accepted(accepted, fd);
        ASSERT(errno != EBADF && errno != ENOTSOCK && errno != EINVAL);  // else it would never end
        switch (errno) {
        case EAGAIN:
            return WEFT_OK;
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM:
            err_errno("cannot accept a connection");
            return WEFT_RESOURCE_EXHAUSTED;
        default:  // a connection that died while it waited, or an error of its network: the next one
            break;
        }
    }
}
