// The agent: a worker's process and page on one side, facts for the owner on the other.

#include "run/driver/agent/agent.h"

#include <stdio.h>

#include "run/answers.h"
#include "run/driver/agent/far_agent.h"
#include "sys/time/clock.h"

enum { HELLO_TIMEOUT_MS = 60000 };

static uint64_t load(const _Atomic uint64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

// ---- What the page shows -------------------------------------------------------------------------------------------

void agent_read_attempt(const struct agent *agent, uint32_t slot, struct agent_attempt *at)
{
    const struct slot_page *page = &agent->process.page->slots[slot];
    *at = (struct agent_attempt){
        .stage = atomic_load(&page->stage),
        .kind = atomic_load(&page->kind),
        .task = atomic_load(&page->task),
        .attempt = atomic_load(&page->attempt),
        .slot = slot,
        .input = atomic_load(&page->input_index),
        .offset = atomic_load(&page->input_offset),
        .fed_end = atomic_load(&page->fed_end),
        .crash_signal = atomic_load(&page->crash_signal),
    };
}

static bool is_inside(const struct agent *agent, uint32_t slot)
{
    return atomic_load(&agent->process.page->slots[slot].attempt_serial) & 1;
}

// What a slot has read of the block it is at: a slow job may stay in one for long.
static uint64_t bytes_begun(const struct slot_page *slot)
{
    const uint64_t from = load(&slot->counted_offset), to = load(&slot->input_offset);
    const uint32_t kind = atomic_load_explicit(&slot->kind, memory_order_relaxed);
    return kind == WEFT__TASK_KIND__TASK_MAP && to > from ? to - from : 0;
}

static void add_page(const struct agent *agent, struct agent_figures *figures)
{
    const struct worker_page *page = agent->process.page;
    const uint64_t peak = load(&page->memory_peak);
    figures->memory_peak = peak > figures->memory_peak ? peak : figures->memory_peak;
    if (atomic_load_explicit(&page->has_switched_to_sort, memory_order_relaxed))
        figures->has_switched_to_sort = true;
    for (uint32_t i = 0; i < agent->options.slot_count; i++) {
        const struct slot_page *slot = &page->slots[i];
        figures->bytes_in += load(&slot->bytes_in);
        figures->records_in += load(&slot->records_in);
        figures->spill_bytes += load(&slot->spill_bytes);
        figures->spill_runs += load(&slot->spill_runs);
        figures->saved_bytes += load(&slot->saved_bytes);
        for (int phase = 0; phase < PHASE_COUNT; phase++)
            figures->phase_ns[phase] += load(&slot->phase_ns[phase]);
    }
}

void agent_read_figures(const struct agent *agent, struct agent_figures *figures)
{
    *figures = agent->past;
    if (agent->options.far)
        agent_add_figures(figures, &agent->options.far->figures);
    if (!agent->process.is_open || agent->is_counted)
        return;
    add_page(agent, figures);
    figures->memory_used = load(&agent->process.page->memory_used);
    for (uint32_t i = 0; i < agent->options.slot_count; i++)
        figures->bytes_begun += bytes_begun(&agent->process.page->slots[i]);
}

// A new page starts at zero.
static void count_worker(struct agent *agent)
{
    if (agent->process.is_open && !agent->is_counted)
        add_page(agent, &agent->past);
    agent->is_counted = true;
}

bool agent_times_records(const struct agent *agent, uint32_t slot)
{
    return agent->process.is_open && atomic_load(&agent->process.page->slots[slot].times_records);
}

bool agent_read_status(struct agent *agent, struct status_words *words)
{
    const uint32_t count = agent->options.slot_count;
    for (uint32_t i = 1; agent->process.is_open && i <= count; i++) {
        const uint32_t slot = (agent->status_slot + i) % count;
        if (!slot_status_read(&agent->process.page->slots[slot].status, agent->status_serials[slot],
                              words))
            continue;
        agent->status_serials[slot] = words->serial;
        agent->status_slot = slot;
        return true;
    }
    return false;
}

// ---- Attempts beyond their time ------------------------------------------------------------------------------------

// Whether the slot has been at one record for longer than it may.
static bool stays_at_record(struct agent *agent, uint32_t slot_index, uint64_t now_ns)
{
    const struct slot_page *slot = &agent->process.page->slots[slot_index];
    const uint64_t limit_ns = (uint64_t)agent->options.record_timeout_ms * 1000000;
    const uint64_t offset = atomic_load(&slot->input_offset) + atomic_load(&slot->records_in);
    uint64_t *since_ns = &agent->record_since_ns[slot_index];
    if (limit_ns == 0 || atomic_load(&slot->times_records) ||
        atomic_load(&slot->kind) == WEFT__TASK_KIND__TASK_REDUCE)
        return false;
    if (agent->record_offsets[slot_index] != offset || *since_ns == 0 ||
        *since_ns < atomic_load(&slot->begun_ns)) {
        agent->record_offsets[slot_index] = offset;
        *since_ns = now_ns;
    }
    return now_ns - *since_ns > limit_ns;
}

static void look_at_slot(struct agent *agent, uint32_t i, uint64_t now_ns)
{
    const struct slot_page *slot = &agent->process.page->slots[i];
    const uint64_t limit_ns = (uint64_t)agent->options.task_timeout_ms * 1000000;
    const uint64_t serial = atomic_load(&slot->attempt_serial);
    // Seen at the last look already: what the slot wrote at the beginning is all there.
    const bool is_seen = agent->serials[i] == serial;
    agent->serials[i] = serial;
    struct agent_attempt at;
    agent_read_attempt(agent, i, &at);
    const bool is_waiting = atomic_load(&slot->waits_since_ns) != 0;
    const uint64_t begun_ns = atomic_load(&slot->begun_ns);
    if ((serial & 1) == 0 || !is_seen || atomic_load(&slot->attempt_serial) != serial)
        return;
    // What another machine takes to lend its input is not the attempt's time; the lender has a limit.
    if (is_waiting)
        return;
    const bool is_record = stays_at_record(agent, i, now_ns);
    if (is_record || (limit_ns && now_ns > begun_ns && now_ns - begun_ns > limit_ns))
        agent->options.calls->late(agent->options.owner, &at, is_record);
}

void agent_look(struct agent *agent)
{
    const uint64_t now_ns = clock_now_ns();
    for (uint32_t i = 0; agent->process.is_open && agent->is_ready && i < agent->options.slot_count;
         i++)
        look_at_slot(agent, i, now_ns);
}

// ---- What a worker says ----------------------------------------------------------------------------------------------

static void forget_hello(struct agent *agent)
{
    loop_timer_free(agent->hello);
    agent->hello = NULL;
}

static void hello_is_late(void *owner)
{
    struct agent *agent = owner;
    agent->options.calls->silent(agent->options.owner);
}

// Nothing but its end is expected of it any more.
static void give_up(struct agent *agent, const char *what)
{
    agent->options.calls->wrong(agent->options.owner, what);
    agent_kill(agent);
}

static void take_message(struct agent *agent, Weft__FrameType type, ProtobufCMessage *message)
{
    const struct agent_calls *calls = agent->options.calls;
    bool is_kept = false;
    if (type == WEFT__FRAME_TYPE__FRAME_HELLO) {
        forget_hello(agent);
        agent->is_ready = true;
        calls->ready(agent->options.owner, message_check_hello((Weft__Hello *)message));
    } else if (type == WEFT__FRAME_TYPE__FRAME_NEED) {
        calls->need(agent->options.owner, (const Weft__Need *)message);
    } else {
        is_kept = calls->message(agent->options.owner, type, message);
    }
    if (!is_kept)
        message_free(message);
}

static void take_frame(void *owner, const struct frame *frame)
{
    struct agent *agent = owner;
    const bool is_hello = frame->type == WEFT__FRAME_TYPE__FRAME_HELLO;
    const bool is_bye = frame->type == WEFT__FRAME_TYPE__FRAME_BYE;
    const bool is_need = frame->type == WEFT__FRAME_TYPE__FRAME_NEED;
    ProtobufCMessage *message = NULL;
    if (is_bye && agent->is_released)
        agent->options.calls->left(agent->options.owner);
    else if (is_bye || is_hello == agent->is_ready || (is_need && !agent->options.calls->need))
        give_up(agent, "a frame that does not belong here");
    else if (answer_unpack(frame, &message) != WEFT_OK)
        give_up(agent, err_text());
    else
        take_message(agent, frame->type, message);
}

// ---- Its life --------------------------------------------------------------------------------------------------------

static void take_loss(void *owner, const struct process_exit *exit, weft_err code)
{
    struct agent *agent = owner;
    struct agent_loss loss = {
        .exit = exit,
        .code = code,
        .was_ready = agent->is_ready,
        .is_told = agent->is_told,
        .is_released = agent->is_released,
        .inside = agent->inside,
    };
    agent->is_ready = false;
    forget_hello(agent);
    count_worker(agent);
    for (uint32_t i = 0; i < agent->options.slot_count; i++)
        if (is_inside(agent, i))
            agent_read_attempt(agent, i, &agent->inside[loss.inside_count++]);
    agent->options.calls->lost(agent->options.owner, &loss);
}

static void end_worker(struct agent *agent)
{
    forget_hello(agent);
    count_worker(agent);
    worker_process_close(&agent->process);
}

weft_err agent_start(struct agent *agent, int output_fd)
{
    static const struct worker_process_calls calls = {.frame = take_frame, .lost = take_loss};
    end_worker(agent);
    agent->is_ready = agent->is_told = agent->is_released = false;
    if (agent->options.far)
        return far_agent_start(agent->options.far);
    const struct worker_process_spec spec = {.program = agent->options.program,
                                             .output_fd = output_fd};
    const weft_err code =
        worker_process_open(&agent->process, agent->options.loop, &spec, &calls, agent);
    agent->is_counted = code != WEFT_OK;
    if (code)
        return code;
    for (uint32_t i = 0; i < agent->options.slot_count; i++)
        atomic_store(&agent->process.page->slots[i].record_timeout_ms,
                     agent->options.record_timeout_ms);
    agent->hello = loop_timer_new(agent->options.loop, HELLO_TIMEOUT_MS, 0, hello_is_late, agent);
    return WEFT_OK;
}

bool agent_has_worker(const struct agent *agent)
{
    return agent->options.far ? agent->options.far->is_started : agent->process.is_open;
}

bool agent_is_ready(const struct agent *agent)
{
    return agent_has_worker(agent) && agent->is_ready;
}

uint32_t agent_slot_count(const struct agent *agent)
{
    return agent->options.far ? agent->options.far->slot_count : agent->options.slot_count;
}

uint32_t agent_holder(const struct agent *agent)
{
    return agent->options.far ? agent->options.far->holder : 0;
}

weft_err agent_send(struct agent *agent, Weft__FrameType type, const ProtobufCMessage *message)
{
    return agent->options.far ? far_agent_send(agent->options.far, type, message)
                              : worker_process_send(&agent->process, type, message);
}

weft_err agent_send_bytes(struct agent *agent, Weft__FrameType type, weft_bytes payload)
{
    return worker_process_send_bytes(&agent->process, type, payload);
}

weft_err agent_lend(struct agent *agent, uint32_t input, uint64_t offset, uint64_t size,
                    weft_err code)
{
    char text[ERR_TEXT_BYTES_MAX];
    snprintf(text, sizeof text, "%s", code ? err_text() : "");
    Weft__Lent lent = WEFT__LENT__INIT;
    lent.input = input;
    lent.offset = offset;
    lent.size = size;
    lent.code = message_code(code);
    lent.text = text;
    return worker_process_send(&agent->process, WEFT__FRAME_TYPE__FRAME_LENT, &lent.base);
}

weft_err agent_open_file(const struct agent *agent, uint32_t number, int *fd)
{
    return process_open_file(&agent->process.process, number, fd);
}

weft_err agent_release(struct agent *agent)
{
    agent->is_released = true;
    return agent_send(agent, WEFT__FRAME_TYPE__FRAME_BYE, NULL);
}

void agent_kill(struct agent *agent)
{
    agent->is_told = true;
    if (agent->options.far)
        far_agent_kill(agent->options.far);
    else
        worker_process_kill(&agent->process);
}

weft_err agent_tell_client(struct agent *agent, Weft__FrameType type,
                           const ProtobufCMessage *message)
{
    ASSERT(agent->options.far);
    return far_agent_tell_client(agent->options.far, type, message);
}

weft_err agent_ask_work(struct agent *agent)
{
    ASSERT(agent->options.far);
    return far_agent_ask_work(agent->options.far);
}

void agent_abandon(struct agent *agent)
{
    ASSERT(agent->options.far);
    agent->is_told = true;
    far_agent_abandon(agent->options.far);
}

void agent_init(struct agent *agent, const struct agent_options *options)
{
    // The arrays by slot are zero already: a server has a thousand agents, and few of them ever have a worker.
    memset(agent, 0, offsetof(struct agent, inside));
    agent->options = *options;
    agent->is_counted = true;
    if (options->far)
        options->far->agent = agent;
}

void agent_fini(struct agent *agent)
{
    if (agent->options.far)
        far_agent_fini(agent->options.far);
    agent->options.far = NULL;
    end_worker(agent);
}

void agent_forget_file(struct agent *agent, uint64_t file)
{
    if (agent->options.far)
        far_agent_forget(agent->options.far, file);
}
