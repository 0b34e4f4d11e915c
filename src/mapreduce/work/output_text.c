// Text on its way out: pairs as lines, or as records for the next stage, a piece at a time.
//
// A piece that outgrows the slot's share is handed on in parts. Memory for it is taken once and reused.

#include "base/number.h"
#include "mapreduce/work/slot.h"

enum { TEXT_BYTES_MIN = 64 << 10 };

// Hands on what there is; false: the attempt has failed.
static bool hand_on_part(struct slot *slot)
{
    const enum phase phase = slot_enter(slot, PHASE_WRITE);
    const weft_bytes text = {slot->text.data, slot->text.size};
    const weft_err code = slot->stage->sink ? sink_append(slot->stage->sink, slot->piece, text)
                                            : dataset_append(slot->stage->kept, slot->piece, text);
    slot_enter(slot, phase);
    slot->has_appended = true;
    slot->text.size = 0;
    if (code)
        slot_fail(slot, code, true);
    return !code;
}

static bool grow(struct slot *slot, size_t needed)
{
    struct text *text = &slot->text;
    size_t capacity = text->capacity ? text->capacity : TEXT_BYTES_MIN;
    while (capacity < needed)
        capacity *= 2;
    const size_t share = slot->stage->memory.text_bytes;
    if (capacity > share)
        capacity = needed > share ? needed : share;
    char *data = mem_get(slot->stage->budget, capacity);
    if (!data && capacity != needed) {
        capacity = needed;
        data = mem_get(slot->stage->budget, capacity);
    }
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
    if (text->capacity - text->size >= more || grow(slot, text->size + more))
        return text->data + text->size;
    if (text->size && hand_on_part(slot) && grow(slot, more))
        return text->data;
    slot_fail(slot,
              err_set(WEFT_RESOURCE_EXHAUSTED,
                      "no memory for %zu bytes of output; give more --memory or fewer --slots",
                      text->size + more),
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

void text_write_pair(struct slot *slot, weft_bytes key, enum value_type type, int64_t number,
                     weft_bytes bytes)
{
    if (!slot->stage->sink) {
        write_kept(slot, key, type, number, bytes);
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

static weft_err keep(struct slot *slot, weft_bytes text)
{
    const weft_err code = dataset_append(slot->stage->kept, slot->piece, text);
    if (!code)
        dataset_finish(slot->stage->kept, slot->piece);
    return code;
}

weft_err text_submit(struct slot *slot)
{
    const weft_bytes text = {slot->text.data, slot->text.size};
    const enum phase phase = slot_enter(slot, PHASE_WRITE);
    const weft_err code = slot->stage->sink
                              ? sink_submit(slot->stage->sink, slot->piece, text, slot->records_out)
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
