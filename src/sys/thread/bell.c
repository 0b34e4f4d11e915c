// An eventfd under names of ours.

#include "sys/thread/bell.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

weft_err bell_init(struct bell *bell)
{
    bell->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return bell->fd >= 0
               ? WEFT_OK
               : err_set(WEFT_RESOURCE_EXHAUSTED, "cannot make an eventfd: %s", strerror(errno));
}

void bell_fini(struct bell *bell)
{
    if (bell->fd >= 0)
        close(bell->fd);
    bell->fd = -1;
}

void bell_ring(const struct bell *bell)
{
    const uint64_t once = 1;
    // It can only fail when it is rung already.
    if (write(bell->fd, &once, sizeof once) < 0)
        return;
}

void bell_hush(const struct bell *bell)
{
    uint64_t times;
    // It can only fail when it is not rung.
    if (read(bell->fd, &times, sizeof times) < 0)
        return;
}
