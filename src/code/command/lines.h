// Lines on their way to and from a command, where they do not go as they are. Thread: any.
#ifndef CODE_COMMAND_LINES_H
#define CODE_COMMAND_LINES_H

#include "base/buf.h"
#include "code/command/keys.h"

// Takes the next line off a block, without its end: \n, and with `with_returns` also \r\n and \r.
bool command_lines_next(weft_bytes *block, bool with_returns, weft_bytes *line);

// The same lines, each ended by \n: the block itself where it is so already, else in `room`.
weft_bytes command_lines_end(weft_bytes block, bool with_returns, struct buf *room);

// Each line after its offset and a TAB; the block begins at `offset`.
weft_bytes command_lines_number(weft_bytes block, bool with_returns, uint64_t offset,
                                struct buf *room);

// Each line split after its key and joined by `joint`: a line without a separator gets the joint at
// its end.
// The lines end with \n. The block itself where nothing is to be done.
weft_bytes command_lines_cut(weft_bytes block, const struct command_separator *separator,
                             uint32_t fields, const struct command_separator *joint,
                             struct buf *room);

// Appends the line of a pair, the key as it is.
void command_append_line(struct buf *to, weft_bytes key, const struct command_separator *separator,
                         weft_bytes value);

#endif
