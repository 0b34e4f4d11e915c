// The decisions of a job. Every event first changes the state (the take_* functions). Then `act`
// looks at the whole job from the top and puts out the actions that are possible now: the job in
// one screen.
//
// Why it always ends: an attempt that ends badly charges its task, and charges are bounded. A lost
// worker charges one attempt for certain, or is counted as unexplained; that count starts anew only
// when a task comes further than ever before, which each task does at most twice. Suspects run
// alone, so the next loss is explained. A charge that is taken back was a suspicion, whose loss was
// counted as unexplained. A stuck task waits for the driver, which always answers. An excuse starts
// its charges anew, and the number of excuses is bounded: each leaves out a record, and the driver
// has a limit for those. Checkpoints only take tasks from held to committed. An attempt that fails
// blamelessly follows from a loss, and the next one reads data that was made again since; or it lacks
// lent input, and the driver ends a job in which too many in a row do.
#include "mapreduce/coord/sched.h"

#include "mapreduce/coord/sched_state.h"

static void take_event(struct sched *sched, const struct sched_event *event);
static void take_worker_event(struct sched *sched, struct worker *worker,
                              const struct sched_event *event);
static void take_ready(struct sched *sched, struct worker *worker, uint32_t slot_count,
                       uint32_t home);
static void take_restored(struct sched *sched, const struct sched_attempt *at);
static void take_verdict(struct sched *sched, const struct sched_event *event);

static void act(struct sched *sched);
static bool stage_go_on(struct sched *sched, struct stage *stage);
static bool open_somewhere(struct sched *sched, struct stage *stage);
static void plan_where_opened(struct sched *sched, const struct stage *stage);
static void go_on_mapping(struct sched *sched, const struct stage *stage);
static void assign(struct sched *sched, enum sched_kind kind);
static void seal(struct sched *sched, const struct bits *slots);
static void start_workers(struct sched *sched);
static void ask_checkpoints(struct sched *sched);
static void tell_failure(struct sched *sched);

struct sched_action *sched_put(struct sched *sched, enum sched_action_type type)
{
    ASSERT(sched->out->count < SCHED_ACTIONS_MAX);
    struct sched_action *action = &sched->out->items[sched->out->count++];
    *action = (struct sched_action){.type = type, .stage = sched->stage_index};
    return action;
}

// Whether what one task, slot or stage can bring about still fits. An event itself brings about less.
static bool has_room(struct sched *sched)
{
    enum { AT_ONCE_MAX = 8 };
    sched->out->has_more = sched->out->count + AT_ONCE_MAX > SCHED_ACTIONS_MAX;
    return !sched->out->has_more;
}

// ---- The story of a job -----------------------------------------------------------------------

void sched_step(struct sched *sched, const struct sched_event *event, struct sched_actions *out)
{
    out->count = 0;
    out->has_more = false;
    if (sched->is_over)
        return;
    sched->out = out;
    take_event(sched, event);
    act(sched);
    sched->out = NULL;
}

void sched_more(struct sched *sched, struct sched_actions *out)
{
    out->count = 0;
    out->has_more = false;
    sched->out = out;
    act(sched);
    sched->out = NULL;
}

// Puts out all actions that are possible now; passes on to the next stage at the end of one.
static void act(struct sched *sched)
{
    if (sched->is_over)
        return tell_failure(sched);
    start_workers(sched);
    ask_checkpoints(sched);
    seal(sched, &sched->leaving_slots);
    if (sched->ready_count == 0)
        return;
    while (has_room(sched) && stage_go_on(sched, current(sched))) {
        // Committed, but the counters of an attempt come with its end; of an elastic worker they came before.
        if (sched->busy_count > 0 && !sched->is_elastic)
            return;
        if (sched->stage_index + 1 == sched->stage_count)
            return sched_end_done(sched);
        sched_enter_stage(sched, sched->stage_index + 1);
    }
}

// Puts out all actions that are possible now in a stage, from its top; true when it is complete.
static bool stage_go_on(struct sched *sched, struct stage *stage)
{
    const struct task_set *maps = &stage->sets[SCHED_MAP];
    if (!stage->opened_by && !open_somewhere(sched, stage))
        return false;
    if (stage_has_output(stage))
        return true;
    if (!task_set_is_committed(&stage->sets[SCHED_SAMPLE])) {
        assign(sched, SCHED_SAMPLE);
        return false;
    }
    plan_where_opened(sched, stage);
    if (stage_is_complete(stage))
        return true;
    if (maps->counts[SCHED_PENDING] + maps->counts[SCHED_RUNNING] > 0)
        go_on_mapping(sched, stage);
    else if (stage_is_map_only(stage) || maps->counts[SCHED_STUCK] > 0)
        return false;  // held ones are being written, stuck ones looked into
    else if (!task_set_is_committed(maps) || sched->sealing_count + sched->checkpointing_count > 0)
        seal(sched, &sched->holding_slots);
    else
        assign(sched, SCHED_REDUCE);
    return false;
}

// The worker in the life with this number, NULL when that is over.
static struct worker *find_worker(struct sched *sched, uint32_t number)
{
    struct worker *worker = &sched->workers[(number - 1) % sched->worker_max];
    return number > 0 && worker->number == number && worker->state != WORKER_NONE ? worker : NULL;
}

static void take_event(struct sched *sched, const struct sched_event *event)
{
    struct worker *worker;
    switch (event->type) {
    case EVENT_START:
        if (sched->is_started)
            return;
        sched->is_started = true;
        sched->to_start = 0;
        sched_enter_stage(sched, sched_first_stage(sched));
        return;
    case EVENT_CANCEL:
        return sched_end_failed(sched, event->code, NULL);
    case EVENT_TASK_RESTORED:
        return take_restored(sched, &event->at);
    case EVENT_TASK_EXCUSED:
    case EVENT_TASK_CONDEMNED:
        return take_verdict(sched, event);
    case EVENT_TASK_SPOILED:
        return sched_take_spoiled(sched, &event->at);
    case EVENT_CHECKPOINT:
        if (sched->is_elastic)
            return sched_want_seals(sched);
        sched->wants_checkpoint = true;
        return;
    default:
        // What comes from a worker that is no more does not count.
        worker = find_worker(sched, event->worker);
        if (worker && event->at.stage < sched->stage_count && event->at.kind < SCHED_KIND_COUNT)
            take_worker_event(sched, worker, event);
    }
}

static void take_worker_event(struct sched *sched, struct worker *worker,
                              const struct sched_event *event)
{
    switch (event->type) {
    case EVENT_WORKER_READY:
        return take_ready(sched, worker, event->slot_count,
                          event->home ? event->home - 1 : HOMES_NONE);
    case EVENT_TASK_HELD:
        return sched_take_held(sched, worker, &event->at);
    case EVENT_TASK_FAILED:
        return sched_take_failed(sched, worker, event);
    case EVENT_TASK_COMMITTED:
        return sched_take_committed(sched, worker, event);
    case EVENT_TASK_OFFERED:
        return sched_take_offered(sched, worker, event);
    case EVENT_SEALED:
        return sched_take_sealed(sched, worker, event->at.slot);
    case EVENT_CHECKPOINTED:
        return sched_take_checkpointed(sched, worker, event->at.slot);
    case EVENT_TASK_TIMED_OUT:
        return sched_take_timed_out(sched, worker, &event->at);
    case EVENT_WORKER_FAILED:
        return sched_take_worker_failed(sched, worker, event->code);
    case EVENT_WORKER_LOST:
        return sched_take_lost(sched, worker, event);
    case EVENT_ATTEMPT_LATE:
        return sched_take_late(sched, worker, &event->at);
    case EVENT_WORKER_SILENT:
    case EVENT_WORKER_BACK:
    case EVENT_WORKER_LEAVING:
        return sched_take_away(sched, worker, event->type);
    default:
        break;
    }
}

// ---- Workers ----------------------------------------------------------------------------------

void sched_start_worker(struct sched *sched, struct worker *worker)
{
    worker->number =
        worker->number ? worker->number + sched->worker_max : place_of(sched, worker) + 1;
    worker->state = WORKER_STARTING;
    sched_put(sched, ACTION_START_WORKER)->worker = worker->number;
}

static void start_workers(struct sched *sched)
{
    while (sched->to_start < sched->worker_count && has_room(sched))
        sched_start_worker(sched, &sched->workers[sched->to_start++]);
}

static void take_ready(struct sched *sched, struct worker *worker, uint32_t slot_count,
                       uint32_t home)
{
    ASSERT(slot_count >= 1 && slot_count <= sched->slots_max);
    if (worker->state != WORKER_STARTING)
        return;
    worker->state = WORKER_READY;
    worker->slot_count = slot_count;
    worker->home = home;
    worker->opened = worker->planned = 0;
    worker->is_reducing = worker->is_outdated = false;
    worker->is_silent = worker->is_leaving = false;
    for (uint32_t i = 0; i < slot_count; i++)
        *slot_of(sched, worker, i) = (struct slot){.held = SCHED_NO_TASK};
    sched->ready_count++;
    if (sched->ready_most < sched->ready_count)
        sched->ready_most = sched->ready_count;
    sched->slot_count += slot_count;
    sched_file_worker(sched, worker);
}

void sched_kill_worker(struct sched *sched, struct worker *worker)
{
    if (worker->state == WORKER_READY) {
        sched->ready_count--;
        sched->slot_count -= worker->slot_count;
    }
    worker->state = WORKER_DYING;
    sched_file_worker(sched, worker);
    sched_put(sched, ACTION_KILL_WORKER)->worker = worker->number;
}

static void open_at(struct sched *sched, struct worker *worker)
{
    worker->opened = sched->stage_index + 1;
    worker->planned = 0;
    worker->is_reducing = worker->is_outdated = false;
    if (!current(sched)->opened_by)
        current(sched)->opened_by = worker->number;
    current(sched)->was_opened = true;
    sched_put(sched, ACTION_STAGE_OPEN)->worker = worker->number;
}

static bool open_somewhere(struct sched *sched, struct stage *stage)
{
    const uint32_t place = bits_lowest(&sched->free_workers);
    if (place == BITS_NONE)
        return false;
    struct worker *worker = &sched->workers[place];
    if (worker->opened == sched->stage_index + 1)
        stage->opened_by = worker->number;  // the one that opened it first is lost
    else
        open_at(sched, worker);
    return true;
}

static void plan_at(struct sched *sched, struct worker *worker)
{
    worker->planned = sched->stage_index + 1;
    sched_put(sched, ACTION_STAGE_PLAN)->worker = worker->number;
}

// The worker that opened the stage first gets the plan at once: a stage without tasks needs one,
// too.
static void plan_where_opened(struct sched *sched, const struct stage *stage)
{
    struct worker *worker = find_worker(sched, stage->opened_by);
    const uint32_t number = sched->stage_index + 1;
    if (worker && worker->state == WORKER_READY && worker->opened == number &&
        worker->planned != number && worker->loser_count == 0)
        plan_at(sched, worker);
}

// ---- Handing out ------------------------------------------------------------------------------

// An attempt of the task is still under way there: it lost, and what won is lost since. No slot takes a task twice.
static bool is_still_there(struct sched *sched, enum sched_kind kind, uint32_t task, uint32_t id)
{
    struct worker *worker = &sched->workers[id % sched->worker_max];
    const struct sched_attempt at = {.kind = kind, .task = task, .stage = sched->stage_index};
    if (!set_of(sched, &at)->tasks[task].was_doubled || !sched_lingers(sched, worker, &at))
        return false;
    sched_kill_worker(sched, worker);
    return true;
}

static struct queued *run(struct sched *sched, enum sched_kind kind, uint32_t task, uint32_t id)
{
    struct task_set *set = &current(sched)->sets[kind];
    struct worker *worker = &sched->workers[id % sched->worker_max];
    struct slot *slot = &sched->slots[id];
    if (worker->opened != sched->stage_index + 1 || worker->is_outdated)
        open_at(sched, worker);
    worker->is_reducing |= kind == SCHED_REDUCE;
    if (kind != SCHED_SAMPLE && worker->planned != sched->stage_index + 1)
        plan_at(sched, worker);

    const struct sched_attempt at = {kind, task, ++set->tasks[task].attempt, id / sched->worker_max,
                                     sched->stage_index};
    if (set->tasks[task].state != SCHED_RUNNING) {
        sched_move(sched, set, task, SCHED_RUNNING);
        set->tasks[task].first_live = at.attempt;
    }
    const bool is_alone = set->tasks[task].is_suspect;
    struct queued *queued = &slot->queue[slot->queue_count++];
    *queued = (struct queued){.at = at, .is_alone = is_alone, .twin = SCHED_NO_SLOT};
    worker->busy_count++;
    sched->busy_count++;
    if (is_alone) {
        worker->is_occupied = true;
        sched_file_worker(sched, worker);
    }
    sched_file_slot(sched, id);
    struct sched_action *action = sched_put(sched, ACTION_RUN);
    action->worker = worker->number;
    action->at = at;
    return queued;
}

// Keeps one worker free for suspects, the same one as long as it lives, and none when there are none.
static void choose_quarantine(struct sched *sched, bool is_needed)
{
    const uint32_t old = sched->quarantine;
    const bool is_there = old != SCHED_NO_PLACE && sched->workers[old].state == WORKER_READY &&
                          !sched->workers[old].is_silent && !sched->workers[old].is_leaving;
    const uint32_t wanted = !is_needed ? SCHED_NO_PLACE
                            : is_there ? old
                                       : bits_lowest(&sched->free_workers);
    if (wanted == old)
        return;
    sched->quarantine = wanted;
    for (int i = 0; i < 2; i++) {
        const uint32_t place = i ? wanted : old;
        if (place == SCHED_NO_PLACE)
            continue;
        sched->workers[place].is_quarantined = i == 1;
        sched_file_worker(sched, &sched->workers[place]);
    }
}

static void run_suspect(struct sched *sched, enum sched_kind kind)
{
    const struct worker *worker = &sched->workers[sched->quarantine];
    const uint32_t task = bits_lowest(&current(sched)->sets[kind].pending_suspects);
    if (task == BITS_NONE || worker->busy_count > 0 || worker->is_changing)
        return;
    for (uint32_t i = 0; i < worker->slot_count; i++) {
        const uint32_t id = slot_id(sched, worker, i);
        if (sched->slots[id].is_sealing)
            continue;
        run(sched, kind, task, id);
        return;
    }
}

// Gives free slots, with `depth` attempts in their queues, the tasks that are at home where they are, as far as there are any. A slot
// without one is filled by the caller, so no slot is looked at in vain.
static void run_at_home(struct sched *sched, enum sched_kind kind, uint32_t depth)
{
    const struct task_set *set = &current(sched)->sets[kind];
    uint32_t id = set->homes.home_count > 0 ? bits_lowest(&sched->free_slots[depth]) : BITS_NONE;
    for (; id != BITS_NONE && has_room(sched) && bits_lowest(&set->pending) != BITS_NONE;
         id = bits_next(&sched->free_slots[depth], id + 1)) {
        const uint32_t home = sched->workers[id % sched->worker_max].home;
        const uint32_t task = homes_lowest(&set->homes, home);
        if (depth > 0 && set->counts[SCHED_PENDING] < sched->slot_count)
            return;
        if (task != BITS_NONE && !is_still_there(sched, kind, task, id))
            run(sched, kind, task, id);
    }
}

// Fills the queues: all first places before any second one. The last tasks are not queued after
// others, where they could wait long while another slot has nothing to do.
static void fill_queues(struct sched *sched, enum sched_kind kind)
{
    const struct task_set *set = &current(sched)->sets[kind];
    for (uint32_t depth = 0; depth < SCHED_QUEUE_MAX; depth++) {
        run_at_home(sched, kind, depth);
        for (;;) {
            const uint32_t task = bits_lowest(&set->pending);
            const uint32_t id = bits_lowest(&sched->free_slots[depth]);
            if (task == BITS_NONE || !has_room(sched))
                return;
            if (id == BITS_NONE)
                break;
            if (depth > 0 && set->counts[SCHED_PENDING] < sched->slot_count)
                return;
            if (!is_still_there(sched, kind, task, id))
                run(sched, kind, task, id);
        }
    }
}

// A slot of another worker than `place` that has nothing to do, and nothing to lose.
static uint32_t find_spare(struct sched *sched, uint32_t place)
{
    uint32_t id = bits_lowest(&sched->free_slots[0]);
    while (id != BITS_NONE &&
           (id % sched->worker_max == place || sched->slots[id].held != SCHED_NO_TASK))
        id = bits_next(&sched->free_slots[0], id + 1);
    return id;
}

// A slot may have been left among the late ones by mistake; that is noticed here. False: nothing more is possible.
static bool back_up_one(struct sched *sched, enum sched_kind kind, uint32_t late)
{
    const struct worker *worker = &sched->workers[late % sched->worker_max];
    const uint32_t limit = sched->slot_count < 20 ? 1 : sched->slot_count / 10;
    struct queued *first = sched_find_late(sched, late);
    if (!first)
        sched_file_slot(sched, late);
    if (!first || first->at.stage != sched->stage_index || first->at.kind != kind)
        return true;
    if (!worker->is_silent && !worker->is_leaving && sched->backup_count >= limit)
        return true;
    const uint32_t task = first->at.task, id = find_spare(sched, late % sched->worker_max);
    if (id == BITS_NONE)
        return bits_lowest(&sched->free_slots[0]) != BITS_NONE;
    if (is_still_there(sched, kind, task, id))
        return true;
    struct queued *second = run(sched, kind, task, id);
    sched->out->items[sched->out->count - 1].is_backup = true;
    current(sched)->sets[kind].tasks[task].was_doubled = true;
    second->is_backup = true;
    second->twin = late;
    first->twin = id;
    sched->backup_count++;
    sched_file_slot(sched, id);
    sched_file_slot(sched, late);
    return true;
}

// A slot that is still free is one that no pending task can have. Suspects may be pending: they wait for one worker to end its
// attempts, which may take a second one of those.
static void back_up(struct sched *sched, enum sched_kind kind)
{
    if (!sched->is_elastic)
        return;
    uint32_t id = bits_lowest(&sched->late_slots);
    while (id != BITS_NONE && has_room(sched)) {
        const uint32_t before = sched->out->count;
        if (!back_up_one(sched, kind, id))
            return;
        // The attempt that waits in that slot may be next.
        id = bits_next(&sched->late_slots, sched->out->count > before ? id : id + 1);
    }
}

static void assign(struct sched *sched, enum sched_kind kind)
{
    choose_quarantine(sched, current(sched)->sets[kind].suspect_count > 0);
    if (sched->quarantine != SCHED_NO_PLACE)
        run_suspect(sched, kind);
    fill_queues(sched, kind);
    back_up(sched, kind);
}

// Seals slots that hold something: those of the stage when no map task is left to run, and those of
// a stage that their worker has to leave. A slot at a checkpoint has to wait for its end: only then
// is it known which tasks are left to seal.
static void seal(struct sched *sched, const struct bits *slots)
{
    uint32_t id;
    while ((id = bits_lowest(slots)) != BITS_NONE && has_room(sched)) {
        struct worker *worker = &sched->workers[id % sched->worker_max];
        sched->slots[id].is_sealing = true;
        worker->sealing_count++;
        sched->sealing_count++;
        sched_file_slot(sched, id);
        struct sched_action *action = sched_put(sched, ACTION_SEAL);
        action->worker = worker->number;
        action->stage = worker->opened - 1;
        action->at.slot = id / sched->worker_max;
    }
}

// The last map tasks are alone in their collectors; some others, too. Suspects may be pending, and wait for a worker whose attempts
// hang: slots that hold something could not take second attempts of those.
static void go_on_mapping(struct sched *sched, const struct stage *stage)
{
    const struct task_set *maps = &stage->sets[SCHED_MAP];
    const bool is_tail =
        sched->ready_count > 1 && (maps->counts[SCHED_PENDING] < sched->slot_count ||
                                   bits_lowest(&maps->pending) == BITS_NONE);
    if (sched->is_elastic)
        seal(sched, is_tail ? &sched->holding_slots : &sched->due_slots);
    assign(sched, SCHED_MAP);
}

// Slots hold something only in the map phase of a stage with reduce.
static void ask_checkpoints(struct sched *sched)
{
    uint32_t id;
    while (sched->wants_checkpoint && has_room(sched)) {
        if ((id = bits_lowest(&sched->holding_slots)) == BITS_NONE) {
            sched->wants_checkpoint = false;
            return;
        }
        struct worker *worker = &sched->workers[id % sched->worker_max];
        sched->slots[id].is_checkpointing = true;
        worker->checkpointing_count++;
        sched->checkpointing_count++;
        sched_file_slot(sched, id);
        struct sched_action *action = sched_put(sched, ACTION_CHECKPOINT);
        action->worker = worker->number;
        action->at.slot = id / sched->worker_max;
    }
}

// ---- What the driver decides ------------------------------------------------------------------

static void take_restored(struct sched *sched, const struct sched_attempt *at)
{
    if (sched->is_started || at->stage >= sched->stage_count || at->kind >= SCHED_KIND_COUNT)
        return;
    struct task_set *set = set_of(sched, at);
    if (at->task >= set->count)
        return;
    set->tasks[at->task].is_durable = true;
    sched_move(sched, set, at->task, SCHED_COMMITTED);
}

// The answer to TASK_STUCK; tasks are stuck in stage 0 only. The output of the stage may be
// complete by now, from reduce tasks that read the pairs of this task before a worker was lost:
// then the task is not needed, and it cannot end the job.
static void take_verdict(struct sched *sched, const struct sched_event *event)
{
    const struct sched_attempt *at = &event->at;
    if (at->kind >= SCHED_KIND_COUNT)
        return;
    struct task_set *set = &sched->stages[0].sets[at->kind];
    if (at->task >= set->count || set->tasks[at->task].state != SCHED_STUCK)
        return;
    if (event->type == EVENT_TASK_CONDEMNED && !stage_has_output(&sched->stages[0]))
        return sched_end_failed(sched, event->code,
                                &(struct sched_attempt){.kind = at->kind, .task = at->task});
    set->tasks[at->task].charges = 0;
    sched_move(sched, set, at->task, SCHED_PENDING);
}

// ---- The end ----------------------------------------------------------------------------------

void sched_end_done(struct sched *sched)
{
    sched_put(sched, ACTION_JOB_DONE);
    sched->is_over = true;
}

void sched_end_failed(struct sched *sched, weft_err code, const struct sched_attempt *at)
{
    sched->failure = (struct sched_action){
        .type = ACTION_JOB_FAILED,
        .stage = at ? at->stage : sched->stage_index,
        .at = {.task = at ? at->task : SCHED_NO_TASK, .slot = SCHED_NO_SLOT},
        .code = code ? code : WEFT_UNKNOWN,
    };
    if (at) {
        sched->failure.at.kind = at->kind;
        sched->failure.at.stage = at->stage;
        sched->failure.at.attempt = set_of(sched, at)->tasks[at->task].attempt;
    }
    sched->is_over = true;
}

// Kills what lives, then says that it is over.
static void tell_failure(struct sched *sched)
{
    if (!sched->failure.code || sched->is_told)
        return;
    for (; sched->to_kill < sched->worker_max && has_room(sched); sched->to_kill++) {
        struct worker *worker = &sched->workers[sched->to_kill];
        if (worker->state == WORKER_STARTING || worker->state == WORKER_READY)
            sched_kill_worker(sched, worker);
    }
    if (sched->to_kill < sched->worker_max)
        return;
    *sched_put(sched, ACTION_JOB_FAILED) = sched->failure;
    sched->is_told = true;
}
