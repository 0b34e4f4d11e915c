// The connecting side of a door, for a loop.

#include "transport/dial.h"

#include <stdlib.h>

#include "sys/secure/tls.h"

struct dial {
    struct dial_calls calls;
    void *owner;
    struct loop_stream *stream;
    struct hello_client hello;
    struct frame_parser parser;
    size_t payload_bytes_max;  // of a frame, once it is welcomed
    bool is_welcomed, is_reading, is_freed;
};

static void release(struct dial *dial)
{
    frame_parser_fini(&dial->parser);
    hello_client_fini(&dial->hello);
    free(dial);
}

void dial_free(struct dial *dial)
{
    if (!dial)
        return;
    loop_stream_free(dial->stream);
    dial->is_freed = true;
    if (!dial->is_reading)
        release(dial);
}

void dial_limit_frames(struct dial *dial, size_t payload_bytes_max)
{
    dial->payload_bytes_max = payload_bytes_max;
    if (dial->is_welcomed)
        dial->parser.payload_bytes_max = payload_bytes_max;
}

bool dial_is_welcomed(const struct dial *dial)
{
    return dial->is_welcomed;
}

struct loop_stream *dial_stream(struct dial *dial)
{
    return dial->stream;
}

// ---- What arrives -------------------------------------------------------------------------------------------

static weft_err receive_hello(struct dial *dial, const struct frame *frame)
{
    struct hello_welcome welcome;
    bool is_done = false;
    const weft_err code =
        hello_client_take(&dial->hello, frame, loop_stream_out(dial->stream), &is_done, &welcome);
    if (code)
        return code;
    loop_stream_flush(dial->stream);
    if (!is_done)
        return WEFT_OK;
    dial->is_welcomed = true;
    dial->parser.payload_bytes_max = dial->payload_bytes_max;
    dial->calls.welcomed(dial->owner, &welcome);
    return WEFT_OK;
}

// What came with the welcome, for an owner that wants bytes.
static void hand_on_rest(struct dial *dial)
{
    struct frame_parser parser = dial->parser;
    dial->parser = (struct frame_parser){0};
    const weft_bytes rest = {parser.pending.data + parser.taken,
                             parser.pending.size - parser.taken};
    if (rest.size)
        dial->calls.data(dial->owner, rest);
    frame_parser_fini(&parser);
}

static weft_err receive_frames(struct dial *dial)
{
    while (!dial->is_freed && !(dial->is_welcomed && dial->calls.data)) {
        struct frame frame = {0};
        bool has_frame = false;
        weft_err code = frame_parser_next(&dial->parser, &frame, &has_frame);
        if (!code && has_frame && dial->is_welcomed)
            dial->calls.frame(dial->owner, &frame);
        else if (!code && has_frame)
            code = receive_hello(dial, &frame);
        if (code || !has_frame)
            return code;
    }
    if (!dial->is_freed)
        hand_on_rest(dial);
    return WEFT_OK;
}

static weft_err receive_bytes(struct dial *dial, weft_bytes bytes)
{
    if (dial->is_welcomed && dial->calls.heard)
        dial->calls.heard(dial->owner);
    if (dial->is_freed)
        return WEFT_OK;
    if (dial->is_welcomed && dial->calls.data) {
        dial->calls.data(dial->owner, bytes);
        return WEFT_OK;
    }
    const weft_err code = frame_parser_feed(&dial->parser, bytes.data, bytes.size);
    return code ? code : receive_frames(dial);
}

static void on_data(void *owner, weft_bytes bytes)
{
    struct dial *dial = owner;
    dial->is_reading = true;
    const weft_err code = receive_bytes(dial, bytes);
    dial->is_reading = false;
    if (dial->is_freed)
        release(dial);
    else if (code)
        dial->calls.ended(dial->owner, code, dial->hello.is_host_proven);
}

static void on_end(void *owner, weft_err code)
{
    struct dial *dial = owner;
    if (!code)
        code = err_set(WEFT_UNAVAILABLE, "the other side has closed the connection");
    // A connection that breaks says nothing about the host; only TLS knows another token.
    const bool is_strange = code == WEFT_UNAUTHENTICATED || code == WEFT_DATA_LOSS;
    dial->calls.ended(dial->owner, is_strange ? code : WEFT_UNAVAILABLE, false);
}

static void on_drained(void *owner)
{
    struct dial *dial = owner;
    if (dial->is_welcomed && dial->calls.drained)
        dial->calls.drained(dial->owner);
}

// ---- The beginning ------------------------------------------------------------------------------------------

static weft_err start_stream(struct dial *dial, const struct dial_options *options)
{
    static const struct loop_stream_calls calls = {on_data, on_end, on_drained};
    int fd;
    const weft_err code = net_route_connect(options->route, options->attempt, &fd);
    if (code)
        return code;
    const bool needs_tls = !net_is_local_stream(fd);
    dial->stream = loop_stream_new(options->loop, fd, &calls, dial);
    if (!dial->stream)
        return WEFT_RESOURCE_EXHAUSTED;
    struct tls *tls = needs_tls ? tls_new(false, options->token) : NULL;
    if (needs_tls && !tls)
        return WEFT_UNAVAILABLE;
    if (tls)
        loop_stream_secure(dial->stream, tls);
    return WEFT_OK;
}

weft_err dial_new(const struct dial_options *options, struct dial **made)
{
    struct dial *dial = calloc(1, sizeof *dial);
    if (!dial)
        return err_no_memory("for a connection");
    dial->calls = *options->calls;
    dial->owner = options->owner;
    dial->parser.payload_bytes_max = HELLO_FRAME_BYTES_MAX;
    struct hello hello = *options->hello;
    secret_random(hello.nonce, sizeof hello.nonce);
    weft_err code = start_stream(dial, options);
    if (!code)
        code =
            hello_client_start(&dial->hello, &hello, options->token, loop_stream_out(dial->stream));
    if (code) {
        if (dial->stream)
            loop_stream_free(dial->stream);
        release(dial);
        return code;
    }
    loop_stream_flush(dial->stream);
    *made = dial;
    return WEFT_OK;
}
