// damage: what workers have made, and others find changed on the disk when they read it. It is made again; the client or worker whose
// files are damaged again and again is set aside.

#include "run/driver/coordinator/coordinator_state.h"

#include "mapreduce/sample_segment.h"

#include <stdio.h>

// A disk that changes what lies on it does so again.
enum { DAMAGES_MAX = 3 };

static void tell(const struct coordinator *coordinator, const char *whose, const char *what,
                 uint32_t count, const char *why)
{
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s of %.200s %s damaged: %u task%s %s done again (%.*s)",
             what, whose, strcmp(what, "map output") == 0 ? "is" : "are", count,
             count == 1 ? "" : "s", count == 1 ? "is" : "are", (int)strcspn(why, ";\n"), why);
    report_warn(coordinator->report, sentence);
}

static void spoil(struct coordinator *coordinator, uint32_t stage, enum sched_kind kind,
                  uint32_t task)
{
    const struct sched_event event = {.type = EVENT_TASK_SPOILED,
                                      .at = {.kind = kind, .task = task, .stage = stage}};
    coordinator_step(coordinator, &event);
}

// The server has the work of clients that have left.
static void name_holder(const struct coordinator *coordinator, uint32_t holder, char *whose,
                        size_t size)
{
    if (holder == HOLDER_SERVER)
        snprintf(whose, size, "this server");
    else
        snprintf(whose, size, "client %.200s", clients_name(coordinator->clients, holder));
}

// ---- Whose fault it is --------------------------------------------------------------------------

static void count_for_client(struct coordinator *coordinator, uint32_t holder)
{
    char why[64];
    const uint32_t count = holdings_count_damage(&coordinator->holdings, holder);
    snprintf(why, sizeof why, "its files were damaged %u times", count);
    if (count >= DAMAGES_MAX && !coordinator->is_over)
        clients_drop(coordinator->clients, holder, why);
}

// A worker of our own, by its number; 0: of an earlier run.
static void count_for_worker(struct coordinator *coordinator, uint32_t worker)
{
    if (worker == 0 || coordinator->is_over)
        return;
    struct worker_place *place = &coordinator->places[sched_place(coordinator->sched, worker)];
    if (++place->damage_count < DAMAGES_MAX)
        return;
    const struct sched_event event = {
        .type = EVENT_WORKER_FAILED, .worker = place->worker, .code = WEFT_DATA_LOSS};
    snprintf(coordinator->blame.why, sizeof coordinator->blame.why,
             "map output of worker %u was damaged %u times\n  try: another directory for --tmp, "
             "and check that disk",
             worker, place->damage_count);
    coordinator->blame.next[0] = 0;
    coordinator_step(coordinator, &event);
}

// ---- Map output -----------------------------------------------------------------------------------

static bool is_in_journal(const struct coordinator *coordinator, uint32_t stage)
{
    return stage == 0 && resume_keeps_runs(coordinator->resume);
}

static uint32_t seal_of(const struct coordinator *coordinator, uint32_t stage, uint32_t task)
{
    return is_in_journal(coordinator, stage)
               ? resume_find_runs(coordinator->resume, task)
               : coordinator
                     ->seal_of_task[run_plan_number(coordinator->plan, stage, SCHED_MAP, task)];
}

static bool is_to_be_made_again(const struct coordinator *coordinator, uint32_t stage,
                                uint32_t task, uint32_t number)
{
    return seal_of(coordinator, stage, task) == number &&
           sched_task_state(coordinator->sched, stage, SCHED_MAP, task) == SCHED_COMMITTED;
}

static void make_again(struct coordinator *coordinator, const Weft__TaskEnd *end, const char *whose)
{
    const uint32_t map_count = coordinator->plan->stages[end->stage].map_count;
    uint32_t count = 0;
    for (uint32_t task = 0; task < map_count; task++)
        count += is_to_be_made_again(coordinator, end->stage, task, end->bad_seal);
    tell(coordinator, whose, "map output", count, end->text);
    for (uint32_t task = 0; task < map_count && !coordinator->is_over; task++)
        if (is_to_be_made_again(coordinator, end->stage, task, end->bad_seal))
            spoil(coordinator, end->stage, SCHED_MAP, task);
}

// The reader may have damaged its copy itself: it fetches again first.
static bool take_far_seal(const struct worker_place *place, const Weft__TaskEnd *end)
{
    struct coordinator *coordinator = place->coordinator;
    struct held_seal *seal = holdings_find_seal(&coordinator->holdings, end->stage, end->bad_seal);
    if (!seal)
        return false;
    const uint32_t holder = seal->index.holder;
    if (holder != agent_holder(&place->agent) && !seal->is_doubted) {
        seal->is_doubted = true;
        return true;
    }
    char whose[256];
    seal->is_damaged = true;
    name_holder(coordinator, holder, whose, sizeof whose);
    make_again(coordinator, end, whose);
    count_for_client(coordinator, holder);
    return true;
}

static bool take_own_seal(struct coordinator *coordinator, const Weft__TaskEnd *end)
{
    uint32_t worker = 0;
    char whose[64] = "an earlier run";
    if (is_in_journal(coordinator, end->stage)) {
        if (!resume_lose_runs(coordinator->resume, end->bad_seal, &worker))
            return false;
    } else {
        struct seal *seal = shelves_find_seal(&coordinator->shelves, end->stage, end->bad_seal);
        if (!seal)
            return false;
        seal->is_lost = true;
        worker = seal->worker;
    }
    if (worker)
        snprintf(whose, sizeof whose, "worker %u", worker);
    make_again(coordinator, end, whose);
    count_for_worker(coordinator, worker);
    return true;
}

// ---- Pairs between stages -------------------------------------------------------------------------

static bool take_source(struct coordinator *coordinator, const Weft__TaskEnd *end)
{
    const struct run_stage *stage = &coordinator->plan->stages[end->stage];
    const uint32_t before = end->stage - 1;
    const uint32_t segment = end->kind == WEFT__TASK_KIND__TASK_SAMPLE
                                 ? sample_segment(end->task, stage->sample_count, stage->map_count)
                                 : end->task;
    if (!coordinator->clients || segment >= coordinator->holdings.stages[before].segment_count)
        return false;
    struct holding *at = &coordinator->holdings.stages[before].segments[segment];
    const uint32_t holder = at->holder;
    if (!holder)
        return false;
    if (!at->is_doubted) {
        at->is_doubted = true;
        return true;
    }
    char whose[256];
    at->holder = 0;
    name_holder(coordinator, holder, whose, sizeof whose);
    tell(coordinator, whose, "pairs between stages", 1, end->text);
    spoil(coordinator, before, run_stage_output_kind(&coordinator->plan->stages[before]), segment);
    count_for_client(coordinator, holder);
    return true;
}

bool coordinator_take_damage(struct worker_place *place, const Weft__TaskEnd *end)
{
    struct coordinator *coordinator = place->coordinator;
    if (end->bad_seal)
        return coordinator->clients ? take_far_seal(place, end) : take_own_seal(coordinator, end);
    return end->has_bad_source && take_source(coordinator, end);
}

// ---- Text of the answer ---------------------------------------------------------------------------

void coordinator_take_damaged_piece(struct coordinator *coordinator, const struct arrival *arrival,
                                    const char *why)
{
    const uint32_t stage = coordinator->plan->stage_count - 1;
    char whose[256];
    snprintf(whose, sizeof whose, "client %.200s",
             clients_name(coordinator->clients, arrival->at.holder));
    tell(coordinator, whose, "output", 1, why);
    spoil(coordinator, stage, run_stage_output_kind(&coordinator->plan->stages[stage]),
          arrival->piece);
    count_for_client(coordinator, arrival->at.holder);
}
