// Random numbers, from the kernel.

#include <errno.h>
#include <sys/random.h>

#include "sys/secure/secret.h"

void secret_random(void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t got = getrandom((char *)bytes + done, size - done, 0);
        ASSERT(got > 0 || errno == EINTR);
        done += got > 0 ? (size_t)got : 0;
    }
}
