// call: calls under way, as a program holds them.
#ifndef CLIENT_REMOTE_CALL_H
#define CLIENT_REMOTE_CALL_H

#include "client/member.h"

struct weft_call {
    struct remote *remote;
    struct peer_call call;
    weft_item *once_per;  // what a failure marks; NULL: nothing
    bool takes;           // an element comes with the answer
    bool settles;         // it says what becomes of an element
    weft_item settled;    // of that: its names, no data
};

// How a call ends that said what becomes of an element, with the flags of its answer: a lease that has
// ended is reported to the caller and fails no program. ABORTED too: the element was marked as failed.
weft_err remote_settled(struct remote *remote, const weft_item *item, weft_err err, uint8_t flags);

// NULL with a sentence: no memory, or there is no handle.
weft_call *remote_call_new(struct remote *remote);

// Gives the call to the program; NULL when it could not be started, and frees it.
weft_call *remote_call_started(weft_call *call, weft_err err);

// The element that came with the answer to a take; its memory becomes the item's. If there is no memory for it, it goes back.
MUST_CHECK weft_err remote_take_item(struct remote *remote, struct peer_call *call, bool is_popped,
                                     weft_item *item);

#endif
