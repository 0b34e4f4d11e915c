// hub: the side of sessions that listens, with any number of peers on one loop.
//
// A peer joins by a spoke (spoke.h) and is known by its session, whatever happens to its connections. The hub reports:
//
//     joined --> frame ... --> suspect (silent for 2 s) --> back (it speaks again) or lost (silent for 10 s; or for 2.5 s after its
//     side has closed the connection, as the end of a process does)
//
// A peer that is lost, or dropped by the owner, is fenced: its session is refused from then on, with a sentence that says so.
// All frames that a peer sent arrive once and in order, or the peer is lost. The same port also serves files to
// proven processes (fetch_server.h), if there are any, and passes files of one peer on to others (relays.h).
//
// The callbacks may call every function here, hub_free excepted. Thread: that of the loop.
#ifndef TRANSPORT_HUB_H
#define TRANSPORT_HUB_H

#include "transport/lines.h"
#include "transport/tether.h"
#include "wire/hello.h"
#include "wire/messages.h"

struct hub;
struct loop;
struct net_listener;
struct fetch_files;

struct hub_calls {
    // A process with the token wants to be a peer. Not OK: it is refused with this thread's sentence, and the peer is void.
    weft_err (*joined)(void *owner, struct hub_peer *peer, const struct hello *hello);
    void (*frame)(void *owner, struct hub_peer *peer, const struct frame *frame);  // borrowed
    void (*suspect)(void *owner, struct hub_peer *peer);
    void (*back)(void *owner, struct hub_peer *peer);

    // The session is over and the peer is void afterwards. UNAVAILABLE: it was silent for too long; DATA_LOSS: it broke the
    // rules. The sentence is this thread's.
    void (*lost)(void *owner, struct hub_peer *peer, weft_err code);
    void (*say)(void *owner, const char *sentence);  // for the log; NULL: not asked for

    // A process of that name fetches files of the peer through us, as it cannot reach the peer. NULL: nothing is passed on.
    void (*relayed)(void *owner, const char *name, struct hub_peer *peer);
};

struct hub_options {
    struct loop *loop;
    const struct net_listener *listener;  // stays the caller's, open for as long as the hub
    const struct secret *token;           // copied
    const char *name;                     // of this side, "" for none; stays the caller's
    const struct hub_calls *calls;
    void *owner;
    struct fetch_files *files;  // that are served; NULL: none. Stays the caller's
    size_t serve_bytes_max;     // for bytes of them that wait; 0: FETCH_SERVER_BYTES_MAX
    uint32_t peers_max;         // 0: as many as the limit of open files allows
    size_t kept_bytes_max;      // of frames for one peer; 0: TETHER_KEPT_BYTES_MAX
    size_t frame_bytes_max;     // of one frame of a peer; 0: TETHER_PAYLOAD_BYTES_MAX
    bool packs_always;          // compresses every block that is fetched: for tests
    size_t relay_bytes_max;     // that may wait for one side of a relay; 0: RELAY_BYTES_MAX
};

// NULL with a sentence.
struct hub *hub_new(const struct hub_options *options);
void hub_free(
    struct hub
        *hub);  // without any call; connections of lines that came are closed before. NULL is fine

// Sends a frame; NULL: one without payload. It goes at the end of the turn of the loop, or when the peer is connected
// again. RESOURCE_EXHAUSTED: the peer has left too much unacknowledged; nothing was sent.
MUST_CHECK weft_err hub_send(struct hub_peer *peer, Weft__FrameType type,
                             const ProtobufCMessage *message);
MUST_CHECK weft_err hub_send_bytes(struct hub_peer *peer, Weft__FrameType type, weft_bytes payload);

// Ends the session without a call; the peer is void and fenced.
void hub_drop(struct hub_peer *peer);

// The owner's own pointer for a peer; NULL at first.
void hub_peer_set_owner(struct hub_peer *peer, void *owner);
void *hub_peer_owner(const struct hub_peer *peer);

const char *hub_peer_name(const struct hub_peer *peer);  // as its hello has it, or its address
// Where its first connection came from: "10.0.0.7:40112", or "pid 812" of this machine.
const char *hub_peer_address(const struct hub_peer *peer);
size_t hub_peer_kept_bytes(const struct hub_peer *peer);  // 0: it has acknowledged all frames
bool hub_peer_is_connected(const struct hub_peer *peer);
bool hub_is_fetched(const struct hub *hub);  // another process waits for bytes of the files
uint64_t hub_epoch(const struct hub *hub);   // drawn: which life of a server this is
uint64_t hub_peer_number(
    const struct hub_peer *peer);                   // 1, 2, 3, ...: no two of a hub have the same
uint64_t hub_relayed_bytes(const struct hub *hub);  // of files, passed on between peers
size_t hub_relay_bytes_max(const struct hub *hub);  // that wait for a side of a relay now, at most

// Asks the peer with that number for a connection on which it serves its files. It comes later, once; line_free if it is not wanted any more, at
// the latest before hub_free. NOT_FOUND: the peer is gone.
MUST_CHECK weft_err hub_ask_line(struct hub *hub, uint64_t number, line_fn *came, void *owner,
                                 struct line **line);

#endif
