// gzip by zlib: members one after the other, each with its own checksum; zero bytes after a member
// are the padding of a tape or a disk block. zlib writes straight into the caller's memory.

#include <zlib.h>

#include "store/codec/codec_state.h"

enum {
    WINDOW_BITS = 15 + 16,  // 32 KiB, with gzip's header and trailer
    MEMORY_LEVEL = 8,       // zlib's default
    LEVEL = 6,
    SYSTEM_UNIX = 3,
    WRITE_BYTES = 64 << 10,
};

static bool gzip_sniff(const unsigned char *data, size_t size)
{
    // The upper bits of the flags have no meaning yet: data that sets them only looks like gzip. No text begins
    // with the first two bytes: one that ends with them is a file that was cut.
    return size >= 2 && data[0] == 0x1f && data[1] == 0x8b && (size < 3 || data[2] == 8) &&
           (size < 4 || (data[3] & 0xe0) == 0);
}

static weft_err gzip_open(struct codec_reader *reader)
{
    z_stream *stream = calloc(1, sizeof *stream);
    if (!stream || inflateInit2(stream, WINDOW_BITS) != Z_OK) {
        free(stream);
        return codec_has_no_memory(reader);
    }
    reader->state = stream;
    return WEFT_OK;
}

static void gzip_close(struct codec_reader *reader)
{
    if (!reader->state)
        return;
    inflateEnd(reader->state);
    free(reader->state);
}

// Passes over padding to the next member, if there is one. False: nothing is left of this stretch.
static bool gzip_begin_member(struct codec_reader *reader)
{
    struct codec_source *in = &reader->in;
    // The first member has no padding in front of it, or codec_sniff would not have found it.
    while (in->begin < in->end && in->data[in->begin] == 0)
        in->begin++;
    if (in->begin == in->end)
        return false;
    reader->is_inside = true;
    return inflateReset(reader->state) == Z_OK;
}

static weft_err gzip_decode(struct codec_reader *reader, struct codec_room *room)
{
    z_stream *stream = reader->state;
    struct codec_source *in = &reader->in;
    if (!reader->is_inside && !gzip_begin_member(reader))
        return WEFT_OK;
    stream->next_in = in->data + in->begin;
    stream->avail_in = (unsigned)codec_source_left(in);
    stream->next_out = room->data;
    stream->avail_out = codec_library_size(room->size);
    const int end = inflate(stream, Z_NO_FLUSH);
    in->begin = in->end - stream->avail_in;
    codec_room_take(room, (size_t)(stream->next_out - room->data));
    switch (end) {
    case Z_STREAM_END:
        reader->is_inside = false;
        return WEFT_OK;
    case Z_OK:
    case Z_BUF_ERROR:  // nothing to take or nowhere to put it
        return WEFT_OK;
    case Z_MEM_ERROR:
        return codec_has_no_memory(reader);
    default:
        return codec_is_damaged(reader, stream->msg ? stream->msg : "the data is not gzip's");
    }
}

static weft_err deflate_all(z_stream *stream, weft_bytes text, struct buf *out)
{
    int end = Z_OK;
    size_t left = text.size;
    stream->next_in = (z_const Bytef *)text.data;
    while (end == Z_OK) {
        if (stream->avail_in == 0) {
            stream->avail_in = codec_library_size(left);
            left -= stream->avail_in;
        }
        char *to = buf_reserve(out, WRITE_BYTES);
        if (!to)
            return WEFT_OK;  // the buf has failed, and the caller says so
        stream->next_out = (Bytef *)to;
        stream->avail_out = WRITE_BYTES;
        end = deflate(stream, left ? Z_NO_FLUSH : Z_FINISH);
        out->size += WRITE_BYTES - stream->avail_out;
    }
    ASSERT(end == Z_STREAM_END);
    return WEFT_OK;
}

static weft_err gzip_compress(weft_bytes text, struct buf *out)
{
    z_stream stream = {0};
    // No time and always the same system: the same text gives the same bytes everywhere.
    gz_header header = {.os = SYSTEM_UNIX};
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return err_no_memory("to compress with gzip");
    deflateSetHeader(&stream, &header);
    const weft_err err = deflate_all(&stream, text, out);
    deflateEnd(&stream);
    return err;
}

const struct codec_format codec_format_gzip = {
    .name = "gzip",
    .suffix = ".gz",
    .test_command = "gzip -t",
    .begin = {"\x1f\x8b", 2},
    .sniff = gzip_sniff,
    .front = {gzip_open, gzip_close, gzip_decode},
    .indexed = {codec_bgzf_open, codec_bgzf_close, codec_bgzf_decode},
    .build_index = codec_bgzf_build_index,
    .compress = gzip_compress,
};
