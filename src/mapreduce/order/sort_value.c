// Numbers, months and versions as bytes.
//
//   number    81 + n, n digits before the point, the digits after it, 00; leading and trailing
//             zeros are dropped; n from 126 on is FF and 8 bytes. Zero is 80. Negative: all bits
//             inverted
//   general   0 no number, 1 not-a-number: its bits, 2 a number: its sign, exponent and mantissa
//   human     80 + its unit, then the number
//   month     0 none, 1 to 12
//   version   its class, then its parts without its suffixes, then with them
//
// The parts of a version are compared as gnulib's filevercmp does, whose rules order a text against one that
// has ended: ~ comes before the end, and a number that is zero counts as none. So the end has a place among the
// codes, and so has a zero that a ~ follows:
//
//   00 ~    01 zero, ~ follows    02 the end    03 a number, n, n digits    41..7a letters    80 any other byte

#include "mapreduce/order/sort_value.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NUMBER_ZERO = 0x80,
    NUMBER_POSITIVE = 0x81,
    DIGITS_ESCAPE = 126,  // NUMBER_POSITIVE + this is FF: the count follows in 8 bytes

    GENERAL_NONE = 0,
    GENERAL_NAN,
    GENERAL_NUMBER,

    UNIT_NONE = 0x80,

    VERSION_EMPTY = 0,
    VERSION_DOT,
    VERSION_DOTS,
    VERSION_HIDDEN,
    VERSION_OTHER,

    PART_TILDE = 0,
    PART_ZERO_TILDE,
    PART_END,
    PART_NUMBER,
    PART_OTHER = 0x80,
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(char byte)
{
    return (unsigned char)((byte | 0x20) - 'a') < 26;
}

static char upper(char byte)
{
    return (char)(byte & ~(((unsigned char)(byte - 'a') < 26) << 5));
}

static weft_bytes skip_blanks(weft_bytes text)
{
    while (text.size > 0 && is_blank(text.data[0])) {
        text.data++;
        text.size--;
    }
    return text;
}

static void append_byte(struct buf *key, unsigned byte)
{
    const char copy = (char)byte;
    buf_append(key, &copy, 1);
}

static void invert_from(struct buf *key, size_t start)
{
    for (size_t i = start; i < key->size && !key->has_failed; i++)
        key->data[i] = (char)~key->data[i];
}

// ---- Numbers ------------------------------------------------------------------------------------------

// What GNU sort -n reads: blanks, a minus, digits, a point, digits; anything else ends it.
struct number {
    bool is_negative;
    weft_bytes whole, fraction;  // without leading and trailing zeros
    char behind;                 // the byte that ends it; 0: none
};

static struct number read_number(weft_bytes text)
{
    text = skip_blanks(text);
    const char *at = text.data, *end = text.data + text.size;
    struct number number = {.is_negative = at < end && *at == '-'};
    at += number.is_negative;
    while (at < end && *at == '0')
        at++;
    number.whole.data = at;
    while (at < end && is_digit(*at))
        at++;
    number.whole.size = (size_t)(at - number.whole.data);
    if (at < end && *at == '.') {
        number.fraction.data = ++at;
        while (at < end && is_digit(*at))
            at++;
        const char *last = at;
        while (last > number.fraction.data && last[-1] == '0')
            last--;
        number.fraction.size = (size_t)(last - number.fraction.data);
    }
    number.behind = at < end ? *at : 0;
    return number;
}

static bool is_zero(const struct number *number)
{
    return number->whole.size == 0 && number->fraction.size == 0;
}

static void append_count(struct buf *key, size_t count)
{
    if (count < DIGITS_ESCAPE) {
        append_byte(key, NUMBER_POSITIVE + (unsigned)count);
        return;
    }
    append_byte(key, NUMBER_POSITIVE + DIGITS_ESCAPE);
    const uint64_t big_endian = __builtin_bswap64(count);
    buf_append(key, &big_endian, sizeof big_endian);
}

static void encode_number(struct buf *key, const struct number *number)
{
    const size_t start = key->size;
    if (is_zero(number)) {
        append_byte(key, NUMBER_ZERO);
        return;
    }
    append_count(key, number->whole.size);
    buf_append(key, number->whole.data, number->whole.size);
    buf_append(key, number->fraction.data, number->fraction.size);
    append_byte(key, 0);
    if (number->is_negative)
        invert_from(key, start);
}

// Of the small letters only k is a unit, unless case is folded.
static void encode_human(struct buf *key, weft_bytes text, bool folds_case)
{
    static const char units[] = "KMGTPEZY";
    const struct number number = read_number(text);
    const char letter = number.behind == 'k' || folds_case ? upper(number.behind) : number.behind;
    const char *unit = letter && !is_zero(&number) ? strchr(units, letter) : NULL;
    const int order = unit ? (int)(unit - units) + 1 : 0;
    append_byte(key, (unsigned)(UNIT_NONE + (number.is_negative ? -order : order)));
    encode_number(key, &number);
}

// The value's order as bytes: the exponent and the mantissa of a positive one, all inverted of a negative one.
static void encode_value(struct buf *key, long double value)
{
    const size_t start = key->size;
    int exponent = 0;
    const bool is_negative = signbit(value) && value != 0;
    long double part = isinf(value) ? 0.5L : frexpl(fabsl(value), &exponent);
    const unsigned biased = isinf(value) ? UINT16_MAX
                            : value == 0 ? 0
                                         : (unsigned)(exponent + 0x6000);
    append_byte(key, 0x80);
    append_byte(key, biased >> 8);
    append_byte(key, biased & 0xff);
    for (int bits = 0; bits < LDBL_MANT_DIG; bits += 32) {
        part = ldexpl(part, 32);
        const uint32_t word = (uint32_t)part;
        part -= word;
        const uint32_t big_endian = __builtin_bswap32(word);
        buf_append(key, &big_endian, sizeof big_endian);
    }
    if (is_negative)
        invert_from(key, start);
}

static void encode_general(struct buf *key, weft_bytes text)
{
    char room[128];
    char *copy = text.size < sizeof room ? room : malloc(text.size + 1);
    char *end;
    if (!copy) {
        key->has_failed = true;
        return;
    }
    memcpy(copy, text.data ? text.data : "", text.size);
    copy[text.size] = 0;
    const long double value = strtold(copy, &end);
    if (end == copy) {
        append_byte(key, GENERAL_NONE);
    } else if (isnan(value)) {
        // GNU sort orders them by how they lie in memory; on x86 ten bytes of them count.
        append_byte(key, GENERAL_NAN);
        buf_append(key, &value, LDBL_MANT_DIG == 64 ? 10 : sizeof value);
    } else {
        append_byte(key, GENERAL_NUMBER);
        encode_value(key, value);
    }
    if (copy != room)
        free(copy);
}

// ---- Months -------------------------------------------------------------------------------------------

static void encode_month(struct buf *key, weft_bytes text)
{
    static const char names[] = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
    unsigned month = 0;
    text = skip_blanks(text);
    for (unsigned i = 0; i < 12 && text.size >= 3; i++)
        if (upper(text.data[0]) == names[3 * i] && upper(text.data[1]) == names[3 * i + 1] &&
            upper(text.data[2]) == names[3 * i + 2])
            month = i + 1;
    append_byte(key, month);
}

// ---- Versions -----------------------------------------------------------------------------------------

static void encode_part(struct buf *key, char byte, bool folds_case)
{
    if (byte == '~') {
        append_byte(key, PART_TILDE);
    } else if (is_letter(byte)) {
        append_byte(key, (unsigned char)(folds_case ? upper(byte) : byte));
    } else {
        append_byte(key, PART_OTHER);
        append_byte(key, (unsigned char)byte);
    }
}

static void encode_parts(struct buf *key, weft_bytes text, bool folds_case)
{
    const char *at = text.data, *end = text.data + text.size;
    while (at < end) {
        if (!is_digit(*at)) {
            encode_part(key, *at++, folds_case);
            continue;
        }
        while (at < end && *at == '0')
            at++;
        const char *digits = at;
        while (at < end && is_digit(*at))
            at++;
        const size_t count = (size_t)(at - digits);
        if (count == 0 && at == end)
            break;  // zero at the end is the end
        if (count == 0 && *at == '~') {
            append_byte(key, PART_ZERO_TILDE);
            continue;
        }
        append_byte(key, PART_NUMBER);
        append_count(key, count);
        buf_append(key, digits, count);
    }
    append_byte(key, PART_END);
}

// How many bytes come before the suffixes, each of which is a point, a letter or ~, and then those and digits.
static size_t without_suffixes(weft_bytes text)
{
    const char *at = text.data;
    const size_t size = text.size;
    for (size_t i = 0;; i++) {
        const size_t prefix = i;
        while (i + 1 < size && at[i] == '.' && (is_letter(at[i + 1]) || at[i + 1] == '~'))
            for (i += 2; i < size && (is_letter(at[i]) || is_digit(at[i]) || at[i] == '~');)
                i++;
        if (i >= size)
            return prefix;
    }
}

static unsigned class_of(weft_bytes text)
{
    if (text.size == 0)
        return VERSION_EMPTY;
    if (text.data[0] != '.')
        return VERSION_OTHER;
    if (text.size == 1)
        return VERSION_DOT;
    return text.size == 2 && text.data[1] == '.' ? VERSION_DOTS : VERSION_HIDDEN;
}

static void encode_version(struct buf *key, weft_bytes text, bool folds_case)
{
    const unsigned class = class_of(text);
    append_byte(key, class);
    if (class < VERSION_HIDDEN)
        return;
    encode_parts(key, (weft_bytes){text.data, without_suffixes(text)}, folds_case);
    encode_parts(key, text, folds_case);
}

void sort_encode_value(struct buf *key, weft_bytes text, enum sort_kind kind, bool folds_case)
{
    switch (kind) {
    case SORT_TEXT:
    case SORT_NUMBER: {
        const struct number number = read_number(text);
        encode_number(key, &number);
        return;
    }
    case SORT_HUMAN:
        encode_human(key, text, folds_case);
        return;
    case SORT_GENERAL:
        encode_general(key, text);
        return;
    case SORT_MONTH:
        encode_month(key, text);
        return;
    case SORT_VERSION:
        encode_version(key, text, folds_case);
        return;
    }
}
