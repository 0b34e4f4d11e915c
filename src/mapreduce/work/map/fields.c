// The parts of a record, for a job that asks: fields of a csv row, columns by name, values of a
// JSON object, the record's number.

#include "base/number.h"
#include "mapreduce/task.h"
#include "mapreduce/work/map/map.h"
#include "mapreduce/work/map/source.h"
#include "mapreduce/work/map/stretches.h"

enum { HEADER_BYTES_MAX = 16 << 20 };

// ---- columns

void fields_take_header(struct slot *slot, weft_bytes row)
{
    struct header *header = &slot->header;
    header->is_known = true;
    header->input_index = slot->input_index;
    header->row.size = header->room.size = 0;
    header->names.count = 0;
    buf_append(&header->row, row.data, row.size);
    if (buf_reserve(&header->room, row.size + 1) && !header->row.has_failed) {
        const struct record_format *format = &slot->stage->format;
        const weft_bytes copy = buf_bytes(&header->row);
        const size_t count = record_split_csv(format, copy, NULL, 0, &header->room);
        weft_bytes name = {0};
        while (count != SIZE_MAX && header->names.count < count && VEC_PUSH(&header->names, name))
            continue;
        header->room.size = 0;
        if (header->names.count == count) {
            record_split_csv(format, copy, header->names.items, count, &header->room);
            return;
        }
        if (count == SIZE_MAX)
            weft_fail(&slot->hot, "the header of %s has a stray quote", slot->input_name);
    }
    if (!slot->has_failed)
        weft_fail(&slot->hot, "no memory for a header of %zu bytes", row.size);
}

// Whether the text, the beginning of an input, holds a whole row: its first one then.
static weft_err find_row(const struct record_format *format, weft_bytes text, bool is_end,
                         weft_bytes *row, bool *has_row)
{
    struct record_scan scan = {0};
    size_t whole = 0;
    bool is_last;
    const size_t mark = record_bom_size(text);
    const weft_bytes rest = {text.data + mark, text.size - mark};
    weft_err code = record_find_whole(format, &scan, rest, SIZE_MAX, is_end, &whole, &is_last);
    weft_bytes block = {rest.data, whole};
    *has_row = !code && record_next(format, &block, row, &code);
    return code;
}

// Reads the first row of an input, for a slot that is at a later place in it.
static weft_err read_header(struct slot *slot, struct buf *text, weft_bytes *row)
{
    const struct record_format *format = &slot->stage->format;
    struct source source;
    bool has_row = false;
    const uint64_t since = slot_begin_wait(slot, slot->input_index);
    weft_err code = source_open(&source, slot->stage, slot->input_index, 0, 0);
    while (!code && !has_row && !source_is_at_end(&source)) {
        const size_t more = text->size ? text->size : 4096;
        char *room = text->size < HEADER_BYTES_MAX ? buf_reserve(text, more) : NULL;
        size_t got = 0;
        code = room ? source_read(&source, room, more, &got)
                    : err_set(WEFT_RESOURCE_EXHAUSTED, "the header of %s is too long",
                              slot->input_name);
        text->size += got;
        if (!code)
            code = find_row(format, buf_bytes(text), source_is_at_end(&source), row, &has_row);
    }
    source_close(&source);
    slot_end_wait(slot, since);
    if (!code && !has_row)
        *row = (weft_bytes){"", 0};
    return code;
}

void fields_find_header(struct slot *slot)
{
    struct buf text = {0};
    weft_bytes row;
    if (slot->header.is_known && slot->header.input_index == slot->input_index)
        return;
    const weft_err code = read_header(slot, &text, &row);
    if (code)
        slot_fail_reading(slot, code);
    else
        fields_take_header(slot, row);
    buf_fini(&text);
}

size_t weft_csv_column(weft_task *task, const char *name)
{
    struct slot *slot = slot_of_task(task);
    const struct header *header = &slot->header;
    if (slot->stage->format.kind != RECORD_CSV || !slot->stage->format.has_header) {
        weft_fail(task, "columns have names only in csv with a header (--format csv:header)");
        return 0;
    }
    if (!slot->input_name) {
        weft_fail(task, "weft_csv_column('%s') where there is no record: ask in map", name);
        return 0;
    }
    fields_find_header(slot);
    for (size_t i = 0; i < header->names.count; i++)
        if (bytes_equal(header->names.items[i], weft_text(name)))
            return i;
    if (!slot->has_failed)
        weft_fail(task, "%s has no column '%s'", slot->input_name, name);
    return 0;
}

// ---- room for what has to be unquoted or unescaped

// Answers about a record stay valid until map returns, whatever else the job asks about it. In
// other calls values come one after the other; an answer stays valid until the job asks about the
// next one.
static void forget_others(struct slot *slot, weft_bytes text)
{
    const bool is_mapping = !slot->is_reducing && slot->mode != SLOT_COMBINE;
    const bool is_same =
        is_mapping ? slot->fields_of == slot->record_index : slot->fields_object == text.data;
    slot->fields_of = slot->record_index;
    slot->fields_object = text.data;
    if (is_same)
        return;
    slot->field_room.size = 0;
    for (size_t i = 0; i < slot->full_rooms.count; i++)
        buf_fini(&slot->full_rooms.items[i]);
    slot->full_rooms.count = 0;
}

// Room for what may come out of the text; false fails the attempt.
static bool make_room(struct slot *slot, weft_bytes text)
{
    struct buf *room = &slot->field_room;
    forget_others(slot, text);
    if (__builtin_expect(room->capacity - room->size > text.size, 1))
        return true;
    size_t wanted = text.size + 1;
    bool is_good = true;
    if (room->size) {
        wanted += room->capacity;  // twice as large, so that the next record finds room enough
        is_good = VEC_PUSH(&slot->full_rooms, *room);
        if (is_good)
            *room = (struct buf){0};
    }
    room->has_failed = false;
    if (is_good && buf_reserve(room, wanted))
        return true;
    weft_fail(&slot->hot, "no memory for the values of a record of %zu bytes", text.size);
    return false;
}

size_t weft_csv_fields(weft_task *task, weft_bytes record, weft_bytes *fields, size_t max)
{
    struct slot *slot = slot_of_task(task);
    if (!make_room(slot, record))
        return 0;
    const size_t count =
        record_split_csv(&slot->stage->format, record, fields, max, &slot->field_room);
    if (count != SIZE_MAX)
        return count;
    weft_fail(task, "a stray quote in a csv record");
    return 0;
}

// ---- JSON

weft_bytes weft_json(weft_task *task, weft_bytes object, const char *path)
{
    struct slot *slot = slot_of_task(task);
    weft_bytes value = {0};
    if (!make_room(slot, object))
        return weft_none();
    switch (record_json_get(object, path, &value, &slot->field_room)) {
    case RECORD_JSON_MISSING:
    case RECORD_JSON_NULL:
        return weft_none();
    case RECORD_JSON_BROKEN:
        weft_fail(task, "this is not JSON, or nested deeper than 256: %.*s",
                  (int)(object.size < 80 ? object.size : 80), object.data);
        return weft_none();
    default:
        return value;
    }
}

bool weft_read_int(weft_bytes text, int64_t *value)
{
    return number_read_int(text, value);
}

bool weft_read_double(weft_bytes text, double *value)
{
    return number_read_double(text, value);
}

// ---- records

const struct record_format *task_record_format(const weft_task *task)
{
    return &slot_of_task(task)->stage->format;
}

static weft_err count_before(struct slot *slot, uint64_t *count)
{
    const struct record_format *format = &slot->stage->format;
    struct record_counts before = {0};
    *count = 0;
    if (slot->piece_base == 0)
        return WEFT_OK;
    if (format->kind == RECORD_FIXED) {
        *count = slot->piece_base / format->fixed_bytes;
        return WEFT_OK;
    }
    const weft_err code = stretches_count(slot, slot->input_index, slot->piece_base, &before);
    *count = before.ends[0];
    if (format->kind == RECORD_CSV && format->has_header && *count)
        --*count;
    return code;
}

uint64_t weft_input_record(weft_task *task)
{
    struct slot *slot = slot_of_task(task);
    if (!slot->input_name)
        return 0;
    if (!slot->has_record_base) {
        const weft_err code = count_before(slot, &slot->record_base);
        if (code)
            slot_fail_reading(slot, code);
        slot->has_record_base = true;
    }
    return slot->record_base + slot->record_index + 1;
}
