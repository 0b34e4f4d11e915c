// Files: thin wrappers that finish what the kernel only began (short reads and writes, EINTR) and
// turn errno into a sentence with the path in it.

#include "sys/file/file.h"
#include "sys/thread/interrupt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sys/file/own.h"

enum {
    TREE_DESCRIPTORS_MAX = 16,    // directories kept open while a tree is taken away
    CONFIGFS_MAGIC = 0x62656570,  // of the kernel's own, in no header
    HOLD_TRIES_MAX = 20,
};

weft_err file_open(const char *path, int *fd)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return *fd < 0 ? err_errno("cannot open %s", path) : WEFT_OK;
}

// Truncating a file that is empty is not for nothing: ext4 then takes it for one that is being replaced,
// and writes all of it to the disk when it is closed.
static weft_err empty(const char *path, int *fd)
{
    struct stat status;
    bool is_done = fstat(*fd, &status) == 0;
    if (is_done && S_ISREG(status.st_mode) && status.st_size > 0)
        is_done = ftruncate(*fd, 0) == 0;
    if (is_done)
        return WEFT_OK;
    const weft_err err = err_errno("cannot create %s", path);
    close(*fd);
    *fd = -1;
    return err;
}

static weft_err create(const char *path, mode_t mode, int *fd)
{
    const weft_err err = own_open_file(path, O_RDWR | O_CREAT, mode, "cannot create", fd);
    return err ? err : empty(path, fd);
}

weft_err file_create(const char *path, int *fd)
{
    return create(path, 0666, fd);
}

weft_err file_create_private(const char *path, int *fd)
{
    return create(path, 0600, fd);
}

weft_err file_create_named(const char *path, int *fd)
{
    struct stat status;
    *fd = -1;
    const weft_err err = own_check_named(path);
    if (err)
        return err;
    // A link that comes only now has not been checked.
    const bool is_link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | (is_link ? 0 : O_NOFOLLOW), 0666);
    return *fd < 0 ? err_errno("cannot create %s", path) : empty(path, fd);
}

weft_err file_create_new(const char *path, int *fd)
{
    return own_open_file(path, O_RDWR | O_CREAT | O_EXCL, 0666, "cannot create", fd);
}

weft_err file_open_kept(const char *path, int *fd)
{
    return own_open_file(path, O_RDWR | O_CREAT, 0666, "cannot write", fd);
}

weft_err file_open_existing(const char *path, int *fd)
{
    return own_open_file(path, O_RDWR, 0, "cannot write", fd);
}

weft_err file_open_private(const char *path, int *fd)
{
    return own_open_file(path, O_RDWR | O_CREAT, 0600, "cannot write", fd);
}

weft_err file_open_direct(const char *path, bool is_synced, int *fd)
{
    const int flags = O_RDWR | O_CREAT | O_DIRECT | (is_synced ? O_DSYNC : 0);
    const weft_err err = own_open_file(path, flags, 0600, "cannot write", fd);
    if (err == WEFT_INVALID_ARGUMENT)
        return err_set(WEFT_UNIMPLEMENTED, "%s cannot be written past the cache", path);
    return err;
}

// For file systems without O_TMPFILE: the name lives for two system calls.
static int create_unlinked(const char *directory)
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/.weft-XXXXXX", directory);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

weft_err file_create_nameless(const char *directory, int *fd)
{
    // O_EXCL: no process may give it a name later.
    *fd = open(directory, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (*fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        *fd = create_unlinked(directory);
    return *fd < 0 ? err_errno("cannot create a temporary file in %s", directory) : WEFT_OK;
}

void file_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

weft_err file_close_checked(int fd, const char *path)
{
    // After EINTR the descriptor is closed, and the written bytes are kept, on Linux.
    return fd < 0 || close(fd) == 0 || errno == EINTR ? WEFT_OK
                                                      : err_errno("cannot write %s", path);
}

weft_err file_read_at(int fd, const char *path, void *data, size_t size, uint64_t offset,
                      size_t *got)
{
    *got = 0;
    while (*got < size) {
        const ssize_t n = pread(fd, (char *)data + *got, size - *got, (off_t)(offset + *got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno("cannot read %s at offset %llu", path,
                             (unsigned long long)(offset + *got));
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return WEFT_OK;
}

weft_err file_read_all(int fd, const char *path, size_t bytes_max, struct buf *buf)
{
    enum { PIECE_BYTES = 64 << 10 };
    while (bytes_max > 0) {
        const size_t wanted = bytes_max < PIECE_BYTES ? bytes_max : PIECE_BYTES;
        char *to = buf_reserve(buf, wanted);
        if (!to)
            return err_no_memory("to read %s", path);
        const ssize_t n = read(fd, to, wanted);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno("cannot read %s", path);
        if (n == 0)
            break;
        buf->size += (size_t)n;
        bytes_max -= (size_t)n;
    }
    return WEFT_OK;
}

weft_err file_read_some(int fd, const char *path, void *data, size_t size, size_t *got)
{
    for (;;) {
        const ssize_t n = read(fd, data, size);
        if (n >= 0) {
            *got = (size_t)n;
            return WEFT_OK;
        }
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (errno == EAGAIN && poll(&ready, 1, -1) >= 0)
            continue;
        if (errno != EINTR)
            return err_errno("cannot read %s", path);
        if (interrupt_ends(UINT64_MAX))
            return err_set(WEFT_CANCELLED, "interrupted while reading %s", path);
    }
}

// Whether to try again: interrupted, or a pipe that another process has made non-blocking is full.
static bool can_write_again(int fd)
{
    if (errno == EINTR)
        return true;
    if (errno != EAGAIN)
        return false;
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    return poll(&ready, 1, -1) >= 0 || errno == EINTR;
}

weft_err file_write_at(int fd, const char *path, const void *data, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n =
            pwrite(fd, (const char *)data + done, size - done, (off_t)(offset + done));
        if (n < 0 && !can_write_again(fd))
            return err_errno("cannot write %s", path);
        done += n > 0 ? (size_t)n : 0;
    }
    return WEFT_OK;
}

weft_err file_cannot_write(const char *path)
{
    const bool is_full = errno == ENOSPC || errno == EDQUOT;
    const weft_err err = err_errno("cannot write %s", path);
    if (!is_full)
        return err;
    char text[ERR_TEXT_BYTES_MAX];
    snprintf(text, sizeof text, "%s", err_text());
    return err_set(err, "%s\n  try: make room there (df -h shows the disks), or write elsewhere",
                   text);
}

weft_err file_write(int fd, const char *path, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = write(fd, (const char *)data + done, size - done);
        if (n < 0 && !can_write_again(fd))
            return file_cannot_write(path);
        done += n > 0 ? (size_t)n : 0;
    }
    return WEFT_OK;
}

bool file_has_room(int fd, int timeout_ms)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    int ready;
    _Static_assert(FILE_ROOM_BYTES <= PIPE_BUF, "a pipe that has room has that much");
    do
        ready = poll(&room, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    return ready != 0;
}

weft_err file_truncate(int fd, const char *path, uint64_t size)
{
    return ftruncate(fd, (off_t)size) == 0 ? WEFT_OK : err_errno("cannot cut %s", path);
}

weft_err file_sync(int fd, const char *path)
{
    while (fdatasync(fd) != 0)
        if (errno != EINTR)
            return err_errno("cannot bring %s to the disk", path);
    return WEFT_OK;
}

weft_err file_sync_directory(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno("cannot open %s", path);
    // Some file systems know no such thing for directories, and need none.
    const bool is_synced = fsync(fd) == 0 || errno == EINVAL;
    const weft_err err = is_synced ? WEFT_OK : err_errno("cannot bring %s to the disk", path);
    close(fd);
    return err;
}

static weft_err say_who_holds(int fd, const char *path)
{
    char text[32] = {0};
    const ssize_t got = pread(fd, text, sizeof text - 1, 0);
    const long holder = got > 0 ? strtol(text, NULL, 10) : 0;
    if (holder > 0)
        return err_set(WEFT_UNAVAILABLE, "%s is locked by process %ld", path, holder);
    return err_set(WEFT_UNAVAILABLE, "%s is locked by another process", path);
}

// Whether the path still leads to the open file: the last holder of the lock may have removed it before letting go.
static bool is_at(int fd, const char *path)
{
    struct stat open_one, found;
    return fstat(fd, &open_one) == 0 && stat(path, &found) == 0 &&
           open_one.st_dev == found.st_dev && open_one.st_ino == found.st_ino;
}

// A lock of the open file, not of the process: it holds within one process too, and no other close of the same file
// lets go of it.
bool file_hold(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole) == 0;
}

// Between making and locking it, a process that removes files which are not in use may have removed it.
weft_err file_create_held(const char *path, int *fd)
{
    for (int tries = 0; tries < HOLD_TRIES_MAX; tries++) {
        const weft_err err = file_create_new(path, fd);
        if (err || !file_hold(*fd) || is_at(*fd, path))
            return err;
        close(*fd);
    }
    *fd = -1;
    return err_set(WEFT_UNAVAILABLE, "cannot create %s: another process removes it", path);
}

weft_err file_lock(const char *path, int *fd)
{
    weft_err err = file_open_private(path, fd);
    if (err)
        return err;
    if (!file_hold(*fd))
        err = errno == EAGAIN || errno == EACCES ? say_who_holds(*fd, path)
                                                 : err_errno("cannot lock %s", path);
    else if (!is_at(*fd, path))
        err = err_set(WEFT_NOT_FOUND, "%s was removed while it was locked", path);
    char text[32];
    // Always as long as the one before it: cutting a file to nothing would wait for the disk.
    const int size = snprintf(text, sizeof text, "%-20ld\n", (long)getpid());
    if (!err)
        err = file_write_at(*fd, path, text, (size_t)size, 0);
    if (err) {
        close(*fd);
        *fd = -1;
    }
    return err;
}

bool file_is_locked(const char *path)
{
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    if (fd < 0)
        return false;
    const bool is_held = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    close(fd);
    return is_held;
}

// Asking for the lock, and not after it: a file system without locks must not look like a file that is free.
bool file_is_left(const char *path)
{
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    struct stat status;
    if (fd < 0)
        return false;
    const bool is_left =
        fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && fcntl(fd, F_OFD_SETLK, &whole) == 0;
    close(fd);
    return is_left;
}

weft_err file_list(const char *directory, file_visit_fn *visit, void *owner)
{
    DIR *names = opendir(directory);
    if (!names)
        return err_errno("cannot list %s", directory);
    weft_err err = WEFT_OK;
    while (!err) {
        errno = 0;
        const struct dirent *entry = readdir(names);
        if (!entry) {
            err = errno ? err_errno("cannot list %s", directory) : WEFT_OK;
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            err = visit(owner, entry->d_name);
    }
    closedir(names);
    return err;
}

weft_err file_remove(const char *path)
{
    return unlink(path) == 0 || errno == ENOENT ? WEFT_OK : err_errno("cannot remove %s", path);
}

static void describe(const struct stat *from, struct file_stat *status)
{
    *status = (struct file_stat){
        .kind = S_ISREG(from->st_mode)   ? FILE_REGULAR
                : S_ISDIR(from->st_mode) ? FILE_DIRECTORY
                                         : FILE_STREAM,
        .size = from->st_size > 0 ? (uint64_t)from->st_size : 0,
        .mtime_ns = (int64_t)from->st_mtim.tv_sec * 1000000000 + from->st_mtim.tv_nsec,
        .inode = from->st_ino,
        .name_count = from->st_nlink,
        .is_executable = from->st_mode & S_IXUSR,
    };
}

weft_err file_stat(const char *path, struct file_stat *status)
{
    struct stat found;
    *status = (struct file_stat){.kind = FILE_MISSING};
    if (stat(path, &found) == 0)
        describe(&found, status);
    else if (errno != ENOENT && errno != ENOTDIR)
        return err_errno("cannot look at %s", path);
    return WEFT_OK;
}

char *file_real_path(const char *path)
{
    return realpath(path, NULL);
}

weft_err file_stat_fd(int fd, const char *path, struct file_stat *status)
{
    struct stat found;
    if (fstat(fd, &found) != 0)
        return err_errno("cannot look at %s", path);
    describe(&found, status);
    return WEFT_OK;
}

void file_forget(int fd, uint64_t offset, uint64_t size)
{
    (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
}

weft_err file_link(int fd, const char *path, const char *to)
{
    char from[48];
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0
               ? WEFT_OK
               : err_errno("cannot link %s to %s", path, to);
}

weft_err file_set_mode(int fd, const char *path, unsigned mode)
{
    return fchmod(fd, mode) == 0 ? WEFT_OK : err_errno("cannot set the permissions of %s", path);
}

void file_touch(int fd)
{
    (void)!futimens(fd, NULL);
}

bool file_is_executable(const char *path)
{
    return access(path, X_OK) == 0;
}

weft_err file_rename(const char *from, const char *to)
{
    return rename(from, to) == 0 ? WEFT_OK : err_errno("cannot rename %s to %s", from, to);
}

static bool is_directory(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

// mkdir of `path` and the parents that miss; false with errno. Changes `path` and puts it back.
static bool make_directories(char *path)
{
    if (mkdir(path, 0777) == 0)
        return true;
    if (errno == EEXIST)
        return is_directory(path) || (errno = EEXIST, false);
    char *slash = errno == ENOENT ? strrchr(path, '/') : NULL;
    if (!slash || slash == path)
        return false;
    *slash = 0;
    const bool has_parent = make_directories(path);
    *slash = '/';
    // After a last slash there is nothing left to make; a twin may have made the rest.
    return has_parent && (mkdir(path, 0777) == 0 || (errno == EEXIST && is_directory(path)));
}

weft_err file_make_directory(const char *path)
{
    char *copy = strdup(path);
    const bool is_made = copy && make_directories(copy);
    const weft_err err = is_made ? WEFT_OK : err_errno("cannot make the directory %s", path);
    free(copy);
    return err;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    if (remove(path) == 0 || errno == ENOENT)
        return 0;
    return (int)err_errno("cannot remove %s", path);
}

weft_err file_remove_tree(const char *path)
{
    const int result = nftw(path, remove_entry, TREE_DESCRIPTORS_MAX, FTW_DEPTH | FTW_PHYS);
    if (result > 0)
        return (weft_err)result;
    return result == 0 || errno == ENOENT ? WEFT_OK : err_errno("cannot remove %s", path);
}

bool file_is_made_up(int fd)
{
    static const unsigned long made_up[] = {
        PROC_SUPER_MAGIC,    SYSFS_MAGIC,      DEBUGFS_MAGIC, TRACEFS_MAGIC, CGROUP_SUPER_MAGIC,
        CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC, SELINUX_MAGIC, SMACK_MAGIC,   CONFIGFS_MAGIC};
    struct statfs found;
    if (fstatfs(fd, &found) != 0)
        return false;
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++)
        if ((unsigned long)found.f_type == made_up[i])
            return true;
    return false;
}

weft_err file_is_in_memory(const char *path, bool *is_in_memory)
{
    struct statfs found;
    if (statfs(path, &found) != 0)
        return err_errno("cannot look at %s", path);
    const unsigned long type = (unsigned long)found.f_type;
    *is_in_memory = type == TMPFS_MAGIC || type == RAMFS_MAGIC;
    return WEFT_OK;
}
