// The values that a message may have, whatever came before it.

#include "run/worker/frames.h"

#include <stdarg.h>
#include <stdio.h>

#include "mapreduce/coord/plan.h"
#include "mapreduce/work/run/run_index.h"
#include "store/codec/codec.h"
#include "store/record/record.h"

weft_err frames_refuse(const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return err_set(WEFT_INTERNAL, "the worker refuses what the driver sent: %s", what);
}

// ---- JOB_START

static weft_err check_format(const Weft__RecordFormat *format)
{
    if (!format)
        return frames_refuse("a job without a record format");
    if (format->kind >= RECORD_KIND_COUNT)
        return frames_refuse("record format %u of %d", format->kind, RECORD_KIND_COUNT);
    if (format->delimiter > UINT8_MAX || format->separator > UINT8_MAX)
        return frames_refuse("a delimiter or separator that is not a byte");
    if (format->kind == RECORD_FIXED && format->fixed_bytes == 0)
        return frames_refuse("records of no bytes");
    if (format->kind == RECORD_CSV && format->separator && format->separator <= UINT8_MAX &&
        strchr("\"\n\r", (int)format->separator))
        return frames_refuse("a quote or a line end between the fields of a row");
    return WEFT_OK;
}

static weft_err check_input(const Weft__Input *input, size_t index)
{
    if (!input->name[0])
        return frames_refuse("input %zu without a name", index);
    if (input->size > INT64_MAX)
        return frames_refuse("input %zu of %llu bytes", index, (unsigned long long)input->size);
    if (input->is_lent && !input->path[0])
        return frames_refuse("input %zu, which is lent, without a path", index);
    if (input->is_packed && (!input->is_lent || input->packed_at > INT64_MAX ||
                             input->file_size > INT64_MAX - input->packed_at))
        return frames_refuse("input %zu, which is at no place", index);
    if (input->codec > CODEC_KIND_COUNT)  // 0 is unknown, the others are one off
        return frames_refuse("codec %u of input %zu", input->codec, index);
    return WEFT_OK;
}

weft_err frames_check_job(const Weft__JobStart *start)
{
    if (start->slots < 1 || start->slots > SLOTS_MAX)
        return frames_refuse("%u slots, not 1 to %d", start->slots, SLOTS_MAX);
    if (start->worker_count > SCHED_WORKERS_MAX)
        return frames_refuse("%u workers, at most %d", start->worker_count, SCHED_WORKERS_MAX);
    if (!start->tmp[0])
        return frames_refuse("a job without a place for temporary files");
    if (start->text_form >= OUTPUT_FORMAT_COUNT)
        return frames_refuse("output format %u of %d", start->text_form, OUTPUT_FORMAT_COUNT);
    if (start->compress >= CODEC_FOREIGN)
        return frames_refuse("compression %u of %d", start->compress, CODEC_FOREIGN);
    if (start->n_inputs > UINT32_MAX)
        return frames_refuse("%zu inputs", start->n_inputs);
    weft_err code = check_format(start->format);
    for (size_t i = 0; i < start->n_inputs && code == WEFT_OK; i++)
        code = check_input(start->inputs[i], i);
    return code;
}

// ---- STAGE_OPEN

static weft_err check_counts(const Weft__StageOpen *open)
{
    // As many parts as map tasks: of an empty input Hadoop makes no file.
    if (open->is_map_only && open->map_count + open->part_count + open->range_count == 0)
        return WEFT_OK;
    if (open->part_count < 1 || open->part_count > PLAN_PARTS_MAX)
        return frames_refuse("%u parts, not 1 to %d", open->part_count, PLAN_PARTS_MAX);
    if (open->range_count < 1 || open->range_count > PLAN_RANGES_MAX ||
        open->range_count % open->part_count != 0)
        return frames_refuse("%u ranges of keys for %u parts", open->range_count, open->part_count);
    if (open->map_count > PLAN_MAPS_MAX)
        return frames_refuse("%u map tasks, at most %d", open->map_count, PLAN_MAPS_MAX);
    if (open->sample_count > PLAN_SAMPLES_MAX)
        return frames_refuse("%u sample tasks, at most %d", open->sample_count, PLAN_SAMPLES_MAX);
    return WEFT_OK;
}

static weft_err check_parts(const Weft__StageOpen *open)
{
    const size_t wanted = open->is_map_only ? open->map_count : 0;
    if (open->n_part_of_task != wanted)
        return frames_refuse("the parts of %zu tasks, not %zu", open->n_part_of_task, wanted);
    uint32_t before = 0;
    for (size_t i = 0; i < open->n_part_of_task; before = open->part_of_task[i++])
        if (open->part_of_task[i] >= open->part_count || open->part_of_task[i] < before)
            return frames_refuse("part %u of %u for task %zu, after part %u", open->part_of_task[i],
                                 open->part_count, i, before);
    return WEFT_OK;
}

static weft_err check_done(const Weft__StageOpen *open)
{
    const uint32_t piece_count = open->is_map_only ? open->map_count : open->range_count;
    if (open->n_done_bytes != open->n_done_pieces || open->n_done_crc != open->n_done_pieces)
        return frames_refuse("%zu finished pieces with %zu sizes and %zu checksums",
                             open->n_done_pieces, open->n_done_bytes, open->n_done_crc);
    uint64_t sum = 0;
    for (size_t i = 0; i < open->n_done_pieces; i++) {
        const uint32_t piece = open->done_pieces[i];
        if (piece >= piece_count || (i > 0 && piece <= open->done_pieces[i - 1]))
            return frames_refuse("finished piece %u of %u, out of order or not there", piece,
                                 piece_count);
        if (open->done_bytes[i] > INT64_MAX - sum)
            return frames_refuse("finished pieces of more than %lld bytes", (long long)INT64_MAX);
        sum += open->done_bytes[i];
    }
    return WEFT_OK;
}

static weft_err check_output(const struct told *told, const Weft__StageOpen *open, bool is_last)
{
    const Weft__Output *output = open->output;
    const Weft__OutputKind kind = output ? output->kind : WEFT__OUTPUT_KIND__OUTPUT_KEEP;
    switch (kind) {
    case WEFT__OUTPUT_KIND__OUTPUT_KEEP:
        return open->n_part_of_task || open->n_done_pieces || open->n_done_bytes || open->n_done_crc
                   ? frames_refuse("pieces of an output that there is not")
                   : WEFT_OK;
    case WEFT__OUTPUT_KIND__OUTPUT_FILE:
    case WEFT__OUTPUT_KIND__OUTPUT_PARTS:
        if (!output->path[0])
            return frames_refuse("an output without a path");
        break;
    case WEFT__OUTPUT_KIND__OUTPUT_SHELF:
        if (told->start->worker_count < 2)
            return frames_refuse("a shelf for workers that share nothing");
        break;
    case WEFT__OUTPUT_KIND__OUTPUT_FD:
        if (output->fd < 0 || output->fd == told->fd)
            return frames_refuse("descriptor %d as output", output->fd);
        break;
    default:
        return frames_refuse("an output of kind %d", (int)kind);
    }
    if (!is_last)
        return frames_refuse("an output of stage %u, which is not the last", open->stage);
    const weft_err code = check_parts(open);
    return code ? code : check_done(open);
}

static weft_err check_runs(const Weft__StageOpen *open)
{
    if (open->runs_directory[0] && open->stage > 0)
        return frames_refuse("map output of stage %u that is to be kept", open->stage);
    if (open->runs_identity.len > RUN_IDENTITY_BYTES_MAX)
        return frames_refuse("an identity of %zu bytes, at most %d", open->runs_identity.len,
                             RUN_IDENTITY_BYTES_MAX);
    return WEFT_OK;
}

weft_err frames_check_stage(const struct told *told, const Weft__StageOpen *open)
{
    const struct chain *chain = told->chain;
    const uint32_t stage_count = chain->stage_count + (told->start->top > 0);
    if (open->stage >= stage_count)
        return frames_refuse("stage %u of %u", open->stage, stage_count);
    const uint32_t job_index = chain_job_of_stage(chain, open->stage);
    if (open->job_index != job_index)
        return frames_refuse("job %u for stage %u, which is of job %u", open->job_index,
                             open->stage, job_index);
    const bool has_reduce =
        job_index >= chain->jobs.count || chain->jobs.items[job_index].reduce != NULL;
    if (!open->is_map_only && !has_reduce)
        return frames_refuse("a reduce of stage %u, which has none", open->stage);
    weft_err code = check_counts(open);
    if (code == WEFT_OK)
        code = check_output(told, open, open->stage + 1 == stage_count);
    return code ? code : check_runs(open);
}

// ---- TASK_RUN

static weft_err check_piece(const struct told *told, const Weft__TaskRun *run, size_t index)
{
    const Weft__Piece *piece = run->pieces[index];
    if (piece->input >= told->start->n_inputs)
        return frames_refuse("a piece of input %u of %zu", piece->input, told->start->n_inputs);
    const Weft__Input *input = told->start->inputs[piece->input];
    // A search for a record counts plain bytes, and the plain size of a compressed file is not
    // known.
    const bool is_open = run->purpose != WEFT__PURPOSE__PURPOSE_RUN && !input->is_indexed;
    if (piece->begin > piece->end || (piece->end > input->size && !is_open))
        return frames_refuse("bytes %llu to %llu of input %u, which has %llu",
                             (unsigned long long)piece->begin, (unsigned long long)piece->end,
                             piece->input, (unsigned long long)input->size);
    return WEFT_OK;
}

static weft_err check_skip(const struct told *told, const Weft__TaskRun *run, size_t index)
{
    const Weft__Place *place = run->skips[index], *before = index ? run->skips[index - 1] : place;
    if (place->input >= told->start->n_inputs)
        return frames_refuse("a record of input %u of %zu", place->input, told->start->n_inputs);
    const bool is_behind = place->input != before->input ? place->input > before->input
                                                         : place->offset >= before->offset;
    return is_behind ? WEFT_OK : frames_refuse("records to leave out that are not in order");
}

// Where workers share, a task says where the pairs are that it reads.
static weft_err check_source(const struct told *told, const Weft__TaskRun *run, bool reads_files)
{
    const bool needs_one =
        told->start->worker_count > 1 && !reads_files && run->kind != WEFT__TASK_KIND__TASK_REDUCE;
    if (!run->source != !needs_one)
        return frames_refuse(needs_one ? "a task that reads pairs from nowhere"
                                       : "pairs for a task that reads none");
    if (run->source && (!run->source->path[0] || run->source->size > INT64_MAX ||
                        run->source->offset > INT64_MAX - run->source->size))
        return frames_refuse("%llu bytes of pairs at byte %llu",
                             (unsigned long long)run->source->size,
                             (unsigned long long)run->source->offset);
    return WEFT_OK;
}

// The values of a task's items.
static weft_err check_values(const Weft__TaskRun *run, bool reads_files)
{
    if (!run->values)
        return WEFT_OK;
    if (!reads_files || run->kind != WEFT__TASK_KIND__TASK_MAP || !run->values->path[0])
        return frames_refuse("values for a task without items");
    return run->values->size > INT64_MAX || run->values->offset > INT64_MAX - run->values->size
               ? frames_refuse("%llu bytes of values at byte %llu",
                               (unsigned long long)run->values->size,
                               (unsigned long long)run->values->offset)
               : WEFT_OK;
}

weft_err frames_check_pieces(const struct told *told, const Weft__TaskRun *run)
{
    const bool reads_files = told->stage.number == 0 && run->kind != WEFT__TASK_KIND__TASK_REDUCE;
    if (!reads_files && (run->n_pieces || run->n_skips))
        return frames_refuse("pieces of files for a task that reads none");
    weft_err code = check_source(told, run, reads_files);
    if (code == WEFT_OK)
        code = check_values(run, reads_files);
    for (size_t i = 0; i < run->n_pieces && code == WEFT_OK; i++)
        code = check_piece(told, run, i);
    for (size_t i = 0; i < run->n_skips && code == WEFT_OK; i++)
        code = check_skip(told, run, i);
    return code;
}
