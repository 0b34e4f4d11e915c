// nospace.so: makes a directory look like a full disk. Preloaded into a program, it lets files
// under WEFT_NOSPACE_DIR take WEFT_NOSPACE_BYTES bytes per process and then answers ENOSPC, after
// a short write if the last one fits in part, as a real disk does.
//
// The tests use it where they may not mount a small file system. It sees only what goes through
// the C library: a program that maps its output or is linked statically is not fooled.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_llong used;

static bool is_inside(int fd)
{
    const char *dir = getenv("WEFT_NOSPACE_DIR");
    char link[64], target[PATH_MAX];
    if (!dir)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, target, sizeof target - 1);
    size_t length = strlen(dir);
    return size > (ssize_t)length && memcmp(target, dir, length) == 0 && target[length] == '/';
}

// How many of `size` bytes still fit; takes them. Sets errno when none do.
static size_t take(int fd, size_t size)
{
    if (size == 0 || !is_inside(fd))
        return size;
    const char *text = getenv("WEFT_NOSPACE_BYTES");
    long long limit = text ? atoll(text) : 0;
    long long before = atomic_fetch_add(&used, (long long)size);
    if (before + (long long)size <= limit)
        return size;
    if (before < limit)
        return (size_t)(limit - before);
    errno = ENOSPC;
    return 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size)
{
    size_t fits = take(fd, size);
    return fits < size && fits == 0 ? -1 : REAL(write)(fd, data, fits);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    size_t fits = take(fd, size);
    return fits < size && fits == 0 ? -1 : REAL(pwrite)(fd, data, fits, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    size_t fits = take(fd, size);
    return fits < size && fits == 0 ? -1 : REAL(pwrite64)(fd, data, fits, offset);
}

static size_t total(const struct iovec *parts, int count)
{
    size_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += parts[i].iov_len;
    return sum;
}

// A gathered write that does not fit whole fails whole: allowed, and simpler than cutting it.
ssize_t writev(int fd, const struct iovec *parts, int count)
{
    size_t size = total(parts, count);
    if (take(fd, size) == size)
        return REAL(writev)(fd, parts, count);
    errno = ENOSPC;
    return -1;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    size_t size = total(parts, count);
    if (take(fd, size) == size)
        return REAL(pwritev)(fd, parts, count, offset);
    errno = ENOSPC;
    return -1;
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
    size_t size = total(parts, count);
    if (take(fd, size) == size)
        return REAL(pwritev64)(fd, parts, count, offset);
    errno = ENOSPC;
    return -1;
}

ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size,
                        unsigned flags)
{
    size_t fits = take(out, size);
    return fits < size && fits == 0
               ? -1
               : REAL(copy_file_range)(in, in_offset, out, out_offset, fits, flags);
}
