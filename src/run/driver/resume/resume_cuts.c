// resume_cuts: the keys by which the ranges of a stage are cut outlive the run with the pieces and the map output that were
// made by them.
//
// A sample need not come out the same in each run: the function of a job may remember records that its slot had before
// (that of `weft run index` does), and slots get other tasks each time. Pieces of the answer and map output of different
// cuts do not fit together. So the keys are noted before any worker gets them, and a run that continues takes those of
// the first one: it does not take that sample again.

#include "run/driver/resume/resume_state.h"

#include "store/journal/journal.h"

#include <stdlib.h>

static Weft__StagePlan *find(const struct resume *resume, uint32_t stage)
{
    for (size_t i = 0; i < resume->cuts.count; i++)
        if (resume->cuts.items[i]->stage == stage)
            return resume->cuts.items[i];
    return NULL;
}

const Weft__StagePlan *resume_find_cuts(const struct resume *resume, uint32_t stage)
{
    return find(resume, stage);
}

weft_err resume_take_cuts(struct resume *resume, weft_bytes payload)
{
    Weft__StagePlan *cuts =
        weft__stage_plan__unpack(NULL, payload.size, (const uint8_t *)payload.data);
    if (!cuts)
        return err_set(WEFT_DATA_LOSS, "the journal has cuts that cannot be read");
    if (!find(resume, cuts->stage) && VEC_PUSH(&resume->cuts, cuts))
        return WEFT_OK;
    const weft_err code = find(resume, cuts->stage) ? WEFT_OK : err_no_memory("for a sample");
    message_free(cuts);
    return code;
}

static weft_err note(struct resume *resume, const Weft__StagePlan *plan)
{
    Weft__StagePlan cuts = WEFT__STAGE_PLAN__INIT;
    cuts.stage = plan->stage;
    cuts.n_sample_keys = plan->n_sample_keys;
    cuts.sample_keys = plan->sample_keys;
    const size_t size = weft__stage_plan__get_packed_size(&cuts);
    uint8_t *bytes = malloc(size + 1);
    if (!bytes)
        return err_no_memory("for a sample");
    weft__stage_plan__pack(&cuts, bytes);
    const weft_bytes payload = {(const char *)bytes, size};
    weft_err code = journal_append(resume->journal, RECORD_CUTS, payload);
    if (code == WEFT_OK)
        code = journal_flush(resume->journal);
    if (code == WEFT_OK)
        code = resume_take_cuts(resume, payload);
    free(bytes);
    return code;
}

weft_err resume_keep_cuts(struct resume *resume, Weft__StagePlan *plan)
{
    if (!resume->journal)
        return WEFT_OK;
    const weft_err code = find(resume, plan->stage) ? WEFT_OK : note(resume, plan);
    if (code != WEFT_OK)
        return code;
    const Weft__StagePlan *cuts = find(resume, plan->stage);
    plan->n_sample_keys = cuts->n_sample_keys;
    plan->sample_keys = cuts->sample_keys;
    return WEFT_OK;
}

void resume_restore_samples(struct resume *resume)
{
    for (size_t i = 0; i < resume->cuts.count; i++) {
        const uint32_t stage = resume->cuts.items[i]->stage;
        const uint32_t count = stage < resume->options.plan->stage_count
                                   ? resume->options.plan->stages[stage].sample_count
                                   : 0;
        for (uint32_t task = 0; task < count; task++)
            resume->options.calls->restored(resume->options.owner, stage, SCHED_SAMPLE, task);
    }
}

void resume_forget_cuts(struct resume *resume)
{
    for (size_t i = 0; i < resume->cuts.count; i++)
        message_free(resume->cuts.items[i]);
    resume->cuts.count = 0;
}
