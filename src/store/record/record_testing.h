// What the tests of records share: random numbers and texts, and a reader that cuts a file into pieces and
// fills its buffer in small steps, as a map task does.
#ifndef STORE_RECORD_RECORD_TESTING_H
#define STORE_RECORD_RECORD_TESTING_H

#include "base/bytes.h"
#include "store/record/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t testing_seed = 4;

static inline uint64_t testing_random(void)
{
    uint64_t z = testing_seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline size_t testing_below(size_t limit)
{
    return (size_t)(testing_random() % limit);
}

static inline struct record_format testing_format(const char *text)
{
    struct record_format format;
    assert_int_equal(record_format_parse(text, &format), WEFT_OK);
    return format;
}

// Appends a word of the list, which is NULL at its end.
static inline void testing_append_word(struct buf *buf, const char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    buf_append_text(buf, words[testing_below(count)]);
}

static inline void assert_bytes_equal(weft_bytes a, weft_bytes b)
{
    assert_int_equal(a.size, b.size);
    assert_true(bytes_equal(a, b));
}

struct testing_records {
    weft_bytes items[1 << 12];
    size_t count;
};

// A file being read, and how: a fixed number of bytes more at a time.
struct testing_file {
    const struct record_format *format;
    weft_bytes text;
    size_t step;
};

static inline weft_bytes testing_part(weft_bytes text, size_t begin, size_t end)
{
    return (weft_bytes){text.data + begin, end - begin};
}

// Whether the place is inside quotes, from counts of stretches of any size.
static inline struct record_counts testing_counts(const struct testing_file *file, size_t place)
{
    struct record_counts counts = record_counts_begin();
    for (size_t at = 0; at < place;) {
        const size_t left = place - at, size = 1 + testing_below(left < 90 ? left : 90);
        counts = record_counts_join(
            counts, record_count_stretch(file->format, testing_part(file->text, at, at + size)));
        at += size;
    }
    return counts;
}

// Where the first record of a piece begins, the file's size when there is none.
static inline size_t testing_start(const struct testing_file *file, size_t begin)
{
    if (begin == 0)
        return 0;
    size_t from = (size_t)record_search_from(file->format, begin), start;
    const size_t size = file->text.size;
    if (from >= size)
        return size;
    struct record_scan scan = {.is_quoted = testing_counts(file, from).quotes & 1};
    while (from < size) {
        const size_t end = size - from < file->step ? size : from + file->step;
        record_find_start(file->format, &scan, testing_part(file->text, from, end), &start);
        if (start != SIZE_MAX)
            return from + start;
        from = end;
    }
    return size;
}

static inline void testing_take(const struct testing_file *file, weft_bytes block,
                                struct testing_records *records)
{
    const size_t before = records->count;
    const uint64_t expected = record_count(file->format, block);
    weft_err code;
    weft_bytes record;
    while (record_next(file->format, &block, &record, &code)) {
        assert_true(records->count < sizeof records->items / sizeof records->items[0]);
        records->items[records->count++] = record;
    }
    assert_int_equal(code, WEFT_OK);
    assert_int_equal(block.size, 0);
    assert_int_equal(records->count - before, expected);
}

// Appends the records of the piece [begin, end).
static inline weft_err testing_read_piece(const struct testing_file *file, size_t begin, size_t end,
                                          struct testing_records *records)
{
    size_t at = testing_start(file, begin), filled = 0, whole;
    struct record_scan scan = {0};
    for (bool is_last = at >= end; !is_last;) {
        const size_t left = file->text.size - at;
        const weft_err code =
            record_find_whole(file->format, &scan, (weft_bytes){file->text.data + at, filled},
                              end - at, filled == left, &whole, &is_last);
        if (code)
            return code;
        if (whole == 0 && !is_last) {
            assert_true(filled < left);
            filled += left - filled < file->step ? left - filled : file->step;
            continue;
        }
        testing_take(file, testing_part(file->text, at, at + whole), records);
        at += whole;
        filled -= whole;
        scan = (struct record_scan){0};
    }
    return WEFT_OK;
}

static inline void assert_same_records(const struct testing_records *a,
                                       const struct testing_records *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_ptr_equal(a->items[i].data, b->items[i].data);
        assert_int_equal(a->items[i].size, b->items[i].size);
    }
}

// The file gives these records however it is cut into pieces and read.
static inline void assert_cuts_do_not_matter(const struct record_format *format, weft_bytes text,
                                             const struct testing_records *expected)
{
    static struct testing_records records;
    for (size_t cut = 0; cut <= text.size; cut++) {
        const struct testing_file file = {format, text, 1 + testing_below(70)};
        records.count = 0;
        assert_int_equal(testing_read_piece(&file, 0, cut, &records), WEFT_OK);
        assert_int_equal(testing_read_piece(&file, cut, text.size, &records), WEFT_OK);
        assert_same_records(&records, expected);
    }
    for (int round = 0; round < 20; round++) {
        const struct testing_file file = {format, text, 1 + testing_below(200)};
        records.count = 0;
        for (size_t begin = 0, end; begin < text.size; begin = end) {
            end = begin + 1 + testing_below(text.size - begin);
            assert_int_equal(testing_read_piece(&file, begin, end, &records), WEFT_OK);
        }
        assert_same_records(&records, expected);
    }
}

// Counting up to a record gives its number.
static inline void assert_counts_tell_numbers(const struct record_format *format, weft_bytes text,
                                              const struct testing_records *expected)
{
    const struct testing_file file = {format, text, 1};
    for (size_t i = 0; i < expected->count; i++) {
        const size_t offset = (size_t)(expected->items[i].data - text.data);
        const struct record_counts counts = testing_counts(&file, offset);
        assert_int_equal(counts.ends[0], i);
        assert_int_equal(counts.quotes % 2, 0);
    }
}

#endif
