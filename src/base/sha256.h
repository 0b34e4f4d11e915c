// SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104). By hand, because most processes would need OpenSSL only for a proof over
// a Unix socket, and loading it takes longer than the whole command runs.
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <weft/weft.h>

enum { SHA256_BYTES = 32, SHA256_BLOCK_BYTES = 64 };

struct sha256 {
    uint32_t state[8];
    uint64_t size;  // bytes so far
    uint8_t block[SHA256_BLOCK_BYTES];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *data, size_t size);
void sha256_end(struct sha256 *sha, uint8_t digest[SHA256_BYTES]);

// What every processor can do, for tests: adds whole blocks to a state.
void sha256_add_blocks_plain(uint32_t state[8], const uint8_t *blocks, size_t count);

// HMAC-SHA256 of the parts, one after the other, by a key of at most 64 bytes.
void sha256_hmac(weft_bytes key, const weft_bytes *parts, size_t count, uint8_t mac[SHA256_BYTES]);

#endif
