// pack: the values of calls, answers and journals, one after the other, little-endian and not
// aligned. The meaning of a call is in wire/ops/: this header is for files that define a layout,
// not for those that use one (tools/check_layers).
#ifndef WIRE_PACK_H
#define WIRE_PACK_H

#include "wire/call.h"

// A reader that fails by its flag: past the end it gives zeros, and the end is checked once.
struct pack_reader {
    weft_bytes rest;
    bool has_failed;
};

uint8_t pack_read_u8(struct pack_reader *reader);
uint16_t pack_read_u16(struct pack_reader *reader);
uint32_t pack_read_u32(struct pack_reader *reader);
uint64_t pack_read_u64(struct pack_reader *reader);
weft_bytes pack_read_bytes(struct pack_reader *reader, size_t size);
weft_bytes pack_read_text(struct pack_reader *reader);  // u16 size, then bytes
weft_bytes pack_read_blob(struct pack_reader *reader);  // u32 size, then bytes
void pack_read_item(struct pack_reader *reader, struct call_item *item);

// Everything was read, and nothing was missing.
static inline bool pack_is_at_end(const struct pack_reader *reader)
{
    return !reader->has_failed && reader->rest.size == 0;
}

void pack_write_u8(struct buf *out, uint8_t value);
void pack_write_u16(struct buf *out, uint16_t value);
void pack_write_u32(struct buf *out, uint32_t value);
void pack_write_u64(struct buf *out, uint64_t value);
void pack_write_text(struct buf *out, weft_bytes text);  // at most 65,535 bytes: asserts
void pack_write_blob(struct buf *out, weft_bytes bytes);
void pack_write_item(struct buf *out, const struct call_item *item);
void pack_put_item(char to[CALL_ITEM_BYTES], const struct call_item *item);  // the same in place

#endif
