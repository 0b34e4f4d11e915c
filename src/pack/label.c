// label: written by hand, so that the same content always gives the same bytes; read by jansson.

#include "pack/label.h"

#include <jansson.h>
#include <stdio.h>

#include "base/json.h"

static const char *const kind_names[] = {
    [LABEL_DIRECTORY] = "directory", [LABEL_VENV] = "venv", [LABEL_PEX] = "pex"};
enum { KIND_COUNT = sizeof kind_names / sizeof *kind_names };

const char *label_kind_name(enum label_kind kind)
{
    return kind_names[kind];
}

void label_write(const struct label *label, struct buf *buf)
{
    json_open(buf, NULL, '{');
    json_append_uint(buf, "format", LABEL_FORMAT);
    json_append_text(buf, "kind", kind_names[label->kind]);
    json_append_text(buf, "name", label->name);
    json_append_uint(buf, "entries", label->entries);
    json_append_uint(buf, "bytes", label->bytes);
    json_append_text(buf, "python", label->python);
    json_append_bool(buf, "needs_home", label->needs_home);
    json_close(buf, '}');
    buf_append_text(buf, "\n");
}

static weft_err refuse(const char *why)
{
    return err_set(WEFT_DATA_LOSS, "this is not an archive of weft pack: %s", why);
}

static bool read_text(const json_t *object, const char *name, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(object, name));
    if (!value || strlen(value) >= size || strchr(value, '/'))
        return false;
    for (const char *at = value; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return false;
    snprintf(text, size, "%s", value);
    return true;
}

static bool read_number(const json_t *object, const char *name, uint64_t max, uint64_t *number)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > max)
        return false;
    *number = (uint64_t)json_integer_value(value);
    return true;
}

static weft_err read_object(const json_t *object, struct label *label)
{
    uint64_t format;
    const char *kind = json_string_value(json_object_get(object, "kind"));
    if (!read_number(object, "format", UINT32_MAX, &format) || !kind)
        return refuse("its label has no format or kind");
    if (format != LABEL_FORMAT)
        return err_set(
            WEFT_UNIMPLEMENTED,
            "the archive has format %llu, and this weft knows %d\n  try: a newer weft, or "
            "pack again with this one",
            (unsigned long long)format, LABEL_FORMAT);
    size_t at = 0;
    while (at < KIND_COUNT && strcmp(kind, kind_names[at]) != 0)
        at++;
    if (at == KIND_COUNT)
        return refuse("its kind is unknown");
    label->kind = (enum label_kind)at;
    label->needs_home = json_is_true(json_object_get(object, "needs_home"));
    if (!read_text(object, "name", label->name, sizeof label->name) || !label->name[0] ||
        !read_text(object, "python", label->python, sizeof label->python) ||
        !read_number(object, "entries", LABEL_ENTRIES_MAX, &label->entries) ||
        !read_number(object, "bytes", LABEL_CONTENT_BYTES_MAX, &label->bytes))
        return refuse("its label has a value that cannot be");
    return WEFT_OK;
}

weft_err label_read(weft_bytes text, struct label *label)
{
    *label = (struct label){0};
    if (text.size > LABEL_BYTES_MAX)
        return refuse("its label is too large");
    json_t *object =
        json_loadb(text.data ? text.data : "", text.size, JSON_REJECT_DUPLICATES, NULL);
    const weft_err code =
        json_is_object(object) ? read_object(object, label) : refuse("it has no label");
    json_decref(object);
    return code;
}
