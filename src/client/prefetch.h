// prefetch: elements that are asked for before the caller wants them. A caller notices nothing of it but speed.
//
// A consumer that deals with an element in microseconds would spend its time waiting for the next one. So
// several takes are under way, as many as it deals with in a couple of milliseconds: that is also as long as a
// host's journal needs to reach the disk, which it does once for all takes under way. An element that lies here:
//
//   - is leased to our session, with no end by the clock: an element that was handed out stays with its
//     holder, however long the work takes. An element that comes up late is asked about first.
//   - has not been begun: when the consumer stays away for more than a moment, the keeper takes back the takes
//     under way and gives back the elements here, in one go, so that others have them, in their old order. That is not a
//     delivery.
//   - is small, and not of a queue that counts deliveries (CALL_FLAG_AHEAD).
#ifndef CLIENT_PREFETCH_H
#define CLIENT_PREFETCH_H

#include "client/member.h"

enum { PREFETCH_MAX = 4096 };

struct prefetch {
    struct remote *remote;
    struct mutex lock;  // never held while waiting
    struct peer_call
        *calls[PREFETCH_MAX];  // under way or answered, a ring in the order of their start
    uint32_t first, count;
    uint32_t credit;      // how many may be
    uint32_t credit_max;  // the owner wants no more; may be set before each call
    uint32_t
        limited_max;  // the same of a queue that counts deliveries: who is killed uses up one of each
    bool is_plain;  // the last element was large, or of a queue of limited room: none is had ahead
    bool is_limited;         // deliveries are counted
    bool is_withdrawing;     // those under way were asked back
    uint32_t waiting_count;  // threads that want one
    uint64_t handed_count;   // elements handed out, and
    uint64_t tended_count;   // what that was when the keeper last looked
    uint64_t marked;         // the last call whose element was here a few rounds of the keeper ago,
    uint64_t marked_rounds;  // that many
    uint64_t handed_ns;      // when the last element was handed out
    uint64_t mean_ns;        // that an element takes its consumer
    uint64_t mean_bytes;     // that it has
    struct peer_call *awaited;  // the call that prefetch_await waits for; NULL: none
    struct link in_keeper;
};

void prefetch_init(struct prefetch *prefetch, struct remote *remote);
void prefetch_fini(struct prefetch *prefetch);  // the same as prefetch_give_back, and its end

// The next element, ours for lease_ms (0: as long as the session lives) or, when it is popped, for good. The
// answer is the caller's, as ops_queue_taken_decode reads it. DEADLINE_EXCEEDED: what comes later is the
// next caller's, or goes back.
MUST_CHECK weft_err prefetch_next(struct prefetch *prefetch, uint32_t lease_ms, bool is_popped,
                                  uint64_t deadline_ns, struct peer_call **taken);

// The same without waiting for an element, only for the host's word. CANCELLED: there is none now.
MUST_CHECK weft_err prefetch_next_now(struct prefetch *prefetch, uint32_t lease_ms,
                                      uint64_t deadline_ns, struct peer_call **taken);

// Waits until prefetch_next_now may return something else than CANCELLED: an element, which stays here for it, the end of
// the queue, or a failure. Also ends soon after prefetch_stop_awaiting. One thread at a time.
void prefetch_await(struct prefetch *prefetch, const _Atomic(bool) *is_stopping);
void prefetch_stop_awaiting(struct prefetch *prefetch);  // *is_stopping is set

// Whether the next one is here: then it is handed out without waiting. For the one thread that takes.
bool prefetch_has_next(struct prefetch *prefetch);

// Gives back the elements here and those under way, as the keeper would, and waits for it, as far as there is time: so
// an element that the caller gives back after this comes before them again, and the queue has them all.
void prefetch_give_back(struct prefetch *prefetch, uint64_t deadline_ns);

// For the keeper: gives back what the consumer does not come for. True: something is still here.
bool prefetch_tend(struct prefetch *prefetch);

#endif
