// queue_bell: a descriptor by which a program's own loop waits for a queue.
//
// The connection to the host is shared by all calls, may break and is made again, so its socket is of no use to a
// program. A thread waits for the next element in its place, and rings.
//
//   QUIET    a take without waiting is under way: its result decides
//   WAITING  it found no element: the thread waits for one, and then rings
//   RUNG     the descriptor is readable
//
// Only a take that finds nothing after the bell was hushed makes the thread wait: an element that comes before that is found,
// one that comes later rings. The element that rang lies in prefetch, which gives it back if the program does not come for it.
#ifndef CLIENT_QUEUE_BELL_H
#define CLIENT_QUEUE_BELL_H

#include "client/prefetch.h"
#include "sys/thread/bell.h"

struct queue_bell {
    struct prefetch *prefetch;
    struct mutex lock;
    struct condition changed;
    struct thread thread;
    struct bell bell;
    enum { BELL_QUIET, BELL_WAITING, BELL_RUNG } state;
    _Atomic(bool) has_started, is_stopping;
};

void queue_bell_init(struct queue_bell *bell, struct prefetch *prefetch);

// Ends the thread; before prefetch_fini.
void queue_bell_fini(struct queue_bell *bell);

// The descriptor; the first call makes it, readable, and starts the thread.
MUST_CHECK weft_err queue_bell_descriptor(struct queue_bell *bell, int *fd);

// Around a take that does not wait.
void queue_bell_begin_take(struct queue_bell *bell);
void queue_bell_end_take(struct queue_bell *bell, bool was_empty);

#endif
