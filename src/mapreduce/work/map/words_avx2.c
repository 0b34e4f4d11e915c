// Words with AVX2: two loads make the bitmap of 64 bytes, its bits are walked.

#include "mapreduce/work/map/words.h"

#if defined(__AVX2__)
#include <immintrin.h>

static inline uint32_t blanks_of_32(const char *text)
{
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)text);
    const __m256i space = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(' '));
    const __m256i shifted = _mm256_sub_epi8(bytes, _mm256_set1_epi8(9));
    const __m256i control =
        _mm256_cmpeq_epi8(_mm256_min_epu8(shifted, _mm256_set1_epi8(4)), shifted);
    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(space, control));
}

static inline uint64_t blanks_of_64(const char *text)
{
    return blanks_of_32(text) | (uint64_t)blanks_of_32(text + 32) << 32;
}

uint64_t words_count_avx2(const char *text, size_t size)
{
    const __m256i newline = _mm256_set1_epi8('\n');
    uint64_t lines = 0;
    size_t at = 0;
    for (; size - at >= 32; at += 32) {
        const __m256i here = _mm256_loadu_si256((const __m256i *)(text + at));
        const int ends = _mm256_movemask_epi8(_mm256_cmpeq_epi8(here, newline));
        lines += (uint64_t)__builtin_popcount((unsigned)ends);
    }
    return lines + words_count_plain(text + at, size - at);
}

#define BLANKS(p) blanks_of_64(p)
#define SCAN_NAME words_scan_avx2
#define SPLIT_NAME words_split_avx2
#include "mapreduce/work/map/words_walk.inc.h"
#endif
