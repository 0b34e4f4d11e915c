// json: the only state of the writer is the last byte of the buffer, which decides whether a comma is
// due.

#include "base/json.h"

#include <inttypes.h>
#include <jansson.h>

#include "base/text.h"

static void append_ascii(struct buf *buf, unsigned char c)
{
    static const char shorts[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
    const char *found = c ? strchr(shorts, c) : NULL;
    if (found)
        buf_format(buf, "\\%c", letters[found - shorts]);
    else if (c < 0x20 || c == 0x7f)
        buf_format(buf, "\\u%04x", c);
    else
        buf_append(buf, &c, 1);
}

void json_append_string(struct buf *buf, weft_bytes text)
{
    buf_append(buf, "\"", 1);
    while (text.size > 0) {
        const size_t length = text_utf8_length(text.data, text.data + text.size);
        if (length == 1)
            append_ascii(buf, (unsigned char)text.data[0]);
        else if (length > 1)
            buf_append(buf, text.data, length);
        else
            buf_append_text(buf, "\\ufffd");
        const size_t taken = length ? length : 1;
        text.data += taken;
        text.size -= taken;
    }
    buf_append(buf, "\"", 1);
}

static void append_name(struct buf *buf, const char *name)
{
    const char last = buf->size ? buf->data[buf->size - 1] : '{';
    if (last != '{' && last != '[' && last != '\n')
        buf_append(buf, ",", 1);
    if (name) {
        json_append_string(buf, weft_text(name));
        buf_append(buf, ":", 1);
    }
}

void json_append_text(struct buf *buf, const char *name, const char *text)
{
    append_name(buf, name);
    if (text)
        json_append_string(buf, weft_text(text));
    else
        buf_append_text(buf, "null");
}

void json_append_uint(struct buf *buf, const char *name, uint64_t value)
{
    append_name(buf, name);
    buf_format(buf, "%" PRIu64, value);
}

void json_append_int(struct buf *buf, const char *name, int64_t value)
{
    append_name(buf, name);
    buf_format(buf, "%" PRId64, value);
}

void json_append_bool(struct buf *buf, const char *name, bool value)
{
    append_name(buf, name);
    buf_append_text(buf, value ? "true" : "false");
}

void json_append_seconds(struct buf *buf, const char *name, uint64_t nanoseconds)
{
    const uint64_t milliseconds = nanoseconds / 1000000 + (nanoseconds % 1000000 >= 500000);
    append_name(buf, name);
    buf_format(buf, "%" PRIu64 ".%03u", milliseconds / 1000, (unsigned)(milliseconds % 1000));
}

void json_open(struct buf *buf, const char *name, char bracket)
{
    append_name(buf, name);
    buf_append(buf, &bracket, 1);
}

void json_close(struct buf *buf, char bracket)
{
    buf_append(buf, &bracket, 1);
}

const char *json_type_text(const struct json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "null";
    }
}
