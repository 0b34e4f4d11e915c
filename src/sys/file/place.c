// place: renames that do not replace are the kernel's RENAME_NOREPLACE, or, where a file system does
// not know it, a hard link for files and the rule that a directory never replaces a full one.

#include "sys/file/place.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/file/file.h"

enum { NAME_BYTES_MAX = 200 };  // of the target's own name: ours must stay under 255

static weft_err no_memory(void)
{
    return err_no_memory("for a file name");
}

// Takes the content out of the buffer as a string.
static weft_err take_text(struct buf *buf, char **text)
{
    buf_text(buf);
    if (buf->has_failed) {
        buf_fini(buf);
        return no_memory();
    }
    *text = buf->data;
    return WEFT_OK;
}

weft_err place_parent(const char *path, char **parent)
{
    char *copy = strdup(path);
    *parent = copy ? strdup(dirname(copy)) : NULL;
    free(copy);
    return *parent ? WEFT_OK : no_memory();
}

weft_err place_make_name(const char *target, char **name)
{
    struct buf text = {0};
    uint32_t random = 0;
    char *parent, *copy = strdup(target);
    weft_err err = place_parent(target, &parent);
    if (!err && copy) {
        if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
            random = 0;  // the process number alone distinguishes runs of this machine
        buf_format(&text, "%s/.%.*s.weft-%ld-%08x", parent, NAME_BYTES_MAX, basename(copy),
                   (long)getpid(), random);
        err = take_text(&text, name);
    } else if (!err) {
        err = no_memory();
    }
    free(copy);
    free(parent);
    return err;
}

bool place_is_made_name(const char *target, const char *name)
{
    char *copy = strdup(target);
    struct buf begin = {0};
    bool is_made = false;
    if (copy)
        buf_format(&begin, ".%.*s.weft-", NAME_BYTES_MAX, basename(copy));
    if (copy && !begin.has_failed && strncmp(name, buf_text(&begin), begin.size) == 0) {
        const char *number = name + begin.size;
        const size_t digits = strspn(number, "0123456789");
        const char *random = number + digits + 1;
        is_made = digits > 0 && number[digits] == '-' && strlen(random) == 8 &&
                  strspn(random, "0123456789abcdef") == 8;
    }
    buf_fini(&begin);
    free(copy);
    return is_made;
}

weft_err place_look(const char *path, enum place_kind *kind)
{
    struct stat status;
    if (stat(path, &status) == 0) {
        *kind = S_ISDIR(status.st_mode)   ? PLACE_DIRECTORY
                : S_ISREG(status.st_mode) ? PLACE_FILE
                                          : PLACE_STREAM;
        return WEFT_OK;
    }
    if (errno != ENOENT)
        return err_errno("cannot write %s", path);
    *kind = lstat(path, &status) == 0 ? PLACE_FILE : PLACE_FREE;
    return WEFT_OK;
}

// A link that we have made, or root, or the owner of the directory: as the kernel has it for /tmp.
static bool is_trusted(const char *path, const struct stat *link)
{
    struct stat status;
    char *parent = NULL;
    if (link->st_uid == geteuid() || link->st_uid == 0)
        return true;
    const bool is_of_its_directory = place_parent(path, &parent) == WEFT_OK &&
                                     stat(parent, &status) == 0 && status.st_uid == link->st_uid;
    free(parent);
    return is_of_its_directory;
}

weft_err place_follow(const char *path, char **followed)
{
    struct stat status;
    const bool is_link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    if (is_link && !is_trusted(path, &status))
        return err_set(WEFT_PERMISSION_DENIED,
                       "the link %s belongs to another user (number %u), who chose where it leads\n"
                       "  try: remove it, or another name",
                       path, (unsigned)status.st_uid);
    *followed = is_link ? realpath(path, NULL) : strdup(path);
    return *followed ? WEFT_OK : err_errno("cannot follow %s", path);
}

weft_err place_check_stream(const char *path)
{
    static const char *const ours[] = {"/dev/fd/", "/dev/std",
                                       "/proc/"};  // opened already, by any process
    struct stat status;
    char *followed = NULL;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strncmp(path, ours[i], strlen(ours[i])) == 0)
            return WEFT_OK;
    weft_err err = place_follow(path, &followed);
    // Devices are made by root alone.
    if (!err && stat(followed, &status) == 0 && S_ISFIFO(status.st_mode) &&
        !is_trusted(followed, &status))
        err = err_set(WEFT_PERMISSION_DENIED,
                      "the named pipe %s belongs to another user (number %u), who may read "
                      "from it\n  try: remove it, or another name",
                      path, (unsigned)status.st_uid);
    free(followed);
    return err;
}

weft_err place_check_replaceable(const char *path)
{
    struct stat status, above;
    char *parent = NULL;
    const uid_t user = geteuid();
    weft_err err = place_parent(path, &parent);
    if (err || user == 0 || lstat(path, &status) != 0 || stat(parent, &above) != 0) {
        free(parent);
        return err;
    }
    free(parent);
    const bool is_sticky = above.st_mode & S_ISVTX && above.st_uid != user;
    const bool is_closed =
        S_ISDIR(status.st_mode) && faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0;
    if (status.st_uid == user ? !is_closed : !is_sticky && !is_closed)
        return WEFT_OK;
    if (status.st_uid == user)
        return err_set(
            WEFT_PERMISSION_DENIED,
            "%s cannot be emptied: you may not write in it\n  try: chmod u+wx, or another "
            "name",
            path);
    return err_set(
        WEFT_PERMISSION_DENIED,
        "%s belongs to another user (number %u), and only that user can replace it\n  try: "
        "another name",
        path, (unsigned)status.st_uid);
}

weft_err place_check_parent(const char *parent)
{
    struct stat status;
    if (stat(parent, &status) != 0)
        return err_errno("the directory %s", parent);
    if (!S_ISDIR(status.st_mode))
        return err_set(WEFT_NOT_FOUND, "%s is not a directory", parent);
    if (faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) != 0)
        return err_errno("the directory %s", parent);
    const int fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const bool is_made_up = fd >= 0 && file_is_made_up(fd);
    file_close(fd);
    if (is_made_up)
        return err_set(WEFT_PERMISSION_DENIED, "the directory %s is the kernel's own", parent);
    return WEFT_OK;
}

weft_err place_make_directory(const char *path)
{
    return mkdir(path, 0700) == 0 ? WEFT_OK : err_errno("cannot make the directory %s", path);
}

static bool is_directory(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

weft_err place_move_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return WEFT_OK;
    if (errno == EINVAL || errno == ENOSYS) {
        if (is_directory(from) ? rename(from, to) == 0
                               : link(from, to) == 0 && (unlink(from), true))
            return WEFT_OK;
        if (errno == ENOTEMPTY || errno == ENOTDIR)
            errno = EEXIST;
    }
    return err_errno("cannot put the output at %s", to);
}

// Where directories cannot be swapped: there is a moment without one.
static weft_err move_aside(const char *from, const char *to)
{
    char *aside;
    weft_err err = place_make_name(to, &aside);
    if (err)
        return err;
    err = file_rename(to, aside);
    if (!err)
        err = place_move_new(from, to);
    if (!err)
        err = file_remove_tree(aside);
    free(aside);
    return err;
}

weft_err place_move_over(const char *from, const char *to)
{
    if (!is_directory(from))
        return file_rename(from, to);
    // Swapped in one step there is a whole directory at every moment; the old one goes afterwards.
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
        return file_remove_tree(from);
    if (errno != ENOENT)
        return errno == EINVAL || errno == ENOSYS ? move_aside(from, to)
                                                  : err_errno("cannot put the output at %s", to);
    // Nothing is there, or a twin of ours is just putting its own there.
    const weft_err err = place_move_new(from, to);
    return err == WEFT_ALREADY_EXISTS ? place_move_over(from, to) : err;
}

void place_remove_file(const char *path)
{
    unlink(path);
}
