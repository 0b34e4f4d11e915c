// lz4: frames one after the other, skippable ones among them. The legacy format (of old kernels and
// `lz4 -l`) has neither checksums nor a recognizable end, and is refused by name.

#include <lz4frame.h>

#include "store/codec/codec_state.h"

#define FRAME_MAGIC UINT32_C(0x184D2204)
#define LEGACY_MAGIC UINT32_C(0x184C2102)

static bool lz4_sniff(const unsigned char *data, size_t size)
{
    size_t at = 0;
    // Skippable frames in front, as far as they can be seen; zstd has the same.
    while (at + 8 <= size && (codec_load32(data + at) & 0xFFFFFFF0) == 0x184D2A50) {
        const uint32_t skipped = codec_load32(data + at + 4);
        if (skipped > size)
            return false;
        at += 8 + skipped;
    }
    if (at + 4 > size)
        return false;
    const uint32_t magic = codec_load32(data + at);
    return magic == FRAME_MAGIC || magic == LEGACY_MAGIC;
}

static weft_err lz4_open(struct codec_reader *reader)
{
    LZ4F_dctx *state;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&state, LZ4F_VERSION)))
        return codec_has_no_memory(reader);
    reader->state = state;
    return WEFT_OK;
}

static void lz4_close(struct codec_reader *reader)
{
    LZ4F_freeDecompressionContext(reader->state);
}

static weft_err lz4_check_legacy(struct codec_reader *reader)
{
    struct codec_source *in = &reader->in;
    const weft_err err = codec_source_fill(in, 4);
    if (err || codec_source_left(in) < 4 || codec_load32(in->data + in->begin) != LEGACY_MAGIC)
        return err;
    return err_set(
        WEFT_UNIMPLEMENTED,
        "cannot decompress %s: it is in lz4's legacy format, which has no checksums\n  try: "
        "lz4 -dc %s | lz4 - NEW.lz4, and that as input",
        in->file->name, in->file->name);
}

static weft_err lz4_decode(struct codec_reader *reader, struct codec_room *room)
{
    struct codec_source *in = &reader->in;
    if (!reader->is_inside) {
        const weft_err err = lz4_check_legacy(reader);
        if (err)
            return err;
    }
    size_t taken = codec_source_left(in), given = room->size;
    const size_t more =
        LZ4F_decompress(reader->state, room->data, &given, in->data + in->begin, &taken, NULL);
    if (LZ4F_isError(more))
        return codec_is_damaged(reader, LZ4F_getErrorName(more));
    in->begin += taken;
    codec_room_take(room, given);
    if (taken || given)
        reader->is_inside = more != 0;
    return WEFT_OK;
}

static weft_err lz4_compress(weft_bytes text, struct buf *out)
{
    const LZ4F_preferences_t preferences = {
        .frameInfo = {.blockSizeID = LZ4F_max1MB,
                      .contentChecksumFlag = LZ4F_contentChecksumEnabled,
                      .contentSize = text.size}};
    const size_t bound = LZ4F_compressFrameBound(text.size, &preferences);
    char *to = buf_reserve(out, bound);
    if (!to)
        return WEFT_OK;  // the buf has failed, and the caller says so
    const size_t size = LZ4F_compressFrame(to, bound, text.data, text.size, &preferences);
    if (LZ4F_isError(size))
        return err_set(WEFT_RESOURCE_EXHAUSTED, "cannot compress with lz4: %s",
                       LZ4F_getErrorName(size));
    out->size += size;
    return WEFT_OK;
}

const struct codec_format codec_format_lz4 = {
    .name = "lz4",
    .suffix = ".lz4",
    .test_command = "lz4 -t",
    .begin = {"\x04\x22\x4d\x18", 4},
    .sniff = lz4_sniff,
    .front = {lz4_open, lz4_close, lz4_decode},
    .compress = lz4_compress,
};
