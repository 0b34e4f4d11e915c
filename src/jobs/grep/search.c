// Literal search: preparing a needle, and choosing the kernel.

#include "jobs/grep/search.h"

#include "sys/machine/cpu.h"

#include <stdlib.h>

// The usual bytes of English, of logs and of programs, the most common first. All others are rare.
static const char common_bytes[] = " etaoinsrhldcu\nmpfgwy.,bv01k2-_/3)(T\"S5A4I'=8C;96M7:PE\tBxDj"
                                   "RNLFqHO<>WGz*UV{}[]$#JKY|&+@!%X\\?Q^Z~`\r";

enum { RANK_STEP = 2, RANK_NUL = 100, RANK_HIGH = 50 };

unsigned search_byte_rank(unsigned char byte)
{
    if (byte == 0)
        return RANK_NUL;  // rare in text, common in everything else
    if (byte >= 128)
        return RANK_HIGH;
    const char *at = strchr(common_bytes, byte);
    return at ? 255 - RANK_STEP * (unsigned)(at - common_bytes) : 0;
}

static bool is_letter(char byte)
{
    return (unsigned char)((byte | 0x20) - 'a') < 26;
}

static unsigned rank_at(const struct search *search, size_t at)
{
    const unsigned char byte = (unsigned char)search->needle[at];
    const unsigned rank = search_byte_rank(byte);
    if (!search->masks[at])
        return rank;
    const unsigned other = search_byte_rank(byte & ~0x20u & 0xff);
    return rank > other ? rank : other;
}

// The two rarest places. Of equal ones the outer: bytes that stand apart depend less on each other.
static void choose_places(struct search *search)
{
    size_t first = 0, second = search->size - 1;
    if (rank_at(search, second) < rank_at(search, first)) {
        first = second;
        second = 0;
    }
    for (size_t i = 1; i + 1 < search->size; i++) {
        if (rank_at(search, i) < rank_at(search, first)) {
            second = first;
            first = i;
        } else if (rank_at(search, i) < rank_at(search, second)) {
            second = i;
        }
    }
    search->offsets[0] = first;
    search->offsets[1] = second;
    for (int i = 0; i < 2; i++) {
        search->bytes[i] = (unsigned char)search->needle[search->offsets[i]];
        search->probe_masks[i] = (unsigned char)search->masks[search->offsets[i]];
    }
}

weft_err search_init(struct search *search, weft_bytes needle, bool folds_case)
{
    ASSERT(needle.size > 0);
    *search = (struct search){.size = needle.size, .folds_case = folds_case};
    search->needle = malloc(needle.size);
    search->masks = calloc(needle.size, 1);
    if (!search->needle || !search->masks) {
        search_fini(search);
        return err_no_memory("for a pattern of %zu bytes", needle.size);
    }
    memcpy(search->needle, needle.data, needle.size);
    for (size_t i = 0; folds_case && i < needle.size; i++) {
        if (is_letter(search->needle[i])) {
            search->masks[i] = 0x20;
            search->needle[i] |= 0x20;
        }
    }
    choose_places(search);
    return WEFT_OK;
}

void search_fini(struct search *search)
{
    free(search->needle);
    free(search->masks);
    *search = (struct search){0};
}

const char *search_next(const struct search *search, const char *text, size_t size)
{
#if defined(__x86_64__)
    switch (cpu_isa()) {
    case CPU_AVX512:
        return search_avx512(search, text, size);
    case CPU_AVX2:
        return search_avx2(search, text, size);
    case CPU_PLAIN:
        break;
    }
#endif
    return search_plain(search, text, size);
}
