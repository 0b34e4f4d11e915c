// Gather: sorted arrays of a range, folding them and streaming them.

#include "mapreduce/work/sort/gather.h"

#include <stdlib.h>

#include "mapreduce/work/sort/radix.h"

void area_fini(struct area *area)
{
    mem_put(area->budget, area->memory, area->size);
    area->memory = NULL;
    area->size = 0;
}

bool area_reserve(struct area *area, size_t size)
{
    if (area->size >= size)
        return true;
    size_t wanted = mem_round(size + size / 4);  // some more, so that it settles soon
    area_fini(area);
    area->memory = mem_get(area->budget, wanted);
    if (!area->memory) {
        wanted = mem_round(size);
        area->memory = mem_get(area->budget, wanted);
    }
    area->size = area->memory ? wanted : 0;
    return area->memory != NULL;
}

static uint64_t stretch(uint64_t count, uint64_t first, uint64_t max)
{
    const uint64_t left = count > first ? count - first : 0;
    return left < max ? left : max;
}

weft_err gather_sorted(struct area *area, const struct buckets *const *slots, size_t slot_count,
                       uint32_t range, uint64_t first, uint64_t max, const struct key_order *order,
                       struct sorted *sorted)
{
    uint64_t entry_count = 0, wide_count = 0;
    for (size_t i = 0; i < slot_count; i++) {
        entry_count += stretch(bucket_count(slots[i], &slots[i]->entries[range]), first, max);
        if (slots[i]->wides)
            wide_count += stretch(bucket_count(slots[i], &slots[i]->wides[range]), first, max);
    }
    *sorted = (struct sorted){0};
    if (entry_count + wide_count == 0)
        return WEFT_OK;
    if (!area_reserve(area, gather_bytes(entry_count, wide_count)))
        return err_no_memory("to sort %llu pairs; %s",
                             (unsigned long long)(entry_count + wide_count),
                             mem_advice(area->budget));
    struct entry *entries = area->memory, *wides = entries + entry_count;
    struct entry *scratch = wides + wide_count;
    size_t entries_done = 0, wides_done = 0;
    for (size_t i = 0; i < slot_count; i++) {
        entries_done += bucket_copy(slots[i], &slots[i]->entries[range], first, (size_t)max,
                                    entries + entries_done);
        if (slots[i]->wides)
            wides_done += bucket_copy(slots[i], &slots[i]->wides[range], first, (size_t)max,
                                      wides + wides_done);
    }
    entries_sort(entries, scratch, entries_done, order);
    wide_sort((struct wide_entry *)wides, (struct wide_entry *)scratch, wides_done);
    *sorted = (struct sorted){entries, entries_done, (struct wide_entry *)wides, wides_done};
    return WEFT_OK;
}

// ---- folding

struct fold_walk {
    enum fold_op op;
    bool is_final;
    gather_total_fn *total;
    void *owner;
};

weft_err gather_overflow(weft_bytes key)
{
    return err_set(WEFT_OUT_OF_RANGE, "the sum of key '%.*s' overflows: it does not fit 64 bits",
                   (int)(key.size < 64 ? key.size : 64), key.data);
}

// Hands on a total; one that does not fit 64 bits goes in pieces, which are added again later.
static weft_err hand_on(const struct fold_walk *walk, uint64_t prefix, weft_bytes key,
                        __int128 total)
{
    while (total > INT64_MAX || total < INT64_MIN) {
        if (walk->is_final)
            return gather_overflow(key);
        const int64_t piece = total > 0 ? INT64_MAX : INT64_MIN;
        const weft_err code = walk->total(walk->owner, prefix, key, piece);
        if (code)
            return code;
        total -= piece;
    }
    return walk->total(walk->owner, prefix, key, (int64_t)total);
}

static int64_t entry_number(struct entry entry)
{
    if (entry_tag(entry) == ENTRY_VALUE)
        return (int64_t)entry.payload;
    const struct record *record = entry_record(entry);
    int64_t number;
    memcpy(&number, record->bytes + record->key_size, 8);
    return number;
}

static bool is_same_key(struct entry a, struct entry b)
{
    if (a.prefix != b.prefix)
        return false;
    if (entry_tag(a) == ENTRY_VALUE && entry_tag(b) == ENTRY_VALUE)
        return true;
    char room_a[8], room_b[8];
    return bytes_equal(entry_key(a, room_a), entry_key(b, room_b));
}

static weft_err fold_entries(const struct fold_walk *walk, const struct sorted *sorted, size_t *at,
                             size_t end)
{
    while (*at < end) {
        const struct entry first = sorted->entries[(*at)++];
        __int128 total = entry_number(first);
        for (; *at < sorted->entry_count && is_same_key(first, sorted->entries[*at]); ++*at) {
            const int64_t number = entry_number(sorted->entries[*at]);
            if (walk->op == FOLD_SUM)
                total += number;
            else if (walk->op == FOLD_MIN ? number < total : number > total)
                total = number;
        }
        char room[8];
        const weft_err code = hand_on(walk, first.prefix, entry_key(first, room), total);
        if (code)
            return code;
    }
    return WEFT_OK;
}

// The first entry at or after `at` that comes after the wide key. *is_equal: there is an entry with
// the same key (a record from a table).
static size_t skip_below(const struct sorted *sorted, size_t at, struct wide_entry wide,
                         bool *is_equal)
{
    *is_equal = false;
    for (; at < sorted->entry_count && sorted->entries[at].prefix <= wide.high; at++) {
        if (sorted->entries[at].prefix < wide.high)
            continue;
        char room[8], wide_room[16];
        const int order =
            bytes_compare(entry_key(sorted->entries[at], room), wide_key(wide, wide_room));
        *is_equal = order == 0;
        if (order >= 0)
            break;
    }
    return at;
}

// One wide key with all its copies, and the entries of the same key.
static weft_err fold_wide(const struct fold_walk *walk, const struct sorted *sorted,
                          size_t *wide_at, size_t *entry_at, bool has_entries)
{
    const struct wide_entry wide = sorted->wides[*wide_at];
    const size_t begin = *wide_at;
    while (*wide_at < sorted->wide_count && sorted->wides[*wide_at].high == wide.high &&
           sorted->wides[*wide_at].low == wide.low)
        ++*wide_at;
    char room[16], entry_room[8];
    const weft_bytes key = wide_key(wide, room);
    __int128 total = walk->op == FOLD_SUM ? (__int128)(*wide_at - begin) : 1;
    for (; has_entries && *entry_at < sorted->entry_count; ++*entry_at) {
        const struct entry entry = sorted->entries[*entry_at];
        if (entry.prefix != wide.high || !bytes_equal(entry_key(entry, entry_room), key))
            break;
        const int64_t number = entry_number(entry);
        if (walk->op == FOLD_SUM)
            total += number;
        else if (walk->op == FOLD_MIN ? number < total : number > total)
            total = number;
    }
    return hand_on(walk, wide.high, key, total);
}

weft_err gather_fold(const struct sorted *sorted, enum fold_op op, bool is_final,
                     gather_total_fn *total, void *owner)
{
    const struct fold_walk walk = {op, is_final, total, owner};
    size_t entry_at = 0, wide_at = 0;
    while (wide_at < sorted->wide_count) {
        bool is_equal;
        const size_t end = skip_below(sorted, entry_at, sorted->wides[wide_at], &is_equal);
        weft_err code = fold_entries(&walk, sorted, &entry_at, end);
        if (!code)
            code = fold_wide(&walk, sorted, &wide_at, &entry_at, is_equal);
        if (code)
            return code;
    }
    return fold_entries(&walk, sorted, &entry_at, sorted->entry_count);
}

// ---- streaming

struct sorted_stream {
    struct pair_stream stream;
    struct sorted sorted;
    size_t entry_at, wide_at;
    char entry_room[8], wide_room[16];
};

static bool wide_comes_first(struct sorted_stream *s)
{
    if (s->wide_at == s->sorted.wide_count)
        return false;
    if (s->entry_at == s->sorted.entry_count)
        return true;
    const struct wide_entry wide = s->sorted.wides[s->wide_at];
    const struct entry entry = s->sorted.entries[s->entry_at];
    if (entry.prefix != wide.high)
        return wide.high < entry.prefix;
    return bytes_compare(wide_key(wide, s->wide_room), entry_key(entry, s->entry_room)) < 0;
}

static weft_err sorted_next(struct pair_stream *stream, struct pair *pair, bool *has_pair)
{
    struct sorted_stream *s = (struct sorted_stream *)stream;
    *has_pair = true;
    if (wide_comes_first(s)) {
        const struct wide_entry wide = s->sorted.wides[s->wide_at++];
        *pair = (struct pair){.prefix = wide.high,
                              .key = wide_key(wide, s->wide_room),
                              .number = 1,
                              .type = VALUE_INT};
    } else if (s->entry_at < s->sorted.entry_count) {
        if (s->entry_at + ENTRY_AHEAD < s->sorted.entry_count)
            entry_prefetch(s->sorted.entries[s->entry_at + ENTRY_AHEAD]);
        entry_pair(s->sorted.entries[s->entry_at++], s->entry_room, pair);
    } else {
        *has_pair = false;
    }
    return WEFT_OK;
}

static void sorted_close(struct pair_stream *stream)
{
    free(stream);
}

struct pair_stream *gather_stream(const struct sorted *sorted)
{
    struct sorted_stream *s = malloc(sizeof *s);
    if (!s) {
        err_no_memory("for a stream of pairs");
        return NULL;
    }
    *s = (struct sorted_stream){.stream = {sorted_next, sorted_close}, .sorted = *sorted};
    return &s->stream;
}
