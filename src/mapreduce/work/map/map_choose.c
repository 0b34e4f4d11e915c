// Giving the job only some records of a block, or watching them one by one: when some are known to be bad,
// when bad ones are to be found, when one is only to be shown, and when checksums are to be looked at before a
// block is given. The slow way, and only then.

#include "mapreduce/work/map/map.h"
#include "mapreduce/work/reduce/values.h"

// ---- which

static bool is_skipped(const struct slot *slot, uint64_t offset)
{
    if (slot->skip_count == 0)
        return false;
    const struct place *low = slot->skips, *end = slot->skips + slot->skip_count;
    while (low < end) {
        const struct place *middle = low + (end - low) / 2;
        if (middle->input == slot->input_index && middle->offset == offset)
            return true;
        const bool is_before = middle->input != slot->input_index
                                   ? middle->input < slot->input_index
                                   : middle->offset < offset;
        if (is_before)
            low = middle + 1;
        else
            end = middle;
    }
    return false;
}

static bool is_chosen(const struct slot *slot, uint64_t offset)
{
    return offset >= slot->window_begin && offset < slot->window_end && !is_skipped(slot, offset);
}

// ---- what went wrong with one

static void note_bad(struct slot *slot, weft_bytes record, const char *reason)
{
    struct bad_record bad = {
        .place = {slot->input_index, slot->input_offset},
        .size = record.size,
        .text_size = (uint32_t)(record.size < BAD_TEXT_BYTES ? record.size : BAD_TEXT_BYTES)};
    if (bad.text_size)
        memcpy(bad.text, record.data, bad.text_size);
    const size_t length = strnlen(reason, sizeof bad.reason - 1);
    memcpy(bad.reason, reason, length);
    if (!VEC_PUSH(&slot->bad, bad))
        slot_fail(slot, err_no_memory("for the list of bad records"), true);
}

// ---- what a record emits is kept aside until it has proved good

struct drafted {
    uint64_t key_size, value_size;
    int64_t number;  // of lines that are written: how many
    enum value_type type;
    bool is_written, has_value;  // by weft_write; the value is not NULL
};

static void add_draft(struct slot *slot, const struct drafted *head, weft_bytes key,
                      weft_bytes value)
{
    buf_append(&slot->draft, head, sizeof *head);
    if (key.size)
        buf_append(&slot->draft, key.data, key.size);
    if (value.size)
        buf_append(&slot->draft, value.data, value.size);
    if (slot->draft.has_failed)
        slot_fail(slot, err_no_memory("for the pairs of a record"), true);
}

void map_draft_pair(struct slot *slot, const struct pair *pair)
{
    const struct drafted head = {.key_size = pair->key.size,
                                 .value_size = pair->bytes.size,
                                 .number = pair->number,
                                 .type = pair->type,
                                 .has_value = pair->bytes.data};
    add_draft(slot, &head, pair->key, pair->bytes);
}

void map_draft_text(struct slot *slot, weft_bytes text, uint64_t line_count)
{
    const struct drafted head = {
        .value_size = text.size, .number = (int64_t)line_count, .is_written = true};
    add_draft(slot, &head, weft_none(), text);
}

static void replay_draft(struct slot *slot)
{
    for (size_t at = 0; at < slot->draft.size && !slot->has_failed;) {
        struct drafted head;
        memcpy(&head, slot->draft.data + at, sizeof head);
        const char *key = slot->draft.data + at + sizeof head, *value = key + head.key_size;
        const weft_bytes bytes = {head.has_value || head.is_written ? value : NULL,
                                  head.value_size};
        if (head.is_written)
            weft_write(&slot->hot, bytes, (uint64_t)head.number);
        else
            task_emit_pair(&slot->hot, (weft_bytes){key, head.key_size}, head.type, head.number,
                           bytes);
        at += sizeof head + head.key_size + head.value_size;
    }
}

static void map_carefully(struct slot *slot, weft_bytes record)
{
    const uint64_t records_out = slot->records_out;
    slot->draft.size = 0;
    slot->hot.queue_limit_ = 0;
    slot->is_drafting = true;
    slot->stage->job.map(&slot->hot, record);
    slot->is_drafting = false;
    if (!slot->has_failed) {
        replay_draft(slot);
        return;
    }
    if (slot->is_final || slot->code != WEFT_ABORTED)
        return;
    slot->has_failed = false;
    slot->records_out = records_out;
    note_bad(slot, record, slot->error);
}

// ---- the walk

static void give_record(struct slot *slot, weft_bytes record)
{
    if (slot->mode == SLOT_LOOK)
        note_bad(slot, record, "");
    else if (slot->is_careful)
        map_carefully(slot, record);
    else
        slot->stage->job.map(&slot->hot, record);
}

// Jobs that take blocks get the stretches between the records that are left out.
struct walk {
    struct slot *slot;
    weft_bytes block;  // the rest of it
    const char *begin, *stretch;
    uint64_t offset;  // of the begin
    uint64_t held;    // records in the stretch: their numbers are not passed before it is given
    bool takes_blocks;
};

static void note_place(const struct walk *walk, const char *at)
{
    map_note_position(walk->slot, walk->offset + (uint64_t)(at - walk->begin));
}

static void give_stretch(struct walk *walk, const char *end)
{
    struct slot *slot = walk->slot;
    if (walk->stretch < end && !slot->has_failed) {
        note_place(walk, walk->stretch);
        slot->stage->job.map_block(&slot->hot,
                                   (weft_bytes){walk->stretch, (size_t)(end - walk->stretch)});
    }
    slot->record_index += walk->held;
    walk->held = 0;
    walk->stretch = walk->block.data;
}

static void walk_record(struct walk *walk, weft_bytes record, const char *at, bool is_good)
{
    struct slot *slot = walk->slot;
    const uint64_t numbers = map_count_numbered(&slot->stage->format, record);
    if (walk->takes_blocks && is_good) {
        walk->held += numbers;
        return;
    }
    if (walk->takes_blocks)
        give_stretch(walk, at);
    else if (is_good)
        give_record(slot, record);
    slot->record_index += numbers;
}

uint64_t map_feed_chosen(struct slot *slot, weft_bytes block, uint64_t offset)
{
    const struct record_format *format = &slot->stage->format;
    struct walk walk = {.slot = slot,
                        .block = block,
                        .begin = block.data,
                        .stretch = block.data,
                        .offset = offset,
                        .takes_blocks = slot->stage->job.map_block && slot->mode != SLOT_LOOK};
    weft_err code = WEFT_OK;
    uint64_t records = 0;
    while (!slot->has_failed) {
        const char *at = walk.block.data;
        weft_bytes record;
        const bool has_record = record_next(format, &walk.block, &record, &code);
        note_place(&walk, has_record ? map_record_begin(format, at, record) : at);
        if (!has_record && (!code || !slot->is_careful))
            break;
        if (!has_record) {
            if (walk.takes_blocks)
                give_stretch(&walk, at);
            note_place(&walk, at);
            note_bad(slot, record, err_text());
            slot->record_index++;
            records++;  // read, and left out
            continue;
        }
        const bool is_good = is_chosen(slot, slot->input_offset);
        records += is_good;
        walk_record(&walk, record, at, is_good);
    }
    if (walk.takes_blocks && !code)
        give_stretch(&walk, walk.block.data);
    if (code && !slot->has_failed)
        slot_fail(slot,
                  err_wrap(code, "%s, record at offset %llu", slot->input_name,
                           (unsigned long long)slot->input_offset),
                  true);
    return records;
}

void map_feed_chosen_empty(struct slot *slot, weft_bytes nothing)
{
    if (!is_chosen(slot, 0))
        return;
    if (slot->stage->job.map_block && slot->mode != SLOT_LOOK)
        slot->stage->job.map_block(&slot->hot, nothing);
    else
        give_record(slot, nothing);
}
