// load: a whole file at once, for descriptions, settings and states: texts that people or other runs have written.
#ifndef SYS_FILE_LOAD_H
#define SYS_FILE_LOAD_H

#include "base/buf.h"
#include "base/err.h"

// Appends the bytes of the file, no more than bytes_max: with the limit of its reader plus one, the reader sees
// that a file is too long.
MUST_CHECK weft_err file_load(const char *path, size_t bytes_max, struct buf *text);

// The same for an argument of the command, of which "-" is standard input. *source is its name in messages.
MUST_CHECK weft_err file_load_argument(const char *argument, size_t bytes_max, struct buf *text,
                                       const char **source);

#endif
