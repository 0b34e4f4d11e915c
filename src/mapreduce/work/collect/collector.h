// The collector: what a slot's map attempts have emitted, combined and cut by range, until it is sealed.
//
//   emit -> queue -> tables (fold on every emit) -> buckets by range -> runs on disk
//
// Jobs that fold integers go through the tables; when those show that keys hardly repeat, or when there
// is nothing to fold, pairs go straight to the buckets. When memory is used up the buckets are compacted
// (sorted and folded or combined); what that does not make smaller is written out as a run.
// Thread: the slot's own until sealed, then read-only for all.
#ifndef MAPREDUCE_WORK_COLLECT_COLLECTOR_H
#define MAPREDUCE_WORK_COLLECT_COLLECTOR_H

#include "mapreduce/work/collect/buckets.h"
#include "mapreduce/work/collect/fold_table.h"
#include "mapreduce/work/run/run_file.h"

struct run_index;
struct slot;

enum { WIDE_QUEUE = 64 };  // wide keys are folded in groups of this size, after a prefetch

struct wide_pending {
    uint64_t high, low;
    int64_t value;
};

// The part of a collector that outlives its worker, or came from a worker that has ended.
struct durable {
    bool is_kept;           // other processes read the runs
    const char *directory;  // where the file of runs is; NULL: it has no name
    weft_bytes identity;
    size_t adopted_count;     // this many runs at the front were adopted
    size_t kept_count;        // this many runs at the front are adopted or in the last checkpoint
    uint64_t kept_bytes;      // of the file, up to the end of its last index
    bool has_mixed;           // as the collector's at the last checkpoint
    bool is_saving;           // runs count as saved, not as spilled
    VEC(uint32_t) tasks;      // that the last checkpoint covers
    VEC(struct run) retired;  // merged into others, but an index that counts may still name them
    size_t retired_before;    // this many were retired when the last index was written
    VEC(struct run_index *) adopted;
};

struct collector {
    struct pages pages;
    struct buckets buckets;
    struct short_table shorts;
    struct wide_table wides;
    struct long_table longs;
    struct wide_pending wide_queue[WIDE_QUEUE];
    uint32_t wide_queued;
    bool is_direct;     // tables are bypassed: keys hardly repeat
    bool is_settled;    // another look has shown that they repeat: tables are not judged again
    size_t look_above;  // bytes in pages at which there is another look; 0: not chosen yet
    bool has_mixed;     // holds other values than integers: folding arrays is not enough
    bool is_sealed;
    bool is_draining;        // tables are being emptied: no room can be made until the end
    uint64_t fold_count;     // keys given to the tables since they were last empty
    uint64_t distinct_seen;  // and how many were different
    size_t combine_above;    // bytes in pages at which the job's combiner is tried
    struct spill spill;      // fd -1 until needed
    VEC(struct run) runs;
    struct durable durable;
};

void collector_init(struct collector *collector);
MUST_CHECK weft_err collector_begin(struct collector *collector, struct slot *slot);
void collector_fini(struct collector *collector, struct slot *slot);

// Throws away everything since it was begun, or since its last checkpoint.
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

// ---- Map output that outlives its worker (collector_checkpoint.c)
//
//   slot_begin_stage -> collector_keep_runs -> (map tasks -> collector_checkpoint)... -> collector_seal
//                    -> collector_adopt_take, for what an earlier worker left
//
// What a checkpoint covers is final: the slot's later failures throw away only what came after it.

// From now on runs go to a file with a name in `directory`, or to one without a name if that is NULL: other processes
// then read it while this one, or one to which it has lent the descriptor, has it open. Both are borrowed until the
// next stage. identity: see run_index.h, at most RUN_IDENTITY_BYTES_MAX.
void collector_keep_runs(struct slot *slot, const char *directory, weft_bytes identity);

// Where a checkpoint is found: for run_index_open in another process.
struct checkpoint {
    const char *path;  // borrowed until the next stage; NULL: the file has no name
    int fd;            // of the file; the collector's
    uint64_t offset;   // of the index
    uint64_t bytes;    // written by this checkpoint
};

// Writes all pairs that the slot holds, and an index of all its runs. `tasks` are those that ended
// well in this slot since the last checkpoint, or since the beginning. Afterwards they and all
// earlier ones are durable: the files survive kill -9, and a power cut if must_sync. Called between
// two attempts, before the collector is sealed. A failure ends the worker: the pairs in the slot
// are undefined then, but the last checkpoint is not touched.
MUST_CHECK weft_err collector_checkpoint(struct slot *slot, const uint32_t *tasks,
                                         size_t task_count, bool must_sync,
                                         struct checkpoint *checkpoint);

// Makes loaded runs part of the slot's collection, as if it had run their tasks. Takes ownership of
// the index, also on failure. INVALID_ARGUMENT: its ranges are not the stage's. Called before the
// first task; no other slot may run or have run tasks that the index covers.
MUST_CHECK weft_err collector_adopt_take(struct slot *slot, struct run_index *index);

// Adds short keys and their numbers (NULL: ones) to the buckets; each `stride` words after the
// last.
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

// (collector_merge.c) Makes one run of several when there are too many to be read at once; the
// first `first` runs stay as they are.
MUST_CHECK weft_err collector_merge_runs(struct slot *slot, size_t first);

// (collector_checkpoint.c) The file for runs, made when it is first needed.
MUST_CHECK weft_err collector_open_spill(struct slot *slot);

// (collector_spill.c) Adds to the figures of the slot, as spilled or as saved by a checkpoint.
void collector_count_written(struct slot *slot, uint64_t bytes, uint32_t runs);

// (collector_checkpoint.c) The first drops runs that are not kept, the second drops all of them.
void collector_drop_runs(struct collector *collector);
void collector_fini_durable(struct collector *collector);

// A record of the pair in the pages; NULL: no room.
struct record *collector_new_record(struct pages *pages, const struct pair *pair);

// What the pages may take: the slot's share, less the tables' while those are in use.
void collector_limit_pages(struct collector *collector, const struct slot *slot);

// (collector_combine.c) Runs the job's combiner over the pairs in memory, when that may pay.
MUST_CHECK weft_err collector_combine(struct slot *slot);

// (collector_spill.c) At the end of an attempt: of keys that seemed to be distinct and have become many, some
// are looked at once more. If they repeat after all, the tables are used again.
MUST_CHECK weft_err collector_look_again(struct slot *slot);

// (collector_spill.c) Makes room: compacts or spills. Tables are emptied too.
MUST_CHECK weft_err collector_make_room(struct slot *slot);
MUST_CHECK weft_err collector_spill(struct slot *slot);
MUST_CHECK weft_err collector_drain_tables(struct slot *slot);

#endif
