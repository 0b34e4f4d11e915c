// tree: thin calls of the kernel. Names are looked at from the directory's descriptor: paths of thousands of files need not be
// walked from the root.

#include "sys/file/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void set_item(struct tree_item *item, const char *name, const struct stat *status)
{
    *item = (struct tree_item){
        .name = name,
        .kind = S_ISREG(status->st_mode)   ? TREE_FILE
                : S_ISDIR(status->st_mode) ? TREE_DIRECTORY
                : S_ISLNK(status->st_mode) ? TREE_LINK
                                           : TREE_OTHER,
        .size = S_ISREG(status->st_mode) ? (uint64_t)status->st_size : 0,
        .mtime_ns = status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec,
        .device = status->st_dev,
        .inode = status->st_ino,
        .is_executable = status->st_mode & S_IXUSR,
    };
}

// A name that is gone in the meantime is not visited.
static weft_err visit_name(DIR *names, const char *directory, const char *name,
                           tree_visit_fn *visit, void *owner)
{
    struct stat status;
    struct tree_item item;
    if (fstatat(dirfd(names), name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? WEFT_OK : err_errno("cannot look at %s/%s", directory, name);
    set_item(&item, name, &status);
    return visit(owner, &item);
}

weft_err tree_list(const char *directory, tree_visit_fn *visit, void *owner)
{
    DIR *names = opendir(directory);
    weft_err code = names ? WEFT_OK : err_errno("cannot list %s", directory);
    while (code == WEFT_OK) {
        errno = 0;
        const struct dirent *entry = readdir(names);
        if (!entry) {
            code = errno ? err_errno("cannot list %s", directory) : WEFT_OK;
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            code = visit_name(names, directory, entry->d_name, visit, owner);
    }
    if (names)
        closedir(names);
    return code;
}

weft_err tree_look(const char *path, struct tree_item *item)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return err_errno("cannot look at %s", path);
    set_item(item, path, &status);
    return WEFT_OK;
}

weft_err tree_read_link(const char *path, char **target)
{
    char text[PATH_MAX];
    *target = NULL;
    const ssize_t size = readlink(path, text, sizeof text);
    if (size < 0)
        return err_errno("cannot read the link %s", path);
    if (size == sizeof text)
        return err_set(WEFT_INVALID_ARGUMENT, "the link %s is too long", path);
    *target = strndup(text, (size_t)size);
    return *target ? WEFT_OK : err_no_memory("for a link");
}

weft_err tree_make_directory(const char *path)
{
    return mkdir(path, 0755) == 0 ? WEFT_OK : err_errno("cannot make %s", path);
}

weft_err tree_make_link(const char *path, const char *target)
{
    return symlink(target, path) == 0 ? WEFT_OK : err_errno("cannot make the link %s", path);
}

weft_err tree_create_file(const char *path, bool is_executable, int *fd)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
               is_executable ? 0755 : 0644);
    return *fd >= 0 ? WEFT_OK : err_errno("cannot create %s", path);
}

weft_err tree_close_file(int fd, const char *path, int64_t mtime_s)
{
    const struct timespec times[2] = {{.tv_sec = mtime_s}, {.tv_sec = mtime_s}};
    futimens(fd, times);  // a file system without such times has others
    return file_close_checked(fd, path);
}

bool tree_share(int fd)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES);
}
