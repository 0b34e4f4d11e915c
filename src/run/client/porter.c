// What the server says goes to the worker.

#include "run/client/porter_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "transport/hub.h"

enum {
    TICK_MS = 100,
    STATUS_TICKS = 5,  // between two reports
};

void porter_break(struct porter *porter, weft_err code)
{
    if (!porter->is_broken)
        porter->options.calls->broken(porter->options.owner, code);
    porter->is_broken = true;
}

void porter_send(struct porter *porter, Weft__FrameType type, const ProtobufCMessage *message)
{
    const weft_err code = porter->options.calls->send(porter->options.owner, type, message);
    if (code != WEFT_OK)
        porter_break(porter, code);
}

// ---- The job ----------------------------------------------------------------------------------------------

// Memory and directory are those of this machine.
static weft_err adapt_job(struct porter *porter, Weft__JobStart *start)
{
    const weft_err code = porter_set_text(&start->tmp, porter->options.tmp);
    start->slots = porter->options.slot_count;
    start->memory_bytes = porter->options.memory_bytes;
    return code == WEFT_OK ? take_settle(porter->code, start) : code;
}

// With this thread's sentence: the worker cannot do it, and does not hear of it.
static void give_up_job(struct porter *porter, weft_err code)
{
    porter->lacks_job = true;
    deliveries_drop(porter->deliveries);
    porter_tell_failed(porter, code);
}

void porter_start_job(struct porter *porter, Weft__JobStart *start, weft_err code)
{
    const bool has_worker = agent_is_ready(&porter->agent);  // the server will hear of its end
    if (code == WEFT_OK && has_worker)
        code = agent_send(&porter->agent, WEFT__FRAME_TYPE__FRAME_JOB_START, &start->base);
    message_free(start);
    if (code != WEFT_OK)
        give_up_job(porter, code);
    else
        deliveries_release(porter->deliveries);
}

static void take_job(struct porter *porter, const struct frame *frame)
{
    Weft__JobStart *start = NULL;
    if (!agent_is_ready(&porter->agent))
        return;  // the server will hear of its end
    weft_err code = message_unpack(frame, &weft__job_start__descriptor, &start);
    if (code == WEFT_OK)
        code = adapt_job(porter, start);
    if (code == WEFT_OK)
        code = porter_adapt_inputs(porter, start);
    else
        message_free(start);
    if (code != WEFT_OK)
        give_up_job(porter, code);
}

// ---- On the way to the worker -------------------------------------------------------------------------------

static weft_err pass(void *owner, Weft__FrameType type, weft_bytes payload)
{
    struct porter *porter = owner;
    if (!agent_is_ready(&porter->agent))
        return WEFT_OK;  // the server knows of its end already
    return type == WEFT__FRAME_TYPE__FRAME_BYE ? agent_release(&porter->agent)
                                               : agent_send_bytes(&porter->agent, type, payload);
}

static weft_err pass_message(void *owner, Weft__FrameType type, const ProtobufCMessage *message)
{
    struct porter *porter = owner;
    return agent_is_ready(&porter->agent) ? agent_send(&porter->agent, type, message) : WEFT_OK;
}

static void take_undone(void *owner, const Weft__TaskRun *run, weft_err code, uint32_t bad_seal)
{
    porter_tell_undone(owner, run, code, bad_seal);
}

static void take_broken(void *owner, weft_err code)
{
    porter_break(owner, code);
}

static const struct deliveries_calls delivery_calls = {
    .pass = pass,
    .pass_message = pass_message,
    .undone = take_undone,
    .broken = take_broken,
};

static void tell_written(void *owner, const Weft__PartWritten *written)
{
    porter_send(owner, WEFT__FRAME_TYPE__FRAME_PART_WRITTEN, &written->base);
}

static const struct part_writer_calls part_writer_calls = {
    .answer = tell_written,
    .broken = take_broken,
};

static void tell_taken(void *owner, const Weft__ClientTaken *taken)
{
    porter_send(owner, WEFT__FRAME_TYPE__FRAME_CLIENT_TAKEN, &taken->base);
}

static const struct takings_calls takings_calls = {
    .answer = tell_taken,
    .broken = take_broken,
};

// ---- Leaving ------------------------------------------------------------------------------------------------

static weft_err send_offer(void *owner, const Weft__ClientOffer *offer)
{
    const struct porter *porter = owner;
    return porter->options.calls->send(porter->options.owner, WEFT__FRAME_TYPE__FRAME_CLIENT_OFFER,
                                       &offer->base);
}

static void list_work(struct porter *porter)
{
    const weft_err code = ledger_offer(&porter->estate->ledger, send_offer, porter);
    if (code != WEFT_OK)
        porter_break(porter, code);
}

void porter_leave(struct porter *porter, uint32_t grace_ms)
{
    Weft__ClientLeaving leaving = WEFT__CLIENT_LEAVING__INIT;
    leaving.grace_ms = grace_ms;
    porter->is_leaving = true;
    porter->is_starting = false;
    porter_send(porter, WEFT__FRAME_TYPE__FRAME_CLIENT_LEAVING, &leaving.base);
}

void porter_give_back(struct porter *porter)
{
    if (agent_has_worker(&porter->agent))
        agent_kill(&porter->agent);
}

// ---- Frames of the server -------------------------------------------------------------------------------------

static void start_worker(struct porter *porter, const struct frame *frame)
{
    Weft__ClientStart *start = NULL;
    weft_err code = message_unpack(frame, &weft__client_start__descriptor, &start);
    if (code == WEFT_OK && !start->package)
        code = err_set(WEFT_INTERNAL, "the server sent no code");
    if (code != WEFT_OK) {
        message_free(start);
        porter_break(porter, code);
        return;
    }
    porter->agent.options.task_timeout_ms = start->task_timeout_ms;
    porter->agent.options.record_timeout_ms = start->record_timeout_ms;
    estate_begin(porter->estate, message_field(start->run));
    ledger_end_runs(&porter->estate->ledger);
    porter->life++;
    porter->lacks_job = false;
    far_inputs_stop(porter->far_inputs);
    deliveries_drop(porter->deliveries);
    if (!porter->is_leaving)
        porter_start_worker(porter, start->package);
    message_free(start);
}

static bool is_for_worker(Weft__FrameType type)
{
    switch (type) {
    case WEFT__FRAME_TYPE__FRAME_STAGE_OPEN:
    case WEFT__FRAME_TYPE__FRAME_STAGE_PLAN:
    case WEFT__FRAME_TYPE__FRAME_TASK_RUN:
    case WEFT__FRAME_TYPE__FRAME_SEAL:
    case WEFT__FRAME_TYPE__FRAME_BYE:
    case WEFT__FRAME_TYPE__FRAME_CHECKPOINT:
    case WEFT__FRAME_TYPE__FRAME_DROP:
    case WEFT__FRAME_TYPE__FRAME_SEALS:
        return true;
    default:
        return false;
    }
}

static void forget_files(struct porter *porter, const struct frame *frame)
{
    Weft__ClientForget *forget = NULL;
    const weft_err code = message_unpack(frame, &weft__client_forget__descriptor, &forget);
    for (size_t i = 0; code == WEFT_OK && i < forget->n_files; i++)
        estate_forget(porter->estate, forget->files[i]);
    message_free(forget);
    if (code != WEFT_OK)
        porter_break(porter, code);
}

// What later offers have to say of a stage.
static weft_err note_stage(struct porter *porter, const struct frame *frame)
{
    Weft__StageOpen *open = NULL;
    Weft__StagePlan *plan = NULL;
    Weft__TaskRun *run = NULL;
    weft_err code = WEFT_OK;
    if (frame->type == WEFT__FRAME_TYPE__FRAME_STAGE_OPEN) {
        code = message_unpack(frame, &weft__stage_open__descriptor, &open);
        if (code == WEFT_OK)
            code = ledger_note_open(&porter->estate->ledger, open);
    } else if (frame->type == WEFT__FRAME_TYPE__FRAME_STAGE_PLAN) {
        code = message_unpack(frame, &weft__stage_plan__descriptor, &plan);
        if (code == WEFT_OK)
            code = ledger_note_plan(&porter->estate->ledger, plan);
    } else if (frame->type == WEFT__FRAME_TYPE__FRAME_TASK_RUN) {
        code = message_unpack(frame, &weft__task_run__descriptor, &run);
        if (code == WEFT_OK)
            code = ledger_note_run(&porter->estate->ledger, run);
    }
    message_free(open);
    message_free(plan);
    message_free(run);
    return code;
}

static void deliver(struct porter *porter, const struct frame *frame)
{
    if (porter->lacks_job || !agent_is_ready(&porter->agent))
        return;  // the server will hear why, and nothing is to be said in the name of a worker that is gone
    const weft_err code = note_stage(porter, frame);
    if (code == WEFT_OK)
        deliveries_take(porter->deliveries, frame);
    else
        porter_break(porter, code);
}

void porter_take(struct porter *porter, const struct frame *frame)
{
    if (frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_START)
        start_worker(porter, frame);
    else if (frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_KILL)
        porter_kill_worker(porter);
    else if (frame->type == WEFT__FRAME_TYPE__FRAME_JOB_START)
        take_job(porter, frame);
    else if (frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_FORGET)
        forget_files(porter, frame);
    else if (frame->type == WEFT__FRAME_TYPE__FRAME_PART_WRITE)
        part_writer_take(porter->part_writer, frame);
    else if (frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_TAKE)
        takings_take(porter->takings, frame);
    else if (frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_GIVE)
        list_work(porter);
    else if (is_for_worker(frame->type))
        deliver(porter, frame);
    else
        porter_break(
            porter, err_set(WEFT_INTERNAL, "the server sent a frame of type %d", (int)frame->type));
}

// ---- Its life ---------------------------------------------------------------------------------------------------

static void take_tick(void *owner)
{
    struct porter *porter = owner;
    if (porter->agent.options.task_timeout_ms || porter->agent.options.record_timeout_ms)
        agent_look(&porter->agent);
    if (++porter->ticks % STATUS_TICKS == 0)
        porter_tell_status(porter);
}

static weft_err open_all(struct porter *porter)
{
    const struct fetch_client_options server = {.loop = porter->options.loop,
                                                .address = porter->options.server,
                                                .token = porter->options.token,
                                                .name = porter->options.name};
    const weft_err code = porter_open_cache(porter);
    if (code != WEFT_OK)
        return code;
    porter->far_inputs = far_inputs_new(porter->options.loop);
    porter->server = porter->far_inputs ? fetch_client_new(&server) : NULL;
    const struct copies_options copies = {.loop = porter->options.loop,
                                          .token = porter->options.token,
                                          .name = porter->options.name,
                                          .tmp = porter->options.tmp,
                                          .epoch = hub_epoch(porter->estate->door),
                                          .served = &porter->estate->served,
                                          .server = porter->server,
                                          .relay = porter->options.server};
    porter->copies = copies_new(&copies);
    if (porter->server && porter->copies)
        porter->deliveries =
            deliveries_new(porter->options.loop, porter->copies, &delivery_calls, porter);
    if (porter->deliveries)
        porter->part_writer =
            part_writer_new(porter->options.loop, porter->copies, &part_writer_calls, porter);
    const struct takings_options takings = {.copies = porter->copies,
                                            .estate = porter->estate,
                                            .tmp = porter->options.tmp,
                                            .calls = &takings_calls,
                                            .owner = porter};
    if (porter->part_writer)
        porter->takings = takings_new(&takings);
    if (porter->takings)
        porter->tick = loop_timer_new(porter->options.loop, TICK_MS, TICK_MS, take_tick, porter);
    return porter->tick ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

struct porter *porter_new(const struct porter_options *options)
{
    struct porter *porter = calloc(1, sizeof *porter);
    if (!porter) {
        (void)err_no_memory("for a client");
        return NULL;
    }
    porter->options = *options;
    porter->estate = options->estate;
    const struct agent_options agent = {.loop = options->loop,
                                        .slot_count = options->slot_count,
                                        .calls = &porter_agent_calls,
                                        .owner = porter};
    agent_init(&porter->agent, &agent);
    if (open_all(porter) == WEFT_OK)
        return porter;
    porter_free(porter);
    return NULL;
}

void porter_free(struct porter *porter)
{
    if (!porter)
        return;
    struct err_kept kept;
    err_keep(&kept);
    agent_fini(&porter->agent);
    far_inputs_free(porter->far_inputs);
    loop_timer_free(porter->tick);
    part_writer_free(porter->part_writer);
    takings_free(porter->takings);
    deliveries_free(porter->deliveries);
    copies_free(porter->copies);
    porter_free_inputs(porter);
    fetch_client_free(porter->server);
    take_free(porter->code);
    cache_close(porter->cache);
    free(porter);
    err_put_back(&kept);
}

void porter_read_figures(const struct porter *porter, struct porter_figures *figures)
{
    *figures = porter->figures;
    figures->fetched_bytes = copies_fetched_bytes(porter->copies);
    figures->relayed_bytes = copies_relayed_bytes(porter->copies);
    figures->lent_bytes = porter_lent_bytes(porter);
}
