// gather: lists a directory for an archive.
//
// Links that stay inside are kept, absolute ones are made relative. A link that leads out is replaced by the file or the directory
// to which it leads, because nothing outside travels. One that leads nowhere is left out, with a note, unless it would lead inside. Sockets, FIFOs and devices are left out,
// with a note.
#ifndef PACK_GATHER_H
#define PACK_GATHER_H

#include "pack/content.h"

struct gather_rules {
    const char *const *
        excludes;  // patterns of the shell, ended by NULL: with a slash of the whole path below the root, else of each name
    bool keeps_all;    // also names that are left out by default: see gather_leaves_out
    bool skips_venvs;  // directories with a pyvenv.cfg are left out
    // Asked of every link that leads out: *is_done, and it is left to the caller. NULL: none is. `path` is that in the archive.
    weft_err (*leads_out)(void *owner, const char *path, const char *real, bool *is_done);
    void *owner;
    bool (*is_cancelled)(void);  // NULL: it is not
};

// Adds everything below `root`, which is a directory, below `prefix` in the archive ("": at its top).
MUST_CHECK weft_err gather_directory(struct content *content, const char *root, const char *prefix,
                                     const struct gather_rules *rules);

// Whether a path is left out, for one of its parts: __pycache__, directories of version control and caches of tools by default, and those
// that the patterns name.
bool gather_leaves_out(const struct gather_rules *rules, const char *path, bool is_directory);

#endif
