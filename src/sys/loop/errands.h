// errands: work that would hold the loop up, done by one thread beside it, in order, or by several; its end is reported in the
// loop's thread. Thread: the loop's, except `work`.
#ifndef SYS_LOOP_ERRANDS_H
#define SYS_LOOP_ERRANDS_H

#include "sys/loop/loop.h"

struct errands;

// NULL with a sentence when the system refuses. The thread is started by the first errand.
struct errands *errands_new(struct loop *loop);
// With up to `threads` threads, for work that mostly waits: errands begin in order, and end in any.
enum { ERRANDS_THREADS_MAX = 16 };
struct errands *errands_new_several(struct loop *loop, uint32_t threads);
// Waits for errands that are being done; the others are not done, and no `done` is called. Before loop_free. NULL is
// fine.
void errands_free(struct errands *errands);

// Calls `work` in the other thread, after those that were given before, then `done` in this one.
MUST_CHECK weft_err errands_do(struct errands *errands, loop_fn *work, loop_fn *done, void *owner);

#endif
