// Reading refusals of WebHDFS.

#include "store/hdfs/web_failure.h"

#include <jansson.h>

#include "wire/hadoop/rpc_frame.h"

static weft_err code_of(const char *exception, uint32_t status)
{
    const weft_err known = rpc_exception_code(exception);
    if (known != WEFT_UNKNOWN)
        return known;
    if (status == 404)
        return WEFT_NOT_FOUND;
    return status == 401 ? WEFT_PERMISSION_DENIED : WEFT_UNAVAILABLE;
}

// Up to the first control character.
static void take_line(const json_t *object, const char *name, char *line, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));
    size_t i = 0;
    for (; text && i + 1 < size && (unsigned char)text[i] >= ' '; i++)
        line[i] = text[i];
    line[i] = 0;
}

weft_err web_failure_read(weft_bytes text, uint32_t status)
{
    json_error_t ignored;
    json_t *root = json_loadb(text.data ? text.data : "", text.size, 0, &ignored);
    const json_t *inner = json_object_get(root, "RemoteException");
    char exception[81], sentence[400];
    take_line(inner, "exception", exception, sizeof exception);
    take_line(inner, "message", sentence, sizeof sentence);
    json_decref(root);
    return err_set(code_of(exception, status), "WebHDFS answers %u%s%s%s%s", status,
                   exception[0] ? " " : "", exception, sentence[0] ? ": " : "", sentence);
}
