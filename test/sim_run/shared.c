// What a worker leaves for others, and what it reads of theirs: seals, checkpoints, pairs between stages.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mapreduce/sample_segment.h"
#include "mapreduce/work/run/run_index.h"
#include "sim_run/worker.h"

// ---- Files that others read --------------------------------------------------------------------------------------------

weft_err worker_open_file(const struct worker *worker, uint32_t number, int *fd)
{
    if (!worker->is_alive || worker->is_gone)
        return err_set(WEFT_UNAVAILABLE, "it has ended");
    for (size_t i = 0; i < worker->file_count; i++)
        if (worker->files[i] == (int)number) {
            *fd = dup(worker->files[i]);
            return WEFT_OK;
        }
    return err_set(WEFT_INVALID_ARGUMENT, "it has no file %u", number);
}

void worker_close_files(struct worker *worker)
{
    for (size_t i = 0; i < worker->file_count; i++)
        close(worker->files[i]);
    worker->file_count = 0;
    worker->shelf = 0;
    worker->shelf_size = 0;
}

static uint32_t keep_file(struct worker *worker, int fd)
{
    if (fd < 0 || worker->file_count == FILES_MAX)
        sim_wrong("a worker cannot open one more file");
    worker->files[worker->file_count++] = fd;
    return (uint32_t)fd;
}

static int make_nameless(void)
{
    char path[128];
    sim_path(path, sizeof path, "nameless-XXXXXX");
    const int fd = mkstemp(path);
    unlink(path);
    return fd;
}

// A piece of the answer, or pairs for the next stage: the same text stands for both.
void worker_shelve(struct worker *worker, const char *text, Weft__Committed *committed)
{
    if (!worker->shelf)
        worker->shelf = (int)keep_file(worker, make_nameless());
    static uint64_t offset;
    offset = worker->shelf_size;
    if (pwrite(worker->shelf, text, PIECE_BYTES, (off_t)offset) != PIECE_BYTES)
        sim_wrong("cannot write to a shelf");
    worker->shelf_size += PIECE_BYTES;
    committed->shelf = (uint32_t)worker->shelf;
    committed->n_shelf_offsets = 1;
    committed->shelf_offsets = &offset;
}

// A task that is committed while the report of another one waits is reported with it, at times. The arrays of
// `waiting` are those of protobuf-c, which frees them.
static void add_task(Weft__Committed *waiting, const Weft__Committed *one)
{
    const size_t count = waiting->n_tasks, more = count + 1;
    waiting->tasks = realloc(waiting->tasks, more * sizeof *waiting->tasks);
    waiting->shelf_offsets = realloc(waiting->shelf_offsets, more * sizeof *waiting->shelf_offsets);
    waiting->output_bytes = realloc(waiting->output_bytes, more * sizeof *waiting->output_bytes);
    waiting->output_crc = realloc(waiting->output_crc, more * sizeof *waiting->output_crc);
    waiting->output_records =
        realloc(waiting->output_records, more * sizeof *waiting->output_records);
    waiting->tasks[count] = one->tasks[0];
    waiting->shelf_offsets[count] = one->shelf_offsets[0];
    waiting->output_bytes[count] = one->output_bytes[0];
    waiting->output_crc[count] = one->output_crc[0];
    waiting->output_records[count] = one->output_records[0];
    waiting->n_tasks = waiting->n_shelf_offsets = more;
    waiting->n_output_bytes = waiting->n_output_crc = waiting->n_output_records = more;
}

void worker_report_shelved(struct worker *worker, const Weft__Committed *committed)
{
    struct parcel *last = worker->out.count ? &worker->out.items[worker->out.count - 1] : NULL;
    // Between the two is what is said of the attempt.
    struct parcel *before = worker->out.count > 1 ? last - 1 : NULL;
    Weft__Committed *waiting = NULL;
    if (before && before->type == WEFT__FRAME_TYPE__FRAME_COMMITTED && sim.step % 4 != 0)
        waiting = weft__committed__unpack(NULL, before->size, before->bytes);
    if (waiting && waiting->kind == committed->kind && waiting->stage == committed->stage &&
        waiting->shelf == committed->shelf) {
        add_task(waiting, committed);
        const struct parcel both = worker_pack(before->type, &waiting->base);
        free(before->bytes);
        *before = *last;
        *last = both;
    } else {
        worker_say(worker, WEFT__FRAME_TYPE__FRAME_COMMITTED, &committed->base);
    }
    message_free(waiting);
}

// What it reads is what the task with that number has left.
void worker_check_source(const struct worker *worker, const Weft__TaskRun *run)
{
    const uint32_t samples = worker->open->sample_count, maps = worker->open->map_count;
    char text[PIECE_BYTES + 1], found[PIECE_BYTES] = {0};
    if (!worker->is_shared || run->stage == 0 || run->kind == WEFT__TASK_KIND__TASK_REDUCE)
        return;
    if (!run->source)
        sim_wrong("a task of stage %u reads from nowhere", run->stage);
    snprintf(text, sizeof text, "piece %02u\n",
             run->kind == WEFT__TASK_KIND__TASK_MAP ? run->task
                                                    : sample_segment(run->task, samples, maps));
    const int fd = open64(run->source->path, O_RDONLY);
    const bool is_read =
        fd >= 0 && pread(fd, found, PIECE_BYTES, (off_t)run->source->offset) == PIECE_BYTES;
    if (!is_read || run->source->size != PIECE_BYTES || memcmp(text, found, PIECE_BYTES) != 0)
        sim_wrong("task %u of stage %u reads '%.8s'", run->task, run->stage, found);
    close(fd);
}

// ---- Seals and checkpoints ---------------------------------------------------------------------------------------------

static uint32_t list_tasks(uint64_t tasks, uint32_t list[TASKS_MAX])
{
    uint32_t count = 0;
    for (uint32_t task = 0; task < TASKS_MAX; task++)
        if (tasks & bit(task))
            list[count++] = task;
    return count;
}

void worker_seal(struct worker *worker, uint32_t index)
{
    struct slot *slot = &worker->slots[index];
    uint32_t tasks[TASKS_MAX];
    Weft__Committed committed = WEFT__COMMITTED__INIT;
    Weft__Sealed sealed = WEFT__SEALED__INIT;
    if (worker->sealed & slot->held)
        sim_wrong("a map task is sealed twice");
    worker->sealed |= slot->held;
    committed.stage = worker->stage;
    committed.kind = WEFT__TASK_KIND__TASK_MAP;
    committed.tasks = tasks;
    committed.n_tasks = list_tasks(slot->held, tasks);
    sealed.slot = index;
    slot->held = 0;
    if (committed.n_tasks)
        worker_say(worker, WEFT__FRAME_TYPE__FRAME_COMMITTED, &committed.base);
    worker_say(worker, WEFT__FRAME_TYPE__FRAME_SEALED, &sealed.base);
}

// The file is a real one: a later life looks into it.
static uint64_t write_index(struct worker *worker, const char *path, uint64_t held)
{
    uint32_t tasks[TASKS_MAX];
    struct run_index index = {.tasks = tasks, .range_count = worker->open->range_count};
    struct spill spill;
    index.task_count = list_tasks(held, tasks);
    const ProtobufCBinaryData identity = worker->open->runs_identity;
    if (spill_create_named(&spill, path) != WEFT_OK)
        sim_wrong("cannot make %s: %s", path, err_text());
    const uint64_t offset = spill.size;
    if (run_index_write(&spill, &index, (weft_bytes){(char *)identity.data, identity.len}) !=
        WEFT_OK)
        sim_wrong("cannot write %s: %s", path, err_text());
    spill_close(&spill);
    if (sim_has_faults() && sim_chance(sim.options.checkpoint_lost_rate) && truncate(path, 10))
        sim_wrong("cannot cut %s", path);
    return offset;
}

// Without a name, the index is of all that the slot has made safe in this stage; the last one counts.
static void seal_for_others(struct worker *worker, struct slot *slot, Weft__Checkpointed *done)
{
    char path[128];
    slot->safe |= slot->held;
    slot->held = 0;
    sim_path(path, sizeof path, "sealed");
    unlink(path);
    done->offset = write_index(worker, path, slot->safe);
    done->file = keep_file(worker, open64(path, O_RDONLY));
    unlink(path);
}

void worker_checkpoint(struct worker *worker, uint32_t index, bool is_seal)
{
    struct slot *slot = &worker->slots[index];
    uint32_t tasks[TASKS_MAX];
    char path[512];
    Weft__Checkpointed done = WEFT__CHECKPOINTED__INIT;
    done.slot = index;
    done.stage = worker->stage;
    done.is_seal = is_seal;
    done.tasks = tasks;
    done.n_tasks = list_tasks(slot->held, tasks);
    snprintf(path, sizeof path, "%.400s/runs-%u-%u-%u", worker->open->runs_directory, sim.life,
             sim.step, ++worker->checkpoint_count);
    if (done.n_tasks && !worker->open->runs_directory[0]) {
        seal_for_others(worker, slot, &done);
    } else if (done.n_tasks) {
        done.path = path;
        // A file for what is new. It is safe, and seen by reduces, whatever becomes of the rest.
        done.offset = write_index(worker, path, slot->held);
        if (worker->is_shared)
            done.file = keep_file(worker, open64(path, O_RDONLY));
        else
            worker->sealed |= slot->held;
        slot->held = 0;
    }
    worker_say(worker, WEFT__FRAME_TYPE__FRAME_CHECKPOINTED, &done.base);
}

void worker_adopt(struct worker *worker, Weft__AdoptedRuns *const *runs, size_t count)
{
    const ProtobufCBinaryData identity = worker->open->runs_identity;
    worker->bad_seal = 0;
    for (size_t i = 0; i < count; i++) {
        struct run_index *index = NULL;
        if (run_index_open(&index, runs[i]->path, runs[i]->offset,
                           (weft_bytes){(char *)identity.data, identity.len}, false) != WEFT_OK) {
            // One to which that happens often is set aside, and the last one ends the job.
            sim.may_fail |= ++sim.damage_count >= DAMAGES_MAX;
            worker->bad_seal = runs[i]->number;
            return;
        }
        for (uint32_t t = 0; t < index->task_count; t++) {
            if (worker->sealed & bit(index->tasks[t]))
                sim_wrong("map task %u is taken over twice", index->tasks[t]);
            worker->sealed |= bit(index->tasks[t]);
        }
        run_index_close(index);
    }
}

// Each map task is in the map output of one worker.
void worker_take_seals(struct worker *worker, const Weft__Seals *seals)
{
    if (!worker->is_shared || worker->has_seals || seals->stage != worker->stage)
        sim_wrong("map output of stage %u in stage %u", seals->stage, worker->stage);
    worker->has_seals = true;
    worker_adopt(worker, seals->seals, seals->n_seals);
}
