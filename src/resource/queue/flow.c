// Putting in and taking out: the two lines of a queue.
//
// A call is first tried as it comes, on the stack; only one that must wait is copied into its line. A
// waiter that is served to its end has been answered.

#include <inttypes.h>
#include <stdlib.h>

#include "resource/queue/queue.h"

static bool is_for_many(uint8_t op)
{
    return op == CALL_QUEUE_POP_MANY || op == CALL_QUEUE_TAKE_MANY;
}

static bool is_giver(uint8_t op)
{
    return op == CALL_QUEUE_PUSH || op == CALL_QUEUE_PUSH_MANY || op == CALL_QUEUE_CLOSE;
}

static int name_size(const struct queue *queue)
{
    return (int)queue->resource.name.size;
}

static void fail_closed(const struct queue *queue, struct session *session, uint64_t sequence)
{
    session_fail(session, sequence, WEFT_CANCELLED, "queue '%.*s' is closed", name_size(queue),
                 queue->resource.name.data);
}

static void fail_at_end(const struct queue *queue, const struct waiter *waiter)
{
    session_fail(waiter->wait.session, waiter->wait.sequence, WEFT_OUT_OF_RANGE,
                 "queue '%.*s' is closed and has insufficient elements (requested %u, current size "
                 "%zu)",
                 name_size(queue), queue->resource.name.data,
                 is_for_many(waiter->op) ? waiter->wanted : 1, queue->elements.count);
}

// Nothing will ever be added, and nothing can come back.
static bool is_at_end(const struct queue *queue)
{
    return queue->is_closed && queue->leases.count == 0;
}

static bool has_room(const struct queue *queue, size_t size)
{
    const struct ops_queue_attributes *limits = &queue->attributes;
    return (limits->capacity < 0 || queue->elements.count < (uint64_t)limits->capacity) &&
           (limits->capacity_bytes == 0 || queue->elements.bytes + size <= limits->capacity_bytes);
}

// ---- Putting in ------------------------------------------------------------------------------------------

// The key and the element of a push that was looked at.
static struct ops_queue_push read_push(weft_bytes payload, uint8_t flags)
{
    struct ops_queue_push push;
    const bool is_whole = ops_queue_push_decode(payload, flags, &push);
    ASSERT(is_whole);
    return push;
}

static void answer_ok(const struct waiter *waiter, uint8_t flags)
{
    session_answer(waiter->wait.session, waiter->wait.sequence, flags, weft_none());
}

static bool fail_memory(const struct waiter *waiter)
{
    session_fail(waiter->wait.session, waiter->wait.sequence, WEFT_RESOURCE_EXHAUSTED,
                 "no memory for another element");
    return true;
}

static bool serve_push(struct queue *queue, struct waiter *waiter)
{
    const struct ops_queue_push push = read_push(waiter->payload, waiter->flags);
    const weft_bytes key = push.key;
    bool is_tuple = push.is_tuple;
    const weft_bytes element = queue_types_unwrap(&queue->types, push.element, &is_tuple);
    if (key.size && seen_keys_have(&queue->keys, key)) {
        answer_ok(waiter, ANSWER_FLAG_SEEN);
        return true;
    }
    if (queue->is_closed) {
        fail_closed(queue, waiter->wait.session, waiter->wait.sequence);
        return true;
    }
    if (!has_room(queue, element.size))
        return false;
    if (key.size && !seen_keys_add(&queue->keys, key, host_seed(queue->resource.host)))
        return fail_memory(waiter);
    if (!elements_add(&queue->elements, element, is_tuple)) {
        if (key.size)
            seen_keys_forget_last(&queue->keys);
        return fail_memory(waiter);
    }
    if (key.size)
        seen_keys_trim(&queue->keys);
    answer_ok(waiter, 0);
    return true;
}

static bool serve_push_many(struct queue *queue, struct waiter *waiter)
{
    if (queue->is_closed) {
        fail_closed(queue, waiter->wait.session, waiter->wait.sequence);
        return true;
    }
    while (waiter->left > 0) {
        weft_bytes rest = waiter->payload;
        bool is_tuple;
        const weft_bytes entry = ops_queue_entry_next(&rest, &is_tuple);
        const weft_bytes element = queue_types_unwrap(&queue->types, entry, &is_tuple);
        if (!has_room(queue, element.size))
            return false;
        if (!elements_add(&queue->elements, element, is_tuple))
            return fail_memory(waiter);
        waiter->payload = rest;
        waiter->left--;
    }
    answer_ok(waiter, 0);
    return true;
}

static bool serve_close(struct queue *queue, struct waiter *waiter)
{
    if (queue->is_closed)
        session_fail(waiter->wait.session, waiter->wait.sequence, WEFT_CANCELLED,
                     "queue '%.*s' is already closed", name_size(queue), queue->resource.name.data);
    else
        answer_ok(waiter, 0);
    queue->is_closed = true;
    return true;
}

static bool serve_giver(struct queue *queue, struct waiter *waiter)
{
    switch (waiter->op) {
    case CALL_QUEUE_PUSH:
        return serve_push(queue, waiter);
    case CALL_QUEUE_PUSH_MANY:
        return serve_push_many(queue, waiter);
    default:
        return serve_close(queue, waiter);
    }
}

// ---- Taking out --------------------------------------------------------------------------------------------

// Where a delivery is one of few, the death of a consumer would use it up for elements that it never saw. Where room is
// limited, elements at consumers would take room that is not there.
bool queue_is_plain(const struct queue *queue)
{
    const struct ops_queue_attributes *limits = &queue->attributes;
    return limits->deliveries_max || limits->capacity >= 0 || limits->capacity_bytes;
}

// Whether an element may lie at a consumer who has not asked for it yet. Not a large one: they would be many
// there, and sent for nothing.
static bool may_go_ahead(const struct queue *queue, const struct element *element)
{
    return !queue_is_plain(queue) && element->size <= CALL_AHEAD_BYTES_MAX;
}

static bool serve_pop(struct queue *queue, struct waiter *waiter)
{
    struct element *element = elements_take(&queue->elements);
    if (!element) {
        if (!is_at_end(queue))
            return false;
        fail_at_end(queue, waiter);
        return true;
    }
    struct session *session = waiter->wait.session;
    if (waiter->flags & CALL_FLAG_AHEAD && !may_go_ahead(queue, element)) {
        elements_return(&queue->elements, element);
        session_fail(session, waiter->wait.sequence, WEFT_CANCELLED, "not ahead of its time");
        return true;
    }
    if (waiter->op == CALL_QUEUE_TAKE) {
        if (queue_lease(queue, session, waiter->wait.sequence, waiter->lease_ms, element))
            return true;
        elements_return(&queue->elements, element);
        return false;
    }
    char *to = session_begin_answer(session, waiter->wait.sequence,
                                    element->is_tuple ? ANSWER_FLAG_TUPLE : 0, element->size);
    if (to) {
        memcpy(to, element->bytes, element->size);
        elements_drop(&queue->elements, element);
    } else {
        elements_return(&queue->elements, element);
    }
    return true;
}

static void put_back(struct queue *queue, struct waiter *waiter)
{
    for (size_t i = 0; i < waiter->gathered.count; i++)
        elements_return(&queue->elements, waiter->gathered.items[i]);
    VEC_FINI(&waiter->gathered);
    waiter->gathered_bytes = 0;
}

void queue_gather(struct waiter *waiter, struct element *element)
{
    waiter->gathered.items[waiter->gathered.count++] = element;
    waiter->gathered_bytes += OPS_QUEUE_ENTRY_BYTES + element->size;
    if (waiter->op == CALL_QUEUE_TAKE_MANY)
        waiter->gathered_bytes += CALL_ITEM_BYTES;
}

static bool lease_gathered(struct queue *queue, const struct waiter *waiter,
                           struct call_item **items)
{
    *items = calloc(waiter->gathered.count, sizeof **items);
    if (*items && queue_lease_many(queue, waiter->wait.session, waiter->gathered.items,
                                   waiter->gathered.count, *items))
        return true;
    free(*items);
    *items = NULL;
    return false;
}

static void answer_gathered(struct queue *queue, struct waiter *waiter)
{
    const size_t size = OPS_QUEUE_COUNT_BYTES + waiter->gathered_bytes;
    struct session *session = waiter->wait.session;
    struct call_item *items = NULL;
    char *to = NULL;
    if (size > CALL_BYTES_MAX)
        session_fail(session, waiter->wait.sequence, WEFT_RESOURCE_EXHAUSTED,
                     "%zu elements together have %zu bytes, an answer at most %u: ask for fewer",
                     waiter->gathered.count, size, CALL_BYTES_MAX);
    else if (waiter->op == CALL_QUEUE_TAKE_MANY && !lease_gathered(queue, waiter, &items))
        fail_memory(waiter);
    else
        to = session_begin_answer(session, waiter->wait.sequence, 0, size);
    if (!to) {
        if (!items)  // else they come back with the session, which is broken
            put_back(queue, waiter);
        free(items);
        return;
    }
    const uint32_t count = (uint32_t)waiter->gathered.count;
    to = ops_queue_count_put(to, count);
    for (uint32_t i = 0; i < count; i++) {
        struct element *element = waiter->gathered.items[i];
        if (items)
            to = ops_queue_item_put(to, &items[i]);
        to = ops_queue_entry_put(to, element_bytes(element), element->is_tuple);
        if (!items)
            elements_drop(&queue->elements, element);
    }
    free(items);
    VEC_FINI(&waiter->gathered);
}

// More than an answer may hold: it need not wait for the rest to be refused.
static bool has_too_much(const struct waiter *waiter)
{
    return OPS_QUEUE_COUNT_BYTES + waiter->gathered_bytes > CALL_BYTES_MAX;
}

static bool serve_pop_many(struct queue *queue, struct waiter *waiter)
{
    while (waiter->gathered.count < waiter->wanted && !has_too_much(waiter) &&
           VEC_NEXT(&waiter->gathered)) {
        struct element *element = elements_take(&queue->elements);
        if (!element)
            break;
        queue_gather(waiter, element);
    }
    // Pushes that still wait after the close bring nothing more.
    const bool will_do =
        waiter->flags & CALL_FLAG_UP_TO && queue->is_closed && waiter->gathered.count > 0;
    if (waiter->gathered.count == waiter->wanted || will_do || has_too_much(waiter)) {
        answer_gathered(queue, waiter);
        return true;
    }
    if (!is_at_end(queue))
        return false;
    put_back(queue, waiter);
    fail_at_end(queue, waiter);
    return true;
}

static bool serve_taker(struct queue *queue, struct waiter *waiter)
{
    return is_for_many(waiter->op) ? serve_pop_many(queue, waiter) : serve_pop(queue, waiter);
}

// ---- The lines ---------------------------------------------------------------------------------------------

static void end_waiter(struct queue *queue, struct waiter *waiter)
{
    list_take_out(&waiter->in_line);
    if (is_giver(waiter->op))
        queue->giver_count--;
    else
        queue->taker_count--;
    session_drop_wait(&waiter->wait);
    VEC_FINI(&waiter->gathered);
    free(waiter);
}

static struct waiter *first_of(const struct link *line)
{
    return list_is_empty(line) ? NULL : LIST_ITEM(line->next, struct waiter, in_line);
}

// Serves the first of a line; true when there was any progress. What arrived by half counts as some:
// room that a half-served giver used may be what a taker waits for.
static bool move_line(struct queue *queue, const struct link *line,
                      bool serve(struct queue *, struct waiter *))
{
    struct waiter *first = first_of(line);
    if (!first)
        return false;
    const uint32_t left = first->left;
    const size_t gathered = first->gathered.count;
    if (!serve(queue, first))
        return first->left != left || first->gathered.count != gathered;
    end_waiter(queue, first);
    return true;
}

void queue_settle(struct queue *queue)
{
    bool has_moved = !queue->resource.is_removed;
    while (has_moved) {
        has_moved = move_line(queue, &queue->givers, serve_giver);
        has_moved |= move_line(queue, &queue->takers, serve_taker);
    }
}

struct waiter *queue_add_waiter(struct queue *queue, struct session *session,
                                const struct call *call, weft_bytes payload)
{
    struct waiter *waiter = calloc(1, sizeof *waiter + payload.size);
    if (!waiter) {
        session_fail(session, call->sequence, WEFT_RESOURCE_EXHAUSTED,
                     "no memory for a call that waits");
        return NULL;
    }
    if (!session_add_wait(session, &queue->resource, call->sequence, &waiter->wait)) {
        free(waiter);
        return NULL;
    }
    waiter->op = call->op;
    waiter->flags = call->flags;
    if (payload.size)
        memcpy(waiter->memory, payload.data, payload.size);
    waiter->payload = (weft_bytes){waiter->memory, payload.size};
    const bool gives = is_giver(call->op);
    list_append(gives ? &queue->givers : &queue->takers, &waiter->in_line);
    *(gives ? &queue->giver_count : &queue->taker_count) += 1;
    return waiter;
}

// Tries at once when no call is before it in its line, waits otherwise.
static void try_or_wait(struct queue *queue, struct waiter *now, const struct call *call)
{
    const bool gives = is_giver(call->op);
    const bool is_first = (gives ? queue->giver_count : queue->taker_count) == 0;
    const bool is_served = is_first && (gives ? serve_giver(queue, now) : serve_taker(queue, now));
    struct waiter *waiter =
        is_served ? NULL : queue_add_waiter(queue, now->wait.session, call, now->payload);
    if (waiter) {
        waiter->wanted = now->wanted;
        waiter->lease_ms = now->lease_ms;
        waiter->left = now->left;
        waiter->gathered.items = now->gathered.items;
        waiter->gathered.count = now->gathered.count;
        waiter->gathered.capacity = now->gathered.capacity;
        waiter->gathered_bytes = now->gathered_bytes;
    } else {
        put_back(queue, now);  // nothing, unless it may not wait; the elements that it put in stay
    }
    if (gives ? queue->taker_count : queue->giver_count)
        queue_settle(queue);
}

// ---- Calls ---------------------------------------------------------------------------------------------------

static const char *words_of(uint8_t op)
{
    switch (op) {
    case CALL_QUEUE_PUSH:
        return "the push to";
    case CALL_QUEUE_PUSH_MANY:
        return "the push of several to";
    case CALL_QUEUE_POP_MANY:
    case CALL_QUEUE_TAKE_MANY:
        return "the take of several from";
    case CALL_QUEUE_CLOSE:
        return "the closing of";
    default:
        return "the take from";
    }
}

static bool refuse(const struct queue *queue, struct session *session, const struct call *call,
                   const char *why)
{
    session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT, "%s '%.*s': %s",
                 words_of(call->op), name_size(queue), queue->resource.name.data, why);
    return false;
}

static bool check_element(const struct queue *queue, struct session *session,
                          const struct call *call, weft_bytes element, bool is_tuple)
{
    const uint64_t limit = queue->attributes.capacity_bytes;
    const weft_err err = err_wrap(queue_types_check(&queue->types, element, is_tuple),
                                  "queue '%.*s'", name_size(queue), queue->resource.name.data);
    if (err) {
        session_fail_by_err(session, call->sequence, err);
        return false;
    }
    const size_t size = queue_types_unwrap(&queue->types, element, &is_tuple).size;
    if (limit == 0 || size <= limit)
        return true;
    session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT,
                 "an element of %zu bytes never fits into queue '%.*s' of %" PRIu64 " bytes", size,
                 name_size(queue), queue->resource.name.data, limit);
    return false;
}

static bool check_push(const struct queue *queue, struct session *session, const struct call *call)
{
    struct ops_queue_push push;
    if (!ops_queue_push_decode(call->payload, call->flags, &push))
        return refuse(queue, session, call, "the key is empty or cut");
    return check_element(queue, session, call, push.element, push.is_tuple);
}

// Reads a list whose entries are all whole.
static bool check_push_many(const struct queue *queue, struct session *session,
                            const struct call *call, struct ops_queue_list *list)
{
    if (!ops_queue_push_many_decode(call->payload, list))
        return refuse(queue, session, call, "the call is cut");
    weft_bytes rest = list->entries, element;
    for (uint32_t i = 0; i < list->count; i++) {
        bool is_tuple;
        if (!ops_queue_popped_next(&rest, &is_tuple, &element))
            return refuse(queue, session, call, "its elements are cut");
        if (!check_element(queue, session, call, element, is_tuple))
            return false;
    }
    return rest.size == 0 || refuse(queue, session, call, "bytes follow its elements");
}

// Nearly all pushes are like this: one string without a key, no call before it, and room. False: nothing
// happened, and the long way says why or waits.
static bool push_at_once(struct queue *queue, struct session *session, const struct call *call)
{
    if (call->op != CALL_QUEUE_PUSH || call->flags || queue->types.declared || queue->is_closed ||
        queue->giver_count || !has_room(queue, call->payload.size) ||
        !elements_add(&queue->elements, call->payload, false))
        return false;
    session_answer(session, call->sequence, 0, weft_none());
    if (queue->taker_count)
        queue_settle(queue);
    return true;
}

void queue_push(struct queue *queue, struct session *session, const struct call *call)
{
    if (push_at_once(queue, session, call))
        return;
    struct waiter now = {
        .wait = {.session = session, .resource = &queue->resource, .sequence = call->sequence},
        .op = call->op,
        .flags = call->flags,
        .payload = call->payload,
    };
    if (call->op == CALL_QUEUE_PUSH) {
        if (!check_push(queue, session, call))
            return;
        const weft_bytes key = read_push(call->payload, call->flags).key;
        if (key.size && seen_keys_have(&queue->keys, key)) {
            answer_ok(&now, ANSWER_FLAG_SEEN);  // out of turn: it changes nothing
            return;
        }
    } else {
        struct ops_queue_list list;
        if (!check_push_many(queue, session, call, &list))
            return;
        now.payload = list.entries;
        now.left = list.count;
        if (now.left == 0) {
            answer_ok(&now, 0);
            return;
        }
    }
    try_or_wait(queue, &now, call);
}

void queue_pop(struct queue *queue, struct session *session, const struct call *call)
{
    bool is_whole = true;
    struct waiter now = {
        .wait = {.session = session, .resource = &queue->resource, .sequence = call->sequence},
        .op = call->op,
        .flags = call->flags,
    };
    if (call->op == CALL_QUEUE_TAKE) {
        struct ops_queue_take take;
        is_whole = ops_queue_take_decode(call, &take);
        now.lease_ms = take.lease_ms;
    } else if (is_for_many(call->op)) {
        struct ops_queue_take_many many;
        is_whole = ops_queue_take_many_decode(call, &many);
        now.wanted = many.count;
        if (now.wanted > INT32_MAX) {
            refuse(queue, session, call, "a negative number of elements");
            return;
        }
        if (!queue->types.has_shapes) {
            refuse(queue, session, call,
                   "many at once need a queue that declares the shapes of all components");
            return;
        }
        if (now.wanted == 0 && is_whole) {
            char none[OPS_QUEUE_COUNT_BYTES];
            ops_queue_count_put(none, 0);
            session_answer(session, call->sequence, 0, (weft_bytes){none, sizeof none});
            return;
        }
    }
    if (!is_whole)
        refuse(queue, session, call, "the call is cut");
    else if (call->flags & CALL_FLAG_AHEAD && session->wait_count >= SESSION_WAITS_MAX / 2)
        session_fail(session, call->sequence, WEFT_CANCELLED, "too many calls wait already");
    else
        try_or_wait(queue, &now, call);
}

void queue_close(struct queue *queue, struct session *session, const struct call *call)
{
    struct waiter now = {
        .wait = {.session = session, .resource = &queue->resource, .sequence = call->sequence},
        .op = call->op,
        .flags = call->flags,
    };
    if (!(call->flags & CALL_FLAG_CANCEL_PENDING)) {
        try_or_wait(queue, &now, call);
        return;
    }
    for (struct waiter *first; (first = first_of(&queue->givers)) != NULL;) {
        fail_closed(queue, first->wait.session, first->wait.sequence);
        end_waiter(queue, first);
    }
    queue->is_closed = true;
    answer_ok(&now, 0);
    queue_settle(queue);
}

void queue_cancel(struct wait *wait, weft_err code, const char *why)
{
    struct waiter *waiter = (struct waiter *)wait;
    struct queue *queue = (struct queue *)wait->resource;
    session_fail(wait->session, wait->sequence, code, "%s '%.*s' has ended: %s",
                 words_of(waiter->op), name_size(queue), queue->resource.name.data, why);
    put_back(queue, waiter);
    end_waiter(queue, waiter);
    queue_settle(queue);
}
