// JSON: the value at a path, found by passing over the values before it. These are looked at only
// as far as it takes to find their ends.

#include "store/record/json_scan.h"
#include "store/record/record.h"

struct json {
    const char *at, *end;
    unsigned depth;  // brackets that `at` is inside of
};

static inline void skip_blanks(struct json *json)
{
    // Most JSON that machines write has none.
    if (json->at < json->end && (unsigned char)*json->at <= ' ')
        json->at = json_skip_blanks(json->at, json->end);
}

static inline bool is_at(const struct json *json, char c)
{
    return json->at < json->end && *json->at == c;
}

// Passes over the string whose opening quote `at` stands at; its raw content goes to *raw.
static inline bool read_string(struct json *json, weft_bytes *raw, bool *has_escapes)
{
    const char *begin = json->at + 1, *at = begin;
    *has_escapes = false;
    for (;;) {
        at = json_find_quote(at, json->end);
        if (at == json->end)
            return false;
        if (*at == '"')
            break;
        *has_escapes = true;
        if (json->end - at < 2)
            return false;
        at += 2;
    }
    *raw = (weft_bytes){begin, (size_t)(at - begin)};
    json->at = at + 1;
    return true;
}

// Passes over an object or array. Each open bracket has a bit for its kind.
static bool skip_nested(struct json *json)
{
    const unsigned base = json->depth;
    uint64_t is_object[JSON_DEPTH_MAX / 64] = {0};
    weft_bytes raw;
    bool has_escapes;
    do {
        json->at = json_find_bracket(json->at, json->end);
        if (json->at == json->end)
            return false;
        const char c = *json->at;
        if (c == '"') {
            if (!read_string(json, &raw, &has_escapes))
                return false;
            continue;
        }
        json->at++;
        const unsigned depth = c == '{' || c == '[' ? json->depth++ : --json->depth;
        if (depth == JSON_DEPTH_MAX)
            return false;
        const uint64_t bit = UINT64_C(1) << depth % 64;
        if (c == '{')
            is_object[depth / 64] |= bit;
        else if (c == '[')
            is_object[depth / 64] &= ~bit;
        else if (((is_object[depth / 64] & bit) != 0) != (c == '}'))
            return false;
    } while (json->depth > base);
    return true;
}

static inline bool skip_value(struct json *json)
{
    weft_bytes raw;
    bool has_escapes;
    if (json->at == json->end)
        return false;
    if (*json->at == '"')
        return read_string(json, &raw, &has_escapes);
    if (*json->at == '{' || *json->at == '[')
        return skip_nested(json);
    const char *begin = json->at;
    json->at = json_find_stop(begin, json->end);
    return json->at > begin;
}

// ---- strings with escapes

static char *put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *to++ = (char)((0xff00 >> (more + 1) & 0xff) | (int)(code >> (6 * more)));
    for (int i = more - 1; i >= 0; i--)
        *to++ = (char)(0x80 | (code >> (6 * i) & 0x3f));
    return to;
}

// The escape \uXXXX at `at`, or two of them that make one character. A half of a pair alone is no
// character: from dc80 to dcff it stands for a byte that was no text, else it becomes U+FFFD.
static const char *unescape_unicode(const char *at, const char *end, char **to)
{
    const int code = end - at < 6 ? -1 : json_hex4(at + 2);
    if (code < 0)
        return NULL;
    const bool is_first = code >= 0xd800 && code < 0xdc00;
    const int second =
        is_first && end - at >= 12 && at[6] == '\\' && at[7] == 'u' ? json_hex4(at + 8) : -1;
    if (second >= 0xdc00 && second < 0xe000) {
        *to = put_utf8(*to,
                       0x10000u + ((unsigned)(code - 0xd800) << 10) + (unsigned)(second - 0xdc00));
        return at + 12;
    }
    if (code >= 0xdc80 && code <= 0xdcff)
        *(*to)++ = (char)(code - 0xdc00);
    else
        *to = put_utf8(*to, code >= 0xd800 && code < 0xe000 ? 0xfffd : (unsigned)code);
    return at + 6;
}

// Appends the string to the room; never longer than it is written.
static bool unescape(weft_bytes raw, struct buf *room, weft_bytes *value)
{
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    const char *at = raw.data, *const end = raw.data + raw.size;
    char *const begin = buf_reserve(room, raw.size), *to = begin;
    if (!begin)
        return false;
    while (at < end) {
        const char *stop = memchr(at, '\\', (size_t)(end - at));
        const size_t run = (size_t)((stop ? stop : end) - at);
        memcpy(to, at, run);
        to += run;
        at += run;
        if (!stop)
            break;
        const char *letter =
            at[1] ? strchr(letters, at[1]) : NULL;  // a backslash is never the last
        if (letter) {
            *to++ = bytes[letter - letters];
            at += 2;
        } else if (at[1] != 'u' || !(at = unescape_unicode(at, end, &to))) {
            return false;
        }
    }
    *value = (weft_bytes){begin, (size_t)(to - begin)};
    room->size += value->size;
    return true;
}

// ---- the path

static bool is_same(weft_bytes raw, bool has_escapes, weft_bytes name, struct buf *room)
{
    if (__builtin_expect(has_escapes, 0)) {
        const size_t size = room->size;
        const bool is_text = unescape(raw, room, &raw);
        room->size = size;
        if (!is_text)
            return false;
    }
    return raw.size == name.size && memcmp(raw.data, name.data, name.size) == 0;
}

// After a value inside brackets: a comma, or the closing one. RECORD_JSON_OBJECT means "continue".
static inline enum record_json go_on(struct json *json, char closing)
{
    skip_blanks(json);
    if (is_at(json, ',')) {
        json->at++;
        skip_blanks(json);
        return RECORD_JSON_OBJECT;
    }
    return is_at(json, closing) ? RECORD_JSON_MISSING : RECORD_JSON_BROKEN;
}

// Goes to the member's value; RECORD_JSON_OBJECT when it was found.
static enum record_json enter_object(struct json *json, weft_bytes name, struct buf *room)
{
    skip_blanks(json);
    if (is_at(json, '}'))
        return RECORD_JSON_MISSING;
    for (;;) {
        weft_bytes raw;
        bool has_escapes;
        if (!is_at(json, '"') || !read_string(json, &raw, &has_escapes))
            return RECORD_JSON_BROKEN;
        skip_blanks(json);
        if (!is_at(json, ':'))
            return RECORD_JSON_BROKEN;
        json->at++;
        skip_blanks(json);
        if (is_same(raw, has_escapes, name, room))
            return RECORD_JSON_OBJECT;
        if (!skip_value(json))
            return RECORD_JSON_BROKEN;
        const enum record_json more = go_on(json, '}');
        if (more != RECORD_JSON_OBJECT)
            return more;
    }
}

// A path's step as the number of an element; SIZE_MAX when it is none.
static size_t index_of(weft_bytes step)
{
    size_t index = 0;
    if (step.size == 0 || step.size > 18 || (step.size > 1 && step.data[0] == '0'))
        return SIZE_MAX;
    for (size_t i = 0; i < step.size; i++) {
        if (step.data[i] < '0' || step.data[i] > '9')
            return SIZE_MAX;
        index = index * 10 + (size_t)(step.data[i] - '0');
    }
    return index;
}

static enum record_json enter_array(struct json *json, weft_bytes step)
{
    skip_blanks(json);
    if (is_at(json, ']'))
        return RECORD_JSON_MISSING;
    for (size_t left = index_of(step); left; left--) {
        if (!skip_value(json))
            return RECORD_JSON_BROKEN;
        const enum record_json more = go_on(json, ']');
        if (more != RECORD_JSON_OBJECT)
            return more;
    }
    return RECORD_JSON_OBJECT;
}

static enum record_json enter(struct json *json, weft_bytes step, struct buf *room)
{
    skip_blanks(json);
    const bool is_object = is_at(json, '{');
    if (!is_object && !is_at(json, '['))
        return json->at < json->end ? RECORD_JSON_MISSING : RECORD_JSON_BROKEN;
    if (json->depth++ == JSON_DEPTH_MAX)
        return RECORD_JSON_BROKEN;
    json->at++;
    return is_object ? enter_object(json, step, room) : enter_array(json, step);
}

static enum record_json read_value(struct json *json, weft_bytes *value, struct buf *room)
{
    bool has_escapes;
    skip_blanks(json);
    const char *begin = json->at, c = begin < json->end ? *begin : 0;
    if (c == '"') {
        if (!read_string(json, value, &has_escapes))
            return RECORD_JSON_BROKEN;
        return has_escapes && !unescape(*value, room, value) ? RECORD_JSON_BROKEN
                                                             : RECORD_JSON_STRING;
    }
    const bool is_number = c == '-' || (c >= '0' && c <= '9');
    if (c == '{' || c == '[')
        json->at = skip_nested(json) ? json->at : NULL;
    else
        json->at = is_number ? json_number_end(begin, json->end) : json_word_end(begin, json->end);
    const char *stop = json->at;
    if (!stop || (stop < json->end && json_find_stop(stop, stop + 1) != stop))
        return RECORD_JSON_BROKEN;
    *value = (weft_bytes){begin, (size_t)(stop - begin)};
    return is_number  ? RECORD_JSON_NUMBER
           : c == '{' ? RECORD_JSON_OBJECT
           : c == '[' ? RECORD_JSON_ARRAY
           : c == 't' ? RECORD_JSON_TRUE
           : c == 'f' ? RECORD_JSON_FALSE
                      : RECORD_JSON_NULL;
}

enum record_json record_json_get(weft_bytes object, const char *path, weft_bytes *value,
                                 struct buf *room)
{
    if (object.size == 0)
        return RECORD_JSON_BROKEN;
    struct json json = {object.data, object.data + object.size, 0};
    while (*path) {
        const char *stop = strchrnul(path, '.');
        const enum record_json found =
            enter(&json, (weft_bytes){path, (size_t)(stop - path)}, room);
        if (found != RECORD_JSON_OBJECT)
            return found;
        path = *stop ? stop + 1 : stop;
    }
    return read_value(&json, value, room);
}
