// One who calls: what the files with the calls of clients share.
#ifndef SIM_HOST_CALLER_H
#define SIM_HOST_CALLER_H

#include "cluster/peer.h"
#include "sim_host/client.h"

struct client {
    int number;  // of this life
    uint32_t place;
    struct peer *peer;
    uint32_t fibers_left;
    bool is_verifier, is_local;
};

// A fiber of a client.
struct caller {
    struct client *client;
    uint32_t life;
    uint16_t queue, var, kv, barrier;
    uint32_t ops_left;
    bool is_drainer;
};

// Does it, and keeps how it ended; the payload of the answer is in *call.
struct op *caller_do(struct caller *caller, const struct op *op, struct peer_ask *what,
                     struct peer_call *call);

// ---- client_kv.c -----------------------------------------------------------------------------------

void caller_change_kv(struct caller *caller);  // put or remove, perhaps only at a version
void caller_get(struct caller *caller, uint8_t key);
void caller_wait_at_barrier(struct caller *caller);

#endif
