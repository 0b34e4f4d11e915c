// Scans in plain C: eight bytes at a time in an ordinary register.

#include "store/record/scan.h"

struct block {
    uint64_t words[8];
};

static inline struct block block_load(const char *from)
{
    struct block block;
    memcpy(block.words, from, SCAN_BLOCK);
    return block;
}

static inline struct block block_load_part(const char *from, size_t size)
{
    struct block block = {{0}};
    memcpy(block.words, from, size);
    return block;
}

// A bit per byte that equals, in byte order: exact, no carries between bytes.
static inline uint64_t equal_of_8(uint64_t word, uint64_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), lows = ones * 0x7f;
    const uint64_t differ = word ^ bytes;
    const uint64_t equal = ~(((differ & lows) + lows) | differ | lows);  // 0x80 where equal
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (__builtin_bswap64(equal) >> 7) * UINT64_C(0x0102040810204080) >> 56;
#else
    return (equal >> 7) * UINT64_C(0x0102040810204080) >> 56;
#endif
}

static inline uint64_t block_match(struct block block, unsigned char byte)
{
    const uint64_t bytes = byte * UINT64_C(0x0101010101010101);
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits |= equal_of_8(block.words[i], bytes) << (8 * i);
    return bits;
}

#define SCAN_KERNELS scan_kernels_plain
#include "store/record/scan_walk.inc.h"
