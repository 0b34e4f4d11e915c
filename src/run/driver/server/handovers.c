// Work on its way from clients that leave.

#include "run/driver/server/handovers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "sys/file/file.h"

// Of the server, to copy one item; in between the client may have been out of reach for a while.
enum { OWN_FAILURES_MAX = 3 };

enum move_state { MOVE_WAITS, MOVE_UNDER_WAY, MOVE_DONE };

struct handover {
    uint32_t from;
    VEC(struct move *) moves;
    VEC(uint32_t) refused;
    bool is_listed, has_failed;
    char why[ERR_TEXT_BYTES_MAX];
};

// An item of a list.
struct move {
    struct handovers *handovers;
    struct link in_all;
    struct handover *of;  // NULL: dropped, and freed when the last of its requests has ended
    Weft__ClientOffer *work;
    enum move_state state;
    uint32_t number, to;
    uint64_t file;
    // Where the server takes it.
    int fd;
    uint32_t pending, failed_count;
    weft_err code;
    char why[ERR_TEXT_BYTES_MAX];
};

struct handovers {
    struct handovers_options options;
    VEC(struct handover *) list;
    struct link moves;  // of all
    uint32_t last_number;
    bool is_looking;
};

static weft_err no_memory(void)
{
    return err_no_memory("to hand work over");
}

static struct handover *find(const struct handovers *handovers, uint32_t from)
{
    for (size_t i = 0; i < handovers->list.count; i++)
        if (handovers->list.items[i]->from == from)
            return handovers->list.items[i];
    return NULL;
}

static void free_move(struct move *move)
{
    list_take_out(&move->in_all);
    if (move->fd >= 0)
        file_close(move->fd);
    message_free(move->work);
    free(move);
}

static void drop_move(struct move *move)
{
    move->of = NULL;
    if (move->pending == 0)
        free_move(move);
}

static void fail(struct handover *handover, const char *why)
{
    if (!handover->has_failed)
        snprintf(handover->why, sizeof handover->why, "%s", why);
    handover->has_failed = true;
}

// ---- Stretches of it --------------------------------------------------------------------------------------------

static struct fetch_wanted stretch_of(const Weft__ClientOffer *work, size_t i)
{
    struct fetch_wanted wanted = {0};
    if (work->n_seals) {
        wanted.file = work->seals[0]->file;
        wanted.size = work->seals[0]->offset + work->seals[0]->size;
        return wanted;
    }
    for (size_t k = 0; k < i; k++)
        wanted.to_offset += work->pairs[k]->size;
    wanted.file = work->pairs[i]->file;
    wanted.offset = work->pairs[i]->offset;
    wanted.size = work->pairs[i]->size;
    return wanted;
}

static size_t count_stretches(const Weft__ClientOffer *work)
{
    return work->n_seals ? 1 : work->n_pairs;
}

static uint64_t count_bytes(const Weft__ClientOffer *work)
{
    const struct fetch_wanted last = stretch_of(work, count_stretches(work) - 1);
    return last.to_offset + last.size;
}

// ---- To the server ------------------------------------------------------------------------------------------------

static void end_own(struct move *move)
{
    const struct handovers_options *options = &move->handovers->options;
    struct handover *handover = move->of;
    if (move->code == WEFT_OK) {
        move->code =
            options->calls->serve(options->owner, move->fd, count_bytes(move->work), &move->file);
        if (move->code != WEFT_OK)
            snprintf(move->why, sizeof move->why, "%s", err_text());
    }
    if (move->code == WEFT_OK) {
        move->fd = -1;
        move->state = MOVE_DONE;
        if (!move->handovers->is_looking)  // a copy of no bytes is made at once
            options->calls->changed(options->owner, handover->from);
        return;
    }
    if (move->fd >= 0)
        file_close(move->fd);
    move->fd = -1;
    move->state = MOVE_WAITS;
    if (move->code != WEFT_UNAVAILABLE || ++move->failed_count >= OWN_FAILURES_MAX)
        fail(handover, move->why);
}

static void take_own_stretch(void *owner, weft_err code)
{
    struct move *move = owner;
    if (code != WEFT_OK && move->code == WEFT_OK) {
        move->code = code;
        snprintf(move->why, sizeof move->why, "%s", err_text());
    }
    if (--move->pending > 0)
        return;
    if (move->of)
        end_own(move);
    else
        free_move(move);
}

static void take_by_server(struct move *move)
{
    const struct handovers_options *options = &move->handovers->options;
    move->to = HOLDER_SERVER;
    move->number = 0;
    move->state = MOVE_UNDER_WAY;
    move->pending = 1;
    weft_err code = file_create_nameless(options->tmp, &move->fd);
    if (code != WEFT_OK)
        move->fd = -1;
    move->code = WEFT_OK;
    for (size_t i = 0; i < count_stretches(move->work) && code == WEFT_OK; i++) {
        struct fetch_wanted wanted = stretch_of(move->work, i);
        if (wanted.size == 0)
            continue;
        wanted.fd = move->fd;
        wanted.path = options->tmp;
        wanted.done = take_own_stretch;
        wanted.owner = move;
        code = options->calls->fetch(options->owner, move->of->from, &wanted);
        move->pending += code == WEFT_OK;
    }
    take_own_stretch(move, code);
}

// ---- To a client --------------------------------------------------------------------------------------------------

static void order(struct move *move)
{
    const struct handovers_options *options = &move->handovers->options;
    Weft__ClientTake take = WEFT__CLIENT_TAKE__INIT;
    Weft__FarFile from = WEFT__FAR_FILE__INIT;
    options->calls->place(options->owner, move->of->from, &from);
    move->number = ++move->handovers->last_number;
    move->state = MOVE_UNDER_WAY;
    take.number = move->number;
    take.from = &from;
    take.work = move->work;
    options->calls->order(options->owner, move->to, &take);
}

static void assign(struct move *move)
{
    const struct handovers_options *options = &move->handovers->options;
    const struct handover *handover = move->of;
    const struct handover_wish wish = {handover->from, count_bytes(move->work),
                                       handover->refused.items, handover->refused.count};
    move->to = options->calls->choose(options->owner, &wish);
    if (move->to)
        order(move);
    else
        take_by_server(move);
}

// False: it was given to another one since, or the client that leaves is gone.
static struct move *find_move(const struct handovers *handovers, uint32_t number, uint32_t to)
{
    for (size_t i = 0; i < handovers->list.count; i++) {
        const struct handover *handover = handovers->list.items[i];
        for (size_t k = 0; k < handover->moves.count; k++) {
            struct move *move = handover->moves.items[k];
            if (move->number == number && move->to == to && move->state == MOVE_UNDER_WAY)
                return move;
        }
    }
    return NULL;
}

weft_err handovers_answer(struct handovers *handovers, uint32_t holder,
                          const Weft__ClientTaken *taken)
{
    const struct handovers_options *options = &handovers->options;
    if (taken->number == 0 || taken->number > handovers->last_number ||
        taken->code > WEFT_UNAUTHENTICATED)
        return err_set(WEFT_INTERNAL, "work that it was not asked for");
    struct move *move = find_move(handovers, taken->number, holder);
    if (!move && taken->code == WEFT_OK)
        options->calls->forget(options->owner, holder, taken->file);
    if (!move)
        return WEFT_OK;
    move->state = taken->code == WEFT_OK ? MOVE_DONE : MOVE_WAITS;
    move->file = taken->file;
    if (taken->code != WEFT_OK && !VEC_PUSH(&move->of->refused, holder))
        fail(move->of, "there is no memory left");
    return WEFT_OK;
}

// ---- From beginning to end ----------------------------------------------------------------------------------------

weft_err handovers_begin(struct handovers *handovers, uint32_t from)
{
    struct handover *handover = calloc(1, sizeof *handover);
    if (!handover || !VEC_PUSH(&handovers->list, handover)) {
        free(handover);
        return no_memory();
    }
    handover->from = from;
    return WEFT_OK;
}

static Weft__ClientOffer *copy_work(const Weft__ClientOffer *work)
{
    uint8_t *bytes = malloc(weft__client_offer__get_packed_size(work) + 1);
    if (!bytes)
        return NULL;
    const size_t size = weft__client_offer__pack(work, bytes);
    Weft__ClientOffer *copy = weft__client_offer__unpack(NULL, size, bytes);
    free(bytes);
    return copy;
}

weft_err handovers_add(struct handovers *handovers, uint32_t from, const Weft__ClientOffer *work)
{
    struct handover *handover = find(handovers, from);
    struct move *move = calloc(1, sizeof *move);
    Weft__ClientOffer *copy = copy_work(work);
    if (!handover || !move || !copy || !VEC_PUSH(&handover->moves, move)) {
        message_free(copy);
        free(move);
        return no_memory();
    }
    *move = (struct move){.handovers = handovers, .of = handover, .work = copy, .fd = -1};
    list_append(&handovers->moves, &move->in_all);
    return WEFT_OK;
}

void handovers_close_list(struct handovers *handovers, uint32_t from)
{
    struct handover *handover = find(handovers, from);
    if (handover)
        handover->is_listed = true;
}

enum handover_state handovers_look(struct handovers *handovers, uint32_t from)
{
    const struct handovers_options *options = &handovers->options;
    const struct handover *handover = find(handovers, from);
    bool is_complete = true;
    if (!handover || !handover->is_listed)
        return HANDOVER_UNDER_WAY;
    handovers->is_looking = true;
    for (size_t i = 0; i < handover->moves.count && !handover->has_failed; i++) {
        struct move *move = handover->moves.items[i];
        if (move->state != MOVE_WAITS && move->to != HOLDER_SERVER &&
            !options->calls->can_take(options->owner, move->to)) {
            if (move->state == MOVE_DONE)
                options->calls->forget(options->owner, move->to, move->file);
            move->state = MOVE_WAITS;
        }
        if (move->state == MOVE_WAITS)
            assign(move);
        is_complete &= move->state == MOVE_DONE;
    }
    handovers->is_looking = false;
    return handover->has_failed ? HANDOVER_FAILED
           : is_complete        ? HANDOVER_COMPLETE
                                : HANDOVER_UNDER_WAY;
}

const char *handovers_why(const struct handovers *handovers, uint32_t from)
{
    const struct handover *handover = find(handovers, from);
    return handover ? handover->why : "";
}

static void take_out(struct handovers *handovers, const struct handover *handover)
{
    size_t left = 0;
    for (size_t i = 0; i < handovers->list.count; i++)
        if (handovers->list.items[i] != handover)
            handovers->list.items[left++] = handovers->list.items[i];
    handovers->list.count = left;
}

void handovers_end(struct handovers *handovers, uint32_t from)
{
    const struct handovers_options *options = &handovers->options;
    struct handover *handover = find(handovers, from);
    if (!handover)
        return;
    take_out(handovers, handover);
    for (size_t i = 0; i < handover->moves.count; i++) {
        struct move *move = handover->moves.items[i];
        const struct handed handed = {from, move->to, move->work, move->file};
        if (move->state == MOVE_DONE)
            options->calls->moved(options->owner, &handed);
        drop_move(move);
    }
    VEC_FINI(&handover->moves);
    VEC_FINI(&handover->refused);
    free(handover);
}

struct handovers *handovers_new(const struct handovers_options *options)
{
    struct handovers *handovers = calloc(1, sizeof *handovers);
    if (!handovers) {
        (void)no_memory();
        return NULL;
    }
    handovers->options = *options;
    list_init(&handovers->moves);
    return handovers;
}

void handovers_free(struct handovers *handovers)
{
    if (!handovers)
        return;
    while (!list_is_empty(&handovers->moves))
        free_move(LIST_ITEM(handovers->moves.next, struct move, in_all));
    for (size_t i = 0; i < handovers->list.count; i++) {
        VEC_FINI(&handovers->list.items[i]->moves);
        VEC_FINI(&handovers->list.items[i]->refused);
        free(handovers->list.items[i]);
    }
    VEC_FINI(&handovers->list);
    free(handovers);
}
