// The window over a compressed file, and the sentences for one that cannot be read.

#include "store/codec/codec_state.h"

weft_err codec_source_fill(struct codec_source *in, size_t size)
{
    size_t left = codec_source_left(in);
    if (left >= size || in->next >= in->file_size)
        return WEFT_OK;
    if (left)
        memmove(in->data, in->data + in->begin, left);
    in->begin = 0;
    in->end = left;
    const uint64_t rest = in->file_size - in->next;
    size_t wanted = CODEC_STRETCH_BYTES - left, got;
    if (wanted > rest)
        wanted = (size_t)rest;
    const weft_err err = store_read_at(in->file, in->data + left, wanted, in->next, &got);
    if (err)
        return err;
    in->end += got;
    in->next += got;
    // A file that has become shorter ends here; the decoder knows whether it may.
    if (got < wanted)
        in->file_size = in->next;
    return WEFT_OK;
}

weft_err codec_is_damaged(const struct codec_reader *reader, const char *what)
{
    const struct codec_source *in = &reader->in;
    return err_set(
        WEFT_DATA_LOSS,
        "cannot decompress %s: %s, at byte %llu of %llu\n  try: %s %s shows whether it is "
        "damaged; then fetch it again",
        in->file->name, what, (unsigned long long)codec_source_offset(in),
        (unsigned long long)in->file_size, reader->format->test_command, in->file->name);
}

weft_err codec_has_no_memory(const struct codec_reader *reader)
{
    return err_no_memory("to decompress %s", reader->in.file->name);
}
