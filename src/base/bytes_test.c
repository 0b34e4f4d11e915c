// Tests of comparing bytes, and of the prefix everything is sorted by.

#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { KEYS = 400 };

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

// All strings of up to 3 letters, and some around 8 bytes, each in memory of its own size.
static size_t make_keys(weft_bytes *keys)
{
    const char letters[] = {0, 1, 'a', (char)0x7f, (char)0x80, (char)0xff};
    size_t count = 0;
    keys[count++] = (weft_bytes){NULL, 0};
    for (int number = 0; number < 6 * 6 * 6; number++) {
        char *key = malloc(3);
        key[0] = letters[number % 6];
        key[1] = letters[number / 6 % 6];
        key[2] = letters[number / 36];
        keys[count++] = (weft_bytes){key, (size_t)(number % 4)};
    }
    for (size_t size = 5; size < 20; size++) {
        for (int i = 0; i < 4; i++) {
            char *key = malloc(size);
            memset(key, 'p', size);
            key[size - 1] = letters[i];
            keys[count++] = (weft_bytes){key, size};
        }
    }
    assert_true(count <= KEYS);
    return count;
}

// Byte by byte, unsigned, the end before everything.
static int slow_compare(weft_bytes a, weft_bytes b)
{
    for (size_t i = 0;; i++) {
        if (i == a.size || i == b.size)
            return (i < a.size) - (i < b.size);
        if (a.data[i] != b.data[i])
            return (unsigned char)a.data[i] < (unsigned char)b.data[i] ? -1 : 1;
    }
}

static void order_is_that_of_unsigned_bytes_and_shorter_first(void **state)
{
    (void)state;
    static weft_bytes keys[KEYS];
    const size_t count = make_keys(keys);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            const int expected = slow_compare(keys[i], keys[j]);
            assert_int_equal(sign(bytes_compare(keys[i], keys[j])), expected);
            assert_int_equal(bytes_equal(keys[i], keys[j]), expected == 0);
        }
    }
    for (size_t i = 0; i < count; i++)
        free((char *)keys[i].data);
}

static void prefixes_never_contradict_the_order(void **state)
{
    (void)state;
    static weft_bytes keys[KEYS];
    const size_t count = make_keys(keys);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            const uint64_t a = bytes_prefix(keys[i]), b = bytes_prefix(keys[j]);
            if (a != b)
                assert_int_equal(sign(bytes_compare(keys[i], keys[j])), a < b ? -1 : 1);
        }
    }
    for (size_t i = 0; i < count; i++)
        free((char *)keys[i].data);
}

static void a_prefix_is_the_first_eight_bytes_big_endian(void **state)
{
    (void)state;
    assert_int_equal(bytes_prefix((weft_bytes){NULL, 0}), 0);
    assert_int_equal(bytes_prefix((weft_bytes){"\1", 1}), UINT64_C(1) << 56);
    assert_int_equal(bytes_prefix((weft_bytes){"\1\2\3\4\5\6\7\10\11", 9}),
                     UINT64_C(0x0102030405060708));
    assert_int_equal(bytes_prefix((weft_bytes){"a\0", 2}), bytes_prefix((weft_bytes){"a", 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_that_of_unsigned_bytes_and_shorter_first),
        cmocka_unit_test(prefixes_never_contradict_the_order),
        cmocka_unit_test(a_prefix_is_the_first_eight_bytes_big_endian),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
