// bgzip: gzip members of at most 64 KiB that say how long they are, so that a file can be walked from
// block to block without decoding, and read from any of them.
//
//   0  1f 8b 08 04, time, flags, system       10 bytes, gzip's header with an extra field
//  10  u16  length of the extra field         usually 6
//  12  'B' 'C' u16 2, u16 size of the block less 1, among other subfields perhaps
//      deflated data, u32 CRC-32, u32 plain size
//
// An empty block ends the file, as a sign that it is complete; it may be missing.

#include <zlib.h>

#include "store/codec/codec_state.h"
#include "sys/file/file.h"

enum {
    PLAIN_BYTES_MAX = 64 << 10,  // of a block
    HEADER_BYTES_MIN = 12,       // before the extra field
    HEADER_BYTES_MAX = 128,      // with it; longer ones are not bgzip's
    TRAILER_BYTES = 8,
    END_BYTES = 28,         // of the empty block at the end
    RAW_WINDOW_BITS = -15,  // deflated data alone
};

struct block {
    size_t header_size, size;
};

struct bgzf {
    z_stream stream;
    unsigned char plain[PLAIN_BYTES_MAX];  // of a block that did not fit the caller's room
    size_t begin, end;                     // the part that is still to be handed out
};

// What the extra field says; false when this is not the beginning of a block.
static bool parse_block(const unsigned char *data, size_t size, struct block *block)
{
    if (size < HEADER_BYTES_MIN || codec_load32(data) != 0x04088b1f)
        return false;
    const size_t end = HEADER_BYTES_MIN + codec_load16(data + 10);
    if (end > size || end > HEADER_BYTES_MAX)
        return false;
    for (size_t at = HEADER_BYTES_MIN; at + 4 <= end; at += 4 + codec_load16(data + at + 2)) {
        if (data[at] != 'B' || data[at + 1] != 'C' || codec_load16(data + at + 2) != 2)
            continue;
        if (at + 6 > end)
            return false;
        *block = (struct block){end, codec_load16(data + at + 4) + 1};
        return block->size > end + TRAILER_BYTES;
    }
    return false;
}

// ---- The index -----------------------------------------------------------------------------------------

// One read a block: the end of it, with its plain size, and the header of the next.
weft_err codec_bgzf_build_index(struct store_file *file, uint64_t file_size,
                                struct codec_index *index, bool *is_index)
{
    unsigned char data[4 + HEADER_BYTES_MAX];
    struct codec_point point = {0};
    struct block block;
    bool has_memory = true;
    size_t got;
    *is_index = false;
    weft_err err = store_read_at(file, data, HEADER_BYTES_MAX, 0, &got);
    bool is_block = !err && parse_block(data, got, &block);
    while (is_block && has_memory) {
        has_memory = codec_index_add(index, point, false);
        if (block.size > file_size - point.packed)
            return WEFT_OK;
        point.packed += block.size;
        err = store_read_at(file, data, sizeof data, point.packed - 4, &got);
        if (err || got < 4 || codec_load32(data) > PLAIN_BYTES_MAX)
            return err;
        point.plain += codec_load32(data);
        if (point.packed == file_size) {
            *is_index = true;
            has_memory &= codec_index_add(index, point, true);
            break;
        }
        is_block = parse_block(data + 4, got - 4, &block);
    }
    return has_memory ? err : err_no_memory("for an index of %s", file->name);
}

weft_err codec_lacks_end(struct store_file *file, uint64_t file_size, bool *lacks_end)
{
    unsigned char data[HEADER_BYTES_MAX];
    struct block block;
    size_t got = 0;
    *lacks_end = false;
    weft_err err = store_read_at(file, data, sizeof data, 0, &got);
    if (err || !parse_block(data, got, &block) || file_size < END_BYTES)
        return err;
    err = store_read_at(file, data, END_BYTES, file_size - END_BYTES, &got);
    *lacks_end = !err && !(parse_block(data, got, &block) && block.size == END_BYTES &&
                           codec_load32(data + END_BYTES - 4) == 0);
    return err;
}

// ---- Reading -------------------------------------------------------------------------------------------

weft_err codec_bgzf_open(struct codec_reader *reader)
{
    struct bgzf *bgzf = calloc(1, sizeof *bgzf);
    if (!bgzf || inflateInit2(&bgzf->stream, RAW_WINDOW_BITS) != Z_OK) {
        free(bgzf);
        return codec_has_no_memory(reader);
    }
    reader->state = bgzf;
    return WEFT_OK;
}

void codec_bgzf_close(struct codec_reader *reader)
{
    struct bgzf *bgzf = reader->state;
    if (!bgzf)
        return;
    inflateEnd(&bgzf->stream);
    free(bgzf);
}

static void hand_out(struct bgzf *bgzf, struct codec_room *room)
{
    size_t size = bgzf->end - bgzf->begin;
    if (size > room->size)
        size = room->size;
    memcpy(room->data, bgzf->plain + bgzf->begin, size);
    bgzf->begin += size;
    codec_room_take(room, size);
}

// Decodes the block into `to`, which has room for what its trailer says, and checks it against that.
static weft_err inflate_block(struct codec_reader *reader, const struct block *block, void *to)
{
    z_stream *stream = &((struct bgzf *)reader->state)->stream;
    const unsigned char *data = reader->in.data + reader->in.begin;
    const unsigned char *trailer = data + block->size - TRAILER_BYTES;
    const uint32_t size = codec_load32(trailer + 4);
    stream->next_in = (unsigned char *)data + block->header_size;
    stream->avail_in = (unsigned)(block->size - block->header_size - TRAILER_BYTES);
    stream->next_out = to;
    stream->avail_out = size;
    if (inflateReset(stream) != Z_OK || inflate(stream, Z_FINISH) != Z_STREAM_END ||
        stream->avail_in || stream->avail_out)
        return codec_is_damaged(reader,
                                stream->msg ? stream->msg : "a block is not as long as it says");
    if (crc32(crc32(0, NULL, 0), to, size) != codec_load32(trailer))
        return codec_is_damaged(reader, "the checksum of a block is wrong");
    return WEFT_OK;
}

// The next block, whole in memory.
static weft_err fetch_block(struct codec_reader *reader, struct block *block)
{
    struct codec_source *in = &reader->in;
    weft_err err = codec_source_fill(in, HEADER_BYTES_MAX);
    if (err)
        return err;
    if (!parse_block(in->data + in->begin, codec_source_left(in), block))
        return codec_is_damaged(reader, "no block begins where one ended");
    err = codec_source_fill(in, block->size);
    if (err)
        return err;
    if (codec_source_left(in) < block->size)
        return codec_is_damaged(reader, "the file ends too early");
    if (codec_load32(in->data + in->begin + block->size - 4) > PLAIN_BYTES_MAX)
        return codec_is_damaged(reader, "a block holds more than a block can");
    return WEFT_OK;
}

weft_err codec_bgzf_decode(struct codec_reader *reader, struct codec_room *room)
{
    struct bgzf *bgzf = reader->state;
    struct codec_source *in = &reader->in;
    struct block block;
    if (bgzf->begin < bgzf->end) {
        hand_out(bgzf, room);
        return WEFT_OK;
    }
    if (!codec_source_left(in))
        return WEFT_OK;
    weft_err err = fetch_block(reader, &block);
    if (err)
        return err;
    const size_t size = codec_load32(in->data + in->begin + block.size - 4);
    if (size && size <= reader->skip) {
        // The caller wants no byte of it: its size is enough.
        reader->skip -= size;
        reader->plain += size;
    } else if (size <= room->size) {
        err = inflate_block(reader, &block, room->data);
        codec_room_take(room, err ? 0 : size);
    } else {
        err = inflate_block(reader, &block, bgzf->plain);
        bgzf->begin = 0;
        bgzf->end = err ? 0 : size;
        hand_out(bgzf, room);
    }
    in->begin += err ? 0 : block.size;
    return err;
}
