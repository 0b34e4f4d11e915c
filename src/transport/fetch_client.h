// fetch_client: fetches stretches of files that one other process serves, and writes them to their places.
//
// The other process is found at an address; where that fails, a hub that knows it passes the bytes on (relays.h). Or it is a peer of a hub of
// ours: then it is asked for a line (lines.h), as it may be out of reach for us.
//
// Many requests may be under way. A connection that breaks is made again and each request is continued where it was, until nothing
// has arrived for as long as the owner's patience lasts: then all requests fail, and the next one begins anew.
// The file that is written to has holes or wrong bytes where a request failed. Thread: that of the loop.
#ifndef TRANSPORT_FETCH_CLIENT_H
#define TRANSPORT_FETCH_CLIENT_H

#include "sys/net/net.h"
#include "transport/fetch.h"
#include "wire/hello.h"

struct fetch_client;
struct hub;
struct loop;

// A request has ended; a failure has this thread's sentence. UNAVAILABLE: the server is out of reach; DATA_LOSS: a block came with a
// wrong checksum, or the server's file is not whole; others as the server gives them, or the disk here. May
// call every function here but fetch_client_free.
typedef void fetch_done_fn(void *owner, weft_err code);

struct fetch_wanted {
    uint64_t file, offset, size;  // of the server
    int fd;                       // to write to; stays the caller's, open until it is done
    uint64_t to_offset;
    const char *path;     // of fd, for sentences; stays the caller's; NULL: "a fetched file"
    fetch_done_fn *done;  // called once, later, from the loop
    void *owner;
};

struct fetch_client_options {
    struct loop *loop;
    struct net_address address;
    uint64_t epoch;  // that the process there must have (hub_epoch); 0: any
    struct hub
        *hub;  // on this loop: a peer of it is asked for lines, instead of the address; NULL: none
    uint64_t peer_number;   // of it
    uint64_t relay_number;  // by which the hub at `relay` knows the other process; 0: none
    struct net_address relay;
    const struct secret *token;  // copied
    const char *name;            // of this process; stays the caller's
    uint64_t window_bytes;       // of data on its way; 0: FETCH_WINDOW_BYTES
    uint32_t patience_ms;        // 0: FETCH_PATIENCE_MS
};

enum {
    FETCH_PATIENCE_MS = 10000,
    FETCH_DIRECT_MS = 1000,  // for the address to answer, before a relay is tried
    FETCH_SILENT_MS =
        2000,  // a line, or where there is a relay: after that long without a byte it is made again
};

struct fetch_client *fetch_client_new(
    const struct fetch_client_options *options);      // NULL: sentence
void fetch_client_free(struct fetch_client *client);  // requests are forgotten; NULL is fine

// Asks for a stretch. RESOURCE_EXHAUSTED: no memory.
MUST_CHECK weft_err fetch_client_get(struct fetch_client *client,
                                     const struct fetch_wanted *wanted);

// Forgets all requests of that owner: `done` is not called, and nothing is written to their files any more.
void fetch_client_forget(struct fetch_client *client, const void *owner);

uint64_t fetch_client_relayed_bytes(
    const struct fetch_client *client);  // that a relay has passed on to us

size_t fetch_client_pending(const struct fetch_client *client);  // requests that have not ended and
                                                                 // are not forgotten

#endif
