// interpreter: lists the Python of a venv for an archive, so that it runs where no Python is installed: the program, its standard library, and
// the shared libraries that these need, but for those of the C library.
//
//     .python/bin/python3.11        the program, changed so that it finds
//     .python/shared/libssl.so.3    libraries, and those of the compiler (libstdc++, libgcc_s), which most packages need
//     .python/lib/python3.11/       the standard library, without its tests
#ifndef PACK_INTERPRETER_H
#define PACK_INTERPRETER_H

#include "pack/content.h"
#include "pack/gather.h"

// `program` is the interpreter's path without links, `version` "3.11". NOT_FOUND: there is no standard library near it.
MUST_CHECK weft_err interpreter_list(const char *program, const char *version,
                                     const struct gather_rules *rules, struct content *content);

#endif
