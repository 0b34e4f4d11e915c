// The queue as a kind of resource: its attributes, and which call is whose business.

#include "resource/queue/queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"

enum { PEEK_BYTES_MAX = 16 << 20, LIMIT_TEXT_BYTES = 64 };

// ---- Attributes ---------------------------------------------------------------------------------------

static weft_err read_attributes(weft_bytes bytes, struct ops_queue_attributes *attributes)
{
    if (!ops_queue_attributes_decode(bytes, attributes))
        return err_set(WEFT_INVALID_ARGUMENT, "the attributes of a queue are cut");
    if (attributes->capacity == 0)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "a queue of capacity 0 could hold nothing; a negative one has no limit");
    return queue_types_check_signature(&attributes->signature);
}

// Gives the queue attributes instead of those it has; it keeps these where that fails.
static weft_err set_attributes(struct queue *queue, struct ops_queue_attributes attributes)
{
    char *signature = malloc(attributes.signature.size + 1);
    struct queue_types types;
    if (signature && attributes.signature.size)
        memcpy(signature, attributes.signature.data, attributes.signature.size);
    attributes.signature.data = signature;
    if (!signature || !queue_types_init(&types, attributes.signature)) {
        free(signature);
        return err_no_memory("for a queue");
    }
    queue_types_fini(&queue->types);
    free((char *)queue->attributes.signature.data);
    queue->types = types;
    queue->attributes = attributes;
    return WEFT_OK;
}

static struct resource *make_queue(weft_bytes wish, weft_err *err)
{
    struct ops_queue_attributes attributes;
    const bool is_declared = wish.size > 0;
    *err = read_attributes(wish, &attributes);
    if (*err)
        return NULL;
    struct queue *queue = calloc(1, sizeof *queue);
    *err = queue ? set_attributes(queue, attributes) : err_no_memory("for a queue");
    if (*err) {
        free(queue);
        return NULL;
    }
    queue->is_declared = is_declared;
    list_init(&queue->givers);
    list_init(&queue->takers);
    seen_keys_init(&queue->keys);
    return &queue->resource;
}

static void free_queue(struct resource *resource)
{
    struct queue *queue = (struct queue *)resource;
    leases_fini(&queue->leases);
    elements_fini(&queue->elements);
    seen_keys_fini(&queue->keys);
    queue_notes_fini(&queue->notes);
    queue_types_fini(&queue->types);
    free((char *)queue->attributes.signature.data);
    free(queue);
}

static weft_err refuse_other_types(const struct queue *queue)
{
    return err_set(WEFT_INVALID_ARGUMENT,
                   "the queue '%.*s' has elements of other component types than asked for",
                   (int)queue->resource.name.size, queue->resource.name.data);
}

// A taker may come before the member that knows the limits of the queue. The elements of the queue then stay, though they
// may be more than the capacity; their types cannot change.
static weft_err declare(struct queue *queue, const struct ops_queue_attributes *wish)
{
    if (queue->elements.last_id > 0 && wish->signature.size > 0)
        return refuse_other_types(queue);
    const weft_err err = set_attributes(queue, *wish);
    queue->is_declared = !err;
    return err;
}

// "a limit of 3 items", "no limit of items"
static void write_limit(char text[LIMIT_TEXT_BYTES], uint64_t limit, const char *of)
{
    if (limit)
        snprintf(text, LIMIT_TEXT_BYTES, "a limit of %" PRIu64 " %s", limit, of);
    else
        snprintf(text, LIMIT_TEXT_BYTES, "no limit of %s", of);
}

// Limits of 0 are none.
static weft_err match_limit(const struct queue *queue, uint64_t here, uint64_t wish, const char *of)
{
    char has[LIMIT_TEXT_BYTES], asked[LIMIT_TEXT_BYTES];
    if (here == wish)
        return WEFT_OK;
    write_limit(has, here, of);
    write_limit(asked, wish, of);
    return err_set(WEFT_INVALID_ARGUMENT,
                   "the queue '%.*s' has %s, and was asked for with %s\n"
                   "  try: the limits that the queue has, or none",
                   (int)queue->resource.name.size, queue->resource.name.data, has, asked);
}

static uint64_t limit_of(int64_t capacity)
{
    return capacity < 0 ? 0 : (uint64_t)capacity;
}

static weft_err match_queue(struct resource *resource, weft_bytes attributes)
{
    struct queue *queue = (struct queue *)resource;
    const struct ops_queue_attributes *here = &queue->attributes;
    struct ops_queue_attributes wish;
    weft_err err = read_attributes(attributes, &wish);
    if (err)
        return err;
    if (!queue->is_declared)
        return declare(queue, &wish);
    err = match_limit(queue, limit_of(here->capacity), limit_of(wish.capacity), "items");
    if (!err)
        err = match_limit(queue, here->capacity_bytes, wish.capacity_bytes, "bytes");
    if (!err)
        err = match_limit(queue, here->deliveries_max, wish.deliveries_max, "deliveries");
    if (!err && !bytes_equal(here->signature, wish.signature))
        err = refuse_other_types(queue);
    return err;
}

static void describe_queue(const struct resource *resource, struct buf *out)
{
    ops_queue_attributes_encode(out, &((const struct queue *)resource)->attributes);
}

// ---- Questions -------------------------------------------------------------------------------------------

static void answer_state(const struct queue *queue, struct session *session,
                         const struct call *call)
{
    struct buf answer = {0};
    ops_queue_state_encode(&answer, &(struct ops_queue_state){
                                        .count = queue->elements.count,
                                        .bytes = queue->elements.bytes,
                                        .last_id = queue->elements.last_id,
                                        .leases = queue->leases.count,
                                        .givers = queue->giver_count,
                                        .takers = queue->taker_count,
                                        .is_closed = queue->is_closed,
                                    });
    session_answer(session, call->sequence, 0, buf_bytes(&answer));
    buf_fini(&answer);
}

static void append_note(struct buf *answer, const struct queue_note *note)
{
    const struct ops_queue_note told = note ? queue_note_as_told(note) : (struct ops_queue_note){0};
    ops_queue_peeked_note_encode(answer, note ? &told : NULL);
}

static void answer_peek(const struct queue *queue, struct session *session, const struct call *call)
{
    struct ops_queue_peek wish;
    uint32_t left = ops_queue_peek_decode(call, &wish) ? wish.count : 0;
    struct buf answer = {0};
    struct elements_walk walk = {0};
    const struct element *element;
    while (left-- > 0 && (element = elements_next(&queue->elements, &walk)) != NULL) {
        if (answer.size > 0 && answer.size + element->size > PEEK_BYTES_MAX)
            break;
        ops_queue_stored_encode(
            &answer, &(struct ops_queue_stored){element->id, element->deliveries, element->is_tuple,
                                                element_bytes(element)});
        if (wish.with_notes)
            append_note(&answer, queue_note_find(queue, element->id));
    }
    elements_end_walk(&walk);
    session_answer(session, call->sequence, 0, buf_bytes(&answer));
    buf_fini(&answer);
}

static void apply_to_queue(struct resource *resource, struct session *session,
                           const struct call *call)
{
    struct queue *queue = (struct queue *)resource;
    switch (call->op) {
    case CALL_QUEUE_PUSH:
    case CALL_QUEUE_PUSH_MANY:
        queue_push(queue, session, call);
        break;
    case CALL_QUEUE_POP:
    case CALL_QUEUE_POP_MANY:
    case CALL_QUEUE_TAKE_MANY:
    case CALL_QUEUE_TAKE:
        queue_pop(queue, session, call);
        break;
    case CALL_QUEUE_DONE:
    case CALL_QUEUE_GIVE_BACK:
    case CALL_QUEUE_EXTEND:
        queue_settle_lease(queue, session, call);
        break;
    case CALL_QUEUE_RETRY:
        queue_retry(queue, session, call);
        break;
    case CALL_QUEUE_CLOSE:
        queue_close(queue, session, call);
        break;
    case CALL_QUEUE_STATE:
        answer_state(queue, session, call);
        break;
    case CALL_QUEUE_PEEK:
        answer_peek(queue, session, call);
        break;
    default:
        session_fail_unknown(session, call, "queue");
    }
}

static bool is_blank_queue(const struct resource *resource)
{
    const struct queue *queue = (const struct queue *)resource;
    return !queue->is_declared && !queue->is_closed && queue->elements.last_id == 0 &&
           queue->giver_count == 0 && queue->taker_count == 0;
}

static void tell_queue(const struct resource *resource, struct buf *text)
{
    const struct queue *queue = (const struct queue *)resource;
    const uint64_t taken = queue->leases.count, count = queue->elements.count + taken;
    buf_format(text, "%" PRIu64 " element%s", count, count == 1 ? "" : "s");
    if (taken)
        buf_format(text, ", %" PRIu64 " of them taken", taken);
    if (queue->is_closed)
        buf_append_text(text, ", closed");
}

const struct resource_kind queue_kind = {
    .number = CALL_KIND_QUEUE,
    .name = "queue",
    .make = make_queue,
    .match = match_queue,
    .apply = apply_to_queue,
    .cancel = queue_cancel,
    .release = queue_release,
    .is_blank = is_blank_queue,
    .next_deadline = queue_next_deadline,
    .expire = queue_expire,
    .replay = queue_replay,
    .describe = describe_queue,
    .save = queue_save,
    .load = queue_load,
    .tell = tell_queue,
    .free = free_queue,
};
