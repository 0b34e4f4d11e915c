// From facts about a run to lines that show them.

#include "run/driver/report.h"

#include <stdio.h>

#define SHOW_NS UINT64_C(50000000)  // between two looks: less than any line waits for the next one

void report_init(struct report *report, const struct run_options *options, bool is_silent, int fd,
                 uint64_t now_ns)
{
    *report = (struct report){.is_silent = is_silent};
    progress_init(&report->progress, options, fd, now_ns);
}

void report_fini(struct report *report)
{
    progress_fini(&report->progress);
}

void report_silence(struct report *report)
{
    report->is_silent = true;
}

void report_begin(struct report *report, const struct progress_begin *begin)
{
    progress_begin(&report->progress, begin);
}

bool report_is_shown(const struct report *report)
{
    return progress_is_shown(&report->progress);
}

bool report_needs_ticks(const struct report *report)
{
    return report->progress.mode != PROGRESS_NONE;
}

// The step of the stage at work: the first kind of task that is not through.
static enum sched_kind current_kind(const struct report_facts *facts)
{
    const enum sched_kind last = facts->is_map_only ? SCHED_MAP : SCHED_REDUCE;
    enum sched_kind kind = SCHED_SAMPLE;
    while (kind < last && facts->done_counts[kind] >= facts->task_counts[kind])
        kind++;
    return kind;
}

bool report_is_due(const struct report *report, const struct report_facts *facts, uint64_t now_ns)
{
    return report->step != sched_kind_name(current_kind(facts)) ||
           report->step_stage != facts->stage || now_ns - report->shown_ns >= SHOW_NS;
}

void report_show(struct report *report, const struct report_facts *facts, uint64_t now_ns)
{
    const struct agent_figures *figures = &facts->figures;
    const enum sched_kind kind = current_kind(facts);
    struct progress_state state = {.stage = facts->stage,
                                   .stage_count = facts->stage_count,
                                   .step = sched_kind_name(kind),
                                   .tasks_done = facts->done_counts[kind],
                                   .task_count = facts->task_counts[kind],
                                   .records_in = figures->records_in,
                                   .spill_bytes = figures->spill_bytes,
                                   .memory_bytes = figures->memory_used};
    if (report->step != state.step || report->step_stage != facts->stage)
        report->step_bytes = figures->bytes_in;
    report->step = state.step;
    report->step_stage = facts->stage;
    report->shown_ns = now_ns;
    if (facts->stage == 0 && kind == SCHED_MAP) {
        const uint64_t done = figures->bytes_in - report->step_bytes + figures->bytes_begun;
        state.bytes_total = facts->input_bytes;
        state.bytes_done = done < state.bytes_total ? done : state.bytes_total;
    }
    progress_update(&report->progress, &state, now_ns);
}

static void name_task(char *text, size_t text_size, enum sched_kind kind, uint32_t task)
{
    snprintf(text, text_size, "%s task %u", sched_kind_name(kind), task);
}

void report_status(struct report *report, const struct status_words *words)
{
    char task[32];
    if (words->kind >= SCHED_KIND_COUNT)
        return;
    name_task(task, sizeof task, (enum sched_kind)words->kind, words->task);
    progress_status(&report->progress, task, words->text);
}

void report_retry(struct report *report, const struct sched_attempt *at, uint32_t charges,
                  uint32_t charges_max, const char *why)
{
    char task[64];
    name_task(task, sizeof task, at->kind, at->task);
    report->retry_count++;
    progress_retry(&report->progress, task, charges, charges_max, why);
}

void report_warn(struct report *report, const char *text)
{
    if (!report->is_silent)
        progress_warn(&report->progress, text);
}

void report_client(struct report *report, const struct crowd_change *change, uint64_t now_ns)
{
    if (!report->is_silent)
        progress_client(&report->progress, change, now_ns);
}

void report_end(struct report *report, const struct summary *summary)
{
    if (!report->is_silent)
        progress_end(&report->progress, summary);
}
