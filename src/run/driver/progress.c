// Where a run is, read off the page that its worker shares.

#include "run/driver/driver_state.h"

#include <stddef.h>
#include <stdio.h>

#include "sys/clock.h"

static uint64_t sum_slots(const struct driver *driver, size_t field)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; driver->link.page && i < driver->slot_count; i++) {
        const char *slot = (const char *)&driver->link.page->slots[i];
        sum += atomic_load_explicit((const _Atomic uint64_t *)(const void *)(slot + field),
                                    memory_order_relaxed);
    }
    return sum;
}

// What slots have read of the block they are at: a slow job may stay in one for long.
static uint64_t sum_blocks(const struct driver *driver)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; driver->link.page && i < driver->slot_count; i++) {
        const struct slot_page *slot = &driver->link.page->slots[i];
        const uint64_t from = atomic_load_explicit(&slot->counted_offset, memory_order_relaxed);
        const uint64_t to = atomic_load_explicit(&slot->input_offset, memory_order_relaxed);
        if (atomic_load_explicit(&slot->kind, memory_order_relaxed) == SCHED_MAP && to > from)
            sum += to - from;
    }
    return sum;
}

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

// One slot's news at a time, in turns.
static void take_status(struct driver *driver)
{
    for (uint32_t i = 1; driver->link.page && i <= driver->slot_count; i++) {
        const uint32_t slot = (driver->status_slot + i) % driver->slot_count;
        struct status_words words;
        if (!slot_status_read(&driver->link.page->slots[slot].status, driver->seen_status[slot],
                              &words))
            continue;
        driver->seen_status[slot] = words.serial;
        driver->status_slot = slot;
        if (words.kind >= SCHED_KIND_COUNT)
            continue;  // a worker that has gone wrong
        char task[32];
        snprintf(task, sizeof task, "%s task %u", driver_kind_name((enum sched_kind)words.kind),
                 words.task);
        progress_status(&driver->progress, task, words.text);
        return;
    }
}

void driver_show_progress(struct driver *driver)
{
    if (driver->progress.mode == PROGRESS_NONE || driver->is_over || !driver->sched)
        return;
    const uint32_t stage = sched_stage(driver->sched);
    struct progress_state state = {.stage = stage, .stage_count = driver->stage_count};
    const enum sched_kind kind = current_kind(driver, stage, &state.tasks_done);
    state.step = driver_kind_name(kind);
    state.task_count = driver_task_count(&driver->stages[stage], kind);
    const uint64_t bytes =
        driver->past.bytes_in + sum_slots(driver, offsetof(struct slot_page, bytes_in));
    if (driver->step != state.step || driver->step_stage != stage)
        driver->step_bytes = bytes;
    driver->step = state.step;
    driver->step_stage = stage;
    if (stage == 0 && kind == SCHED_MAP) {
        state.bytes_total = driver->inputs.total_bytes;
        state.bytes_done = bytes - driver->step_bytes + sum_blocks(driver);
        if (state.bytes_done > state.bytes_total)
            state.bytes_done = state.bytes_total;
    }
    state.records_in =
        driver->past.records_in + sum_slots(driver, offsetof(struct slot_page, records_in));
    state.spill_bytes =
        driver->past.spill_bytes + sum_slots(driver, offsetof(struct slot_page, spill_bytes));
    if (driver->link.page)
        state.memory_bytes = atomic_load(&driver->link.page->memory_used);
    take_status(driver);
    progress_update(&driver->progress, &state, clock_now_ns());
}
