// Sizes in front of messages.

#include "wire/hadoop/delimited.h"

void delimited_write(struct buf *out, const ProtobufCMessage *message)
{
    const size_t size = protobuf_c_message_get_packed_size(message);
    for (size_t left = size;; left >>= 7) {
        const char byte = (char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
        buf_append(out, &byte, 1);
        if (left <= 0x7f)
            break;
    }
    char *to = buf_reserve(out, size);
    if (!to)
        return;
    protobuf_c_message_pack(message, (uint8_t *)to);
    out->size += size;
}

bool delimited_read_size(weft_bytes *from, uint32_t *size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < 5 && i < from->size; i++) {
        const uint8_t byte = (uint8_t)from->data[i];
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        *size = (uint32_t)value;
        from->data += i + 1;
        from->size -= i + 1;
        return value <= UINT32_MAX;
    }
    return false;
}

weft_err delimited_read(weft_bytes *from, const ProtobufCMessageDescriptor *descriptor,
                        ProtobufCMessage **message)
{
    uint32_t size;
    *message = NULL;
    if (!delimited_read_size(from, &size) || size > from->size)
        return err_set(WEFT_DATA_LOSS, "a message of Hadoop is cut off");
    *message = protobuf_c_message_unpack(descriptor, NULL, size, (const uint8_t *)from->data);
    if (!*message)
        return err_set(WEFT_DATA_LOSS, "no message of the type %s", descriptor->short_name);
    from->data += size;
    from->size -= size;
    return WEFT_OK;
}
