// json: writing JSON by hand, where the bytes must be the same every time. Reading is jansson's.
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"

// Appends the text as a JSON string with its quotes. Each byte that is not UTF-8 becomes U+FFFD:
// the line stays valid whatever a file is called.
void json_append_string(struct buf *buf, weft_bytes text);

// Append `"name":value` with a comma in front unless the object has just been opened.
void json_append_text(struct buf *buf, const char *name, const char *text);  // NULL: null
void json_append_uint(struct buf *buf, const char *name, uint64_t value);
void json_append_int(struct buf *buf, const char *name, int64_t value);
void json_append_bool(struct buf *buf, const char *name, bool value);

// Seconds with three digits from nanoseconds.
void json_append_seconds(struct buf *buf, const char *name, uint64_t nanoseconds);

// `"name":{` or `"name":[`; without a name inside an array or at the top. Closed by json_close.
void json_open(struct buf *buf, const char *name, char bracket);
void json_close(struct buf *buf, char bracket);

// The type of a value that jansson has read, as messages call it: "a list", "a number".
struct json_t;
const char *json_type_text(const struct json_t *value);

#endif
