// Copying between structs of two versions.

#include "base/sized.h"

weft_err sized_take(void *ours, size_t our_size, const void *theirs, size_t their_size,
                    const char *name)
{
    const char *bytes = theirs;
    sized_give(ours, our_size, theirs, theirs ? their_size : 0);
    for (size_t i = our_size; bytes && i < their_size; i++)
        if (bytes[i])
            return err_set(WEFT_UNIMPLEMENTED,
                           "the program sets a member of %s that this library does not have\n"
                           "  it was built with the header of a newer version, and runs with "
                           "libweft %s\n  try: install the newer library",
                           name, WEFT_VERSION_TEXT);
    return WEFT_OK;
}

void sized_give(void *theirs, size_t their_size, const void *ours, size_t our_size)
{
    const size_t both = their_size < our_size ? their_size : our_size;
    if (both)
        memcpy(theirs, ours, both);
    if (their_size > both)
        memset((char *)theirs + both, 0, their_size - both);
}
