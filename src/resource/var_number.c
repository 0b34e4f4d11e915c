// One loop per type and operation, written by macros because C has no other way to say "the same for
// another type". Loads and stores are copies: operands lie in messages at any address.

#include "resource/var_number.h"

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
