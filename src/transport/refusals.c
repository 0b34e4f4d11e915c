// How often a line about refusals is written.

#include "transport/refusals.h"

#include <stdio.h>

// Between two lines; doubled while refusals continue, up to the second one.
enum { PAUSE_FIRST_MS = 10000, PAUSE_MAX_MS = 64 * PAUSE_FIRST_MS };

bool refusals_describe(struct refusals *refusals, uint64_t now_ms, const char *peer, char *sentence,
                       size_t size)
{
    const unsigned long long silent = refusals->silent;
    if (refusals->said_ms && now_ms - refusals->said_ms < refusals->pause_ms) {
        refusals->silent++;
        return false;
    }
    const uint64_t pause_ms = silent ? 2 * refusals->pause_ms : PAUSE_FIRST_MS;
    refusals->pause_ms = pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS;
    refusals->said_ms = now_ms;
    refusals->silent = 0;
    if (silent)
        snprintf(sentence, size, "refused %s, and %llu others before: %s", peer, silent,
                 err_text());
    else
        snprintf(sentence, size, "refused %s: %s", peer, err_text());
    return true;
}
