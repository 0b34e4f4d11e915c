// The plan of a job's first stage: which bytes each map task reads, where the sample is taken, and into
// how many parts and ranges the output is cut.
//
// All of it follows from the sizes of the inputs and --reducers only, never from slots or memory: the
// same bytes come out on any machine. Pure; thread: any, one owner.
#ifndef MAPREDUCE_COORD_PLAN_H
#define MAPREDUCE_COORD_PLAN_H

#include "base/err.h"

enum {
    // A split is 1/256 of the input, but not so small that starting a task shows, nor so large that
    // a failed one hurts; the sizes are multiples of one read.
    PLAN_SPLIT_BYTES_MIN = 1 << 20,
    PLAN_SPLIT_BYTES_MAX = 64 << 20,
    PLAN_SPLIT_BYTES_UNIT = 64 << 10,
    PLAN_SPLITS_WANTED = 256,
    PLAN_SPLITS_WANTED_DEAR = 64,

    // Opening a file costs about as much as reading this much; a piece never counts for less. So a
    // task has at most 64 MiB / 16 KiB = 4,096 pieces, and its frame is under 128 KiB.
    PLAN_PIECE_BYTES_MIN = 16 << 10,
    PLAN_PIECE_BYTES_MIN_DEAR = 256 << 10,  // where each is a process of its own: four are a task

    PLAN_PART_BYTES = 32 << 20,
    PLAN_PARTS_DEFAULT_MAX = 256,
    PLAN_PARTS_MAX = 4096,  // --reducers: each part is a file

    // A range is what one reduce task has in memory. Their number is a multiple of part_count: 2,048 at
    // most, and with many parts less than 2,048 more, or one range for each of up to 4,096 parts.
    PLAN_RANGE_BYTES = 4 << 20,
    PLAN_RANGES_WANTED_MAX = 2048,
    PLAN_RANGES_MAX = 4096,

    // 32 x 16 KiB is 512 KiB at most, enough for some thousand keys, read in a millisecond or two.
    PLAN_SAMPLES_MAX = 32,
    PLAN_SAMPLE_BYTES = 16 << 10,

    PLAN_MAPS_MAX = 1 << 22,  // 4 Mi tasks of 64 MiB: 256 TiB
};

struct plan_piece {
    uint32_t input;
    uint64_t begin, end;  // equal for an empty input, which still is a piece of some task
};

struct plan_input {
    uint64_t size;
    bool is_whole;  // cannot be cut: compressed, or its records only follow from those before
    const uint64_t *cuts;  // where each task but the first begins, rising; only with has_cuts
    size_t cut_count;
};

struct plan_options {
    uint32_t reducers;     // --reducers; 0: the default
    uint32_t samples_max;  // 0: PLAN_SAMPLES_MAX
    bool is_dear;          // starting a task means starting a process: fewer and larger ones
    bool has_dear_pieces;  // and so does every input file
    bool has_cuts;         // inputs are cut at these places only, as found by a look into them
};

struct plan {
    uint64_t total_bytes, split_bytes;
    uint32_t map_count, sample_count, part_count, range_count;
    struct plan_piece *pieces;  // in input order
    size_t piece_count;
    size_t *first_pieces;   // map task t has pieces first_pieces[t] up to first_pieces[t + 1]
    uint64_t *first_bytes;  // where map task t begins in all inputs one after the other
    struct plan_piece
        samples[PLAN_SAMPLES_MAX];  // of sample task i; may begin in the middle of a line
};

// Plans for these inputs. Without any there are no map tasks. RESOURCE_EXHAUSTED or INVALID_ARGUMENT
// beyond the limits; plan_fini either way.
MUST_CHECK weft_err plan_init(struct plan *plan, const struct plan_input *inputs,
                              uint32_t input_count, const struct plan_options *options);
void plan_fini(struct plan *plan);

// The pieces of a map task, in input order, and how many.
static inline const struct plan_piece *plan_pieces(const struct plan *plan, uint32_t task,
                                                   size_t *count)
{
    *count = plan->first_pieces[task + 1] - plan->first_pieces[task];
    return &plan->pieces[plan->first_pieces[task]];
}

// The part that a map task of a map-only job belongs to: by where its first byte lies, so that parts
// get about the same number of bytes; never decreasing.
uint32_t plan_part_of_task(const struct plan *plan, uint32_t task);

#endif
