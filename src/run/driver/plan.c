// From a job, its options and its inputs to stages, tasks and shares of the memory.

#include "run/driver/plan.h"

#include "code/codes.h"

#include <stdlib.h>

enum {
    // What the driver itself takes: 400 KB as measured, messages, a thread that copies the answer; and
    // for every input (its name, its pieces, 170 bytes as measured) and every task.
    DRIVER_BYTES = 3 << 20,
    DRIVER_INPUT_BYTES = 192,
    DRIVER_TASK_BYTES = 192,

    SLOT_BYTES_MIN = 8 << 20,  // less than this for a slot is slower than having fewer of them
    LATER_SAMPLE_COUNT = 8,
    DEAR_SAMPLES_MAX = 4,
};

static weft_err no_memory(void)
{
    return err_no_memory("to plan the job");
}

static const weft_job *last_job(const struct run_plan *plan)
{
    return &plan->chain.jobs.items[plan->chain.jobs.count - 1];
}

bool run_plan_has_items(const struct run_plan *plan)
{
    const struct code *user = code_of(&plan->chain.jobs.items[0]);
    return user->values_from && user->values_from(&plan->options->args);
}

// ---- Stages -------------------------------------------------------------------------------------

static struct plan_options options_of_plan(const struct run_plan *plan)
{
    const weft_job *job = &plan->chain.jobs.items[0];
    const struct code *user = code_of(job);
    const bool is_file = plan->format.kind == RECORD_FILES;
    const bool starts_per_file =
        user->starts_per_file && user->starts_per_file(&plan->options->args);
    return (struct plan_options){
        .reducers = plan->options->reducers       ? plan->options->reducers
                    : last_job(plan)->whole_parts ? 1
                                                  : 0,
        // A sample of these means starting a process, or reading a whole file.
        .samples_max = job->whole_parts || user->is_dear || is_file ? DEAR_SAMPLES_MAX : 0,
        .is_dear = user->is_dear,
        .has_dear_pieces =
            user->is_dear && (starts_per_file || plan->options->is_hadoop || is_file),
        .has_cuts = plan->options->lines_per_task > 0,
    };
}

static void list_inputs(const struct run_plan *plan, struct plan_input *inputs)
{
    for (size_t i = 0; i < plan->inputs.count; i++) {
        const struct input_look *look = &plan->looks[i];
        inputs[i] = (struct plan_input){.size = look->size,
                                        .is_whole = look->is_whole,
                                        .cuts = look->cuts.items,
                                        .cut_count = look->cuts.count};
    }
}

// Cuts where Hadoop would, for the same part files.
static weft_err split_as_hadoop(struct run_plan *plan, struct plan_input *inputs,
                                struct report *report)
{
    const size_t count = plan->inputs.count;
    weft_err code = run_plan_look_at_inputs(plan, 0, report);
    for (size_t i = 0; i < count && code == WEFT_OK; i++) {
        struct input_look *look = &plan->looks[i];
        if (look->is_indexed) {  // to Hadoop it is gzip like any other
            look->is_indexed = false;
            look->is_whole = true;
            look->size = plan->inputs.items[i].size;
        }
    }
    list_inputs(plan, inputs);
    return code != WEFT_OK
               ? code
               : plan_init_hadoop(&plan->split, inputs, (uint32_t)count, &plan->options->hadoop);
}

// The size of a split follows from all sizes. Inputs larger than that have to be looked into: they may turn
// out to be larger still, or impossible to cut.
static weft_err split_inputs(struct run_plan *plan, struct report *report)
{
    const size_t count = plan->inputs.count;
    if (count > UINT32_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "more than %u inputs", UINT32_MAX);
    struct plan_input *inputs = calloc(count + 1, sizeof *inputs);
    plan->looks = calloc(count + 1, sizeof *plan->looks);
    if (!inputs || !plan->looks) {
        free(inputs);
        return no_memory();
    }
    for (size_t i = 0; i < count; i++)
        plan->looks[i].size = plan->inputs.items[i].size;
    const struct plan_options options = options_of_plan(plan);
    list_inputs(plan, inputs);
    if (plan->options->is_hadoop) {
        const weft_err code = split_as_hadoop(plan, inputs, report);
        free(inputs);
        return code;
    }
    weft_err code = plan_init(&plan->split, inputs, (uint32_t)count, &options);
    if (code == WEFT_OK)
        code = run_plan_look_at_inputs(plan, plan->split.split_bytes, report);
    if (code == WEFT_OK) {
        plan_fini(&plan->split);
        list_inputs(plan, inputs);
        code = plan_init(&plan->split, inputs, (uint32_t)count, &options);
    }
    free(inputs);
    return code;
}

// Values of items are not read for a sample: the code says where to cut, into as many ranges as there are tasks, up to a number that does
// not depend on anything else.
static void count_ranges_of_items(const struct run_plan *plan, struct run_stage *stage)
{
    const struct code *user = code_of(&plan->chain.jobs.items[0]);
    weft_bytes key;
    uint32_t count = 1;
    while (user->cut && user->cut(count - 1, &key))
        count++;
    count = count < stage->map_count ? count : stage->map_count;
    stage->sample_count = 0;
    stage->range_count = (count + stage->part_count - 1) / stage->part_count * stage->part_count;
    if (stage->range_count == 0)
        stage->range_count = stage->part_count;
}

// Parts are for the eye and for partitioners; a stage in between needs none.
static void count_ranges(const struct run_plan *plan, const weft_job *job, struct run_stage *stage)
{
    const bool has_partition = job && job->partition && !stage->is_map_only;
    const bool has_parts = job && (stage->is_last || has_partition);
    stage->part_count = has_parts ? plan->split.part_count : 1;
    // A partitioner makes the parts, and they are not cut further; the largest N are few.
    const bool has_ranges = job && !has_partition && !stage->is_map_only;
    const bool is_cut = has_ranges && !job->whole_parts;
    stage->range_count = is_cut ? plan->split.range_count : stage->part_count;
    if (is_cut && stage == &plan->stages[0] && run_plan_has_items(plan))
        count_ranges_of_items(plan, stage);
    stage->piece_count = stage->is_map_only ? stage->map_count : stage->range_count;
    if (!has_ranges || stage->range_count == 1)
        stage->sample_count = 0;
}

static void describe_stage(const struct run_plan *plan, uint32_t index, struct run_stage *stage)
{
    stage->job_index = chain_job_of_stage(&plan->chain, index);
    stage->is_last = index + 1 == plan->stage_count;
    // After the last job of the chain comes the worker's own, for --top.
    const bool is_top = stage->job_index == plan->chain.jobs.count;
    const weft_job *job = is_top ? NULL : &plan->chain.jobs.items[stage->job_index];
    stage->is_map_only = job && !job->reduce;
    if (index == 0) {
        stage->map_count = plan->split.map_count;
        stage->sample_count = plan->split.sample_count;
    } else {
        const uint32_t count = plan->stages[index - 1].piece_count;
        stage->map_count = count;
        stage->sample_count = count < LATER_SAMPLE_COUNT ? count : LATER_SAMPLE_COUNT;
    }
    count_ranges(plan, job, stage);
}

static weft_err make_stages(struct run_plan *plan)
{
    plan->stage_count = plan->chain.stage_count + (plan->options->top > 0);
    plan->stages = calloc(plan->stage_count, sizeof *plan->stages);
    if (!plan->stages)
        return no_memory();
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        struct run_stage *stage = &plan->stages[i];
        describe_stage(plan, i, stage);
        for (enum sched_kind kind = SCHED_SAMPLE; kind < SCHED_KIND_COUNT; kind++) {
            stage->first_task[kind] = plan->task_count;
            plan->task_count += run_stage_task_count(stage, kind);
        }
    }
    return WEFT_OK;
}

// ---- Memory -------------------------------------------------------------------------------------

// Each client has memory and slots of its own.
static void leave_to_clients(struct run_plan *plan)
{
    plan->worker_count = RUN_PLAN_PLACES;
    plan->slot_count = plan->options->slots < SLOTS_MAX ? plan->options->slots : SLOTS_MAX;
    plan->worker_bytes = plan->options->memory_bytes;
}

static uint32_t count_useful(const struct run_plan *plan)
{
    uint32_t useful = 1;
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        const struct run_stage *stage = &plan->stages[i];
        useful = stage->map_count > useful ? stage->map_count : useful;
        useful = stage->range_count > useful ? stage->range_count : useful;
    }
    return useful;
}

// Divides the promise: a share for us, the rest for the workers; and finds how many of them, and how many slots, have
// something to do, and can live on that.
weft_err run_plan_divide_memory(struct run_plan *plan)
{
    const uint64_t all = plan->options->memory_bytes;
    const uint64_t ours = DRIVER_BYTES + plan->inputs.count * DRIVER_INPUT_BYTES +
                          plan->task_count * DRIVER_TASK_BYTES;
    const uint64_t outside = code_of(&plan->chain.jobs.items[0])->outside_bytes_min;
    const uint64_t slot_min = SLOT_BYTES_MIN + outside;
    // The worker has the list of inputs as well.
    const uint64_t least = ours + plan->inputs.count * DRIVER_INPUT_BYTES + slot_min;
    if (all < least && outside)
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "--memory is too small for a slot with a process of its own, which takes "
                       "%llu MB\n  try: --memory %lluM",
                       (unsigned long long)outside >> 20, (unsigned long long)(least >> 20) + 1);
    if (all < least)
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "--memory is too small for %zu inputs\n  try: --memory %lluM, or fewer "
                       "and larger files",
                       plan->inputs.count, (unsigned long long)(least >> 20) + 1);
    const uint32_t useful = count_useful(plan);
    if (run_plan_is_far(plan)) {
        leave_to_clients(plan);
        return WEFT_OK;
    }
    const uint32_t workers = plan->options->workers ? plan->options->workers : 1;
    plan->worker_count = workers < useful ? workers : useful;
    plan->worker_bytes = (all - ours) / plan->worker_count;
    const uint64_t fitting = plan->worker_bytes / slot_min;
    if (fitting == 0)
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "--memory is too small for %u workers\n  try: --memory %lluM, or fewer "
                       "--workers",
                       plan->worker_count,
                       (unsigned long long)((ours + plan->worker_count * slot_min) >> 20) + 1);
    uint64_t slots = plan->options->slots < SLOTS_MAX ? plan->options->slots : SLOTS_MAX;
    slots = slots < useful ? slots : useful;
    plan->slot_count = (uint32_t)(slots < fitting ? slots : fitting);
    return WEFT_OK;
}

// ---- Its life ------------------------------------------------------------------------------------

weft_err run_plan_init(struct run_plan *plan, const weft_job *job,
                       const struct run_options *options)
{
    const struct code *user = code_of(job);
    *plan = (struct run_plan){.options = options};
    if (user->title)
        user->title(&options->args, plan->title);
    weft_err code = chain_init(&plan->chain, job, options->job_size, &options->args);
    if (code == WEFT_OK)
        code = options_check_job(options, last_job(plan));
    if (code == WEFT_OK)
        code = options_choose_format(options, &plan->chain.jobs.items[0], &plan->format);
    if (code == WEFT_OK && options->input_count > 1 && run_plan_has_items(plan))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s has a source, and its items are the input\n  try: without %s",
                       plan->title, options->inputs[1]);
    return code;
}

weft_err run_plan_make(struct run_plan *plan, struct report *report)
{
    weft_err code = split_inputs(plan, report);
    if (code == WEFT_OK && run_plan_is_far(plan))
        code = run_plan_find_file_systems(plan);
    return code == WEFT_OK ? make_stages(plan) : code;
}

void run_plan_fini(struct run_plan *plan)
{
    for (size_t i = 0; plan->looks && i < plan->inputs.count; i++)
        VEC_FINI(&plan->looks[i].cuts);
    free(plan->looks);
    run_plan_free_file_systems(plan);
    free(plan->heads);
    free(plan->parts);
    free(plan->stages);
    plan_fini(&plan->split);
    inputs_fini(&plan->inputs);
    chain_fini(&plan->chain);
}

// ---- Parts --------------------------------------------------------------------------------------

// Parts of a map-only stage get about the same number of bytes, or of tasks where bytes are unknown.
static uint32_t part_of_piece(const struct run_plan *plan, uint32_t piece)
{
    const struct run_stage *last = run_plan_last_stage(plan);
    if (!last->is_map_only)
        return piece / (last->range_count / last->part_count);
    if (plan->options->is_hadoop)
        return piece;
    if (plan->stage_count == 1)
        return plan_part_of_task(&plan->split, piece);
    return (uint32_t)((uint64_t)piece * last->part_count / last->piece_count);
}

weft_err run_plan_divide_output(struct run_plan *plan, struct output *output)
{
    const struct run_stage *last = run_plan_last_stage(plan);
    plan->parts = calloc(last->piece_count + 1, sizeof *plan->parts);
    if (!plan->parts)
        return no_memory();
    for (uint32_t i = 0; i < last->piece_count; i++)
        plan->parts[i] = part_of_piece(plan, i);
    return output_plan(output, last->part_count, last->piece_count, plan->parts);
}
