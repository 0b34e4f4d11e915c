// The job's combiner over what a slot holds in memory, for pairs that no table can fold.
//
// All pairs are sorted range by range and the combiner's results are written to fresh pages; then
// the old pages are given back. That takes room for both. So it is tried early, and again only
// after the pairs have grown several times: the cost per pair stays the same however many there
// are. A combiner that makes nothing smaller is not tried again before the pairs are spilled. If
// the results do not fit in the slot's share beside the pairs, the attempt is dropped and the pairs
// stay as they are.

#include "mapreduce/work/slot.h"
#include "mapreduce/work/sort/gather.h"

enum { TRY_AGAIN_AT = 4 };  // times the size that was left after the last time

struct fresh {
    struct pages pages;
    struct buckets buckets;
    uint32_t range;
    bool is_full;  // out of memory
};

static weft_err put_fresh(void *owner, const struct pair *pair)
{
    struct fresh *fresh = owner;
    struct record *record = collector_new_record(&fresh->pages, pair);
    const struct entry entry = {pair->prefix, ENTRY_RECORD | (uintptr_t)record};
    if (record && buckets_add(&fresh->buckets, fresh->range, entry))
        return WEFT_OK;
    fresh->is_full = true;
    return err_no_memory("to combine");
}

static weft_err combine_range(struct slot *slot, struct fresh *fresh, uint32_t range)
{
    const struct buckets *const only = &slot->collector.buckets;
    struct sorted sorted;
    slot_enter(slot, PHASE_SORT);
    const weft_err code =
        gather_sorted(&slot->area, &only, 1, range, 0, UINT64_MAX, &slot->stage->order, &sorted);
    fresh->is_full = code == WEFT_RESOURCE_EXHAUSTED;
    if (code)
        return code;
    struct pair_stream *stream = gather_stream(&sorted);
    if (!stream)
        return WEFT_RESOURCE_EXHAUSTED;
    fresh->range = range;
    slot_enter(slot, PHASE_COMBINE);
    return groups_run(slot, stream, slot->stage->combine);
}

static weft_err combine_all(struct slot *slot, struct fresh *fresh)
{
    const enum slot_mode mode = slot->mode;
    const enum phase phase = slot->phase;
    slot->mode = SLOT_COMBINE;
    slot->combined = put_fresh;
    slot->combined_owner = fresh;
    weft_err code = WEFT_OK;
    for (uint32_t range = 0; range < slot->stage->range_count && !code; range++)
        code = combine_range(slot, fresh, range);
    slot->mode = mode;
    slot_enter(slot, phase);
    return code;
}

// The results go to spare pages first and never beyond the slot's share.
static void lend_pages(struct collector *c, struct fresh *fresh)
{
    const size_t live = pages_live_bytes(&c->pages), all = c->pages.bytes_used;
    pages_init(&fresh->pages, c->pages.budget, c->pages.page_bytes,
               c->pages.bytes_max > live ? c->pages.bytes_max - live : 0);
    fresh->pages.spare = c->pages.spare;
    fresh->pages.bytes_used = all - live;
    memset(&c->pages.spare, 0, sizeof c->pages.spare);
    c->pages.bytes_used = live;
}

// The results take the place of the pairs.
static void take_fresh(struct collector *c, struct fresh *fresh)
{
    fresh->pages.bytes_max = c->pages.bytes_max;
    buckets_fini(&c->buckets);
    pages_fini(&c->pages);
    c->pages = fresh->pages;
    c->buckets = fresh->buckets;
    c->buckets.pages = &c->pages;
}

// The pairs stay. When it was for memory only, the attempt has not failed.
static weft_err drop_fresh(struct slot *slot, struct fresh *fresh, weft_err code)
{
    buckets_fini(&fresh->buckets);
    pages_fini(&fresh->pages);
    if (!fresh->is_full)
        return code;
    slot->has_failed = slot->is_final = false;
    slot->code = WEFT_OK;
    err_clear();
    return WEFT_OK;
}

static bool has_room_for_both(const struct slot *slot)
{
    const struct pages *pages = &slot->collector.pages;
    const size_t live = pages_live_bytes(pages), spare = pages->bytes_used - live;
    return live <= pages->bytes_max / 2 &&
           (live <= spare || mem_would_fit(slot->stage->budget, live - spare));
}

weft_err collector_combine(struct slot *slot)
{
    struct collector *c = &slot->collector;
    const size_t before = pages_live_bytes(&c->pages);
    c->combine_above = SIZE_MAX;
    if (c->is_draining || slot->stage->op != FOLD_NONE || !has_room_for_both(slot))
        return WEFT_OK;
    struct fresh fresh = {0};
    if (!buckets_init(&fresh.buckets, &fresh.pages, slot->stage->range_count,
                      c->buckets.chunk_entries))
        return WEFT_OK;
    lend_pages(c, &fresh);
    const weft_err code = combine_all(slot, &fresh);
    if (code)
        return drop_fresh(slot, &fresh, code);
    take_fresh(c, &fresh);
    const size_t after = pages_live_bytes(&c->pages);
    if (after < before / 2)
        c->combine_above = after * TRY_AGAIN_AT > before ? after * TRY_AGAIN_AT : before;
    return WEFT_OK;
}
