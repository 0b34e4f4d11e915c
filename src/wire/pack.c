// Values as bytes, read and written one by one.

#include "wire/pack.h"

weft_bytes pack_read_bytes(struct pack_reader *reader, size_t size)
{
    if (size > reader->rest.size) {
        reader->has_failed = true;
        reader->rest = weft_none();
        return weft_none();
    }
    const weft_bytes bytes = {reader->rest.data, size};
    if (size == 0)
        return bytes;  // the rest may be nothing, which has no address to count from
    reader->rest.data += size;
    reader->rest.size -= size;
    return bytes;
}

#define READ_NUMBER(name, type)                                                                    \
    type name(struct pack_reader *reader)                                                          \
    {                                                                                              \
        type value = 0;                                                                            \
        const weft_bytes bytes = pack_read_bytes(reader, sizeof value);                            \
        if (bytes.size)                                                                            \
            memcpy(&value, bytes.data, sizeof value);                                              \
        return value;                                                                              \
    }
READ_NUMBER(pack_read_u8, uint8_t)
READ_NUMBER(pack_read_u16, uint16_t)
READ_NUMBER(pack_read_u32, uint32_t)
READ_NUMBER(pack_read_u64, uint64_t)

weft_bytes pack_read_text(struct pack_reader *reader)
{
    const uint16_t size = pack_read_u16(reader);
    return pack_read_bytes(reader, size);
}

weft_bytes pack_read_blob(struct pack_reader *reader)
{
    const uint32_t size = pack_read_u32(reader);
    return pack_read_bytes(reader, size);
}

void pack_read_item(struct pack_reader *reader, struct call_item *item)
{
    item->queue = pack_read_u64(reader);
    item->id = pack_read_u64(reader);
    item->slot = pack_read_u32(reader);
    item->delivery = pack_read_u32(reader);
}

void pack_write_u8(struct buf *out, uint8_t value)
{
    buf_append(out, &value, sizeof value);
}

void pack_write_u16(struct buf *out, uint16_t value)
{
    buf_append(out, &value, sizeof value);
}

void pack_write_u32(struct buf *out, uint32_t value)
{
    buf_append(out, &value, sizeof value);
}

void pack_write_u64(struct buf *out, uint64_t value)
{
    buf_append(out, &value, sizeof value);
}

void pack_write_text(struct buf *out, weft_bytes text)
{
    ASSERT(text.size <= UINT16_MAX);
    pack_write_u16(out, (uint16_t)text.size);
    buf_append(out, text.data, text.size);
}

void pack_write_blob(struct buf *out, weft_bytes bytes)
{
    ASSERT(bytes.size <= UINT32_MAX);
    pack_write_u32(out, (uint32_t)bytes.size);
    buf_append(out, bytes.data, bytes.size);
}

void pack_put_item(char to[CALL_ITEM_BYTES], const struct call_item *item)
{
    memcpy(to, &item->queue, 8);
    memcpy(to + 8, &item->id, 8);
    memcpy(to + 16, &item->slot, 4);
    memcpy(to + 20, &item->delivery, 4);
}

void pack_write_item(struct buf *out, const struct call_item *item)
{
    char bytes[CALL_ITEM_BYTES];
    pack_put_item(bytes, item);
    buf_append(out, bytes, sizeof bytes);
}
