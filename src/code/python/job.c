// The job of Python functions: blocks of records become frames, groups of values too.
//
//   map_block    records -> frame -> mapfn -> pairs, or sums that the interpreter has added up -> emit
//   reduce       groups -> frames -> reducefn or fold -> text
//   reduce_sum   integers are added here; only what Python must see goes there

#include "code/python/interpreter.h"

#include <stdio.h>

#include "base/exact_sum.h"
#include "mapreduce/work/map/map.h"
#include "mapreduce/work/reduce/values.h"
#include "mapreduce/work/slot.h"

enum {
    BATCH_BYTES = 64 << 10,  // of groups, in a frame
    MARK_FIRST = 0xF8,       // the first byte of keys that are not plain text (python/src/codec.h)
    MARK_INT = 0xFA,
};

// As python/src/slot/slot.h numbers them.
enum { CUT_LINES, CUT_WHOLE, CUT_CHUNKS, CUT_FRAMED };

// ---- Map ------------------------------------------------------------------------------------------------

static void put_name(struct buf *names, weft_bytes name)
{
    const uint32_t size = (uint32_t)name.size;
    buf_append(names, &size, sizeof size);
    buf_append(names, name.data, name.size);
}

static void send_header(struct interpreter *interpreter)
{
    struct slot *slot = slot_of_task(interpreter->task);
    fields_find_header(slot);
    struct buf *names = &interpreter->room;
    names->size = 0;
    for (size_t i = 0; i < slot->header.names.count; i++)
        put_name(names, slot->header.names.items[i]);
    interpreter_send(interpreter, 'H', buf_bytes(names), (weft_bytes){0});
}

// What items have for a header is the place of their values.
static void send_values(struct interpreter *interpreter)
{
    const struct task_values *values = &interpreter->facts.values;
    struct buf *names = &interpreter->room;
    char offset[24];
    snprintf(offset, sizeof offset, "%llu", (unsigned long long)values->offset);
    names->size = 0;
    put_name(names, weft_text(values->path));
    put_name(names, weft_text(offset));
    interpreter_send(interpreter, 'H', buf_bytes(names), (weft_bytes){0});
}

// The interpreter learns of an input when the first block of it comes.
static void name_input(struct interpreter *interpreter)
{
    const uint32_t index = weft_input_index(interpreter->task);
    if (interpreter->has_input && interpreter->input_index == index)
        return;
    interpreter->has_input = true;
    interpreter->input_index = index;
    interpreter_send(interpreter, 'I', weft_text(weft_input_name(interpreter->task)),
                     (weft_bytes){0});
    if (task_record_format(interpreter->task)->has_header)
        send_header(interpreter);
    if (interpreter->facts.values.path)
        send_values(interpreter);
}

static void send_block(struct interpreter *interpreter, char cut, char delimiter, weft_bytes block)
{
    char head[10];
    const uint64_t offset = weft_input_offset(interpreter->task);
    memcpy(head, &offset, 8);
    head[8] = cut;
    head[9] = delimiter;
    interpreter->sent_offset = offset + block.size;
    interpreter->sent_bytes += block.size;
    interpreter_send(interpreter, 'D', (weft_bytes){head, sizeof head}, block);
}

// Records that only the engine knows how to cut are cut here.
static void send_framed(struct interpreter *interpreter, weft_bytes block)
{
    const struct record_format *format = task_record_format(interpreter->task);
    const uint64_t base = weft_input_offset(interpreter->task);
    const char *begin = block.data;
    struct buf *frames = &interpreter->room;
    weft_err code = WEFT_OK;
    frames->size = 0;
    for (weft_bytes record; record_next(format, &block, &record, &code);) {
        const uint64_t offset = base + (uint64_t)(record.data - begin);
        const uint32_t size = (uint32_t)record.size;
        buf_append(frames, &offset, sizeof offset);
        buf_append(frames, &size, sizeof size);
        buf_append(frames, record.data, record.size);
    }
    if (frames->has_failed)
        code = err_no_memory("for records of Python");
    interpreter_fail(interpreter, code, true);
    send_block(interpreter, CUT_FRAMED, 0, buf_bytes(frames));
}

static void map_block(weft_task *task, weft_bytes block)
{
    struct interpreter *interpreter = weft_task_state(task);
    const struct record_format *format = task_record_format(task);
    if (interpreter->failure || !interpreter->is_running)
        return;
    const bool is_file = format->kind == RECORD_FILES;
    if (block.size == 0 && !is_file)
        return;
    name_input(interpreter);
    if (is_file)
        send_block(interpreter, CUT_WHOLE, 0, block);
    else if (format->kind == RECORD_LINES)
        send_block(interpreter, CUT_LINES, (char)format->delimiter, block);
    else if (format->kind == RECORD_CHUNKS)
        send_block(interpreter, CUT_CHUNKS, (char)format->delimiter, block);
    else
        send_framed(interpreter, block);
}

// ---- Groups ---------------------------------------------------------------------------------------------

static void put_sized(struct interpreter *interpreter, char kind, weft_bytes bytes)
{
    const uint32_t size = (uint32_t)bytes.size;
    buf_append(&interpreter->batch, &kind, 1);
    buf_append(&interpreter->batch, &size, sizeof size);
    buf_append(&interpreter->batch, bytes.data, bytes.size);
}

static void put_number(struct interpreter *interpreter, char kind, const void *number)
{
    buf_append(&interpreter->batch, &kind, 1);
    buf_append(&interpreter->batch, number, 8);
}

static void send_when_full(struct interpreter *interpreter)
{
    struct buf *batch = &interpreter->batch;
    if (batch->has_failed)
        interpreter_fail(interpreter, err_no_memory("for values of Python"), true);
    if (batch->size < BATCH_BYTES || interpreter->failure)
        return;
    interpreter_send(interpreter, 'R', buf_bytes(batch), (weft_bytes){0});
    batch->size = 0;
}

static void put_end(struct interpreter *interpreter)
{
    buf_append(&interpreter->batch, "e", 1);
    send_when_full(interpreter);
    if (!interpreter->failure)
        interpreter->group_bytes = 0;
}

static void reduce(weft_task *task, weft_bytes key, weft_values *values)
{
    struct interpreter *interpreter = weft_task_state(task);
    if (interpreter->failure)
        return;
    put_sized(interpreter, 'k', key);
    for (weft_bytes value; weft_next(values, &value) && !interpreter->failure;) {
        put_sized(interpreter, 'v', value);
        interpreter->group_bytes += value.size;
        send_when_full(interpreter);
    }
    put_end(interpreter);
}

// ---- Sums -----------------------------------------------------------------------------------------------

struct total {
    __int128 integers;
    bool has_reals, has_others;
    struct exact_sum reals;
};

static bool add_real(struct total *total, const struct pair *pair)
{
    struct exact_sum part;
    double value;
    if (!total->has_reals)
        exact_sum_init(&total->reals);
    total->has_reals = true;
    if (pair->type == VALUE_SUM) {
        if (!exact_sum_read(&part, pair->bytes.data, pair->bytes.size))
            return false;
        exact_sum_add_sum(&total->reals, &part);
        return true;
    }
    memcpy(&value, &pair->number, sizeof value);
    exact_sum_add(&total->reals, value);
    return true;
}

// Values that are neither int64 nor float are for Python to add; the group begins in the batch.
static bool add(struct interpreter *interpreter, struct total *total, weft_bytes key,
                const struct pair *pair)
{
    if (pair->type == VALUE_INT) {
        total->integers += pair->number;
        return true;
    }
    if (pair->type != VALUE_BYTES)
        return add_real(total, pair);
    if (!total->has_others)
        put_sized(interpreter, 'k', key);
    total->has_others = true;
    put_sized(interpreter, 'v', pair->bytes);
    send_when_full(interpreter);
    return true;
}

static void put_integers(struct interpreter *interpreter, __int128 sum)
{
    do {
        const int64_t piece = sum > INT64_MAX   ? INT64_MAX
                              : sum < INT64_MIN ? INT64_MIN
                                                : (int64_t)sum;
        put_number(interpreter, 'i', &piece);
        sum -= piece;
    } while (sum != 0);
}

// The rest of the group, for Python.
static void put_total(struct interpreter *interpreter, struct total *total, weft_bytes key)
{
    if (!total->has_others)
        put_sized(interpreter, 'k', key);
    if (total->has_reals) {
        exact_sum_add_int(&total->reals, total->integers);
        const double real = exact_sum_round(&total->reals);
        put_number(interpreter, 'd', &real);
    } else if (total->integers || !total->has_others) {
        put_integers(interpreter, total->integers);
    }
    put_end(interpreter);
}

static void append_int(struct buf *to, int64_t value)
{
    const uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    const unsigned char mask = value < 0 ? 0xFF : 0;
    unsigned length = 0;
    while (length < 8 && magnitude >> 8 * length)
        length++;
    unsigned char bytes[10] = {MARK_INT,
                               (unsigned char)(value < 0 ? 0x7F - length : 0x80 + length)};
    for (unsigned i = 0; i < length; i++)
        bytes[2 + i] = (unsigned char)(magnitude >> 8 * (length - 1 - i)) ^ mask;
    buf_append(to, bytes, 2 + length);
}

// A typed pair as the interpreter would write it.
static void write_typed(struct interpreter *interpreter, weft_bytes key, int64_t sum)
{
    struct buf *room = &interpreter->room;
    uint32_t sizes[2] = {(uint32_t)key.size, 0};
    room->size = 0;
    buf_append(room, sizes, sizeof sizes);
    buf_append(room, key.data, key.size);
    append_int(room, sum);
    if (room->has_failed) {
        interpreter_fail(interpreter, err_no_memory("for a pair of Python"), true);
        return;
    }
    sizes[1] = (uint32_t)(room->size - sizeof sizes - key.size);
    memcpy(room->data + 4, &sizes[1], 4);
    weft_write(interpreter->task, buf_bytes(room), 1);
}

// Python need not see an integer whose key is text. Not while it has keys that come before.
static bool write_here(struct interpreter *interpreter, const struct total *total, weft_bytes key)
{
    const bool is_odd = key.size && (unsigned char)key.data[0] == MARK_FIRST;
    const bool is_text = !key.size || (unsigned char)key.data[0] <= MARK_FIRST;
    if (total->has_others || total->has_reals || interpreter->batch.size ||
        interpreter->has_batch || total->integers > INT64_MAX || total->integers < INT64_MIN)
        return false;
    if (interpreter->shape.is_typed)
        write_typed(interpreter, key, (int64_t)total->integers);
    else if (is_text)
        weft_emit_int_(interpreter->task, (weft_bytes){key.data + is_odd, key.size - is_odd},
                       (int64_t)total->integers);
    return is_text || interpreter->shape.is_typed;
}

static void reduce_sum(weft_task *task, weft_bytes key, weft_values *values)
{
    struct interpreter *interpreter = weft_task_state(task);
    struct total total = {0};
    if (interpreter->failure)
        return;
    for (struct pair pair; values_next(values, &pair);)
        if (!add(interpreter, &total, key, &pair)) {
            interpreter_fail(interpreter, err_set(WEFT_DATA_LOSS, "a partial sum is damaged"),
                             false);
            return;
        }
    if (write_here(interpreter, &total, key))
        return;
    interpreter->has_batch = true;
    put_total(interpreter, &total, key);
}

// ---- The job --------------------------------------------------------------------------------------------

static weft_err configure(weft_job *job, const weft_args *args)
{
    struct python_shape shape;
    const weft_err code = python_read_shape(args, &shape);
    if (code)
        return code;
    switch (shape.kind) {
    case PYTHON_MAP:
        job->reduce = NULL;
        break;
    case PYTHON_SUM:
    case PYTHON_COUNT:
        job->reduce = reduce_sum;
        job->combine = weft_sum;
        break;
    case PYTHON_FOLD:
    case PYTHON_REDUCE:
        job->reduce = reduce;
        break;
    }
    return WEFT_OK;
}

static const char job_name[] = "python";

const weft_job python_job = {
    .name = job_name,
    .map_block = map_block,
    .options = "K:P:L:S:J:QV:C:",
    .usage = "Runs the functions of a Python script; see weft run SCRIPT.py.\n",
    .configure = configure,
};
