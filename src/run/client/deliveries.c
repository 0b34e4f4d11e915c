// Frames for the worker, and the bytes that they wait for.

#include "run/client/deliveries.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/vec.h"
#include "run/client/seals.h"
#include "sys/loop/loop.h"

// After a failure the server tries again at once, and so would we.
enum { FAILURE_PAUSE_MS = 500 };

enum delivery_state {
    DELIVERY_READY,
    DELIVERY_WAITS,    // for `pending` stretches
    DELIVERY_INDEXES,  // for the indexes of the map output
    DELIVERY_PAUSES,   // has failed
    DELIVERY_FAILED,
};

struct delivery {
    struct deliveries *deliveries;
    struct link in_line;
    enum delivery_state state;
    Weft__FrameType type;
    struct buf payload;
    Weft__TaskRun *run;  // NULL: the payload is all
    uint32_t pending;
    struct loop_timer *pause;
    weft_err code;
    char why[ERR_TEXT_BYTES_MAX];
    uint32_t bad_seal;  // it has failed by damage of this one
};

struct values {
    struct copy *copy;
    uint32_t task;
    uint64_t offset, size;
};

struct deliveries {
    struct loop *loop;
    struct copies *copies;
    const struct deliveries_calls *calls;
    void *owner;
    struct link line;
    struct seals *seals;  // of the stage at work; NULL: not known
    bool are_seals_told;  // to the worker
    bool is_held, is_pumping, is_broken;
    VEC(struct values) values;  // of the tasks at work
};

static void pump(struct deliveries *deliveries);

static void break_off(struct deliveries *deliveries, weft_err code)
{
    if (!deliveries->is_broken)
        deliveries->calls->broken(deliveries->owner, code);
    deliveries->is_broken = true;
}

static void free_delivery(struct delivery *delivery)
{
    copies_forget(delivery->deliveries->copies, delivery);
    loop_timer_free(delivery->pause);
    list_take_out(&delivery->in_line);
    buf_fini(&delivery->payload);
    message_free(delivery->run);
    free(delivery);
}

// ---- Waiting ------------------------------------------------------------------------------------------

static void end_pause(void *owner)
{
    struct delivery *delivery = owner;
    delivery->state = DELIVERY_FAILED;
    pump(delivery->deliveries);
}

// With this thread's sentence.
static void fail(struct delivery *delivery, weft_err code)
{
    struct deliveries *deliveries = delivery->deliveries;
    snprintf(delivery->why, sizeof delivery->why, "%s", err_text());
    delivery->code = code;
    delivery->state = DELIVERY_PAUSES;
    copies_forget(deliveries->copies, delivery);
    delivery->pause = loop_timer_new(deliveries->loop, FAILURE_PAUSE_MS, 0, end_pause, delivery);
    if (!delivery->pause)
        break_off(deliveries, WEFT_RESOURCE_EXHAUSTED);
}

static void take_stretch(void *owner, weft_err code)
{
    struct delivery *delivery = owner;
    if (delivery->state != DELIVERY_WAITS)
        return;
    if (code != WEFT_OK) {
        fail(delivery, code);
    } else if (--delivery->pending == 0) {
        delivery->state = DELIVERY_READY;
        pump(delivery->deliveries);
    }
}

// The segments of its range; the indexes are here.
static void fetch_range(struct delivery *delivery)
{
    delivery->state = DELIVERY_WAITS;
    const weft_err code = seals_fetch(delivery->deliveries->seals, delivery->run->task,
                                      take_stretch, delivery, &delivery->pending);
    if (code != WEFT_OK)
        fail(delivery, code);
    else if (delivery->pending == 0)
        delivery->state = DELIVERY_READY;
}

static void take_indexes(void *owner, weft_err code)
{
    struct deliveries *deliveries = owner;
    for (struct link *link = deliveries->line.next; link != &deliveries->line; link = link->next) {
        struct delivery *delivery = LIST_ITEM(link, struct delivery, in_line);
        if (delivery->state != DELIVERY_INDEXES)
            continue;
        if (code == WEFT_OK) {
            fetch_range(delivery);
            continue;
        }
        delivery->bad_seal = seals_damaged(deliveries->seals);
        fail(delivery, code);
    }
    pump(deliveries);
}

static void prepare_reduce(struct delivery *delivery)
{
    struct deliveries *deliveries = delivery->deliveries;
    if (!deliveries->seals) {
        fail(delivery, err_set(WEFT_INTERNAL, "a reduce task before the map output of all"));
    } else if (seals_are_ready(deliveries->seals)) {
        fetch_range(delivery);
    } else {
        delivery->state = DELIVERY_INDEXES;
        if (!seals_are_loading(deliveries->seals))
            seals_load(deliveries->seals);
    }
}

// Values of items that were fetched for a task.
static weft_err note_values(struct deliveries *deliveries, const Weft__TaskRun *run,
                            struct copy *copy)
{
    const struct values values = {copy, run->task, run->values->offset, run->values->size};
    return VEC_PUSH(&deliveries->values, values) ? WEFT_OK : err_no_memory("for a task");
}

// Pairs of the stage before, or values of items.
static void prepare_source(struct delivery *delivery, Weft__Source *source)
{
    struct deliveries *deliveries = delivery->deliveries;
    struct copy *copy;
    weft_err code = copies_open(deliveries->copies, source->far, &copy);
    if (code == WEFT_OK && source == delivery->run->values)
        code = note_values(deliveries, delivery->run, copy);
    char *path = code == WEFT_OK ? strdup(copy->path) : NULL;
    if (code == WEFT_OK && !path)
        code = err_no_memory("for a task");
    if (code != WEFT_OK) {
        fail(delivery, code);
        return;
    }
    if (source->path[0])
        free(source->path);
    source->path = path;
    weft__far_file__free_unpacked(source->far, NULL);
    source->far = NULL;
    if (!copy->from || source->size == 0)
        return;
    delivery->state = DELIVERY_WAITS;
    delivery->pending = 1;
    code =
        copy_fetch(deliveries->copies, copy, source->offset, source->size, take_stretch, delivery);
    if (code != WEFT_OK)
        fail(delivery, code);
}

// ---- Passing on -----------------------------------------------------------------------------------------

static weft_err tell_seals(struct deliveries *deliveries)
{
    Weft__Seals message = WEFT__SEALS__INIT;
    if (deliveries->are_seals_told)
        return WEFT_OK;
    deliveries->are_seals_told = true;
    seals_fill(deliveries->seals, &message);
    return deliveries->calls->pass_message(deliveries->owner, WEFT__FRAME_TYPE__FRAME_SEALS,
                                           &message.base);
}

static weft_err pass(struct deliveries *deliveries, const struct delivery *delivery)
{
    const bool is_reduce = delivery->run && delivery->run->kind == WEFT__TASK_KIND__TASK_REDUCE;
    const weft_err code = is_reduce ? tell_seals(deliveries) : WEFT_OK;
    if (code != WEFT_OK)
        return code;
    return delivery->run ? deliveries->calls->pass_message(deliveries->owner, delivery->type,
                                                           &delivery->run->base)
                         : deliveries->calls->pass(deliveries->owner, delivery->type,
                                                   buf_bytes(&delivery->payload));
}

static void deliver(struct deliveries *deliveries, struct delivery *delivery)
{
    weft_err code = WEFT_OK;
    if (delivery->state == DELIVERY_READY)
        code = pass(deliveries, delivery);
    else
        deliveries->calls->undone(deliveries->owner, delivery->run,
                                  err_set(delivery->code, "%s", delivery->why), delivery->bad_seal);
    if (code != WEFT_OK)
        break_off(deliveries, code);
}

static void pump(struct deliveries *deliveries)
{
    if (deliveries->is_pumping || deliveries->is_held)
        return;
    deliveries->is_pumping = true;
    while (!list_is_empty(&deliveries->line) && !deliveries->is_broken) {
        struct delivery *first = LIST_ITEM(deliveries->line.next, struct delivery, in_line);
        if (first->state != DELIVERY_READY && first->state != DELIVERY_FAILED)
            break;
        deliver(deliveries, first);
        free_delivery(first);
    }
    deliveries->is_pumping = false;
}

// ---- Frames -----------------------------------------------------------------------------------------------

static weft_err take_seals(struct deliveries *deliveries, const struct frame *frame)
{
    Weft__Seals *message = NULL;
    weft_err code = message_unpack(frame, &weft__seals__descriptor, &message);
    if (code != WEFT_OK)
        return code;
    seals_free(deliveries->seals);
    deliveries->seals = seals_new(deliveries->copies, message, take_indexes, deliveries);
    deliveries->are_seals_told = false;
    if (!deliveries->seals)
        code = WEFT_RESOURCE_EXHAUSTED;
    message_free(message);
    return code;
}

static weft_err prepare(struct delivery *delivery, const struct frame *frame)
{
    if (frame->type != WEFT__FRAME_TYPE__FRAME_TASK_RUN) {
        buf_append(&delivery->payload, frame->payload.data, frame->payload.size);
        return delivery->payload.has_failed ? err_no_memory("for a frame") : WEFT_OK;
    }
    const weft_err code = message_unpack(frame, &weft__task_run__descriptor, &delivery->run);
    if (code != WEFT_OK)
        return code;
    if (delivery->run->kind == WEFT__TASK_KIND__TASK_REDUCE)
        prepare_reduce(delivery);
    else if (delivery->run->source && delivery->run->source->far)
        prepare_source(delivery, delivery->run->source);
    else if (delivery->run->values && delivery->run->values->far)
        prepare_source(delivery, delivery->run->values);
    return WEFT_OK;
}

void deliveries_take(struct deliveries *deliveries, const struct frame *frame)
{
    weft_err code = WEFT_OK;
    if (frame->type == WEFT__FRAME_TYPE__FRAME_SEALS) {
        code = take_seals(deliveries, frame);
    } else {
        struct delivery *delivery = calloc(1, sizeof *delivery);
        if (delivery) {
            *delivery = (struct delivery){.deliveries = deliveries, .type = frame->type};
            list_append(&deliveries->line, &delivery->in_line);
            code = prepare(delivery, frame);
        } else {
            code = err_no_memory("for a frame");
        }
    }
    if (code != WEFT_OK)
        break_off(deliveries, code);
    pump(deliveries);
}

static void release_values(struct deliveries *deliveries, uint32_t task)
{
    size_t left = 0;
    for (size_t i = 0; i < deliveries->values.count; i++) {
        const struct values *values = &deliveries->values.items[i];
        if (values->task == task)
            copy_release(values->copy, values->offset, values->size);
        else
            deliveries->values.items[left++] = *values;
    }
    deliveries->values.count = left;
}

void deliveries_hold(struct deliveries *deliveries)
{
    deliveries->is_held = true;
}

void deliveries_release(struct deliveries *deliveries)
{
    deliveries->is_held = false;
    pump(deliveries);
}

void deliveries_drop(struct deliveries *deliveries)
{
    deliveries->is_held = false;
    while (!list_is_empty(&deliveries->line))
        free_delivery(LIST_ITEM(deliveries->line.next, struct delivery, in_line));
    for (size_t i = 0; i < deliveries->values.count; i++) {
        const struct values *values = &deliveries->values.items[i];
        copy_release(values->copy, values->offset, values->size);
    }
    deliveries->values.count = 0;
    seals_free(deliveries->seals);
    deliveries->seals = NULL;
}

void deliveries_end_task(struct deliveries *deliveries, const Weft__TaskEnd *end)
{
    if (end->kind == WEFT__TASK_KIND__TASK_REDUCE && deliveries->seals)
        seals_release(deliveries->seals, end->task);
    if (end->kind == WEFT__TASK_KIND__TASK_MAP)
        release_values(deliveries, end->task);
}

struct deliveries *deliveries_new(struct loop *loop, struct copies *copies,
                                  const struct deliveries_calls *calls, void *owner)
{
    struct deliveries *deliveries = calloc(1, sizeof *deliveries);
    if (!deliveries) {
        (void)err_no_memory("for a client");
        return NULL;
    }
    *deliveries =
        (struct deliveries){.loop = loop, .copies = copies, .calls = calls, .owner = owner};
    list_init(&deliveries->line);
    return deliveries;
}

void deliveries_free(struct deliveries *deliveries)
{
    if (!deliveries)
        return;
    deliveries_drop(deliveries);
    VEC_FINI(&deliveries->values);
    free(deliveries);
}
