// Exact sums of doubles: a fixed-point number wide enough for every double, so that the sum does not
// depend on order or grouping and is rounded once, at the end. Infinities and NaN follow IEEE; a sum
// of zero is +0. Thread: one owner.
#ifndef BASE_EXACT_SUM_H
#define BASE_EXACT_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EXACT_SUM_LIMBS = 68,  // 2098 bits from the smallest to the largest double, 63 for as many
                           // additions as anyone can make, and the sign
    EXACT_SUM_BYTES_MAX = 2 + 4 * EXACT_SUM_LIMBS,
};

struct exact_sum {
    int64_t limbs[EXACT_SUM_LIMBS];  // limb i counts 2^(32 i - 1074); carries are taken up lazily
    uint32_t specials;               // bits: +inf, -inf, NaN were added
    uint32_t pending;                // how many times 2^32 a limb may be large
};

void exact_sum_init(struct exact_sum *sum);
void exact_sum_add(struct exact_sum *sum, double value);
void exact_sum_add_int(struct exact_sum *sum, __int128 value);

// Adds another; merging is exact too.
void exact_sum_add_sum(struct exact_sum *sum, const struct exact_sum *other);

// The sum rounded to nearest, ties to even; and the sum divided by count (not 0), rounded once.
double exact_sum_round(const struct exact_sum *sum);
double exact_sum_mean(const struct exact_sum *sum, uint64_t count);

// Short, canonical bytes (equal sums give equal bytes); returns how many were written, at most
// EXACT_SUM_BYTES_MAX. Reading refuses bytes that exact_sum_write would not write.
size_t exact_sum_write(const struct exact_sum *sum, void *data);
bool exact_sum_read(struct exact_sum *sum, const void *data, size_t size);

#endif
