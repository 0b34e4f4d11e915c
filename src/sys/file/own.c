// own: opened first, without following a link, then looked at: what a name leads to may change in between.

#include "sys/file/own.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PRIVATE_MODE = 0700 };

// ---- Sentences -----------------------------------------------------------------------------------------

static weft_err refuse_link(const char *path)
{
    return err_set(
        WEFT_PERMISSION_DENIED,
        "%s is a symbolic link, and weft does not write through links here: it may lead to a file "
        "of another program",
        path);
}

static weft_err refuse_owner(const char *path, uid_t owner)
{
    return err_set(WEFT_PERMISSION_DENIED,
                   "%s belongs to another user (number %u), who could put anything there", path,
                   (unsigned)owner);
}

static weft_err advise(weft_err err)
{
    return err == WEFT_PERMISSION_DENIED
               ? err_set(err, "%s\n  try: remove it, or another place", err_text())
               : err;
}

// ---- Directories ---------------------------------------------------------------------------------------

// Opens a directory without following a link; any user may own it.
static weft_err open_directory(const char *path, int *fd, struct stat *status)
{
    struct stat named;
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*fd >= 0 && fstat(*fd, status) == 0)
        return WEFT_OK;
    const int number = errno;
    const bool is_link = lstat(path, &named) == 0 && S_ISLNK(named.st_mode);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    if (is_link)
        return refuse_link(path);
    errno = number;
    return number == ENOTDIR ? err_set(WEFT_PERMISSION_DENIED, "%s is not a directory", path)
                             : err_errno("cannot open %s", path);
}

// A directory that cannot be read by us is still another user's.
static weft_err check_owner(const char *path, weft_err err)
{
    struct stat named;
    const bool is_foreign =
        lstat(path, &named) == 0 && S_ISDIR(named.st_mode) && named.st_uid != geteuid();
    return err == WEFT_PERMISSION_DENIED && is_foreign ? refuse_owner(path, named.st_uid) : err;
}

weft_err own_check_directory(const char *path)
{
    struct stat status;
    int fd;
    const weft_err err = open_directory(path, &fd, &status);
    if (err)
        return check_owner(path, err);
    close(fd);
    return status.st_uid == geteuid() ? WEFT_OK : refuse_owner(path, status.st_uid);
}

// Looks at all directories above a path, from it upwards. Those that are missing will be made by us.
static weft_err check_each_above(char *path, char *existing)
{
    weft_err err = WEFT_OK;
    for (char *slash; !err && (slash = strrchr(path, '/'));) {
        struct stat status;
        const bool is_root = slash == path;
        slash[is_root] = 0;
        const bool is_there = stat(path, &status) == 0;
        if (is_there && existing && !*existing)
            strcpy(existing, path);
        if (!is_there && errno != ENOENT)
            err = err_errno("cannot look at %s", path);
        else if (is_there && (status.st_mode & S_IWOTH) && !(status.st_mode & S_ISVTX))
            err = err_set(WEFT_PERMISSION_DENIED,
                          "every user may write in %s, and so could replace everything below it",
                          path);
        if (is_root)
            break;
    }
    return err;
}

weft_err own_check_above(const char *path)
{
    if (path[0] != '/')
        return err_set(WEFT_INVALID_ARGUMENT, "%s is not a whole path", path);
    char *named = strdup(path), *existing = calloc(1, strlen(path) + 1), *real = NULL;
    weft_err err = named && existing ? WEFT_OK : err_no_memory("to look at %s", path);
    if (!err)
        err = check_each_above(named, existing);
    // Links lead elsewhere, and the same holds there.
    if (!err && !(real = realpath(existing, NULL)))
        err = err_errno("cannot look at %s", existing);
    if (!err)
        err = check_each_above(real, NULL);
    free(named);
    free(existing);
    free(real);
    return err;
}

weft_err own_check_program(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return err_errno("cannot look at %s", path);
    if (!S_ISREG(status.st_mode) || !(status.st_mode & S_IXUSR))
        return err_set(WEFT_PERMISSION_DENIED, "%s is not a program", path);
    return status.st_uid == geteuid() ? WEFT_OK : refuse_owner(path, status.st_uid);
}

// A directory of ours is closed to other users.
static weft_err close_directory(const char *path)
{
    struct stat status;
    int fd;
    weft_err err = open_directory(path, &fd, &status);
    if (err)
        return check_owner(path, err);
    if (status.st_uid != geteuid())
        err = refuse_owner(path, status.st_uid);
    else if ((status.st_mode & 077) && fchmod(fd, status.st_mode & 07700) != 0 && errno != EROFS)
        err = err_errno("cannot keep others out of %s", path);
    close(fd);
    return err;
}

// mkdir of `path` and of the parents that miss; false with errno. Changes `path` and puts it back.
static bool make_directories(char *path, bool *is_new)
{
    *is_new = mkdir(path, PRIVATE_MODE) == 0;
    if (*is_new || errno == EEXIST)
        return true;
    char *slash = errno == ENOENT ? strrchr(path, '/') : NULL;
    if (!slash || slash == path)
        return false;
    *slash = 0;
    const bool has_parent = make_directories(path, is_new);
    *slash = '/';
    if (!has_parent)
        return false;
    *is_new = mkdir(path, PRIVATE_MODE) == 0;
    return *is_new || errno == EEXIST;
}

static weft_err make(const char *path, bool *is_new)
{
    char *copy = strdup(path);
    size_t size = copy ? strlen(copy) : 0;
    while (size > 1 && copy[size - 1] == '/')
        copy[--size] = 0;
    const bool is_made = copy && make_directories(copy, is_new);
    const weft_err err = is_made ? WEFT_OK : err_errno("cannot make the directory %s", path);
    free(copy);
    return err;
}

weft_err own_make_directory(const char *path)
{
    bool is_new = false;
    const weft_err err = make(path, &is_new);
    return err || is_new ? err : close_directory(path);
}

weft_err own_make_named_directory(const char *path)
{
    struct stat status;
    bool is_new = false;
    const weft_err err = make(path, &is_new);
    if (err || is_new || (stat(path, &status) == 0 && S_ISDIR(status.st_mode)))
        return err;
    errno = EEXIST;
    return err_errno("cannot make the directory %s", path);
}

// There is no way to ask for it without setting it, and other threads may be making files.
static mode_t read_umask(void)
{
    unsigned mask = 022;
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Umask: %o", &mask) == 1)
            break;
    if (file)
        fclose(file);
    return (mode_t)mask;
}

weft_err own_open_directory(const char *path, const char *replaced)
{
    struct stat status, old;
    int fd;
    weft_err err = open_directory(path, &fd, &status);
    if (err)
        return err;
    const bool has_old = replaced && lstat(replaced, &old) == 0 && S_ISDIR(old.st_mode);
    const mode_t mode = has_old ? (old.st_mode & 0777) | 0700 : 0777 & ~read_umask();
    // Bits above stay: a directory in a directory of a group belongs to that group.
    if (fchmod(fd, (status.st_mode & 07000) | mode) != 0)
        err = err_errno("cannot open %s to others", path);
    close(fd);
    return err;
}

weft_err own_copy_permissions(int fd, const char *replaced)
{
    struct stat old;
    if (lstat(replaced, &old) != 0 || !S_ISREG(old.st_mode))
        return WEFT_OK;
    return fchmod(fd, (old.st_mode & 0777) | 0600) == 0
               ? WEFT_OK
               : err_errno("cannot give the new file the permissions of %s", replaced);
}

// ---- Files ---------------------------------------------------------------------------------------------

// Some file systems have one owner for everything on them.
static bool is_of_its_directory(const char *path, uid_t owner)
{
    struct stat status;
    char *copy = strdup(path);
    const bool is_same = copy && stat(dirname(copy), &status) == 0 && status.st_uid == owner;
    free(copy);
    return is_same;
}

static weft_err check_file(int fd, const char *path)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return err_errno("cannot look at %s", path);
    if (!S_ISREG(status.st_mode))
        return err_set(WEFT_PERMISSION_DENIED, "%s is not a regular file", path);
    if (status.st_nlink > 1)
        return err_set(WEFT_PERMISSION_DENIED,
                       "%s is a file with another name elsewhere, which would be written, too",
                       path);
    if (status.st_uid != geteuid() && !is_of_its_directory(path, status.st_uid))
        return refuse_owner(path, status.st_uid);
    return WEFT_OK;
}

weft_err own_open_file(const char *path, int flags, mode_t mode, const char *what, int *fd)
{
    *fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
    if (*fd < 0)
        return errno == ELOOP ? advise(refuse_link(path)) : err_errno("%s %s", what, path);
    const weft_err err = flags & O_EXCL ? WEFT_OK : advise(check_file(*fd, path));
    if (err) {
        close(*fd);
        *fd = -1;
    }
    return err;
}

weft_err own_check_named(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0 || status.st_uid == geteuid() || status.st_uid == 0 ||
        is_of_its_directory(path, status.st_uid))
        return WEFT_OK;
    return err_set(WEFT_PERMISSION_DENIED,
                   "%s %s belongs to another user (number %u), and %s\n  try: another name",
                   S_ISLNK(status.st_mode) ? "the link" : "the file", path, (unsigned)status.st_uid,
                   S_ISLNK(status.st_mode) ? "may lead anywhere" : "that user can read it");
}

static weft_err check_kept(int fd, const char *path, uint64_t *size)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return err_errno("cannot look at %s", path);
    if (!S_ISREG(status.st_mode))
        return err_set(WEFT_PERMISSION_DENIED, "%s is not a regular file", path);
    if (status.st_uid != geteuid())
        return refuse_owner(path, status.st_uid);
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(WEFT_PERMISSION_DENIED, "%s may be written by other users", path);
    *size = (uint64_t)status.st_size;
    return WEFT_OK;
}

weft_err own_open_kept(const char *path, int *fd, uint64_t *size)
{
    // Without waiting: it could be a FIFO.
    *fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0)
        return errno == ELOOP ? refuse_link(path) : err_errno("cannot open %s", path);
    const weft_err err = check_kept(*fd, path, size);
    if (err) {
        close(*fd);
        *fd = -1;
    }
    return err;
}
