// Records: each question goes to the format.

#include "store/record/record.h"

#include "store/record/formats.h"
#include "store/record/scan.h"

bool record_is_splittable(const struct record_format *format)
{
    return format->kind != RECORD_FILES && format->kind != RECORD_TFRECORD;
}

bool record_is_text(const struct record_format *format)
{
    return record_is_splittable(format) && format->kind != RECORD_FIXED;
}

size_t record_bom_size(weft_bytes text)
{
    return text.size >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static weft_err cut_by_kind(const struct record_format *format, struct record_scan *scan,
                            struct cut *cut)
{
    switch (format->kind) {
    case RECORD_LINES:
        lines_cut(format->delimiter, scan, cut);
        return WEFT_OK;
    case RECORD_JSONL:
        lines_cut('\n', scan, cut);
        return WEFT_OK;
    case RECORD_CHUNKS:
        chunks_cut(format->delimiter, scan, cut);
        return WEFT_OK;
    case RECORD_CSV:
        return csv_cut(scan, cut);
    case RECORD_TFRECORD:
        return tfrecord_cut(cut);
    case RECORD_FIXED:
        return fixed_cut(format->fixed_bytes, cut);
    case RECORD_FILES:
    case RECORD_KIND_COUNT:
        break;
    }
    if (cut->is_end)
        cut_here(cut, cut->text.size, true);
    return WEFT_OK;
}

weft_err record_find_whole(const struct record_format *format, struct record_scan *scan,
                           weft_bytes text, size_t limit, bool is_end, size_t *whole, bool *is_last)
{
    struct cut cut = {.text = text, .limit = limit, .is_end = is_end};
    weft_err code = WEFT_OK;
    if (limit == 0 || (text.size == 0 && is_end))
        cut.is_last = true;
    else if (text.size)
        code = cut_by_kind(format, scan, &cut);
    *whole = cut.whole;
    *is_last = cut.is_last;
    return code;
}

uint64_t record_search_from(const struct record_format *format, uint64_t begin)
{
    if (format->kind != RECORD_FIXED)
        return begin - 1;
    const uint64_t over = begin % format->fixed_bytes;
    return over ? begin + (format->fixed_bytes - over) : begin;
}

void record_find_start(const struct record_format *format, struct record_scan *scan,
                       weft_bytes text, size_t *start)
{
    *start = SIZE_MAX;
    if (format->kind == RECORD_FIXED) {
        *start = 0;
    } else if (format->kind == RECORD_CSV) {
        const size_t end = scan_kernels()->find_end(text, &scan->is_quoted);
        if (end != SIZE_MAX)
            *start = end + 1;
    } else if (text.size) {
        const int delimiter = format->kind == RECORD_JSONL ? '\n' : format->delimiter;
        const char *end = memchr(text.data, delimiter, text.size);
        if (end)
            *start = (size_t)(end - text.data) + 1;
    }
}

static bool take(weft_bytes *block, size_t size, weft_bytes *record)
{
    if (block->size == 0)
        return false;
    *record = (weft_bytes){block->data, size < block->size ? size : block->size};
    block_drop(block, record->size);
    return true;
}

bool record_next(const struct record_format *format, weft_bytes *block, weft_bytes *record,
                 weft_err *code)
{
    *code = WEFT_OK;
    switch (format->kind) {
    case RECORD_LINES:
        return lines_next(format->delimiter, block, record);
    case RECORD_JSONL:
        return jsonl_next(block, record);
    case RECORD_CHUNKS:
        return chunks_next(format->delimiter, block, record);
    case RECORD_CSV:
        return csv_next(block, record);
    case RECORD_TFRECORD:
        return tfrecord_next(block, record, code);
    case RECORD_FIXED:
        return take(block, format->fixed_bytes, record);
    case RECORD_FILES:
    case RECORD_KIND_COUNT:
        break;
    }
    return take(block, SIZE_MAX, record);
}

uint64_t record_count(const struct record_format *format, weft_bytes block)
{
    switch (format->kind) {
    case RECORD_LINES:
        return lines_count(format->delimiter, block);
    case RECORD_JSONL:
    case RECORD_CSV:
        return counts_of_block(block, format->kind == RECORD_CSV);
    case RECORD_CHUNKS: {
        uint64_t count = 0;
        for (weft_bytes chunk; chunks_next(format->delimiter, &block, &chunk);)
            count++;
        return count;
    }
    case RECORD_TFRECORD:
        return tfrecord_count(block);
    case RECORD_FIXED:
        return block.size / format->fixed_bytes;
    case RECORD_FILES:
    case RECORD_KIND_COUNT:
        break;
    }
    return block.size > 0;
}

struct record_counts record_count_stretch(const struct record_format *format, weft_bytes text)
{
    if (text.size == 0)
        return (struct record_counts){0};
    switch (format->kind) {
    case RECORD_CSV:
    case RECORD_JSONL:
        return counts_of_stretch(text, format->kind == RECORD_CSV);
    case RECORD_LINES:
    case RECORD_CHUNKS:
        return (struct record_counts){
            .ends = {scan_kernels()->count_byte(text, format->delimiter), 0}};
    default:
        return (struct record_counts){0};
    }
}
