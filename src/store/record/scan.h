// Scans: searches of the formats over many bytes at once, in one version per instruction set.
// Inside quotes means after an odd number of them; 64 bytes make a bitmap of quotes, and the sum of
// bits before each bit (modulo 2) gives for all 64 at once which of them are inside.
#ifndef STORE_RECORD_SCAN_H
#define STORE_RECORD_SCAN_H

#include "store/record/record.h"

enum { SCAN_BLOCK = 64 };

struct scan_kernels {
    uint64_t (*count_byte)(weft_bytes text, unsigned char byte);

    // The offset of the first line feed outside quotes, SIZE_MAX when there is none. The caller
    // sets *is_quoted for the text's begin; when nothing is found, it is set for the text's end.
    size_t (*find_end)(weft_bytes text, bool *is_quoted);

    // The offset of the last one, SIZE_MAX when there is none; the caller gives is_quoted for the
    // end of the text.
    size_t (*find_last_end)(weft_bytes text, bool is_quoted);

    // Counts quotes, and the ends of lines that are not empty. is_begin: the text begins where a
    // line does, otherwise it begins with the rest of a line that is not empty. Without has_quotes
    // all line feeds are outside.
    struct record_counts (*count_ends)(weft_bytes text, bool has_quotes, bool is_begin);

    // Splits a row as record_split_csv does; SIZE_MAX when a quote is elsewhere than around a field, so
    // that each field has to be looked at.
    size_t (*split)(weft_bytes row, unsigned char separator, weft_bytes *fields, size_t max);
};

extern const struct scan_kernels scan_kernels_plain;
#if defined(__x86_64__)
extern const struct scan_kernels scan_kernels_avx2, scan_kernels_avx512;
#endif

// Those of this machine.
const struct scan_kernels *scan_kernels(void);

// Bit i: the number of bits set in 0..i is odd.
static inline uint64_t scan_prefix_xor(uint64_t bits)
{
    for (int shift = 1; shift < SCAN_BLOCK; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

// All bits set or none, as the highest bit is.
static inline uint64_t scan_spread(uint64_t bits)
{
    return (uint64_t)((int64_t)bits >> 63);
}

// The bits of a block's first `size` bytes; size is less than SCAN_BLOCK.
static inline uint64_t scan_first(size_t size)
{
    return (UINT64_C(1) << size) - 1;
}

#endif
