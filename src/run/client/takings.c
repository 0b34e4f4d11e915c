// Copies of finished work of others.

#include "run/client/takings.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "sys/file/file.h"

struct takings {
    struct takings_options options;
    struct link list;
};

// An order, until its answer.
struct taking {
    struct takings *takings;
    struct link in_takings;
    Weft__ClientTake *order;
    int fd;
    uint32_t pending;  // stretches on their way
};

static void free_taking(struct taking *taking)
{
    copies_forget(taking->takings->options.copies, taking);
    list_take_out(&taking->in_takings);
    if (taking->fd >= 0)
        file_close(taking->fd);
    message_free(taking->order);
    free(taking);
}

// `code` has this thread's sentence.
static void answer(struct taking *taking, weft_err code, uint32_t file)
{
    const struct takings_options *options = &taking->takings->options;
    Weft__ClientTaken taken = WEFT__CLIENT_TAKEN__INIT;
    char text[ERR_TEXT_BYTES_MAX];
    snprintf(text, sizeof text, "%s", code == WEFT_OK ? "" : err_text());
    taken.number = taking->order->number;
    taken.code = message_code(code);
    taken.text = text;
    taken.file = file;
    free_taking(taking);
    options->calls->answer(options->owner, &taken);
}

// All of it is here.
static void finish(struct taking *taking)
{
    struct estate *estate = taking->takings->options.estate;
    uint32_t file = 0;
    weft_err code = served_add(&estate->served, taking->fd, &file);
    if (code == WEFT_OK) {
        taking->fd = -1;
        code = ledger_note_taken(&estate->ledger, taking->order->work, file);
        if (code != WEFT_OK)
            estate_forget(estate, file);
    }
    answer(taking, code, file);
}

static void take_stretch(void *owner, weft_err code)
{
    struct taking *taking = owner;
    if (code != WEFT_OK)
        answer(taking, code, 0);
    else if (--taking->pending == 0)
        finish(taking);
}

// ---- Orders ---------------------------------------------------------------------------------------------------

static bool is_stretch(uint64_t offset, uint64_t size)
{
    return offset <= INT64_MAX && size <= INT64_MAX - offset;
}

static weft_err check(const Weft__ClientTake *order)
{
    const Weft__ClientOffer *work = order->work;
    uint64_t total = 0;
    bool is_good = order->from && order->from->holder && work && work->n_seals <= 1 &&
                   work->n_ends == (work->n_seals ? work->seals[0]->n_tasks : work->n_pairs) &&
                   (work->n_seals ? !work->n_pairs : work->n_pairs);
    if (is_good && work->n_seals)
        is_good = is_stretch(work->seals[0]->offset, work->seals[0]->size);
    for (size_t i = 0; is_good && i < work->n_pairs; i++) {
        is_good = is_stretch(work->pairs[i]->offset, work->pairs[i]->size) &&
                  is_stretch(total, work->pairs[i]->size);
        total += work->pairs[i]->size;
    }
    return is_good ? WEFT_OK
                   : err_set(WEFT_INTERNAL, "the server sent an order that cannot be carried out");
}

static weft_err fetch(struct taking *taking, struct fetch_wanted *wanted)
{
    if (wanted->size == 0)
        return WEFT_OK;
    wanted->fd = taking->fd;
    wanted->done = take_stretch;
    wanted->owner = taking;
    const weft_err code =
        copies_fetch(taking->takings->options.copies, taking->order->from, wanted);
    taking->pending += code == WEFT_OK;
    return code;
}

static weft_err fetch_all(struct taking *taking)
{
    const Weft__ClientOffer *work = taking->order->work;
    weft_err code = file_create_nameless(taking->takings->options.tmp, &taking->fd);
    if (code != WEFT_OK)
        taking->fd = -1;
    if (code == WEFT_OK && work->n_seals) {
        const Weft__OfferedSeal *seal = work->seals[0];
        struct fetch_wanted wanted = {.file = seal->file, .size = seal->offset + seal->size};
        code = fetch(taking, &wanted);
    }
    uint64_t to_offset = 0;
    for (size_t i = 0; i < work->n_pairs && code == WEFT_OK; i++) {
        const Weft__OfferedPairs *pairs = work->pairs[i];
        struct fetch_wanted wanted = {.file = pairs->file,
                                      .offset = pairs->offset,
                                      .size = pairs->size,
                                      .to_offset = to_offset};
        to_offset += pairs->size;
        code = fetch(taking, &wanted);
    }
    return code;
}

void takings_take(struct takings *takings, const struct frame *frame)
{
    const struct takings_options *options = &takings->options;
    Weft__ClientTake *order = NULL;
    struct taking *taking = calloc(1, sizeof *taking);
    weft_err code = taking ? message_unpack(frame, &weft__client_take__descriptor, &order)
                           : err_no_memory("for work of others");
    if (code == WEFT_OK)
        code = check(order);
    if (code != WEFT_OK) {
        message_free(order);
        free(taking);
        options->calls->broken(options->owner, code);
        return;
    }
    *taking = (struct taking){.takings = takings, .order = order, .fd = -1};
    list_append(&takings->list, &taking->in_takings);
    code = fetch_all(taking);
    if (code != WEFT_OK)
        answer(taking, code, 0);
    else if (taking->pending == 0)
        finish(taking);
}

// ---- Beginning and end ------------------------------------------------------------------------------------------

struct takings *takings_new(const struct takings_options *options)
{
    struct takings *takings = calloc(1, sizeof *takings);
    if (!takings) {
        (void)err_no_memory("for a client");
        return NULL;
    }
    takings->options = *options;
    list_init(&takings->list);
    return takings;
}

void takings_free(struct takings *takings)
{
    if (!takings)
        return;
    while (!list_is_empty(&takings->list))
        free_taking(LIST_ITEM(takings->list.next, struct taking, in_takings));
    free(takings);
}
