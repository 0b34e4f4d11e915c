// The environment of a command: ours, what Hadoop Streaming's scripts look for, and what the user set.
//
// Hadoop gives a script its whole configuration, dots as underscores, under new names and old ones; these
// are the ones that scripts use:
//
//   mapreduce_job_id, mapred_job_id            job_local_0001
//   mapreduce_job_name
//   mapreduce_task_id, mapred_tip_id           task_local_0001_m_000003
//   mapreduce_task_attempt_id, mapred_task_id  attempt_local_0001_m_000003_0
//   mapreduce_task_partition, mapred_task_partition
//   mapreduce_task_ismap, mapred_task_is_map   true, false
//   mapreduce_map_input_file, map_input_file   the input as it was named; file:/PATH as Hadoop has it
//   mapreduce_map_input_start, map_input_start, mapreduce_map_input_length, map_input_length
//   mapreduce_job_maps, and in a reducer mapred_map_tasks; mapreduce_job_reduces in a reducer
//
// Thread: one owner.
#ifndef CODE_COMMAND_ENVIRONMENT_H
#define CODE_COMMAND_ENVIRONMENT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct command_place {
    const char *job_id, *job_name;
    uint32_t task, attempt, task_count, map_count;
    bool is_map, is_map_only;
    const char *input_file;  // NULL: a reduce task, or an input without a name
    uint64_t input_start, input_bytes;
    bool names_input_as_hadoop;  // file:/PATH
};

// Reused from task to task.
struct command_environment {
    struct buf text;
    VEC(size_t) offsets;     // of our variables in text
    VEC(const char *) list;  // NULL-terminated, for nursery_start
};

void command_environment_fini(struct command_environment *environment);

// `base` and `set` are lists of "NAME=value" that end with NULL: what the command inherits, and what the
// user said. The user's win over all, ours over the inherited, the first
// of a name over the next. Borrows their strings.
MUST_CHECK weft_err command_environment_make(struct command_environment *environment,
                                             const struct command_place *place,
                                             const char *const *base, const char *const *set);

#endif
