// The collector under pressure: emptying tables, compacting buckets, writing runs, sealing.

#include "mapreduce/work/collect/collector.h"

#include "mapreduce/work/slot.h"
#include "mapreduce/work/sort/gather.h"

enum {
    // When keys that seemed to be distinct are looked at again: late enough that a million of them would
    // have come several times, early enough that a gigabyte of the same is not collected for nothing.
    LOOK_BYTES = 32 << 20,
    LOOK_BYTES_MAX = 128 << 20,  // tables of more bytes miss the cache at every key
    LOOK_ENTRIES = 1 << 18,      // at most, of one range
};

// ---- emptying the tables into the buckets; their own reserve makes sure that there is room

static weft_err put_shorts(struct slot *slot, const struct fold_aside *entries, size_t count)
{
    if (count == 0)
        return WEFT_OK;
    return collector_put_shorts(slot, &entries->key, &entries->value, count,
                                sizeof *entries / sizeof entries->key);
}

static weft_err drain_shorts(struct slot *slot)
{
    struct short_table *table = &slot->collector.shorts;
    for (uint64_t i = 0; table->buckets && i >> table->bits == 0; i++) {
        const struct short_bucket *bucket = table->buckets + i;
        size_t count = 0;
        while (count < 4 && bucket->keys[count])
            count++;
        const weft_err code = collector_put_shorts(slot, bucket->keys, bucket->values, count, 1);
        if (code)
            return code;
    }
    const weft_err code = put_shorts(slot, table->aside.items, table->aside.count);
    short_table_clear(table);
    return code;
}

static weft_err drain_wides(struct slot *slot)
{
    struct wide_table *table = &slot->collector.wides;
    for (uint64_t i = 0; table->slots && i >> table->bits == 0; i++) {
        if (!table->slots[i].low)
            continue;
        char room[16];
        const struct wide_entry wide = {table->slots[i].high, table->slots[i].low};
        const weft_err code =
            collector_put_number(slot, wide_key(wide, room), table->slots[i].value);
        if (code)
            return code;
    }
    wide_table_clear(table);
    return WEFT_OK;
}

// Long records already lie in the pages: their entries suffice.
static weft_err drain_longs(struct slot *slot)
{
    struct long_table *table = &slot->collector.longs;
    for (uint64_t i = 0; table->slots && i >> table->bits == 0; i++) {
        struct record *record = table->slots[i].record;
        if (!record)
            continue;
        const weft_bytes key = {record->bytes, record->key_size};
        const uint64_t prefix = key_order_prefix(&slot->stage->order, key);
        const uint32_t range = ranges_find(&slot->stage->ranges, prefix, key);
        if (range == UINT32_MAX)
            return err_set(WEFT_INVALID_ARGUMENT,
                           "the job's partition function gave a part of %u or more",
                           slot->stage->part_count);
        const struct entry entry = {prefix, ENTRY_RECORD | (uintptr_t)record};
        if (!buckets_add(&slot->collector.buckets, range, entry))
            return err_no_memory("to empty a table; %s", mem_advice(slot->stage->budget));
    }
    long_table_clear(table);
    return WEFT_OK;
}

weft_err collector_drain_tables(struct slot *slot)
{
    struct pages *pages = &slot->collector.pages;
    const size_t limit = pages->bytes_max;
    pages->bytes_max = SIZE_MAX;  // the tables' reserve; the budget still holds
    slot->collector.is_draining = true;
    weft_err code = drain_longs(slot);
    if (!code)
        code = drain_wides(slot);
    if (!code)
        code = drain_shorts(slot);
    slot->collector.is_draining = false;
    pages->bytes_max = limit;
    return code;
}

// ---- compacting

struct readd {
    struct slot *slot;
    uint32_t range;
};

// A small total of a wide key stays as that many wide entries: a record would be larger.
static weft_err readd_total(void *owner, uint64_t prefix, weft_bytes key, int64_t total)
{
    struct slot *slot = ((struct readd *)owner)->slot;
    const bool is_wide = key.size - 9 < 8 && key.data[key.size - 1];
    if (!is_wide || total < 1 || total > 4 || slot->stage->op != FOLD_SUM)
        return collector_put_number(slot, key, total);
    const uint64_t low = bytes_second_prefix(key);
    for (int64_t i = 0; i < total; i++)
        if (!buckets_add_wide(&slot->collector.buckets, ((struct readd *)owner)->range,
                              (struct wide_entry){prefix, low}))
            return err_no_memory("to compact pairs; %s", mem_advice(slot->stage->budget));
    return WEFT_OK;
}

static uint64_t largest_bucket(const struct buckets *buckets)
{
    uint64_t largest = 0;
    for (uint32_t range = 0; range < buckets->range_count; range++) {
        uint64_t count = bucket_count(buckets, &buckets->entries[range]);
        if (buckets->wides)
            count += bucket_count(buckets, &buckets->wides[range]);
        largest = count > largest ? count : largest;
    }
    return largest;
}

// Sorts and folds every bucket in place. Only for integers that are mostly in entries, not records.
static weft_err compact(struct slot *slot)
{
    struct buckets *buckets = &slot->collector.buckets;
    const struct buckets *const only = buckets;
    struct pages *pages = &slot->collector.pages;
    const size_t limit = pages->bytes_max;
    pages->bytes_max = SIZE_MAX;
    buckets->entry_count = buckets->wide_count = 0;
    weft_err code = WEFT_OK;
    for (uint32_t range = 0; range < buckets->range_count && !code; range++) {
        struct sorted sorted;
        slot_enter(slot, PHASE_SORT);
        code = gather_sorted(&slot->area, &only, 1, range, 0, UINT64_MAX, &slot->stage->order,
                             &sorted);
        if (code)
            break;
        buckets_clear_bucket(buckets, &buckets->entries[range]);
        if (buckets->wides)
            buckets_clear_bucket(buckets, &buckets->wides[range]);
        slot_enter(slot, PHASE_COMBINE);
        struct readd readd = {slot, range};
        slot->collector.is_draining = true;
        code = gather_fold(&sorted, slot->stage->op, false, readd_total, &readd);
        slot->collector.is_draining = false;
    }
    pages->bytes_max = limit;
    return code;
}

static bool may_compact(const struct slot *slot)
{
    const struct collector *c = &slot->collector;
    const uint64_t live = (c->buckets.entry_count + c->buckets.wide_count) * sizeof(struct entry);
    const size_t area = gather_bytes(largest_bucket(&c->buckets), 0);
    return slot->stage->op != FOLD_NONE && !c->has_mixed && !slot->stage->order.compare &&
           live > pages_live_bytes(&c->pages) / 2 && area <= slot->stage->memory.area_bytes;
}

// ---- spilling

static weft_err write_pair(void *owner, const struct pair *pair)
{
    return run_writer_add(((struct spilling *)owner)->writer, pair);
}

static weft_err write_total(void *owner, uint64_t prefix, weft_bytes key, int64_t total)
{
    const struct pair pair = {.prefix = prefix, .key = key, .number = total, .type = VALUE_INT};
    return run_writer_add(((struct spilling *)owner)->writer, &pair);
}

static weft_err write_plainly(struct spilling *spilling, struct pair_stream *stream)
{
    struct pair pair;
    bool has_pair = false;
    weft_err code;
    while (!(code = stream->next(stream, &pair, &has_pair)) && has_pair)
        if ((code = run_writer_add(spilling->writer, &pair)))
            break;
    if (stream->close)
        stream->close(stream);
    return code;
}

weft_err collector_write_stream(struct slot *slot, struct spilling *spilling,
                                struct pair_stream *stream)
{
    if (!slot->stage->combine)
        return write_plainly(spilling, stream);
    const enum slot_mode mode = slot->mode;
    slot->mode = SLOT_COMBINE;
    slot->combined = write_pair;
    slot->combined_owner = spilling;
    const weft_err code = groups_run(slot, stream, slot->stage->combine);
    slot->mode = mode;
    return code;
}

static weft_err write_sorted(struct slot *slot, struct spilling *spilling,
                             const struct sorted *sorted)
{
    if (slot->stage->op != FOLD_NONE && !slot->collector.has_mixed)
        return gather_fold(sorted, slot->stage->op, false, write_total, spilling);
    struct pair_stream *stream = gather_stream(sorted);
    return stream ? collector_write_stream(slot, spilling, stream) : WEFT_RESOURCE_EXHAUSTED;
}

// Writes stretch number `pass` of every range as one run. A range larger than the sorting area has
// several stretches, which become several runs.
static weft_err write_run(struct slot *slot, uint64_t pass, uint64_t stretch, struct run *run)
{
    struct collector *c = &slot->collector;
    const struct buckets *const only = &c->buckets;
    struct spilling spilling = {
        run_writer_new(&c->spill, c->buckets.range_count, slot->stage->memory.block_bytes)};
    if (!spilling.writer)
        return err_no_memory("to write a run");
    weft_err code = WEFT_OK;
    for (uint32_t range = 0; range < c->buckets.range_count && !code; range++) {
        struct sorted sorted;
        slot_enter(slot, PHASE_SORT);
        code = gather_sorted(&slot->area, &only, 1, range, pass * stretch, stretch,
                             &slot->stage->order, &sorted);
        if (code || sorted.entry_count + sorted.wide_count == 0)
            continue;
        slot_enter(slot, PHASE_SPILL);
        code = run_writer_begin_range(spilling.writer, range);
        if (!code)
            code = write_sorted(slot, &spilling, &sorted);
    }
    slot_enter(slot, PHASE_SPILL);
    if (!code)
        return run_writer_finish(spilling.writer, run);
    run_writer_cancel(spilling.writer);
    return code;
}

void collector_count_written(struct slot *slot, uint64_t bytes, uint32_t runs)
{
    if (slot->collector.durable.is_saving) {
        slot->page->saved_bytes += bytes;
    } else {
        slot->page->spill_bytes += bytes;
        slot->page->spill_runs += runs;
    }
}

weft_err collector_spill(struct slot *slot)
{
    struct collector *c = &slot->collector;
    if (c->buckets.entry_count + c->buckets.wide_count == 0)
        return WEFT_OK;
    const enum phase phase = slot->phase;
    weft_err code = collector_open_spill(slot);
    if (code)
        return code;
    // A stretch counts for entries and wides alike, and each needs its copy and scratch.
    const uint64_t stretch = slot->stage->memory.area_bytes / gather_bytes(2, 0);
    const uint64_t passes = (largest_bucket(&c->buckets) + stretch - 1) / stretch;
    for (uint64_t pass = 0; pass < passes; pass++) {
        struct run *run = VEC_NEXT(&c->runs);
        if (!run)
            return err_no_memory("for one more run");
        code = write_run(slot, pass, stretch, run);
        if (code)
            return code;
        c->runs.count++;
        collector_count_written(slot, run->size, 1);
    }
    buckets_reset(&c->buckets);
    pages_reset(&c->pages);
    code = collector_merge_runs(slot, c->durable.kept_count);
    slot_enter(slot, phase);
    return code;
}

weft_err collector_make_room(struct slot *slot)
{
    struct collector *c = &slot->collector;
    const enum phase phase = slot->phase;
    if (c->is_draining)
        return err_no_memory("to empty the tables; %s", mem_advice(slot->stage->budget));
    weft_err code = collector_drain_tables(slot);
    if (code)
        return code;
    const uint64_t before = c->buckets.entry_count + c->buckets.wide_count;
    if (may_compact(slot)) {
        if ((code = compact(slot)))
            return code;
        const uint64_t after = c->buckets.entry_count + c->buckets.wide_count;
        slot_enter(slot, phase);
        if (after < before / 2) {
            c->is_direct = false;  // keys repeat after all: the tables are worth it again
            c->fold_count = c->distinct_seen = 0;
            collector_limit_pages(c, slot);
            return WEFT_OK;
        }
    }
    return collector_spill(slot);
}

// ---- looking again

static weft_err count_total(void *owner, uint64_t prefix, weft_bytes key, int64_t total)
{
    (void)prefix, (void)key, (void)total;
    ++*(uint64_t *)owner;
    return WEFT_OK;
}

// How many different keys the range in the middle holds, and how many in all.
static weft_err sample_range(struct slot *slot, uint64_t *distinct, uint64_t *all)
{
    const struct buckets *const only = &slot->collector.buckets;
    struct sorted sorted;
    *distinct = *all = 0;
    weft_err code = gather_sorted(&slot->area, &only, 1, only->range_count / 2, 0, LOOK_ENTRIES,
                                  &slot->stage->order, &sorted);
    if (code)
        return code;
    *all = sorted.entry_count + sorted.wide_count;
    return gather_fold(&sorted, slot->stage->op, false, count_total, distinct);
}

weft_err collector_look_again(struct slot *slot)
{
    struct collector *c = &slot->collector;
    const size_t share = slot->stage->memory.collect_bytes / 8, live = pages_live_bytes(&c->pages);
    if (c->look_above == 0)
        c->look_above = share < LOOK_BYTES ? share : LOOK_BYTES;
    if (!c->is_direct || live < c->look_above || live > LOOK_BYTES_MAX || !may_compact(slot))
        return WEFT_OK;
    const enum phase phase = slot_enter(slot, PHASE_SORT);
    uint64_t distinct, all;
    c->look_above = 2 * live;
    weft_err code = sample_range(slot, &distinct, &all);
    if (!code && distinct < all / 2) {
        code = compact(slot);
        c->is_direct = false;
        c->is_settled = true;
        c->fold_count = c->distinct_seen = 0;
        collector_limit_pages(c, slot);
    }
    slot_enter(slot, phase);
    return code;
}

// A range that would not fit the sorting area of a reduce attempt has to come from disk, where it is
// merged in bounded memory.
static bool must_be_merged(const struct slot *slot)
{
    const size_t area = gather_bytes(largest_bucket(&slot->collector.buckets), 0);
    return area > slot->stage->memory.area_bytes / slot->stage->slot_count;
}

// The short table is over: its memory, already touched, becomes the pages its entries go to.
static weft_err squeeze_shorts(struct slot *slot)
{
    struct collector *c = &slot->collector;
    size_t count, bytes;
    struct fold_aside *entries = short_table_squeeze(&c->shorts, &c->pages, &count, &bytes);
    const size_t limit = c->pages.bytes_max;
    c->pages.bytes_max = SIZE_MAX;
    c->is_draining = true;
    weft_err code = put_shorts(slot, entries, count);
    if (!code)
        code = put_shorts(slot, c->shorts.aside.items, c->shorts.aside.count);
    c->shorts.aside.count = 0;  // else emptying the rest of the tables would add them again
    c->is_draining = false;
    c->pages.bytes_max = limit;
    if (bytes % c->pages.page_bytes == 0)
        pages_donate(&c->pages, entries, bytes);
    else
        mem_put(slot->stage->budget, entries, bytes);
    return code;
}

weft_err collector_seal(struct slot *slot)
{
    weft_err code = squeeze_shorts(slot);
    if (!code)
        code = collector_drain_tables(slot);
    if (code)
        return code;
    short_table_free(&slot->collector.shorts, slot->stage->budget);
    wide_table_free(&slot->collector.wides, slot->stage->budget);
    long_table_free(&slot->collector.longs, slot->stage->budget);
    // Pairs that only follow those of checkpoints would have fitted.
    struct durable *durable = &slot->collector.durable;
    durable->is_saving =
        slot->collector.runs.count && slot->collector.runs.count == durable->kept_count;
    if (slot->collector.runs.count || must_be_merged(slot))
        code = collector_spill(slot);
    // Runs of earlier workers come on top of those that memory was planned for.
    if (!code && slot->collector.durable.adopted_count)
        code = collector_merge_runs(slot, 0);
    durable->is_saving = false;
    slot->collector.is_sealed = code == WEFT_OK;
    return code;
}
