// plan: the work of a run, before it begins: its jobs, its inputs with their sizes and kinds, its stages
// and their tasks, and how the memory is shared.
//
// All of it follows from the job, its options and its inputs; only the number of slots and their memory depend on
// the machine, and no byte of the output depends on those. Made once, before the first worker; from then on it is
// only read, so every part of the driver may have a pointer to it. Thread: that of the loop.
#ifndef RUN_DRIVER_PLAN_H
#define RUN_DRIVER_PLAN_H

#include "mapreduce/code.h"
#include "mapreduce/coord/plan.h"
#include "mapreduce/coord/sched.h"
#include "run/chain.h"
#include "run/driver/report.h"
#include "store/inputs.h"
#include "store/output.h"

struct run_stage {
    uint32_t job_index;
    uint32_t part_count, range_count, map_count, sample_count;
    uint32_t piece_count;  // of its output: ranges, or map tasks without reduce
    bool is_map_only, is_last;
    size_t first_task[SCHED_KIND_COUNT];  // where its tasks start among all of the run
};

// The properties of an input that a look into it has found.
struct input_look {
    uint64_t size;       // of its plain data where that can be read from anywhere, else of the file
    int codec;           // 0: not looked at; else its kind + 1
    bool is_indexed;     // compressed, but can be read from anywhere
    bool is_whole;       // can only be read from its front
    VEC(uint64_t) cuts;  // --lines-per-task
};

// What URLs of inputs with that authority mean, for clients with another configuration (run/driver/file_systems.c).
struct run_file_system {
    char *authority;
    char *nodes;
};

struct run_plan {
    const struct run_options *options;
    struct chain chain;
    char title[CODE_TITLE_BYTES];  // made by the code that runs the job; "": it has a name
    struct record_format format;
    struct inputs inputs;
    struct input_look *looks;  // one each
    struct plan split;         // of the first stage
    struct run_stage *stages;
    uint32_t stage_count;
    size_t task_count;      // of all kinds and stages
    uint32_t *parts;        // the part of each piece of the last stage
    uint32_t worker_count;  // above 1: they share the work (run/driver/answer/shelves.h)
    uint32_t slot_count;    // of each worker
    uint64_t worker_bytes;  // the share of the memory of each
    VEC(struct run_file_system) file_systems;  // where clients work: of inputs that are URLs
    uint64_t *heads;  // where clients work: XXH3 of how each input begins; NULL: not known yet
};

enum { RUN_PLAN_PLACES = 1024 };  // for clients

// Copies and configures the job. The job cannot run, or the options are wrong: a failure. run_plan_fini either way.
MUST_CHECK weft_err run_plan_init(struct run_plan *plan, const weft_job *job,
                                  const struct run_options *options);
void run_plan_fini(struct run_plan *plan);

// When the inputs are in: looks into them and makes the stages.
MUST_CHECK weft_err run_plan_make(struct run_plan *plan, struct report *report);
// Finds how many workers and slots can live on the memory that there is. After run_plan_make.
MUST_CHECK weft_err run_plan_divide_memory(struct run_plan *plan);
// Hands the output its pieces.
MUST_CHECK weft_err run_plan_divide_output(struct run_plan *plan, struct output *output);

// ---- inputs.c

// Which inputs were left out.
void run_plan_tell_aside(const struct run_plan *plan, struct report *report);
// Looks into the inputs that would be cut into pieces of that size.
MUST_CHECK weft_err run_plan_look_at_inputs(struct run_plan *plan, uint64_t split_bytes,
                                            struct report *report);

// ---- file_systems.c

weft_err run_plan_find_file_systems(struct run_plan *plan);
void run_plan_free_file_systems(struct run_plan *plan);

// ---- Reading it

static inline bool run_plan_is_shared(const struct run_plan *plan)
{
    return plan->worker_count > 1;
}

// The workers are on machines of clients (run/driver/server/clients.h).
static inline bool run_plan_is_far(const struct run_plan *plan)
{
    return plan->options->listen != NULL;
}

// Records are numbers of items, whose values another process has (run/driver/server/items.h).
bool run_plan_has_items(const struct run_plan *plan);

// What the user is shown as the job's name.
static inline const char *run_plan_title(const struct run_plan *plan)
{
    return plan->title[0] ? plan->title : plan->chain.jobs.items[0].name;
}

static inline uint32_t run_stage_task_count(const struct run_stage *stage, enum sched_kind kind)
{
    return kind == SCHED_SAMPLE ? stage->sample_count
           : kind == SCHED_MAP  ? stage->map_count
           : stage->is_map_only ? 0
                                : stage->range_count;
}

// The kind of task whose text is the stage's output.
static inline enum sched_kind run_stage_output_kind(const struct run_stage *stage)
{
    return stage->is_map_only ? SCHED_MAP : SCHED_REDUCE;
}

static inline const struct run_stage *run_plan_last_stage(const struct run_plan *plan)
{
    return &plan->stages[plan->stage_count - 1];
}

// The number of a task among all of the run.
static inline size_t run_plan_number(const struct run_plan *plan, uint32_t stage,
                                     enum sched_kind kind, uint32_t task)
{
    return plan->stages[stage].first_task[kind] + task;
}

#endif
