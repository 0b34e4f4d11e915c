// What may count of finished work that a client brings along.

#include "run/driver/coordinator/offers.h"

#include <string.h>

static bool is_free(const struct offer_rules *rules, uint32_t stage, enum sched_kind kind,
                    uint32_t task)
{
    return sched_task_state(rules->sched, stage, kind, task) == SCHED_PENDING;
}

static bool is_place(uint64_t offset, uint64_t size)
{
    return offset <= INT64_MAX && size <= INT64_MAX - offset;
}

bool offer_fits_seal(const struct offer_rules *rules, const Weft__OfferedSeal *seal,
                     const uint8_t cuts[IDENTITY_KEY_BYTES])
{
    if (seal->stage >= rules->plan->stage_count || seal->n_tasks == 0 || seal->size == 0 ||
        !is_place(seal->offset, seal->size))
        return false;
    const struct run_stage *stage = &rules->plan->stages[seal->stage];
    if (stage->is_map_only || !cuts || seal->cuts.len != IDENTITY_KEY_BYTES ||
        memcmp(seal->cuts.data, cuts, IDENTITY_KEY_BYTES) != 0)
        return false;
    for (size_t i = 0; i < seal->n_tasks; i++)
        if (seal->tasks[i] >= stage->map_count || (i > 0 && seal->tasks[i] <= seal->tasks[i - 1]) ||
            !is_free(rules, seal->stage, SCHED_MAP, seal->tasks[i]))
            return false;
    return true;
}

bool offer_fits_pairs(const struct offer_rules *rules, const Weft__OfferedPairs *pairs)
{
    if (pairs->stage >= rules->plan->stage_count || !is_place(pairs->offset, pairs->size))
        return false;
    const struct run_stage *stage = &rules->plan->stages[pairs->stage];
    return !stage->is_last && pairs->task < stage->piece_count &&
           is_free(rules, pairs->stage, run_stage_output_kind(stage), pairs->task);
}

static bool is_end_of(const Weft__TaskEnd *end, uint32_t stage, enum sched_kind kind, uint32_t task)
{
    return end->stage == stage && (uint32_t)end->kind == (uint32_t)kind && end->task == task &&
           end->code == WEFT_OK;
}

bool offer_is_whole(const struct run_plan *plan, const Weft__ClientOffer *offer)
{
    const Weft__OfferedSeal *seal = offer->n_seals ? offer->seals[0] : NULL;
    if (offer->n_seals > 1 || (seal && offer->n_pairs) ||
        offer->n_ends != (seal ? seal->n_tasks : offer->n_pairs))
        return false;
    for (size_t i = 0; i < offer->n_ends; i++) {
        const uint32_t stage = seal ? seal->stage : offer->pairs[i]->stage;
        if (stage >= plan->stage_count)
            return false;
        const enum sched_kind kind = seal ? SCHED_MAP : run_stage_output_kind(&plan->stages[stage]);
        if (!is_end_of(offer->ends[i], stage, kind, seal ? seal->tasks[i] : offer->pairs[i]->task))
            return false;
    }
    return true;
}
