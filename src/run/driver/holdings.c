// What clients hold for each other.

#include "run/driver/holdings.h"

#include <stdlib.h>

static weft_err no_memory(void)
{
    return err_no_memory("for what clients hold");
}

weft_err holdings_init(struct holdings *holdings, const struct run_plan *plan)
{
    holdings->stages = calloc(plan->stage_count, sizeof *holdings->stages);
    if (!holdings->stages)
        return no_memory();
    holdings->stage_count = plan->stage_count;
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        struct holding_stage *stage = &holdings->stages[i];
        stage->segment_count = plan->stages[i].piece_count;
        stage->segments = calloc(stage->segment_count + (size_t)1, sizeof *stage->segments);
        if (!stage->segments)
            return no_memory();
    }
    return WEFT_OK;
}

void holdings_fini(struct holdings *holdings)
{
    for (uint32_t i = 0; i < holdings->stage_count; i++) {
        free(holdings->stages[i].segments);
        VEC_FINI(&holdings->stages[i].seals);
    }
    free(holdings->stages);
    *holdings = (struct holdings){0};
}

weft_err holdings_note_seal(struct holdings *holdings, uint32_t stage, const struct held_seal *seal)
{
    struct holding_stage *at = &holdings->stages[stage];
    for (size_t i = 0; i < at->seals.count; i++) {
        struct held_seal *known = &at->seals.items[i];
        if (known->worker == seal->worker && known->slot == seal->slot &&
            known->index.file == seal->index.file) {
            *known = *seal;
            return WEFT_OK;
        }
    }
    return VEC_PUSH(&at->seals, *seal) ? WEFT_OK : no_memory();
}

void holdings_note_segment(struct holdings *holdings, uint32_t stage, uint32_t piece,
                           const struct holding *at)
{
    holdings->stages[stage].segments[piece] = *at;
}

void holdings_lose(struct holdings *holdings, uint32_t holder)
{
    for (uint32_t i = 0; i < holdings->stage_count; i++) {
        struct holding_stage *stage = &holdings->stages[i];
        size_t left = 0;
        for (size_t k = 0; k < stage->seals.count; k++)
            if (stage->seals.items[k].index.holder != holder)
                stage->seals.items[left++] = stage->seals.items[k];
        stage->seals.count = left;
        for (uint32_t k = 0; k < stage->segment_count; k++)
            if (stage->segments[k].holder == holder)
                stage->segments[k].holder = 0;
    }
}

// ---- Messages -----------------------------------------------------------------------------------

struct seal_message {
    Weft__AdoptedRuns runs;
    Weft__FarFile far;
};

weft_err holdings_fill_seals(const struct holdings *holdings, uint32_t stage,
                             holdings_address_fn *address, const void *owner, Weft__Seals *seals)
{
    const struct holding_stage *at = &holdings->stages[stage];
    const size_t count = at->seals.count;
    struct seal_message *messages = calloc(count + 1, sizeof *messages);
    seals->seals = calloc(count + 1, sizeof *seals->seals);
    if (!messages || !seals->seals) {
        free(messages);
        return no_memory();
    }
    seals->seals[0] = &messages->runs;
    for (size_t i = 0; i < count; i++) {
        const struct holding *index = &at->seals.items[i].index;
        weft__adopted_runs__init(&messages[i].runs);
        weft__far_file__init(&messages[i].far);
        messages[i].far.address = (char *)address(owner, index->holder);
        messages[i].far.file = index->file;
        messages[i].far.size = index->offset + index->size;
        messages[i].runs.offset = index->offset;
        messages[i].runs.far = &messages[i].far;
        seals->seals[i] = &messages[i].runs;
    }
    seals->n_seals = count;
    return WEFT_OK;
}

void holdings_free_seals(Weft__Seals *seals)
{
    if (seals->seals)
        free(seals->seals[0]);
    free(seals->seals);
}

weft_err holdings_fill_source(const struct holdings *holdings, uint32_t stage, uint32_t segment,
                              holdings_address_fn *address, const void *owner, Weft__Source *source,
                              Weft__FarFile *far)
{
    const struct holding_stage *before = &holdings->stages[stage - 1];
    if (segment >= before->segment_count || before->segments[segment].holder == 0)
        return err_set(WEFT_INTERNAL, "segment %u of stage %u is not known", segment, stage - 1);
    const struct holding *at = &before->segments[segment];
    far->address = (char *)address(owner, at->holder);
    far->file = at->file;
    far->size = at->offset + at->size;
    source->far = far;
    source->offset = at->offset;
    source->size = at->size;
    source->crc = at->crc32c;
    return WEFT_OK;
}
