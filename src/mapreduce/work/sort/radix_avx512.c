// Small groups of entries by rank: an entry's place is the number of entries that come before it, counted
// by comparing its prefix with all others at once. No branch depends on the data.

#include "mapreduce/work/sort/radix.h"

#if defined(__AVX512VL__)
#include <immintrin.h>

enum { GROUP = 8, GROUPS_MAX = 4 };

// The prefixes of 8 entries; those beyond count are larger than any.
static inline __m512i load_prefixes(const struct entry *entries, size_t count)
{
    const __m512i even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
    const size_t words = count < GROUP ? 2 * count : 2 * GROUP;
    const uint32_t inside = (uint32_t)((UINT64_C(1) << words) - 1);
    const __m512i low = _mm512_maskz_loadu_epi64((__mmask8)inside, entries);
    const __m512i high = _mm512_maskz_loadu_epi64((__mmask8)(inside >> 8), entries + 4);
    const __m512i prefixes = _mm512_permutex2var_epi64(low, even, high);
    const __mmask8 beyond = count < GROUP ? (__mmask8)(0xff << count) : 0;
    return _mm512_mask_set1_epi64(prefixes, beyond, -1);
}

void radix_small_avx512(struct entry *entries, size_t count)
{
    struct entry sorted[GROUP * GROUPS_MAX];
    __m512i prefixes[GROUPS_MAX];
    const size_t groups = (count + GROUP - 1) / GROUP;
    for (size_t g = 0; g < groups; g++)
        prefixes[g] = load_prefixes(entries + g * GROUP, count - g * GROUP);
    for (size_t i = 0; i < count; i++) {
        const __m512i own = _mm512_set1_epi64((long long)entries[i].prefix);
        uint64_t less = 0, equal = 0;
        for (size_t g = 0; g < groups; g++) {
            less |= (uint64_t)_mm512_cmplt_epu64_mask(prefixes[g], own) << (g * GROUP);
            equal |= (uint64_t)_mm512_cmpeq_epi64_mask(prefixes[g], own) << (g * GROUP);
        }
        // Equal ones keep their order: those that came earlier are before it.
        const uint64_t before = less | (equal & ((UINT64_C(1) << i) - 1));
        sorted[__builtin_popcountll(before)] = entries[i];
    }
    memcpy(entries, sorted, count * sizeof *entries);
}
#endif
