// The folding kernel in plain C, for machines without AVX2.

#include "mapreduce/work/collect/fold_table.h"

static inline unsigned match_keys(const uint64_t keys[4], uint64_t key)
{
    return (unsigned)(keys[0] == key) | (unsigned)(keys[1] == key) << 1 |
           (unsigned)(keys[2] == key) << 2 | (unsigned)(keys[3] == key) << 3;
}

#define MATCH(keys, key) match_keys(keys, key)
#define KERNEL_NAME fold_kernel_plain
#include "mapreduce/work/collect/fold_kernel.inc.h"
