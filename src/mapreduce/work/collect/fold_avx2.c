// The folding kernel with AVX2: four keys compared at once.

#include "mapreduce/work/collect/fold_table.h"

#if defined(__AVX2__)
#include <immintrin.h>

static inline unsigned match_keys(const uint64_t keys[4], uint64_t key)
{
    const __m256i four = _mm256_load_si256((const __m256i *)keys);
    const __m256i equal = _mm256_cmpeq_epi64(four, _mm256_set1_epi64x((long long)key));
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(equal));
}

#define MATCH(keys, key) match_keys(keys, key)
#define KERNEL_NAME fold_kernel_avx2
#include "mapreduce/work/collect/fold_kernel.inc.h"
#endif
