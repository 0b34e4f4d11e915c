// digest: a login by DIGEST-MD5 (RFC 2831), as Hadoop's services ask for it where a token proves who calls. Pure. Thread: any.
//
//     server  realm="default",nonce="...",qop="auth",charset=utf-8,algorithm=md5-sess
//     client  username="...",realm="default",nonce="...",...,response=...
//     server  rspauth=...                              it knows the password, too
//
// One round, and quality "auth": the bytes that follow the login are neither signed nor encrypted.
#ifndef WIRE_HADOOP_DIGEST_H
#define WIRE_HADOOP_DIGEST_H

#include "base/buf.h"
#include "base/err.h"

enum { DIGEST_TEXT_BYTES = 33 };

// Texts without quotes and backslashes, which Hadoop has none of.
struct digest_login {
    const char *user, *password;
    const char *uri;    // "service/host"
    const char *nonce;  // random, made for this login
};

// Appends the answer to a challenge, and says what the server has to reply to it: "rspauth=" and `expected`. DATA_LOSS: it is no
// challenge; UNIMPLEMENTED: it wants more than "auth".
MUST_CHECK weft_err digest_answer(const struct digest_login *login, weft_bytes challenge,
                                  struct buf *answer, char expected[DIGEST_TEXT_BYTES]);

// Base64 of RFC 4648, padded: the form that names and passwords of tokens have in a login.
void digest_append_base64(struct buf *out, weft_bytes bytes);

#endif
