// standard: a pwrite() to a file opened for appending goes to its end whatever the offset says, so
// such a file is a stream to us.

#include "sys/standard.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

weft_err standard_look(int fd, struct standard_out *out)
{
    struct stat status;
    *out = (struct standard_out){.kind = STANDARD_CLOSED};
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        return WEFT_OK;
    if (fstat(fd, &status) != 0)
        return err_errno("cannot look at descriptor %d", fd);
    const off_t position = lseek(fd, 0, SEEK_CUR);
    const bool is_null = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
    const bool is_plain = S_ISREG(status.st_mode) && !(flags & O_APPEND) && position >= 0;
    out->kind = is_null ? STANDARD_NULL : is_plain ? STANDARD_FILE : STANDARD_STREAM;
    out->position = is_plain ? (uint64_t)position : 0;
    out->size = is_plain ? (uint64_t)status.st_size : 0;
    return WEFT_OK;
}

int standard_duplicate(int fd)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0)
        err_errno("cannot use descriptor %d", fd);
    return copy;
}

weft_err standard_open_stream(const char *path, int *fd)
{
    *fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return *fd < 0 ? err_errno("cannot write %s", path) : WEFT_OK;
}

void standard_set_position(int fd, uint64_t position)
{
    (void)lseek(fd, (off_t)position, SEEK_SET);
}

void standard_cut(int fd, uint64_t size)
{
    (void)!ftruncate(fd, (off_t)size);
}

bool standard_is_fed(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 &&
           (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISREG(status.st_mode));
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
