// probe: looking for the record that makes a task fail.
//
//   a task is stuck -> its input is bisected -> the record is shown -> it is left out, or the job ends
//
// Tries run in a worker of their own, one slot, beside the one at work: a record that crashes it costs
// nobody else anything. One task is looked into at a time, the others wait.

#include "run/answers.h"
#include "run/driver/driver_state.h"

#include "base/text.h"
#include "run/replay.h"
#include "sys/process/signals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN_BYTES = 100 };  // of a record, in a sentence

static void begin_next(struct driver *driver);
static void go_on(struct driver *driver);

// ---- Where harm was seen ------------------------------------------------------------------------

void driver_note_harm(struct driver *driver, const struct sched_attempt *at, uint32_t input,
                      uint64_t offset, uint64_t fed_end)
{
    const struct driver_harm harm = {at->kind, at->task, {input, offset}, fed_end};
    for (size_t i = 0; i < driver->harms.count; i++) {
        struct driver_harm *known = &driver->harms.items[i];
        if (known->kind == at->kind && known->task == at->task) {
            *known = harm;
            return;
        }
    }
    (void)VEC_PUSH(&driver->harms, harm);  // without it the search takes longer
}

void driver_note_harm_of_attempt(struct driver *driver, const struct agent_attempt *at)
{
    const struct sched_attempt task = {(enum sched_kind)at->kind, at->task, at->attempt, at->slot,
                                       sched_stage(driver->sched)};
    if (sched_stage(driver->sched) == 0 && at->kind != SCHED_REDUCE)
        driver_note_harm(driver, &task, at->input, at->offset, at->fed_end);
}

static const struct driver_harm *find_harm(const struct driver *driver,
                                           const struct sched_attempt *at)
{
    for (size_t i = 0; i < driver->harms.count; i++)
        if (driver->harms.items[i].kind == at->kind && driver->harms.items[i].task == at->task)
            return &driver->harms.items[i];
    return NULL;
}

// ---- The input of a task as one line of bytes ---------------------------------------------------

static bool add_range(struct driver_probe *probe, struct plan_piece piece, uint64_t *size)
{
    if (piece.begin == piece.end)
        return true;
    *size += piece.end - piece.begin;
    return VEC_PUSH(&probe->ranges, piece);
}

// All pieces up to the one where harm was seen; of that one what had been given to the job.
static uint64_t list_ranges(struct driver *driver, const struct driver_harm *harm, uint64_t *guess)
{
    struct driver_probe *probe = &driver->probe;
    size_t count = 1;
    const struct plan_piece *pieces = &driver->plan.split.samples[probe->at.task];
    if (probe->at.kind == SCHED_MAP)
        pieces = plan_pieces(&driver->plan.split, probe->at.task, &count);
    const bool takes_records = driver->plan.chain.jobs.items[0].map;
    uint64_t size = 0;
    *guess = BISECT_NO_GUESS;
    probe->ranges.count = 0;
    for (size_t i = 0; i < count; i++) {
        struct plan_piece piece = pieces[i];
        const bool is_seen = harm && harm->place.input == piece.input;
        const struct input_look *look = &driver->plan.looks[piece.input];
        // What is compressed goes further than its size says, and begins at its front.
        if (is_seen && harm->fed_end > piece.begin &&
            (harm->fed_end < piece.end || (!look->is_indexed && look->codec != CODEC_NONE + 1)))
            piece.end = harm->fed_end;
        const uint64_t at = is_seen ? harm->place.offset : 0;
        if (is_seen && takes_records && at >= piece.begin && at < piece.end)
            *guess = size + at - piece.begin;
        if (!add_range(probe, piece, &size))
            return 0;
        if (is_seen)
            break;
    }
    return size;
}

// The stretch of the line as pieces; returns how many.
static size_t cut_ranges(const struct driver_probe *probe, uint64_t begin, uint64_t end,
                         Weft__Piece *pieces)
{
    size_t count = 0;
    uint64_t at = 0;
    for (size_t i = 0; i < probe->ranges.count; i++) {
        const struct plan_piece *range = &probe->ranges.items[i];
        const uint64_t size = range->end - range->begin;
        const uint64_t from = begin > at ? begin - at : 0;
        const uint64_t to = end < at + size ? (end > at ? end - at : 0) : size;
        if (from < to) {
            weft__piece__init(&pieces[count]);
            pieces[count].input = range->input;
            pieces[count].begin = range->begin + from;
            pieces[count++].end = range->begin + to;
        }
        at += size;
    }
    return count;
}

// ---- Tries --------------------------------------------------------------------------------------

static weft_err send_stage(struct driver_probe *probe)
{
    Weft__StageOpen open = WEFT__STAGE_OPEN__INIT;
    Weft__Output output = WEFT__OUTPUT__INIT;
    open.part_count = open.range_count = open.map_count = 1;
    open.is_map_only = true;  // nothing is kept of what it emits
    open.output = &output;
    return agent_send(&probe->agent, WEFT__FRAME_TYPE__FRAME_STAGE_OPEN, &open.base);
}

static weft_err send_try(struct driver *driver)
{
    struct driver_probe *probe = &driver->probe;
    uint64_t begin = probe->bisect.begin, end = begin + 1;
    if (!probe->is_looking)
        bisect_next(&probe->bisect, &begin, &end);
    Weft__Piece *pieces = malloc((probe->ranges.count + 1) * sizeof *pieces);
    Weft__Piece **list = malloc((probe->ranges.count + 1) * sizeof *list);
    weft_err code = pieces && list ? WEFT_OK : err_no_memory("to look for a bad record");
    Weft__TaskRun run = WEFT__TASK_RUN__INIT;
    run.kind = WEFT__TASK_KIND__TASK_MAP;
    run.purpose = probe->is_looking ? WEFT__PURPOSE__PURPOSE_LOOK : WEFT__PURPOSE__PURPOSE_PROBE;
    if (code == WEFT_OK) {
        run.n_pieces = cut_ranges(probe, begin, end, pieces);
        for (size_t i = 0; i < run.n_pieces; i++)
            list[i] = &pieces[i];
        run.pieces = list;
        code = bad_records_fill_skips(&driver->bad, &run);
    }
    if (code == WEFT_OK)
        code = agent_send(&probe->agent, WEFT__FRAME_TYPE__FRAME_TASK_RUN, &run.base);
    bad_records_free_skips(&run);
    free(pieces);
    free(list);
    return code;
}

static void give_up(struct driver *driver)
{
    driver->probe.is_active = false;
    driver_end_probe(driver);
    driver_fail(driver, WEFT_INTERNAL);
}

static uint64_t where_it_is(const struct driver_probe *probe)
{
    struct agent_attempt at;
    agent_read_attempt(&probe->agent, 0, &at);
    return at.offset;
}

static void time_is_up(void *owner);

static void wait_for_it(struct driver *driver)
{
    struct driver_probe *probe = &driver->probe;
    const uint32_t record_ms = driver->options->record_timeout_ms;
    const uint32_t limit_ms = record_ms ? record_ms : driver->options->task_timeout_ms;
    loop_timer_free(probe->timer);
    probe->timer = NULL;
    probe->seen_offset = where_it_is(probe);
    if (limit_ms)
        probe->timer = loop_timer_new(driver->loop, limit_ms, 0, time_is_up, driver);
}

// A stretch of many records may take its time, as long as it does not stay at one of them.
static void time_is_up(void *owner)
{
    struct driver *driver = owner;
    struct driver_probe *probe = &driver->probe;
    const uint64_t offset = where_it_is(probe);
    if (driver->options->record_timeout_ms && offset != probe->seen_offset) {
        wait_for_it(driver);
        return;
    }
    probe->has_timed_out = true;
    agent_kill(&probe->agent);
}

static void try_now(struct driver *driver)
{
    driver->probe.has_timed_out = false;
    wait_for_it(driver);
    if (send_try(driver) != WEFT_OK)
        give_up(driver);
}

// ---- What came of it ----------------------------------------------------------------------------

static void take_result(struct driver *driver, bool has_failed, const char *how)
{
    struct driver_probe *probe = &driver->probe;
    loop_timer_free(probe->timer);
    probe->timer = NULL;
    if (has_failed)
        snprintf(probe->how, sizeof probe->how, "%s", how);
    bisect_take(&probe->bisect, has_failed);
    go_on(driver);
}

static void take_look(struct driver *driver, const Weft__TaskEnd *end)
{
    struct driver_probe *probe = &driver->probe;
    loop_timer_free(probe->timer);
    probe->timer = NULL;
    probe->is_looking = false;
    struct bad_record *bad = &probe->found;
    if (end->n_bad > 0) {
        const Weft__BadRecord *seen = end->bad[0];
        *bad = (struct bad_record){.place = {seen->input, seen->offset}, .size = seen->size};
        bad->text_size =
            (uint32_t)(seen->text.len < sizeof bad->text ? seen->text.len : sizeof bad->text);
        if (bad->text_size)
            memcpy(bad->text, seen->text.data, bad->text_size);
    }
    driver_conclude_probe(driver, true);
}

static void take_ready(void *owner, weft_err code)
{
    struct driver *driver = owner;
    struct driver_probe *probe = &driver->probe;
    if (code == WEFT_OK)
        code = driver_send_job(driver, &probe->agent, 1);
    if (code == WEFT_OK)
        code = send_stage(probe);
    if (code == WEFT_OK)
        try_now(driver);
    else
        give_up(driver);
}

static bool take_message(void *owner, Weft__FrameType type, ProtobufCMessage *message)
{
    struct driver *driver = owner;
    const Weft__TaskEnd *end = (const Weft__TaskEnd *)message;
    const struct answer_rules rules = {.slot_count = 1,
                                       .task_counts = {[SCHED_MAP] = 1},
                                       .is_map_only = true,
                                       .input_count = driver->plan.inputs.count};
    if (type != WEFT__FRAME_TYPE__FRAME_TASK_END)
        return false;  // commits of nothing
    if (answer_check(type, &rules, message) != WEFT_OK)
        agent_kill(&driver->probe.agent);
    else if (driver->probe.is_looking)
        take_look(driver, end);
    else
        take_result(driver, end->code != WEFT_OK, end->text);
    return false;
}

static void take_loss(void *owner, const struct agent_loss *loss)
{
    struct driver *driver = owner;
    struct driver_probe *probe = &driver->probe;
    char how[160];
    struct agent_attempt at;
    agent_read_attempt(&probe->agent, 0, &at);
    const bool was_looking = probe->is_looking;
    if (probe->has_timed_out)
        snprintf(how, sizeof how, "it took longer than %s",
                 driver->options->record_timeout_ms ? "--record-timeout" : "--task-timeout");
    else if (at.crash_signal)
        signal_describe(at.crash_signal, how, sizeof how);
    else
        process_describe_exit(loss->exit, how, sizeof how);
    driver_end_probe(driver);
    if (!loss->was_ready || was_looking)
        driver_conclude_probe(driver, false);
    else
        take_result(driver, true, how);
}

static void take_silence(void *owner)
{
    struct driver *driver = owner;
    agent_kill(&driver->probe.agent);
}

// It is killed, and has failed with what it was trying.
static void take_wrong(void *owner, const char *what)
{
    (void)owner;
    (void)what;
}

static const struct agent_calls probe_calls = {
    .ready = take_ready,
    .silent = take_silence,
    .message = take_message,
    .wrong = take_wrong,
    .lost = take_loss,
};

// ---- One task -----------------------------------------------------------------------------------

static void go_on(struct driver *driver)
{
    struct driver_probe *probe = &driver->probe;
    uint64_t begin, end;
    if (driver->is_over || !probe->is_active)
        return;
    if (!bisect_next(&probe->bisect, &begin, &end)) {
        if (probe->bisect.state != BISECT_FOUND) {
            driver_conclude_probe(driver, false);
            return;
        }
        probe->is_looking = true;
    }
    if (agent_has_worker(&probe->agent)) {
        try_now(driver);
        return;
    }
    const struct agent_options options = {
        .loop = driver->loop, .slot_count = 1, .calls = &probe_calls, .owner = driver};
    agent_init(&probe->agent, &options);
    if (agent_start(&probe->agent, -1) != WEFT_OK)
        give_up(driver);
}

void driver_free_probe(struct driver *driver)
{
    driver_end_probe(driver);
    VEC_FINI(&driver->probe.stuck);
    VEC_FINI(&driver->probe.ranges);
    VEC_FINI(&driver->harms);
}

void driver_end_probe(struct driver *driver)
{
    loop_timer_free(driver->probe.timer);
    driver->probe.timer = NULL;
    agent_fini(&driver->probe.agent);
}

static void begin_next(struct driver *driver)
{
    struct driver_probe *probe = &driver->probe;
    if (probe->is_active || probe->stuck.count == 0 || driver->is_over)
        return;
    const struct driver_stuck first = probe->stuck.items[0];
    memmove(probe->stuck.items, probe->stuck.items + 1,
            --probe->stuck.count * sizeof *probe->stuck.items);
    probe->is_active = true;
    probe->is_looking = false;
    probe->at = first.at;
    probe->code = first.code;
    snprintf(probe->how, sizeof probe->how, "%s", first.why);
    snprintf(probe->why, sizeof probe->why, "%s", first.why);
    snprintf(probe->next, sizeof probe->next, "%s", first.next);
    uint64_t guess;
    const uint64_t size = list_ranges(driver, find_harm(driver, &probe->at), &guess);
    bisect_init(&probe->bisect, size, guess);
    if (!driver->options->quiet)
        report_warn(&driver->report, "a task keeps failing: searching for the record that fails");
    go_on(driver);
}

void driver_probe_stuck(struct driver *driver, const struct sched_action *action)
{
    struct driver_stuck stuck = {.at = action->at, .code = action->code};
    snprintf(stuck.why, sizeof stuck.why, "%s", driver->why);
    snprintf(stuck.next, sizeof stuck.next, "%s", driver->next);
    if (!VEC_PUSH(&driver->probe.stuck, stuck))
        driver_fail(driver, err_no_memory("to look for a bad record"));
    else
        begin_next(driver);
}

// ---- The verdict --------------------------------------------------------------------------------

// A sentence of several lines below a line of ours.
static void append_indented(struct buf *buf, const char *text)
{
    buf_append_text(buf, "\n  ");
    for (; *text; text++) {
        buf_append(buf, text, 1);
        if (*text == '\n')
            buf_append_text(buf, "  ");
    }
}

static void describe_found(struct driver *driver, struct buf *why)
{
    const struct driver_probe *probe = &driver->probe;
    const struct bad_record *bad = &probe->found;
    buf_format(why, "map fails on one record of %s\n  at offset %" PRIu64 ": \"",
               driver->plan.inputs.items[bad->place.input].name, bad->place.offset);
    const size_t shown = bad->text_size < SHOWN_BYTES ? bad->text_size : SHOWN_BYTES;
    text_append_escaped(why, (weft_bytes){bad->text, shown});
    buf_format(why, "%s\" (%" PRIu64 " bytes)", shown < bad->size ? "..." : "", bad->size);
    append_indented(why, probe->how);
    if (driver->options->skip_bad.is_set)
        buf_format(why, "\n  it is one more than --skip-bad allows");
}

static void condemn(struct driver *driver)
{
    const struct driver_probe *probe = &driver->probe;
    const struct sched_event event = {
        .type = EVENT_TASK_CONDEMNED, .at = probe->at, .code = probe->code};
    driver_step(driver, &event);
}

static void condemn_found(struct driver *driver)
{
    struct buf why = {0};
    char id[REPLAY_ID_BYTES];
    const struct driver_probe *probe = &driver->probe;
    describe_found(driver, &why);
    snprintf(driver->why, sizeof driver->why, "%s", buf_text(&why));
    buf_fini(&why);
    driver->next[0] = 0;
    const bool is_over = driver->options->skip_bad.is_set;
    if (is_over)
        driver_list_bad(driver);
    const struct input *input = &driver->plan.inputs.items[probe->found.place.input];
    if (driver->owns_process &&
        replay_save(input->name, input->path, probe->found.place.offset, id) == WEFT_OK)
        snprintf(driver->next, sizeof driver->next,
                 "weft replay %s runs just that record (--debug: in gdb); %s leaves such records "
                 "out",
                 id, is_over ? "a larger --skip-bad" : "--skip-bad N");
    condemn(driver);
}

static void condemn_unfound(struct driver *driver)
{
    const struct driver_probe *probe = &driver->probe;
    snprintf(driver->why, sizeof driver->why, "%.900s%s", probe->why,
             probe->bisect.state == BISECT_NOT_ONE
                 ? "\n  no single record fails alone: some fail together, or only sometimes"
             : probe->bisect.state == BISECT_NO_RECORD ? "\n  it fails without any record, too"
                                                       : "");
    snprintf(driver->next, sizeof driver->next, "%s", probe->next);
    condemn(driver);
}

// The beginning says who failed and how, the end of what it said why.
static void keep_reason(struct driver_probe *probe)
{
    enum { END_BYTES = 120 };
    char *reason = probe->found.reason;
    const size_t size = sizeof probe->found.reason, length = strlen(probe->how);
    if (length < size)
        memcpy(reason, probe->how, length + 1);
    else
        snprintf(reason, size, "%.*s ... %s", (int)(size - END_BYTES - 6), probe->how,
                 probe->how + length - END_BYTES);
}

void driver_conclude_probe(struct driver *driver, bool is_found)
{
    struct driver_probe *probe = &driver->probe;
    probe->is_active = false;
    if (!is_found) {
        condemn_unfound(driver);
    } else if (bad_records_may_skip(&driver->bad)) {
        keep_reason(probe);
        weft_err code = bad_records_add(&driver->bad, &probe->found);
        if (code == WEFT_OK)
            code = driver_resume_note_bad(driver, &probe->found);
        const struct sched_event event = {.type = EVENT_TASK_EXCUSED, .at = probe->at};
        if (code == WEFT_OK)
            driver_step(driver, &event);
        else
            driver_fail(driver, code);
    } else {
        condemn_found(driver);
    }
    begin_next(driver);
    if (!probe->is_active)
        driver_end_probe(driver);
}
