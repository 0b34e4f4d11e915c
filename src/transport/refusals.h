// refusals: the lines about strangers that were turned away. Strangers must not fill a disk with them, so a flood becomes one line
// now and then. Pure state.
#ifndef TRANSPORT_REFUSALS_H
#define TRANSPORT_REFUSALS_H

#include <stddef.h>

#include "base/err.h"

// Starts zeroed.
struct refusals {
    uint64_t said_ms;   // when the last line was written; 0: never
    uint64_t pause_ms;  // until the next one
    uint64_t silent;    // refusals since then
};

// One more, for this thread's reason. True: `sentence` is to be shown; false: it was only counted.
MUST_CHECK bool refusals_describe(struct refusals *refusals, uint64_t now_ms, const char *peer,
                                  char *sentence, size_t size);

#endif
