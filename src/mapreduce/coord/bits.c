// Three levels of words: one bit per number, one per word that is not empty, and one per word of those.
#include "mapreduce/coord/bits.h"

#include <stdlib.h>

bool bits_init(struct bits *bits, uint32_t count)
{
    bits->word_count = count / 64 + 1;
    bits->words = calloc(bits->word_count, sizeof *bits->words);
    bits->summary = calloc(bits->word_count / 64 + 1, sizeof *bits->summary);
    bits->top = calloc(bits->word_count / 64 / 64 + 1, sizeof *bits->top);
    return bits->words && bits->summary && bits->top;
}

void bits_fini(struct bits *bits)
{
    free(bits->words);
    free(bits->summary);
    free(bits->top);
}

static void set_bit(uint64_t *words, uint32_t number, bool is_in)
{
    const uint64_t mask = UINT64_C(1) << number % 64;
    words[number / 64] = is_in ? words[number / 64] | mask : words[number / 64] & ~mask;
}

void bits_set(struct bits *bits, uint32_t number, bool is_in)
{
    const uint32_t word = number / 64;
    set_bit(bits->words, number, is_in);
    set_bit(bits->summary, word, bits->words[word]);
    set_bit(bits->top, word / 64, bits->summary[word / 64]);
}

uint32_t bits_next(const struct bits *bits, uint32_t from)
{
    const uint32_t first = from / 64;
    if (first >= bits->word_count)
        return BITS_NONE;
    const uint64_t rest = bits->words[first] & ~UINT64_C(0) << from % 64;
    if (rest)
        return first * 64 + (uint32_t)__builtin_ctzll(rest);
    for (uint32_t word = first + 1; word < bits->word_count;) {
        const uint64_t summary = bits->summary[word / 64] & ~UINT64_C(0) << word % 64;
        if (!summary) {
            word = (word / 64 + 1) * 64;
            continue;
        }
        word = word / 64 * 64 + (uint32_t)__builtin_ctzll(summary);
        return word * 64 + (uint32_t)__builtin_ctzll(bits->words[word]);
    }
    return BITS_NONE;
}

uint32_t bits_lowest(const struct bits *bits)
{
    for (uint32_t i = 0; i <= bits->word_count / 64 / 64; i++) {
        if (!bits->top[i])
            continue;
        const uint32_t above = i * 64 + (uint32_t)__builtin_ctzll(bits->top[i]);
        const uint32_t word = above * 64 + (uint32_t)__builtin_ctzll(bits->summary[above]);
        return word * 64 + (uint32_t)__builtin_ctzll(bits->words[word]);
    }
    return BITS_NONE;
}
