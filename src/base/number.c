// Numbers as text. Integers go out two digits at a time. A double is written with as few digits as read
// back to the same double, laid out as Python's repr does but without ".0": printf finds the digits,
// the layout is done here, so that neither the locale nor the precision tried shows in the text.

#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DOUBLE_DIGITS_SURE = 15,     // this many digits survive text -> double -> text
    DOUBLE_DIGITS_MAX = 17,      // this many survive double -> text -> double
    POSITIONAL_DIGITS_MAX = 16,  // larger numbers are written with an exponent
    POSITIONAL_ZEROS_MAX = 3,    // so are those with more zeros than 0.0001 after the point
    READ_STACK_BYTES = 64,
};

// 17 significant digits and the power of ten of the first, between which a double is laid out.
struct decimal {
    char digits[DOUBLE_DIGITS_MAX + 1];
    int count, exponent;
};

static const char digit_pairs[] = "0001020304050607080910111213141516171819"
                                  "2021222324252627282930313233343536373839"
                                  "4041424344454647484950515253545556575859"
                                  "6061626364656667686970717273747576777879"
                                  "8081828384858687888990919293949596979899";

static int count_digits(uint64_t value)
{
    int count = 1;
    for (; value >= 10000; value /= 10000)
        count += 4;
    return count + (value >= 1000 ? 3 : value >= 100 ? 2 : value >= 10 ? 1 : 0);
}

char *number_write_int(char *to, int64_t value)
{
    uint64_t rest = (uint64_t)value;
    if (value < 0) {
        *to++ = '-';
        rest = 0 - rest;
    }
    char *const end = to + count_digits(rest);
    char *at = end;
    for (; rest >= 100; rest /= 100)
        memcpy(at -= 2, digit_pairs + 2 * (rest % 100), 2);
    if (rest >= 10)
        memcpy(at - 2, digit_pairs + 2 * rest, 2);
    else
        at[-1] = (char)('0' + rest);
    return end;
}

// A program that uses the library may have set a locale with another decimal point. glibc's "C" object
// is a constant: asking for it allocates nothing.
static locale_t c_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

// d.ddde[+-]xx of `count` digits, taken apart. `value` is finite and positive.
static void decimal_take(struct decimal *decimal, double value, int count)
{
    char text[48];
    snprintf(text, sizeof text, "%.*e", count - 1, value);
    decimal->digits[0] = text[0];
    if (count > 1)
        memcpy(decimal->digits + 1, text + 2, (size_t)count - 1);
    decimal->count = count;
    decimal->exponent = atoi(text + (count > 1 ? count + 1 : 1) + 1);
}

static bool decimal_reads_as(const struct decimal *decimal, double value)
{
    char text[48];
    snprintf(text, sizeof text, "%.*se%d", decimal->count, decimal->digits,
             decimal->exponent - decimal->count + 1);
    return strtod(text, NULL) == value;
}

// Adds one to the last digit; false for 99...9.
static bool decimal_increment(struct decimal *decimal)
{
    for (int i = decimal->count - 1; i >= 0; i--) {
        if (decimal->digits[i] != '9') {
            decimal->digits[i]++;
            return true;
        }
        decimal->digits[i] = '0';
    }
    return false;
}

// As few digits as read back the same; among those of equal length the nearest.
static void decimal_shortest(struct decimal *decimal, double value)
{
    // Normal numbers: nothing shorter than 15 digits is missed by trying 15 and dropping zeros.
    int count = value < 0x1p-1022 ? 1 : DOUBLE_DIGITS_SURE;
    for (; count < DOUBLE_DIGITS_MAX; count++) {
        decimal_take(decimal, value, count);
        if (decimal_reads_as(decimal, value))
            break;
        // Below a power of two doubles stand closer than above: the nearest decimal may be another
        // double's while the next one up is still ours.
        int binary_exponent;
        if (frexp(value, &binary_exponent) == 0.5 && decimal_increment(decimal) &&
            decimal_reads_as(decimal, value))
            break;
    }
    if (count == DOUBLE_DIGITS_MAX)
        decimal_take(decimal, value, count);
    while (decimal->count > 1 && decimal->digits[decimal->count - 1] == '0')
        decimal->count--;
}

static char *put_zeros(char *to, int count)
{
    memset(to, '0', (size_t)count);
    return to + count;
}

static char *put_digits(char *to, const struct decimal *decimal, int from, int until)
{
    memcpy(to, decimal->digits + from, (size_t)(until - from));
    return to + (until - from);
}

static char *put_positional(char *to, const struct decimal *decimal)
{
    const int whole = decimal->exponent + 1;  // digits before the point
    if (whole <= 0) {
        *to++ = '0';
        *to++ = '.';
        to = put_zeros(to, -whole);
        return put_digits(to, decimal, 0, decimal->count);
    }
    if (whole >= decimal->count)
        return put_zeros(put_digits(to, decimal, 0, decimal->count), whole - decimal->count);
    to = put_digits(to, decimal, 0, whole);
    *to++ = '.';
    return put_digits(to, decimal, whole, decimal->count);
}

static char *put_exponential(char *to, const struct decimal *decimal)
{
    *to++ = decimal->digits[0];
    if (decimal->count > 1) {
        *to++ = '.';
        to = put_digits(to, decimal, 1, decimal->count);
    }
    *to++ = 'e';
    *to++ = decimal->exponent < 0 ? '-' : '+';
    const int exponent = abs(decimal->exponent);
    if (exponent < 10)
        *to++ = '0';  // two digits at least, as everybody writes them
    return number_write_int(to, exponent);
}

static char *put_text(char *to, const char *text)
{
    const size_t size = strlen(text);
    memcpy(to, text, size);
    return to + size;
}

char *number_write_double(char *to, double value)
{
    if (isnan(value))
        return put_text(to, "nan");
    if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value &&
        !(value == 0 && signbit(value)))
        return number_write_int(to, (int64_t)value);
    if (signbit(value))
        *to++ = '-';
    if (isinf(value))
        return put_text(to, "inf");
    if (value == 0)
        return put_text(to, "0");
    const locale_t before = uselocale(c_locale());
    struct decimal decimal;
    decimal_shortest(&decimal, fabs(value));
    uselocale(before);
    if (decimal.exponent < -POSITIONAL_ZEROS_MAX - 1 || decimal.exponent >= POSITIONAL_DIGITS_MAX)
        return put_exponential(to, &decimal);
    return put_positional(to, &decimal);
}

bool number_read_int(weft_bytes text, int64_t *value)
{
    size_t at = 0;
    const bool is_negative = text.size > 0 && text.data[0] == '-';
    if (is_negative || (text.size > 0 && text.data[0] == '+'))
        at++;
    if (at == text.size)
        return false;
    uint64_t sum = 0;
    for (; at < text.size; at++) {
        const unsigned digit = (unsigned)(unsigned char)text.data[at] - '0';
        if (digit > 9 || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, digit, &sum))
            return false;
    }
    if (sum > (uint64_t)INT64_MAX + is_negative)
        return false;
    *value = (int64_t)(is_negative ? 0 - sum : sum);
    return true;
}

// The digits seen of a decimal number; the fast way needs no more.
struct seen {
    uint64_t digits;   // without the point, as long as there are at most 19
    int digit_count;   // leading zeros not counted
    int64_t exponent;  // of ten, for `digits`
    bool is_negative;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t see_digits(weft_bytes text, size_t at, struct seen *seen, bool is_fraction)
{
    for (; at < text.size && is_digit(text.data[at]); at++) {
        if (seen->digit_count > 0 || text.data[at] != '0')
            seen->digit_count++;
        if (seen->digit_count <= 19)
            seen->digits = seen->digits * 10 + (uint64_t)(text.data[at] - '0');
        seen->exponent -= is_fraction;
    }
    return at;
}

// [+-] digits [. digits] [e [+-] digits], at least one digit before the e; false: it is not.
static bool see_decimal(weft_bytes text, struct seen *seen)
{
    size_t at = 0;
    *seen = (struct seen){.is_negative = text.size > 0 && text.data[0] == '-'};
    if (seen->is_negative || (text.size > 0 && text.data[0] == '+'))
        at++;
    const size_t start = at;
    at = see_digits(text, at, seen, false);
    size_t digits = at - start;
    if (at < text.size && text.data[at] == '.') {
        const size_t fraction = ++at;
        at = see_digits(text, at, seen, true);
        digits += at - fraction;
    }
    if (digits == 0)
        return false;
    if (at == text.size)
        return true;
    if (text.data[at] != 'e' && text.data[at] != 'E')
        return false;
    int64_t exponent;
    const weft_bytes rest = {text.data + at + 1, text.size - at - 1};
    if (!number_read_int(rest, &exponent)) {
        // So large an exponent that it does not fit is still a number: strtod knows which.
        struct seen large;
        seen->digit_count = 99;
        return rest.size > 18 && !memchr(rest.data, '.', rest.size) && see_decimal(rest, &large);
    }
    if (__builtin_add_overflow(seen->exponent, exponent, &seen->exponent))
        seen->digit_count = 99;
    return true;
}

// Ends with a zero byte for strtod's sake, out of the way of other locales.
static bool read_slowly(weft_bytes text, double *value)
{
    char stack[READ_STACK_BYTES];
    char *copy = text.size < sizeof stack ? stack : malloc(text.size + 1);
    if (!copy)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    *value = strtod_l(copy, NULL, c_locale());
    if (copy != stack)
        free(copy);
    return isfinite(*value);
}

bool number_read_double(weft_bytes text, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct seen seen;
    if (!see_decimal(text, &seen)) {
        const bool has_sign = text.size > 0 && (text.data[0] == '-' || text.data[0] == '+');
        const weft_bytes word = {text.data + has_sign, text.size - has_sign};
        if (word.size != 3)
            return false;
        const double sign = has_sign && text.data[0] == '-' ? -1 : 1;
        *value = memcmp(word.data, "inf", 3) == 0 ? sign * HUGE_VAL : (double)NAN;
        return isinf(*value) || memcmp(word.data, "nan", 3) == 0;
    }
    // Both numbers are exact doubles, so one division or product rounds once.
    if (seen.digit_count <= DOUBLE_DIGITS_SURE && seen.exponent >= -22 && seen.exponent <= 22) {
        const double digits = (double)seen.digits;
        const double size =
            seen.exponent < 0 ? digits / powers[-seen.exponent] : digits * powers[seen.exponent];
        *value = seen.is_negative ? -size : size;
        return true;
    }
    return read_slowly(text, value);
}
