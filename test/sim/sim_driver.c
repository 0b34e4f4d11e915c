// The model of a driver: hands in what happened, carries out what follows, and decides what is the
// driver's to decide: what is restored, when there is a checkpoint, what becomes of a stuck task.
#include "sim/sim.h"

#include <stdio.h>

enum going { GOING_COMMANDS, GOING_SLOTS, GOING_FRAMES, GOING_TIMERS };  // see sim_options.weights

// ---- Showing ----------------------------------------------------------------------------------

static void show_attempt(char mark, const struct sched_attempt *at)
{
    printf(" %c%c%u.%u@%u", mark, "smr"[at->kind], at -> task, at -> attempt, at -> slot);
}

// S start, W ready, + held, - failed, C committed, = sealed, T timed out, F worker failed,
// X lost, ! cancelled, R restored, e excused, c condemned, k checkpoint, K checkpointed; then what
// follows: > run, s seal, c checkpoint, u stuck, w worker, o open, p plan, k kill, D done, E failed; then
// the tasks of the open stage: . pending, r running, h held, # committed, * committed for good, u stuck.
static void show_event(const struct sim *sim, const struct sched_event *event)
{
    printf("%5u w%u", sim->step, event->worker);
    show_attempt("SW+-C=TFX!ReckK"[event->type], &event -> at);
    for (uint32_t i = 0; i < event->inside_count && event->type == EVENT_WORKER_LOST; i++)
        show_attempt(event->inside[i].slot == event->crash_slot ? '*' : '?', &event->inside[i]);
    printf(" |");
    for (uint32_t i = 0; i < sim->actions.count; i++) {
        const struct sched_action *action = &sim->actions.items[i];
        if (action->type == ACTION_RUN || action->type == ACTION_TASK_STUCK)
            show_attempt(action->type == ACTION_RUN ? '>' : 'u', &action->at);
        else
            printf(" %c", "wop>scukDE"[action->type]);
        if (action->type == ACTION_SEAL || action->type == ACTION_CHECKPOINT)
            printf("@%u", action->at.slot);
        if (sim->options.worker_count > 1 && action->worker > 0)
            printf("w%u", action->worker);
    }
    const uint32_t stage = sched_stage(sim->sched);
    printf(" | %u", stage);
    for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++) {
        putchar(' ');
        for (uint32_t task = 0; task < sim_task_count(&sim->options, stage, kind); task++)
            putchar(sched_is_durable(sim->sched, stage, kind, task)
                        ? '*'
                        : ".rh#u"[sched_task_state(sim->sched, stage, kind, task)]);
    }
    putchar('\n');
}

// ---- The driver -------------------------------------------------------------------------------

void sim_frames_put(struct sim *sim, struct sim_frames *frames, const struct sched_event *event)
{
    if (frames->count == SIM_FRAMES_MAX)
        sim_wrong(sim, "too many frames in flight");
    frames->items[(frames->first + frames->count++) % SIM_FRAMES_MAX] = *event;
}

struct sched_event sim_frames_take(struct sim_frames *frames)
{
    const struct sched_event event = frames->items[frames->first];
    frames->first = (frames->first + 1) % SIM_FRAMES_MAX;
    frames->count--;
    return event;
}

bool sim_has_faults(const struct sim *sim)
{
    return sim->step < sim->options.fault_steps;
}

// It dies in a few steps, unless it has done so by itself.
static void kill_worker(struct sim *sim, uint32_t number)
{
    struct sim_worker *worker = sim_find_worker(sim, number);
    if (worker)
        worker->is_killed = true;
}

static void carry_out(struct sim *sim, const struct sched_action *action)
{
    if (action->type == ACTION_START_WORKER)
        worker_start(sim, action->worker);
    else if (action->type == ACTION_KILL_WORKER)
        kill_worker(sim, action->worker);
    else if (action->type == ACTION_TASK_STUCK)
        sim->asked[action->at.kind] |= UINT64_C(1) << action->at.task;
    else if (action->type < ACTION_KILL_WORKER)
        worker_send(sim, action);
}

void driver_hand_in(struct sim *sim, const struct sched_event *event)
{
    sim->totals->events++;
    ledger_take_event(sim, event);
    sched_step(sim->sched, event, &sim->actions);
    for (;;) {
        if (sim->is_verbose)
            show_event(sim, event);
        rules_take_actions(sim, event);
        for (uint32_t i = 0; i < sim->actions.count; i++)
            carry_out(sim, &sim->actions.items[i]);
        if (!sim->actions.has_more)
            break;
        sched_more(sim->sched, &sim->actions);
    }
    rules_check(sim, event);
}

// A frame may be said twice, except the loss of a worker, which takes its attempts away.
static void deliver(struct sim *sim, struct sched_event event)
{
    driver_hand_in(sim, &event);
    if (event.type == EVENT_WORKER_LOST || !sim_chance(&sim->random, sim->options.repeat_rate))
        return;
    sim->totals->repeated++;
    driver_hand_in(sim, &event);
}

static void deliver_stale(struct sim *sim)
{
    const struct sched_event event = sim->stale[sim->stale_first];
    if (ledger_account(sim, event.worker))
        return;  // not before its loss is known
    sim->stale_first = (sim->stale_first + 1) % SIM_STALE_MAX;
    sim->stale_count--;
    sim->totals->stale++;
    deliver(sim, event);
}

// A timer finds an attempt that hangs, or one that is only slow.
static void time_out(struct sim *sim, const struct sim_worker *worker, bool is_hasty)
{
    const uint32_t slot = sim_below(&sim->random, worker->slot_count);
    const struct sim_slot *at = &worker->slots[slot];
    if (!at->is_inside || (at->fate != FATE_HANG && !is_hasty))
        return;
    sim->totals->timeouts++;
    sim->bad[at->at.stage][at->at.kind][at->at.task]++;
    const struct sched_event event = {
        .type = EVENT_TASK_TIMED_OUT, .worker = worker->number, .at = at->at};
    driver_hand_in(sim, &event);
}

// ---- What the driver decides ------------------------------------------------------------------

// What an earlier run left behind: output in its place, map tasks in the files of checkpoints.
static void restore(struct sim *sim, uint32_t stage, enum sched_kind kind, uint32_t task)
{
    const uint64_t bit = UINT64_C(1) << task;
    const bool is_output =
        kind == SCHED_REDUCE || (kind == SCHED_MAP && sim->options.stages[stage].reduce_count == 0);
    sim->totals->restored++;
    sim->restored[stage][kind] |= bit;
    if (is_output && stage + 1 == sim->options.stage_count) {
        sim->sink.submitted |= bit;
        sim->sink.written |= bit;
        sim->sink.values[task] = sim->oracle_pieces[stage][task];
    } else if (kind == SCHED_MAP && !is_output) {
        sim->saved[stage] |= bit;
        sim->saved_values[stage][task] = sim->oracle_maps[stage][task];
    }
    const struct sched_event event = {.type = EVENT_TASK_RESTORED,
                                      .at = {.kind = kind, .task = task, .stage = stage}};
    driver_hand_in(sim, &event);
    if (sim_chance(&sim->random, sim->options.repeat_rate))
        driver_hand_in(sim, &event);
}

void driver_restore(struct sim *sim)
{
    for (uint32_t stage = 0; stage < sim->options.stage_count; stage++)
        for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++)
            for (uint32_t task = 0; task < sim_task_count(&sim->options, stage, kind); task++)
                if (sim_chance(&sim->random, sim->options.restore_rates[stage][kind]))
                    restore(sim, stage, kind, task);
}

// The driver has looked into a stuck task. Poison has so many bad records, and each excuse is for one.
static void judge(struct sim *sim, enum sched_kind kind, uint32_t task)
{
    const struct sim_options *options = &sim->options;
    const bool is_good = sim->excuse_count < options->excuses_max &&
                         !sim_chance(&sim->random, options->condemn_rate);
    const struct sched_event event = {.type = is_good ? EVENT_TASK_EXCUSED : EVENT_TASK_CONDEMNED,
                                      .at = {.kind = kind, .task = task},
                                      .code = is_good ? WEFT_OK : WEFT_DATA_LOSS};
    sim->asked[kind] &= ~(UINT64_C(1) << task);
    sim->excuse_count += is_good;
    *(is_good ? &sim->totals->excused : &sim->totals->condemned) += 1;
    if (is_good && options->poison_stage == 0 && options->poison_kind == kind &&
        options->poison_task == task)
        sim->poison_excuse_count++;
    if (is_good)
        sim->bad[0][kind][task] = 0;
    driver_hand_in(sim, &event);
    if (sim_chance(&sim->random, options->repeat_rate))
        driver_hand_in(sim, &event);
}

static void judge_one(struct sim *sim)
{
    if (!sim_chance(&sim->random, sim->options.verdict_rate))
        return;
    const enum sched_kind kind = sim->asked[SCHED_SAMPLE] ? SCHED_SAMPLE : SCHED_MAP;
    if (!sim->asked[kind])
        return;
    uint32_t task = sim_below(&sim->random, SIM_TASKS_MAX);
    while (!(sim->asked[kind] >> task & 1))
        task = (task + 1) % SIM_TASKS_MAX;
    judge(sim, kind, task);
}

// Events that are to be ignored now: verdicts on tasks that are not stuck, and restores.
static void talk_nonsense(struct sim *sim)
{
    const enum sched_event_type types[] = {EVENT_TASK_RESTORED, EVENT_TASK_EXCUSED,
                                           EVENT_TASK_CONDEMNED};
    struct sched_event event = {.type = types[sim_below(&sim->random, 3)], .code = WEFT_DATA_LOSS};
    event.at.stage = sim_below(&sim->random, SIM_STAGES_MAX + 1);
    event.at.kind = sim_below(&sim->random, SCHED_KIND_COUNT);
    event.at.task = sim_below(&sim->random, SIM_TASKS_MAX);
    if (!(sim->ledger.stuck[event.at.kind] >> event.at.task & 1))
        driver_hand_in(sim, &event);
}

static void decide(struct sim *sim)
{
    if (sim->asked[SCHED_SAMPLE] | sim->asked[SCHED_MAP])
        judge_one(sim);
    if (sim_chance(&sim->random, sim->options.checkpoint_rate)) {
        const struct sched_event event = {.type = EVENT_CHECKPOINT};
        driver_hand_in(sim, &event);
    }
    if (sim_chance(&sim->random, sim->options.nonsense_rate))
        talk_nonsense(sim);
}

// ---- Steps ------------------------------------------------------------------------------------

static void strike(struct sim *sim, struct sim_worker *worker)
{
    struct sim_random *random = &sim->random;
    if (sim_chance(random, sim->options.kill_rate) && worker->is_alive) {
        sim->outside_kill_count++;
        worker_die(sim, worker, SCHED_NO_SLOT);
    }
    if (sim_chance(random, sim->options.hasty_rate) && worker->is_alive)
        time_out(sim, worker, true);
    if (sim_chance(random, sim->options.worker_failed_rate) && worker->is_alive)
        worker_say(
            sim, worker,
            (struct sched_event){.type = EVENT_WORKER_FAILED, .code = WEFT_RESOURCE_EXHAUSTED});
    if (sim_chance(random, sim->options.cancel_rate) && !sched_is_over(sim->sched)) {
        const struct sched_event event = {.type = EVENT_CANCEL, .code = WEFT_CANCELLED};
        driver_hand_in(sim, &event);
    }
}

static void go_on_in_a_slot(struct sim *sim, struct sim_worker *worker)
{
    const uint32_t first = sim_below(&sim->random, worker->slot_count);
    for (uint32_t i = 0; i < worker->slot_count; i++) {
        const uint32_t slot = (first + i) % worker->slot_count;
        if (worker_slot_can_go_on(worker, slot))
            return worker_go_on(sim, worker, slot);
    }
}

static bool has_to_do(const struct sim_worker *worker)
{
    if (worker->frames.count > 0)
        return true;
    if (!worker->is_alive)
        return false;
    bool has_work = worker->is_killed || worker->inbox_count > 0;
    for (uint32_t i = 0; i < worker->slot_count; i++)
        has_work = has_work || worker->slots[i].is_inside || worker->slots[i].queue_count > 0;
    return has_work;
}

bool driver_is_waiting(const struct sim *sim)
{
    bool is_waiting = sim->asked[SCHED_SAMPLE] | sim->asked[SCHED_MAP];
    for (uint32_t i = 0; i < sim->options.worker_count; i++)
        is_waiting = is_waiting || has_to_do(&sim->workers[i]);
    return is_waiting;
}

void driver_step(struct sim *sim)
{
    const uint32_t *weights = sim->options.weights;
    struct sim_worker *worker = &sim->workers[sim_below(&sim->random, sim->options.worker_count)];
    if (sim_has_faults(sim))
        strike(sim, worker);
    if (!sched_is_over(sim->sched))
        decide(sim);
    if (worker->is_killed && sim_chance(&sim->random, 200))
        worker_die(sim, worker, SCHED_NO_SLOT);
    if (sched_is_over(sim->sched))
        return;
    uint32_t pick = sim_below(&sim->random, weights[0] + weights[1] + weights[2] + weights[3]);
    uint32_t going = 0;
    while (pick >= weights[going])
        pick -= weights[going++];
    if (going == GOING_COMMANDS && worker->is_alive && worker->inbox_count > 0)
        worker_receive(sim, worker);
    else if (going == GOING_SLOTS && worker->is_alive)
        go_on_in_a_slot(sim, worker);
    else if (going == GOING_FRAMES && worker->frames.count > 0)
        deliver(sim, sim_frames_take(&worker->frames));
    else if (going == GOING_TIMERS && worker->is_alive)
        time_out(sim, worker, false);
    if (sim->stale_count > 0 && sim_chance(&sim->random, 100))
        deliver_stale(sim);
}

// What is still in flight must not wake up a job that is over.
void driver_drain(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->options.worker_count; i++) {
        struct sim_worker *worker = &sim->workers[i];
        while (worker->frames.count > 0)
            deliver(sim, sim_frames_take(&worker->frames));
        for (uint32_t type = EVENT_CANCEL; type <= EVENT_CHECKPOINTED; type++) {
            const struct sched_event event = {
                .type = type, .worker = worker->number, .code = WEFT_CANCELLED};
            driver_hand_in(sim, &event);
        }
    }
}
