// What a worker does: what its slots hold, seal, save and write.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "mapreduce/sample_segment.h"
#include "mapreduce/work/run/run_index.h"
#include "sim_run/worker.h"
#include "store/part.h"

struct worker workers[AGENTS_MAX];

// ---- Frames --------------------------------------------------------------------------------------------------------

struct parcel worker_pack(Weft__FrameType type, const ProtobufCMessage *message)
{
    struct parcel parcel = {.type = type};
    if (message) {
        parcel.size = protobuf_c_message_get_packed_size(message);
        parcel.bytes = malloc(parcel.size + 1);
        protobuf_c_message_pack(message, parcel.bytes);
    }
    return parcel;
}

static void *unpack(const struct parcel *parcel, const ProtobufCMessageDescriptor *descriptor)
{
    void *message = protobuf_c_message_unpack(descriptor, NULL, parcel->size, parcel->bytes);
    if (!message)
        sim_wrong("a frame of type %d cannot be read", (int)parcel->type);
    return message;
}

void worker_say(struct worker *worker, Weft__FrameType type, const ProtobufCMessage *message)
{
    if (!VEC_PUSH(&worker->out, worker_pack(type, message)))
        exit(2);
}

static struct parcel take_first(struct parcel *items, size_t *count)
{
    const struct parcel first = items[0];
    memmove(items, items + 1, --*count * sizeof *items);
    return first;
}

static const ProtobufCMessageDescriptor *descriptor_of(Weft__FrameType type)
{
    return type == WEFT__FRAME_TYPE__FRAME_TASK_END       ? &weft__task_end__descriptor
           : type == WEFT__FRAME_TYPE__FRAME_COMMITTED    ? &weft__committed__descriptor
           : type == WEFT__FRAME_TYPE__FRAME_SEALED       ? &weft__sealed__descriptor
           : type == WEFT__FRAME_TYPE__FRAME_CHECKPOINTED ? &weft__checkpointed__descriptor
                                                          : &weft__worker_failed__descriptor;
}

// -v: what goes between driver and workers, one line a frame.
void worker_show(const struct worker *worker, const char *what, const struct parcel *parcel)
{
    if (!sim.is_verbose)
        return;
    const Weft__TaskRun *run = NULL;
    const Weft__TaskEnd *end = NULL;
    printf("%5u worker %zu %s %d", sim.step, (size_t)(worker - workers), what,
           parcel ? (int)parcel->type : -1);
    if (parcel && parcel->type == WEFT__FRAME_TYPE__FRAME_TASK_RUN)
        run = unpack(parcel, &weft__task_run__descriptor);
    if (parcel && parcel->type == WEFT__FRAME_TYPE__FRAME_TASK_END)
        end = unpack(parcel, &weft__task_end__descriptor);
    if (run)
        printf(": run %c%u.%u@%u", "smr"[run->kind], run -> task, run -> attempt, run -> slot);
    if (end)
        printf(": %s %c%u.%u@%u", end->code ? "failed" : "held", "smr"[end->kind], end -> task,
               end -> attempt, end -> slot);
    if (parcel && parcel->type == WEFT__FRAME_TYPE__FRAME_COMMITTED) {
        Weft__Committed *committed = unpack(parcel, &weft__committed__descriptor);
        for (size_t i = 0; i < committed->n_tasks; i++)
            printf(" %c%u", "smr"[committed->kind], committed -> tasks[i]);
        message_free(committed);
    }
    printf("\n");
    message_free((void *)run);
    message_free((void *)end);
}

static void hand_over(struct worker *worker, const struct parcel *parcel)
{
    worker_show(worker, "says", parcel);
    const struct agent_calls *calls = worker->agent->options.calls;
    if (parcel->type == WEFT__FRAME_TYPE__FRAME_BYE) {
        calls->left(worker->agent->options.owner);
        return;
    }
    ProtobufCMessage *message = unpack(parcel, descriptor_of(parcel->type));
    if (!calls->message(worker->agent->options.owner, parcel->type, message))
        message_free(message);
}

// What a worker has said of a stage that is over changes nothing, even of a task and an attempt whose like there is in
// this stage.
static void repeat_the_past(struct worker *worker)
{
    if (worker->past.count && sim_has_faults() && sim_chance(sim.options.stale_rate))
        hand_over(worker, &worker->past.items[sim_below((uint32_t)worker->past.count)]);
}

static void keep_for_later(struct worker *worker, const struct parcel *parcel)
{
    Weft__TaskEnd *end = unpack(parcel, &weft__task_end__descriptor);
    if (worker->stage == 0 && !end->code &&
        !VEC_PUSH(&worker->past, worker_pack(parcel->type, &end->base)))
        exit(2);
    message_free(end);
}

void worker_deliver(struct worker *worker)
{
    const struct parcel parcel = take_first(worker->out.items, &worker->out.count);
    hand_over(worker, &parcel);
    // What was said of a task may be said again, as long as it is the same stage.
    if (worker->is_alive && parcel.type == WEFT__FRAME_TYPE__FRAME_TASK_END && sim_has_faults() &&
        sim_chance(sim.options.stale_rate)) {
        Weft__TaskEnd *end = unpack(&parcel, &weft__task_end__descriptor);
        end->attempt += 7;  // an attempt that nobody has asked for
        end->counters[0]->value = 1000;
        if (!worker->agent->options.calls->message(worker->agent->options.owner, parcel.type,
                                                   &end->base))
            message_free(end);
    }
    if (worker->is_alive && parcel.type == WEFT__FRAME_TYPE__FRAME_TASK_END)
        keep_for_later(worker, &parcel);
    if (worker->is_alive && worker->stage > 0)
        repeat_the_past(worker);
    free(parcel.bytes);
}

// ---- Pieces --------------------------------------------------------------------------------------------------------

static uint32_t piece_count(const Weft__StageOpen *open)
{
    return open->is_map_only ? open->map_count : open->range_count;
}

static uint32_t part_of(const Weft__StageOpen *open, uint32_t piece)
{
    return open->is_map_only ? open->part_of_task[piece]
                             : piece / (open->range_count / open->part_count);
}

// ---- Text of the answer ---------------------------------------------------------------------------------------------------

// Also parts without a byte are files.
static void make_parts(const Weft__StageOpen *open)
{
    char path[512], name[PART_NAME_BYTES];
    for (uint32_t i = 0;
         open->output->kind == WEFT__OUTPUT_KIND__OUTPUT_PARTS && i < open->part_count; i++) {
        part_format_name(name, i, "");
        snprintf(path, sizeof path, "%.400s/%s", open->output->path, name);
        close(open64(path, O_WRONLY | O_CREAT, 0600));
    }
}

static void write_piece(const Weft__StageOpen *open, uint32_t piece)
{
    char text[PIECE_BYTES + 1], path[512], name[PART_NAME_BYTES];
    uint32_t place = piece;
    snprintf(text, sizeof text, "piece %02u\n", piece);
    snprintf(path, sizeof path, "%s", open->output->path);
    if (open->output->kind == WEFT__OUTPUT_KIND__OUTPUT_PARTS) {
        for (place = 0; place < piece && part_of(open, piece - place - 1) == part_of(open, piece);)
            place++;
        part_format_name(name, part_of(open, piece), "");
        snprintf(path, sizeof path, "%.400s/%s", open->output->path, name);
    }
    const int fd = open64(path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || pwrite(fd, text, PIECE_BYTES, place * PIECE_BYTES) != PIECE_BYTES)
        sim_wrong("cannot write %s", path);
    close(fd);
}

static void commit_piece(struct worker *worker, const Weft__TaskRun *run)
{
    const Weft__StageOpen *open = worker->open;
    const bool is_last = open->output->kind != WEFT__OUTPUT_KIND__OUTPUT_KEEP;
    char text[PIECE_BYTES + 1];
    snprintf(text, sizeof text, "piece %02u\n", run->task);
    uint32_t task = run->task, crc = crc32c(0, text, PIECE_BYTES);
    uint64_t bytes = PIECE_BYTES, records = 1;
    Weft__Committed committed = WEFT__COMMITTED__INIT;
    committed.stage = run->stage;
    committed.kind = run->kind;
    committed.n_tasks = 1;
    committed.tasks = &task;
    if (run->kind == WEFT__TASK_KIND__TASK_REDUCE && worker->sealed != all_of(open->map_count))
        sim_wrong("reduce task %u runs before all map tasks are sealed", task);
    if ((worker->submitted & bit(task)) && !worker->is_shared)
        return;  // it was written by an attempt that failed behind that
    worker->submitted |= bit(task);
    if (worker->is_shared)
        worker_shelve(worker, text, &committed);
    if (is_last || worker->is_shared) {
        if (!worker->is_shared)
            write_piece(open, task);
        committed.n_output_bytes = committed.n_output_crc = committed.n_output_records = 1;
        committed.output_bytes = &bytes;
        committed.output_crc = &crc;
        committed.output_records = &records;
    } else {
        worker->kept[worker->stage] |= bit(task);
    }
    if (worker->is_shared)
        worker_report_shelved(worker, &committed);
    else
        worker_say(worker, WEFT__FRAME_TYPE__FRAME_COMMITTED, &committed.base);
}

// ---- Attempts ------------------------------------------------------------------------------------------------------

static bool is_skipped(const Weft__TaskRun *run)
{
    for (size_t i = 0; i < run->n_skips; i++)
        if (run->skips[i]->offset == sim.options.bad_offset)
            return true;
    return false;
}

static bool meets_bad_record(const Weft__TaskRun *run)
{
    bool is_inside = false;
    for (size_t i = 0; i < run->n_pieces; i++)
        is_inside |= sim.options.bad_offset >= run->pieces[i]->begin &&
                     sim.options.bad_offset < run->pieces[i]->end;
    return sim.options.has_bad_record && is_inside && !is_skipped(run);
}

static void end_attempt(struct worker *worker, uint32_t slot, const Weft__TaskRun *run,
                        weft_err code, bool tells_bad)
{
    Weft__TaskEnd end = WEFT__TASK_END__INIT;
    Weft__Counter counter = WEFT__COUNTER__INIT, *counters[] = {&counter};
    Weft__BadRecord bad = WEFT__BAD_RECORD__INIT, *bads[] = {&bad};
    Weft__Place place = WEFT__PLACE__INIT;
    char key_text[32];
    ProtobufCBinaryData key = {8, (uint8_t *)key_text};
    counter.name = run->kind == WEFT__TASK_KIND__TASK_MAP      ? "maps"
                   : run->kind == WEFT__TASK_KIND__TASK_REDUCE ? "reduces"
                                                               : "samples";
    counter.value = 1;
    snprintf(key_text, sizeof key_text, "%03u.%03u ", run->task % 1000, sim.life % 1000);
    if (run->kind == WEFT__TASK_KIND__TASK_SAMPLE) {
        end.n_sample_keys = 1;
        end.sample_keys = &key;
    }
    end.stage = run->stage;
    end.kind = run->kind;
    end.task = run->task;
    end.attempt = run->attempt;
    end.slot = slot;
    end.code = code;
    end.text = code ? "the moon is full" : end.text;
    if (code == WEFT_DATA_LOSS) {
        end.bad_seal = worker->bad_seal;
        end.is_blameless = true;
    }
    end.records_in = end.bytes_in = 1;
    end.n_counters = 1;
    end.counters = counters;
    place.offset = bad.offset = sim.options.bad_offset;
    bad.size = BAD_TEXT_BYTES;
    bad.reason = "the moon is full";
    if (tells_bad && !code) {
        end.n_bad = 1;
        end.bad = bads;
    } else if (tells_bad) {
        end.place = &place;
        end.fed_end = place.offset + 1;
    }
    worker_say(worker, WEFT__FRAME_TYPE__FRAME_TASK_END, &end.base);
}

static void finish_good(struct worker *worker, uint32_t index, const Weft__TaskRun *run,
                        bool tells_bad)
{
    const bool is_run = run->purpose == WEFT__PURPOSE__PURPOSE_RUN;
    const bool collects = run->kind == WEFT__TASK_KIND__TASK_MAP && !worker->open->is_map_only;
    end_attempt(worker, index, run, WEFT_OK, tells_bad);
    if (is_run && run->kind != WEFT__TASK_KIND__TASK_SAMPLE)
        worker_note_cuts(worker, run);
    if (is_run && collects)
        worker->slots[index].held |= bit(run->task);
    else if (is_run && run->kind != WEFT__TASK_KIND__TASK_SAMPLE)
        commit_piece(worker, run);
}

static void finish(struct worker *worker, uint32_t index, const Weft__TaskRun *run)
{
    struct slot *slot = &worker->slots[index];
    const bool is_look = run->purpose == WEFT__PURPOSE__PURPOSE_LOOK;
    const bool is_bad = meets_bad_record(run) && worker->stage == 0;
    const bool crashes = slot->crashes || (is_bad && !is_look && sim.options.crashes_at_bad_record);
    const bool is_careful = run->is_careful || is_look;
    if (crashes) {
        worker_die(worker, sim_chance(500) ? (int)index : -1);
        return;
    }
    slot->is_inside = false;
    if (worker->bad_seal && run->kind == WEFT__TASK_KIND__TASK_REDUCE)
        end_attempt(worker, index, run, WEFT_DATA_LOSS, false);
    else if (slot->fails || (is_bad && !is_careful)) {
        slot->held = 0;
        end_attempt(worker, index, run, WEFT_ABORTED, is_bad);
    } else {
        finish_good(worker, index, run, is_bad);
    }
}

// A try that fails by accident is taken for what its records do: the search gets a worker without faults.
bool worker_has_faults(const struct worker *worker)
{
    return sim_has_faults() && worker->agent->options.calls->late;
}

static void begin(struct worker *worker, struct slot *slot)
{
    slot->is_inside = true;
    slot->fails = worker_has_faults(worker) && sim_chance(sim.options.fail_rate);
    slot->crashes = worker_has_faults(worker) && sim_chance(sim.options.crash_rate);
    slot->hangs = worker_has_faults(worker) && sim_chance(sim.options.hang_rate);
    sim.may_fail |= slot->fails || slot->crashes || slot->hangs;
}

void worker_go_on(struct worker *worker, uint32_t index)
{
    struct slot *slot = &worker->slots[index];
    Weft__TaskRun *run = slot->runs[0];
    const bool is_seal = slot->is_seal[0];
    if (run && !slot->is_inside) {
        begin(worker, slot);
        return;
    }
    slot->run_count--;
    memmove(slot->runs, slot->runs + 1, slot->run_count * sizeof *slot->runs);
    memmove(slot->is_seal, slot->is_seal + 1, slot->run_count * sizeof *slot->is_seal);
    if (run)
        finish(worker, index, run);
    else if (is_seal && !worker->is_shared)
        worker_seal(worker, index);
    else
        worker_checkpoint(worker, index, is_seal);
    message_free(run);
}

// ---- Frames for the worker -------------------------------------------------------------------------------------------

static void queue(struct worker *worker, uint32_t slot, Weft__TaskRun *run, bool is_seal)
{
    struct slot *at = &worker->slots[slot];
    if (slot >= worker->agent->options.slot_count || at->run_count == QUEUE_MAX)
        sim_wrong("slot %u has too much to do", slot);
    at->runs[at->run_count] = run;
    at->is_seal[at->run_count++] = is_seal;
}

static void open_stage(struct worker *worker, const struct parcel *parcel)
{
    Weft__StageOpen *open = unpack(parcel, &weft__stage_open__descriptor);
    const Weft__StageOpen *before = worker->open;
    const bool is_written = open->n_done_pieces == piece_count(open);  // nothing is read for it
    if (open->stage > 0 && !is_written && !worker->is_shared &&
        worker->kept[open->stage - 1] != all_of(before && before->stage + 1 == open->stage
                                                    ? piece_count(before)
                                                    : open->map_count))
        sim_wrong("stage %u begins without the output of the one before", open->stage);
    message_free(worker->open);
    worker->open = open;
    worker->stage = open->stage;
    worker->sealed = worker->submitted = 0;
    worker->has_seals = false;
    worker_close_files(worker);
    for (uint32_t i = 0; i < SLOTS_MAX; i++)
        worker->slots[i].safe = 0;
    make_parts(open);
    for (size_t i = 0; i < open->n_done_pieces; i++)
        worker->submitted |= bit(open->done_pieces[i]);
}

static void take_task(struct worker *worker, Weft__TaskRun *run)
{
    worker_check_source(worker, run);
    queue(worker, run->slot, run, false);
}

void worker_receive(struct worker *worker)
{
    const struct parcel parcel = take_first(worker->in.items, &worker->in.count);
    void *message = NULL;
    worker_show(worker, "hears", &parcel);
    switch (worker->has_failed ? WEFT__FRAME_TYPE__FRAME_NONE : parcel.type) {
    case WEFT__FRAME_TYPE__FRAME_JOB_START:
        message = unpack(&parcel, &weft__job_start__descriptor);
        worker->is_shared = ((Weft__JobStart *)message)->worker_count > 1;
        break;
    case WEFT__FRAME_TYPE__FRAME_SEALS:
        worker_take_seals(worker, message = unpack(&parcel, &weft__seals__descriptor));
        break;
    case WEFT__FRAME_TYPE__FRAME_STAGE_OPEN:
        open_stage(worker, &parcel);
        break;
    case WEFT__FRAME_TYPE__FRAME_STAGE_PLAN:
        message = unpack(&parcel, &weft__stage_plan__descriptor);
        worker_take_cuts(worker, message);
        worker_adopt(worker, ((Weft__StagePlan *)message)->adopted,
                     ((Weft__StagePlan *)message)->n_adopted);
        break;
    case WEFT__FRAME_TYPE__FRAME_TASK_RUN:
        take_task(worker, unpack(&parcel, &weft__task_run__descriptor));
        break;
    case WEFT__FRAME_TYPE__FRAME_SEAL:
        message = unpack(&parcel, &weft__seal__descriptor);
        queue(worker, ((Weft__Seal *)message)->slot, NULL, true);
        break;
    case WEFT__FRAME_TYPE__FRAME_CHECKPOINT:
        message = unpack(&parcel, &weft__checkpoint__descriptor);
        queue(worker, ((Weft__Checkpoint *)message)->slot, NULL, false);
        break;
    case WEFT__FRAME_TYPE__FRAME_BYE:
        worker_say(worker, WEFT__FRAME_TYPE__FRAME_BYE, NULL);
        worker->has_left = true;
        break;
    default:
        break;
    }
    message_free(message);
    free(parcel.bytes);
}

void worker_fill_attempt(const struct worker *worker, uint32_t slot, struct agent_attempt *at)
{
    const Weft__TaskRun *run = worker->slots[slot].run_count ? worker->slots[slot].runs[0] : NULL;
    *at = (struct agent_attempt){.slot = slot};
    if (!run)
        return;
    const bool is_bad = meets_bad_record(run);
    at->stage = run->stage;
    at->kind = run->kind;
    at->task = run->task;
    at->attempt = run->attempt;
    at->offset = is_bad ? sim.options.bad_offset : run->n_pieces ? run->pieces[0]->begin : 0;
    at->fed_end = at->offset + 1;
}
