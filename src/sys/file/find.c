// find: a directory is read whole, its files are looked at relative to it, and it is closed before
// the next is opened: however deep the tree, one descriptor is enough.

#include "sys/file/find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"

static void describe(const struct stat *status, struct found *found)
{
    found->kind = S_ISREG(status->st_mode)   ? FILE_REGULAR
                  : S_ISDIR(status->st_mode) ? FILE_DIRECTORY
                                             : FILE_STREAM;
    found->mtime_ns =
        (int64_t)status->st_mtim.tv_sec * 1000000000 + (int64_t)status->st_mtim.tv_nsec;
    found->size = S_ISREG(status->st_mode) && status->st_size > 0 ? (uint64_t)status->st_size : 0;
    found->device = status->st_dev;
    found->inode = status->st_ino;
}

// Most files may be read by everyone: then the question costs nothing.
static bool is_readable(int folder, const char *name, const struct stat *status)
{
    const bool is_for_all = (status->st_mode & 0444) == 0444 && !S_ISDIR(status->st_mode);
    return is_for_all || faccessat(folder, name, R_OK, AT_EACCESS) == 0;
}

weft_err find_look(const char *path, struct found *found)
{
    struct stat status;
    *found = (struct found){.path = path, .kind = FILE_MISSING};
    if (stat(path, &status) != 0) {
        if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
            return WEFT_OK;
        return err_errno("cannot look at %s", path);
    }
    describe(&status, found);
    if (!is_readable(AT_FDCWD, path, &status))
        return err_errno("cannot read %s", path);
    return WEFT_OK;
}

weft_err find_look_fd(int fd, const char *path, struct found *found)
{
    struct stat status;
    *found = (struct found){.path = path, .kind = FILE_MISSING};
    if (fstat(fd, &status) != 0)
        return err_errno("cannot look at %s", path);
    describe(&status, found);
    return WEFT_OK;
}

// ---- Walking -------------------------------------------------------------------------------------------

struct entry {
    char *name;  // a directory's ends with '/': then the order of names is the order of whole paths
    struct found found;
};

typedef VEC(struct entry) entry_vec;

// A directory that is being read, and those above it.
struct folder {
    const struct folder *above;
    uint64_t device, inode;
};

struct walker {
    const struct find_calls *calls;
    void *owner;
    struct buf path;  // of the present entry; ends with a slash or is as the user gave it
};

static weft_err no_memory(void)
{
    return err_no_memory("for the names of the inputs");
}

static void drop_entries(entry_vec *entries)
{
    for (size_t i = 0; i < entries->count; i++)
        free(entries->items[i].name);
    VEC_FINI(entries);
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static weft_err push_entry(entry_vec *entries, const char *name, const struct found *found)
{
    const size_t length = strlen(name);
    struct entry *entry = VEC_NEXT(entries);
    char *copy = entry ? malloc(length + 2) : NULL;
    if (!copy)
        return no_memory();
    snprintf(copy, length + 2, "%s%s", name, found->kind == FILE_DIRECTORY ? "/" : "");
    *entry = (struct entry){copy, *found};
    entries->count++;
    return WEFT_OK;
}

bool find_is_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

bool find_link_target(const char *path, char *target, size_t size)
{
    const ssize_t length = readlink(path, target, size - 1);
    target[length > 0 ? length : 0] = 0;
    return length > 0;
}

weft_err find_dangling_error(const char *path)
{
    char target[256];
    const bool is_link = find_link_target(path, target, sizeof target);
    return err_set(WEFT_NOT_FOUND,
                   "cannot read the input %s\n  it is a link to %s, which is not there\n  try: "
                   "remove it, or --skip-missing to leave it out",
                   path, is_link ? target : "something");
}

// Notifies the owner of a path that is not visited. `path` is the directory, with its slash.
static weft_err set_aside(struct walker *walker, enum find_aside why, const char *name)
{
    struct buf path = {0};
    buf_append(&path, walker->path.data, walker->path.size);
    buf_append_text(&path, name);
    weft_err err = WEFT_OK;
    if (path.has_failed)
        err = no_memory();
    else if (walker->calls->aside)
        err = walker->calls->aside(walker->owner, why, buf_text(&path));
    else if (why == FIND_DANGLING)
        err = find_dangling_error(buf_text(&path));
    buf_fini(&path);
    return err;
}

// Looks at one name of an open directory and keeps it when it is a file or a directory.
static weft_err visit_name(struct walker *walker, int folder, const struct dirent *entry,
                           entry_vec *entries)
{
    const char *name = entry->d_name, *path = buf_text(&walker->path);
    struct stat status;
    struct found found = {.kind = FILE_DIRECTORY};
    if (name[0] == '_' && walker->calls->aside)
        return set_aside(walker, FIND_MARKED, name);
    if (entry->d_type == DT_DIR)
        return push_entry(entries, name, &found);
    if (fstatat(folder, name, &status, 0) != 0) {
        const int number = errno;
        // Also gone since the directory was read; then it was there a moment ago and is reported the same way.
        if (number == ENOENT || number == ELOOP)
            return set_aside(walker, FIND_DANGLING, name);
        return err_errno("cannot look at %s%s", path, name);
    }
    describe(&status, &found);
    if (found.kind == FILE_STREAM)
        return WEFT_OK;
    if (!is_readable(folder, name, &status))
        return err_errno("cannot read %s%s", path, name);
    return push_entry(entries, name, &found);
}

static bool is_above(const struct folder *above, uint64_t device, uint64_t inode)
{
    for (; above; above = above->above)
        if (above->device == device && above->inode == inode)
            return true;
    return false;
}

// Whether the content of the directory is not to be read: it is being read already, or the owner says so.
static weft_err check_folder(struct walker *walker, const struct folder *here, bool *is_left_out)
{
    const struct found found = {.path = buf_text(&walker->path),
                                .kind = FILE_DIRECTORY,
                                .device = here->device,
                                .inode = here->inode};
    *is_left_out = is_above(here->above, here->device, here->inode);
    if (*is_left_out)
        return set_aside(walker, FIND_LOOP, "");
    return here->above && walker->calls->enter
               ? walker->calls->enter(walker->owner, &found, is_left_out)
               : WEFT_OK;
}

// Reads the names in a directory. One that is left out gives none.
static weft_err read_folder(struct walker *walker, struct folder *here, entry_vec *entries)
{
    const char *path = buf_text(&walker->path);
    DIR *folder = opendir(path);
    struct stat status;
    if (!folder || fstat(dirfd(folder), &status) != 0) {
        const weft_err err = err_errno("cannot read the directory %s", path);
        if (folder)
            closedir(folder);
        return err;
    }
    here->device = status.st_dev;
    here->inode = status.st_ino;
    bool is_left_out;
    weft_err err = check_folder(walker, here, &is_left_out);
    while (!err && !is_left_out) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry) {
            err = errno ? err_errno("cannot read the directory %s", path) : WEFT_OK;
            break;
        }
        if (entry->d_name[0] != '.')
            err = visit_name(walker, dirfd(folder), entry, entries);
    }
    closedir(folder);
    return err;
}

// The directory at walker->path, which ends with a slash and is put back as it was.
static weft_err walk(struct walker *walker, const struct folder *above)
{
    struct buf *path = &walker->path;
    struct folder here = {.above = above};
    entry_vec entries = {0};
    weft_err err = read_folder(walker, &here, &entries);
    if (!err && entries.count)
        qsort(entries.items, entries.count, sizeof *entries.items, compare_entries);
    const size_t base = path->size;
    for (size_t i = 0; !err && i < entries.count; i++) {
        struct entry *entry = &entries.items[i];
        buf_append_text(path, entry->name);
        entry->found.path = buf_text(path);
        if (path->has_failed)
            err = no_memory();
        else
            err = entry->found.kind == FILE_DIRECTORY
                      ? walk(walker, &here)
                      : walker->calls->visit(walker->owner, &entry->found);
        path->size = base;
    }
    drop_entries(&entries);
    return err;
}

weft_err find_walk(const char *path, const struct find_calls *calls, void *owner)
{
    struct walker walker = {.calls = calls, .owner = owner};
    buf_append_text(&walker.path, path);
    if (path[0] && path[strlen(path) - 1] != '/')
        buf_append_text(&walker.path, "/");
    const weft_err err = walker.path.has_failed ? no_memory() : walk(&walker, NULL);
    buf_fini(&walker.path);
    return err;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

weft_err find_match(const char *pattern, struct find_matches *matches)
{
    glob_t found = {0};
    *matches = (struct find_matches){0};
    // Sorted here: glob() would use the order of the locale.
    const int result = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (result == 0)
        matches->paths = calloc(found.gl_pathc, sizeof *matches->paths);
    for (; matches->paths && matches->count < found.gl_pathc; matches->count++) {
        matches->paths[matches->count] = strdup(found.gl_pathv[matches->count]);
        if (!matches->paths[matches->count])
            break;
    }
    const bool is_whole =
        result == GLOB_NOMATCH || (matches->paths && matches->count == found.gl_pathc);
    globfree(&found);
    if (!is_whole)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "cannot expand %s", pattern);
    if (matches->count)
        qsort(matches->paths, matches->count, sizeof *matches->paths, compare_texts);
    return WEFT_OK;
}

void find_free_matches(struct find_matches *matches)
{
    for (size_t i = 0; i < matches->count; i++)
        free(matches->paths[i]);
    free(matches->paths);
    *matches = (struct find_matches){0};
}

static enum file_kind kind_of(int folder, const char *name)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return FILE_MISSING;
    return S_ISREG(status.st_mode)   ? FILE_REGULAR
           : S_ISDIR(status.st_mode) ? FILE_DIRECTORY
                                     : FILE_STREAM;
}

weft_err find_has_only(const char *path, find_is_known_fn *is_known, const void *owner,
                       bool *has_only)
{
    DIR *folder = opendir(path);
    if (!folder)
        return err_errno("cannot read the directory %s", path);
    *has_only = true;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
            !is_known(owner, name, kind_of(dirfd(folder), name)))
            *has_only = false;
    }
    closedir(folder);
    return WEFT_OK;
}
