// The order of frames: which ones have come, and which may follow.

#include "run/worker/frames.h"

#include <stdlib.h>

#include "mapreduce/coord/plan.h"
#include "mapreduce/coord/sched.h"

enum { SAMPLE_KEYS_MAX = PLAN_SAMPLES_MAX * 256 };

void told_init(struct told *told, int fd)
{
    *told = (struct told){.fd = fd};
}

void told_fini(struct told *told)
{
    free(told->held);
    VEC_FINI(&told->needs);
    *told = (struct told){0};
}

// ---- the job

static weft_err take_job(struct told *told, const struct order *order)
{
    if (told->start)
        return frames_refuse("a second job");
    const weft_err code = frames_check_job(order->start);
    if (code == WEFT_OK)
        told->start = order->start;
    return code;
}

weft_err frames_know_chain(struct told *told, const struct chain *chain)
{
    if (told->start->n_next_configs + 1 != chain->jobs.count)
        return frames_refuse("the configs of %zu jobs, there are %zu",
                             told->start->n_next_configs + 1, chain->jobs.count);
    told->chain = chain;
    return WEFT_OK;
}

// ---- stages

// Several workers share the work: stages and tasks of others are not known here.
static bool is_shared(const struct told *told)
{
    return told->start->worker_count > 1;
}

static bool is_at_work(const struct told_slot *slot)
{
    return slot->task_count || slot->is_sealing || slot->is_checkpointing;
}

static weft_err check_idle(const struct told *told, const char *what)
{
    for (uint32_t i = 0; i < told->start->slots; i++)
        if (is_at_work(&told->slots[i]))
            return frames_refuse("%s while slot %u is at work", what, i);
    return WEFT_OK;
}

// After a stage only the next one may come: it reads the pairs that this one kept, task by task.
static weft_err check_next_stage(const struct told *told, const Weft__StageOpen *open)
{
    const struct told_stage *before = &told->stage;
    if (!before->is_open)
        return WEFT_OK;
    if (before->is_probe || (open->stage != before->number + 1 && !is_shared(told)))
        return frames_refuse("stage %u after stage %u", open->stage, before->number);
    if (open->stage == before->number + 1 && open->map_count != before->piece_count)
        return frames_refuse("%u map tasks for %u pieces of the stage before", open->map_count,
                             before->piece_count);
    return check_idle(told, "another stage");
}

static weft_err take_stage(struct told *told, const struct order *order)
{
    const Weft__StageOpen *open = order->open;
    if (!told->chain)
        return frames_refuse("a stage before the job");
    weft_err code = frames_check_stage(told, open);
    if (code == WEFT_OK)
        code = check_next_stage(told, open);
    if (code != WEFT_OK)
        return code;
    uint64_t *held = calloc(open->map_count / 64 + 1, sizeof *held);
    if (!held)
        return err_no_memory("for %u map tasks", open->map_count);
    free(told->held);
    told->held = held;
    const struct told_stage before = told->stage;
    const bool has_reduce = open->job_index >= told->chain->jobs.count ||
                            told->chain->jobs.items[open->job_index].reduce;
    told->stage = (struct told_stage){
        .is_open = true,
        .has_source = is_shared(told) || (before.is_open && before.is_kept),
        .is_probe = open->is_map_only && has_reduce,
        .is_map_only = open->is_map_only,
        .is_kept = !open->output || open->output->kind == WEFT__OUTPUT_KIND__OUTPUT_KEEP,
        .keeps_runs = (open->runs_directory[0] || is_shared(told)) && !open->is_map_only,
        .number = open->stage,
        .piece_count = open->is_map_only ? open->map_count : open->range_count,
        .task_counts = {open->sample_count, open->map_count,
                        open->is_map_only ? 0 : open->range_count},
    };
    memset(told->slots, 0, sizeof told->slots);
    return WEFT_OK;
}

static weft_err take_plan(struct told *told, const struct order *order)
{
    const Weft__StagePlan *plan = order->plan;
    const struct told_stage *stage = &told->stage;
    if (!stage->is_open || plan->stage != stage->number)
        return frames_refuse("the plan of stage %u, which is not open", plan->stage);
    if (stage->is_planned)
        return frames_refuse("a second plan of stage %u", plan->stage);
    if (plan->n_sample_keys > SAMPLE_KEYS_MAX)
        return frames_refuse("a sample of %zu keys, at most %d", plan->n_sample_keys,
                             SAMPLE_KEYS_MAX);
    if (plan->n_adopted && !stage->keeps_runs)
        return frames_refuse("map output to be adopted by a stage that keeps none");
    for (size_t i = 0; i < plan->n_adopted; i++)
        if (!plan->adopted[i]->path[0])
            return frames_refuse("map output to be adopted from nowhere");
    const weft_err code = check_idle(told, "a plan");
    told->stage.is_planned = code == WEFT_OK;
    return code;
}

static weft_err check_none_held(const struct told *told, const char *what)
{
    for (uint32_t i = 0; i < told->start->slots; i++)
        if (told->slots[i].held_count)
            return frames_refuse("%s, while slot %u is not sealed", what, i);
    return WEFT_OK;
}

// The collectors are emptied for it.
static weft_err take_seals(struct told *told, const struct order *order)
{
    const Weft__Seals *seals = order->seals;
    const struct told_stage *stage = &told->stage;
    if (!told->start || !is_shared(told))
        return frames_refuse("the map output of others, which there are not");
    if (!stage->is_open || seals->stage != stage->number || !stage->is_planned ||
        stage->is_map_only)
        return frames_refuse("the map output of stage %u, which is not planned", seals->stage);
    if (stage->has_seals)
        return frames_refuse("the map output of stage %u again", seals->stage);
    for (size_t i = 0; i < seals->n_seals; i++)
        if (!seals->seals[i]->path[0])
            return frames_refuse("map output from nowhere");
    weft_err code = check_none_held(told, "the map output of all");
    if (code == WEFT_OK)
        code = check_idle(told, "the map output of all");
    told->stage.has_seals = code == WEFT_OK;
    return code;
}

// ---- commands for slots

static weft_err check_slot(const struct told *told, uint32_t slot, const char *what)
{
    if (!told->stage.is_open)
        return frames_refuse("%s before any stage", what);
    if (slot >= told->start->slots)
        return frames_refuse("%s for slot %u of %u", what, slot, told->start->slots);
    return WEFT_OK;
}

static bool is_held(const struct told *told, uint32_t task)
{
    return told->held[task / 64] >> task % 64 & 1;
}

// One writer for each piece, and no task twice in what becomes one answer.
static weft_err check_is_new(const struct told *told, const Weft__TaskRun *run)
{
    for (uint32_t i = 0; i < told->start->slots; i++) {
        const struct told_slot *slot = &told->slots[i];
        for (uint32_t j = 0; j < slot->task_count; j++)
            if (slot->tasks[j].kind == run->kind && slot->tasks[j].task == run->task)
                return frames_refuse("%s task %u, which slot %u is at",
                                     sched_kind_name((enum sched_kind)run->kind), run->task, i);
    }
    if (run->kind == WEFT__TASK_KIND__TASK_MAP && is_held(told, run->task))
        return frames_refuse("map task %u, which is done", run->task);
    return WEFT_OK;
}

static weft_err check_map(const struct told *told, const Weft__TaskRun *run)
{
    const struct told_stage *stage = &told->stage;
    const struct told_slot *slot = &told->slots[run->slot];
    if (run->purpose != WEFT__PURPOSE__PURPOSE_RUN)
        return stage->is_map_only && stage->is_kept && stage->number == 0
                   ? WEFT_OK
                   : frames_refuse("a look at records of a stage with an output");
    if (stage->is_probe)
        return frames_refuse("a map task of a stage that only looks at records");
    if (!stage->is_planned)
        return frames_refuse("a map task before the plan of its stage");
    if (stage->is_reducing || stage->has_seals)
        return frames_refuse("a map task after the first reduce task");
    if (slot->is_sealing || slot->is_sealed)
        return frames_refuse("a map task for slot %u, which is sealed", run->slot);
    return WEFT_OK;
}

// It reads what all slots have collected.
static weft_err check_reduce(const struct told *told)
{
    if (!told->stage.is_planned)
        return frames_refuse("a reduce task before the plan of its stage");
    if (is_shared(told) && !told->stage.has_seals)
        return frames_refuse("a reduce task before the map output of all");
    if (told->stage.is_reducing)
        return WEFT_OK;
    const weft_err code = check_none_held(told, "a reduce task");
    return code != WEFT_OK ? code : check_idle(told, "the first reduce task");
}

static weft_err check_by_kind(const struct told *told, const Weft__TaskRun *run)
{
    if (run->kind == WEFT__TASK_KIND__TASK_MAP)
        return check_map(told, run);
    if (run->purpose != WEFT__PURPOSE__PURPOSE_RUN)
        return frames_refuse("a look at records by a %s task",
                             sched_kind_name((enum sched_kind)run->kind));
    if (run->kind == WEFT__TASK_KIND__TASK_REDUCE)
        return check_reduce(told);
    return told->stage.is_planned ? frames_refuse("a sample task after the plan of its stage")
                                  : WEFT_OK;
}

static weft_err check_task(const struct told *told, const Weft__TaskRun *run)
{
    const struct told_stage *stage = &told->stage;
    weft_err code = check_slot(told, run->slot, "a task");
    if (code != WEFT_OK)
        return code;
    if ((uint32_t)run->kind >= SCHED_KIND_COUNT ||
        (uint32_t)run->purpose > WEFT__PURPOSE__PURPOSE_LOOK)
        return frames_refuse("a task of kind %d for purpose %d", (int)run->kind, (int)run->purpose);
    if (run->stage != stage->number)
        return frames_refuse("a task of stage %u in stage %u", run->stage, stage->number);
    if (run->task >= stage->task_counts[run->kind])
        return frames_refuse("%s task %u of %u", sched_kind_name((enum sched_kind)run->kind),
                             run->task, stage->task_counts[run->kind]);
    if (stage->number > 0 && !stage->has_source)
        return frames_refuse("a task of stage %u without the stage before", stage->number);
    if (told->slots[run->slot].task_count == SCHED_QUEUE_MAX)
        return frames_refuse("a third task for slot %u", run->slot);
    if ((code = check_by_kind(told, run)) || (code = check_is_new(told, run)))
        return code;
    return frames_check_pieces(told, run);
}

static weft_err take_task(struct told *told, const struct order *order)
{
    const Weft__TaskRun *run = order->run;
    const weft_err code = check_task(told, run);
    if (code != WEFT_OK)
        return code;
    struct told_slot *slot = &told->slots[run->slot];
    slot->tasks[slot->task_count++] = (struct told_task){run->kind, run->task};
    if (run->kind == WEFT__TASK_KIND__TASK_REDUCE)
        told->stage.is_reducing = true;
    return WEFT_OK;
}

// What a seal and a checkpoint have in common.
static weft_err check_collector(const struct told *told, uint32_t slot, const char *what)
{
    const weft_err code = check_slot(told, slot, what);
    if (code != WEFT_OK)
        return code;
    if (told->stage.is_map_only || !told->stage.is_planned || told->stage.is_reducing ||
        told->stage.has_seals)
        return frames_refuse("%s while there is nothing to collect", what);
    if (told->slots[slot].is_sealing || told->slots[slot].is_sealed ||
        told->slots[slot].is_checkpointing)
        return frames_refuse("%s for slot %u, which has one", what, slot);
    return WEFT_OK;
}

static weft_err take_seal(struct told *told, struct order *order)
{
    order->slot = ((const Weft__Seal *)order->message)->slot;
    const weft_err code = check_collector(told, order->slot, "a seal");
    if (code != WEFT_OK)
        return code;
    struct told_slot *slot = &told->slots[order->slot];
    if (slot->task_count)
        return frames_refuse("a seal for slot %u, which is at a task", order->slot);
    slot->is_sealing = true;
    return WEFT_OK;
}

static weft_err take_checkpoint(struct told *told, struct order *order)
{
    order->slot = ((const Weft__Checkpoint *)order->message)->slot;
    const weft_err code = check_collector(told, order->slot, "a checkpoint");
    if (code != WEFT_OK)
        return code;
    if (!told->stage.keeps_runs)
        return frames_refuse("a checkpoint without a place for it");
    told->slots[order->slot].is_checkpointing = true;
    return WEFT_OK;
}

// After the last answer of the slot: no attempt is in it then.
static weft_err take_drop(struct told *told, struct order *order)
{
    order->slot = ((const Weft__Drop *)order->message)->slot;
    if (!told->start || !is_shared(told))
        return frames_refuse("to drop what no other worker can have");
    const weft_err code = check_collector(told, order->slot, "a drop");
    if (code != WEFT_OK)
        return code;
    if (told->slots[order->slot].task_count)
        return frames_refuse("a drop for slot %u, which is at a task", order->slot);
    return WEFT_OK;
}

// ---- lent inputs

// At any time after the job, also between stages: bytes are asked for ahead.
static weft_err take_lent(struct told *told, const struct order *order)
{
    const Weft__Lent *lent = order->lent;
    if (lent->code > WEFT_UNAUTHENTICATED)
        return frames_refuse("lent bytes with code %u", lent->code);
    for (size_t i = 0; i < told->needs.count; i++) {
        const struct told_need *need = &told->needs.items[i];
        if (need->input != lent->input || need->offset != lent->offset || need->size != lent->size)
            continue;
        told->needs.items[i] = told->needs.items[--told->needs.count];
        return WEFT_OK;
    }
    return frames_refuse("%llu bytes at byte %llu of input %u, which were not asked for",
                         (unsigned long long)lent->size, (unsigned long long)lent->offset,
                         lent->input);
}

// ---- the entrance

static const ProtobufCMessageDescriptor *descriptor_of(Weft__FrameType type)
{
    switch (type) {
    case WEFT__FRAME_TYPE__FRAME_JOB_START:
        return &weft__job_start__descriptor;
    case WEFT__FRAME_TYPE__FRAME_STAGE_OPEN:
        return &weft__stage_open__descriptor;
    case WEFT__FRAME_TYPE__FRAME_STAGE_PLAN:
        return &weft__stage_plan__descriptor;
    case WEFT__FRAME_TYPE__FRAME_SEALS:
        return &weft__seals__descriptor;
    case WEFT__FRAME_TYPE__FRAME_TASK_RUN:
        return &weft__task_run__descriptor;
    case WEFT__FRAME_TYPE__FRAME_SEAL:
        return &weft__seal__descriptor;
    case WEFT__FRAME_TYPE__FRAME_CHECKPOINT:
        return &weft__checkpoint__descriptor;
    case WEFT__FRAME_TYPE__FRAME_DROP:
        return &weft__drop__descriptor;
    case WEFT__FRAME_TYPE__FRAME_LENT:
        return &weft__lent__descriptor;
    default:
        return NULL;
    }
}

static weft_err take_message(struct told *told, struct order *order)
{
    switch (order->type) {
    case WEFT__FRAME_TYPE__FRAME_JOB_START:
        return take_job(told, order);
    case WEFT__FRAME_TYPE__FRAME_STAGE_OPEN:
        return take_stage(told, order);
    case WEFT__FRAME_TYPE__FRAME_STAGE_PLAN:
        return take_plan(told, order);
    case WEFT__FRAME_TYPE__FRAME_SEALS:
        return take_seals(told, order);
    case WEFT__FRAME_TYPE__FRAME_TASK_RUN:
        return take_task(told, order);
    case WEFT__FRAME_TYPE__FRAME_SEAL:
        return take_seal(told, order);
    case WEFT__FRAME_TYPE__FRAME_LENT:
        return take_lent(told, order);
    case WEFT__FRAME_TYPE__FRAME_DROP:
        return take_drop(told, order);
    default:
        return take_checkpoint(told, order);
    }
}

weft_err frames_take(struct told *told, const struct frame *frame, struct order *order)
{
    *order = (struct order){.type = frame->type};
    if (frame->type == WEFT__FRAME_TYPE__FRAME_BYE)
        return WEFT_OK;
    const ProtobufCMessageDescriptor *descriptor = descriptor_of(frame->type);
    if (!descriptor)
        return frames_refuse("a frame of type %d", (int)frame->type);
    if (message_unpack(frame, descriptor, &order->message) != WEFT_OK)
        return frames_refuse("a %s that cannot be read", descriptor->short_name);
    const weft_err code = take_message(told, order);
    const bool is_handed_on = code == WEFT_OK && frame->type != WEFT__FRAME_TYPE__FRAME_SEAL &&
                              frame->type != WEFT__FRAME_TYPE__FRAME_CHECKPOINT &&
                              frame->type != WEFT__FRAME_TYPE__FRAME_DROP;
    if (!is_handed_on) {
        message_free(order->message);
        order->message = NULL;
    }
    return code;
}

// ---- answers

void frames_note_end(struct told *told, uint32_t slot_index, Weft__TaskKind kind, uint32_t task,
                     bool is_held)
{
    struct told_slot *slot = &told->slots[slot_index];
    uint32_t left = 0;
    for (uint32_t i = 0; i < slot->task_count; i++)
        if (slot->tasks[i].kind != kind || slot->tasks[i].task != task)
            slot->tasks[left++] = slot->tasks[i];
    slot->task_count = left;
    if (!is_held)
        return;
    slot->held_count++;
    told->held[task / 64] |= UINT64_C(1) << task % 64;
}

void frames_note_dropped(struct told *told, uint32_t slot, const uint32_t *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        told->held[tasks[i] / 64] &= ~(UINT64_C(1) << tasks[i] % 64);
    told->slots[slot].held_count = 0;
}

void frames_note_sealed(struct told *told, uint32_t slot)
{
    told->slots[slot].is_sealing = false;
    told->slots[slot].is_sealed =
        !is_shared(told);  // else it may collect more, and be sealed again
    told->slots[slot].held_count = 0;
}

void frames_note_checkpointed(struct told *told, uint32_t slot)
{
    told->slots[slot].is_checkpointing = false;
    told->slots[slot].held_count = 0;
}

void frames_note_need(struct told *told, uint32_t input, uint64_t offset, uint64_t size)
{
    const struct told_need need = {input, offset, size};
    ASSERT(VEC_PUSH(&told->needs, need));
}
