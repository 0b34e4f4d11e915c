// plan: what is to be done, before anybody does it: stages, tasks, memory, and the messages that
// tell a worker. All of it follows from the job, its options and its inputs; only the number of slots
// and their memory depend on the machine, and no byte of the output depends on those.

#include "code/codes.h"
#include "run/driver/driver_state.h"

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

static const weft_job *last_job(const struct driver *driver)
{
    return &driver->chain.jobs.items[driver->chain.jobs.count - 1];
}

// ---- Stages -------------------------------------------------------------------------------------

static struct plan_options options_of_plan(const struct driver *driver)
{
    const weft_job *job = &driver->chain.jobs.items[0];
    const struct code *user = code_of(job);
    const bool is_file = driver->format.kind == RECORD_FILES;
    const bool starts_per_file =
        user->starts_per_file && user->starts_per_file(&driver->options->args);
    return (struct plan_options){
        .reducers = driver->options->reducers       ? driver->options->reducers
                    : last_job(driver)->whole_parts ? 1
                                                    : 0,
        // A sample of these means starting a process, or reading a whole file.
        .samples_max = job->whole_parts || user->is_dear || is_file ? DEAR_SAMPLES_MAX : 0,
        .is_dear = user->is_dear,
        .has_dear_pieces =
            user->is_dear && (starts_per_file || driver->options->is_hadoop || is_file),
        .has_cuts = driver->options->lines_per_task > 0,
    };
}

static void list_inputs(const struct driver *driver, struct plan_input *inputs)
{
    for (size_t i = 0; i < driver->inputs.count; i++) {
        const struct driver_input *look = &driver->looks[i];
        inputs[i] = (struct plan_input){.size = look->size,
                                        .is_whole = look->is_whole,
                                        .cuts = look->cuts.items,
                                        .cut_count = look->cuts.count};
    }
}

// Cuts where Hadoop would, for the same part files.
static weft_err split_as_hadoop(struct driver *driver, struct plan_input *inputs)
{
    const size_t count = driver->inputs.count;
    weft_err code = driver_look_at_inputs(driver, 0);
    for (size_t i = 0; i < count && code == WEFT_OK; i++) {
        struct driver_input *look = &driver->looks[i];
        if (look->is_indexed) {  // to Hadoop it is gzip like any other
            look->is_indexed = false;
            look->is_whole = true;
            look->size = driver->inputs.items[i].size;
        }
    }
    list_inputs(driver, inputs);
    return code != WEFT_OK
               ? code
               : plan_init_hadoop(&driver->plan, inputs, (uint32_t)count, &driver->options->hadoop);
}

// The size of a split follows from all sizes; what is larger than that has to be looked into, and may turn
// out to be larger still, or not to be cut at all.
static weft_err split_inputs(struct driver *driver)
{
    const size_t count = driver->inputs.count;
    if (count > UINT32_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "more than %u inputs", UINT32_MAX);
    struct plan_input *inputs = calloc(count + 1, sizeof *inputs);
    driver->looks = calloc(count + 1, sizeof *driver->looks);
    if (!inputs || !driver->looks) {
        free(inputs);
        return no_memory();
    }
    for (size_t i = 0; i < count; i++)
        driver->looks[i].size = driver->inputs.items[i].size;
    const struct plan_options options = options_of_plan(driver);
    list_inputs(driver, inputs);
    if (driver->options->is_hadoop) {
        const weft_err code = split_as_hadoop(driver, inputs);
        free(inputs);
        return code;
    }
    weft_err code = plan_init(&driver->plan, inputs, (uint32_t)count, &options);
    if (code == WEFT_OK)
        code = driver_look_at_inputs(driver, driver->plan.split_bytes);
    if (code == WEFT_OK) {
        plan_fini(&driver->plan);
        list_inputs(driver, inputs);
        code = plan_init(&driver->plan, inputs, (uint32_t)count, &options);
    }
    free(inputs);
    return code;
}

// Parts are for the eye and for partitioners; a stage in between needs none.
static void count_ranges(const struct driver *driver, const weft_job *job,
                         struct driver_stage *stage)
{
    const bool has_partition = job && job->partition && !stage->is_map_only;
    const bool has_parts = job && (stage->is_last || has_partition);
    stage->part_count = has_parts ? driver->plan.part_count : 1;
    // A partitioner makes the parts, and they are not cut further; the largest N are few.
    const bool has_ranges = job && !has_partition && !stage->is_map_only;
    const bool is_cut = has_ranges && !job->whole_parts;
    stage->range_count = is_cut ? driver->plan.range_count : stage->part_count;
    stage->piece_count = stage->is_map_only ? stage->map_count : stage->range_count;
    if (!has_ranges || stage->range_count == 1)
        stage->sample_count = 0;
}

static void describe_stage(const struct driver *driver, uint32_t index, struct driver_stage *stage)
{
    stage->job_index = chain_job_of_stage(&driver->chain, index);
    stage->is_last = index + 1 == driver->stage_count;
    // Behind the last job of the chain comes the worker's own, for --top.
    const bool is_top = stage->job_index == driver->chain.jobs.count;
    const weft_job *job = is_top ? NULL : &driver->chain.jobs.items[stage->job_index];
    stage->is_map_only = job && !job->reduce;
    if (index == 0) {
        stage->map_count = driver->plan.map_count;
        stage->sample_count = driver->plan.sample_count;
    } else {
        const uint32_t count = driver->stages[index - 1].piece_count;
        stage->map_count = count;
        stage->sample_count = count < LATER_SAMPLE_COUNT ? count : LATER_SAMPLE_COUNT;
    }
    count_ranges(driver, job, stage);
}

static weft_err make_stages(struct driver *driver)
{
    driver->stage_count = driver->chain.stage_count + (driver->options->top > 0);
    driver->stages = calloc(driver->stage_count, sizeof *driver->stages);
    if (!driver->stages)
        return no_memory();
    size_t task_count = 0;
    for (uint32_t i = 0; i < driver->stage_count; i++) {
        struct driver_stage *stage = &driver->stages[i];
        describe_stage(driver, i, stage);
        for (enum sched_kind kind = SCHED_SAMPLE; kind < SCHED_KIND_COUNT; kind++) {
            stage->first_task[kind] = task_count;
            task_count += driver_task_count(stage, kind);
        }
    }
    driver->samples = calloc(task_count + 1, sizeof *driver->samples);
    const struct driver_stage *last = &driver->stages[driver->stage_count - 1];
    driver->pieces = calloc(last->piece_count + 1, sizeof *driver->pieces);
    if (!driver->samples || !driver->pieces)
        return no_memory();
    return tally_init(&driver->tally, task_count);
}

static weft_err make_sched(struct driver *driver)
{
    struct sched_stage *stages = calloc(driver->stage_count, sizeof *stages);
    driver->actions = malloc(sizeof *driver->actions);
    if (!stages || !driver->actions) {
        free(stages);
        return no_memory();
    }
    for (uint32_t i = 0; i < driver->stage_count; i++)
        stages[i] = (struct sched_stage){
            .sample_count = driver->stages[i].sample_count,
            .map_count = driver->stages[i].map_count,
            .reduce_count = driver_task_count(&driver->stages[i], SCHED_REDUCE),
        };
    const struct sched_plan plan = {.stages = stages,
                                    .stage_count = driver->stage_count,
                                    .max_attempts = driver->options->max_attempts,
                                    .asks_before_failing = true};
    driver->sched = sched_new(&plan);
    free(stages);
    return driver->sched ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

// ---- Memory -------------------------------------------------------------------------------------

// Divides the promise: a share for us, the rest for the worker; and finds how many slots can live on
// that, and have something to do.
static weft_err divide_memory(struct driver *driver)
{
    const uint64_t all = driver->options->memory_bytes;
    const uint64_t ours = DRIVER_BYTES + driver->inputs.count * DRIVER_INPUT_BYTES +
                          driver->tally.task_count * DRIVER_TASK_BYTES;
    // The worker has the list of inputs as well.
    const uint64_t least = ours + driver->inputs.count * DRIVER_INPUT_BYTES + SLOT_BYTES_MIN;
    if (all < least)
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "--memory is too small for %zu inputs\n  try: --memory %lluM, or fewer "
                       "and larger files",
                       driver->inputs.count, (unsigned long long)(least >> 20) + 1);
    driver->worker_bytes = all - ours;
    uint32_t useful = 1;
    for (uint32_t i = 0; i < driver->stage_count; i++) {
        const struct driver_stage *stage = &driver->stages[i];
        useful = stage->map_count > useful ? stage->map_count : useful;
        useful = stage->range_count > useful ? stage->range_count : useful;
    }
    const uint64_t fitting = driver->worker_bytes / SLOT_BYTES_MIN;
    uint64_t slots = driver->options->slots < SLOTS_MAX ? driver->options->slots : SLOTS_MAX;
    slots = slots < useful ? slots : useful;
    driver->slot_count = (uint32_t)(slots < fitting ? slots : fitting);
    return WEFT_OK;
}

weft_err driver_make_plan(struct driver *driver)
{
    weft_err code = split_inputs(driver);
    if (code == WEFT_OK)
        code = make_stages(driver);
    if (code == WEFT_OK)
        code = make_sched(driver);
    if (code == WEFT_OK)
        code = divide_memory(driver);
    return code;
}

void driver_free_plan(struct driver *driver)
{
    for (size_t i = 0; driver->samples && i < driver->tally.task_count; i++)
        message_free(driver->samples[i]);
    free(driver->samples);
    free(driver->pieces);
    free(driver->parts);
    free(driver->stages);
    tally_fini(&driver->tally);
    plan_fini(&driver->plan);
    driver_free_looks(driver);
}

// Parts of a map-only stage get about the same number of bytes, or of tasks where bytes are unknown.
static uint32_t part_of_piece(const struct driver *driver, uint32_t piece)
{
    const struct driver_stage *last = &driver->stages[driver->stage_count - 1];
    if (!last->is_map_only)
        return piece / (last->range_count / last->part_count);
    if (driver->options->is_hadoop)
        return piece;
    if (driver->stage_count == 1)
        return plan_part_of_task(&driver->plan, piece);
    return (uint32_t)((uint64_t)piece * last->part_count / last->piece_count);
}

weft_err driver_plan_output(struct driver *driver)
{
    const struct driver_stage *last = &driver->stages[driver->stage_count - 1];
    driver->parts = calloc(last->piece_count + 1, sizeof *driver->parts);
    if (!driver->parts)
        return no_memory();
    for (uint32_t i = 0; i < last->piece_count; i++)
        driver->parts[i] = part_of_piece(driver, i);
    return output_plan(driver->output, last->part_count, last->piece_count, driver->parts);
}
