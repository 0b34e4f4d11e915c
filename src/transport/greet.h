// greet: the connecting side of a door, for a thread that waits.
#ifndef TRANSPORT_GREET_H
#define TRANSPORT_GREET_H

#include "sys/net/channel.h"
#include "wire/hello.h"

// Exchanges the hello over a channel that was opened just before; errors as hello_client_take, and UNAVAILABLE: the
// other side did not answer by the deadline (clock_now_ns). `parser` starts zeroed; frames that came with the
// welcome are in it. *is_proven: the result is the word of a host that has the token; otherwise an error says only
// that no host was met this time. The channel stays the caller's.
MUST_CHECK weft_err greet_host(struct channel *channel, const struct hello *hello,
                               const struct secret *token, uint64_t deadline_ns,
                               struct frame_parser *parser, struct hello_welcome *welcome,
                               bool *is_proven);

#endif
