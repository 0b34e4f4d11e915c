// Scans with AVX2: two loads make a bitmap of 64 bytes.

#include "store/record/scan.h"

#if defined(__AVX2__)
#include <immintrin.h>

struct block {
    __m256i low, high;
};

static inline struct block block_load(const char *from)
{
    return (struct block){_mm256_loadu_si256((const __m256i *)(const void *)from),
                          _mm256_loadu_si256((const __m256i *)(const void *)(from + 32))};
}

static inline struct block block_load_part(const char *from, size_t size)
{
    char copy[SCAN_BLOCK] = {0};
    memcpy(copy, from, size);
    return block_load(copy);
}

static inline uint64_t block_match(struct block block, unsigned char byte)
{
    const __m256i bytes = _mm256_set1_epi8((char)byte);
    const uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(block.low, bytes));
    const uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(block.high, bytes));
    return low | (uint64_t)high << 32;
}

#define SCAN_KERNELS scan_kernels_avx2
#include "store/record/scan_walk.inc.h"
#endif
