// What clients do to the host, and the history of it.
#ifndef SIM_HOST_CLIENT_H
#define SIM_HOST_CLIENT_H

#include "sim_host/world.h"
#include "sys/secure/secret.h"

// Of one seed.
struct client_plan {
    bool has_leases;  // elements are taken and done with; otherwise popped
    bool has_local;   // the client at place 0 is in the host's process
    uint32_t client_count, fiber_count, op_count;
    uint32_t capacity;  // of the queue; 0: none
    uint32_t lease_ms, session_ttl_ms, patience_ms;
    uint64_t rewrite_bytes;
    uint32_t key_count;
    uint32_t barrier_count;
};

extern struct client_plan client_plan;
extern const struct secret sim_token;

enum op_kind {
    OP_PUSH,
    OP_POP,
    OP_TAKE,
    OP_DONE,
    OP_GIVE_BACK,
    OP_CLOSE,
    OP_ADD,
    OP_SWAP,
    OP_READ,
    OP_PUT,
    OP_RM,
    OP_GET,
    OP_VANISH,  // of all keys that a session owned; nobody calls that
    OP_WAIT     // at the barrier
};

extern const char *const op_names[];

enum op_outcome {
    OUTCOME_UNKNOWN,  // it may have happened, or may happen still
    OUTCOME_OK,
    OUTCOME_CLOSED,  // the queue is
    OUTCOME_AT_END,  // closed, and nothing left
    OUTCOME_FENCED,  // the lease is somebody else's
    OUTCOME_NONE,    // refused: it has not happened
    OUTCOME_ABSENT,  // there is no such key
};

enum {
    KEYED = 200,   // elements from here on were pushed with a key, others only once
    KEY_COUNT = 2  // of the kv
};

struct op {
    enum op_kind kind;
    enum op_outcome outcome;
    int client;
    uint32_t session;
    uint64_t invoked, ended;  // moments; UINT64_MAX: it has no end
    bool is_once, was_seen, has_missed, is_if, is_owned;
    int64_t a, b;   // added; expected and new; the element; or the key and what is put there
    int64_t value;  // what the var is then, the element that came, the version of the key, or the
                    // generation of the barrier
    uint64_t expected;  // version of a key
    uint64_t item;      // which element of the queue, for what counts once
    uint32_t delivery;  // of a TAKE
};

struct history {
    VEC(struct op) ops;
    uint32_t goodbyes;  // clients who ended with one: what they held was not tried
    uint64_t all_gone;  // the moment since which nobody but the verifier has a session
};
extern struct history history;

// Starts and restarts clients; false: all are done, the last look of the verifier included.
bool client_manage(void);
void client_init(void);
void client_end_local(void);  // the host's process has died
void client_fini(void);
void client_put_back(uint64_t appended);  // the journal has only so many of its records

// ---- local.c ---------------------------------------------------------------------------------------

struct peer_port;
const struct peer_port *local_start(void);
void local_end(void);

// ---- check.c ---------------------------------------------------------------------------------------

// Whether the history is one that a host without any faults could have had.
void check_history(void);

// ---- check_barrier.c -------------------------------------------------------------------------------

void check_barrier(void);

#endif
