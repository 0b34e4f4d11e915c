// Tests of MD5: the standard's own vectors, and that pieces make no difference.

#include "base/md5.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void hash(const char *text, size_t step, char hex[2 * MD5_BYTES + 1])
{
    struct md5 md5;
    uint8_t digest[MD5_BYTES];
    md5_init(&md5);
    for (size_t at = 0, size = strlen(text); at < size; at += step)
        md5_add(&md5, text + at, size - at < step ? size - at : step);
    md5_end(&md5, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void the_vectors_of_the_standard(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
         "d174ab98d277d9f5a5611c2c9f419d9f"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t step = 1; step < 90; step += 11) {
            char hex[2 * MD5_BYTES + 1];
            hash(cases[i].text, step, hex);
            assert_string_equal(hex, cases[i].hex);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_vectors_of_the_standard)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
