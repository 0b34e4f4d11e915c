// Frames: how a stream is cut into messages.
//
//     0        4      5        8
//     +--------+------+--------+----------------+
//     | length | type | 0  0  0| payload        |      little-endian; length is the payload's
//     +--------+------+--------+----------------+
//
// Two ways to read them: frame_receive blocks (a worker), frame_parser takes the bytes of a loop (a
// driver). The content of a payload is in proto/weft.proto. A stream that breaks these rules is
// lost: there is no way to find the next frame, so the reader gives the connection up.
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include "base/buf.h"
#include "base/err.h"
#include "wire/weft.pb-c.h"

enum { FRAME_HEADER_BYTES = 8, FRAME_PAYLOAD_BYTES_MAX = 64 << 20 };

struct frame {
    Weft__FrameType type;
    weft_bytes payload;  // borrowed from storage or from the parser until the next call
    struct buf storage;  // of frame_receive, reused
};

void frame_fini(struct frame *frame);

// RESOURCE_EXHAUSTED: no frame has room for a payload of `size` bytes.
MUST_CHECK weft_err frame_check_size(size_t size);

// Writes the 8 bytes that go before a payload of `size` bytes.
void frame_encode_header(uint8_t header[FRAME_HEADER_BYTES], Weft__FrameType type, size_t size);

// Reads them back. WEFT_DATA_LOSS: these are not the first bytes of a frame, or it has more than `size_max`.
MUST_CHECK weft_err frame_decode_header(const uint8_t header[FRAME_HEADER_BYTES], size_t size_max,
                                        Weft__FrameType *type, size_t *size);

// Sends one frame with one gathered write. WEFT_UNAVAILABLE: the peer has gone;
// WEFT_RESOURCE_EXHAUSTED: over 64 MiB. Callers of one descriptor keep each other out by a lock.
MUST_CHECK weft_err frame_send(int fd, Weft__FrameType type, const void *payload, size_t size);

// Waits for the next frame. WEFT_UNAVAILABLE: the stream has ended (cleanly between two frames or
// not); WEFT_DATA_LOSS: these are not frames. `frame` starts zeroed and is used again and again.
MUST_CHECK weft_err frame_receive(int fd, struct frame *frame);

// The incremental reader. Starts zeroed. Holds only bytes that have arrived, whatever size a header
// announces.
struct frame_parser {
    struct buf pending;
    size_t taken;  // bytes of pending that earlier frames used up
    size_t
        payload_bytes_max;  // of a frame, from a peer that is not trusted yet; 0: as many as allowed
};

void frame_parser_fini(struct frame_parser *parser);

// Adds bytes as they arrived. Frames handed out before become invalid.
MUST_CHECK weft_err frame_parser_feed(struct frame_parser *parser, const void *data, size_t size);

// The next complete frame: *has_frame is false when more bytes are needed. WEFT_DATA_LOSS: broken.
MUST_CHECK weft_err frame_parser_next(struct frame_parser *parser, struct frame *frame,
                                      bool *has_frame);

// Whether part of a frame waits for its rest: an end of the stream now cuts it.
static inline bool frame_parser_is_inside_frame(const struct frame_parser *parser)
{
    return parser->taken < parser->pending.size;
}

#endif
