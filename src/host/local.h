// host_local: a member's way to its own host: no connection, no other thread.
//
// The thread that calls does the calls, between two turns of the loop, under the server's lock. Answers
// for other clients go to their connections at once; bytes that these do not take go with the loop's
// next turn. Where there is a journal that turn commits first, and no answer goes out before.
#ifndef HOST_LOCAL_H
#define HOST_LOCAL_H

#include "cluster/peer.h"
#include "host/server.h"

struct host_local;

// NULL: no memory. To be freed when no thread calls any more, before the server.
struct host_local *host_local_new(struct host_server *server);
void host_local_free(struct host_local *local);

// For a peer; its owner is the host_local.
extern const struct peer_port host_local_port;

#endif
