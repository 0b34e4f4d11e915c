// Calls over a connection.

#include "wire/hadoop/rpc.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/net/tcp.h"
#include "sys/secure/secret.h"

struct rpc {
    struct tcp *tcp;
    const struct rpc_names *names;
    bool has_greeted, has_login, is_broken;
    char exception[80];
    struct buf frame;
};

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

const struct tcp *rpc_connection(const struct rpc *rpc)
{
    return rpc->tcp;
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

// Failures of the connection name its address already.
static weft_err name_service(const struct rpc *rpc, weft_err code)
{
    const char *name = tcp_name(rpc->tcp);
    return code == WEFT_OK || strstr(err_text(), name) ? code : err_wrap(code, "%s", name);
}

// ---- Logins -------------------------------------------------------------------------------------------------

static weft_err send_frames(struct rpc *rpc, const struct buf *out)
{
    return out->has_failed ? err_no_memory("for a call") : tcp_send(rpc->tcp, out->data, out->size);
}

static weft_err receive_login(struct rpc *rpc, struct rpc_answer *answer)
{
    const weft_err code = receive_answer(rpc, RPC_CALL_SASL, answer);
    return code != WEFT_OK ? code : answer->code;
}

static weft_err log_in(struct rpc *rpc, const struct hadoop_token *token)
{
    struct rpc_answer answer = {0};
    struct buf out = {0}, nonce = {0};
    char chance[24], expected[DIGEST_TEXT_BYTES];
    bool is_done = false;
    secret_random(chance, sizeof chance);
    digest_append_base64(&nonce, (weft_bytes){chance, sizeof chance});
    rpc_write_negotiate(&out);
    weft_err code = send_frames(rpc, &out);
    if (code == WEFT_OK)
        code = receive_login(rpc, &answer);
    out.size = 0;
    if (code == WEFT_OK)
        code = rpc_answer_login(answer.message, token, buf_text(&nonce), &out, expected, &is_done);
    if (code == WEFT_OK && !is_done)
        code = send_frames(rpc, &out);
    if (code == WEFT_OK && !is_done)
        code = receive_login(rpc, &answer);
    if (code == WEFT_OK && !is_done)
        code = rpc_check_login(answer.message, expected);
    rpc->has_login = true;
    buf_fini(&out);
    buf_fini(&nonce);
    return name_service(rpc, code);
}

weft_err rpc_open(const struct rpc_options *options, struct rpc **opened)
{
    struct rpc *rpc = calloc(1, sizeof *rpc);
    *opened = NULL;
    if (!rpc)
        return err_no_memory("for a connection");
    rpc->names = options->names;
    weft_err code =
        tcp_open(&options->address, options->connect_ms, options->silence_ms, &rpc->tcp);
    if (code == WEFT_OK && options->token) {
        code = log_in(rpc, options->token);
        if (code != WEFT_OK)
            tcp_close(rpc->tcp);
    }
    if (code == WEFT_OK)
        *opened = rpc;
    else {
        buf_fini(&rpc->frame);
        free(rpc);
    }
    return code;
}

// ---- Calls --------------------------------------------------------------------------------------------------

static weft_err send_call(struct rpc *rpc, const char *method, int32_t call, int32_t retry_count,
                          const ProtobufCMessage *message)
{
    struct buf out = {0};
    if (!rpc->has_greeted && rpc->has_login)
        rpc_write_context(&out, rpc->names);
    else if (!rpc->has_greeted)
        rpc_write_hello(&out, rpc->names);
    rpc->has_greeted = true;
    rpc_write_call(&out, rpc->names, method, call, retry_count, message);
    const weft_err code = send_frames(rpc, &out);
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
