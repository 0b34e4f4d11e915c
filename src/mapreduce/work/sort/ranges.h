// Ranges of keys: how the output is cut into parts, and parts into pieces of work.
//
// The cuts are keys of a sample that depends on the job and its input only. Part boundaries are quantiles
// of the sample; each part is cut further into range_count / part_count ranges so that slots have
// something to share out. A job with a partition function has its parts as ranges. Read-only once
// built; any thread.
#ifndef MAPREDUCE_WORK_SORT_RANGES_H
#define MAPREDUCE_WORK_SORT_RANGES_H

#include "base/err.h"
#include "mapreduce/work/sort/pair.h"

struct ranges {
    uint32_t range_count, part_count;
    struct key_order order;
    uint32_t (*partition)(weft_bytes key, uint32_t part_count);
    uint64_t *cut_prefixes;  // range_count - 1 of them, ascending
    weft_bytes *cut_keys;    // range i begins at cut i-1
    char *key_bytes;         // owned
    uint16_t *first_cut;     // by the top 16 bits of a prefix: the first cut that may be above it
};

// Builds the ranges from the sample (any order, copied). False when out of memory.
bool ranges_init(struct ranges *ranges, uint32_t range_count, uint32_t part_count,
                 const struct key_order *order,
                 uint32_t (*partition)(weft_bytes key, uint32_t part_count),
                 const weft_bytes *sample, size_t sample_count);
void ranges_fini(struct ranges *ranges);

// The range of any key; UINT32_MAX: the job's partition function gave a part that is not there.
uint32_t ranges_find(const struct ranges *ranges, uint64_t prefix, weft_bytes key);

// The same where the job has no partition or compare function: nearly always the prefix alone gives
// the range. *is_tied: it does not, as the prefix is that of a cut.
static inline uint32_t ranges_find_prefix(const struct ranges *ranges, uint64_t prefix,
                                          bool *is_tied)
{
    uint32_t low = ranges->first_cut[prefix >> 48], high = ranges->first_cut[(prefix >> 48) + 1];
    *is_tied = false;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (ranges->cut_prefixes[middle] < prefix)
            low = middle + 1;
        else
            high = middle;
    }
    *is_tied = low + 1 < ranges->range_count && ranges->cut_prefixes[low] == prefix;
    return low;
}

static inline uint32_t ranges_part(const struct ranges *ranges, uint32_t range)
{
    return range / (ranges->range_count / ranges->part_count);
}

#endif
