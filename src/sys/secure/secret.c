// Secrets in memory: their texts, and proofs made of them. Random numbers are in random.c, the files of tokens in
// token_file.c.

#include "sys/secure/secret.h"

#include "base/sha256.h"

enum { SECRET_BYTES_MADE = 16 };

void secret_make(struct secret *secret)
{
    *secret = (struct secret){.size = SECRET_BYTES_MADE};
    secret_random(secret->bytes, secret->size);
}

void secret_clear(struct secret *secret)
{
    explicit_bzero(secret, sizeof *secret);
}

bool secret_equal(const void *a, const void *b, size_t size)
{
    const volatile uint8_t *x = a, *y = b;  // volatile: the compiler may not stop at a difference
    uint8_t difference = 0;
    for (size_t i = 0; i < size; i++)
        difference |= x[i] ^ y[i];
    return difference == 0;
}

void secret_hmac(const struct secret *secret, const weft_bytes *parts, size_t count,
                 uint8_t mac[SECRET_MAC_BYTES])
{
    sha256_hmac((weft_bytes){(const char *)secret->bytes, secret->size}, parts, count, mac);
}

// ---- Texts ----------------------------------------------------------------------------------------

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

weft_err secret_read(const char *text, struct secret *secret)
{
    static const char form[] = "a token is 32 to 128 hexadecimal digits";
    static const char next[] = "\n  try: openssl rand -hex 16";
    const size_t digits = strlen(text);
    for (size_t i = 0; i < digits; i++)
        if (digit_value(text[i]) < 0)
            return err_set(WEFT_INVALID_ARGUMENT, "%s, this one has something else in it%s", form,
                           next);
    if (digits < 2 * SECRET_BYTES_MIN || digits > 2 * SECRET_BYTES_MAX || digits % 2 != 0)
        return err_set(WEFT_INVALID_ARGUMENT, "%s, always two for a byte; this one has %zu%s", form,
                       digits, next);
    *secret = (struct secret){.size = digits / 2};
    for (size_t i = 0; i < secret->size; i++)
        secret->bytes[i] = (uint8_t)(digit_value(text[2 * i]) << 4 | digit_value(text[2 * i + 1]));
    return WEFT_OK;
}

void secret_write(const struct secret *secret, char text[SECRET_TEXT_BYTES])
{
    for (size_t i = 0; i < secret->size; i++) {
        text[2 * i] = "0123456789abcdef"[secret->bytes[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[secret->bytes[i] & 15];
    }
    text[2 * secret->size] = 0;
}
