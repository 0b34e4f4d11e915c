// Fuzzes what a driver hears from a worker: the real way from bytes to checked answers, and what the driver
// makes of those: figures in the tally, events for the scheduler, which asks nothing again.
//
// The first four bytes are the job: slots, sample, map and reduce tasks (none: map-only); the rest is a stream
// of frames. A frame of type 12 (CHECKPOINT, which no worker sends) stands for the driver's own timer.
#include "run/answers.h"
#include "run/driver/coordinator/tally.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SLOTS = 8, TASKS = 16, INPUTS = 3, ATTEMPTS = 4, STAGES = 2 };

struct model {
    struct sched *sched;
    struct sched_actions actions;
    struct sched_stage stages[STAGES];
    struct tally tally;
    uint32_t slot_count;
    uint32_t worker;
    bool is_lent;
};

static void step(struct model *model, const struct sched_event *event)
{
    struct sched_event now = *event;
    now.at.stage = sched_stage(model->sched);
    sched_step(model->sched, &now, &model->actions);
    ASSERT(!model->actions.has_more);  // so few tasks all fit
    bool must_start = false;
    for (uint32_t i = 0; i < model->actions.count; i++) {
        const struct sched_action *action = &model->actions.items[i];
        must_start = must_start || action->type == ACTION_START_WORKER;
        if (action->type == ACTION_START_WORKER)
            model->worker = action->worker;
        if (action->type == ACTION_RUN)
            ASSERT(action->at.slot < model->slot_count);
    }
    if (must_start) {
        const struct sched_event ready = {
            .type = EVENT_WORKER_READY, .worker = model->worker, .slot_count = model->slot_count};
        step(model, &ready);
    }
}

static struct answer_rules rules_of(const struct model *model)
{
    const uint32_t stage = sched_stage(model->sched);
    const struct sched_stage *at = &model->stages[stage];
    return (struct answer_rules){
        .stage = stage,
        .slot_count = model->slot_count,
        .task_counts = {at->sample_count, at->map_count, at->reduce_count},
        .is_map_only = at->reduce_count == 0,
        .is_last = stage + 1 == STAGES,
        .is_lent = model->is_lent,
        .input_count = INPUTS,
    };
}

// ---- answers

static void take_end(struct model *model, const Weft__TaskEnd *end)
{
    const struct sched_event event = {
        .type = end->code ? EVENT_TASK_FAILED : EVENT_TASK_HELD,
        .worker = model->worker,
        .at = {(enum sched_kind)end->kind, end->task, end->attempt, end->slot, end->stage},
        .code = (weft_err)end->code,
        .is_final = end->is_final,
        .is_blameless = end->is_blameless,
    };
    ASSERT(!end->is_blameless || (model->is_lent && end->code && !end->is_final));
    const size_t number = (size_t)end->kind * TASKS + end->task;
    for (size_t i = 0; i < end->n_bad; i++)
        ASSERT(end->bad[i]->input < INPUTS);
    ASSERT(weft_err_name((weft_err)end->code)[0]);
    tally_begin(&model->tally, number, end->attempt);
    if (!end->code)
        ASSERT(tally_hold(&model->tally, number, end) == WEFT_OK);
    step(model, &event);
}

static void take_commit(struct model *model, const Weft__Committed *committed, bool is_output)
{
    const uint32_t stage = sched_stage(model->sched);
    for (size_t i = 0; i < committed->n_tasks && sched_stage(model->sched) == stage; i++) {
        const struct sched_event event = {.type = EVENT_TASK_COMMITTED,
                                          .worker = model->worker,
                                          .at = {.kind = (enum sched_kind)committed->kind,
                                                 .task = committed->tasks[i],
                                                 .stage = stage},
                                          .is_durable = is_output};
        if (is_output)
            ASSERT(committed->output_bytes[i] <= INT64_MAX && i < committed->n_output_crc &&
                   i < committed->n_output_records);
        step(model, &event);
    }
}

static void take_checkpoint(struct model *model, const Weft__Checkpointed *done)
{
    struct sched_event event = {.worker = model->worker, .type = EVENT_TASK_COMMITTED};
    event.is_durable = true;
    for (size_t i = 0; i < done->n_tasks; i++) {
        event.at = (struct sched_attempt){.kind = SCHED_MAP, .task = done->tasks[i]};
        step(model, &event);
    }
    event.type = EVENT_CHECKPOINTED;
    event.at.slot = done->slot;
    step(model, &event);
}

static void take_message(struct model *model, const struct answer_rules *rules,
                         Weft__FrameType type, const ProtobufCMessage *message)
{
    struct sched_event event = {.worker = model->worker};
    const Weft__Committed *committed = (const Weft__Committed *)message;
    switch (type) {
    case WEFT__FRAME_TYPE__FRAME_TASK_END:
        take_end(model, (const Weft__TaskEnd *)message);
        break;
    case WEFT__FRAME_TYPE__FRAME_COMMITTED:
        take_commit(model, committed,
                    rules->is_last &&
                        (uint32_t)committed->kind ==
                            (uint32_t)(rules->is_map_only ? SCHED_MAP : SCHED_REDUCE));
        break;
    case WEFT__FRAME_TYPE__FRAME_SEALED:
        event.type = EVENT_SEALED;
        event.at.slot = ((const Weft__Sealed *)message)->slot;
        step(model, &event);
        break;
    case WEFT__FRAME_TYPE__FRAME_CHECKPOINTED:
        take_checkpoint(model, (const Weft__Checkpointed *)message);
        break;
    case WEFT__FRAME_TYPE__FRAME_WORKER_FAILED:
        event.type = EVENT_WORKER_FAILED;
        event.code = (weft_err)((const Weft__WorkerFailed *)message)->code;
        step(model, &event);
        break;
    case WEFT__FRAME_TYPE__FRAME_NEED:
        ASSERT(false);  // no answer to anything
        break;
    default:
        ASSERT(message_check_hello((const Weft__Hello *)message) != WEFT_OK || !err_text()[0]);
    }
}

static void take(struct model *model, const struct frame *frame)
{
    if (frame->type == WEFT__FRAME_TYPE__FRAME_CHECKPOINT) {
        step(model, &(struct sched_event){.type = EVENT_CHECKPOINT});
        return;
    }
    const struct answer_rules rules = rules_of(model);
    ProtobufCMessage *message = NULL;
    err_clear();
    weft_err code = answer_unpack(frame, &message);
    ASSERT((code == WEFT_OK) == (message != NULL));
    if (code == WEFT_OK)
        code = answer_check(frame->type, &rules, message);
    if (code == WEFT_OK)
        take_message(model, &rules, frame->type, message);
    message_free(message);
    if (code == WEFT_OK)
        return;
    ASSERT(err_text()[0]);
    // It is given up and killed: a lost worker.
    step(model, &(struct sched_event){.type = EVENT_WORKER_LOST,
                                      .worker = model->worker,
                                      .crash_slot = SCHED_NO_SLOT,
                                      .code = WEFT_ABORTED});
}

static void eat(struct model *model, const uint8_t *data, size_t size)
{
    struct frame_parser parser = {0};
    struct frame frame = {0};
    bool has_frame = false;
    weft_err code = frame_parser_feed(&parser, data, size);
    while (code == WEFT_OK && !sched_is_over(model->sched)) {
        code = frame_parser_next(&parser, &frame, &has_frame);
        if (code != WEFT_OK || !has_frame)
            break;
        take(model, &frame);
    }
    frame_parser_fini(&parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model model;
    if (size < 4)
        return 0;
    model = (struct model){.slot_count = data[0] % SLOTS + 1, .is_lent = data[0] & 64};
    model.stages[0] = (struct sched_stage){data[1] % 4, data[2] % TASKS, data[3] % TASKS};
    const uint32_t pieces = data[3] % TASKS ? data[3] % TASKS : data[2] % TASKS;
    model.stages[1] = (struct sched_stage){0, pieces, data[3] / TASKS % TASKS};
    const struct sched_plan plan = {.stages = model.stages,
                                    .stage_count = STAGES,
                                    .max_attempts = ATTEMPTS,
                                    .asks_before_failing = data[0] & 128};
    model.sched = sched_new(&plan);
    ASSERT(model.sched && tally_init(&model.tally, SCHED_KIND_COUNT * TASKS) == WEFT_OK);
    step(&model, &(struct sched_event){.type = EVENT_START});
    eat(&model, data + 4, size - 4);
    tally_sort(&model.tally);
    tally_fini(&model.tally);
    sched_free(model.sched);
    return 0;
}
