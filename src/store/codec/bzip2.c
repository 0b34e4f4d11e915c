// bzip2: streams one after the other, as parallel compressors write them. Blocks have checksums.

#include <bzlib.h>

#include "store/codec/codec_state.h"

enum { LEVEL = 9, WRITE_BYTES = 64 << 10 };

static bool bzip2_sniff(const unsigned char *data, size_t size)
{
    // Its first four bytes are letters that a text may begin with: those of a block, or of the end of an
    // empty stream, must follow.
    return size >= 10 && memcmp(data, "BZh", 3) == 0 && data[3] >= '1' && data[3] <= '9' &&
           (memcmp(data + 4, "\x31\x41\x59\x26\x53\x59", 6) == 0 ||
            memcmp(data + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
}

static weft_err bzip2_open(struct codec_reader *reader)
{
    reader->state = calloc(1, sizeof(bz_stream));
    return reader->state ? WEFT_OK : codec_has_no_memory(reader);
}

// Between two streams the library holds nothing.
static void bzip2_end_stream(struct codec_reader *reader)
{
    if (reader->is_inside)
        BZ2_bzDecompressEnd(reader->state);
    reader->is_inside = false;
}

static void bzip2_close(struct codec_reader *reader)
{
    if (reader->state)
        bzip2_end_stream(reader);
    free(reader->state);
}

static weft_err bzip2_fail(const struct codec_reader *reader, int code)
{
    switch (code) {
    case BZ_MEM_ERROR:
        return codec_has_no_memory(reader);
    case BZ_DATA_ERROR:
        return codec_is_damaged(reader, "a block is damaged or its checksum is wrong");
    default:
        return codec_is_damaged(reader, "the data that follows is not bzip2's");
    }
}

static weft_err bzip2_decode(struct codec_reader *reader, struct codec_room *room)
{
    bz_stream *stream = reader->state;
    struct codec_source *in = &reader->in;
    if (!reader->is_inside) {
        if (!codec_source_left(in))
            return WEFT_OK;
        if (BZ2_bzDecompressInit(stream, 0, 0) != BZ_OK)
            return codec_has_no_memory(reader);
        reader->is_inside = true;
    }
    stream->next_in = (char *)in->data + in->begin;
    stream->avail_in = (unsigned)codec_source_left(in);
    stream->next_out = (char *)room->data;
    stream->avail_out = codec_library_size(room->size);
    const int end = BZ2_bzDecompress(stream);
    in->begin = in->end - stream->avail_in;
    codec_room_take(room, (size_t)((unsigned char *)stream->next_out - room->data));
    if (end == BZ_STREAM_END)
        bzip2_end_stream(reader);
    return end == BZ_STREAM_END || end == BZ_OK ? WEFT_OK : bzip2_fail(reader, end);
}

static weft_err compress_all(bz_stream *stream, weft_bytes text, struct buf *out)
{
    int end = BZ_RUN_OK;
    size_t left = text.size;
    stream->next_in = (char *)text.data;
    while (end == BZ_RUN_OK || end == BZ_FINISH_OK) {
        if (stream->avail_in == 0 && left) {
            stream->avail_in = codec_library_size(left);
            left -= stream->avail_in;
        }
        char *to = buf_reserve(out, WRITE_BYTES);
        if (!to)
            return WEFT_OK;  // the buf has failed, and the caller says so
        stream->next_out = to;
        stream->avail_out = WRITE_BYTES;
        end = BZ2_bzCompress(stream, left ? BZ_RUN : BZ_FINISH);
        out->size += WRITE_BYTES - stream->avail_out;
    }
    ASSERT(end == BZ_STREAM_END);
    return WEFT_OK;
}

static weft_err bzip2_compress(weft_bytes text, struct buf *out)
{
    bz_stream stream = {0};
    if (BZ2_bzCompressInit(&stream, LEVEL, 0, 0) != BZ_OK)
        return err_no_memory("to compress with bzip2");
    const weft_err err = compress_all(&stream, text, out);
    BZ2_bzCompressEnd(&stream);
    return err;
}

const struct codec_format codec_format_bzip2 = {
    .name = "bzip2",
    .suffix = ".bz2",
    .test_command = "bzip2 -t",
    .begin = {"BZh91AY&SY", 10},
    .sniff = bzip2_sniff,
    .front = {bzip2_open, bzip2_close, bzip2_decode},
    .compress = bzip2_compress,
};
