// A set of small numbers that knows its lowest: which tasks are pending, which slots are free.
//
// A bit per number, above it a bit per word of 64, and once more: the lowest of 250,000 is found in 3 words, of 16 million
// in 64 at worst. Thread: one owner.
#ifndef MAPREDUCE_COORD_BITS_H
#define MAPREDUCE_COORD_BITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define BITS_NONE UINT32_MAX

struct bits {
    uint64_t *words, *summary, *top;
    uint32_t word_count;
};

// None is in. False when out of memory; bits_fini is right either way.
MUST_CHECK bool bits_init(struct bits *bits, uint32_t count);
void bits_fini(struct bits *bits);

void bits_set(struct bits *bits, uint32_t number, bool is_in);

// BITS_NONE when none is in.
uint32_t bits_lowest(const struct bits *bits);
// The lowest that is not below `from`.
uint32_t bits_next(const struct bits *bits, uint32_t from);

#endif
