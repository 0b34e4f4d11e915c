// Words in plain C: eight bytes at a time in an ordinary register.

#include "mapreduce/work/map/words.h"

// A bit per byte of the word that is blank, in byte order: exact, no carries between bytes.
static inline uint64_t blanks_of_8(const char *text)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7, lows = ~highs;
    uint64_t word;
    memcpy(&word, text, 8);
    const uint64_t low7 = word & lows;
    const uint64_t not_space = ((word ^ ones * ' ') & lows) + lows;  // high bit: low 7 bits differ
    const uint64_t at_least_9 = low7 + ones * (128 - 9);             // high bit: low 7 bits >= 9
    const uint64_t at_least_14 = low7 + ones * (128 - 14);
    const uint64_t blank = (~not_space | (at_least_9 & ~at_least_14)) & ~word & highs;
    return (blank >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

static inline uint64_t blanks_of_64(const char *text)
{
    uint64_t blanks = 0;
    for (int i = 0; i < 8; i++)
        blanks |= blanks_of_8(text + 8 * i) << (8 * i);
    return blanks;
}

uint64_t words_count_plain(const char *text, size_t size)
{
    uint64_t lines = 0;
    while (size) {  // short stretches, so that the compiler may count in bytes
        const size_t stretch = size < 255 ? size : 255;
        uint8_t here = 0;
        for (size_t i = 0; i < stretch; i++)
            here = (uint8_t)(here + (text[i] == '\n'));
        lines += here;
        text += stretch;
        size -= stretch;
    }
    return lines;
}

#define BLANKS(p) blanks_of_64(p)
#define SCAN_NAME words_scan_plain
#define SPLIT_NAME words_split_plain
#include "mapreduce/work/map/words_walk.inc.h"
