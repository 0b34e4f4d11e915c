// Tuples and signatures: a written one is read back, and an impossible one is refused by name.
#include "wire/tuple.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/pack.h"

static const int64_t none_dims[1] = {0};

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define BYTES(literal) ((weft_bytes){literal, sizeof(literal) - 1})
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

static void dtypes_have_the_numbers_of_tensorflow(void **state)
{
    (void)state;
    static const struct {
        uint8_t number;
        const char *name;
        size_t size;
    } rows[] = {{1, "float", 4},        {2, "double", 8}, {3, "int32", 4},     {4, "uint8", 1},
                {5, "int16", 2},        {6, "int8", 1},   {7, "string", 0},    {8, "complex64", 8},
                {9, "int64", 8},        {10, "bool", 1},  {14, "bfloat16", 2}, {17, "uint16", 2},
                {18, "complex128", 16}, {19, "half", 2},  {22, "uint32", 4},   {23, "uint64", 8}};
    size_t known = 0;
    for (unsigned i = 0; i < 256; i++)
        known += tuple_dtype_name((uint8_t)i) != NULL;
    assert_int_equal(known, COUNT(rows));
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_string_equal(tuple_dtype_name(rows[i].number), rows[i].name);
        assert_int_equal(tuple_dtype_size(rows[i].number), rows[i].size);
    }
    assert_int_equal(tuple_dtype_size(255), 0);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    const struct tuple_component given[] = {
        {TUPLE_STRING, 0, NULL, BYTES("any\0bytes")},
        {TUPLE_STRING, 0, none_dims, {NULL, 0}},
        {TUPLE_INT64, 0, NULL, BYTES("12345678")},
        {TUPLE_FLOAT, 2, DIMS(2, 1), BYTES("abcdefgh")},
        {TUPLE_STRING, 1, DIMS(3), BYTES("\x01\x00\x02xyz")},
        {TUPLE_BOOL, 3, DIMS(5, 0, 7), {NULL, 0}},
    };
    struct buf out = {0};
    assert_int_equal(tuple_append(&out, given, COUNT(given)), WEFT_OK);
    struct tuple_component got[TUPLE_COMPONENTS_MAX];
    size_t count;
    assert_int_equal(tuple_read(buf_bytes(&out), got, &count), WEFT_OK);
    assert_int_equal(count, COUNT(given));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(got[i].dtype, given[i].dtype);
        assert_int_equal(got[i].rank, given[i].rank);
        if (given[i].rank)
            assert_memory_equal(got[i].dims, given[i].dims, given[i].rank * sizeof(int64_t));
        assert_int_equal(got[i].bytes.size, given[i].bytes.size);
        if (given[i].bytes.size)
            assert_memory_equal(got[i].bytes.data, given[i].bytes.data, given[i].bytes.size);
    }
    for (size_t size = 0; size < out.size; size++)
        assert_int_equal(tuple_read((weft_bytes){out.data, size}, got, &count),
                         WEFT_INVALID_ARGUMENT);
    buf_append(&out, "x", 1);
    assert_int_equal(tuple_read(buf_bytes(&out), got, &count), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "1 bytes follow the 6 components of a tuple");
    buf_fini(&out);
}

static void impossible_components_are_refused(void **state)
{
    (void)state;
    const struct {
        struct tuple_component component;
        const char *sentence;
    } rows[] = {
        {{0, 0, NULL, BYTES("")}, "component 0: there is no dtype 0"},
        {{20, 0, NULL, BYTES("")}, "component 0: there is no dtype 20"},
        {{TUPLE_INT32, 33, NULL, BYTES("")}, "component 0: its rank is 33, and ranks are 0 to 32"},
        {{TUPLE_INT32, 0, NULL, BYTES("abc")}, "component 0: int32 is not 3 bytes"},
        {{TUPLE_INT32, 1, DIMS(2), BYTES("abcd")}, "component 0: int32[2] is not 4 bytes"},
        {{TUPLE_INT32, 1, DIMS(-1), BYTES("abcd")}, "component 0: int32[?] is not a shape"},
        {{TUPLE_INT32, 2, DIMS(-2, 1), BYTES("")}, "component 0: int32[-2,1] is not a shape"},
        {{TUPLE_INT8, 2, DIMS(INT64_MAX, 3), BYTES("")},
         "component 0: int8[9223372036854775807,3] is not a shape"},
        {{TUPLE_DOUBLE, 2, DIMS(INT64_C(1) << 31, INT64_C(1) << 31), BYTES("")},
         "component 0: double[2147483648,2147483648] is not 0 bytes"},
        {{TUPLE_STRING, 1, DIMS(2), BYTES("\x01")},
         "component 0: string[2] has other lengths than its 1 bytes"},
        {{TUPLE_STRING, 1, DIMS(1), BYTES("\x02x")},
         "component 0: string[1] has other lengths than its 2 bytes"},
        {{TUPLE_STRING, 1, DIMS(1), BYTES("\x01xy")},
         "component 0: string[1] has other lengths than its 3 bytes"},
        {{TUPLE_STRING, 1, DIMS(1), BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02")},
         "component 0: string[1] has other lengths than its 10 bytes"},
        {{TUPLE_STRING, 1, DIMS(2), BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01")},
         "component 0: string[2] has other lengths than its 11 bytes"},
        {{TUPLE_STRING, 1, DIMS(0), BYTES("x")},
         "component 0: string[0] has other lengths than its 1 bytes"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf out = {0};
        assert_int_equal(tuple_append(&out, &rows[i].component, 1), WEFT_INVALID_ARGUMENT);
        assert_string_equal(err_text(), rows[i].sentence);
        assert_int_equal(out.size, 0);
    }
}

static void number_of_components_is_limited(void **state)
{
    (void)state;
    static struct tuple_component many[TUPLE_COMPONENTS_MAX + 1], got[TUPLE_COMPONENTS_MAX];
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = (struct tuple_component){TUPLE_STRING, 0, NULL, BYTES("x")};
    struct buf out = {0};
    size_t count;
    assert_int_equal(tuple_append(&out, many, 0), WEFT_INVALID_ARGUMENT);
    assert_int_equal(tuple_append(&out, many, COUNT(many)), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "a tuple has 1 to 128 components, not 129");
    assert_int_equal(tuple_append(&out, many, COUNT(many) - 1), WEFT_OK);
    assert_int_equal(tuple_read(buf_bytes(&out), got, &count), WEFT_OK);
    assert_int_equal(count, TUPLE_COMPONENTS_MAX);
    out.data[0] = (char)(TUPLE_COMPONENTS_MAX + 1);
    assert_int_equal(tuple_read(buf_bytes(&out), got, &count), WEFT_INVALID_ARGUMENT);
    buf_fini(&out);
    many[0].bytes.size = CALL_BYTES_MAX - 1;  // never looked at: a string may be anything
    assert_int_equal(tuple_append(&out, many, 3), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "a tuple has at most 62914560 bytes");
}

static void components_are_matched_against_what_was_declared(void **state)
{
    (void)state;
    const struct tuple_declared declared[] = {
        {TUPLE_STRING, -1, NULL},
        {TUPLE_FLOAT, 2, DIMS(-1, 3)},
        {TUPLE_INT64, 0, NULL},
    };
    const struct tuple_component text = {TUPLE_STRING, 0, NULL, BYTES("a")};
    const struct tuple_component number = {TUPLE_INT64, 0, NULL, BYTES("12345678")};
    const struct {
        struct tuple_component second, third;
        const char *sentence;
    } rows[] = {
        {{TUPLE_FLOAT, 2, DIMS(7, 3), {0}}, number, NULL},
        {{TUPLE_FLOAT, 2, DIMS(0, 3), {0}}, number, NULL},
        {{TUPLE_FLOAT, 2, DIMS(3, 7), {0}},
         number,
         "component 1 is declared float[?,3], and float[3,7] came"},
        {{TUPLE_FLOAT, 1, DIMS(3), {0}},
         number,
         "component 1 is declared float[?,3], and float[3] came"},
        {{TUPLE_DOUBLE, 2, DIMS(1, 3), {0}},
         number,
         "component 1 is declared float[?,3], and double[1,3] came"},
        {{TUPLE_FLOAT, 2, DIMS(1, 3), {0}}, text, "component 2 is declared int64, and string came"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct tuple_component came[] = {text, rows[i].second, rows[i].third};
        const weft_err err = tuple_match(declared, 3, came, 3);
        assert_int_equal(err, rows[i].sentence ? WEFT_INVALID_ARGUMENT : WEFT_OK);
        if (rows[i].sentence)
            assert_string_equal(err_text(), rows[i].sentence);
    }
    assert_int_equal(tuple_match(declared, 3, &text, 1), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "3 components are declared, and 1 came");
    assert_int_equal(tuple_match(declared, 1, &number, 1), WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "component 0 is declared string of any shape, and int64 came");
}

static void signatures_are_read_back(void **state)
{
    (void)state;
    const struct tuple_declared given[] = {
        {TUPLE_STRING, -1, NULL},
        {TUPLE_FLOAT, 2, DIMS(-1, 3)},
        {TUPLE_INT64, 0, NULL},
    };
    struct buf out = {0};
    assert_int_equal(tuple_append_signature(&out, given, COUNT(given)), WEFT_OK);
    assert_int_equal(out.size, 2 + 2 + 18 + 2);
    struct tuple_declared got[TUPLE_COMPONENTS_MAX];
    size_t count;
    for (size_t size = 0; size < out.size; size++) {
        weft_bytes cut = {out.data, size};
        assert_int_equal(tuple_read_signature(&cut, got, &count), WEFT_INVALID_ARGUMENT);
    }
    buf_append(&out, "more", 4);
    weft_bytes rest = buf_bytes(&out);
    assert_int_equal(tuple_read_signature(&rest, got, &count), WEFT_OK);
    assert_int_equal(rest.size, 4);
    assert_int_equal(count, COUNT(given));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(got[i].dtype, given[i].dtype);
        assert_int_equal(got[i].rank, given[i].rank);
    }
    assert_memory_equal(got[1].dims, given[1].dims, 16);
    buf_fini(&out);
}

static void impossible_signatures_are_refused(void **state)
{
    (void)state;
    const struct {
        struct tuple_declared declared;
        const char *sentence;
    } rows[] = {
        {{11, 0, NULL}, "component 0: there is no dtype 11"},
        {{TUPLE_INT8, -2, NULL}, "component 0: its rank is -2, and ranks are 0 to 32"},
        {{TUPLE_INT8, 33, NULL}, "component 0: its rank is 33, and ranks are 0 to 32"},
        {{TUPLE_INT8, 2, DIMS(-1, -2)}, "component 0: int8[?,-2] is not a shape"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf out = {0};
        assert_int_equal(tuple_append_signature(&out, &rows[i].declared, 1), WEFT_INVALID_ARGUMENT);
        assert_string_equal(err_text(), rows[i].sentence);
        assert_int_equal(out.size, 0);
    }
}

static void long_types_are_cut(void **state)
{
    (void)state;
    int64_t dims[TUPLE_RANK_MAX];
    for (size_t i = 0; i < COUNT(dims); i++)
        dims[i] = INT64_MAX;
    char text[TUPLE_TYPE_BYTES];
    tuple_write_type(text, TUPLE_COMPLEX128, TUPLE_RANK_MAX, dims);
    assert_int_equal(strlen(text), TUPLE_TYPE_BYTES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtypes_have_the_numbers_of_tensorflow),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(impossible_components_are_refused),
        cmocka_unit_test(number_of_components_is_limited),
        cmocka_unit_test(components_are_matched_against_what_was_declared),
        cmocka_unit_test(signatures_are_read_back),
        cmocka_unit_test(impossible_signatures_are_refused),
        cmocka_unit_test(long_types_are_cut),
    };
    return cmocka_run_group_tests_name("wire/tuple", tests, NULL, NULL);
}
