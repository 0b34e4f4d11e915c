// Fuzzes cutting: the first byte chooses the format, the second how much is read at a time, the third where
// the file is cut in two. Both pieces together give the records that the whole file gives, or both
// ways fail.

#include "store/record/record.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const formats[] = {"lines",      "lines:delimiter=\\0",
                                      "chunks",     "files",
                                      "csv:header", "csv:separator=;",
                                      "jsonl",      "tfrecord",
                                      "fixed:1",    "fixed:7"};

enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

struct file {
    struct record_format format;
    weft_bytes text;
    size_t step;
};

// What was read, in few bytes: how many records, and a sum over their places and sizes.
struct found {
    uint64_t count, sum;
    weft_err code;
};

static weft_bytes part(const struct file *file, size_t begin, size_t end)
{
    return (weft_bytes){file->text.data + begin, end - begin};
}

static size_t find_start(const struct file *file, size_t begin)
{
    const size_t size = file->text.size;
    if (begin == 0)
        return 0;
    size_t from = (size_t)record_search_from(&file->format, begin), start;
    if (from >= size)
        return size;
    const struct record_counts before = record_count_stretch(&file->format, part(file, 0, from));
    struct record_scan scan = {.is_quoted = before.quotes & 1};
    for (size_t end; from < size; from = end) {
        end = size - from < file->step ? size : from + file->step;
        record_find_start(&file->format, &scan, part(file, from, end), &start);
        if (start != SIZE_MAX) {
            ASSERT(start <= end - from);
            return from + start;
        }
    }
    return size;
}

static void take_records(const struct file *file, weft_bytes block, struct found *found)
{
    const char *at = block.data;
    const uint64_t expected = record_count(&file->format, block), before = found->count;
    weft_bytes record;
    while (record_next(&file->format, &block, &record, &found->code)) {
        ASSERT(record.data >= at && record.data + record.size <= block.data);
        at = block.data;
        found->count++;
        found->sum = found->sum * 31 + (uint64_t)(record.data - file->text.data) + record.size;
    }
    ASSERT(found->code || (block.size == 0 && found->count - before == expected));
}

static void read_piece(const struct file *file, size_t begin, size_t end, struct found *found)
{
    struct record_scan scan = {0};
    size_t at = find_start(file, begin), filled = 0, whole;
    for (bool is_last = at >= end; !is_last && !found->code;) {
        const size_t left = file->text.size - at;
        found->code = record_find_whole(&file->format, &scan, part(file, at, at + filled), end - at,
                                        filled == left, &whole, &is_last);
        if (found->code)
            break;
        ASSERT(whole <= filled);
        if (whole == 0 && !is_last) {
            ASSERT(filled < left);
            filled += left - filled < file->step ? left - filled : file->step;
            continue;
        }
        take_records(file, part(file, at, at + whole), found);
        at += whole;
        filled -= whole;
        scan = (struct record_scan){0};
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    struct file file = {.text = {(const char *)data + 3, size - 3}, .step = SIZE_MAX};
    ASSERT(record_format_parse(formats[data[0] % FORMAT_COUNT], &file.format) == WEFT_OK);
    struct found once = {0}, twice = {0};
    read_piece(&file, 0, file.text.size, &once);
    const bool is_splittable = record_is_splittable(&file.format);
    const size_t cut = is_splittable ? data[2] * file.text.size / 255 : file.text.size;
    file.step = 1u + data[1];
    read_piece(&file, 0, cut, &twice);
    if (!twice.code)
        read_piece(&file, cut, file.text.size, &twice);
    ASSERT(once.code == twice.code);
    // Chunks are cut anew in each piece.
    if (file.format.kind != RECORD_CHUNKS)
        ASSERT(once.count == twice.count && once.sum == twice.sum);
    return 0;
}
