// The model of a worker process: what its slots hold, seal, submit and lose, frame by frame.
#include "sim/sim.h"

static bool is_map_only(const struct sim *sim)
{
    return sim->options.stages[sim->worker.stage].reduce_count == 0;
}

static bool is_last_stage(const struct sim *sim)
{
    return sim->worker.stage + 1 == sim->options.stage_count;
}

static void send_frame(struct sim *sim, struct sched_event event)
{
    event.worker = sim->worker.number;
    event.at.stage = sim->worker.stage;
    sim_frames_put(sim, &sim->frames, &event);
}

void worker_start(struct sim *sim, uint32_t number)
{
    struct sim_worker *worker = &sim->worker;
    if (worker->is_alive)
        sim_wrong(sim, "a second worker beside a living one");
    *worker = (struct sim_worker){.is_alive = true, .number = number};
    worker->slot_count = sim_between(&sim->random, 1, sim->options.slots_max);
    sim->totals->workers++;
    if (sim_has_faults(sim) && sim_chance(&sim->random, sim->options.start_fail_rate))
        return worker_die(sim, SCHED_NO_SLOT);
    send_frame(sim,
               (struct sched_event){.type = EVENT_WORKER_READY, .slot_count = worker->slot_count});
}

static uint64_t safe_tasks(const struct sim *sim, uint32_t stage, enum sched_kind kind)
{
    uint64_t safe = 0;
    for (uint32_t task = 0; task < sim_task_count(&sim->options, stage, kind); task++)
        if (sched_is_durable(sim->sched, stage, kind, task))
            safe |= UINT64_C(1) << task;
    return safe;
}

static uint64_t safe_pieces(const struct sim *sim, uint32_t stage)
{
    const bool has_reduce = sim->options.stages[stage].reduce_count > 0;
    return safe_tasks(sim, stage, has_reduce ? SCHED_REDUCE : SCHED_MAP);
}

void worker_send(struct sim *sim, const struct sched_action *action)
{
    struct sim_worker *worker = &sim->worker;
    if (!worker->is_alive)
        return;  // the socket is closed; WORKER_LOST is on its way
    struct sim_command command = {.action = *action};
    if (action->type == ACTION_STAGE_OPEN) {
        const uint32_t stage = action->stage;
        const bool has_reduce = sim->options.stages[stage].reduce_count > 0;
        command.adopted = safe_pieces(sim, stage);
        command.inputs = stage ? safe_pieces(sim, stage - 1) : 0;
        command.mapped = has_reduce ? safe_tasks(sim, stage, SCHED_MAP) : 0;
    }
    const uint32_t place = (worker->inbox_first + worker->inbox_count++) % SIM_FRAMES_MAX;
    worker->inbox[place] = command;
}

// ---- Commands ---------------------------------------------------------------------------------

// Output of a stage that is not the last is in the worker's memory, or restored.
static void adopt_pieces(struct sim *sim, uint32_t stage, uint64_t pieces)
{
    struct sim_worker *worker = &sim->worker;
    const bool has_reduce = sim->options.stages[stage].reduce_count > 0;
    if (pieces & ~sim->restored[stage][has_reduce ? SCHED_REDUCE : SCHED_MAP])
        sim_wrong(sim, "output of stage %u counts as safe, and is not", stage);
    worker->kept[stage] |= pieces;
    for (uint32_t piece = 0; piece < SIM_TASKS_MAX; piece++)
        if (pieces >> piece & 1)
            worker->kept_values[stage][piece] = sim->oracle_pieces[stage][piece];
}

static void take_inputs(struct sim *sim, uint32_t stage, uint64_t inputs)
{
    struct sim_worker *worker = &sim->worker;
    const uint64_t needed = sim_all_of(sim_piece_count(&sim->options, stage - 1));
    adopt_pieces(sim, stage - 1, inputs);
    if (worker->kept[stage - 1] != needed)
        sim_wrong(sim, "stage %u opened without the output of the one before", stage);
    if ((needed == 0 || inputs != needed) && !(worker->opened >> (stage - 1) & 1))
        sim_wrong(sim, "stage %u opened before %u", stage, stage - 1);
}

// What the driver knows of earlier workers: map tasks in files, which no slot has to seal again.
static void adopt_maps(struct sim *sim, uint32_t stage, uint64_t mapped)
{
    struct sim_worker *worker = &sim->worker;
    if (mapped & ~sim->saved[stage])
        sim_wrong(sim, "a map task counts as safe that is not");
    worker->sealed = mapped;
    for (uint32_t task = 0; task < SIM_TASKS_MAX; task++) {
        worker->sealed_values[task] = sim->saved_values[stage][task];
        sim->totals->adopted_maps += mapped >> task & 1;
    }
}

// The files are made anew except for what the driver knows to be written.
static void open_stage(struct sim *sim, const struct sim_command *command)
{
    struct sim_worker *worker = &sim->worker;
    const uint32_t stage = command->action.stage;
    const uint64_t output = sim_all_of(sim_piece_count(&sim->options, stage));
    worker->stage = stage;
    adopt_maps(sim, stage, command->mapped);
    if (stage > 0 && (output == 0 || command->adopted != output))
        take_inputs(sim, stage, command->inputs);
    worker->opened |= UINT32_C(1) << stage;
    if (!is_last_stage(sim))
        return adopt_pieces(sim, stage, command->adopted);
    if (command->adopted & ~sim->output)
        sim_wrong(sim, "a piece counts as written that is not");
    sim->output = worker->submitted = worker->written = command->adopted;
    for (uint32_t piece = 0; piece < SIM_TASKS_MAX; piece++)
        worker->submitted_values[piece] = sim->output_values[piece];
}

void worker_receive(struct sim *sim)
{
    struct sim_worker *worker = &sim->worker;
    const struct sim_command command = worker->inbox[worker->inbox_first];
    worker->inbox_first = (worker->inbox_first + 1) % SIM_FRAMES_MAX;
    worker->inbox_count--;
    if (command.action.type == ACTION_STAGE_OPEN)
        return open_stage(sim, &command);
    if (command.action.type == ACTION_STAGE_PLAN)
        return;
    struct sim_slot *slot = &worker->slots[command.action.at.slot];
    if (slot->queue_count == 4)
        sim_wrong(sim, "slot %u has too much to do", command.action.at.slot);
    slot->queue[slot->queue_count++] = command;
}

// ---- Slots ------------------------------------------------------------------------------------

static enum sim_fate draw_fate(struct sim *sim, const struct sched_attempt *at)
{
    const struct sim_options *options = &sim->options;
    struct sim_random *random = &sim->random;
    if (options->has_poison && options->poison_stage == sim->worker.stage &&
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
static void commit_map(struct sim *sim, struct sim_slot *slot, uint32_t task, bool is_durable)
{
    struct sim_worker *worker = &sim->worker;
    const uint32_t stage = worker->stage;
    const uint64_t bit = UINT64_C(1) << task;
    if (worker->sealed & bit)
        sim_wrong(sim, "map task %u is sealed twice", task);
    worker->sealed |= bit;
    slot->collected &= ~bit;
    worker->sealed_values[task] =
        sim_map_value(stage, stage ? worker->kept_values[stage - 1][task] : task + 1);
    if (is_durable) {
        sim->saved[stage] |= bit;
        sim->saved_values[stage][task] = worker->sealed_values[task];
    }
    send_frame(sim, (struct sched_event){.type = EVENT_TASK_COMMITTED,
                                         .at = {.kind = SCHED_MAP, .task = task},
                                         .is_durable = is_durable});
}

// Task by task; the worker may die on the way, or have no room for some or all of them.
static void checkpoint(struct sim *sim, uint32_t index)
{
    struct sim_slot *slot = &sim->worker.slots[index];
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
            return worker_die(sim, draw_crash_slot(sim, index));
        }
        sim->totals->saved++;
        commit_map(sim, slot, task, true);
    }
    send_frame(sim, (struct sched_event){.type = EVENT_CHECKPOINTED, .at.slot = index});
}

// Everything that the slot collected becomes visible to the reduce tasks at once, or nothing does.
static void seal(struct sim *sim, uint32_t index)
{
    struct sim_worker *worker = &sim->worker;
    struct sim_slot *slot = &worker->slots[index];
    sim->totals->seals++;
    if (sim_has_faults(sim) && sim_chance(&sim->random, sim->options.seal_crash_rate)) {
        sim->outside_kill_count++;  // no attempt's fault
        return worker_die(sim, draw_crash_slot(sim, index));
    }
    if (sim_has_faults(sim) && sim_chance(&sim->random, sim->options.seal_lost_rate)) {
        slot->collected = 0;
        sim->totals->seals_lost++;
    }
    for (uint32_t task = 0; task < SIM_TASKS_MAX; task++)
        if (slot->collected >> task & 1)
            commit_map(sim, slot, task, false);
    send_frame(sim, (struct sched_event){.type = EVENT_SEALED, .at.slot = index});
}

static uint64_t output_value(struct sim *sim, const struct sched_attempt *at)
{
    const struct sim_worker *worker = &sim->worker;
    if (at->kind == SCHED_MAP) {
        const uint32_t stage = worker->stage;
        return sim_map_value(stage,
                             stage ? worker->kept_values[stage - 1][at->task] : at->task + 1);
    }
    const uint32_t map_count = sim->options.stages[worker->stage].map_count;
    if (worker->sealed != sim_all_of(map_count))
        sim_wrong(sim, "reduce task %u reads before all map tasks are sealed", at->task);
    uint64_t sum = 0;
    for (uint32_t task = 0; task < map_count; task++)
        sum += sim_reduce_part(worker->sealed_values[task], at->task);
    return sum;
}

// Writes every piece whose place is known: all pieces before it in its part have been submitted.
static void write_pieces(struct sim *sim, enum sched_kind kind)
{
    struct sim_worker *worker = &sim->worker;
    const uint32_t count = sim_piece_count(&sim->options, worker->stage);
    const uint32_t part_pieces = (count + sim->options.part_count - 1) / sim->options.part_count;
    for (uint32_t piece = 0; piece < count; piece++) {
        const uint64_t bit = UINT64_C(1) << piece;
        if (!(worker->submitted & bit)) {
            piece += part_pieces - 1 - piece % part_pieces;  // the rest of the part waits for it
            continue;
        }
        if (worker->written & bit)
            continue;
        worker->written |= bit;
        sim->output |= bit;
        sim->output_values[piece] = worker->submitted_values[piece];
        send_frame(sim, (struct sched_event){.type = EVENT_TASK_COMMITTED,
                                             .at = {.kind = kind, .task = piece},
                                             .is_durable = true});
    }
}

// A piece that is submitted again has to be the same, and is not written or announced again.
static void submit(struct sim *sim, const struct sched_attempt *at)
{
    struct sim_worker *worker = &sim->worker;
    const uint64_t value = output_value(sim, at);
    const uint64_t bit = UINT64_C(1) << at->task;
    const bool is_last = is_last_stage(sim);
    uint64_t *have = is_last ? &worker->submitted : &worker->kept[worker->stage];
    uint64_t *values = is_last ? worker->submitted_values : worker->kept_values[worker->stage];
    if (*have & bit) {
        if (values[at->task] != value)
            sim_wrong(sim, "task %u made something else this time", at->task);
        return;
    }
    *have |= bit;
    values[at->task] = value;
    if (is_last)
        return write_pieces(sim, at->kind);
    send_frame(sim, (struct sched_event){.type = EVENT_TASK_COMMITTED, .at = *at});
}

static void end_attempt(struct sim *sim, struct sim_slot *slot)
{
    const bool is_good = slot->fate == FATE_GOOD;
    const bool is_collecting = slot->at.kind == SCHED_MAP && !is_map_only(sim);
    slot->is_inside = false;
    if (!is_good)
        sim->bad[sim->worker.stage][slot->at.kind][slot->at.task]++;
    if (is_collecting && is_good)
        slot->collected |= UINT64_C(1) << slot->at.task;
    else if (is_collecting)
        slot->collected = 0;
    send_frame(sim, (struct sched_event){.type = is_good ? EVENT_TASK_HELD : EVENT_TASK_FAILED,
                                         .at = slot->at,
                                         .code = is_good ? WEFT_OK : WEFT_DATA_LOSS,
                                         .is_final = slot->fate == FATE_FAIL_FINAL});
}

static void begin(struct sim *sim, uint32_t index)
{
    struct sim_slot *slot = &sim->worker.slots[index];
    const struct sim_command command = slot->queue[0];
    slot->queue_count--;
    for (uint32_t i = 0; i < slot->queue_count; i++)
        slot->queue[i] = slot->queue[i + 1];
    if (command.action.type == ACTION_SEAL)
        return seal(sim, index);
    if (command.action.type == ACTION_CHECKPOINT)
        return checkpoint(sim, index);
    slot->at = command.action.at;
    slot->is_inside = true;
    slot->is_submitted = false;
    slot->fate = draw_fate(sim, &slot->at);
}

bool worker_slot_can_go_on(const struct sim *sim, uint32_t index)
{
    const struct sim_slot *slot = &sim->worker.slots[index];
    if (!sim->worker.is_alive || index >= sim->worker.slot_count)
        return false;
    return slot->is_inside ? slot->fate != FATE_HANG : slot->queue_count > 0;
}

void worker_go_on(struct sim *sim, uint32_t index)
{
    struct sim_slot *slot = &sim->worker.slots[index];
    if (!slot->is_inside)
        return begin(sim, index);
    const bool is_output =
        slot->at.kind == SCHED_REDUCE || (slot->at.kind == SCHED_MAP && is_map_only(sim));
    const bool may_submit = slot->fate == FATE_GOOD || slot->fate == FATE_FAIL_LATE ||
                            (slot->fate == FATE_CRASH && sim_chance(&sim->random, 500));
    if (is_output && !slot->is_submitted && may_submit) {
        slot->is_submitted = true;
        return submit(sim, &slot->at);
    }
    if (slot->fate != FATE_CRASH)
        return end_attempt(sim, slot);
    sim->bad[sim->worker.stage][slot->at.kind][slot->at.task]++;
    worker_die(sim, draw_crash_slot(sim, index));
}

// ---- Death ------------------------------------------------------------------------------------

// The last frames may be lost, or arrive only after the loss was noticed.
static void scatter_frames(struct sim *sim)
{
    struct sim_frames *frames = &sim->frames;
    if (sim_chance(&sim->random, sim->options.cut_rate))
        frames->count -= sim_below(&sim->random, frames->count + 1);
    uint32_t kept = 0;
    while (kept < frames->count && !sim_chance(&sim->random, sim->options.stale_rate))
        kept++;
    for (uint32_t i = kept; i < frames->count; i++)
        sim_frames_put(sim, &sim->stale, &frames->items[(frames->first + i) % SIM_FRAMES_MAX]);
    frames->count = kept;
}

void worker_die(struct sim *sim, uint32_t crash_slot)
{
    struct sim_worker *worker = &sim->worker;
    if (!worker->is_alive)
        return;
    worker->is_alive = false;
    worker->inbox_count = 0;
    scatter_frames(sim);

    struct sched_event lost = {.type = EVENT_WORKER_LOST,
                               .code = WEFT_ABORTED,
                               .inside = sim->inside,
                               .crash_slot = crash_slot};
    for (uint32_t i = 0; i < worker->slot_count; i++)
        if (worker->slots[i].is_inside)
            sim->inside[lost.inside_count++] = worker->slots[i].at;
    send_frame(sim, lost);
}
