// Lines of a command's standard error, sorted by their kind and passed on. A command that floods it
// costs the search for line ends and little more.

#include "code/command/stderr.h"

#include <stdio.h>

#include "base/number.h"
#include "sys/file/file.h"
#include "sys/time/clock.h"

#define PATIENCE_NS UINT64_C(1000000000)

static const char reporter[] = "reporter:";
static const char counter[] = "reporter:counter:";
static const char status[] = "reporter:status:";

void command_stderr_init(struct command_stderr *err, int fd, command_count_fn *count, void *owner)
{
    *err = (struct command_stderr){.fd = fd, .count = count, .owner = owner};
}

void command_stderr_fini(struct command_stderr *err)
{
    buf_fini(&err->open);
    buf_fini(&err->shown);
    buf_fini(&err->tail);
}

void command_stderr_begin(struct command_stderr *err)
{
    err->open.size = err->shown.size = err->tail.size = 0;
    err->is_inside = false;
    err->begun_ns = clock_now_ns();
}

static bool begins_with(weft_bytes line, const char *prefix, size_t prefix_size)
{
    return line.size >= prefix_size && memcmp(line.data, prefix, prefix_size) == 0;
}

#define BEGINS_WITH(line, prefix) begins_with(line, prefix, sizeof prefix - 1)

static weft_bytes trim(weft_bytes text)
{
    while (text.size && (unsigned char)text.data[text.size - 1] <= ' ')
        text.size--;
    while (text.size && (unsigned char)text.data[0] <= ' ')
        text.data++, text.size--;
    return text;
}

// GROUP,NAME,N after the prefix: exactly two commas.
static bool take_counter(struct command_stderr *err, weft_bytes text)
{
    const char *comma = memchr(text.data, ',', text.size);
    if (!comma)
        return false;
    const char *end = text.data + text.size;
    const char *second = memchr(comma + 1, ',', (size_t)(end - comma - 1));
    int64_t amount;
    if (!second || !number_read_int((weft_bytes){second + 1, (size_t)(end - second - 1)}, &amount))
        return false;
    char name[256];
    snprintf(name, sizeof name, "%.*s.%.*s", (int)(comma - text.data), text.data,
             (int)(second - comma - 1), comma + 1);
    if (err->count)
        err->count(err->owner, name, amount);
    return true;
}

static bool take_report(struct command_stderr *err, weft_bytes line)
{
    const weft_bytes text = trim(line);
    if (BEGINS_WITH(text, counter)) {
        const size_t size = sizeof counter - 1;
        return take_counter(err, trim((weft_bytes){text.data + size, text.size - size}));
    }
    if (!BEGINS_WITH(text, status))
        return false;
    const size_t size = sizeof status - 1;
    if (err->tell)
        err->tell(err->owner, trim((weft_bytes){text.data + size, text.size - size}));
    return true;
}

// `end` is "\n", or "" for a piece of a line that continues.
static void remember(struct command_stderr *err, weft_bytes line, const char *end)
{
    if (line.size > COMMAND_TAIL_BYTES) {
        line.data += line.size - COMMAND_TAIL_BYTES;
        line.size = COMMAND_TAIL_BYTES;
    }
    struct buf *tail = &err->tail;
    // Moved rarely: the buffer holds twice the kept size.
    if (tail->size + line.size + 1 > 2 * COMMAND_TAIL_BYTES) {
        const size_t kept = tail->size < COMMAND_TAIL_BYTES ? tail->size : COMMAND_TAIL_BYTES;
        memmove(tail->data, tail->data + tail->size - kept, kept);
        tail->size = kept;
    }
    buf_append(tail, line.data, line.size);
    buf_append_text(tail, end);
}

// One write for all lines of a read, so that those of different commands do not mix. When standard error
// is gone, nothing is left to report that to.
static void pass_on(struct command_stderr *err)
{
    if (err->shown.size > 0 &&
        file_write(err->fd, "standard error", err->shown.data, err->shown.size))
        err_clear();
    err->shown.size = 0;
}

static void show(struct command_stderr *err, weft_bytes line, const char *end)
{
    if (err->fd < 0)
        return;
    buf_append(&err->shown, line.data, line.size);
    buf_append_text(&err->shown, end);
    if (err->shown.size > COMMAND_HELD_BYTES_MAX)
        pass_on(err);
}

static void take_line(struct command_stderr *err, weft_bytes line, bool has_end)
{
    const char *end = has_end ? "\n" : "";
    const bool is_whole = has_end && !err->is_inside;
    err->is_inside = !has_end;
    if (is_whole && BEGINS_WITH(line, reporter) && take_report(err, line))
        return;
    remember(err, line, end);
    show(err, line, end);
}

static void take_open_line(struct command_stderr *err, bool has_end)
{
    take_line(err, buf_bytes(&err->open), has_end);
    err->open.size = 0;
}

// The end of the line that the last read left open.
static weft_bytes close_open_line(struct command_stderr *err, weft_bytes text)
{
    const char *end = memchr(text.data, '\n', text.size);
    const size_t size = end ? (size_t)(end - text.data) : text.size;
    buf_append(&err->open, text.data, size);
    if (end)
        take_open_line(err, true);
    const size_t used = size + (end ? 1 : 0);
    return (weft_bytes){text.data + used, text.size - used};
}

void command_stderr_take(struct command_stderr *err, weft_bytes text)
{
    weft_bytes line;
    if (text.size > 0 && (err->open.size > 0 || err->is_inside))
        text = close_open_line(err, text);
    const char *last = text.size ? memrchr(text.data, '\n', text.size) : NULL;
    const size_t whole = last ? (size_t)(last + 1 - text.data) : 0;
    for (weft_bytes lines = {text.data, whole}; weft_next_line(&lines, &line);)
        take_line(err, line, true);
    if (whole < text.size)
        buf_append(&err->open, text.data + whole, text.size - whole);
    if (err->open.size > COMMAND_ERROR_LINE_BYTES_MAX)
        take_open_line(err, false);
    if (clock_now_ns() - err->begun_ns > PATIENCE_NS)
        pass_on(err);
}

void command_stderr_end(struct command_stderr *err)
{
    if (err->open.size > 0 || err->is_inside)
        take_open_line(err, true);
}

void command_stderr_settle(struct command_stderr *err, bool is_good)
{
    if (is_good)
        pass_on(err);
    err->shown.size = 0;
}

bool command_stderr_append_tail(const struct command_stderr *err, size_t bytes_max, struct buf *to)
{
    if (err->tail.size == 0)
        return false;
    // Backwards, line by line, as long as there is room for one more.
    const char *begin = err->tail.data, *end = begin + err->tail.size, *from = end;
    size_t used = 0;
    while (from > begin) {
        const char *newline =
            from - 1 > begin ? memrchr(begin, '\n', (size_t)(from - 1 - begin)) : NULL;
        const char *line = newline ? newline + 1 : begin;
        const size_t bytes = (size_t)(from - line) + 4;
        if (used + bytes > bytes_max)
            break;
        used += bytes;
        from = line;
    }
    if (from == end) {  // one line that is too long: its end
        const size_t kept = err->tail.size < bytes_max ? err->tail.size : bytes_max - 4;
        buf_append_text(to, "    ");
        buf_append(to, end - kept, kept);
        return true;
    }
    weft_bytes lines = {from, (size_t)(end - from)}, line;
    while (weft_next_line(&lines, &line)) {
        buf_append_text(to, "    ");
        buf_append(to, line.data, line.size);
        buf_append_text(to, "\n");
    }
    return true;
}
