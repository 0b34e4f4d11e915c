// xz by liblzma: streams one after the other, with zero bytes between them perhaps, four at a time.
// A checksum for each block, and an index at the end of each stream, which the library compares
// with the blocks that it has read.

#include <lzma.h>

#include "store/codec/codec_state.h"

enum {
    MEMORY_BYTES_MAX = 160 << 20,  // for a dictionary of 128 MiB; xz -9 has 64
    PRESET = 6,
};

static const char first_bytes[] = {'\xfd', '7', 'z', 'X', 'Z', 0};

static bool xz_sniff(const unsigned char *data, size_t size)
{
    return size >= sizeof first_bytes && memcmp(data, first_bytes, sizeof first_bytes) == 0;
}

struct xz {
    lzma_stream stream;
    unsigned padding;  // how many zero bytes follow the last stream, of four
};

static weft_err xz_open(struct codec_reader *reader)
{
    struct xz *xz = calloc(1, sizeof *xz);
    if (!xz)
        return codec_has_no_memory(reader);
    xz->stream = (lzma_stream)LZMA_STREAM_INIT;
    reader->state = xz;
    return WEFT_OK;
}

static void xz_close(struct codec_reader *reader)
{
    struct xz *xz = reader->state;
    if (xz)
        lzma_end(&xz->stream);
    free(xz);
}

static weft_err xz_fail(const struct codec_reader *reader, lzma_ret code)
{
    switch (code) {
    case LZMA_MEM_ERROR:
        return codec_has_no_memory(reader);
    case LZMA_MEMLIMIT_ERROR:
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "%s needs more than %d MB to be decompressed\n  try: xz -dc %s | weft run "
                       "JOB -",
                       reader->in.file->name, MEMORY_BYTES_MAX >> 20, reader->in.file->name);
    case LZMA_OPTIONS_ERROR:
        return codec_is_damaged(reader,
                                "it uses a feature that this version of liblzma does not know");
    case LZMA_DATA_ERROR:
        return codec_is_damaged(reader, "a block is damaged or its checksum is wrong");
    default:
        return codec_is_damaged(reader, "the data that follows is not xz's");
    }
}

// Passes over padding, and begins with the next stream if there is one: then it is inside.
static weft_err xz_begin_stream(struct codec_reader *reader)
{
    struct xz *xz = reader->state;
    struct codec_source *in = &reader->in;
    for (; in->begin < in->end && in->data[in->begin] == 0; in->begin++)
        xz->padding = (xz->padding + 1) % 4;
    const bool is_end = codec_source_left(in) == 0 && in->next >= in->file_size;
    if (xz->padding && (is_end || codec_source_left(in)))
        return codec_is_damaged(
            reader, "the number of zero bytes after a stream is not a multiple of four");
    if (codec_source_left(in) == 0)
        return WEFT_OK;
    // The library looks at a header when it has all of it, and would wait for that.
    const weft_err err = codec_source_fill(in, sizeof first_bytes);
    if (err)
        return err;
    const size_t left = codec_source_left(in);
    if (memcmp(in->data + in->begin, first_bytes,
               left < sizeof first_bytes ? left : sizeof first_bytes))
        return xz_fail(reader, LZMA_FORMAT_ERROR);
    const lzma_ret begun = lzma_stream_decoder(&xz->stream, MEMORY_BYTES_MAX, 0);
    reader->is_inside = begun == LZMA_OK;
    return begun == LZMA_OK ? WEFT_OK : xz_fail(reader, begun);
}

static weft_err xz_decode(struct codec_reader *reader, struct codec_room *room)
{
    struct xz *xz = reader->state;
    lzma_stream *stream = &xz->stream;
    struct codec_source *in = &reader->in;
    const weft_err err = reader->is_inside ? WEFT_OK : xz_begin_stream(reader);
    if (err || !reader->is_inside)
        return err;
    stream->next_in = in->data + in->begin;
    stream->avail_in = codec_source_left(in);
    stream->next_out = room->data;
    stream->avail_out = room->size;
    const lzma_ret end = lzma_code(stream, LZMA_RUN);
    in->begin = in->end - stream->avail_in;
    codec_room_take(room, (size_t)(stream->next_out - room->data));
    if (end == LZMA_STREAM_END)
        reader->is_inside = false;
    // LZMA_BUF_ERROR: nothing to take or nowhere to put it.
    return end == LZMA_STREAM_END || end == LZMA_OK || end == LZMA_BUF_ERROR ? WEFT_OK
                                                                             : xz_fail(reader, end);
}

static uint64_t xz_memory(const struct codec_reader *reader)
{
    const struct xz *xz = reader->state;
    return lzma_memusage(&xz->stream);
}

// For the tests: --compress does not offer it.
static weft_err xz_compress(weft_bytes text, struct buf *out)
{
    const size_t room = lzma_stream_buffer_bound(text.size);
    char *to = buf_reserve(out, room);
    size_t size = 0;
    if (!to)
        return WEFT_OK;  // the buf has failed, and the caller says so
    if (lzma_easy_buffer_encode(PRESET, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text.data,
                                text.size, (uint8_t *)to, &size, room) != LZMA_OK)
        return err_no_memory("to compress with xz");
    out->size += size;
    return WEFT_OK;
}

const struct codec_format codec_format_xz = {
    .name = "xz",
    .suffix = ".xz",
    .test_command = "xz -t",
    .begin = {first_bytes, sizeof first_bytes},
    .sniff = xz_sniff,
    .memory = xz_memory,
    .front = {xz_open, xz_close, xz_decode},
    .compress = xz_compress,
};
