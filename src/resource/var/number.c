// One loop per type and operation, written by macros because C has no other way to say "the same for
// another type". Loads and stores are copies: operands lie in messages at any address.

#include "resource/var/number.h"

#include "base/number.h"
#include "base/text.h"
#include "wire/tuple.h"

#define FOR_EACH(type, statement)                                                                  \
    for (size_t i = 0; i < count; i++) {                                                           \
        type a, b, result;                                                                         \
        memcpy(&a, now + i * sizeof a, sizeof a);                                                  \
        memcpy(&b, operand + i * sizeof b, sizeof b);                                              \
        statement;                                                                                 \
        memcpy(to + i * sizeof result, &result, sizeof result);                                    \
    }

#define DEFINE_INTEGER(type)                                                                       \
    static weft_err combine_##type(uint8_t op, char *to, const char *now, const char *operand,     \
                                   size_t count)                                                   \
    {                                                                                              \
        if (op == CALL_VAR_MIN) {                                                                  \
            FOR_EACH(type, result = b < a ? b : a);                                                \
        } else if (op == CALL_VAR_MAX) {                                                           \
            FOR_EACH(type, result = b > a ? b : a);                                                \
        } else {                                                                                   \
            FOR_EACH(type, if (__builtin_add_overflow(a, b, &result)) return overflow(i, a, b));   \
        }                                                                                          \
        return WEFT_OK;                                                                            \
    }

#define DEFINE_REAL(type)                                                                          \
    static weft_err combine_##type(uint8_t op, char *to, const char *now, const char *operand,     \
                                   size_t count)                                                   \
    {                                                                                              \
        if (op == CALL_VAR_MIN) {                                                                  \
            FOR_EACH(type, result = b < a || a != a ? b : a);                                      \
        } else if (op == CALL_VAR_MAX) {                                                           \
            FOR_EACH(type, result = b > a || a != a ? b : a);                                      \
        } else {                                                                                   \
            FOR_EACH(type, result = a + b);                                                        \
        }                                                                                          \
        return WEFT_OK;                                                                            \
    }

static weft_err overflow(size_t index, int64_t a, int64_t b)
{
    return err_set(WEFT_FAILED_PRECONDITION,
                   "element %zu does not fit any more: %lld + %lld; nothing was added", index,
                   (long long)a, (long long)b);
}

DEFINE_INTEGER(int32_t)
DEFINE_INTEGER(int64_t)
DEFINE_REAL(float)
DEFINE_REAL(double)

bool var_number_is_one(uint8_t dtype)
{
    return dtype == TUPLE_INT32 || dtype == TUPLE_INT64 || dtype == TUPLE_FLOAT ||
           dtype == TUPLE_DOUBLE;
}

weft_err var_number_combine(uint8_t dtype, uint8_t op, char *to, const char *now,
                            const char *operand, size_t count)
{
    switch (dtype) {
    case TUPLE_INT32:
        return combine_int32_t(op, to, now, operand, count);
    case TUPLE_INT64:
        return combine_int64_t(op, to, now, operand, count);
    case TUPLE_FLOAT:
        return combine_float(op, to, now, operand, count);
    default:
        ASSERT(dtype == TUPLE_DOUBLE);
        return combine_double(op, to, now, operand, count);
    }
}

void var_number_tell(uint8_t dtype, weft_bytes value, struct buf *text)
{
    enum { SHOWN_BYTES_MAX = 60 };
    char number[NUMBER_TEXT_MAX];
    int64_t whole = 0;
    int32_t small = 0;
    double real = 0;
    if (dtype == TUPLE_STRING) {
        const bool is_long = value.size > SHOWN_BYTES_MAX;
        buf_append_text(text, "\"");
        text_append_escaped(text, (weft_bytes){value.data, is_long ? SHOWN_BYTES_MAX : value.size});
        buf_format(text, is_long ? "\"... (%zu bytes)" : "\"", value.size);
        return;
    }
    ASSERT(value.size == tuple_dtype_size(dtype));
    if (dtype == TUPLE_BOOL) {
        buf_append_text(text, value.data[0] ? "true" : "false");
    } else if (dtype == TUPLE_DOUBLE) {
        memcpy(&real, value.data, sizeof real);
        buf_append(text, number, (size_t)(number_write_double(number, real) - number));
    } else if (dtype == TUPLE_INT32) {
        memcpy(&small, value.data, sizeof small);
        buf_append(text, number, (size_t)(number_write_int(number, small) - number));
    } else {
        memcpy(&whole, value.data, sizeof whole);
        buf_append(text, number, (size_t)(number_write_int(number, whole) - number));
    }
}
