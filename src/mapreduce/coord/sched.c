// The decisions of a job. Every event first changes what is known (the take_* functions), then `go_on`
// looks at the whole job from the top and puts out what can be done now: the job in one screen.
//
// Why it always ends: an attempt that ends badly charges its task, and charges are bounded. A lost
// worker charges one attempt for certain, or is counted as unexplained; that count starts anew only
// when a task comes further than ever before, which each task does at most twice. Suspects run
// alone, so the next loss is explained. A charge that is taken back was a suspicion, whose loss was
// counted as unexplained. A stuck task waits for the driver, which always answers; an excuse starts its
// charges anew, and the driver gives only so many: each leaves out a record, and it has a limit for
// those. Checkpoints only take tasks from held to committed.
#include "mapreduce/coord/sched.h"

#include "mapreduce/coord/sched_state.h"

static void take_event(struct sched *sched, const struct sched_event *event);
static void take_worker_event(struct sched *sched, const struct sched_event *event);
static void take_restored(struct sched *sched, const struct sched_event *event);
static void take_verdict(struct sched *sched, const struct sched_event *event);
static void take_checkpoint(struct sched *sched);
static void take_held(struct sched *sched, const struct sched_attempt *at);
static void take_failed(struct sched *sched, const struct sched_event *event);
static void take_committed(struct sched *sched, const struct sched_event *event);
static void take_sealed(struct sched *sched, uint32_t slot_index);
static void take_checkpointed(struct sched *sched, uint32_t slot_index);
static void take_timed_out(struct sched *sched, const struct sched_attempt *at);
static void take_lost(struct sched *sched, const struct sched_event *event);

static void go_on(struct sched *sched);
static bool stage_go_on(struct sched *sched, struct stage *stage);
static void assign(struct sched *sched, enum sched_kind kind);
static void seal(struct sched *sched);
static void start_worker(struct sched *sched);
static void end_done(struct sched *sched);
static void end_failed(struct sched *sched, weft_err code, enum sched_kind kind, uint32_t task);

static struct sched_action *put(struct sched *sched, enum sched_action_type type)
{
    ASSERT(sched->out->count < SCHED_ACTIONS_MAX);
    struct sched_action *action = &sched->out->items[sched->out->count++];
    *action =
        (struct sched_action){.type = type, .worker = sched->worker, .stage = sched->stage_index};
    return action;
}

// ---- The story of a job -----------------------------------------------------------------------

void sched_step(struct sched *sched, const struct sched_event *event, struct sched_actions *out)
{
    out->count = 0;
    if (sched->is_over)
        return;
    sched->out = out;
    take_event(sched, event);
    if (!sched->is_over && sched->worker_state == WORKER_READY)
        go_on(sched);
    sched->out = NULL;
}

// Does all that can be done now; passes on to the next stage at the end of one.
static void go_on(struct sched *sched)
{
    while (stage_go_on(sched, current(sched))) {
        if (sched->busy_count > 0)
            return;  // committed, but the counters of an attempt come with its end
        if (sched->stage_index + 1 == sched->stage_count)
            return end_done(sched);
        sched->stage_index++;
    }
}

// Does all that can be done now in a stage, from its top; true when it is complete.
static bool stage_go_on(struct sched *sched, struct stage *stage)
{
    const struct task_set *maps = &stage->sets[SCHED_MAP];
    if (stage->opened_by != sched->worker) {
        stage->opened_by = sched->worker;
        put(sched, ACTION_STAGE_OPEN);
    }
    if (stage_has_output(stage))
        return true;
    if (!task_set_is_committed(&stage->sets[SCHED_SAMPLE])) {
        assign(sched, SCHED_SAMPLE);
        return false;
    }
    if (stage->planned_by != sched->worker) {
        stage->planned_by = sched->worker;
        put(sched, ACTION_STAGE_PLAN);
    }
    if (stage_is_complete(stage, sched->worker))
        return true;
    if (maps->counts[SCHED_PENDING] + maps->counts[SCHED_RUNNING] > 0)
        assign(sched, SCHED_MAP);
    else if (stage_is_map_only(stage) || maps->counts[SCHED_STUCK] > 0)
        return false;  // held ones are being written, stuck ones looked into
    else if (!task_set_is_committed(maps) || sched->sealing_count + sched->checkpointing_count > 0)
        seal(sched);
    else
        assign(sched, SCHED_REDUCE);
    return false;
}

static void take_event(struct sched *sched, const struct sched_event *event)
{
    switch (event->type) {
    case EVENT_START:
        if (sched->worker > 0)
            return;
        sched->stage_index = sched_first_stage(sched, 1);
        return start_worker(sched);
    case EVENT_CANCEL:
        return end_failed(sched, event->code, SCHED_SAMPLE, SCHED_NO_TASK);
    case EVENT_TASK_RESTORED:
        return take_restored(sched, event);
    case EVENT_TASK_EXCUSED:
    case EVENT_TASK_CONDEMNED:
        return take_verdict(sched, event);
    case EVENT_CHECKPOINT:
        return take_checkpoint(sched);
    default:
        // What comes from a worker that is no more does not count.
        if (event->worker == sched->worker && sched->worker_state != WORKER_NONE)
            take_worker_event(sched, event);
    }
}

static void take_worker_event(struct sched *sched, const struct sched_event *event)
{
    switch (event->type) {
    case EVENT_WORKER_READY:
        if (sched->worker_state == WORKER_STARTING) {
            ASSERT(event->slot_count >= 1 && event->slot_count <= SLOTS_MAX);
            sched->slot_count = event->slot_count;
            sched->worker_state = WORKER_READY;
        }
        break;
    case EVENT_TASK_HELD:
        return take_held(sched, &event->at);
    case EVENT_TASK_FAILED:
        return take_failed(sched, event);
    case EVENT_TASK_COMMITTED:
        return take_committed(sched, event);
    case EVENT_SEALED:
        return take_sealed(sched, event->at.slot);
    case EVENT_CHECKPOINTED:
        return take_checkpointed(sched, event->at.slot);
    case EVENT_TASK_TIMED_OUT:
        return take_timed_out(sched, &event->at);
    case EVENT_WORKER_FAILED:
        return end_failed(sched, event->code, SCHED_SAMPLE, SCHED_NO_TASK);
    case EVENT_WORKER_LOST:
        return take_lost(sched, event);
    default:
        break;
    }
}

// ---- Handing out ------------------------------------------------------------------------------

static void run(struct sched *sched, enum sched_kind kind, uint32_t slot_index)
{
    struct task_set *set = &current(sched)->sets[kind];
    struct slot *slot = &sched->slots[slot_index];
    const uint32_t number = task_set_next(set);
    task_set_move(set, number, SCHED_RUNNING);

    const struct sched_attempt at = {kind, number, ++set->tasks[number].attempt, slot_index};
    slot->queue[slot->queue_count++] = (struct queued){.at = at};
    sched->busy_count++;
    put(sched, ACTION_RUN)->at = at;
}

// Fills the queues: all first places before any second one. The last tasks are not queued behind
// others, where they could wait long while another slot has nothing to do.
static void assign(struct sched *sched, enum sched_kind kind)
{
    const struct task_set *set = &current(sched)->sets[kind];
    const uint32_t *pending_count = &set->counts[SCHED_PENDING];
    const bool is_alone = set->suspect_count > 0;
    for (uint32_t depth = 0; depth < SCHED_QUEUE_MAX; depth++) {
        for (uint32_t i = 0; i<sched->slot_count && * pending_count> 0; i++) {
            const struct slot *slot = &sched->slots[i];
            if (is_alone && sched->busy_count > 0)
                return;
            if (depth > 0 && *pending_count < sched->slot_count)
                return;
            if (!slot->is_sealing && slot->queue_count == depth)
                run(sched, kind, i);
        }
    }
}

// Seals every slot that holds something; called when no map task is left to run. One at a checkpoint has
// to wait for its end: only then is it known what is left to seal.
static void seal(struct sched *sched)
{
    for (uint32_t i = 0; i < sched->slot_count; i++) {
        struct slot *slot = &sched->slots[i];
        if (slot->held_first == SCHED_NO_TASK || slot->is_sealing || slot->is_checkpointing)
            continue;
        slot->is_sealing = true;
        sched->sealing_count++;
        put(sched, ACTION_SEAL)->at.slot = i;
    }
}

static void start_worker(struct sched *sched)
{
    sched->worker++;
    sched->worker_state = WORKER_STARTING;
    put(sched, ACTION_START_WORKER);
}

// ---- Attempts and their ends ------------------------------------------------------------------

// The attempt in its slot's queue, NULL when it is not there: stale, or said twice.
static struct queued *find_queued(struct sched *sched, const struct sched_attempt *at)
{
    if (at->slot >= sched->slot_count)
        return NULL;
    struct slot *slot = &sched->slots[at->slot];
    for (uint32_t i = 0; i < slot->queue_count; i++) {
        const struct sched_attempt *in = &slot->queue[i].at;
        if (in->kind == at->kind && in->task == at->task && in->attempt == at->attempt)
            return &slot->queue[i];
    }
    return NULL;
}

// Takes an ended attempt out of its queue. True when its task still waits for it; a task that was
// committed meanwhile does not.
static bool end_attempt(struct sched *sched, const struct sched_attempt *at, bool *is_charged)
{
    struct queued *queued = find_queued(sched, at);
    if (!queued)
        return false;
    struct slot *slot = &sched->slots[at->slot];
    *is_charged = queued->is_charged;
    if (queued == &slot->queue[0])
        slot->queue[0] = slot->queue[1];
    slot->queue_count--;
    sched->busy_count--;

    const struct task *task = &current(sched)->sets[at->kind].tasks[at->task];
    return task->state == SCHED_RUNNING && task->attempt == at->attempt;
}

// The task waits for the driver. It is no suspect any more: its last charge was certain, and the others
// need not run alone for its sake.
static void get_stuck(struct sched *sched, const struct sched_attempt *at, weft_err code)
{
    struct task_set *set = &current(sched)->sets[at->kind];
    struct task *task = &set->tasks[at->task];
    if (task->state == SCHED_COMMITTED && task->is_durable)
        return;  // its output is there, whatever became of the attempt
    task->has_suspect_charge = false;
    task_set_suspect(set, at->task, false);
    task_set_move(set, at->task, SCHED_STUCK);
    struct sched_action *action = put(sched, ACTION_TASK_STUCK);
    action->at = *at;
    action->code = code;
}

// Charges an attempt to its task for certain.
static void charge(struct sched *sched, const struct sched_attempt *at, weft_err code)
{
    struct task *task = &current(sched)->sets[at->kind].tasks[at->task];
    if (++task->charges < sched->max_attempts)
        return;
    if (sched->asks_before_failing && sched->stage_index == 0 && at->kind != SCHED_REDUCE)
        return get_stuck(sched, at, code);
    end_failed(sched, code, at->kind, at->task);
}

// A task came to a better state: it is no suspect any more, and there may be progress.
static void advance(struct sched *sched, enum sched_kind kind, uint32_t number,
                    enum sched_state state)
{
    struct task_set *set = &current(sched)->sets[kind];
    struct task *task = &set->tasks[number];
    task->charges -= task->has_suspect_charge ? 1 : 0;
    task->has_suspect_charge = false;
    task_set_suspect(set, number, false);
    if (task_set_move(set, number, state))
        sched->unexplained_loss_count = 0;
}

static void take_held(struct sched *sched, const struct sched_attempt *at)
{
    bool is_charged;
    if (!end_attempt(sched, at, &is_charged))
        return;
    struct task *task = &current(sched)->sets[at->kind].tasks[at->task];
    advance(sched, at->kind, at->task, at->kind == SCHED_SAMPLE ? SCHED_COMMITTED : SCHED_HELD);
    task->is_durable = at->kind == SCHED_SAMPLE;
    if (at->kind == SCHED_MAP && !stage_is_map_only(current(sched))) {
        task->next_held = sched->slots[at->slot].held_first;
        sched->slots[at->slot].held_first = at->task;
    }
}

// Sends back what the slot holds, apart from what has been committed.
static void drop_held(struct sched *sched, struct slot *slot)
{
    struct task_set *maps = &current(sched)->sets[SCHED_MAP];
    uint32_t number = slot->held_first;
    slot->held_first = SCHED_NO_TASK;
    for (; number != SCHED_NO_TASK; number = maps->tasks[number].next_held) {
        if (maps->tasks[number].state == SCHED_HELD)
            task_set_move(maps, number, SCHED_PENDING);
    }
}

static void take_failed(struct sched *sched, const struct sched_event *event)
{
    const struct sched_attempt *at = &event->at;
    bool is_charged;
    if (!end_attempt(sched, at, &is_charged))
        return;
    if (event->is_final)
        return end_failed(sched, event->code, at->kind, at->task);
    task_set_move(&current(sched)->sets[at->kind], at->task, SCHED_PENDING);
    if (at->kind == SCHED_MAP)
        drop_held(sched, &sched->slots[at->slot]);
    if (!is_charged)
        charge(sched, at, event->code);
}

// The text of an output task may be written before its attempt ended, or after it ended badly; it will
// not be written again, so the commit counts in every state. A stuck task that is kept in memory only
// stays stuck: it timed out, and the memory goes with the worker. A map task for a reduce counts only
// while its slot holds it.
static void take_committed(struct sched *sched, const struct sched_event *event)
{
    const enum sched_kind kind = event->at.kind;
    const uint32_t number = event->at.task;
    struct stage *stage = current(sched);
    if (kind != SCHED_MAP && kind != SCHED_REDUCE)
        return;
    if (number >= stage->sets[kind].count)
        return;
    struct task *task = &stage->sets[kind].tasks[number];
    const bool is_output = kind == SCHED_REDUCE || stage_is_map_only(stage);
    if (task->state == SCHED_COMMITTED || task->attempt == 0)
        return;
    if (!is_output && task->state != SCHED_HELD)
        return;
    if (task->state == SCHED_STUCK && !event->is_durable)
        return;
    task->is_durable = event->is_durable;
    advance(sched, kind, number, SCHED_COMMITTED);
}

static void take_sealed(struct sched *sched, uint32_t slot_index)
{
    if (slot_index >= sched->slot_count || !sched->slots[slot_index].is_sealing)
        return;
    sched->slots[slot_index].is_sealing = false;
    sched->sealing_count--;
    drop_held(sched, &sched->slots[slot_index]);
}

// What the checkpoint committed leaves the list, so that a slot with nothing else need not be sealed.
static void take_checkpointed(struct sched *sched, uint32_t slot_index)
{
    if (slot_index >= sched->slot_count || !sched->slots[slot_index].is_checkpointing)
        return;
    struct slot *slot = &sched->slots[slot_index];
    slot->is_checkpointing = false;
    sched->checkpointing_count--;

    struct task *tasks = current(sched)->sets[SCHED_MAP].tasks;
    for (uint32_t *at = &slot->held_first; *at != SCHED_NO_TASK;) {
        if (tasks[*at].state == SCHED_HELD)
            at = &tasks[*at].next_held;
        else
            *at = tasks[*at].next_held;
    }
}

// A thread cannot be stopped from outside: the worker has to go.
static void take_timed_out(struct sched *sched, const struct sched_attempt *at)
{
    struct queued *queued = find_queued(sched, at);
    if (!queued || queued->is_charged)
        return;
    queued->is_charged = true;
    charge(sched, at, WEFT_DEADLINE_EXCEEDED);
    if (sched->is_over || sched->worker_state == WORKER_DYING)
        return;
    sched->worker_state = WORKER_DYING;
    put(sched, ACTION_KILL_WORKER);
}

// ---- The loss of a worker ---------------------------------------------------------------------

// Whether the task of the attempt has to be run again.
static bool is_undone(struct sched *sched, const struct sched_attempt *at)
{
    const struct task *task = &current(sched)->sets[at->kind].tasks[at->task];
    return task->state != SCHED_COMMITTED || !task->is_durable;
}

// The last charge is never a suspicion: the job does not fail by what another task may have done.
static void suspect(struct sched *sched, const struct sched_attempt *at)
{
    struct task_set *set = &current(sched)->sets[at->kind];
    struct task *task = &set->tasks[at->task];
    task_set_suspect(set, at->task, true);
    if (!task->has_suspect_charge && task->charges + 1 < sched->max_attempts) {
        task->has_suspect_charge = true;
        task->charges++;
    }
}

// Charges the loss to the attempt that crashed, or to the only one there was; else to no one for
// certain. An attempt whose task is done for good may be the guilty one, but is not run again.
static void blame(struct sched *sched, const struct sched_event *event)
{
    struct sched_attempt suspects[SLOTS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < event->inside_count && count < SLOTS_MAX; i++) {
        const struct sched_attempt *at = &event->inside[i];
        const bool may_be = event->crash_slot == SCHED_NO_SLOT || event->crash_slot == at->slot;
        if (may_be && find_queued(sched, at))
            suspects[count++] = *at;
    }
    if (count == 1 && is_undone(sched, &suspects[0]))
        return charge(sched, &suspects[0], event->code ? event->code : WEFT_UNAVAILABLE);

    for (uint32_t i = 0; i < count; i++)
        if (is_undone(sched, &suspects[i]))
            suspect(sched, &suspects[i]);
    if (++sched->unexplained_loss_count >= SCHED_LOSSES_MAX)
        end_failed(sched, WEFT_UNAVAILABLE, SCHED_SAMPLE, SCHED_NO_TASK);
}

static void take_lost(struct sched *sched, const struct sched_event *event)
{
    const bool is_by_us = sched->worker_state == WORKER_DYING;  // who timed out is charged already
    sched->worker_state = WORKER_NONE;
    if (!is_by_us)
        blame(sched, event);
    if (sched->is_over)
        return;
    sched_clear_slots(sched);
    for (uint32_t i = 0; i <= sched->stage_index; i++)
        for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++)
            task_set_lose(&sched->stages[i].sets[kind]);

    // The next worker has not opened anything, so it begins with the empty stages too. Output that was
    // restored is not there before some worker opened its stage.
    sched->stage_index = sched_first_stage(sched, sched->worker + 1);
    if (stage_has_output(current(sched)) && current(sched)->opened_by > 0)
        return end_done(sched);
    start_worker(sched);
}

// ---- What the driver decides ------------------------------------------------------------------

static void take_restored(struct sched *sched, const struct sched_event *event)
{
    const struct sched_attempt *at = &event->at;
    if (sched->worker > 0 || event->stage >= sched->stage_count || at->kind >= SCHED_KIND_COUNT)
        return;
    struct task_set *set = &sched->stages[event->stage].sets[at->kind];
    if (at->task >= set->count)
        return;
    set->tasks[at->task].is_durable = true;
    task_set_move(set, at->task, SCHED_COMMITTED);
}

// The answer to TASK_STUCK; tasks are stuck in stage 0 only, which then is the one at work.
static void take_verdict(struct sched *sched, const struct sched_event *event)
{
    const struct sched_attempt *at = &event->at;
    if (at->kind >= SCHED_KIND_COUNT)
        return;
    struct task_set *set = &sched->stages[0].sets[at->kind];
    if (at->task >= set->count || set->tasks[at->task].state != SCHED_STUCK)
        return;
    if (event->type == EVENT_TASK_CONDEMNED)
        return end_failed(sched, event->code, at->kind, at->task);
    set->tasks[at->task].charges = 0;
    task_set_move(set, at->task, SCHED_PENDING);
}

// Slots hold something only in the map phase of a stage with reduce.
static void take_checkpoint(struct sched *sched)
{
    if (sched->worker_state != WORKER_READY)
        return;
    for (uint32_t i = 0; i < sched->slot_count; i++) {
        struct slot *slot = &sched->slots[i];
        if (slot->held_first == SCHED_NO_TASK || slot->is_sealing || slot->is_checkpointing)
            continue;
        slot->is_checkpointing = true;
        sched->checkpointing_count++;
        put(sched, ACTION_CHECKPOINT)->at.slot = i;
    }
}

// ---- The end ----------------------------------------------------------------------------------

static void end_done(struct sched *sched)
{
    put(sched, ACTION_JOB_DONE);
    sched->is_over = true;
}

static void end_failed(struct sched *sched, weft_err code, enum sched_kind kind, uint32_t task)
{
    if (sched->worker_state == WORKER_STARTING || sched->worker_state == WORKER_READY)
        put(sched, ACTION_KILL_WORKER);
    struct sched_action *failure = put(sched, ACTION_JOB_FAILED);
    failure->code = code ? code : WEFT_UNKNOWN;
    failure->at = (struct sched_attempt){.kind = kind, .task = task, .slot = SCHED_NO_SLOT};
    if (task != SCHED_NO_TASK)
        failure->at.attempt = current(sched)->sets[kind].tasks[task].attempt;
    sched->failure = *failure;
    sched->is_over = true;
}
