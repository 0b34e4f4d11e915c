// The folding kernel with AVX-512: the comparison gives its mask directly.

#include "mapreduce/work/collect/fold_table.h"

#if defined(__AVX512VL__)
#include <immintrin.h>

static inline unsigned match_keys(const uint64_t keys[4], uint64_t key)
{
    const __m256i four = _mm256_load_si256((const __m256i *)keys);
    return _mm256_cmpeq_epi64_mask(four, _mm256_set1_epi64x((long long)key));
}

#define MATCH(keys, key) match_keys(keys, key)
#define KERNEL_NAME fold_kernel_avx512
#include "mapreduce/work/collect/fold_kernel.inc.h"
#endif
