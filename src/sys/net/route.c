// Routes: connecting without waiting, for a loop.

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/net/net_state.h"

struct net_route {
    struct net_address address;
    struct net_endpoint endpoints[NET_ENDPOINTS_MAX];
    size_t count;
};

weft_err net_route_open(const struct net_address *address, struct net_route **route)
{
    if (address->port == 0)
        return err_set(WEFT_INVALID_ARGUMENT, "cannot connect to %.200s: it has no port",
                       address->host);
    struct net_route *made = calloc(1, sizeof *made);
    if (!made)
        return err_no_memory("for an address");
    made->address = *address;
    weft_err code = net_resolve(address, false, made->endpoints, &made->count);
    if (code == WEFT_OK && made->count == 0)
        code = err_set(WEFT_UNAVAILABLE, "the name %s has no address", address->host);
    if (code == WEFT_OK)
        *route = made;
    else
        free(made);
    return code;
}

void net_route_close(struct net_route *route)
{
    free(route);
}

static weft_err cannot_connect(const struct net_route *route)
{
    char text[NET_ADDRESS_TEXT_BYTES];
    net_write_address(&route->address, text);
    if (errno == ECONNREFUSED)
        return err_set(WEFT_UNAVAILABLE,
                       "cannot connect to %s: no program listens there (connection refused)", text);
    const weft_err code = err_errno("cannot connect to %s", text);
    return code == WEFT_RESOURCE_EXHAUSTED ? code : WEFT_UNAVAILABLE;
}

// On this machine a refusal is there at once; a send would take the reason away.
static bool is_connecting(int fd)
{
    int number = 0;
    socklen_t size = sizeof number;
    if (errno != EINPROGRESS || getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size) != 0)
        return false;
    errno = number;
    return number == 0;
}

weft_err net_route_connect(const struct net_route *route, uint32_t attempt, int *fd)
{
    if (net_connect_nearby(&route->address, fd))
        return WEFT_OK;
    const struct net_endpoint *endpoint = &route->endpoints[attempt % route->count];
    const int made = net_open_socket(endpoint->storage.ss_family);
    if (made < 0)
        return cannot_connect(route);
    net_set_options(made);
    bool is_made =
        connect(made, (const struct sockaddr *)&endpoint->storage, endpoint->size) == 0 ||
        is_connecting(made);
    if (is_made && net_leads_to_itself(made, endpoint)) {
        is_made = false;
        errno = ECONNREFUSED;
    }
    if (is_made) {
        *fd = made;
        return WEFT_OK;
    }
    const weft_err code = cannot_connect(route);
    close(made);
    return code;
}
