// text: numbers, sizes and times as people write and read them, and how far apart two words are.
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/buf.h"

// A whole decimal number from 1 to max. False for anything else; *value is then untouched.
bool text_read_count(const char *text, uint64_t max, uint64_t *value);

// "64K", "512M", "4G", "1.5G", "512MiB", "123": bytes, K being 1024. False for anything else, 0, or
// what does not fit.
bool text_read_size(const char *text, uint64_t *bytes);

// "10m", "30s", "500ms", "1h", "1.5s": milliseconds; a bare number is seconds. False for anything else,
// less than a millisecond, or more than 49 days.
bool text_read_duration(const char *text, uint32_t *milliseconds);

// "812 B", "1.07 GB" (decimal units, three digits); "512 MiB" for sizes that are whole binary ones.
void text_append_bytes(struct buf *buf, uint64_t bytes);
void text_append_size(struct buf *buf, uint64_t bytes);

// "1,234,567".
void text_append_count(struct buf *buf, uint64_t count);

// "0.643 s", "12.3 s", "4m 05s", "2h 07m".
void text_append_duration(struct buf *buf, uint64_t nanoseconds);

// How many characters must be put in, left out, changed or swapped with their neighbour to make one
// word of the other. Words longer than 64 bytes are TEXT_FAR from everything.
enum { TEXT_FAR = 1000 };
size_t text_distance(const char *a, const char *b);

// One byte, as itself or as an escape: ';', '\t', '\n', '\r', '\0', '\\', '\x1e'.
bool text_read_byte(const char *text, unsigned char *byte);

// Bytes of any content on one line: bytes that are not printable ASCII become \n, \t, \", \\ or \x1e.
void text_append_escaped(struct buf *buf, weft_bytes bytes);

// A text from another process, for a terminal. Lines, tabs and UTF-8 stay. Every other control character becomes \x1b, because escape
// sequences begin with one, and so does every byte that is not UTF-8.
void text_append_printable(struct buf *buf, const char *text);

// A line "weft: SENTENCE", with the sentence made printable.
void text_append_message(struct buf *buf, const char *program, const char *sentence);

// A word that a shell takes as it is: in single quotes if it needs them.
void text_append_shell_word(struct buf *buf, const char *word);

// The length of the UTF-8 character at `at`, which is before `end`; 0 when it is none (overlong forms,
// surrogates and what lies beyond Unicode are none).
size_t text_utf8_length(const char *at, const char *end);

#endif
