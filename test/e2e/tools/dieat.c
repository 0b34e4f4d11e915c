// dieat.so: ends a program by SIGKILL at a chosen moment: before its WEFT_DIE_AT-th call that changes a
// file or a directory. A random moment hits the long waits; this one hits every gap between two steps.
//
//   WEFT_DIE_AT=N       before call N; 0 or unset: never
//   WEFT_DIE_TORN=1     if that call writes, half of it is written first
//   WEFT_DIE_COUNT=FILE the number of calls so far is kept there
//   WEFT_DIE_FILE=TEXT  only writes to files with TEXT in their path count, and no other call
//   WEFT_DIE_CHILD=1    a child of the process that was started first is meant, in place of that one
//   WEFT_DIE_ONCE=FILE  only if there is no such file; it is made before
//
// Only the process that was started first is meant, not its children. Writes count if they go to a
// plain file.

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void)
{
    char self[32];
    snprintf(self, sizeof self, "%d", (int)getpid());
    setenv("WEFT_DIE_OWNER", self, 0);
}

static bool is_meant(void)
{
    const char *owner = getenv("WEFT_DIE_OWNER");
    return owner && atoi(owner) == (int)(getenv("WEFT_DIE_CHILD") ? getppid() : getpid());
}

static void keep_count(long count)
{
    const char *path = getenv("WEFT_DIE_COUNT");
    char text[32];
    if (!path)
        return;
    int fd = REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int size = snprintf(text, sizeof text, "%ld\n", count);
    if (fd >= 0 && REAL(write)(fd, text, (size_t)size) != size)
        abort();
    close(fd);
}

static bool is_the_first(void)
{
    const char *path = getenv("WEFT_DIE_ONCE");
    const int fd = path ? REAL(open)(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    if (fd >= 0)
        close(fd);
    return !path || fd >= 0;
}

// Whether the call about to be made is the one; dies at once unless the caller can do half of it.
static bool is_last(bool can_tear)
{
    if (!is_meant() || (!can_tear && getenv("WEFT_DIE_FILE")))
        return false;
    const char *at = getenv("WEFT_DIE_AT");
    const long count = atomic_fetch_add(&calls, 1) + 1;
    keep_count(count);
    if (!at || count != atol(at) || !is_the_first())
        return false;
    if (!can_tear || !getenv("WEFT_DIE_TORN"))
        kill(getpid(), SIGKILL);
    return true;
}

static bool is_of_interest(int fd)
{
    const char *wanted = getenv("WEFT_DIE_FILE");
    char link[64], path[4096];
    if (!wanted)
        return true;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = 0;
    return strstr(path, wanted);
}

static bool is_plain(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && is_of_interest(fd);
}

ssize_t write(int fd, const void *data, size_t size)
{
    if (is_plain(fd) && is_last(true)) {
        if (REAL(write)(fd, data, size / 2) >= 0)
            kill(getpid(), SIGKILL);
        abort();
    }
    return REAL(write)(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    if (is_plain(fd) && is_last(true)) {
        if (REAL(pwrite)(fd, data, size / 2, offset) >= 0)
            kill(getpid(), SIGKILL);
        abort();
    }
    return REAL(pwrite)(fd, data, size, offset);
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    if (flags & (O_CREAT | O_TRUNC))
        is_last(false);
    return REAL(open)(path, flags, mode);
}

int ftruncate(int fd, off_t size)
{
    is_last(false);
    return REAL(ftruncate)(fd, size);
}

int rename(const char *from, const char *to)
{
    is_last(false);
    return REAL(rename)(from, to);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    is_last(false);
    return REAL(renameat2)(from_fd, from, to_fd, to, flags);
}

int mkdir(const char *path, mode_t mode)
{
    is_last(false);
    return REAL(mkdir)(path, mode);
}

int unlink(const char *path)
{
    is_last(false);
    return REAL(unlink)(path);
}

int unlinkat(int fd, const char *path, int flags)
{
    is_last(false);
    return REAL(unlinkat)(fd, path, flags);
}

int rmdir(const char *path)
{
    is_last(false);
    return REAL(rmdir)(path);
}

int remove(const char *path)
{
    is_last(false);
    return REAL(remove)(path);
}
