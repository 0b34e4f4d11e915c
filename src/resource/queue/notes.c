// Notes on dead letters, found by binary search.

#include "resource/queue/notes.h"

#include <stdlib.h>
#include <string.h>

#include "resource/queue/queue.h"

enum { FEW = 64 };  // this many notes are kept without a look for elements that are gone

void queue_notes_fini(struct queue_notes *notes)
{
    for (size_t i = 0; i < notes->list.count; i++)
        free(notes->list.items[i].reason);
    VEC_FINI(&notes->list);
}

// Where the note of an element is, or would be.
static size_t find(const struct queue_notes *notes, uint64_t id)
{
    size_t from = 0, to = notes->list.count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (notes->list.items[middle].id < id)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct queue_note *find_note(const struct queue_notes *notes, uint64_t id)
{
    const size_t at = find(notes, id);
    return at < notes->list.count && notes->list.items[at].id == id ? &notes->list.items[at] : NULL;
}

const struct queue_note *queue_note_find(const struct queue *queue, uint64_t id)
{
    return queue->notes.list.count ? find_note(&queue->notes, id) : NULL;
}

static bool insert(struct queue_notes *notes, const struct queue_note *note)
{
    const size_t at = find(notes, note->id);
    if (!VEC_PUSH(&notes->list, *note))
        return false;
    struct queue_note *items = notes->list.items;
    memmove(&items[at + 1], &items[at], (notes->list.count - 1 - at) * sizeof *items);
    items[at] = *note;
    return true;
}

void queue_note_drop(struct queue *queue, uint64_t id)
{
    struct queue_notes *notes = &queue->notes;
    struct queue_note *note = notes->list.count ? find_note(notes, id) : NULL;
    if (!note)
        return;
    free(note->reason);
    const struct queue_note *end = notes->list.items + notes->list.count--;
    memmove(note, note + 1, (size_t)(end - note - 1) * sizeof *note);
}

static void visit_note(const struct queue *queue, uint64_t id, queue_note_fn *visit, void *owner)
{
    struct queue_note *note = find_note(&queue->notes, id);
    if (note)
        visit(note, owner);
}

void queue_notes_visit(const struct queue *queue, queue_note_fn *visit, void *owner)
{
    if (queue->notes.list.count == 0)
        return;
    struct elements_walk walk = {0};
    const struct element *element;
    while ((element = elements_next(&queue->elements, &walk)) != NULL)
        visit_note(queue, element->id, visit, owner);
    elements_end_walk(&walk);
    for (size_t i = 0; i < queue->leases.slots.count; i++)
        if (queue->leases.slots.items[i])
            visit_note(queue, queue->leases.slots.items[i]->element->id, visit, owner);
    for (const struct link *at = queue->takers.next; at != &queue->takers; at = at->next) {
        const struct waiter *waiter = LIST_ITEM(at, struct waiter, in_line);
        for (size_t i = 0; i < waiter->gathered.count; i++)
            visit_note(queue, waiter->gathered.items[i]->id, visit, owner);
    }
}

static void move_note(struct queue_note *note, void *kept)
{
    if (insert(kept, note))
        note->reason = NULL;
}

// Those whose elements are here stay, so that it never shows when this was done.
static void drop_those_of_the_gone(struct queue *queue)
{
    struct queue_notes kept = {0};
    queue_notes_visit(queue, move_note, &kept);
    queue_notes_fini(&queue->notes);
    queue->notes = kept;
}

void queue_note_add(struct queue *queue, const struct queue_note *note)
{
    struct queue_notes *notes = &queue->notes;
    const size_t alive = queue->elements.count + queue->elements.taken_count;
    if (notes->list.count > 2 * alive + FEW)
        drop_those_of_the_gone(queue);
    struct queue_note copy = *note;
    copy.size = note->size < QUEUE_NOTE_BYTES_MAX ? note->size : QUEUE_NOTE_BYTES_MAX;
    copy.reason = malloc(copy.size + 1);
    if (!copy.reason)
        return;
    memcpy(copy.reason, note->reason, copy.size);
    copy.reason[copy.size] = 0;
    if (!insert(notes, &copy))
        free(copy.reason);
}

struct ops_queue_note queue_note_as_told(const struct queue_note *note)
{
    return (struct ops_queue_note){note->when_s, note->deliveries, {note->reason, note->size}};
}
