// Fuzzes what a worker hears from its driver: the real way from bytes to orders, without a thread or a file.
// The bytes are a stream of frames. Frames that only a worker sends stand for what its slots answer:
// TASK_END {slot, is_good}, SEALED {slot}, CHECKPOINTED {slot}, NEED {input, offset, size}, a byte each.
//
// Every order that is taken is held against a model of what the engine relies on without asking again.
#include "mapreduce/work/sort/ranges.h"
#include "run/worker/frames.h"
#include "run/worker/worker_state.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void map(weft_task *task, weft_bytes record)
{
    (void)task;
    (void)record;
}

static const weft_job last = {.name = "last", .map = map};
static const weft_job jobs[] = {
    {.name = "count", .map = map, .reduce = weft_sum},
    {.name = "chain", .map = map, .reduce = weft_sum, .rounds = 2, .next = &last},
    {.name = "options", .map = map, .options = "n:"},
};

enum {
    HELD_MAX = 8,  // of a slot: beyond it tasks fail
    NEEDS_MAX = 8,
};

struct model_slot {
    struct told_task tasks[WORKER_QUEUE_MAX];
    uint32_t task_count;
    uint32_t held[HELD_MAX], held_count;
    bool is_sealing, is_sealed, is_checkpointing;
};

struct model {
    struct told told;
    Weft__JobStart *start;
    struct weft_args args;
    struct chain chain;
    Weft__StageOpen *open;
    uint32_t segment_count;  // of the pairs that the stage before has kept
    bool has_segments, is_planned, has_seals;
    struct model_slot slots[SLOTS_MAX];
    struct told_need needs[NEEDS_MAX];
    uint32_t need_count;
};

// ---- orders

static bool is_shared(const struct model *model)
{
    return model->start->worker_count > 1;
}

static weft_err start_job(struct model *model)
{
    const weft_job *job = NULL;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        if (strcmp(jobs[i].name, model->start->job) == 0)
            job = &jobs[i];
    ASSERT(model->start->slots >= 1 && model->start->slots <= SLOTS_MAX);
    if (!job)
        return WEFT_NOT_FOUND;
    weft_err code = args_parse_job(job, model->start->args, model->start->n_args, &model->args);
    if (code == WEFT_OK)
        code = chain_init(&model->chain, job, sizeof(weft_job), &model->args);
    return code ? code : frames_know_chain(&model->told, &model->chain);
}

static void check_output(const Weft__StageOpen *open)
{
    const uint32_t count = open->is_map_only ? open->map_count : open->range_count;
    uint32_t before = 0;
    for (uint32_t i = 0; open->is_map_only && i < count; i++) {
        const uint32_t part = i < open->n_part_of_task ? open->part_of_task[i] : 0;
        ASSERT(part < open->part_count && part >= before);
        before = part;
    }
    for (size_t i = 0; i < open->n_done_pieces; i++) {
        ASSERT(open->done_pieces[i] < count && i < open->n_done_bytes && i < open->n_done_crc);
        ASSERT(i == 0 || open->done_pieces[i] != open->done_pieces[i - 1]);
    }
}

static void open_stage(struct model *model, Weft__StageOpen *open)
{
    const Weft__StageOpen *before = model->open;
    ASSERT(open->job_index <= model->chain.jobs.count);
    ASSERT(open->job_index < model->chain.jobs.count || open->stage >= model->chain.stage_count);
    ASSERT(open->part_count ? open->range_count % open->part_count == 0 : open->map_count == 0);
    ASSERT(open->range_count <= UINT16_MAX);
    if (before) {
        model->has_segments = !before->output || !before->output->kind;
        model->segment_count = before->is_map_only ? before->map_count : before->range_count;
    }
    if (open->output && open->output->kind)
        check_output(open);
    message_free(model->open);
    model->open = open;
    model->is_planned = model->has_seals = false;
    for (uint32_t i = 0; i < model->start->slots; i++) {
        ASSERT(model->slots[i].task_count == 0 && !model->slots[i].is_sealing);
        model->slots[i] = (struct model_slot){0};
    }
}

static void plan_stage(struct model *model, const Weft__StagePlan *plan)
{
    const struct key_order order = {0};
    struct ranges ranges;
    weft_bytes *keys = malloc((plan->n_sample_keys + 1) * sizeof *keys);
    ASSERT(keys && !model->is_planned);
    for (size_t i = 0; i < plan->n_sample_keys; i++)
        keys[i] = message_field(plan->sample_keys[i]);
    if (model->open->range_count > 0 &&
        ranges_init(&ranges, model->open->range_count, model->open->part_count, &order, NULL, keys,
                    plan->n_sample_keys)) {
        ASSERT(ranges_find(&ranges, 0, (weft_bytes){"", 0}) < model->open->range_count);
        ranges_fini(&ranges);
    }
    free(keys);
    ASSERT(plan->n_adopted == 0 ||
           ((model->open->runs_directory[0] || is_shared(model)) && !model->open->is_map_only));
    model->is_planned = true;
}

static void check_inputs(const struct model *model, const Weft__TaskRun *run)
{
    for (size_t i = 0; i < run->n_pieces; i++) {
        ASSERT(run->pieces[i]->input < model->start->n_inputs);
        const Weft__Input *input = model->start->inputs[run->pieces[i]->input];
        ASSERT(run->pieces[i]->begin <= run->pieces[i]->end);
        ASSERT(run->pieces[i]->end <= input->size || run->purpose);
    }
    for (size_t i = 0; i < run->n_skips; i++)
        ASSERT(run->skips[i]->input < model->start->n_inputs);
}

static void check_collectors(const struct model *model, const Weft__TaskRun *run)
{
    for (uint32_t i = 0; i < model->start->slots; i++) {
        const struct model_slot *slot = &model->slots[i];
        const bool is_reduce = run->kind == WEFT__TASK_KIND__TASK_REDUCE;
        ASSERT(!is_reduce || (slot->held_count == 0 && !slot->is_sealing));
        for (uint32_t j = 0; j < slot->task_count; j++) {
            ASSERT(slot->tasks[j].kind != run->kind || slot->tasks[j].task != run->task);
            ASSERT(slot->tasks[j].kind == run->kind);
        }
        for (uint32_t j = 0; j < slot->held_count; j++)
            ASSERT(is_reduce || slot->held[j] != run->task);
    }
}

static void run_task(struct model *model, Weft__TaskRun *run)
{
    const Weft__StageOpen *open = model->open;
    struct model_slot *slot = &model->slots[run->slot];
    const bool is_map = run->kind == WEFT__TASK_KIND__TASK_MAP;
    const bool is_reduce = run->kind == WEFT__TASK_KIND__TASK_REDUCE;
    ASSERT(open && run->slot < model->start->slots && slot->task_count < WORKER_QUEUE_MAX - 3);
    ASSERT(run->task < (is_map      ? open->map_count
                        : is_reduce ? open->range_count
                                    : open->sample_count));
    if (open->stage > 0 && is_shared(model)) {
        ASSERT(is_reduce || run->source);
    } else if (open->stage > 0) {
        ASSERT(model->has_segments && (!is_map || run->task < model->segment_count));
    }
    ASSERT(!is_reduce || (!open->is_map_only && model->is_planned));
    ASSERT(!is_shared(model) || model->has_seals == is_reduce);
    ASSERT(!is_map || run->purpose || (model->is_planned && !slot->is_sealed));
    check_inputs(model, run);
    check_collectors(model, run);
    slot->tasks[slot->task_count++] = (struct told_task){run->kind, run->task};
    message_free(run);
}

static void seal(struct model *model, uint32_t index, bool is_checkpoint)
{
    ASSERT(model->open && index < model->start->slots && !model->open->is_map_only);
    struct model_slot *slot = &model->slots[index];
    ASSERT(model->is_planned && !slot->is_sealed && !slot->is_sealing && !slot->is_checkpointing);
    ASSERT(!is_checkpoint || model->open->runs_directory[0] || is_shared(model));
    *(is_checkpoint ? &slot->is_checkpointing : &slot->is_sealing) = true;
}

static void take_lent(struct model *model, Weft__Lent *lent)
{
    uint32_t found = 0;
    while (found < model->need_count &&
           (model->needs[found].input != lent->input ||
            model->needs[found].offset != lent->offset || model->needs[found].size != lent->size))
        found++;
    ASSERT(found < model->need_count && lent->code <= WEFT_UNAUTHENTICATED);
    ASSERT(model->start->inputs[lent->input]->is_lent);
    ASSERT(model->start->inputs[lent->input]->path[0]);
    model->needs[found] = model->needs[--model->need_count];
    message_free(lent);
}

static void take_seals(struct model *model, Weft__Seals *seals)
{
    ASSERT(is_shared(model) && model->is_planned && !model->open->is_map_only && !model->has_seals);
    for (uint32_t i = 0; i < model->start->slots; i++)
        ASSERT(model->slots[i].task_count == 0 && model->slots[i].held_count == 0 &&
               !model->slots[i].is_sealing);
    model->has_seals = true;
    message_free(seals);
}

// Its tasks may come again, in any slot.
static void drop(struct model *model, uint32_t index)
{
    ASSERT(is_shared(model) && model->open && index < model->start->slots);
    struct model_slot *slot = &model->slots[index];
    ASSERT(model->is_planned && !model->open->is_map_only && !model->has_seals);
    ASSERT(slot->task_count == 0 && !slot->is_sealing && !slot->is_checkpointing);
    frames_note_dropped(&model->told, index, slot->held, slot->held_count);
    slot->held_count = 0;
}

static weft_err carry_out(struct model *model, struct order *order)
{
    switch (order->type) {
    case WEFT__FRAME_TYPE__FRAME_LENT:
        take_lent(model, order->lent);
        break;
    case WEFT__FRAME_TYPE__FRAME_JOB_START:
        ASSERT(!model->start);
        model->start = order->start;
        return start_job(model);
    case WEFT__FRAME_TYPE__FRAME_STAGE_OPEN:
        open_stage(model, order->open);
        break;
    case WEFT__FRAME_TYPE__FRAME_STAGE_PLAN:
        plan_stage(model, order->plan);
        message_free(order->plan);
        break;
    case WEFT__FRAME_TYPE__FRAME_TASK_RUN:
        run_task(model, order->run);
        break;
    case WEFT__FRAME_TYPE__FRAME_SEALS:
        take_seals(model, order->seals);
        break;
    case WEFT__FRAME_TYPE__FRAME_DROP:
        drop(model, order->slot);
        break;
    case WEFT__FRAME_TYPE__FRAME_SEAL:
    case WEFT__FRAME_TYPE__FRAME_CHECKPOINT:
        seal(model, order->slot, order->type == WEFT__FRAME_TYPE__FRAME_CHECKPOINT);
        break;
    default:
        return WEFT_CANCELLED;  // BYE
    }
    return WEFT_OK;
}

// ---- answers

static void end_task(struct model *model, uint32_t index, bool is_good)
{
    struct model_slot *slot = &model->slots[index];
    if (slot->task_count == 0)
        return;
    const struct told_task task = slot->tasks[0];
    memmove(slot->tasks, slot->tasks + 1, --slot->task_count * sizeof *slot->tasks);
    const bool collects = task.kind == WEFT__TASK_KIND__TASK_MAP && !model->open->is_map_only;
    const bool is_held = collects && is_good && slot->held_count < HELD_MAX;
    frames_note_end(&model->told, index, task.kind, task.task, is_held);
    if (is_held) {
        slot->held[slot->held_count++] = task.task;
    } else if (collects) {
        frames_note_dropped(&model->told, index, slot->held, slot->held_count);
        slot->held_count = 0;
    }
}

// Slots ask only for lent inputs.
static void ask(struct model *model, const uint8_t *bytes, size_t size)
{
    if (!model->start || size < 3 || model->need_count == NEEDS_MAX ||
        bytes[0] >= model->start->n_inputs || !model->start->inputs[bytes[0]]->is_lent)
        return;
    const struct told_need need = {bytes[0], bytes[1], bytes[2]};
    model->needs[model->need_count++] = need;
    frames_note_need(&model->told, need.input, need.offset, need.size);
}

static void answer(struct model *model, const struct frame *frame)
{
    const uint8_t *bytes = (const uint8_t *)frame->payload.data;
    const uint32_t index = frame->payload.size ? bytes[0] : 0;
    if (!model->open || index >= model->start->slots)
        return;
    struct model_slot *slot = &model->slots[index];
    if (frame->type == WEFT__FRAME_TYPE__FRAME_TASK_END) {
        end_task(model, index, frame->payload.size > 1 && bytes[1]);
    } else if (frame->type == WEFT__FRAME_TYPE__FRAME_SEALED && slot->is_sealing) {
        frames_note_sealed(&model->told, index);
        slot->is_sealing = false;
        slot->is_sealed = !is_shared(model);
        slot->held_count = 0;
    } else if (frame->type == WEFT__FRAME_TYPE__FRAME_CHECKPOINTED && slot->is_checkpointing) {
        frames_note_checkpointed(&model->told, index);
        slot->is_checkpointing = false;
        slot->held_count = 0;
    }
}

static weft_err take(struct model *model, const struct frame *frame)
{
    struct order order;
    if (frame->type == WEFT__FRAME_TYPE__FRAME_TASK_END ||
        frame->type == WEFT__FRAME_TYPE__FRAME_SEALED ||
        frame->type == WEFT__FRAME_TYPE__FRAME_CHECKPOINTED) {
        answer(model, frame);
        return WEFT_OK;
    }
    if (frame->type == WEFT__FRAME_TYPE__FRAME_NEED) {
        ask(model, (const uint8_t *)frame->payload.data, frame->payload.size);
        return WEFT_OK;
    }
    err_clear();
    const weft_err code = frames_take(&model->told, frame, &order);
    ASSERT(code == WEFT_OK || (err_text()[0] && !order.message));
    return code ? code : carry_out(model, &order);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model model;
    struct frame_parser parser = {0};
    struct frame frame = {0};
    bool has_frame = false;
    model = (struct model){0};
    told_init(&model.told, 9);
    weft_err code = frame_parser_feed(&parser, data, size);
    while (code == WEFT_OK) {
        code = frame_parser_next(&parser, &frame, &has_frame);
        if (code != WEFT_OK || !has_frame)
            break;
        code = take(&model, &frame);
    }
    frame_parser_fini(&parser);
    message_free(model.open);
    chain_fini(&model.chain);
    args_fini(&model.args);
    told_fini(&model.told);
    message_free(model.start);
    return 0;
}
