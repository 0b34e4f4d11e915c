// Too many runs: neighbours of one level become one run of the next.
//
// A reducing slot reads every run at once, a block of each, so memory bounds their number. Only
// neighbours of one level are merged: every pair is written once per level, and the runs keep the
// order in which they were spilled, which is part of the order of pairs.

#include "mapreduce/work/slot.h"
#include "mapreduce/work/sort/merge.h"

static weft_err merge_range(struct slot *slot, struct spilling *spilling, const struct run *runs,
                            size_t count, uint32_t range)
{
    struct merge *merge = merge_new(&slot->stage->order);
    weft_err code = merge ? WEFT_OK : err_no_memory("to merge");
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

// Gives the space of merged runs back, unless an index names them: then later.
static weft_err retire(struct collector *c, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        struct run *run = &c->runs.items[i];
        if (i >= c->durable.kept_count)
            run_release(run);
        else if (i < c->durable.adopted_count)
            run_fini(run);  // in a file that is not ours
        else if (!VEC_PUSH(&c->durable.retired, *run))
            return err_no_memory("for one more run");
        *run = (struct run){0};
    }
    return WEFT_OK;
}

// `count` neighbours become one.
static weft_err merge_neighbours(struct slot *slot, size_t first, size_t count, uint32_t level)
{
    struct collector *c = &slot->collector;
    struct run *runs = c->runs.items + first, merged;
    weft_err code = collector_open_spill(slot);  // all may be in files of earlier workers
    if (code)
        return code;
    struct spilling spilling = {
        run_writer_new(&c->spill, runs->range_count, slot->stage->memory.block_bytes)};
    if (!spilling.writer)
        return err_no_memory("to write a run");
    for (uint32_t range = 0; range < runs->range_count; range++) {
        if (is_empty(runs, count, range))
            continue;
        code = merge_range(slot, &spilling, runs, count, range);
        if (code) {
            run_writer_cancel(spilling.writer);
            return code;
        }
    }
    code = run_writer_finish(spilling.writer, &merged);
    if (code)
        return code;
    merged.level = level;
    collector_count_written(slot, merged.size, 0);
    code = retire(c, first, count);
    memmove(runs + 1, runs + count, (c->runs.count - first - count) * sizeof *runs);
    *runs = merged;
    c->runs.count -= count - 1;
    return code;
}

// The stretch of runs of one level that are too many. Of runs of several levels in a row that are
// followed by one of a higher level, as a checkpoint leaves them, all count as of that level: so levels
// only fall from the oldest run to the newest, and there are few.
static size_t find_too_many(const struct slot *slot, size_t first, size_t *count, uint32_t *level)
{
    const struct collector *c = &slot->collector;
    *count = *level = 0;
    size_t at = c->runs.count;
    for (; at > first; at--, ++*count) {
        const uint32_t own = c->runs.items[at - 1].level;
        if (own <= *level)
            continue;
        if (*count >= slot->stage->memory.runs_per_merge)
            break;
        *count = 0;
        *level = own;
    }
    return at;
}

weft_err collector_merge_runs(struct slot *slot, size_t first)
{
    const enum phase phase = slot->phase;
    weft_err code = WEFT_OK;
    while (!code) {
        size_t count;
        uint32_t level;
        const size_t at = find_too_many(slot, first, &count, &level);
        if (count < slot->stage->memory.runs_per_merge)
            break;
        area_fini(&slot->area);  // its share is what the merged runs' blocks take
        slot_enter(slot, PHASE_MERGE);
        code = merge_neighbours(slot, at, count, level + 1);
    }
    slot_enter(slot, phase);
    return code;
}
