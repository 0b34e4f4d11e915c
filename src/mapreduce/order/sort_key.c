// Sort keys that sort by memcmp. The key of a line is the keys of its fields one after the other,
// each made so that it ends by itself, and then the line as the last resort:
//
//   text       its bytes, 00 as 00 FF; then 00 00
//   value      a number, month or version: sort_value.c
//   reversed   the same with all bits inverted
//   the line   as it is, since nothing follows; or reversed text
//
// 00 00 sorts before every continuation, which is what "a shorter text comes first" asks for, and after
// every continuation when inverted.

#include "mapreduce/order/sort_key.h"

#include "mapreduce/order/sort_value.h"

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

static bool is_ignored(enum sort_ignored ignored, char byte)
{
    const bool is_letter =
        (unsigned char)((byte | 0x20) - 'a') < 26 || (byte >= '0' && byte <= '9');
    return ignored == SORT_IGNORES_PUNCTUATION ? !is_letter && !is_blank(byte)
                                               : byte < ' ' || byte > '~';
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

// A field begins after a separator; without one, with the blanks before it.
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

// The bytes of the text that count, kept in `kept`.
static weft_bytes filter(struct buf *kept, weft_bytes text, enum sort_ignored ignored)
{
    char *to = buf_reserve(kept, text.size + 1);
    for (size_t i = 0; to && i < text.size; i++)
        if (!is_ignored(ignored, text.data[i]))
            to[kept->size++] = text.data[i];
    return buf_bytes(kept);
}

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

static void encode_key(const struct sort_order *order, const struct sort_key *spec, weft_bytes line,
                       struct buf *key)
{
    const char *line_end = line.data + line.size;
    const char *from = field_start(order, spec, line.data, line_end);
    const char *until = field_end(order, spec, line.data, line_end);
    weft_bytes text = {from, until > from ? (size_t)(until - from) : 0};
    struct buf kept = {0};
    const size_t start = key->size;
    if (spec->ignored)
        text = filter(&kept, text, spec->ignored);
    if (spec->kind)
        sort_encode_value(key, text, spec->kind, spec->folds_case);
    else
        encode_text(key, text);
    key->has_failed |= kept.has_failed;
    buf_fini(&kept);
    if (key->has_failed)
        return;
    if (spec->folds_case && !spec->kind)
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
    // NUL is rare, and only after it is there a mark to drop.
    const char *from = memchr(to, 0, line.size), *const end = to + line.size;
    to = from ? room->data + (from - room->data) : to + line.size;
    while (from && from < end) {
        *to++ = *from;
        from += *from == 0 ? 2 : 1;
    }
    room->size = (size_t)(to - room->data);
    return buf_bytes(room);
}
