// One who calls: what the files with the calls of clients share.
#ifndef SIM_HOST_CALLER_H
#define SIM_HOST_CALLER_H

#include "cluster/peer.h"
#include "sim_host/client.h"

// See older.c.
struct older_memory {
    uint64_t known;       // the last answered change has its record behind so many
    uint64_t last;        // records when it was last here
    uint32_t known_life;  // of the peer; 0: none
    uint32_t lost_life;   // in which it was answered what is gone
    uint32_t life;        // the last one in which it called
    uint64_t life_began;  // records when that was
    bool must_hear;   // not even its session is in the copy: nothing but a loss may end that life
    uint32_t asking;  // calls under way
    bool is_safe;     // all it knows is there
};

struct client {
    int number;  // of this life
    uint32_t place;
    struct peer *peer;
    uint32_t fibers_left;
    bool is_verifier, is_local;
    struct older_memory memory;
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

// ---- older.c ---------------------------------------------------------------------------------------

struct older_call {
    uint64_t appended;
    uint32_t life;
    bool is_after;  // the copy was put back
    bool changes;
};

void older_put_back_for(struct client *client, uint64_t appended);
struct older_call older_begin(struct client *client, uint8_t op);
void older_end(struct client *client, const struct older_call *call, weft_err err);

// ---- client_kv.c -----------------------------------------------------------------------------------

void caller_change_kv(struct caller *caller);  // put or remove, perhaps only at a version
void caller_get(struct caller *caller, uint8_t key);
void caller_wait_at_barrier(struct caller *caller);

#endif
