// The collector: folding into tables, adding to buckets, noticing when tables do not pay.

#include "mapreduce/work/collect/collector.h"

#include "mapreduce/work/slot.h"

enum {
    JUDGE_AFTER = 1 << 17,  // distinct keys seen before the tables are judged
    MAKE_ROOM_TRIES = 3,
};

void collector_init(struct collector *collector)
{
    *collector = (struct collector){.spill = {.fd = -1}};
}

// Emptying the tables may take as much again as the short one holds; while they are in use
// that much of the slot's share is left free.
static size_t table_share(const struct memory_plan *plan)
{
    return plan->table_bytes * 5 / 2;
}

void collector_limit_pages(struct collector *collector, const struct slot *slot)
{
    const struct memory_plan *plan = &slot->stage->memory;
    const bool uses_tables = slot->stage->op != FOLD_NONE && !collector->is_direct;
    collector->pages.bytes_max = plan->collect_bytes - (uses_tables ? table_share(plan) : 0);
}

weft_err collector_begin(struct collector *collector, struct slot *slot)
{
    const struct stage *stage = slot->stage;
    pages_init(&collector->pages, stage->budget, stage->memory.page_bytes, 0);
    collector_limit_pages(collector, slot);
    collector->combine_above = stage->combine ? slot->stage->memory.combine_bytes : SIZE_MAX;
    if (!buckets_init(&collector->buckets, &collector->pages, stage->range_count,
                      stage->memory.chunk_entries))
        return err_no_memory("for %u ranges", stage->range_count);
    return WEFT_OK;
}

static void free_tables(struct collector *collector, struct mem_budget *budget)
{
    short_table_free(&collector->shorts, budget);
    wide_table_free(&collector->wides, budget);
    long_table_free(&collector->longs, budget);
}

void collector_fini(struct collector *collector, struct slot *slot)
{
    if (!collector->pages.budget)
        return;
    free_tables(collector, slot->stage->budget);
    collector_fini_durable(collector);
    VEC_FINI(&collector->runs);
    buckets_fini(&collector->buckets);
    pages_fini(&collector->pages);
    collector_init(collector);
}

void collector_reset(struct collector *collector, struct slot *slot)
{
    // Sealing may have merged kept runs with others.
    ASSERT(!collector->is_sealed || !collector->durable.kept_count);
    short_table_clear(&collector->shorts);
    wide_table_clear(&collector->wides);
    long_table_clear(&collector->longs);
    buckets_reset(&collector->buckets);
    pages_reset(&collector->pages);
    collector->wide_queued = 0;
    collector->is_direct = collector->has_mixed = collector->is_sealed = false;
    collector->is_settled = false;
    collector->look_above = 0;
    collector_drop_runs(collector);
    collector->fold_count = collector->distinct_seen = 0;
    collector->combine_above = slot->stage->combine ? slot->stage->memory.combine_bytes : SIZE_MAX;
    collector_limit_pages(collector, slot);
}

// ---- buckets, with room made when there is none

// Compacting may not free a chunk, spilling then does. When it does not either, others have the memory.
static weft_err make_room_again(struct slot *slot, int *tries)
{
    if (++*tries <= MAKE_ROOM_TRIES)
        return collector_make_room(slot);
    return err_no_memory("for one more pair; %s", mem_advice(slot->stage->budget));
}

static weft_err put_entry(struct slot *slot, uint32_t range, struct entry entry)
{
    int tries = 0;
    while (!buckets_add(&slot->collector.buckets, range, entry)) {
        const weft_err code = make_room_again(slot, &tries);
        if (code)
            return code;
    }
    return WEFT_OK;
}

static weft_err put_wide_entry(struct slot *slot, uint32_t range, struct wide_entry wide)
{
    int tries = 0;
    while (!buckets_add_wide(&slot->collector.buckets, range, wide)) {
        const weft_err code = make_room_again(slot, &tries);
        if (code)
            return code;
    }
    return WEFT_OK;
}

struct record *collector_new_record(struct pages *pages, const struct pair *pair)
{
    const bool is_number = pair->type == VALUE_INT || pair->type == VALUE_DOUBLE;
    const size_t value_size = is_number ? 8 : pair->bytes.size;
    struct record *record = pages_alloc(pages, sizeof *record + pair->key.size + value_size);
    if (!record)
        return NULL;
    *record = (struct record){.task = pair->task,
                              .key_size = (uint32_t)pair->key.size,
                              .value_size = (uint32_t)value_size,
                              .type = (uint32_t)pair->type};
    if (pair->key.size)
        memcpy(record->bytes, pair->key.data, pair->key.size);
    if (value_size)
        memcpy(record->bytes + pair->key.size,
               is_number ? (const void *)&pair->number : pair->bytes.data, value_size);
    return record;
}

static weft_err refuse_pair(const struct slot *slot, const struct pair *pair)
{
    return err_set(WEFT_RESOURCE_EXHAUSTED,
                   "a pair of %zu key and %zu value bytes does not fit the memory budget; %s",
                   pair->key.size, pair->bytes.size, mem_advice(slot->stage->budget));
}

static weft_err put_record(struct slot *slot, uint32_t range, const struct pair *pair)
{
    struct pages *pages = &slot->collector.pages;
    if (pair->key.size > UINT32_MAX || pair->bytes.size > UINT32_MAX)
        return refuse_pair(slot, pair);
    if (pages_live_bytes(pages) > slot->collector.combine_above) {
        const weft_err code = collector_combine(slot);
        if (code)
            return code;
    }
    struct record *record = collector_new_record(pages, pair);
    if (!record) {
        const weft_err code = collector_make_room(slot);
        if (code)
            return code;
        record = collector_new_record(pages, pair);
        if (!record)
            return refuse_pair(slot, pair);
    }
    // Making room for the entry may spill, and the record's page with it: then it is written anew.
    const struct entry entry = {pair->prefix, ENTRY_RECORD | (uintptr_t)record};
    if (buckets_add(&slot->collector.buckets, range, entry))
        return WEFT_OK;
    const weft_err code = collector_make_room(slot);
    if (code)
        return code;
    record = collector_new_record(pages, pair);
    if (record && buckets_add(&slot->collector.buckets, range,
                              (struct entry){pair->prefix, ENTRY_RECORD | (uintptr_t)record}))
        return WEFT_OK;
    return refuse_pair(slot, pair);
}

static weft_err find_range(const struct slot *slot, uint64_t prefix, weft_bytes key,
                           uint32_t *range)
{
    *range = ranges_find(&slot->stage->ranges, prefix, key);
    if (*range != UINT32_MAX)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "the job's partition function gave a part of %u or more",
                   slot->stage->part_count);
}

weft_err collector_add(struct slot *slot, const struct pair *pair)
{
    uint32_t range;
    const weft_err code = find_range(slot, pair->prefix, pair->key, &range);
    if (code)
        return code;
    if (pair->type != VALUE_INT)
        slot->collector.has_mixed = true;
    const bool is_mapped = pair->key.data >= slot->mapped_begin &&
                           pair->key.data + pair->key.size <= slot->mapped_end &&
                           pair->key.data < slot->mapped_end;
    if (pair->type == VALUE_NONE && is_mapped && pair->key.size <= ENTRY_TEXT_SIZE_MAX)
        return put_entry(slot, range, entry_of_text(pair->prefix, pair->key));
    return put_record(slot, range, pair);
}

// A folded number into the buckets.
static weft_err put_number(struct slot *slot, uint64_t prefix, weft_bytes key, int64_t number)
{
    uint32_t range;
    const weft_err code = find_range(slot, prefix, key, &range);
    if (code)
        return code;
    const bool is_short = key.size - 1 < 8 && key.data[key.size - 1];
    if (is_short && number >= 0 && number <= ENTRY_VALUE_MAX && !slot->stage->order.compare)
        return put_entry(slot, range, (struct entry){prefix, (uint64_t)number});
    const bool is_wide = key.size - 9 < 8 && key.data[key.size - 1];
    if (is_wide && number == 1 && !slot->stage->order.compare) {
        const uint64_t low = bytes_second_prefix(key);
        return put_wide_entry(slot, range, (struct wide_entry){prefix, low});
    }
    const struct pair pair = {.prefix = prefix, .key = key, .number = number, .type = VALUE_INT};
    return put_record(slot, range, &pair);
}

weft_err collector_put_number(struct slot *slot, weft_bytes key, int64_t number)
{
    return put_number(slot, key_order_prefix(&slot->stage->order, key), key, number);
}

// ---- tables

// Tables pay when keys repeat. Judged once enough different keys were seen: if nearly every key was new,
// later ones go straight to the buckets, which are sorted and folded in the end.
static weft_err judge_tables(struct slot *slot)
{
    struct collector *c = &slot->collector;
    const uint64_t distinct = c->distinct_seen + c->shorts.used + c->wides.used + c->longs.used;
    if (c->is_settled || distinct < JUDGE_AFTER || c->fold_count > distinct + distinct / 2)
        return WEFT_OK;
    const weft_err code = collector_drain_tables(slot);
    if (code)
        return code;
    c->is_direct = true;
    free_tables(c, slot->stage->budget);
    collector_limit_pages(c, slot);
    return WEFT_OK;
}

// Empties full tables, which may not grow: their entries move to the buckets.
static weft_err empty_tables(struct slot *slot)
{
    struct collector *c = &slot->collector;
    c->distinct_seen += c->shorts.used + c->wides.used + c->longs.used;
    const weft_err code = collector_drain_tables(slot);
    if (code || pages_live_bytes(&c->pages) <= c->pages.bytes_max)
        return code;
    return collector_make_room(slot);
}

static weft_err make_short_room(struct slot *slot, size_t count)
{
    struct collector *c = &slot->collector;
    weft_err code = judge_tables(slot);
    if (code || c->is_direct)
        return code;
    const size_t bytes_max = slot->stage->memory.table_bytes;
    if (short_table_grow(&c->shorts, &c->pages, bytes_max, count))
        return WEFT_OK;
    code = empty_tables(slot);
    if (code || short_table_has_room(&c->shorts, count))
        return code;
    c->is_direct = true;  // no memory for even the smallest table
    collector_limit_pages(c, slot);
    return WEFT_OK;
}

// Short keys to their buckets, past any table.
weft_err collector_put_shorts(struct slot *slot, const uint64_t *keys, const int64_t *values,
                              size_t count, size_t stride)
{
    const struct ranges *ranges = &slot->stage->ranges;
    for (size_t i = 0; i < count; i++, keys += stride) {
        const uint64_t prefix = __builtin_bswap64(*keys);
        const int64_t number = values ? values[i * stride] : 1;
        bool is_tied = true;
        if (!ranges->partition && !ranges->order.compare && number >= 0 &&
            number <= ENTRY_VALUE_MAX) {
            const uint32_t range = ranges_find_prefix(ranges, prefix, &is_tied);
            const struct entry entry = {prefix, (uint64_t)number};
            if (!is_tied && buckets_add(&slot->collector.buckets, range, entry))
                continue;
        }
        const weft_bytes key = {(const char *)keys, prefix_size(prefix)};
        const weft_err code = put_number(slot, prefix, key, number);
        if (code)
            return code;
    }
    return WEFT_OK;
}

weft_err collector_fold(struct slot *slot, const uint64_t *keys, const int64_t *values,
                        size_t count)
{
    struct collector *c = &slot->collector;
    if (!c->is_direct && !short_table_has_room(&c->shorts, count)) {
        const weft_err code = make_short_room(slot, count);
        if (code)
            return code;
    }
    if (c->is_direct)
        return collector_put_shorts(slot, keys, values, count, 1);
    c->fold_count += count;
    short_table_fold(&c->shorts, keys, values, count, slot->stage->op);
    return WEFT_OK;
}

// Room for a whole queue of wide keys; without any they go to the buckets one by one.
static weft_err make_wide_room(struct slot *slot)
{
    struct collector *c = &slot->collector;
    const weft_err code = judge_tables(slot);
    if (code || c->is_direct)
        return code;
    while (!wide_table_has_room(&c->wides, WIDE_QUEUE))
        if (!wide_table_grow(&c->wides, &c->pages, slot->stage->memory.table_bytes / 4))
            return empty_tables(slot);
    return WEFT_OK;
}

static weft_err put_wide(struct slot *slot, const struct wide_pending *key, int64_t value)
{
    char room[16];
    const struct wide_entry wide = {key->high, key->low};
    return put_number(slot, key->high, wide_key(wide, room), value);
}

weft_err collector_flush(struct slot *slot)
{
    struct collector *c = &slot->collector;
    struct wide_pending queue[WIDE_QUEUE];
    const uint32_t count = c->wide_queued;
    memcpy(queue, c->wide_queue, count * sizeof *queue);
    c->wide_queued = 0;  // before tables are judged or emptied: they do not hold these
    weft_err code = WEFT_OK;
    if (count && !wide_table_has_room(&c->wides, WIDE_QUEUE))
        code = make_wide_room(slot);
    for (uint32_t i = 0; i < count && !code; i++) {
        int64_t old;
        if (c->is_direct || !wide_table_has_room(&c->wides, 1)) {
            code = put_wide(slot, &queue[i], queue[i].value);
            continue;
        }
        c->fold_count++;
        if (!wide_table_fold(&c->wides, queue[i].high, queue[i].low, queue[i].value,
                             slot->stage->op, &old))
            code = put_wide(slot, &queue[i], old);
    }
    return code;
}

static weft_err fold_wide(struct slot *slot, weft_bytes key, int64_t value)
{
    struct collector *c = &slot->collector;
    struct wide_pending *pending = &c->wide_queue[c->wide_queued++];
    *pending = (struct wide_pending){bytes_prefix(key), bytes_second_prefix(key), value};
    wide_table_prefetch(&c->wides, pending->high, pending->low);
    return c->wide_queued == WIDE_QUEUE ? collector_flush(slot) : WEFT_OK;
}

static weft_err fold_long(struct slot *slot, weft_bytes key, int64_t value)
{
    struct collector *c = &slot->collector;
    const uint64_t prefix = key_order_prefix(&slot->stage->order, key);
    if (!long_table_has_room(&c->longs, 1)) {
        weft_err code = judge_tables(slot);
        if (!code && !c->is_direct &&
            !long_table_grow(&c->longs, slot->stage->budget, slot->stage->memory.table_bytes / 4))
            code = empty_tables(slot);
        if (code)
            return code;
        if (c->is_direct || !long_table_has_room(&c->longs, 1))
            return put_number(slot, prefix, key, value);
    }
    c->fold_count++;
    const uint64_t hash = long_hash(key);
    struct long_slot *place = long_table_find(&c->longs, key, hash);
    if (place->record) {
        int64_t total;
        char *number = place->record->bytes + place->record->key_size;
        memcpy(&total, number, 8);
        const int64_t before = total;
        const bool fits = fold_number(slot->stage->op, &total, value);
        memcpy(number, fits ? &total : &value, 8);
        return fits ? WEFT_OK : put_number(slot, prefix, key, before);
    }
    const struct pair pair = {.prefix = prefix, .key = key, .number = value, .type = VALUE_INT};
    struct record *record = key.size <= UINT32_MAX ? collector_new_record(&c->pages, &pair) : NULL;
    if (!record)
        return put_number(slot, prefix, key, value);
    *place = (struct long_slot){hash, record};
    c->longs.used++;
    return WEFT_OK;
}

weft_err collector_fold_key(struct slot *slot, weft_bytes key, int64_t value)
{
    const bool ends_in_nul = key.size == 0 || !key.data[key.size - 1];
    if (slot->collector.is_direct)
        return collector_put_number(slot, key, value);
    if (slot->stage->order.compare || ends_in_nul || key.size > 16)
        return fold_long(slot, key, value);
    if (key.size > 8)
        return fold_wide(slot, key, value);
    uint64_t batch[1 + FOLD_AHEAD] = {0};
    batch[0] = __builtin_bswap64(bytes_prefix(key));  // a key of the job's: no byte beyond its end
    return collector_fold(slot, batch, &value, 1);
}

// The way of nearly all long words when keys hardly repeat: straight to its bucket.
static bool put_wide_word(struct slot *slot, weft_bytes word)
{
    const struct ranges *ranges = &slot->stage->ranges;
    if (word.size - 9 >= 8 || !word.data[word.size - 1] || ranges->partition ||
        ranges->order.compare)
        return false;
    const struct wide_entry wide = {bytes_prefix(word), bytes_second_prefix(word)};
    bool is_tied;
    const uint32_t range = ranges_find_prefix(ranges, wide.high, &is_tied);
    return !is_tied && buckets_add_wide(&slot->collector.buckets, range, wide);
}

weft_err collector_fold_words(struct slot *slot, const weft_bytes *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (slot->collector.is_direct && put_wide_word(slot, words[i]))
            continue;
        const weft_err code = collector_fold_key(slot, words[i], 1);
        if (code)
            return code;
    }
    return WEFT_OK;
}
