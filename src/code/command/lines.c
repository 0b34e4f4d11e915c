// Rewriting blocks of lines. The common case, in which nothing is to be rewritten, is looked for first.

#include "code/command/lines.h"

#include "base/number.h"

bool command_lines_next(weft_bytes *block, bool with_returns, weft_bytes *line)
{
    const weft_bytes before = *block;
    if (!weft_next_line(block, line))
        return false;
    const char *carriage = with_returns && line->size ? memchr(line->data, '\r', line->size) : NULL;
    if (!carriage)
        return true;
    line->size = (size_t)(carriage - line->data);
    const bool is_pair = line->size + 1 < before.size && carriage[1] == '\n';
    const size_t taken = line->size + (is_pair ? 2 : 1);
    *block = (weft_bytes){before.data + taken, before.size - taken};
    return true;
}

weft_bytes command_lines_end(weft_bytes block, bool with_returns, struct buf *room)
{
    const bool is_open = block.size > 0 && block.data[block.size - 1] != '\n';
    const bool has_return = with_returns && block.size > 0 && memchr(block.data, '\r', block.size);
    if (!is_open && !has_return)
        return block;
    room->size = 0;
    for (weft_bytes line; command_lines_next(&block, with_returns, &line);) {
        buf_append(room, line.data, line.size);
        buf_append(room, "\n", 1);
    }
    return buf_bytes(room);
}

weft_bytes command_lines_number(weft_bytes block, bool with_returns, uint64_t offset,
                                struct buf *room)
{
    const char *begin = block.data;
    room->size = 0;
    for (weft_bytes line; command_lines_next(&block, with_returns, &line);) {
        char *to = buf_reserve(room, NUMBER_TEXT_MAX + line.size + 2);
        if (!to)
            break;
        to = number_write_int(to, (int64_t)(offset + (uint64_t)(line.data - begin)));
        *to++ = '\t';
        memcpy(to, line.data, line.size);
        to += line.size;
        *to++ = '\n';
        room->size = (size_t)(to - room->data);
    }
    return buf_bytes(room);
}

static bool is_one_byte(const struct command_separator *separator, char byte)
{
    return separator->size == 1 && separator->text[0] == byte;
}

// Whether every line has its separator, and that is what stands there afterwards.
static bool is_cut(weft_bytes block, const struct command_separator *separator, uint32_t fields,
                   const struct command_separator *joint)
{
    if (fields != 1 || separator->size != 1 || !is_one_byte(joint, separator->text[0]))
        return false;
    for (weft_bytes line; weft_next_line(&block, &line);)
        if (line.size == 0 || !memchr(line.data, separator->text[0], line.size))
            return false;
    return true;
}

weft_bytes command_lines_cut(weft_bytes block, const struct command_separator *separator,
                             uint32_t fields, const struct command_separator *joint,
                             struct buf *room)
{
    if (is_cut(block, separator, fields, joint))
        return block;
    room->size = 0;
    for (weft_bytes line; weft_next_line(&block, &line);) {
        weft_bytes key, value;
        command_split_line(separator, fields, line, &key, &value);
        command_append_line(room, key, joint, value.data ? value : (weft_bytes){"", 0});
    }
    return buf_bytes(room);
}

void command_append_line(struct buf *to, weft_bytes key, const struct command_separator *separator,
                         weft_bytes value)
{
    char *at = buf_reserve(to, key.size + separator->size + value.size + 1);
    if (!at)
        return;
    if (key.size)
        memcpy(at, key.data, key.size);
    at += key.size;
    if (value.data) {
        memcpy(at, separator->text, separator->size);
        at += separator->size;
    }
    if (value.size)
        memcpy(at, value.data, value.size);
    at += value.size;
    *at++ = '\n';
    to->size = (size_t)(at - to->data);
}
