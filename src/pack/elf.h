// elf: which shared libraries a program needs, and where its loader looks for them. Only 64-bit files of this machine's byte order; others
// have no libraries for us.
#ifndef PACK_ELF_H
#define PACK_ELF_H

#include "base/buf.h"
#include "base/err.h"

// Whether the bytes begin like an ELF file.
bool elf_is_one(weft_bytes file);

// Calls visit with the name of every library that the file needs, and then, with is_path, with its list of directories to look in ("$ORIGIN/../lib:/opt/lib"), if it has one.
// The names are borrowed. Stops at the first failure. A file that is not ELF, or damaged, has none.
typedef weft_err elf_visit_fn(void *owner, const char *name, bool is_path);
MUST_CHECK weft_err elf_visit(weft_bytes file, elf_visit_fn *visit, void *owner);

// Makes the loader look in `path` for libraries of the program and of everything that it loads later: by DT_RPATH, which counts for libraries, too,
// where DT_RUNPATH counts for the file alone. NULL: whatever list it has counts no longer for itself alone. False: the file has no room for that; nothing was changed.
bool elf_set_path(char *file, size_t size, const char *path);

#endif
