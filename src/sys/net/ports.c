// ports: binding says in one call whether an address is ours, whether it is free, and keeps it.

#include "sys/net/ports.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RANGE_PORTS =
        12000,  // below the first port of outgoing connections: 20768 to 32767 as Linux comes
    LOWEST_PORT = 1024,  // those below are for root
    EPHEMERAL_DEFAULT = 32768,
    TRIES_MAX = 500,
};

// A socket bound there that does not listen; -1 with errno. Alone: no other socket may be bound there, which
// also keeps two runs of ours apart. Otherwise connections of an earlier program that linger at the port
// do not count, as they will not for the program.
static int bind_socket(const struct sockaddr *address, socklen_t size, bool is_alone)
{
    const int on = 1, off = 0;
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (!is_alone)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address, size) == 0)
        return fd;
    const int number = errno;
    close(fd);
    errno = number;
    return -1;
}

// On all addresses, of IPv4 and IPv6 where the machine has both.
static int bind_everywhere(uint16_t port)
{
    const struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_ANY_INIT};
    const int fd = bind_socket((const struct sockaddr *)&six, sizeof six, true);
    if (fd >= 0 || errno == EADDRINUSE)
        return fd;
    const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    return bind_socket((const struct sockaddr *)&four, sizeof four, true);
}

// Where the ports of outgoing connections begin.
static unsigned read_ephemeral_start(void)
{
    unsigned first = EPHEMERAL_DEFAULT;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    if (!file)
        return first;
    if (fscanf(file, "%u", &first) != 1)
        first = EPHEMERAL_DEFAULT;
    fclose(file);
    return first;
}

weft_err port_choose(struct port_hold *hold, uint16_t *port)
{
    const unsigned end = read_ephemeral_start();
    const unsigned begin = end > LOWEST_PORT + RANGE_PORTS ? end - RANGE_PORTS : LOWEST_PORT;
    unsigned draw = 0;
    *hold = (struct port_hold){-1};
    for (int i = 0; i < TRIES_MAX && end > begin; i++) {
        if (getrandom(&draw, sizeof draw, 0) != (ssize_t)sizeof draw)
            draw += (unsigned)getpid() + 7919;
        *port = (uint16_t)(begin + draw % (end - begin));
        hold->fd = bind_everywhere(*port);
        if (hold->fd >= 0)
            return WEFT_OK;
        if (errno != EADDRINUSE && errno != EACCES)
            return err_errno("cannot reserve a port");
    }
    return err_set(WEFT_UNAVAILABLE, "no free port was found between %u and %u", begin, end);
}

static weft_err refuse(const char *host, uint16_t port)
{
    if (errno == EADDRNOTAVAIL)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "%s is not an address of this machine, and programs can only be started here", host);
    if (errno == EADDRINUSE)
        return err_set(WEFT_UNAVAILABLE, "another program listens at port %u of %s already", port,
                       host);
    return err_errno("port %u of %s", port, host);
}

weft_err port_hold(struct port_hold *hold, const char *host, uint16_t port)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char service[8];
    *hold = (struct port_hold){-1};
    snprintf(service, sizeof service, "%u", (unsigned)port);
    const int failure = getaddrinfo(host, service, &hints, &found);
    if (failure != 0)
        return err_set(WEFT_INVALID_ARGUMENT, "%s has no address: %s", host, gai_strerror(failure));
    // A host may have several addresses, some of a kind that the machine does not speak. One of them is
    // held. No program may listen at any of them, since the one that the program will take is not known.
    int number = 0;
    for (const struct addrinfo *at = found; at && number != EADDRINUSE; at = at->ai_next) {
        const int fd = bind_socket(at->ai_addr, at->ai_addrlen, false);
        if (fd < 0)
            number = number == 0 || errno == EADDRINUSE ? errno : number;
        else if (hold->fd < 0)
            hold->fd = fd;
        else
            close(fd);
    }
    freeaddrinfo(found);
    if (hold->fd >= 0 && number != EADDRINUSE)
        return WEFT_OK;
    port_release(hold);
    errno = number;
    return refuse(host, port);
}

bool port_share(struct port_hold *hold)
{
    const int on = 1;
    if (hold->fd >= 0 && setsockopt(hold->fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0)
        return true;
    port_release(hold);
    return false;
}

void port_release(struct port_hold *hold)
{
    if (hold->fd >= 0)
        close(hold->fd);
    hold->fd = -1;
}
