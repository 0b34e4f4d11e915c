// address: where a member listens, as `host:port`, `192.168.0.10:2222` or `[::1]:2222`.
#ifndef CLUSTER_ADDRESS_H
#define CLUSTER_ADDRESS_H

#include "base/buf.h"
#include "base/err.h"

enum {
    ADDRESS_PORT_DEFAULT = 2222,    // of a member whose address names none
    ADDRESS_PORT_OF_HOSTS = 18125,  // of `weft host`, and of its clients
    ADDRESS_HOST_BYTES_MAX = 253,   // what DNS allows
};

struct address {
    char host[ADDRESS_HOST_BYTES_MAX + 1];  // without brackets, as written
    uint16_t port;                          // 0: chosen by the system when the member starts
};

// Reads a host name, an IPv4 address, or an IPv6 address in brackets, with or without a port.
// INVALID_ARGUMENT shows the address and the right form: for a path of a Unix socket, an address with
// a protocol in front, an IPv6 address without brackets, a port beyond 65535.
MUST_CHECK weft_err address_parse(weft_bytes text, struct address *address);

// Appends host:port, an IPv6 host in brackets. The appended text parses to the same.
void address_append(struct buf *buf, const char *host, uint16_t port);

// The order of two hosts, 0 for the same one: names without regard to case, IPv6 by its bits.
int address_compare_hosts(const char *a, const char *b);

#endif
