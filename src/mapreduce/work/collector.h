// The collector: what a slot's map attempts have emitted, combined and cut by range, until it is sealed.
//
//   emit -> queue -> tables (fold on every emit) -> buckets by range -> runs on disk
//
// Jobs that fold integers go through the tables; when those show that keys hardly repeat, or when there
// is nothing to fold, pairs go straight to the buckets. When memory is used up the buckets are compacted
// (sorted and folded or combined); what that does not make smaller is written out as a run.
// Thread: the slot's own until sealed, then read-only for all.
#ifndef MAPREDUCE_WORK_COLLECTOR_H
#define MAPREDUCE_WORK_COLLECTOR_H

#include "mapreduce/work/buckets.h"
#include "mapreduce/work/fold_table.h"
#include "mapreduce/work/run_file.h"

struct slot;

enum { WIDE_QUEUE = 64 };  // wide keys are folded so many at a time, prefetched meanwhile

struct wide_pending {
    uint64_t high, low;
    int64_t value;
};

struct collector {
    struct pages pages;
    struct buckets buckets;
    struct short_table shorts;
    struct wide_table wides;
    struct long_table longs;
    struct wide_pending wide_queue[WIDE_QUEUE];
    uint32_t wide_queued;
    bool is_direct;  // tables are bypassed: keys hardly repeat
    bool has_mixed;  // holds values that are no integers: folding arrays is not enough
    bool is_sealed;
    bool is_draining;        // tables are being emptied: no room can be made meanwhile
    uint64_t fold_count;     // keys given to the tables since they were last empty
    uint64_t distinct_seen;  // and how many were different
    size_t combine_above;    // bytes in pages at which the job's combiner is tried
    struct spill spill;      // fd -1 until needed
    VEC(struct run) runs;
};

void collector_init(struct collector *collector);
MUST_CHECK weft_err collector_begin(struct collector *collector, struct slot *slot);
void collector_fini(struct collector *collector, struct slot *slot);

// Throws away everything since it was begun.
void collector_reset(struct collector *collector, struct slot *slot);

// Folds a batch of short keys; keys[count..count+FOLD_AHEAD) must be readable. values NULL: ones.
MUST_CHECK weft_err collector_fold(struct slot *slot, const uint64_t *keys, const int64_t *values,
                                   size_t count);

// Folds one key of any size.
MUST_CHECK weft_err collector_fold_key(struct slot *slot, weft_bytes key, int64_t value);

// Folds words that did not fit a short key, each standing for 1.
MUST_CHECK weft_err collector_fold_words(struct slot *slot, const weft_bytes *words, size_t count);

// Folds the keys that still wait in the queue of wide ones: at the end of an attempt.
MUST_CHECK weft_err collector_flush(struct slot *slot);

// Adds a pair as it is.
MUST_CHECK weft_err collector_add(struct slot *slot, const struct pair *pair);

// Empties the tables into the buckets and, when something was spilled before, spills the rest.
MUST_CHECK weft_err collector_seal(struct slot *slot);

// Short keys and their numbers (NULL: ones), each `stride` words behind the one before, to the buckets.
MUST_CHECK weft_err collector_put_shorts(struct slot *slot, const uint64_t *keys,
                                         const int64_t *values, size_t count, size_t stride);

// Adds a folded number to the buckets, past the tables.
MUST_CHECK weft_err collector_put_number(struct slot *slot, weft_bytes key, int64_t number);

struct pair_stream;

// Where pairs go when they are spilled.
struct spilling {
    struct run_writer *writer;
};

// Writes a sorted stream, combined if the job combines; closes the stream.
MUST_CHECK weft_err collector_write_stream(struct slot *slot, struct spilling *spilling,
                                           struct pair_stream *stream);

// (collector_merge.c) Makes one run of several when there are too many to be read at once.
MUST_CHECK weft_err collector_merge_runs(struct slot *slot);

// A record of the pair in the pages; NULL: no room.
struct record *collector_new_record(struct pages *pages, const struct pair *pair);

// What the pages may take: the slot's share, less the tables' while those are in use.
void collector_limit_pages(struct collector *collector, const struct slot *slot);

// (collector_combine.c) Runs the job's combiner over what is in memory, when that may pay.
MUST_CHECK weft_err collector_combine(struct slot *slot);

// (collector_spill.c) Makes room: compacts or spills. Tables are emptied too.
MUST_CHECK weft_err collector_make_room(struct slot *slot);
MUST_CHECK weft_err collector_spill(struct slot *slot);
MUST_CHECK weft_err collector_drain_tables(struct slot *slot);

#endif
