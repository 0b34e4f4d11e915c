// Channels: the client's side of a connection, used by the thread that calls, without a loop.
//
// Handing every call to a loop's thread would cost a wake-up each way, about as much as the call
// itself. Thread: one at a time; callers that share a channel keep a lock for it.
#ifndef SYS_NET_CHANNEL_H
#define SYS_NET_CHANNEL_H

#include "base/buf.h"
#include "base/err.h"
#include "sys/net/net.h"
#include "sys/secure/secret.h"

struct channel;

// Connects as net_connect does; TLS unless a Unix socket was found, whose other end is of our user. The
// TLS handshake is inside the timeout. UNAVAILABLE: no program listens there, or it is too slow; UNAUTHENTICATED: the
// other side has another token; DATA_LOSS: it does not speak TLS.
MUST_CHECK weft_err channel_open(const struct net_address *address, const struct secret *token,
                                 uint32_t timeout_ms, struct channel **channel);
void channel_close(struct channel *channel);  // unsent bytes are lost; NULL is fine

// Takes as many bytes as it can send without waiting; *sent is their number, and 0 is not an error. With TLS, some of
// the taken bytes may still be inside: the next call of any kind sends them, also one that sends nothing.
// UNAVAILABLE: the other side closed, or the connection broke.
MUST_CHECK weft_err channel_send(struct channel *channel, weft_bytes bytes, size_t *sent);

// Appends the bytes that have arrived, up to some 100 KiB, without waiting; *received is 0 if there are none.
// UNAVAILABLE: the other side closed or the connection broke, and all bytes before that were handed out.
MUST_CHECK weft_err channel_receive(struct channel *channel, struct buf *in, size_t *received);

// Waits until something may be received (or sent, when `wants_to_send`), `wake_fd` (an eventfd that
// the caller reads itself; -1: none) is readable, a signal came, or clock_now_ns() reaches
// `deadline_ns` (UINT64_MAX: never): only then *timed_out is true. Returns too early rather than too
// late: the caller looks and waits again. Spins for a while before it sleeps (sys/thread/spin.h).
MUST_CHECK weft_err channel_wait(struct channel *channel, bool wants_to_send, int wake_fd,
                                 uint64_t deadline_ns, bool *timed_out);

// The same for a caller that has released the lock of a shared channel: looks at the socket only, as another thread
// may be sending. With TLS, the bytes that channel_unsent_bytes counts (under the lock) are to be sent, too.
MUST_CHECK weft_err channel_watch(struct channel *channel, bool wants_to_send, uint64_t deadline_ns,
                                  bool *timed_out);
size_t channel_unsent_bytes(const struct channel *channel);

// Waits for something to arrive, and appends it: one system call instead of two. Up to CHANNEL_NAP_MS, or
// less; `in` is the waiting thread's alone. Where there is TLS it only waits, as channel_watch does.
enum { CHANNEL_NAP_MS = 200 };
MUST_CHECK weft_err channel_await(struct channel *channel, struct buf *in, size_t *received);

bool channel_is_secure(const struct channel *channel);  // TLS
bool channel_is_local(const struct channel *channel);   // a Unix socket

// Instead of WEFT_SPIN_US and its default; 0: never spin.
void channel_set_spin(struct channel *channel, uint32_t microseconds);

#endif
