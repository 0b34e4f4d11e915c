// rpc: a connection to a service of Hadoop, for one call at a time. Thread: one.
#ifndef WIRE_HADOOP_RPC_H
#define WIRE_HADOOP_RPC_H

#include "sys/net/net.h"
#include "wire/hadoop/rpc_frame.h"

struct rpc;

struct rpc_options {
    struct net_address address;
    const struct rpc_names *names;     // stays the caller's
    const struct hadoop_token *token;  // proves who calls; NULL: nothing does
    uint32_t connect_ms, silence_ms;
};

// UNAUTHENTICATED: the service does not take the token.
MUST_CHECK weft_err rpc_open(const struct rpc_options *options, struct rpc **rpc);
void rpc_close(struct rpc *rpc);  // NULL is fine

// Calls and waits. *answer is of the descriptor's type, freed by protobuf_c_message_free_unpacked. Failures name the address;
// those that Hadoop reports have a code after its exception. UNAVAILABLE also: the connection broke, and
// it is unknown whether the call was carried out.
MUST_CHECK weft_err rpc_call(struct rpc *rpc, const char *method, int32_t call, int32_t retry_count,
                             const ProtobufCMessage *message,
                             const ProtobufCMessageDescriptor *descriptor,
                             ProtobufCMessage **answer);

bool rpc_is_broken(const struct rpc *rpc);         // no further call can be made
const char *rpc_exception(const struct rpc *rpc);  // of the last failure, its last name; "": none

const struct tcp *rpc_connection(const struct rpc *rpc);

#endif
