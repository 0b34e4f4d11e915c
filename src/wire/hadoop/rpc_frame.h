// rpc_frame: the bytes of Hadoop's remote calls, version 9. Pure. Thread: any.
//
//   client  "hrpc" 09 00 00, then frames: the context, and calls
//   server  frames: one answer for each call, in any order
//
// Where a token proves who calls, a login comes first:
//
//   client  "hrpc" 09 00 df, NEGOTIATE     INITIATE, by digest.h            the context without a user, and calls
//   server                      NEGOTIATE with a challenge       SUCCESS
//
// A frame is a size (4 bytes, the largest first) and messages with their sizes (delimited.h).
#ifndef WIRE_HADOOP_RPC_FRAME_H
#define WIRE_HADOOP_RPC_FRAME_H

#include "wire/hadoop/delimited.h"
#include "wire/hadoop/digest.h"
#include "wire/hadoop/token_file.h"

enum {
    RPC_CLIENT_BYTES = 16,
    RPC_SIZE_BYTES = 4,
    RPC_ANSWER_BYTES_MAX = 128 << 20,  // Hadoop's own limit
    RPC_CALL_SASL = -33,               // the number of the answers to a login
};

struct rpc_names {
    const char *protocol;  // the name of a Java interface
    const char *user;      // NULL: the token says who calls
    uint8_t client
        [RPC_CLIENT_BYTES];  // by random; with the number of a call it says which call is the same one again
};

// The beginning of a connection, without proof of who calls ("simple").
void rpc_write_hello(struct buf *out, const struct rpc_names *names);
// The parts of a connection with a login. `answer` is the text of an answer to a challenge.
void rpc_write_negotiate(struct buf *out);
void rpc_write_context(struct buf *out, const struct rpc_names *names);
void rpc_write_call(struct buf *out, const struct rpc_names *names, const char *method,
                    int32_t call, int32_t retry_count, const ProtobufCMessage *message);

// The size of an answer, from RPC_SIZE_BYTES. DATA_LOSS, with a guess who answers there: it is none.
MUST_CHECK weft_err rpc_read_size(const char bytes[RPC_SIZE_BYTES], uint32_t *size);

struct rpc_answer {
    int32_t call;
    bool is_fatal;       // the connection ends
    weft_err code;       // with this thread's sentence; OK:
    weft_bytes message;  // still with its size in front
    char exception[80];  // the last name of its Java class; "": none
};

// An answer without its size. DATA_LOSS: it is none.
MUST_CHECK weft_err rpc_read_answer(weft_bytes frame, struct rpc_answer *answer);

// What the server says about a login, in the answer with the number RPC_CALL_SASL. Appends the frame that answers it, unless
// *is_done: no login is asked for. `expected` is what rpc_check_login needs. UNIMPLEMENTED: it takes no token.
MUST_CHECK weft_err rpc_answer_login(weft_bytes message, const struct hadoop_token *token,
                                     const char *nonce, struct buf *out,
                                     char expected[DIGEST_TEXT_BYTES], bool *is_done);

// UNAUTHENTICATED: the server does not know the token's password.
MUST_CHECK weft_err rpc_check_login(weft_bytes message, const char expected[DIGEST_TEXT_BYTES]);

// The code for a failure by the last name of Hadoop's exception; UNKNOWN: it is not listed.
weft_err rpc_exception_code(const char *exception);

#endif
