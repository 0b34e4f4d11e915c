// SHA-256 as the standard writes it, a word at a time: a hello hashes a few hundred bytes. Programs are hashed, too, and have
// millions: for them there are the processor's own instructions, which are some ten times faster.

#include "base/sha256.h"

#include <stdatomic.h>

#include "base/err.h"

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

static void expand(const uint8_t block[SHA256_BLOCK_BYTES], uint32_t words[64])
{
    for (unsigned i = 0; i < 16; i++) {
        memcpy(&words[i], block + 4 * i, 4);
        words[i] = __builtin_bswap32(words[i]);
    }
    for (unsigned i = 16; i < 64; i++) {
        const uint32_t a = words[i - 15], b = words[i - 2];
        const uint32_t small0 = rotate(a, 7) ^ rotate(a, 18) ^ a >> 3;
        const uint32_t small1 = rotate(b, 17) ^ rotate(b, 19) ^ b >> 10;
        words[i] = words[i - 16] + small0 + words[i - 7] + small1;
    }
}

static void add_block(uint32_t state[8], const uint8_t block[SHA256_BLOCK_BYTES])
{
    uint32_t words[64], s[8];
    expand(block, words);
    memcpy(s, state, sizeof s);
    for (unsigned i = 0; i < 64; i++) {
        const uint32_t big1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
        const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        const uint32_t first = s[7] + big1 + choice + round_constants[i] + words[i];
        const uint32_t big0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
        const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += first;
        s[0] = first + big0 + majority;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += s[i];
}

void sha256_add_blocks_plain(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    for (; count > 0; count--, blocks += SHA256_BLOCK_BYTES)
        add_block(state, blocks);
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define HARDWARE __attribute__((target("sha,sse4.1,ssse3")))

static bool look_for_hardware(void)
{
    unsigned a, b, c, d;
    const bool has_sse41 = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_1);
    return has_sse41 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

// The question may leave a virtual machine, so it is asked once.
static bool has_hardware(void)
{
    static _Atomic int known;  // 0: not yet; 1: no; 2: yes
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        answer = 1 + look_for_hardware();
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}

// The instructions want the state as {a, b, e, f} and {c, d, g, h}, and take four rounds in two steps.
HARDWARE static void add_blocks_hardware(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i *const words = (__m128i *)(void *)state;
    __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
    __m128i abef = _mm_alignr_epi8(abcd, efgh, 8), cdgh = _mm_blend_epi16(efgh, abcd, 0xf0);
    for (; count > 0; count--, blocks += SHA256_BLOCK_BYTES) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (unsigned i = 0; i < 16; i++) {
            __m128i *const at = &w[i % 4], last = w[(i + 3) % 4];
            if (i < 4)
                *at = _mm_shuffle_epi8(
                    _mm_loadu_si128((const __m128i *)(const void *)(blocks + 16 * i)), swap);
            else
                *at = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(*at, w[(i + 1) % 4]),
                                                         _mm_alignr_epi8(last, w[(i + 2) % 4], 4)),
                                           last);
            const __m128i sum = _mm_add_epi32(
                *at, _mm_loadu_si128((const __m128i *)(const void *)(round_constants + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    abcd = _mm_shuffle_epi32(abef, 0x1b);
    efgh = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(words, _mm_blend_epi16(abcd, efgh, 0xf0));
    _mm_storeu_si128(words + 1, _mm_alignr_epi8(efgh, abcd, 8));
}

static void add_blocks(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    if (has_hardware())
        add_blocks_hardware(state, blocks, count);
    else
        sha256_add_blocks_plain(state, blocks, count);
}
#else
static void add_blocks(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    sha256_add_blocks_plain(state, blocks, count);
}
#endif

void sha256_init(struct sha256 *sha)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    *sha = (struct sha256){0};
    memcpy(sha->state, start, sizeof start);
}

void sha256_add(struct sha256 *sha, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    while (size > 0) {
        const size_t used = sha->size % SHA256_BLOCK_BYTES;
        const size_t room = SHA256_BLOCK_BYTES - used, whole = size / SHA256_BLOCK_BYTES;
        if (used == 0 && whole > 0) {
            add_blocks(sha->state, bytes, whole);
            sha->size += whole * SHA256_BLOCK_BYTES;
            bytes += whole * SHA256_BLOCK_BYTES;
            size -= whole * SHA256_BLOCK_BYTES;
            continue;
        }
        const size_t taken = size < room ? size : room;
        memcpy(sha->block + used, bytes, taken);
        sha->size += taken;
        bytes += taken;
        size -= taken;
        if (taken == room)
            add_blocks(sha->state, sha->block, 1);
    }
}

void sha256_end(struct sha256 *sha, uint8_t digest[SHA256_BYTES])
{
    static const uint8_t padding[SHA256_BLOCK_BYTES] = {0x80};
    const uint64_t bits = __builtin_bswap64(sha->size * 8);
    const size_t used = sha->size % SHA256_BLOCK_BYTES;
    sha256_add(sha, padding, (used < 56 ? 56 : 120) - used);
    sha256_add(sha, &bits, sizeof bits);
    for (unsigned i = 0; i < 8; i++) {
        const uint32_t word = __builtin_bswap32(sha->state[i]);
        memcpy(digest + 4 * i, &word, 4);
    }
}

void sha256_hmac(weft_bytes key, const weft_bytes *parts, size_t count, uint8_t mac[SHA256_BYTES])
{
    uint8_t inner[SHA256_BLOCK_BYTES], outer[SHA256_BLOCK_BYTES];
    struct sha256 sha;
    ASSERT(key.size <= SHA256_BLOCK_BYTES);
    for (size_t i = 0; i < SHA256_BLOCK_BYTES; i++) {
        const uint8_t byte = i < key.size ? (uint8_t)key.data[i] : 0;
        inner[i] = byte ^ 0x36;
        outer[i] = byte ^ 0x5c;
    }
    sha256_init(&sha);
    sha256_add(&sha, inner, sizeof inner);
    for (size_t i = 0; i < count; i++)
        sha256_add(&sha, parts[i].data, parts[i].size);
    sha256_end(&sha, mac);
    sha256_init(&sha);
    sha256_add(&sha, outer, sizeof outer);
    sha256_add(&sha, mac, SHA256_BYTES);
    sha256_end(&sha, mac);
    explicit_bzero(inner, sizeof inner);
    explicit_bzero(outer, sizeof outer);
    explicit_bzero(&sha, sizeof sha);
}
