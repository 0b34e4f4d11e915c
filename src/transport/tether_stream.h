// A tether on a stream of the loop: what hub and spoke share.
#ifndef TRANSPORT_TETHER_STREAM_H
#define TRANSPORT_TETHER_STREAM_H

#include "sys/loop/loop.h"
#include "transport/tether.h"
#include "wire/messages.h"

// As much may wait in a stream; the rest stays in the tether until the stream has drained.
enum { TETHER_STREAM_BYTES_MAX = 256 << 10 };

// Sends what the stream has room for, and a heartbeat if one is due.
static inline void tether_push(struct tether *tether, struct loop_stream *stream, uint64_t now_ms)
{
    const size_t unsent = loop_stream_unsent(stream);
    struct buf *out = loop_stream_out(stream);
    if (unsent < TETHER_STREAM_BYTES_MAX)
        tether_put_unsent(tether, out, out->size + TETHER_STREAM_BYTES_MAX - unsent, now_ms);
    // One that does not read is sent no more: its silence, or ours, ends the connection.
    if (tether_is_heartbeat_due(tether, now_ms) && unsent < 2 * TETHER_STREAM_BYTES_MAX)
        tether_put_heartbeat(tether, out, now_ms);
    loop_stream_flush(stream);
}

// Adds a message, or bytes, as a frame.
MUST_CHECK static inline weft_err tether_add_message(struct tether *tether, Weft__FrameType type,
                                                     const ProtobufCMessage *message)
{
    char *room;
    const size_t size = message ? protobuf_c_message_get_packed_size(message) : 0;
    const weft_err code = tether_add(tether, type, size, &room);
    if (!code && message)
        protobuf_c_message_pack(message, (uint8_t *)room);
    return code;
}

MUST_CHECK static inline weft_err tether_add_bytes(struct tether *tether, Weft__FrameType type,
                                                   weft_bytes payload)
{
    char *room;
    const weft_err code = tether_add(tether, type, payload.size, &room);
    if (!code && payload.size)
        memcpy(room, payload.data, payload.size);
    return code;
}

#endif
