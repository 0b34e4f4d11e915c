// A bag of values of one key that keeps only those its order asks for: the different ones, or the
// largest. It grows with the values that it keeps, not with those that were added. Thread: one
// owner.
#ifndef MAPREDUCE_WORK_REDUCE_VALUE_BAG_H
#define MAPREDUCE_WORK_REDUCE_VALUE_BAG_H

#include "base/buf.h"
#include "base/vec.h"
#include "mapreduce/work/sort/pair.h"

// A number, or none, compared in its own type: integers are not converted to doubles.
struct value_number {
    int64_t integer;
    double real;
    bool is_integer;  // `integer` holds it, else `real`
};

// Reads the number that a value is (text in decimal is one; partial sums and means count as the
// number they round to); false when it is not a number.
bool value_read_number(const struct pair *pair, struct value_number *number);

// A total order of numbers: NaN, then by size, -0.0 before 0; of an integer and an equal double the
// integer is the larger.
int value_number_compare(const struct value_number *a, const struct value_number *b);

// The value as it is printed. Numbers are written to `room` (NUMBER_TEXT_MAX bytes).
weft_bytes value_text(const struct pair *pair, char *room);

struct bag_item {
    size_t offset, size;  // of its text in the bag
    struct value_number number;
    enum value_type type;  // VALUE_INT, VALUE_DOUBLE or VALUE_BYTES
    bool is_number;
};

struct value_bag {
    struct buf text;
    VEC(struct bag_item) items;
    uint32_t top_k;     // 0: the different texts, sorted; else the number of largest values to keep
    size_t sort_count;  // sorted and cut at this number of values
};

void value_bag_init(struct value_bag *bag, uint32_t top_k);
void value_bag_fini(struct value_bag *bag);

// Adds a value; false when out of memory.
bool value_bag_add(struct value_bag *bag, const struct pair *pair);

// Sorts the items and drops those that are not to be kept; false when out of memory.
bool value_bag_settle(struct value_bag *bag);

static inline weft_bytes value_bag_text(const struct value_bag *bag, size_t index)
{
    const struct bag_item *item = &bag->items.items[index];
    return (weft_bytes){bag->text.data + item->offset, item->size};
}

#endif
