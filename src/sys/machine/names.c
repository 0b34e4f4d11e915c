// names: one call of glibc for each kind of name. Other C libraries ask the two sources in any case.

#include "sys/machine/names.h"

#include <features.h>

#if defined(WEFT_STATIC) && defined(__GLIBC__)

#include <nss.h>
#include <stddef.h>

void names_use_built_in(void)
{
    static const char *const kinds[] = {"passwd",   "group",     "services",
                                        "networks", "protocols", "initgroups"};
    __nss_configure_lookup("hosts", "files dns");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        __nss_configure_lookup(kinds[i], "files");
}

#else

void names_use_built_in(void)
{
}

#endif
