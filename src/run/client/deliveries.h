// deliveries: frames from the server on their way to the worker. They arrive in the order in which they were sent; one that names bytes of other
// clients waits until these are here. Thread: that of the loop.
#ifndef RUN_CLIENT_DELIVERIES_H
#define RUN_CLIENT_DELIVERIES_H

#include "run/client/copies.h"

struct deliveries;

struct deliveries_calls {
    // The worker's turn.
    weft_err (*pass)(void *owner, Weft__FrameType type, weft_bytes payload);
    weft_err (*pass_message)(void *owner, Weft__FrameType type, const ProtobufCMessage *message);
    // What the task reads cannot be fetched, with this thread's sentence: the worker does not hear of it. bad_seal: the
    // number of map output that is damaged, or 0.
    void (*undone)(void *owner, const Weft__TaskRun *run, weft_err code, uint32_t bad_seal);
    // Nothing can be delivered any more: out of memory, or the server broke the rules.
    void (*broken)(void *owner, weft_err code);
};

struct deliveries *deliveries_new(struct loop *loop, struct copies *copies,
                                  const struct deliveries_calls *calls, void *owner);
void deliveries_free(struct deliveries *deliveries);  // NULL is fine

// Takes a frame for the worker.
void deliveries_take(struct deliveries *deliveries, const struct frame *frame);
// Nothing is passed on from now on, until deliveries_release or deliveries_drop.
void deliveries_hold(struct deliveries *deliveries);
void deliveries_release(struct deliveries *deliveries);
// The worker is gone: its frames are dropped.
void deliveries_drop(struct deliveries *deliveries);
// A task has ended: bytes that were fetched for it are not needed any more.
void deliveries_end_task(struct deliveries *deliveries, const Weft__TaskEnd *end);

#endif
