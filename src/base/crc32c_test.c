// Tests of crc32c: published vectors, the plain and the fast path against each other, joining.

#include "base/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 20000 };

static unsigned char *random_bytes(void)
{
    unsigned char *bytes = malloc(BYTES);
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < BYTES; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        bytes[i] = (unsigned char)state;
    }
    return bytes;
}

// From RFC 3720, appendix B.4, and the catalogue's check value.
static void published_vectors_come_out(void **state)
{
    (void)state;
    unsigned char zeros[32] = {0}, ones[32], up[32];
    memset(ones, 0xff, sizeof ones);
    for (unsigned i = 0; i < 32; i++)
        up[i] = (unsigned char)i;
    uint32_t (*const both[])(uint32_t, const void *, size_t) = {crc32c, crc32c_plain};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(both[i](0, "", 0), 0);
        assert_int_equal(both[i](0, "123456789", 9), 0xe3069283u);
        assert_int_equal(both[i](0, zeros, 32), 0x8a9136aau);
        assert_int_equal(both[i](0, ones, 32), 0x62a8ab43u);
        assert_int_equal(both[i](0, up, 32), 0x46dd794eu);
    }
}

static void the_fast_path_agrees_with_the_plain_one_at_every_size_and_alignment(void **state)
{
    (void)state;
    unsigned char *bytes = random_bytes();
    for (size_t size = 0; size < 1000; size++)
        assert_int_equal(crc32c(0, bytes + size % 9, size),
                         crc32c_plain(0, bytes + size % 9, size));
    for (size_t size = 3000; size < BYTES; size += 97)
        assert_int_equal(crc32c(7, bytes, size), crc32c_plain(7, bytes, size));
    free(bytes);
}

static void a_checksum_is_continued_over_pieces(void **state)
{
    (void)state;
    unsigned char *bytes = random_bytes();
    const uint32_t whole = crc32c(0, bytes, BYTES);
    for (size_t cut = 0; cut <= BYTES; cut += 1 + cut / 3)
        assert_int_equal(crc32c(crc32c(0, bytes, cut), bytes + cut, BYTES - cut), whole);
    free(bytes);
}

static void checksums_of_neighbours_are_joined(void **state)
{
    (void)state;
    unsigned char *bytes = random_bytes();
    const uint32_t whole = crc32c(0, bytes, BYTES);
    for (size_t cut = 0; cut <= BYTES; cut += 1 + cut / 5) {
        const uint32_t a = crc32c(0, bytes, cut), b = crc32c(0, bytes + cut, BYTES - cut);
        assert_int_equal(crc32c_join(a, b, BYTES - cut), whole);
    }
    // Joining is associative, also for sizes that fit in no memory.
    const uint64_t huge = 0x123456789abcu;
    const uint32_t left = crc32c_join(crc32c_join(1, 2, huge), 3, huge + 1);
    const uint32_t right = crc32c_join(1, crc32c_join(2, 3, huge + 1), 2 * huge + 1);
    assert_int_equal(left, right);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors_come_out),
        cmocka_unit_test(the_fast_path_agrees_with_the_plain_one_at_every_size_and_alignment),
        cmocka_unit_test(a_checksum_is_continued_over_pieces),
        cmocka_unit_test(checksums_of_neighbours_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
