// Too many runs: the last ones of one level become one run of the next.
//
// Who reduces reads every run at once, a block of each, so their number is bounded by memory. Merging
// always the newest neighbours of one level writes every pair once per level, and keeps the runs in the
// order they were spilled in, which is part of the order of pairs.

#include "mapreduce/work/merge.h"
#include "mapreduce/work/slot.h"

static weft_err merge_range(struct slot *slot, struct spilling *spilling, const struct run *runs,
                            size_t count, uint32_t range)
{
    struct merge *merge = merge_new(&slot->stage->order);
    weft_err code = merge ? WEFT_OK : err_set(WEFT_RESOURCE_EXHAUSTED, "no memory to merge");
    for (size_t i = 0; i < count && !code; i++)
        code = merge_add_run(merge, &runs[i], range);
    if (!code)
        code = run_writer_begin_range(spilling->writer, range);
    struct merge_stream stream = merge_stream_of(merge);
    if (!code)
        code = collector_write_stream(slot, spilling, &stream.stream);
    if (merge)
        merge_free(merge);
    return code;
}

static bool is_empty(const struct run *runs, size_t count, uint32_t range)
{
    for (size_t i = 0; i < count; i++)
        if (runs[i].segments[range].size)
            return false;
    return true;
}

// The last `count` runs become one.
static weft_err merge_last(struct slot *slot, size_t count)
{
    struct collector *c = &slot->collector;
    struct run *runs = c->runs.items + c->runs.count - count, merged;
    struct spilling spilling = {
        run_writer_new(&c->spill, runs->range_count, slot->stage->memory.block_bytes)};
    if (!spilling.writer)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "no memory to write a run");
    for (uint32_t range = 0; range < runs->range_count; range++) {
        if (is_empty(runs, count, range))
            continue;
        const weft_err code = merge_range(slot, &spilling, runs, count, range);
        if (code) {
            run_writer_cancel(spilling.writer);
            return code;
        }
    }
    const weft_err code = run_writer_finish(spilling.writer, &merged);
    if (code)
        return code;
    merged.level = runs->level + 1;
    slot->page->spill_bytes += merged.size;
    for (size_t i = 0; i < count; i++)
        run_release(&runs[i]);
    c->runs.count -= count - 1;
    *runs = merged;
    return WEFT_OK;
}

static size_t count_last_level(const struct collector *c)
{
    size_t count = 0;
    while (count < c->runs.count &&
           c->runs.items[c->runs.count - 1 - count].level == c->runs.items[c->runs.count - 1].level)
        count++;
    return count;
}

weft_err collector_merge_runs(struct slot *slot)
{
    const struct collector *c = &slot->collector;
    weft_err code = WEFT_OK;
    for (size_t count;
         !code && (count = count_last_level(c)) >= slot->stage->memory.runs_per_merge;) {
        area_fini(&slot->area);  // its share is what the merged runs' blocks take
        slot_enter(slot, PHASE_MERGE);
        code = merge_last(slot, count);
    }
    return code;
}
