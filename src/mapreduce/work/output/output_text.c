// Text on its way out: pairs as lines, or as records for the next stage, a piece at a time.
//
// A piece that outgrows the slot's share is handed on in parts. Memory for it is taken once and
// reused. Compressed output is cut into frames of a fixed number of bytes of a piece, so that the
// same text gives the same bytes however much memory there is.

#include "base/number.h"
#include "mapreduce/task.h"
#include "mapreduce/work/map/map.h"

enum {
    TEXT_BYTES_MIN = 64 << 10,
    FRAME_BYTES = 256 << 10,
    EARLY_BYTES = 1 << 20
};  // enough to be written while it is in the cache

static bool is_compressed(const struct stage *stage)
{
    return stage_writes_text(stage) && stage->compress != CODEC_NONE;
}

// Compresses the first bytes of the text, whole frames of it, into slot->packed.
static weft_err pack(struct slot *slot, size_t size)
{
    weft_err code = WEFT_OK;
    slot->packed.size = 0;
    for (size_t at = 0; !code && at < size; at += FRAME_BYTES) {
        const size_t frame = size - at < FRAME_BYTES ? size - at : FRAME_BYTES;
        code = codec_compress(slot->stage->compress, (weft_bytes){slot->text.data + at, frame},
                              &slot->packed);
    }
    return code;
}

// Hands on the text so far, or the whole frames in it; false: the attempt has failed.
static bool hand_on_part(struct slot *slot)
{
    const struct stage *stage = slot->stage;
    const enum phase phase = slot_enter(slot, PHASE_WRITE);
    weft_bytes text = {slot->text.data, slot->text.size};
    size_t kept = 0;
    weft_err code = WEFT_OK;
    if (is_compressed(stage)) {
        kept = text.size % FRAME_BYTES;
        code = pack(slot, text.size - kept);
        text = buf_bytes(&slot->packed);
    }
    if (!code && stage->sink)
        code = sink_append(stage->sink, slot->piece, text);
    else if (!code)
        code = dataset_append(stage->kept, slot->piece, text);
    slot_enter(slot, phase);
    slot->has_appended = true;
    memmove(slot->text.data, slot->text.data + slot->text.size - kept, kept);
    slot->text.size = kept;
    if (code)
        slot_fail(slot, code, true);
    return !code;
}

static size_t choose_capacity(const struct slot *slot, size_t needed)
{
    const struct text *text = &slot->text;
    size_t capacity = text->capacity ? text->capacity : TEXT_BYTES_MIN;
    while (capacity < needed)
        capacity *= 2;
    const size_t share = slot->stage->memory.text_bytes;
    return capacity <= share ? capacity : needed > share ? needed : share;
}

static bool grow(struct slot *slot, size_t capacity)
{
    struct text *text = &slot->text;
    char *data = mem_get(slot->stage->budget, capacity);
    if (!data)
        return false;
    if (text->size)
        memcpy(data, text->data, text->size);
    mem_put(slot->stage->budget, text->data, text->capacity);
    text->data = data;
    text->capacity = capacity;
    return true;
}

char *text_reserve(struct slot *slot, size_t more)
{
    struct text *text = &slot->text;
    if (__builtin_expect(text->capacity - text->size >= more, 1))
        return text->data + text->size;
    const bool is_large = text->size && text->size + more > slot->stage->memory.text_bytes;
    if (is_large && !hand_on_part(slot))
        return NULL;
    if (text->capacity - text->size >= more || grow(slot, choose_capacity(slot, text->size + more)))
        return text->data + text->size;
    // No memory for much more. To grow by what each pair needs would copy all the text for each of them.
    if (text->size && !hand_on_part(slot))
        return NULL;
    if (text->capacity - text->size >= more || grow(slot, text->size + more))
        return text->data + text->size;
    slot_fail(slot,
              err_no_memory("for %zu bytes of output; %s", text->size + more,
                            mem_advice(slot->stage->budget)),
              true);
    return NULL;
}

static size_t value_size_max(enum value_type type, weft_bytes bytes)
{
    return type == VALUE_BYTES ? bytes.size : NUMBER_TEXT_MAX;
}

static char *write_value(char *to, enum value_type type, int64_t number, weft_bytes bytes)
{
    double value;
    switch (type) {
    case VALUE_INT:
        return number_write_int(to, number);
    case VALUE_DOUBLE:
        memcpy(&value, &number, sizeof value);
        return number_write_double(to, value);
    case VALUE_BYTES:
        if (bytes.size)
            memcpy(to, bytes.data, bytes.size);
        return to + bytes.size;
    default:
        return to;
    }
}

// {u32 key size, u32 value size, key, value text}
static void write_kept(struct slot *slot, weft_bytes key, enum value_type type, int64_t number,
                       weft_bytes bytes)
{
    char *begin = text_reserve(slot, 8 + key.size + value_size_max(type, bytes));
    if (!begin)
        return;
    if (key.size)
        memcpy(begin + 8, key.data, key.size);
    char *value = begin + 8 + key.size;
    char *end = write_value(value, type, number, bytes);
    const uint32_t sizes[2] = {(uint32_t)key.size, (uint32_t)(end - value)};
    memcpy(begin, sizes, sizeof sizes);
    slot->text.size += (size_t)(end - begin);
}

static void write_formed(struct slot *slot, const struct record_pair *pair)
{
    const enum record_output form = slot->stage->text_form;
    char *to = text_reserve(slot, record_write_max(form, pair));
    if (to)
        slot->text.size = (size_t)(record_write(form, pair, to) - slot->text.data);
}

void text_write_pair(struct slot *slot, weft_bytes key, enum value_type type, int64_t number,
                     weft_bytes bytes)
{
    if (!stage_writes_text(slot->stage)) {
        write_kept(slot, key, type, number, bytes);
        return;
    }
    if (slot->stage->text_form != OUTPUT_TEXT) {
        char room[NUMBER_TEXT_MAX];
        const bool is_number = type != VALUE_BYTES && type != VALUE_NONE;
        struct record_pair pair = {
            .key = key, .value = bytes, .has_value = type != VALUE_NONE, .is_number = is_number};
        if (is_number)
            pair.value =
                (weft_bytes){room, (size_t)(write_value(room, type, number, bytes) - room)};
        write_formed(slot, &pair);
        return;
    }
    char *to = text_reserve(slot, key.size + 2 + value_size_max(type, bytes));
    if (!to)
        return;
    if (key.size)
        memcpy(to, key.data, key.size);
    to += key.size;
    if (type != VALUE_NONE) {
        *to++ = '\t';
        to = write_value(to, type, number, bytes);
    }
    *to++ = '\n';
    slot->text.size = (size_t)(to - slot->text.data);
}

// Lines that came as they are, cut at their first TAB.
static void write_lines_formed(struct slot *slot, weft_bytes text)
{
    for (weft_bytes line; !slot->has_failed && weft_next_line(&text, &line);) {
        const char *tab = memchr(line.data, '\t', line.size);
        struct record_pair pair = {.key = line, .has_value = tab};
        if (tab) {
            pair.key.size = (size_t)(tab - line.data);
            pair.value = (weft_bytes){tab + 1, line.size - pair.key.size - 1};
        }
        write_formed(slot, &pair);
    }
}

// While it is in the cache, where it is looked at once more, and so that the slot's buffer stays small.
static void hand_on_early(struct slot *slot)
{
    if (slot->text.size >= EARLY_BYTES &&
        sink_takes_early(slot->stage->sink, slot->piece, slot->text.size))
        hand_on_part(slot);
}

void weft_write(weft_task *task, weft_bytes text, uint64_t line_count)
{
    struct slot *slot = slot_of_task(task);
    if (slot->has_failed || text.size == 0 || slot->mode >= SLOT_PROBE ||
        (slot->mode == SLOT_SAMPLE && slot->stage->is_map_only))
        return;
    if (slot->is_drafting) {
        map_draft_text(slot, text, line_count);
        return;
    }
    if (slot->mode != SLOT_OUTPUT || !stage_writes_text(slot->stage)) {
        weft_fail(task, "weft_write where pairs are not output: emit them");
        return;
    }
    slot->records_out += line_count;
    if (slot->stage->text_form != OUTPUT_TEXT) {
        write_lines_formed(slot, text);
        return;
    }
    char *to = text_reserve(slot, text.size);
    if (!to)
        return;
    memcpy(to, text.data, text.size);
    slot->text.size += text.size;
    hand_on_early(slot);
}

// Where the sink holds it, if that is what becomes of it; else in the slot's buffer.
char *task_output_room(weft_task *task, size_t *size)
{
    struct slot *slot = slot_of_task(task);
    if (slot->has_failed || slot->is_drafting || slot->mode != SLOT_OUTPUT ||
        !stage_writes_text(slot->stage) || slot->stage->text_form != OUTPUT_TEXT)
        return NULL;
    char *room = slot->text.size == 0 && !is_compressed(slot->stage)
                     ? sink_room(slot->stage->sink, slot->piece, size)
                     : NULL;
    slot->has_sink_room = room;
    if (room)
        return room;
    room = text_reserve(slot, *size);
    *size = room ? slot->text.capacity - slot->text.size : 0;
    return room;
}

void task_output_add(weft_task *task, weft_bytes text, uint64_t line_count)
{
    struct slot *slot = slot_of_task(task);
    slot->records_out += line_count;
    if (slot->has_sink_room) {
        sink_fill(slot->stage->sink, slot->piece, text);
        slot->has_appended = true;
        return;
    }
    slot->text.size += text.size;
    hand_on_early(slot);
}

static weft_err keep(struct slot *slot, weft_bytes text)
{
    const weft_err code = dataset_append(slot->stage->kept, slot->piece, text);
    if (!code)
        dataset_finish(slot->stage->kept, slot->piece);
    return code;
}

weft_err text_submit(struct slot *slot)
{
    const struct stage *stage = slot->stage;
    weft_bytes text = {slot->text.data, slot->text.size};
    const enum phase phase = slot_enter(slot, PHASE_WRITE);
    weft_err code = WEFT_OK;
    if (is_compressed(stage)) {
        code = pack(slot, text.size);
        // A file without a frame is not a compressed file: the first piece of a part writes one.
        if (!code && text.size == 0 && !slot->has_appended &&
            sink_is_first(stage->sink, slot->piece))
            code = codec_compress(stage->compress, (weft_bytes){"", 0}, &slot->packed);
        text = buf_bytes(&slot->packed);
    }
    if (!code)
        code = stage->sink ? sink_submit(stage->sink, slot->piece, text, slot->records_out)
                           : keep(slot, text);
    slot_enter(slot, phase);
    slot->text.size = 0;
    slot->has_appended = false;
    return code;
}

void text_discard(struct slot *slot)
{
    if (slot->has_appended && slot->stage->sink)
        sink_discard(slot->stage->sink, slot->piece);
    else if (slot->has_appended)
        dataset_discard(slot->stage->kept, slot->piece);
    slot->has_appended = false;
    slot->text.size = 0;
}
