// Where a run is, as its agent tells it.

#include "run/driver/driver_state.h"

#include <stdio.h>

#include "sys/time/clock.h"

// The step of the stage at work: the first kind of task that is not through.
static enum sched_kind current_kind(const struct driver *driver, uint32_t stage, uint32_t *done)
{
    const struct driver_stage *at = &driver->stages[stage];
    enum sched_kind kind = SCHED_SAMPLE;
    for (;; kind++) {
        *done = sched_count(driver->sched, stage, kind, SCHED_COMMITTED) +
                sched_count(driver->sched, stage, kind, SCHED_HELD);
        const bool is_last = kind == (at->is_map_only ? SCHED_MAP : SCHED_REDUCE);
        if (is_last || *done < driver_task_count(at, kind))
            return kind;
    }
}

static void take_status(struct driver *driver)
{
    struct status_words words;
    if (!agent_read_status(&driver->agent, &words) || words.kind >= SCHED_KIND_COUNT)
        return;  // nobody has news, or a worker has gone wrong
    char task[32];
    snprintf(task, sizeof task, "%s task %u", driver_kind_name((enum sched_kind)words.kind),
             words.task);
    progress_status(&driver->progress, task, words.text);
}

void driver_show_progress(struct driver *driver)
{
    if (!progress_is_shown(&driver->progress) || driver->is_over || !driver->sched)
        return;
    const uint32_t stage = sched_stage(driver->sched);
    struct progress_state state = {.stage = stage, .stage_count = driver->stage_count};
    const enum sched_kind kind = current_kind(driver, stage, &state.tasks_done);
    state.step = driver_kind_name(kind);
    state.task_count = driver_task_count(&driver->stages[stage], kind);
    struct agent_figures figures;
    agent_read_figures(&driver->agent, &figures);
    if (driver->step != state.step || driver->step_stage != stage)
        driver->step_bytes = figures.bytes_in;
    driver->step = state.step;
    driver->step_stage = stage;
    if (stage == 0 && kind == SCHED_MAP) {
        state.bytes_total = driver->inputs.total_bytes;
        state.bytes_done = figures.bytes_in - driver->step_bytes + figures.bytes_begun;
        if (state.bytes_done > state.bytes_total)
            state.bytes_done = state.bytes_total;
    }
    state.records_in = figures.records_in;
    state.spill_bytes = figures.spill_bytes;
    state.memory_bytes = figures.memory_used;
    take_status(driver);
    progress_update(&driver->progress, &state, clock_now_ns());
}
