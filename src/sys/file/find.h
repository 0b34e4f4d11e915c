// find: what stands at a path, and all files below a directory in byte order of their names.
#ifndef SYS_FILE_FIND_H
#define SYS_FILE_FIND_H

#include "base/err.h"
#include "sys/file/file.h"

struct found {
    const char *path;  // borrowed from the caller, or during a visit
    enum file_kind kind;
    uint64_t size;  // of a plain file
    uint64_t device, inode;
    int64_t mtime_ns;
};

// Looks at a path, links followed. FILE_MISSING is not a failure. A plain file or a directory that may
// not be read is PERMISSION_DENIED.
MUST_CHECK weft_err find_look(const char *path, struct found *found);

// Looks at an open descriptor.
MUST_CHECK weft_err find_look_fd(int fd, const char *path, struct found *found);

// What a walk meets and does not visit.
enum find_aside {
    FIND_MARKED,    // a file or directory whose name begins with _
    FIND_LOOP,      // a directory that is read already: a link leads back up
    FIND_DANGLING,  // a link that leads nowhere
};

typedef weft_err find_visit_fn(void *owner, const struct found *found);

struct find_calls {
    find_visit_fn *visit;
    // NULL: marked names are like others, loops are left out, a link that leads nowhere is NOT_FOUND.
    weft_err (*aside)(void *owner, enum find_aside why, const char *path);
    // Asked of every directory below the first: *is_left_out, and nothing in it is visited. Its path ends with
    // a slash, and only that, its device and its inode are set. NULL: all are read.
    weft_err (*enter)(void *owner, const struct found *directory, bool *is_left_out);
};

// Calls visit for every plain file below the directory, in the byte order of their whole paths. Hidden
// names (.name) are left out; links are followed; anything that is neither file nor directory is left out.
// Paths are `path`, a slash unless it ends with one, and the names. Stops at the first failure of a call.
// Holds one descriptor at a time.
MUST_CHECK weft_err find_walk(const char *path, const struct find_calls *calls, void *owner);

bool find_is_link(const char *path);

// Writes the path that a link has as its content, cut to the size, with a zero at its end. False: it is not a link.
bool find_link_target(const char *path, char *target, size_t size);

// NOT_FOUND that names the link and where it leads.
MUST_CHECK weft_err find_dangling_error(const char *path);

// The paths that match a pattern of the shell (* ? [ ]), in byte order, hidden ones only when the
// pattern says so. None is not a failure. find_free_matches in every case.
struct find_matches {
    char **paths;
    size_t count;
};
MUST_CHECK weft_err find_match(const char *pattern, struct find_matches *matches);
void find_free_matches(struct find_matches *matches);

// Whether the directory holds nothing but what is_known says true of (none at all is fine). A link is
// FILE_STREAM, wherever it leads.
typedef bool find_is_known_fn(const void *owner, const char *name, enum file_kind kind);
MUST_CHECK weft_err find_has_only(const char *path, find_is_known_fn *is_known, const void *owner,
                                  bool *has_only);

#endif
