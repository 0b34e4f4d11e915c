// resume: a run that was ended goes on. What is safe (pieces of the output, map output of a
// checkpoint) is noted in a journal in the unfinished directory as it becomes so; the same command finds
// it there, checks it, and does what is missing.
//
// Nothing is waited for on the disk: after a power cut what was not written does not have its checksum,
// and is done again. So a run that is not ended pays for a few small writes, and for checkpoints, which are
// taken so seldom that they cost less than a fiftieth of the time.

#include "run/driver/driver_state.h"

#include "mapreduce/work/run/run_index.h"
#include "run/identity.h"
#include "store/journal.h"
#include "sys/file/own.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    CHECKPOINT_EVERY_MS = 5000,
    CHECKPOINT_COST_FACTOR = 60,  // so many times its cost passes before the next one
    TRIES_MAX = 20,               // to open a journal whose directory comes and goes
};

struct piece_record {
    uint32_t piece, crc32c;
    uint64_t bytes, records;
};

struct runs_head {
    uint64_t offset;
    uint32_t task_count, name_size;  // the name of the file follows
};

// ---- The same job? ------------------------------------------------------------------------------

weft_err driver_resume_check(struct driver *driver)
{
    struct driver_resume *resume = &driver->resume;
    if (!driver->output || !output_resume_place(driver->output))
        return WEFT_OK;
    weft_err code =
        identity_make(&resume->origin, driver->options, &driver->plan.chain, &driver->plan.inputs);
    if (code == WEFT_UNIMPLEMENTED) {
        err_clear();
        manifest_fini(&resume->origin);
        bool is_done;
        code = output_check_done(driver->output, false, &is_done);
        return code != WEFT_OK ? code : output_work_aside(driver->output);
    }
    if (code != WEFT_OK)
        return code;
    output_set_origin(driver->output, &resume->origin);
    code = output_check_done(driver->output, driver->options->skip_bad.is_set, &resume->is_done);
    if (resume->is_done && !driver->options->dry_run)
        output_tidy_done(driver->output);
    return code;
}

// ---- What the journal says ----------------------------------------------------------------------

static weft_err keep_runs(struct driver_resume *resume, const char *name, size_t name_size,
                          uint64_t offset)
{
    for (size_t i = 0; i < resume->runs.count; i++) {
        struct driver_runs *runs = &resume->runs.items[i];
        if (strlen(runs->name) == name_size && memcmp(runs->name, name, name_size) == 0) {
            runs->offset = offset;
            return WEFT_OK;
        }
    }
    const struct driver_runs runs = {strndup(name, name_size), offset};
    if (runs.name && VEC_PUSH(&resume->runs, runs))
        return WEFT_OK;
    free(runs.name);
    return err_no_memory("to resume");
}

static weft_err take_runs(struct driver_resume *resume, weft_bytes payload)
{
    struct runs_head head;
    if (payload.size < sizeof head)
        return WEFT_OK;
    memcpy(&head, payload.data, sizeof head);
    const char *name = payload.data + sizeof head;
    // A name, not a path: what is written in a file must not lead out of its directory.
    if (payload.size != sizeof head + head.name_size || memchr(name, '/', head.name_size))
        return WEFT_OK;
    resume->task_count += head.task_count;
    return keep_runs(resume, name, head.name_size, head.offset);
}

static weft_err take_record(void *owner, const struct journal_record *record)
{
    struct driver *driver = owner;
    struct driver_resume *resume = &driver->resume;
    struct piece_record piece;
    switch ((enum resume_record)record->type) {
    case RECORD_BEGIN:
        resume->has_begun = true;
        return manifest_parse(&resume->found, record->payload);
    case RECORD_PIECE:
        if (record->payload.size != sizeof piece)
            return WEFT_OK;
        memcpy(&piece, record->payload.data, sizeof piece);
        if (piece.piece < run_plan_last_stage(&driver->plan)->piece_count) {
            driver->pieces[piece.piece] = (struct output_piece){
                .bytes = piece.bytes, .crc32c = piece.crc32c, .is_done = true};
            driver->pieces[piece.piece].records = piece.records;
        }
        return WEFT_OK;
    case RECORD_RUNS:
        return take_runs(resume, record->payload);
    case RECORD_BAD:
    case RECORD_LEFT_OUT:
    case RECORD_READ:
        return driver_resume_take_bad(driver, (enum resume_record)record->type, record->payload);
    case RECORD_COUNTS:
        return driver_resume_take_counts(driver, record->payload);
    }
    return WEFT_OK;
}

// ---- Opening it ---------------------------------------------------------------------------------

static void forget_found(struct driver *driver);

static weft_err name_in_place(const struct driver *driver, const char *name, struct buf *path)
{
    buf_format(path, "%s/%s", output_resume_place(driver->output), name);
    return path->has_failed ? err_no_memory("to resume") : WEFT_OK;
}

static weft_err open_journal(struct driver *driver)
{
    struct driver_resume *resume = &driver->resume;
    struct buf path = {0};
    const struct journal_options options = {.keeps_good_prefix = true};
    weft_err code = name_in_place(driver, OUTPUT_JOURNAL, &path);
    // Another run may come to its end just now, and take the directory from under us.
    for (int tries = 0; code == WEFT_OK && !resume->journal; tries++) {
        code = output_make_unfinished(driver->output);
        if (code == WEFT_OK)
            code = own_make_directory(buf_text(&path));
        if (code == WEFT_OK)
            code = journal_open(&resume->journal, buf_text(&path), "run", &options, take_record,
                                driver, NULL);
        if (code == WEFT_NOT_FOUND && tries < TRIES_MAX)
            code = WEFT_OK;
    }
    buf_fini(&path);
    return code;
}

void driver_resume_look(struct driver *driver)
{
    struct buf path = {0};
    struct buf why = {0};
    if (driver->output && output_resume_place(driver->output) &&
        name_in_place(driver, OUTPUT_JOURNAL, &path) == WEFT_OK &&
        (journal_read(buf_text(&path), "run", &(struct journal_options){.keeps_good_prefix = true},
                      take_record, driver, NULL) != WEFT_OK ||
         !manifest_is_same(&driver->resume.found, &driver->resume.origin, &why)))
        forget_found(driver);
    err_clear();
    buf_fini(&why);
    buf_fini(&path);
}

static void forget_found(struct driver *driver)
{
    struct driver_resume *resume = &driver->resume;
    for (size_t i = 0; i < resume->runs.count; i++)
        free(resume->runs.items[i].name);
    resume->runs.count = resume->left_out.count = resume->task_count = 0;
    bad_records_forget_found(&driver->bad);
    resume->has_begun = false;
    manifest_fini(&resume->found);
    const uint32_t count = run_plan_last_stage(&driver->plan)->piece_count;
    for (uint32_t i = 0; i < count; i++)
        driver->pieces[i] = (struct output_piece){0};
    for (size_t i = 0; i < driver->tally.task_count; i++)
        tally_drop(&driver->tally, i);
}

// Another job's work, or that of this one over other inputs; with --force anybody's.
static weft_err refuse_or_remove(struct driver *driver, const char *why)
{
    const char *place = output_resume_place(driver->output);
    if (!driver->options->force)
        return err_set(WEFT_ALREADY_EXISTS,
                       "an unfinished output is in the way: %s\n  %s\n  try: --force to throw it "
                       "away, or another name",
                       place, why);
    // Under the lock, if it could be had: another run may be waiting for the place.
    const weft_err removed = output_discard_unfinished(driver->output);
    const weft_err code = journal_close(driver->resume.journal);
    driver->resume.journal = NULL;
    forget_found(driver);
    return removed != WEFT_OK ? removed : code != WEFT_OK ? code : open_journal(driver);
}

static weft_err begin_journal(struct driver *driver)
{
    struct driver_resume *resume = &driver->resume;
    struct buf text = {0}, path = {0};
    resume->origin.job = strdup(driver->plan.chain.jobs.items[0].name);
    manifest_format(&text, &resume->origin);
    weft_err code =
        text.has_failed || !resume->origin.job ? err_no_memory("for a journal") : WEFT_OK;
    if (code == WEFT_OK && !resume->has_begun)
        code = journal_append(resume->journal, RECORD_BEGIN, buf_bytes(&text));
    if (code == WEFT_OK)
        code = journal_flush(resume->journal);
    if (code == WEFT_OK)
        code = name_in_place(driver, OUTPUT_RUNS, &path);
    if (code == WEFT_OK)
        code = own_make_directory(buf_text(&path));
    buf_fini(&text);
    buf_fini(&path);
    return code;
}

static bool is_ours(const struct driver *driver, struct buf *why)
{
    const struct driver_resume *resume = &driver->resume;
    bool has_left_out = driver->bad.found.count > 0;
    for (size_t i = 0; i < resume->left_out.count; i++)
        has_left_out = has_left_out || !resume->left_out.items[i].is_read;
    if (!has_left_out || driver->options->skip_bad.is_set)
        return manifest_is_same(&resume->found, &resume->origin, why);
    buf_format(why, "bad records were left out of it, by --skip-bad");
    return false;
}

weft_err driver_resume_open(struct driver *driver)
{
    struct driver_resume *resume = &driver->resume;
    if (!output_resume_place(driver->output))
        return WEFT_OK;
    weft_err code = open_journal(driver);
    // A journal of a newer weft, or none at all, is in the way like that of another job.
    if (code == WEFT_FAILED_PRECONDITION || code == WEFT_DATA_LOSS) {
        char why[ERR_TEXT_BYTES_MAX];
        snprintf(why, sizeof why, "%s", err_text());
        code = refuse_or_remove(driver, why);
    }
    struct buf why = {0};
    if (code == WEFT_OK && resume->has_begun && (driver->options->force || !is_ours(driver, &why)))
        code = refuse_or_remove(driver, buf_text(&why));
    buf_fini(&why);
    if (code == WEFT_UNAVAILABLE) {
        err_clear();
        forget_found(driver);
        return output_work_aside(driver->output);
    }
    return code == WEFT_OK ? begin_journal(driver) : code;
}

// ---- Checking and taking over what there is -----------------------------------------------------

static void restore(struct driver *driver, uint32_t stage, enum sched_kind kind, uint32_t task)
{
    const struct sched_event event = {.type = EVENT_TASK_RESTORED,
                                      .at = {.kind = kind, .task = task, .stage = stage}};
    driver_step(driver, &event);
    driver->summary.resumed_count++;
    driver->resume.has_progress = true;
}

static weft_err restore_pieces(struct driver *driver)
{
    const uint32_t last = driver->plan.stage_count - 1;
    const struct run_stage *stage = &driver->plan.stages[last];
    output_check_pieces(driver->output, driver->pieces);
    weft_err code = WEFT_OK;
    for (uint32_t i = 0; i < stage->piece_count && code == WEFT_OK; i++) {
        const struct output_piece *piece = &driver->pieces[i];
        if (!piece->is_done)
            continue;
        restore(driver, last, stage->is_map_only ? SCHED_MAP : SCHED_REDUCE, i);
        code =
            output_piece_committed(driver->output, i, piece->bytes, piece->crc32c, piece->records);
    }
    return code;
}

// A task is taken over once: runs that were damaged when its output was made again may be sound now.
static bool is_usable(const struct driver *driver, const struct run_index *index)
{
    bool is_new = index->range_count == driver->plan.stages[0].range_count;
    for (uint32_t i = 0; i < index->task_count; i++)
        is_new = is_new && index->tasks[i] < driver->plan.stages[0].map_count &&
                 sched_task_state(driver->sched, 0, SCHED_MAP, index->tasks[i]) != SCHED_COMMITTED;
    return is_new;
}

// Damaged ones are dropped: their tasks are done again.
static void restore_runs(struct driver *driver)
{
    struct driver_resume *resume = &driver->resume;
    const weft_bytes identity = weft_text(resume->origin.identity);
    size_t kept = 0;
    for (size_t i = 0; i < resume->runs.count; i++) {
        struct driver_runs *runs = &resume->runs.items[i];
        struct run_index *index = NULL;
        struct buf path = {0};
        buf_format(&path, "%s/%s/%s", output_resume_place(driver->output), OUTPUT_RUNS, runs->name);
        const bool is_good =
            run_index_open(&index, buf_text(&path), runs->offset, identity, true) == WEFT_OK &&
            is_usable(driver, index);
        for (uint32_t t = 0; is_good && t < index->task_count; t++)
            restore(driver, 0, SCHED_MAP, index->tasks[t]);
        run_index_close(index);
        buf_fini(&path);
        if (is_good)
            resume->runs.items[kept++] = *runs;
        else
            free(runs->name);
    }
    resume->runs.count = kept;
    err_clear();
}

weft_err driver_resume_restore(struct driver *driver)
{
    if (!driver->resume.journal)
        return WEFT_OK;
    const weft_err code = restore_pieces(driver);
    if (code == WEFT_OK && !driver->plan.stages[0].is_map_only)
        restore_runs(driver);
    return code == WEFT_OK ? driver_resume_restore_bad(driver) : code;
}

// ---- Noting what is safe now --------------------------------------------------------------------

weft_err driver_resume_note_task(struct driver *driver, uint32_t stage, enum sched_kind kind,
                                 uint32_t task)
{
    if (!driver->resume.journal)
        return WEFT_OK;
    const weft_err code = driver_resume_note_counts(driver, stage, kind, task);
    const bool may_leave_out = stage == 0 && kind == SCHED_MAP;
    return code == WEFT_OK && may_leave_out ? driver_resume_note_left_out(driver, task) : code;
}

weft_err driver_resume_note_piece(struct driver *driver, uint32_t piece)
{
    struct driver_resume *resume = &driver->resume;
    const struct output_piece *one = &driver->pieces[piece];
    const struct piece_record record = {piece, one->crc32c, one->bytes, one->records};
    if (!resume->journal)
        return WEFT_OK;
    resume->has_progress = true;
    const uint32_t last = driver->plan.stage_count - 1;
    weft_err code = driver_resume_note_task(
        driver, last, driver->plan.stages[last].is_map_only ? SCHED_MAP : SCHED_REDUCE, piece);
    if (code == WEFT_OK)
        code = journal_append(resume->journal, RECORD_PIECE,
                              (weft_bytes){(const char *)&record, sizeof record});
    return code == WEFT_OK ? journal_flush(resume->journal) : code;
}

static weft_err note_runs(struct driver *driver, const Weft__Checkpointed *done)
{
    struct driver_resume *resume = &driver->resume;
    const char *slash = strrchr(done->path, '/');
    const char *name = slash ? slash + 1 : done->path;
    const struct runs_head head = {done->offset, (uint32_t)done->n_tasks, (uint32_t)strlen(name)};
    struct buf payload = {0};
    buf_append(&payload, &head, sizeof head);
    buf_append_text(&payload, name);
    weft_err code = payload.has_failed ? err_no_memory("for a journal")
                                       : keep_runs(resume, name, head.name_size, done->offset);
    for (size_t i = 0; i < done->n_tasks && code == WEFT_OK; i++)
        code = driver_resume_note_task(driver, 0, SCHED_MAP, done->tasks[i]);
    if (code == WEFT_OK)
        code = journal_append(resume->journal, RECORD_RUNS, buf_bytes(&payload));
    if (code == WEFT_OK)
        code = journal_flush(resume->journal);
    buf_fini(&payload);
    resume->has_progress = driver->summary.has_checkpoints = true;
    return code;
}

static void wait_for_next(struct driver *driver);

void driver_resume_take(struct driver *driver, const Weft__Checkpointed *done)
{
    struct driver_resume *resume = &driver->resume;
    weft_err code = WEFT_OK;
    if (done->n_tasks && resume->journal)
        code = note_runs(driver, done);
    if (code != WEFT_OK) {
        driver_fail(driver, code);
        return;
    }
    // Not the time until it came: a slot ends its task first.
    const uint64_t cost_ms = done->nanoseconds / 1000000;
    if (cost_ms > resume->cost_ms) {
        resume->cost_ms = cost_ms;
        wait_for_next(driver);
    }
    for (size_t i = 0; i < done->n_tasks; i++) {
        const struct sched_event event = {.type = EVENT_TASK_COMMITTED,
                                          .worker = driver->worker,
                                          .at = {.kind = SCHED_MAP, .task = done->tasks[i]},
                                          .is_durable = true};
        driver_step(driver, &event);
    }
    const struct sched_event event = {
        .type = EVENT_CHECKPOINTED, .worker = driver->worker, .at = {.slot = done->slot}};
    driver_step(driver, &event);
}

// ---- When ---------------------------------------------------------------------------------------

static void take_time(void *owner);

static void wait_for_next(struct driver *driver)
{
    struct driver_resume *resume = &driver->resume;
    const uint64_t pause_ms = resume->cost_ms * CHECKPOINT_COST_FACTOR;
    loop_timer_free(resume->timer);
    resume->timer =
        loop_timer_new(driver->loop, pause_ms > resume->every_ms ? pause_ms : resume->every_ms, 0,
                       take_time, driver);
}

static void take_time(void *owner)
{
    struct driver *driver = owner;
    if (driver->is_over || driver->is_done)
        return;
    driver->resume.cost_ms = 0;  // that of the dearest slot
    wait_for_next(driver);
    if (sched_stage(driver->sched) == 0)  // later stages read what only their worker has
        driver_step(driver, &(struct sched_event){.type = EVENT_CHECKPOINT});
}

void driver_resume_start(struct driver *driver)
{
    struct driver_resume *resume = &driver->resume;
    const char *every = getenv("WEFT_CHECKPOINT_MS");  // for tests
    resume->every_ms = every ? strtoull(every, NULL, 10) : CHECKPOINT_EVERY_MS;
    if (resume->journal && !driver->plan.stages[0].is_map_only)
        wait_for_next(driver);
}

void driver_resume_end(struct driver *driver, bool is_kept)
{
    struct driver_resume *resume = &driver->resume;
    loop_timer_free(resume->timer);
    resume->timer = NULL;
    if (is_kept && resume->journal && resume->has_progress) {
        output_keep_unfinished(driver->output);
        const size_t length = strlen(driver->error);
        snprintf(driver->error + length, sizeof driver->error - length,
                 "\n  finished work is kept: the same command continues it, --force starts again");
    }
    // What goes goes under the lock: the next run may be waiting for the place.
    if (resume->journal)
        output_abort(driver->output);
    if (resume->journal && journal_close(resume->journal) != WEFT_OK)
        err_clear();  // what it could not write is done again
    resume->journal = NULL;
}

void driver_resume_free(struct driver *driver)
{
    struct driver_resume *resume = &driver->resume;
    for (size_t i = 0; i < resume->runs.count; i++)
        free(resume->runs.items[i].name);
    VEC_FINI(&resume->runs);
    VEC_FINI(&resume->left_out);
    manifest_fini(&resume->origin);
    manifest_fini(&resume->found);
}
