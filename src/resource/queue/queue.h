// queue: a first-in first-out queue with TensorFlow's rules, and leases.
//
// Two lines of calls wait: those that put in (push, close) and those that take out (pop, take). Both
// are served strictly in the order they came: the first of a line that cannot continue holds up all
// after it. Served in turns until neither moves (queue_settle).
//
// Its calls are in wire/ops/queue.h. What TensorFlow has not: an element that is taken is leased, and comes back to the front when its
// holder gives it back, ends, or lets the lease run out; a closed queue that is empty is not at its
// end while leases are out, as they may come back. A call that is cancelled half-way puts back its elements
// (TensorFlow drops it).
#ifndef RESOURCE_QUEUE_QUEUE_H
#define RESOURCE_QUEUE_QUEUE_H

#include "resource/host.h"
#include "resource/queue/elements.h"
#include "resource/queue/leases.h"
#include "resource/queue/notes.h"
#include "resource/queue/types.h"
#include "resource/seen_keys.h"
#include "wire/ops/queue.h"

struct queue {
    struct resource resource;                // first
    struct ops_queue_attributes attributes;  // with a signature of its own
    bool is_declared;  // a call has given the attributes; else the first that does decides
    struct queue_types types;
    struct elements elements;
    struct leases leases;
    struct link givers, takers;  // calls that wait
    uint32_t giver_count, taker_count;
    bool is_closed;
    struct seen_keys keys;     // of pushes
    struct queue_notes notes;  // of dead letters
};

// A call that waits in one of the two lines.
struct waiter {
    struct wait wait;  // first
    struct link in_line;
    uint8_t op, flags;
    uint32_t wanted;     // QUEUE_POP_MANY, QUEUE_TAKE_MANY
    uint32_t lease_ms;   // QUEUE_TAKE
    weft_bytes payload;  // QUEUE_PUSH*: the elements that are left to put in; inside memory
    uint32_t left;       // QUEUE_PUSH_MANY: elements of it
    VEC(struct element *) gathered;  // of the same
    size_t gathered_bytes;           // in an answer
    char memory[];
};

// ---- flow.c: putting in and taking out ----------------------------------------------------------------

void queue_push(struct queue *queue, struct session *session, const struct call *call);
void queue_pop(struct queue *queue, struct session *session, const struct call *call);
void queue_close(struct queue *queue, struct session *session, const struct call *call);
void queue_cancel(struct wait *wait, weft_err code, const char *why);

bool queue_is_plain(const struct queue *queue);  // nothing is handed out ahead of a caller here

// Serves both lines as far as they go.
void queue_settle(struct queue *queue);

// A call that waits in its line; NULL: it was answered with a failure.
struct waiter *queue_add_waiter(struct queue *queue, struct session *session,
                                const struct call *call, weft_bytes payload);

// Adds to what a QUEUE_POP_MANY has gathered; room is there.
void queue_gather(struct waiter *waiter, struct element *element);

// ---- taken.c ---------------------------------------------------------------------------------------------

// Leases the element to the session and answers; false: out of memory, and nothing happened.
MUST_CHECK bool queue_lease(struct queue *queue, struct session *session, uint64_t sequence,
                            uint32_t lease_ms, struct element *element);

// The same for several, without the answer: all, with their names in `items`, or none.
MUST_CHECK bool queue_lease_many(struct queue *queue, struct session *session,
                                 struct element **elements, size_t count, struct call_item *items);
void queue_settle_lease(struct queue *queue, struct session *session, const struct call *call);
void queue_release(struct holding *holding);
void queue_retry(struct queue *queue, struct session *session, const struct call *call);
uint64_t queue_next_deadline(const struct resource *resource);
void queue_expire(struct resource *resource, uint64_t now_ms);
weft_err queue_replay(struct resource *resource, weft_bytes note);

// ---- save.c -----------------------------------------------------------------------------------------------

weft_err queue_save(const struct resource *resource, struct host_saver *saver);
weft_err queue_load(struct resource *resource, struct pack_reader *part);

#endif
