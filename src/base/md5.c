// MD5, a word at a time, as the standard writes it: a login has a few hundred bytes.

#include "base/md5.h"

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

// The whole part of 2^32 times the sine of 1, 2, 3... radians, its sign dropped.
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

static void add_block(uint32_t state[4], const uint8_t block[MD5_BLOCK_BYTES])
{
    static const uint8_t turns[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t words[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (unsigned i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] | (uint32_t)block[4 * i + 1] << 8 |
                   (uint32_t)block[4 * i + 2] << 16 | (uint32_t)block[4 * i + 3] << 24;
    for (unsigned i = 0; i < 64; i++) {
        const uint32_t mixes[4] = {(b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d, c ^ (b | ~d)};
        const unsigned places[4] = {i, 5 * i + 1, 3 * i + 5, 7 * i};
        const uint32_t sum = a + mixes[i / 16] + sines[i] + words[places[i / 16] % 16];
        a = d;
        d = c;
        c = b;
        b += rotate(sum, turns[i / 16][i % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md5_init(struct md5 *md5)
{
    *md5 = (struct md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

void md5_add(struct md5 *md5, const void *data, size_t size)
{
    const uint8_t *from = data;
    while (size > 0) {
        const size_t used = md5->size % MD5_BLOCK_BYTES, room = MD5_BLOCK_BYTES - used;
        const size_t step = size < room ? size : room;
        memcpy(md5->block + used, from, step);
        md5->size += step;
        from += step;
        size -= step;
        if (step == room)
            add_block(md5->state, md5->block);
    }
}

void md5_end(struct md5 *md5, uint8_t digest[MD5_BYTES])
{
    static const uint8_t padding[MD5_BLOCK_BYTES] = {0x80};
    const uint64_t bits = md5->size * 8;
    const size_t used = md5->size % MD5_BLOCK_BYTES;
    uint8_t length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (8 * i));
    md5_add(md5, padding, (used < 56 ? 56 : 120) - used);
    md5_add(md5, length, sizeof length);
    for (unsigned i = 0; i < MD5_BYTES; i++)
        digest[i] = (uint8_t)(md5->state[i / 4] >> (8 * (i % 4)));
}
