// The model of a worker process: what its slots hold, seal, submit and lose, frame by frame, and what it
// reads of other workers.
#include "sim/sim.h"

#include <string.h>

struct sim_worker *sim_find_worker(struct sim *sim, uint32_t number)
{
    struct sim_worker *worker = &sim->workers[(number - 1) % sim->options.worker_count];
    return number > 0 && worker->number == number && worker->is_alive ? worker : NULL;
}

static bool has_reduce(const struct sim *sim, uint32_t stage)
{
    return sim->options.stages[stage].reduce_count > 0;
}

static bool is_output(const struct sim *sim, const struct sched_attempt *at)
{
    return at->kind == SCHED_REDUCE || (at->kind == SCHED_MAP && !has_reduce(sim, at->stage));
}

void worker_say(struct sim *sim, struct sim_worker *worker, struct sched_event event)
{
    event.worker = worker->number;
    sim_frames_put(sim, &worker->frames, &event);
}

void worker_start(struct sim *sim, uint32_t number)
{
    struct sim_worker *worker = &sim->workers[(number - 1) % sim->options.worker_count];
    if (worker->is_alive || worker->frames.count > 0)
        sim_wrong(sim, "a second worker in the place of a living one");
    memset(worker, 0, sizeof *worker);
    worker->is_alive = true;
    worker->number = number;
    worker->slot_count = sim_between(&sim->random, 1, sim->options.slots_max);
    sim->totals->workers++;
    if (sim_has_faults(sim) && sim_chance(&sim->random, sim->options.start_fail_rate))
        return worker_die(sim, worker, SCHED_NO_SLOT);
    worker_say(sim, worker,
               (struct sched_event){.type = EVENT_WORKER_READY, .slot_count = worker->slot_count});
}

// ---- What a task reads ------------------------------------------------------------------------

// Where the driver knows what the task reads to be: worker numbers, 0 for files.
static void find_sources(const struct sim *sim, const struct sched_attempt *at, uint32_t *sources)
{
    const struct sim_ledger *ledger = &sim->ledger;
    const bool is_reduce = at->kind == SCHED_REDUCE;
    if (!is_reduce && (at->kind == SCHED_SAMPLE || at->stage == 0))
        return;
    const uint32_t stage = is_reduce ? at->stage : at->stage - 1;
    const enum sched_kind kind = is_reduce || !has_reduce(sim, stage) ? SCHED_MAP : SCHED_REDUCE;
    for (uint32_t task = 0; task < sim_task_count(&sim->options, stage, kind); task++) {
        if (!is_reduce && task != at->task)
            continue;
        if (sched_task_state(sim->sched, stage, kind, task) != SCHED_COMMITTED)
            sim_wrong(sim, "task %u runs, but %u of stage %u, which it reads, is not committed",
                      at->task, task, stage);
        const bool is_safe = sched_is_durable(sim->sched, stage, kind, task);
        sources[task] = is_safe ? 0 : ledger->keepers[stage][kind][task];
        if (!is_safe && sources[task] == 0)
            sim_wrong(sim, "nobody has what task %u of stage %u made", task, stage);
    }
}

// The piece of the stage before. False when the worker that had it is gone.
static bool read_piece(struct sim *sim, const struct sim_slot *slot, uint64_t *value)
{
    const uint32_t task = slot->at.task, stage = slot->at.stage;
    *value = task + 1;
    if (stage == 0)
        return true;
    const struct sim_worker *from = sim_find_worker(sim, slot->sources[task]);
    const enum sched_kind kind = has_reduce(sim, stage - 1) ? SCHED_REDUCE : SCHED_MAP;
    if (slot->sources[task] == 0) {
        if (!(sim->restored[stage - 1][kind] >> task & 1))
            sim_wrong(sim, "output of stage %u counts as safe, and is not", stage - 1);
        *value = sim->oracle_pieces[stage - 1][task];
        return true;
    }
    if (!from)
        return false;
    if (!(from->kept[stage - 1] >> task & 1))
        sim_wrong(sim, "worker %u does not have piece %u", from->number, task);
    *value = from->kept_values[stage - 1][task];
    return true;
}

// What all map tasks have for a reduce task, each once. False when one of them is gone.
static bool add_up(struct sim *sim, const struct sim_slot *slot, uint64_t *sum)
{
    const uint32_t stage = slot->at.stage;
    *sum = 0;
    for (uint32_t task = 0; task < sim->options.stages[stage].map_count; task++) {
        const struct sim_worker *from = sim_find_worker(sim, slot->sources[task]);
        const bool is_file = slot->sources[task] == 0;
        if (!is_file && !from)
            return false;
        if (!((is_file ? sim->saved[stage] : from->sealed[stage]) >> task & 1))
            sim_wrong(sim, "map task %u is not where it is looked for", task);
        *sum += sim_reduce_part(is_file ? sim->saved_values[stage][task]
                                        : from->sealed_values[stage][task],
                                slot->at.task);
    }
    return true;
}

// What the attempt makes. False when what it reads is gone.
static bool compute(struct sim *sim, const struct sim_slot *slot, uint64_t *value)
{
    bool is_there = true;
    if (slot->at.kind == SCHED_REDUCE)
        is_there = add_up(sim, slot, value);
    else if (slot->at.kind == SCHED_MAP)
        is_there = read_piece(sim, slot, value);
    if (slot->at.kind == SCHED_MAP)
        *value = sim_map_value(slot->at.stage, *value);
    sim->totals->fetches_failed += !is_there;
    return is_there;
}

// ---- Commands ---------------------------------------------------------------------------------

void worker_send(struct sim *sim, const struct sched_action *action)
{
    struct sim_worker *worker = sim_find_worker(sim, action->worker);
    if (!worker)
        return;  // the socket is closed; WORKER_LOST is on its way
    if (worker->inbox_count == SIM_FRAMES_MAX)
        sim_wrong(sim, "worker %u has too much to do", worker->number);
    struct sim_command command = {.action = *action};
    if (action->type == ACTION_RUN)
        find_sources(sim, &action->at, command.sources);
    const uint32_t place = (worker->inbox_first + worker->inbox_count++) % SIM_FRAMES_MAX;
    worker->inbox[place] = command;
}

// A worker is in one stage at a time. What is collected for a later one would be lost by going back; one that opens its stage again
// is to forget what it has collected.
static void open_stage(struct sim *sim, struct sim_worker *worker, uint32_t stage)
{
    const bool is_forward = stage >= worker->stage;
    for (uint32_t i = 0; i < worker->slot_count; i++) {
        struct sim_slot *slot = &worker->slots[i];
        if (slot->is_inside || slot->queue_count > 0)
            sim_wrong(sim, "stage %u is opened while slot %u is at work", stage, i);
        if (slot->collected && worker->has_stage && !is_forward)
            sim_wrong(sim, "stage %u is opened while slot %u holds something", stage, i);
        slot->collected = 0;
    }
    worker->stage = stage;
    worker->has_stage = true;
}

void worker_receive(struct sim *sim, struct sim_worker *worker)
{
    const struct sim_command command = worker->inbox[worker->inbox_first];
    const struct sched_action *action = &command.action;
    worker->inbox_first = (worker->inbox_first + 1) % SIM_FRAMES_MAX;
    worker->inbox_count--;
    if (action->type == ACTION_STAGE_OPEN)
        return open_stage(sim, worker, action->stage);
    if (!worker->has_stage || action->stage != worker->stage)
        sim_wrong(sim, "worker %u is not in stage %u", worker->number, action->stage);
    if (action->type == ACTION_STAGE_PLAN)
        return;
    struct sim_slot *slot = &worker->slots[action->at.slot];
    if (slot->queue_count == 4)
        sim_wrong(sim, "slot %u has too much to do", action->at.slot);
    slot->queue[slot->queue_count++] = command;
}

// ---- Slots ------------------------------------------------------------------------------------

static enum sim_fate draw_fate(struct sim *sim, const struct sched_attempt *at)
{
    const struct sim_options *options = &sim->options;
    struct sim_random *random = &sim->random;
    if (options->has_poison && options->poison_stage == at->stage &&
        options->poison_kind == at->kind && options->poison_task == at->task &&
        sim->poison_excuse_count < options->poison_excuses)
        return options->poison_fate;
    if (!sim_has_faults(sim))
        return FATE_GOOD;
    if (sim_chance(random, options->fail_rate))
        return sim_chance(random, 500) ? FATE_FAIL : FATE_FAIL_LATE;
    if (sim_chance(random, options->crash_rate))
        return FATE_CRASH;
    if (sim_chance(random, options->hang_rate))
        return FATE_HANG;
    return sim_chance(random, options->final_rate) ? FATE_FAIL_FINAL : FATE_GOOD;
}

static uint32_t draw_crash_slot(struct sim *sim, uint32_t slot)
{
    return sim_chance(&sim->random, sim->options.crash_known_rate) ? slot : SCHED_NO_SLOT;
}

// The reduce tasks will see this map task, once.
static void commit_map(struct sim *sim, struct sim_worker *worker, struct sim_slot *slot,
                       uint32_t task, bool is_durable)
{
    const uint32_t stage = worker->stage;
    const uint64_t bit = UINT64_C(1) << task, value = slot->collected_values[task];
    slot->collected &= ~bit;
    if (is_durable) {
        sim->saved[stage] |= bit;
        sim->saved_values[stage][task] = value;
    } else {
        if (worker->sealed[stage] & bit)
            sim_wrong(sim, "map task %u is sealed twice", task);
        worker->sealed[stage] |= bit;
        worker->sealed_values[stage][task] = value;
    }
    worker_say(sim, worker,
               (struct sched_event){.type = EVENT_TASK_COMMITTED,
                                    .at = {.kind = SCHED_MAP, .task = task, .stage = stage},
                                    .is_durable = is_durable});
}

// Task by task; the worker may die on the way, or have no room for some or all of them.
static void checkpoint(struct sim *sim, struct sim_worker *worker, uint32_t index)
{
    struct sim_slot *slot = &worker->slots[index];
    const bool has_faults = sim_has_faults(sim);
    uint64_t safe = slot->collected;
    if (has_faults && sim_chance(&sim->random, sim->options.checkpoint_lost_rate))
        safe &= sim_chance(&sim->random, 500) ? 0 : sim_draw(&sim->random);
    sim->totals->checkpoints++;
    for (uint32_t task = 0; task < SIM_TASKS_MAX; task++) {
        if (!(safe >> task & 1))
            continue;
        if (has_faults && sim_chance(&sim->random, sim->options.checkpoint_crash_rate)) {
            sim->outside_kill_count++;  // no attempt's fault
            return worker_die(sim, worker, draw_crash_slot(sim, index));
        }
        sim->totals->saved++;
        commit_map(sim, worker, slot, task, true);
    }
    worker_say(sim, worker, (struct sched_event){.type = EVENT_CHECKPOINTED, .at.slot = index});
}

// Everything that the slot collected becomes visible to the reduce tasks at once, or nothing does.
static void seal(struct sim *sim, struct sim_worker *worker, uint32_t index)
{
    struct sim_slot *slot = &worker->slots[index];
    sim->totals->seals++;
    if (sim_has_faults(sim) && sim_chance(&sim->random, sim->options.seal_crash_rate)) {
        sim->outside_kill_count++;  // no attempt's fault
        return worker_die(sim, worker, draw_crash_slot(sim, index));
    }
    if (sim_has_faults(sim) && sim_chance(&sim->random, sim->options.seal_lost_rate)) {
        slot->collected = 0;
        sim->totals->seals_lost++;
    }
    for (uint32_t task = 0; task < SIM_TASKS_MAX; task++)
        if (slot->collected >> task & 1)
            commit_map(sim, worker, slot, task, false);
    worker_say(sim, worker, (struct sched_event){.type = EVENT_SEALED, .at.slot = index});
}

// A piece that is made again has to be the same. It is announced again: the commit of another worker may
// have counted before, and be lost with that one.
static void keep_piece(struct sim *sim, struct sim_worker *worker, const struct sched_attempt *at,
                       uint64_t value)
{
    const uint64_t bit = UINT64_C(1) << at->task;
    uint64_t *kept = &worker->kept[at->stage], *values = worker->kept_values[at->stage];
    if (*kept & bit && values[at->task] != value)
        sim_wrong(sim, "task %u made something else this time", at->task);
    *kept |= bit;
    values[at->task] = value;
    worker_say(sim, worker, (struct sched_event){.type = EVENT_TASK_COMMITTED, .at = *at});
}

static void end_attempt(struct sim *sim, struct sim_worker *worker, struct sim_slot *slot,
                        bool is_blameless)
{
    const struct sched_attempt *at = &slot->at;
    const bool is_good = slot->fate == FATE_GOOD && !is_blameless;
    slot->is_inside = false;
    if (!is_good && !is_blameless)
        sim->bad[at->stage][at->kind][at->task]++;
    // Some attempts have left nothing behind when they fail. Not drawn: seeds that have failed once stay as they are.
    const bool keeps_held = !is_good && slot->fate == FATE_FAIL && (at->task + at->attempt) % 2;
    if (!is_good && !keeps_held && at->kind == SCHED_MAP && !is_output(sim, at))
        slot->collected = 0;
    worker_say(sim, worker,
               (struct sched_event){.type = is_good ? EVENT_TASK_HELD : EVENT_TASK_FAILED,
                                    .at = *at,
                                    .code = is_good ? WEFT_OK : WEFT_DATA_LOSS,
                                    .is_blameless = is_blameless,
                                    .keeps_held = keeps_held,
                                    .is_final = slot->fate == FATE_FAIL_FINAL && !is_blameless});
}

static void begin(struct sim *sim, struct sim_worker *worker, uint32_t index)
{
    struct sim_slot *slot = &worker->slots[index];
    const struct sim_command command = slot->queue[0];
    slot->queue_count--;
    for (uint32_t i = 0; i < slot->queue_count; i++)
        slot->queue[i] = slot->queue[i + 1];
    if (command.action.type == ACTION_SEAL)
        return seal(sim, worker, index);
    if (command.action.type == ACTION_CHECKPOINT)
        return checkpoint(sim, worker, index);
    slot->at = command.action.at;
    memcpy(slot->sources, command.sources, sizeof slot->sources);
    slot->is_inside = true;
    slot->is_submitted = false;
    slot->fate = draw_fate(sim, &slot->at);
}

bool worker_slot_can_go_on(const struct sim_worker *worker, uint32_t index)
{
    const struct sim_slot *slot = &worker->slots[index];
    if (!worker->is_alive || index >= worker->slot_count)
        return false;
    return slot->is_inside ? slot->fate != FATE_HANG : slot->queue_count > 0;
}

// Hands on what the attempt has made: to the sink, to the worker's memory, or to the slot's collector.
static void deliver(struct sim *sim, struct sim_worker *worker, struct sim_slot *slot)
{
    uint64_t value = 0;
    if (!compute(sim, slot, &value))
        return end_attempt(sim, worker, slot, true);
    slot->is_submitted = true;
    if (is_output(sim, &slot->at) && slot->at.stage + 1 == sim->options.stage_count)
        return sink_submit(sim, worker, &slot->at, value);
    if (is_output(sim, &slot->at))
        return keep_piece(sim, worker, &slot->at, value);
    slot->collected |= UINT64_C(1) << slot->at.task;
    slot->collected_values[slot->at.task] = value;
}

void worker_go_on(struct sim *sim, struct sim_worker *worker, uint32_t index)
{
    struct sim_slot *slot = &worker->slots[index];
    if (!slot->is_inside)
        return begin(sim, worker, index);
    const bool may_deliver =
        slot->fate == FATE_GOOD || (is_output(sim, &slot->at) &&
                                    (slot->fate == FATE_FAIL_LATE ||
                                     (slot->fate == FATE_CRASH && sim_chance(&sim->random, 500))));
    if (slot->at.kind != SCHED_SAMPLE && !slot->is_submitted && may_deliver)
        return deliver(sim, worker, slot);
    if (slot->fate != FATE_CRASH)
        return end_attempt(sim, worker, slot, false);
    sim->bad[slot->at.stage][slot->at.kind][slot->at.task]++;
    worker_die(sim, worker, draw_crash_slot(sim, index));
}

// ---- Death ------------------------------------------------------------------------------------

// The last frames may be lost, or arrive only after the loss was noticed.
static void scatter_frames(struct sim *sim, struct sim_frames *frames)
{
    if (sim_chance(&sim->random, sim->options.cut_rate))
        frames->count -= sim_below(&sim->random, frames->count + 1);
    uint32_t kept = 0;
    while (kept < frames->count && !sim_chance(&sim->random, sim->options.stale_rate))
        kept++;
    for (uint32_t i = kept; i < frames->count && sim->stale_count < SIM_STALE_MAX; i++)
        sim->stale[(sim->stale_first + sim->stale_count++) % SIM_STALE_MAX] =
            frames->items[(frames->first + i) % SIM_FRAMES_MAX];
    frames->count = kept;
}

void worker_die(struct sim *sim, struct sim_worker *worker, uint32_t crash_slot)
{
    if (!worker->is_alive)
        return;
    worker->is_alive = worker->is_killed = false;
    worker->inbox_count = 0;
    scatter_frames(sim, &worker->frames);
    sink_forget(sim, worker->number);

    struct sched_event lost = {.type = EVENT_WORKER_LOST,
                               .code = WEFT_ABORTED,
                               .inside = worker->inside,
                               .crash_slot = crash_slot};
    for (uint32_t i = 0; i < worker->slot_count; i++)
        if (worker->slots[i].is_inside)
            worker->inside[lost.inside_count++] = worker->slots[i].at;
    worker_say(sim, worker, lost);
}
