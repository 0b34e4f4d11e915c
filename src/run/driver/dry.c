// The same plan twice, once to be read and once to be parsed (docs/json.md).

#include "run/driver/dry.h"

#include "base/json.h"
#include "base/text.h"
#include "store/journal/journal.h"
#include "sys/file/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

struct dry_facts {
    const struct run_plan *plan;
    const struct output *output;
    const struct resume *resume;
    const struct output_piece *pieces;
};

// Large inputs that one task has to read alone.
static uint64_t count_whole(const struct dry_facts *facts)
{
    uint64_t count = 0;
    for (size_t i = 0; i < facts->plan->inputs.count; i++)
        count += facts->plan->looks[i].is_whole &&
                 facts->plan->inputs.items[i].size > facts->plan->split.split_bytes;
    return count;
}

static uint64_t sum_plain(const struct dry_facts *facts)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < facts->plan->inputs.count; i++)
        sum += facts->plan->looks[i].size;
    return sum;
}

static const struct run_stage *last_stage(const struct dry_facts *facts)
{
    return run_plan_last_stage(facts->plan);
}

// NULL: the stage is --top's.
static const char *name_of_stage(const struct dry_facts *facts, const struct run_stage *stage)
{
    const bool is_top = stage->job_index == facts->plan->chain.jobs.count;
    return is_top                  ? NULL
           : stage->job_index == 0 ? run_plan_title(facts->plan)
                                   : facts->plan->chain.jobs.items[stage->job_index].name;
}

static bool has_parts(const struct dry_facts *facts)
{
    const char *output = facts->plan->options->output;
    return output && *output && output[strlen(output) - 1] == '/';
}

static uint32_t count_done(const struct dry_facts *facts)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < last_stage(facts)->piece_count; i++)
        count += facts->pieces[i].is_done;
    return count;
}

// ---- For a person --------------------------------------------------------------------------------

static void append_count(struct buf *text, uint64_t count, const char *noun)
{
    text_append_count(text, count);
    buf_format(text, " %s%s", noun, count == 1 ? "" : "s");
}

static void append_inputs(struct buf *text, const struct dry_facts *facts)
{
    const uint64_t whole = count_whole(facts), plain = sum_plain(facts);
    buf_append_text(text, "inputs   ");
    append_count(text, facts->plan->inputs.count, "file");
    buf_append_text(text, ", ");
    text_append_bytes(text, facts->plan->inputs.total_bytes);
    if (plain != facts->plan->inputs.total_bytes) {
        buf_append_text(text, " (");
        text_append_bytes(text, plain);
        buf_append_text(text, " plain)");
    }
    if (whole)
        buf_format(text, ", %" PRIu64 " cannot be split", whole);
    buf_append_text(text, "\n");
}

static void append_stages(struct buf *text, const struct dry_facts *facts)
{
    for (uint32_t i = 0; i < facts->plan->stage_count; i++) {
        const struct run_stage *stage = &facts->plan->stages[i];
        const char *name = name_of_stage(facts, stage);
        buf_format(text, "stage %" PRIu32 "  %s: ", i + 1, name ? name : "the largest");
        if (stage->sample_count) {
            append_count(text, stage->sample_count, "sample task");
            buf_append_text(text, ", ");
        }
        append_count(text, stage->map_count, "map task");
        if (i == 0 && stage->map_count) {
            buf_append_text(text, " of up to ");
            text_append_bytes(text, facts->plan->split.split_bytes);
        }
        if (!stage->is_map_only) {
            buf_append_text(text, ", ");
            append_count(text, stage->range_count, "reduce task");
        }
        buf_append_text(text, "\n");
    }
}

static void append_places(struct buf *text, const struct dry_facts *facts)
{
    const struct run_options *options = facts->plan->options;
    buf_format(text, "output   %s", options->output ? options->output : "standard output");
    if (has_parts(facts)) {
        buf_append_text(text, ", ");
        append_count(text, last_stage(facts)->part_count, "part");
    }
    if (facts->output && output_resume_place(facts->output))
        buf_format(text, "; until it is complete in %s/", output_resume_place(facts->output));
    buf_format(text, "\nspill    %s, when it does not fit in memory\nslots    %" PRIu32,
               options->tmp, facts->plan->slot_count);
    if (run_plan_is_shared(facts->plan))
        buf_format(text, " in each of %" PRIu32 " workers", facts->plan->worker_count);
    buf_append_text(text, "\nmemory   ");
    text_append_bytes(text, options->memory_bytes);
    buf_append_text(text, " at most, ");
    text_append_bytes(text, facts->plan->worker_bytes);
    buf_append_text(text, run_plan_is_shared(facts->plan) ? " of it for each worker\n"
                                                          : " of it for the worker\n");
}

static void append_done(struct buf *text, const struct dry_facts *facts)
{
    if (resume_is_done(facts->resume)) {
        buf_append_text(text, "done     everything: the output is complete\n");
        return;
    }
    buf_format(text, "done     %" PRIu32 " of %" PRIu32 " pieces of the output", count_done(facts),
               last_stage(facts)->piece_count);
    if (resume_task_count(facts->resume))
        buf_format(text, ", %" PRIu32 " of %" PRIu32 " map tasks", resume_task_count(facts->resume),
                   facts->plan->stages[0].map_count);
    buf_append_text(text, "\n");
}

static void format_text(struct buf *text, const struct dry_facts *facts)
{
    buf_format(text, "job      %s\n", run_plan_title(facts->plan));
    append_inputs(text, facts);
    append_stages(text, facts);
    append_places(text, facts);
    append_done(text, facts);
}

// ---- For a program -------------------------------------------------------------------------------

static void append_json_stages(struct buf *text, const struct dry_facts *facts)
{
    json_open(text, "stages", '[');
    for (uint32_t i = 0; i < facts->plan->stage_count; i++) {
        const struct run_stage *stage = &facts->plan->stages[i];
        json_open(text, NULL, '{');
        json_append_text(text, "job", name_of_stage(facts, stage));
        json_append_uint(text, "sample_tasks", stage->sample_count);
        json_append_uint(text, "map_tasks", stage->map_count);
        json_append_uint(text, "reduce_tasks", run_stage_task_count(stage, SCHED_REDUCE));
        json_close(text, '}');
    }
    json_close(text, ']');
}

static void format_json(struct buf *text, const struct dry_facts *facts)
{
    const struct run_options *options = facts->plan->options;
    const bool is_done = resume_is_done(facts->resume);
    const uint32_t piece_count = last_stage(facts)->piece_count;
    json_open(text, NULL, '{');
    json_append_text(text, "event", "plan");
    json_append_text(text, "job", run_plan_title(facts->plan));
    json_append_uint(text, "input_count", facts->plan->inputs.count);
    json_append_uint(text, "input_bytes", facts->plan->inputs.total_bytes);
    json_append_uint(text, "plain_bytes", sum_plain(facts));
    json_append_uint(text, "unsplit_inputs", count_whole(facts));
    json_append_uint(text, "split_bytes", facts->plan->split.split_bytes);
    append_json_stages(text, facts);
    json_append_text(text, "output", options->output);
    json_append_uint(text, "part_count", has_parts(facts) ? last_stage(facts)->part_count : 1);
    json_append_text(text, "unfinished", facts->output ? output_resume_place(facts->output) : NULL);
    json_append_text(text, "tmp", options->tmp);
    json_append_uint(text, "workers", facts->plan->worker_count);
    json_append_uint(text, "slots", facts->plan->worker_count * facts->plan->slot_count);
    json_append_uint(text, "memory_limit_bytes", options->memory_bytes);
    json_append_uint(text, "worker_bytes", facts->plan->worker_bytes);
    json_append_uint(text, "piece_count", piece_count);
    json_append_uint(text, "pieces_done", is_done ? piece_count : count_done(facts));
    json_append_uint(text, "map_tasks_done", resume_task_count(facts->resume));
    json_append_bool(text, "already_done", is_done);
    json_close(text, '}');
    buf_append_text(text, "\n");
}

weft_err dry_print(const struct run_plan *plan, const struct output *output,
                   const struct resume *resume, const struct output_piece *pieces)
{
    const struct dry_facts facts = {plan, output, resume, pieces};
    struct buf text = {0};
    if (plan->options->json)
        format_json(&text, &facts);
    else
        format_text(&text, &facts);
    const weft_err code = text.has_failed
                              ? err_no_memory("for the plan")
                              : file_write(STDOUT_FILENO, "standard output", text.data, text.size);
    buf_fini(&text);
    return code;
}
