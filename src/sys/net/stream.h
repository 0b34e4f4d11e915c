// Streams: bytes sent to and taken from a connected socket, blocking, whole. A peer that has gone is
// an error like any other here, never a signal.
#ifndef SYS_NET_STREAM_H
#define SYS_NET_STREAM_H

#include "base/err.h"

#include <stddef.h>

// Sends the head and then the body as one gathered write, all of it; either may be empty.
// WEFT_UNAVAILABLE when the peer has gone. The caller keeps other senders out during the call.
MUST_CHECK weft_err stream_send(int fd, const void *head, size_t head_size, const void *body,
                                size_t body_size);

// Takes up to `size` bytes, fewer only when the stream ends; *got says how many.
MUST_CHECK weft_err stream_receive(int fd, void *data, size_t size, size_t *got);

#endif
