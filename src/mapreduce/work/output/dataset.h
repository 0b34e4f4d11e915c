// A dataset: the pairs one stage leaves for the next, a segment per range, in memory while they fit and
// in a nameless file beyond.
//
// A segment is a sequence of {u32 key size, u32 value size, key, value}; values are text, as they would
// have been printed. It comes in any number of stretches, cut anywhere, from the slot that reduces the
// range, and is read by map tasks of the next stage; or it lies in a file that another process made.
// Thread: any slot; one writer per segment.
#ifndef MAPREDUCE_WORK_OUTPUT_DATASET_H
#define MAPREDUCE_WORK_OUTPUT_DATASET_H

#include "base/err.h"
#include "base/vec.h"
#include "sys/machine/mem.h"

struct dataset_stretch {
    char *memory;  // NULL: on disk
    uint64_t size, offset;
    int fd;  // of another's file; -1: the dataset's own
};

struct dataset_segment {
    VEC(struct dataset_stretch) stretches;
    uint64_t size;
    bool is_done;
    bool has_crc;
    uint32_t crc32c;  // of all of it
};

struct dataset {
    struct mem_budget *budget;
    struct dataset_segment *segments;
    uint32_t range_count;
    size_t memory_max;
    _Atomic uint64_t memory_used;
    int fd;
    _Atomic uint64_t file_size;
    const char *tmp;
};

struct dataset *dataset_new(struct mem_budget *budget, uint32_t range_count, size_t memory_max,
                            const char *tmp);
void dataset_free(struct dataset *dataset);

// Appends a stretch of an attempt's output, copied. A range that is done stays as it is.
MUST_CHECK weft_err dataset_append(struct dataset *dataset, uint32_t range, weft_bytes pairs);

// The attempt ended well: the segment is complete. Or it failed: another begins again.
void dataset_finish(struct dataset *dataset, uint32_t range);
void dataset_discard(struct dataset *dataset, uint32_t range);

// The segment lies in a file, which stays the caller's and open. Replaces what the segment was before.
MUST_CHECK weft_err dataset_adopt(struct dataset *dataset, uint32_t range, int fd, uint64_t offset,
                                  uint64_t size, uint32_t crc32c);

// Whether a segment whose bytes were all read had this checksum; DATA_LOSS. Fine where none is known.
MUST_CHECK weft_err dataset_check(const struct dataset *dataset, uint32_t range, uint32_t crc32c);

// Reads up to size bytes of a segment from `at`; *got is how many it read.
MUST_CHECK weft_err dataset_read(const struct dataset *dataset, uint32_t range, uint64_t at,
                                 void *data, size_t size, size_t *got);

#endif
