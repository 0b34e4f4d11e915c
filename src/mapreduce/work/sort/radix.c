// Sorting entries.

#include "mapreduce/work/sort/radix.h"

#include "sys/machine/cpu.h"

enum {
    SMALL_MAX = 32,  // groups up to here are sorted without counting
    TWO_BYTES_ABOVE =
        50000,  // from here on two bytes at a time: fewer passes over what no cache holds
};

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

// Small groups: with vectors every entry's place is counted, else they are inserted one by one.
static void sort_small(struct entry *entries, size_t count)
{
#if defined(__x86_64__)
    if (count > 4 && cpu_isa() == CPU_AVX512) {
        radix_small_avx512(entries, count);
        return;
    }
#endif
    insertion_by_prefix(entries, count);
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

static void sort_by_prefix(struct entry *from, struct entry *other, size_t count, bool into_other);

// More entries than counters can count (64 GiB of them) are sorted in halves and merged.
static void merge_halves(struct entry *from, struct entry *other, size_t count, bool into_other)
{
    const size_t half = count / 2;
    sort_by_prefix(from, other, half, !into_other);
    sort_by_prefix(from + half, other + half, count - half, !into_other);
    const struct entry *source = into_other ? from : other;
    struct entry *to = into_other ? other : from;
    for (size_t left = 0, right = half; left < half || right < count;) {
        const bool is_left =
            right == count || (left < half && source[left].prefix <= source[right].prefix);
        *to++ = source[is_left ? left++ : right++];
    }
}

// Scatters `from` by the digit at `shift` into `other` and sorts each group there on. `begin` has a
// zeroed counter for every digit and two more.
static void scatter(struct entry *from, struct entry *other, size_t count, bool into_other,
                    int shift, uint32_t digits, uint32_t *begin)
{
    const uint64_t mask = digits - 1;
    for (size_t i = 0; i < count; i++)
        begin[(from[i].prefix >> shift & mask) + 2]++;
    for (uint32_t digit = 1; digit < digits; digit++)
        begin[digit + 1] += begin[digit];
    for (size_t i = 0; i < count; i++)  // counts up from each group's begin to the next one's
        other[begin[(from[i].prefix >> shift & mask) + 1]++] = from[i];
    for (uint32_t digit = 0; digit < digits; digit++) {
        const size_t first = begin[digit], size = begin[digit + 1] - first;
        if (size)
            sort_by_prefix(other + first, from + first, size, !into_other);
    }
}

// Apart from sort_by_prefix, whose calls of itself would else have these counters on the stack each.
static __attribute__((noinline)) void scatter_by_byte(struct entry *from, struct entry *other,
                                                      size_t count, bool into_other, int shift)
{
    uint32_t begin[256 + 2] = {0};
    scatter(from, other, count, into_other, shift, 256, begin);
}

// Two bytes at once, where there are enough entries to pay for the counters.
static __attribute__((noinline)) void scatter_by_two(struct entry *from, struct entry *other,
                                                     size_t count, bool into_other, int shift)
{
    uint32_t begin[65536 + 2];
    memset(begin, 0, sizeof begin);
    scatter(from, other, count, into_other, shift, 65536, begin);
}

// Sorts `from` by prefix; the result ends in `from` or, when into_other, in `other`.
static void sort_by_prefix(struct entry *from, struct entry *other, size_t count, bool into_other)
{
    const uint64_t bits = count > SMALL_MAX ? differing_bits(from, count) : 0;
    if (!bits) {
        if (count <= SMALL_MAX)
            sort_small(from, count);
        if (into_other)
            memcpy(other, from, count * sizeof *from);
        return;
    }
    const int shift = (63 - __builtin_clzll(bits)) & ~7;
    if (count >= TWO_BYTES_ABOVE && count <= UINT32_MAX && shift >= 8)
        scatter_by_two(from, other, count, into_other, shift - 8);
    else if (count <= UINT32_MAX)
        scatter_by_byte(from, other, count, into_other, shift);
    else
        merge_halves(from, other, count, into_other);
}

// ---- ties

// The part of a key after its first `depth` bytes. A VALUE entry has no such part: it only ties
// with others when depth is at least 8, and its prefix may be another's for the moment.
static weft_bytes key_from(struct entry entry, size_t depth)
{
    if (entry_tag(entry) == ENTRY_VALUE)
        return (weft_bytes){"", 0};
    weft_bytes key = entry_key(entry, NULL);
    if (depth > key.size)
        depth = key.size;
    return (weft_bytes){key.data + depth, key.size - depth};
}

// The size of a key that ties with others in its first `depth` bytes, zero padded.
static size_t tied_size(struct entry entry, uint64_t prefix)
{
    if (entry_tag(entry) == ENTRY_VALUE)
        return prefix_size(prefix);
    return entry_key(entry, NULL).size;
}

// What entries are compared by once their first `depth` bytes tie.
struct tie {
    const struct key_order *order;
    size_t depth;
    uint64_t prefix;  // the real one of all of them
};

// "ab" and "ab" with NULs after it tie by zero padding: then the shorter is first.
static int full_order(const struct tie *tie, struct entry a, struct entry b)
{
    int by_key;
    if (tie->order->compare) {
        by_key = key_order_keys(tie->order, 0, key_from(a, 0), 0, key_from(b, 0));
    } else {
        by_key = bytes_compare(key_from(a, tie->depth), key_from(b, tie->depth));
        if (by_key == 0 && tie->depth) {
            const size_t size_a = tied_size(a, tie->prefix), size_b = tied_size(b, tie->prefix);
            by_key = (size_a > size_b) - (size_a < size_b);
        }
    }
    if (by_key)
        return by_key;
    const uint32_t task_a = entry_task(a), task_b = entry_task(b);
    return (task_a > task_b) - (task_a < task_b);
}

// A stable merge sort, for a user's order and for what no radix pass can split.
static void merge_by_order(struct entry *entries, struct entry *scratch, size_t count,
                           const struct tie *tie)
{
    if (count <= 8) {
        for (size_t i = 1; i < count; i++) {
            const struct entry moving = entries[i];
            size_t at = i;
            for (; at && full_order(tie, entries[at - 1], moving) > 0; at--)
                entries[at] = entries[at - 1];
            entries[at] = moving;
        }
        return;
    }
    const size_t half = count / 2;
    merge_by_order(entries, scratch, half, tie);
    merge_by_order(entries + half, scratch, count - half, tie);
    if (full_order(tie, entries[half - 1], entries[half]) <= 0)
        return;
    memcpy(scratch, entries, half * sizeof *entries);
    size_t left = 0, right = half, to = 0;
    while (left < half && right < count)
        entries[to++] = full_order(tie, scratch[left], entries[right]) <= 0 ? scratch[left++]
                                                                            : entries[right++];
    memcpy(entries + to, scratch + left, (half - left) * sizeof *entries);
}

static void sort_ties(struct entry *entries, struct entry *scratch, size_t count,
                      const struct tie *tie);

static bool has_more(const struct entry *entries, size_t count, size_t depth)
{
    for (size_t i = 0; i < count; i++)
        if (key_from(entries[i], depth).size > 0)
            return true;
    return false;
}

// A group whose keys tie in tie->depth bytes: the next 8 bytes become the prefix for a while. What all of
// them share is passed by in a loop, not by a call for every 8 bytes: keys may have megabytes.
static void sort_deeper(struct entry *entries, struct entry *scratch, size_t count, struct tie tie)
{
    const uint64_t prefix = entries[0].prefix;
    bool is_told_apart = false;
    while (!is_told_apart && count > 8 && has_more(entries, count, tie.depth)) {
        for (size_t i = 0; i < count; i++)
            entries[i].prefix = bytes_prefix(key_from(entries[i], tie.depth));
        is_told_apart = differing_bits(entries, count) != 0;
        tie.depth += is_told_apart ? 0 : 8;
    }
    if (is_told_apart) {
        sort_by_prefix(entries, scratch, count, false);
        sort_ties(entries, scratch, count, &tie);
    } else {  // they are few, or only sizes and tasks are left
        merge_by_order(entries, scratch, count, &tie);
    }
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

// Fetches keys of groups that come soon, from *at on.
static void prefetch_ties(const struct entry *entries, size_t count, size_t *at, size_t end)
{
    for (; *at < end + ENTRY_AHEAD && *at + 1 < count; ++*at)
        if (entries[*at].prefix == entries[*at + 1].prefix ||
            (*at > 0 && entries[*at].prefix == entries[*at - 1].prefix))
            entry_prefetch(entries[*at]);
}

// Groups of entries whose prefixes (bytes tie->depth..+8 of their keys) are the same.
static void sort_ties(struct entry *entries, struct entry *scratch, size_t count,
                      const struct tie *tie)
{
    size_t fetched = 0;
    for (size_t begin = 0; begin < count;) {
        size_t end = begin + 1;
        while (end < count && entries[end].prefix == entries[begin].prefix)
            end++;
        prefetch_ties(entries, count, &fetched, end);
        if (end - begin > 1 && !is_all_values(entries + begin, end - begin)) {
            const struct tie deeper = {tie->order, tie->depth + 8,
                                       tie->depth ? tie->prefix : entries[begin].prefix};
            sort_deeper(entries + begin, scratch + begin, end - begin, deeper);
        }
        begin = end;
    }
}

void entries_sort(struct entry *entries, struct entry *scratch, size_t count,
                  const struct key_order *order)
{
    const struct tie none = {.order = order};
    if (count < 2)
        return;
    if (order->compare) {
        merge_by_order(entries, scratch, count, &none);
        return;
    }
    sort_by_prefix(entries, scratch, count, false);
    sort_ties(entries, scratch, count, &none);
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
