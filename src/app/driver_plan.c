// driver_plan: what is to be done, before anybody does it: stages, tasks, memory, and the messages that
// tell a worker. All of it follows from the job, its options and its inputs; only the number of slots
// and their memory depend on the machine, and no byte of the output depends on those.

#include "app/driver_state.h"

#include <stdlib.h>

enum {
    // What the driver itself takes: 400 KB as measured, messages, a thread that copies the answer; and
    // for every input (its name, its pieces, 170 bytes as measured) and every task.
    DRIVER_BYTES = 3 << 20,
    DRIVER_INPUT_BYTES = 192,
    DRIVER_TASK_BYTES = 192,

    SLOT_BYTES_MIN = 8 << 20,  // less than this for a slot is slower than having fewer of them
    LATER_SAMPLE_COUNT = 8,
};

static weft_err no_memory(void)
{
    return err_set(WEFT_RESOURCE_EXHAUSTED, "no memory to plan the job");
}

// ---- Stages -------------------------------------------------------------------------------------

static weft_err split_inputs(struct driver *driver)
{
    const size_t count = driver->inputs.count;
    if (count > UINT32_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "more than %u inputs", UINT32_MAX);
    uint64_t *sizes = malloc((count + 1) * sizeof *sizes);
    if (!sizes)
        return no_memory();
    for (size_t i = 0; i < count; i++)
        sizes[i] = driver->inputs.items[i].size;
    const weft_err code =
        plan_init(&driver->plan, sizes, (uint32_t)count, driver->options->reducers);
    free(sizes);
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
    stage->range_count = has_ranges ? driver->plan.range_count : stage->part_count;
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
                                    .max_attempts = driver->options->max_attempts};
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
}

// Parts of a map-only stage get about the same number of bytes, or of tasks where bytes are unknown.
static uint32_t part_of_piece(const struct driver *driver, uint32_t piece)
{
    const struct driver_stage *last = &driver->stages[driver->stage_count - 1];
    if (!last->is_map_only)
        return piece / (last->range_count / last->part_count);
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

// ---- Messages -----------------------------------------------------------------------------------

static weft_err fill_inputs(struct driver *driver, Weft__JobStart *start)
{
    const size_t count = driver->inputs.count;
    Weft__Input *inputs = malloc((count + 1) * sizeof *inputs);
    start->inputs = malloc((count + 1) * sizeof *start->inputs);
    if (!inputs || !start->inputs) {
        free(inputs);
        return no_memory();
    }
    start->n_inputs = count;
    start->inputs[0] = inputs;
    for (size_t i = 0; i < count; i++) {
        weft__input__init(&inputs[i]);
        inputs[i].name = (char *)driver->inputs.items[i].name;
        // A million of them must fit a frame: nothing is said twice.
        if (driver->inputs.items[i].path != driver->inputs.items[i].name)
            inputs[i].path = (char *)driver->inputs.items[i].path;
        inputs[i].size = driver->inputs.items[i].size;
        start->inputs[i] = &inputs[i];
    }
    return WEFT_OK;
}

weft_err driver_send_job(struct driver *driver)
{
    const struct run_options *options = driver->options;
    const weft_job *jobs = driver->chain.jobs.items;
    const size_t next_count = driver->chain.jobs.count - 1;
    Weft__JobStart start = WEFT__JOB_START__INIT;
    start.job = (char *)jobs[0].name;
    start.args = options->job_words;
    start.n_args = options->job_word_count;
    start.config = message_bytes(jobs[0].config);
    start.slots = driver->slot_count;
    start.memory_bytes = driver->worker_bytes;
    start.tmp = options->tmp;
    start.may_map_input = driver->inputs.total_bytes <= driver->worker_bytes;
    start.top = options->top;
    start.next_configs = malloc((next_count + 1) * sizeof *start.next_configs);
    weft_err code = start.next_configs ? fill_inputs(driver, &start) : no_memory();
    if (code == WEFT_OK) {
        start.n_next_configs = next_count;
        for (size_t i = 0; i < next_count; i++)
            start.next_configs[i] = message_bytes(jobs[i + 1].config);
        code = link_send(&driver->link, WEFT__FRAME_TYPE__FRAME_JOB_START, &start.base);
    }
    if (start.inputs)
        free(start.inputs[0]);
    free(start.inputs);
    free(start.next_configs);
    return code;
}

static void fill_output(const struct driver *driver, Weft__Output *output)
{
    static const Weft__OutputKind kinds[] = {
        [OUTPUT_PLACE_FILE] = WEFT__OUTPUT_KIND__OUTPUT_FILE,
        [OUTPUT_PLACE_PARTS] = WEFT__OUTPUT_KIND__OUTPUT_PARTS,
        [OUTPUT_PLACE_FD] = WEFT__OUTPUT_KIND__OUTPUT_FD,
    };
    const struct output_place *place = output_place(driver->output);
    output->kind = kinds[place->kind];
    output->path = place->path ? (char *)place->path : output->path;
    output->fd = place->fd;
    output->base_offset = place->base_offset;
}

// What an earlier worker has committed stays.
static weft_err fill_done(const struct driver *driver, Weft__StageOpen *open)
{
    const uint32_t count = driver->stages[open->stage].piece_count;
    open->done_pieces = malloc((count + 1) * sizeof *open->done_pieces);
    open->done_bytes = malloc((count + 1) * sizeof *open->done_bytes);
    open->done_crc = malloc((count + 1) * sizeof *open->done_crc);
    if (!open->done_pieces || !open->done_bytes || !open->done_crc)
        return no_memory();
    size_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!driver->pieces[i].is_done)
            continue;
        open->done_pieces[done] = i;
        open->done_bytes[done] = driver->pieces[i].bytes;
        open->done_crc[done++] = driver->pieces[i].crc32c;
    }
    open->n_done_pieces = open->n_done_bytes = open->n_done_crc = done;
    return WEFT_OK;
}

weft_err driver_send_stage_open(struct driver *driver, uint32_t stage)
{
    const struct driver_stage *at = &driver->stages[stage];
    Weft__StageOpen open = WEFT__STAGE_OPEN__INIT;
    Weft__Output output = WEFT__OUTPUT__INIT;
    open.stage = stage;
    open.job_index = at->job_index;
    open.part_count = at->part_count;
    open.range_count = at->range_count;
    open.map_count = at->map_count;
    open.sample_count = at->sample_count;
    open.is_map_only = at->is_map_only;
    open.output = &output;
    weft_err code = WEFT_OK;
    if (at->is_last) {
        fill_output(driver, &output);
        code = fill_done(driver, &open);
        if (at->is_map_only) {
            open.part_of_task = driver->parts;
            open.n_part_of_task = at->piece_count;
        }
    }
    if (code == WEFT_OK)
        code = link_send(&driver->link, WEFT__FRAME_TYPE__FRAME_STAGE_OPEN, &open.base);
    free(open.done_pieces);
    free(open.done_bytes);
    free(open.done_crc);
    return code;
}

weft_err driver_send_stage_plan(struct driver *driver, uint32_t stage)
{
    const struct driver_stage *at = &driver->stages[stage];
    Weft__TaskEnd *const *ends = driver->samples + at->first_task[SCHED_SAMPLE];
    size_t count = 0;
    for (uint32_t i = 0; i < at->sample_count; i++)
        count += ends[i] ? ends[i]->n_sample_keys : 0;
    Weft__StagePlan plan = WEFT__STAGE_PLAN__INIT;
    plan.stage = stage;
    plan.sample_keys = malloc((count + 1) * sizeof *plan.sample_keys);
    if (!plan.sample_keys)
        return no_memory();
    for (uint32_t i = 0; i < at->sample_count; i++)
        for (size_t j = 0; ends[i] && j < ends[i]->n_sample_keys; j++)
            plan.sample_keys[plan.n_sample_keys++] = ends[i]->sample_keys[j];
    const weft_err code = link_send(&driver->link, WEFT__FRAME_TYPE__FRAME_STAGE_PLAN, &plan.base);
    free(plan.sample_keys);
    return code;
}

weft_err driver_send_task(struct driver *driver, const struct sched_action *action)
{
    const struct driver_stage *at = &driver->stages[action->stage];
    Weft__TaskRun run = WEFT__TASK_RUN__INIT;
    size_t count = 0;
    const struct plan_piece *pieces = NULL;
    if (action->stage == 0 && action->at.kind == SCHED_MAP)
        pieces = plan_pieces(&driver->plan, action->at.task, &count);
    else if (action->stage == 0 && action->at.kind == SCHED_SAMPLE)
        pieces = &driver->plan.samples[action->at.task], count = 1;
    Weft__Piece *copies = malloc((count + 1) * sizeof *copies);
    run.pieces = malloc((count + 1) * sizeof *run.pieces);
    weft_err code = copies && run.pieces ? WEFT_OK : no_memory();
    for (size_t i = 0; i < count && code == WEFT_OK; i++) {
        weft__piece__init(&copies[i]);
        copies[i].input = pieces[i].input;
        copies[i].begin = pieces[i].begin;
        copies[i].end = pieces[i].end;
        run.pieces[run.n_pieces++] = &copies[i];
    }
    run.kind = (Weft__TaskKind)action->at.kind;
    run.task = action->at.task;
    run.attempt = action->at.attempt;
    run.slot = action->at.slot;
    tally_begin(&driver->tally, at->first_task[action->at.kind] + action->at.task, run.attempt);
    if (code == WEFT_OK)
        code = link_send(&driver->link, WEFT__FRAME_TYPE__FRAME_TASK_RUN, &run.base);
    free(copies);
    free(run.pieces);
    return code;
}
