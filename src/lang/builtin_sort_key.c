// Sort keys that sort by memcmp. The key of a line is the keys of its fields one behind the other, each made
// so that it ends by itself, and then the line as the last resort:
//
//   text       its bytes, 00 as 00 FF; then 00 00
//   number     81 + n, n digits before the point, the digits behind it, 00; trailing and leading zeros
//              are dropped; n from 126 on is FF and 8 bytes. Zero is 80. Negative: all bits inverted
//   reversed   the same with all bits inverted
//   the line   as it is, since nothing follows; or reversed text
//
// 00 00 sorts before every continuation, which is what "a shorter text comes first" asks for, and after
// every continuation when inverted.

#include "lang/builtin_sort_key.h"

enum {
    NUMBER_ZERO = 0x80,
    NUMBER_POSITIVE = 0x81,
    DIGITS_ESCAPE = 126,  // NUMBER_POSITIVE + this is FF: the count follows in 8 bytes
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

// ---- Fields ---------------------------------------------------------------------------------------

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

static const char *skip_word(const char *at, const char *end)
{
    while (at < end && !is_blank(*at))
        at++;
    return at;
}

static const char *find_separator(const char *at, const char *end, char separator)
{
    const char *found = at < end ? memchr(at, separator, (size_t)(end - at)) : NULL;
    return found ? found : end;
}

static const char *advance(const char *at, const char *end, size_t count)
{
    return count < (size_t)(end - at) ? at + count : end;
}

// A field begins behind a separator; without one, with the blanks in front of it.
static const char *field_start(const struct sort_order *order, const struct sort_key *key,
                               const char *at, const char *end)
{
    for (size_t i = 0; i < key->start_field && at < end; i++) {
        if (order->has_separator) {
            at = find_separator(at, end, order->separator);
            at += at < end;
        } else {
            at = skip_word(skip_blanks(at, end), end);
        }
    }
    if (key->skips_start_blanks)
        at = skip_blanks(at, end);
    return advance(at, end, key->start_char);
}

static const char *field_end(const struct sort_order *order, const struct sort_key *key,
                             const char *at, const char *end)
{
    if (key->end_field == SORT_TO_END)
        return end;
    // Without a character the whole end field belongs to the key.
    const size_t fields = key->end_field + (key->end_char == 0);
    for (size_t i = 0; i < fields && at < end; i++) {
        if (order->has_separator) {
            at = find_separator(at, end, order->separator);
            if (at < end && (i + 1 < fields || key->end_char > 0))
                at++;
        } else {
            at = skip_word(skip_blanks(at, end), end);
        }
    }
    if (key->end_char == 0)
        return at;
    if (key->skips_end_blanks)
        at = skip_blanks(at, end);
    return advance(at, end, key->end_char);
}

// ---- Encoding -------------------------------------------------------------------------------------

static void invert(char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)~bytes[i];
}

static void fold(char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(bytes[i] & ~(((unsigned char)(bytes[i] - 'a') < 26) << 5));
}

static void encode_text(struct buf *key, weft_bytes text)
{
    while (text.size > 0) {
        const char *zero = memchr(text.data, 0, text.size);
        const size_t plain = zero ? (size_t)(zero - text.data) : text.size;
        buf_append(key, text.data, plain);
        if (!zero)
            break;
        buf_append(key, "\0\xff", 2);
        text.data += plain + 1;
        text.size -= plain + 1;
    }
    buf_append(key, "\0\0", 2);
}

// What GNU sort -n reads: blanks, a minus, digits, a point, digits; anything else ends it.
struct number {
    bool is_negative;
    weft_bytes whole, fraction;  // without leading and trailing zeros
};

static struct number read_number(weft_bytes text)
{
    const char *end = text.data + text.size;
    const char *at = skip_blanks(text.data, end);
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
        while (at > number.fraction.data && at[-1] == '0')
            at--;
        number.fraction.size = (size_t)(at - number.fraction.data);
    }
    return number;
}

static void append_byte(struct buf *key, unsigned byte)
{
    const char copy = (char)byte;
    buf_append(key, &copy, 1);
}

static void encode_number(struct buf *key, weft_bytes text)
{
    const struct number number = read_number(text);
    if (number.whole.size == 0 && number.fraction.size == 0) {
        append_byte(key, NUMBER_ZERO);
        return;
    }
    const size_t start = key->size;
    if (number.whole.size < DIGITS_ESCAPE) {
        append_byte(key, NUMBER_POSITIVE + (unsigned)number.whole.size);
    } else {
        append_byte(key, NUMBER_POSITIVE + DIGITS_ESCAPE);
        const uint64_t count = __builtin_bswap64(number.whole.size);
        buf_append(key, &count, sizeof count);
    }
    buf_append(key, number.whole.data, number.whole.size);
    buf_append(key, number.fraction.data, number.fraction.size);
    append_byte(key, 0);
    if (number.is_negative && !key->has_failed)
        invert(key->data + start, key->size - start);
}

static void encode_key(const struct sort_order *order, const struct sort_key *spec, weft_bytes line,
                       struct buf *key)
{
    const char *line_end = line.data + line.size;
    const char *from = field_start(order, spec, line.data, line_end);
    const char *until = field_end(order, spec, line.data, line_end);
    const weft_bytes text = {from, until > from ? (size_t)(until - from) : 0};
    const size_t start = key->size;
    if (spec->is_numeric)
        encode_number(key, text);
    else
        encode_text(key, text);
    if (key->has_failed)
        return;
    if (spec->folds_case && !spec->is_numeric)
        fold(key->data + start, key->size - start);
    if (spec->is_reversed)
        invert(key->data + start, key->size - start);
}

void sort_order_encode(const struct sort_order *order, weft_bytes line, struct buf *key,
                       size_t *line_offset)
{
    key->size = 0;
    for (size_t i = 0; i < order->key_count; i++)
        encode_key(order, &order->keys[i], line, key);
    *line_offset = key->size;
    if (!sort_order_has_last_resort(order))
        return;
    if (!order->is_reversed) {
        buf_append(key, line.data, line.size);
        return;
    }
    encode_text(key, line);
    if (!key->has_failed)
        invert(key->data + *line_offset, key->size - *line_offset);
}

weft_bytes sort_order_decode(const struct sort_order *order, weft_bytes key, size_t line_offset,
                             struct buf *room)
{
    if (key.size == 0)
        return key;
    weft_bytes line = {key.data + line_offset, key.size - line_offset};
    if (!order->is_reversed)
        return line;
    room->size = 0;
    char *to = buf_reserve(room, line.size);
    if (!to)
        return (weft_bytes){"", 0};
    line.size -= 2;  // the end, FF FF
    for (size_t i = 0; i < line.size; i++)
        to[i] = (char)~line.data[i];
    // NUL is rare, and only behind it is there a mark to drop.
    const char *from = memchr(to, 0, line.size), *const end = to + line.size;
    to = from ? room->data + (from - room->data) : to + line.size;
    while (from && from < end) {
        *to++ = *from;
        from += *from == 0 ? 2 : 1;
    }
    room->size = (size_t)(to - room->data);
    return buf_bytes(room);
}
