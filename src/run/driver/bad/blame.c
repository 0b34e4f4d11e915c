// What to say of a bad end, and what to try next.

#include "run/driver/bad/blame.h"

#include "sys/process/signals.h"

#include <inttypes.h>
#include <stdio.h>

void blame_format_duration(uint32_t milliseconds, char *text, size_t text_size)
{
    static const struct {
        uint32_t milliseconds;
        const char *unit;
    } units[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    size_t i = 0;
    while (milliseconds % units[i].milliseconds != 0)
        i++;
    snprintf(text, text_size, "%" PRIu32 "%s", milliseconds / units[i].milliseconds, units[i].unit);
}

// The input an attempt was reading, NULL when it was not reading one.
static const struct input *input_of(const struct blame *blame, uint32_t stage,
                                    const struct agent_attempt *at)
{
    const bool reads_files = stage == 0 && at->kind != SCHED_REDUCE;
    return reads_files && at->input < blame->plan->inputs.count
               ? &blame->plan->inputs.items[at->input]
               : NULL;
}

// "in map, FILE near offset 123", "in reduce, task 5 of stage 2"
static void format_place(const struct blame *blame, uint32_t stage, const struct agent_attempt *at,
                         char *text, size_t text_size)
{
    const struct input *input = input_of(blame, stage, at);
    const char *kind =
        at->kind == SCHED_SAMPLE ? "map (on a sample)" : sched_kind_name((enum sched_kind)at->kind);
    if (input)
        snprintf(text, text_size, "in %s, %s near offset %" PRIu64, kind, input->name, at->offset);
    else if (blame->plan->stage_count == 1)
        snprintf(text, text_size, "in %s, task %" PRIu32, kind, at->task);
    else
        snprintf(text, text_size, "in %s, task %" PRIu32 " of stage %" PRIu32, kind, at->task,
                 stage + 1);
}

// How to see the record an attempt was at, when a command can show it.
static void advise_record(struct blame *blame, uint32_t stage, const struct agent_attempt *at,
                          const char *also)
{
    const struct input *input = input_of(blame, stage, at);
    if (input && input->name == input->path)
        snprintf(blame->next, sizeof blame->next,
                 "tail -c +%" PRIu64 " '%s' | head -n 1 shows the record%s", at->offset + 1,
                 input->name, also);
    else if (input)
        snprintf(blame->next, sizeof blame->next,
                 "look at the record near byte %" PRIu64 " of %s%s", at->offset, input->name, also);
    else
        snprintf(blame->next, sizeof blame->next, "--slots 1 --max-attempts 1 in a debugger%s",
                 also);
}

// Inside one attempt, or one that is known to have done it.
static void explain_crash(struct blame *blame, uint32_t stage, const struct process_exit *exit,
                          const struct agent_attempt *at)
{
    char place[512], how[128];
    format_place(blame, stage, at, place, sizeof place);
    if (at->crash_signal != 0) {
        signal_describe(at->crash_signal, how, sizeof how);
        snprintf(blame->why, sizeof blame->why, "the job crashed: %s %s", how, place);
        advise_record(blame, stage, at, "");
        return;
    }
    process_describe_exit(exit, how, sizeof how);
    if (exit->is_known && !exit->was_signalled) {
        snprintf(blame->why, sizeof blame->why, "the job ended its worker: it %s %s", how, place);
        advise_record(blame, stage, at, "; a job ends an attempt by weft_fail, not by exit");
    } else {
        snprintf(blame->why, sizeof blame->why, "the worker was %s %s", how, place);
        advise_record(blame, stage, at, "; the kernel log shows whether memory ran out");
    }
}

static void explain_early_end(struct blame *blame, const char *how)
{
    snprintf(blame->why, sizeof blame->why, "the worker %s before it was ready", how);
    snprintf(blame->next, sizeof blame->next,
             "call weft_main or weft_start first in main(), before anything that may end the "
             "program");
}

void blame_explain_loss(struct blame *blame, uint32_t stage, const struct agent_loss *loss,
                        const struct agent_attempt *const *inside, uint32_t inside_count,
                        uint32_t crash_slot)
{
    const struct process_exit *exit = loss->exit;
    char how[128];
    blame->next[0] = 0;
    process_describe_exit(exit, how, sizeof how);
    for (uint32_t i = 0; i < inside_count; i++)
        if (inside[i]->slot == crash_slot || inside_count == 1) {
            explain_crash(blame, stage, exit, inside[i]);
            return;
        }
    const char *was = exit->is_known && exit->was_signalled ? "was " : "";
    if (!loss->was_ready) {
        char sentence[160];
        snprintf(sentence, sizeof sentence, "%s%s", was, how);
        explain_early_end(blame, sentence);
    } else if (inside_count > 0) {
        snprintf(blame->why, sizeof blame->why,
                 "the worker %s%s while %" PRIu32 " attempts ran; each runs alone next time", was,
                 how, inside_count);
    } else {
        snprintf(blame->why, sizeof blame->why, "the worker %s%s between two attempts", was, how);
    }
}

void blame_explain_timeout(struct blame *blame, uint32_t stage, const struct agent_attempt *at,
                           bool is_record)
{
    char place[512], limit[32];
    format_place(blame, stage, at, place, sizeof place);
    blame_format_duration(is_record ? blame->plan->options->record_timeout_ms
                                    : blame->plan->options->task_timeout_ms,
                          limit, sizeof limit);
    const char *option = is_record ? "record-timeout" : "task-timeout";
    snprintf(blame->why, sizeof blame->why, "an attempt timed out: longer than --%s %s %s", option,
             limit, place);
    advise_record(blame, stage, at,
                  is_record ? ", or a longer --record-timeout" : ", or a longer --task-timeout");
}

void blame_explain_failure(struct blame *blame, const Weft__TaskEnd *end)
{
    blame->next[0] = 0;
    snprintf(blame->why, sizeof blame->why, "%s",
             end->text[0] ? end->text : weft_err_name((weft_err)end->code));
}
