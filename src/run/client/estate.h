// estate: finished work of this client, and where others fetch it. It outlives the session with the server in which it was made: the server may
// have been started again, or have taken this client for lost. Thread: that of the loop.
#ifndef RUN_CLIENT_ESTATE_H
#define RUN_CLIENT_ESTATE_H

#include "run/client/ledger.h"
#include "run/client/served.h"
#include "sys/net/net.h"

struct hub;
struct secret;

struct estate_options {
    struct loop *loop;
    const struct secret *token;  // stays the caller's
    const char *name;            // of this client, for others; likewise
    struct net_address server;
    size_t serve_bytes_max;  // for bytes that wait for other clients
};

struct estate {
    struct net_listener listener;
    struct hub *door;
    struct fetch_files *files;
    struct served served;
    struct ledger ledger;
};

// Begins to serve. `estate` may be closed in every case.
MUST_CHECK weft_err estate_open(struct estate *estate, const struct estate_options *options);
void estate_close(struct estate *estate);  // zeroed is fine

// The run that is worked for; files of another one go.
void estate_begin(struct estate *estate, weft_bytes run);
// No task reads the file any more.
void estate_forget(struct estate *estate, uint64_t file);

#endif
