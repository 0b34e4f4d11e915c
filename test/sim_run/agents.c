// Agents and the lives of their workers: those that share the work, and one more for the search for a bad record.

#include <signal.h>
#include <stdlib.h>

#include "sim_run/worker.h"

// ---- Its life --------------------------------------------------------------------------------------------------------

static void forget(struct worker *worker)
{
    for (uint32_t i = 0; i < SLOTS_MAX; i++)
        for (size_t k = 0; k < worker->slots[i].run_count; k++)
            message_free(worker->slots[i].runs[k]);
    for (size_t i = 0; i < worker->in.count; i++)
        free(worker->in.items[i].bytes);
    for (size_t i = 0; i < worker->out.count; i++)
        free(worker->out.items[i].bytes);
    for (size_t i = 0; i < worker->past.count; i++)
        free(worker->past.items[i].bytes);
    VEC_FINI(&worker->past);
    VEC_FINI(&worker->in);
    VEC_FINI(&worker->out);
    message_free(worker->open);
    worker_close_files(worker);
    *worker = (struct worker){.agent = worker->agent};
}

// What it managed to send arrives before its end does.
void worker_die(struct worker *worker, int crash_slot)
{
    struct agent *agent = worker->agent;
    const struct process_exit exit = {.is_known = true, .was_signalled = true, .number = SIGKILL};
    const bool was_ready = worker->has_greeted;
    if (sim_chance(500))
        worker->out.count = sim_below((uint32_t)worker->out.count + 1);
    worker->is_gone = sim.step % 2;
    while (was_ready && worker->out.count && worker->is_alive)
        worker_deliver(worker);
    if (!worker->is_alive)
        return;  // the driver has ended it meanwhile
    struct agent_loss loss = {.exit = &exit,
                              .was_ready = was_ready,
                              .is_told = agent->is_told,
                              .is_released = agent->is_released,
                              .inside = agent->inside};
    for (uint32_t i = 0; i < agent->options.slot_count; i++)
        if (worker->slots[i].is_inside) {
            struct agent_attempt *at = &agent->inside[loss.inside_count++];
            worker_fill_attempt(worker, i, at);
            at->crash_signal = (int)i == crash_slot ? SIGSEGV : 0;
        }
    worker_show(worker, "dies", NULL);
    forget(worker);
    agent->options.calls->lost(agent->options.owner, &loss);
}

static struct worker *worker_of(const struct agent *agent)
{
    for (size_t i = 0; i < AGENTS_MAX; i++)
        if (workers[i].agent == agent)
            return &workers[i];
    return NULL;
}

// ---- What may happen -------------------------------------------------------------------------------------------------

static void strike(struct worker *worker)
{
    const struct agent_calls *calls = worker->agent->options.calls;
    void *owner = worker->agent->options.owner;
    const uint32_t slot = sim_below(worker->agent->options.slot_count);
    struct agent_attempt at;
    if (sim_chance(sim.options.kill_rate)) {
        sim.may_fail = true;  // after three without progress
        worker_die(worker, -1);
    } else if (worker->has_greeted && sim_chance(sim.options.wrong_rate)) {
        sim.may_fail = true;
        calls->wrong(owner, "what it may not");
        agent_kill(worker->agent);
    } else if (worker->has_greeted && sim_chance(sim.options.failed_rate)) {
        Weft__WorkerFailed failed = WEFT__WORKER_FAILED__INIT;
        failed.code = WEFT_RESOURCE_EXHAUSTED;
        failed.text = "no space left on device";
        sim.may_fail = true;
        worker_say(worker, WEFT__FRAME_TYPE__FRAME_WORKER_FAILED, &failed.base);
    } else if (worker->slots[slot].is_inside && worker->slots[slot].hangs) {
        worker_fill_attempt(worker, slot, &at);
        calls->late(owner, &at, false);
    }
}

static bool can_go_on(const struct worker *worker, uint32_t slot)
{
    const struct slot *at = &worker->slots[slot];
    return at->run_count && !(at->is_inside && at->hangs);
}

static void go_on_in_a_slot(struct worker *worker)
{
    const uint32_t count = worker->agent->options.slot_count, first = sim_below(count);
    for (uint32_t i = 0; i < count; i++)
        if (can_go_on(worker, (first + i) % count)) {
            worker_go_on(worker, (first + i) % count);
            return;
        }
}

static void find_hanging(struct worker *worker)
{
    struct agent_attempt at;
    for (uint32_t i = 0; i < worker->agent->options.slot_count; i++)
        if (worker->slots[i].is_inside && worker->slots[i].hangs) {
            worker_fill_attempt(worker, i, &at);
            worker->agent->options.calls->late(worker->agent->options.owner, &at, false);
            return;
        }
}

static void step_worker(struct worker *worker)
{
    if (worker_has_faults(worker))
        strike(worker);
    if (!worker->is_alive)
        return;
    if (worker->is_doomed && sim_chance(200)) {
        worker_die(worker, -1);
        return;
    }
    if (!worker->has_greeted) {
        worker->has_greeted = true;
        worker->agent->options.calls->ready(worker->agent->options.owner, WEFT_OK);
        return;
    }
    const uint32_t pick = sim_below(4);
    if (pick == 0 && worker->in.count)
        worker_receive(worker);
    else if (pick == 1 && worker->out.count)
        worker_deliver(worker);
    else if (pick == 2 && sim_chance(20))
        find_hanging(worker);
    else if (pick == 3)
        go_on_in_a_slot(worker);
}

static bool is_at_rest(const struct worker *worker)
{
    bool is_busy =
        !worker->has_greeted || worker->in.count || worker->out.count || worker->is_doomed;
    for (uint32_t i = 0; i < worker->agent->options.slot_count; i++)
        is_busy |= worker->slots[i].run_count > 0;
    return !is_busy;
}

bool workers_step(void)
{
    const size_t first = sim_below(AGENTS_MAX);
    for (size_t i = 0; i < AGENTS_MAX; i++) {
        struct worker *worker = &workers[(first + i) % AGENTS_MAX];
        if (!worker->is_alive || is_at_rest(worker))
            continue;
        if (worker->has_left && !worker->out.count && !worker->is_doomed)
            worker->is_doomed = true;  // it exits
        step_worker(worker);
        return true;
    }
    return false;
}

// ---- The agent, as run/driver/agent/agent.h has it ----------------------------------------------------------------------------

void agent_init(struct agent *agent, const struct agent_options *options)
{
    *agent = (struct agent){.options = *options};
    if (worker_of(agent))
        return;
    for (size_t i = 0; i < AGENTS_MAX; i++)
        if (!workers[i].agent) {
            workers[i].agent = agent;
            return;
        }
    sim_wrong("there are more than %d agents", AGENTS_MAX);
}

void agent_fini(struct agent *agent)
{
    struct worker *worker = worker_of(agent);
    if (worker)
        forget(worker);
}

weft_err agent_start(struct agent *agent, int output_fd)
{
    struct worker *worker = worker_of(agent);
    (void)output_fd;
    forget(worker);
    agent->is_told = agent->is_released = false;
    if (sim_has_faults() && sim_chance(sim.options.kill_rate)) {
        sim.may_fail = true;
        return err_set(WEFT_UNAVAILABLE, "cannot start a process");
    }
    worker->is_alive = true;
    return WEFT_OK;
}

bool agent_has_worker(const struct agent *agent)
{
    const struct worker *worker = worker_of(agent);
    return worker && worker->is_alive;
}

bool agent_is_ready(const struct agent *agent)
{
    const struct worker *worker = worker_of(agent);
    return worker && worker->is_alive && worker->has_greeted;
}

uint32_t agent_slot_count(const struct agent *agent)
{
    return agent->options.slot_count;
}

uint32_t agent_holder(const struct agent *agent)
{
    (void)agent;
    return 0;
}

weft_err agent_send(struct agent *agent, Weft__FrameType type, const ProtobufCMessage *message)
{
    struct worker *worker = worker_of(agent);
    if (worker->is_alive && !VEC_PUSH(&worker->in, worker_pack(type, message)))
        exit(2);
    return WEFT_OK;
}

weft_err agent_release(struct agent *agent)
{
    agent->is_released = true;
    return agent_send(agent, WEFT__FRAME_TYPE__FRAME_BYE, NULL);
}

weft_err agent_open_file(const struct agent *agent, uint32_t number, int *fd)
{
    return worker_open_file(worker_of(agent), number, fd);
}

// There are no machines that do not answer here.
weft_err agent_tell_client(struct agent *agent, Weft__FrameType type,
                           const ProtobufCMessage *message)
{
    (void)agent, (void)type, (void)message;
    return WEFT_OK;
}

weft_err agent_ask_work(struct agent *agent)
{
    (void)agent;
    return WEFT_OK;
}

void agent_abandon(struct agent *agent)
{
    agent_kill(agent);
}

void agent_kill(struct agent *agent)
{
    agent->is_told = true;
    worker_of(agent)->is_doomed = true;
}

void agent_look(struct agent *agent)
{
    (void)agent;
}

void agent_read_attempt(const struct agent *agent, uint32_t slot, struct agent_attempt *at)
{
    worker_fill_attempt(worker_of(agent), slot, at);
}

bool agent_times_records(const struct agent *agent, uint32_t slot)
{
    (void)agent, (void)slot;
    return false;
}

void agent_read_figures(const struct agent *agent, struct agent_figures *figures)
{
    (void)agent;
    *figures = (struct agent_figures){0};
}

bool agent_read_status(struct agent *agent, struct status_words *words)
{
    (void)agent;
    (void)words;
    return false;
}

void agent_forget_file(struct agent *agent, uint64_t file)
{
    (void)agent, (void)file;
}
