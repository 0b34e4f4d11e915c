// elements: what a queue stores, in the order of their ids, without an allocation for each.
//
//     chunk            chunk            chunk
//     [e1 e2 e3 e4] -> [e5 e6 e7 e8] -> [e9 ......]        returned: a heap of e2, e6
//            ^ read_at                      ^ used
//
// Elements lie one after the other in chunks. One that is taken stays where it is until it is dropped,
// or comes back and is again the first: ids only grow, so a heap of those that came back and the chain
// together are one order. A chunk goes when nothing in it is alive. A short queue lives in one chunk,
// which starts again from its beginning whenever it is empty.
#ifndef RESOURCE_QUEUE_ELEMENTS_H
#define RESOURCE_QUEUE_ELEMENTS_H

#include "base/err.h"
#include "base/vec.h"

struct element {
    uint64_t id;  // 1, 2, 3, ...
    uint32_t size;
    uint32_t chunk_offset;  // from the chunk's beginning to here
    uint32_t deliveries;    // how often it was leased
    bool is_tuple;
    char bytes[];
};

struct chunk;

struct elements {
    struct chunk *first, *last;  // the chain; NULL: nothing was ever added
    struct chunk *reading;       // those before it hold only elements that are taken
    size_t read_at;              // in reading
    struct chunk *spare;         // one that is kept for the next need
    struct chunk *held;          // chunks of their own: what a snapshot brought taken, and retried
    VEC(struct element *) returned;
    size_t count;        // stored: not those that are taken
    size_t taken_count;  // neither returned nor dropped yet
    uint64_t bytes;      // of those stored
    uint64_t last_id;
};

void elements_fini(struct elements *elements);

// Adds at the end with the next id; NULL: out of memory.
struct element *elements_add(struct elements *elements, weft_bytes bytes, bool is_tuple);

// Adds one that had this id, ids ascending; and one that is taken from the start.
struct element *elements_restore(struct elements *elements, uint64_t id, uint32_t deliveries,
                                 weft_bytes bytes, bool is_tuple);
struct element *elements_restore_taken(struct elements *elements, uint64_t id, uint32_t deliveries,
                                       weft_bytes bytes, bool is_tuple);

// Takes the first; NULL: there is none, or memory for its return was refused.
struct element *elements_take(struct elements *elements);

// A taken element is first again, in its order; or it is gone. Returning one that was taken cannot
// fail: room for it was made when it was taken.
void elements_return(struct elements *elements, struct element *element);
void elements_drop(struct elements *elements, struct element *element);

// Walks over the stored elements, in order; starts zeroed.
struct elements_walk {
    const struct chunk *chunk;
    size_t at, returned_at;
    struct element **sorted;  // the returned ones
    bool has_started;
};
struct element *elements_next(const struct elements *elements, struct elements_walk *walk);
void elements_end_walk(struct elements_walk *walk);

static inline weft_bytes element_bytes(const struct element *element)
{
    return (weft_bytes){element->bytes, element->size};
}

#endif
