// A queue in a snapshot: its attributes, its elements, the keys it has seen, its leases, the calls that wait.

#include <stdlib.h>

#include "resource/queue/queue.h"
#include "wire/pack.h"

enum { PART_BYTES = 1 << 20 };
enum { HEAD_CLOSED = 1, HEAD_UNDECLARED = 2 };  // flags
enum {
    PART_HEAD = 1,
    PART_ELEMENTS,
    PART_KEYS,
    PART_LEASES,
    PART_WAITERS,
    PART_NOTES,  // without their origins, as earlier snapshots have them
    PART_NOTES_AND_ORIGINS
};

// ---- Saving ------------------------------------------------------------------------------------------------

// A part that is handed on whenever it is large enough.
struct part {
    struct host_saver *saver;
    struct buf bytes;
    uint8_t kind;
    weft_err err;
};

static void begin(struct part *part, uint8_t kind)
{
    part->kind = kind;
    part->bytes.size = 0;
    pack_write_u8(&part->bytes, kind);
}

static void hand_on(struct part *part)
{
    if (!part->err && part->bytes.has_failed)
        part->err = err_no_memory("for a snapshot");
    if (!part->err && part->bytes.size > 1)
        part->err = host_save_part(part->saver, buf_bytes(&part->bytes));
    begin(part, part->kind);
}

static void hand_on_if_large(struct part *part)
{
    if (part->bytes.size >= PART_BYTES)
        hand_on(part);
}

static void write_element(struct buf *out, const struct element *element)
{
    ops_queue_stored_encode(out,
                            &(struct ops_queue_stored){element->id, element->deliveries,
                                                       element->is_tuple, element_bytes(element)});
}

static void save_elements(const struct queue *queue, struct part *part)
{
    struct elements_walk walk = {0};
    const struct element *element;
    begin(part, PART_ELEMENTS);
    while ((element = elements_next(&queue->elements, &walk)) != NULL) {
        write_element(&part->bytes, element);
        hand_on_if_large(part);
    }
    elements_end_walk(&walk);
    hand_on(part);
}

static void save_keys(const struct queue *queue, struct part *part)
{
    begin(part, PART_KEYS);
    for (size_t i = 0; i < queue->keys.count; i++) {
        pack_write_text(&part->bytes, seen_keys_at(&queue->keys, i));
        hand_on_if_large(part);
    }
    hand_on(part);
}

static void save_leases(const struct queue *queue, struct part *part)
{
    begin(part, PART_LEASES);
    for (size_t i = 0; i < queue->leases.slots.count; i++) {
        const struct lease *lease = queue->leases.slots.items[i];
        if (!lease)
            continue;
        const struct session *holder = lease->holding.session;
        pack_write_u32(&part->bytes, lease->slot);
        pack_write_u32(&part->bytes, lease->duration_ms);
        pack_write_u32(&part->bytes, holder ? holder->number : 0);
        write_element(&part->bytes, lease->element);
        hand_on_if_large(part);
    }
    hand_on(part);
}

static void save_note(struct queue_note *note, void *owner)
{
    struct part *part = owner;
    const struct ops_queue_note told = queue_note_as_told(note);
    pack_write_u64(&part->bytes, note->id);
    ops_queue_note_encode(&part->bytes, &told);
    pack_write_u64(&part->bytes, note->origin);
    pack_write_u64(&part->bytes, note->origin_id);
    hand_on_if_large(part);
}

static void save_notes(const struct queue *queue, struct part *part)
{
    begin(part, PART_NOTES_AND_ORIGINS);
    queue_notes_visit(queue, save_note, part);
    hand_on(part);
}

static void save_line(const struct link *line, struct part *part)
{
    begin(part, PART_WAITERS);
    for (const struct link *at = line->next; at != line; at = at->next) {
        const struct waiter *waiter = LIST_ITEM(at, struct waiter, in_line);
        struct buf *out = &part->bytes;
        pack_write_u32(out, waiter->wait.session->number);
        pack_write_u64(out, waiter->wait.sequence);
        pack_write_u8(out, waiter->op);
        pack_write_u8(out, waiter->flags);
        pack_write_u32(out, waiter->wanted);
        pack_write_u32(out, waiter->lease_ms);
        pack_write_u32(out, waiter->left);
        pack_write_blob(out, waiter->payload);
        pack_write_u32(out, (uint32_t)waiter->gathered.count);
        for (size_t i = 0; i < waiter->gathered.count; i++)
            write_element(out, waiter->gathered.items[i]);
        hand_on_if_large(part);
    }
    hand_on(part);
}

weft_err queue_save(const struct resource *resource, struct host_saver *saver)
{
    const struct queue *queue = (const struct queue *)resource;
    struct part part = {.saver = saver};
    begin(&part, PART_HEAD);
    pack_write_u8(&part.bytes, (queue->is_closed ? HEAD_CLOSED : 0) |
                                   (queue->is_declared ? 0 : HEAD_UNDECLARED));
    pack_write_u64(&part.bytes, queue->elements.last_id);
    hand_on(&part);
    save_elements(queue, &part);
    save_keys(queue, &part);
    save_leases(queue, &part);
    save_line(&queue->givers, &part);
    save_line(&queue->takers, &part);
    save_notes(queue, &part);
    buf_fini(&part.bytes);
    return part.err;
}

// ---- Loading -----------------------------------------------------------------------------------------------

static weft_err refuse(void)
{
    return err_set(WEFT_DATA_LOSS, "the snapshot of a queue does not fit together");
}

static weft_err no_memory(void)
{
    return err_no_memory("for the records of the journal");
}

typedef struct element *restore_fn(struct elements *elements, uint64_t id, uint32_t deliveries,
                                   weft_bytes bytes, bool is_tuple);

static weft_err load_element(struct queue *queue, struct pack_reader *part, restore_fn *restore,
                             struct element **element)
{
    struct ops_queue_stored stored;
    if (!ops_queue_stored_next(&part->rest, &stored) || part->has_failed || stored.id == 0 ||
        stored.id > queue->elements.last_id)
        return refuse();
    *element =
        restore(&queue->elements, stored.id, stored.deliveries, stored.element, stored.is_tuple);
    return *element ? WEFT_OK : no_memory();
}

static weft_err load_elements(struct queue *queue, struct pack_reader *part)
{
    struct element *element;
    return load_element(queue, part, elements_restore, &element);
}

static weft_err load_key(struct queue *queue, struct pack_reader *part)
{
    const weft_bytes key = pack_read_text(part);
    if (part->has_failed || key.size == 0 || seen_keys_have(&queue->keys, key))
        return refuse();
    if (!seen_keys_add(&queue->keys, key, host_seed(queue->resource.host)))
        return no_memory();
    seen_keys_trim(&queue->keys);  // of a journal of before they were bounded
    return WEFT_OK;
}

static weft_err load_lease(struct queue *queue, struct pack_reader *part)
{
    const uint32_t slot = pack_read_u32(part), duration_ms = pack_read_u32(part);
    const uint32_t number = pack_read_u32(part);
    struct host *host = queue->resource.host;
    struct session *holder = number ? host_session_by_number(host, number) : NULL;
    struct element *element;
    const weft_err err = load_element(queue, part, elements_restore_taken, &element);
    if (err)
        return err;
    if ((number && !holder) || slot >= LEASES_MAX || leases_find(&queue->leases, slot))
        return refuse();
    struct lease *lease = leases_add_at(&queue->leases, element, slot);
    if (!lease || !leases_set_end(&queue->leases, lease, duration_ms, host_time(host)))
        return no_memory();
    lease->holding.order = element->id;
    if (holder)
        session_add_holding(holder, &queue->resource, &lease->holding);
    return WEFT_OK;
}

static weft_err load_gathered(struct queue *queue, struct pack_reader *part, struct waiter *waiter)
{
    weft_err err = WEFT_OK;
    uint32_t left = pack_read_u32(part);
    if (left > 0 && left >= waiter->wanted)
        return refuse();
    for (; left > 0 && !err; left--) {
        if (!VEC_NEXT(&waiter->gathered))
            return no_memory();
        struct element *element = NULL;
        err = load_element(queue, part, elements_restore_taken, &element);
        if (!err)
            queue_gather(waiter, element);
    }
    return err;
}

// Values that are used without a check later are checked here.
static bool is_waiter(const struct call *call, uint32_t wanted, uint32_t left)
{
    struct ops_queue_push push;
    switch (call->op) {
    case CALL_QUEUE_PUSH:
        return ops_queue_push_decode(call->payload, call->flags, &push);
    case CALL_QUEUE_PUSH_MANY:
        return left > 0 && ops_queue_has_entries(call->payload, left);
    case CALL_QUEUE_POP_MANY:
    case CALL_QUEUE_TAKE_MANY:
        return wanted > 0 && wanted <= INT32_MAX;
    default:
        return wanted == 0 && (call->op == CALL_QUEUE_POP || call->op == CALL_QUEUE_TAKE ||
                               call->op == CALL_QUEUE_CLOSE);
    }
}

static weft_err load_waiter(struct queue *queue, struct pack_reader *part)
{
    struct session *session = host_session_by_number(queue->resource.host, pack_read_u32(part));
    struct call call = {.sequence = pack_read_u64(part)};
    call.op = pack_read_u8(part);
    call.flags = pack_read_u8(part);
    const uint32_t wanted = pack_read_u32(part), lease_ms = pack_read_u32(part);
    const uint32_t left = pack_read_u32(part);
    call.payload = pack_read_blob(part);
    if (part->has_failed || !session || !is_waiter(&call, wanted, left))
        return refuse();
    struct waiter *waiter = queue_add_waiter(queue, session, &call, call.payload);
    if (!waiter)
        return no_memory();
    waiter->wanted = wanted;
    waiter->lease_ms = lease_ms;
    waiter->left = left;
    return load_gathered(queue, part, waiter);
}

static weft_err load_any_note(struct queue *queue, struct pack_reader *part, bool has_origin)
{
    const uint64_t id = pack_read_u64(part);
    struct ops_queue_note told;
    if (!ops_queue_note_next(&part->rest, &told) || queue_note_find(queue, id))
        return refuse();
    struct queue_note note = {.id = id,
                              .when_s = told.when_s,
                              .deliveries = told.deliveries,
                              .size = (uint32_t)told.reason.size,
                              .reason = (char *)told.reason.data};
    if (has_origin) {
        note.origin = pack_read_u64(part);
        note.origin_id = pack_read_u64(part);
    }
    if (part->has_failed)
        return refuse();
    queue_note_add(queue, &note);
    return WEFT_OK;
}

static weft_err load_note(struct queue *queue, struct pack_reader *part)
{
    return load_any_note(queue, part, false);
}

static weft_err load_note_and_origin(struct queue *queue, struct pack_reader *part)
{
    return load_any_note(queue, part, true);
}

static weft_err load_head(struct queue *queue, struct pack_reader *part)
{
    const uint8_t flags = pack_read_u8(part);
    queue->is_closed = flags & HEAD_CLOSED;
    queue->is_declared = !(flags & HEAD_UNDECLARED);
    queue->elements.last_id = pack_read_u64(part);
    return WEFT_OK;
}

weft_err queue_load(struct resource *resource, struct pack_reader *part)
{
    static weft_err (*const loads[])(struct queue *, struct pack_reader *) = {
        [PART_HEAD] = load_head,
        [PART_ELEMENTS] = load_elements,
        [PART_KEYS] = load_key,
        [PART_LEASES] = load_lease,
        [PART_WAITERS] = load_waiter,
        [PART_NOTES] = load_note,
        [PART_NOTES_AND_ORIGINS] = load_note_and_origin,
    };
    const uint8_t kind = pack_read_u8(part);
    weft_err err = WEFT_OK;
    if (kind == 0 || kind >= sizeof loads / sizeof *loads)
        return refuse();
    while (part->rest.size && !err)
        err = loads[kind]((struct queue *)resource, part);
    return err;
}
