// Stretches: facts that depend on all bytes before a place in an input: whether a piece of csv begins
// inside quotes, and the number of a record.
//
// An input is counted in stretches of a megabyte, each once, by the slot that needs it first; the
// count at a place is the sum of the stretches before it. So cutting an input costs one more look
// at its bytes, shared by all slots, and only if a job asks. Thread: any slot.
#ifndef MAPREDUCE_WORK_MAP_STRETCHES_H
#define MAPREDUCE_WORK_MAP_STRETCHES_H

#include "mapreduce/work/stage.h"

struct slot;

// Counts the records of the input before `end`, with its header.
MUST_CHECK weft_err stretches_count(struct slot *slot, uint32_t input_index, uint64_t end,
                                    struct record_counts *counts);
void stretches_free(struct stretches *stretches);  // NULL is fine

#endif
