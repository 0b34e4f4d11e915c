// standard: a plain file is a stream like any other here. The shell may have given its position to other
// programs too (2>&1, a second job in the background), and only write() moves it for all of them.

#include "sys/file/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sys/time/clock.h"

enum { TRY_AGAIN_MS = 10 };  // whether a FIFO has a reader by now

// A descriptor of the user has survived an exec. One that this process opened has the flag to be closed by the next.
static bool is_our_own(int fd)
{
    const int flags = fcntl(fd, F_GETFD);
    return fd > STDERR_FILENO && flags >= 0 && flags & FD_CLOEXEC;
}

weft_err standard_look(int fd, enum standard_kind *kind)
{
    struct stat status;
    *kind = STANDARD_CLOSED;
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || is_our_own(fd))
        return WEFT_OK;
    if (fstat(fd, &status) != 0)
        return err_errno("cannot look at descriptor %d", fd);
    const bool is_null = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
    *kind = is_null ? STANDARD_NULL : STANDARD_STREAM;
    return WEFT_OK;
}

int standard_duplicate(int fd)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0)
        err_errno("cannot use descriptor %d", fd);
    return copy;
}

int standard_number(const char *path)
{
    static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};
    for (int i = 0; i < 3; i++)
        if (strcmp(path, names[i]) == 0)
            return i;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const size_t size = strlen(folders[i]);
        const char *digits = path + size;
        if (strncmp(path, folders[i], size) != 0)
            continue;
        const size_t count = strspn(digits, "0123456789");
        return count > 0 && count < 9 && !digits[count] ? atoi(digits) : -1;
    }
    return -1;
}

static bool is_fifo(const char *path)
{
    struct stat status;
    const int kept = errno;
    const bool is = stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
    errno = kept;
    return is;
}

// No descriptor becomes ready when a FIFO gets its reader, so it is tried again and again.
static weft_err wait_for_reader(const char *path, const struct wait_limit *limit)
{
    struct pollfd stop = {.fd = limit->stop_fd > 0 ? limit->stop_fd : -1, .events = POLLIN};
    if (limit->deadline_ns && clock_now_ns() >= limit->deadline_ns)
        return err_set(WEFT_DEADLINE_EXCEEDED, "timed out while waiting for a reader of %s", path);
    if (poll(&stop, 1, TRY_AGAIN_MS) > 0)
        return err_set(WEFT_CANCELLED, "a reader of %s is not waited for any more", path);
    return WEFT_OK;
}

weft_err standard_open_stream(const char *path, const struct wait_limit *limit, int *fd)
{
    weft_err err = WEFT_OK;
    // Without O_NONBLOCK, open() would wait for the reader, and nothing could end that.
    while ((*fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) < 0) {
        err = errno == ENXIO && is_fifo(path) ? wait_for_reader(path, limit)
                                              : err_errno("cannot write %s", path);
        if (err)
            return err;
    }
    const int flags = fcntl(*fd, F_GETFL);
    if (flags >= 0 && fcntl(*fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return WEFT_OK;
    err = err_errno("cannot write %s", path);
    close(*fd);
    *fd = -1;
    return err;
}

bool standard_is_fed(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 &&
           (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISREG(status.st_mode));
}

bool standard_has_reader(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

bool standard_is_terminal(int fd)
{
    return isatty(fd);
}

uint32_t standard_columns(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}
