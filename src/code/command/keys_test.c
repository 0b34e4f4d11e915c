// Tests of splitting lines, ordering keys and choosing parts.

#include "code/command/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct command_separator tab = {"\t", 1};

static void expect_bytes(weft_bytes bytes, const char *expected)
{
    assert_non_null(bytes.data);
    assert_int_equal(bytes.size, strlen(expected));
    assert_memory_equal(bytes.data, expected, bytes.size);
}

static void expect_split(const char *separator_text, uint32_t fields, const char *line,
                         const char *key_text, const char *value_text)
{
    struct command_separator separator;
    weft_bytes key, value;
    assert_true(command_separator_init(&separator, separator_text));
    command_split_line(&separator, fields, weft_text(line), &key, &value);
    expect_bytes(key, key_text);
    if (value_text)
        expect_bytes(value, value_text);
    else
        assert_null(value.data);
}

static void a_line_is_split_behind_its_key_fields(void **state)
{
    (void)state;
    expect_split("\t", 1, "word\t1\t2", "word", "1\t2");
    expect_split("\\t", 2, "word\t1\t2", "word\t1", "2");
    expect_split(".", 4, "11.12.1.2.x.y", "11.12.1.2", "x.y");
    expect_split("::", 2, "a::b::c", "a::b", "c");
    expect_split("\t", 1, "\tvalue", "", "value");
    expect_split("\t", 1, "key\t", "key", "");
}

static void a_line_with_fewer_fields_is_all_key(void **state)
{
    (void)state;
    expect_split("\t", 1, "word", "word", NULL);
    expect_split("\t", 3, "a\tb\tc", "a\tb\tc", NULL);
    expect_split("\t", 1, "", "", NULL);
}

static void a_separator_is_some_bytes(void **state)
{
    (void)state;
    struct command_separator separator;
    assert_false(command_separator_init(&separator, ""));
    assert_false(command_separator_init(&separator, "0123456789abcdef"));
    assert_true(command_separator_init(&separator, "\\0"));
    assert_int_equal(separator.size, 1);
    assert_int_equal(separator.text[0], 0);
}

// Keys in the order that is expected of them, each twice: as it is, and encoded and sorted by memcmp.
static void expect_order(const char *order, const char *const *sorted)
{
    struct command_keys keys;
    struct buf room[2] = {{0}, {0}};
    weft_bytes before = {0};
    assert_int_equal(command_keys_init(&keys, order, NULL, &tab), WEFT_OK);
    for (int i = 0; sorted[i]; i++) {
        const weft_bytes key = weft_text(sorted[i]);
        const weft_bytes encoded = command_keys_encode(&keys, key, &room[i % 2]);
        expect_bytes(command_keys_decode(&keys, encoded), sorted[i]);
        if (i > 0) {
            const size_t shorter = before.size < encoded.size ? before.size : encoded.size;
            const int compared = memcmp(before.data, encoded.data, shorter);
            assert_true(compared < 0 || (compared == 0 && before.size < encoded.size));
        }
        before = encoded;
    }
    buf_fini(&room[0]);
    buf_fini(&room[1]);
    command_keys_fini(&keys);
}

#define EXPECT_ORDER(order, ...) expect_order(order, (const char *const[]){__VA_ARGS__, NULL})

static void keys_sort_by_fields_and_come_back(void **state)
{
    (void)state;
    EXPECT_ORDER(NULL, "", "10", "9", "a\tb");
    EXPECT_ORDER("-k1,1 -k2,2nr", "a\t10", "a\t9", "a\t-1", "b\t100", "b\t2");
    EXPECT_ORDER("-k2,2n", "z\t1", "a\t2", "b\t2", "a\t10");
    EXPECT_ORDER("-n", "-5", "2", "10");
    EXPECT_ORDER("-nr", "10", "2", "-5");
    EXPECT_ORDER("-r", "b", "ab", "a", "");
    EXPECT_ORDER("-k 2 -r", "a\tz", "b\ty", "b\tx");
}

static void what_is_no_order_is_refused(void **state)
{
    (void)state;
    struct command_keys keys;
    assert_int_equal(command_keys_init(&keys, "-k0", NULL, &tab), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "the order of keys '-k0': "));
    command_keys_fini(&keys);
    assert_int_equal(command_keys_init(&keys, "second", NULL, &tab), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "the order of keys 'second': it does not begin with '-'\n"
                                    "  write it like '-k1,1 -k2,2nr'");
    command_keys_fini(&keys);
    assert_int_equal(command_keys_init(&keys, "-q", NULL, &tab), WEFT_INVALID_ARGUMENT);
    command_keys_fini(&keys);
    assert_int_equal(command_keys_init(&keys, NULL, "modulo", &tab), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "there is no way to partition by 'modulo'; there are hash and "
                                    "fields:-k1,2");
    command_keys_fini(&keys);
    const struct command_separator two = {"::", 2};
    assert_int_equal(command_keys_init(&keys, "-k1", NULL, &two), WEFT_INVALID_ARGUMENT);
    command_keys_fini(&keys);
}

static uint32_t part_of(const char *order, const char *partition, const char *key, uint32_t count)
{
    struct command_keys keys;
    struct buf room = {0};
    assert_int_equal(command_keys_init(&keys, order, partition, &tab), WEFT_OK);
    const uint32_t part =
        command_keys_partition(&keys, command_keys_encode(&keys, weft_text(key), &room), count);
    buf_fini(&room);
    command_keys_fini(&keys);
    return part;
}

// Of a Text "a": 31 * 1 + 97 = 128; "ab": 31 * 128 + 98 = 4066; "\xc3": 31 - 61 = -30, & 0x7fffffff.
static void parts_by_hash_are_those_of_hadoop(void **state)
{
    (void)state;
    assert_int_equal(part_of(NULL, "hash", "", 1000), 1);
    assert_int_equal(part_of(NULL, "hash", "a", 1000), 128);
    assert_int_equal(part_of(NULL, "hash", "ab", 1000), 66);
    assert_int_equal(part_of(NULL, "hash", "\xc3", 1000), 2147483618 % 1000);
    assert_int_equal(part_of("-k1nr", "hash", "ab", 1000), 66);
}

// Hashes of fields begin at 0: "a" is 97, "ab" 31 * 97 + 98 = 3105, "a\tb" (31 * 97 + 9) * 31 + 98.
static void parts_by_fields_are_those_of_hadoop(void **state)
{
    (void)state;
    assert_int_equal(part_of(NULL, "fields:-k1,1", "a\tb", 100000), 97);
    assert_int_equal(part_of(NULL, "fields:-k1,2", "a\tb\tc", 100000), (31 * 97 + 9) * 31 + 98);
    assert_int_equal(part_of(NULL, "fields:-k1", "a\tb", 100000), (31 * 97 + 9) * 31 + 98);
    assert_int_equal(part_of(NULL, "fields:-k1,1 -k2,2", "a\tb\tc", 100000), 31 * 97 + 98);
    assert_int_equal(part_of(NULL, "fields:-k2.2,2.3", "a\txaby", 100000), 31 * 97 + 98);
    assert_int_equal(part_of(NULL, "fields:-k3,3", "a\tb", 100000), 0);
    assert_int_equal(part_of(NULL, "fields:-k1,1", "", 100000), 0);
    assert_int_equal(part_of("-k1,1 -k2,2nr", "fields:-k1,1", "a\tb", 100000), 97);
}

// As Hadoop 3.4.2 has been seen to do it.
static void parts_without_fields_are_those_of_a_text_in_java(void **state)
{
    (void)state;
    assert_int_equal(part_of(NULL, "fields:", "", 5), 0);
    assert_int_equal(part_of(NULL, "fields:", "a", 5), 2);
    assert_int_equal(part_of(NULL, "fields:", "b", 5), 3);
    assert_int_equal(part_of(NULL, "fields:", "\xc3\xa9t\xc3\xa9", 5), 2);
    assert_int_equal(part_of(NULL, "fields:", "\xf0\x9f\x98\x80", 5), 4);
    assert_int_equal(part_of(NULL, "fields:", "longer key", 5), 4);
    assert_int_equal(part_of(NULL, "fields:", "\xff", 100000), 0xfffd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_split_behind_its_key_fields),
        cmocka_unit_test(a_line_with_fewer_fields_is_all_key),
        cmocka_unit_test(a_separator_is_some_bytes),
        cmocka_unit_test(keys_sort_by_fields_and_come_back),
        cmocka_unit_test(what_is_no_order_is_refused),
        cmocka_unit_test(parts_by_hash_are_those_of_hadoop),
        cmocka_unit_test(parts_by_fields_are_those_of_hadoop),
        cmocka_unit_test(parts_without_fields_are_those_of_a_text_in_java),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
