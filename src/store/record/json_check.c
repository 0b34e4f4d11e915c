// JSON: the strict check of a whole text by RFC 8259, without recursion. Halves of surrogate pairs may
// be escaped alone, as the grammar has it; raw text must be UTF-8.

#include "base/text.h"
#include "store/record/json_scan.h"
#include "store/record/record.h"

struct check {
    const char *at, *end;
    unsigned depth;
    uint64_t is_object[JSON_DEPTH_MAX / 64];  // a bit for each open bracket
};

static void skip_blanks(struct check *check)
{
    check->at = json_skip_blanks(check->at, check->end);
}

static bool take(struct check *check, char c)
{
    if (check->at == check->end || *check->at != c)
        return false;
    check->at++;
    return true;
}

// All of these leave `at` where the mistake is.

static bool check_escape(struct check *check)
{
    if (check->end - check->at < 2)
        return false;
    const char c = check->at[1];
    const bool is_unicode = c == 'u';
    if (is_unicode ? check->end - check->at < 6 || json_hex4(check->at + 2) < 0
                   : c == 0 || !strchr("\"\\/bfnrt", c))
        return false;
    check->at += is_unicode ? 6 : 2;
    return true;
}

static bool check_string(struct check *check)
{
    if (!take(check, '"'))
        return false;
    for (;;) {
        check->at = json_find_odd(check->at, check->end);
        if (take(check, '"'))
            return true;
        if (check->at == check->end || (unsigned char)*check->at < 0x20)
            return false;
        if (*check->at == '\\') {
            if (!check_escape(check))
                return false;
            continue;
        }
        const size_t length = text_utf8_length(check->at, check->end);
        if (length == 0)
            return false;
        check->at += length;
    }
}

static bool check_name(struct check *check)
{
    skip_blanks(check);
    if (!check_string(check))
        return false;
    skip_blanks(check);
    return take(check, ':');
}

static bool check_scalar(struct check *check)
{
    if (check->at == check->end || *check->at == '"')
        return check_string(check);
    const char *word = json_word_end(check->at, check->end);
    const char *stop = word ? word : json_number_end(check->at, check->end);
    check->at = stop ? stop : check->at;
    return stop;
}

static bool is_in_object(const struct check *check)
{
    const unsigned top = check->depth - 1;
    return check->is_object[top / 64] >> top % 64 & 1;
}

static bool check_open(struct check *check, bool is_object)
{
    if (check->depth == JSON_DEPTH_MAX)
        return false;
    const uint64_t bit = UINT64_C(1) << check->depth % 64;
    uint64_t *bits = &check->is_object[check->depth / 64];
    *bits = is_object ? *bits | bit : *bits & ~bit;
    check->depth++;
    check->at++;
    return true;
}

// After a value: closing brackets, up to the comma before the next value (and its name) or the end.
static bool check_close(struct check *check)
{
    while (check->depth) {
        skip_blanks(check);
        const bool is_object = is_in_object(check);
        if (take(check, ','))
            return is_object ? check_name(check) : true;
        if (!take(check, is_object ? '}' : ']'))
            return false;
        check->depth--;
    }
    skip_blanks(check);
    return true;
}

// One value, or an opening bracket up to where its first value begins.
static bool check_value(struct check *check)
{
    skip_blanks(check);
    const bool is_object = check->at < check->end && *check->at == '{';
    if (!is_object && !(check->at < check->end && *check->at == '['))
        return check_scalar(check) && check_close(check);
    if (!check_open(check, is_object))
        return false;
    skip_blanks(check);
    if (take(check, is_object ? '}' : ']')) {
        check->depth--;
        return check_close(check);
    }
    return is_object ? check_name(check) : true;
}

size_t record_json_check(weft_bytes text)
{
    if (text.size == 0)
        return 0;
    struct check check = {.at = text.data, .end = text.data + text.size};
    do {
        if (!check_value(&check))
            return (size_t)(check.at - text.data);
    } while (check.depth);
    return check.at == check.end ? SIZE_MAX : (size_t)(check.at - text.data);
}
