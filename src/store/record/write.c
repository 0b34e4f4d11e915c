// Writing pairs as text, csv, jsonl and tfrecord.

#include "base/text.h"
#include "store/record/formats.h"
#include "store/record/json_scan.h"

static const char *const output_names[OUTPUT_FORMAT_COUNT] = {
    [OUTPUT_TEXT] = "text",
    [OUTPUT_CSV] = "csv",
    [OUTPUT_JSONL] = "jsonl",
    [OUTPUT_TFRECORD] = "tfrecord",
};

static const char json_key[] = "{\"key\":", json_value[] = ",\"value\":", json_end[] = "}\n";

bool record_output_find(const char *name, enum record_output *output)
{
    for (int i = 0; i < OUTPUT_FORMAT_COUNT; i++) {
        if (strcmp(output_names[i], name) == 0) {
            *output = (enum record_output)i;
            return true;
        }
    }
    return false;
}

const char *record_output_name(enum record_output output)
{
    return output_names[output];
}

size_t record_write_max(enum record_output output, const struct record_pair *pair)
{
    const size_t size = pair->key.size + (pair->has_value ? pair->value.size : 0);
    switch (output) {
    case OUTPUT_CSV:
        return 2 * size + 6;  // each byte a quote; quotes around both, separator, end
    case OUTPUT_JSONL:
        return 6 * size + 4 + sizeof json_key + sizeof json_value + sizeof json_end;
    case OUTPUT_TFRECORD:
        return tfrecord_size(size + 1);
    case OUTPUT_TEXT:
    case OUTPUT_FORMAT_COUNT:
        break;
    }
    return size + 2;
}

static char *put(char *to, weft_bytes bytes)
{
    if (bytes.size)
        memcpy(to, bytes.data, bytes.size);
    return to + bytes.size;
}

static char *put_plain(const struct record_pair *pair, char *to)
{
    to = put(to, pair->key);
    if (!pair->has_value)
        return to;
    *to++ = '\t';
    return put(to, pair->value);
}

// ---- csv

// Readers take a byte order mark at the beginning of a file for none of its text.
static bool needs_quotes(weft_bytes field)
{
    if (record_bom_size(field))
        return true;
    for (size_t i = 0; i < field.size; i++) {
        const char c = field.data[i];
        if (c == '"' || c == ',' || c == '\n' || c == '\r')
            return true;
    }
    return false;
}

static char *put_quoted(char *to, weft_bytes field)
{
    *to++ = '"';
    for (size_t i = 0; i < field.size; i++) {
        if (field.data[i] == '"')
            *to++ = '"';
        *to++ = field.data[i];
    }
    *to++ = '"';
    return to;
}

static char *put_field(char *to, weft_bytes field)
{
    return needs_quotes(field) ? put_quoted(to, field) : put(to, field);
}

// A row of one empty field would be an empty line, which is not a row.
static char *put_csv(const struct record_pair *pair, char *to)
{
    if (!pair->has_value && pair->key.size == 0)
        to = put_quoted(to, pair->key);
    else
        to = put_field(to, pair->key);
    if (pair->has_value) {
        *to++ = ',';
        to = put_field(to, pair->value);
    }
    *to++ = '\n';
    return to;
}

// ---- jsonl

static char *put_escape(char *to, unsigned code)
{
    static const char digits[] = "0123456789abcdef";
    *to++ = '\\';
    *to++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4)
        *to++ = digits[code >> shift & 15];
    return to;
}

// A quote, a backslash or a control character.
static char *put_special(char *to, char c)
{
    static const char shorts[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = c ? strchr(shorts, c) : NULL;
    if (!found)
        return put_escape(to, (unsigned char)c);
    *to++ = '\\';
    *to++ = letters[found - shorts];
    return to;
}

static char *put_string(char *to, weft_bytes text)
{
    const char *at = text.data, *const end = text.size ? text.data + text.size : at;
    *to++ = '"';
    while (at < end) {
        const char *odd = json_find_odd(at, end);
        to = put(to, (weft_bytes){at, (size_t)(odd - at)});
        at = odd;
        if (at == end)
            break;
        const size_t length = text_utf8_length(at, end);
        if (length > 1)
            to = put(to, (weft_bytes){at, length});
        else if (length == 1)
            to = put_special(to, *at);
        else
            to = put_escape(to, 0xdc00u + (unsigned char)*at);
        at += length ? length : 1;
    }
    *to++ = '"';
    return to;
}

static char *put_json(const struct record_pair *pair, char *to)
{
    to = put_string(put(to, weft_text(json_key)), pair->key);
    if (pair->has_value) {
        to = put(to, weft_text(json_value));
        to = pair->is_number ? put(to, pair->value) : put_string(to, pair->value);
    }
    return put(to, weft_text(json_end));
}

char *record_write(enum record_output output, const struct record_pair *pair, char *to)
{
    switch (output) {
    case OUTPUT_CSV:
        return put_csv(pair, to);
    case OUTPUT_JSONL:
        return put_json(pair, to);
    case OUTPUT_TFRECORD: {
        char *data = tfrecord_data(to);
        return tfrecord_close(to, (size_t)(put_plain(pair, data) - data));
    }
    case OUTPUT_TEXT:
    case OUTPUT_FORMAT_COUNT:
        break;
    }
    to = put_plain(pair, to);
    *to++ = '\n';
    return to;
}
