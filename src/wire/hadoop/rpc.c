// Calls over a connection.

#include "wire/hadoop/rpc.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/net/tcp.h"

struct rpc {
    struct tcp *tcp;
    const struct rpc_names *names;
    bool has_greeted, is_broken;
    char exception[80];
    struct buf frame;
};

weft_err rpc_open(const struct rpc_options *options, struct rpc **opened)
{
    struct rpc *rpc = calloc(1, sizeof *rpc);
    *opened = NULL;
    if (!rpc)
        return err_no_memory("for a connection");
    rpc->names = options->names;
    const weft_err code =
        tcp_open(&options->address, options->connect_ms, options->silence_ms, &rpc->tcp);
    if (code == WEFT_OK)
        *opened = rpc;
    else
        free(rpc);
    return code;
}

void rpc_close(struct rpc *rpc)
{
    if (!rpc)
        return;
    tcp_close(rpc->tcp);
    buf_fini(&rpc->frame);
    free(rpc);
}

bool rpc_is_broken(const struct rpc *rpc)
{
    return rpc->is_broken;
}

const char *rpc_exception(const struct rpc *rpc)
{
    return rpc->exception;
}

static weft_err receive_frame(struct rpc *rpc)
{
    char size_bytes[RPC_SIZE_BYTES];
    uint32_t size;
    weft_err code = tcp_receive(rpc->tcp, size_bytes, sizeof size_bytes);
    if (code == WEFT_OK)
        code = rpc_read_size(size_bytes, &size);
    if (code != WEFT_OK)
        return code;
    // As much memory as has arrived, not as much as was announced.
    rpc->frame.size = 0;
    while (code == WEFT_OK && rpc->frame.size < size) {
        enum { STEP_BYTES = 1 << 20 };
        const size_t left = size - rpc->frame.size;
        const size_t step = left < STEP_BYTES ? left : STEP_BYTES;
        char *to = buf_reserve(&rpc->frame, step);
        code = to ? tcp_receive(rpc->tcp, to, step) : err_no_memory("for an answer");
        rpc->frame.size += to ? step : 0;
    }
    return code;
}

// Answers to calls that were given up come first.
static weft_err receive_answer(struct rpc *rpc, int32_t call, struct rpc_answer *answer)
{
    for (;;) {
        weft_err code = receive_frame(rpc);
        if (code == WEFT_OK)
            code = rpc_read_answer(buf_bytes(&rpc->frame), answer);
        if (code != WEFT_OK || answer->is_fatal || answer->call == call)
            return code;
    }
}

static weft_err send_call(struct rpc *rpc, const char *method, int32_t call, int32_t retry_count,
                          const ProtobufCMessage *message)
{
    struct buf out = {0};
    if (!rpc->has_greeted)
        rpc_write_hello(&out, rpc->names);
    rpc->has_greeted = true;
    rpc_write_call(&out, rpc->names, method, call, retry_count, message);
    const weft_err code =
        out.has_failed ? err_no_memory("for a call") : tcp_send(rpc->tcp, out.data, out.size);
    buf_fini(&out);
    return code;
}

weft_err rpc_call(struct rpc *rpc, const char *method, int32_t call, int32_t retry_count,
                  const ProtobufCMessage *message, const ProtobufCMessageDescriptor *descriptor,
                  ProtobufCMessage **result)
{
    struct rpc_answer answer = {0};
    *result = NULL;
    rpc->exception[0] = 0;
    weft_err code = send_call(rpc, method, call, retry_count, message);
    if (code == WEFT_OK)
        code = receive_answer(rpc, call, &answer);
    rpc->is_broken |= code != WEFT_OK || answer.is_fatal;
    if (code == WEFT_OK && answer.code != WEFT_OK) {
        snprintf(rpc->exception, sizeof rpc->exception, "%s", answer.exception);
        return err_wrap(answer.code, "%s", tcp_name(rpc->tcp));
    }
    if (code == WEFT_OK)
        code = delimited_read(&answer.message, descriptor, result);
    return code == WEFT_DATA_LOSS ? err_wrap(code, "%s", tcp_name(rpc->tcp)) : code;
}
