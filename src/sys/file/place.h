// place: putting a finished file or directory where it belongs, at once and without losing a file
// that another process has put there in the meantime.
#ifndef SYS_FILE_PLACE_H
#define SYS_FILE_PLACE_H

#include "base/err.h"

// A new name beside the target: ".NAME.weft-PID-RANDOM" in the same directory, so that a rename
// suffices. The caller frees *name. A slash at the target's end is left out.
MUST_CHECK weft_err place_make_name(const char *target, char **name);

// Whether a name in the target's directory is one that place_make_name has given, in this process or another one.
bool place_is_made_name(const char *target, const char *name);

// The directory a path lies in, "." when it names none; the caller frees it.
MUST_CHECK weft_err place_parent(const char *path, char **parent);

enum place_kind { PLACE_FREE, PLACE_FILE, PLACE_DIRECTORY, PLACE_STREAM };

// The kind of thing at a path. A link that leads nowhere is PLACE_FILE: something is there.
MUST_CHECK weft_err place_look(const char *path, enum place_kind *kind);

// Where a link leads in the end, or a copy of the path when it is none; the caller frees it.
// PERMISSION_DENIED: the link is another user's.
MUST_CHECK weft_err place_follow(const char *path, char **followed);

// Whether a stream may be written to. PERMISSION_DENIED: it is a named pipe that another user has put there, or a
// link of another's.
MUST_CHECK weft_err place_check_stream(const char *path);

// Whether we can replace the file or directory there: in a directory with the sticky bit only our own, and only a
// directory that we can empty. PERMISSION_DENIED.
MUST_CHECK weft_err place_check_replaceable(const char *path);

// Whether names can be made in the directory: NOT_FOUND, PERMISSION_DENIED or WEFT_OK.
MUST_CHECK weft_err place_check_parent(const char *parent);

// A new directory for us alone, mode 0700.
MUST_CHECK weft_err place_make_directory(const char *path);

// Gives `from` the name `to`; ALREADY_EXISTS when that is taken, however late.
MUST_CHECK weft_err place_move_new(const char *from, const char *to);

// Gives `from` the name `to`, replacing a file, or a whole directory, which then goes away.
MUST_CHECK weft_err place_move_over(const char *from, const char *to);

// Removes a file; missing is fine.
void place_remove_file(const char *path);

#endif
