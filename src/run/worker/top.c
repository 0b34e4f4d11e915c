// --top N: one more stage that sorts the counted keys, largest first, ties by key, and keeps N.
//
// The sort key is the inverted count (so that larger ones come first as bytes) and then the key.

#include "run/worker/worker_state.h"

#include "base/number.h"

enum { COUNT_BYTES = 8 };

static uint64_t descending(int64_t count)
{
    return __builtin_bswap64(~((uint64_t)count ^ UINT64_C(1) << 63));
}

static void map_by_count(weft_task *task, weft_bytes record)
{
    const weft_bytes key = weft_input_key(task);
    struct slot *slot = slot_of_task(task);
    int64_t count;
    if (!number_read_int(record, &count)) {
        weft_fail(task, "--top needs whole numbers, not '%.*s'", (int)record.size, record.data);
        return;
    }
    struct buf *by_count = &slot->sample;  // unused outside of sampling
    const uint64_t front = descending(count);
    by_count->size = 0;
    buf_append(by_count, &front, COUNT_BYTES);
    buf_append(by_count, key.data, key.size);
    weft_emit(task, buf_bytes(by_count), record);
}

static void reduce_first(weft_task *task, weft_bytes by_count, weft_values *values)
{
    struct slot *slot = slot_of_task(task);
    const weft_bytes key = {by_count.data + COUNT_BYTES, by_count.size - COUNT_BYTES};
    weft_bytes count;
    int64_t number;
    if (slot->records_out >= slot->stage->top || !weft_next(values, &count))
        return;
    // It came as text from the stage before; an output form with numbers is to get a number.
    if (slot->stage->text_form != OUTPUT_TEXT && number_read_int(count, &number))
        weft_emit_int(task, key, number);
    else
        weft_emit(task, key, count);
}

const weft_job worker_top_job = {.name = "top", .map = map_by_count, .reduce = reduce_first};
