// Addresses, and the sockets between members of a cluster: TCP between machines, and a Unix socket
// between two processes of one user on one machine that know each other by a loopback address.
//
// The Unix socket has a name in the abstract namespace that follows from the user and the port, so no
// program has to be given the name, and nothing is left on disk. Any user can take a name there: both sides ask the
// kernel for the user at the other end. If it is another one, the client uses TCP and the host closes the connection.
#ifndef SYS_NET_NET_H
#define SYS_NET_NET_H

#include "base/err.h"

#include <sys/types.h>

struct net_address {
    char host
        [256];  // name or number, without brackets; "": all interfaces (this machine, to connect)
    uint16_t port;  // 0: to listen, whichever is free
};

// "host", "host:port", "10.0.0.5:2222", "[::1]:2222", "::1", ":2222" (all interfaces).
// INVALID_ARGUMENT with a sentence that quotes the text.
MUST_CHECK weft_err net_read_address(const char *text, uint16_t default_port,
                                     struct net_address *address);

// "host:port", "[::1]:2222", ":2222": what net_read_address reads back.
enum { NET_ADDRESS_TEXT_BYTES = 272 };
void net_write_address(const struct net_address *address, char text[NET_ADDRESS_TEXT_BYTES]);

// Whether the address, as it is written, can only mean this machine: localhost, 127/8, ::1. Nothing is
// resolved. All interfaces are not loopback.
bool net_address_is_loopback(const struct net_address *address);

// The first address that a name stands for, as a number. May wait for a resolver. UNAVAILABLE: the name is not known; `number` stays as
// it was.
enum { NET_NUMBER_BYTES = 64 };
MUST_CHECK weft_err net_find_number(const struct net_address *address,
                                    char number[NET_NUMBER_BYTES]);

// ---- Listening ------------------------------------------------------------------------------------

enum { NET_LISTENERS_MAX = 4 };

struct net_listener {
    int fds[NET_LISTENERS_MAX];  // non-blocking, closed on exec
    size_t count;
    uint16_t port;  // the same for all of them
};

// Listens on what the name stands for, in both families for localhost and for all interfaces. On a
// loopback address and on all interfaces there is a Unix socket as well, unless another user has
// taken its name. Errors name the address; a port that is taken says what to do. `listener` is only
// written on success.
MUST_CHECK weft_err net_listen(const struct net_address *address, struct net_listener *listener);
void net_listener_close(struct net_listener *listener);  // zeroed is fine

// The next connection that waits, with the options of net_connect; *fd is -1 when none does. No error
// ends a listener: RESOURCE_EXHAUSTED (no descriptor or memory left now: try again in a moment),
// PERMISSION_DENIED (a Unix socket's peer of another user; it is closed already).
MUST_CHECK weft_err net_accept(int listener_fd, int *fd);

// How many connections a server of this process may have at once: its descriptors but for some that
// it needs for other things.
uint32_t net_connections_max(void);

// ---- Connecting -----------------------------------------------------------------------------------

// Connects within `timeout_ms` (a resolver may take longer: it cannot be interrupted). The descriptor
// does not block and is closed on exec; TCP sends at once and knows a dead peer after about 10
// seconds. To a loopback address the Unix socket is tried first, and taken when our own user is at its
// other end. UNAVAILABLE with the reason: refused, timed out, cannot be resolved.
MUST_CHECK weft_err net_connect(const struct net_address *address, uint32_t timeout_ms, int *fd);

// A way to an address, resolved once: connecting by it does not wait, so a loop can do it again and again.
struct net_route;

// May wait for a resolver. UNAVAILABLE: the name cannot be resolved.
MUST_CHECK weft_err net_route_open(const struct net_address *address, struct net_route **route);
void net_route_close(struct net_route *route);  // NULL is fine

// Begins to connect, with the descriptor and the choice of net_connect: the Unix socket if there is one, else one of the
// addresses of the name, another one with each attempt. A connection that fails later breaks like any other.
MUST_CHECK weft_err net_route_connect(const struct net_route *route, uint32_t attempt, int *fd);

// Takes over a connection that this process has inherited: it does not wait, and no program that we start has it. INVALID_ARGUMENT: it
// is none.
MUST_CHECK weft_err net_adopt(int fd);

// ---- What a connection is -------------------------------------------------------------------------

bool net_is_local_stream(int fd);  // a Unix socket: the peer's user is ours

// The process at the other end of a Unix socket; 0 for TCP, and where the kernel does not know it.
pid_t net_peer_pid(int fd);
bool net_process_is_gone(pid_t pid);  // also when only its exit code is left; false for 0

// "127.0.0.1:40112", "[::1]:40112", "pid 812", "an unknown client": for sentences and logs.
void net_name_peer(int fd, char *text, size_t size);

#endif
