// spoke: a session with a hub, on the loop of the process that joins.
//
// Frames go both ways, each once and in order. A connection that breaks, or stays silent, is made again without the owner
// noticing more than `cut` and `back`. Lines that the hub asks for are opened and served here, without a call. The session is lost when the hub says so (it fences a process that was silent for too
// long), or when it is out of reach for longer than the owner's patience; then the owner may begin a new one.
//
// The callbacks may call every function here, spoke_free included. Thread: that of the loop.
#ifndef TRANSPORT_SPOKE_H
#define TRANSPORT_SPOKE_H

#include "sys/net/net.h"
#include "transport/tether.h"
#include "wire/hello.h"
#include "wire/messages.h"

struct spoke;
struct loop;
struct fetch_files;

struct spoke_calls {
    void (*joined)(void *owner);                            // the hub knows us; once
    void (*frame)(void *owner, const struct frame *frame);  // borrowed
    void (*cut)(
        void *owner);  // the connection is lost, for this thread's reason; it is tried again
    void (*back)(void *owner);  // it is there again, and no frame is missing

    // The session is over, by this thread's sentence. UNAUTHENTICATED: the hub has another token; FAILED_PRECONDITION: it speaks another
    // version of the wire; UNIMPLEMENTED: it runs on another architecture; ABORTED: it took us for lost, or was started
    // again; UNAVAILABLE: it was out of reach for too long. spoke_free is left to the owner.
    void (*lost)(void *owner, weft_err code);
};

struct spoke_options {
    struct loop *loop;
    struct net_address address;
    const struct secret *token;  // copied
    const char *name;            // of this process, for people; stays the caller's
    const struct spoke_calls *calls;
    void *owner;
    uint32_t patience_ms;      // how long the hub may be out of reach; 0: SPOKE_PATIENCE_MS
    uint32_t cut_patience_ms;  // the same once it has been met; 0: as before
    bool packs_always;         // as of hub_options
    size_t kept_bytes_max;     // 0: TETHER_KEPT_BYTES_MAX
    struct fetch_files
        *files;  // that the hub may ask for, by lines (lines.h); NULL: none. Stays the caller's
    size_t serve_bytes_max;  // as of hub_options
};

enum {
    SPOKE_PATIENCE_MS = 60000,
    SPOKE_DIAL_MS = 3000,    // one attempt to connect
    SPOKE_SILENT_MS = 2000,  // a connection on which nothing arrives for that long is made again
};

// Begins to connect; NULL with a sentence. An address that cannot be resolved yet is tried again.
struct spoke *spoke_new(const struct spoke_options *options);
void spoke_free(struct spoke *spoke);  // frames that were not acknowledged are lost; NULL is fine

// As hub_send.
MUST_CHECK weft_err spoke_send(struct spoke *spoke, Weft__FrameType type,
                               const ProtobufCMessage *message);
MUST_CHECK weft_err spoke_send_bytes(struct spoke *spoke, Weft__FrameType type, weft_bytes payload);

size_t spoke_kept_bytes(const struct spoke *spoke);  // 0: the hub has acknowledged all frames
bool spoke_is_connected(const struct spoke *spoke);
bool spoke_is_fetched(const struct spoke *spoke);  // the hub waits for bytes of the files

#endif
