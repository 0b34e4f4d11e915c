// The collector's checkpoints: map output that outlives its worker, and taking over what one left.
//
//   runs   adopted | kept by the last checkpoint | since then
//                  ^ adopted_count               ^ kept_count
//
// An index names all of the slot's own runs, so it replaces the one before it. Between checkpoints
// only runs since the last one are merged, and a failure drops just these. A checkpoint may merge
// all of its own runs. The space of runs that the former index names is given back one checkpoint
// later: by then the driver has long received the index that replaces it. If it has not, a
// reader finds that blocks are missing and the tasks are done again: late, not wrong.
//
// Adopted runs are read where they are; the file they are in has its own index.

#include <stdio.h>
#include <stdlib.h>

#include "mapreduce/work/collect/collector.h"
#include "mapreduce/work/run/run_index.h"
#include "mapreduce/work/slot.h"
#include "sys/file/file.h"

enum { NAMES_TRIED_MAX = 1 << 20 };  // files of earlier workers in one directory

void collector_keep_runs(struct slot *slot, const char *directory, weft_bytes identity)
{
    struct collector *c = &slot->collector;
    ASSERT(c->spill.fd < 0 && identity.size <= RUN_IDENTITY_BYTES_MAX);
    c->durable.is_kept = true;
    c->durable.directory = directory;
    c->durable.identity = identity;
}

// ---- Adopting -------------------------------------------------------------------------------------

weft_err collector_adopt_take(struct slot *slot, struct run_index *index)
{
    struct collector *c = &slot->collector;
    struct durable *durable = &c->durable;
    ASSERT(c->runs.count == durable->adopted_count && !c->is_sealed);
    weft_err err = WEFT_OK;
    if (index->range_count != slot->stage->range_count)
        err = err_set(WEFT_INVALID_ARGUMENT, "%s has %u ranges of keys, this stage has %u",
                      index->file.directory, index->range_count, slot->stage->range_count);
    else if (!VEC_PUSH(&durable->adopted, index))
        err = err_no_memory("to adopt %s", index->file.directory);
    if (err) {
        run_index_close(index);
        return err;
    }
    for (uint32_t i = 0; i < index->run_count; i++) {
        if (!VEC_PUSH(&c->runs, index->runs[i]))
            return err_no_memory("for one more run");
        index->runs[i] = (struct run){0};  // the collector's now
        durable->adopted_count = durable->kept_count = c->runs.count;
    }
    c->has_mixed = durable->has_mixed = c->has_mixed || index->has_mixed;
    return WEFT_OK;
}

// ---- The file -------------------------------------------------------------------------------------

// A name that no earlier worker has taken.
static weft_err create_file(struct slot *slot)
{
    struct buf path = {0};
    weft_err err = WEFT_ALREADY_EXISTS;
    for (unsigned i = 0; err == WEFT_ALREADY_EXISTS && i < NAMES_TRIED_MAX; i++) {
        path.size = 0;
        buf_format(&path, "%s/map-%u-%u-%u", slot->collector.durable.directory, slot->stage->number,
                   slot->index, i);
        err = spill_create_named(&slot->collector.spill, buf_text(&path));
    }
    buf_fini(&path);
    return err;
}

weft_err collector_open_spill(struct slot *slot)
{
    struct collector *c = &slot->collector;
    if (c->spill.fd >= 0)
        return WEFT_OK;
    return c->durable.directory ? create_file(slot) : spill_open(&c->spill, slot->stage->tmp);
}

void collector_drop_runs(struct collector *collector)
{
    struct durable *durable = &collector->durable;
    for (size_t i = durable->kept_count; i < collector->runs.count; i++)
        run_fini(&collector->runs.items[i]);
    collector->runs.count = durable->kept_count;
    collector->has_mixed = durable->has_mixed;
    if (collector->spill.fd >= 0 && durable->is_kept)
        collector->spill.size = durable->kept_bytes;  // later bytes are written over
    else if (collector->spill.fd >= 0)
        spill_close(&collector->spill);
}

void collector_fini_durable(struct collector *collector)
{
    struct durable *durable = &collector->durable;
    durable->kept_count = 0;
    durable->is_kept = false;
    collector_drop_runs(collector);
    if (collector->spill.fd >= 0)
        spill_close(&collector->spill);
    for (size_t i = 0; i < durable->retired.count; i++)
        run_fini(&durable->retired.items[i]);
    for (size_t i = 0; i < durable->adopted.count; i++)
        run_index_close(durable->adopted.items[i]);
    VEC_FINI(&durable->retired);
    VEC_FINI(&durable->adopted);
    VEC_FINI(&durable->tasks);
    *durable = (struct durable){0};
}

// ---- Checkpoints ----------------------------------------------------------------------------------

static int compare_tasks(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static weft_err add_tasks(struct durable *durable, const uint32_t *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!VEC_PUSH(&durable->tasks, tasks[i]))
            return err_no_memory("for one more task");
    if (durable->tasks.count)
        qsort(durable->tasks.items, durable->tasks.count, sizeof *durable->tasks.items,
              compare_tasks);
    return WEFT_OK;
}

static weft_err write_index(struct collector *c)
{
    const struct durable *durable = &c->durable;
    const struct run_index index = {
        .runs = c->runs.items ? c->runs.items + durable->adopted_count : NULL,
        .run_count = (uint32_t)(c->runs.count - durable->adopted_count),
        .tasks = durable->tasks.items,
        .task_count = (uint32_t)durable->tasks.count,
        .range_count = c->buckets.range_count,
        .has_mixed = c->has_mixed,
    };
    return run_index_write(&c->spill, &index, durable->identity);
}

static weft_err sync(const struct collector *c)
{
    const weft_err err = file_sync(c->spill.fd, c->spill.directory);
    return err ? err : file_sync_directory(c->durable.directory);
}

// The runs that an index before the last one named.
static void release_retired(struct durable *durable)
{
    const size_t count = durable->retired_before, left = durable->retired.count - count;
    for (size_t i = 0; i < count; i++)
        run_release(&durable->retired.items[i]);
    if (count && left)
        memmove(durable->retired.items, durable->retired.items + count,
                left * sizeof *durable->retired.items);
    durable->retired.count = durable->retired_before = left;
}

weft_err collector_checkpoint(struct slot *slot, const uint32_t *tasks, size_t task_count,
                              bool must_sync, struct checkpoint *checkpoint)
{
    struct collector *c = &slot->collector;
    struct durable *durable = &c->durable;
    ASSERT(durable->is_kept && !c->is_sealed && !c->wide_queued);
    const enum phase phase = slot->phase;
    weft_err err = collector_open_spill(slot);
    durable->is_saving = true;
    if (!err)
        err = collector_drain_tables(slot);
    if (!err)
        err = collector_spill(slot);
    if (!err)
        err = collector_merge_runs(slot, durable->adopted_count);
    durable->is_saving = false;
    if (!err)
        err = add_tasks(durable, tasks, task_count);
    slot_enter(slot, PHASE_SPILL);
    const uint64_t offset = c->spill.size;
    if (!err)
        err = write_index(c);
    if (!err && must_sync)
        err = sync(c);
    slot_enter(slot, phase);
    if (err)
        return err_wrap(err, "checkpoint");
    *checkpoint = (struct checkpoint){.path = c->spill.has_name ? c->spill.directory : NULL,
                                      .fd = c->spill.fd,
                                      .offset = offset,
                                      .bytes = c->spill.size - durable->kept_bytes};
    durable->kept_count = c->runs.count;
    durable->kept_bytes = c->spill.size;
    durable->has_mixed = c->has_mixed;
    release_retired(durable);
    return WEFT_OK;
}
