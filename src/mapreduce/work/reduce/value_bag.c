// A bag of values that keeps the different ones or the largest. Values are gathered, and whenever
// there are twice as many as were kept the last time, they are sorted and cut: log n comparisons
// per value, no pointer per value, and memory for twice the kept values.

#include "mapreduce/work/reduce/value_bag.h"

#include "base/exact_sum.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>

enum { SORT_COUNT_MIN = 64 };

static double round_partial(const struct pair *pair)
{
    struct exact_sum sum;
    uint64_t count = 1;
    weft_bytes bytes = pair->bytes;
    if (pair->type == VALUE_MEAN && bytes.size > sizeof count) {
        memcpy(&count, bytes.data, sizeof count);
        bytes = (weft_bytes){bytes.data + sizeof count, bytes.size - sizeof count};
    }
    const bool is_sum = exact_sum_read(&sum, bytes.data, bytes.size) && count > 0;
    return is_sum ? exact_sum_mean(&sum, count) : (double)NAN;
}

bool value_read_number(const struct pair *pair, struct value_number *number)
{
    *number = (struct value_number){0};
    switch (pair->type) {
    case VALUE_INT:
        number->integer = pair->number;
        number->is_integer = true;
        return true;
    case VALUE_DOUBLE:
        memcpy(&number->real, &pair->number, sizeof number->real);
        return true;
    case VALUE_SUM:
    case VALUE_MEAN:
        number->real = round_partial(pair);
        return true;
    case VALUE_BYTES:
        number->is_integer = number_read_int(pair->bytes, &number->integer);
        return number->is_integer || number_read_double(pair->bytes, &number->real);
    default:
        return false;
    }
}

// An integer against a double that is not NaN, without rounding the integer.
static int compare_integer(int64_t integer, double real)
{
    if (real >= 0x1p63)
        return -1;
    if (real < -0x1p63)
        return 1;
    const int64_t whole = (int64_t)real;  // towards zero
    if (integer != whole)
        return integer < whole ? -1 : 1;
    const double rest = real - (double)whole;
    if (rest != 0)
        return rest > 0 ? -1 : 1;
    return 1;  // equal: the integer counts as the larger, also than -0.0
}

static int compare_real(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (isnan(b) != 0) - (isnan(a) != 0);
    if (a != b)
        return a < b ? -1 : 1;
    return (signbit(b) != 0) - (signbit(a) != 0);
}

int value_number_compare(const struct value_number *a, const struct value_number *b)
{
    if (a->is_integer && b->is_integer)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (a->is_integer)
        return isnan(b->real) ? 1 : compare_integer(a->integer, b->real);
    if (b->is_integer)
        return isnan(a->real) ? -1 : -compare_integer(b->integer, a->real);
    return compare_real(a->real, b->real);
}

weft_bytes value_text(const struct pair *pair, char *room)
{
    if (pair->type == VALUE_BYTES)
        return pair->bytes;
    struct value_number number;
    if (!value_read_number(pair, &number))
        return (weft_bytes){"", 0};
    const char *end = number.is_integer ? number_write_int(room, number.integer)
                                        : number_write_double(room, number.real);
    return (weft_bytes){room, (size_t)(end - room)};
}

void value_bag_init(struct value_bag *bag, uint32_t top_k)
{
    *bag = (struct value_bag){.top_k = top_k, .sort_count = SORT_COUNT_MIN};
}

void value_bag_fini(struct value_bag *bag)
{
    buf_fini(&bag->text);
    VEC_FINI(&bag->items);
}

bool value_bag_add(struct value_bag *bag, const struct pair *pair)
{
    char room[NUMBER_TEXT_MAX];
    const weft_bytes text = value_text(pair, room);
    // A run of equal values is common where distinct ones are asked for.
    if (bag->top_k == 0 && bag->items.count > 0 &&
        bytes_equal(text, value_bag_text(bag, bag->items.count - 1)))
        return true;
    if (bag->items.count >= bag->sort_count && !value_bag_settle(bag))
        return false;
    struct bag_item *item = VEC_NEXT(&bag->items);
    if (!item)
        return false;
    *item = (struct bag_item){.offset = bag->text.size, .size = text.size, .type = VALUE_BYTES};
    if (bag->top_k > 0) {
        item->is_number = value_read_number(pair, &item->number);
        if (pair->type != VALUE_BYTES && item->is_number)
            item->type = item->number.is_integer ? VALUE_INT : VALUE_DOUBLE;
    }
    if (!buf_reserve(&bag->text, text.size + 1))  // never NULL, also when all texts are empty
        return false;
    buf_append(&bag->text, text.data, text.size);
    bag->items.count++;
    return true;
}

static int compare_texts(const void *a, const void *b, void *owner)
{
    const char *text = owner;
    const struct bag_item *x = a, *y = b;
    return bytes_compare((weft_bytes){text + x->offset, x->size},
                         (weft_bytes){text + y->offset, y->size});
}

// Largest first: numbers by size, then texts that are none by their bytes.
static int compare_values(const void *a, const void *b, void *owner)
{
    const struct bag_item *x = a, *y = b;
    if (x->is_number != y->is_number)
        return x->is_number ? -1 : 1;
    const int order = x->is_number ? value_number_compare(&y->number, &x->number) : 0;
    return order ? order : compare_texts(b, a, owner);
}

static size_t drop_equal(struct bag_item *items, size_t count, char *text)
{
    size_t kept = count > 0;
    for (size_t i = 1; i < count; i++)
        if (compare_texts(&items[kept - 1], &items[i], text) != 0)
            items[kept++] = items[i];
    return kept;
}

// Moves the texts that are still used together, in the order of the items.
static bool gather_texts(struct value_bag *bag)
{
    struct buf gathered = {0};
    buf_reserve(&gathered, 1);
    for (size_t i = 0; i < bag->items.count; i++) {
        const weft_bytes text = value_bag_text(bag, i);
        bag->items.items[i].offset = gathered.size;
        buf_append(&gathered, text.data, text.size);
    }
    if (gathered.has_failed) {
        buf_fini(&gathered);
        return false;
    }
    buf_fini(&bag->text);
    bag->text = gathered;
    return true;
}

bool value_bag_settle(struct value_bag *bag)
{
    struct bag_item *items = bag->items.items;
    size_t count = bag->items.count;
    if (count == 0)
        return true;
    qsort_r(items, count, sizeof *items, bag->top_k ? compare_values : compare_texts,
            bag->text.data);
    if (bag->top_k == 0)
        count = drop_equal(items, count, bag->text.data);
    else if (count > bag->top_k)
        count = bag->top_k;
    if (count < bag->items.count) {
        bag->items.count = count;
        if (!gather_texts(bag))
            return false;
    }
    bag->sort_count = 2 * count > SORT_COUNT_MIN ? 2 * count : SORT_COUNT_MIN;
    return true;
}
