// The words for formats: "csv:header,separator=;".

#include "store/record/record.h"

#include <stdlib.h>

static const char *const kind_names[RECORD_KIND_COUNT] = {
    [RECORD_LINES] = "lines", [RECORD_CHUNKS] = "chunks", [RECORD_FILES] = "files",
    [RECORD_CSV] = "csv",     [RECORD_JSONL] = "jsonl",   [RECORD_TFRECORD] = "tfrecord",
    [RECORD_FIXED] = "fixed",
};

static bool find_kind(weft_bytes name, enum record_kind *kind)
{
    for (int i = 0; i < RECORD_KIND_COUNT; i++) {
        if (strlen(kind_names[i]) == name.size &&
            memcmp(kind_names[i], name.data, name.size) == 0) {
            *kind = (enum record_kind)i;
            return true;
        }
    }
    return false;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 87 : -1;
}

// A byte as people write it: itself, or \t \n \r \0 \\ \x1f. Returns what follows, NULL when it is none.
static const char *read_byte(const char *text, unsigned char *byte)
{
    static const char letters[] = "tnr0\\", bytes[] = "\t\n\r\0\\";
    if (*text == 0)
        return NULL;
    *byte = (unsigned char)*text;
    if (*text != '\\')
        return text + 1;
    const char *letter = text[1] ? strchr(letters, text[1]) : NULL;
    if (letter) {
        *byte = (unsigned char)bytes[letter - letters];
        return text + 2;
    }
    if (text[1] != 'x' || hex_digit(text[2]) < 0 || hex_digit(text[3]) < 0)
        return NULL;
    *byte = (unsigned char)(hex_digit(text[2]) * 16 + hex_digit(text[3]));
    return text + 4;
}

// If the text begins with "name=": sets the byte after it and returns the text that follows; else
// NULL.
static const char *read_setting(const char *text, const char *name, unsigned char *byte)
{
    const size_t size = strlen(name);
    if (strncmp(text, name, size) != 0 || text[size] != '=')
        return NULL;
    return read_byte(text + size + 1, byte);
}

// One option of a format; returns what follows, NULL when the format has no such option.
static const char *read_option(const char *text, struct record_format *format)
{
    if (format->kind == RECORD_CSV) {
        if (strncmp(text, "header", 6) == 0) {
            format->has_header = true;
            return text + 6;
        }
        return read_setting(text, "separator", &format->separator);
    }
    if (format->kind == RECORD_LINES || format->kind == RECORD_CHUNKS)
        return read_setting(text, "delimiter", &format->delimiter);
    return NULL;
}

static weft_err parse_fixed(const char *text, struct record_format *format)
{
    char *end;
    const bool has_digit = *text >= '0' && *text <= '9';
    const unsigned long long bytes = strtoull(text, &end, 10);
    if (!has_digit || *end || bytes == 0 || bytes > UINT32_MAX)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--format fixed:%s: a record has 1 to %u bytes\n  try: --format fixed:16",
                       text, UINT32_MAX);
    format->fixed_bytes = (uint32_t)bytes;
    return WEFT_OK;
}

static weft_err parse_options(const char *all, const char *text, struct record_format *format)
{
    for (;;) {
        text = read_option(text, format);
        if (!text || (*text && *text != ','))
            return err_set(
                WEFT_INVALID_ARGUMENT,
                "%s: the options are csv:header,separator=BYTE, lines:delimiter=BYTE and "
                "chunks:delimiter=BYTE; a BYTE can be written \\t, \\0 or \\x1f",
                all);
        if (*text == 0)
            return WEFT_OK;
        text++;
    }
}

weft_err record_format_parse(const char *text, struct record_format *format)
{
    *format = (struct record_format){.delimiter = '\n', .separator = ','};
    const char *options = strchrnul(text, ':');
    if (!find_kind((weft_bytes){text, (size_t)(options - text)}, &format->kind))
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "there is no record format %s\n  it is lines, chunks, files, csv, csv:header, "
            "jsonl, tfrecord or fixed:BYTES",
            text);
    if (format->kind == RECORD_FIXED)
        return parse_fixed(*options ? options + 1 : options, format);
    if (*options == 0)
        return WEFT_OK;
    const weft_err code = parse_options(text, options + 1, format);
    if (code)
        return code;
    if (format->kind == RECORD_CSV && strchr("\"\n\r", format->separator) && format->separator)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s: a quote or a line end cannot be between the fields of a row", text);
    return WEFT_OK;
}
