// What addresses stand for, and who is at the other end of a connection. Their texts are in address.c.

#include "sys/net/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/un.h>
#include <unistd.h>

#include "sys/net/net_state.h"

// A peer that says nothing is asked after 4 s, then every 2 s; the third question without an answer is
// the last. Unacknowledged bytes may be as old.
enum { KEEP_IDLE_S = 4, KEEP_INTERVAL_S = 2, KEEP_COUNT = 3, UNANSWERED_MS_MAX = 10000 };

// ---- What addresses stand for ---------------------------------------------------------------------

static bool is_everywhere(const char *host)
{
    return !host[0] || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

void net_set_port(struct net_endpoint *endpoint, uint16_t port)
{
    if (endpoint->storage.ss_family == AF_INET)
        ((struct sockaddr_in *)&endpoint->storage)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)&endpoint->storage)->sin6_port = htons(port);
}

uint16_t net_get_port(const struct net_endpoint *endpoint)
{
    const struct sockaddr_storage *storage = &endpoint->storage;
    return ntohs(storage->ss_family == AF_INET ? ((const struct sockaddr_in *)storage)->sin_port
                                               : ((const struct sockaddr_in6 *)storage)->sin6_port);
}

// Both families of a name that needs no resolver: it may be missing, as in a static program.
static void set_known(bool is_any, uint16_t port, struct net_endpoint endpoints[2])
{
    const struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(is_any ? INADDR_ANY : INADDR_LOOPBACK)};
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                                     .sin6_addr = is_any ? in6addr_any : in6addr_loopback};
    endpoints[0] = (struct net_endpoint){.size = sizeof four};
    endpoints[1] = (struct net_endpoint){.size = sizeof six};
    memcpy(&endpoints[0].storage, &four, sizeof four);
    memcpy(&endpoints[1].storage, &six, sizeof six);
    net_set_port(&endpoints[0], port);
    net_set_port(&endpoints[1], port);
}

weft_err net_resolve(const struct net_address *address, bool is_for_listening,
                     struct net_endpoint endpoints[NET_ENDPOINTS_MAX], size_t *count)
{
    if (!address->host[0] || net_is_localhost(address->host)) {
        set_known(is_for_listening && !address->host[0], address->port, endpoints);
        *count = 2;
        return WEFT_OK;
    }
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const int failure = getaddrinfo(address->host, NULL, &hints, &found);
    if (failure != 0)
        return err_set(WEFT_UNAVAILABLE, "the name %s cannot be resolved: %s", address->host,
                       failure == EAI_SYSTEM ? strerror(errno) : gai_strerror(failure));
    *count = 0;
    for (struct addrinfo *at = found; at && *count < NET_ENDPOINTS_MAX; at = at->ai_next) {
        if (at->ai_family != AF_INET && at->ai_family != AF_INET6)
            continue;
        struct net_endpoint *endpoint = &endpoints[(*count)++];
        *endpoint = (struct net_endpoint){.size = at->ai_addrlen};
        memcpy(&endpoint->storage, at->ai_addr, at->ai_addrlen);
        net_set_port(endpoint, address->port);
    }
    freeaddrinfo(found);
    return *count > 0 ? WEFT_OK
                      : err_set(WEFT_UNAVAILABLE, "the name %s has no address", address->host);
}

weft_err net_find_number(const struct net_address *address, char number[NET_NUMBER_BYTES])
{
    struct net_endpoint endpoints[NET_ENDPOINTS_MAX];
    size_t count = 0;
    const weft_err err = net_resolve(address, false, endpoints, &count);
    if (err)
        return err;
    const struct sockaddr_storage *first = &endpoints[0].storage;
    const void *bytes = first->ss_family == AF_INET
                            ? (const void *)&((const struct sockaddr_in *)first)->sin_addr
                            : (const void *)&((const struct sockaddr_in6 *)first)->sin6_addr;
    return inet_ntop(first->ss_family, bytes, number, NET_NUMBER_BYTES)
               ? WEFT_OK
               : err_errno("the address of %s", address->host);
}

bool net_find_local(const struct net_address *address, struct net_endpoint *endpoint)
{
    const char *host = address->host;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const bool is_everyday = is_everywhere(host) || net_is_localhost(host) ||
                             strcmp(host, "127.0.0.1") == 0 || strcmp(host, "::1") == 0;
    if (!is_everyday && !net_address_is_loopback(address))
        return false;
    // After a zero byte: the abstract namespace. 127.0.0.2 is this machine, too, yet another host.
    const int size =
        snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "weft-%u-%u%s%s", (unsigned)geteuid(),
                 address->port, is_everyday ? "" : "-", is_everyday ? "" : host);
    *endpoint = (struct net_endpoint){
        .size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size)};
    memcpy(&endpoint->storage, &name, sizeof name);
    return true;
}

// ---- Who is at the other end ----------------------------------------------------------------------

bool net_leads_to_itself(int fd, const struct net_endpoint *endpoint)
{
    struct net_endpoint here = {.size = sizeof here.storage};
    return getsockname(fd, (struct sockaddr *)&here.storage, &here.size) == 0 &&
           here.size == endpoint->size && memcmp(&here.storage, &endpoint->storage, here.size) == 0;
}

void net_set_options(int fd)
{
    const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS_MAX},
    };
    if (net_is_local_stream(fd))
        return;
    // A kernel without one of them is slower or learns later: nothing to fail for.
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

bool net_is_local_stream(int fd)
{
    int domain = 0;
    socklen_t size = sizeof domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

static bool ask_peer(int fd, struct ucred *peer)
{
    socklen_t size = sizeof *peer;
    return net_is_local_stream(fd) && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &size) == 0;
}

bool net_peer_is_ours(int fd)
{
    struct ucred peer;
    return ask_peer(fd, &peer) && peer.uid == geteuid();
}

pid_t net_peer_pid(int fd)
{
    struct ucred peer;
    return ask_peer(fd, &peer) ? peer.pid : 0;
}

bool net_process_is_gone(pid_t pid)
{
    if (pid <= 0)
        return false;
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return true;
    char path[32], text[512], state = 0;
    long threads = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "re");
    const size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = 0;
    // After the name in parentheses, which may hold anything: state is the 3rd field, threads the 20th.
    const char *fields = strrchr(text, ')');
    if (!fields || sscanf(fields + 1,
                          " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
                          &state, &threads) != 2)
        return false;
    // The first thread of a process may end long before the others do.
    return (state == 'Z' || state == 'X') && threads <= 1;
}

void net_name_peer(int fd, char *text, size_t size)
{
    struct sockaddr_storage peer = {0};
    socklen_t peer_size = sizeof peer;
    char number[INET6_ADDRSTRLEN] = "";
    const pid_t pid = net_peer_pid(fd);
    if (pid > 0) {
        snprintf(text, size, "pid %ld", (long)pid);
        return;
    }
    snprintf(text, size, "an unknown client");
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) != 0)
        return;
    if (peer.ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)&peer;
        inet_ntop(AF_INET, &four->sin_addr, number, sizeof number);
        snprintf(text, size, "%s:%u", number, ntohs(four->sin_port));
    } else if (peer.ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&peer;
        inet_ntop(AF_INET6, &six->sin6_addr, number, sizeof number);
        snprintf(text, size, "[%s]:%u", number, ntohs(six->sin6_port));
    }
}

int net_open_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

bool net_connect_nearby(const struct net_address *address, int *connected)
{
    struct net_endpoint local;
    const int fd = net_find_local(address, &local) ? net_open_socket(AF_UNIX) : -1;
    if (fd < 0)
        return false;
    if (connect(fd, (const struct sockaddr *)&local.storage, local.size) == 0 &&
        net_peer_is_ours(fd)) {
        *connected = fd;
        return true;
    }
    close(fd);
    return false;
}
