// Exact sums of doubles: a fixed-point number wide enough for every double, so that the sum does not
// depend on order or grouping and is rounded once, at the end. Infinities and NaN follow IEEE.
#ifndef BASE_EXACT_SUM_H
#define BASE_EXACT_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EXACT_SUM_LIMBS = 36,              // 2098 bits of range, sign, and room for 2^63 additions
    EXACT_SUM_BYTES_MAX = 8 + 8 * EXACT_SUM_LIMBS,
};

struct exact_sum {
    int64_t limbs[EXACT_SUM_LIMBS];    // as the .c file says
    uint32_t specials;                 // bits: +inf, -inf, NaN were added
    uint32_t pending;                  // additions since carries were last propagated
};

void exact_sum_init(struct exact_sum *sum);
void exact_sum_add(struct exact_sum *sum, double value);

// Adds another; merging is exact too.
void exact_sum_add_sum(struct exact_sum *sum, const struct exact_sum *other);

// The sum rounded to nearest, ties to even; and of the sum divided by n, rounded once.
double exact_sum_round(const struct exact_sum *sum);
double exact_sum_mean(const struct exact_sum *sum, uint64_t count);

// Short, canonical bytes (equal sums give equal bytes); returns how many were written, at most
// EXACT_SUM_BYTES_MAX. Reading refuses bytes that are no sum.
size_t exact_sum_write(const struct exact_sum *sum, void *data);
bool exact_sum_read(struct exact_sum *sum, const void *data, size_t size);

#endif
