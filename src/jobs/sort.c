// sort: the lines of the input in order. The engine sorts keys by their bytes, so a line travels as a key
// that sorts right, and comes back out of it; only where lines of equal keys must stay apart (-u, -s)
// does it travel beside its key.
//
//   sort           key = line                       every pair as it came
//   sort -r        key = line, encoded              the line read back from the key
//   sort -u        the same, counted                once
//   sort -k...     key = fields and line, encoded   the line read back; value: where it begins
//   ... -u or -s   key = fields, value = line       the first value, or all in input order

#include "jobs/builtin.h"
#include "jobs/lines.h"
#include "mapreduce/order/sort_key.h"

#include <stdlib.h>

// One per slot.
struct sorter {
    struct sort_order order;
    struct buf key, line;
};

static weft_err setup(weft_task *task)
{
    struct sorter *sorter = calloc(1, sizeof *sorter);
    if (!sorter)
        return err_no_memory("for sort");
    const weft_err err = sort_order_init(&sorter->order, weft_task_args(task));
    if (err)
        free(sorter);
    else
        weft_task_set_state(task, sorter);
    return err;
}

static void teardown(weft_task *task)
{
    struct sorter *sorter = weft_task_state(task);
    if (!sorter)
        return;
    sort_order_fini(&sorter->order);
    buf_fini(&sorter->key);
    buf_fini(&sorter->line);
    free(sorter);
}

// ---- Map ------------------------------------------------------------------------------------------

static void emit_lines(weft_task *task, weft_bytes block)
{
    struct lines lines;
    lines_init(&lines, task, block);
    for (weft_bytes line; lines_next(&lines, &line);)
        weft_emit(task, line, weft_none());
}

static void emit_counted_lines(weft_task *task, weft_bytes block)
{
    struct lines lines;
    lines_init(&lines, task, block);
    for (weft_bytes line; lines_next(&lines, &line);)
        weft_emit_int(task, line, 1);
}

// The key of the line in sorter->key; false when there was no memory for it.
static bool encode(weft_task *task, weft_bytes line, size_t *line_offset)
{
    struct sorter *sorter = weft_task_state(task);
    sort_order_encode(&sorter->order, line, &sorter->key, line_offset);
    if (!sorter->key.has_failed)
        return true;
    weft_fail(task, "no memory for the sort key of a line of %zu bytes", line.size);
    return false;
}

static void emit_keys(weft_task *task, weft_bytes block)
{
    const struct sorter *sorter = weft_task_state(task);
    struct lines lines;
    size_t offset;
    lines_init(&lines, task, block);
    for (weft_bytes line; lines_next(&lines, &line) && encode(task, line, &offset);)
        weft_emit(task, buf_bytes(&sorter->key), weft_none());
}

static void emit_counted_keys(weft_task *task, weft_bytes block)
{
    const struct sorter *sorter = weft_task_state(task);
    struct lines lines;
    size_t offset;
    lines_init(&lines, task, block);
    for (weft_bytes line; lines_next(&lines, &line) && encode(task, line, &offset);)
        weft_emit_int(task, buf_bytes(&sorter->key), 1);
}

static void emit_keys_with_offset(weft_task *task, weft_bytes block)
{
    const struct sorter *sorter = weft_task_state(task);
    struct lines lines;
    size_t offset;
    lines_init(&lines, task, block);
    for (weft_bytes line; lines_next(&lines, &line) && encode(task, line, &offset);)
        weft_emit_int(task, buf_bytes(&sorter->key), (int64_t)offset);
}

static void emit_keys_with_line(weft_task *task, weft_bytes block)
{
    const struct sorter *sorter = weft_task_state(task);
    struct lines lines;
    size_t offset;
    lines_init(&lines, task, block);
    for (weft_bytes line; lines_next(&lines, &line) && encode(task, line, &offset);)
        weft_emit(task, buf_bytes(&sorter->key), line);
}

// ---- Reduce ---------------------------------------------------------------------------------------

static weft_bytes decode(weft_task *task, weft_bytes key, size_t line_offset)
{
    struct sorter *sorter = weft_task_state(task);
    const weft_bytes line = sort_order_decode(&sorter->order, key, line_offset, &sorter->line);
    if (sorter->line.has_failed)
        weft_fail(task, "no memory for a line of %zu bytes", key.size);
    return line;
}

static void print_decoded(weft_task *task, weft_bytes key, weft_values *values)
{
    const weft_bytes line = decode(task, key, 0);
    for (weft_bytes none; weft_next(values, &none);)
        weft_emit(task, line, weft_none());
}

static void print_decoded_at_offset(weft_task *task, weft_bytes key, weft_values *values)
{
    // Equal keys are equal lines: all begin at the same place.
    int64_t offset;
    if (!weft_next_int(values, &offset))
        return;
    const weft_bytes line = decode(task, key, (size_t)offset);
    do
        weft_emit(task, line, weft_none());
    while (weft_next_int(values, &offset));
}

static void print_decoded_once(weft_task *task, weft_bytes key, weft_values *values)
{
    (void)values;
    weft_emit(task, decode(task, key, 0), weft_none());
}

static void print_values(weft_task *task, weft_bytes key, weft_values *values)
{
    (void)key;
    for (weft_bytes line; weft_next(values, &line);)
        weft_emit(task, line, weft_none());
}

static void print_first_value(weft_task *task, weft_bytes key, weft_values *values)
{
    (void)key;
    weft_bytes line;
    if (weft_next(values, &line))
        weft_emit(task, line, weft_none());
}

static weft_err configure(weft_job *job, const weft_args *args)
{
    struct sort_order order;
    const weft_err err = sort_order_init(&order, args);
    if (err)
        return err;
    if (order.key_count > 0) {
        const bool has_last_resort = sort_order_has_last_resort(&order);
        job->map_block = has_last_resort ? emit_keys_with_offset : emit_keys_with_line;
        job->reduce = has_last_resort   ? print_decoded_at_offset
                      : order.is_unique ? print_first_value
                                        : print_values;
    } else if (order.is_unique) {
        job->map_block = order.is_reversed ? emit_counted_keys : emit_counted_lines;
        job->combine = weft_sum;
        job->reduce = print_decoded_once;
    } else if (order.is_reversed) {
        job->map_block = emit_keys;
        job->reduce = print_decoded;
    }
    sort_order_fini(&order);
    return WEFT_OK;
}

const weft_job builtin_sort = {
    .name = "sort",
    .map_block = emit_lines,
    .reduce = weft_identity,
    .setup = setup,
    .teardown = teardown,
    .options = "bdfghik:mMnrst:uV",
    .usage =
        "Sorts lines by their bytes, as LC_ALL=C sort does.\n"
        "  -k F[.C][OPTS][,F[.C][OPTS]]\n"
        "        a key from a field (and character) to a field; OPTS are of bdfghiMnrV; repeatable\n"
        "  -t C  fields are separated by C (\\t, \\0), else by the change to blanks\n"
        "  -n    by number    -g  by number as 1e-3, 0x1f    -h  by number with a unit: 2K, 1G\n"
        "  -V    by version: a9 before a10    -M  by month: JAN, FEB\n"
        "  -r    largest first    -f  ignore case    -b  ignore leading blanks\n"
        "  -d    only blanks, letters and digits count    -i  only printable characters count\n"
        "  -u    of equal lines only the first    -s  equal lines stay in input order\n"
        "  -m    inputs are sorted already: the answer is the same\n",
    .configure = configure,
};
