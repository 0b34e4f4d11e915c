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
static inline uint64_t bytes_prefix(weft_bytes key)
{
    uint64_t prefix = 0;
    memcpy(&prefix, key.data ? key.data : "", key.size < 8 ? key.size : 8);
    return __builtin_bswap64(prefix);
}

#endif
