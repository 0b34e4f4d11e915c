// prefix: the output of a member as whole lines that begin with its name.
//
// Bytes come in as they were read; only lines that are complete go out, so that lines of several members
// never mix. A line that never ends goes out in pieces. Any byte but the newline is just a byte. Pure.
// Thread: one owner.
#ifndef CREW_PREFIX_H
#define CREW_PREFIX_H

#include "base/buf.h"

enum { PREFIX_LINE_BYTES_MAX = 64 << 10 };  // longer lines go out in pieces of that size

struct prefix {
    const char *text;     // in front of every line, or ""; borrowed
    bool adds_no_breaks;  // pieces of a long line do not become lines: nothing is added inside
    struct buf partial;   // the beginning of a line that has not ended
    bool is_inside;       // with adds_no_breaks: a piece has gone out, the end of its line has not
};

void prefix_fini(struct prefix *prefix);

// Appends to `out` the lines that are complete by now. Each piece of a long line has its own text and newline.
void prefix_feed(struct prefix *prefix, weft_bytes bytes, struct buf *out);

// There will be no more: the rest goes out as a line.
void prefix_end(struct prefix *prefix, struct buf *out);

#endif
