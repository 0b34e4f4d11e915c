// Merging sorted streams of pairs by a loser tree: log2(k) comparisons per pair, by prefix first.
//
// A stream is anything that hands out pairs in order: a range of a run, a sorted array in memory. Ties
// of the whole key go to the lower map task, then to the stream that was added first. The caller adds
// a slot's runs oldest first. Thread: one.
#ifndef MAPREDUCE_WORK_SORT_MERGE_H
#define MAPREDUCE_WORK_SORT_MERGE_H

#include "base/err.h"
#include "mapreduce/work/sort/pair.h"

// One source of pairs. The pair's bytes are borrowed until the next call on the same stream.
struct pair_stream {
    weft_err (*next)(struct pair_stream *stream, struct pair *pair, bool *has_pair);
    void (*close)(struct pair_stream *stream);  // frees the stream; may be NULL
};

struct run;
struct merge;

struct merge *merge_new(const struct key_order *order);

// Takes ownership of the stream, also on failure. All are added before the first merge_next.
MUST_CHECK weft_err merge_add_take(struct merge *merge, struct pair_stream *stream);

// Adds one range of a run as a stream; an empty one is left out.
MUST_CHECK weft_err merge_add_run(struct merge *merge, const struct run *run, uint32_t range);

// The next pair of all, borrowed until the next call; *has_pair = false at the end.
MUST_CHECK weft_err merge_next(struct merge *merge, struct pair *pair, bool *has_pair);
void merge_free(struct merge *merge);

// A merge as a stream itself, for who walks or writes one. It does not own the merge.
struct merge_stream {
    struct pair_stream stream;
    struct merge *merge;
};

struct merge_stream merge_stream_of(struct merge *merge);

#endif
