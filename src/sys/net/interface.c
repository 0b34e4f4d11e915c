// interface: asks the kernel for the addresses of all interfaces, and by a datagram socket, which sends nothing when it connects, for
// its own end of a way.

#include "sys/net/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/net/net_state.h"

// "fe80::1%eth0" has its interface with it.
static bool read_address(const char *text, struct sockaddr_storage *address, socklen_t *size)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_DGRAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    if (getaddrinfo(text, "9", &hints, &found) != 0)
        return false;
    memcpy(address, found->ai_addr, found->ai_addrlen);
    *size = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static bool is_same(const struct sockaddr *a, const struct sockaddr_storage *b)
{
    if (!a || a->sa_family != b->ss_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

static bool find(const struct sockaddr_storage *address, char name[INTERFACE_NAME_BYTES])
{
    struct ifaddrs *all = NULL;
    bool is_found = false;
    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *at = all; at && !is_found; at = at->ifa_next)
        if (is_same(at->ifa_addr, address)) {
            snprintf(name, INTERFACE_NAME_BYTES, "%s", at->ifa_name);
            is_found = true;
        }
    freeifaddrs(all);
    return is_found;
}

bool interface_find(const char *address, char name[INTERFACE_NAME_BYTES])
{
    struct sockaddr_storage own;
    socklen_t size;
    return read_address(address, &own, &size) && find(&own, name);
}

bool interface_find_towards(const char *address, char name[INTERFACE_NAME_BYTES])
{
    struct sockaddr_storage other, own;
    socklen_t size, own_size = sizeof own;
    if (!read_address(address, &other, &size))
        return false;
    const int fd = socket(other.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    const bool has_way = connect(fd, (const struct sockaddr *)&other, size) == 0 &&
                         getsockname(fd, (struct sockaddr *)&own, &own_size) == 0;
    close(fd);
    return has_way && find(&own, name);
}

// Numbers need no library of the system to be found (getnameinfo would load some for names).
static bool write_own(int fd, char own[INTERFACE_ADDRESS_BYTES])
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_storage storage;
    } address;
    socklen_t size = sizeof address;
    if (getsockname(fd, &address.any, &size) != 0)
        return false;
    const bool is_six = address.any.sa_family == AF_INET6;
    const void *number = is_six ? (const void *)&address.six.sin6_addr : &address.four.sin_addr;
    return inet_ntop(address.any.sa_family, number, own, INTERFACE_ADDRESS_BYTES) != NULL;
}

weft_err interface_find_own(const struct net_address *other, char own[INTERFACE_ADDRESS_BYTES])
{
    struct net_endpoint ends[NET_ENDPOINTS_MAX];
    struct net_address address = *other;
    size_t count = 0;
    bool is_found = false;
    if (address.port == 0)
        address.port = 9;
    const weft_err err = net_resolve(&address, false, ends, &count);
    for (size_t i = 0; !err && !is_found && i < count; i++) {
        const int fd = socket(ends[i].storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        is_found = fd >= 0 &&
                   connect(fd, (const struct sockaddr *)&ends[i].storage, ends[i].size) == 0 &&
                   write_own(fd, own);
        if (fd >= 0)
            close(fd);
    }
    if (!err && !is_found)
        return err_set(WEFT_UNAVAILABLE, "this machine has no way to %s", other->host);
    return err;
}
