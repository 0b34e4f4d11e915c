// The standards' own examples, and every length around a block against pieces of any size.
#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *hex(const uint8_t digest[SHA256_BYTES])
{
    static char text[2 * SHA256_BYTES + 1];
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return text;
}

static const char *sha_of(const void *data, size_t size)
{
    static uint8_t digest[SHA256_BYTES];
    struct sha256 sha;
    sha256_init(&sha);
    sha256_add(&sha, data, size);
    sha256_end(&sha, digest);
    return hex(digest);
}

static void examples_of_the_standard_come_out(void **state)
{
    (void)state;
    assert_string_equal(sha_of("", 0),
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_string_equal(sha_of("abc", 3),
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_string_equal(sha_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    assert_non_null(million);
    memset(million, 'a', 1000000);
    assert_string_equal(sha_of(million, 1000000),
                        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

static void pieces_of_any_size_give_the_same(void **state)
{
    (void)state;
    uint8_t bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        for (size_t piece = 1; piece < 70; piece += 3) {
            uint8_t digest[SHA256_BYTES];
            struct sha256 sha;
            sha256_init(&sha);
            for (size_t at = 0; at < size; at += piece)
                sha256_add(&sha, bytes + at, size - at < piece ? size - at : piece);
            sha256_end(&sha, digest);
            char whole[2 * SHA256_BYTES + 1];
            snprintf(whole, sizeof whole, "%s", sha_of(bytes, size));
            assert_string_equal(hex(digest), whole);
        }
    }
}

// RFC 4231, test cases 1, 2 and 3.
static void examples_of_hmac_come_out(void **state)
{
    (void)state;
    char key[20], data[50];
    uint8_t mac[SHA256_BYTES];
    memset(key, 0x0b, sizeof key);
    sha256_hmac((weft_bytes){key, sizeof key}, (weft_bytes[]){weft_text("Hi There")}, 1, mac);
    assert_string_equal(hex(mac),
                        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    const weft_bytes parts[] = {weft_text("what do ya "), weft_none(),
                                weft_text("want for nothing?")};
    sha256_hmac(weft_text("Jefe"), parts, 3, mac);
    assert_string_equal(hex(mac),
                        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    memset(data, 0xdd, sizeof data);
    sha256_hmac((weft_bytes){key, sizeof key}, (weft_bytes[]){{data, sizeof data}}, 1, mac);
    assert_string_equal(hex(mac),
                        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
}

// However blocks are added, the state is that of the standard's own steps.
static void instructions_of_the_processor_give_the_same(void **state)
{
    (void)state;
    uint8_t bytes[40 * SHA256_BLOCK_BYTES + 1];
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
    for (size_t count = 0; count <= 40; count++) {
        struct sha256 sha, plain;
        sha256_init(&sha);
        plain = sha;
        sha256_add(&sha, bytes + 1, count * SHA256_BLOCK_BYTES);  // at an odd address
        sha256_add_blocks_plain(plain.state, bytes + 1, count);
        assert_memory_equal(sha.state, plain.state, sizeof sha.state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_of_the_processor_give_the_same),
        cmocka_unit_test(examples_of_the_standard_come_out),
        cmocka_unit_test(pieces_of_any_size_give_the_same),
        cmocka_unit_test(examples_of_hmac_come_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
