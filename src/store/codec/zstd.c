// zstd: frames one after the other, skippable ones among them. The library keeps the window of a
// frame in memory, so its size is limited: a file must not decide how much we take.

#include <zstd.h>
#include <zstd_errors.h>

#include "store/codec/codec_state.h"

enum {
    WINDOW_LOG_MAX = 27,  // 128 MiB: what `zstd -d` takes, too
    LEVEL = 3,
};

static bool zstd_sniff(const unsigned char *data, size_t size)
{
    // pzstd puts a skippable frame of 4 bytes first, and lz4 has these, too: the next bytes decide.
    size_t at = 0;
    bool is_skippable = false;
    while (at + 4 <= size &&
           (codec_load32(data + at) & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START) {
        is_skippable = true;
        if (at + 8 > size)
            return true;
        const uint32_t skipped = codec_load32(data + at + 4);
        if (skipped > size)
            return true;
        at += 8 + skipped;
    }
    if (at + 4 > size)
        return is_skippable;
    return codec_load32(data + at) == ZSTD_MAGICNUMBER;
}

static weft_err zstd_open(struct codec_reader *reader)
{
    reader->state = ZSTD_createDStream();
    if (!reader->state ||
        ZSTD_isError(ZSTD_DCtx_setParameter(reader->state, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
        return codec_has_no_memory(reader);
    return WEFT_OK;
}

static void zstd_close(struct codec_reader *reader)
{
    ZSTD_freeDStream(reader->state);
}

static weft_err zstd_fail(const struct codec_reader *reader, size_t code)
{
    const char *name = reader->in.file->name;
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_frameParameter_windowTooLarge:
        return err_set(
            WEFT_RESOURCE_EXHAUSTED,
            "cannot decompress %s: its frame before byte %llu has a window of more than "
            "%d MiB, and would take as much memory\n  try: zstd -d --long=31 %s, and the "
            "plain file as input",
            name, (unsigned long long)codec_source_offset(&reader->in), 1 << (WINDOW_LOG_MAX - 20),
            name);
    case ZSTD_error_memory_allocation:
        return codec_has_no_memory(reader);
    case ZSTD_error_dictionary_wrong:
        return err_set(
            WEFT_FAILED_PRECONDITION,
            "cannot decompress %s: it was compressed with a dictionary\n  try: zstd -d -D "
            "DICTIONARY %s, and the plain file as input",
            name, name);
    default:
        return codec_is_damaged(reader, ZSTD_getErrorName(code));
    }
}

static weft_err zstd_decode(struct codec_reader *reader, struct codec_room *room)
{
    struct codec_source *in = &reader->in;
    ZSTD_inBuffer from = {in->data + in->begin, codec_source_left(in), 0};
    ZSTD_outBuffer to = {room->data, room->size, 0};
    const size_t more = ZSTD_decompressStream(reader->state, &to, &from);
    in->begin += from.pos;
    codec_room_take(room, to.pos);
    if (ZSTD_isError(more))
        return zstd_fail(reader, more);
    // At the end of a frame it asks for nothing; asked again without input, for the next header.
    if (from.pos || to.pos)
        reader->is_inside = more != 0;
    return WEFT_OK;
}

static uint64_t zstd_memory(const struct codec_reader *reader)
{
    return ZSTD_sizeof_DStream(reader->state);
}

static weft_err zstd_compress(weft_bytes text, struct buf *out)
{
    const size_t bound = ZSTD_compressBound(text.size);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    char *to = context ? buf_reserve(out, bound) : NULL;
    if (!to) {
        ZSTD_freeCCtx(context);
        return err_no_memory("to compress with zstd");
    }
    size_t size = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
    if (!ZSTD_isError(size))
        size = ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    if (!ZSTD_isError(size))
        size = ZSTD_compress2(context, to, bound, text.data, text.size);
    ZSTD_freeCCtx(context);
    if (ZSTD_isError(size))
        return err_set(WEFT_RESOURCE_EXHAUSTED, "cannot compress with zstd: %s",
                       ZSTD_getErrorName(size));
    out->size += size;
    return WEFT_OK;
}

const struct codec_format codec_format_zstd = {
    .name = "zstd",
    .suffix = ".zst",
    .test_command = "zstd -t",
    .begin = {"\x28\xb5\x2f\xfd", 4},
    .sniff = zstd_sniff,
    .memory = zstd_memory,
    .front = {zstd_open, zstd_close, zstd_decode},
    .build_index = codec_zstd_build_index,
    .compress = zstd_compress,
};
