// Literal search with nothing but 64-bit words: eight places per step.

#include "jobs/grep/search.h"

static const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;

static uint64_t load(const char *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

const char *search_plain(const struct search *search, const char *text, size_t size)
{
    if (size < search->size)
        return NULL;
    const uint64_t byte_a = search->bytes[0] * ones, mask_a = search->probe_masks[0] * ones;
    const uint64_t byte_b = search->bytes[1] * ones, mask_b = search->probe_masks[1] * ones;
    const char *at = text, *const end = text + (size - search->size) + 1;  // after the last place
    for (; end - at >= 8; at += 8) {
        // A byte is zero where both places agree. Above a zero byte the test for it may err, but only
        // by one candidate too many.
        const uint64_t differ = ((load(at + search->offsets[0]) | mask_a) ^ byte_a) |
                                ((load(at + search->offsets[1]) | mask_b) ^ byte_b);
        if (((differ - ones) & ~differ & tops) == 0)
            continue;
        for (int i = 0; i < 8; i++)
            if (search_is_at(search, at + i))
                return at + i;
    }
    for (; at < end; at++)
        if (search_is_at(search, at))
            return at;
    return NULL;
}
