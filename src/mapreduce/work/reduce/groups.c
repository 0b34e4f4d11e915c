// Groups: a sorted stream of pairs as one call per key, and the values a reducer iterates over.
//
// A value's bytes belong to the stream until it is asked for the next pair. So the next pair is fetched
// only when the reducer asks; the one that turns out to begin the next group waits here.

#include "base/number.h"
#include "mapreduce/work/reduce/values.h"
#include "mapreduce/work/slot.h"

#include "base/exact_sum.h"

enum { WATCH_EVERY_GROUPS = 256 };  // what a reducer takes for itself is looked at so often

struct weft_values {
    struct slot *slot;
    struct pair_stream *stream;                // NULL: the one pair is all
    struct pair pair;                          // fetched, not yet handed out
    bool has_pair;                             // pair is valid
    bool is_in_group;                          // and belongs to the group
    weft_bytes key;                            // of the pair that was handed out last
    int (*group)(weft_bytes a, weft_bytes b);  // which keys are one group; NULL: equal ones
    char room[NUMBER_TEXT_MAX];
};

static void fetch(weft_values *values)
{
    values->has_pair = false;
    if (!values->stream)
        return;
    const weft_err code = values->stream->next(values->stream, &values->pair, &values->has_pair);
    if (code) {
        values->has_pair = false;
        slot_fail(values->slot, code, false);
    }
}

static bool belongs_to_group(const weft_values *values)
{
    const weft_bytes key = buf_bytes(&values->slot->group_key);
    if (!values->has_pair)
        return false;
    return values->group ? values->group(key, values->pair.key) == 0
                         : bytes_equal(values->pair.key, key);
}

bool values_next(weft_values *values, struct pair *pair)
{
    if (values->slot->has_failed)
        return false;
    if (!values->is_in_group) {
        if (values->has_pair)
            return false;  // the next group's first pair is waiting: this group has ended
        fetch(values);
        if (!belongs_to_group(values))
            return false;
    }
    *pair = values->pair;
    values->key = values->pair.key;
    values->is_in_group = values->has_pair = false;
    return true;
}

static void begin_group(weft_values *values)
{
    struct slot *slot = values->slot;
    slot->group_key.size = 0;
    buf_append(&slot->group_key, values->pair.key.data, values->pair.key.size);
    if (slot->group_key.has_failed)
        slot_fail(slot, err_no_memory("for a key of %zu bytes", values->pair.key.size), true);
    slot->combined_task = values->pair.task;
    values->is_in_group = true;
    values->key = buf_bytes(&slot->group_key);
}

// Passes over the values the reducer left.
static void end_group(weft_values *values)
{
    struct pair rest;
    while (values_next(values, &rest))
        continue;
}

weft_err groups_run(struct slot *slot, struct pair_stream *stream, weft_reduce_fn *function)
{
    // A combiner's groups are single keys: the pairs it emits must have the key that it got.
    weft_values values = {
        .slot = slot,
        .stream = stream,
        .group = slot->mode == SLOT_COMBINE ? NULL : slot->stage->order.group,
    };
    uint32_t group_count = 0;
    fetch(&values);
    while (values.has_pair && !slot->has_failed) {
        if ((++group_count & (WATCH_EVERY_GROUPS - 1)) == 0)
            slot_watch_memory(slot);
        begin_group(&values);
        function(&slot->hot, buf_bytes(&slot->group_key), &values);
        end_group(&values);
    }
    if (stream->close)
        stream->close(stream);
    if (!slot->has_failed)
        return WEFT_OK;
    return err_set(slot->code, "%s", slot->error);
}

void groups_run_one(struct slot *slot, weft_bytes key, int64_t number, weft_reduce_fn *function)
{
    weft_values values = {.slot = slot,
                          .pair = {.key = key, .number = number, .type = VALUE_INT},
                          .key = key,
                          .has_pair = true,
                          .is_in_group = true};
    function(&slot->hot, key, &values);
}

// ---- the public iterators

static double number_as_double(const struct pair *pair)
{
    double value;
    memcpy(&value, &pair->number, sizeof value);
    return value;
}

// A partial sum or mean that reaches another reducer than its own is rounded.
static double partial_as_double(const struct pair *pair)
{
    struct exact_sum sum;
    uint64_t count = 0;
    weft_bytes bytes = pair->bytes;
    if (pair->type == VALUE_MEAN && bytes.size >= 8) {
        memcpy(&count, bytes.data, 8);
        bytes = (weft_bytes){bytes.data + 8, bytes.size - 8};
    }
    const bool is_mean = pair->type == VALUE_MEAN;
    if ((is_mean && count == 0) || !exact_sum_read(&sum, bytes.data, bytes.size))
        return 0;
    return is_mean ? exact_sum_mean(&sum, count) : exact_sum_round(&sum);
}

weft_bytes weft_value_key(const weft_values *values)
{
    return values->key;
}

bool weft_next(weft_values *values, weft_bytes *value)
{
    struct pair pair;
    if (!values_next(values, &pair))
        return false;
    char *end = values->room;
    switch (pair.type) {
    case VALUE_INT:
        end = number_write_int(end, pair.number);
        break;
    case VALUE_DOUBLE:
        end = number_write_double(end, number_as_double(&pair));
        break;
    case VALUE_SUM:
    case VALUE_MEAN:
        end = number_write_double(end, partial_as_double(&pair));
        break;
    default:
        *value = pair.type == VALUE_NONE ? weft_none() : pair.bytes;
        return true;
    }
    *value = (weft_bytes){values->room, (size_t)(end - values->room)};
    return true;
}

static bool refuse_value(weft_values *values, const struct pair *pair, const char *wanted)
{
    weft_fail(&values->slot->hot, "a value of key '%.*s' is not %s: '%.*s'",
              (int)(pair->key.size < 64 ? pair->key.size : 64), pair->key.data, wanted,
              (int)(pair->bytes.size < 64 ? pair->bytes.size : 64),
              pair->bytes.data ? pair->bytes.data : "");
    return false;
}

bool weft_next_int(weft_values *values, int64_t *value)
{
    struct pair pair;
    if (!values_next(values, &pair))
        return false;
    *value = pair.number;
    if (pair.type == VALUE_INT)
        return true;
    if (pair.type == VALUE_BYTES && number_read_int(pair.bytes, value))
        return true;
    return refuse_value(values, &pair, "an integer");
}

bool weft_next_double(weft_values *values, double *value)
{
    struct pair pair;
    if (!values_next(values, &pair))
        return false;
    switch (pair.type) {
    case VALUE_INT:
        *value = (double)pair.number;
        return true;
    case VALUE_DOUBLE:
        *value = number_as_double(&pair);
        return true;
    case VALUE_SUM:
    case VALUE_MEAN:
        *value = partial_as_double(&pair);
        return true;
    default:
        if (pair.type == VALUE_BYTES && number_read_double(pair.bytes, value))
            return true;
        return refuse_value(values, &pair, "a number");
    }
}
