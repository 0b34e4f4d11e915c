// prefix: complete lines go straight from the input to the output; only the last, unfinished one is
// kept.

#include "crew/prefix.h"

#include <string.h>

void prefix_fini(struct prefix *prefix)
{
    buf_fini(&prefix->partial);
}

static void put_line(struct prefix *prefix, const char *data, size_t size, bool has_newline,
                     struct buf *out)
{
    const bool is_line = has_newline || !prefix->adds_no_breaks;
    if (!prefix->is_inside)
        buf_append_text(out, prefix->text);
    buf_append(out, prefix->partial.data, prefix->partial.size);
    buf_append(out, data, size);
    prefix->partial.size = 0;
    if (is_line)
        buf_append(out, "\n", 1);
    prefix->is_inside = !is_line;
}

void prefix_feed(struct prefix *prefix, weft_bytes bytes, struct buf *out)
{
    const char *at = bytes.data, *const end = bytes.data + bytes.size;
    while (at < end) {
        const size_t room = PREFIX_LINE_BYTES_MAX - prefix->partial.size;
        const size_t left = (size_t)(end - at);
        // A line of just the limit is whole, so its newline may follow that.
        const size_t look = left < room + 1 ? left : room + 1;
        const char *newline = memchr(at, '\n', look);
        if (newline) {
            put_line(prefix, at, (size_t)(newline - at), true, out);
            at = newline + 1;
        } else if (left > room) {
            put_line(prefix, at, room, false, out);
            at += room;
        } else {
            buf_append(&prefix->partial, at, left);
            at = end;
        }
    }
}

void prefix_end(struct prefix *prefix, struct buf *out)
{
    if (prefix->partial.size > 0 || prefix->is_inside)
        put_line(prefix, NULL, 0, true, out);
    prefix->is_inside = false;
}
