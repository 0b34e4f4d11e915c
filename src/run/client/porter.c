// What the server says goes to the worker.

#include "run/client/porter_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "transport/fetch_files.h"
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

// Memory, directory and files are those of this machine.
static weft_err adapt_job(struct porter *porter, Weft__JobStart *start)
{
    const weft_err code = porter_set_text(&start->tmp, porter->options.tmp);
    start->slots = porter->options.slot_count;
    start->memory_bytes = porter->options.memory_bytes;
    if (code != WEFT_OK)
        return code;
    const weft_err settled = take_settle(porter->code, start);
    return settled == WEFT_OK ? porter_adapt_inputs(porter, start) : settled;
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
        code = agent_send(&porter->agent, WEFT__FRAME_TYPE__FRAME_JOB_START, &start->base);
    message_free(start);
    if (code != WEFT_OK)
        porter_tell_failed(porter, code);
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

static void take_undone(void *owner, const Weft__TaskRun *run, weft_err code)
{
    porter_tell_undone(owner, run, code);
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
    copies_set_address(porter->copies, start->address);
    porter->life++;
    deliveries_drop(porter->deliveries);
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
    case WEFT__FRAME_TYPE__FRAME_SEALS:
        return true;
    default:
        return false;
    }
}

void porter_take(struct porter *porter, const struct frame *frame)
{
    if (frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_START)
        start_worker(porter, frame);
    else if (frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_KILL)
        porter_kill_worker(porter);
    else if (frame->type == WEFT__FRAME_TYPE__FRAME_JOB_START)
        take_job(porter, frame);
    else if (is_for_worker(frame->type))
        deliveries_take(porter->deliveries, frame);
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

static weft_err refuse_session(void *owner, struct hub_peer *peer, const struct hello *hello)
{
    (void)owner, (void)peer, (void)hello;
    return err_set(WEFT_UNIMPLEMENTED, "this is a client of a server, not a server");
}

static weft_err open_door(struct porter *porter)
{
    static const struct hub_calls calls = {.joined = refuse_session};
    // Other clients come from other machines, unless the server itself is on this one only.
    struct net_address address = {0};
    if (net_address_is_loopback(&porter->options.server))
        snprintf(address.host, sizeof address.host, "localhost");
    const weft_err code = net_listen(&address, &porter->listener);
    if (code != WEFT_OK)
        return code;
    const struct hub_options options = {
        .loop = porter->options.loop,
        .listener = &porter->listener,
        .token = porter->options.token,
        .name = porter->options.name,
        .calls = &calls,
        .owner = porter,
        .files = porter->files,
    };
    porter->door = hub_new(&options);
    return porter->door ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

static weft_err open_all(struct porter *porter)
{
    const struct copies_options copies = {.loop = porter->options.loop,
                                          .token = porter->options.token,
                                          .name = porter->options.name,
                                          .tmp = porter->options.tmp,
                                          .served = &porter->served};
    const struct fetch_client_options server = {.loop = porter->options.loop,
                                                .address = porter->options.server,
                                                .token = porter->options.token,
                                                .name = porter->options.name};
    const weft_err code = cache_open(NULL, &porter->cache);
    if (code != WEFT_OK)
        return code;
    porter->server = fetch_client_new(&server);
    porter->files = fetch_files_new();
    porter->served.files = porter->files;
    porter->copies = copies_new(&copies);
    if (porter->server && porter->files && porter->copies)
        porter->deliveries =
            deliveries_new(porter->options.loop, porter->copies, &delivery_calls, porter);
    if (porter->deliveries)
        porter->tick = loop_timer_new(porter->options.loop, TICK_MS, TICK_MS, take_tick, porter);
    return porter->tick ? open_door(porter) : WEFT_RESOURCE_EXHAUSTED;
}

struct porter *porter_new(const struct porter_options *options)
{
    struct porter *porter = calloc(1, sizeof *porter);
    if (!porter) {
        (void)err_no_memory("for a client");
        return NULL;
    }
    porter->options = *options;
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
    loop_timer_free(porter->tick);
    hub_free(porter->door);
    net_listener_close(&porter->listener);
    deliveries_free(porter->deliveries);
    copies_free(porter->copies);
    fetch_files_free(porter->files);
    served_fini(&porter->served);
    porter_free_inputs(porter);
    fetch_client_free(porter->server);
    take_free(porter->code);
    cache_close(porter->cache);
    free(porter);
    err_put_back(&kept);
}

uint16_t porter_port(const struct porter *porter)
{
    return porter->listener.port;
}

void porter_read_figures(const struct porter *porter, struct porter_figures *figures)
{
    *figures = porter->figures;
    figures->fetched_bytes = copies_fetched_bytes(porter->copies);
    figures->lent_bytes = porter_lent_bytes(porter);
}
