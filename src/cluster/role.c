// role: the rule is TensorFlow's for jobs, so that every description we accept is one it can run, and
// none of our paths can be mistaken for one of its device names.

#include "cluster/role.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/text.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool role_is_name(weft_bytes text)
{
    if (text.size == 0 || text.size > ROLE_BYTES_MAX || !is_letter(text.data[0]))
        return false;
    for (size_t i = 1; i < text.size; i++)
        if (!is_letter(text.data[i]) && !is_digit(text.data[i]) && text.data[i] != '_')
            return false;
    return true;
}

weft_err role_check_name(weft_bytes text)
{
    if (role_is_name(text))
        return WEFT_OK;
    if (text.size > ROLE_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "a role is called %s, which is longer than %d letters",
                       role_quote(text).text, ROLE_BYTES_MAX);
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s is not the name of a role\n"
                   "  it is a letter, then letters, digits and '_', such as worker or map_2",
                   role_quote(text).text);
}

bool role_read_index(weft_bytes text, uint32_t *index)
{
    uint64_t value = 0;
    if (text.size == 0)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (!is_digit(text.data[i]))
            return false;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
        if (value > ROLE_INDEX_MAX)
            return false;
    }
    *index = (uint32_t)value;
    return true;
}

struct role_quoted role_quote(weft_bytes text)
{
    enum { SHOWN_BYTES_MAX = 60 };
    struct role_quoted quoted = {""};
    struct buf buf = {0};
    const bool is_cut = text.size > SHOWN_BYTES_MAX;
    const weft_bytes shown = {text.data, is_cut ? SHOWN_BYTES_MAX : text.size};
    text_append_escaped(&buf, shown);
    // Escapes can make it longer than the room there is; they are cut like letters then.
    snprintf(quoted.text, sizeof quoted.text, "\"%.*s%s\"", (int)sizeof quoted.text - 8,
             buf_text(&buf), is_cut ? "..." : "");
    buf_fini(&buf);
    return quoted;
}
