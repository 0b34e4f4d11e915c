// The version, as the build has it.

#include <weft/weft.h>

const char *weft_version(void)
{
    return WEFT_VERSION_TEXT;
}
