// From the plan to frames.

#include "run/driver/messages.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "code/codes.h"
#include "mapreduce/sample_segment.h"

static weft_err no_memory(void)
{
    return err_no_memory("for the description of the job");
}

static weft_err fill_inputs(const struct run_plan *plan, Weft__JobStart *start)
{
    const size_t count = plan->inputs.count;
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
        inputs[i].name = (char *)plan->inputs.items[i].name;
        // A million of them must fit a frame: nothing is said twice.
        if (plan->inputs.items[i].path != plan->inputs.items[i].name)
            inputs[i].path = (char *)plan->inputs.items[i].path;
        inputs[i].size = plan->looks[i].size;
        inputs[i].codec = (uint32_t)plan->looks[i].codec;
        inputs[i].is_indexed = plan->looks[i].is_indexed;
        inputs[i].inode = plan->inputs.items[i].inode;
        inputs[i].mtime_ns = plan->inputs.items[i].mtime_ns;
        inputs[i].head = plan->heads ? plan->heads[i] : 0;
        inputs[i].file_size = run_plan_is_far(plan) ? plan->inputs.items[i].size : 0;
        start->inputs[i] = &inputs[i];
    }
    return WEFT_OK;
}

static weft_err fill_file_systems(const struct run_plan *plan, Weft__JobStart *start)
{
    const size_t count = plan->file_systems.count;
    Weft__FileSystem *systems = malloc((count + 1) * sizeof *systems);
    start->file_systems = malloc((count + 1) * sizeof *start->file_systems);
    if (!systems || !start->file_systems) {
        free(systems);
        return no_memory();
    }
    start->file_systems[0] = systems;
    start->n_file_systems = count;
    for (size_t i = 0; i < count; i++) {
        weft__file_system__init(&systems[i]);
        systems[i].authority = plan->file_systems.items[i].authority;
        systems[i].nodes = plan->file_systems.items[i].nodes;
        start->file_systems[i] = &systems[i];
    }
    return WEFT_OK;
}

static void fill_format(const struct run_plan *plan, Weft__RecordFormat *format)
{
    format->kind = plan->format.kind;
    format->delimiter = plan->format.delimiter;
    format->separator = plan->format.separator;
    format->has_header = plan->format.has_header;
    format->fixed_bytes = plan->format.fixed_bytes;
}

// Paths of a client's own files are looked for below the same directory.
static void fill_directory(const struct run_plan *plan, Weft__JobStart *start, char *room,
                           size_t size)
{
    if (run_plan_is_far(plan) && getcwd(room, size))
        start->directory = room;
}

weft_err run_plan_send_job(const struct run_plan *plan, struct agent *agent, uint32_t slot_count,
                           uint32_t worker_count)
{
    char directory[PATH_MAX];
    const struct run_options *options = plan->options;
    const weft_job *jobs = plan->chain.jobs.items;
    const size_t next_count = plan->chain.jobs.count - 1;
    Weft__JobStart start = WEFT__JOB_START__INIT;
    Weft__RecordFormat format = WEFT__RECORD_FORMAT__INIT;
    fill_format(plan, &format);
    start.format = &format;
    start.text_form = options->output_format;
    start.compress = options->compress;
    start.job = (char *)jobs[0].name;
    start.args = options->job_words;
    start.n_args = options->job_word_count;
    start.config = message_bytes(jobs[0].config);
    start.slots = slot_count;
    start.worker_count = worker_count;
    fill_directory(plan, &start, directory, sizeof directory);
    start.memory_bytes = plan->worker_bytes;
    start.tmp = options->tmp;
    start.may_map_input = plan->inputs.total_bytes <= plan->worker_bytes;
    start.top = options->top;
    start.next_configs = malloc((next_count + 1) * sizeof *start.next_configs);
    weft_err code = start.next_configs ? fill_inputs(plan, &start) : no_memory();
    if (code == WEFT_OK)
        code = fill_file_systems(plan, &start);
    if (code == WEFT_OK) {
        start.n_next_configs = next_count;
        for (size_t i = 0; i < next_count; i++)
            start.next_configs[i] = message_bytes(jobs[i + 1].config);
        code = agent_send(agent, WEFT__FRAME_TYPE__FRAME_JOB_START, &start.base);
    }
    if (start.inputs)
        free(start.inputs[0]);
    if (start.file_systems)
        free(start.file_systems[0]);
    free(start.inputs);
    free(start.file_systems);
    free(start.next_configs);
    return code;
}

static void fill_output(const struct output *target, Weft__Output *output)
{
    static const Weft__OutputKind kinds[] = {
        [OUTPUT_PLACE_FILE] = WEFT__OUTPUT_KIND__OUTPUT_FILE,
        [OUTPUT_PLACE_PARTS] = WEFT__OUTPUT_KIND__OUTPUT_PARTS,
        [OUTPUT_PLACE_FD] = WEFT__OUTPUT_KIND__OUTPUT_FD,
    };
    const struct output_place *place = output_place(target);
    output->kind = kinds[place->kind];
    output->path = place->path ? (char *)place->path : output->path;
    output->fd = place->fd;
}

// What an earlier worker has committed stays.
static weft_err fill_done(const struct output_piece *pieces, uint32_t count, Weft__StageOpen *open)
{
    open->done_pieces = malloc((count + 1) * sizeof *open->done_pieces);
    open->done_bytes = malloc((count + 1) * sizeof *open->done_bytes);
    open->done_crc = malloc((count + 1) * sizeof *open->done_crc);
    if (!open->done_pieces || !open->done_bytes || !open->done_crc)
        return no_memory();
    size_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!pieces[i].is_done)
            continue;
        open->done_pieces[done] = i;
        open->done_bytes[done] = pieces[i].bytes;
        open->done_crc[done++] = pieces[i].crc32c;
    }
    open->n_done_pieces = open->n_done_bytes = open->n_done_crc = done;
    return WEFT_OK;
}

weft_err run_plan_send_stage_open(const struct run_plan *plan, struct agent *agent, uint32_t stage,
                                  const struct output *target, const struct output_piece *pieces,
                                  const struct resume *resume)
{
    const struct run_stage *at = &plan->stages[stage];
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
    struct buf runs = {0};
    if (stage == 0)
        resume_fill_open(resume, &open, &runs);
    if (at->is_last) {
        if (run_plan_is_shared(plan)) {
            output.kind = WEFT__OUTPUT_KIND__OUTPUT_SHELF;
        } else {
            fill_output(target, &output);
            code = fill_done(pieces, at->piece_count, &open);
        }
        if (at->is_map_only) {
            open.part_of_task = plan->parts;
            open.n_part_of_task = at->piece_count;
        }
    }
    if (code == WEFT_OK)
        code = agent_send(agent, WEFT__FRAME_TYPE__FRAME_STAGE_OPEN, &open.base);
    free(open.done_pieces);
    free(open.done_bytes);
    free(open.done_crc);
    buf_fini(&runs);
    return code;
}

// The keys by which ranges are cut: the sample, or what the code says.
static weft_err list_cuts(const struct run_plan *plan, uint32_t stage,
                          Weft__TaskEnd *const *samples, Weft__StagePlan *message)
{
    enum { FIXED_MAX = 64 };
    const struct run_stage *at = &plan->stages[stage];
    const struct code *user = code_of(&plan->chain.jobs.items[0]);
    size_t count = FIXED_MAX;
    for (uint32_t i = 0; i < at->sample_count; i++)
        count += samples[i] ? samples[i]->n_sample_keys : 0;
    ProtobufCBinaryData *keys = message->sample_keys = malloc(count * sizeof *keys);
    if (!keys)
        return no_memory();
    for (uint32_t i = 0; i < at->sample_count; i++)
        for (size_t j = 0; samples[i] && j < samples[i]->n_sample_keys; j++)
            keys[message->n_sample_keys++] = samples[i]->sample_keys[j];
    weft_bytes key;
    for (size_t i = 0; stage == 0 && run_plan_has_items(plan) && at->range_count > 1 &&
                       i < FIXED_MAX && user->cut(i, &key);
         i++)
        keys[message->n_sample_keys++] = (ProtobufCBinaryData){key.size, (uint8_t *)key.data};
    return WEFT_OK;
}

weft_err run_plan_send_stage_plan(const struct run_plan *plan, struct agent *agent, uint32_t stage,
                                  Weft__TaskEnd *const *samples, struct resume *resume,
                                  uint8_t cuts[IDENTITY_KEY_BYTES])
{
    Weft__StagePlan message = WEFT__STAGE_PLAN__INIT;
    message.stage = stage;
    weft_err code = list_cuts(plan, stage, samples, &message);
    ProtobufCBinaryData *listed = message.sample_keys;  // those of the journal may take their place
    if (code == WEFT_OK && plan->stages[stage].sample_count)
        code = resume_keep_cuts(resume, &message);
    if (code == WEFT_OK && stage == 0 && !run_plan_is_shared(plan))
        code = resume_fill_adopted(resume, &message.adopted, &message.n_adopted);
    identity_hash_keys(message.sample_keys, message.n_sample_keys, cuts);
    if (run_plan_is_far(plan))
        message.cuts = (ProtobufCBinaryData){IDENTITY_KEY_BYTES, cuts};
    if (code == WEFT_OK)
        code = agent_send(agent, WEFT__FRAME_TYPE__FRAME_STAGE_PLAN, &message.base);
    resume_free_adopted(message.adopted, message.n_adopted);
    free(listed);
    return code;
}

static void fill_place(const void *owner, uint32_t holder, Weft__FarFile *far)
{
    clients_fill_place(owner, holder, far);
}

// Map output that outlives this run is listed by the journal, with what an earlier run has left.
weft_err run_plan_send_seals(struct agent *agent, uint32_t stage, const struct resume *resume,
                             const struct whereabouts *where)
{
    const bool is_kept = stage == 0 && resume_keeps_runs(resume);
    Weft__Seals seals = WEFT__SEALS__INIT;
    seals.stage = stage;
    weft_err code = where->clients ? holdings_fill_seals(where->holdings, stage, fill_place,
                                                         where->clients, &seals)
                    : is_kept      ? resume_fill_adopted(resume, &seals.seals, &seals.n_seals)
                                   : shelves_fill_seals(where->shelves, &seals);
    if (code == WEFT_OK)
        code = agent_send(agent, WEFT__FRAME_TYPE__FRAME_SEALS, &seals.base);
    if (where->clients)
        holdings_free_seals(&seals);
    else if (is_kept)
        resume_free_adopted(seals.seals, seals.n_seals);
    else
        shelves_free_seals(&seals);
    return code;
}

struct source_message {
    Weft__Source source;
    Weft__FarFile far;
};

// Where the pairs are that a task after the first stage reads.
static weft_err fill_source(const struct run_plan *plan, const struct sched_action *action,
                            const struct whereabouts *where, struct source_message *message,
                            Weft__TaskRun *run)
{
    const struct run_stage *stage = &plan->stages[action->stage];
    if (!run_plan_is_shared(plan) || action->stage == 0 || action->at.kind == SCHED_REDUCE)
        return WEFT_OK;
    const uint32_t segment =
        action->at.kind == SCHED_MAP
            ? action->at.task
            : sample_segment(action->at.task, stage->sample_count, stage->map_count);
    run->source = &message->source;
    return where->clients
               ? holdings_fill_source(where->holdings, action->stage, segment, fill_place,
                                      where->clients, &message->source, &message->far)
               : shelves_fill_source(where->shelves, segment, &message->source);
}

weft_err run_plan_send_task(const struct run_plan *plan, struct agent *agent,
                            const struct sched_action *action, const struct bad_records *bad,
                            const struct whereabouts *where)
{
    Weft__TaskRun run = WEFT__TASK_RUN__INIT;
    struct source_message source = {WEFT__SOURCE__INIT, WEFT__FAR_FILE__INIT};
    size_t count = 0;
    const struct plan_piece *pieces = NULL;
    if (action->stage == 0 && action->at.kind == SCHED_MAP)
        pieces = plan_pieces(&plan->split, action->at.task, &count);
    else if (action->stage == 0 && action->at.kind == SCHED_SAMPLE)
        pieces = &plan->split.samples[action->at.task], count = 1;
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
    run.stage = action->stage;
    run.kind = (Weft__TaskKind)action->at.kind;
    run.task = action->at.task;
    run.attempt = action->at.attempt;
    run.slot = action->at.slot;
    run.is_careful = plan->options->skip_bad.is_set && action->stage == 0;
    if (code == WEFT_OK && action->stage == 0 && action->at.kind != SCHED_REDUCE)
        code = bad_records_fill_skips(bad, &run);
    if (code == WEFT_OK)
        code = fill_source(plan, action, where, &source, &run);
    if (code == WEFT_OK)
        code = items_send(where->items, agent, &run);
    bad_records_free_skips(&run);
    free(copies);
    free(run.pieces);
    return code;
}
