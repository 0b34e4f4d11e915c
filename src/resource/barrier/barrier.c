// barrier: calls wait until there are `count` of them, then all return together.
//
// Its calls are in wire/ops/barrier.h; the call that makes one has to give the count, at least 1.
//
//     saved           u64 generation, {u32 session, u64 sequence} of each call that waits
//
// It counts calls, not members: one member that waits twice fills two places. A call that gives up, or
// loses its session, steps out and is missing; the others keep waiting for another in its place.

#include <stdlib.h>

#include "resource/host.h"
#include "wire/ops/barrier.h"
#include "wire/pack.h"

struct barrier {
    struct resource resource;
    uint32_t count;
    uint32_t waiting_count;
    uint64_t generation;  // how often it has opened
    struct link waits;    // in the order they came
};

struct barrier_wait {
    struct wait wait;
    struct link in_barrier;
};

static struct barrier *barrier_of(struct resource *resource)
{
    return (struct barrier *)resource;
}

static weft_err read_count(weft_bytes bytes, uint32_t *count)
{
    struct ops_barrier_attributes attributes;
    if (bytes.size == 0)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "there is no such barrier yet, and its creator must give the count");
    if (!ops_barrier_attributes_decode(bytes, &attributes))
        return err_set(WEFT_INVALID_ARGUMENT, "a barrier's only attribute is its count, 4 bytes");
    if (attributes.count == 0)
        return err_set(WEFT_INVALID_ARGUMENT, "a barrier is for at least 1, not for 0");
    *count = attributes.count;
    return WEFT_OK;
}

static struct resource *barrier_make(weft_bytes attributes, weft_err *err)
{
    uint32_t count = 0;
    *err = read_count(attributes, &count);
    if (*err)
        return NULL;
    struct barrier *barrier = calloc(1, sizeof *barrier);
    if (!barrier) {
        *err = err_no_memory("for a barrier");
        return NULL;
    }
    barrier->count = count;
    list_init(&barrier->waits);
    return &barrier->resource;
}

static weft_err barrier_match(struct resource *resource, weft_bytes attributes)
{
    const struct barrier *barrier = (const struct barrier *)resource;
    uint32_t count = 0;
    const weft_err err = read_count(attributes, &count);
    if (err || count == barrier->count)
        return err;
    return err_set(WEFT_INVALID_ARGUMENT, "the barrier '%.*s' is for %u, not for %u",
                   (int)resource->name.size, resource->name.data, barrier->count, count);
}

static bool add_wait(struct barrier *barrier, struct session *session, uint64_t sequence)
{
    struct barrier_wait *wait = calloc(1, sizeof *wait);
    if (!wait) {
        session_fail(session, sequence, WEFT_RESOURCE_EXHAUSTED, "no memory for a call that waits");
        return false;
    }
    if (!session_add_wait(session, &barrier->resource, sequence, &wait->wait)) {
        free(wait);
        return false;
    }
    list_append(&barrier->waits, &wait->in_barrier);
    barrier->waiting_count++;
    return true;
}

static void drop_wait(struct barrier *barrier, struct barrier_wait *wait)
{
    session_drop_wait(&wait->wait);
    list_take_out(&wait->in_barrier);
    barrier->waiting_count--;
    free(wait);
}

static void open_barrier(struct barrier *barrier)
{
    char answer[OPS_BARRIER_OPENED_BYTES];
    barrier->generation++;
    ops_barrier_opened_put(answer, &(struct ops_barrier_opened){barrier->generation});
    while (!list_is_empty(&barrier->waits)) {
        struct barrier_wait *wait = LIST_ITEM(barrier->waits.next, struct barrier_wait, in_barrier);
        session_answer(wait->wait.session, wait->wait.sequence, 0,
                       (weft_bytes){answer, sizeof answer});
        drop_wait(barrier, wait);
    }
}

static void barrier_apply(struct resource *resource, struct session *session,
                          const struct call *call)
{
    struct barrier *barrier = barrier_of(resource);
    if (call->op != CALL_BARRIER_WAIT) {
        session_fail_unknown(session, call, "barrier");
        return;
    }
    if (call->payload.size) {
        session_fail(session, call->sequence, WEFT_INVALID_ARGUMENT,
                     "BARRIER_WAIT has no operands, and %zu bytes came", call->payload.size);
        return;
    }
    if (add_wait(barrier, session, call->sequence) && barrier->waiting_count == barrier->count)
        open_barrier(barrier);
}

static void barrier_cancel(struct wait *wait, weft_err code, const char *why)
{
    struct barrier *barrier = barrier_of(wait->resource);
    const weft_bytes name = barrier->resource.name;
    session_fail(wait->session, wait->sequence, code,
                 "the wait at the barrier '%.*s' did not end: %s", (int)name.size, name.data, why);
    drop_wait(barrier, (struct barrier_wait *)wait);
}

static void barrier_describe(const struct resource *resource, struct buf *attributes)
{
    const struct barrier *barrier = (const struct barrier *)resource;
    ops_barrier_attributes_encode(attributes, &(struct ops_barrier_attributes){barrier->count});
}

static weft_err barrier_save(const struct resource *resource, struct host_saver *saver)
{
    const struct barrier *barrier = (const struct barrier *)resource;
    struct buf part = {0};
    pack_write_u64(&part, barrier->generation);
    for (const struct link *at = barrier->waits.next; at != &barrier->waits; at = at->next) {
        const struct barrier_wait *wait = LIST_ITEM(at, struct barrier_wait, in_barrier);
        pack_write_u32(&part, wait->wait.session->number);
        pack_write_u64(&part, wait->wait.sequence);
    }
    const weft_err err = part.has_failed ? err_no_memory("to save a barrier")
                                         : host_save_part(saver, buf_bytes(&part));
    buf_fini(&part);
    return err;
}

static weft_err barrier_load(struct resource *resource, struct pack_reader *part)
{
    struct barrier *barrier = barrier_of(resource);
    barrier->generation = pack_read_u64(part);
    while (part->rest.size && !part->has_failed) {
        struct session *session = host_session_by_number(resource->host, pack_read_u32(part));
        const uint64_t sequence = pack_read_u64(part);
        if (part->has_failed || !session || barrier->waiting_count + 1 >= barrier->count ||
            !add_wait(barrier, session, sequence))
            return err_set(WEFT_DATA_LOSS, "a barrier for %u was saved with a wait that is none",
                           barrier->count);
    }
    return part->has_failed ? err_set(WEFT_DATA_LOSS, "a saved barrier is cut") : WEFT_OK;
}

static void barrier_free(struct resource *resource)
{
    free(resource);
}

static void barrier_tell(const struct resource *resource, struct buf *text)
{
    const struct barrier *barrier = (const struct barrier *)resource;
    buf_format(text, "for %u, %u waiting", barrier->count, barrier->waiting_count);
}

const struct resource_kind barrier_kind = {
    .number = CALL_KIND_BARRIER,
    .name = "barrier",
    .make = barrier_make,
    .match = barrier_match,
    .apply = barrier_apply,
    .cancel = barrier_cancel,
    .describe = barrier_describe,
    .save = barrier_save,
    .load = barrier_load,
    .tell = barrier_tell,
    .free = barrier_free,
};
