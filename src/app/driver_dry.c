// driver_dry: --dry-run. What would be done, where, and what is already there; nothing is made or changed.

#include "app/driver_state.h"

#include "base/text.h"
#include "store/journal.h"
#include "sys/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static void append_count(struct buf *text, uint64_t count, const char *noun)
{
    text_append_count(text, count);
    buf_format(text, " %s%s", noun, count == 1 ? "" : "s");
}

static void append_inputs(struct buf *text, const struct driver *driver)
{
    uint64_t whole = 0, plain = 0;
    for (size_t i = 0; i < driver->inputs.count; i++) {
        whole +=
            driver->looks[i].is_whole && driver->inputs.items[i].size > driver->plan.split_bytes;
        plain += driver->looks[i].size;
    }
    buf_append_text(text, "inputs   ");
    append_count(text, driver->inputs.count, "file");
    buf_append_text(text, ", ");
    text_append_bytes(text, driver->inputs.total_bytes);
    if (plain != driver->inputs.total_bytes) {
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
    for (uint32_t i = 0; i < driver->stage_count; i++) {
        const struct driver_stage *stage = &driver->stages[i];
        const bool is_top = stage->job_index == driver->chain.jobs.count;
        buf_format(text, "stage %" PRIu32 "  %s: ", i + 1,
                   is_top                  ? "the largest"
                   : stage->job_index == 0 ? driver_title(driver)
                                           : driver->chain.jobs.items[stage->job_index].name);
        if (stage->sample_count) {
            append_count(text, stage->sample_count, "sample task");
            buf_append_text(text, ", ");
        }
        append_count(text, stage->map_count, "map task");
        if (i == 0 && stage->map_count) {
            buf_append_text(text, " of up to ");
            text_append_bytes(text, driver->plan.split_bytes);
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
    const struct driver_stage *last = &driver->stages[driver->stage_count - 1];
    buf_format(text, "output   %s", options->output ? options->output : "standard output");
    const size_t length = options->output ? strlen(options->output) : 0;
    if (length && options->output[length - 1] == '/') {
        buf_append_text(text, ", ");
        append_count(text, last->part_count, "part");
    }
    if (driver->output && output_resume_place(driver->output))
        buf_format(text, "; until it is complete in %s/", output_resume_place(driver->output));
    buf_format(text,
               "\nspill    %s, when it does not fit in memory\nslots    %" PRIu32 "\nmemory   ",
               options->tmp, driver->slot_count);
    text_append_bytes(text, options->memory_bytes);
    buf_append_text(text, " at most, ");
    text_append_bytes(text, driver->worker_bytes);
    buf_append_text(text, " of it for the worker\n");
}

static void append_done(struct buf *text, struct driver *driver)
{
    if (driver->resume.is_done) {
        buf_append_text(text, "done     all of it: the output is there, complete\n");
        return;
    }
    uint32_t pieces = 0;
    const uint32_t count = driver->stages[driver->stage_count - 1].piece_count;
    driver_resume_look(driver);
    for (uint32_t i = 0; i < count; i++)
        pieces += driver->pieces[i].is_done;
    buf_format(text, "done     %" PRIu32 " of %" PRIu32 " pieces of the output", pieces, count);
    if (driver->resume.task_count)
        buf_format(text, ", %" PRIu32 " of %" PRIu32 " map tasks", driver->resume.task_count,
                   driver->stages[0].map_count);
    buf_append_text(text, "\n");
}

weft_err driver_print_plan(struct driver *driver)
{
    struct buf text = {0};
    buf_format(&text, "job      %s\n", driver_title(driver));
    append_inputs(&text, driver);
    append_stages(&text, driver);
    append_places(&text, driver);
    append_done(&text, driver);
    const weft_err code = text.has_failed
                              ? err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for the plan")
                              : file_write(STDOUT_FILENO, "standard output", text.data, text.size);
    buf_fini(&text);
    return code;
}
