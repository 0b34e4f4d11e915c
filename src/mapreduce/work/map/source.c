// Sources: plain files by pread, compressed ones through a codec.

#include "mapreduce/work/map/source.h"

#include "store/codec/codec.h"
#include "store/lent.h"
#include "sys/file/file.h"
#include "sys/time/calendar.h"

static weft_err open_index(struct source *source, uint64_t file_size)
{
    const struct stage *stage = source->stage;
    struct input *input = source->input;
    weft_err code = WEFT_OK;
    mutex_lock(stage->inputs_lock);
    if (!input->index)
        code = codec_index_open(&source->file, file_size, input_codec_kind(input), &input->index);
    mutex_unlock(stage->inputs_lock);
    if (!code && !input->index)
        code = err_set(WEFT_DATA_LOSS, "%s has changed since the job began: its index is gone",
                       input->name);
    return code;
}

static weft_err open_codec(struct source *source, uint64_t from)
{
    struct input *input = source->input;
    struct file_stat status;
    weft_err code = store_stat(&source->file, &status);
    source->file.ahead_end = code ? 0 : status.size;
    if (!code && input->is_indexed)
        code = open_index(source, status.size);
    if (code)
        return code;
    source->at = input->is_indexed ? from : 0;
    source->size = input->is_indexed ? input->size : SOURCE_SIZE_UNKNOWN;
    source->file.ahead_end =
        input->index ? codec_index_packed_end(input->index, source->until) : source->until;
    source->codec = codec_reader_new(&source->file, status.size, input_codec_kind(input),
                                     input->index, source->at);
    return source->codec ? WEFT_OK : WEFT_DATA_LOSS;
}

// Jobs that want the bytes of a file may know better what to do with an archive.
static enum codec_kind sniff(const struct source *source, const void *data, size_t size)
{
    const enum codec_kind kind = codec_sniff(data, size);
    return kind == CODEC_FOREIGN && !record_is_text(&source->stage->format) ? CODEC_NONE : kind;
}

// A piece that begins inside a file that no slot has looked at yet: that is a sample.
static weft_err look_at_front(struct source *source)
{
    char front[CODEC_SNIFF_BYTES];
    size_t got = 0;
    const weft_err code = store_read_at(&source->file, front, sizeof front, 0, &got);
    if (!code)
        input_set_codec(source->input, sniff(source, front, got));
    return code;
}

// A file that has grown was appended to, and is read up to the size it had. One that was written to in place is
// partly another file, and it is unknown which part was read before. An index describes the whole file.
static weft_err check_unwritten(const struct input *input, const struct file_stat *status)
{
    const bool has_grown = !input->is_indexed && status->size > input->size;
    if (status->mtime_ns == input->mtime_ns || has_grown)
        return WEFT_OK;
    char time[CALENDAR_TEXT_BYTES];
    calendar_write(status->mtime_ns / 1000000000, time);
    return err_set(WEFT_DATA_LOSS,
                   "%s was changed while it was read, at %s"
                   "\n  try: run it again when nothing writes to the file",
                   input->name, time);
}

// Each task opens the file by its name, and another one may have taken it. The number alone does not say so: some file
// systems give a file a new one.
weft_err source_check(struct source *source)
{
    const struct input *input = source->input;
    struct file_stat status;
    const weft_err code = input->inode ? store_stat(&source->file, &status) : WEFT_OK;
    if (code || !input->inode)
        return code;
    if (status.inode == input->inode)
        return check_unwritten(input, &status);
    if (status.mtime_ns == input->mtime_ns)
        return WEFT_OK;
    return err_set(WEFT_DATA_LOSS,
                   "%s was replaced by another file while it was read"
                   "\n  try: run it again when nothing replaces the file",
                   input->name);
}

weft_err source_check_mapped(const struct input *input)
{
    struct file_stat status;
    if (mem_map_is_cut(&input->map))
        return err_set(WEFT_DATA_LOSS,
                       "%s became shorter while it was read"
                       "\n  try: run it again when nothing writes to the file",
                       input->name);
    const weft_err code = input->inode ? file_stat(input->path, &status) : WEFT_OK;
    if (code || !input->inode)
        return code;
    // Whatever has its name now: the mapping is of the file that was there.
    return status.inode == input->inode ? check_unwritten(input, &status) : WEFT_OK;
}

weft_err source_check_all_mapped(const struct stage *stage)
{
    weft_err code = WEFT_OK;
    for (uint32_t i = 0; i < stage->input_count && !code; i++)
        if (stage->inputs[i].map.data)
            code = source_check_mapped(&stage->inputs[i]);
    return code;
}

static weft_err open_file(struct source *source, uint32_t input_index)
{
    const struct input *input = source->input;
    return input->lending
               ? lent_open(input->lending, input_index, input->path, input->name, &source->file)
               : store_open(input->path, input->name, &source->file);
}

weft_err source_open(struct source *source, const struct stage *stage, uint32_t input_index,
                     uint64_t from, uint64_t until)
{
    struct input *input = &stage->inputs[input_index];
    *source = (struct source){
        .stage = stage, .input = input, .at = from, .size = input->size, .until = until};
    weft_err code = open_file(source, input_index);
    if (!code)
        code = source_check(source);
    if (!code && !input_is_codec_known(input) && from > 0)
        code = look_at_front(source);
    source->file.ahead_end = until;
    if (!code && input_codec_kind(input) != CODEC_NONE)
        code = open_codec(source, from);
    if (code)
        source_close(source);
    return code;
}

void source_prepare(const struct stage *stage, uint32_t input_index, uint64_t from)
{
    const struct input *input = &stage->inputs[input_index];
    // One that was not looked at yet is first read at its front; one with an index has other offsets.
    const uint64_t offset = input_is_codec_known(input) ? from : 0;
    if (input->lending && !input->is_indexed)
        lent_ask_ahead(input->lending, input_index, input->path, offset);
}

void source_close(struct source *source)
{
    if (source->codec)
        codec_reader_free(source->codec);
    store_close(&source->file);
    source->codec = NULL;
}

// An archive of texts is none: its headers and padding would be counted as words.
static weft_err check_tar(const struct source *source, const void *data, size_t size)
{
    return source->at == 0 && record_is_text(&source->stage->format) && codec_is_tar(data, size)
               ? codec_refuse_tar(source->input->name)
               : WEFT_OK;
}

static weft_err read_codec(struct source *source, void *data, size_t size, size_t *got)
{
    weft_err code = codec_reader_read(source->codec, data, size, got);
    if (!code)
        code = check_tar(source, data, *got);
    source->at += *got;
    if (!code && *got < size)
        source->size = source->at;
    return code;
}

weft_err source_read(struct source *source, void *data, size_t size, size_t *got)
{
    struct input *input = source->input;
    *got = 0;
    if (source->codec)
        return read_codec(source, data, size, got);
    const uint64_t left = source->size - source->at;
    const size_t wanted = size < left ? size : (size_t)left;
    weft_err code = store_read_at(&source->file, data, wanted, source->at, got);
    if (code)
        return code;
    if (source->at == 0 && !input_is_codec_known(input)) {
        input_set_codec(input, sniff(source, data, *got));
        if (input_codec_kind(input) != CODEC_NONE) {
            code = open_codec(source, 0);
            return code ? code : read_codec(source, data, size, got);
        }
    }
    if (*got < wanted)
        return err_set(WEFT_DATA_LOSS,
                       "%s became shorter while it was read: %llu bytes, not %llu"
                       "\n  try: run it again when nothing writes to the file",
                       input->name, (unsigned long long)(source->at + *got),
                       (unsigned long long)source->size);
    code = check_tar(source, data, *got);
    source->at += *got;
    return code;
}

uint64_t source_memory(const struct source *source)
{
    return source->codec ? codec_reader_memory(source->codec) : 0;
}

uint64_t source_taken(const struct source *source)
{
    return source->codec ? codec_reader_taken(source->codec) : source->at;
}
