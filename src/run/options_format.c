// How inputs are cut into records: --format, --delimiter and -0, and what the job itself says.

#include "base/text.h"
#include "code/codes.h"
#include "jobs/builtin.h"
#include "run/options.h"

static weft_err set_delimiter(const struct run_options *options, struct record_format *format)
{
    if (!options->delimiter && !options->ends_with_nul)
        return WEFT_OK;
    if (format->kind != RECORD_LINES && format->kind != RECORD_CHUNKS)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is for lines and chunks\n  try: without --format, or without it",
                       options->delimiter ? "--delimiter" : "-0");
    if (options->delimiter && options->ends_with_nul)
        return err_set(WEFT_INVALID_ARGUMENT, "--delimiter and -0 say different things");
    if (options->ends_with_nul) {
        format->delimiter = 0;
        return WEFT_OK;
    }
    return text_read_byte(options->delimiter, &format->delimiter)
               ? WEFT_OK
               : err_set(WEFT_INVALID_ARGUMENT,
                         "--delimiter %s is not one byte\n  write it like ';', '\\t', '\\0' or "
                         "'\\x1e'",
                         options->delimiter);
}

// A block of TFRecords has frames in it, which only the built-in jobs know how to take off.
static weft_err check_frames(const struct run_options *options, const weft_job *job)
{
    if (!job->map_block || builtin_has(options->job))
        return WEFT_OK;
    const char *refusal = code_of(options->job)->frames_refusal;
    if (refusal)
        return err_set(WEFT_INVALID_ARGUMENT, "%s", refusal);
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s takes blocks of text, and tfrecord has none\n  try: a job with map per "
                   "record",
                   job->name);
}

weft_err options_choose_format(const struct run_options *options, const weft_job *job,
                               struct record_format *format)
{
    const char *text = options->format ? options->format : job->format ? job->format : "lines";
    weft_err code = record_format_parse(text, format);
    if (code == WEFT_OK)
        code = set_delimiter(options, format);
    if (code == WEFT_OK && format->kind == RECORD_TFRECORD)
        code = check_frames(options, job);
    return code;
}
