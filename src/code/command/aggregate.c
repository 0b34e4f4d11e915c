// The reducer `aggregate`: one value at a time, as Hadoop's ValueAggregators do it. Sets are lists of
// values that are sorted and thinned whenever they have doubled.

#include "code/command/aggregate.h"

#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "base/number.h"

enum { MERGE_ITEMS_MIN = 4096 };

static const char *const kind_names[] = {
    [AGGREGATE_LONG_SUM] = "LongValueSum",       [AGGREGATE_LONG_MAX] = "LongValueMax",
    [AGGREGATE_LONG_MIN] = "LongValueMin",       [AGGREGATE_DOUBLE_SUM] = "DoubleValueSum",
    [AGGREGATE_STRING_MAX] = "StringValueMax",   [AGGREGATE_STRING_MIN] = "StringValueMin",
    [AGGREGATE_UNIQUE_COUNT] = "UniqValueCount", [AGGREGATE_HISTOGRAM] = "ValueHistogram",
};

enum { KIND_COUNT = sizeof kind_names / sizeof *kind_names };

void aggregate_fini(struct aggregate *aggregate)
{
    buf_fini(&aggregate->text);
    buf_fini(&aggregate->result);
    VEC_FINI(&aggregate->items);
}

weft_err aggregate_begin(struct aggregate *aggregate, weft_bytes key)
{
    const char *colon = key.size ? memchr(key.data, ':', key.size) : NULL;
    const size_t size = colon ? (size_t)(colon - key.data) : 0;
    size_t kind = 0;
    while (kind < KIND_COUNT &&
           (strlen(kind_names[kind]) != size || strncasecmp(kind_names[kind], key.data, size) != 0))
        kind++;
    if (kind == KIND_COUNT)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "aggregate: the key '%.*s' does not say what to do with its values\n"
            "  keys are TYPE:NAME, such as LongValueSum:word; the types are LongValueSum, "
            "LongValueMax, LongValueMin, DoubleValueSum, StringValueMax, StringValueMin, "
            "UniqValueCount, ValueHistogram",
            (int)(key.size < 80 ? key.size : 80), key.data);
    aggregate->kind = (enum aggregate_kind)kind;
    aggregate->name = (weft_bytes){colon + 1, key.size - size - 1};
    aggregate->has_value = false;
    aggregate->number = 0;
    aggregate->text.size = 0;
    aggregate->items.count = 0;
    aggregate->merge_at = MERGE_ITEMS_MIN;
    if (aggregate->kind == AGGREGATE_DOUBLE_SUM)
        exact_sum_init(&aggregate->sum);
    return WEFT_OK;
}

// ---- Adding ---------------------------------------------------------------------------------------------

static weft_err refuse_number(const struct aggregate *aggregate, weft_bytes value)
{
    return err_set(
        WEFT_INVALID_ARGUMENT, "aggregate: %s:%.*s has the value '%.*s', which is not a number",
        kind_names[aggregate->kind], (int)(aggregate->name.size < 80 ? aggregate->name.size : 80),
        aggregate->name.data, (int)(value.size < 80 ? value.size : 80), value.data);
}

static weft_err add_long(struct aggregate *aggregate, weft_bytes value)
{
    int64_t number;
    if (!number_read_int(value, &number))
        return refuse_number(aggregate, value);
    if (aggregate->kind == AGGREGATE_LONG_SUM) {
        if (__builtin_add_overflow(aggregate->number, number, &aggregate->number))
            return err_set(WEFT_OUT_OF_RANGE,
                           "aggregate: the sum of LongValueSum:%.*s does not fit into 64 bits",
                           (int)(aggregate->name.size < 80 ? aggregate->name.size : 80),
                           aggregate->name.data);
    } else if (!aggregate->has_value ||
               (aggregate->kind == AGGREGATE_LONG_MAX ? number > aggregate->number
                                                      : number < aggregate->number)) {
        aggregate->number = number;
    }
    return WEFT_OK;
}

static weft_err add_double(struct aggregate *aggregate, weft_bytes value)
{
    double number;
    while (value.size && (unsigned char)value.data[value.size - 1] <= ' ')
        value.size--;
    while (value.size && (unsigned char)value.data[0] <= ' ')
        value.data++, value.size--;
    if (!number_read_double(value, &number))
        return refuse_number(aggregate, value);
    exact_sum_add(&aggregate->sum, number);
    return WEFT_OK;
}

static int compare_bytes(const char *a, size_t a_size, const char *b, size_t b_size)
{
    const int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static void add_string(struct aggregate *aggregate, weft_bytes value)
{
    const int order = aggregate->has_value
                          ? compare_bytes(value.data, value.size, buf_text(&aggregate->text),
                                          aggregate->text.size)
                          : 0;
    if (aggregate->has_value && (aggregate->kind == AGGREGATE_STRING_MAX ? order <= 0 : order >= 0))
        return;
    aggregate->text.size = 0;
    buf_append(&aggregate->text, value.data, value.size);
}

static int compare_items(const void *a, const void *b, void *text)
{
    const struct aggregate_item *left = a, *right = b;
    return compare_bytes((char *)text + left->offset, left->size, (char *)text + right->offset,
                         right->size);
}

// Sorts the values and puts equal ones together, their bytes too. False: a count overflows.
static bool merge_items(struct aggregate *aggregate)
{
    struct buf text = {0};
    const char *from = aggregate->text.data;
    struct aggregate_item *items = aggregate->items.items;
    bool fits = true;
    size_t kept = 0;
    if (aggregate->items.count > 0)
        qsort_r(items, aggregate->items.count, sizeof *items, compare_items, aggregate->text.data);
    for (size_t i = 0; i < aggregate->items.count; i++) {
        const struct aggregate_item item = items[i];
        struct aggregate_item *last = kept ? &items[kept - 1] : NULL;
        if (last && compare_bytes(buf_text(&text) + last->offset, last->size, from + item.offset,
                                  item.size) == 0) {
            fits &= !__builtin_add_overflow(last->count, item.count, &last->count);
            continue;
        }
        items[kept++] = (struct aggregate_item){text.size, item.size, item.count};
        buf_append(&text, from + item.offset, item.size);
    }
    aggregate->items.count = kept;
    buf_fini(&aggregate->text);
    aggregate->text = text;
    aggregate->merge_at = 2 * kept > MERGE_ITEMS_MIN ? 2 * kept : MERGE_ITEMS_MIN;
    return fits;
}

// VALUE, or VALUE TAB COUNT as the combiner of a histogram writes it.
static weft_err add_item(struct aggregate *aggregate, weft_bytes value)
{
    struct aggregate_item item = {.offset = aggregate->text.size, .size = value.size, .count = 1};
    const char *tab = aggregate->kind == AGGREGATE_HISTOGRAM && value.size
                          ? memrchr(value.data, '\t', value.size)
                          : NULL;
    if (tab) {
        item.size = (size_t)(tab - value.data);
        if (!number_read_int((weft_bytes){tab + 1, value.size - item.size - 1}, &item.count))
            return refuse_number(aggregate, value);
    }
    buf_append(&aggregate->text, value.data, item.size);
    if (!VEC_PUSH(&aggregate->items, item) || aggregate->text.has_failed)
        return err_no_memory("for the values of an aggregate");
    if (aggregate->items.count >= aggregate->merge_at && !merge_items(aggregate))
        return err_set(WEFT_OUT_OF_RANGE, "aggregate: a count does not fit into 64 bits");
    return WEFT_OK;
}

weft_err aggregate_add(struct aggregate *aggregate, weft_bytes value)
{
    weft_err code = WEFT_OK;
    if (!value.data)
        value.data = "";
    switch (aggregate->kind) {
    case AGGREGATE_LONG_SUM:
    case AGGREGATE_LONG_MAX:
    case AGGREGATE_LONG_MIN:
        code = add_long(aggregate, value);
        break;
    case AGGREGATE_DOUBLE_SUM:
        code = add_double(aggregate, value);
        break;
    case AGGREGATE_STRING_MAX:
    case AGGREGATE_STRING_MIN:
        add_string(aggregate, value);
        break;
    case AGGREGATE_UNIQUE_COUNT:
    case AGGREGATE_HISTOGRAM:
        code = add_item(aggregate, value);
        break;
    }
    aggregate->has_value = true;
    return code;
}

// ---- Results ----------------------------------------------------------------------------------------------

// A double as Java prints it: 1.0, 0.001, 1.0E7, 1.5E-4; the shortest digits that read back the same.
static void append_double(struct buf *to, double value)
{
    char text[40], digits[20];
    int precision = 0, exponent = 0, count = 0;
    if (isnan(value) || isinf(value)) {
        buf_append_text(to, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    do
        snprintf(text, sizeof text, "%.*e", precision, fabs(value));
    while (strtod(text, NULL) != fabs(value) && precision++ < 17);
    for (const char *at = text; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            digits[count++] = *at;
    exponent = atoi(strchr(text, 'e') + 1);
    while (count > 1 && digits[count - 1] == '0')
        count--;
    buf_append_text(to, signbit(value) ? "-" : "");
    if (value == 0 || (exponent >= -3 && exponent < 7)) {
        const int whole = exponent >= 0 ? exponent + 1 : 0;
        buf_append_text(to, whole ? "" : "0");
        for (int i = 0; i < whole; i++)
            buf_append(to, i < count ? &digits[i] : "0", 1);
        buf_append_text(to, ".");
        for (int i = exponent + 1; i < 0; i++)
            buf_append_text(to, "0");
        buf_append(to, digits + whole, (size_t)(count > whole ? count - whole : 0));
        buf_append_text(to, count > whole ? "" : "0");
        return;
    }
    buf_format(to, "%c.%.*sE%d", digits[0], count > 1 ? count - 1 : 1, count > 1 ? digits + 1 : "0",
               exponent);
}

static int compare_counts(const void *a, const void *b)
{
    const int64_t left = ((const struct aggregate_item *)a)->count;
    const int64_t right = ((const struct aggregate_item *)b)->count;
    return (left > right) - (left < right);
}

static void append_histogram(struct aggregate *aggregate, struct buf *to)
{
    struct aggregate_item *items = aggregate->items.items;
    const size_t count = aggregate->items.count;
    buf_format(to, "%zu", count);
    if (count == 0)
        return;
    qsort(items, count, sizeof *items, compare_counts);
    int64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total = (int64_t)((uint64_t)total + (uint64_t)items[i].count);
    const double mean = (double)total / (double)count;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        const double difference = (double)items[i].count - mean;
        squares += difference * difference;
    }
    buf_format(to, "\t%lld\t%lld\t%lld\t", (long long)items[0].count,
               (long long)items[count / 2].count, (long long)items[count - 1].count);
    append_double(to, mean);
    buf_append_text(to, "\t");
    append_double(to, sqrt(squares / (double)count));
}

weft_err aggregate_report(struct aggregate *aggregate, weft_bytes *result)
{
    struct buf *to = &aggregate->result;
    to->size = 0;
    buf_reserve(to, 1);
    switch (aggregate->kind) {
    case AGGREGATE_LONG_SUM:
    case AGGREGATE_LONG_MAX:
    case AGGREGATE_LONG_MIN:
        buf_format(to, "%lld", (long long)aggregate->number);
        break;
    case AGGREGATE_DOUBLE_SUM:
        append_double(to, exact_sum_round(&aggregate->sum));
        break;
    case AGGREGATE_STRING_MAX:
    case AGGREGATE_STRING_MIN:
        buf_append(to, aggregate->text.data, aggregate->text.size);
        break;
    case AGGREGATE_UNIQUE_COUNT:
    case AGGREGATE_HISTOGRAM:
        if (!merge_items(aggregate))
            return err_set(WEFT_OUT_OF_RANGE, "aggregate: a count does not fit into 64 bits");
        if (aggregate->kind == AGGREGATE_HISTOGRAM)
            append_histogram(aggregate, to);
        else
            buf_format(to, "%zu", aggregate->items.count);
        break;
    }
    *result = buf_bytes(to);
    if (to->has_failed || aggregate->text.has_failed)
        return err_no_memory("for the result of an aggregate");
    return WEFT_OK;
}

// ---- As a combiner ----------------------------------------------------------------------------------------

bool aggregate_can_combine(const struct aggregate *aggregate)
{
    return aggregate->kind != AGGREGATE_DOUBLE_SUM;
}

bool aggregate_next_combined(struct aggregate *aggregate, size_t *at, weft_bytes *value)
{
    if (aggregate->kind != AGGREGATE_UNIQUE_COUNT && aggregate->kind != AGGREGATE_HISTOGRAM)
        return aggregate->has_value && (*at)++ == 0 &&
               aggregate_report(aggregate, value) == WEFT_OK;
    if (*at == 0 && !merge_items(aggregate))
        return false;
    if (*at >= aggregate->items.count)
        return false;
    const struct aggregate_item *item = &aggregate->items.items[(*at)++];
    struct buf *to = &aggregate->result;
    to->size = 0;
    buf_reserve(to, 1);
    buf_append(to, aggregate->text.data + item->offset, item->size);
    if (aggregate->kind == AGGREGATE_HISTOGRAM)
        buf_format(to, "\t%lld", (long long)item->count);
    *value = buf_bytes(to);
    return !to->has_failed;
}
