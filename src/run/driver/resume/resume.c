// Identity, journal, pieces, and when checkpoints are due.
//
// No write waits for the disk: after a power cut, records that were not written do not have their checksum, and their
// work is done again. So a run that is not interrupted pays for a few small writes, and for checkpoints, which are
// taken so seldom that they cost less than a fiftieth of the time.

#include "run/driver/resume/resume_state.h"

#include "run/identity.h"
#include "store/journal/journal.h"
#include "sys/file/own.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    CHECKPOINT_EVERY_MS = 5000,
    CHECKPOINT_COST_FACTOR = 60,  // the time until the next one, in times its cost
    TRIES_MAX = 20,               // to open a journal whose directory comes and goes
};

struct piece_record {
    uint32_t piece, crc32c;
    uint64_t bytes, records;
};

// ---- The same job? ------------------------------------------------------------------------------

weft_err resume_check(struct resume *resume, struct output *output)
{
    resume->output = output;
    if (!resume->output || !output_resume_place(resume->output))
        return WEFT_OK;
    weft_err code = identity_make(&resume->origin, resume->options.plan->options,
                                  &resume->options.plan->chain, &resume->options.plan->inputs);
    if (code == WEFT_UNIMPLEMENTED) {
        err_clear();
        manifest_fini(&resume->origin);
        bool is_done;
        code = output_check_done(resume->output, false, &is_done);
        return code != WEFT_OK ? code : output_work_aside(resume->output);
    }
    if (code != WEFT_OK)
        return code;
    output_set_origin(resume->output, &resume->origin);
    code = output_check_done(resume->output, resume->options.plan->options->skip_bad.is_set,
                             &resume->is_done);
    if (resume->options.plan->options->dry_run || code != WEFT_OK)
        return code;
    if (!resume->is_done)
        return output_find_earlier(resume->output);
    output_tidy_done(resume->output);
    return WEFT_OK;
}

// ---- What the journal says ----------------------------------------------------------------------

static weft_err take_record(void *owner, const struct journal_record *record)
{
    struct resume *resume = owner;
    struct piece_record piece;
    switch ((enum resume_record)record->type) {
    case RECORD_BEGIN:
        resume->has_begun = true;
        return manifest_parse(&resume->found, record->payload);
    case RECORD_PIECE:
        if (record->payload.size != sizeof piece)
            return WEFT_OK;
        memcpy(&piece, record->payload.data, sizeof piece);
        if (piece.piece < run_plan_last_stage(resume->options.plan)->piece_count) {
            resume->pieces[piece.piece] = (struct output_piece){
                .bytes = piece.bytes, .crc32c = piece.crc32c, .is_done = true};
            resume->pieces[piece.piece].records = piece.records;
        }
        return WEFT_OK;
    case RECORD_RUNS:
        return resume_take_runs(resume, record->payload);
    case RECORD_BAD:
    case RECORD_LEFT_OUT:
    case RECORD_READ:
        return resume_take_bad(resume, (enum resume_record)record->type, record->payload);
    case RECORD_COUNTS:
        return resume_take_counts(resume, record->payload);
    case RECORD_CUTS:
        return resume_take_cuts(resume, record->payload);
    case RECORD_RUN:
    case RECORD_ENTRANCE:
    case RECORD_HOLDER:
        return resume_take_far(resume, (enum resume_record)record->type, record->payload);
    }
    return WEFT_OK;
}

// ---- Opening it ---------------------------------------------------------------------------------

static void forget_found(struct resume *resume);

static weft_err name_in_place(const struct resume *resume, const char *name, struct buf *path)
{
    buf_format(path, "%s/%s", output_resume_place(resume->output), name);
    return path->has_failed ? err_no_memory("to resume") : WEFT_OK;
}

static weft_err open_journal(struct resume *resume)
{
    struct buf path = {0};
    const struct journal_options options = {.keeps_good_prefix = true};
    weft_err code = name_in_place(resume, OUTPUT_JOURNAL, &path);
    // Another run may come to its end just now, and take the directory from under us.
    for (int tries = 0; code == WEFT_OK && !resume->journal; tries++) {
        code = output_make_unfinished(resume->output);
        if (code == WEFT_OK)
            code = own_make_directory(buf_text(&path));
        if (code == WEFT_OK)
            code = journal_open(&resume->journal, buf_text(&path), "run", &options, take_record,
                                resume, NULL);
        if (code == WEFT_NOT_FOUND && tries < TRIES_MAX)
            code = WEFT_OK;
    }
    buf_fini(&path);
    return code;
}

void resume_look(struct resume *resume, struct output_piece *pieces)
{
    resume->pieces = pieces;
    struct buf path = {0};
    struct buf why = {0};
    if (resume->output && output_resume_place(resume->output) &&
        name_in_place(resume, OUTPUT_JOURNAL, &path) == WEFT_OK &&
        (journal_read(buf_text(&path), "run", &(struct journal_options){.keeps_good_prefix = true},
                      take_record, resume, NULL) != WEFT_OK ||
         !manifest_is_same(&resume->found, &resume->origin, &why)))
        forget_found(resume);
    err_clear();
    buf_fini(&why);
    buf_fini(&path);
}

static void forget_found(struct resume *resume)
{
    resume_forget_runs(resume);
    resume_forget_cuts(resume);
    resume_forget_far(resume);
    resume->left_out.count = resume->task_count = 0;
    bad_records_forget_found(resume->options.bad);
    resume->has_begun = false;
    manifest_fini(&resume->found);
    const uint32_t count = run_plan_last_stage(resume->options.plan)->piece_count;
    for (uint32_t i = 0; i < count; i++)
        resume->pieces[i] = (struct output_piece){0};
    for (size_t i = 0; i < resume->options.tally->task_count; i++)
        tally_drop(resume->options.tally, i);
}

// Another job's work, or that of this one over other inputs; with --force anybody's.
static weft_err refuse_or_remove(struct resume *resume, const char *why)
{
    const char *place = output_resume_place(resume->output);
    if (!resume->options.plan->options->force)
        return err_set(WEFT_ALREADY_EXISTS,
                       "an unfinished output is in the way: %s\n  %s\n  try: --force to throw it "
                       "away, or another name",
                       place, why);
    // Under the lock, if it could be had: another run may be waiting for the place.
    const weft_err removed = output_discard_unfinished(resume->output);
    const weft_err code = journal_close(resume->journal);
    resume->journal = NULL;
    forget_found(resume);
    return removed != WEFT_OK ? removed : code != WEFT_OK ? code : open_journal(resume);
}

static weft_err begin_journal(struct resume *resume)
{
    struct buf text = {0}, path = {0};
    resume->origin.job = strdup(resume->options.plan->chain.jobs.items[0].name);
    manifest_format(&text, &resume->origin);
    weft_err code =
        text.has_failed || !resume->origin.job ? err_no_memory("for a journal") : WEFT_OK;
    if (code == WEFT_OK && !resume->has_begun)
        code = journal_append(resume->journal, RECORD_BEGIN, buf_bytes(&text));
    if (code == WEFT_OK)
        code = journal_flush(resume->journal);
    if (code == WEFT_OK)
        code = name_in_place(resume, OUTPUT_RUNS, &path);
    if (code == WEFT_OK)
        code = own_make_directory(buf_text(&path));
    buf_fini(&text);
    buf_fini(&path);
    return code;
}

static bool is_ours(const struct resume *resume, struct buf *why)
{
    bool has_left_out = resume->options.bad->found.count > 0;
    for (size_t i = 0; i < resume->left_out.count; i++)
        has_left_out = has_left_out || !resume->left_out.items[i].is_read;
    if (!has_left_out || resume->options.plan->options->skip_bad.is_set)
        return manifest_is_same(&resume->found, &resume->origin, why);
    buf_format(why, "bad records were left out of it, by --skip-bad");
    return false;
}

// Whether the journal has finished work, which outlives this run even if it fails before it has looked at the files.
static bool has_found_work(const struct resume *resume)
{
    const uint32_t count = run_plan_last_stage(resume->options.plan)->piece_count;
    bool has_any = resume->runs.count > 0 || resume->holders.count > 0;
    for (uint32_t i = 0; i < count; i++)
        has_any = has_any || resume->pieces[i].is_done;
    return has_any;
}

weft_err resume_open(struct resume *resume, struct output_piece *pieces)
{
    resume->pieces = pieces;
    if (!output_resume_place(resume->output))
        return WEFT_OK;
    weft_err code = output_bring_earlier(resume->output);
    if (code == WEFT_OK)
        code = open_journal(resume);
    // A journal of a newer weft, or none at all, is in the way like that of another job.
    if (code == WEFT_FAILED_PRECONDITION || code == WEFT_DATA_LOSS) {
        char why[ERR_TEXT_BYTES_MAX];
        snprintf(why, sizeof why, "%s", err_text());
        code = refuse_or_remove(resume, why);
    }
    struct buf why = {0};
    if (code == WEFT_OK && resume->has_begun &&
        (resume->options.plan->options->force || !is_ours(resume, &why)))
        code = refuse_or_remove(resume, buf_text(&why));
    buf_fini(&why);
    // Clients that join this one would be missing there.
    if (code == WEFT_UNAVAILABLE && run_plan_is_far(resume->options.plan))
        return err_set(WEFT_ALREADY_EXISTS,
                       "another run is at work on %s\n  try: another name, or wait until it has "
                       "ended",
                       resume->options.plan->options->output);
    if (code == WEFT_UNAVAILABLE) {
        err_clear();
        forget_found(resume);
        return output_work_aside(resume->output);
    }
    if (code == WEFT_OK)
        resume->has_progress = has_found_work(resume);
    return code == WEFT_OK ? begin_journal(resume) : code;
}

// ---- Checking and taking over finished work -----------------------------------------------------

void resume_restore_task(struct resume *resume, uint32_t stage, enum sched_kind kind, uint32_t task)
{
    resume->restored_count++;
    resume->has_progress = true;
    resume->options.calls->restored(resume->options.owner, stage, kind, task);
}

static weft_err restore_pieces(struct resume *resume)
{
    const uint32_t last = resume->options.plan->stage_count - 1;
    const struct run_stage *stage = &resume->options.plan->stages[last];
    weft_err code = output_check_pieces(resume->output, resume->pieces);
    for (uint32_t i = 0; i < stage->piece_count && code == WEFT_OK; i++) {
        const struct output_piece *piece = &resume->pieces[i];
        if (!piece->is_done)
            continue;
        resume_restore_task(resume, last, run_stage_output_kind(stage), i);
        code =
            output_piece_committed(resume->output, i, piece->bytes, piece->crc32c, piece->records);
    }
    return code;
}

weft_err resume_restore(struct resume *resume)
{
    if (!resume->journal)
        return WEFT_OK;
    weft_err code = restore_pieces(resume);
    resume_restore_samples(resume);
    if (!resume_keeps_runs(resume))
        resume_forget_runs(resume);  // clients could not read them
    if (code == WEFT_OK && !resume->options.plan->stages[0].is_map_only)
        code = resume_restore_runs(resume);
    return code == WEFT_OK ? resume_restore_bad(resume) : code;
}

// ---- Noting finished work -----------------------------------------------------------------------

weft_err resume_note_task(struct resume *resume, uint32_t stage, enum sched_kind kind,
                          uint32_t task)
{
    if (!resume->journal)
        return WEFT_OK;
    const weft_err code = resume_note_counts(resume, stage, kind, task);
    const bool may_leave_out = stage == 0 && kind == SCHED_MAP;
    return code == WEFT_OK && may_leave_out ? resume_note_left_out(resume, task) : code;
}

weft_err resume_note_piece(struct resume *resume, uint32_t piece)
{
    const struct output_piece *one = &resume->pieces[piece];
    const struct piece_record record = {piece, one->crc32c, one->bytes, one->records};
    if (!resume->journal)
        return WEFT_OK;
    resume->has_progress = true;
    const uint32_t last = resume->options.plan->stage_count - 1;
    weft_err code = resume_note_task(
        resume, last, run_stage_output_kind(&resume->options.plan->stages[last]), piece);
    if (code == WEFT_OK)
        code = journal_append(resume->journal, RECORD_PIECE,
                              (weft_bytes){(const char *)&record, sizeof record});
    return code == WEFT_OK ? journal_flush(resume->journal) : code;
}

static void wait_for_next(struct resume *resume);

weft_err resume_note_checkpoint(struct resume *resume, const Weft__Checkpointed *done,
                                uint32_t worker)
{
    weft_err code = WEFT_OK;
    if (done->n_tasks && resume_keeps_runs(resume))
        code = resume_note_runs(resume, done, worker);
    if (code != WEFT_OK)
        return code;
    // Not the time until it came: a slot ends its task first.
    const uint64_t cost_ms = done->nanoseconds / 1000000;
    if (cost_ms > resume->cost_ms) {
        resume->cost_ms = cost_ms;
        wait_for_next(resume);
    }
    return WEFT_OK;
}

// ---- When ---------------------------------------------------------------------------------------

static void take_time(void *owner);

static void wait_for_next(struct resume *resume)
{
    const uint64_t pause_ms = resume->cost_ms * CHECKPOINT_COST_FACTOR;
    loop_timer_free(resume->timer);
    resume->timer = loop_timer_new(resume->options.loop,
                                   pause_ms > resume->every_ms ? pause_ms : resume->every_ms, 0,
                                   take_time, resume);
}

static void take_time(void *owner)
{
    struct resume *resume = owner;
    if (resume->is_stopped)
        return;
    resume->cost_ms = 0;  // that of the dearest slot
    wait_for_next(resume);
    resume->options.calls->due(resume->options.owner);
}

void resume_start(struct resume *resume)
{
    const char *every = getenv("WEFT_CHECKPOINT_MS");  // for tests
    resume->every_ms = every ? strtoull(every, NULL, 10) : CHECKPOINT_EVERY_MS;
    const struct run_plan *plan = resume->options.plan;
    if (run_plan_is_far(plan) || (resume->journal && !plan->stages[0].is_map_only))
        wait_for_next(resume);
}

void resume_stop(struct resume *resume)
{
    resume->is_stopped = true;
}

// ---- Its life -----------------------------------------------------------------------------------

bool resume_end(struct resume *resume, bool may_keep)
{
    const bool is_kept = may_keep && resume->journal && resume->has_progress;
    loop_timer_free(resume->timer);
    resume->timer = NULL;
    if (is_kept)
        output_keep_unfinished(resume->output);
    // What goes goes under the lock: the next run may be waiting for the place.
    if (resume->journal)
        output_abort(resume->output);
    if (resume->journal && journal_close(resume->journal) != WEFT_OK)
        err_clear();  // work whose records it could not write is done again
    resume->journal = NULL;
    return is_kept;
}

struct resume *resume_new(const struct resume_options *options)
{
    struct resume *resume = calloc(1, sizeof *resume);
    if (resume)
        resume->options = *options;
    else
        (void)err_no_memory("to resume");
    return resume;
}

void resume_free(struct resume *resume)
{
    if (!resume)
        return;
    resume_forget_runs(resume);
    resume_forget_cuts(resume);
    resume_forget_far(resume);
    VEC_FINI(&resume->holders);
    VEC_FINI(&resume->runs);
    VEC_FINI(&resume->cuts);
    VEC_FINI(&resume->left_out);
    manifest_fini(&resume->origin);
    manifest_fini(&resume->found);
    free(resume);
}

bool resume_is_done(const struct resume *resume)
{
    return resume->is_done;
}

uint32_t resume_task_count(const struct resume *resume)
{
    return resume->task_count;
}

uint32_t resume_restored_count(const struct resume *resume)
{
    return resume->restored_count;
}

bool resume_has_checkpoints(const struct resume *resume)
{
    return resume->has_checkpoints;
}
