// The ready-made reducers. Each gives the same bytes whatever was combined before: integers are
// added up in 128 bits and doubles exactly, so that a partial result never rounds or overflows;
// least, largest, distinct and top are by a total order; the first of a part stands for the part,
// since parts differ by their tasks. weft_collect needs all values, weft_count their number: called
// to combine, they hand the values on.

#include "base/exact_sum.h"
#include "base/number.h"
#include "mapreduce/work/reduce/value_bag.h"
#include "mapreduce/work/reduce/values.h"

#include <stdio.h>

enum { SHOWN_BYTES_MAX = 48, SHOWN_TEXT_MAX = 4 * SHOWN_BYTES_MAX + 4 };

// ---- Failing ------------------------------------------------------------------------------------

// Bytes for an error sentence: printable, and not too many.
static const char *show(char *room, weft_bytes bytes)
{
    char *at = room;
    for (size_t i = 0; i < bytes.size && i < SHOWN_BYTES_MAX; i++) {
        const unsigned char byte = (unsigned char)bytes.data[i];
        if (byte < ' ' || byte == 127 || byte == '\\')
            at += sprintf(at, "\\x%02x", byte);
        else
            *at++ = (char)byte;
    }
    strcpy(at, bytes.size > SHOWN_BYTES_MAX ? "..." : "");
    return room;
}

static void fail_no_number(weft_task *task, const struct pair *pair, weft_bytes key)
{
    char key_text[SHOWN_TEXT_MAX], value_shown[SHOWN_TEXT_MAX];
    show(key_text, key);
    show(value_shown, pair->type == VALUE_BYTES ? pair->bytes : weft_none());
    task_fail_job(task, err_set(WEFT_FAILED_PRECONDITION,
                                "the value \"%s\" of key \"%s\" is not a number; emit it with "
                                "weft_emit_int or weft_emit_double, or in decimal",
                                value_shown, key_text));
}

static void fail_no_memory(weft_task *task, weft_bytes key)
{
    char key_text[SHOWN_TEXT_MAX];
    task_fail_job(
        task,
        err_set(
            WEFT_RESOURCE_EXHAUSTED,
            "the values of key \"%s\" do not fit in memory; use a reduce function that takes them one by one",
            show(key_text, key)));
}

// ---- Sum and mean -------------------------------------------------------------------------------

// A sum in the making. Most sums have no double: `reals` is only begun with the first.
struct total {
    __int128 integers;
    uint64_t count;  // of the values that the mean is taken over
    bool has_reals;
    bool has_others;  // values that are not numbers were handed on
    struct exact_sum reals;
};

static void total_init(struct total *total)
{
    total->integers = 0;
    total->count = 0;
    total->has_reals = total->has_others = false;
}

static void total_begin_reals(struct total *total)
{
    if (!total->has_reals)
        exact_sum_init(&total->reals);
    total->has_reals = true;
}

// Adds a partial sum, which follows its count if it is one of a mean; false when it is damaged.
static bool total_add_partial(struct total *total, const struct pair *pair)
{
    uint64_t count = 1;
    weft_bytes bytes = pair->bytes;
    if (pair->type == VALUE_MEAN) {
        if (bytes.size < sizeof count)
            return false;
        memcpy(&count, bytes.data, sizeof count);
        bytes = (weft_bytes){bytes.data + sizeof count, bytes.size - sizeof count};
    }
    struct exact_sum part;
    if (!exact_sum_read(&part, bytes.data, bytes.size))
        return false;
    total_begin_reals(total);
    exact_sum_add_sum(&total->reals, &part);
    total->count += count;
    return true;
}

static bool total_add(struct total *total, const struct pair *pair)
{
    if (pair->type == VALUE_SUM || pair->type == VALUE_MEAN)
        return total_add_partial(total, pair);
    struct value_number number;
    if (!value_read_number(pair, &number))
        return false;
    total->count++;
    if (number.is_integer) {
        total->integers += number.integer;
    } else {
        total_begin_reals(total);
        exact_sum_add(&total->reals, number.real);
    }
    return true;
}

// All values of the key; false when the task has failed. Combining, a value that is not a number is
// handed on: the reducer may be another that knows it, and otherwise fails by itself.
static bool total_add_all(struct total *total, weft_task *task, weft_bytes key, weft_values *values)
{
    total_init(total);
    for (struct pair pair; values_next(values, &pair);) {
        if (total_add(total, &pair))
            continue;
        if (!task_is_combining(task) || pair.type != VALUE_BYTES) {
            fail_no_number(task, &pair, key);
            return false;
        }
        task_emit_pair(task, key, pair.type, 0, pair.bytes);
        total->has_others = true;
    }
    return true;
}

// Integers and doubles in one exact sum.
static const struct exact_sum *total_join(struct total *total)
{
    total_begin_reals(total);
    exact_sum_add_int(&total->reals, total->integers);
    total->integers = 0;
    return &total->reals;
}

static int64_t bits_of(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void emit_integers(weft_task *task, weft_bytes key, __int128 sum)
{
    // A part of a sum may be too large though the whole is not: it is emitted in pieces.
    while (task_is_combining(task) && (sum > INT64_MAX || sum < INT64_MIN)) {
        const int64_t piece = sum > 0 ? INT64_MAX : INT64_MIN;
        task_emit_pair(task, key, VALUE_INT, piece, weft_none());
        sum -= piece;
    }
    if (sum > INT64_MAX || sum < INT64_MIN) {
        char key_text[SHOWN_TEXT_MAX];
        task_fail_job(
            task,
            err_set(
                WEFT_OUT_OF_RANGE,
                "the sum of key \"%s\" does not fit in 64 bits; emit doubles for sums of this size",
                show(key_text, key)));
        return;
    }
    task_emit_pair(task, key, VALUE_INT, (int64_t)sum, weft_none());
}

void weft_sum(weft_task *task, weft_bytes key, weft_values *values)
{
    struct total total;
    if (!total_add_all(&total, task, key, values))
        return;
    if (total.has_others && total.count == 0)
        return;
    if (!total.has_reals) {
        emit_integers(task, key, total.integers);
        return;
    }
    const struct exact_sum *sum = total_join(&total);
    if (task_is_combining(task)) {
        char bytes[EXACT_SUM_BYTES_MAX];
        const size_t size = exact_sum_write(sum, bytes);
        task_emit_pair(task, key, VALUE_SUM, 0, (weft_bytes){bytes, size});
    } else {
        task_emit_pair(task, key, VALUE_DOUBLE, bits_of(exact_sum_round(sum)), weft_none());
    }
}

void weft_mean(weft_task *task, weft_bytes key, weft_values *values)
{
    struct total total;
    if (!total_add_all(&total, task, key, values) || total.count == 0)
        return;
    const struct exact_sum *sum = total_join(&total);
    if (task_is_combining(task)) {
        char bytes[sizeof total.count + EXACT_SUM_BYTES_MAX];
        memcpy(bytes, &total.count, sizeof total.count);
        const size_t size = exact_sum_write(sum, bytes + sizeof total.count);
        task_emit_pair(task, key, VALUE_MEAN, 0, (weft_bytes){bytes, sizeof total.count + size});
    } else {
        const double mean = exact_sum_mean(sum, total.count);
        task_emit_pair(task, key, VALUE_DOUBLE, bits_of(mean), weft_none());
    }
}

// ---- Least and largest --------------------------------------------------------------------------

static bool is_nan(const struct value_number *number)
{
    return !number->is_integer && number->real != number->real;
}

// The number that comes first in the direction (-1: the smallest). NaN only when there is nothing else.
static void emit_extreme(weft_task *task, weft_bytes key, weft_values *values, int direction)
{
    struct value_number best = {0}, number;
    bool has_best = false;
    for (struct pair pair; values_next(values, &pair);) {
        if (!value_read_number(&pair, &number)) {
            fail_no_number(task, &pair, key);
            return;
        }
        if (!has_best || is_nan(&best) ||
            (!is_nan(&number) && value_number_compare(&number, &best) * direction > 0))
            best = number;
        has_best = true;
    }
    if (!has_best)
        return;
    if (best.is_integer)
        task_emit_pair(task, key, VALUE_INT, best.integer, weft_none());
    else
        task_emit_pair(task, key, VALUE_DOUBLE, bits_of(best.real), weft_none());
}

void weft_min(weft_task *task, weft_bytes key, weft_values *values)
{
    emit_extreme(task, key, values, -1);
}

void weft_max(weft_task *task, weft_bytes key, weft_values *values)
{
    emit_extreme(task, key, values, 1);
}

// ---- As they came -------------------------------------------------------------------------------

// Hands a value on; a partial result that will not be joined any more is rounded.
static void emit_as_it_came(weft_task *task, weft_bytes key, const struct pair *pair)
{
    struct value_number number;
    const bool is_partial = pair->type == VALUE_SUM || pair->type == VALUE_MEAN;
    if (is_partial && !task_is_combining(task) && value_read_number(pair, &number))
        task_emit_pair(task, key, VALUE_DOUBLE, bits_of(number.real), weft_none());
    else
        task_emit_pair(task, key, pair->type, pair->number, pair->bytes);
}

void weft_identity(weft_task *task, weft_bytes key, weft_values *values)
{
    for (struct pair pair; values_next(values, &pair);)
        emit_as_it_came(task, key, &pair);
}

void weft_count(weft_task *task, weft_bytes key, weft_values *values)
{
    if (task_is_combining(task)) {
        weft_identity(task, key, values);
        return;
    }
    int64_t count = 0;
    for (struct pair pair; values_next(values, &pair);)
        count++;
    task_emit_pair(task, key, VALUE_INT, count, weft_none());
}

void weft_first(weft_task *task, weft_bytes key, weft_values *values)
{
    struct pair pair;
    if (values_next(values, &pair))
        emit_as_it_came(task, key, &pair);
}

void weft_collect(weft_task *task, weft_bytes key, weft_values *values)
{
    if (task_is_combining(task)) {
        weft_identity(task, key, values);
        return;
    }
    struct buf joined = {0};
    bool is_first = true;
    for (struct pair pair; values_next(values, &pair); is_first = false) {
        char room[NUMBER_TEXT_MAX];
        const weft_bytes text = value_text(&pair, room);
        if (!is_first)
            buf_append(&joined, "\t", 1);
        buf_append(&joined, text.data, text.size);
    }
    if (joined.has_failed)
        fail_no_memory(task, key);
    else
        task_emit_pair(task, key, VALUE_BYTES, 0, buf_bytes(&joined));
    buf_fini(&joined);
}

// ---- Distinct and top ---------------------------------------------------------------------------

static void emit_items(weft_task *task, weft_bytes key, const struct value_bag *bag)
{
    for (size_t i = 0; i < bag->items.count; i++) {
        const struct bag_item *item = &bag->items.items[i];
        if (item->type == VALUE_BYTES)
            task_emit_pair(task, key, VALUE_BYTES, 0, value_bag_text(bag, i));
        else
            task_emit_pair(task, key, item->type,
                           item->type == VALUE_INT ? item->number.integer
                                                   : bits_of(item->number.real),
                           weft_none());
    }
}

static bool emit_joined(weft_task *task, weft_bytes key, const struct value_bag *bag)
{
    struct buf joined = {0};
    for (size_t i = 0; i < bag->items.count; i++) {
        const weft_bytes text = value_bag_text(bag, i);
        if (i > 0)
            buf_append(&joined, "\t", 1);
        buf_append(&joined, text.data, text.size);
    }
    const bool is_complete = !joined.has_failed;
    if (is_complete)
        task_emit_pair(task, key, VALUE_BYTES, 0, buf_bytes(&joined));
    buf_fini(&joined);
    return is_complete;
}

// When it combines, it emits the kept values one by one: the next call compares them with others.
static void reduce_bag(weft_task *task, weft_bytes key, weft_values *values, uint32_t top_k)
{
    struct value_bag bag;
    value_bag_init(&bag, top_k);
    bool is_ok = true;
    for (struct pair pair; is_ok && values_next(values, &pair);)
        is_ok = value_bag_add(&bag, &pair);
    is_ok = is_ok && value_bag_settle(&bag);
    if (is_ok && task_is_combining(task))
        emit_items(task, key, &bag);
    else if (is_ok)
        is_ok = emit_joined(task, key, &bag);
    if (!is_ok)
        fail_no_memory(task, key);
    value_bag_fini(&bag);
}

void weft_distinct(weft_task *task, weft_bytes key, weft_values *values)
{
    reduce_bag(task, key, values, 0);
}

void weft_top(weft_task *task, weft_bytes key, weft_values *values)
{
    const uint32_t top_k = task_top_k(task);
    if (top_k == 0)
        task_fail_job(task, err_set(WEFT_INVALID_ARGUMENT,
                                    "weft_top keeps the job's top_k largest values, which is 0; "
                                    "set .top_k in the job"));
    else
        reduce_bag(task, key, values, top_k);
}
