// Two levels of words: one bit per number, and one per word that is not empty.
#include "mapreduce/coord/bits.h"

#include <stdlib.h>

bool bits_init(struct bits *bits, uint32_t count)
{
    bits->word_count = count / 64 + 1;
    bits->words = calloc(bits->word_count, sizeof *bits->words);
    bits->summary = calloc(bits->word_count / 64 + 1, sizeof *bits->summary);
    return bits->words && bits->summary;
}

void bits_fini(struct bits *bits)
{
    free(bits->words);
    free(bits->summary);
}

void bits_set(struct bits *bits, uint32_t number, bool is_in)
{
    const uint32_t word = number / 64;
    const uint64_t mask = UINT64_C(1) << number % 64;
    bits->words[word] = is_in ? bits->words[word] | mask : bits->words[word] & ~mask;

    const uint64_t above = UINT64_C(1) << word % 64;
    uint64_t *summary = &bits->summary[word / 64];
    *summary = bits->words[word] ? *summary | above : *summary & ~above;
}

uint32_t bits_lowest(const struct bits *bits)
{
    for (uint32_t i = 0; i <= bits->word_count / 64; i++) {
        if (!bits->summary[i])
            continue;
        const uint32_t word = i * 64 + (uint32_t)__builtin_ctzll(bits->summary[i]);
        return word * 64 + (uint32_t)__builtin_ctzll(bits->words[word]);
    }
    return BITS_NONE;
}
