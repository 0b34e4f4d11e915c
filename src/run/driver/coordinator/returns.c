// returns: clients that come back, after the server was started again or had taken them for lost, and the finished work that they bring
// along.
//
// A server that was started again waits a while for the clients that had finished work before it hands out tasks: it would have them
// do again what one of the others is about to bring.

#include "run/driver/coordinator/coordinator_state.h"

#include "run/answers.h"
#include "run/driver/coordinator/offers.h"

#include <stdio.h>
#include <stdlib.h>

enum { RETURN_MS = 10000 };  // as long as a silent client is waited for

// ---- Who has finished work ------------------------------------------------------------------------

void coordinator_note_holder(struct worker_place *place)
{
    struct coordinator *coordinator = place->coordinator;
    if (place->holder[0])
        return;
    snprintf(place->holder, sizeof place->holder, "%s",
             clients_name(coordinator->clients, agent_holder(&place->agent)));
    const weft_err code = resume_note_holder(coordinator->resume, place->holder, false);
    if (code != WEFT_OK)
        coordinator_fail(coordinator, code);
}

void coordinator_lose_holder(struct worker_place *place)
{
    if (place->holder[0] &&
        resume_note_holder(place->coordinator->resume, place->holder, true) != WEFT_OK)
        err_clear();  // then the next life of this server waits for it in vain
    place->holder[0] = 0;
}

// ---- Waiting for them -----------------------------------------------------------------------------

// Where its client is among the machines that have inputs; 0: on none of them.
static uint32_t find_home(const struct worker_place *place)
{
    const struct coordinator *coordinator = place->coordinator;
    const uint32_t holder = agent_holder(&place->agent);
    Weft__FarFile far = WEFT__FAR_FILE__INIT;
    if (!coordinator->clients || coordinator->machines.all.count == 0)
        return 0;
    clients_fill_place(coordinator->clients, holder, &far);
    return machines_of_client(&coordinator->machines, clients_name(coordinator->clients, holder),
                              far.address);
}

void coordinator_tell_ready(struct worker_place *place)
{
    struct coordinator *coordinator = place->coordinator;
    const struct sched_event event = {.type = EVENT_WORKER_READY,
                                      .worker = place->worker,
                                      .slot_count = agent_slot_count(&place->agent),
                                      .home = find_home(place)};
    place->is_ready_kept = coordinator->awaits_returns;
    if (!place->is_ready_kept)
        coordinator_step(coordinator, &event);
}

static void end_wait(void *owner)
{
    struct coordinator *coordinator = owner;
    loop_timer_free(coordinator->return_timer);
    coordinator->return_timer = NULL;
    coordinator->awaits_returns = false;
    for (uint32_t i = 0; i < coordinator->place_count && !coordinator->is_over; i++)
        if (coordinator->places[i].is_ready_kept)
            coordinator_tell_ready(&coordinator->places[i]);
    coordinator_show_progress(coordinator);
}

void coordinator_await_returns(struct coordinator *coordinator)
{
    const size_t count = resume_holder_count(coordinator->resume);
    const char *text = getenv("WEFT_REJOIN_MS");  // for tests
    char sentence[256];
    if (count == 0)
        return;
    snprintf(sentence, sizeof sentence,
             "waiting for %zu client%s with finished work of this run (%.100s%s)", count,
             count == 1 ? "" : "s", resume_holder(coordinator->resume, 0),
             count > 1 ? ", ..." : "");
    if (!coordinator->plan->options->quiet)
        report_warn(coordinator->report, sentence);
    coordinator->return_timer = loop_timer_new(
        coordinator->loop, text ? strtoul(text, NULL, 10) : RETURN_MS, 0, end_wait, coordinator);
    coordinator->awaits_returns = coordinator->return_timer;
    if (!coordinator->return_timer)
        err_clear();  // then some work is done again
}

// ---- Their work ------------------------------------------------------------------------------

// What the task has counted counts, as if the attempt had ended now. Its number is one that no attempt of this life has.
static weft_err take_figures(struct coordinator *coordinator, size_t number, Weft__TaskEnd *end)
{
    if (coordinator->offered_attempt == 0)
        coordinator->offered_attempt = TALLY_NO_ATTEMPT;
    end->attempt = --coordinator->offered_attempt;
    tally_begin(&coordinator->tally, number, end->attempt);
    weft_err code = tally_hold(&coordinator->tally, number, end);
    if (code == WEFT_OK && end->kind == WEFT__TASK_KIND__TASK_MAP && end->n_bad)
        code = bad_records_take(&coordinator->bad, number, end);
    return code == WEFT_OK && end->n_bad ? bad_records_check(&coordinator->bad, 0, false) : code;
}

static void adopt_task(struct worker_place *place, Weft__TaskEnd *end)
{
    struct coordinator *coordinator = place->coordinator;
    const enum sched_kind kind = (enum sched_kind)end->kind;
    const struct sched_event event = {.type = EVENT_TASK_OFFERED,
                                      .worker = place->worker,
                                      .at = {.kind = kind, .task = end->task, .stage = end->stage}};
    const weft_err code = take_figures(
        coordinator, run_plan_number(coordinator->plan, end->stage, kind, end->task), end);
    if (code != WEFT_OK) {
        coordinator_fail(coordinator, code);
        return;
    }
    coordinator_step(coordinator, &event);
    coordinator_note_task(coordinator, end->stage, kind, end->task);
    coordinator_note_holder(place);
    resume_count_offered(coordinator->resume, 1);
    place->brought_count++;
}

static bool are_ends_good(const struct worker_place *place, const Weft__ClientOffer *offer)
{
    for (size_t i = 0; i < offer->n_ends; i++) {
        const struct answer_rules rules = coordinator_rules_of(place, offer->ends[i]->stage);
        if (answer_check(WEFT__FRAME_TYPE__FRAME_TASK_END, &rules, &offer->ends[i]->base) !=
            WEFT_OK) {
            err_clear();
            return false;
        }
    }
    return true;
}

static const uint8_t *find_cuts(struct coordinator *coordinator, uint32_t stage)
{
    if (stage >= coordinator->plan->stage_count)
        return NULL;
    struct holding_stage *at = &coordinator->holdings.stages[stage];
    if (!at->is_cut)
        at->is_cut = resume_hash_cuts(coordinator->resume, stage, at->cuts);
    if (!at->is_cut && coordinator->plan->stages[stage].sample_count == 0) {
        identity_hash_keys(NULL, 0, at->cuts);  // there is nothing to cut by
        at->is_cut = true;
    }
    return at->is_cut ? at->cuts : NULL;
}

static bool take_seal(struct worker_place *place, const Weft__ClientOffer *offer)
{
    struct coordinator *coordinator = place->coordinator;
    const struct offer_rules rules = {coordinator->plan, coordinator->sched};
    const Weft__OfferedSeal *from = offer->seals[0];
    if (!offer_fits_seal(&rules, from, find_cuts(coordinator, from->stage)))
        return false;
    const struct holding at = {.holder = agent_holder(&place->agent),
                               .file = from->file,
                               .offset = from->offset,
                               .size = from->size};
    const struct held_seal seal = {.worker = place->worker, .index = at};
    uint32_t number = 0;
    const weft_err code = holdings_note_seal(&coordinator->holdings, from->stage, &seal, &number);
    if (code != WEFT_OK)
        coordinator_fail(coordinator, code);
    for (size_t i = 0; i < offer->n_ends && number && !coordinator->is_over; i++) {
        const Weft__TaskEnd *end = offer->ends[i];
        coordinator
            ->seal_of_task[run_plan_number(coordinator->plan, end->stage, SCHED_MAP, end->task)] =
            number;
        adopt_task(place, offer->ends[i]);
    }
    return number;
}

static bool take_pairs(struct worker_place *place, const Weft__OfferedPairs *from,
                       Weft__TaskEnd *end)
{
    struct coordinator *coordinator = place->coordinator;
    const struct offer_rules rules = {coordinator->plan, coordinator->sched};
    if (!offer_fits_pairs(&rules, from))
        return false;
    const struct holding at = {.holder = agent_holder(&place->agent),
                               .crc32c = from->crc,
                               .file = from->file,
                               .offset = from->offset,
                               .size = from->size};
    holdings_note_segment(&coordinator->holdings, from->stage, from->task, &at);
    adopt_task(place, end);
    return true;
}

// False: nothing of it counts.
static bool take_work(struct worker_place *place, const Weft__ClientOffer *offer)
{
    const struct coordinator *coordinator = place->coordinator;
    const weft_bytes run = resume_run(coordinator->resume);
    const bool is_ours = offer->run.len == run.size && run.size > 0 &&
                         memcmp(offer->run.data, run.data, run.size) == 0 &&
                         offer_is_whole(coordinator->plan, offer) && are_ends_good(place, offer);
    bool has_any = false;
    if (!is_ours || coordinator->is_done)
        return false;
    if (offer->n_seals)
        return take_seal(place, offer);
    // A shelf has the pairs of many tasks: it stays for those that fit.
    for (size_t i = 0; i < offer->n_pairs && !coordinator->is_over; i++)
        has_any |= take_pairs(place, offer->pairs[i], offer->ends[i]);
    return has_any;
}

static void end_return(struct worker_place *place)
{
    struct coordinator *coordinator = place->coordinator;
    const char *name = clients_name(coordinator->clients, agent_holder(&place->agent));
    char sentence[512];
    snprintf(sentence, sizeof sentence, "client %.200s has brought %u finished task%s", name,
             place->brought_count, place->brought_count == 1 ? "" : "s");
    if (place->brought_count && !coordinator->plan->options->quiet)
        report_warn(coordinator->report, sentence);
    place->brought_count = 0;
    resume_strike_holder(coordinator->resume, name);
    if (coordinator->awaits_returns && resume_holder_count(coordinator->resume) == 0)
        end_wait(coordinator);
}

void coordinator_take_offer(void *owner, const Weft__ClientOffer *offer)
{
    struct worker_place *place = owner;
    struct coordinator *coordinator = place->coordinator;
    if (coordinator->is_over)
        return;
    if (place->leaving == LEAVING_GIVES) {
        coordinator_take_list(place, offer);
        return;
    }
    if (!take_work(place, offer) && offer->n_seals)
        agent_forget_file(&place->agent, offer->seals[0]->file);
    if (offer->is_last && !coordinator->is_over)
        end_return(place);
}
