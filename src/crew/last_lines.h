// last_lines: the last lines of a member, for the message that it has failed. Pure. Thread: one owner.
#ifndef CREW_LAST_LINES_H
#define CREW_LAST_LINES_H

#include "base/buf.h"

enum { LAST_LINES_MAX = 10, LAST_BYTES_MAX = 2048 };

struct last_lines {
    struct buf bytes;  // at most twice LAST_BYTES_MAX
};
void last_lines_fini(struct last_lines *tail);

// Takes bytes as they come. Without memory it forgets them.
void last_lines_feed(struct last_lines *tail, weft_bytes bytes);

// Appends the last lines of a text, each after two blanks and with its newline; `is_cut`: its first line may be a part of
// one, and is left out.
void last_lines_append_lines(struct buf *out, weft_bytes text, bool is_cut);

// The same for the bytes that were fed.
void last_lines_append(struct buf *out, const struct last_lines *tail);

#endif
