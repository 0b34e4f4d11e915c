// Dead letters that get another chance: back to the queue they are of, as the elements they were there, in their
// order, so that what counted once for one of them does not count again. What never was in that queue is new, and
// goes to its end. The queue may be closed: they were let in before, as leased elements were.

#include <inttypes.h>

#include "resource/queue/queue.h"

static const char dead_end[] = ".dead";

// The queue whose dead letters these are, made if need be; NULL with a sentence.
static struct queue *open_origin(const struct queue *letters, weft_err *err)
{
    const struct resource *resource = &letters->resource;
    const size_t end_size = sizeof dead_end - 1, size = resource->name.size;
    struct resource *origin = NULL;
    if (size <= end_size ||
        memcmp(resource->name.data + size - end_size, dead_end, end_size) != 0) {
        *err = err_set(WEFT_INVALID_ARGUMENT,
                       "'%.*s' holds no dead letters: its name does not end "
                       "in %s",
                       (int)size, resource->name.data, dead_end);
        return NULL;
    }
    const weft_bytes container = {resource->key.data + 1, resource->key.size - size - 2};
    const weft_bytes name = {resource->name.data, size - end_size};
    *err =
        host_open_resource(resource->host, CALL_KIND_QUEUE, container, name, weft_none(), &origin);
    struct queue *queue = (struct queue *)origin;
    const weft_bytes has = letters->attributes.signature;
    if (!*err && (queue->attributes.signature.size != has.size ||
                  (has.size && memcmp(queue->attributes.signature.data, has.data, has.size) != 0)))
        *err = err_set(WEFT_INVALID_ARGUMENT, "'%.*s' has other component types than '%.*s'",
                       (int)name.size, name.data, (int)size, resource->name.data);
    return *err ? NULL : queue;
}

// False: out of memory.
static bool put_back(struct queue *queue, const struct queue *letters, const struct element *letter)
{
    const struct queue_note *note = queue_note_find(letters, letter->id);
    const weft_bytes bytes = element_bytes(letter);
    if (!note || note->origin != queue->resource.uid || note->origin_id == 0 ||
        note->origin_id > queue->elements.last_id)
        return elements_add(&queue->elements, bytes, letter->is_tuple) != NULL;
    struct element *element =
        elements_restore_taken(&queue->elements, note->origin_id, 0, bytes, letter->is_tuple);
    if (element)
        elements_return(&queue->elements, element);
    return element != NULL;
}

void queue_retry(struct queue *letters, struct session *session, const struct call *call)
{
    struct ops_queue_retry wish;
    char answer[OPS_QUEUE_RETRIED_BYTES];
    weft_err err = ops_queue_retry_decode(call->payload, &wish)
                       ? WEFT_OK
                       : err_set(WEFT_INVALID_ARGUMENT, "the call is cut");
    struct queue *queue = err ? NULL : open_origin(letters, &err);
    uint64_t moved = 0;
    while (queue && (wish.count == 0 || moved < wish.count)) {
        struct element *letter = elements_take(&letters->elements);
        if (!letter)
            break;
        if (!put_back(queue, letters, letter)) {
            elements_return(&letters->elements, letter);
            break;
        }
        elements_drop(&letters->elements, letter);
        moved++;
    }
    ops_queue_retried_put(answer, moved);
    if (err)
        session_fail_by_err(session, call->sequence, err);
    else
        session_answer(session, call->sequence, 0, (weft_bytes){answer, sizeof answer});
    if (queue)
        queue_settle(queue);
    queue_settle(letters);
}
