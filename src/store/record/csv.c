// CSV: rows by RFC 4180, and the fields of a row.
//
// A quote toggles between inside and outside whatever stands around it, so that the state at any place of a
// file follows from the number of quotes before. Whether they are where they may be shows when the row
// is split.

#include "store/record/formats.h"
#include "store/record/scan.h"

// Nothing before `seen` ends a row: it would have been given away.
weft_err csv_cut(struct record_scan *scan, struct cut *cut)
{
    const struct scan_kernels *kernels = scan_kernels();
    const char *data = cut->text.data;
    const size_t size = cut->text.size, turn = cut_turn(cut), seen = scan->seen;
    const weft_bytes early = {data + seen, seen < turn ? turn - seen : 0};
    scan->is_quoted ^= kernels->count_byte(early, '"') & 1;
    const bool is_quoted_at_turn = scan->is_quoted;
    const size_t from = seen > turn ? seen : turn;
    const size_t end = kernels->find_end((weft_bytes){data + from, size - from}, &scan->is_quoted);
    scan->seen = size;
    if (end != SIZE_MAX || (cut->is_end && !scan->is_quoted)) {
        cut_here(cut, end != SIZE_MAX ? from + end + 1 : size, true);
        return WEFT_OK;
    }
    const size_t last = kernels->find_last_end(early, is_quoted_at_turn);
    if (last != SIZE_MAX)
        cut_here(cut, seen + last + 1, false);
    else if (cut->is_end)
        return err_set(WEFT_DATA_LOSS,
                       "open quote: the file ends before a quote of the row that begins here is "
                       "closed\n  try: write a quote inside a field twice; --format lines if these "
                       "are not quotes");
    return WEFT_OK;
}

bool csv_next(weft_bytes *block, weft_bytes *row)
{
    const struct scan_kernels *kernels = scan_kernels();
    while (block->size) {
        bool is_quoted = false;
        const size_t end = kernels->find_end(*block, &is_quoted);
        const bool has_end = end != SIZE_MAX;
        const size_t size = has_end ? end : block->size;
        const bool has_return = has_end && size && block->data[size - 1] == '\r';
        *row = (weft_bytes){block->data, size - has_return};
        block_drop(block, size + has_end);
        if (row->size)
            return true;
    }
    return false;
}

// ---- fields

// The content of a field in quotes that has quotes inside, which begins at `at`. Returns where the closing
// quote stands, NULL when there is none.
static const char *unquote(const char *at, const char *end, struct buf *room, weft_bytes *field)
{
    char *const to = room->data + room->size;
    size_t size = 0;
    for (;;) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        if (!quote)
            return NULL;
        memcpy(to + size, at, (size_t)(quote - at));
        size += (size_t)(quote - at);
        if (quote + 1 == end || quote[1] != '"') {
            *field = (weft_bytes){to, size};
            room->size += size;
            return quote;
        }
        to[size++] = '"';
        at = quote + 2;
    }
}

// The field at `at`; returns its end, where a separator or nothing follows, NULL for a stray quote.
static const char *read_field(unsigned char separator, const char *at, const char *end,
                              struct buf *room, weft_bytes *field)
{
    const size_t left = (size_t)(end - at);
    if (left && *at == '"') {
        const char *quote = unquote(at + 1, end, room, field);
        const bool is_closed = quote && (quote + 1 == end || (unsigned char)quote[1] == separator);
        return is_closed ? quote + 1 : NULL;
    }
    const char *stop = left ? memchr(at, separator, left) : NULL;
    stop = stop ? stop : end;
    *field = (weft_bytes){at, (size_t)(stop - at)};
    return field->size && memchr(at, '"', field->size) ? NULL : stop;
}

// A row that has quotes elsewhere than around fields: one field after the other.
static size_t split_with_care(unsigned char separator, weft_bytes row, weft_bytes *fields,
                              size_t max, struct buf *room)
{
    if (!buf_reserve(room, row.size))
        return SIZE_MAX;
    const char *at = row.data, *const end = row.data + row.size;
    for (size_t count = 0;; at++) {
        weft_bytes field;
        at = read_field(separator, at, end, room, &field);
        if (!at)
            return SIZE_MAX;
        if (count < max)
            fields[count] = field;
        count++;
        if (at == end)
            return count;
    }
}

size_t record_split_csv(const struct record_format *format, weft_bytes row, weft_bytes *fields,
                        size_t max, struct buf *room)
{
    if (row.size == 0)
        row.data = "";
    const size_t count = scan_kernels()->split(row, format->separator, fields, max);
    if (__builtin_expect(count != SIZE_MAX, 1))
        return count;
    return split_with_care(format->separator, row, fields, max, room);
}
