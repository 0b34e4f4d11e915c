// Loading OpenSSL by its name. libssl brings libcrypto along, and both are searched.

#define OPENSSL_OWN_NAMES
#include "sys/secure/openssl.h"

#ifdef WEFT_OPENSSL_LINKED

weft_err openssl_load(void)
{
    return WEFT_OK;
}

#else

#include <dlfcn.h>
#include <pthread.h>

struct openssl openssl;

static const char *missing;  // what could not be found

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define OPENSSL_ENTRY(name) {#name, offsetof(struct openssl, name)},
    OPENSSL_FUNCTIONS(OPENSSL_ENTRY)
#undef OPENSSL_ENTRY
};

static void load(void)
{
    static const char library[] = "libssl.so.3";
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        missing = library;
        return;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(handle, functions[i].name);
        if (!function) {
            missing = functions[i].name;
            return;
        }
        memcpy((char *)&openssl + functions[i].offset, &function, sizeof function);
    }
}

weft_err openssl_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!missing)
        return WEFT_OK;
    return err_set(WEFT_UNAVAILABLE,
                   "there is no %s: between machines everything is encrypted, by OpenSSL 3\n  try: "
                   "apt-get install libssl3",
                   missing);
}

#endif
