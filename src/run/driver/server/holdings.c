// What clients hold for each other.

#include "run/driver/server/holdings.h"

#include <stdlib.h>

#include "base/map.h"

static weft_err no_memory(void)
{
    return err_no_memory("for the files of clients");
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
        free(holdings->stages[i].seal_table);
        VEC_FINI(&holdings->stages[i].seals);
    }
    free(holdings->stages);
    VEC_FINI(&holdings->damages);
    *holdings = (struct holdings){0};
}

// ---- Seals by worker, slot and file: a server may have 262,144 slots --------------------------------

static bool is_same_seal(const struct held_seal *a, const struct held_seal *b)
{
    return a->worker == b->worker && a->slot == b->slot && a->index.file == b->index.file;
}

// The seal's entry, or the free one where it belongs.
static uint32_t *find_entry(const struct holding_stage *at, const struct held_seal *seal)
{
    const uint64_t key[] = {(uint64_t)seal->worker << 32 | seal->slot, seal->index.file};
    uint64_t i = map_hash(0, (weft_bytes){(const char *)key, sizeof key});
    for (;; i++) {
        uint32_t *entry = &at->seal_table[i & (at->seal_table_count - 1)];
        if (*entry == 0 || is_same_seal(&at->seals.items[*entry - 1], seal))
            return entry;
    }
}

static void fill_table(struct holding_stage *at)
{
    for (uint32_t i = 0; i < at->seal_table_count; i++)
        at->seal_table[i] = 0;
    for (size_t i = 0; i < at->seals.count; i++)
        *find_entry(at, &at->seals.items[i]) = (uint32_t)i + 1;
}

static bool make_room(struct holding_stage *at)
{
    enum { FIRST = 64 };
    if (at->seals.count + 1 <= at->seal_table_count / 2)
        return true;
    const uint32_t count = at->seal_table_count ? at->seal_table_count * 2 : FIRST;
    uint32_t *grown = realloc(at->seal_table, count * sizeof *grown);
    if (!grown)
        return false;
    at->seal_table = grown;
    at->seal_table_count = count;
    fill_table(at);
    return true;
}

weft_err holdings_note_seal(struct holdings *holdings, uint32_t stage, const struct held_seal *seal,
                            uint32_t *number)
{
    struct holding_stage *at = &holdings->stages[stage];
    *number = 0;
    if (!make_room(at))
        return no_memory();
    uint32_t *entry = find_entry(at, seal);
    if (*entry && at->seals.items[*entry - 1].is_damaged)
        return WEFT_OK;
    if (*entry)
        at->seals.items[*entry - 1] = *seal;
    else if (!VEC_PUSH(&at->seals, *seal))
        return no_memory();
    else
        *entry = (uint32_t)at->seals.count;
    *number = *entry;
    return WEFT_OK;
}

static bool is_there(const struct held_seal *seal)
{
    return seal->index.holder != 0 && !seal->is_damaged;
}

struct held_seal *holdings_find_seal(struct holdings *holdings, uint32_t stage, uint32_t number)
{
    if (stage >= holdings->stage_count || number < 1 ||
        number > holdings->stages[stage].seals.count)
        return NULL;
    struct held_seal *seal = &holdings->stages[stage].seals.items[number - 1];
    return is_there(seal) ? seal : NULL;
}

uint32_t holdings_count_damage(struct holdings *holdings, uint32_t holder)
{
    for (size_t i = 0; i < holdings->damages.count; i++)
        if (holdings->damages.items[i].holder == holder)
            return ++holdings->damages.items[i].count;
    const struct holding_damage damage = {holder, 1};
    (void)VEC_PUSH(&holdings->damages, damage);  // without it the client is trusted for longer
    return 1;
}

void holdings_note_segment(struct holdings *holdings, uint32_t stage, uint32_t piece,
                           const struct holding *at)
{
    holdings->stages[stage].segments[piece] = *at;
}

static bool is_at(const struct holding *known, const struct holding *at)
{
    return known->holder == at->holder && known->file == at->file && known->offset == at->offset &&
           known->size == at->size;
}

static struct held_seal *find_seal(const struct holding_stage *of, const struct holding *at)
{
    for (size_t i = 0; i < of->seals.count; i++)
        if (is_there(&of->seals.items[i]) && is_at(&of->seals.items[i].index, at))
            return &of->seals.items[i];
    return NULL;
}

bool holdings_has_seal(const struct holdings *holdings, uint32_t stage, const struct holding *at)
{
    return find_seal(&holdings->stages[stage], at);
}

bool holdings_move_seal(struct holdings *holdings, uint32_t stage, const struct holding *at,
                        const struct held_seal *to)
{
    struct held_seal *seal = find_seal(&holdings->stages[stage], at);
    if (!seal)
        return false;
    *seal = *to;
    fill_table(&holdings->stages[stage]);
    return true;
}

struct holding *holdings_find_segment(struct holdings *holdings, uint32_t stage, uint32_t piece,
                                      const struct holding *at)
{
    struct holding_stage *of = &holdings->stages[stage];
    return piece < of->segment_count && is_at(&of->segments[piece], at) ? &of->segments[piece]
                                                                        : NULL;
}

void holdings_lose(struct holdings *holdings, uint32_t holder)
{
    for (uint32_t i = 0; i < holdings->stage_count; i++) {
        struct holding_stage *stage = &holdings->stages[i];
        for (size_t k = 0; k < stage->seals.count; k++)
            if (stage->seals.items[k].index.holder == holder)
                stage->seals.items[k].index.holder = 0;
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
                             holdings_place_fn *place, const void *owner, Weft__Seals *seals)
{
    const struct holding_stage *at = &holdings->stages[stage];
    struct seal_message *messages = calloc(at->seals.count + 1, sizeof *messages);
    seals->seals = calloc(at->seals.count + 1, sizeof *seals->seals);
    if (!messages || !seals->seals) {
        free(messages);
        return no_memory();
    }
    seals->seals[0] = &messages->runs;
    for (size_t i = 0; i < at->seals.count; i++) {
        const struct holding *index = &at->seals.items[i].index;
        struct seal_message *message = &messages[seals->n_seals];
        if (!is_there(&at->seals.items[i]))
            continue;
        weft__adopted_runs__init(&message->runs);
        weft__far_file__init(&message->far);
        place(owner, index->holder, &message->far);
        message->far.file = index->file;
        message->far.size = index->offset + index->size;
        message->runs.offset = index->offset;
        message->runs.number = (uint32_t)i + 1;
        message->runs.far = &message->far;
        seals->seals[seals->n_seals++] = &message->runs;
    }
    return WEFT_OK;
}

void holdings_free_seals(Weft__Seals *seals)
{
    if (seals->seals)
        free(seals->seals[0]);
    free(seals->seals);
}

weft_err holdings_fill_source(const struct holdings *holdings, uint32_t stage, uint32_t segment,
                              holdings_place_fn *place, const void *owner, Weft__Source *source,
                              Weft__FarFile *far)
{
    const struct holding_stage *before = &holdings->stages[stage - 1];
    if (segment >= before->segment_count || before->segments[segment].holder == 0)
        return err_set(WEFT_INTERNAL, "segment %u of stage %u is not known", segment, stage - 1);
    const struct holding *at = &before->segments[segment];
    place(owner, at->holder, far);
    far->file = at->file;
    far->size = at->offset + at->size;
    source->far = far;
    source->offset = at->offset;
    source->size = at->size;
    source->crc = at->crc32c;
    return WEFT_OK;
}
