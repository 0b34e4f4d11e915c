// dry: --dry-run. What would be done, where, and what is already there; nothing is made or changed.
// The same plan twice, once to be read and once to be parsed (docs/json.md).

#include "run/driver/driver_state.h"

#include "base/json.h"
#include "base/text.h"
#include "store/journal.h"
#include "sys/file/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

// Large inputs that one task has to read alone.
static uint64_t count_whole(const struct driver *driver)
{
    uint64_t count = 0;
    for (size_t i = 0; i < driver->plan.inputs.count; i++)
        count += driver->plan.looks[i].is_whole &&
                 driver->plan.inputs.items[i].size > driver->plan.split.split_bytes;
    return count;
}

static uint64_t sum_plain(const struct driver *driver)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < driver->plan.inputs.count; i++)
        sum += driver->plan.looks[i].size;
    return sum;
}

static const struct run_stage *last_stage(const struct driver *driver)
{
    return run_plan_last_stage(&driver->plan);
}

// NULL: the stage is --top's.
static const char *name_of_stage(const struct driver *driver, const struct run_stage *stage)
{
    const bool is_top = stage->job_index == driver->plan.chain.jobs.count;
    return is_top                  ? NULL
           : stage->job_index == 0 ? run_plan_title(&driver->plan)
                                   : driver->plan.chain.jobs.items[stage->job_index].name;
}

static bool has_parts(const struct driver *driver)
{
    const char *output = driver->options->output;
    return output && *output && output[strlen(output) - 1] == '/';
}

static uint32_t count_done(const struct driver *driver)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < last_stage(driver)->piece_count; i++)
        count += driver->pieces[i].is_done;
    return count;
}

// ---- For a person --------------------------------------------------------------------------------

static void append_count(struct buf *text, uint64_t count, const char *noun)
{
    text_append_count(text, count);
    buf_format(text, " %s%s", noun, count == 1 ? "" : "s");
}

static void append_inputs(struct buf *text, const struct driver *driver)
{
    const uint64_t whole = count_whole(driver), plain = sum_plain(driver);
    buf_append_text(text, "inputs   ");
    append_count(text, driver->plan.inputs.count, "file");
    buf_append_text(text, ", ");
    text_append_bytes(text, driver->plan.inputs.total_bytes);
    if (plain != driver->plan.inputs.total_bytes) {
        buf_append_text(text, " (");
        text_append_bytes(text, plain);
        buf_append_text(text, " plain)");
    }
    if (whole)
        buf_format(text, ", %" PRIu64 " cannot be split", whole);
    buf_append_text(text, "\n");
}

static void append_stages(struct buf *text, const struct driver *driver)
{
    for (uint32_t i = 0; i < driver->plan.stage_count; i++) {
        const struct run_stage *stage = &driver->plan.stages[i];
        const char *name = name_of_stage(driver, stage);
        buf_format(text, "stage %" PRIu32 "  %s: ", i + 1, name ? name : "the largest");
        if (stage->sample_count) {
            append_count(text, stage->sample_count, "sample task");
            buf_append_text(text, ", ");
        }
        append_count(text, stage->map_count, "map task");
        if (i == 0 && stage->map_count) {
            buf_append_text(text, " of up to ");
            text_append_bytes(text, driver->plan.split.split_bytes);
        }
        if (!stage->is_map_only) {
            buf_append_text(text, ", ");
            append_count(text, stage->range_count, "reduce task");
        }
        buf_append_text(text, "\n");
    }
}

static void append_places(struct buf *text, const struct driver *driver)
{
    const struct run_options *options = driver->options;
    buf_format(text, "output   %s", options->output ? options->output : "standard output");
    if (has_parts(driver)) {
        buf_append_text(text, ", ");
        append_count(text, last_stage(driver)->part_count, "part");
    }
    if (driver->output && output_resume_place(driver->output))
        buf_format(text, "; until it is complete in %s/", output_resume_place(driver->output));
    buf_format(text,
               "\nspill    %s, when it does not fit in memory\nslots    %" PRIu32 "\nmemory   ",
               options->tmp, driver->plan.slot_count);
    text_append_bytes(text, options->memory_bytes);
    buf_append_text(text, " at most, ");
    text_append_bytes(text, driver->plan.worker_bytes);
    buf_append_text(text, " of it for the worker\n");
}

static void append_done(struct buf *text, const struct driver *driver)
{
    if (resume_is_done(driver->resume)) {
        buf_append_text(text, "done     everything: the output is complete\n");
        return;
    }
    buf_format(text, "done     %" PRIu32 " of %" PRIu32 " pieces of the output", count_done(driver),
               last_stage(driver)->piece_count);
    if (resume_task_count(driver->resume))
        buf_format(text, ", %" PRIu32 " of %" PRIu32 " map tasks",
                   resume_task_count(driver->resume), driver->plan.stages[0].map_count);
    buf_append_text(text, "\n");
}

static void format_text(struct buf *text, const struct driver *driver)
{
    buf_format(text, "job      %s\n", run_plan_title(&driver->plan));
    append_inputs(text, driver);
    append_stages(text, driver);
    append_places(text, driver);
    append_done(text, driver);
}

// ---- For a program -------------------------------------------------------------------------------

static void append_json_stages(struct buf *text, const struct driver *driver)
{
    json_open(text, "stages", '[');
    for (uint32_t i = 0; i < driver->plan.stage_count; i++) {
        const struct run_stage *stage = &driver->plan.stages[i];
        json_open(text, NULL, '{');
        json_append_text(text, "job", name_of_stage(driver, stage));
        json_append_uint(text, "sample_tasks", stage->sample_count);
        json_append_uint(text, "map_tasks", stage->map_count);
        json_append_uint(text, "reduce_tasks", run_stage_task_count(stage, SCHED_REDUCE));
        json_close(text, '}');
    }
    json_close(text, ']');
}

static void format_json(struct buf *text, const struct driver *driver)
{
    const struct run_options *options = driver->options;
    const bool is_done = resume_is_done(driver->resume);
    const uint32_t piece_count = last_stage(driver)->piece_count;
    json_open(text, NULL, '{');
    json_append_text(text, "event", "plan");
    json_append_text(text, "job", run_plan_title(&driver->plan));
    json_append_uint(text, "input_count", driver->plan.inputs.count);
    json_append_uint(text, "input_bytes", driver->plan.inputs.total_bytes);
    json_append_uint(text, "plain_bytes", sum_plain(driver));
    json_append_uint(text, "unsplit_inputs", count_whole(driver));
    json_append_uint(text, "split_bytes", driver->plan.split.split_bytes);
    append_json_stages(text, driver);
    json_append_text(text, "output", options->output);
    json_append_uint(text, "part_count", has_parts(driver) ? last_stage(driver)->part_count : 1);
    json_append_text(text, "unfinished",
                     driver->output ? output_resume_place(driver->output) : NULL);
    json_append_text(text, "tmp", options->tmp);
    json_append_uint(text, "slots", driver->plan.slot_count);
    json_append_uint(text, "memory_limit_bytes", options->memory_bytes);
    json_append_uint(text, "worker_bytes", driver->plan.worker_bytes);
    json_append_uint(text, "piece_count", piece_count);
    json_append_uint(text, "pieces_done", is_done ? piece_count : count_done(driver));
    json_append_uint(text, "map_tasks_done", resume_task_count(driver->resume));
    json_append_bool(text, "already_done", is_done);
    json_close(text, '}');
    buf_append_text(text, "\n");
}

weft_err driver_print_plan(struct driver *driver)
{
    struct buf text = {0};
    if (!resume_is_done(driver->resume))
        resume_look(driver->resume, driver->pieces);
    if (driver->options->json)
        format_json(&text, driver);
    else
        format_text(&text, driver);
    const weft_err code = text.has_failed
                              ? err_no_memory("for the plan")
                              : file_write(STDOUT_FILENO, "standard output", text.data, text.size);
    buf_fini(&text);
    return code;
}
