// The slot threads of a worker: each takes its commands in order and answers with frames.

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mapreduce/work/map/source.h"
#include "run/worker/worker_state.h"
#include "sys/process/crash.h"

enum {
    SAMPLE_KEYS_MAX =
        256,  // per sample task: 32 tasks x 256 keys cut up to 2048 ranges well enough
};

// ---- the queue

void slot_thread_push(struct slot_thread *thread, struct command command)
{
    mutex_lock(&thread->lock);
    ASSERT(thread->queue_count < WORKER_QUEUE_MAX);
    thread->queue[(thread->queue_first + thread->queue_count++) % WORKER_QUEUE_MAX] = command;
    condition_broadcast(&thread->changed);
    mutex_unlock(&thread->lock);
}

static struct command slot_thread_take(struct slot_thread *thread)
{
    mutex_lock(&thread->lock);
    thread->is_busy = false;
    condition_broadcast(&thread->changed);
    while (thread->queue_count == 0)
        condition_wait(&thread->changed, &thread->lock);
    const struct command command = thread->queue[thread->queue_first];
    thread->queue_first = (thread->queue_first + 1) % WORKER_QUEUE_MAX;
    thread->queue_count--;
    thread->is_busy = true;
    mutex_unlock(&thread->lock);
    return command;
}

void slot_thread_wait_idle(struct slot_thread *thread)
{
    mutex_lock(&thread->lock);
    while (thread->queue_count || thread->is_busy)
        condition_wait(&thread->changed, &thread->lock);
    mutex_unlock(&thread->lock);
}

// ---- attempts

static void page_begin(struct slot_page *page, const Weft__TaskRun *run)
{
    page->stage = run->stage;
    page->kind = (uint32_t)run->kind;
    page->task = run->task;
    page->attempt = run->attempt;
    page->begun_ns = clock_now_ns();
    page->attempt_serial++;
}

static void page_end(struct slot_page *page)
{
    page->attempt_serial++;
}

// For the progress line and the summary; between two of these the peak is kept by the budget.
static void note_state(struct slot_thread *thread)
{
    const struct worker *worker = thread->worker;
    struct worker_page *page = worker->page;
    if (thread->slot->collector.is_direct)
        atomic_store_explicit(&page->has_switched_to_sort, 1, memory_order_relaxed);
    atomic_store_explicit(&page->memory_used, worker->budget.used, memory_order_relaxed);
    atomic_store_explicit(&page->memory_peak, worker->budget.peak, memory_order_relaxed);
}

static const struct input_stretch *copy_pieces(struct slot_thread *thread, const Weft__TaskRun *run)
{
    if (run->n_pieces > thread->piece_capacity) {
        free(thread->pieces);
        thread->pieces = malloc(run->n_pieces * sizeof *thread->pieces);
        thread->piece_capacity = thread->pieces ? run->n_pieces : 0;
    }
    for (size_t i = 0; thread->pieces && i < run->n_pieces; i++)
        thread->pieces[i] = (struct input_stretch){run->pieces[i]->input, run->pieces[i]->begin,
                                                   run->pieces[i]->end};
    return thread->pieces;
}

static const struct place *copy_skips(struct slot_thread *thread, const Weft__TaskRun *run)
{
    if (run->n_skips > thread->skip_capacity) {
        free(thread->skips);
        thread->skips = malloc(run->n_skips * sizeof *thread->skips);
        thread->skip_capacity = thread->skips ? run->n_skips : 0;
    }
    for (size_t i = 0; thread->skips && i < run->n_skips; i++)
        thread->skips[i] = (struct place){run->skips[i]->input, run->skips[i]->offset};
    return thread->skips;
}

static weft_err set_up(struct slot *slot)
{
    if (slot->is_set_up)
        return WEFT_OK;
    err_clear();
    const weft_err code = slot_call_open(slot);
    slot->is_set_up = code == WEFT_OK && !slot->has_failed;
    if (slot->has_failed)
        return err_set(slot->code, "%s", slot->error);
    if (code && !err_text()[0])
        err_set(code, "the job's setup failed");
    return err_wrap(code, "setup");
}

static enum slot_mode mode_of(const struct stage *stage, const Weft__TaskRun *run)
{
    if (run->purpose != WEFT__PURPOSE__PURPOSE_RUN)
        return run->purpose == WEFT__PURPOSE__PURPOSE_PROBE ? SLOT_PROBE : SLOT_LOOK;
    if (run->kind == WEFT__TASK_KIND__TASK_SAMPLE)
        return SLOT_SAMPLE;
    if (run->kind == WEFT__TASK_KIND__TASK_REDUCE || stage->is_map_only)
        return SLOT_OUTPUT;
    return SLOT_COLLECT;
}

static weft_err run_attempt(struct slot_thread *thread, const Weft__TaskRun *run)
{
    struct slot *slot = thread->slot;
    slot_begin_attempt(slot, mode_of(slot->stage, run), run->task);
    slot_enter(slot, PHASE_MAP);
    const struct input_stretch *pieces = copy_pieces(thread, run);
    const struct place *skips = copy_skips(thread, run);
    weft_err code = set_up(slot);
    if (!code && ((run->n_pieces && !pieces) || (run->n_skips && !skips)))
        code = err_no_memory("for a task's pieces");
    if (code) {
        slot_fail(slot, code, false);
        return code;
    }
    slot->pieces = pieces;
    slot->piece_count = run->n_pieces;
    slot->values = (struct task_values){0};
    if (run->values)
        slot->values =
            (struct task_values){run->values->path, run->values->offset, run->values->size};
    slot->is_watched = run->purpose != WEFT__PURPOSE__PURPOSE_RUN;
    slot->skips = skips;
    slot->skip_count = run->n_skips;
    // In a block, only a record with a wrong checksum can be found without the job's help.
    const bool is_told = slot->stage->job.map || slot->stage->format.kind == RECORD_TFRECORD;
    slot->is_careful = run->is_careful && is_told && !slot->stage->source;
    slot->attempt = run->attempt;
    slot->is_reducing = run->kind == WEFT__TASK_KIND__TASK_REDUCE;
    if (slot->is_reducing && thread->worker->bad_seal) {
        code = err_set(WEFT_DATA_LOSS, "%s", thread->worker->bad_seal_why);
        slot_fail(slot, code, false);
        return code;
    }
    return slot->is_reducing ? reduce_run(slot, run->task) : map_run(slot, pieces, run->n_pieces);
}

// ---- reports to the driver

// {u32 size, bytes}... as repeated fields that point into the buffer.
static size_t list_sample(const struct buf *keys, ProtobufCBinaryData *fields)
{
    size_t count = 0;
    for (size_t at = 0; at < keys->size;) {
        uint32_t size;
        memcpy(&size, keys->data + at, sizeof size);
        fields[count++] = (ProtobufCBinaryData){size, (uint8_t *)keys->data + at + sizeof size};
        at += sizeof size + size;
    }
    return count;
}

// The records that were left out, as fields that point into the slot.
static Weft__BadRecord **list_bad(const struct slot *slot)
{
    const size_t count = slot->bad.count;
    Weft__BadRecord **list = malloc((count + 1) * sizeof *list);
    Weft__BadRecord *records = malloc((count + 1) * sizeof *records);
    ASSERT(list && records);
    for (size_t i = 0; i < count; i++) {
        struct bad_record *bad = &slot->bad.items[i];
        weft__bad_record__init(&records[i]);
        records[i].input = bad->place.input;
        records[i].offset = bad->place.offset;
        records[i].size = bad->size;
        records[i].text = (ProtobufCBinaryData){bad->text_size, (uint8_t *)bad->text};
        records[i].reason = bad->reason;
        list[i] = &records[i];
    }
    list[count] = records;  // so that it can be freed
    return list;
}

static void fill_place(const struct slot *slot, Weft__TaskEnd *end, Weft__Place *place)
{
    if (!slot->has_failed || !slot->input_name)
        return;
    weft__place__init(place);
    place->input = slot->input_index;
    place->offset = slot->input_offset;
    end->place = place;
    end->fed_end = slot->page->fed_end;
}

static void send_end(struct slot_thread *thread, const Weft__TaskRun *run, const struct buf *sample)
{
    struct slot *slot = thread->slot;
    Weft__TaskEnd end = WEFT__TASK_END__INIT;
    end.stage = run->stage;
    end.kind = run->kind;
    end.task = run->task;
    end.attempt = run->attempt;
    end.slot = run->slot;
    end.code = slot->has_failed ? message_code(slot->code) : WEFT_OK;
    end.text = slot->has_failed ? slot->error : (char *)"";
    end.is_final = slot->is_final;
    end.is_blameless = slot->is_blameless;
    end.keeps_held = slot->has_failed && slot->keeps_held;
    end.bad_seal = slot->bad_seal;
    end.has_bad_source = slot->has_bad_source;
    end.records_in = slot->records_in;
    end.bytes_in = slot->bytes_in;
    end.records_out = slot->records_out;
    Weft__Place place;
    fill_place(slot, &end, &place);
    end.bad = list_bad(slot);
    end.n_bad = slot->bad.count;
    ProtobufCBinaryData keys[SAMPLE_KEYS_MAX];
    end.n_sample_keys = list_sample(sample, keys);
    end.sample_keys = keys;
    Weft__Counter counters[256], *pointers[256];
    end.n_counters = slot->counters.count;
    end.counters = pointers;
    for (size_t i = 0; i < slot->counters.count; i++) {
        weft__counter__init(&counters[i]);
        counters[i].name = slot->counters.items[i].name;
        counters[i].value = slot->counters.items[i].value;
        pointers[i] = &counters[i];
    }
    worker_send(thread->worker, WEFT__FRAME_TYPE__FRAME_TASK_END, &end.base);
    free(end.bad[end.n_bad]);
    free(end.bad);
}

// The output of a good attempt goes where it belongs after the driver heard of its end: the driver
// counts an attempt before it counts what the attempt wrote.
static void submit_output(struct slot_thread *thread, const Weft__TaskRun *run)
{
    struct slot *slot = thread->slot;
    const struct sink_piece kept = {
        .piece = run->task, .bytes = slot->text.size, .records = slot->records_out};
    const weft_err code = text_submit(slot);
    if (code)
        worker_send_failed(thread->worker, code);
    else if (!slot->stage->sink)
        worker_send_committed(thread->worker, &kept);
}

// A failure in map says at which record it happened, unless its sentence names the file already.
static void add_place(struct slot *slot)
{
    // Code that runs outside, or reports at the end, is not at the record that was read last.
    if (!slot->input_name || slot->stage->code->is_outside || slot->stage->job.end ||
        strstr(slot->error, slot->input_name))
        return;
    char text[ERR_TEXT_BYTES_MAX];
    snprintf(text, sizeof text, "%.800s (at byte %llu of %.160s)", slot->error,
             (unsigned long long)slot->input_offset, slot->input_name);
    memcpy(slot->error, text, sizeof slot->error);
}

// What the collector holds after the attempt: its task too, or none of those since it was last made safe. A failed
// attempt of which nothing was collected changes nothing.
static void settle_held(struct slot_thread *thread, const Weft__TaskRun *run)
{
    struct slot *slot = thread->slot;
    struct worker *worker = thread->worker;
    const bool collects = slot->mode == SLOT_COLLECT;
    const bool is_held = collects && !slot->has_failed;
    const bool is_dropped = collects && slot->has_failed && !slot->keeps_held;
    if (is_dropped)
        collector_reset(&slot->collector, slot);
    else if (is_held)
        ASSERT(VEC_PUSH(&thread->held, run->task));
    mutex_lock(&worker->send_lock);
    frames_note_end(&worker->told, run->slot, run->kind, run->task, is_held);
    if (is_dropped)
        frames_note_dropped(&worker->told, run->slot, thread->held.items, thread->held.count);
    mutex_unlock(&worker->send_lock);
    if (is_dropped)
        thread->held.count = 0;
}

// The attempt is not to blame for damage of bytes that others have made; the driver has these made again.
static void note_damage(const struct slot_thread *thread)
{
    struct slot *slot = thread->slot;
    const uint32_t number = run_take_damaged();
    if (!slot->has_failed || slot->code != WEFT_DATA_LOSS)
        return;
    if (slot->mode == SLOT_OUTPUT && slot->is_reducing)
        slot->bad_seal = number ? number : thread->worker->bad_seal;
    slot->is_blameless |= slot->bad_seal || slot->has_bad_source;
    slot->is_final &= !slot->is_blameless;
}

static void run_task(struct slot_thread *thread, const Weft__TaskRun *run)
{
    struct slot *slot = thread->slot;
    struct buf sample = {0};
    page_begin(slot->page, run);
    (void)run_take_damaged();
    weft_err code = run_attempt(thread, run);
    if (!code && slot->mode == SLOT_SAMPLE) {
        code = sample_finish(slot, SAMPLE_KEYS_MAX, &sample);
        if (code)
            slot_fail(slot, code, false);
    }
    page_end(slot->page);
    note_damage(thread);
    if (slot->has_failed && run->kind != WEFT__TASK_KIND__TASK_REDUCE)
        add_place(slot);
    const bool is_output = slot->mode == SLOT_OUTPUT;
    settle_held(thread, run);
    slot_enter(slot, PHASE_IDLE);
    note_state(thread);
    send_end(thread, run, &sample);
    if (is_output && !slot->has_failed)
        submit_output(thread, run);
    else if (is_output)
        text_discard(slot);
    slot_enter(slot, PHASE_IDLE);
    buf_fini(&sample);
}

// Code that runs outside may be gone with the part that it kept back. Then the tasks that the slot holds
// are lost, and the driver must run them again: as after a crash.
static void flush(struct slot *slot)
{
    if (slot_call_flush(slot))
        _exit(EXIT_FAILURE);
}

static void seal(struct slot_thread *thread)
{
    struct slot *slot = thread->slot;
    slot_enter(slot, PHASE_COMBINE);
    flush(slot);
    const weft_err code = collector_seal(slot);
    slot_enter(slot, PHASE_IDLE);
    note_state(thread);
    if (code) {
        worker_send_failed(thread->worker, code);
        return;
    }
    Weft__Committed committed = WEFT__COMMITTED__INIT;
    committed.stage = slot->stage->number;
    committed.kind = WEFT__TASK_KIND__TASK_MAP;
    committed.n_tasks = thread->held.count;
    committed.tasks = thread->held.items;
    worker_send(thread->worker, WEFT__FRAME_TYPE__FRAME_COMMITTED, &committed.base);
    thread->held.count = 0;
    mutex_lock(&thread->worker->send_lock);
    frames_note_sealed(&thread->worker->told, slot->index);
    mutex_unlock(&thread->worker->send_lock);
    Weft__Sealed sealed = WEFT__SEALED__INIT;
    sealed.slot = slot->index;
    worker_send(thread->worker, WEFT__FRAME_TYPE__FRAME_SEALED, &sealed.base);
}

// Keys may point into mapped input until they are written.
static weft_err save_collected(struct slot_thread *thread, struct checkpoint *checkpoint)
{
    struct slot *slot = thread->slot;
    slot_enter(slot, PHASE_SPILL);
    flush(slot);
    weft_err code =
        collector_checkpoint(slot, thread->held.items, thread->held.count, false, checkpoint);
    if (!code)
        code = source_check_all_mapped(slot->stage);
    slot_enter(slot, PHASE_IDLE);
    note_state(thread);
    return code;
}

static void take_checkpoint(struct slot_thread *thread, bool is_seal)
{
    struct slot *slot = thread->slot;
    struct checkpoint checkpoint = {0};
    const uint64_t begun_ns = clock_now_ns();
    const weft_err code = save_collected(thread, &checkpoint);
    if (code) {
        worker_send_failed(thread->worker, code);
        return;
    }
    mutex_lock(&thread->worker->send_lock);
    if (is_seal)
        frames_note_sealed(&thread->worker->told, slot->index);
    else
        frames_note_checkpointed(&thread->worker->told, slot->index);
    mutex_unlock(&thread->worker->send_lock);
    Weft__Checkpointed done = WEFT__CHECKPOINTED__INIT;
    done.stage = slot->stage->number;
    done.slot = slot->index;
    done.is_seal = is_seal;
    done.file = (uint32_t)checkpoint.fd;
    done.tasks = thread->held.items;
    done.n_tasks = thread->held.count;
    done.path = checkpoint.path ? (char *)checkpoint.path : done.path;
    done.offset = checkpoint.offset;
    done.bytes = checkpoint.bytes;
    done.nanoseconds = clock_now_ns() - begun_ns;
    worker_send(thread->worker, WEFT__FRAME_TYPE__FRAME_CHECKPOINTED, &done.base);
    thread->held.count = 0;
}

// Another worker's attempt counts. Code that runs outside may have kept a part back, which goes with its process.
static void drop(struct slot_thread *thread)
{
    struct slot *slot = thread->slot;
    struct worker *worker = thread->worker;
    if (slot->is_set_up && slot->stage->code->flush) {
        slot_call_close(slot);
        slot->is_set_up = false;
        slot->user_state = NULL;
    }
    collector_reset(&slot->collector, slot);
    mutex_lock(&worker->send_lock);
    frames_note_dropped(&worker->told, slot->index, thread->held.items, thread->held.count);
    mutex_unlock(&worker->send_lock);
    thread->held.count = 0;
    note_state(thread);
}

static void tear_down(struct slot *slot)
{
    if (slot->is_set_up)
        slot_call_close(slot);
    slot->is_set_up = false;
    slot->user_state = NULL;
    // Giving memory back takes a while: each slot does it for itself, side by side.
    collector_fini(&slot->collector, slot);
}

void slot_thread_run(void *argument)
{
    struct slot_thread *thread = argument;
    crash_watch_thread(&thread->slot->page->crash_signal);
    for (;;) {
        const struct command command = slot_thread_take(thread);
        switch (command.type) {
        case COMMAND_RUN:
            run_task(thread, command.run);
            message_free(command.run);
            break;
        case COMMAND_SEAL:
            if (worker_shares(thread->worker))
                take_checkpoint(thread, true);
            else
                seal(thread);
            break;
        case COMMAND_CHECKPOINT:
            take_checkpoint(thread, false);
            break;
        case COMMAND_DROP:
            drop(thread);
            break;
        case COMMAND_TEAR_DOWN:
            tear_down(thread->slot);
            break;
        case COMMAND_STOP:
            return;
        }
    }
}
