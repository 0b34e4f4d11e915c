// Frames from the interpreter: pairs go to the engine, failures are kept for the end of the attempt.

#include "code/python/interpreter.h"
#include "sys/time/clock.h"

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
    interpreter->is_reported = !is_final && !interpreter->failure;
    interpreter_fail(interpreter, err_set(code, "%.*s", (int)text.size, text.data), is_final);
    return true;
}

static bool take_frame(struct interpreter *interpreter, char kind, weft_bytes payload)
{
    weft_task *task = interpreter->task;
    if (!task && kind != 'L')
        return false;
    switch (kind) {
    case 'N':
    case 'K':
        return take_sums(task, payload);
    case 'G':
        return take_floats(task, payload);
    case 'P':
    case 'Q':
    case 'T':
        return take_pairs(task, payload);
    case 'W':
        return take_typed(task, payload);
    case 'F':
    case 'L':
        return take_failure(interpreter, payload, kind == 'L');
    case 'A':
        interpreter->is_at_work = payload.size > 0;
        interpreter->waited_ns = 0;
        interpreter->counted_ns = clock_now_ns();
        interpreter->call.size = 0;
        buf_append(&interpreter->call, payload.data, payload.size);
        return !interpreter->call.has_failed;
    case 'V':
        interpreter->has_ended = true;
        buf_append(&interpreter->room, payload.data, payload.size);
        return true;
    case 'E':
    case 'S':
        interpreter->has_ended |= kind == interpreter->asked;
        return payload.size == 0;
    default:
        return false;
    }
}

// ---- Waiting for the end --------------------------------------------------------------------------------
//
// The pairs of a map attempt stay where they were received until it has ended well, so that one that fails leaves
// nothing in its slot. When they are too many, they go to the engine as they come.

static void take_at(struct interpreter *interpreter, size_t at)
{
    uint32_t size;
    memcpy(&size, interpreter->in.data + at, sizeof size);
    if (!take_frame(interpreter, interpreter->in.data[at + 4],
                    (weft_bytes){interpreter->in.data + at + FRAME_HEAD_BYTES, size}))
        interpreter_fail(interpreter,
                         err_set(WEFT_DATA_LOSS, "the Python of a slot sent a damaged frame"),
                         false);
}

// Drops `size` received bytes at a place.
static void forget(struct buf *in, size_t at, size_t size)
{
    memmove(in->data + at, in->data + at + size, in->size - at - size);
    in->size -= size;
}

static void take_waiting(struct interpreter *interpreter)
{
    struct buf *in = &interpreter->in;
    for (size_t at = 0; at < interpreter->waiting && !interpreter->failure;) {
        uint32_t size;
        memcpy(&size, in->data + at, sizeof size);
        take_at(interpreter, at);
        at += FRAME_HEAD_BYTES + (size_t)size;
    }
    interpreter->has_emitted |= interpreter->waiting > 0;
}

static void forget_waiting(struct interpreter *interpreter)
{
    forget(&interpreter->in, 0, interpreter->waiting);
    interpreter->waiting = 0;
}

// Whether the frame is to wait, of which `size` bytes with its head are there.
static bool may_wait(const struct interpreter *interpreter, char kind, size_t size)
{
    return interpreter->defers && !interpreter->has_emitted && strchr("NGP", kind) &&
           interpreter->waiting + size <= interpreter->waiting_max;
}

// The frame after those that wait.
static void take_next(struct interpreter *interpreter, char kind, size_t size)
{
    const bool ends = kind == 'E' || kind == 'F' || kind == 'L';
    const bool is_aside = kind == 'K' || kind == 'Q' || kind == 'A';
    if (may_wait(interpreter, kind, size)) {
        interpreter->waiting += size;
        return;
    }
    if (!is_aside && kind != 'F' && kind != 'L')
        take_waiting(interpreter);
    if (ends || interpreter->has_emitted)
        forget_waiting(interpreter);
    if (!interpreter->failure)
        take_at(interpreter, interpreter->waiting);
    interpreter->has_emitted |= !is_aside && !ends;
    forget(&interpreter->in, interpreter->waiting, size);
}

void interpreter_take_frames(struct interpreter *interpreter)
{
    const struct buf *in = &interpreter->in;
    while (in->size - interpreter->waiting >= FRAME_HEAD_BYTES && !interpreter->failure) {
        const char *frame = in->data + interpreter->waiting;
        uint32_t size;
        memcpy(&size, frame, sizeof size);
        if (size > FRAME_BYTES_MAX) {
            interpreter_fail(interpreter,
                             err_set(WEFT_DATA_LOSS, "the Python of a slot sent a damaged frame"),
                             false);
            return;
        }
        if (in->size - interpreter->waiting - FRAME_HEAD_BYTES < size)
            break;
        take_next(interpreter, frame[4], FRAME_HEAD_BYTES + (size_t)size);
    }
}
