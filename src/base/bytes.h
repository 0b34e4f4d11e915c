// Bytes: comparing borrowed bytes, and the 8-byte prefix by which everything is sorted first.
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <weft/weft.h>

static inline bool bytes_equal(weft_bytes a, weft_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

// Bytewise order, as memcmp: a shorter key that is a prefix of a longer one comes first.
static inline int bytes_compare(weft_bytes a, weft_bytes b)
{
    const size_t common = a.size < b.size ? a.size : b.size;
    const int order = common ? memcmp(a.data, b.data, common) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

// The first 8 bytes as a big-endian number, zero padded: prefix order is byte order, and a tie needs
// a look at the whole key.
// Loads that overlap inside the key instead of a copy of its size: no byte outside is touched.
static inline uint64_t bytes_prefix(weft_bytes key)
{
    const unsigned char *bytes = (const unsigned char *)key.data;
    const size_t size = key.size;
    if (size >= 8) {
        uint64_t all;
        memcpy(&all, bytes, 8);
        return __builtin_bswap64(all);
    }
    if (size >= 4) {
        uint32_t front, back;
        memcpy(&front, bytes, 4);
        memcpy(&back, bytes + size - 4, 4);
        return (uint64_t)__builtin_bswap32(front) << 32 | (uint64_t)__builtin_bswap32(back)
                                                              << (8 * (8 - size));
    }
    if (size == 0)
        return 0;
    const size_t middle = size / 2, last = size - 1;
    return (uint64_t)bytes[0] << 56 | (uint64_t)bytes[middle] << (56 - 8 * middle) |
           (uint64_t)bytes[last] << (56 - 8 * last);
}

// Bytes 8..15 of a key of 9..16 bytes in the same form.
static inline uint64_t bytes_second_prefix(weft_bytes key)
{
    uint64_t back;
    memcpy(&back, key.data + key.size - 8, 8);
    return __builtin_bswap64(back) << (8 * (16 - key.size));
}

#endif
