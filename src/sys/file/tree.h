// tree: directories as they are packed and unpacked: every name with the kind of thing that it is, no link followed.
#ifndef SYS_FILE_TREE_H
#define SYS_FILE_TREE_H

#include "sys/file/file.h"

enum tree_kind { TREE_FILE, TREE_DIRECTORY, TREE_LINK, TREE_OTHER };

struct tree_item {
    const char *name;  // in its directory; borrowed during a visit
    enum tree_kind kind;
    uint64_t size;  // of a file
    int64_t mtime_ns;
    uint64_t device, inode;
    bool is_executable;  // for its owner
};

// Calls visit for everything in a directory but . and .., in no order; stops at its first failure. Holds a descriptor during that time.
typedef weft_err tree_visit_fn(void *owner, const struct tree_item *item);
MUST_CHECK weft_err tree_list(const char *directory, tree_visit_fn *visit, void *owner);

// The thing at a path; its name is the path. NOT_FOUND.
MUST_CHECK weft_err tree_look(const char *path, struct tree_item *item);

// The content of a link, which the caller frees.
MUST_CHECK weft_err tree_read_link(const char *path, char **target);

// ---- Below a new directory of ours, into which nothing leads yet. Each fails with ALREADY_EXISTS where something is.

MUST_CHECK weft_err tree_make_directory(const char *path);  // 0755
MUST_CHECK weft_err tree_make_link(const char *path, const char *target);
MUST_CHECK weft_err tree_create_file(const char *path, bool is_executable, int *fd);

// After its last write: gives the file its time, and closes it.
MUST_CHECK weft_err tree_close_file(int fd, const char *path, int64_t mtime_s);

// ---- Locks of several readers

// Locks a file for as long as it is open, together with other readers. False: one that removes it has it (file_hold).
bool tree_share(int fd);

#endif
