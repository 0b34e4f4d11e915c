// A stage as the slots of a worker see it: the job's functions, the ranges, where input comes from and
// output goes. Built by the control thread, read-only while slots run.
#ifndef MAPREDUCE_WORK_STAGE_H
#define MAPREDUCE_WORK_STAGE_H

#include "mapreduce/code.h"
#include "mapreduce/work/collect/fold_table.h"
#include "mapreduce/work/output/dataset.h"
#include "mapreduce/work/output/sink.h"
#include "mapreduce/work/sort/ranges.h"
#include "store/codec/codec.h"
#include "store/record/record.h"
#include "sys/thread/thread.h"

struct lending;
struct slot;
struct stretches;

// One input of the job.
struct input {
    const char *name, *path;
    uint64_t size;                // of the file, or of the plain data when it is indexed
    uint64_t inode;               // which file it was when the job began; 0: not to be checked
    int64_t mtime_ns;             // likewise
    struct mem_map map;           // data NULL: read with pread
    _Atomic int codec;            // 0: no slot has looked yet; else its kind + 1
    bool is_indexed;              // compressed, but can be read from anywhere
    struct codec_index *index;    // under the stage's inputs_lock; NULL: not opened yet
    struct stretches *stretches;  // likewise
    struct lending *lending;      // NULL: a file of this machine; else lent, under its index here
};

static inline bool input_is_codec_known(const struct input *input)
{
    return atomic_load_explicit(&input->codec, memory_order_relaxed) != 0;
}

static inline enum codec_kind input_codec_kind(const struct input *input)
{
    const int codec = atomic_load_explicit(&input->codec, memory_order_relaxed);
    return codec ? (enum codec_kind)(codec - 1) : CODEC_NONE;
}

static inline void input_set_codec(struct input *input, enum codec_kind kind)
{
    atomic_store_explicit(&input->codec, (int)kind + 1, memory_order_relaxed);
}

// How a worker divides its memory; see memory_plan.c for the arithmetic.
struct memory_plan {
    size_t page_bytes;     // of a slot's pages
    size_t collect_bytes;  // pages of one slot, all in all
    size_t combine_bytes;  // pages of one slot before its combiner is tried on them
    size_t table_bytes;    // its short table at most; wide and long tables a quarter of it each
    size_t area_bytes;     // sorting one stretch of a range, per slot
    size_t read_bytes;     // a slot's read buffer to begin with
    size_t text_bytes;     // a slot's output text before it is handed to the sink in parts
    size_t held_bytes;     // of all slots' texts that wait in the sink
    size_t dataset_bytes;  // pairs kept in memory between stages
    size_t block_bytes;    // blocks of runs
    uint32_t chunk_entries;
    uint32_t runs_per_merge;  // a slot's runs of one level before they become one of the next
};

struct stage {
    uint32_t number;
    weft_job job;             // as configured
    const struct code *code;  // the code that runs it; NULL: its own functions, in this process
    const weft_args *args;
    enum fold_op op;          // FOLD_NONE: pairs are sorted, not folded
    weft_reduce_fn *combine;  // also when the job left it out and its reducer may combine
    struct key_order order;
    bool is_map_only;
    uint32_t part_count, range_count, map_count, sample_count;
    struct ranges ranges;
    struct sink *sink;  // NULL: the output is kept for the next stage, in `kept`
    struct dataset *kept;
    bool shelves_pairs;      // the sink is a shelf for pairs of the next stage, not for text
    struct dataset *source;  // NULL: the stage reads files
    struct input *inputs;
    uint32_t input_count;
    struct mutex *inputs_lock;     // for what slots find out about inputs
    struct record_format format;   // of the inputs
    enum record_output text_form;  // of the output
    enum codec_kind compress;      // likewise
    struct mem_budget *budget;
    uint64_t process_bytes_max;  // what the whole worker may use, user code included; 0: no limit
    struct memory_plan memory;
    const char *tmp;
    struct slot *slots;
    uint32_t slot_count;
    uint32_t top;  // of the last stage before --top and of its own: keep the N largest; 0: all
};

// The output is text, as the user sees it.
static inline bool stage_writes_text(const struct stage *stage)
{
    return stage->sink && !stage->shelves_pairs;
}

// Divides `bytes` among that many slots; false when it is too little to work in. A reduce task reads the runs of all
// slots of all `worker_count` workers.
bool memory_plan_make(struct memory_plan *plan, uint64_t bytes, uint32_t slot_count,
                      uint32_t worker_count, uint32_t range_count);

// Which of the ready-made reducers fold integers on every emit.
enum fold_op stage_fold_op(weft_reduce_fn *combine);

// The combiner the job means: its own, or its reducer where that may combine.
weft_reduce_fn *stage_combiner(const weft_job *job);

// Sets order, combine and op from the job.
void stage_set_order(struct stage *stage);

#endif
