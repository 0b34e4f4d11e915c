// MD5 (RFC 1321), which protocols of others ask for. It protects nothing: use sha256.h where there is a choice. By hand, since
// OpenSSL refuses it on machines that are set up for certified algorithms only.
#ifndef BASE_MD5_H
#define BASE_MD5_H

#include <weft/weft.h>

enum { MD5_BYTES = 16, MD5_BLOCK_BYTES = 64 };

struct md5 {
    uint32_t state[4];
    uint64_t size;  // bytes so far
    uint8_t block[MD5_BLOCK_BYTES];
};

void md5_init(struct md5 *md5);
void md5_add(struct md5 *md5, const void *data, size_t size);
void md5_end(struct md5 *md5, uint8_t digest[MD5_BYTES]);

#endif
