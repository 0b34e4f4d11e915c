// prefetch: elements that are asked for before they are wanted.
//
// A consumer that is done with an element in microseconds would spend its time waiting for the next. So
// several takes are under way, as many as it can deal with in a couple of milliseconds: one whose
// elements take long asks for one at a time, and leaves the others to the others.
//
// What was asked for ahead is leased for a second only: an element that lies here while its consumer is
// busy with the one before goes to another. Whoever hands it out makes sure of the lease first.
#ifndef APP_PREFETCH_H
#define APP_PREFETCH_H

#include "app/member.h"

enum { PREFETCH_MAX = 128, PREFETCH_LEASE_MS = 1000 };

struct prefetch {
    struct mutex lock;
    struct peer_call *calls[PREFETCH_MAX];  // under way, a ring
    uint32_t first, count;
    uint32_t credit;     // how many may be
    bool is_limited;     // deliveries are counted: none is asked for ahead
    uint64_t handed_ns;  // when the last element was handed out
    uint64_t looked_ns;  // when the connection was last looked at
    uint64_t mean_ns;    // that an element takes its consumer
};

void prefetch_init(struct prefetch *prefetch);
void prefetch_fini(struct prefetch *prefetch, struct remote *remote);  // gives back what is here

// The next element, with its lease made sure of: for lease_ms (0: with the session), or, when it
// is popped, ended. The answer is the caller's: CALL_ITEM_BYTES and then the element.
MUST_CHECK weft_err prefetch_next(struct prefetch *prefetch, struct remote *remote,
                                  uint32_t lease_ms, bool is_popped, struct peer_call **taken);

#endif
