// Literal search with AVX2: 64 places per step.

#include "jobs/grep/search.h"

#if defined(__x86_64__)
#include <immintrin.h>

struct probes {
    __m256i bytes[2], masks[2];
};

// A bit per place from `at` on: set where both probes agree.
static inline uint32_t agree(const struct search *search, const struct probes *probes,
                             const char *at)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(at + search->offsets[0]));
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(at + search->offsets[1]));
    const __m256i both =
        _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_or_si256(a, probes->masks[0]), probes->bytes[0]),
                         _mm256_cmpeq_epi8(_mm256_or_si256(b, probes->masks[1]), probes->bytes[1]));
    return (uint32_t)_mm256_movemask_epi8(both);
}

const char *search_avx2(const struct search *search, const char *text, size_t size)
{
    if (size < search->size)
        return NULL;
    const size_t places = size - search->size + 1;
    if (places < 32)
        return search_plain(search, text, size);
    struct probes probes;
    for (int i = 0; i < 2; i++) {
        probes.bytes[i] = _mm256_set1_epi8((char)search->bytes[i]);
        probes.masks[i] = _mm256_set1_epi8((char)search->probe_masks[i]);
    }
    const char *at = text, *const end = text + places;
    for (; end - at >= 64; at += 64) {
        const uint64_t low = agree(search, &probes, at);
        const uint64_t high = agree(search, &probes, at + 32);
        if (__builtin_expect((low | high) != 0, 0)) {
            const char *found = search_first_at(search, at, low | high << 32);
            if (found)
                return found;
        }
    }
    // The last places, perhaps together with some that were looked at: those hold no needle.
    for (; at < end; at += 32) {
        if (end - at < 32)
            at = end - 32;
        const char *found = search_first_at(search, at, agree(search, &probes, at));
        if (found)
            return found;
    }
    return NULL;
}
#endif
