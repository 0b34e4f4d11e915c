// digest: the SHA-256 of files. Those of a program and its libraries are asked for with every job of a client that stays, and
// are remembered in memory, by device, inode, size and time of change. Thread: any.
#ifndef STORE_CACHE_DIGEST_H
#define STORE_CACHE_DIGEST_H

#include "base/err.h"
#include "base/sha256.h"

struct digest {
    uint8_t sha256[SHA256_BYTES];
    uint64_t size;
};

// Reads the whole file. DATA_LOSS: it was changed in the meantime.
MUST_CHECK weft_err digest_read(int fd, const char *path, struct digest *digest);

// The same, or the remembered digest of the same file. Not for files that others may want us to mistake for another.
MUST_CHECK weft_err digest_recall(int fd, const char *path, struct digest *digest);

bool digest_is(const struct digest *digest, uint64_t size, const uint8_t sha256[SHA256_BYTES]);

enum { DIGEST_TEXT_BYTES = 2 * SHA256_BYTES + 1 };
void digest_write(const uint8_t sha256[SHA256_BYTES], char text[DIGEST_TEXT_BYTES]);

// What digest_write writes, and nothing else.
bool digest_is_text(const char *text);

// Its bytes; false: it is something else.
bool digest_read_text(const char *text, uint8_t sha256[SHA256_BYTES]);

#endif
