// An agent by frames.

#include "run/driver/agent/far_agent.h"

#include "run/answers.h"
#include "transport/hub.h"

// ---- What the owner asks for ------------------------------------------------------------------------

// A worker of an earlier client, or of none: the owner has not heard of its end yet.
static bool is_away(const struct far_agent *far)
{
    return !far->peer || !far->is_started;
}

static weft_err tell_start(struct far_agent *far)
{
    const struct agent_options *options = &far->agent->options;
    Weft__ClientStart start = WEFT__CLIENT_START__INIT;
    start.task_timeout_ms = options->task_timeout_ms;
    start.record_timeout_ms = options->record_timeout_ms;
    start.address = far->address;
    start.package = (Weft__CodePackage *)far->package;
    start.run = message_bytes(far->run);
    far->is_started = true;
    return hub_send(far->peer, WEFT__FRAME_TYPE__FRAME_CLIENT_START, &start.base);
}

weft_err far_agent_start(struct far_agent *far)
{
    far->is_wanted = true;
    far->is_started = false;
    return far->peer && !far->awaits_end ? tell_start(far) : WEFT_OK;
}

// What a client has done counts, though it is gone.
static void add_to_past(struct far_agent *far)
{
    far->figures.bytes_begun = far->figures.memory_used = 0;
    agent_add_figures(&far->agent->past, &far->figures);
    far->figures = (struct agent_figures){0};
}

void far_agent_fini(struct far_agent *far)
{
    far_agent_kill(far);
    far->is_wanted = far->is_started = false;
    add_to_past(far);
}

// A frame for a client that is gone goes nowhere: its end is reported as well.
weft_err far_agent_send(struct far_agent *far, Weft__FrameType type,
                        const ProtobufCMessage *message)
{
    return is_away(far) ? WEFT_OK : hub_send(far->peer, type, message);
}

weft_err far_agent_tell_client(struct far_agent *far, Weft__FrameType type,
                               const ProtobufCMessage *message)
{
    return far->peer ? hub_send(far->peer, type, message) : WEFT_OK;
}

void far_agent_kill(struct far_agent *far)
{
    if (!is_away(far) && hub_send(far->peer, WEFT__FRAME_TYPE__FRAME_CLIENT_KILL, NULL) != WEFT_OK)
        err_clear();  // it has left 64 MiB unread: it will be lost soon
}

void far_agent_abandon(struct far_agent *far)
{
    far->awaits_end = !is_away(far);
    far_agent_kill(far);
    far->is_wanted = far->is_started = far->agent->is_ready = false;
}

weft_err far_agent_ask_work(struct far_agent *far)
{
    far->is_listing = true;
    far->has_offered = false;
    return far_agent_tell_client(far, WEFT__FRAME_TYPE__FRAME_CLIENT_GIVE, NULL);
}

void far_agent_forget(struct far_agent *far, uint64_t file)
{
    Weft__ClientForget forget = WEFT__CLIENT_FORGET__INIT;
    forget.files = &file;
    forget.n_files = 1;
    if (far->peer &&
        hub_send(far->peer, WEFT__FRAME_TYPE__FRAME_CLIENT_FORGET, &forget.base) != WEFT_OK)
        err_clear();  // it has left 64 MiB unread: it will be lost soon
}

// ---- What the client reports --------------------------------------------------------------------------

static struct agent_attempt attempt_of(const Weft__ClientAttempt *at)
{
    return (struct agent_attempt){
        .stage = at->stage,
        .kind = at->kind,
        .task = at->task,
        .attempt = at->attempt,
        .slot = at->slot,
        .input = at->input,
        .offset = at->offset,
        .fed_end = at->fed_end,
        .crash_signal = at->crash_signal,
    };
}

static weft_err take_ready(struct far_agent *far, const Weft__ClientReady *ready)
{
    (void)ready;
    struct agent *agent = far->agent;
    if (agent->is_ready)
        return err_set(WEFT_INTERNAL, "that its worker is ready, again");
    agent->is_ready = true;
    agent->options.calls->ready(agent->options.owner, WEFT_OK);
    return WEFT_OK;
}

static weft_err take_lost(struct far_agent *far, const Weft__ClientLost *lost)
{
    struct agent *agent = far->agent;
    if (lost->n_inside > far->slot_count || lost->code > WEFT_UNAUTHENTICATED)
        return err_set(WEFT_INTERNAL, "the end of a worker that cannot be");
    for (size_t i = 0; i < lost->n_inside; i++)
        agent->inside[i] = attempt_of(lost->inside[i]);
    const struct process_exit exit = {.is_known = lost->is_exit_known,
                                      .was_signalled = lost->exit_signal != 0,
                                      .number =
                                          lost->exit_signal ? lost->exit_signal : lost->exit_code};
    const struct agent_loss loss = {
        .exit = &exit,
        .code = lost->code ? err_set((weft_err)lost->code, "%s", lost->text) : WEFT_OK,
        .was_ready = lost->was_ready,
        .is_told = lost->is_told || agent->is_told,
        .is_released = lost->is_released,
        .inside = agent->inside,
        .inside_count = (uint32_t)lost->n_inside,
    };
    far->is_wanted = far->is_started = agent->is_ready = false;
    agent->options.calls->lost(agent->options.owner, &loss);
    return WEFT_OK;
}

static weft_err take_late(struct far_agent *far, const Weft__ClientLate *late)
{
    struct agent *agent = far->agent;
    if (!late->at || !agent->options.calls->late)
        return err_set(WEFT_INTERNAL, "that nothing is late");
    const struct agent_attempt at = attempt_of(late->at);
    agent->options.calls->late(agent->options.owner, &at, late->is_record);
    return WEFT_OK;
}

static weft_err take_status(struct far_agent *far, const Weft__ClientStatus *status)
{
    struct agent_figures *figures = &far->figures;
    if (status->n_phase_ns != PHASE_COUNT)
        return err_set(WEFT_INTERNAL, "the times of %zu phases, not %d", status->n_phase_ns,
                       PHASE_COUNT);
    *figures = (struct agent_figures){
        .bytes_in = status->bytes_in,
        .records_in = status->records_in,
        .bytes_begun = status->bytes_begun,
        .spill_bytes = status->spill_bytes,
        .spill_runs = status->spill_runs,
        .saved_bytes = status->saved_bytes,
        .memory_used = status->memory_used,
        .memory_peak = status->memory_peak,
        .has_switched_to_sort = status->has_switched_to_sort,
    };
    memcpy(figures->phase_ns, status->phase_ns, sizeof figures->phase_ns);
    far->fetched_bytes = status->fetched_bytes;
    far->lent_bytes = status->lent_bytes;
    far->relayed_bytes = status->relayed_bytes;
    return WEFT_OK;
}

// Only at first, or when it was asked for: later its files may be others.
static weft_err take_offer(struct far_agent *far, const Weft__ClientOffer *offer)
{
    const struct agent *agent = far->agent;
    if (far->has_offered)
        return err_set(WEFT_INTERNAL, "an offer after its last one");
    far->has_offered = offer->is_last;
    far->is_listing &= !offer->is_last;
    agent->options.calls->offered(agent->options.owner, offer);
    return WEFT_OK;
}

static weft_err take_wrote(struct far_agent *far, const Weft__PartWritten *written)
{
    const struct agent_options *options = &far->agent->options;
    return options->calls->wrote ? options->calls->wrote(options->owner, written)
                                 : err_set(WEFT_INTERNAL, "a part that it was not asked for");
}

static weft_err take_leaving(struct far_agent *far)
{
    const struct agent_options *options = &far->agent->options;
    if (options->calls->leaving)
        options->calls->leaving(options->owner);
    return WEFT_OK;
}

static weft_err take_taken(struct far_agent *far, const Weft__ClientTaken *taken)
{
    const struct agent_options *options = &far->agent->options;
    return options->calls->taken ? options->calls->taken(options->owner, taken)
                                 : err_set(WEFT_INTERNAL, "work that it was not asked for");
}

// What the worker itself has said.
static weft_err take_answer(struct far_agent *far, const struct frame *frame)
{
    struct agent *agent = far->agent;
    ProtobufCMessage *message = NULL;
    const struct agent_calls *calls = agent->options.calls;
    if (!agent->is_ready || frame->type == WEFT__FRAME_TYPE__FRAME_HELLO)
        return err_set(WEFT_INTERNAL, "a frame that does not belong here");
    if (frame->type == WEFT__FRAME_TYPE__FRAME_BYE) {
        if (!agent->is_released)
            return err_set(WEFT_INTERNAL, "a goodbye that was not asked for");
        calls->left(agent->options.owner);
        return WEFT_OK;
    }
    const weft_err code = answer_unpack(frame, &message);
    if (code == WEFT_OK && !calls->message(agent->options.owner, frame->type, message))
        message_free(message);
    return code;
}

static const ProtobufCMessageDescriptor *descriptor_of(Weft__FrameType type)
{
    switch (type) {
    case WEFT__FRAME_TYPE__FRAME_CLIENT_READY:
        return &weft__client_ready__descriptor;
    case WEFT__FRAME_TYPE__FRAME_CLIENT_LOST:
        return &weft__client_lost__descriptor;
    case WEFT__FRAME_TYPE__FRAME_CLIENT_LATE:
        return &weft__client_late__descriptor;
    case WEFT__FRAME_TYPE__FRAME_CLIENT_STATUS:
        return &weft__client_status__descriptor;
    case WEFT__FRAME_TYPE__FRAME_CLIENT_OFFER:
        return &weft__client_offer__descriptor;
    case WEFT__FRAME_TYPE__FRAME_PART_WRITTEN:
        return &weft__part_written__descriptor;
    case WEFT__FRAME_TYPE__FRAME_CLIENT_LEAVING:
        return &weft__client_leaving__descriptor;
    case WEFT__FRAME_TYPE__FRAME_CLIENT_TAKEN:
        return &weft__client_taken__descriptor;
    default:
        return NULL;
    }
}

static weft_err take_message(struct far_agent *far, Weft__FrameType type,
                             const ProtobufCMessage *message)
{
    switch (type) {
    case WEFT__FRAME_TYPE__FRAME_CLIENT_READY:
        return take_ready(far, (const Weft__ClientReady *)message);
    case WEFT__FRAME_TYPE__FRAME_CLIENT_LOST:
        return take_lost(far, (const Weft__ClientLost *)message);
    case WEFT__FRAME_TYPE__FRAME_CLIENT_LATE:
        return take_late(far, (const Weft__ClientLate *)message);
    case WEFT__FRAME_TYPE__FRAME_CLIENT_OFFER:
        return take_offer(far, (const Weft__ClientOffer *)message);
    case WEFT__FRAME_TYPE__FRAME_PART_WRITTEN:
        return take_wrote(far, (const Weft__PartWritten *)message);
    case WEFT__FRAME_TYPE__FRAME_CLIENT_LEAVING:
        return take_leaving(far);
    case WEFT__FRAME_TYPE__FRAME_CLIENT_TAKEN:
        return take_taken(far, (const Weft__ClientTaken *)message);
    default:
        return take_status(far, (const Weft__ClientStatus *)message);
    }
}

// Whether or not it has a worker.
static bool is_of_client(const struct far_agent *far, Weft__FrameType type)
{
    return type == WEFT__FRAME_TYPE__FRAME_CLIENT_STATUS ||
           type == WEFT__FRAME_TYPE__FRAME_PART_WRITTEN ||
           type == WEFT__FRAME_TYPE__FRAME_CLIENT_LEAVING ||
           type == WEFT__FRAME_TYPE__FRAME_CLIENT_TAKEN ||
           (type == WEFT__FRAME_TYPE__FRAME_CLIENT_OFFER && far->is_listing);
}

weft_err far_agent_take(struct far_agent *far, const struct frame *frame)
{
    const ProtobufCMessageDescriptor *descriptor = descriptor_of(frame->type);
    ProtobufCMessage *message = NULL;
    if (far->awaits_end && frame->type == WEFT__FRAME_TYPE__FRAME_CLIENT_LOST) {
        far->awaits_end = false;
        return far->is_wanted ? tell_start(far) : WEFT_OK;
    }
    // Of a worker that is not waited for any more.
    if (!far->is_started && !is_of_client(far, frame->type))
        return WEFT_OK;
    if (!descriptor)
        return take_answer(far, frame);
    if (message_unpack(frame, descriptor, &message) != WEFT_OK)
        return err_set(WEFT_INTERNAL, "a %s that cannot be read", descriptor->short_name);
    const weft_err code = take_message(far, frame->type, message);
    message_free(message);
    return code;
}

// ---- Clients come and go --------------------------------------------------------------------------------

weft_err far_agent_check(const Weft__ClientJoin *join)
{
    if (join->slots < 1 || join->slots > SLOTS_MAX)
        return err_set(WEFT_INTERNAL, "%u slots, not 1 to %d", join->slots, SLOTS_MAX);
    if (join->port < 1 || join->port > UINT16_MAX)
        return err_set(WEFT_INTERNAL, "port %u", join->port);
    return WEFT_OK;
}

void far_agent_attach(struct far_agent *far, struct hub_peer *peer, uint32_t holder,
                      const Weft__ClientJoin *join, char *address)
{
    far->peer = peer;
    far->address = address;
    far->holder = holder;
    far->slot_count = join->slots;
    far->has_offered = far->is_listing = false;
    far->figures = (struct agent_figures){0};
    far->fetched_bytes = far->lent_bytes = far->relayed_bytes = 0;
    far->backup_count = 0;
    if (far->is_wanted && tell_start(far) != WEFT_OK)
        err_clear();  // nothing is unread by one that has just joined
}

void far_agent_detach(struct far_agent *far, weft_err code)
{
    struct agent *agent = far->agent;
    const struct process_exit exit = {0};
    const struct agent_loss loss = {.exit = &exit,
                                    .code = code,
                                    .was_ready = agent->is_ready,
                                    .is_told = true,
                                    .is_machine = true,
                                    .inside = agent->inside};
    const bool is_told = far->is_wanted && far->is_started;
    far->peer = NULL;
    far->awaits_end = false;
    far->slot_count = 0;
    add_to_past(far);
    if (is_told) {
        far->is_wanted = far->is_started = agent->is_ready = false;
        agent->options.calls->lost(agent->options.owner, &loss);
    }
    if (agent->options.calls->gone)
        agent->options.calls->gone(agent->options.owner);
}
