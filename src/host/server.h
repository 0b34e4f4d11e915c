// host_server: a host with the world around it: connections, the clock, the journal.
//
// All of it runs in the loop's thread, except for host/local.h. The calls that arrive in one turn of the loop are
// applied; at the end of the turn the journal is written once for all of them, and only then the answers are sent.
// So every change that a client has an answer for survives.
#ifndef HOST_SERVER_H
#define HOST_SERVER_H

#include "resource/host.h"
#include "sys/loop/loop.h"
#include "sys/net/net.h"
#include "sys/secure/secret.h"

enum {
    HOST_SESSION_TTL_MS = 10000,        // life of a session without a connection
    HOST_EXPECT_MS = 60000,             // members that have not come by then are not waited for
    HOST_STALL_MS = 30000,              // a client that reads nothing in this time is dropped
    HOST_REWRITE_BYTES = 64 << 20,      // a journal below this size is not rewritten
    HOST_UNSENT_BYTES_MAX = 4 << 20,    // with more unsent bytes, a client is not read from
    HOST_ANSWERS_BYTES_MAX = 64 << 20,  // of a client's answers; with more, its calls wait
    HOST_HELD_BYTES_MAX = 128 << 20,    // of its calls that wait for that; with more it is dropped
    HOST_HELD_MS = 3000,                // also when none of them could be applied in this time
};

struct host_server;

struct host_server_options {
    const char *member;                   // "/files/0"; "" for a broker
    const struct net_listener *listener;  // stays the caller's
    const struct secret *token;           // copied
    const char *journal;                  // a directory; NULL: none
    const char *const *expected;          // members that may come, NULL-terminated; NULL: none
    uint32_t session_ttl_ms;              // 0: the default, as in the next two
    uint32_t expect_ms;                   // how long to wait for members that have not come
    uint64_t rewrite_bytes;               // a journal below this size is not rewritten
    void (*say)(void *owner, const char *sentence);  // news for a person; NULL: not called
    void (*idle)(void *owner);  // after host_server_leave: no other member uses this host any more

    // The journal has failed for good; the sentence is this thread's. NULL: not called. All connections are closed
    // already and no more are accepted: a host that opens the journal anew has all acknowledged changes.
    void (*broken)(void *owner, weft_err code);
    void *owner;
};

// Opens the journal, if any, and begins to listen. The sentence of a failure names the journal.
MUST_CHECK weft_err host_server_new(struct host_server **server, struct loop *loop,
                                    const struct host_server_options *options);

// Ends all connections; writes the unwritten changes to the journal.
void host_server_free(struct host_server *server);

struct host *host_server_host(struct host_server *server);

// The host's own member is done: `idle` is called as soon as no other member can use the resources
// here any more, at once if there are none.
void host_server_leave(struct host_server *server);

// Appends the members that may still use resources here, for a sentence: "/map/0, /map/1"; nothing if there are none.
void host_server_name_users(struct host_server *server, struct buf *out);

// Whether a call of the host's own member has waited here since the last question, and no other member is
// here who could end that. To be asked now and then.
bool host_server_waits_alone(struct host_server *server);

// Appends the members that may still come: "/map/0 (not come yet)"; nothing if there are none.
void host_server_name_awaited(struct host_server *server, struct buf *out);

#endif
