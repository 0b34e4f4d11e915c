// Finding a literal in text at the speed of memory: two of its rarest bytes are searched in many
// places at once, and the candidates are compared. Thread: any number of threads may use a search
// at once.
#ifndef JOBS_GREP_SEARCH_H
#define JOBS_GREP_SEARCH_H

#include "base/err.h"

struct search {
    char *needle;  // owned; lower case where folds_case
    char *masks;   // owned; 0x20 where a byte of the needle is a letter whose case does not matter
    size_t size;
    bool folds_case;
    // Two places in the needle, the same one in a needle of one byte: a text byte b agrees when
    // (b | mask) == byte.
    size_t offsets[2];
    unsigned char bytes[2], probe_masks[2];
};

// Copies the needle, which has at least one byte. folds_case: ASCII letters match in both cases.
MUST_CHECK weft_err search_init(struct search *search, weft_bytes needle, bool folds_case);
void search_fini(struct search *search);

// The first place of the needle in the text; NULL if there is none. Reads no byte outside the text.
const char *search_next(const struct search *search, const char *text, size_t size);

// How common the byte is in texts, logs and programs: 0 (rare) to 255.
unsigned search_byte_rank(unsigned char byte);

// ---- kernels, one per instruction set; search_next chooses

typedef const char *search_kernel(const struct search *search, const char *text, size_t size);
search_kernel search_plain, search_avx2, search_avx512;

// Whether the needle stands at this place; the caller knows that there are enough bytes.
static inline bool search_is_at(const struct search *search, const char *place)
{
    if (!search->folds_case)
        return memcmp(place, search->needle, search->size) == 0;
    for (size_t i = 0; i < search->size; i++)
        if ((char)(place[i] | search->masks[i]) != search->needle[i])
            return false;
    return true;
}

// The first place of the needle among those of the set bits, counted from `at`; NULL: none of them is one.
static inline const char *search_first_at(const struct search *search, const char *at,
                                          uint64_t places)
{
    for (; places; places &= places - 1) {
        const char *place = at + __builtin_ctzll(places);
        if (search_is_at(search, place))
            return place;
    }
    return NULL;
}

#endif
