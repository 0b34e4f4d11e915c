// A client and its worker: slots that take commands in order, and what is left of them.
#include <stdlib.h>
#include <string.h>

#include "sim_elastic/elastic.h"

static void say(struct machine *machine, struct frame frame)
{
    frame.event.worker = machine->number;
    if (!VEC_PUSH(&machine->outbox, frame))
        exit(2);
}

static void clear_slots(struct machine *machine)
{
    for (uint32_t i = 0; i < SLOTS_OF_ONE_MAX; i++) {
        struct place_in_work *slot = &machine->slots[i];
        slot->is_inside = false;
        slot->queue.count = slot->collected.count = slot->sealed.count = 0;
    }
}

void machine_arrive(uint32_t place)
{
    struct machine *machine = &world.machines[place];
    machine->holder = ++world.last_holder;
    while (world.places_of_holders.count <= machine->holder)
        if (!VEC_PUSH(&world.places_of_holders, place))
            exit(2);
    machine->slot_count = 1 + below(world.options.slots_max);
    machine->slowness = has_faults() && chance(world.options.slow_rate) ? 10 : 1;
    machine->silent_rounds = machine->silent_until = 0;
    machine->number = 0;
}

// The machine is gone, with all it has.
void machine_vanish(struct machine *machine)
{
    for (size_t i = 0; i < world.batches.count; i++)
        if (world.batches.items[i]->holder == machine->holder)
            world.batches.items[i]->is_lost = true;
    clear_slots(machine);
    machine->inbox.count = machine->outbox.count = 0;
    machine->holder = machine->number = 0;
}

static const struct machine *find_holder(uint32_t holder)
{
    const struct machine *machine = &world.machines[world.places_of_holders.items[holder]];
    return machine->holder == holder ? machine : NULL;
}

bool holder_is_there(uint32_t holder)
{
    return find_holder(holder);
}

bool holder_is_silent(uint32_t holder)
{
    const struct machine *machine = find_holder(holder);
    return machine && machine->silent_until > world.round;
}

// ---- Commands ---------------------------------------------------------------------------------

static void end_process(struct machine *machine)
{
    struct frame frame = {.event = {.type = EVENT_WORKER_LOST,
                                    .crash_slot = SCHED_NO_SLOT,
                                    .code = WEFT_ABORTED,
                                    .keeps_commits = true},
                          .is_loss = true};
    if (machine->number == 0)
        return;
    for (uint32_t i = 0; i < machine->slot_count; i++)
        if (machine->slots[i].is_inside)
            frame.inside[frame.event.inside_count++] = machine->slots[i].run.action.at;
    if (frame.event.inside_count > 0 && chance(500000))
        frame.event.crash_slot = frame.inside[below(frame.event.inside_count)].slot;
    clear_slots(machine);
    say(machine, frame);
    machine->number = 0;
}

static void begin_process(struct machine *machine, uint32_t number)
{
    machine->number = number;
    machine->opened = 0;
    clear_slots(machine);
    say(machine,
        (struct frame){
            .event = {.type = EVENT_WORKER_READY,
                      .slot_count = machine->slot_count,
                      .home = world.home_count ? machine->place % (world.home_count + 1) : 0}});
}

// As the worker checks it: no task twice in one process.
static void check_new(const struct machine *machine, const struct sched_attempt *at)
{
    for (uint32_t i = 0; i < machine->slot_count; i++) {
        const struct place_in_work *slot = &machine->slots[i];
        const struct sched_attempt *in = &slot->run.action.at;
        if (slot->is_inside && in->kind == at->kind && in->task == at->task)
            wrong("task %u is sent to worker %u, which is at it", at->task, machine->number);
        for (size_t k = 0; k < slot->queue.count; k++) {
            const struct sched_action *next = &slot->queue.items[k].action;
            if (next->type == ACTION_RUN && next->at.kind == at->kind && next->at.task == at->task)
                wrong("task %u is sent to worker %u twice", at->task, machine->number);
        }
        for (size_t k = 0; at->kind == SCHED_MAP && k < slot->collected.count; k++)
            if (slot->collected.items[k] == at->task)
                wrong("task %u is sent to worker %u, which holds it", at->task, machine->number);
        for (size_t k = 0; at->kind == SCHED_MAP && k < slot->sealed.count; k++)
            if (slot->sealed.items[k] == at->task)
                wrong("task %u is sent to worker %u, which has sealed it", at->task,
                      machine->number);
    }
}

static void check_idle(const struct machine *machine, const char *what)
{
    for (uint32_t i = 0; i < machine->slot_count; i++)
        if (machine->slots[i].is_inside || machine->slots[i].queue.count > 0)
            wrong("worker %u %s while it is at work", machine->number, what);
}

// It reads what all have sealed, and collects nothing any more.
static void begin_reducing(struct machine *machine)
{
    if (machine->is_reducing)
        return;
    machine->is_reducing = true;
    check_idle(machine, "begins to reduce");
    for (uint32_t i = 0; i < machine->slot_count; i++)
        if (machine->slots[i].collected.count > 0)
            wrong("worker %u begins to reduce, and slot %u is not sealed", machine->number, i);
}

static void open_stage(struct machine *machine, uint32_t stage)
{
    check_idle(machine, "opens a stage");
    clear_slots(machine);
    machine->opened = stage + 1;
    machine->is_reducing = false;
    machine->file = ++world.last_file;
}

static void take_command(struct machine *machine, const struct command *command)
{
    const struct sched_action *action = &command->action;
    if (command->is_start)
        return begin_process(machine, action->worker);
    if (machine->number != action->worker)
        return;  // it has ended, and that is on its way
    if (command->is_kill)
        return end_process(machine);
    if (action->type == ACTION_STAGE_OPEN)
        return open_stage(machine, action->stage);
    if (action->type == ACTION_STAGE_PLAN)
        return check_idle(machine, "gets a plan");
    if (machine->opened != action->stage + 1)
        wrong("worker %u is not in stage %u", machine->number, action->stage);
    struct place_in_work *slot = &machine->slots[action->at.slot];
    if (action->type == ACTION_DROP) {  // by the control thread, before it reads on
        if (slot->is_inside || slot->queue.count > 0)
            wrong("slot %u of worker %u is emptied while it is at work", action->at.slot,
                  machine->number);
        slot->collected.count = 0;
        return;
    }
    if (action->type == ACTION_RUN && is_collected(&action->at) && machine->is_reducing)
        wrong("a map task for worker %u after its first reduce task", machine->number);
    if (action->type == ACTION_RUN && action->at.kind == SCHED_REDUCE)
        begin_reducing(machine);
    if (action->type == ACTION_RUN)
        check_new(machine, &action->at);
    if (!VEC_PUSH(&slot->queue, *command))
        exit(2);
}

// ---- Slots ------------------------------------------------------------------------------------

static void seal(struct machine *machine, uint32_t index)
{
    struct place_in_work *slot = &machine->slots[index];
    struct batch *batch = calloc(1, sizeof *batch);
    rules_check_seal(machine, index);
    for (size_t i = 0; i < slot->collected.count; i++)
        if (!VEC_PUSH(&slot->sealed, slot->collected.items[i]))
            exit(2);
    if (!batch || !VEC_PUSH(&world.batches, batch))
        exit(2);
    *batch = (struct batch){.holder = machine->holder,
                            .number = machine->number,
                            .slot = index,
                            .file = machine->file,
                            .stage = machine->opened - 1,
                            .count = (uint32_t)slot->sealed.count};
    batch->tasks = malloc((slot->sealed.count + 1) * sizeof *batch->tasks);
    if (!batch->tasks)
        exit(2);
    memcpy(batch->tasks, slot->sealed.items, slot->sealed.count * sizeof *batch->tasks);
    slot->collected.count = 0;
    say(machine, (struct frame){.event = {.type = EVENT_SEALED, .at.slot = index}, .batch = batch});
}

// Where tasks get stuck, those that do not would end the job.
static bool may_fail(const struct sched_attempt *at)
{
    return !world.options.asks || (at->stage == 0 && at->kind != SCHED_REDUCE);
}

// At one machine at a time: others must have room for second attempts.
static bool may_hang(const struct machine *machine, const struct sched_attempt *at)
{
    for (uint32_t i = 0; i < world.options.place_count; i++)
        for (uint32_t k = 0; k < world.machines[i].slot_count; k++)
            if (&world.machines[i] != machine && world.machines[i].slots[k].is_inside &&
                world.machines[i].slots[k].is_hung)
                return false;
    return at->attempt == 1 && has_faults();
}

static void begin(struct machine *machine, uint32_t index)
{
    struct place_in_work *slot = &machine->slots[index];
    slot->run = slot->queue.items[0];
    memmove(slot->queue.items, slot->queue.items + 1, --slot->queue.count * sizeof slot->run);
    if (slot->run.action.type == ACTION_SEAL)
        return seal(machine, index);
    slot->is_inside = true;
    slot->has_read = false;
    slot->waiting_rounds = 0;
    slot->rounds_left = (1 + below(world.options.work_rounds)) * machine->slowness;
    slot->will_fail =
        has_faults() && chance(world.options.fail_rate) && may_fail(&slot->run.action.at);
    slot->is_hung = chance(world.options.hang_rate) && may_hang(machine, &slot->run.action.at);
    world.totals->hung += slot->is_hung;
}

static void fail(struct machine *machine, struct place_in_work *slot, bool is_blameless)
{
    const bool keeps = chance(500000);
    slot->is_inside = false;
    if (!keeps && is_collected(&slot->run.action.at))
        slot->collected.count = 0;
    say(machine, (struct frame){.event = {.type = EVENT_TASK_FAILED,
                                          .at = slot->run.action.at,
                                          .code = WEFT_DATA_LOSS,
                                          .keeps_held = keeps,
                                          .is_blameless = is_blameless}});
}

// Whether all that the attempt reads is there; false: it waits, or has failed.
static bool can_read(struct machine *machine, struct place_in_work *slot)
{
    enum { PATIENCE_ROUNDS = 30 };
    bool is_lost = slot->run.holder && !holder_is_there(slot->run.holder);
    bool is_silent = slot->run.holder && holder_is_silent(slot->run.holder);
    for (uint32_t i = 0; slot->run.cover && i < slot->run.cover->count; i++) {
        is_lost = is_lost || slot->run.cover->batches[i]->is_lost;
        is_silent = is_silent || holder_is_silent(slot->run.cover->batches[i]->holder);
    }
    if (!is_lost && !is_silent)
        return true;
    if (is_lost || ++slot->waiting_rounds > PATIENCE_ROUNDS) {
        world.totals->starved++;
        fail(machine, slot, true);
    }
    return false;
}

static void end_well(struct machine *machine, struct place_in_work *slot)
{
    const struct sched_attempt *at = &slot->run.action.at;
    uint64_t value = 0;
    slot->is_inside = false;
    if (is_collected(at) && !VEC_PUSH(&slot->collected, at->task))
        exit(2);
    say(machine, (struct frame){.event = {.type = EVENT_TASK_HELD, .at = *at}});
    if (at->kind == SCHED_SAMPLE || is_collected(at))
        return;
    if (at->kind == SCHED_MAP)
        value = map_value(at->stage, at->task);
    for (uint32_t i = 0; slot->run.cover && i < slot->run.cover->count; i++)
        for (uint32_t k = 0; k < slot->run.cover->batches[i]->count; k++)
            value +=
                reduce_part(map_value(at->stage, slot->run.cover->batches[i]->tasks[k]), at->task);
    say(machine,
        (struct frame){.event = {.type = EVENT_TASK_COMMITTED, .at = *at}, .value = value});
}

static void go_on(struct machine *machine, uint32_t index)
{
    struct place_in_work *slot = &machine->slots[index];
    if (!slot->is_inside && slot->queue.count > 0)
        begin(machine, index);
    if (slot->is_inside && !slot->has_read)
        slot->has_read = can_read(machine, slot);
    if (!slot->is_inside || !slot->has_read || slot->is_hung || --slot->rounds_left > 0)
        return;
    if (slot->will_fail)
        fail(machine, slot, false);
    else
        end_well(machine, slot);
}

void machine_pass_round(struct machine *machine)
{
    const bool is_silent = machine->silent_until > world.round;
    if (machine->holder == 0 || (is_silent && machine->is_stopped))
        return;
    for (uint32_t i = below(3); !is_silent && machine->inbox.count > 0; i++) {
        const struct command command = machine->inbox.items[0];
        memmove(machine->inbox.items, machine->inbox.items + 1,
                --machine->inbox.count * sizeof command);
        take_command(machine, &command);
        if (i == 8)
            break;
    }
    for (uint32_t i = 0; i < machine->slot_count && machine->number; i++)
        go_on(machine, i);
    if (has_faults() && machine->number && chance(world.options.crash_rate)) {
        world.totals->crashes++;
        end_process(machine);
    }
    while (!is_silent && machine->outbox.count > 0 && !chance(300000)) {
        struct frame frame = machine->outbox.items[0];
        memmove(machine->outbox.items, machine->outbox.items + 1,
                --machine->outbox.count * sizeof frame);
        server_take(machine, &frame);
    }
}
