// own: files and directories that are ours, in places where others may have been before.
//
// Other users can write in /tmp, in a shared folder of outputs, in a directory that an older umask left open.
// This program must not write through files that they put under our names, above all links to files elsewhere, and
// our files there are not for them. The owner is that of the opened file, never of a name.
#ifndef SYS_FILE_OWN_H
#define SYS_FILE_OWN_H

#include "base/err.h"

#include <sys/types.h>

// Makes a directory for us alone, mode 0700, parents too. One that is there must be ours and no link; it is
// closed to others. PERMISSION_DENIED says whose it is.
MUST_CHECK weft_err own_make_directory(const char *path);

// The same for a directory that the user has named: an existing one stays as it is, also one of another user.
MUST_CHECK weft_err own_make_named_directory(const char *path);

// Whether the path is a directory of ours and not a link. PERMISSION_DENIED; NOT_FOUND.
MUST_CHECK weft_err own_check_directory(const char *path);

// Whether the path is a program of ours: a regular file that we may run, and not a link.
// PERMISSION_DENIED; NOT_FOUND.
MUST_CHECK weft_err own_check_program(const char *path);

// Whether the way to a path is safe: no other user can take a directory above it away and put another one there, because none of
// them may be written by all (without the sticky bit of /tmp). The path itself need not exist. PERMISSION_DENIED
// names the directory.
MUST_CHECK weft_err own_check_above(const char *path);

// Opens for reading a file that was kept for us: a regular one, no link, ours, and not writable for others. *size is its
// size. PERMISSION_DENIED; NOT_FOUND.
MUST_CHECK weft_err own_open_kept(const char *path, int *fd, uint64_t *size);

// Gives a directory of ours, made by own_make_directory, the permissions of the directory that it replaces, or those
// that mkdir would have given it: 0777 less umask. For an output that is complete. `replaced` may be NULL or missing.
MUST_CHECK weft_err own_open_directory(const char *path, const char *replaced);

// Gives a file of ours the permissions of the file that it is to replace, which may be missing; its owner may read
// and write it in any case. Before anything is written: others must not be able to read more than before.
MUST_CHECK weft_err own_copy_permissions(int fd, const char *replaced);

// Opens or makes a file for writing, with open()'s flags (close-on-exec is added). Follows no link; one that is
// there must be a regular file with one name, ours or of the owner of its directory. `what` begins the sentence:
// "cannot create". PERMISSION_DENIED says what is wrong with it.
MUST_CHECK weft_err own_open_file(const char *path, int flags, mode_t mode, const char *what,
                                  int *fd);

// Whether a file that the user has named may be written: another user can have put a link, a file or a named pipe under
// that name. It must be ours, root's or of the owner of its directory, as the kernel can demand it in /tmp. A
// name that is free is fine. PERMISSION_DENIED.
MUST_CHECK weft_err own_check_named(const char *path);

#endif
