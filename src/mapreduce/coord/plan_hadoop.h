// The plan as Hadoop would make it: which bytes of which file each map task reads, and in which order the
// tasks are numbered. For `weft streaming`: part files of a job without reducers are numbered by map task,
// so only the same cuts in the same order give the same files.
//
// The rules are those of Hadoop 3 on one machine: a file is cut at multiples of max(split_min, min(all
// bytes, block)), the last cut left out when less than a tenth of a split would follow; an empty file is a
// task of its own, a file that cannot be split is one task; tasks are then ordered by falling size, equal
// ones as they were.
//
// Hadoop gives a line that begins exactly at a cut to the task before it, Weft to the one after it.
// The pieces here begin and end a byte later, so that both mean the same lines. Pure; thread: any,
// one owner.
#ifndef MAPREDUCE_COORD_PLAN_HADOOP_H
#define MAPREDUCE_COORD_PLAN_HADOOP_H

#include "mapreduce/coord/plan.h"

enum { PLAN_HADOOP_BLOCK_BYTES = 32 << 20 };  // of Hadoop's local file system

struct plan_hadoop_options {
    uint64_t split_min;    // 0: 1
    uint64_t block_bytes;  // 0: PLAN_HADOOP_BLOCK_BYTES
    uint32_t reducers;     // 0: none, every map task is a part
    bool has_cuts;         // every N lines: inputs are cut there only, and an empty one has no task
};

// Fills the plan; plan_fini as ever. There are no samples, as a partitioner makes the parts. Each task has
// one piece, and they are not in input order. RESOURCE_EXHAUSTED beyond PLAN_PARTS_MAX parts.
MUST_CHECK weft_err plan_init_hadoop(struct plan *plan, const struct plan_input *inputs,
                                     uint32_t input_count,
                                     const struct plan_hadoop_options *options);

#endif
