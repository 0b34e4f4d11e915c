// Words with AVX-512: positions by compressing, keys by permuting, no branch per word.
//
// For 64 bytes: the bitmap of blanks gives a bit per start and per end; compressing the numbers 0..63
// by them gives the positions; their difference the sizes. A byte permutation over the last and
// this block then builds 8 zero-padded keys a step. A word that began in the block before is position
// open_at - (at - 64), one that began earlier still is longer than a key and goes the long way.

#include "mapreduce/work/map/words.h"

#if defined(__AVX512VBMI2__)
#include <immintrin.h>

// clang-format off
_Alignas(64) static const uint8_t numbers[64] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
    32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
// clang-format on

static inline uint64_t blanks_of(__m512i bytes)
{
    const __m512i shifted = _mm512_sub_epi8(bytes, _mm512_set1_epi8(9));
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(' ')) |
           _mm512_cmplt_epu8_mask(shifted, _mm512_set1_epi8(5));
}

// Keys 8*group .. 8*group+7 of a block into `keys`: byte j of a key is byte start+j of the two blocks
// while j is less than the size.
static inline void store_keys(uint64_t *keys, int group, __m512i starts, __m512i sizes,
                              __m512i last, __m512i here)
{
    const __m512i id = _mm512_load_si512(numbers);
    const __m512i byte_in_key = _mm512_and_si512(id, _mm512_set1_epi8(7));
    const __m512i key_of_byte =
        _mm512_add_epi8(_mm512_and_si512(_mm512_srli_epi64(id, 3), _mm512_set1_epi8(7)),
                        _mm512_set1_epi8((char)(8 * group)));
    const __m512i from = _mm512_add_epi8(_mm512_permutexvar_epi8(key_of_byte, starts), byte_in_key);
    const __mmask64 inside =
        _mm512_cmplt_epu8_mask(byte_in_key, _mm512_permutexvar_epi8(key_of_byte, sizes));
    _mm512_storeu_si512(keys + 8 * group, _mm512_maskz_permutex2var_epi8(inside, last, from, here));
}

// Moves the words that are not 8-byte keys to the longs; the last keys take their places, since the
// order of keys does not matter. Returns how many keys are left.
static size_t take_out_longs(struct words_scan *scan, uint64_t slow, __m512i starts, __m512i sizes,
                             uint64_t *keys, size_t count)
{
    uint8_t start_of[64], size_of[64];
    _mm512_storeu_si512(start_of, starts);
    _mm512_storeu_si512(size_of, sizes);
    while (slow) {
        const int word = 63 - __builtin_clzll(slow);
        slow ^= UINT64_C(1) << word;
        const char *begin = scan->text + scan->at + start_of[word] - 64;
        scan->longs[scan->long_count++] = (weft_bytes){begin, size_of[word]};
        keys[word] = keys[--count];
    }
    return count;
}

// The words that end in one block: where they begin (counted from 64 bytes before it), their sizes,
// and which of them are not 8-byte keys.
struct block_words {
    __m512i starts, sizes;
    uint64_t slow;
    size_t count;
};

// A word longer than a block ends here: it goes the long way.
static void end_giant(struct words_scan *scan, uint64_t *ends, uint64_t *bad)
{
    if (!*ends)
        return;
    const size_t end = scan->at + (size_t)__builtin_ctzll(*ends);
    scan->longs[scan->long_count++] = (weft_bytes){scan->text + scan->open_at, end - scan->open_at};
    *bad &= ~(*ends & -*ends);
    *ends &= *ends - 1;
}

// Finds the words of a block from the bitmap of its blanks. `nul_ends` are ends after a NUL, which
// cannot be part of a zero-padded key. Keeps track of the word that stays open.
static inline struct block_words find_words(struct words_scan *scan, uint64_t blanks,
                                            uint64_t nul_ends)
{
    const __m512i here_id = _mm512_add_epi8(_mm512_load_si512(numbers), _mm512_set1_epi8(64));
    const uint64_t before = blanks << 1 | !scan->has_open;
    const uint64_t own_starts = ~blanks & before;
    uint64_t starts = own_starts, ends = blanks & ~before, bad = nul_ends & ends;
    uint8_t open_position = 64;
    if (__builtin_expect(scan->has_open && scan->at - scan->open_at > 64, 0)) {
        end_giant(scan, &ends, &bad);
    } else if (scan->has_open) {
        open_position = (uint8_t)(64 - (scan->at - scan->open_at));
        starts |= 1;  // bit 0 is free: the byte before it is not a blank
    }
    struct block_words words = {.count = (size_t)__builtin_popcountll(ends)};
    words.starts =
        _mm512_maskz_compress_epi8(starts, _mm512_mask_set1_epi8(here_id, 1, (char)open_position));
    words.sizes = _mm512_sub_epi8(_mm512_maskz_compress_epi8(ends, here_id), words.starts);
    const uint64_t large = _mm512_cmpgt_epu8_mask(words.sizes, _mm512_set1_epi8(8));
    words.slow = _bzhi_u64(large, (unsigned)words.count) | _pext_u64(bad, ends);
    scan->has_open = !(blanks >> 63);
    if (scan->has_open && own_starts)
        scan->open_at = scan->at + (size_t)(63 - __builtin_clzll(own_starts));
    return words;
}

static inline void take_words(struct words_scan *scan, struct block_words words, __m512i last,
                              __m512i here)
{
    uint64_t *keys = scan->keys + scan->key_count;
    store_keys(keys, 0, words.starts, words.sizes, last, here);
    store_keys(keys, 1, words.starts, words.sizes, last, here);
    if (__builtin_expect(words.count > 16, 0)) {
        store_keys(keys, 2, words.starts, words.sizes, last, here);
        store_keys(keys, 3, words.starts, words.sizes, last, here);
    }
    if (words.slow)
        words.count =
            take_out_longs(scan, words.slow, words.starts, words.sizes, keys, words.count);
    scan->key_count += words.count;
}

bool words_scan_avx512(struct words_scan *scan)
{
    struct words_scan s = *scan;  // a copy the compiler can keep in registers
    __m512i last = s.at ? _mm512_loadu_si512(s.text + s.at - 64) : _mm512_setzero_si512();
    uint64_t last_nul = s.at ? !s.text[s.at - 1] : 0;
    for (; s.at < s.size; s.at += WORDS_BLOCK) {
        if (__builtin_expect(!words_scan_has_room(&s), 0)) {
            *scan = s;
            return true;
        }
        const __m512i here = _mm512_loadu_si512(s.text + s.at);
        const size_t left = s.size - s.at;
        uint64_t blanks = blanks_of(here);
        if (__builtin_expect(left < WORDS_BLOCK, 0))
            blanks |= UINT64_MAX << left;
        const uint64_t nuls = _mm512_testn_epi8_mask(here, here);
        take_words(&s, find_words(&s, blanks, nuls << 1 | last_nul), last, here);
        last_nul = nuls >> 63;
        last = here;
    }
    *scan = s;
    words_scan_finish(scan);
    return false;
}

static inline uint64_t count_block(const char *text, __m512i newline)
{
    const __m512i here = _mm512_loadu_si512(text);
    return (uint64_t)__builtin_popcountll(_mm512_cmpeq_epi8_mask(here, newline));
}

uint64_t words_count_avx512(const char *text, size_t size)
{
    const __m512i newline = _mm512_set1_epi8('\n');
    uint64_t lines = 0;
    size_t at = 0;
    for (; size - at >= 4 * WORDS_BLOCK; at += 4 * WORDS_BLOCK)
        lines += count_block(text + at, newline) + count_block(text + at + 64, newline) +
                 count_block(text + at + 128, newline) + count_block(text + at + 192, newline);
    return lines + words_count_plain(text + at, size - at);
}

// Positions of the set bits of `bits`, as 16-bit numbers from `at`.
static inline void store_positions(uint16_t *to, uint64_t bits, size_t at)
{
    const __m512i id = _mm512_load_si512(numbers);
    const __m256i packed = _mm512_castsi512_si256(_mm512_maskz_compress_epi8(bits, id));
    _mm512_storeu_si512(
        to, _mm512_add_epi16(_mm512_set1_epi16((short)at), _mm512_cvtepu8_epi16(packed)));
}

size_t words_split_avx512(weft_bytes text, bool is_last, uint16_t *starts_out, uint16_t *ends_out,
                          uint32_t words_max, uint32_t *count)
{
    uint32_t start_count = 0, end_count = 0;
    uint64_t carry = 1;
    size_t at = 0;
    for (; at < text.size && end_count < words_max; at += WORDS_BLOCK) {
        const size_t left = text.size - at;
        const uint64_t inside = left < WORDS_BLOCK ? ~(UINT64_MAX << left) : UINT64_MAX;
        uint64_t blanks = blanks_of(_mm512_maskz_loadu_epi8(inside, text.data + at)) & inside;
        if (is_last)
            blanks |= ~inside;
        const uint64_t before = blanks << 1 | carry;
        const uint64_t starts = ~blanks & before & inside, ends = blanks & ~before;
        store_positions(starts_out + start_count, starts, at);
        store_positions(ends_out + end_count, ends, at);
        start_count += (uint32_t)__builtin_popcountll(starts);
        end_count += (uint32_t)__builtin_popcountll(ends);
        carry = blanks >> 63;
    }
    *count = end_count;
    return words_split_finish(text.size, at, is_last, start_count, starts_out, ends_out, count);
}
#endif
