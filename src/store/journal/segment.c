// Segments of a journal. Numbers are little-endian.
//
//   journal    DIR/journal-000001  DIR/journal-000002 ...     DIR/journal-lock
//   segment    header | record | record | ...
//
//   header   0  8 bytes  "WEFTJRNL"
//            8  u32      format version: 1, or 2 (see below)
//           12  u32      CRC-32C of the header without these four bytes
//           16  u64      number of the segment, as in its name
//           24  u64      sequence number of its first record
//           32  u64      bytes of the snapshot it begins with, header included; 0: none
//           40  24 bytes the kind, filled up with zeros, at least one
//           64           records
//
//   record   0  u32      bytes of the payload
//            4  u32      CRC-32C of the size and of everything after this field
//            8  u32      type
//           12  u64      sequence number: one more than that of the record before
//           20           payload
//
// The header keeps its form in all versions: so a newer version is not mistaken for a flipped bit. A segment
// with a snapshot replaces all segments with smaller numbers.
//
// Version 2 is for files that were written before they are used, with zeros or as another segment: a
// record says in which segment it is and where the disk was waited for. Two things differ.
//   - The checksum of a record begins with the u64 number of its segment: what an older life of the file
//     left after the end is never sound.
//   - Bit 31 of the size: all records before this one were on the disk when it was written. After a
//     place where no sound record stands, such a record proves damage; others may be of the same commit,
//     whose blocks reach the disk in any order.

#include "store/journal/segment.h"

#include "base/crc32c.h"

enum {
    VERSION_AT = 8,
    HEADER_CRC_AT = 12,
    NUMBER_AT = 16,
    FIRST_AT = 24,
    WHOLE_AT = 32,
    KIND_AT = 40
};
enum { SIZE_AT = 0, CRC_AT = 4, TYPE_AT = 8, SEQUENCE_AT = 12 };

static const char MAGIC[8] = "WEFTJRNL";

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "journals are little-endian");

static uint32_t load32(const char *from)
{
    uint32_t number;
    memcpy(&number, from, sizeof number);
    return number;
}

static uint64_t load64(const char *from)
{
    uint64_t number;
    memcpy(&number, from, sizeof number);
    return number;
}

// ---- The header ---------------------------------------------------------------------------------

static uint32_t header_crc(const char *header)
{
    const uint32_t crc = crc32c(0, header, HEADER_CRC_AT);
    return crc32c(crc, header + NUMBER_AT, SEGMENT_HEADER_BYTES - NUMBER_AT);
}

void segment_write_header(char *to, const struct segment_header *header)
{
    memcpy(to, MAGIC, sizeof MAGIC);
    memcpy(to + VERSION_AT, &header->version, 4);
    memcpy(to + NUMBER_AT, &header->number, 8);
    memcpy(to + FIRST_AT, &header->first_sequence, 8);
    memcpy(to + WHOLE_AT, &header->whole_bytes, 8);
    memcpy(to + KIND_AT, header->kind, JOURNAL_KIND_BYTES);
    const uint32_t crc = header_crc(to);
    memcpy(to + HEADER_CRC_AT, &crc, 4);
}

bool segment_is_unbegun(weft_bytes bytes)
{
    const size_t size = bytes.size < SEGMENT_HEADER_BYTES ? bytes.size : SEGMENT_HEADER_BYTES;
    size_t zeros = 0;
    while (zeros < size && !bytes.data[zeros])
        zeros++;
    if (zeros == size)
        return true;  // a power cut may leave the size of a file without its bytes
    const size_t known = size < sizeof MAGIC ? size : sizeof MAGIC;
    return size < SEGMENT_HEADER_BYTES && memcmp(bytes.data, MAGIC, known) == 0;
}

weft_err segment_read_header(weft_bytes bytes, const char *path, struct segment_header *header)
{
    *header = (struct segment_header){0};
    if (bytes.size < SEGMENT_HEADER_BYTES || memcmp(bytes.data, MAGIC, sizeof MAGIC) != 0)
        return err_set(WEFT_DATA_LOSS, "%s is not a journal: it does not begin like one", path);
    const char *at = bytes.data;
    memcpy(header->kind, at + KIND_AT, JOURNAL_KIND_BYTES);
    header->version = load32(at + VERSION_AT);
    header->number = load64(at + NUMBER_AT);
    header->first_sequence = load64(at + FIRST_AT);
    header->whole_bytes = load64(at + WHOLE_AT);
    if (load32(at + HEADER_CRC_AT) != header_crc(at))
        return err_set(WEFT_DATA_LOSS, "%s is damaged: the checksum of its header is wrong", path);
    if (header->version > JOURNAL_VERSION)
        return err_set(WEFT_FAILED_PRECONDITION,
                       "%s was written by a newer weft (format %u, this one knows %d)\n"
                       "  try: that newer weft, or remove the file and begin again",
                       path, header->version, JOURNAL_VERSION);
    const bool is_sound = header->version > 0 && !header->kind[JOURNAL_KIND_BYTES - 1] &&
                          header->first_sequence > 0 &&
                          (header->number > 0 || header->version < SEGMENT_IS_PREWRITTEN);
    return is_sound ? WEFT_OK : err_set(WEFT_DATA_LOSS, "%s is damaged: its header is wrong", path);
}

// ---- Records ------------------------------------------------------------------------------------

static const uint32_t BEGINS_COMMIT = 1u << 31;

uint64_t segment_salt(const struct segment_header *header)
{
    return header->version >= SEGMENT_IS_PREWRITTEN ? header->number : 0;
}

static uint32_t record_crc(const char *record, size_t payload_size, uint64_t salt)
{
    uint32_t crc = salt ? crc32c(0, &salt, sizeof salt) : 0;
    crc = crc32c(crc, record + SIZE_AT, CRC_AT - SIZE_AT);
    return crc32c(crc, record + TYPE_AT, SEGMENT_RECORD_BYTES - TYPE_AT + payload_size);
}

bool segment_append(struct buf *buf, uint64_t salt, bool begins_commit,
                    const struct journal_record *record)
{
    ASSERT(salt || !begins_commit);
    char *to = buf_reserve(buf, SEGMENT_RECORD_BYTES + record->payload.size);
    if (!to) {
        buf->has_failed = false;  // nothing was appended: the content is still whole
        return false;
    }
    const uint32_t size = (uint32_t)record->payload.size;
    const uint32_t field = begins_commit ? size | BEGINS_COMMIT : size;
    memcpy(to + SIZE_AT, &field, 4);
    memcpy(to + TYPE_AT, &record->type, 4);
    memcpy(to + SEQUENCE_AT, &record->sequence, 8);
    if (size)
        memcpy(to + SEGMENT_RECORD_BYTES, record->payload.data, size);
    const uint32_t crc = record_crc(to, size, salt);
    memcpy(to + CRC_AT, &crc, 4);
    buf->size += SEGMENT_RECORD_BYTES + size;
    return true;
}

static size_t payload_size(const char *record, uint64_t salt)
{
    const uint32_t field = load32(record + SIZE_AT);
    return salt ? field & ~BEGINS_COMMIT : field;
}

// Whether a sound record with this sequence number stands there.
static bool has_record(const struct segment_walk *walk, size_t at, uint64_t sequence)
{
    const weft_bytes bytes = walk->bytes;
    if (bytes.size - at < SEGMENT_RECORD_BYTES)
        return false;
    const char *record = bytes.data + at;
    const size_t size = payload_size(record, walk->salt);
    return load64(record + SEQUENCE_AT) == sequence &&
           size <= bytes.size - at - SEGMENT_RECORD_BYTES &&
           load32(record + CRC_AT) == record_crc(record, size, walk->salt);
}

bool segment_next(struct segment_walk *walk, struct journal_record *record)
{
    if (!has_record(walk, walk->at, walk->sequence))
        return false;
    const char *at = walk->bytes.data + walk->at;
    *record = (struct journal_record){
        .type = load32(at + TYPE_AT),
        .sequence = walk->sequence++,
        .payload = {at + SEGMENT_RECORD_BYTES, payload_size(at, walk->salt)},
    };
    walk->at += SEGMENT_RECORD_BYTES + record->payload.size;
    return true;
}

// The first sound record at `from` or after it that may have followed the missing part at the end of the
// walk; bytes.size: none.
static size_t find_record(const struct segment_walk *walk, size_t from)
{
    const weft_bytes bytes = walk->bytes;
    for (size_t at = from; at + SEGMENT_RECORD_BYTES <= bytes.size; at++) {
        // The bad stretch held at least one record, and no more than fit: few places look right enough
        // to be worth a checksum.
        const uint64_t skipped = load64(bytes.data + at + SEQUENCE_AT) - walk->sequence;
        if (skipped - 1 < (at - walk->at) / SEGMENT_RECORD_BYTES &&
            has_record(walk, at, walk->sequence + skipped))
            return at;
    }
    return bytes.size;
}

static size_t record_bytes(const struct segment_walk *walk, size_t at)
{
    return SEGMENT_RECORD_BYTES + payload_size(walk->bytes.data + at, walk->salt);
}

bool segment_has_more(const struct segment_walk *walk)
{
    const weft_bytes bytes = walk->bytes;
    size_t at = find_record(walk, walk->at + SEGMENT_RECORD_BYTES);
    while (walk->salt && at < bytes.size && !(load32(bytes.data + at + SIZE_AT) & BEGINS_COMMIT))
        at = find_record(walk, at + record_bytes(walk, at));
    return at < bytes.size;
}

size_t segment_torn_bytes(const struct segment_walk *walk, uint64_t *count)
{
    const weft_bytes bytes = walk->bytes;
    size_t end = walk->at;
    // A record that begins rightly and is not whole.
    if (bytes.size - end >= SEGMENT_RECORD_BYTES &&
        load64(bytes.data + end + SEQUENCE_AT) == walk->sequence) {
        const size_t size = record_bytes(walk, end);
        end += size < bytes.size - end ? size : bytes.size - end;
    }
    for (size_t at = find_record(walk, walk->at + SEGMENT_RECORD_BYTES); at < bytes.size;
         at = find_record(walk, at + record_bytes(walk, at))) {
        end = at + record_bytes(walk, at) > end ? at + record_bytes(walk, at) : end;
        if (count)
            ++*count;
    }
    return end - walk->at;
}
