// Sorting entries.

#include "mapreduce/work/radix.h"

enum { INSERTION_MAX = 28 };  // measured: groups up to here are faster by insertion

static void insertion_by_prefix(struct entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct entry moving = entries[i];
        size_t at = i;
        for (; at && entries[at - 1].prefix > moving.prefix; at--)
            entries[at] = entries[at - 1];
        entries[at] = moving;
    }
}

// The bits in which any two prefixes differ.
static uint64_t differing_bits(const struct entry *entries, size_t count)
{
    const uint64_t first = entries[0].prefix;
    uint64_t bits = 0;
    for (size_t i = 1; i < count; i++)
        bits |= entries[i].prefix ^ first;
    return bits;
}

// Sorts `from` by prefix; the result ends in `from` or, when into_other, in `other`.
static void sort_by_prefix(struct entry *from, struct entry *other, size_t count, bool into_other)
{
    const uint64_t bits = count > INSERTION_MAX ? differing_bits(from, count) : 0;
    if (!bits) {
        if (count <= INSERTION_MAX)
            insertion_by_prefix(from, count);
        if (into_other)
            memcpy(other, from, count * sizeof *from);
        return;
    }
    const int shift = (63 - __builtin_clzll(bits)) & ~7;
    size_t begin[257] = {0}, at[256];
    for (size_t i = 0; i < count; i++)
        begin[(from[i].prefix >> shift & 255) + 1]++;
    for (int byte = 0; byte < 256; byte++) {
        begin[byte + 1] += begin[byte];
        at[byte] = begin[byte];
    }
    for (size_t i = 0; i < count; i++)
        other[at[from[i].prefix >> shift & 255]++] = from[i];
    for (int byte = 0; byte < 256; byte++) {
        const size_t size = begin[byte + 1] - begin[byte];
        if (size)
            sort_by_prefix(other + begin[byte], from + begin[byte], size, !into_other);
    }
}

// ---- ties

static weft_bytes key_from(struct entry entry, size_t depth, char room[8])
{
    weft_bytes key = entry_key(entry, room);
    if (depth > key.size)
        depth = key.size;
    return (weft_bytes){key.data + depth, key.size - depth};
}

// The order of two entries whose keys agree in their first `depth` bytes.
static int full_order(const struct key_order *order, struct entry a, struct entry b, size_t depth)
{
    char room_a[8], room_b[8];
    int by_key;
    if (order->compare) {
        const weft_bytes key_a = entry_key(a, room_a), key_b = entry_key(b, room_b);
        by_key = key_order_keys(order, 0, key_a, 0, key_b);
    } else {
        by_key = bytes_compare(key_from(a, depth, room_a), key_from(b, depth, room_b));
    }
    if (by_key)
        return by_key;
    const uint32_t task_a = entry_task(a), task_b = entry_task(b);
    return (task_a > task_b) - (task_a < task_b);
}

// A stable merge sort, for a user's order and for what no radix pass can split.
static void merge_by_order(struct entry *entries, struct entry *scratch, size_t count,
                           const struct key_order *order, size_t depth)
{
    if (count <= 8) {
        for (size_t i = 1; i < count; i++) {
            const struct entry moving = entries[i];
            size_t at = i;
            for (; at && full_order(order, entries[at - 1], moving, depth) > 0; at--)
                entries[at] = entries[at - 1];
            entries[at] = moving;
        }
        return;
    }
    const size_t half = count / 2;
    merge_by_order(entries, scratch, half, order, depth);
    merge_by_order(entries + half, scratch, count - half, order, depth);
    if (full_order(order, entries[half - 1], entries[half], depth) <= 0)
        return;
    memcpy(scratch, entries, half * sizeof *entries);
    size_t left = 0, right = half, to = 0;
    while (left < half && right < count)
        entries[to++] = full_order(order, scratch[left], entries[right], depth) <= 0
                            ? scratch[left++]
                            : entries[right++];
    memcpy(entries + to, scratch + left, (half - left) * sizeof *entries);
}

static void sort_ties(struct entry *entries, struct entry *scratch, size_t count, size_t depth,
                      const struct key_order *order);

// A group whose keys agree in `depth` bytes: the next 8 bytes become the prefix for a while.
static void sort_deeper(struct entry *entries, struct entry *scratch, size_t count, size_t depth,
                        const struct key_order *order)
{
    const uint64_t prefix = entries[0].prefix;
    bool has_more = false;
    for (size_t i = 0; i < count && !has_more; i++) {
        char room[8];
        has_more = key_from(entries[i], depth, room).size > 0;
    }
    if (!has_more || count <= 8) {  // only tasks are left to tell them apart, or they are few
        merge_by_order(entries, scratch, count, order, depth);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char room[8];
        entries[i].prefix = bytes_prefix(key_from(entries[i], depth, room));
    }
    sort_by_prefix(entries, scratch, count, false);
    sort_ties(entries, scratch, count, depth, order);
    for (size_t i = 0; i < count; i++)
        entries[i].prefix = prefix;
}

// VALUE entries of one prefix are one key, and their order does not matter.
static bool is_all_values(const struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (entry_tag(entries[i]) != ENTRY_VALUE)
            return false;
    return true;
}

static void sort_ties(struct entry *entries, struct entry *scratch, size_t count, size_t depth,
                      const struct key_order *order)
{
    for (size_t begin = 0; begin < count;) {
        size_t end = begin + 1;
        while (end < count && entries[end].prefix == entries[begin].prefix)
            end++;
        if (end - begin > 1 && !is_all_values(entries + begin, end - begin))
            sort_deeper(entries + begin, scratch + begin, end - begin, depth + 8, order);
        begin = end;
    }
}

void entries_sort(struct entry *entries, struct entry *scratch, size_t count,
                  const struct key_order *order)
{
    if (count < 2)
        return;
    if (order->compare) {
        merge_by_order(entries, scratch, count, order, 0);
        return;
    }
    sort_by_prefix(entries, scratch, count, false);
    sort_ties(entries, scratch, count, 0, order);
}

static void swap_words(struct wide_entry *wides, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wides[i] = (struct wide_entry){wides[i].low, wides[i].high};
}

void wide_sort(struct wide_entry *wides, struct wide_entry *scratch, size_t count)
{
    // Both are two 64-bit words of which the first is sorted by.
    _Static_assert(sizeof(struct wide_entry) == sizeof(struct entry), "same shape");
    sort_by_prefix((struct entry *)wides, (struct entry *)scratch, count, false);
    for (size_t begin = 0; begin < count;) {
        size_t end = begin + 1;
        while (end < count && wides[end].high == wides[begin].high)
            end++;
        if (end - begin > 1) {
            swap_words(wides + begin, end - begin);
            sort_by_prefix((struct entry *)(wides + begin), (struct entry *)(scratch + begin),
                           end - begin, false);
            swap_words(wides + begin, end - begin);
        }
        begin = end;
    }
}
