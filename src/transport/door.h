// door: accepts connections and lets those in that prove that they have the token.
//
// A connection is a *guest*. Until it has proven itself it is a *stranger*: nothing of it is read but the hello of
// wire/hello.h, it may send no more than one such frame at a time, it has a few seconds, and there are never more
// than strangers_max of them (the oldest goes first). The Unix socket proves the user, TCP is TLS with the token as
// its key, and the hello proves the token in both cases. A guest that is turned away gets a sentence first.
//
// After the proof the owner decides: door_welcome or door_refuse. From then on the guest's frames go to the owner.
// Thread: that of the loop.
#ifndef TRANSPORT_DOOR_H
#define TRANSPORT_DOOR_H

#include <sys/types.h>

#include "sys/loop/loop.h"
#include "sys/net/net.h"
#include "wire/hello.h"

enum {
    DOOR_HELLO_MS = 10000,      // a stranger that has not proven itself by then is dropped
    DOOR_REFUSED_MS = 1000,     // the time to read why it was refused
    DOOR_REFUSED_MAX = 8,       // connections above the limit, which learn that there is no room
    DOOR_STRANGERS_MAX = 1024,  // or half of the connections, if that is less
};

struct door;
struct guest;

struct door_calls {
    // The guest has the token. Answers by door_welcome or door_refuse before it returns.
    void (*proven)(void *owner, struct guest *guest, const struct hello *hello);

    // A guest was turned away, or broke the rules of frames: this thread's sentence says why.
    void (*refused)(void *owner, const char *peer);

    // Milliseconds; time in which this process stood still does not count (transport/lived.h).
    uint64_t (*now_ms)(void *owner);
};

// Calls for a guest that was welcomed. They may free it.
struct guest_calls {
    // Frames, or the bytes as they arrive. One of the two is NULL.
    void (*frame)(void *owner, const struct frame *frame);  // borrowed
    void (*ended)(void *owner);  // the connection is over: the owner calls guest_free
    loop_fn *drained;            // nothing waits to be sent any more; NULL: not asked for
    loop_fn *heard;  // bytes have arrived, perhaps not yet a whole frame; NULL: not asked for
    void (*data)(void *owner, weft_bytes bytes);  // borrowed
};

struct door_options {
    struct loop *loop;
    const struct net_listener *listener;  // stays the caller's, open for as long as the door
    const struct secret *token;           // likewise
    const char *member;                   // the name of this side, "" for none; stays the caller's
    const struct door_calls *calls;
    void *owner;
};

// NULL with a sentence.
struct door *door_new(const struct door_options *options);
void door_free(
    struct door *door);  // and all strangers; welcomed guests are freed before. NULL is fine

// Drops strangers whose time is over. To be called about once a second.
void door_tick(struct door *door);

// The answers to `proven`. The welcome is not flushed: it may go with what follows it. The sentence of a refusal is
// this thread's, and is cleared; `refused` is not called.
void door_welcome(struct guest *guest, const struct hello_welcome *welcome,
                  const struct guest_calls *calls, void *owner);
void door_refuse(struct guest *guest, weft_err code);

// Closes the connection of a welcomed guest; no further call comes. Allowed in its own calls.
void guest_free(struct guest *guest);

struct loop_stream *guest_stream(struct guest *guest);
pid_t guest_pid(const struct guest *guest);         // of a peer on this machine; 0: not known
const char *guest_peer(const struct guest *guest);  // where it came from

// Limits a frame of a welcomed guest to less than FRAME_PAYLOAD_BYTES_MAX.
void guest_limit_frames(struct guest *guest, size_t payload_bytes_max);

#endif
