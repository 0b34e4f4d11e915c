// member: this process as a member of a cluster: its host, and the members it knows.
#ifndef CLIENT_MEMBER_H
#define CLIENT_MEMBER_H

#include "client/no_handle.h"
#include "cluster/device.h"
#include "cluster/peer.h"
#include "cluster/spec.h"
#include "host/local.h"
#include "sys/thread/thread.h"

enum { MEMBER_PATIENCE_MS = 60000 };

// Looks after elements that the program has left for a moment: client/keeper.h.
struct keeper {
    struct mutex lock;
    struct condition woken;
    struct thread thread;
    _Atomic(bool) has_started;
    _Atomic(bool) is_armed;  // there is something to look after
    _Atomic(bool) is_brisk;  // it looks within a millisecond anyway
    bool is_stopping;
    struct mutex queues_lock;  // held through a round
    struct link queues;        // whose elements lie here ahead of time
};

struct weft_cluster {
    struct cluster_spec spec;
    char me[SESSION_MEMBER_BYTES];  // "/map/0"; "": a tool, which is not a member
    bool has_at;                    // a tool, or a program: all paths are of this address
    bool is_program;                // that came by weft_connect
    bool is_at_assumed;             // the user has not named the address
    struct net_address at;
    uint64_t incarnation, joined_ns;
    uint64_t leave_by_ns;  // for handles that are freed by leaving; 0: not leaving
    struct secret token;
    bool
        is_token_given;  // by the command line: programs that are started from here do not find it themselves
    uint32_t patience_ms;
    uint32_t patience_again_ms;  // with a host that was met; 0: no other

    bool is_looked_after;  // a program, not a tool: a keeper keeps its connections
    struct keeper keeper;
    struct mutex lock;  // guards what follows
    VEC(struct member_link *) links;
    VEC(struct remote *) remotes;  // that are open; each begins its handle
    weft_err first_error;
    char first_sentence[ERR_TEXT_BYTES_MAX];

    // The host here, in a thread of its own; NULL: this member has no address.
    struct loop *loop;
    struct thread thread;
    struct net_listener listener;
    struct host_server *server;
    struct host_local *local;  // our own way there
    VEC(char *) expected;
    _Atomic(bool) is_leaving;  // set before the loop is woken, and read by it
    bool is_hurried;           // the same: the loop ends without waiting for users of its resources
    bool has_stopped;          // the thread is at its end; guarded by the lock
    struct condition stopped;
};

struct member_link {
    char name[SESSION_MEMBER_BYTES];
    struct peer *peer;
};

// A resource that was opened.
struct remote {
    weft_cluster *cluster;
    struct peer *peer;
    uint16_t handle;
    uint32_t life;
    uint64_t uid;
    enum call_kind kind;
    uint32_t timeout_ms;
    _Atomic(weft_err) failure;  // what ended it for weft_take and weft_var_next
    struct mutex opening;
    _Atomic(bool) is_open;  // the host has been asked: its answer does not change
    bool is_bare;           // a variable that has no value stays so
    bool has_initial;       // else that of a new variable is an int64 of 0
    struct buf initial;
    struct buf attributes;  // wished for
    struct buf found;       // those it has, once it is open
    char *path;
    const char *name;                    // the end of path
    char container[ROLE_BYTES_MAX + 1];  // "": the host's own
};

// A cluster without members, and its end; goodbyes were said.
weft_cluster *member_new(void);  // NULL with a sentence: no memory
void member_free(weft_cluster *cluster);

// Names a resource; the attributes are the kind's. Another host is only asked when the resource is first
// used: a program that names resources it does not need waits for no host. Failures stick to the cluster.
MUST_CHECK weft_err remote_open(weft_cluster *cluster, const char *path, enum call_kind kind,
                                weft_bytes attributes, struct remote *remote);
void remote_fini(struct remote *remote);

// Frees the handles that the program has not freed.
void remote_free_all(weft_cluster *cluster);

// Asks the host for it now, so that its attributes are known.
MUST_CHECK weft_err remote_make(struct remote *remote);

// Asks the resource's host and waits. Failures stick to the cluster, see remote_keep_error.
MUST_CHECK weft_err remote_ask(struct remote *remote, const struct ops_call *op,
                               struct peer_call *call);

// The same by a deadline of the caller's; whether a failure sticks is left to the caller.
MUST_CHECK weft_err remote_ask_within(struct remote *remote, uint32_t timeout_ms,
                                      const struct ops_call *op, struct peer_call *call);

// The two halves of it; the second leaves it to the caller whether a failure sticks.
MUST_CHECK weft_err remote_start(struct remote *remote, const struct ops_call *op,
                                 struct peer_call *call);
MUST_CHECK weft_err remote_finish(struct remote *remote, struct peer_call *call,
                                  uint32_t timeout_ms);
// Without waiting for an answer, and without reporting a failure; the handle must be open.
void remote_tell(struct remote *remote, const struct ops_call *op);
weft_err remote_keep_error(struct remote *remote, weft_err err);

// When a call by this handle that begins now is late.
uint64_t remote_deadline_ns(const struct remote *remote);

// Removes the resource, for everyone.
MUST_CHECK weft_err remote_remove(struct remote *remote);

// The connection to a member, made when it is first needed.
MUST_CHECK weft_err member_find_peer(weft_cluster *cluster, const char *role, uint32_t index,
                                     struct peer **peer);

// The same to the host at an address; `name` is the member that is to be there, "": any.
MUST_CHECK weft_err member_find_peer_at(weft_cluster *cluster, const char *name,
                                        const struct cluster_member *member, struct peer **peer);

// A connection of its own to a member, which gives up after `patience_ms` (0: at once). NULL with a sentence.
struct peer *member_make_peer(weft_cluster *cluster, const char *name,
                              const struct cluster_member *member, uint32_t patience_ms);

// Whether the member has answered over the connection of member_find_peer.
bool member_has_spoken_to(const weft_cluster *cluster, const char *name);

// Hands a sentence to the program's log; `owner` is the cluster.
void member_say(void *owner, const char *sentence);

// Keeps the first failure of this thread's for weft_leave, and returns the code.
weft_err member_keep_error(weft_cluster *cluster, weft_err code);

#endif
