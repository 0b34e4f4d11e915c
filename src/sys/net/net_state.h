// What net.c, address.c, listen.c, connect.c and route.c share.
#ifndef SYS_NET_NET_STATE_H
#define SYS_NET_NET_STATE_H

#include <sys/socket.h>

#include "sys/net/net.h"

enum { NET_ENDPOINTS_MAX = 8 };

bool net_is_localhost(const char *host);

// One of the addresses that a name stands for.
struct net_endpoint {
    struct sockaddr_storage storage;
    socklen_t size;
};

// What `address` stands for: to listen on, or to connect to. UNAVAILABLE: the name is not known.
MUST_CHECK weft_err net_resolve(const struct net_address *address, bool is_for_listening,
                                struct net_endpoint endpoints[NET_ENDPOINTS_MAX], size_t *count);

void net_set_port(struct net_endpoint *endpoint, uint16_t port);
uint16_t net_get_port(const struct net_endpoint *endpoint);

// The name of the Unix socket that belongs to the address; false: there is none for it.
bool net_find_local(const struct net_address *address, struct net_endpoint *endpoint);

// A socket on which no call waits; -1: errno says why.
int net_open_socket(int family);

// Connects to the Unix socket that belongs to the address, which succeeds at once or not at all.
bool net_connect_nearby(const struct net_address *address, int *connected);

// Sends at once, and learns of a dead peer; nothing to do for Unix sockets.
void net_set_options(int fd);

// Whether the socket that connects to the endpoint has that address itself. If no program listens on a port, it may be the very one that
// the kernel chooses for our own end: TCP then connects the socket to itself.
bool net_leads_to_itself(int fd, const struct net_endpoint *endpoint);

// The user at the other end of a Unix socket.
bool net_peer_is_ours(int fd);

#endif
