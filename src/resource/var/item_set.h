// item_set: which elements of which queues were counted already.
//
// Elements of a queue are numbered 1, 2, 3, ... and are done roughly in that order. Closed ranges of
// numbers therefore stay few however many elements there were: one, and a few more for elements that are still
// under way.
#ifndef RESOURCE_VAR_ITEM_SET_H
#define RESOURCE_VAR_ITEM_SET_H

#include "base/vec.h"
#include "resource/resource.h"

enum { ITEM_SET_RANGES_MAX = 1 << 20 };  // 16 MiB, of one set

struct item_range {
    uint64_t first, last;  // both inside
};

struct item_queue {
    uint64_t uid;
    VEC(struct item_range) ranges;  // ascending, with gaps between them
};

struct item_set {                   // zeros: an empty one
    VEC(struct item_queue) queues;  // by uid, ascending
    size_t range_count;
};

void item_set_fini(struct item_set *set);

bool item_set_has(const struct item_set *set, uint64_t queue, uint64_t id);

// Adds one; it may be there. RESOURCE_EXHAUSTED: the set is as before.
MUST_CHECK weft_err item_set_add(struct item_set *set, uint64_t queue, uint64_t id);

// Adds a range after all others, as a snapshot has them. DATA_LOSS: it does not belong there.
MUST_CHECK weft_err item_set_append(struct item_set *set, uint64_t queue, struct item_range range);

#endif
