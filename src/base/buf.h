// buf: bytes that grow at the end. Fails by its flag, checked once: appending to a failed buf does
// nothing, so that a writer need not test every append. Thread: one owner.
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <weft/weft.h>

struct buf {
    char *data;
    size_t size, capacity;
    bool has_failed;  // out of memory; the content is incomplete
};

void buf_fini(struct buf *buf);

// Takes more memory, for buf_reserve.
char *buf_grow(struct buf *buf, size_t more);

// Makes room for `more` bytes after the content; NULL (and has_failed) when out of memory. Inline, as
// a call of a queue needs a dozen of these and there is nearly always room.
static inline char *buf_reserve(struct buf *buf, size_t more)
{
    if (buf->has_failed || buf->capacity - buf->size < more)
        return buf_grow(buf, more);
    return buf->data + buf->size;
}

static inline void buf_append(struct buf *buf, const void *data, size_t size)
{
    char *to = size ? buf_reserve(buf, size) : NULL;
    if (!to)
        return;
    memcpy(to, data, size);
    buf->size += size;
}

void buf_append_text(struct buf *buf, const char *text);
void buf_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The content with a zero after it, which is not counted in size; "" for an empty buf.
const char *buf_text(struct buf *buf);

static inline weft_bytes buf_bytes(const struct buf *buf)
{
    return (weft_bytes){buf->data, buf->size};
}

#endif
