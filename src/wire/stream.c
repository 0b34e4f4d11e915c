// Whole frames and messages over a connected socket, by a thread that waits.

#include "sys/net/stream.h"

#include <stdlib.h>

#include "wire/messages.h"

// Most messages are a few dozen bytes: those are packed on the stack.
enum { SMALL_MESSAGE_BYTES = 1024 };

weft_err frame_send(int fd, Weft__FrameType type, const void *payload, size_t size)
{
    const weft_err code = frame_check_size(size);
    if (code != WEFT_OK)
        return code;
    uint8_t header[FRAME_HEADER_BYTES];
    frame_encode_header(header, type, size);
    return stream_send(fd, header, sizeof header, payload, size);
}

// Takes exactly `size` bytes.
static weft_err receive_all(int fd, void *data, size_t size)
{
    size_t got = 0;
    const weft_err code = stream_receive(fd, data, size, &got);
    if (code == WEFT_OK && got < size)
        return err_set(WEFT_UNAVAILABLE, "the other side has closed the connection");
    return code;
}

weft_err frame_receive(int fd, struct frame *frame)
{
    uint8_t header[FRAME_HEADER_BYTES];
    size_t size = 0;
    weft_err code = receive_all(fd, header, sizeof header);
    if (code == WEFT_OK)
        code = frame_decode_header(header, FRAME_PAYLOAD_BYTES_MAX, &frame->type, &size);
    if (code != WEFT_OK)
        return code;
    frame->storage.size = 0;
    if (!buf_reserve(&frame->storage, size + 1))
        return err_no_memory("for a message of %zu bytes", size);
    frame->payload = (weft_bytes){frame->storage.data, size};
    return receive_all(fd, frame->storage.data, size);
}

weft_err message_send(int fd, Weft__FrameType type, const ProtobufCMessage *message)
{
    const size_t size = message ? protobuf_c_message_get_packed_size(message) : 0;
    if (!message || size > FRAME_PAYLOAD_BYTES_MAX)
        return frame_send(fd, type, NULL, size);
    uint8_t small[SMALL_MESSAGE_BYTES];
    uint8_t *packed = size <= sizeof small ? small : malloc(size);
    if (!packed)
        return err_no_memory("for a message of %zu bytes", size);
    protobuf_c_message_pack(message, packed);
    const weft_err code = frame_send(fd, type, packed, size);
    if (packed != small)
        free(packed);
    return code;
}
