// What slots do. All that they read is compared with what must be there.
#include "sim_server/worker.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "mapreduce/sample_segment.h"
#include "sim_server/disk.h"
#include "sim_server/lives.h"
#include "store/lent.h"
#include "sys/env.h"
#include "sys/file/file.h"

enum { BAD_TEXT_BYTES = 8, TASKS_QUEUED_MAX = 2, SEAL_MS_MAX = 30 };

// ---- Reading ------------------------------------------------------------------------------------------------

static void read_whole(const struct worker *worker, const char *path, uint64_t offset, size_t size,
                       char *bytes)
{
    size_t got = 0;
    int fd;
    if (file_open(path, &fd) != WEFT_OK)
        world_wrong("worker %d: %s", worker->pid, err_text());
    if (file_read_at(fd, path, bytes, size, offset, &got) != WEFT_OK || got != size)
        world_wrong("worker %d: %s has %zu of %zu bytes at %" PRIu64, worker->pid, path, got, size,
                    offset);
    file_close(fd);
}

static void check_input(const struct worker *worker, const Weft__Piece *piece)
{
    const Weft__Input *input = worker->job->inputs[piece->input];
    const size_t size = (size_t)(piece->end - piece->begin);
    size_t total;
    const char *must_be = sim_input(piece->input, &total);
    char *bytes = malloc(size + 1);
    if (piece->end > total)
        world_wrong("a task reads input %u to byte %" PRIu64 " of %zu", piece->input, piece->end,
                    total);
    // Lent inputs share a file.
    read_whole(worker, input->path[0] ? input->path : input->name, input->packed_at + piece->begin,
               size, bytes);
    if (memcmp(bytes, must_be + piece->begin, size) != 0)
        world_wrong("worker %d reads something else than input %u at %" PRIu64, worker->pid,
                    piece->input, piece->begin);
    free(bytes);
}

// False: it was damaged.
static bool check_source(const struct worker *worker, const Weft__TaskRun *run)
{
    const Weft__Source *source = run->source;
    if (!source || !source->path[0])
        world_wrong("a task of stage %u reads from nowhere", run->stage);
    const uint32_t segment =
        run->kind == WEFT__TASK_KIND__TASK_MAP
            ? run->task
            : sample_segment(run->task, worker->open->sample_count, worker->open->map_count);
    const weft_bytes must_be = sim_find_piece(run->stage - 1, segment);
    char *bytes = malloc((size_t)source->size + 1);
    read_whole(worker, source->path, source->offset, (size_t)source->size, bytes);
    if (sim.counts[COUNT_DAMAGES] && source->crc != crc32c(0, bytes, (size_t)source->size)) {
        free(bytes);
        return false;
    }
    if (must_be.size != source->size ||
        (must_be.size && memcmp(bytes, must_be.data, must_be.size) != 0) ||
        source->crc != crc32c(0, bytes, (size_t)source->size))
        world_wrong("task %u of stage %u reads something else than piece %u", run->task, run->stage,
                    segment);
    free(bytes);
    return true;
}

static bool check_reads(const struct worker *worker, const Weft__TaskRun *run)
{
    if (run->kind == WEFT__TASK_KIND__TASK_REDUCE || run->purpose != WEFT__PURPOSE__PURPOSE_RUN)
        return true;
    for (size_t i = 0; i < run->n_pieces; i++)
        check_input(worker, run->pieces[i]);
    return run->stage == 0 || check_source(worker, run);
}

// Blocks of lent input, which must be there before they are read.
static void ask_for_input(struct worker *worker, struct slot *slot, const Weft__TaskRun *run)
{
    for (size_t i = 0; i < run->n_pieces; i++) {
        const Weft__Input *input = worker->job->inputs[run->pieces[i]->input];
        if (!input->is_lent)
            continue;
        Weft__Need need = WEFT__NEED__INIT;
        need.input = run->pieces[i]->input;
        need.offset = run->pieces[i]->begin / LENT_BLOCK_BYTES * LENT_BLOCK_BYTES;
        const uint64_t end =
            (run->pieces[i]->end + LENT_BLOCK_BYTES - 1) / LENT_BLOCK_BYTES * LENT_BLOCK_BYTES;
        need.size = (end < input->size ? end : input->size) - need.offset;
        slot->needs++;
        worker_say(worker, WEFT__FRAME_TYPE__FRAME_NEED, &need.base);
    }
}

// The answer to the first that waits for it.
void slot_take_lent(struct worker *worker, const Weft__Lent *lent)
{
    for (int i = 0; i < SLOTS_OF_WORKER_MAX; i++) {
        struct slot *slot = &worker->slots[i];
        const Weft__TaskRun *run = slot->needs ? slot->orders[0].run : NULL;
        for (size_t k = 0; run && k < run->n_pieces; k++) {
            if (run->pieces[k]->input != lent->input || run->pieces[k]->begin < lent->offset ||
                run->pieces[k]->begin >= lent->offset + lent->size)
                continue;
            slot->needs--;
            if (lent->code)
                slot->lent_code = (weft_err)lent->code;
            return;
        }
    }
    world_wrong("worker %d is lent what it has not asked for", worker->pid);
}

// ---- Sealing ------------------------------------------------------------------------------------------------

void slots_open_stage(struct worker *worker)
{
    for (int i = 0; i < SLOTS_OF_WORKER_MAX; i++) {
        struct slot *slot = &worker->slots[i];
        for (uint32_t k = 0; k < slot->run_count; k++)
            free(slot->runs[k].segments);
        if (slot->has_spill)
            spill_close(&slot->spill);
        slot->has_spill = false;
        slot->run_count = slot->sealed_count = slot->held_count = 0;
    }
}

static weft_err append_run(const struct worker *worker, struct slot *slot)
{
    const uint32_t range_count = worker->open->range_count;
    struct run run = {.spill = &slot->spill, .range_count = range_count, .block_bytes = 4096};
    run.segments = calloc(range_count, sizeof *run.segments);
    weft_err code = WEFT_OK;
    for (uint32_t range = 0; range < range_count && code == WEFT_OK; range++) {
        struct buf text = {0};
        for (uint32_t i = 0; i < slot->held_count; i++)
            sim_write_line(&text, worker->open->stage, range, &slot->held[i], worker->cuts);
        run.segments[range] = (struct run_segment){slot->spill.size, text.size, slot->held_count};
        code = spill_append(&slot->spill, text.data, text.size);
        buf_fini(&text);
    }
    slot->runs[slot->run_count++] = run;
    return code;
}

static int compare_tasks(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

// A run of what is held, and after it the index of all that the slot has sealed in this stage.
static weft_err append_all(const struct worker *worker, struct slot *slot, uint64_t *offset)
{
    weft_err code = WEFT_OK;
    if (!slot->has_spill) {
        code = spill_open(&slot->spill, worker->job->tmp);
        slot->has_spill = code == WEFT_OK;
        if (slot->has_spill)
            disk_node(&worker->own, slot->spill.fd)->is_output = true;
    }
    if (code == WEFT_OK)
        code = append_run(worker, slot);
    for (uint32_t i = 0; i < slot->held_count; i++)
        slot->sealed[slot->sealed_count++] = slot->held[i].task;
    qsort(slot->sealed, slot->sealed_count, sizeof *slot->sealed, compare_tasks);
    const struct run_index index = {.runs = slot->runs,
                                    .run_count = slot->run_count,
                                    .tasks = slot->sealed,
                                    .task_count = slot->sealed_count,
                                    .range_count = worker->open->range_count};
    *offset = slot->spill.size;
    return code == WEFT_OK ? run_index_write(&slot->spill, &index, (weft_bytes){0}) : code;
}

static void seal(struct worker *worker, uint32_t index, bool is_seal)
{
    struct slot *slot = &worker->slots[index];
    uint32_t tasks[TASKS_MAX];
    Weft__Checkpointed done = WEFT__CHECKPOINTED__INIT;
    done.slot = index;
    done.stage = worker->open->stage;
    done.is_seal = is_seal;
    done.tasks = tasks;
    for (uint32_t i = 0; i < slot->held_count; i++)
        tasks[done.n_tasks++] = slot->held[i].task;
    if (done.n_tasks) {
        const weft_err code = append_all(worker, slot, &done.offset);
        if (code != WEFT_OK) {
            worker_fail(worker, code);
            return;
        }
        done.file = (uint32_t)slot->spill.fd;
    }
    for (size_t i = 0; i < done.n_tasks; i++)
        sim_note_sealed(done.stage, tasks[i]);
    world_note("worker %d seals %zu tasks of slot %u", worker->pid, done.n_tasks, index);
    slot->held_count = 0;
    sim.counts[COUNT_SEALS]++;
    worker_say(worker, WEFT__FRAME_TYPE__FRAME_CHECKPOINTED, &done.base);
}

// ---- Pieces -------------------------------------------------------------------------------------------------

static weft_err shelve(struct worker *worker, weft_bytes text, uint64_t *offset)
{
    weft_err code = WEFT_OK;
    if (worker->shelf < 0)
        code = file_create_nameless(worker->job->tmp, &worker->shelf);
    if (code == WEFT_OK)
        disk_node(&worker->own, worker->shelf)->is_output = true;
    *offset = worker->shelf_size;
    if (code == WEFT_OK)
        code = file_write_at(worker->shelf, "a shelf", text.data, text.size, *offset);
    worker->shelf_size += text.size;
    return code;
}

static void commit_piece(struct worker *worker, const Weft__TaskRun *run, const struct buf *text)
{
    uint32_t task = run->task, crc = crc32c(0, text->data, text->size);
    uint64_t bytes = text->size, records = 1, offset;
    Weft__Committed committed = WEFT__COMMITTED__INIT;
    const weft_err code = shelve(worker, buf_bytes(text), &offset);
    if (code != WEFT_OK) {
        worker_fail(worker, code);
        return;
    }
    sim_note_piece(run->stage, run->task, buf_bytes(text));
    committed.stage = run->stage;
    committed.kind = run->kind;
    committed.n_tasks = committed.n_shelf_offsets = 1;
    committed.tasks = &task;
    committed.shelf = (uint32_t)worker->shelf;
    committed.shelf_offsets = &offset;
    committed.n_output_bytes = committed.n_output_crc = committed.n_output_records = 1;
    committed.output_bytes = &bytes;
    committed.output_crc = &crc;
    committed.output_records = &records;
    worker_say(worker, WEFT__FRAME_TYPE__FRAME_COMMITTED, &committed.base);
}

// The last stage names its cuts: pieces that were made by others do not belong together.
static void make_piece(struct worker *worker, const Weft__TaskRun *run)
{
    const struct sim_piece piece = {run->stage, run->task, worker->cuts};
    struct buf text = {0};
    uint32_t values[TASKS_MAX];
    if (run->kind == WEFT__TASK_KIND__TASK_REDUCE) {
        if (worker_read_range(worker, run->task, values))
            world_wrong("worker %d: a bit has changed in no time", worker->pid);
        sim_write_piece(&text, &piece, values, worker->open->map_count);
        sim.counts[COUNT_REDUCES]++;
    } else {
        values[0] = sim_value(run);
        sim_write_piece(&text, &piece, values, 1);
    }
    commit_piece(worker, run, &text);
    buf_fini(&text);
}

// ---- Attempts -----------------------------------------------------------------------------------------------

static void show(const struct worker *worker, const Weft__TaskRun *run, const char *what)
{
    world_note("worker %d %s stage %u %c%u.%u@%u", worker->pid, what, run->stage, "smr"[run->kind],
               run -> task, run -> attempt, run -> slot);
}

static void begin_in_page(struct worker *worker, const Weft__TaskRun *run)
{
    struct slot_page *page = &worker->page->slots[run->slot];
    const Weft__Piece *first = run->n_pieces ? run->pieces[0] : NULL;
    page->stage = run->stage;
    page->kind = (uint32_t)run->kind;
    page->task = run->task;
    page->attempt = run->attempt;
    page->input_index = first ? first->input : 0;
    page->input_offset = sim_meets_bad_record(run) ? sim.options.bad_offset
                         : first                   ? first->begin
                                                   : 0;
    if (sim_meets_bad_record(run))
        page->input_index = sim.options.bad_input;
    page->fed_end = page->input_offset + 1;
    page->begun_ns = world.now_ns;
    page->attempt_serial++;
}

static bool has_faults(const struct worker *worker)
{
    return world.has_faults && worker->parent->number != SERVER;
}

static void begin(struct worker *worker, struct slot *slot)
{
    const struct order *order = &slot->orders[0];
    slot->is_inside = true;
    slot->lent_code = WEFT_OK;
    if (order->kind != ORDER_TASK) {
        slot->until_ns = world.now_ns + (uint64_t)world_below(SEAL_MS_MAX) * NS_PER_MS;
        return;
    }
    const uint32_t task_ms = 1 + world_below(sim.options.task_ms);
    slot->until_ns = world.now_ns + (uint64_t)task_ms * worker->slowness * NS_PER_MS;
    slot->fails = has_faults(worker) && world_chance(sim.rates.fail);
    slot->crashes = has_faults(worker) && world_chance(sim.rates.crash);
    slot->hangs = has_faults(worker) && world_chance(sim.rates.hang);
    sim.may_fail |= slot->fails || slot->crashes || slot->hangs;
    sim.counts[COUNT_TASKS]++;
    show(worker, order->run, "begins");
    sim_note_task(order->run);
    begin_in_page(worker, order->run);
    if (order->run->kind != WEFT__TASK_KIND__TASK_REDUCE)
        ask_for_input(worker, slot, order->run);
}

static void fill_bad(const Weft__TaskRun *run, Weft__TaskEnd *end, Weft__BadRecord **bads,
                     Weft__Place *place)
{
    (void)run;
    bads[0]->input = place->input = sim.options.bad_input;
    bads[0]->offset = place->offset = sim.options.bad_offset;
    bads[0]->size = BAD_TEXT_BYTES;
    bads[0]->reason = "the moon is full";
    if (end->code == WEFT_OK) {
        end->n_bad = 1;
        end->bad = bads;
    } else {
        end->place = place;
        end->fed_end = place->offset + 1;
    }
}

// What a failed attempt has to say beyond its code.
struct why {
    bool tells_bad;      // where the bad record is
    uint32_t bad_seal;   // map output that is damaged
    bool is_source_bad;  // the pairs of the stage before are
};

static void end_attempt(struct worker *worker, const Weft__TaskRun *run, weft_err code,
                        const struct why *why)
{
    Weft__TaskEnd end = WEFT__TASK_END__INIT;
    Weft__Counter counter = WEFT__COUNTER__INIT, *counters[] = {&counter};
    Weft__BadRecord bad = WEFT__BAD_RECORD__INIT, *bads[] = {&bad};
    Weft__Place place = WEFT__PLACE__INIT;
    char key_text[32];
    snprintf(key_text, sizeof key_text, "%03u.%03u ", run->task % 1000, world_below(1000));
    ProtobufCBinaryData key = {8, (uint8_t *)key_text};
    counter.name = run->kind == WEFT__TASK_KIND__TASK_MAP      ? "maps"
                   : run->kind == WEFT__TASK_KIND__TASK_REDUCE ? "reduces"
                                                               : "samples";
    counter.value = 1;
    if (run->kind == WEFT__TASK_KIND__TASK_SAMPLE && code == WEFT_OK) {
        end.n_sample_keys = 1;
        end.sample_keys = &key;
    }
    end.stage = run->stage;
    end.kind = run->kind;
    end.task = run->task;
    end.attempt = run->attempt;
    end.slot = run->slot;
    end.code = code;
    end.text = code ? "the moon is full" : end.text;
    end.bad_seal = why->bad_seal;
    end.has_bad_source = why->is_source_bad;
    end.is_blameless = code == WEFT_UNAVAILABLE || why->bad_seal || why->is_source_bad;
    end.records_in = end.bytes_in = 1;
    end.n_counters = 1;
    end.counters = counters;
    if (why->tells_bad)
        fill_bad(run, &end, bads, &place);
    worker->page->slots[run->slot].attempt_serial++;
    show(worker, run, code ? "fails" : "ends");
    worker_say(worker, WEFT__FRAME_TYPE__FRAME_TASK_END, &end.base);
}

// An attempt that was never asked for, and figures that must not count.
static void tell_stale(struct worker *worker, const Weft__TaskRun *run)
{
    Weft__TaskEnd end = WEFT__TASK_END__INIT;
    Weft__Counter counter = WEFT__COUNTER__INIT, *counters[] = {&counter};
    counter.name = run->kind == WEFT__TASK_KIND__TASK_MAP ? "maps" : "reduces";
    counter.value = 1000;
    end.stage = run->stage;
    end.kind = run->kind;
    end.task = run->task;
    end.attempt = run->attempt + 7;
    end.slot = run->slot;
    end.n_counters = 1;
    end.counters = counters;
    worker_say(worker, WEFT__FRAME_TYPE__FRAME_TASK_END, &end.base);
}

// Whether others have left damaged bytes for the attempt.
static struct why look_for_damage(const struct worker *worker, const Weft__TaskRun *run)
{
    uint32_t values[TASKS_MAX];
    const bool is_run = run->purpose == WEFT__PURPOSE__PURPOSE_RUN;
    const bool is_reduce = is_run && run->kind == WEFT__TASK_KIND__TASK_REDUCE;
    return (struct why){.bad_seal = is_reduce ? worker_read_range(worker, run->task, values) : 0,
                        .is_source_bad = is_run && !check_reads(worker, run)};
}

static void finish_good(struct worker *worker, struct slot *slot, const Weft__TaskRun *run,
                        bool tells_bad)
{
    const bool is_run = run->purpose == WEFT__PURPOSE__PURPOSE_RUN;
    const bool collects = run->kind == WEFT__TASK_KIND__TASK_MAP && !worker->open->is_map_only;
    const struct why why = look_for_damage(worker, run);
    if (why.bad_seal || why.is_source_bad) {
        slot->held_count = 0;
        end_attempt(worker, run, WEFT_DATA_LOSS, &why);
        return;
    }
    if (is_run && collects)
        slot->held[slot->held_count++] = (struct held){run->task, sim_value(run)};
    end_attempt(worker, run, WEFT_OK, &(struct why){.tells_bad = tells_bad});
    if (is_run && has_faults(worker) && world_chance(sim.rates.stale))
        tell_stale(worker, run);
    if (is_run && !collects && run->kind != WEFT__TASK_KIND__TASK_SAMPLE)
        make_piece(worker, run);
}

static void finish(struct worker *worker, struct slot *slot, const Weft__TaskRun *run)
{
    const bool is_look = run->purpose == WEFT__PURPOSE__PURPOSE_LOOK;
    const bool is_bad = sim_meets_bad_record(run);
    const bool is_careful = run->is_careful || is_look;
    if (slot->crashes || (is_bad && !is_look && sim.options.crashes_at_bad_record)) {
        worker->page->slots[run->slot].crash_signal = world_chance(500) ? SIGSEGV : 0;
        worker_die(worker, SIGSEGV);
        return;
    }
    if (slot->lent_code) {
        slot->held_count = 0;
        end_attempt(worker, run, slot->lent_code, &(struct why){0});
    } else if (slot->fails || (is_bad && !is_careful)) {
        slot->held_count = 0;
        end_attempt(worker, run, WEFT_ABORTED, &(struct why){.tells_bad = is_bad});
    } else {
        finish_good(worker, slot, run, is_bad);
    }
}

// ---- Orders -------------------------------------------------------------------------------------------------

void slot_take(struct worker *worker, uint32_t index, struct order order)
{
    uint32_t task_count = order.kind == ORDER_TASK;
    if (!worker->job || index >= worker->job->slots)
        world_wrong("an order for slot %u of worker %d", index, worker->pid);
    struct slot *slot = &worker->slots[index];
    for (size_t i = 0; i < slot->order_count; i++)
        task_count += slot->orders[i].kind == ORDER_TASK;
    if (slot->order_count == QUEUE_MAX || task_count > TASKS_QUEUED_MAX)
        world_wrong("slot %u of worker %d has too much to do", index, worker->pid);
    slot->orders[slot->order_count++] = order;
}

bool slot_can_move(const struct worker *worker, const struct slot *slot)
{
    (void)worker;
    return slot->order_count && !slot->needs && !(slot->is_inside && slot->hangs) &&
           (!slot->is_inside || world.now_ns >= slot->until_ns);
}

void slot_move(struct worker *worker, uint32_t index)
{
    struct slot *slot = &worker->slots[index];
    if (!slot->is_inside) {
        begin(worker, slot);
        return;
    }
    const struct order order = slot->orders[0];
    slot->is_inside = false;
    memmove(slot->orders, slot->orders + 1, --slot->order_count * sizeof *slot->orders);
    if (order.kind == ORDER_TASK)
        finish(worker, slot, order.run);
    else
        seal(worker, index, order.kind == ORDER_SEAL);
    message_free(order.run);
}
