// TFRecord: {u64 length, u32 masked crc32c of it, bytes, u32 masked crc32c of them}, little endian.
//
// A wrong length cannot be passed over, since nothing else gives the begin of the next record: its
// checksum is looked at before it is used. Wrong bytes can.

#include "store/record/formats.h"

#include "base/crc32c.h"

// After a length that is wrong no other record can be found: nothing can be skipped.
#define ADVICE "\n  try: fetch or write the file again; --format says what its records are"

enum { LENGTH_BYTES = 8, SUM_BYTES = 4, FRAME_BYTES = LENGTH_BYTES + 2 * SUM_BYTES };

static uint64_t load_u64(const char *from)
{
    uint64_t number = 0;
    for (int i = 7; i >= 0; i--)
        number = number << 8 | (unsigned char)from[i];
    return number;
}

static uint32_t load_u32(const char *from)
{
    uint32_t number = 0;
    for (int i = 3; i >= 0; i--)
        number = number << 8 | (unsigned char)from[i];
    return number;
}

static void store(char *to, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (char)(number >> (8 * i));
}

// The format masks checksums, so that a checksum over data that holds checksums is not a special
// case.
static uint32_t masked_sum(const char *data, size_t size)
{
    const uint32_t crc = crc32c(0, data, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

// The length of the record at the text's begin. False: more has to be read, or *code is set.
static bool read_length(weft_bytes text, size_t *length, weft_err *code)
{
    *code = WEFT_OK;
    if (text.size < LENGTH_BYTES + SUM_BYTES)
        return false;
    const uint64_t found = load_u64(text.data);
    if (load_u32(text.data + LENGTH_BYTES) != masked_sum(text.data, LENGTH_BYTES))
        *code = err_set(WEFT_DATA_LOSS,
                        "the checksum of a record's length is wrong: the file is damaged here, or "
                        "is not a tfrecord file" ADVICE);
    else if (found > SIZE_MAX / 2)
        *code = err_set(WEFT_DATA_LOSS,
                        "a record cannot have %llu bytes: the file is damaged here" ADVICE,
                        (unsigned long long)found);
    *length = (size_t)found;
    return !*code;
}

weft_err tfrecord_cut(struct cut *cut)
{
    weft_err code = WEFT_OK;
    size_t at = 0, length;
    while (at < cut->text.size && at < cut->limit) {
        const weft_bytes rest = {cut->text.data + at, cut->text.size - at};
        if (!read_length(rest, &length, &code) || rest.size < FRAME_BYTES ||
            rest.size - FRAME_BYTES < length)
            break;
        at += FRAME_BYTES + length;
    }
    const bool is_all = at >= cut->limit || (cut->is_end && at == cut->text.size);
    cut_here(cut, at, is_all);
    // An error after whole records is reported once it is at the begin.
    if (at == 0 && !code && cut->is_end)
        return err_set(
            WEFT_DATA_LOSS,
            "the file ends inside a record, %zu bytes after its begin: it was cut off" ADVICE,
            cut->text.size);
    return at ? WEFT_OK : code;
}

bool tfrecord_next(weft_bytes *block, weft_bytes *record, weft_err *code)
{
    size_t length;
    if (block->size == 0 || !read_length(*block, &length, code))
        return false;
    ASSERT(block->size >= FRAME_BYTES && block->size - FRAME_BYTES >= length);
    *record = (weft_bytes){block->data + LENGTH_BYTES + SUM_BYTES, length};
    const uint32_t stored = load_u32(record->data + length);
    const uint32_t found = masked_sum(record->data, length);
    block_drop(block, FRAME_BYTES + length);
    if (stored != found)
        *code = err_set(WEFT_DATA_LOSS,
                        "the checksum of a record of %zu bytes is wrong (%08x, not %08x): the file "
                        "is damaged here" ADVICE,
                        length, found, stored);
    return !*code;
}

uint64_t tfrecord_count(weft_bytes block)
{
    uint64_t count = 0;
    while (block.size >= FRAME_BYTES && load_u64(block.data) <= block.size - FRAME_BYTES) {
        block_drop(&block, FRAME_BYTES + (size_t)load_u64(block.data));
        count++;
    }
    return count;
}

size_t tfrecord_size(size_t data_size)
{
    return FRAME_BYTES + data_size;
}

char *tfrecord_data(char *begin)
{
    return begin + LENGTH_BYTES + SUM_BYTES;
}

char *tfrecord_close(char *begin, size_t data_size)
{
    char *data = tfrecord_data(begin);
    store(begin, data_size, LENGTH_BYTES);
    store(begin + LENGTH_BYTES, masked_sum(begin, LENGTH_BYTES), SUM_BYTES);
    store(data + data_size, masked_sum(data, data_size), SUM_BYTES);
    return data + data_size + SUM_BYTES;
}
