// find: a directory is read whole, its files are looked at relative to it, and it is closed before
// the next is opened: however deep the tree, one descriptor is enough.

#include "sys/find.h"

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
        if (errno == ENOENT || errno == ENOTDIR)
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
        return err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for the names of the inputs");
    snprintf(copy, length + 2, "%s%s", name, found->kind == FILE_DIRECTORY ? "/" : "");
    *entry = (struct entry){copy, *found};
    entries->count++;
    return WEFT_OK;
}

// Looks at one name of an open directory and keeps it when it is a file or a real directory.
static weft_err take_name(int folder, const char *path, const struct dirent *entry,
                          entry_vec *entries)
{
    struct stat status;
    struct found found = {.kind = FILE_DIRECTORY};
    const char *slash = path[0] && path[strlen(path) - 1] == '/' ? "" : "/";
    if (entry->d_type == DT_DIR)
        return push_entry(entries, entry->d_name, &found);
    if (fstatat(folder, entry->d_name, &status, 0) != 0)
        return err_errno("cannot look at %s%s%s", path, slash, entry->d_name);
    describe(&status, &found);
    if (found.kind == FILE_DIRECTORY && entry->d_type == DT_UNKNOWN) {
        // A file system that does not tell kinds: a link to a directory is still not followed.
        if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(status.st_mode))
            return push_entry(entries, entry->d_name, &found);
    }
    if (found.kind != FILE_REGULAR)
        return WEFT_OK;
    if (!is_readable(folder, entry->d_name, &status))
        return err_errno("cannot read %s%s%s", path, slash, entry->d_name);
    return push_entry(entries, entry->d_name, &found);
}

static weft_err read_folder(const char *path, entry_vec *entries)
{
    DIR *folder = opendir(path);
    weft_err err = folder ? WEFT_OK : err_errno("cannot read the directory %s", path);
    while (!err) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry) {
            err = errno ? err_errno("cannot read the directory %s", path) : WEFT_OK;
            break;
        }
        if (entry->d_name[0] != '.')
            err = take_name(dirfd(folder), path, entry, entries);
    }
    if (folder)
        closedir(folder);
    return err;
}

// `path` ends with a slash or is as the user gave it; it is put back as it was.
static weft_err walk(struct buf *path, find_visit_fn *visit, void *owner)
{
    entry_vec entries = {0};
    weft_err err = read_folder(buf_text(path), &entries);
    if (!err && entries.count)
        qsort(entries.items, entries.count, sizeof *entries.items, compare_entries);
    const size_t size = path->size;
    if (size && path->data[size - 1] != '/')
        buf_append_text(path, "/");
    const size_t base = path->size;
    for (size_t i = 0; !err && i < entries.count; i++) {
        struct entry *entry = &entries.items[i];
        buf_append_text(path, entry->name);
        entry->found.path = buf_text(path);
        if (path->has_failed)
            err = err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for the names of the inputs");
        else
            err = entry->found.kind == FILE_DIRECTORY ? walk(path, visit, owner)
                                                      : visit(owner, &entry->found);
        path->size = base;
    }
    path->size = size;
    drop_entries(&entries);
    return err;
}

weft_err find_walk(const char *path, find_visit_fn *visit, void *owner)
{
    struct buf whole = {0};
    buf_append_text(&whole, path);
    const weft_err err = walk(&whole, visit, owner);
    buf_fini(&whole);
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

weft_err find_has_only(const char *path, bool (*is_known)(const char *name), bool *has_only)
{
    DIR *folder = opendir(path);
    if (!folder)
        return err_errno("cannot read the directory %s", path);
    *has_only = true;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !is_known(name))
            *has_only = false;
    }
    closedir(folder);
    return WEFT_OK;
}
