// The reducer `aggregate` of Hadoop Streaming: keys say what is to be done with their values.
//
//   LongValueSum:NAME    sum of integers           StringValueMax:NAME   last by bytes
//   LongValueMax:NAME    largest                   StringValueMin:NAME   first by bytes
//   LongValueMin:NAME    smallest                  UniqValueCount:NAME   how many different values
//   DoubleValueSum:NAME  sum, exact, rounded once  ValueHistogram:NAME   of how often each value came:
//                        as Java prints doubles      number of values, smallest, median, largest count,
//                                                    mean, standard deviation; TAB between them
//
// The answer is NAME TAB result. Types are read without regard to case. Thread: one owner.
#ifndef CODE_COMMAND_AGGREGATE_H
#define CODE_COMMAND_AGGREGATE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/exact_sum.h"
#include "base/vec.h"

enum aggregate_kind {
    AGGREGATE_LONG_SUM,
    AGGREGATE_LONG_MAX,
    AGGREGATE_LONG_MIN,
    AGGREGATE_DOUBLE_SUM,
    AGGREGATE_STRING_MAX,
    AGGREGATE_STRING_MIN,
    AGGREGATE_UNIQUE_COUNT,
    AGGREGATE_HISTOGRAM,
};

// Reused from key to key.
struct aggregate {
    enum aggregate_kind kind;
    weft_bytes name;  // of the key, borrowed
    bool has_value;
    int64_t number;
    struct exact_sum sum;
    struct buf text;  // the string kept, or the bytes of the set
    VEC(struct aggregate_item) items;
    size_t merge_at;    // the number of items at which equal ones are put together
    struct buf result;  // what aggregate_report made
};

struct aggregate_item {
    size_t offset, size;  // in text
    int64_t count;
};

void aggregate_fini(struct aggregate *aggregate);

// Begins a key, which must stay where it is. INVALID_ARGUMENT: it names no type we know.
MUST_CHECK weft_err aggregate_begin(struct aggregate *aggregate, weft_bytes key);

// Adds a value. INVALID_ARGUMENT: not a number where one is needed; OUT_OF_RANGE: the sum overflows.
MUST_CHECK weft_err aggregate_add(struct aggregate *aggregate, weft_bytes value);

// The result, valid until the next begin.
MUST_CHECK weft_err aggregate_report(struct aggregate *aggregate, weft_bytes *result);

// As a combiner: the values that stand for all added ones, one by one; false: no more. *at is 0 at
// first. Sums of doubles cannot be combined as text without rounding: aggregate_can_combine returns
// whether this kind can.
bool aggregate_can_combine(const struct aggregate *aggregate);
bool aggregate_next_combined(struct aggregate *aggregate, size_t *at, weft_bytes *value);

#endif
