// tarball: lists a file for an archive: the content of a tar archive, compressed or not, or a pex.
#ifndef PACK_TARBALL_H
#define PACK_TARBALL_H

#include "pack/content.h"
#include "pack/gather.h"
#include "pack/label.h"

// Sets the kind of the label. An archive of weft pack keeps its kind and name. Entries may be in any order and need not have their directories;
// hard links become files. INVALID_ARGUMENT: it is neither, or has an entry that cannot be packed, which is named.
MUST_CHECK weft_err tarball_list(const char *path, const struct gather_rules *rules,
                                 struct label *label, struct content *content);

#endif
