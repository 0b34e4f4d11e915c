// host_server: a host with the world around it: connections, the clock, the journal.
//
// All of it runs in the loop's thread, but for what host/local.h adds. What arrives in one turn of the loop is applied; at the end of
// the turn the journal is written once for all of it, and only then answers are sent: what somebody
// was told has happened survives.
#ifndef HOST_SERVER_H
#define HOST_SERVER_H

#include "resource/host.h"
#include "sys/loop/loop.h"
#include "sys/net/net.h"
#include "sys/secure/secret.h"

enum {
    HOST_SESSION_TTL_MS = 10000,      // a session lives so long without a connection
    HOST_EXPECT_MS = 60000,           // members who have not come by then are not waited for
    HOST_STALL_MS = 30000,            // who takes nothing for so long is dropped
    HOST_REWRITE_BYTES = 64 << 20,    // a journal is not rewritten below it
    HOST_UNSENT_BYTES_MAX = 4 << 20,  // who has so much to take is not read from
    HOST_ANSWERS_BYTES_MAX =
        64 << 20,                     // of answers that are kept for somebody; then his calls wait
    HOST_HELD_BYTES_MAX = 128 << 20,  // of calls that wait so; then he is dropped
    HOST_HELD_MS = 3000,              // or when none of them could be done for so long
};

struct host_server;

struct host_server_options {
    const char *member;                   // "/files/0"; "" for a broker
    const struct net_listener *listener;  // stays the caller's
    const struct secret *token;           // copied
    const char *journal;                  // a directory; NULL: none
    const char *const *expected;          // members who may come, NULL-terminated; NULL: none
    uint32_t session_ttl_ms;              // 0: the default, as in the next two
    uint32_t expect_ms;                   // how long members are waited for who have not come
    uint64_t rewrite_bytes;               // a journal is not rewritten below it
    void (*say)(void *owner, const char *sentence);  // something a person should know; NULL: nobody
    void (*idle)(void *owner);  // after host_server_leave: nobody is left who uses this host

    // The journal has failed for good, by this thread's sentence; NULL: nobody. All connections are closed
    // already and no more are taken: what was acknowledged is for a host that opens the journal anew.
    void (*broken)(void *owner, weft_err code);
    void *owner;
};

// Opens the journal, if any, and begins to listen. The sentence of a failure names the journal.
MUST_CHECK weft_err host_server_new(struct host_server **server, struct loop *loop,
                                    const struct host_server_options *options);

// Ends all connections; writes what is left to the journal.
void host_server_free(struct host_server *server);

struct host *host_server_host(struct host_server *server);

// The host's own member is done: `idle` is called as soon as no other member may still use what is
// here, at once if there is nothing.
void host_server_leave(struct host_server *server);

// Who that is, for a sentence: "/map/0, /map/1"; "" when nobody.
void host_server_name_users(struct host_server *server, struct buf *out);

// Whether a call of the host's own member has waited here since the last question, and no other member is
// here who could end that. To be asked now and then.
bool host_server_waits_alone(struct host_server *server);

// Who may still come: "/map/0 (not come yet)"; "" when nobody.
void host_server_name_awaited(struct host_server *server, struct buf *out);

#endif
