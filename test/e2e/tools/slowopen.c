// slowopen.so: makes the files below a directory slow to open, as those of a file system far away. Preloaded into a program, it lets each open of a
// file under WEFT_SLOW_DIR wait for WEFT_SLOW_MS.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_for(const char *path)
{
    const char *dir = getenv("WEFT_SLOW_DIR"), *ms = getenv("WEFT_SLOW_MS");
    if (dir && ms && strncmp(path, dir, strlen(dir)) == 0)
        usleep((useconds_t)(atoi(ms) * 1000));
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// The mode, which is there with some flags only, does no harm with the others.
#define MODE(after)                                                                                \
    va_list rest;                                                                                  \
    va_start(rest, after);                                                                         \
    const int mode = va_arg(rest, int);                                                            \
    va_end(rest)

int open(const char *path, int flags, ...)
{
    MODE(flags);
    wait_for(path);
    return REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    MODE(flags);
    wait_for(path);
    return REAL(open64)(path, flags, mode);
}
