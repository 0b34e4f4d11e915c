// A pair on its way through sorting, spilling and merging, and the order of pairs.
//
// Pairs are ordered by key, then by the map task that emitted them, then by emission: so a key's values
// arrive in input order whatever slot ran what. A task's pairs all come from one slot, and a slot's runs
// are numbered in the order they were written: (key, task, run, position) is a total order.
#ifndef MAPREDUCE_WORK_SORT_PAIR_H
#define MAPREDUCE_WORK_SORT_PAIR_H

#include "base/bytes.h"

enum value_type {
    VALUE_NONE,    // no value: written as the key alone
    VALUE_BYTES,   // `bytes`
    VALUE_INT,     // `number`
    VALUE_DOUBLE,  // `number` holds the bits of the double
    VALUE_SUM,     // `bytes` is a serialized exact sum (base/exact_sum.h), of VALUE_DOUBLE values
    VALUE_MEAN,    // `bytes` is u64 count, then a serialized exact sum
    VALUE_TYPE_COUNT
};

struct pair {
    uint64_t prefix;  // bytes_prefix(key); 0 for every pair when the job brings a compare function
    weft_bytes key;
    weft_bytes bytes;
    int64_t number;
    uint32_t task;  // the map task that emitted it; 0 where order does not matter (folded values)
    enum value_type type;
};

// How the job orders keys. compare == NULL: bytewise. group == NULL: a group is one key; else compare is
// never NULL, so that nothing is decided by the prefix of a key alone.
struct key_order {
    int (*compare)(weft_bytes a, weft_bytes b);
    int (*group)(weft_bytes a, weft_bytes b);
};

// The order of two keys whose prefixes are known: a user's order is completed by the bytes, so that
// only equal bytes are equal.
static inline int key_order_keys(const struct key_order *order, uint64_t prefix_a, weft_bytes a,
                                 uint64_t prefix_b, weft_bytes b)
{
    if (prefix_a != prefix_b)
        return prefix_a < prefix_b ? -1 : 1;
    if (order->compare) {
        const int by_user = order->compare(a, b);
        if (by_user)
            return by_user;
    }
    return bytes_compare(a, b);
}

static inline uint64_t key_order_prefix(const struct key_order *order, weft_bytes key)
{
    return order->compare ? 0 : bytes_prefix(key);
}

#endif
