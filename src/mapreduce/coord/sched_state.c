// Making the state of a job from its plan, keeping its lists and bitmaps in step, and looking at it.
#include "mapreduce/coord/sched_state.h"

#include <stdlib.h>

// ---- Making it --------------------------------------------------------------------------------

static bool plan_is_valid(const struct sched_plan *plan, uint64_t *task_count)
{
    if (plan->stage_count < 1 || plan->stage_count > SCHED_STAGES_MAX) {
        err_set(WEFT_INVALID_ARGUMENT, "a job of %u stages: 1 to %d are possible",
                plan->stage_count, SCHED_STAGES_MAX);
        return false;
    }
    if (plan->worker_count > SCHED_WORKERS_MAX || plan->slots_max > SLOTS_MAX) {
        err_set(WEFT_INVALID_ARGUMENT,
                "%u workers of %u slots: at most %d of at most %d are possible", plan->worker_count,
                plan->slots_max, SCHED_WORKERS_MAX, SLOTS_MAX);
        return false;
    }
    uint64_t count = 0;
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        const struct sched_stage *stage = &plan->stages[i];
        count += (uint64_t)stage->sample_count + stage->map_count + stage->reduce_count;
    }
    if (count > SCHED_TASKS_MAX)
        err_set(WEFT_RESOURCE_EXHAUSTED, "a job of %llu tasks: at most %d are possible",
                (unsigned long long)count, SCHED_TASKS_MAX);
    *task_count = count;
    return count <= SCHED_TASKS_MAX;
}

static bool stages_init(struct sched *sched, const struct sched_plan *plan, uint64_t task_count)
{
    sched->tasks = calloc(task_count ? task_count : 1, sizeof *sched->tasks);
    sched->stages = calloc(plan->stage_count, sizeof *sched->stages);
    if (!sched->tasks || !sched->stages)
        return false;
    uint32_t first = 0;
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        const struct sched_stage *stage = &plan->stages[i];
        const uint32_t counts[] = {stage->sample_count, stage->map_count, stage->reduce_count};
        sched->stage_count = i + 1;
        bool is_ok = true;
        for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++) {
            is_ok =
                task_set_init(&sched->stages[i].sets[kind], sched->tasks, first, counts[kind]) &&
                is_ok;
            first += counts[kind];
        }
        if (!is_ok)
            return false;
    }
    return !plan->homes ||
           task_set_give_homes(&sched->stages[0].sets[SCHED_MAP], plan->homes, plan->home_count);
}

static bool workers_init(struct sched *sched, const struct sched_plan *plan)
{
    sched->worker_count = sched->worker_max = plan->worker_count ? plan->worker_count : 1;
    sched->slots_max = plan->slots_max ? plan->slots_max : SLOTS_MAX;
    const uint32_t slot_count = sched->worker_max * sched->slots_max;
    sched->workers = calloc(sched->worker_max, sizeof *sched->workers);
    sched->slots = calloc(slot_count, sizeof *sched->slots);
    bool is_ok = bits_init(&sched->free_workers, sched->worker_max);
    for (uint32_t depth = 0; depth < SCHED_QUEUE_MAX; depth++)
        is_ok = bits_init(&sched->free_slots[depth], slot_count) && is_ok;
    is_ok = bits_init(&sched->holding_slots, slot_count) && is_ok;
    is_ok = bits_init(&sched->leaving_slots, slot_count) && is_ok;
    is_ok = bits_init(&sched->due_slots, slot_count) && is_ok;
    is_ok = bits_init(&sched->late_slots, slot_count) && is_ok;
    for (uint32_t place = 0; place < sched->worker_max && sched->workers; place++)
        sched->workers[place].kept = SCHED_NO_TASK;
    return is_ok && sched->workers && sched->slots;
}

struct sched *sched_new(const struct sched_plan *plan)
{
    uint64_t task_count;
    if (!plan_is_valid(plan, &task_count))
        return NULL;
    struct sched *sched = calloc(1, sizeof *sched);
    if (!sched || !stages_init(sched, plan, task_count) || !workers_init(sched, plan)) {
        sched_free(sched);
        err_no_memory("for the tasks of the job");
        return NULL;
    }
    sched->max_attempts = plan->max_attempts ? plan->max_attempts : SCHED_ATTEMPTS_DEFAULT;
    sched->asks_before_failing = plan->asks_before_failing;
    sched->is_elastic = plan->is_elastic;
    sched->quarantine = SCHED_NO_PLACE;
    sched->to_start = sched->worker_count;  // none before START
    return sched;
}

void sched_free(struct sched *sched)
{
    if (!sched)
        return;
    for (uint32_t i = 0; i < sched->stage_count; i++)
        for (uint32_t kind = 0; kind < SCHED_KIND_COUNT; kind++)
            task_set_fini(&sched->stages[i].sets[kind]);
    bits_fini(&sched->free_workers);
    for (uint32_t depth = 0; depth < SCHED_QUEUE_MAX; depth++)
        bits_fini(&sched->free_slots[depth]);
    bits_fini(&sched->holding_slots);
    bits_fini(&sched->leaving_slots);
    bits_fini(&sched->due_slots);
    bits_fini(&sched->late_slots);
    free(sched->slots);
    free(sched->workers);
    free(sched->stages);
    free(sched->tasks);
    free(sched);
}

// ---- Free and holding slots -------------------------------------------------------------------

// The part that is the same for every slot of a worker: it may get tasks.
static bool is_open(const struct worker *worker)
{
    return worker->state == WORKER_READY && !worker->is_changing && !worker->is_silent &&
           !worker->is_leaving && worker->loser_count == 0;
}

// What matters only where workers are elastic. A slot with an attempt is not sealed: that one may lose.
static void file_elastic(struct sched *sched, uint32_t id, bool holds)
{
    const struct worker *worker = &sched->workers[id % sched->worker_max];
    const struct slot *slot = &sched->slots[id];
    const bool is_due =
        slot->is_slow || slot->wants_seal || worker->is_leaving || worker->loser_count > 0;
    const bool is_ripe = holds && slot->queue_count == 0 && !worker->is_silent;
    bits_set(&sched->holding_slots, id, is_ripe && !worker->is_changing);
    bits_set(&sched->leaving_slots, id, is_ripe && worker->is_changing);
    bits_set(&sched->due_slots, id, is_ripe && is_due && !worker->is_changing);
    if (holds && is_due)
        bits_set(&sched->free_slots[0], id, false);
    if (is_due || (slot->queue_count > 0 && slot->queue[0].is_backup))
        bits_set(&sched->free_slots[1], id, false);
    bits_set(&sched->late_slots, id, sched_find_late(sched, id));
}

void sched_file_slot(struct sched *sched, uint32_t id)
{
    const struct worker *worker = &sched->workers[id % sched->worker_max];
    const struct slot *slot = &sched->slots[id];
    const bool is_there =
        worker->state == WORKER_READY && id / sched->worker_max < worker->slot_count;
    const bool is_free = is_there && is_open(worker) && !slot->is_sealing &&
                         !worker->is_quarantined && !worker->is_occupied;
    const bool holds =
        is_there && slot->held != SCHED_NO_TASK && !slot->is_sealing && !slot->is_checkpointing;
    for (uint32_t depth = 0; depth < SCHED_QUEUE_MAX; depth++)
        bits_set(&sched->free_slots[depth], id, is_free && slot->queue_count == depth);
    if (sched->is_elastic)
        return file_elastic(sched, id, holds);
    bits_set(&sched->holding_slots, id, holds && !worker->is_changing);
    bits_set(&sched->leaving_slots, id, holds && worker->is_changing);
}

void sched_file_worker(struct sched *sched, struct worker *worker)
{
    bits_set(&sched->free_workers, place_of(sched, worker), is_open(worker));
    for (uint32_t i = 0; i < worker->slot_count; i++)
        sched_file_slot(sched, slot_id(sched, worker, i));
}

// ---- Lists: what shares the fate of a slot or a worker ----------------------------------------

// An owner is the id of a slot, or, after all slots, the place of a worker.
static uint32_t slot_total(const struct sched *sched)
{
    return sched->worker_max * sched->slots_max;
}

static uint32_t *list_of(struct sched *sched, uint32_t owner)
{
    const uint32_t total = slot_total(sched);
    return owner < total ? &sched->slots[owner].held : &sched->workers[owner - total].kept;
}

uint32_t sched_place_of_task(const struct sched *sched, const struct task *task)
{
    const uint32_t total = slot_total(sched);
    if (task->owner == SCHED_NO_TASK)
        return SCHED_NO_PLACE;
    return task->owner < total ? task->owner % sched->worker_max : task->owner - total;
}

// A slot began to hold something, or holds nothing any more.
static void note_held(struct sched *sched, uint32_t owner, bool is_holding)
{
    if (owner >= slot_total(sched))
        return;
    struct worker *worker = &sched->workers[owner % sched->worker_max];
    if (is_holding)
        worker->holding_count++;
    else
        worker->holding_count--;
    sched_file_slot(sched, owner);
    sched_settle(sched, worker);
}

static void list_leave(struct sched *sched, struct task *task)
{
    if (task->owner == SCHED_NO_TASK)
        return;
    const uint32_t owner = task->owner;
    uint32_t *list = list_of(sched, owner);
    *(task->previous == SCHED_NO_TASK ? list : &sched->tasks[task->previous].next) = task->next;
    if (task->next != SCHED_NO_TASK)
        sched->tasks[task->next].previous = task->previous;
    task->owner = task->next = task->previous = SCHED_NO_TASK;
    if (*list == SCHED_NO_TASK)
        note_held(sched, owner, false);
}

static void list_enter(struct sched *sched, uint32_t id, uint32_t owner)
{
    struct task *task = &sched->tasks[id];
    uint32_t *list = list_of(sched, owner);
    list_leave(sched, task);
    task->owner = owner;
    task->next = *list;
    if (task->next != SCHED_NO_TASK)
        sched->tasks[task->next].previous = id;
    *list = id;
    if (task->next == SCHED_NO_TASK)
        note_held(sched, owner, true);
}

void sched_hold(struct sched *sched, struct task_set *set, uint32_t task, uint32_t id)
{
    list_enter(sched, set->first + task, id);
}

void sched_keep(struct sched *sched, struct task_set *set, uint32_t task, struct worker *worker)
{
    list_enter(sched, set->first + task, slot_total(sched) + place_of(sched, worker));
}

bool sched_move(struct sched *sched, struct task_set *set, uint32_t task, enum sched_state state)
{
    struct task *at = &set->tasks[task];
    list_leave(sched, at);
    if (state != SCHED_RUNNING)
        at->first_live = at->attempt + 1;
    return task_set_move(set, task, state);
}

// The set of a task that is known by its id.
static struct task_set *find_set(struct sched *sched, uint32_t id)
{
    uint32_t low = 0, high = sched->stage_count;  // it is in a stage of [low, high)
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        *(sched->stages[middle].sets[0].first <= id ? &low : &high) = middle;
    }
    struct task_set *sets = sched->stages[low].sets;
    return id >= sets[SCHED_REDUCE].first ? &sets[SCHED_REDUCE]
           : id >= sets[SCHED_MAP].first  ? &sets[SCHED_MAP]
                                          : &sets[SCHED_SAMPLE];
}

void sched_drop_list(struct sched *sched, const uint32_t *list)
{
    while (*list != SCHED_NO_TASK) {
        const uint32_t id = *list;
        struct task_set *set = find_set(sched, id);
        sched_move(sched, set, id - set->first, SCHED_PENDING);
    }
}

void sched_drop_held(struct sched *sched, const uint32_t *list)
{
    for (uint32_t id = *list, next; id != SCHED_NO_TASK; id = next) {
        struct task_set *set = find_set(sched, id);
        next = sched->tasks[id].next;
        if (sched->tasks[id].state != SCHED_COMMITTED)
            sched_move(sched, set, id - set->first, SCHED_PENDING);
    }
}

// ---- Stages -----------------------------------------------------------------------------------

// A complete stage needs nothing of those before it, and those after it nothing but its output.
uint32_t sched_first_stage(const struct sched *sched)
{
    uint32_t first = sched->stage_count - 1;
    if (stage_is_complete(&sched->stages[first]))
        return first;
    while (first > 0 && !stage_is_complete(&sched->stages[first - 1]))
        first--;
    return first;
}

static bool is_settled(const struct worker *worker)
{
    return worker->busy_count + worker->holding_count + worker->sealing_count +
               worker->checkpointing_count ==
           0;
}

// The stage is complete without the tasks that the slot holds. Should the job come back to it, they are done anew, and must not be
// in the slot's collector: its worker begins with empty ones.
static void abandon_held(struct sched *sched, uint32_t id)
{
    sched_drop_list(sched, &sched->slots[id].held);
    sched->workers[id % sched->worker_max].is_outdated = true;
}

void sched_enter_stage(struct sched *sched, uint32_t stage)
{
    const bool is_forward = stage > sched->stage_index;
    if (stage == sched->stage_index)
        return;
    sched->stage_index = stage;
    for (uint32_t id; is_forward && (id = bits_lowest(&sched->holding_slots)) != BITS_NONE;)
        abandon_held(sched, id);
    for (uint32_t place = 0; place < sched->worker_max; place++) {
        struct worker *worker = &sched->workers[place];
        if (worker->state != WORKER_READY)
            continue;
        const bool is_elsewhere =
            worker->opened > 0 && (worker->opened != stage + 1 || worker->is_outdated);
        const bool is_changing = is_elsewhere && !is_settled(worker);
        if (worker->is_changing == is_changing)
            continue;
        worker->is_changing = is_changing;
        sched_file_worker(sched, worker);
    }
}

void sched_outdate_reducing(struct sched *sched, bool is_only_moved)
{
    for (uint32_t place = 0; place < sched->worker_max; place++) {
        struct worker *worker = &sched->workers[place];
        if (worker->state != WORKER_READY || !worker->is_reducing || worker->is_outdated)
            continue;
        const struct stage *stage = &sched->stages[worker->opened - 1];
        if (stage_has_output(stage) ||
            (!is_only_moved && task_set_is_committed(&stage->sets[SCHED_MAP])))
            continue;
        worker->is_outdated = true;
        worker->is_changing = !is_settled(worker);
        sched_file_worker(sched, worker);
    }
}

void sched_settle(struct sched *sched, struct worker *worker)
{
    if (!worker->is_changing || !is_settled(worker))
        return;
    worker->is_changing = false;
    sched_file_worker(sched, worker);
}

// ---- Questions --------------------------------------------------------------------------------

const char *sched_kind_name(enum sched_kind kind)
{
    static const char *const names[SCHED_KIND_COUNT] = {"sample", "map", "reduce"};
    return names[kind];
}

uint32_t sched_place(const struct sched *sched, uint32_t worker)
{
    return (worker - 1) % sched->worker_max;
}

static const struct worker *find_life(const struct sched *sched, uint32_t number)
{
    const struct worker *worker = &sched->workers[(number - 1) % sched->worker_max];
    return number > 0 && worker->number == number && worker->state != WORKER_NONE ? worker : NULL;
}

bool sched_waits_for(const struct sched *sched, uint32_t number, const struct sched_attempt *at)
{
    const struct worker *worker = find_life(sched, number);
    const struct queued *queued;
    return worker && at->stage < sched->stage_count && at->kind < SCHED_KIND_COUNT &&
           at->task < sched->stages[at->stage].sets[at->kind].count &&
           (queued = sched_find_queued((struct sched *)sched, worker, at)) &&
           sched_counts(sched, queued);
}

bool sched_is_settled(const struct sched *sched, uint32_t number)
{
    const struct worker *worker = find_life(sched, number);
    return !worker || is_settled(worker);
}

bool sched_awaits_commit(const struct sched *sched, uint32_t number)
{
    const struct worker *worker = find_life(sched, number);
    for (uint32_t id = worker ? worker->kept : SCHED_NO_TASK; id != SCHED_NO_TASK;
         id = sched->tasks[id].next)
        if (sched->tasks[id].state == SCHED_HELD)
            return true;
    return false;
}

uint32_t sched_stage(const struct sched *sched)
{
    return sched->stage_index;
}

uint32_t sched_count(const struct sched *sched, uint32_t stage, enum sched_kind kind,
                     enum sched_state state)
{
    return sched->stages[stage].sets[kind].counts[state];
}

enum sched_state sched_task_state(const struct sched *sched, uint32_t stage, enum sched_kind kind,
                                  uint32_t task)
{
    return (enum sched_state)sched->stages[stage].sets[kind].tasks[task].state;
}

bool sched_is_durable(const struct sched *sched, uint32_t stage, enum sched_kind kind,
                      uint32_t task)
{
    const struct task *at = &sched->stages[stage].sets[kind].tasks[task];
    return at->state == SCHED_COMMITTED && at->is_durable;
}

uint32_t sched_charges(const struct sched *sched, uint32_t stage, enum sched_kind kind,
                       uint32_t task)
{
    return sched->stages[stage].sets[kind].tasks[task].charges;
}

bool sched_is_over(const struct sched *sched)
{
    return sched->is_over;
}

const struct sched_action *sched_failure(const struct sched *sched)
{
    return sched->failure.code ? &sched->failure : NULL;
}
