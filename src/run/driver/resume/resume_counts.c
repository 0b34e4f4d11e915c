// resume_counts: the counters of tasks outlive the run together with their output, so that the counters of a
// run that is continued are those of the whole job.
//
// A task is noted when it is committed, also where its output is not safe: a piece of the answer that depends on it may
// be safe, and then the task need not run again. If it does, its new counters replace the noted ones. A job without
// counters has no such notes.

#include "run/driver/resume/resume_state.h"

#include "store/journal/journal.h"

#include <stdlib.h>

struct counts_head {
    uint32_t stage, kind, task, count;  // `count` of these follow:
};

struct count_head {
    int64_t value;
    uint32_t name_size, unused;  // the name follows
};

weft_err resume_note_counts(struct resume *resume, uint32_t stage, enum sched_kind kind,
                            uint32_t task)
{
    const size_t number = run_plan_number(resume->options.plan, stage, kind, task);
    const struct tally_task *held = &resume->options.tally->tasks[number];
    if (!resume->journal || held->value_count == 0)
        return WEFT_OK;
    const struct counts_head head = {stage, (uint32_t)kind, task, (uint32_t)held->value_count};
    struct buf payload = {0};
    buf_append(&payload, &head, sizeof head);
    for (size_t i = 0; i < held->value_count; i++) {
        const char *name = resume->options.tally->counters.items[held->values[i].counter].name;
        const struct count_head one = {held->values[i].value, (uint32_t)strlen(name), 0};
        buf_append(&payload, &one, sizeof one);
        buf_append_text(&payload, name);
    }
    const weft_err code = payload.has_failed
                              ? err_no_memory("for counters")
                              : journal_append(resume->journal, RECORD_COUNTS, buf_bytes(&payload));
    buf_fini(&payload);
    return code;
}

static bool take_bytes(weft_bytes *from, void *to, size_t size)
{
    if (from->size < size)
        return false;
    memcpy(to, from->data, size);
    from->data += size;
    from->size -= size;
    return true;
}

// The name with an end; NULL: it is none, or there is no memory for it.
static char *take_name(weft_bytes *from, size_t size)
{
    if (from->size < size)
        return NULL;
    char *name = strndup(from->data, size);
    from->data += size;
    from->size -= size;
    return name;
}

static bool is_task_of(const struct resume *resume, const struct counts_head *head)
{
    return head->stage < resume->options.plan->stage_count && head->kind < SCHED_KIND_COUNT &&
           head->task < run_stage_task_count(&resume->options.plan->stages[head->stage],
                                             (enum sched_kind)head->kind);
}

weft_err resume_take_counts(struct resume *resume, weft_bytes payload)
{
    struct counts_head head;
    struct count_head one;
    weft_err code = WEFT_OK;
    if (!take_bytes(&payload, &head, sizeof head) || !is_task_of(resume, &head))
        return WEFT_OK;
    const size_t number =
        run_plan_number(resume->options.plan, head.stage, (enum sched_kind)head.kind, head.task);
    tally_drop(resume->options.tally, number);
    for (uint32_t i = 0; i < head.count && !code && take_bytes(&payload, &one, sizeof one); i++) {
        char *name = take_name(&payload, one.name_size);
        if (name)
            code = tally_restore(resume->options.tally, number, name, one.value);
        free(name);
    }
    return code;
}
