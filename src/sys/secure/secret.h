// Secrets: the token that the members of a cluster share, random bytes, and proofs made of both.
//
// A token is 16 to 64 random bytes, written as 32 to 128 hexadecimal digits. No function here puts a
// token into a sentence. Thread: any.
#ifndef SYS_SECURE_SECRET_H
#define SYS_SECURE_SECRET_H

#include "base/err.h"

enum {
    SECRET_BYTES_MIN = 16,
    SECRET_BYTES_MAX = 64,
    SECRET_TEXT_BYTES = 2 * SECRET_BYTES_MAX + 1,
    SECRET_MAC_BYTES = 32
};

struct secret {
    uint8_t bytes[SECRET_BYTES_MAX];
    size_t size;  // 0: none
};

// Fills `bytes` from the kernel's random numbers. Cannot fail: it waits for the kernel.
void secret_random(void *bytes, size_t size);

// A fresh token of 128 bits.
void secret_make(struct secret *secret);

// The token that a text stands for. INVALID_ARGUMENT says what is wrong without repeating it.
MUST_CHECK weft_err secret_read(const char *text, struct secret *secret);

// What secret_read reads back.
void secret_write(const struct secret *secret, char text[SECRET_TEXT_BYTES]);

// The token to use: that in `token_file` when it is not NULL, else WEFT_TOKEN, else that in the file WEFT_TOKEN_FILE (empty
// counts as unset), else that of the user in ($XDG_CONFIG_HOME or ~/.config)/weft/token, which is made on first use,
// once however many processes start together. A file that others may read is refused:
// PERMISSION_DENIED with its mode and the command that repairs it. FAILED_PRECONDITION: no home.
MUST_CHECK weft_err secret_load(const char *token_file, struct secret *secret);

// HMAC-SHA256 of the parts, one after the other.
void secret_hmac(const struct secret *secret, const weft_bytes *parts, size_t count,
                 uint8_t mac[SECRET_MAC_BYTES]);

// Whether they are the same; the time it takes does not show where they differ.
bool secret_equal(const void *a, const void *b, size_t size);

// Overwrites it, in a way that the compiler keeps.
void secret_clear(struct secret *secret);

#endif
