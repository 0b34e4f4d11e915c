// What each format brings; record.c chooses. Contracts are those of record.h, for one kind.
#ifndef STORE_RECORD_FORMATS_H
#define STORE_RECORD_FORMATS_H

#include "store/record/record.h"

// What record_find_whole is asked, and its answer, which begins as 0 and false. The text and the limit are
// not empty.
struct cut {
    weft_bytes text;
    size_t limit;
    bool is_end;
    size_t whole;
    bool is_last;
};

// The place from which on a record end is the last one of the piece: the next record would begin at
// the limit or after it. The end of the text when that comes before.
static inline size_t cut_turn(const struct cut *cut)
{
    return cut->limit - 1 < cut->text.size ? cut->limit - 1 : cut->text.size;
}

static inline void cut_here(struct cut *cut, size_t whole, bool is_last)
{
    cut->whole = whole;
    cut->is_last = is_last;
}

// Takes `size` bytes off the front of a block.
static inline void block_drop(weft_bytes *block, size_t size)
{
    block->data += size;
    block->size -= size;
}

void lines_cut(unsigned char delimiter, struct record_scan *scan, struct cut *cut);
bool lines_next(unsigned char delimiter, weft_bytes *block, weft_bytes *line);
uint64_t lines_count(unsigned char delimiter, weft_bytes block);

void chunks_cut(unsigned char delimiter, struct record_scan *scan, struct cut *cut);
bool chunks_next(unsigned char delimiter, weft_bytes *block, weft_bytes *chunk);

MUST_CHECK weft_err csv_cut(struct record_scan *scan, struct cut *cut);
bool csv_next(weft_bytes *block, weft_bytes *row);

bool jsonl_next(weft_bytes *block, weft_bytes *line);

MUST_CHECK weft_err tfrecord_cut(struct cut *cut);
bool tfrecord_next(weft_bytes *block, weft_bytes *record, weft_err *code);
uint64_t tfrecord_count(weft_bytes block);

// Writing: the bytes go to tfrecord_data(begin), then the rest is written around them; returns the end.
size_t tfrecord_size(size_t data_size);
char *tfrecord_data(char *begin);
char *tfrecord_close(char *begin, size_t data_size);

MUST_CHECK weft_err fixed_cut(uint32_t fixed_bytes, struct cut *cut);

// Rows and lines that are not empty, of a block of whole ones; and of any stretch, to be joined.
uint64_t counts_of_block(weft_bytes block, bool has_quotes);
struct record_counts counts_of_stretch(weft_bytes text, bool has_quotes);

#endif
