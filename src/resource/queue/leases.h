// leases: which elements are out, with whom and until when.
//
// A lease has a slot, by which its holder names it: the lowest that is free, so that a replay and a
// snapshot give the same. Those that end by the clock stand in lists, one for each duration, each in
// the order in which they end. A lease without a session is not held by any client: its element waits
// to be handed out again.
#ifndef RESOURCE_QUEUE_LEASES_H
#define RESOURCE_QUEUE_LEASES_H

#include "resource/queue/elements.h"
#include "resource/resource.h"

enum { LEASES_MAX = 1 << 22 };  // of a queue: further takes wait

struct lease {
    struct holding holding;  // session NULL: not held
    struct element *element;
    uint32_t slot;
    uint32_t duration_ms;  // 0: as long as its session lives
    uint64_t deadline_ms;
    struct link in_ending;  // with others of its duration
};

struct leases {
    VEC(struct lease *) slots;  // NULL: free
    VEC(struct lease *) unused;
    VEC(struct lease_ending *) endings;
    size_t count;
    size_t free_from;  // no slot below it is free
};

void leases_fini(struct leases *leases);

// A lease at the lowest free slot, or at a given one; NULL: out of memory, it is taken or
// there are too many.
struct lease *leases_add(struct leases *leases, struct element *element);
struct lease *leases_add_at(struct leases *leases, struct element *element, uint32_t slot);
void leases_drop(struct leases *leases, struct lease *lease);

struct lease *leases_find(const struct leases *leases, uint32_t slot);  // NULL: none

// It ends after that time; 0: not by the clock. False: out of memory.
bool leases_set_end(struct leases *leases, struct lease *lease, uint32_t duration_ms,
                    uint64_t now_ms);

// The one that ends first; NULL: none does.
struct lease *leases_first_to_end(const struct leases *leases);

#endif
