// Frames: the 8-byte header, checked in one place for both readers.

#include "wire/frame.h"

void frame_fini(struct frame *frame)
{
    buf_fini(&frame->storage);
    *frame = (struct frame){0};
}

void frame_encode_header(uint8_t header[FRAME_HEADER_BYTES], Weft__FrameType type, size_t size)
{
    const uint8_t bytes[FRAME_HEADER_BYTES] = {(uint8_t)size, (uint8_t)(size >> 8),
                                               (uint8_t)(size >> 16), (uint8_t)(size >> 24),
                                               (uint8_t)type};
    memcpy(header, bytes, sizeof bytes);
}

weft_err frame_check_size(size_t size)
{
    if (size > FRAME_PAYLOAD_BYTES_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "a message of %zu bytes is too large for the wire, at most %d", size,
                       FRAME_PAYLOAD_BYTES_MAX);
    return WEFT_OK;
}

weft_err frame_decode_header(const uint8_t header[FRAME_HEADER_BYTES], size_t size_max,
                             Weft__FrameType *type, size_t *size)
{
    *size = (size_t)header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16 |
            (size_t)header[3] << 24;
    if ((header[5] | header[6] | header[7]) != 0 || header[4] == WEFT__FRAME_TYPE__FRAME_NONE)
        return err_set(WEFT_DATA_LOSS, "the other side sent something that is not a frame");
    if (*size > size_max)
        return err_set(WEFT_DATA_LOSS, "the other side announced a frame of %zu bytes, at most %zu",
                       *size, size_max);
    *type = (Weft__FrameType)header[4];
    return WEFT_OK;
}

void frame_parser_fini(struct frame_parser *parser)
{
    buf_fini(&parser->pending);
    *parser = (struct frame_parser){0};
}

weft_err frame_parser_feed(struct frame_parser *parser, const void *data, size_t size)
{
    // Moving the rest to the front is cheap when it happens once per read: it is less than a frame.
    if (parser->taken > 0) {
        parser->pending.size -= parser->taken;
        memmove(parser->pending.data, parser->pending.data + parser->taken, parser->pending.size);
        parser->taken = 0;
    }
    buf_append(&parser->pending, data, size);
    if (parser->pending.has_failed)
        return err_no_memory("for the messages of a worker");
    return WEFT_OK;
}

weft_err frame_parser_next(struct frame_parser *parser, struct frame *frame, bool *has_frame)
{
    *has_frame = false;
    const size_t ready = parser->pending.size - parser->taken;
    if (ready < FRAME_HEADER_BYTES)
        return WEFT_OK;
    const char *start = parser->pending.data + parser->taken;
    size_t size = 0;
    const size_t size_max =
        parser->payload_bytes_max ? parser->payload_bytes_max : FRAME_PAYLOAD_BYTES_MAX;
    const weft_err code =
        frame_decode_header((const uint8_t *)start, size_max, &frame->type, &size);
    if (code != WEFT_OK)
        return code;
    if (ready - FRAME_HEADER_BYTES < size)
        return WEFT_OK;
    frame->payload = (weft_bytes){start + FRAME_HEADER_BYTES, size};
    parser->taken += FRAME_HEADER_BYTES + size;
    *has_frame = true;
    return WEFT_OK;
}
