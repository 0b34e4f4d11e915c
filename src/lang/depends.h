// depends: the list of files that a compiled source was made of, as the compiler writes it for make
// (cc -MMD), and their checksum. Thread: one owner.
#ifndef LANG_DEPENDS_H
#define LANG_DEPENDS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct depends {
    VEC(char *) paths;  // without the source itself; see depends_make_relative
};

void depends_fini(struct depends *depends);

// Reads "target: source header header \" lines. What is no such list is INVALID_ARGUMENT.
MUST_CHECK weft_err depends_parse(struct depends *depends, weft_bytes text);

// Turns paths below the source's directory into "<src>/..." and back, so that a copy of the source
// elsewhere finds its own headers. `source` is the path as it was given to the compiler.
MUST_CHECK weft_err depends_make_relative(struct depends *depends, const char *source);
MUST_CHECK weft_err depends_locate(const char *path, const char *source, struct buf *located);

// One path per line, and back. A path with a line end cannot be kept: INVALID_ARGUMENT.
MUST_CHECK weft_err depends_format(const struct depends *depends, struct buf *text);
MUST_CHECK weft_err depends_read(struct depends *depends, weft_bytes text);

#endif
