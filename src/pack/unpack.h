// unpack: an archive of `weft pack` becomes a directory. The archive may come from anywhere: nothing outside the new directory is
// touched, whatever it says.
//
// Refused, with the name: paths that are absolute, have "..", or lie below something that is not a directory of the archive; two entries of one
// name; links that lead out; anything but files, directories and links; more entries or bytes than the label says.
// Thread: any.
#ifndef PACK_UNPACK_H
#define PACK_UNPACK_H

#include "pack/label.h"

// Reads an open file from its beginning and makes the directory, which must not be there yet, in a directory of ours. `name` is for sentences. DATA_LOSS,
// RESOURCE_EXHAUSTED; INVALID_ARGUMENT: hostile; CANCELLED: interrupted (sys/thread/interrupt.h). On failure the caller removes the unfinished directory.
// `home` is the path that the directory will have in the end.
MUST_CHECK weft_err unpack_file(int fd, const char *name, const char *directory, const char *home,
                                struct label *label);

// Whether an archive may contain the path: 1 to 4095 bytes, parts of 1 to 255 bytes between single slashes, none of them "." or "..".
bool unpack_is_path(const char *path);

// Whether a link at that path may lead there: "../" only at its beginning and not above the root, and then such parts.
bool unpack_is_link(const char *path, const char *target);

#endif
