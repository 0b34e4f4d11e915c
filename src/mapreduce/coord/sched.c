// The decisions of a job. Every event first changes what is known (the take_* functions), then `go_on`
// looks at the whole job from the top and puts out what can be done now: the job in one screen.
//
// Why it always ends: an attempt that ends badly charges its task, and charges are bounded. A lost
// worker charges one attempt for certain, or is counted as unexplained; that count starts anew only
// when a task comes further than ever before, which each task does at most twice. Suspects run
// alone, so the next loss is explained. A charge that is taken back was a suspicion, whose loss was
// counted as unexplained.
#include "mapreduce/coord/sched.h"

#include "mapreduce/coord/sched_state.h"

static void take_event(struct sched *sched, const struct sched_event *event);
static void take_held(struct sched *sched, const struct sched_attempt *at);
static void take_failed(struct sched *sched, const struct sched_event *event);
static void take_committed(struct sched *sched, const struct sched_event *event);
static void take_sealed(struct sched *sched, uint32_t slot_index);
static void take_timed_out(struct sched *sched, const struct sched_attempt *at);
static void take_lost(struct sched *sched, const struct sched_event *event);

static void go_on(struct sched *sched);
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

// Does all that can be done now, from the top of the stage; passes on to the next stage at its end.
static void go_on(struct sched *sched)
{
    for (;;) {
        struct stage *stage = current(sched);
        const struct task_set *maps = &stage->sets[SCHED_MAP];
        if (stage->opened_by != sched->worker) {
            stage->opened_by = sched->worker;
            put(sched, ACTION_STAGE_OPEN);
        }
        if (!task_set_is_committed(&stage->sets[SCHED_SAMPLE]))
            return assign(sched, SCHED_SAMPLE);
        if (stage->planned_by != sched->worker) {
            stage->planned_by = sched->worker;
            put(sched, ACTION_STAGE_PLAN);
        }
        if (!stage_is_complete(stage, sched->worker)) {
            if (maps->counts[SCHED_PENDING] + maps->counts[SCHED_RUNNING] > 0)
                return assign(sched, SCHED_MAP);
            if (stage_is_map_only(stage))
                return;  // held ones are being written
            if (!task_set_is_committed(maps) || sched->sealing_count > 0)
                return seal(sched);
            return assign(sched, SCHED_REDUCE);
        }
        if (sched->busy_count > 0)
            return;  // committed, but the counters of an attempt come with its end
        if (sched->stage_index + 1 == sched->stage_count)
            return end_done(sched);
        sched->stage_index++;
    }
}

static void take_event(struct sched *sched, const struct sched_event *event)
{
    if (event->type == EVENT_CANCEL)
        return end_failed(sched, event->code, SCHED_SAMPLE, SCHED_NO_TASK);
    if (event->type == EVENT_START && sched->worker == 0)
        return start_worker(sched);
    if (event->worker != sched->worker || sched->worker_state == WORKER_NONE)
        return;  // from a worker that is no more

    switch (event->type) {
    case EVENT_START:
    case EVENT_CANCEL:
    case EVENT_TASK_RESTORED:
    case EVENT_TASK_EXCUSED:
    case EVENT_TASK_CONDEMNED:
    case EVENT_CHECKPOINT:
    case EVENT_CHECKPOINTED:
        break;
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
    case EVENT_TASK_TIMED_OUT:
        return take_timed_out(sched, &event->at);
    case EVENT_WORKER_FAILED:
        return end_failed(sched, event->code, SCHED_SAMPLE, SCHED_NO_TASK);
    case EVENT_WORKER_LOST:
        return take_lost(sched, event);
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

// Seals every slot that holds something; called when no map task is left to run.
static void seal(struct sched *sched)
{
    for (uint32_t i = 0; i < sched->slot_count; i++) {
        struct slot *slot = &sched->slots[i];
        if (slot->held_first == SCHED_NO_TASK || slot->is_sealing)
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

// Charges an attempt to its task for certain.
static void charge(struct sched *sched, const struct sched_attempt *at, weft_err code)
{
    struct task *task = &current(sched)->sets[at->kind].tasks[at->task];
    if (++task->charges >= sched->max_attempts)
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
// not be written again, so the commit counts in every state. A map task for a reduce counts only
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

    // The next worker has not opened anything, so it begins with the empty stages too.
    uint32_t first = 0;
    while (first < sched->stage_count &&
           stage_is_complete(&sched->stages[first], sched->worker + 1))
        first++;
    if (first == sched->stage_count)
        return end_done(sched);
    sched->stage_index = first;
    start_worker(sched);
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
