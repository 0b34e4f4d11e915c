// What the worker says goes to the server.

#include "run/client/porter_state.h"

#include <stdio.h>
#include <stdlib.h>

// ---- Files that it names ------------------------------------------------------------------------------

// False: the worker is gone, or given up.
static bool hold_file(struct porter *porter, uint32_t descriptor, uint32_t *number)
{
    const weft_err code = served_hold(&porter->estate->served, &porter->agent, descriptor, number);
    if (code == WEFT_RESOURCE_EXHAUSTED)
        porter_break(porter, code);
    else if (code != WEFT_OK && code != WEFT_UNAVAILABLE)
        agent_kill(&porter->agent);
    return code == WEFT_OK;
}

// In the ledger; false: this client cannot continue.
static bool note(struct porter *porter, weft_err code)
{
    if (code != WEFT_OK)
        porter_break(porter, code);
    return code == WEFT_OK;
}

static void take_committed(struct porter *porter, Weft__Committed *committed)
{
    if (hold_file(porter, committed->shelf, &committed->shelf) &&
        note(porter, ledger_note_pairs(&porter->estate->ledger, committed)))
        porter_send(porter, WEFT__FRAME_TYPE__FRAME_COMMITTED, &committed->base);
}

static void take_checkpointed(struct porter *porter, Weft__Checkpointed *done)
{
    if (done->n_tasks) {
        if (!hold_file(porter, done->file, &done->file))
            return;
        done->file_size = served_find(&porter->estate->served, done->file)->size;
        if (!note(porter, ledger_note_seal(&porter->estate->ledger, done)))
            return;
    }
    porter_send(porter, WEFT__FRAME_TYPE__FRAME_CHECKPOINTED, &done->base);
}

static bool take_message(void *owner, Weft__FrameType type, ProtobufCMessage *message)
{
    struct porter *porter = owner;
    if (type == WEFT__FRAME_TYPE__FRAME_TASK_END) {
        const Weft__TaskEnd *end = (const Weft__TaskEnd *)message;
        porter->figures.task_count += end->code == WEFT_OK;
        if (!note(porter, ledger_note_end(&porter->estate->ledger, end)))
            return false;
        deliveries_end_task(porter->deliveries, end);
    }
    if (type == WEFT__FRAME_TYPE__FRAME_COMMITTED)
        take_committed(porter, (Weft__Committed *)message);
    else if (type == WEFT__FRAME_TYPE__FRAME_CHECKPOINTED)
        take_checkpointed(porter, (Weft__Checkpointed *)message);
    else
        porter_send(porter, type, message);
    return false;
}

void porter_tell_failed(struct porter *porter, weft_err code)
{
    Weft__WorkerFailed failed = WEFT__WORKER_FAILED__INIT;
    char text[ERR_TEXT_BYTES_MAX];
    snprintf(text, sizeof text, "%s", err_text());
    failed.code = message_code(code);
    failed.text = text;
    porter_send(porter, WEFT__FRAME_TYPE__FRAME_WORKER_FAILED, &failed.base);
}

void porter_tell_undone(struct porter *porter, const Weft__TaskRun *run, weft_err code,
                        uint32_t bad_seal)
{
    Weft__TaskEnd end = WEFT__TASK_END__INIT;
    char text[ERR_TEXT_BYTES_MAX];
    if (code == WEFT_RESOURCE_EXHAUSTED) {  // here, not there
        porter_tell_failed(porter, code);
        return;
    }
    snprintf(text, sizeof text, "%s", err_text());
    end.stage = run->stage;
    end.kind = run->kind;
    end.task = run->task;
    end.attempt = run->attempt;
    end.slot = run->slot;
    end.code = message_code(code);
    end.text = text;
    end.is_blameless = true;
    end.keeps_held = true;  // the worker has not seen it
    end.bad_seal = bad_seal;
    porter_send(porter, WEFT__FRAME_TYPE__FRAME_TASK_END, &end.base);
}

// ---- Its life -------------------------------------------------------------------------------------------

static void take_ready(void *owner, weft_err code)
{
    struct porter *porter = owner;
    const Weft__ClientReady ready = WEFT__CLIENT_READY__INIT;
    if (code == WEFT_OK)
        porter_send(porter, WEFT__FRAME_TYPE__FRAME_CLIENT_READY, &ready.base);
    else
        porter_break(porter, code);
}

static void take_silence(void *owner)
{
    porter_break(owner,
                 err_set(WEFT_DEADLINE_EXCEEDED, "the worker was not ready within a minute"));
}

static void take_need(void *owner, const Weft__Need *need)
{
    porter_take_need(owner, need);
}

static void take_wrong(void *owner, const char *what)
{
    (void)owner;
    (void)what;  // its end follows
}

static void take_bye(void *owner)
{
    porter_send(owner, WEFT__FRAME_TYPE__FRAME_BYE, NULL);
}

static void fill_attempt(Weft__ClientAttempt *to, const struct agent_attempt *at)
{
    weft__client_attempt__init(to);
    to->stage = at->stage;
    to->kind = at->kind;
    to->task = at->task;
    to->attempt = at->attempt;
    to->slot = at->slot;
    to->input = at->input;
    to->offset = at->offset;
    to->fed_end = at->fed_end;
    to->crash_signal = at->crash_signal;
}

static void take_late(void *owner, const struct agent_attempt *at, bool is_record)
{
    Weft__ClientLate late = WEFT__CLIENT_LATE__INIT;
    Weft__ClientAttempt attempt;
    fill_attempt(&attempt, at);
    late.at = &attempt;
    late.is_record = is_record;
    porter_send(owner, WEFT__FRAME_TYPE__FRAME_CLIENT_LATE, &late.base);
}

static void take_loss(void *owner, const struct agent_loss *loss)
{
    struct porter *porter = owner;
    Weft__ClientLost lost = WEFT__CLIENT_LOST__INIT;
    Weft__ClientAttempt attempts[SLOTS_MAX], *inside[SLOTS_MAX];
    char text[ERR_TEXT_BYTES_MAX];
    snprintf(text, sizeof text, "%s", loss->code == WEFT_OK ? "" : err_text());
    lost.code = message_code(loss->code);
    lost.text = text;
    lost.is_exit_known = loss->exit->is_known;
    lost.exit_signal = loss->exit->was_signalled ? loss->exit->number : 0;
    lost.exit_code = loss->exit->was_signalled ? 0 : loss->exit->number;
    lost.was_ready = loss->was_ready;
    lost.is_told = loss->is_told;
    lost.is_released = loss->is_released;
    lost.inside = inside;
    lost.n_inside = loss->inside_count;
    for (uint32_t i = 0; i < loss->inside_count; i++) {
        fill_attempt(&attempts[i], &loss->inside[i]);
        inside[i] = &attempts[i];
    }
    deliveries_drop(porter->deliveries);
    porter_tell_status(porter);
    porter_send(porter, WEFT__FRAME_TYPE__FRAME_CLIENT_LOST, &lost.base);
}

void porter_tell_unstarted(struct porter *porter, weft_err code)
{
    const struct process_exit exit = {0};
    const struct agent_loss loss = {.exit = &exit, .code = code};
    take_loss(porter, &loss);
}

void porter_tell_status(struct porter *porter)
{
    Weft__ClientStatus status = WEFT__CLIENT_STATUS__INIT;
    struct agent_figures figures;
    agent_read_figures(&porter->agent, &figures);
    if (memcmp(&figures, &porter->told, sizeof figures) == 0)
        return;
    porter->told = figures;
    struct porter_figures own;
    porter_read_figures(porter, &own);
    status.bytes_in = figures.bytes_in;
    status.records_in = figures.records_in;
    status.bytes_begun = figures.bytes_begun;
    status.spill_bytes = figures.spill_bytes;
    status.spill_runs = figures.spill_runs;
    status.saved_bytes = figures.saved_bytes;
    status.phase_ns = figures.phase_ns;
    status.n_phase_ns = PHASE_COUNT;
    status.memory_used = figures.memory_used;
    status.memory_peak = figures.memory_peak;
    status.has_switched_to_sort = figures.has_switched_to_sort;
    status.fetched_bytes = own.fetched_bytes;
    status.lent_bytes = own.lent_bytes;
    status.relayed_bytes = own.relayed_bytes;
    porter_send(porter, WEFT__FRAME_TYPE__FRAME_CLIENT_STATUS, &status.base);
}

const struct agent_calls porter_agent_calls = {
    .ready = take_ready,
    .silent = take_silence,
    .message = take_message,
    .need = take_need,
    .wrong = take_wrong,
    .left = take_bye,
    .late = take_late,
    .lost = take_loss,
};
