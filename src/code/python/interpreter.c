// The process of a slot's interpreter. The slot's own thread writes to it and reads from it with one
// poll, as it does for commands (code/command/pump.c), so that the two never wait for each other.

#include "code/python/interpreter.h"

// How the sums of an attempt are held, as python/src/slot/slot.h numbers it.
enum { SLOT_HOLDS_MIXED = 1, SLOT_HOLDS_APART = 2 };

#include <stdlib.h>
#include <unistd.h>

#include "mapreduce/work/slot.h"
#include "sys/machine/mem.h"
#include "sys/time/clock.h"

enum {
    READ_BYTES = 256 << 10,
    ERROR_BYTES = 16 << 10,
    ERROR_READS_MAX = 64,
    WATCH_EVERY_MS = 50,
    LARGE_GROUP_BYTES = 1 << 20,  // far more than pipes hold
    END_PATIENCE_MS = 5000,       // for an interpreter to end by itself
    LATE_SHARE = 8,  // of a time limit, which may be exceeded by that: see REPORT_NS in slot.c
    TAIL_BYTES_MAX = 600,         // of standard error in a sentence
    WAITING_BYTES_MAX = 8 << 20,  // of pairs that wait for the end of their attempt,
    SLOW_MS = 50,            // an attempt that takes longer is not to be done again for others,
    SLOW_NS_PER_BYTE = 100,  // and one that does not have much to read
    WAITING_SHARE = 32,      // and of the memory of a slot
    SHARE_BYTES_MAX = 512 << 20,  // of memory, for the interpreter of a slot
};

// ---- Its shape ------------------------------------------------------------------------------------------

weft_err python_read_shape(const weft_args *args, struct python_shape *shape)
{
    static const char *const names[] = {"map", "sum", "count", "fold", "reduce"};
    const char *text = weft_option(args, PYTHON_KIND, 0);
    const size_t length = text ? strcspn(text, ",") : 0;
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) != length || strncmp(names[i], text, length) != 0)
            continue;
        *shape = (struct python_shape){(enum python_kind)i, strcmp(text + length, ",typed") == 0};
        return WEFT_OK;
    }
    return err_set(WEFT_INVALID_ARGUMENT,
                   "a Python job is started with weft run SCRIPT.py, or weft.run() in Python");
}

// ---- Its life -------------------------------------------------------------------------------------------

static void count(void *owner, const char *name, int64_t amount)
{
    struct interpreter *interpreter = owner;
    if (interpreter->task && !interpreter->facts.is_sample)
        weft_counter_add(interpreter->task, name, amount);
}

static void tell(void *owner, weft_bytes status)
{
    struct interpreter *interpreter = owner;
    if (interpreter->task && !interpreter->facts.is_sample && !interpreter->facts.is_probe)
        task_tell_status(interpreter->task, status);
}

static void start(struct interpreter *interpreter)
{
    static const char boot[] =
        "import sys; sys.path[0] = sys.argv[1]; from weft.slot import main; main()";
    const char *description = weft_option(interpreter->args, PYTHON_DESCRIPTION, 0);
    const char *const arguments[] = {weft_option(interpreter->args, PYTHON_INTERPRETER, 0),
                                     "-S",
                                     "-c",
                                     boot,
                                     weft_option(interpreter->args, PYTHON_PACKAGE, 0),
                                     weft_option(interpreter->args, PYTHON_CAPTURE, 0),
                                     NULL};
    if (!interpreter->nursery || !arguments[0] || !arguments[4] || !description) {
        interpreter_fail(interpreter,
                         err_set(WEFT_UNAVAILABLE, "no interpreter can be started here"), true);
        return;
    }
    const struct nursery_spec spec = {.arguments = arguments};
    const weft_err code = nursery_start(interpreter->nursery, &spec, &interpreter->child);
    if (code) {
        interpreter_fail(interpreter, err_wrap(code, "the Python of a slot"), true);
        return;
    }
    interpreter->is_running = true;
    interpreter->has_input = false;
    interpreter->in.size = interpreter->waiting = 0;
    char memory[9];
    memcpy(memory, &interpreter->table_bytes, 8);
    memory[8] = interpreter->record_timeout_ms > 0;
    interpreter_send(interpreter, 'J', weft_text(description), (weft_bytes){0});
    interpreter_send(interpreter, 'M', (weft_bytes){memory, sizeof memory}, (weft_bytes){0});
}

uint64_t python_outside_bytes(uint64_t memory_bytes, uint32_t slot_count)
{
    const uint64_t share = memory_bytes / 2 / slot_count;
    return share < PYTHON_BYTES_MIN  ? PYTHON_BYTES_MIN
           : share > SHARE_BYTES_MAX ? SHARE_BYTES_MAX
                                     : share;
}

// A table that grows is there twice for a while.
static uint64_t find_table_bytes(const struct stage *stage)
{
    if (!stage->process_bytes_max)
        return 0;
    return (python_outside_bytes(stage->process_bytes_max, stage->slot_count) - PYTHON_BASE_BYTES) /
           3;
}

static uint64_t find_waiting_bytes(const struct stage *stage)
{
    const uint64_t share = stage->process_bytes_max / stage->slot_count / WAITING_SHARE;
    return !share || share > WAITING_BYTES_MAX ? WAITING_BYTES_MAX : share;
}

weft_err interpreter_new(weft_task *task, struct nursery *nursery, struct interpreter **interpreter)
{
    struct interpreter *made = calloc(1, sizeof *made);
    *interpreter = made;
    if (!made)
        return err_no_memory("for an interpreter");
    made->args = weft_task_args(task);
    made->nursery = nursery;
    made->table_bytes = find_table_bytes(slot_of_task(task)->stage);
    made->waiting_max = find_waiting_bytes(slot_of_task(task)->stage);
    made->record_timeout_ms = task_time_records(task);
    command_stderr_init(&made->err, STDERR_FILENO, count, made);
    made->err.tell = tell;
    const weft_err code = python_read_shape(made->args, &made->shape);
    if (!code)
        start(made);
    return code;
}

static void stop(struct interpreter *interpreter)
{
    if (interpreter->is_running)
        child_end(&interpreter->child);
    interpreter->is_running = interpreter->holds = interpreter->is_at_work = false;
    interpreter->in.size = interpreter->waiting = interpreter->batch.size = 0;
}

void interpreter_free(struct interpreter *interpreter)
{
    struct process_exit exit;
    if (!interpreter)
        return;
    if (interpreter->is_running) {
        child_close_in(&interpreter->child);
        child_wait(&interpreter->child, END_PATIENCE_MS, &exit);
    }
    stop(interpreter);
    command_stderr_settle(&interpreter->err, true);
    command_stderr_fini(&interpreter->err);
    buf_fini(&interpreter->in);
    buf_fini(&interpreter->batch);
    buf_fini(&interpreter->room);
    buf_fini(&interpreter->call);
    buf_fini(&interpreter->failure_text);
    free(interpreter);
}

// ---- Failures -------------------------------------------------------------------------------------------

void interpreter_fail(struct interpreter *interpreter, weft_err code, bool is_final)
{
    if (!code || interpreter->failure)
        return;
    interpreter->failure = code;
    interpreter->is_final = is_final;
    interpreter->failure_text.size = 0;
    buf_append_text(&interpreter->failure_text, err_text());
}

weft_err interpreter_failure(struct interpreter *interpreter)
{
    return interpreter->failure
               ? err_set(interpreter->failure, "%s", buf_text(&interpreter->failure_text))
               : WEFT_OK;
}

static void append_place(const struct interpreter *interpreter, struct buf *to)
{
    if (interpreter->facts.is_reducing)
        buf_append_text(to, " while it reduced");
    else if (interpreter->has_input)
        buf_format(to, " while it mapped %.200s, up to byte %llu",
                   weft_input_name(interpreter->task),
                   (unsigned long long)interpreter->sent_offset);
}

// The process ended without being asked: os._exit, a crash in C, kill -9.
static void fail_by_exit(struct interpreter *interpreter, const struct process_exit *exit)
{
    struct buf text = {0}, tail = {0};
    char how[128];
    process_describe_exit(exit, how, sizeof how);
    buf_format(&text, "the Python of a slot %s%s", exit->was_signalled ? "was " : "", how);
    append_place(interpreter, &text);
    if (command_stderr_append_tail(&interpreter->err, TAIL_BYTES_MAX, &tail)) {
        if (tail.size && tail.data[tail.size - 1] == '\n')
            tail.size--;
        buf_format(&text, "; the end of its standard error:\n%s", buf_text(&tail));
    }
    interpreter_fail(interpreter, err_set(WEFT_ABORTED, "%s", buf_text(&text)), false);
    buf_fini(&text);
    buf_fini(&tail);
}

// ---- Receiving ------------------------------------------------------------------------------------------

static bool read_output(struct interpreter *interpreter)
{
    size_t got = 0;
    bool has_ended = false;
    char *room = buf_reserve(&interpreter->in, READ_BYTES);
    const weft_err code =
        room ? child_read(&interpreter->child, CHILD_OUT, room, READ_BYTES, &got, &has_ended)
             : err_no_memory("for a frame of Python");
    interpreter_fail(interpreter, code, false);
    interpreter->in.size += got;
    interpreter_take_frames(interpreter);
    return got > 0;
}

static bool read_error(struct interpreter *interpreter)
{
    char text[ERROR_BYTES];
    size_t got = 0;
    bool has_ended;
    interpreter_fail(
        interpreter,
        child_read(&interpreter->child, CHILD_ERR, text, sizeof text, &got, &has_ended), false);
    if (got)
        command_stderr_take(&interpreter->err, (weft_bytes){text, got});
    return got > 0;
}

static void watch(struct interpreter *interpreter)
{
    const uint64_t now = clock_now_ns();
    if (!interpreter->task || interpreter->asked == 'V' ||
        now - interpreter->watched_ns < WATCH_EVERY_MS * UINT64_C(1000000))
        return;
    interpreter->watched_ns = now;
    if (task_watch_outside(interpreter->task, mem_resident_bytes_of(interpreter->child.pid)))
        return;
    interpreter->is_reported |= !interpreter->failure;
    interpreter_fail(interpreter,
                     err_set(WEFT_RESOURCE_EXHAUSTED,
                             "the Python of a slot takes too much memory; give more --memory "
                             "or fewer --slots"),
                     true);
}

static void take_end(struct interpreter *interpreter)
{
    struct process_exit exit;
    for (int i = 0; i < ERROR_READS_MAX && read_output(interpreter); i++)
        continue;
    for (int i = 0; i < ERROR_READS_MAX && read_error(interpreter); i++)
        continue;
    command_stderr_end(&interpreter->err);
    child_wait(&interpreter->child, -1, &exit);
    fail_by_exit(interpreter, &exit);
    interpreter->has_lost = interpreter->holds;
    stop(interpreter);
}

// Ends an attempt that stays at one record. While we did other things, such as a spill, its interpreter may have waited for us:
// of that little is counted. A process that is killed here takes the sums with it that it holds.
static void check_time(struct interpreter *interpreter)
{
    const uint64_t limit_ns = (uint64_t)interpreter->record_timeout_ms * 1000000;
    const uint64_t most_ns = 2 * WATCH_EVERY_MS * UINT64_C(1000000);
    const uint64_t now_ns = clock_now_ns(), past_ns = now_ns - interpreter->counted_ns;
    interpreter->counted_ns = now_ns;
    interpreter->waited_ns += past_ns < most_ns ? past_ns : most_ns;
    if (!limit_ns || interpreter->failure || interpreter->has_ended ||
        interpreter->waited_ns <= limit_ns + limit_ns / LATE_SHARE)
        return;
    buf_append(&interpreter->call, "\0", 2);  // also where a damaged frame has none
    const char *function = buf_text(&interpreter->call), *key = function + strlen(function) + 1;
    interpreter_fail(interpreter,
                     err_set(WEFT_DEADLINE_EXCEEDED, "%s took longer than --record-timeout%s%s",
                             function, *key ? "\n  at the key " : "", key),
                     false);
    interpreter->has_lost = interpreter->holds;
    stop(interpreter);
}

// Waits until something can be done, does it, and returns whether there may be room to write.
static bool turn(struct interpreter *interpreter, unsigned wanted)
{
    const unsigned ready = child_wait_ready(
        &interpreter->child, wanted | CHILD_OUT | CHILD_ERR | CHILD_END, WATCH_EVERY_MS);
    watch(interpreter);
    if (ready & CHILD_OUT)
        read_output(interpreter);
    if (ready & CHILD_ERR)
        read_error(interpreter);
    if ((ready & CHILD_END) && !interpreter->failure && !interpreter->has_ended)
        take_end(interpreter);
    if (interpreter->is_at_work)
        check_time(interpreter);
    return ready & CHILD_IN;
}

// ---- Sending --------------------------------------------------------------------------------------------

static void write_bytes(struct interpreter *interpreter, weft_bytes data)
{
    // A frame that was begun is sent to its end, so that the interpreter can be asked for its sums.
    while (data.size > 0 && interpreter->is_running &&
           (!interpreter->failure || interpreter->is_reported)) {
        size_t put;
        bool is_closed = false;
        const weft_err code =
            child_write(&interpreter->child, data.data, data.size, &put, &is_closed);
        interpreter_fail(interpreter, code, false);
        if (code || is_closed) {
            interpreter->is_reported = false;
            while (!code && interpreter->is_running && !interpreter->failure)
                turn(interpreter, 0);  // it ends, and how is its failure
            return;
        }
        data.data += put;
        data.size -= put;
        if (data.size > 0)
            turn(interpreter, CHILD_IN);
    }
}

void interpreter_send(struct interpreter *interpreter, char kind, weft_bytes head, weft_bytes body)
{
    char start[64];
    const uint32_t size = (uint32_t)(head.size + body.size);
    if (interpreter->failure)
        return;
    if (head.size + body.size > FRAME_BYTES_MAX) {
        interpreter_fail(interpreter,
                         err_set(WEFT_RESOURCE_EXHAUSTED,
                                 "a record of %zu bytes is too long for Python", body.size),
                         true);
        return;
    }
    memcpy(start, &size, 4);
    start[4] = kind;
    const bool fits = head.size <= sizeof start - FRAME_HEAD_BYTES;
    if (fits && head.size)
        memcpy(start + FRAME_HEAD_BYTES, head.data, head.size);
    write_bytes(interpreter, (weft_bytes){start, FRAME_HEAD_BYTES + (fits ? head.size : 0)});
    if (!fits)
        write_bytes(interpreter, head);
    write_bytes(interpreter, body);
}

// ---- Attempts -------------------------------------------------------------------------------------------

// Sums stay in the interpreter from task to task; not those of a sample, or of a search for a bad record. Those of an
// attempt are kept apart until it has ended well, so that it fails alone. That costs up to a tenth where tasks read much
// in little time, and doing such tasks again is cheap: so there it is done for those only that have failed before.
static bool is_apart(const struct interpreter *interpreter)
{
    return !interpreter->holds || interpreter->facts.attempt > 0 ||
           interpreter->took_ns >= SLOW_MS * UINT64_C(1000000) ||
           interpreter->took_ns >= SLOW_NS_PER_BYTE * interpreter->sent_bytes;
}

static void send_begin(struct interpreter *interpreter)
{
    const struct task_facts *facts = &interpreter->facts;
    const enum python_kind kind = interpreter->shape.kind;
    const bool is_output = facts->is_reducing || facts->is_map_only;
    const bool holds = (kind == PYTHON_SUM || kind == PYTHON_COUNT) && !is_output &&
                       !facts->is_sample && !facts->is_probe;
    const char output = interpreter->shape.is_typed ? 2 : 1;
    interpreter->is_mixed = holds && !is_apart(interpreter);
    const char hold = interpreter->is_mixed ? SLOT_HOLDS_MIXED : holds ? SLOT_HOLDS_APART : 0;
    const char probed = (char)(output + 2);
    const char head[3] = {facts->is_reducing,
                          facts->is_probe ? probed
                          : is_output     ? output
                                          : 0,
                          hold};
    interpreter->holds |= holds;
    interpreter->defers = !is_output && !facts->is_sample && !facts->is_probe;
    interpreter->has_input = false;
    interpreter->sent_bytes = 0;
    interpreter_send(interpreter, 'B', (weft_bytes){head, sizeof head}, (weft_bytes){0});
}

void interpreter_begin(struct interpreter *interpreter, weft_task *task)
{
    const weft_err former = interpreter->failure;
    const bool was_final = interpreter->is_final;
    interpreter->task = task;
    interpreter->begun_ns = clock_now_ns();
    task_describe(task, &interpreter->facts);
    const struct task_facts *facts = &interpreter->facts;
    // What went wrong when the slot was opened is reported by its first attempt.
    if (former && was_final)
        return;
    interpreter->failure = WEFT_OK;
    interpreter->is_final = interpreter->has_ended = interpreter->has_batch = false;
    interpreter->asked = 0;
    interpreter->group_bytes = 0;
    interpreter->is_reported = interpreter->has_emitted = interpreter->defers = false;
    interpreter->has_lost = interpreter->is_at_work = false;
    interpreter->record_timeout_ms = task_time_records(task);
    interpreter->batch.size = 0;
    command_stderr_begin(&interpreter->err);
    interpreter->err.fd = facts->is_sample || facts->is_probe ? -1 : STDERR_FILENO;
    if (!interpreter->is_running)
        start(interpreter);
    send_begin(interpreter);
}

// Sends a frame that the interpreter answers, and waits for that.
static weft_err ask(struct interpreter *interpreter, char kind)
{
    interpreter->asked = kind;
    interpreter->has_ended = false;
    interpreter_send(interpreter, kind, (weft_bytes){0}, (weft_bytes){0});
    while (!interpreter->failure && !interpreter->has_ended && interpreter->is_running)
        turn(interpreter, 0);
    while (interpreter->is_running && read_error(interpreter))
        continue;
    command_stderr_settle(&interpreter->err, true);
    return interpreter_failure(interpreter);
}

weft_err interpreter_end(struct interpreter *interpreter)
{
    if (interpreter->batch.size && !interpreter->failure)
        interpreter_send(interpreter, 'R', buf_bytes(&interpreter->batch), (weft_bytes){0});
    interpreter->batch.size = 0;
    const weft_err code = ask(interpreter, 'E');
    interpreter->took_ns = clock_now_ns() - interpreter->begun_ns;
    return code;
}

// Asks an interpreter that lives something about an attempt that has failed; the failure stays the same. Whether
// it has answered.
static bool ask_aside(struct interpreter *interpreter, char kind)
{
    const weft_err failure = interpreter->failure;
    const bool is_final = interpreter->is_final;
    struct buf text = interpreter->failure_text;
    if (!interpreter->is_reported || !interpreter->is_running)
        return false;
    interpreter->failure_text = (struct buf){0};
    interpreter->failure = WEFT_OK;
    interpreter->is_reported = false;
    const bool has_answered = ask(interpreter, kind) == WEFT_OK && interpreter->has_ended;
    buf_fini(&interpreter->failure_text);
    interpreter->failure_text = text;
    interpreter->failure = failure;
    interpreter->is_final = is_final;
    return has_answered;
}

bool interpreter_rescue(struct interpreter *interpreter)
{
    if (!interpreter->defers || interpreter->has_emitted || interpreter->is_mixed ||
        interpreter->has_lost || interpreter->is_final)
        return false;
    return !interpreter->holds || ask_aside(interpreter, 'S');
}

// The values of a key that do not fit are a common cause, and which key that is helps. An interpreter that is given the
// values of a large group is not in user code, and answers.
void interpreter_cancel(struct interpreter *interpreter)
{
    if (interpreter->failure == WEFT_RESOURCE_EXHAUSTED &&
        interpreter->group_bytes >= LARGE_GROUP_BYTES) {
        interpreter->room.size = 0;
        if (ask_aside(interpreter, 'V') && interpreter->room.size)
            task_add_to_failure(interpreter->task, buf_bytes(&interpreter->room));
    }
    stop(interpreter);
}

weft_err interpreter_flush(struct interpreter *interpreter, weft_task *task)
{
    if (!interpreter->holds)
        return WEFT_OK;
    interpreter->holds = false;
    interpreter->task = task;
    interpreter->failure = WEFT_OK;
    interpreter->is_final = interpreter->is_reported = interpreter->defers = false;
    if (!interpreter->is_running)
        return err_set(WEFT_UNAVAILABLE, "the Python of a slot has ended");
    return ask(interpreter, 'S');
}
