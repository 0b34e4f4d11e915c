// Records: how a file is cut into them, where a cut may be made, and the parts of a record.
//
//   lines      end with a delimiter ('\n'; any byte with --delimiter, NUL with -0), which is not part of
//              the record; with '\n' a '\r' before it is not either. A last one without an end counts
//   chunks     about a megabyte of whole lines, line ends included, cut by position in the piece only
//   files      a whole file
//   csv        RFC 4180: a line break inside quotes is not the end of a row; a row's raw bytes without
//              its end, LF or CR LF; empty lines are left out. With a header the first row of each file
//              names the columns and is not a record
//   jsonl      lines; empty ones are left out
//   tfrecord   {u64 length, u32 masked crc32c of it, bytes, u32 masked crc32c of them}, both checked
//   fixed:N    N bytes each; a shorter rest at the end of a file is DATA_LOSS
//
// All functions are pure: they look at bytes and know no files. Work per byte is bounded.
#ifndef STORE_RECORD_RECORD_H
#define STORE_RECORD_RECORD_H

#include "base/buf.h"
#include "base/err.h"

enum record_kind {
    RECORD_LINES,
    RECORD_CHUNKS,
    RECORD_FILES,
    RECORD_CSV,
    RECORD_JSONL,
    RECORD_TFRECORD,
    RECORD_FIXED,
    RECORD_KIND_COUNT
};

enum { RECORD_CHUNK_BYTES = 1 << 20 };

struct record_format {
    enum record_kind kind;
    unsigned char delimiter;  // LINES, CHUNKS: what ends a line
    unsigned char separator;  // CSV: between fields
    bool has_header;          // CSV
    uint32_t fixed_bytes;     // FIXED
};

// "lines", "lines:delimiter=;", "csv", "csv:header", "csv:header,separator=;", "fixed:16"...
// INVALID_ARGUMENT lists the possible ones. Delimiter and separator can be written \t, \0, \x1f.
MUST_CHECK weft_err record_format_parse(const char *text, struct record_format *format);

// Whether a piece may begin anywhere (else a file is one piece: files, tfrecord).
bool record_is_splittable(const struct record_format *format);

// Whether records are made of text: not whole files, tfrecords and records of a fixed size.
bool record_is_text(const struct record_format *format);

// How many bytes of a file's begin are a UTF-8 byte order mark, to be passed over: 0 or 3.
size_t record_bom_size(weft_bytes text);

// ---- cutting

// How far a buffer was looked at, so that growing it does not mean looking again. Zero it when the
// buffer's first byte is another one than before.
struct record_scan {
    size_t seen;
    bool is_quoted;  // CSV: after `seen` bytes
};

// `text` begins where a record does. *whole is set to how many bytes at its front are whole records
// that begin before `limit` (counted from text; SIZE_MAX: no limit), 0: more has to be read.
// `is_end`: nothing follows the text, so that an unfinished rest is a record, or DATA_LOSS where it
// cannot be one (an open quote, a cut tfrecord). Whole records before a wrong one are given first:
// a failure is always about the record at the text's begin. *is_last: no record after *whole begins
// before `limit`, or nothing is left; empty lines there are whole and last, too, but not records.
MUST_CHECK weft_err record_find_whole(const struct record_format *format, struct record_scan *scan,
                                      weft_bytes text, size_t limit, bool is_end, size_t *whole,
                                      bool *is_last);

// Splittable formats only. Where reading must begin to find the first record of a piece that begins
// at `begin` (> 0): after the first record end at or after it (lines: begin - 1; csv likewise,
// where the caller has counted the quotes before it and gives is_quoted), or right there (fixed:
// the next multiple).
uint64_t record_search_from(const struct record_format *format, uint64_t begin);

// Finds that end: *start is the offset in text after it, SIZE_MAX when it is not in there; then the
// next text is searched with the same scan. For fixed: 0.
void record_find_start(const struct record_format *format, struct record_scan *scan,
                       weft_bytes text, size_t *start);

// Takes the next record off a block of whole ones; false when the block is empty or *code is set (a
// wrong checksum: *record is that record then, and *block begins after it).
bool record_next(const struct record_format *format, weft_bytes *block, weft_bytes *record,
                 weft_err *code);

// How many records a block of whole ones holds.
uint64_t record_count(const struct record_format *format, weft_bytes block);

// The counts of a stretch of csv, whatever came before it: quotes, and ends of lines that are not
// empty after an even and an odd number of quotes. Joined stretches give for any place how many
// rows end before it and whether it is inside quotes. For lines and jsonl quotes are not looked at:
// all is in ends[0]. All zero is a stretch of no bytes; record_counts_begin() stands for the begin
// of a file, so that a line there can be known to be empty.
struct record_counts {
    uint64_t quotes, ends[2];
    unsigned char first[2], last[2];  // bytes, by which lines at a seam are known to be empty
    unsigned char edge;               // how many of them there are: 0 to 2
};
struct record_counts record_count_stretch(const struct record_format *format, weft_bytes text);
struct record_counts record_counts_join(struct record_counts first, struct record_counts second);
struct record_counts record_counts_begin(void);

// ---- fields of a csv row

// Splits a row into at most `max` fields, unquoted. A field with quotes inside is appended to `room`,
// everything else points into the row. Empty the room (size = 0) before a row, and it keeps its memory.
// Returns how many fields the row has, which may be more than `max`. SIZE_MAX: a stray quote (or
// room->has_failed).
size_t record_split_csv(const struct record_format *format, weft_bytes row, weft_bytes *fields,
                        size_t max, struct buf *room);

// ---- values of a JSON object

enum record_json {
    RECORD_JSON_MISSING,
    RECORD_JSON_STRING,
    RECORD_JSON_NUMBER,
    RECORD_JSON_TRUE,
    RECORD_JSON_FALSE,
    RECORD_JSON_NULL,
    RECORD_JSON_OBJECT,
    RECORD_JSON_ARRAY,
    RECORD_JSON_BROKEN
};

// The value at a path of member names and array indexes, "user.name" or "tags.0"; "" is the whole text. A
// string is unescaped (appended to `room` when it has escapes), anything else as it is written. When
// object.size bytes are reserved before the first of them, the values of different paths fit and the room
// does not move.
// Looks only as far as it must: of members with the same name the first is taken, later text
// is not checked. Nesting deeper than 256 is RECORD_JSON_BROKEN. \udc80..\udcff alone give the bytes that
// record_write wrote so.
enum record_json record_json_get(weft_bytes object, const char *path, weft_bytes *value,
                                 struct buf *room);

// Checks one whole JSON text, strictly (RFC 8259, UTF-8, nesting of at most 256); returns the
// offset of the first error, SIZE_MAX: none.
size_t record_json_check(weft_bytes text);

// ---- writing

enum record_output { OUTPUT_TEXT, OUTPUT_CSV, OUTPUT_JSONL, OUTPUT_TFRECORD, OUTPUT_FORMAT_COUNT };

// "text", "csv", "jsonl", "tfrecord" and back.
bool record_output_find(const char *name, enum record_output *output);
const char *record_output_name(enum record_output output);

// A pair to be written: a key and, unless has_value is false, a value, which is a number as text when
// is_number says so.
struct record_pair {
    weft_bytes key, value;
    bool has_value, is_number;
};

// The most bytes that record_write needs, and writing: returns the end.
//   text      key TAB value LF, or key LF
//   csv       key,value LF, quoted where it must be; an empty key alone is ""
//   jsonl     {"key":"...","value":"..."} or {"key":"...","value":12} or {"key":"..."}; bytes that are
//             not UTF-8 become \udc80..\udcff, from which they can be had back
//   tfrecord  the text form without its LF, framed
size_t record_write_max(enum record_output output, const struct record_pair *pair);
char *record_write(enum record_output output, const struct record_pair *pair, char *to);

#endif
