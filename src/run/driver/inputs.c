// inputs: what the inputs are, before they are cut: which of them are compressed, and which can only
// be read from their front.

#include "run/driver/plan.h"

#include <stdio.h>
#include <stdlib.h>

enum { READ_BYTES = 1 << 20 };

// ---- Inputs that were left out ------------------------------------------------------------------

static void tell_aside(struct report *report, const struct inputs_aside *aside, const char *one,
                       const char *many, const char *what)
{
    char text[512];
    if (aside->count == 0)
        return;
    if (aside->count == 1)
        snprintf(text, sizeof text, "%.300s %s %s", aside->first, one, what);
    else
        snprintf(text, sizeof text, "%.300s and %zu more %s %s", aside->first, aside->count - 1,
                 many, what);
    report_warn(report, text);
}

void run_plan_tell_aside(const struct run_plan *plan, struct report *report)
{
    const struct inputs *inputs = &plan->inputs;
    if (plan->options->quiet)
        return;
    tell_aside(
        report, &inputs->marked, "was", "were",
        "left out: in a directory, names that begin with _ are not data; name them to read them");
    tell_aside(report, &inputs->loops, "was", "were",
               "left out: it leads back to a directory above it");
    tell_aside(report, &inputs->own, "was", "were", "left out: a run does not read its own output");
    tell_aside(report, &inputs->missing, "is", "are", "missing, and left out (--skip-missing)");
}

// ---- Looking at files ---------------------------------------------------------------------------

// A bgzip file that was cut between two blocks looks whole but for that.
static weft_err check_end(const struct run_plan *plan, struct report *report,
                          const struct input *input, struct store_file *file)
{
    char text[512];
    bool lacks_end;
    const weft_err code = codec_lacks_end(file, input->size, &lacks_end);
    if (code != WEFT_OK || !lacks_end || plan->options->quiet)
        return code;
    snprintf(text, sizeof text,
             "%.300s has no end mark, by which bgzip shows that a file is whole: it may be cut off",
             input->name);
    report_warn(report, text);
    return WEFT_OK;
}

static weft_err look_at_file(const struct run_plan *plan, struct report *report,
                             const struct input *input, struct store_file *file,
                             struct input_look *look)
{
    char front[CODEC_SNIFF_BYTES];
    size_t got = 0;
    weft_err code = store_read_at(file, front, sizeof front, 0, &got);
    if (code != WEFT_OK)
        return code;
    enum codec_kind kind = codec_sniff(front, got);
    if (kind == CODEC_FOREIGN && !record_is_text(&plan->format))
        kind = CODEC_NONE;
    look->codec = (int)kind + 1;
    if (kind == CODEC_NONE)
        return WEFT_OK;
    if (kind == CODEC_FOREIGN) {
        codec_reader_free(codec_reader_new(file, input->size, kind, NULL, 0));
        return WEFT_UNIMPLEMENTED;
    }
    if (kind == CODEC_GZIP && (code = check_end(plan, report, input, file)) != WEFT_OK)
        return code;
    struct codec_index *index = NULL;
    code = codec_index_open(file, input->size, kind, &index);
    if (code == WEFT_OK && index) {
        look->size = codec_index_size(index);
        look->is_indexed = true;
    } else {
        look->is_whole = true;
    }
    codec_index_free(index);
    return code;
}

static bool may_be_bgzip(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".gz") == 0 || strcmp(dot, ".bgz") == 0 || strcmp(dot, ".bam") == 0);
}

static weft_err check_small_end(const struct run_plan *plan, struct report *report,
                                const struct input *input)
{
    struct store_file file;
    weft_err code = store_open(input->path, input->name, &file);
    if (code == WEFT_OK)
        code = check_end(plan, report, input, &file);
    store_close(&file);
    return code;
}

// Smaller inputs are one piece anyway; the tasks that read them look into them.
static weft_err look_at_larger(const struct run_plan *plan, struct report *report,
                               uint64_t split_bytes)
{
    weft_err code = WEFT_OK;
    for (size_t i = 0; i < plan->inputs.count && code == WEFT_OK; i++) {
        const struct input *input = &plan->inputs.items[i];
        if (input->size <= split_bytes) {
            code = may_be_bgzip(input->name) ? check_small_end(plan, report, input) : WEFT_OK;
            continue;
        }
        struct store_file file;
        code = store_open(input->path, input->name, &file);
        if (code == WEFT_OK)
            code = look_at_file(plan, report, input, &file, &plan->looks[i]);
        store_close(&file);
    }
    return code;
}

// ---- Every N lines ------------------------------------------------------------------------------

static weft_err add_cuts(struct input_look *look, weft_bytes text, uint64_t offset,
                         unsigned char delimiter, uint32_t every, uint32_t *lines)
{
    const char *at = text.data, *end = text.data + text.size;
    while ((at = memchr(at, delimiter, (size_t)(end - at)))) {
        at++;
        if (++*lines < every)
            continue;
        *lines = 0;
        const uint64_t cut = offset + (uint64_t)(at - text.data);
        if (cut < look->size && !VEC_PUSH(&look->cuts, cut))
            return err_no_memory("to cut the input into lines");
    }
    return WEFT_OK;
}

static weft_err cut_file(const struct run_plan *plan, const struct input *input,
                         struct store_file *file, struct input_look *look)
{
    char *room = malloc(READ_BYTES);
    weft_err code = room ? WEFT_OK : err_no_memory("to look into the input");
    uint32_t lines = 0;
    for (uint64_t at = 0; code == WEFT_OK && at < input->size;) {
        size_t got = 0;
        code = store_read_at(file, room, READ_BYTES, at, &got);
        if (code == WEFT_OK && got == 0)
            break;
        if (code == WEFT_OK)
            code = add_cuts(look, (weft_bytes){room, got}, at, plan->format.delimiter,
                            plan->options->lines_per_task, &lines);
        at += got;
    }
    free(room);
    return code;
}

static weft_err cut_every_lines(const struct run_plan *plan, struct report *report)
{
    if (plan->format.kind != RECORD_LINES)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--lines-per-task needs lines, not another --format\n  try: one of the two");
    weft_err code = WEFT_OK;
    for (size_t i = 0; i < plan->inputs.count && code == WEFT_OK; i++) {
        struct store_file file;
        const struct input *input = &plan->inputs.items[i];
        code = store_open(input->path, input->name, &file);
        if (code == WEFT_OK)
            code = look_at_file(plan, report, input, &file, &plan->looks[i]);
        if (code == WEFT_OK && plan->looks[i].codec == CODEC_NONE + 1)
            code = cut_file(plan, input, &file, &plan->looks[i]);
        store_close(&file);
    }
    return code;
}

weft_err run_plan_look_at_inputs(struct run_plan *plan, uint64_t split_bytes, struct report *report)
{
    const bool is_splittable = record_is_splittable(&plan->format);
    for (size_t i = 0; i < plan->inputs.count; i++)
        plan->looks[i].is_whole = !is_splittable;
    if (plan->options->lines_per_task)
        return cut_every_lines(plan, report);
    if (!is_splittable)
        return WEFT_OK;
    return look_at_larger(plan, report, split_bytes);
}
