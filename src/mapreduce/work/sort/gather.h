// Gather: a range's entries from one or several slots as sorted arrays, and walking them.
//
// The arrays and their scratch come from one area per slot that grows and is reused. A walk either folds
// (int64 jobs: one total per key) or streams pairs (everything else, and merging with runs).
#ifndef MAPREDUCE_WORK_SORT_GATHER_H
#define MAPREDUCE_WORK_SORT_GATHER_H

#include "mapreduce/work/collect/buckets.h"
#include "mapreduce/work/collect/fold_table.h"
#include "mapreduce/work/sort/merge.h"

// Sorted entries of one range, borrowed from the area.
struct sorted {
    struct entry *entries;
    size_t entry_count;
    struct wide_entry *wides;
    size_t wide_count;
};

struct area {
    struct mem_budget *budget;
    void *memory;
    size_t size;
};

void area_fini(struct area *area);

// Makes the area at least `size` bytes; the content is lost. False: no memory.
bool area_reserve(struct area *area, size_t size);

// How many bytes sorting that many entries and wides takes.
static inline size_t gather_bytes(uint64_t entry_count, uint64_t wide_count)
{
    return (size_t)(2 * (entry_count + wide_count) * sizeof(struct entry));
}

// A stretch of a range in a slot's buckets: at most max_entries from number first, for entries and
// wides alike.
MUST_CHECK weft_err gather_sorted(struct area *area, const struct buckets *const *slots,
                                  size_t slot_count, uint32_t range, uint64_t first, uint64_t max,
                                  const struct key_order *order, struct sorted *sorted);

// A key and its total.
typedef weft_err gather_total_fn(void *owner, uint64_t prefix, weft_bytes key, int64_t total);

// Folds the whole of `sorted`, keys ascending. Only for arrays that hold nothing but integers. A total
// that does not fit 64 bits comes in several calls, or is OUT_OF_RANGE when this is the final answer.
MUST_CHECK weft_err gather_fold(const struct sorted *sorted, enum fold_op op, bool is_final,
                                gather_total_fn *total, void *owner);

// The sentence for a total that does not fit 64 bits.
weft_err gather_overflow(weft_bytes key);

// A stream of the pairs of `sorted`, for a merge or a group walk. Close frees the stream, not the
// arrays. NULL: no memory.
struct pair_stream *gather_stream(const struct sorted *sorted);

#endif
