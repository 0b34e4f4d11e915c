// Messages: frames whose payload is one message of proto/weft.proto.
//
// protobuf-c's names are long; code uses the tags below. Ownership: message_free frees the result
// of message_unpack, with everything in it.
#ifndef WIRE_MESSAGES_H
#define WIRE_MESSAGES_H

#include "wire/frame.h"

// Grows with every change that an older side would misread. Driver and worker are one program today,
// yet a program may be replaced on disk while its driver runs.
enum { WIRE_VERSION = 1 };

// Packs and sends one message; NULL: a frame without payload. Errors as frame_send.
MUST_CHECK weft_err message_send(int fd, Weft__FrameType type, const ProtobufCMessage *message);

// Appends a whole frame to `out`, for a side that writes in its event loop.
MUST_CHECK weft_err message_append(struct buf *out, Weft__FrameType type,
                                   const ProtobufCMessage *message);

// The payload as a message of the descriptor's type. WEFT_DATA_LOSS: it is not such a message.
#define message_unpack(frame, descriptor, message)                                                 \
    message_unpack_any(frame, descriptor, (ProtobufCMessage **)(message))
MUST_CHECK weft_err message_unpack_any(const struct frame *frame,
                                       const ProtobufCMessageDescriptor *descriptor,
                                       ProtobufCMessage **message);
void message_free(void *message);  // NULL is fine

// Refuses a peer that speaks another version of the wire, naming both programs' versions.
MUST_CHECK weft_err message_check_hello(const Weft__Hello *hello);

// A failure's code for the wire. User code may return any number: an unknown one becomes UNKNOWN.
static inline uint32_t message_code(weft_err code)
{
    return (uint32_t)code <= WEFT_UNAUTHENTICATED ? (uint32_t)code : WEFT_UNKNOWN;
}

// Field bytes from and to ours: no copy.
static inline ProtobufCBinaryData message_bytes(weft_bytes bytes)
{
    return (ProtobufCBinaryData){bytes.size, (uint8_t *)bytes.data};
}

static inline weft_bytes message_field(ProtobufCBinaryData field)
{
    return (weft_bytes){(const char *)field.data, field.len};
}

#endif
