// What the ready-made reducers see of the engine beyond the public header: values with their types, and
// emitting a pair of any type. A user's reducer needs none of it.
//
// A reducer that combines may emit partial results of the types VALUE_SUM and VALUE_MEAN; only the
// ready-made reducers meet them again. weft_next and its number forms never do: a job whose combiner
// is weft_sum or weft_mean and whose reducer is another gets them rounded.
// Thread: that of the task.
#ifndef MAPREDUCE_WORK_REDUCE_VALUES_H
#define MAPREDUCE_WORK_REDUCE_VALUES_H

#include "base/err.h"
#include "mapreduce/work/sort/pair.h"

// The next value with its type into *pair (type, number, bytes; key as in the group); false: no
// more, or the task has failed. The bytes are borrowed until the next call.
bool values_next(weft_values *values, struct pair *pair);

// Emits a pair of any type; copies key and bytes. After a failure it does nothing.
void task_emit_pair(weft_task *task, weft_bytes key, enum value_type type, int64_t number,
                    weft_bytes bytes);

// Whether the reducer is called to combine: the pairs it emits will be reduced (or combined) again.
bool task_is_combining(const weft_task *task);

// The job's top_k.
uint32_t task_top_k(const weft_task *task);

// Ends the job, not only this attempt: what failed would fail again. Takes the sentence that
// err_set left in this thread.
void task_fail_job(weft_task *task, weft_err code);

#endif
