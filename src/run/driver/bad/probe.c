// Tries, and what came of them.

#include "run/driver/bad/probe.h"

#include "run/answers.h"
#include "run/driver/messages.h"
#include "sys/process/signals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void go_on(struct probe *probe);
static void conclude(struct probe *probe, bool is_found);

// ---- Where harm was seen ------------------------------------------------------------------------

void probe_note_harm(struct probe *probe, enum sched_kind kind, uint32_t task, struct place place,
                     uint64_t fed_end)
{
    const struct probe_harm harm = {kind, task, place, fed_end};
    for (size_t i = 0; i < probe->harms.count; i++) {
        struct probe_harm *known = &probe->harms.items[i];
        if (known->kind == kind && known->task == task) {
            *known = harm;
            return;
        }
    }
    (void)VEC_PUSH(&probe->harms, harm);  // without it the search takes longer
}

static const struct probe_harm *find_harm(const struct probe *probe, const struct sched_attempt *at)
{
    for (size_t i = 0; i < probe->harms.count; i++)
        if (probe->harms.items[i].kind == at->kind && probe->harms.items[i].task == at->task)
            return &probe->harms.items[i];
    return NULL;
}

// ---- The input of a task as one line of bytes ---------------------------------------------------

static bool add_range(struct probe *probe, struct plan_piece piece, uint64_t *size)
{
    if (piece.begin == piece.end)
        return true;
    *size += piece.end - piece.begin;
    return VEC_PUSH(&probe->ranges, piece);
}

// All pieces up to the one where harm was seen; of that one what had been given to the job.
static uint64_t list_ranges(struct probe *probe, const struct probe_harm *harm, uint64_t *guess)
{
    size_t count = 1;
    const struct plan_piece *pieces = &probe->options.plan->split.samples[probe->task.at.task];
    if (probe->task.at.kind == SCHED_MAP)
        pieces = plan_pieces(&probe->options.plan->split, probe->task.at.task, &count);
    const bool takes_records = probe->options.plan->chain.jobs.items[0].map;
    uint64_t size = 0;
    *guess = BISECT_NO_GUESS;
    probe->ranges.count = 0;
    for (size_t i = 0; i < count; i++) {
        struct plan_piece piece = pieces[i];
        const bool is_seen = harm && harm->place.input == piece.input;
        const struct input_look *look = &probe->options.plan->looks[piece.input];
        // Compressed data is longer than its file, and can only be read from its front.
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
static size_t cut_ranges(const struct probe *probe, uint64_t begin, uint64_t end,
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

static weft_err send_stage(struct probe *probe)
{
    Weft__StageOpen open = WEFT__STAGE_OPEN__INIT;
    Weft__Output output = WEFT__OUTPUT__INIT;
    open.part_count = open.range_count = open.map_count = 1;
    open.is_map_only = true;  // emitted pairs are not kept
    open.output = &output;
    return agent_send(&probe->agent, WEFT__FRAME_TYPE__FRAME_STAGE_OPEN, &open.base);
}

static weft_err send_try(struct probe *probe)
{
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
        code = bad_records_fill_skips(probe->options.bad, &run);
    }
    if (code == WEFT_OK)
        code = items_send(*probe->options.items, &probe->agent, &run);
    bad_records_free_skips(&run);
    free(pieces);
    free(list);
    return code;
}

static void give_up(struct probe *probe)
{
    probe->is_active = false;
    probe_end_worker(probe);
    probe->options.calls->failed(probe->options.owner, WEFT_INTERNAL);
}

static uint64_t where_it_is(const struct probe *probe)
{
    struct agent_attempt at;
    agent_read_attempt(&probe->agent, 0, &at);
    return at.offset;
}

static void time_is_up(void *owner);

static void wait_for_it(struct probe *probe)
{
    const uint32_t record_ms = probe->options.plan->options->record_timeout_ms;
    const uint32_t limit_ms = record_ms ? record_ms : probe->options.plan->options->task_timeout_ms;
    loop_timer_free(probe->timer);
    probe->timer = NULL;
    probe->seen_offset = where_it_is(probe);
    if (limit_ms)
        probe->timer = loop_timer_new(probe->options.loop, limit_ms, 0, time_is_up, probe);
}

// A stretch of many records may take its time, as long as it does not stay at one of them.
static void time_is_up(void *owner)
{
    struct probe *probe = owner;
    const uint64_t offset = where_it_is(probe);
    const bool stays = offset == probe->seen_offset && !agent_times_records(&probe->agent, 0);
    if (probe->options.plan->options->record_timeout_ms && !stays) {
        wait_for_it(probe);
        return;
    }
    probe->has_timed_out = true;
    agent_kill(&probe->agent);
}

static void try_now(struct probe *probe)
{
    probe->has_timed_out = false;
    wait_for_it(probe);
    if (send_try(probe) != WEFT_OK)
        give_up(probe);
}

// ---- What came of it ----------------------------------------------------------------------------

static void take_result(struct probe *probe, bool has_failed, const char *how)
{
    loop_timer_free(probe->timer);
    probe->timer = NULL;
    if (has_failed)
        snprintf(probe->how, sizeof probe->how, "%s", how);
    bisect_take(&probe->bisect, has_failed);
    go_on(probe);
}

static void take_look(struct probe *probe, const Weft__TaskEnd *end)
{
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
    conclude(probe, true);
}

static void take_ready(void *owner, weft_err code)
{
    struct probe *probe = owner;
    if (code == WEFT_OK)
        code = run_plan_send_job(probe->options.plan, &probe->agent, 1, 1);
    if (code == WEFT_OK)
        code = send_stage(probe);
    if (code == WEFT_OK)
        try_now(probe);
    else
        give_up(probe);
}

static bool take_message(void *owner, Weft__FrameType type, ProtobufCMessage *message)
{
    struct probe *probe = owner;
    const Weft__TaskEnd *end = (const Weft__TaskEnd *)message;
    const struct answer_rules rules = {.slot_count = 1,
                                       .task_counts = {[SCHED_MAP] = 1},
                                       .is_map_only = true,
                                       .input_count = probe->options.plan->inputs.count};
    if (type != WEFT__FRAME_TYPE__FRAME_TASK_END)
        return false;  // commits of nothing
    items_end_task(*probe->options.items, &probe->agent, end->task);
    if (answer_check(type, &rules, message) != WEFT_OK)
        agent_kill(&probe->agent);
    else if (probe->is_looking)
        take_look(probe, end);
    else
        take_result(probe, end->code != WEFT_OK, end->text);
    return false;
}

static void take_loss(void *owner, const struct agent_loss *loss)
{
    struct probe *probe = owner;
    char how[160];
    struct agent_attempt at;
    agent_read_attempt(&probe->agent, 0, &at);
    const bool was_looking = probe->is_looking;
    if (probe->has_timed_out)
        snprintf(how, sizeof how, "it took longer than %s",
                 probe->options.plan->options->record_timeout_ms ? "--record-timeout"
                                                                 : "--task-timeout");
    else if (at.crash_signal)
        signal_describe(at.crash_signal, how, sizeof how);
    else
        process_describe_exit(loss->exit, how, sizeof how);
    probe_end_worker(probe);
    if (!loss->was_ready || was_looking)
        conclude(probe, false);
    else
        take_result(probe, true, how);
}

static void take_silence(void *owner)
{
    struct probe *probe = owner;
    agent_kill(&probe->agent);
}

// It is killed, and its try has failed.
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

static void go_on(struct probe *probe)
{
    uint64_t begin, end;
    if (probe->is_stopped || !probe->is_active)
        return;
    if (!bisect_next(&probe->bisect, &begin, &end)) {
        if (probe->bisect.state != BISECT_FOUND) {
            conclude(probe, false);
            return;
        }
        probe->is_looking = true;
    }
    if (agent_has_worker(&probe->agent)) {
        try_now(probe);
        return;
    }
    const struct agent_options options = {.loop = probe->options.loop,
                                          .slot_count = 1,
                                          .record_timeout_ms =
                                              probe->options.plan->options->record_timeout_ms,
                                          .calls = &probe_calls,
                                          .owner = probe};
    agent_init(&probe->agent, &options);
    if (agent_start(&probe->agent, -1) != WEFT_OK)
        give_up(probe);
}

void probe_end_worker(struct probe *probe)
{
    loop_timer_free(probe->timer);
    probe->timer = NULL;
    items_forget(*probe->options.items, &probe->agent);
    agent_fini(&probe->agent);
}

static void begin_next(struct probe *probe)
{
    if (probe->is_active || probe->waiting.count == 0 || probe->is_stopped)
        return;
    probe->task = probe->waiting.items[0];
    memmove(probe->waiting.items, probe->waiting.items + 1,
            --probe->waiting.count * sizeof *probe->waiting.items);
    probe->is_active = true;
    probe->is_looking = false;
    snprintf(probe->how, sizeof probe->how, "%s", probe->task.why);
    uint64_t guess;
    const uint64_t size = list_ranges(probe, find_harm(probe, &probe->task.at), &guess);
    bisect_init(&probe->bisect, size, guess);
    probe->options.calls->begun(probe->options.owner);
    go_on(probe);
}

// The beginning says which function failed and how, the end of its message why.
static void keep_reason(struct probe *probe)
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

static void conclude(struct probe *probe, bool is_found)
{
    const struct probe_calls *calls = probe->options.calls;
    probe->is_active = false;
    if (is_found) {
        keep_reason(probe);
        calls->found(probe->options.owner, &probe->task, &probe->found, probe->how);
    } else {
        calls->not_found(probe->options.owner, &probe->task, probe->bisect.state);
    }
    begin_next(probe);
    if (!probe->is_active)
        probe_end_worker(probe);
}

void probe_look_into(struct probe *probe, const struct probe_task *task)
{
    if (VEC_PUSH(&probe->waiting, *task))
        begin_next(probe);
    else
        probe->options.calls->failed(probe->options.owner,
                                     err_no_memory("to look for a bad record"));
}

// ---- Its life -----------------------------------------------------------------------------------

void probe_init(struct probe *probe, const struct probe_options *options)
{
    *probe = (struct probe){.options = *options};
}

void probe_fini(struct probe *probe)
{
    probe_end_worker(probe);
    VEC_FINI(&probe->waiting);
    VEC_FINI(&probe->ranges);
    VEC_FINI(&probe->harms);
}

void probe_stop(struct probe *probe)
{
    probe->is_stopped = true;
}
