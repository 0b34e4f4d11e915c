// --top N within one range: only its N largest can be among the N largest of all, so only they are
// kept for the last stage, which sorts what the ranges have left.

#include <stdlib.h>

#include "base/number.h"
#include "mapreduce/work/slot.h"

struct kept {
    int64_t count;
    bool is_number;
    const char *record;  // {u32 key size, u32 value size, key, value}
};

static weft_bytes key_of(const struct kept *kept)
{
    uint32_t size;
    memcpy(&size, kept->record, sizeof size);
    return (weft_bytes){kept->record + 8, size};
}

// Values that are not numbers come before all: the last stage is to see and refuse them.
static int larger_first(const void *left, const void *right)
{
    const struct kept *a = left, *b = right;
    if (a->is_number != b->is_number)
        return a->is_number ? 1 : -1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return bytes_compare(key_of(a), key_of(b));
}

static size_t record_size(const char *record)
{
    uint32_t sizes[2];
    memcpy(sizes, record, sizeof sizes);
    return 8 + (size_t)sizes[0] + sizes[1];
}

static size_t list_kept(const struct text *text, struct kept *list)
{
    size_t count = 0;
    for (size_t at = 0; at < text->size; at += record_size(text->data + at)) {
        struct kept kept = {.record = text->data + at};
        uint32_t sizes[2];
        memcpy(sizes, kept.record, sizeof sizes);
        const weft_bytes value = {kept.record + 8 + sizes[0], sizes[1]};
        kept.is_number = number_read_int(value, &kept.count);
        list[count++] = kept;
    }
    return count;
}

weft_err top_keep_largest(struct slot *slot)
{
    const size_t total = (size_t)slot->records_out, top = slot->stage->top;
    if (total <= top ||
        slot->has_appended)  // partly handed on already: the last stage sorts it out
        return WEFT_OK;
    // The sorting area is free again: the range's pairs are all in the text.
    const size_t list_bytes = total * sizeof(struct kept);
    if (!area_reserve(&slot->area, list_bytes))
        return WEFT_OK;
    struct kept *list = slot->area.memory;
    ASSERT(list_kept(&slot->text, list) == total);
    qsort(list, total, sizeof *list, larger_first);
    size_t size = 0;
    for (size_t i = 0; i < top; i++)
        size += record_size(list[i].record);
    char *chosen = malloc(size + 1), *to = chosen;
    if (!chosen)
        return WEFT_OK;
    for (size_t i = 0; i < top; i++) {
        memcpy(to, list[i].record, record_size(list[i].record));
        to += record_size(list[i].record);
    }
    memcpy(slot->text.data, chosen, size);
    slot->text.size = size;
    slot->records_out = top;
    free(chosen);
    return WEFT_OK;
}
