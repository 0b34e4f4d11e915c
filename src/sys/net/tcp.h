// tcp: a plain connection to a service that is not ours (Hadoop, HTTP), used by the thread that calls.
//
// Small reads come from a buffer, large ones go straight to their place. Every wait has an end: a service that neither takes nor
// sends a byte for that long is UNAVAILABLE, and so is one that closes too early. Thread: one at a time.
#ifndef SYS_NET_TCP_H
#define SYS_NET_TCP_H

#include "base/buf.h"
#include "base/err.h"
#include "sys/net/net.h"

struct tcp;

// The sentences of all failures name the address. UNAVAILABLE: see net_connect.
MUST_CHECK weft_err tcp_open(const struct net_address *address, uint32_t connect_ms,
                             uint32_t silence_ms, struct tcp **tcp);
// The same of a connection that is there, by its descriptor, which is taken over: for tests.
MUST_CHECK weft_err tcp_adopt(int fd, const char *name, uint32_t silence_ms, struct tcp **tcp);
void tcp_close(struct tcp *tcp);  // NULL is fine
const char *tcp_name(const struct tcp *tcp);
// The address of this machine by which the other side sees it, as a number. UNKNOWN: the kernel does not say.
enum { TCP_HOST_BYTES = 64 };
MUST_CHECK weft_err tcp_own_host(const struct tcp *tcp, char host[TCP_HOST_BYTES]);

MUST_CHECK weft_err tcp_send(struct tcp *tcp, const void *data, size_t size);  // all of it
MUST_CHECK weft_err tcp_receive(struct tcp *tcp, void *data, size_t size);     // exactly that many
// Some, and 0 only at the end.
MUST_CHECK weft_err tcp_receive_some(struct tcp *tcp, void *data, size_t size, size_t *got);

#endif
