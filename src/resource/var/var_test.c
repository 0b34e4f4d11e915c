// Vars: what each call does to each type of value, what counts once, and who is woken.
#include "resource/resource_testing.h"
#include "wire/tuple.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define BYTES_4                                                                                    \
    {                                                                                              \
        "abcd", 4                                                                                  \
    }

static uint16_t open_var(struct testing_member *member, const char *name, uint8_t dtype)
{
    return testing_open(member, CALL_KIND_VAR, name, PAYLOAD(U8(dtype), U8(0)));
}

static uint16_t open_array(struct testing_member *member, const char *name, uint8_t dtype,
                           uint64_t size)
{
    return testing_open(member, CALL_KIND_VAR, name, PAYLOAD(U8(dtype), U8(1), U64(size)));
}

static uint64_t send(struct testing_member *member, uint8_t op, uint16_t var, weft_bytes payload)
{
    return testing_call(member, op, 0, var, payload);
}

static void value_is_read_as_it_was_set(void **state)
{
    (void)state;
    static const uint8_t dtypes[] = {TUPLE_INT32, TUPLE_INT64, TUPLE_DOUBLE, TUPLE_BOOL,
                                     TUPLE_STRING};
    struct testing_member *a = testing_join("/work/0");
    for (size_t i = 0; i < COUNT(dtypes); i++) {
        char name[] = {(char)('a' + i), 0};
        const uint16_t var = open_var(a, name, dtypes[i]);
        const weft_bytes value = {"\1\0\0\0\0\0\0",
                                  dtypes[i] == TUPLE_STRING ? 6 : tuple_dtype_size(dtypes[i])};
        testing_expect_failure(a, send(a, CALL_VAR_READ, var, weft_none()),
                               WEFT_FAILED_PRECONDITION, "has no value yet");
        testing_expect(a, send(a, CALL_VAR_SET, var, value), 0, PAYLOAD(U64(1)));
        testing_expect(a, send(a, CALL_VAR_READ, var, weft_none()), 0,
                       PAYLOAD(U64(1), RAW_BYTES(value)));
    }
    const uint16_t array = open_array(a, "array", TUPLE_FLOAT, 2);
    testing_expect(a, send(a, CALL_VAR_SET, array, PAYLOAD(RAW("abcdefgh"))), 0, PAYLOAD(U64(1)));
    testing_expect(a, send(a, CALL_VAR_READ, array, weft_none()), 0,
                   PAYLOAD(U64(1), RAW("abcdefgh")));
}

static void without_attributes_it_is_an_int64(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint64_t open = testing_try_open(a, CALL_KIND_VAR, "x", weft_none());
    const struct answer answer = testing_answer(a, open);
    assert_int_equal(answer.payload.size, 16 + 2);
    assert_memory_equal(answer.payload.data + 16, "\x09\0", 2);
    open_var(a, "x", TUPLE_INT64);
    testing_expect_failure(a, testing_try_open(a, CALL_KIND_VAR, "x", PAYLOAD(U8(7), U8(0))),
                           WEFT_INVALID_ARGUMENT, "the variable 'x' is int64, not string");
}

static void empty_bytes_are_a_value(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t var = open_var(a, "x", TUPLE_STRING);
    testing_expect(a, send(a, CALL_VAR_SET, var, weft_none()), 0, PAYLOAD(U64(1)));
    testing_expect(a, send(a, CALL_VAR_READ, var, weft_none()), 0, PAYLOAD(U64(1)));
    testing_restart_from_snapshot();
    testing_expect(a, send(a, CALL_VAR_READ, var, weft_none()), 0, PAYLOAD(U64(1)));
    testing_expect(a, send(a, CALL_VAR_SET, var, PAYLOAD(RAW("abc"))), 0, PAYLOAD(U64(2)));
}

static void only_the_first_creates(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const uint16_t of_a = open_var(a, "x", TUPLE_INT64), of_b = open_var(b, "x", TUPLE_INT64);
    testing_expect(a, send(a, CALL_VAR_CREATE, of_a, PAYLOAD(U64(5))), 0, PAYLOAD(U64(1), U64(5)));
    testing_expect(b, send(b, CALL_VAR_CREATE, of_b, PAYLOAD(U64(6))), ANSWER_FLAG_SEEN,
                   PAYLOAD(U64(1), U64(5)));
    testing_expect_failure(b, send(b, CALL_VAR_CREATE, of_b, PAYLOAD(U32(6))),
                           WEFT_INVALID_ARGUMENT, "8 bytes");
}

static void integers_are_combined(void **state)
{
    (void)state;
    static const struct {
        uint8_t op;
        int64_t before, operand, after;
    } rows[] = {
        {CALL_VAR_ADD, 5, 3, 8},
        {CALL_VAR_ADD, 5, -9, -4},
        {CALL_VAR_ADD, INT64_MAX - 1, 1, INT64_MAX},
        {CALL_VAR_ADD, INT64_MIN, INT64_MAX, -1},
        {CALL_VAR_MIN, 5, -3, -3},
        {CALL_VAR_MIN, -3, 5, -3},
        {CALL_VAR_MAX, -3, 5, 5},
        {CALL_VAR_MAX, 5, INT64_MIN, 5},
    };
    struct testing_member *a = testing_join("/work/0");
    const uint16_t var = open_var(a, "x", TUPLE_INT64);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct answer set =
            testing_answer(a, send(a, CALL_VAR_SET, var, PAYLOAD(U64(rows[i].before))));
        uint64_t version;
        memcpy(&version, set.payload.data, 8);
        version += rows[i].before != rows[i].after;
        testing_expect(a, send(a, rows[i].op, var, PAYLOAD(U64(rows[i].operand))), 0,
                       PAYLOAD(U64(version), U64(rows[i].after)));
    }
    const uint16_t small = open_var(a, "small", TUPLE_INT32);
    send(a, CALL_VAR_SET, small, PAYLOAD(U32(-2)));
    testing_expect(a, send(a, CALL_VAR_ADD, small, PAYLOAD(U32(5))), 0, PAYLOAD(U64(2), U32(3)));
}

static void doubles_are_combined(void **state)
{
    (void)state;
    const double nan = __builtin_nan(""), infinite = __builtin_inf();
    const struct {
        uint8_t op;
        double before, operand, after;
    } rows[] = {
        {CALL_VAR_ADD, 0.5, 0.25, 0.75}, {CALL_VAR_ADD, 1e308, 1e308, infinite},
        {CALL_VAR_MIN, 0.5, -1.0, -1.0}, {CALL_VAR_MAX, 0.5, -1.0, 0.5},
        {CALL_VAR_MIN, 0.5, nan, 0.5},   {CALL_VAR_MIN, nan, 0.5, 0.5},
        {CALL_VAR_MAX, nan, 0.5, 0.5},   {CALL_VAR_MAX, 0.5, infinite, infinite},
    };
    struct testing_member *a = testing_join("/work/0");
    const uint16_t var = open_var(a, "x", TUPLE_DOUBLE);
    for (size_t i = 0; i < COUNT(rows); i++) {
        send(a, CALL_VAR_SET, var, PAYLOAD(DOUBLE(rows[i].before)));
        const struct answer answer =
            testing_answer(a, send(a, rows[i].op, var, PAYLOAD(DOUBLE(rows[i].operand))));
        assert_int_equal(answer.payload.size, 16);
        assert_memory_equal(answer.payload.data + 8, &rows[i].after, 8);
    }
}

static void overflow_changes_nothing(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t var = open_var(a, "total", TUPLE_INT64);
    send(a, CALL_VAR_SET, var, PAYLOAD(U64(INT64_MAX)));
    testing_expect_failure(a, send(a, CALL_VAR_ADD, var, PAYLOAD(U64(1))), WEFT_FAILED_PRECONDITION,
                           "the variable 'total': element 0 does not fit any more: "
                           "9223372036854775807 + 1");
    testing_expect(a, send(a, CALL_VAR_READ, var, weft_none()), 0, PAYLOAD(U64(1), U64(INT64_MAX)));
    const uint16_t small = open_var(a, "small", TUPLE_INT32);
    send(a, CALL_VAR_SET, small, PAYLOAD(U32(INT32_MIN)));
    testing_expect_failure(a, send(a, CALL_VAR_ADD, small, PAYLOAD(U32(-1))),
                           WEFT_FAILED_PRECONDITION, "-2147483648 + -1");
    const uint16_t array = open_array(a, "array", TUPLE_INT64, 3);
    send(a, CALL_VAR_SET, array, PAYLOAD(U64(1), U64(2), U64(INT64_MAX)));
    testing_expect_failure(a, send(a, CALL_VAR_ADD, array, PAYLOAD(U64(1), U64(1), U64(1))),
                           WEFT_FAILED_PRECONDITION, "element 2");
    testing_expect(a, send(a, CALL_VAR_READ, array, weft_none()), 0,
                   PAYLOAD(U64(1), U64(1), U64(2), U64(INT64_MAX)));
}

static void arrays_are_combined_element_by_element(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t var =
        testing_open(a, CALL_KIND_VAR, "x", PAYLOAD(U8(TUPLE_DOUBLE), U8(2), U64(1), U64(2)));
    send(a, CALL_VAR_SET, var, PAYLOAD(DOUBLE(1.5), DOUBLE(-2)));
    testing_expect(a, send(a, CALL_VAR_ADD, var, PAYLOAD(DOUBLE(0.5), DOUBLE(2))), 0,
                   PAYLOAD(U64(2), DOUBLE(2), DOUBLE(0)));
    testing_expect(a, send(a, CALL_VAR_MIN, var, PAYLOAD(DOUBLE(3), DOUBLE(-1))), 0,
                   PAYLOAD(U64(3), DOUBLE(2), DOUBLE(-1)));
    testing_expect(a, send(a, CALL_VAR_MAX, var, PAYLOAD(DOUBLE(3), DOUBLE(-4))), 0,
                   PAYLOAD(U64(4), DOUBLE(3), DOUBLE(-1)));
    const uint16_t floats = open_array(a, "floats", TUPLE_FLOAT, 2);
    const float before[] = {1, 2}, add[] = {0.5, -4}, after[] = {1.5, -2};
    send(a, CALL_VAR_SET, floats, (weft_bytes){(const char *)before, sizeof before});
    testing_expect(a, send(a, CALL_VAR_ADD, floats, (weft_bytes){(const char *)add, sizeof add}), 0,
                   PAYLOAD(U64(2), RAW_BYTES(((weft_bytes){(const char *)after, sizeof after}))));
    const uint16_t none = open_array(a, "none", TUPLE_INT64, 0);
    testing_expect(a, send(a, CALL_VAR_SET, none, weft_none()), 0, PAYLOAD(U64(1)));
    testing_expect(a, send(a, CALL_VAR_ADD, none, weft_none()), 0, PAYLOAD(U64(1)));
}

static void swap_happens_only_when_it_is_as_expected(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t var = open_var(a, "leader", TUPLE_STRING);
    testing_expect_failure(a, send(a, CALL_VAR_SWAP, var, PAYLOAD(BLOB(""), RAW("a"))),
                           WEFT_FAILED_PRECONDITION, "the variable 'leader' has no value");
    send(a, CALL_VAR_SET, var, weft_none());
    testing_expect(a, send(a, CALL_VAR_SWAP, var, PAYLOAD(BLOB(""), RAW("a"))), 0,
                   PAYLOAD(U64(2), RAW("a")));
    testing_expect(a, send(a, CALL_VAR_SWAP, var, PAYLOAD(BLOB(""), RAW("b"))), ANSWER_FLAG_MISSED,
                   PAYLOAD(U64(2), RAW("a")));
    testing_expect(a, send(a, CALL_VAR_SWAP, var, PAYLOAD(BLOB("a"), RAW("bb"))), 0,
                   PAYLOAD(U64(3), RAW("bb")));
    testing_expect_failure(a, send(a, CALL_VAR_SWAP, var, PAYLOAD(U32(100), RAW("bb"))),
                           WEFT_INVALID_ARGUMENT, "cut");
}

static void senseless_operands_are_refused(void **state)
{
    (void)state;
    struct testing_member *a = testing_join("/work/0");
    const uint16_t number = open_var(a, "number", TUPLE_INT64);
    const uint16_t flag = open_var(a, "flag", TUPLE_BOOL);
    const uint16_t text = open_var(a, "text", TUPLE_STRING);
    const struct {
        uint8_t op, flags;
        uint16_t var;
        weft_bytes payload;
        const char *words;
    } rows[] = {
        {CALL_VAR_SET, 0, number, BYTES_4, "the variable 'number' is int64 of 8 bytes, and 4 came"},
        {CALL_VAR_ADD, 0, number, BYTES_4, "int64 of 8 bytes, and 4 came"},
        {CALL_VAR_SET, 0, flag, {"\2", 1}, "bool of 1 bytes, 0 or 1"},
        {CALL_VAR_ADD, 0, flag, {"\1", 1}, "the variable 'flag' is a bool, and add is of numbers"},
        {CALL_VAR_MAX, 0, text, {"a", 1}, "the variable 'text' is a string, and max is of numbers"},
        {CALL_VAR_READ, 0, number, {"a", 1}, "no operands"},
        {CALL_VAR_WATCH, 0, number, BYTES_4, "names a version"},
        {CALL_VAR_ADD, CALL_FLAG_ONCE, number, BYTES_4, "VAR_ADD is cut before the item"},
        {CALL_VAR_ADD, CALL_FLAG_KEYED, number, BYTES_4, "the key of an addition"},
        {CALL_VAR_MIN, CALL_FLAG_KEYED, number, BYTES_4, "(VAR_MIN, flags 2)"},
        {CALL_VAR_ADD, CALL_FLAG_KEYED | CALL_FLAG_ONCE, number, BYTES_4, "(VAR_ADD, flags"},
        {CALL_VAR_READ, CALL_FLAG_ONCE, number, {NULL, 0}, "(VAR_READ, flags 32)"},
        {CALL_VAR_ADD, CALL_FLAG_IF, number, BYTES_4, "(VAR_ADD, flags 128)"},
        {CALL_KV_PUT, 0, number, {NULL, 0}, "what this variable is asked for (KV_PUT, flags 0)"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        testing_expect_failure(
            a, testing_call(a, rows[i].op, rows[i].flags, rows[i].var, rows[i].payload),
            WEFT_INVALID_ARGUMENT, rows[i].words);
    testing_expect_failure(a, send(a, CALL_VAR_ADD, number, PAYLOAD(U64(1))),
                           WEFT_FAILED_PRECONDITION, "the variable 'number' has no value yet");
}

static void senseless_attributes_are_refused(void **state)
{
    (void)state;
    const struct {
        weft_bytes attributes;
        const char *words;
    } rows[] = {
        {{"\x09", 1}, "dtype, rank and dimensions"},
        {{"\x09\0x", 3}, "dtype, rank and dimensions"},
        {{"\x09\x21", 2}, "rank of a var is at most 32"},
        {{"\x01\0", 2}, "not float"},
        {{"\x04\0", 2}, "not uint8"},
        {{"\x63\0", 2}, "not no dtype"},
        {{"\x07\x01\1\0\0\0\0\0\0\0", 10}, "not string[1]"},
        {{"\x03\x01\1\0\0\0\0\0\0\0", 10}, "not int32[1]"},
        {{"\x09\x01\xff\xff\xff\xff\xff\xff\xff\xff", 10}, "int64[?] is not a shape"},
        {{"\x09\x01\0\0\0\1\0\0\0\0", 10}, "int64[16777216] is not a shape of at most"},
        {{"\x09\x01\0\0\0\0\0\0\0\x7f", 10}, "is not a shape"},
    };
    struct testing_member *a = testing_join("/work/0");
    for (size_t i = 0; i < COUNT(rows); i++)
        testing_expect_failure(a, testing_try_open(a, CALL_KIND_VAR, "x", rows[i].attributes),
                               WEFT_INVALID_ARGUMENT, rows[i].words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(value_is_read_as_it_was_set),
        TEST(without_attributes_it_is_an_int64),
        TEST(empty_bytes_are_a_value),
        TEST(only_the_first_creates),
        TEST(integers_are_combined),
        TEST(doubles_are_combined),
        TEST(overflow_changes_nothing),
        TEST(arrays_are_combined_element_by_element),
        TEST(swap_happens_only_when_it_is_as_expected),
        TEST(senseless_operands_are_refused),
        TEST(senseless_attributes_are_refused),
    };
    return cmocka_run_group_tests_name("resource/var", tests, NULL, NULL);
}
