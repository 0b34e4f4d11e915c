// Leases of a queue: an element that is taken is done with, given back, or comes back by itself.

#include <inttypes.h>
#include <stdio.h>

#include "resource/queue/queue.h"

// What happens by the clock, in the journal: u8 what, u32 slot of the lease.
enum { NOTE_LEASE_ENDED = 1, NOTE_BYTES = 5 };

static uint8_t flags_of(const struct queue *queue, const struct element *element)
{
    return (element->is_tuple ? ANSWER_FLAG_TUPLE : 0) |
           (queue->attributes.deliveries_max ? ANSWER_FLAG_LIMITED : 0) |
           (queue_is_plain(queue) ? ANSWER_FLAG_PLAIN : 0);
}

// A lease of the element for a session; NULL: out of memory, and nothing happened.
static struct lease *begin_lease(struct queue *queue, struct element *element, uint32_t lease_ms)
{
    struct lease *lease = leases_add(&queue->leases, element);
    if (!lease || leases_set_end(&queue->leases, lease, lease_ms, host_time(queue->resource.host)))
        return lease;
    leases_drop(&queue->leases, lease);
    return NULL;
}

static struct call_item hand_over(struct queue *queue, struct session *session, struct lease *lease)
{
    struct element *element = lease->element;
    element->deliveries++;
    lease->holding.order = element->id;
    session_add_holding(session, &queue->resource, &lease->holding);
    return (struct call_item){queue->resource.uid, element->id, lease->slot, element->deliveries};
}

bool queue_lease(struct queue *queue, struct session *session, uint64_t sequence, uint32_t lease_ms,
                 struct element *element)
{
    struct lease *lease = begin_lease(queue, element, lease_ms);
    if (!lease)
        return false;
    char *to = session_begin_answer(session, sequence, flags_of(queue, element),
                                    CALL_ITEM_BYTES + element->size);
    if (!to) {
        leases_drop(&queue->leases, lease);
        return false;
    }
    ops_queue_taken_put(to, &(struct ops_queue_taken){.item = hand_over(queue, session, lease),
                                                      .element = element_bytes(element)});
    return true;
}

bool queue_lease_many(struct queue *queue, struct session *session, struct element **elements,
                      size_t count, struct call_item *items)
{
    for (size_t i = 0; i < count; i++) {
        struct lease *lease = begin_lease(queue, elements[i], 0);
        if (!lease) {
            while (i-- > 0)
                leases_drop(&queue->leases, leases_find(&queue->leases, items[i].slot));
            return false;
        }
        items[i].slot = lease->slot;
    }
    for (size_t i = 0; i < count; i++)
        items[i] = hand_over(queue, session, leases_find(&queue->leases, items[i].slot));
    return true;
}

// ---- How a lease ends --------------------------------------------------------------------------------------

// Why an element was not done.
struct why {
    uint64_t when_s;  // 0: not known; a host has no calendar, only its callers have
    weft_bytes reason;
    char words[SESSION_MEMBER_BYTES + 32];  // where the reason may be
};

// It was not done for what became of its consumer.
static void blame_holder(struct why *why, const struct session *session, const char *what)
{
    snprintf(why->words, sizeof why->words, "%s %s",
             session->member[0] ? session->member : "its consumer", what);
    why->reason = weft_text(why->words);
}

static struct element *drop_lease(struct queue *queue, struct lease *lease)
{
    struct element *element = lease->element;
    if (lease->holding.session)
        session_drop_holding(&lease->holding);
    leases_drop(&queue->leases, lease);
    return element;
}

// The queue NAME.dead beside this one, of the same types unless a client has made it otherwise; NULL: it
// cannot be.
static struct queue *open_dead_letters(const struct queue *queue)
{
    const struct resource *resource = &queue->resource;
    const weft_bytes container = {resource->key.data + 1,
                                  resource->key.size - resource->name.size - 2};
    char name[CALL_NAME_BYTES_MAX + 8];
    const int size =
        snprintf(name, sizeof name, "%.*s.dead", (int)resource->name.size, resource->name.data);
    const weft_bytes dead_name = {name, (size_t)size}, signature = queue->attributes.signature;
    struct resource *dead = NULL;
    struct buf attributes = {0};
    if (signature.size)
        ops_queue_attributes_encode(
            &attributes, &(struct ops_queue_attributes){.capacity = -1, .signature = signature});
    if (host_open_resource(resource->host, CALL_KIND_QUEUE, container, dead_name,
                           buf_bytes(&attributes), &dead) &&
        host_open_resource(resource->host, CALL_KIND_QUEUE, container, dead_name, weft_none(),
                           &dead))
        dead = NULL;
    err_clear();
    buf_fini(&attributes);
    return (struct queue *)dead;
}

// Moves the element to the dead letters; false: it stays here, as nothing may get lost.
static bool bury(struct queue *queue, struct element *element, const struct why *why)
{
    struct queue *letters = open_dead_letters(queue);
    const struct element *letter =
        letters ? elements_add(&letters->elements, element_bytes(element), element->is_tuple)
                : NULL;
    if (!letter)
        return false;
    const struct queue_note note = {
        .id = letter->id,
        .origin = queue->resource.uid,
        .origin_id = element->id,
        .when_s = why->when_s,
        .deliveries = element->deliveries,
        .size = (uint32_t)why->reason.size,
        .reason = (char *)why->reason.data,
    };
    queue_note_add(letters, &note);
    queue_note_drop(queue, element->id);
    elements_drop(&queue->elements, element);
    queue_settle(letters);
    return true;
}

static bool has_had_its_chances(const struct queue *queue, const struct element *element)
{
    const uint32_t max = queue->attributes.deliveries_max;
    return max && element->deliveries >= max;
}

// The element of a lease that ended without being done: back to the front, or, true, to the dead letters.
static bool return_element(struct queue *queue, struct element *element, bool is_unwanted,
                           const struct why *why)
{
    const bool is_dead = is_unwanted || has_had_its_chances(queue, element);
    if (is_dead && !queue->resource.is_removed && bury(queue, element, why))
        return true;
    elements_return(&queue->elements, element);
    return false;
}

// A client that has said goodbye was not lost with it: that was not a try.
void queue_release(struct holding *holding)
{
    struct queue *queue = (struct queue *)holding->resource;
    const bool has_left = holding->session->has_left;
    struct why why = {0};
    blame_holder(&why, holding->session, "was lost");
    struct element *element = drop_lease(queue, (struct lease *)holding);
    element->deliveries -= has_left;
    return_element(queue, element, false, &why);
    queue_settle(queue);
}

// ---- By the clock --------------------------------------------------------------------------------------------

uint64_t queue_next_deadline(const struct resource *resource)
{
    const struct lease *first = leases_first_to_end(&((const struct queue *)resource)->leases);
    return first ? first->deadline_ms : UINT64_MAX;
}

static void end_lease_by_clock(struct queue *queue, struct lease *lease)
{
    const struct why why = {.reason = weft_text("its lease has ended")};
    return_element(queue, drop_lease(queue, lease), false, &why);
    queue_settle(queue);
}

void queue_expire(struct resource *resource, uint64_t now_ms)
{
    struct queue *queue = (struct queue *)resource;
    struct lease *first;
    while ((first = leases_first_to_end(&queue->leases)) != NULL && first->deadline_ms <= now_ms) {
        char note[NOTE_BYTES] = {NOTE_LEASE_ENDED};
        memcpy(note + 1, &first->slot, sizeof first->slot);
        if (!host_note(resource, (weft_bytes){note, sizeof note}))
            return;
        end_lease_by_clock(queue, first);
    }
}

weft_err queue_replay(struct resource *resource, weft_bytes note)
{
    struct queue *queue = (struct queue *)resource;
    uint32_t slot = 0;
    if (note.size >= NOTE_BYTES)
        memcpy(&slot, note.data + 1, sizeof slot);
    struct lease *lease = note.size >= NOTE_BYTES ? leases_find(&queue->leases, slot) : NULL;
    if (!lease || note.data[0] != NOTE_LEASE_ENDED)
        return err_set(WEFT_DATA_LOSS, "the journal ends a lease that is not there");
    end_lease_by_clock(queue, lease);
    return WEFT_OK;
}

// ---- By the holder -------------------------------------------------------------------------------------------

// The lease that a call names, if it is still the caller's; else NULL, and it is answered.
static struct lease *find_lease(struct queue *queue, struct session *session,
                                const struct call *call, const struct call_item *item)
{
    if (item->queue != queue->resource.uid) {
        session_fail(session, call->sequence, WEFT_ABORTED,
                     "element %" PRIu64 " is of another queue than '%.*s'", item->id,
                     (int)queue->resource.name.size, queue->resource.name.data);
        return NULL;
    }
    struct lease *lease = leases_find(&queue->leases, item->slot);
    if (lease && lease->holding.session == session && lease->element->id == item->id &&
        lease->element->deliveries == item->delivery)
        return lease;
    session_fail(session, call->sequence, WEFT_ABORTED,
                 "the lease on element %" PRIu64 " of '%.*s' has ended: another member may have it",
                 item->id, (int)queue->resource.name.size, queue->resource.name.data);
    return NULL;
}

// A lease without a holder until the delay is over: the element is neither stored nor lost.
static bool delay(struct queue *queue, struct lease *lease, uint32_t delay_ms)
{
    if (delay_ms == 0 || has_had_its_chances(queue, lease->element) ||
        !leases_set_end(&queue->leases, lease, delay_ms, host_time(queue->resource.host)))
        return false;
    session_drop_holding(&lease->holding);
    return true;
}

// True: it is with the dead letters now.
static bool give_back(struct queue *queue, const struct session *session, struct lease *lease,
                      const struct ops_queue_settle *wish)
{
    if (wish->is_unbegun) {
        lease->element->deliveries--;
        elements_return(&queue->elements, drop_lease(queue, lease));
        return false;
    }
    struct why why = {.when_s = wish->when_s, .reason = wish->reason};
    if (why.reason.size == 0)
        blame_holder(&why, session, "has failed it");
    return (wish->is_buried || !delay(queue, lease, wish->ms)) &&
           return_element(queue, drop_lease(queue, lease), wish->is_buried, &why);
}

void queue_settle_lease(struct queue *queue, struct session *session, const struct call *call)
{
    struct ops_queue_settle wish;
    if (!ops_queue_settle_decode(call, &wish)) {
        session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT, "%s: the call is cut",
                     call_op_name(call->op));
        return;
    }
    struct lease *lease = find_lease(queue, session, call, &wish.item);
    bool is_buried = false;
    if (!lease)
        return;
    if (call->op == CALL_QUEUE_EXTEND)
        leases_set_end(&queue->leases, lease, wish.ms, host_time(queue->resource.host));
    else if (call->op == CALL_QUEUE_DONE)
        elements_drop(&queue->elements, drop_lease(queue, lease));
    else
        is_buried = give_back(queue, session, lease, &wish);
    session_answer(session, call->sequence, is_buried ? ANSWER_FLAG_BURIED : 0, weft_none());
    if (queue->taker_count)
        queue_settle(queue);
}
