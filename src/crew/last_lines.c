// last_lines: bytes are kept until there are twice as many as needed, so that they are moved rarely.

#include "crew/last_lines.h"

#include <string.h>

void last_lines_fini(struct last_lines *tail)
{
    buf_fini(&tail->bytes);
}

void last_lines_feed(struct last_lines *tail, weft_bytes bytes)
{
    struct buf *kept = &tail->bytes;
    if (bytes.size > LAST_BYTES_MAX) {
        bytes.data += bytes.size - LAST_BYTES_MAX;
        bytes.size = LAST_BYTES_MAX;
    }
    if (kept->size + bytes.size > 2 * LAST_BYTES_MAX) {
        const size_t stays = LAST_BYTES_MAX < kept->size ? LAST_BYTES_MAX : kept->size;
        memmove(kept->data, kept->data + kept->size - stays, stays);
        kept->size = stays;
    }
    buf_append(kept, bytes.data, bytes.size);
    if (kept->has_failed)
        buf_fini(kept);
}

void last_lines_append_lines(struct buf *out, weft_bytes text, bool is_cut)
{
    if (text.size == 0)
        return;  // its data may be NULL
    const char *at = text.data, *const end = text.data + text.size;
    const char *cut = is_cut ? memchr(at, '\n', text.size) : NULL;
    size_t lines = 0;
    at = cut ? cut + 1 : at;
    for (const char *line = at; line < end; lines++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline ? newline + 1 : end;
    }
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (lines-- <= LAST_LINES_MAX) {
            buf_append_text(out, "  ");
            buf_append(out, at, (size_t)((newline ? newline : end) - at));
            buf_append_text(out, "\n");
        }
        at = newline ? newline + 1 : end;
    }
}

void last_lines_append(struct buf *out, const struct last_lines *tail)
{
    last_lines_append_lines(out, buf_bytes(&tail->bytes), tail->bytes.size >= LAST_BYTES_MAX);
}
