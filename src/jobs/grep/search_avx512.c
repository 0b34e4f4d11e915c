// Literal search with AVX-512: 256 places per step, the last ones under a mask.

#include "jobs/grep/search.h"

#if defined(__x86_64__)
#include <immintrin.h>

struct probes {
    __m512i bytes[2], masks[2];
};

// A bit per place from `at` on that is in `wanted`: set where both probes agree. Always inline: clang 14
// cannot compile it as a function of its own under the sanitizers.
__attribute__((always_inline)) static inline uint64_t agree(const struct search *search,
                                                            const struct probes *probes,
                                                            const char *at, uint64_t wanted)
{
    const __m512i a = _mm512_maskz_loadu_epi8(wanted, at + search->offsets[0]);
    const __m512i b = _mm512_maskz_loadu_epi8(wanted, at + search->offsets[1]);
    wanted =
        _mm512_mask_cmpeq_epi8_mask(wanted, _mm512_or_si512(a, probes->masks[0]), probes->bytes[0]);
    return _mm512_mask_cmpeq_epi8_mask(wanted, _mm512_or_si512(b, probes->masks[1]),
                                       probes->bytes[1]);
}

// The same for 64 places that are all wanted.
__attribute__((always_inline)) static inline uint64_t agree_all(const struct search *search,
                                                                const struct probes *probes,
                                                                const char *at)
{
    const __m512i a =
        _mm512_or_si512(_mm512_loadu_si512(at + search->offsets[0]), probes->masks[0]);
    const __m512i b =
        _mm512_or_si512(_mm512_loadu_si512(at + search->offsets[1]), probes->masks[1]);
    return _mm512_mask_cmpeq_epi8_mask(_mm512_cmpeq_epi8_mask(a, probes->bytes[0]), b,
                                       probes->bytes[1]);
}

const char *search_avx512(const struct search *search, const char *text, size_t size)
{
    if (size < search->size)
        return NULL;
    struct probes probes;
    for (int i = 0; i < 2; i++) {
        probes.bytes[i] = _mm512_set1_epi8((char)search->bytes[i]);
        probes.masks[i] = _mm512_set1_epi8((char)search->probe_masks[i]);
    }
    const char *at = text, *const end = text + (size - search->size) + 1;
    for (; end - at >= 256; at += 256) {
        uint64_t places[4];
        for (int i = 0; i < 4; i++)
            places[i] = agree_all(search, &probes, at + 64 * i);
        if (__builtin_expect((places[0] | places[1] | places[2] | places[3]) == 0, 1))
            continue;
        for (int i = 0; i < 4; i++) {
            const char *found = search_first_at(search, at + 64 * i, places[i]);
            if (found)
                return found;
        }
    }
    for (; at < end; at += 64) {
        const size_t left = (size_t)(end - at);
        const uint64_t wanted = left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;
        const char *found = search_first_at(search, at, agree(search, &probes, at, wanted));
        if (found)
            return found;
    }
    return NULL;
}
#endif
