// Fuzzes the hello from both ends. The first byte says what the bytes behind it are: what a host gets
// from a stranger, what a member gets from one, or changes to a meeting of two that would succeed.
// Nobody without the token gets further than the challenge, and a refusal always fits its frame.
#include "wire/hello.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};
static const uint8_t host_nonce[HELLO_NONCE_BYTES] = {1, 2, 3};

struct side {
    struct hello_client client;
    struct hello_server server;
    bool is_done;
};

static void start(struct side *side, struct buf *first)
{
    struct hello hello = {.member = "/map/0", .incarnation = 1, .nonce = {7}};
    *side = (struct side){0};
    hello_server_init(&side->server, &token, host_nonce, "/ps/0");
    ASSERT(hello_client_start(&side->client, &hello, &token, first) == WEFT_OK);
}

static weft_err take(struct side *side, bool is_host, const struct frame *frame, struct buf *out)
{
    struct hello_welcome welcome;
    if (!is_host)
        return hello_client_take(&side->client, frame, out, &side->is_done, &welcome);
    weft_err code = hello_server_take(&side->server, frame, out);
    if (code == WEFT_OK && side->server.state == HELLO_SERVER_PROVEN)
        code = hello_server_welcome(&side->server, &(struct hello_welcome){.epoch = 1}, out);
    return code;
}

// All frames in the bytes, as far as they go.
static void eat(struct side *side, bool is_host, const void *bytes, size_t size, struct buf *out)
{
    struct frame_parser parser = {.payload_bytes_max = HELLO_FRAME_BYTES_MAX};
    struct frame frame = {0};
    bool has_frame = false;
    weft_err code = frame_parser_feed(&parser, bytes, size);
    while (code == WEFT_OK) {
        code = frame_parser_next(&parser, &frame, &has_frame);
        if (code != WEFT_OK || !has_frame)
            break;
        const bool is_over = is_host && side->server.state == HELLO_SERVER_DONE;
        code = is_over ? WEFT_DATA_LOSS : take(side, is_host, &frame, out);
    }
    ASSERT(out->size <= 2 * (size_t)(HELLO_FRAME_BYTES_MAX + FRAME_HEADER_BYTES));
    frame_parser_fini(&parser);
}

// Each three bytes change one byte of what is sent: where (2), and by what.
static void change(struct buf *bytes, const uint8_t **data, size_t *size)
{
    while (*size >= 3 && bytes->size > 0) {
        const size_t at = ((size_t)(*data)[0] << 8 | (*data)[1]) % 1024;
        const uint8_t by = (*data)[2];
        *data += 3;
        *size -= 3;
        if (at >= bytes->size)  // the next message's turn
            return;
        bytes->data[at] = (char)(bytes->data[at] ^ by);
    }
}

static void meet(const uint8_t *data, size_t size)
{
    struct side side;
    struct buf there = {0}, back = {0};
    const bool is_unchanged = size < 3;
    start(&side, &there);
    for (int i = 0; i < 2; i++) {
        change(&there, &data, &size);
        eat(&side, true, there.data, there.size, &back);
        there.size = 0;
        change(&back, &data, &size);
        eat(&side, false, back.data, back.size, &there);
        back.size = 0;
    }
    ASSERT(!is_unchanged || side.is_done);
    hello_client_fini(&side.client);
    buf_fini(&there);
    buf_fini(&back);
}

static void face_a_stranger(bool is_host, const uint8_t *data, size_t size)
{
    struct side side;
    struct buf first = {0}, out = {0};
    start(&side, &first);
    eat(&side, is_host, data, size, &out);
    ASSERT(!side.is_done && side.client.state != HELLO_CLIENT_PROVEN);
    ASSERT(side.server.state != HELLO_SERVER_PROVEN && side.server.state != HELLO_SERVER_DONE);
    hello_client_fini(&side.client);
    buf_fini(&first);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % 3 == 2)
        meet(data + 1, size - 1);
    else
        face_a_stranger(data[0] % 3 == 0, data + 1, size - 1);
    return 0;
}
