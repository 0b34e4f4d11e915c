// libraries: the shared libraries that this program was linked with and the loader has found, for starting it where they may be
// missing or others.
//
// Only those that it needs to start, and those that these need: not those that were loaded later, and nothing of the C library, which is part
// of every system and fits only its own loader and kernel. Thread: any.
#ifndef SYS_PROCESS_LIBRARIES_H
#define SYS_PROCESS_LIBRARIES_H

#include "base/err.h"

// `name` is the one by which the loader looks for it ("libz.so.1"), `path` where it is. Both are borrowed.
typedef weft_err libraries_visit_fn(void *owner, const char *name, const char *path);

// Stops at the first failure of a visit. A static program has none.
MUST_CHECK weft_err libraries_visit(libraries_visit_fn *visit, void *owner);

// The oldest version of the C library with which this program and these libraries can run ("2.34"), as far as they say. "" where they say nothing, as a static
// program does.
enum { LIBRARIES_VERSION_BYTES = 16 };
MUST_CHECK weft_err libraries_needed_libc(char version[LIBRARIES_VERSION_BYTES]);

// Whether the C library of this process is that old or newer; true for a text that is not a version.
bool libraries_has_libc(const char *version);
const char *libraries_own_libc(void);  // its version

// Whether the library is part of the C library.
bool libraries_is_of_system(const char *name);

#endif
