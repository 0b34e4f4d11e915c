// watch: the clock and the network of a server: which attempts are late, which clients are silent, and whether it is worth to wait for them.

#include "run/driver/coordinator/coordinator_state.h"
#include "sys/loop/loop.h"
#include "sys/time/clock.h"

#include <stdio.h>

enum { WATCH_MS = 200 };

static const uint64_t second_ns = UINT64_C(1000000000);

static uint32_t place_index(const struct worker_place *place)
{
    return (uint32_t)(place - place->coordinator->places);
}

// ---- Late attempts ------------------------------------------------------------------------------

void coordinator_note_end(const struct worker_place *place, const struct sched_attempt *at,
                          bool is_good)
{
    const struct coordinator *coordinator = place->coordinator;
    const struct run_stage *stage = &coordinator->plan->stages[at->stage];
    if (at->kind == SCHED_MAP)
        items_end_task(coordinator->items, &place->agent, at->task);
    if (!coordinator->lateness)
        return;
    const bool is_answer = stage->is_last && !coordinator->shared_parts &&
                           (stage->is_map_only || at->kind == SCHED_REDUCE);
    const struct lateness_end end = {.at = at,
                                     .is_good = is_good,
                                     .is_kept = is_good && at->kind != SCHED_SAMPLE && !is_answer,
                                     .task_count = run_stage_task_count(stage, at->kind)};
    lateness_end(coordinator->lateness, place_index(place), &end, clock_now_ns());
}

static void take_late(void *owner, uint32_t place, const struct sched_attempt *at)
{
    struct coordinator *coordinator = owner;
    const struct sched_event event = {
        .type = EVENT_ATTEMPT_LATE, .worker = coordinator->places[place].worker, .at = *at};
    coordinator_step(coordinator, &event);
}

// ---- Silent clients -----------------------------------------------------------------------------

// Something can be done, or will soon be, without those that are silent.
static bool has_other_work(const struct coordinator *coordinator)
{
    const uint32_t stage = sched_stage(coordinator->sched);
    for (enum sched_kind kind = SCHED_SAMPLE; kind < SCHED_KIND_COUNT; kind++) {
        const bool is_reduce = kind == SCHED_REDUCE;
        const bool is_mapped = sched_count(coordinator->sched, stage, SCHED_MAP, SCHED_COMMITTED) ==
                               run_stage_task_count(&coordinator->plan->stages[stage], SCHED_MAP);
        if ((!is_reduce || is_mapped) &&
            sched_count(coordinator->sched, stage, kind, SCHED_PENDING) > 0)
            return true;
    }
    return false;
}

static uint32_t count_other_slots(const struct coordinator *coordinator)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < coordinator->place_count; i++) {
        const struct worker_place *place = &coordinator->places[i];
        if (!place->is_silent && !place->leaving && agent_is_ready(&place->agent))
            count += agent_slot_count(&place->agent);
    }
    return count;
}

// Others do its work; when it comes back, it begins anew. Until it is lost its session lasts.
static void give_up(struct worker_place *place)
{
    struct coordinator *coordinator = place->coordinator;
    const uint32_t holder = agent_holder(&place->agent);
    char text[512];
    snprintf(text, sizeof text, "client %.200s still does not answer: others do its tasks again",
             clients_name(coordinator->clients, holder));
    if (!coordinator->plan->options->quiet)
        report_warn(coordinator->report, text);
    const struct sched_event event = {.type = EVENT_WORKER_LOST,
                                      .worker = place->worker,
                                      .crash_slot = SCHED_NO_SLOT,
                                      .code = WEFT_UNAVAILABLE,
                                      .is_blameless = true};
    coordinator->worker_lost_count++;
    coordinator_end_leaving(place);
    if (place->leaving) {
        place->has_lost_work = true;
        place->leaving = LEAVING_WORKS;
    }
    holdings_lose(&coordinator->holdings, holder);
    if (coordinator->shared_parts)
        shared_parts_lose(coordinator->shared_parts, holder);
    items_forget(coordinator->items, &place->agent);
    lateness_forget(coordinator->lateness, place_index(place), true);
    agent_abandon(&place->agent);
    coordinator_step(coordinator, &event);
}

// It is worth to wait for a silent client for as long as it would take to do its work again, while nothing else is to be done.
static void look_at_silent(struct worker_place *place, uint64_t now_ns, uint32_t slots)
{
    const struct coordinator *coordinator = place->coordinator;
    if (!place->is_silent || !agent_is_ready(&place->agent) || coordinator->is_over ||
        coordinator->is_done || slots == 0 || has_other_work(coordinator))
        return;
    const uint64_t made_ns = lateness_made_ns(coordinator->lateness, place_index(place));
    if (now_ns - place->silent_since_ns >= second_ns / 2 + made_ns / slots)
        give_up(place);
}

static void look(void *owner)
{
    struct coordinator *coordinator = owner;
    const uint64_t now_ns = clock_now_ns();
    if (coordinator->is_over || coordinator->is_done)
        return;
    lateness_look(coordinator->lateness, now_ns, take_late, coordinator);
    const uint32_t slots = count_other_slots(coordinator);
    for (uint32_t i = 0; i < coordinator->place_count; i++)
        look_at_silent(&coordinator->places[i], now_ns, slots);
    for (uint32_t i = 0; i < coordinator->place_count; i++)
        coordinator_look_at_leaving(&coordinator->places[i]);
}

void coordinator_take_silence(void *owner, const struct far_agent *far, bool is_silent)
{
    struct coordinator *coordinator = owner;
    if (!coordinator->sched)
        return;
    struct worker_place *place = &coordinator->places[far - clients_place(coordinator->clients, 0)];
    place->is_silent = is_silent;
    place->silent_since_ns = clock_now_ns();
    const struct sched_event event = {.type = is_silent ? EVENT_WORKER_SILENT : EVENT_WORKER_BACK,
                                      .worker = place->worker};
    if (!coordinator->is_done && agent_is_ready(&place->agent))
        coordinator_step(coordinator, &event);
    if (coordinator->is_done && is_silent) {  // its farewell is not worth the time
        place->has_bye = place->is_gone = true;
        coordinator_check_end(coordinator);
    }
}

weft_err coordinator_watch(struct coordinator *coordinator)
{
    coordinator->lateness = lateness_new(coordinator->place_count);
    if (coordinator->lateness)
        coordinator->watch_timer =
            loop_timer_new(coordinator->loop, WATCH_MS, WATCH_MS, look, coordinator);
    return coordinator->watch_timer ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}
