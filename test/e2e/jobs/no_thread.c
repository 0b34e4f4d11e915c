// Preloaded: in the process that has WEFT_NO_THREAD in its environment and is no worker, no thread can be
// started, as on a machine that has too many.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
            RTLD_NEXT, "pthread_create");
    if (getenv("WEFT_NO_THREAD") && !getenv("WEFT_WORKER"))
        return EAGAIN;
    return create(thread, attributes, body, argument);
}
