// The pump. Writing is tried first, and only when the pipe is full is there a look at what else can be
// done: for a command that keeps up, a block costs one system call.

#include "code/command/pump.h"

#include <stdlib.h>

#include "sys/machine/kin.h"
#include "sys/time/clock.h"

enum {
    BUFFER_BYTES = 1 << 20,
    ROOM_BYTES_MIN = 64 << 10,
    ERROR_BYTES = 16 << 10,
    REST_READS_MAX = 128,
    WATCH_EVERY_MS = 50,
    SILENCE_LOOKS_MAX = 20,  // of a millisecond
};

void command_pump_init(struct command_pump *pump, command_lines_fn *take, void *owner,
                       struct command_stderr *err)
{
    *pump = (struct command_pump){.take = take, .owner = owner, .err = err, .record_end = '\n'};
}

void command_pump_fini(struct command_pump *pump)
{
    command_pump_abort(pump);
    free(pump->buffer);
    pump->buffer = NULL;
    pump->capacity = 0;
}

weft_err command_pump_start(struct command_pump *pump, struct nursery *nursery,
                            const struct nursery_spec *spec)
{
    ASSERT(!pump->is_running);
    if (!pump->buffer) {
        pump->buffer = malloc(BUFFER_BYTES);
        if (!pump->buffer)
            return err_no_memory("for the output of a command");
        pump->capacity = BUFFER_BYTES;
    }
    pump->size = 0;
    pump->looks_for_marker = pump->has_marker = pump->has_stray = pump->is_line_open = false;
    const weft_err code = nursery_start(nursery, spec, &pump->child);
    pump->is_running = code == WEFT_OK;
    return code;
}

void command_pump_abort(struct command_pump *pump)
{
    if (pump->is_running)
        child_end(&pump->child);
    pump->is_running = false;
    pump->size = 0;
}

// ---- Output ---------------------------------------------------------------------------------------------

// Up to the marker, which is a line of its own. A marker that was not asked for, or has lines after
// it, does not end the task: the command took a record for it, and it is unknown which lines belong
// to which task.
static weft_bytes cut_at_marker(struct command_pump *pump, weft_bytes lines)
{
    const char *at = lines.data, *const end = lines.data + lines.size;
    while (pump->is_kept && (at = memmem(at, (size_t)(end - at), COMMAND_MARKER, 2))) {
        if (at == lines.data || at[-1] == '\n') {
            pump->has_stray |= !pump->looks_for_marker || pump->has_marker || at + 2 != end;
            pump->has_marker = true;
            lines.size = (size_t)(at - lines.data);
            break;
        }
        at++;
    }
    return lines;
}

static void hand_on(struct command_pump *pump, size_t size)
{
    const weft_bytes lines = cut_at_marker(pump, (weft_bytes){pump->buffer, size});
    if (lines.size > 0)
        pump->take(pump->owner, lines);
}

// `got` bytes have come after the kept ones.
static void take_output(struct command_pump *pump, size_t got)
{
    const char *last = memrchr(pump->buffer + pump->size, '\n', got);
    pump->size += got;
    if (!last)
        return;
    const size_t whole = (size_t)(last + 1 - pump->buffer);
    hand_on(pump, whole);
    memmove(pump->buffer, pump->buffer + whole, pump->size - whole);
    pump->size -= whole;
}

static weft_err make_room(struct command_pump *pump)
{
    if (pump->size < pump->capacity / 2)
        return WEFT_OK;
    char *grown = realloc(pump->buffer, 2 * pump->capacity);
    if (!grown)
        return err_no_memory("for a line of more than %zu bytes from a command", pump->capacity);
    pump->buffer = grown;
    pump->capacity *= 2;
    return WEFT_OK;
}

static bool lacks_end(const struct command_pump *pump, char last)
{
    return last != '\n' && (unsigned char)last != pump->record_end;
}

static weft_err refuse_stray(void)
{
    return err_set(
        WEFT_DATA_LOSS,
        "a kept command has printed the line \\x1e, the end of a task, before that end, "
        "or more lines after it\n  it is not known which lines belong to the task, and none of them was used\n  try: without --keep");
}

// Straight to where it belongs. *is_done false: there is no such place now.
static weft_err read_direct(struct command_pump *pump, bool *is_done, bool *has_more)
{
    size_t size = ROOM_BYTES_MIN, got = 0;
    bool has_ended;
    char *room =
        pump->room && pump->size == 0 && !pump->is_kept ? pump->room(pump->owner, &size) : NULL;
    *is_done = room;
    if (!room)
        return WEFT_OK;
    const weft_err code = child_read(&pump->child, CHILD_OUT, room,
                                     size < BUFFER_BYTES ? size : BUFFER_BYTES, &got, &has_ended);
    *has_more = !code && got > 0;
    if (*has_more) {
        pump->is_line_open = lacks_end(pump, room[got - 1]);
        pump->fill(pump->owner, (weft_bytes){room, got});
    }
    return code;
}

// *has_more: there was something, and there may be more.
static weft_err read_output(struct command_pump *pump, bool *has_more)
{
    size_t got;
    bool has_ended, is_done;
    weft_err code = read_direct(pump, &is_done, has_more);
    if (code || is_done)
        return code;
    code = make_room(pump);
    // One byte is left for the end of a last line.
    if (!code)
        code = child_read(&pump->child, CHILD_OUT, pump->buffer + pump->size,
                          pump->capacity - pump->size - 1, &got, &has_ended);
    *has_more = !code && got > 0;
    if (*has_more)
        take_output(pump, got);
    return pump->has_stray ? refuse_stray() : code;
}

static weft_err read_error(struct command_pump *pump, bool *has_more)
{
    char text[ERROR_BYTES];
    size_t got;
    bool has_ended;
    const weft_err code = child_read(&pump->child, CHILD_ERR, text, sizeof text, &got, &has_ended);
    *has_more = !code && got > 0;
    if (*has_more)
        command_stderr_take(pump->err, (weft_bytes){text, got});
    return code;
}

static weft_err drain(struct command_pump *pump, unsigned ready)
{
    bool has_more;
    weft_err code = WEFT_OK;
    if (ready & CHILD_OUT)
        code = read_output(pump, &has_more);
    if (!code && (ready & CHILD_ERR))
        code = read_error(pump, &has_more);
    return code;
}

// Waits until something can be done, and watches the command in the meantime.
static weft_err wait_ready(struct command_pump *pump, unsigned wanted, unsigned *ready)
{
    for (*ready = 0; !*ready;) {
        *ready = child_wait_ready(&pump->child, wanted, pump->watch ? WATCH_EVERY_MS : -1);
        const uint64_t now = clock_now_ns();
        if (!pump->watch || now - pump->watched_ns < WATCH_EVERY_MS * UINT64_C(1000000))
            continue;
        pump->watched_ns = now;
        if (!pump->watch(pump->owner, pump->child.pid))
            return err_set(WEFT_RESOURCE_EXHAUSTED,
                           "a command takes too much memory; give more --memory or fewer --slots");
    }
    return WEFT_OK;
}

// ---- Input ------------------------------------------------------------------------------------------------

weft_err command_pump_write(struct command_pump *pump, weft_bytes data, bool is_lent,
                            bool *is_closed)
{
    weft_err code = WEFT_OK;
    *is_closed = pump->child.in < 0;
    while (data.size > 0 && !*is_closed) {
        size_t put;
        code = (is_lent ? child_lend : child_write)(&pump->child, data.data, data.size, &put,
                                                    is_closed);
        if (code)
            break;
        data.data += put;
        data.size -= put;
        if (data.size == 0 || *is_closed)
            break;
        unsigned ready;
        code = wait_ready(pump, CHILD_IN | CHILD_OUT | CHILD_ERR, &ready);
        if (code || (code = drain(pump, ready)))
            break;
    }
    return code;
}

// A command that does not know what the marker means waits for more, and we for it.
static weft_err wait_answer(struct command_pump *pump, uint64_t since_ns, unsigned *ready)
{
    const unsigned wanted = CHILD_OUT | CHILD_ERR | CHILD_END;
    while (!(*ready = child_wait_ready(&pump->child, wanted, WATCH_EVERY_MS))) {
        if (pump->watch && !pump->watch(pump->owner, pump->child.pid))
            return err_set(WEFT_RESOURCE_EXHAUSTED,
                           "a command takes too much memory; give more --memory or fewer --slots");
        if (clock_now_ns() - since_ns > COMMAND_KEEP_PATIENCE_NS)
            return err_set(
                WEFT_DEADLINE_EXCEEDED,
                "a kept command has not answered the end of a task for a minute\n  it must "
                "print the line \\x1e that it reads, and flush; otherwise it cannot be kept\n"
                "  try: without --keep");
    }
    return WEFT_OK;
}

// A marker that the command made of a record may come before its answer, and look like it. Its real
// answer follows before it waits for its next input.
static weft_err check_silence(struct command_pump *pump)
{
    struct kin_stat stat;
    bool has_more = pump->size > 0;
    weft_err code = WEFT_OK;
    for (int i = 0; i < SILENCE_LOOKS_MAX; i++) {
        const bool is_running = kin_read_stat(pump->child.pid, &stat) && stat.is_running;
        if (has_more || !is_running || child_wait_ready(&pump->child, CHILD_OUT, 1))
            break;
    }
    if (!has_more && child_wait_ready(&pump->child, CHILD_OUT, 0))
        code = read_output(pump, &has_more);
    return !code && has_more ? refuse_stray() : code;
}

weft_err command_pump_mark(struct command_pump *pump, bool *is_kept)
{
    ASSERT(pump->is_kept);
    bool is_closed, has_more = true;
    uint64_t heard_ns = clock_now_ns();
    pump->looks_for_marker = true;
    pump->has_marker = false;
    weft_err code = command_pump_write(
        pump, (weft_bytes){COMMAND_MARKER, sizeof COMMAND_MARKER - 1}, false, &is_closed);
    while (!code && !pump->has_marker && pump->child.out >= 0) {
        unsigned ready;
        code = wait_answer(pump, heard_ns, &ready);
        heard_ns = clock_now_ns();
        if (!code)
            code = drain(pump, ready);
        if (code || ready == CHILD_END)
            break;
    }
    pump->looks_for_marker = false;
    if (!code && pump->has_marker)
        code = check_silence(pump);
    while (!code && has_more)  // the output before its answer
        code = read_error(pump, &has_more);
    *is_kept = pump->has_marker;
    return code;
}

// ---- The end ------------------------------------------------------------------------------------------------

// Reads the rest in the pipes of a command that has ended. Other processes may still write there,
// and must not keep us: a pipe holds less than is read here.
static weft_err drain_rest(struct command_pump *pump)
{
    weft_err code = WEFT_OK;
    bool has_more = true;
    for (int i = 0; i < REST_READS_MAX && !code && has_more; i++)
        code = read_output(pump, &has_more);
    has_more = true;
    for (int i = 0; i < REST_READS_MAX && !code && has_more; i++)
        code = read_error(pump, &has_more);
    return code;
}

weft_err command_pump_finish(struct command_pump *pump, struct process_exit *exit)
{
    weft_err code = WEFT_OK;
    *exit = (struct process_exit){0};
    child_close_in(&pump->child);
    for (unsigned ready = 0; !code && !(ready & CHILD_END);) {
        code = wait_ready(pump, CHILD_OUT | CHILD_ERR | CHILD_END, &ready);
        if (!code)
            code = drain(pump, ready);
    }
    if (!code)
        code = drain_rest(pump);
    if (!code && (pump->size > 0 || pump->is_line_open)) {
        if (pump->size == 0 || lacks_end(pump, pump->buffer[pump->size - 1]))
            pump->buffer[pump->size++] = '\n';
        hand_on(pump, pump->size);
    }
    pump->is_line_open = false;
    if (!code)
        child_wait(&pump->child, -1, exit);
    command_stderr_end(pump->err);
    command_pump_abort(pump);
    return code;
}
