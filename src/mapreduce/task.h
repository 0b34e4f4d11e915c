// What code that runs other people's programs (src/code) may know about a task beyond weft.h.
#ifndef MAPREDUCE_TASK_H
#define MAPREDUCE_TASK_H

#include "store/record/record.h"

// Where the values of items are: a stretch of a file.
struct task_values {
    const char *path;  // NULL: the records are all there is
    uint64_t offset, size;
};

struct task_facts {
    uint32_t task, attempt;  // their numbers; the first attempt is 0
    uint32_t task_count;     // of its kind in the stage
    uint32_t map_count;      // map tasks of the stage
    bool is_sample;          // only keys are wanted, and few of them
    bool is_probe;           // the driver looks for a bad record: its messages are known already
    bool is_reducing;
    bool is_map_only;  // the stage has no reduce: what map emits is the output
    // The first piece of input of a map task.
    uint32_t input;  // its number
    const char *input_name, *input_path;
    uint64_t begin, end;
    uint64_t input_size;   // of the whole input
    uint32_t piece_count;  // of a map task: as many inputs, or pieces of them, one after the other
    struct task_values values;  // of its records, where these are items
};

// Room in the output of the task, at least *size bytes, for text that need not be copied there;
// *size is set to the actual size. NULL: write it with weft_write. The bytes that are then added
// are the front of that room: whole or broken lines, `line_count` line ends among them.
char *task_output_room(weft_task *task, size_t *size);
void task_output_add(weft_task *task, weft_bytes text, uint64_t line_count);

// Reports how much memory processes outside take for the task: it counts like the job's own. False:
// the attempt has failed because of it.
bool task_watch_outside(weft_task *task, uint64_t bytes);

// How long the attempt may stay at one record, in milliseconds; 0: no limit. The caller ends it after that time: only the caller knows
// which record a process outside is at, and since when.
uint32_t task_time_records(weft_task *task);

// Sets the status of the attempt; the last text is shown to the user. A sample's status is not
// shown.
void task_tell_status(weft_task *task, weft_bytes text);

// Whether the bytes are a file's own, mapped for as long as the stage lasts.
bool task_is_mapped(const weft_task *task, weft_bytes bytes);

// How the records that the task is given were cut.
const struct record_format *task_record_format(const weft_task *task);

// For a map attempt that is about to fail, from `end`: nothing of it was emitted, only pairs of tasks that have ended
// well before it. So those stay held.
void task_keep_held(weft_task *task);

// Adds a line to the sentence of an attempt that has failed.
void task_add_to_failure(weft_task *task, weft_bytes text);

void task_describe(const weft_task *task, struct task_facts *facts);

#endif
