// Runs that outlive their worker: an index in the file after them describes them, so that another
// process can take them over. One index covers everything that a slot has collected so far: a
// process that has the last one needs no other.
//
// A process adopts nothing unproven: the index has a checksum, a version and the identity of its job; what
// does not fit is refused with a sentence, and the tasks it covers are simply done again.
// The layout is drawn in run_index.c. Thread: one; a loaded index is read-only, for all.
#ifndef MAPREDUCE_WORK_RUN_RUN_INDEX_H
#define MAPREDUCE_WORK_RUN_RUN_INDEX_H

#include "mapreduce/work/run/run_file.h"

enum { RUN_INDEX_VERSION = 1, RUN_IDENTITY_BYTES_MAX = 256 };

struct run_index {
    struct spill file;  // that the runs are in
    struct run *runs;   // oldest first
    uint32_t run_count;
    uint32_t *tasks;  // the map tasks whose pairs they are, all of them, ascending
    uint32_t task_count;
    uint32_t range_count;
    bool has_mixed;  // not all values are integers
};

// Appends an index of runs that are in this file. `identity` is what must be the same for the runs to
// be of use: job, stage, inputs, and by which keys ranges are cut.
MUST_CHECK weft_err run_index_write(struct spill *spill, const struct run_index *index,
                                    weft_bytes identity);

// Loads the index that stands at an offset of a file. NOT_FOUND: there is no such file;
// FAILED_PRECONDITION: it is another job's, or a newer weft wrote it; DATA_LOSS: it is damaged.
// checks_blocks: every block of every run is read and its checksum compared, which a power cut calls for,
// and a killed process does not.
MUST_CHECK weft_err run_index_open(struct run_index **index, const char *path, uint64_t offset,
                                   weft_bytes identity, bool checks_blocks);

// Closes the file and frees all. NULL is fine.
void run_index_close(struct run_index *index);

#endif
