// buf: bytes that grow at the end by doubling.

#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUF_BYTES_MIN = 64 };

void buf_fini(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}

char *buf_grow(struct buf *buf, size_t more)
{
    if (buf->has_failed)
        return NULL;
    size_t capacity = buf->capacity ? buf->capacity : BUF_BYTES_MIN;
    while (capacity - buf->size < more && capacity <= SIZE_MAX / 2)
        capacity *= 2;
    char *data = capacity - buf->size >= more ? realloc(buf->data, capacity) : NULL;
    if (!data) {
        buf->has_failed = true;
        return NULL;
    }
    buf->data = data;
    buf->capacity = capacity;
    return data + buf->size;
}

void buf_append_text(struct buf *buf, const char *text)
{
    buf_append(buf, text, strlen(text));
}

void buf_format(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int needed = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *to = needed < 0 ? NULL : buf_reserve(buf, (size_t)needed + 1);
    if (to) {
        vsnprintf(to, (size_t)needed + 1, format, again);
        buf->size += (size_t)needed;
    }
    va_end(again);
}

const char *buf_text(struct buf *buf)
{
    char *end = buf_reserve(buf, 1);
    if (!end)
        return "";
    *end = 0;
    return buf->data;
}
