// Tests of sets of small numbers, against one that looks at every number.
#include "mapreduce/coord/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint32_t find_from(const bool *in, uint32_t count, uint32_t from)
{
    while (from < count && !in[from])
        from++;
    return from < count ? from : BITS_NONE;
}

// Sizes around the borders of words at each level.
static void lowest_and_next_are_found(void **state)
{
    static const uint32_t counts[] = {1, 63, 64, 4095, 4096, 4097, 262143, 262144, 262145, 600000};
    static bool in[600000];
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const uint32_t count = counts[i];
        struct bits bits = {0};
        uint32_t number = 7;
        assert_true(bits_init(&bits, count));
        assert_int_equal(bits_lowest(&bits), BITS_NONE);
        for (uint32_t k = 0; k < 300; k++) {
            number = number * 1664525 + 1013904223;
            const uint32_t at = k % 50 == 0 ? count - 1 : (number >> 4) % count;
            in[at] = number >> 31 == 0;
            bits_set(&bits, at, in[at]);
            if (k % 30 == 0) {
                assert_int_equal(bits_lowest(&bits), find_from(in, count, 0));
                assert_int_equal(bits_next(&bits, at / 2), find_from(in, count, at / 2));
            }
        }
        for (uint32_t at; (at = bits_lowest(&bits)) != BITS_NONE; in[at] = false) {
            assert_true(in[at]);
            bits_set(&bits, at, false);
        }
        assert_int_equal(find_from(in, count, 0), BITS_NONE);
        bits_fini(&bits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lowest_and_next_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
