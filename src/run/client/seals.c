// Map output of all, as far as it is needed here.

#include "run/client/seals.h"

#include <stdio.h>
#include <stdlib.h>

#include "mapreduce/work/run/run_index.h"

struct far_seal {
    struct seals *seals;
    struct copy *copy;
    uint64_t offset, index_bytes;
    bool is_fetched;
    struct run_index *index;  // NULL: not read yet
    Weft__AdoptedRuns message;
};

struct seals {
    struct copies *copies;
    seals_ready_fn *ready;
    void *owner;
    uint32_t stage;
    struct far_seal *list;
    size_t count;
    Weft__AdoptedRuns **messages;
    uint32_t pending;  // indexes on their way
    bool is_loading, is_ready;
    weft_err code;
    char why[ERR_TEXT_BYTES_MAX];
    uint32_t damaged;  // the number of one whose index is; 0: none
};

// ---- The indexes --------------------------------------------------------------------------------------

static weft_err read_index(struct far_seal *seal)
{
    return run_index_open(&seal->index, seal->copy->path, seal->offset, (weft_bytes){0}, false);
}

static void keep_failure(struct seals *seals, weft_err code)
{
    if (seals->code != WEFT_OK || code == WEFT_OK)
        return;
    seals->code = code;
    snprintf(seals->why, sizeof seals->why, "%s", err_text());
}

static void end_load(struct seals *seals)
{
    for (size_t i = 0; i < seals->count && seals->code == WEFT_OK; i++) {
        struct far_seal *seal = &seals->list[i];
        if (seal->index)
            continue;
        const weft_err code = read_index(seal);
        keep_failure(seals, code);
        if (code == WEFT_DATA_LOSS) {
            seals->damaged = seal->message.number;
            seal->is_fetched = false;  // perhaps it is so only here
        }
    }
    seals->is_loading = false;
    seals->is_ready = seals->code == WEFT_OK;
    seals->ready(seals->owner, seals->is_ready ? WEFT_OK : err_set(seals->code, "%s", seals->why));
}

static void take_index(void *owner, weft_err code)
{
    struct far_seal *seal = owner;
    struct seals *seals = seal->seals;
    seal->is_fetched = code == WEFT_OK;
    keep_failure(seals, code);
    if (--seals->pending == 0)
        end_load(seals);
}

void seals_load(struct seals *seals)
{
    seals->is_loading = true;
    seals->code = WEFT_OK;
    seals->damaged = 0;
    seals->pending = 1;  // until all are asked for
    for (size_t i = 0; i < seals->count && seals->code == WEFT_OK; i++) {
        struct far_seal *seal = &seals->list[i];
        if (seal->is_fetched || !seal->copy->from)
            continue;
        keep_failure(seals, copy_fetch(seals->copies, seal->copy, seal->offset, seal->index_bytes,
                                       take_index, seal));
        seals->pending += seals->code == WEFT_OK;
    }
    if (--seals->pending == 0)
        end_load(seals);
}

bool seals_are_ready(const struct seals *seals)
{
    return seals->is_ready;
}

uint32_t seals_damaged(const struct seals *seals)
{
    return seals->damaged;
}

bool seals_are_loading(const struct seals *seals)
{
    return seals->is_loading;
}

// ---- The segments of a range ----------------------------------------------------------------------------

static weft_err fetch_segments(struct seals *seals, struct far_seal *seal, uint32_t range,
                               fetch_done_fn *done, void *owner, uint32_t *count)
{
    weft_err code = WEFT_OK;
    if (range >= seal->index->range_count)
        return err_set(WEFT_DATA_LOSS, "map output of a client has no range %u", range);
    for (uint32_t i = 0; i < seal->index->run_count && code == WEFT_OK; i++) {
        const struct run_segment *segment = &seal->index->runs[i].segments[range];
        if (!segment->size)
            continue;
        code = copy_fetch(seals->copies, seal->copy, segment->offset, segment->size, done, owner);
        *count += code == WEFT_OK;
    }
    return code;
}

weft_err seals_fetch(struct seals *seals, uint32_t range, fetch_done_fn *done, void *owner,
                     uint32_t *count)
{
    weft_err code = WEFT_OK;
    *count = 0;
    for (size_t i = 0; i < seals->count && code == WEFT_OK; i++)
        if (seals->list[i].copy->from)
            code = fetch_segments(seals, &seals->list[i], range, done, owner, count);
    return code;
}

void seals_release(struct seals *seals, uint32_t range)
{
    for (size_t i = 0; seals->is_ready && i < seals->count; i++) {
        const struct run_index *index = seals->list[i].index;
        for (uint32_t k = 0; range < index->range_count && k < index->run_count; k++)
            copy_release(seals->list[i].copy, index->runs[k].segments[range].offset,
                         index->runs[k].segments[range].size);
    }
}

// ---- Beginning and end ------------------------------------------------------------------------------------

void seals_fill(const struct seals *seals, Weft__Seals *message)
{
    message->stage = seals->stage;
    message->n_seals = seals->count;
    message->seals = seals->messages;
}

static weft_err take_seal(struct seals *seals, size_t i, const Weft__AdoptedRuns *runs)
{
    struct far_seal *seal = &seals->list[i];
    if (!runs->far || runs->far->size <= runs->offset)
        return err_set(WEFT_INTERNAL, "map output of a client without its place");
    seal->seals = seals;
    seal->offset = runs->offset;
    seal->index_bytes = runs->far->size - runs->offset;
    const weft_err code = copies_open(seals->copies, runs->far, &seal->copy);
    if (code != WEFT_OK)
        return code;
    weft__adopted_runs__init(&seal->message);
    seal->message.path = seal->copy->path;
    seal->message.offset = seal->offset;
    seal->message.number = runs->number;
    seals->messages[i] = &seal->message;
    return WEFT_OK;
}

struct seals *seals_new(struct copies *copies, const Weft__Seals *message, seals_ready_fn *ready,
                        void *owner)
{
    struct seals *seals = calloc(1, sizeof *seals);
    weft_err code = seals ? WEFT_OK : err_no_memory("for map output");
    if (code == WEFT_OK) {
        *seals = (struct seals){.copies = copies, .ready = ready, .owner = owner};
        seals->stage = message->stage;
        seals->list = calloc(message->n_seals + 1, sizeof *seals->list);
        seals->messages = calloc(message->n_seals + 1, sizeof *seals->messages);
        if (!seals->list || !seals->messages)
            code = err_no_memory("for map output");
    }
    for (size_t i = 0; i < message->n_seals && code == WEFT_OK; i++) {
        code = take_seal(seals, i, message->seals[i]);
        seals->count = i + 1;
    }
    if (code == WEFT_OK)
        return seals;
    seals_free(seals);
    return NULL;
}

void seals_free(struct seals *seals)
{
    if (!seals)
        return;
    for (size_t i = 0; i < seals->count; i++) {
        copies_forget(seals->copies, &seals->list[i]);
        run_index_close(seals->list[i].index);
    }
    free(seals->list);
    free(seals->messages);
    free(seals);
}
