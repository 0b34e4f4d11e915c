// leaving: clients that were asked to end, and leave in good order.
//
// Such a client gets no more tasks. When its attempts have ended, its slots are sealed and its text of the answer is safe, it lists its finished work,
// which others copy (run/driver/server/handovers.h). With the last copy all of it moves at once: the scheduler hears that others have it, and tasks that
// begin from then on read it there. Then the client is released.

#include "run/driver/coordinator/coordinator_state.h"

#include "run/driver/coordinator/offers.h"
#include "sys/time/clock.h"
#include "transport/fetch_files.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_HANDED_FILE (UINT64_C(1) << 34)  // above the numbers of all other files of a server

// ---- Work that is needed -----------------------------------------------------------------------------------

// Map output until its stage is complete, and pairs until the next one is: the scheduler goes back no further
// as long as these are there (sched_first_stage).
static bool needs_seals(const struct coordinator *coordinator, uint32_t stage)
{
    const struct run_stage *at = &coordinator->plan->stages[stage];
    const enum sched_kind kind = run_stage_output_kind(at);
    return stage >= sched_stage(coordinator->sched) &&
           sched_count(coordinator->sched, stage, kind, SCHED_COMMITTED) <
               run_stage_task_count(at, kind);
}

static bool needs_pairs(const struct coordinator *coordinator, uint32_t stage)
{
    return !coordinator->plan->stages[stage].is_last &&
           stage + 1 >= sched_stage(coordinator->sched);
}

static size_t count_needed(const struct coordinator *coordinator, uint32_t holder)
{
    size_t count = 0;
    for (uint32_t i = 0; i < coordinator->holdings.stage_count; i++) {
        const struct holding_stage *stage = &coordinator->holdings.stages[i];
        for (size_t k = 0; needs_seals(coordinator, i) && k < stage->seals.count; k++)
            count +=
                stage->seals.items[k].index.holder == holder && !stage->seals.items[k].is_damaged;
        for (uint32_t k = 0; needs_pairs(coordinator, i) && k < stage->segment_count; k++)
            count += stage->segments[k].holder == holder;
    }
    return count;
}

// ---- Its list -------------------------------------------------------------------------------------------------

static bool is_needed_seal(const struct worker_place *place, const Weft__OfferedSeal *seal)
{
    struct coordinator *coordinator = place->coordinator;
    const struct holding at = {.holder = agent_holder(&place->agent),
                               .file = seal->file,
                               .offset = seal->offset,
                               .size = seal->size};
    return needs_seals(coordinator, seal->stage) &&
           holdings_has_seal(&coordinator->holdings, seal->stage, &at);
}

static bool is_needed_pairs(const struct worker_place *place, const Weft__OfferedPairs *pairs)
{
    struct coordinator *coordinator = place->coordinator;
    const struct holding at = {.holder = agent_holder(&place->agent),
                               .file = pairs->file,
                               .offset = pairs->offset,
                               .size = pairs->size};
    return needs_pairs(coordinator, pairs->stage) &&
           holdings_find_segment(&coordinator->holdings, pairs->stage, pairs->task, &at);
}

// The pairs of the list that are needed.
static weft_err add_pairs(struct worker_place *place, const Weft__ClientOffer *offer)
{
    Weft__ClientOffer work = WEFT__CLIENT_OFFER__INIT;
    weft_err code = WEFT_OK;
    work.run = offer->run;
    work.pairs = calloc(offer->n_pairs + 1, sizeof *work.pairs);
    work.ends = calloc(offer->n_pairs + 1, sizeof *work.ends);
    if (!work.pairs || !work.ends)
        code = err_no_memory("to hand work over");
    for (size_t i = 0; i < offer->n_pairs && code == WEFT_OK; i++) {
        if (!is_needed_pairs(place, offer->pairs[i]))
            continue;
        work.pairs[work.n_pairs++] = offer->pairs[i];
        work.ends[work.n_ends++] = offer->ends[i];
    }
    if (code == WEFT_OK && work.n_pairs)
        code = handovers_add(place->coordinator->handovers, agent_holder(&place->agent), &work);
    place->listed_count += code == WEFT_OK ? work.n_pairs : 0;
    free(work.pairs);
    free(work.ends);
    return code;
}

void coordinator_take_list(struct worker_place *place, const Weft__ClientOffer *offer)
{
    const struct coordinator *coordinator = place->coordinator;
    weft_err code = WEFT_OK;
    const bool is_whole = offer_is_whole(coordinator->plan, offer);
    if (is_whole && offer->n_seals && is_needed_seal(place, offer->seals[0])) {
        code = handovers_add(coordinator->handovers, agent_holder(&place->agent), offer);
        place->listed_count += code == WEFT_OK;
    } else if (is_whole && offer->n_pairs) {
        code = add_pairs(place, offer);
    }
    if (code != WEFT_OK)
        err_clear();  // then it is missing in the list
    if (offer->is_last) {
        handovers_close_list(coordinator->handovers, agent_holder(&place->agent));
        coordinator_look_at_leaving(place);
    }
}

// ---- Receivers ------------------------------------------------------------------------------------------------

static struct worker_place *find_place(struct coordinator *coordinator, uint32_t holder)
{
    const struct far_agent *far = clients_find(coordinator->clients, holder);
    return far ? &coordinator->places[far - clients_place(coordinator->clients, 0)] : NULL;
}

static bool is_good(const struct worker_place *place)
{
    return agent_has_worker(&place->agent) && !place->leaving && !place->is_silent;
}

static bool has_refused(const struct handover_wish *wish, uint32_t holder)
{
    for (size_t i = 0; i < wish->refused_count; i++)
        if (wish->refused[i] == holder)
            return true;
    return false;
}

// The one that has taken the least so far.
static uint32_t choose(void *owner, const struct handover_wish *wish)
{
    struct coordinator *coordinator = owner;
    struct worker_place *best = NULL;
    for (uint32_t i = 0; i < coordinator->place_count; i++) {
        struct worker_place *place = &coordinator->places[i];
        if (is_good(place) && !has_refused(wish, agent_holder(&place->agent)) &&
            (!best || place->taken_bytes < best->taken_bytes))
            best = place;
    }
    if (!best)
        return 0;
    best->taken_bytes += wish->bytes;
    return agent_holder(&best->agent);
}

static bool can_take(void *owner, uint32_t holder)
{
    const struct worker_place *place = find_place(owner, holder);
    return place && is_good(place);
}

// One that has left too much unread is lost soon.
static void order(void *owner, uint32_t holder, const Weft__ClientTake *take)
{
    struct worker_place *place = find_place(owner, holder);
    if (place && agent_tell_client(&place->agent, WEFT__FRAME_TYPE__FRAME_CLIENT_TAKE,
                                   &take->base) != WEFT_OK)
        err_clear();
}

static void forget(void *owner, uint32_t holder, uint64_t file)
{
    struct worker_place *place = find_place(owner, holder);
    if (place)
        agent_forget_file(&place->agent, file);
}

static void place_client(const void *owner, uint32_t holder, Weft__FarFile *far)
{
    const struct coordinator *coordinator = owner;
    clients_fill_place(coordinator->clients, holder, far);
}

static weft_err fetch(void *owner, uint32_t holder, const struct fetch_wanted *wanted)
{
    const struct coordinator *coordinator = owner;
    return clients_fetch(coordinator->clients, holder, wanted);
}

static weft_err serve(void *owner, int fd, uint64_t size, uint64_t *file)
{
    struct coordinator *coordinator = owner;
    struct fetch_file served = {
        .id = FIRST_HANDED_FILE + coordinator->handed.count, .fd = fd, .size = size};
    snprintf(served.name, sizeof served.name, "work of a client that has left");
    if (!VEC_PUSH(&coordinator->handed, fd))
        return err_no_memory("to hand work over");
    const weft_err code = fetch_files_add(coordinator->files, &served);
    if (code != WEFT_OK)
        coordinator->handed.count--;
    *file = served.id;
    return code;
}

// ---- What has moved -------------------------------------------------------------------------------------------

struct mover {
    struct coordinator *coordinator;
    struct worker_place *from, *to;  // `to` is NULL: the server
    const struct handed *handed;
};

// The server outlives its workers: `worker` only has to be one that lives.
static void tell_moved(const struct mover *mover, uint32_t stage, enum sched_kind kind,
                       uint32_t task)
{
    const struct sched_event event = {.type = EVENT_TASK_OFFERED,
                                      .worker = (mover->to ? mover->to : mover->from)->worker,
                                      .at = {.kind = kind, .task = task, .stage = stage},
                                      .is_durable = !mover->to};
    mover->from->handed_count++;
    coordinator_step(mover->coordinator, &event);
}

static bool move_seal(const struct mover *mover, const Weft__OfferedSeal *seal)
{
    struct coordinator *coordinator = mover->coordinator;
    const struct holding at = {.holder = mover->handed->from,
                               .file = seal->file,
                               .offset = seal->offset,
                               .size = seal->size};
    struct held_seal to = {.worker = mover->to ? mover->to->worker : 0, .index = at};
    to.index.holder = mover->handed->to;
    to.index.file = mover->handed->file;
    if (!holdings_move_seal(&coordinator->holdings, seal->stage, &at, &to))
        return false;
    for (size_t i = 0; i < seal->n_tasks && !coordinator->is_over; i++)
        tell_moved(mover, seal->stage, SCHED_MAP, seal->tasks[i]);
    return true;
}

static bool move_pairs(const struct mover *mover, const Weft__OfferedPairs *pairs, uint64_t offset)
{
    struct coordinator *coordinator = mover->coordinator;
    const struct holding at = {.holder = mover->handed->from,
                               .file = pairs->file,
                               .offset = pairs->offset,
                               .size = pairs->size};
    struct holding *held =
        holdings_find_segment(&coordinator->holdings, pairs->stage, pairs->task, &at);
    if (!held)
        return false;
    held->holder = mover->handed->to;
    held->file = mover->handed->file;
    held->offset = offset;
    tell_moved(mover, pairs->stage, run_stage_output_kind(&coordinator->plan->stages[pairs->stage]),
               pairs->task);
    return true;
}

static void take_moved(void *owner, const struct handed *handed)
{
    struct coordinator *coordinator = owner;
    const Weft__ClientOffer *work = handed->work;
    struct worker_place *from = NULL;
    for (uint32_t i = 0; i < coordinator->place_count && !from; i++)
        if (agent_holder(&coordinator->places[i].agent) == handed->from)
            from = &coordinator->places[i];
    const struct mover mover = {
        coordinator, from, handed->to == HOLDER_SERVER ? NULL : find_place(coordinator, handed->to),
        handed};
    bool has_any = false;
    if (!from || coordinator->is_over || (!mover.to && handed->to != HOLDER_SERVER))
        return;
    if (work->n_seals)
        has_any = move_seal(&mover, work->seals[0]);
    uint64_t offset = 0;
    for (size_t i = 0; i < work->n_pairs && !coordinator->is_over; i++) {
        has_any |= move_pairs(&mover, work->pairs[i], offset);
        offset += work->pairs[i]->size;
    }
    if (has_any && mover.to)
        coordinator_note_holder(mover.to);
    else if (mover.to)
        forget(coordinator, handed->to, handed->file);
}

static void look_again(void *owner, uint32_t from)
{
    struct worker_place *place = find_place(owner, from);
    if (place)
        coordinator_look_at_leaving(place);
}

const struct handovers_calls coordinator_handovers_calls = {
    .choose = choose,
    .can_take = can_take,
    .order = order,
    .forget = forget,
    .place = place_client,
    .fetch = fetch,
    .serve = serve,
    .changed = look_again,
    .moved = take_moved,
};

weft_err coordinator_take_taken(void *owner, const Weft__ClientTaken *taken)
{
    const struct worker_place *place = owner;
    struct coordinator *coordinator = place->coordinator;
    const weft_err code =
        handovers_answer(coordinator->handovers, agent_holder(&place->agent), taken);
    for (uint32_t i = 0; i < coordinator->place_count && code == WEFT_OK; i++)
        coordinator_look_at_leaving(&coordinator->places[i]);
    return code;
}

// ---- Its way out ----------------------------------------------------------------------------------------------

static void tell_handed(const struct worker_place *place)
{
    struct coordinator *coordinator = place->coordinator;
    const char *name = clients_name(coordinator->clients, agent_holder(&place->agent));
    char text[ERR_TEXT_BYTES_MAX];
    const struct crowd_change change = {.kind = CROWD_HANDED,
                                        .client = name,
                                        .amount = place->handed_count,
                                        .count = clients_count(coordinator->clients),
                                        .text = text};
    snprintf(text, sizeof text, "client %.200s has handed over %u finished task%s", name,
             place->handed_count, place->handed_count == 1 ? "" : "s");
    if (place->handed_count)
        report_client(coordinator->report, &change, clock_now_ns());
}

static void warn(const struct worker_place *place, const char *why)
{
    struct coordinator *coordinator = place->coordinator;
    char text[ERR_TEXT_BYTES_MAX];
    snprintf(text, sizeof text, "client %.200s cannot hand all of its finished work over: %.400s",
             clients_name(coordinator->clients, agent_holder(&place->agent)), why);
    if (!coordinator->plan->options->quiet)
        report_warn(coordinator->report, text);
}

static void release(struct worker_place *place, const char *why)
{
    Weft__ClientReleased released = WEFT__CLIENT_RELEASED__INIT;
    released.is_complete = why[0] == 0;
    released.tasks = place->handed_count;
    released.text = (char *)why;
    place->leaving = LEAVING_RELEASED;
    if (agent_tell_client(&place->agent, WEFT__FRAME_TYPE__FRAME_CLIENT_RELEASED, &released.base) !=
        WEFT_OK)
        err_clear();  // it has left 64 MiB unread: it will be lost soon
    tell_handed(place);
    if (why[0])
        warn(place, why);
}

// Attempts have ended, and their output is where it is to be.
static bool is_at_rest(struct worker_place *place)
{
    struct coordinator *coordinator = place->coordinator;
    if (!sched_is_settled(coordinator->sched, place->worker))
        return false;
    if (coordinator->shared_parts)
        shared_parts_leave(coordinator->shared_parts, agent_holder(&place->agent));
    return !coordinator->is_over && !coordinator->is_done &&
           !sched_awaits_commit(coordinator->sched, place->worker);
}

static void begin_to_give(struct worker_place *place)
{
    struct coordinator *coordinator = place->coordinator;
    const uint32_t holder = agent_holder(&place->agent);
    if (count_needed(coordinator, holder) == 0) {
        release(place,
                place->has_lost_work ? "it did not answer, and others do its tasks again" : "");
        return;
    }
    weft_err code = handovers_begin(coordinator->handovers, holder);
    place->leaving = LEAVING_GIVES;
    place->listed_count = 0;
    if (code == WEFT_OK)
        code = agent_ask_work(&place->agent);
    if (code != WEFT_OK)
        release(place, err_text());
}

static void look_at_copies(struct worker_place *place)
{
    struct handovers *handovers = place->coordinator->handovers;
    const uint32_t holder = agent_holder(&place->agent);
    const enum handover_state state = handovers_look(handovers, holder);
    char why[ERR_TEXT_BYTES_MAX];
    if (state == HANDOVER_UNDER_WAY)
        return;
    snprintf(why, sizeof why, "%s",
             state == HANDOVER_FAILED ? handovers_why(handovers, holder) : "");
    handovers_end(handovers, holder);
    if (!why[0] && count_needed(place->coordinator, holder) > 0) {
        snprintf(why, sizeof why, "it has not listed all of it");
        if (place->listed_count > 0) {  // the job has gone back to a stage that was complete
            place->leaving = LEAVING_WORKS;
            return;
        }
    }
    if (!why[0] && place->has_lost_work)
        snprintf(why, sizeof why, "it did not answer, and others do some of its tasks again");
    release(place, why);
}

void coordinator_look_at_leaving(struct worker_place *place)
{
    const struct coordinator *coordinator = place->coordinator;
    if (!place->leaving || coordinator->is_over || coordinator->is_done || coordinator->is_stepping)
        return;
    if (place->leaving == LEAVING_WORKS && is_at_rest(place))
        begin_to_give(place);
    if (place->leaving == LEAVING_GIVES)
        look_at_copies(place);
}

void coordinator_take_leaving(void *owner)
{
    struct worker_place *place = owner;
    struct coordinator *coordinator = place->coordinator;
    const struct sched_event event = {.type = EVENT_WORKER_LEAVING, .worker = place->worker};
    if (place->leaving || !coordinator->sched)
        return;
    const bool is_known = agent_is_ready(&place->agent) && !place->is_ready_kept;
    place->leaving = LEAVING_WORKS;
    place->is_ready_kept = false;
    place->handed_count = 0;
    if (is_known && !coordinator->is_done)
        coordinator_step(coordinator, &event);
    coordinator_look_at_leaving(place);
}

void coordinator_end_leaving(struct worker_place *place)
{
    handovers_end(place->coordinator->handovers, agent_holder(&place->agent));
    place->taken_bytes = 0;
}

void coordinator_clear_place(void *owner)
{
    struct worker_place *place = owner;
    coordinator_end_leaving(place);
    place->leaving = LEAVING_NOT;
    place->has_lost_work = place->is_silent = false;
}
