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

// Whether the library is part of the C library.
bool libraries_is_of_system(const char *name);

#endif
