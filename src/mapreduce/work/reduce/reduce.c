// Reduce: one range of keys from all slots, grouped and given to the job.
//
// Pairs in memory are gathered and sorted; spilled ones are merged with them. Jobs that fold
// integers, and the one that only sorts, are walked without a call per pair.

#include "base/number.h"
#include "mapreduce/work/map/source.h"
#include "mapreduce/work/slot.h"
#include "mapreduce/work/sort/merge.h"

struct folding {
    struct slot *slot;
    weft_reduce_fn *reduce;
    bool is_plain;  // the reducer only says the total
};

// Copies a key of 1..16 bytes without a call: two loads and stores that may overlap.
static inline void copy_short_key(char *to, weft_bytes key)
{
    uint64_t front, back;
    uint32_t small_front, small_back;
    if (key.size >= 8) {
        memcpy(&front, key.data, 8);
        memcpy(&back, key.data + key.size - 8, 8);
        memcpy(to, &front, 8);
        memcpy(to + key.size - 8, &back, 8);
    } else if (key.size >= 4) {
        memcpy(&small_front, key.data, 4);
        memcpy(&small_back, key.data + key.size - 4, 4);
        memcpy(to, &small_front, 4);
        memcpy(to + key.size - 4, &small_back, 4);
    } else {
        to[0] = key.data[0];
        to[key.size / 2] = key.data[key.size / 2];
        to[key.size - 1] = key.data[key.size - 1];
    }
}

// A line "key TAB total": what most output is made of.
static void write_total(struct slot *slot, weft_bytes key, int64_t total)
{
    const bool is_text = stage_writes_text(slot->stage) && slot->stage->text_form == OUTPUT_TEXT;
    if (!is_text || key.size - 1 >= 16) {
        text_write_pair(slot, key, VALUE_INT, total, weft_none());
        return;
    }
    char *to = text_reserve(slot, key.size + 2 + NUMBER_TEXT_MAX);
    if (!to)
        return;
    copy_short_key(to, key);
    to += key.size;
    *to++ = '\t';
    if (total >= 0 && total < 10)
        *to++ = (char)('0' + total);
    else
        to = number_write_int(to, total);
    *to++ = '\n';
    slot->text.size = (size_t)(to - slot->text.data);
}

static weft_err reduce_total(void *owner, uint64_t prefix, weft_bytes key, int64_t total)
{
    const struct folding *folding = owner;
    struct slot *slot = folding->slot;
    (void)prefix;
    if (folding->is_plain) {
        write_total(slot, key, total);
        slot->records_out++;
    } else {
        groups_run_one(slot, key, total, folding->reduce);
    }
    return slot->has_failed ? err_set(slot->code, "%s", slot->error) : WEFT_OK;
}

static inline void write_text(struct slot *slot, weft_bytes line)
{
    struct text *text = &slot->text;
    char *to = __builtin_expect(text->capacity - text->size > line.size, 1)
                   ? text->data + text->size
                   : text_reserve(slot, line.size + 1);
    if (!to)
        return;
    memcpy(to, line.data, line.size);
    to[line.size] = '\n';
    text->size = (size_t)(to - text->data) + line.size + 1;
}

// Every pair as it came: the way of a sort.
static weft_err write_all(struct slot *slot, const struct sorted *sorted)
{
    const bool is_text_output =
        stage_writes_text(slot->stage) && slot->stage->text_form == OUTPUT_TEXT;
    for (size_t i = 0; i < sorted->entry_count && !slot->has_failed; i++) {
        const struct entry entry = sorted->entries[i];
        if (i + ENTRY_AHEAD < sorted->entry_count)
            entry_prefetch(sorted->entries[i + ENTRY_AHEAD]);
        if (is_text_output && entry_tag(entry) == ENTRY_TEXT) {
            write_text(slot, entry_text(entry));
            continue;
        }
        char room[8];
        struct pair pair;
        entry_pair(entry, room, &pair);
        text_write_pair(slot, pair.key, pair.type, pair.number, pair.bytes);
    }
    slot->records_out += sorted->entry_count;
    return slot->has_failed ? err_set(slot->code, "%s", slot->error) : WEFT_OK;
}

static weft_err reduce_sorted(struct slot *slot, const struct sorted *sorted, bool is_folded)
{
    const struct stage *stage = slot->stage;
    slot_enter(slot, PHASE_REDUCE);
    if (is_folded) {
        struct folding folding = {slot, stage->job.reduce,
                                  stage_fold_op(stage->job.reduce) == stage->op};
        return gather_fold(sorted, stage->op, true, reduce_total, &folding);
    }
    if (stage->job.reduce == weft_identity && sorted->wide_count == 0)
        return write_all(slot, sorted);
    struct pair_stream *stream = gather_stream(sorted);
    return stream ? groups_run(slot, stream, stage->job.reduce) : WEFT_RESOURCE_EXHAUSTED;
}

// ---- merging with spilled pairs

// A slot's runs oldest first, then what all slots hold in memory, which is newer than any run.
static weft_err open_merge(struct slot *slot, uint32_t range, const struct sorted *sorted,
                           struct merge **merge)
{
    const struct stage *stage = slot->stage;
    *merge = merge_new(&stage->order);
    if (!*merge)
        return err_no_memory("to merge");
    for (uint32_t i = 0; i < stage->slot_count; i++) {
        const struct collector *c = &stage->slots[i].collector;
        for (size_t j = 0; j < c->runs.count; j++) {
            const weft_err code = merge_add_run(*merge, &c->runs.items[j], range);
            if (code)
                return code;
        }
    }
    if (sorted->entry_count + sorted->wide_count == 0)
        return WEFT_OK;
    struct pair_stream *stream = gather_stream(sorted);
    return stream ? merge_add_take(*merge, stream) : WEFT_RESOURCE_EXHAUSTED;
}

static weft_err fold_one(const struct stage *stage, __int128 *total, int64_t number, bool is_first)
{
    if (is_first)
        *total = number;
    else if (stage->op == FOLD_SUM)
        *total += number;
    else if (stage->op == FOLD_MIN ? number < *total : number > *total)
        *total = number;
    return WEFT_OK;
}

static weft_err end_total(struct folding *folding, __int128 total)
{
    const weft_bytes key = buf_bytes(&folding->slot->group_key);
    if (total > INT64_MAX || total < INT64_MIN)
        return gather_overflow(key);
    return reduce_total(folding, 0, key, (int64_t)total);
}

// Folds a merged stream of integers: a comparison and an addition per pair.
static weft_err fold_merge(struct slot *slot, struct merge *merge)
{
    const struct stage *stage = slot->stage;
    struct folding folding = {slot, stage->job.reduce,
                              stage_fold_op(stage->job.reduce) == stage->op};
    struct buf *key = &slot->group_key;
    struct pair pair;
    bool has_pair, is_first = true;
    __int128 total = 0;
    weft_err code;
    while (!(code = merge_next(merge, &pair, &has_pair)) && has_pair) {
        const bool is_same = !is_first && bytes_equal(pair.key, buf_bytes(key));
        if (!is_same) {
            if (!is_first && (code = end_total(&folding, total)))
                return code;
            key->size = 0;
            buf_append(key, pair.key.data, pair.key.size);
            if (key->has_failed)
                return err_no_memory("for a key of %zu bytes; give less --memory or fewer --slots",
                                     pair.key.size);
        }
        fold_one(stage, &total, pair.number, !is_same);
        is_first = false;
    }
    if (code || is_first)
        return code;
    return end_total(&folding, total);
}

static weft_err reduce_merged(struct slot *slot, uint32_t range, const struct sorted *sorted,
                              bool is_folded)
{
    slot_enter(slot, PHASE_MERGE);
    struct merge *merge = NULL;
    weft_err code = open_merge(slot, range, sorted, &merge);
    if (!code && is_folded) {
        code = fold_merge(slot, merge);
    } else if (!code) {
        struct merge_stream stream = merge_stream_of(merge);
        code = groups_run(slot, &stream.stream, slot->stage->job.reduce);
    }
    if (merge)
        merge_free(merge);
    return code;
}

static bool has_runs(const struct stage *stage)
{
    for (uint32_t i = 0; i < stage->slot_count; i++)
        if (stage->slots[i].collector.runs.count)
            return true;
    return false;
}

static bool holds_only_integers(const struct stage *stage)
{
    if (stage->op == FOLD_NONE)
        return false;
    for (uint32_t i = 0; i < stage->slot_count; i++)
        if (stage->slots[i].collector.has_mixed)
            return false;
    return true;
}

static weft_err reduce_range(struct slot *slot, uint32_t range)
{
    const struct stage *stage = slot->stage;
    const struct buckets *buckets[SLOTS_MAX];
    for (uint32_t i = 0; i < stage->slot_count; i++)
        buckets[i] = &stage->slots[i].collector.buckets;
    struct sorted sorted;
    slot_enter(slot, PHASE_SORT);
    weft_err code = gather_sorted(&slot->area, buckets, stage->slot_count, range, 0, UINT64_MAX,
                                  &stage->order, &sorted);
    const bool is_folded = holds_only_integers(stage);
    if (!code && sorted.entry_count + sorted.wide_count == 0)
        area_fini(&slot->area);  // its share is what the blocks of runs take
    if (!code)
        code = has_runs(stage) ? reduce_merged(slot, range, &sorted, is_folded)
                               : reduce_sorted(slot, &sorted, is_folded);
    if (!code)
        code = source_check_all_mapped(stage);  // keys may point into it until they are written
    if (!code && stage->top && !stage_writes_text(stage))
        code = top_keep_largest(slot);
    return code;
}

weft_err reduce_run(struct slot *slot, uint32_t range)
{
    slot->piece = range;
    slot_call_begin(slot);
    if (!slot->has_failed) {
        const weft_err code = reduce_range(slot, range);
        if (code)
            slot_fail(slot, code, code != WEFT_ABORTED);
    }
    slot_call_end(slot);
    return slot->has_failed ? err_set(slot->code, "%s", slot->error) : WEFT_OK;
}
