// queue_notes: why elements are in a queue of dead letters, since when, and which they were before. Beside the
// elements, because few queues have any: a list by id, from which those of elements that are gone are dropped
// now and then.
#ifndef RESOURCE_QUEUE_NOTES_H
#define RESOURCE_QUEUE_NOTES_H

#include "base/buf.h"
#include "base/vec.h"
#include "wire/ops/queue.h"

enum { QUEUE_NOTE_BYTES_MAX = 256 };  // of a reason; the rest is cut

struct queue;

struct queue_note {
    uint64_t id;          // of the element
    uint64_t origin;      // the uid of the queue it was in; 0: not known
    uint64_t origin_id;   // its own there
    uint64_t when_s;      // of the calendar, as its consumer said; 0: not known
    uint32_t deliveries;  // it had where it failed
    uint32_t size;
    char *reason;
};

struct queue_notes {
    VEC(struct queue_note) list;  // by id, ascending
};

void queue_notes_fini(struct queue_notes *notes);

// Keeps a copy, or, without memory, does not: the letter is new then, if it is tried again.
void queue_note_add(struct queue *queue, const struct queue_note *note);

// NULL: there is none of this element.
const struct queue_note *queue_note_find(const struct queue *queue, uint64_t id);

// The element leaves the queue, and may come back as something else.
void queue_note_drop(struct queue *queue, uint64_t id);

// All notes of elements that are stored, leased, or gathered by who waits for more of them.
typedef void queue_note_fn(struct queue_note *note, void *owner);
void queue_notes_visit(const struct queue *queue, queue_note_fn *visit, void *owner);

// As calls and snapshots have it; borrows the reason.
struct ops_queue_note queue_note_as_told(const struct queue_note *note);

#endif
