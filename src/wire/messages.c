// Messages: protobuf-c packed into frames and back.

#include "wire/messages.h"

weft_err message_append(struct buf *out, Weft__FrameType type, const ProtobufCMessage *message)
{
    const size_t size = message ? protobuf_c_message_get_packed_size(message) : 0;
    const weft_err code = frame_check_size(size);
    if (code != WEFT_OK)
        return code;
    char *room = buf_reserve(out, FRAME_HEADER_BYTES + size);
    if (!room)
        return err_no_memory("for a message of %zu bytes", size);
    frame_encode_header((uint8_t *)room, type, size);
    if (message)
        protobuf_c_message_pack(message, (uint8_t *)room + FRAME_HEADER_BYTES);
    out->size += FRAME_HEADER_BYTES + size;
    return WEFT_OK;
}

weft_err message_unpack_any(const struct frame *frame, const ProtobufCMessageDescriptor *descriptor,
                            ProtobufCMessage **message)
{
    *message = protobuf_c_message_unpack(descriptor, NULL, frame->payload.size,
                                         (const uint8_t *)frame->payload.data);
    if (!*message)
        return err_set(WEFT_DATA_LOSS, "a frame of type %d holds no readable %s", (int)frame->type,
                       descriptor->short_name);
    return WEFT_OK;
}

void message_free(void *message)
{
    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
}

weft_err message_check_hello(const Weft__Hello *hello)
{
    if (hello->wire_version == WIRE_VERSION)
        return WEFT_OK;
    return err_set(
        WEFT_FAILED_PRECONDITION,
        "the worker is weft %s and speaks wire version %u, this driver is weft %s and "
        "speaks version %d\n  try: start it again; the program was replaced while it ran",
        hello->version, hello->wire_version, WEFT_VERSION_TEXT, WIRE_VERSION);
}
