// The hello of a caller's thread: send, wait, take, until the host has decided.

#include "transport/greet.h"

static weft_err send_all(struct channel *channel, struct buf *out, uint64_t deadline_ns)
{
    size_t done = 0;
    weft_err err = WEFT_OK;
    while (done < out->size && !err) {
        size_t sent = 0;
        bool timed_out = false;
        err = channel_send(channel, (weft_bytes){out->data + done, out->size - done}, &sent);
        done += sent;
        if (!err && done < out->size)
            err = channel_wait(channel, true, -1, deadline_ns, &timed_out);
        if (!err && timed_out)
            err = err_set(WEFT_UNAVAILABLE, "it does not take our hello");
    }
    out->size = 0;
    return err;
}

static weft_err receive_frame(struct channel *channel, struct frame_parser *parser,
                              struct frame *frame, uint64_t deadline_ns)
{
    struct buf in = {0};
    bool has_frame = false;
    weft_err err = frame_parser_next(parser, frame, &has_frame);
    while (!err && !has_frame) {
        size_t received = 0;
        bool timed_out = false;
        in.size = 0;
        err = channel_receive(channel, &in, &received);
        if (!err && received == 0)
            err = channel_wait(channel, false, -1, deadline_ns, &timed_out);
        if (!err && timed_out)
            err = err_set(WEFT_UNAVAILABLE, "it does not answer our hello");
        if (!err && received)
            err = frame_parser_feed(parser, in.data, in.size);
        if (!err && received)
            err = frame_parser_next(parser, frame, &has_frame);
    }
    buf_fini(&in);
    return err;
}

weft_err greet_host(struct channel *channel, const struct hello *hello, const struct secret *token,
                    uint64_t deadline_ns, struct frame_parser *parser,
                    struct hello_welcome *welcome, bool *is_proven)
{
    struct hello_client client = {0};
    struct buf out = {0};
    bool is_done = false;
    *is_proven = false;
    weft_err err = hello_client_start(&client, hello, token, &out);
    if (!err)
        err = send_all(channel, &out, deadline_ns);
    while (!err && !is_done) {
        struct frame frame = {0};
        *is_proven = false;
        err = receive_frame(channel, parser, &frame, deadline_ns);
        if (err)
            break;
        err = hello_client_take(&client, &frame, &out, &is_done, welcome);
        *is_proven = client.is_host_proven;
        if (!err && out.size) {
            *is_proven = false;
            err = send_all(channel, &out, deadline_ns);
        }
    }
    hello_client_fini(&client);
    buf_fini(&out);
    return err;
}
