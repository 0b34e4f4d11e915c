// Answers of a worker: unpacked and checked in one place.

#include "run/answers.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    SAMPLE_KEYS_MAX = 256,  // of one sample task
    COUNTERS_MAX = 256,     // of one task
    NAME_BYTES_MAX = 255,   // of a file with map output
};

static weft_err refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

static weft_err refuse(const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return err_set(WEFT_INTERNAL, "%s", what);
}

static weft_err check_task(const struct answer_rules *rules, uint32_t kind, uint32_t task,
                           const char *what)
{
    if (kind >= SCHED_KIND_COUNT)
        return refuse("%s of a task of kind %u", what, kind);
    if (task >= rules->task_counts[kind])
        return refuse("%s of %s task %u of %u", what, sched_kind_name((enum sched_kind)kind), task,
                      rules->task_counts[kind]);
    return WEFT_OK;
}

static weft_err check_slot(const struct answer_rules *rules, uint32_t slot, const char *what)
{
    return slot < rules->slot_count ? WEFT_OK
                                    : refuse("%s of slot %u of %u", what, slot, rules->slot_count);
}

static bool is_code(uint32_t code)
{
    return code <= WEFT_UNAUTHENTICATED;
}

// ---- TASK_END

static weft_err check_records(const struct answer_rules *rules, const Weft__TaskEnd *end)
{
    for (size_t i = 0; i < end->n_bad; i++)
        if (end->bad[i]->input >= rules->input_count)
            return refuse("a bad record of input %u of %zu", end->bad[i]->input,
                          rules->input_count);
    if (end->n_bad && end->kind == WEFT__TASK_KIND__TASK_REDUCE)
        return refuse("bad records of a reduce task");
    // After the first stage a place is one among pairs: it does not name an input.
    if (end->place && rules->stage == 0 && end->kind != WEFT__TASK_KIND__TASK_REDUCE &&
        end->place->input >= rules->input_count)
        return refuse("a record of input %u of %zu", end->place->input, rules->input_count);
    return WEFT_OK;
}

static weft_err check_task_end(const struct answer_rules *rules, const Weft__TaskEnd *end)
{
    weft_err code = check_task(rules, (uint32_t)end->kind, end->task, "the end");
    if (code == WEFT_OK)
        code = check_slot(rules, end->slot, "the end of a task");
    if (code != WEFT_OK)
        return code;
    if (!is_code(end->code))
        return refuse("the end of a task with code %u", end->code);
    const bool is_sample = end->kind == WEFT__TASK_KIND__TASK_SAMPLE;
    const bool is_reduce = end->kind == WEFT__TASK_KIND__TASK_REDUCE;
    const bool found_damage = end->bad_seal || end->has_bad_source;
    if ((end->bad_seal && !is_reduce) || (end->has_bad_source && (is_reduce || rules->stage == 0)))
        return refuse("the end of a task by damage of bytes that it does not read");
    if (found_damage && !end->is_blameless)
        return refuse("damage that did not end the task");
    if (end->is_blameless &&
        (end->code == WEFT_OK || end->is_final || !(rules->is_lent || found_damage)))
        return refuse("the end of a task that lacks bytes that are not lent");
    if (end->n_sample_keys > (is_sample ? SAMPLE_KEYS_MAX : 0))
        return refuse("a sample of %zu keys by a %s task", end->n_sample_keys,
                      sched_kind_name((enum sched_kind)end->kind));
    if (end->keeps_held && end->code == WEFT_OK)
        return refuse("task %u, which ended well and keeps only others", end->task);
    if (end->n_counters > COUNTERS_MAX)
        return refuse("%zu counters of one task", end->n_counters);
    return check_records(rules, end);
}

// ---- COMMITTED and CHECKPOINTED

static weft_err check_tasks(const struct answer_rules *rules, uint32_t kind, const uint32_t *tasks,
                            size_t count, const char *what)
{
    weft_err code = WEFT_OK;
    for (size_t i = 0; i < count && code == WEFT_OK; i++)
        code = check_task(rules, kind, tasks[i], what);
    return code;
}

static weft_err check_committed(const struct answer_rules *rules, const Weft__Committed *committed)
{
    const uint32_t kind = (uint32_t)committed->kind;
    const bool is_output =
        rules->is_last && kind == (rules->is_map_only ? SCHED_MAP : SCHED_REDUCE);
    if (kind != SCHED_MAP && kind != SCHED_REDUCE)
        return refuse("a commit of tasks of kind %u", kind);
    if (is_output && (committed->n_output_bytes != committed->n_tasks ||
                      committed->n_output_crc != committed->n_tasks ||
                      committed->n_output_records != committed->n_tasks))
        return refuse("a commit of %zu tasks with the sizes of %zu", committed->n_tasks,
                      committed->n_output_bytes);
    if (rules->is_shared && (committed->n_output_bytes != committed->n_tasks ||
                             committed->n_output_crc != committed->n_tasks ||
                             committed->n_output_records != committed->n_tasks ||
                             committed->n_shelf_offsets != committed->n_tasks))
        return refuse("a commit of %zu tasks with the places of %zu", committed->n_tasks,
                      committed->n_shelf_offsets);
    for (size_t i = 0; i < committed->n_shelf_offsets; i++)
        if (committed->shelf_offsets[i] > INT64_MAX)
            return refuse("a commit at byte %llu", (unsigned long long)committed->shelf_offsets[i]);
    for (size_t i = 0; i < committed->n_output_bytes; i++)
        if (committed->output_bytes[i] > INT64_MAX)
            return refuse("a commit of %llu bytes", (unsigned long long)committed->output_bytes[i]);
    return check_tasks(rules, kind, committed->tasks, committed->n_tasks, "a commit");
}

static weft_err check_checkpointed(const struct answer_rules *rules, const Weft__Checkpointed *done)
{
    const weft_err code = check_slot(rules, done->slot, "a checkpoint");
    if (code != WEFT_OK)
        return code;
    if ((rules->stage > 0 && !rules->is_shared) || rules->is_map_only)
        return refuse("a checkpoint of a stage that keeps nothing");
    if (done->is_seal && !rules->is_shared)
        return refuse("a seal for other workers, which there are not");
    const char *slash = strrchr(done->path, '/');
    const char *name = slash ? slash + 1 : done->path;
    const bool needs_name = done->n_tasks && (!rules->is_shared || done->path[0]);
    // It becomes the name of a file in our own directory.
    if (needs_name && (!name[0] || name[0] == '.' || strlen(name) > NAME_BYTES_MAX))
        return refuse("a checkpoint in no file");
    if (done->offset > INT64_MAX)
        return refuse("a checkpoint at byte %llu", (unsigned long long)done->offset);
    return check_tasks(rules, SCHED_MAP, done->tasks, done->n_tasks, "a checkpoint");
}

// ---- the entrance

uint32_t answer_stage(Weft__FrameType type, const ProtobufCMessage *message, uint32_t at_work)
{
    return type == WEFT__FRAME_TYPE__FRAME_TASK_END    ? ((const Weft__TaskEnd *)message)->stage
           : type == WEFT__FRAME_TYPE__FRAME_COMMITTED ? ((const Weft__Committed *)message)->stage
           : type == WEFT__FRAME_TYPE__FRAME_CHECKPOINTED
               ? ((const Weft__Checkpointed *)message)->stage
               : at_work;
}

static const ProtobufCMessageDescriptor *descriptor_of(Weft__FrameType type)
{
    switch (type) {
    case WEFT__FRAME_TYPE__FRAME_HELLO:
        return &weft__hello__descriptor;
    case WEFT__FRAME_TYPE__FRAME_TASK_END:
        return &weft__task_end__descriptor;
    case WEFT__FRAME_TYPE__FRAME_COMMITTED:
        return &weft__committed__descriptor;
    case WEFT__FRAME_TYPE__FRAME_SEALED:
        return &weft__sealed__descriptor;
    case WEFT__FRAME_TYPE__FRAME_CHECKPOINTED:
        return &weft__checkpointed__descriptor;
    case WEFT__FRAME_TYPE__FRAME_WORKER_FAILED:
        return &weft__worker_failed__descriptor;
    case WEFT__FRAME_TYPE__FRAME_NEED:
        return &weft__need__descriptor;
    default:
        return NULL;
    }
}

weft_err answer_check_need(const Weft__Need *need, const Weft__JobStart *start)
{
    if (need->input >= start->n_inputs || !start->inputs[need->input]->is_lent)
        return refuse("a need for bytes of input %u, which is not lent", need->input);
    if (need->size == 0 || need->offset > INT64_MAX || need->size > INT64_MAX - need->offset)
        return refuse("a need for %llu bytes at byte %llu", (unsigned long long)need->size,
                      (unsigned long long)need->offset);
    return WEFT_OK;
}

weft_err answer_check(Weft__FrameType type, const struct answer_rules *rules,
                      const ProtobufCMessage *message)
{
    const Weft__WorkerFailed *failed = (const Weft__WorkerFailed *)message;
    if (answer_stage(type, message, rules->stage) != rules->stage)
        return refuse("an answer of stage %u", answer_stage(type, message, rules->stage));
    switch (type) {
    case WEFT__FRAME_TYPE__FRAME_TASK_END:
        return check_task_end(rules, (const Weft__TaskEnd *)message);
    case WEFT__FRAME_TYPE__FRAME_COMMITTED:
        return check_committed(rules, (const Weft__Committed *)message);
    case WEFT__FRAME_TYPE__FRAME_SEALED:
        return check_slot(rules, ((const Weft__Sealed *)message)->slot, "the seal");
    case WEFT__FRAME_TYPE__FRAME_CHECKPOINTED:
        return check_checkpointed(rules, (const Weft__Checkpointed *)message);
    case WEFT__FRAME_TYPE__FRAME_WORKER_FAILED:
        return failed->code == WEFT_OK || !is_code(failed->code)
                   ? refuse("a failure with code %u", failed->code)
                   : WEFT_OK;
    case WEFT__FRAME_TYPE__FRAME_NEED:
        return refuse(
            "a need for bytes that are not lent");  // an agent that lends takes it out before
    default:
        return WEFT_OK;
    }
}

weft_err answer_unpack(const struct frame *frame, ProtobufCMessage **message)
{
    *message = NULL;
    const ProtobufCMessageDescriptor *descriptor = descriptor_of(frame->type);
    if (!descriptor)
        return refuse("a frame of type %d", (int)frame->type);
    if (message_unpack(frame, descriptor, message) != WEFT_OK)
        return refuse("a %s that cannot be read", descriptor->short_name);
    return WEFT_OK;
}
