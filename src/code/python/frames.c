// Frames from the interpreter: pairs go to the engine, failures are kept for the end of the attempt.

#include "code/python/interpreter.h"

// Takes `size` bytes off the front.
static bool cut(weft_bytes *rest, size_t size, weft_bytes *piece)
{
    if (rest->size < size)
        return false;
    *piece = (weft_bytes){rest->data, size};
    rest->data += size;
    rest->size -= size;
    return true;
}

// Key size, a number of eight bytes, key.
static bool cut_number(weft_bytes *rest, weft_bytes *key, void *number)
{
    weft_bytes head;
    uint32_t size;
    if (!cut(rest, 12, &head))
        return false;
    memcpy(&size, head.data, 4);
    memcpy(number, head.data + 4, 8);
    return cut(rest, size, key);
}

static bool cut_pair(weft_bytes *rest, weft_bytes *key, weft_bytes *value)
{
    weft_bytes head;
    uint32_t sizes[2];
    if (!cut(rest, sizeof sizes, &head))
        return false;
    memcpy(sizes, head.data, sizeof sizes);
    *value = weft_none();
    return cut(rest, sizes[0], key) && (sizes[1] == UINT32_MAX || cut(rest, sizes[1], value));
}

// Bytes after a key that are read with it must be there: weft_emit_int reads eight at once.
static bool take_sums(weft_task *task, weft_bytes rest)
{
    const char *end = rest.data + rest.size;
    weft_bytes key;
    for (int64_t sum; rest.size;) {
        if (!cut_number(&rest, &key, &sum))
            return false;
        if (end - key.data >= 8)
            weft_emit_int(task, key, sum);
        else
            weft_emit_int_(task, key, sum);
    }
    return true;
}

static bool take_floats(weft_task *task, weft_bytes rest)
{
    weft_bytes key;
    for (double value; rest.size;) {
        if (!cut_number(&rest, &key, &value))
            return false;
        weft_emit_double(task, key, value);
    }
    return true;
}

static bool take_pairs(weft_task *task, weft_bytes rest)
{
    for (weft_bytes key, value; rest.size;) {
        if (!cut_pair(&rest, &key, &value))
            return false;
        weft_emit(task, key, value);
    }
    return true;
}

static bool take_typed(weft_task *task, weft_bytes all)
{
    weft_bytes rest = all;
    uint64_t pair_count = 0;
    for (weft_bytes key, value; rest.size; pair_count++)
        if (!cut_pair(&rest, &key, &value))
            return false;
    if (pair_count)
        weft_write(task, all, pair_count);
    return true;
}

static bool take_failure(struct interpreter *interpreter, weft_bytes text, bool is_final)
{
    weft_bytes offset;
    if (!is_final && !cut(&text, 8, &offset))
        return false;
    const weft_err code = is_final ? WEFT_FAILED_PRECONDITION : WEFT_ABORTED;
    interpreter_fail(interpreter, err_set(code, "%.*s", (int)text.size, text.data), is_final);
    return true;
}

bool interpreter_take_frame(struct interpreter *interpreter, char kind, weft_bytes payload)
{
    weft_task *task = interpreter->task;
    if (!task && kind != 'L')
        return false;
    switch (kind) {
    case 'N':
        return take_sums(task, payload);
    case 'G':
        return take_floats(task, payload);
    case 'P':
    case 'T':
        return take_pairs(task, payload);
    case 'W':
        return take_typed(task, payload);
    case 'F':
    case 'L':
        return take_failure(interpreter, payload, kind == 'L');
    case 'E':
        interpreter->has_ended = true;
        return payload.size == 0;
    default:
        return false;
    }
}
