// Scans with AVX-512: a load makes a bitmap of 64 bytes, and a masked one of the last.

#include "store/record/scan.h"

#if defined(__AVX512BW__)
#include <immintrin.h>

struct block {
    __m512i bytes;
};

static inline struct block block_load(const char *from)
{
    return (struct block){_mm512_loadu_si512(from)};
}

static inline struct block block_load_part(const char *from, size_t size)
{
    return (struct block){_mm512_maskz_loadu_epi8(scan_first(size), from)};
}

static inline uint64_t block_match(struct block block, unsigned char byte)
{
    return _mm512_cmpeq_epi8_mask(block.bytes, _mm512_set1_epi8((char)byte));
}

#define SCAN_KERNELS scan_kernels_avx512
#include "store/record/scan_walk.inc.h"
#endif
