// ioerror.so: a disk that fails. Preloaded into a program, it answers writes and syncs of files under
// WEFT_IOERROR_DIR with EIO, from the moment the file WEFT_IOERROR_WHEN is there; what the file holds says
// for how many calls ("1": once; empty: for ever). With WEFT_IOERROR_READ it is reading that fails, of files
// whose path has this in it.
//
// It sees only what goes through the C library.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static atomic_int failed;

static bool is_inside(int fd)
{
    const char *dir = getenv("WEFT_IOERROR_DIR");
    char link[64], target[PATH_MAX];
    if (!dir)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, target, sizeof target - 1);
    const size_t length = strlen(dir);
    return size > (ssize_t)length && memcmp(target, dir, length) == 0 && target[length] == '/';
}

static bool fails_to_read(int fd)
{
    const char *part = getenv("WEFT_IOERROR_READ");
    char link[64], target[PATH_MAX] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (!part || !is_inside(fd) || readlink(link, target, sizeof target - 1) < 0 ||
        !strstr(target, part))
        return false;
    errno = EIO;
    return true;
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    return fails_to_read(fd) ? -1 : REAL(pread)(fd, data, size, offset);
}

ssize_t pread64(int fd, void *data, size_t size, off64_t offset)
{
    return fails_to_read(fd) ? -1 : REAL(pread64)(fd, data, size, offset);
}

static bool fails(int fd)
{
    const char *when = getenv("WEFT_IOERROR_WHEN");
    if (!when || !is_inside(fd))
        return false;
    const int file = open(when, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    char text[16] = "";
    const ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    const int limit = size > 0 ? atoi(text) : INT_MAX;
    if (atomic_fetch_add(&failed, 1) >= limit)
        return false;
    errno = EIO;
    return true;
}

ssize_t write(int fd, const void *data, size_t size)
{
    return fails(fd) ? -1 : REAL(write)(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return fails(fd) ? -1 : REAL(pwrite)(fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    return fails(fd) ? -1 : REAL(pwrite64)(fd, data, size, offset);
}

int fsync(int fd)
{
    return fails(fd) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    return fails(fd) ? -1 : REAL(fdatasync)(fd);
}
