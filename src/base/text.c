// text: what people write is read strictly (a typo in a size must not become another size), what
// people read is short.

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORD_BYTES_MAX = 64 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool text_read_count(const char *text, uint64_t max, uint64_t *value)
{
    uint64_t number = 0;
    if (!is_digit(*text))
        return false;
    for (; is_digit(*text); text++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (*text || number == 0 || number > max)
        return false;
    *value = number;
    return true;
}

// Reads "12" or "12.345" as thousandths and leaves *text after it. More than three digits after
// the point are refused: they would be a mistake.
static bool read_thousandths(const char **text, uint64_t *thousandths)
{
    const char *at = *text;
    uint64_t number = 0;
    if (!is_digit(*at))
        return false;
    for (; is_digit(*at); at++) {
        if (number > UINT64_MAX / 10000 / 10)
            return false;
        number = number * 10 + (uint64_t)(*at - '0');
    }
    int digits = 0;
    if (*at == '.') {
        for (at++; is_digit(*at) && digits < 3; at++, digits++)
            number = number * 10 + (uint64_t)(*at - '0');
        if (digits == 0)
            return false;
    }
    for (; digits < 3; digits++)
        number *= 10;
    *text = at;
    *thousandths = number;
    return true;
}

struct unit {
    const char *name;
    uint64_t factor;
};

// value * factor / 1000 of the unit that ends the text; false when there is none such.
static bool apply_unit(const struct unit *units, const char *name, uint64_t thousandths,
                       uint64_t *value)
{
    for (; units->name; units++) {
        if (strcmp(units->name, name) != 0)
            continue;
        uint64_t product;
        if (__builtin_mul_overflow(thousandths, units->factor, &product))
            return false;
        *value = product / 1000;
        return *value > 0;
    }
    return false;
}

bool text_read_size(const char *text, uint64_t *bytes)
{
    static const struct unit units[] = {
        {"", 1},
        {"B", 1},
        {"K", UINT64_C(1) << 10},
        {"k", UINT64_C(1) << 10},
        {"KB", UINT64_C(1) << 10},
        {"KiB", UINT64_C(1) << 10},
        {"M", UINT64_C(1) << 20},
        {"m", UINT64_C(1) << 20},
        {"MB", UINT64_C(1) << 20},
        {"MiB", UINT64_C(1) << 20},
        {"G", UINT64_C(1) << 30},
        {"g", UINT64_C(1) << 30},
        {"GB", UINT64_C(1) << 30},
        {"GiB", UINT64_C(1) << 30},
        {"T", UINT64_C(1) << 40},
        {"t", UINT64_C(1) << 40},
        {"TB", UINT64_C(1) << 40},
        {"TiB", UINT64_C(1) << 40},
        {NULL, 0},
    };
    uint64_t thousandths;
    return read_thousandths(&text, &thousandths) && apply_unit(units, text, thousandths, bytes);
}

bool text_read_duration(const char *text, uint32_t *milliseconds)
{
    static const struct unit units[] = {
        {"ms", 1}, {"s", 1000}, {"", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {NULL, 0},
    };
    uint64_t thousandths, value;
    if (!read_thousandths(&text, &thousandths) || !apply_unit(units, text, thousandths, &value) ||
        value > UINT32_MAX)
        return false;
    *milliseconds = (uint32_t)value;
    return true;
}

void text_append_bytes(struct buf *buf, uint64_t bytes)
{
    static const char *const names[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        buf_format(buf, "%" PRIu64 " B", bytes);
        return;
    }
    double value = (double)bytes / 1000;
    size_t unit = 0;
    // 999.5 would be printed as 1000 with three digits: it belongs to the next unit.
    for (; value >= 999.5 && unit + 1 < sizeof names / sizeof *names; unit++)
        value /= 1000;
    buf_format(buf, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, names[unit]);
}

void text_append_size(struct buf *buf, uint64_t bytes)
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    uint64_t whole = bytes >> 10;
    if (bytes == 0 || bytes % 1024) {
        text_append_bytes(buf, bytes);
        return;
    }
    for (; whole % 1024 == 0 && unit + 1 < sizeof names / sizeof *names; unit++)
        whole /= 1024;
    if (whole >= 10000)
        text_append_bytes(buf, bytes);
    else
        buf_format(buf, "%" PRIu64 " %s", whole, names[unit]);
}

void text_append_count(struct buf *buf, uint64_t count)
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            buf_append(buf, ",", 1);
        buf_append(buf, digits + i, 1);
    }
}

void text_append_duration(struct buf *buf, uint64_t nanoseconds)
{
    const double seconds = (double)nanoseconds / 1e9;
    const uint64_t whole = (nanoseconds + 500000000) / 1000000000;
    if (seconds < 9.9995)
        buf_format(buf, "%.3f s", seconds);
    else if (seconds < 99.95)
        buf_format(buf, "%.1f s", seconds);
    else if (whole < 3600)
        buf_format(buf, "%" PRIu64 "m %02" PRIu64 "s", whole / 60, whole % 60);
    else
        buf_format(buf, "%" PRIu64 "h %02" PRIu64 "m", whole / 3600, whole % 3600 / 60);
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

// The usual table, three rows of it: this one, the one above, and the one above that for swaps.
size_t text_distance(const char *a, const char *b)
{
    const size_t a_size = strnlen(a, WORD_BYTES_MAX + 1), b_size = strnlen(b, WORD_BYTES_MAX + 1);
    if (a_size > WORD_BYTES_MAX || b_size > WORD_BYTES_MAX)
        return TEXT_FAR;
    size_t rows[3][WORD_BYTES_MAX + 1];
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            const size_t change = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smallest(change, above[j] + 1, row[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smallest(row[j], rows[(i - 2) % 3][j - 2] + 1, row[j]);
        }
    }
    return rows[a_size % 3][b_size];
}

bool text_read_byte(const char *text, unsigned char *byte)
{
    static const char letters[] = "tnr0\\", bytes[] = "\t\n\r\0\\";
    const size_t length = strlen(text);
    *byte = (unsigned char)text[0];
    if (length == 1)
        return true;
    if (length == 2 && text[0] == '\\') {
        const char *letter = strchr(letters, text[1]);
        *byte = letter ? (unsigned char)bytes[letter - letters] : 0;
        return letter;
    }
    if (length != 4 || strncmp(text, "\\x", 2) != 0 ||
        strspn(text + 2, "0123456789abcdefABCDEF") != 2)
        return false;
    *byte = (unsigned char)strtoul(text + 2, NULL, 16);
    return true;
}

void text_append_escaped(struct buf *buf, weft_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        const unsigned char byte = (unsigned char)bytes.data[i];
        if (byte == '"' || byte == '\\')
            buf_format(buf, "\\%c", byte);
        else if (byte >= ' ' && byte < 127)
            buf_append(buf, &bytes.data[i], 1);
        else if (byte == '\n' || byte == '\t' || byte == '\r')
            buf_append_text(buf, byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : "\\r");
        else
            buf_format(buf, "\\x%02x", byte);
    }
}

size_t text_utf8_length(const char *at, const char *end)
{
    const unsigned char *bytes = (const unsigned char *)at;
    const unsigned char first = bytes[0];
    if (first < 0x80)
        return 1;
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || (size_t)(end - at) < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    const unsigned char second = bytes[1];
    const bool is_wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                          (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
    return is_wrong ? 0 : length;
}

// The length of the character at `at` if a terminal only shows it, and 0 if it may act on it. U+0080 to U+009F are control
// characters.
static size_t shown_length(const char *at, const char *end)
{
    const unsigned char first = (unsigned char)at[0];
    const size_t length = text_utf8_length(at, end);
    if (length == 1)
        return (first >= 0x20 && first != 0x7f) || first == '\n' || first == '\t';
    if (length == 2 && first == 0xc2 && (unsigned char)at[1] < 0xa0)
        return 0;
    return length;
}

void text_append_printable(struct buf *buf, const char *text)
{
    const char *const end = text + strlen(text);
    while (text < end) {
        const size_t length = shown_length(text, end);
        if (length > 0)
            buf_append(buf, text, length);
        else
            buf_format(buf, "\\x%02x", (unsigned char)text[0]);
        text += length > 0 ? length : 1;
    }
}

void text_append_message(struct buf *buf, const char *program, const char *sentence)
{
    buf_format(buf, "%s: ", program);
    text_append_printable(buf, sentence);
    buf_append_text(buf, "\n");
}

void text_append_shell_word(struct buf *buf, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./,:@%";
    if (*word && !word[strspn(word, plain)]) {
        buf_append_text(buf, word);
        return;
    }
    buf_append_text(buf, "'");
    for (; *word; word++) {
        if (*word == '\'')
            buf_append_text(buf, "'\\''");
        else
            buf_append(buf, word, 1);
    }
    buf_append_text(buf, "'");
}
