// Ranges of keys: choosing the cuts, and finding a key's range by its prefix.
//
// A table over the top 16 bits of the prefix says between which cuts to look; a short binary search
// does the rest. Only a key whose prefix equals a cut's is compared byte by byte.

#include "mapreduce/work/sort/ranges.h"

#include <stdlib.h>

enum { TOPS = 65536 };

struct sampled {
    uint64_t prefix;
    weft_bytes key;
    const struct key_order *order;
};

static int compare_sampled(const void *left, const void *right)
{
    const struct sampled *a = left, *b = right;
    return key_order_keys(a->order, a->prefix, a->key, b->prefix, b->key);
}

static struct sampled *sort_sample(const struct key_order *order, const weft_bytes *sample,
                                   size_t count)
{
    struct sampled *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return NULL;
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct sampled){key_order_prefix(order, sample[i]), sample[i], order};
    qsort(sorted, count, sizeof *sorted, compare_sampled);
    return sorted;
}

// Cut i is the quantile i/range_count of the sample. Without a sample all keys are in range 0.
static bool copy_cuts(struct ranges *ranges, const struct sampled *sorted, size_t count)
{
    const size_t cuts = count ? ranges->range_count - 1 : 0;
    size_t bytes = 1;
    for (size_t i = 0; i < cuts; i++)
        bytes += sorted[(i + 1) * count / ranges->range_count].key.size;
    ranges->key_bytes = malloc(bytes);
    if (!ranges->key_bytes)
        return false;
    char *to = ranges->key_bytes;
    for (size_t i = 0; i < cuts; i++) {
        const struct sampled *cut = sorted + (i + 1) * count / ranges->range_count;
        if (cut->key.size)
            memcpy(to, cut->key.data, cut->key.size);
        ranges->cut_keys[i] = (weft_bytes){to, cut->key.size};
        ranges->cut_prefixes[i] = cut->prefix;
        to += cut->key.size;
    }
    for (size_t i = cuts; i + 1 < ranges->range_count; i++) {
        ranges->cut_prefixes[i] = UINT64_MAX;
        ranges->cut_keys[i] = (weft_bytes){NULL, SIZE_MAX};  // above every key
    }
    return true;
}

static void index_cuts(struct ranges *ranges)
{
    uint32_t cut = 0;
    for (uint32_t top = 0; top < TOPS; top++) {
        while (cut + 1 < ranges->range_count && ranges->cut_prefixes[cut] >> 48 < top)
            cut++;
        ranges->first_cut[top] = (uint16_t)cut;
    }
    ranges->first_cut[TOPS] = (uint16_t)(ranges->range_count - 1);
}

bool ranges_init(struct ranges *ranges, uint32_t range_count, uint32_t part_count,
                 const struct key_order *order,
                 uint32_t (*partition)(weft_bytes key, uint32_t part_count),
                 const weft_bytes *sample, size_t sample_count)
{
    *ranges = (struct ranges){.range_count = range_count,
                              .part_count = part_count,
                              .order = *order,
                              .partition = partition};
    ASSERT(range_count >= 1 && range_count <= 65535 && range_count % part_count == 0);
    ranges->cut_prefixes = calloc(range_count, sizeof *ranges->cut_prefixes);
    ranges->cut_keys = calloc(range_count, sizeof *ranges->cut_keys);
    ranges->first_cut = calloc(TOPS + 1, sizeof *ranges->first_cut);
    struct sampled *sorted = sort_sample(&ranges->order, sample, sample_count);
    bool is_good = ranges->cut_prefixes && ranges->cut_keys && ranges->first_cut && sorted;
    is_good = is_good && copy_cuts(ranges, sorted, sample_count);
    free(sorted);
    if (!is_good) {
        ranges_fini(ranges);
        return false;
    }
    index_cuts(ranges);
    return true;
}

void ranges_fini(struct ranges *ranges)
{
    free(ranges->cut_prefixes);
    free(ranges->cut_keys);
    free(ranges->key_bytes);
    free(ranges->first_cut);
    *ranges = (struct ranges){0};
}

// Whether cut i is at or below the key: then the key lies right of it.
static inline bool is_at_or_above(const struct ranges *ranges, uint32_t cut, uint64_t prefix,
                                  weft_bytes key)
{
    if (ranges->cut_prefixes[cut] != prefix)
        return ranges->cut_prefixes[cut] < prefix;
    const weft_bytes cut_key = ranges->cut_keys[cut];
    if (cut_key.size == SIZE_MAX)
        return false;
    if (ranges->order.group && ranges->order.group(cut_key, key) == 0)
        return true;  // a group is not cut: all of it lies right of the key it was cut at
    return key_order_keys(&ranges->order, 0, cut_key, 0, key) <= 0;
}

uint32_t ranges_find(const struct ranges *ranges, uint64_t prefix, weft_bytes key)
{
    if (ranges->partition) {
        const uint32_t part = ranges->partition(key, ranges->part_count);
        if (part >= ranges->part_count)
            return UINT32_MAX;
        return part * (ranges->range_count / ranges->part_count);  // its other ranges stay empty
    }
    bool is_tied;
    if (!ranges->order.compare) {
        const uint32_t range = ranges_find_prefix(ranges, prefix, &is_tied);
        if (!is_tied)
            return range;
    }
    uint32_t low = ranges->order.compare ? 0 : ranges->first_cut[prefix >> 48];
    uint32_t high =
        ranges->order.compare ? ranges->range_count - 1 : ranges->first_cut[(prefix >> 48) + 1];
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (is_at_or_above(ranges, middle, prefix, key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
