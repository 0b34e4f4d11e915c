// TLS 1.3 as a filter between plain bytes and the bytes on the network, for either side.
//
// Both sides prove that they have the token (an external pre-shared key made from it); there are no
// certificates, and a peer that offers one instead is refused. It does no I/O: the caller feeds in the
// bytes of the network, and takes out the bytes to send. A connection cut short looks like its end, so the
// protocol inside must itself show whether it is complete, as frames do.
//
//     network -> tls_feed -> plain          plain -> tls_seal -> tls_unsent, tls_sent -> network
//
// Thread: one at a time for each; any number of them at once.
#ifndef SYS_SECURE_TLS_H
#define SYS_SECURE_TLS_H

#include "base/buf.h"
#include "base/err.h"
#include "sys/secure/secret.h"

struct tls;

// The token is copied. A client has its first bytes to send at once. NULL with a sentence:
// RESOURCE_EXHAUSTED, no memory; UNAVAILABLE, no OpenSSL; INTERNAL, one without TLS 1.3.
struct tls *tls_new(bool is_server, const struct secret *token);
void tls_free(struct tls *tls);  // NULL is fine

// A side accepts this many bytes from a peer that has not proven itself; one more is DATA_LOSS. A server
// keeps no more than this for a client whose first record is not complete. OpenSSL, which needs several
// times as much, starts with the complete record, and a client without the token ends with it.
enum { TLS_UNPROVEN_BYTES_MAX = 4096 };

// Takes bytes of the network, all of them, and appends their plain text to `plain`. Feeding may leave
// bytes to send, also when it fails: an alert with the reason for the other side.
// UNAUTHENTICATED: the other side has another token, or none; DATA_LOSS: this is not TLS, or it was
// changed on the way; UNAVAILABLE: the other side said goodbye. After an error every call returns that error.
MUST_CHECK weft_err tls_feed(struct tls *tls, weft_bytes cipher, struct buf *plain);

// Encrypts all of it, in records as large as may be; kept until the handshake is done.
MUST_CHECK weft_err tls_seal(struct tls *tls, weft_bytes plain);

// The bytes to send next; and: `size` of them have been sent.
weft_bytes tls_unsent(const struct tls *tls);
void tls_sent(struct tls *tls, size_t size);

// Whether the handshake is done: the other side has the token.
bool tls_is_ready(const struct tls *tls);

// Bytes that wait for the handshake or the network.
size_t tls_waiting_bytes(const struct tls *tls);

#endif
