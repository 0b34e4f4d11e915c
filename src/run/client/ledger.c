// Finished work, until it is needed no more.

#include "run/client/ledger.h"

#include <stdlib.h>

// Of pairs, which are small, in one message.
enum { PAIRS_AT_ONCE = 4096 };

static weft_err no_memory(void)
{
    return err_no_memory("for a list of finished work");
}

static size_t copy_bytes(uint8_t *to, size_t size_max, ProtobufCBinaryData from)
{
    const size_t size = from.len < size_max ? from.len : size_max;
    if (size)
        memcpy(to, from.data, size);
    return size;
}

// ---- The run ---------------------------------------------------------------------------------------------

void ledger_fini(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->seals.count; i++)
        VEC_FINI(&ledger->seals.items[i].tasks);
    for (size_t i = 0; i < ledger->ends.count; i++)
        message_free(ledger->ends.items[i].end);
    VEC_FINI(&ledger->stages);
    VEC_FINI(&ledger->seals);
    VEC_FINI(&ledger->pairs);
    VEC_FINI(&ledger->ends);
    VEC_FINI(&ledger->runs);
    *ledger = (struct ledger){0};
}

bool ledger_is_of(const struct ledger *ledger, weft_bytes run)
{
    return ledger->run_size > 0 && ledger->run_size == run.size &&
           memcmp(ledger->run, run.data, run.size) == 0;
}

void ledger_begin(struct ledger *ledger, weft_bytes run)
{
    if (ledger_is_of(ledger, run))
        return;
    ledger_fini(ledger);
    ledger->run_size = copy_bytes(ledger->run, sizeof ledger->run, message_bytes(run));
}

// ---- Notes -----------------------------------------------------------------------------------------------

static struct ledger_stage *stage_of(struct ledger *ledger, uint32_t stage)
{
    enum { STAGES_MAX = 1 << 16 };
    while (ledger->stages.count <= stage && stage < STAGES_MAX) {
        const struct ledger_stage one = {0};
        if (!VEC_PUSH(&ledger->stages, one))
            return NULL;
    }
    return stage < ledger->stages.count ? &ledger->stages.items[stage] : NULL;
}

weft_err ledger_note_open(struct ledger *ledger, const Weft__StageOpen *open)
{
    struct ledger_stage *stage = stage_of(ledger, open->stage);
    if (!stage)
        return no_memory();
    stage->is_map_only = open->is_map_only;
    stage->keeps_pairs = open->output && open->output->kind == WEFT__OUTPUT_KIND__OUTPUT_KEEP;
    return WEFT_OK;
}

weft_err ledger_note_plan(struct ledger *ledger, const Weft__StagePlan *plan)
{
    struct ledger_stage *stage = stage_of(ledger, plan->stage);
    if (!stage)
        return no_memory();
    stage->cuts_size = copy_bytes(stage->cuts, sizeof stage->cuts, plan->cuts);
    stage->is_known = true;
    return WEFT_OK;
}

weft_err ledger_note_run(struct ledger *ledger, const Weft__TaskRun *run)
{
    const struct ledger_run one = {run->stage, (uint32_t)run->kind, run->task, run->attempt};
    return VEC_PUSH(&ledger->runs, one) ? WEFT_OK : no_memory();
}

void ledger_end_runs(struct ledger *ledger)
{
    ledger->runs.count = 0;
}

// A worker ran user code: it may say anything. False: it was not asked for that.
static bool end_run(struct ledger *ledger, const Weft__TaskEnd *end)
{
    for (size_t i = 0; i < ledger->runs.count; i++) {
        const struct ledger_run *run = &ledger->runs.items[i];
        if (run->stage != end->stage || run->kind != (uint32_t)end->kind ||
            run->task != end->task || run->attempt != end->attempt)
            continue;
        ledger->runs.items[i] = ledger->runs.items[--ledger->runs.count];
        return true;
    }
    return false;
}

static weft_err keep_end(struct ledger *ledger, const Weft__TaskEnd *end)
{
    uint8_t *bytes = malloc(weft__task_end__get_packed_size(end) + 1);
    if (!bytes)
        return no_memory();
    const size_t size = weft__task_end__pack(end, bytes);
    const struct ledger_end one = {ledger->ends.count, weft__task_end__unpack(NULL, size, bytes)};
    free(bytes);
    if (one.end && VEC_PUSH(&ledger->ends, one))
        return WEFT_OK;
    message_free(one.end);
    return no_memory();
}

weft_err ledger_note_end(struct ledger *ledger, const Weft__TaskEnd *end)
{
    if (!end_run(ledger, end) || end->code != WEFT_OK)
        return WEFT_OK;
    const struct ledger_stage *stage = stage_of(ledger, end->stage);
    if (!stage)
        return no_memory();
    const bool is_output = stage->is_map_only || end->kind == WEFT__TASK_KIND__TASK_REDUCE;
    if (end->kind == WEFT__TASK_KIND__TASK_SAMPLE || (is_output && !stage->keeps_pairs))
        return WEFT_OK;  // the answer is the server's
    return keep_end(ledger, end);
}

static struct ledger_seal *find_seal(struct ledger *ledger, uint64_t file)
{
    for (size_t i = ledger->seals.count; i-- > 0;)
        if (ledger->seals.items[i].file == file)
            return &ledger->seals.items[i];
    return NULL;
}

static struct ledger_seal *add_seal(struct ledger *ledger, const Weft__Checkpointed *done)
{
    const struct ledger_stage *stage = stage_of(ledger, done->stage);
    struct ledger_seal seal = {.stage = done->stage, .file = done->file};
    if (!stage)
        return NULL;
    memcpy(seal.cuts, stage->cuts, sizeof seal.cuts);
    seal.cuts_size = stage->cuts_size;
    return VEC_PUSH(&ledger->seals, seal) ? &ledger->seals.items[ledger->seals.count - 1] : NULL;
}

weft_err ledger_note_seal(struct ledger *ledger, const Weft__Checkpointed *done)
{
    struct ledger_seal *seal = find_seal(ledger, done->file);
    if (!seal)
        seal = add_seal(ledger, done);
    if (!seal)
        return no_memory();
    for (size_t i = 0; i < done->n_tasks; i++)
        if (!VEC_PUSH(&seal->tasks, done->tasks[i]))
            return no_memory();
    seal->offset = done->offset;
    seal->size = done->file_size > done->offset ? done->file_size - done->offset : 0;
    return WEFT_OK;
}

weft_err ledger_note_pairs(struct ledger *ledger, const Weft__Committed *committed)
{
    const struct ledger_stage *stage = stage_of(ledger, committed->stage);
    if (!stage)
        return no_memory();
    if (!stage->keeps_pairs || committed->n_shelf_offsets != committed->n_tasks ||
        committed->n_output_bytes != committed->n_tasks ||
        committed->n_output_crc != committed->n_tasks)
        return WEFT_OK;
    for (size_t i = 0; i < committed->n_tasks; i++) {
        const struct ledger_pairs one = {.stage = committed->stage,
                                         .task = committed->tasks[i],
                                         .crc = committed->output_crc[i],
                                         .file = committed->shelf,
                                         .offset = committed->shelf_offsets[i],
                                         .size = committed->output_bytes[i]};
        if (!VEC_PUSH(&ledger->pairs, one))
            return no_memory();
    }
    return WEFT_OK;
}

static weft_err note_taken_seal(struct ledger *ledger, const Weft__OfferedSeal *from, uint64_t file)
{
    struct ledger_seal seal = {
        .stage = from->stage, .file = file, .offset = from->offset, .size = from->size};
    bool has_room = true;
    seal.cuts_size = copy_bytes(seal.cuts, sizeof seal.cuts, from->cuts);
    for (size_t i = 0; i < from->n_tasks && has_room; i++)
        has_room = VEC_PUSH(&seal.tasks, from->tasks[i]);
    if (has_room && VEC_PUSH(&ledger->seals, seal))
        return WEFT_OK;
    VEC_FINI(&seal.tasks);
    return no_memory();
}

// This client need not have opened the stage itself.
static weft_err note_taken_pairs(struct ledger *ledger, const Weft__ClientOffer *work,
                                 uint64_t file)
{
    uint64_t offset = 0;
    for (size_t i = 0; i < work->n_pairs; i++) {
        const Weft__OfferedPairs *from = work->pairs[i];
        struct ledger_stage *stage = stage_of(ledger, from->stage);
        const struct ledger_pairs one = {.stage = from->stage,
                                         .task = from->task,
                                         .crc = from->crc,
                                         .file = file,
                                         .offset = offset,
                                         .size = from->size};
        if (!stage || !VEC_PUSH(&ledger->pairs, one))
            return no_memory();
        stage->is_map_only = work->ends[i]->kind == WEFT__TASK_KIND__TASK_MAP;
        stage->keeps_pairs = true;
        offset += from->size;
    }
    return WEFT_OK;
}

weft_err ledger_note_taken(struct ledger *ledger, const Weft__ClientOffer *work, uint64_t file)
{
    weft_err code = WEFT_OK;
    for (size_t i = 0; i < work->n_ends && code == WEFT_OK; i++)
        code = keep_end(ledger, work->ends[i]);
    if (code == WEFT_OK && work->n_seals)
        code = note_taken_seal(ledger, work->seals[0], file);
    if (code == WEFT_OK)
        code = note_taken_pairs(ledger, work, file);
    if (code != WEFT_OK)
        ledger_forget(ledger, file);
    return code;
}

bool ledger_is_empty(const struct ledger *ledger)
{
    return ledger->seals.count + ledger->pairs.count == 0;
}

void ledger_forget(struct ledger *ledger, uint64_t file)
{
    size_t left = 0;
    for (size_t i = 0; i < ledger->seals.count; i++) {
        if (ledger->seals.items[i].file == file)
            VEC_FINI(&ledger->seals.items[i].tasks);
        else
            ledger->seals.items[left++] = ledger->seals.items[i];
    }
    ledger->seals.count = left;
    left = 0;
    for (size_t i = 0; i < ledger->pairs.count; i++)
        if (ledger->pairs.items[i].file != file)
            ledger->pairs.items[left++] = ledger->pairs.items[i];
    ledger->pairs.count = left;
}

// ---- The offer -------------------------------------------------------------------------------------------

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_task(const Weft__TaskEnd *end, uint32_t stage, uint32_t kind, uint32_t task)
{
    const int by_stage = compare(end->stage, stage);
    const int by_kind = by_stage ? by_stage : compare((uint32_t)end->kind, kind);
    return by_kind ? by_kind : compare(end->task, task);
}

static int compare_ends(const void *a, const void *b)
{
    const struct ledger_end *left = a, *right = b;
    const int by_task =
        compare_task(left->end, right->end->stage, (uint32_t)right->end->kind, right->end->task);
    return by_task ? by_task : compare(left->number, right->number);
}

// Leaves the last one of each task, in the order of tasks.
static void sort_ends(struct ledger *ledger)
{
    struct ledger_end *items = ledger->ends.items;
    size_t left = 0;
    if (ledger->ends.count)
        qsort(items, ledger->ends.count, sizeof *items, compare_ends);
    for (size_t i = 0; i < ledger->ends.count; i++) {
        const Weft__TaskEnd *end = items[i].end;
        if (i + 1 < ledger->ends.count &&
            compare_task(items[i + 1].end, end->stage, (uint32_t)end->kind, end->task) == 0)
            message_free(items[i].end);
        else
            items[left++] = items[i];
    }
    ledger->ends.count = left;
    for (size_t i = 0; i < left; i++)
        items[i].number = i;
}

static Weft__TaskEnd *find_end(const struct ledger *ledger, uint32_t stage, uint32_t kind,
                               uint32_t task)
{
    size_t low = 0, high = ledger->ends.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_task(ledger->ends.items[middle].end, stage, kind, task);
        if (order == 0)
            return ledger->ends.items[middle].end;
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    return NULL;
}

static int compare_numbers(const void *a, const void *b)
{
    return compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

static Weft__ClientOffer begin_offer(struct ledger *ledger)
{
    Weft__ClientOffer offer = WEFT__CLIENT_OFFER__INIT;
    offer.run = (ProtobufCBinaryData){ledger->run_size, ledger->run};
    return offer;
}

static weft_err offer_seal(struct ledger *ledger, struct ledger_seal *seal, ledger_send_fn *send,
                           void *owner)
{
    Weft__ClientOffer offer = begin_offer(ledger);
    Weft__OfferedSeal message = WEFT__OFFERED_SEAL__INIT, *messages[] = {&message};
    Weft__TaskEnd **ends = calloc(seal->tasks.count + 1, sizeof(Weft__TaskEnd *));
    if (!ends)
        return no_memory();
    if (seal->tasks.count)
        qsort(seal->tasks.items, seal->tasks.count, sizeof *seal->tasks.items, compare_numbers);
    for (size_t i = 0; i < seal->tasks.count; i++) {
        ends[offer.n_ends] =
            find_end(ledger, seal->stage, WEFT__TASK_KIND__TASK_MAP, seal->tasks.items[i]);
        offer.n_ends += ends[offer.n_ends] != NULL;
    }
    message.stage = seal->stage;
    message.cuts = (ProtobufCBinaryData){seal->cuts_size, seal->cuts};
    message.tasks = seal->tasks.items;
    message.n_tasks = seal->tasks.count;
    message.file = seal->file;
    message.offset = seal->offset;
    message.size = seal->size;
    offer.seals = messages;
    offer.n_seals = 1;
    offer.ends = ends;
    // A worker says that a task has ended before it says that it is sealed, unless user code has broken it.
    const weft_err code = offer.n_ends == seal->tasks.count ? send(owner, &offer) : WEFT_OK;
    free(ends);
    return code;
}

struct pairs_message {
    Weft__OfferedPairs all[PAIRS_AT_ONCE], *list[PAIRS_AT_ONCE];
    Weft__TaskEnd *ends[PAIRS_AT_ONCE];
};

static void fill_pairs(const struct ledger *ledger, size_t first, struct pairs_message *room,
                       Weft__ClientOffer *offer)
{
    for (size_t i = first; i < ledger->pairs.count && i < first + PAIRS_AT_ONCE; i++) {
        const struct ledger_pairs *from = &ledger->pairs.items[i];
        const uint32_t kind = ledger->stages.items[from->stage].is_map_only
                                  ? WEFT__TASK_KIND__TASK_MAP
                                  : WEFT__TASK_KIND__TASK_REDUCE;
        // Text may be written before its attempt has ended; then it does not count yet.
        Weft__TaskEnd *end = find_end(ledger, from->stage, kind, from->task);
        if (!end)
            continue;
        Weft__OfferedPairs *to = room->list[offer->n_pairs] = &room->all[offer->n_pairs];
        weft__offered_pairs__init(to);
        to->stage = from->stage;
        to->task = from->task;
        to->file = from->file;
        to->offset = from->offset;
        to->size = from->size;
        to->crc = from->crc;
        offer->n_pairs++;
        room->ends[offer->n_ends++] = end;
    }
    offer->pairs = room->list;
    offer->ends = room->ends;
}

static weft_err offer_pairs(struct ledger *ledger, ledger_send_fn *send, void *owner)
{
    struct pairs_message *room = malloc(sizeof *room);
    weft_err code = room ? WEFT_OK : no_memory();
    for (size_t i = 0; i < ledger->pairs.count && code == WEFT_OK; i += PAIRS_AT_ONCE) {
        Weft__ClientOffer offer = begin_offer(ledger);
        fill_pairs(ledger, i, room, &offer);
        code = send(owner, &offer);
    }
    free(room);
    return code;
}

weft_err ledger_offer(struct ledger *ledger, ledger_send_fn *send, void *owner)
{
    weft_err code = WEFT_OK;
    sort_ends(ledger);
    for (size_t i = 0; i < ledger->seals.count && code == WEFT_OK; i++)
        code = offer_seal(ledger, &ledger->seals.items[i], send, owner);
    if (code == WEFT_OK)
        code = offer_pairs(ledger, send, owner);
    Weft__ClientOffer last = begin_offer(ledger);
    last.is_last = true;
    return code == WEFT_OK ? send(owner, &last) : code;
}
