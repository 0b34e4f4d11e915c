// Preloaded: a file below WEFT_BAD_CLOSE cannot be kept, which is told when it is closed, as on a network
// file system whose server has no room.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int close(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
    const char *place = getenv("WEFT_BAD_CLOSE");
    char link[64], target[PATH_MAX] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const int flags = fcntl(fd, F_GETFL);
    if (place && flags >= 0 && (flags & O_ACCMODE) != O_RDONLY &&
        readlink(link, target, sizeof target - 1) > 0 && strstr(target, place) &&
        !strstr(target, "journal")) {
        real(fd);
        errno = ENOSPC;
        return -1;
    }
    return real(fd);
}
