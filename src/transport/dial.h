// dial: one connection to a door, made by a loop: TLS where the Unix socket does not reach, the hello, then what the owner wants.
//
// Nothing of the other side is read but the hello until it has proven that it has the token. Thread: that of the loop.
#ifndef TRANSPORT_DIAL_H
#define TRANSPORT_DIAL_H

#include "sys/loop/loop.h"
#include "sys/net/net.h"
#include "wire/hello.h"

struct dial;

// The calls may free the dial.
struct dial_calls {
    void (*welcomed)(void *owner, const struct hello_welcome *welcome);

    // What comes after the welcome: frames, or the bytes as they arrive. One of the two is NULL.
    void (*frame)(void *owner, const struct frame *frame);
    void (*data)(void *owner, weft_bytes bytes);

    // The connection could not be made, was refused, or is over: dial_free is left to the owner. The code is a failure, with
    // this thread's sentence. `is_proven`: it is the word of a host that has the token.
    void (*ended)(void *owner, weft_err code, bool is_proven);
    loop_fn *drained;  // nothing waits to be sent any more; NULL: not asked for
    loop_fn *heard;    // bytes have arrived, perhaps not yet a whole frame; NULL: not asked for
};

struct dial_options {
    struct loop *loop;
    const struct net_route *route;  // needed only by dial_new, as the next three
    uint32_t attempt;               // of net_route_connect
    const struct secret *token;
    const struct hello *hello;  // its nonce is drawn here
    const struct dial_calls *calls;
    void *owner;
};

// Begins to connect. The time that may take is the owner's to limit.
MUST_CHECK weft_err dial_new(const struct dial_options *options, struct dial **dial);
void dial_free(struct dial *dial);  // closes the connection; NULL is fine

// Limits a frame after the welcome to less than FRAME_PAYLOAD_BYTES_MAX. Any time.
void dial_limit_frames(struct dial *dial, size_t payload_bytes_max);

bool dial_is_welcomed(const struct dial *dial);
struct loop_stream *dial_stream(struct dial *dial);

#endif
