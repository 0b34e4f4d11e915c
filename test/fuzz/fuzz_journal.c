// Fuzzes the reader of journals with a segment of any bytes.
//
//   0  u8   bits: 1 a right header is put in front, so that the records are reached;
//           2 the rest are {u8 size, payload} of records, framed rightly, and then changed: see 4;
//           4 the byte at (the second byte, of the whole) is changed by the third;
//           8 the header and the records are of version 2, those with even sizes begin a commit;
//           16 behind them stand the same records as another segment has them, then zeros
//   1  u8   which byte, from the end
//   2  u8   what it is xored with
//   3       the segment
//
// What is read as sound is written again: the same bytes must come out. Where the walk ends, what is
// behind is judged without reading beyond the end.
#include <stdint.h>
#include <stdlib.h>

#include "store/journal/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PREAMBLE_BYTES = 3, BITS_HEADER = 1, BITS_FRAME = 2, BITS_CHANGE = 4 };
enum { BITS_AHEAD = 8, BITS_STALE = 16, NUMBER = 3 };

static void put_records(struct buf *segment, const uint8_t *data, size_t size, uint64_t salt)
{
    uint64_t sequence = 1;
    for (size_t at = 0; at < size;) {
        const size_t left = size - at - 1, wanted = data[at];
        const size_t payload = wanted < left ? wanted : left;
        const struct journal_record record = {
            .type = data[at],
            .sequence = sequence++,
            .payload = {(const char *)data + at + 1, payload},
        };
        ASSERT(segment_append(segment, salt, salt && payload % 2 == 0, &record));
        at += 1 + payload;
    }
}

static void make_segment(struct buf *segment, const uint8_t *data, size_t size)
{
    const uint8_t bits = data[0];
    const size_t from_end = data[1];
    if (bits & BITS_HEADER) {
        const struct segment_header header = {.version = bits & BITS_AHEAD ? 2 : 1,
                                              .number = NUMBER,
                                              .first_sequence = 1,
                                              .kind = "fuzz"};
        char bytes[SEGMENT_HEADER_BYTES];
        segment_write_header(bytes, &header);
        buf_append(segment, bytes, sizeof bytes);
    }
    if (bits & BITS_FRAME)
        put_records(segment, data + PREAMBLE_BYTES, size - PREAMBLE_BYTES,
                    bits & BITS_AHEAD ? NUMBER : 0);
    else
        buf_append(segment, data + PREAMBLE_BYTES, size - PREAMBLE_BYTES);
    if (bits & BITS_STALE) {
        static const char zeros[100];
        put_records(segment, data + PREAMBLE_BYTES, size - PREAMBLE_BYTES, NUMBER - 1);
        buf_append(segment, zeros, sizeof zeros);
    }
    if (bits & BITS_CHANGE && from_end < segment->size)
        segment->data[segment->size - 1 - from_end] ^= (char)data[2];
}

// Reads all records and writes them again.
static void check_records(weft_bytes bytes, const struct segment_header *header)
{
    const uint64_t salt = segment_salt(header);
    struct segment_walk walk = {bytes, SEGMENT_HEADER_BYTES, header->first_sequence, salt};
    struct buf again = {0};
    size_t at = walk.at;
    for (struct journal_record record; segment_next(&walk, &record); at = walk.at) {
        const bool begins_commit =
            salt && bytes.data[at + 3] & 0x80;  // the highest bit of the size
        ASSERT(segment_append(&again, salt, begins_commit, &record));
    }
    ASSERT(walk.at <= bytes.size && again.size == walk.at - SEGMENT_HEADER_BYTES);
    ASSERT(again.size == 0 ||
           memcmp(again.data, bytes.data + SEGMENT_HEADER_BYTES, again.size) == 0);
    const bool has_more = segment_has_more(&walk);
    if (has_more)
        ASSERT(walk.at + 2 * SEGMENT_RECORD_BYTES <= bytes.size);
    if (salt) {
        const size_t torn = segment_torn_bytes(&walk, NULL);
        ASSERT(torn <= bytes.size - walk.at && !(has_more && torn == 0));
    }
    buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < PREAMBLE_BYTES)
        return 0;
    struct buf segment = {0};
    make_segment(&segment, data, size);
    // A copy of the exact size: one byte too far is seen by the sanitizer.
    char *copy = malloc(segment.size ? segment.size : 1);
    ASSERT(copy);
    if (segment.size)
        memcpy(copy, segment.data, segment.size);
    const weft_bytes bytes = {copy, segment.size};
    struct segment_header header;
    const bool is_unbegun = segment_is_unbegun(bytes);
    const weft_err err = segment_read_header(bytes, "memory", &header);
    ASSERT(!(is_unbegun && !err));
    ASSERT(!err || strstr(err_text(), "memory"));
    if (!err) {
        char again[SEGMENT_HEADER_BYTES];
        segment_write_header(again, &header);
        ASSERT(memcmp(again, bytes.data, sizeof again) == 0);
        check_records(bytes, &header);
    }
    free(copy);
    buf_fini(&segment);
    return 0;
}
