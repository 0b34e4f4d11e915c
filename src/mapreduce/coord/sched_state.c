// Making the state of a job from its plan, and looking at it: all memory the scheduler ever has.
#include "mapreduce/coord/sched_state.h"

#include <stdlib.h>

static bool plan_is_valid(const struct sched_plan *plan)
{
    if (plan->stage_count < 1 || plan->stage_count > SCHED_STAGES_MAX) {
        err_set(WEFT_INVALID_ARGUMENT, "a job of %u stages: 1 to %d are possible",
                plan->stage_count, SCHED_STAGES_MAX);
        return false;
    }
    uint64_t count = 0;
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        const struct sched_stage *stage = &plan->stages[i];
        count += (uint64_t)stage->sample_count + stage->map_count + stage->reduce_count;
    }
    if (count > SCHED_TASKS_MAX)
        err_set(WEFT_RESOURCE_EXHAUSTED, "a job of %llu tasks: at most %d are possible",
                (unsigned long long)count, SCHED_TASKS_MAX);
    return count <= SCHED_TASKS_MAX;
}

static bool stage_init(struct stage *stage, const struct sched_stage *plan)
{
    const bool has_samples = task_set_init(&stage->sets[SCHED_SAMPLE], plan->sample_count);
    const bool has_maps = task_set_init(&stage->sets[SCHED_MAP], plan->map_count);
    const bool has_reduces = task_set_init(&stage->sets[SCHED_REDUCE], plan->reduce_count);
    return has_samples && has_maps && has_reduces;
}

struct sched *sched_new(const struct sched_plan *plan)
{
    if (!plan_is_valid(plan))
        return NULL;
    struct sched *sched = calloc(1, sizeof *sched);
    if (sched)
        sched->stages = calloc(plan->stage_count, sizeof *sched->stages);
    bool is_ok = sched && sched->stages;
    for (uint32_t i = 0; is_ok && i < plan->stage_count; i++) {
        is_ok = stage_init(&sched->stages[i], &plan->stages[i]);
        sched->stage_count = i + 1;
    }
    if (!is_ok) {
        sched_free(sched);
        err_no_memory("for the tasks of the job");
        return NULL;
    }
    sched->max_attempts = plan->max_attempts ? plan->max_attempts : SCHED_ATTEMPTS_DEFAULT;
    sched->asks_before_failing = plan->asks_before_failing;
    sched_clear_slots(sched);
    return sched;
}

void sched_free(struct sched *sched)
{
    if (!sched)
        return;
    for (uint32_t i = 0; i < sched->stage_count; i++)
        for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++)
            task_set_fini(&sched->stages[i].sets[kind]);
    free(sched->stages);
    free(sched);
}

void sched_clear_slots(struct sched *sched)
{
    for (uint32_t i = 0; i < SLOTS_MAX; i++)
        sched->slots[i] = (struct slot){.held_first = SCHED_NO_TASK};
    sched->slot_count = sched->busy_count = 0;
    sched->sealing_count = sched->checkpointing_count = 0;
}

// A complete stage needs nothing of those before it, and those after it nothing but its output.
uint32_t sched_first_stage(const struct sched *sched, uint32_t worker)
{
    uint32_t first = sched->stage_count - 1;
    if (stage_is_complete(&sched->stages[first], worker))
        return first;
    while (first > 0 && !stage_is_complete(&sched->stages[first - 1], worker))
        first--;
    return first;
}

uint32_t sched_stage(const struct sched *sched)
{
    return sched->stage_index;
}

uint32_t sched_count(const struct sched *sched, uint32_t stage, enum sched_kind kind,
                     enum sched_state state)
{
    return sched->stages[stage].sets[kind].counts[state];
}

enum sched_state sched_task_state(const struct sched *sched, uint32_t stage, enum sched_kind kind,
                                  uint32_t task)
{
    return (enum sched_state)sched->stages[stage].sets[kind].tasks[task].state;
}

bool sched_is_durable(const struct sched *sched, uint32_t stage, enum sched_kind kind,
                      uint32_t task)
{
    const struct task *at = &sched->stages[stage].sets[kind].tasks[task];
    return at->state == SCHED_COMMITTED && at->is_durable;
}

uint32_t sched_charges(const struct sched *sched, uint32_t stage, enum sched_kind kind,
                       uint32_t task)
{
    return sched->stages[stage].sets[kind].tasks[task].charges;
}

bool sched_is_over(const struct sched *sched)
{
    return sched->is_over;
}

const struct sched_action *sched_failure(const struct sched *sched)
{
    return sched->failure.code ? &sched->failure : NULL;
}
