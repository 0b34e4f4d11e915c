// queue_notes: why elements are in a queue of dead letters, and since when. Beside the elements, because few
// queues have any: a list by id, from which those of elements that are gone are dropped now and then.
#ifndef RESOURCE_QUEUE_NOTES_H
#define RESOURCE_QUEUE_NOTES_H

#include "base/buf.h"
#include "base/vec.h"
#include "wire/call.h"

enum { QUEUE_NOTE_BYTES_MAX = 256 };  // of a reason; the rest is cut

struct queue;

struct queue_note {
    uint64_t id;          // of the element
    uint64_t when_s;      // of the calendar, as its consumer said; 0: not known
    uint32_t deliveries;  // it had where it failed
    uint32_t size;
    char *reason;
};

struct queue_notes {
    VEC(struct queue_note) list;  // by id, ascending
};

void queue_notes_fini(struct queue_notes *notes);

// Keeps a copy, or, without memory, does not: it is only for people.
void queue_note_add(struct queue *queue, const struct queue_note *note);

// NULL: there is none of this element.
const struct queue_note *queue_note_find(const struct queue *queue, uint64_t id);

// As calls and snapshots have them: when, deliveries, reason. False: it is cut.
void queue_note_write(struct buf *out, const struct queue_note *note);
bool queue_note_read(struct call_reader *reader, struct queue_note *note);

#endif
