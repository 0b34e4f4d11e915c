// What reduce tasks read: the map output of all workers, which together have each map task once.
#include "sim_server/worker.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "sys/file/file.h"

void worker_forget_seals(struct worker *worker)
{
    for (size_t i = 0; i < worker->seal_count; i++)
        run_index_close(worker->seals[i]);
    worker->seal_count = 0;
    worker->has_seals = false;
}

// Each map task is in the map output of one worker: the cover of every reduce.
void worker_take_seals(struct worker *worker, const Weft__Seals *seals)
{
    bool is_covered[TASKS_MAX] = {0};
    uint32_t count = 0;
    if (!worker->open || seals->stage != worker->open->stage)
        world_wrong("map output of stage %u, which is not open", seals->stage);
    worker_forget_seals(worker);
    worker->has_seals = true;
    worker->bad_seal = 0;
    for (size_t i = 0; i < seals->n_seals; i++) {
        struct run_index *index = NULL;
        const weft_err code = run_index_open(&index, seals->seals[i]->path, seals->seals[i]->offset,
                                             (weft_bytes){0}, false);
        if (code == WEFT_DATA_LOSS && sim.counts[COUNT_DAMAGES]) {
            worker->bad_seal = seals->seals[i]->number;
            return;
        }
        if (code != WEFT_OK)
            world_wrong("worker %d: %s", worker->pid, err_text());
        index->file.number = seals->seals[i]->number;
        for (uint32_t k = 0; k < index->task_count; k++, count++) {
            if (index->tasks[k] >= worker->open->map_count || is_covered[index->tasks[k]])
                world_wrong("map task %u is twice in the cover of stage %u", index->tasks[k],
                            seals->stage);
            is_covered[index->tasks[k]] = true;
        }
        worker->seals[worker->seal_count++] = index;
    }
    if (count != worker->open->map_count)
        world_wrong("%u of %u map tasks are in the cover of stage %u", count,
                    worker->open->map_count, seals->stage);
}

void sim_write_line(struct buf *text, uint32_t stage, uint32_t range, const struct held *held,
                    uint32_t cuts)
{
    char line[64];
    const int size = snprintf(line, sizeof line, "%u %u %u %08x %08x", stage, held->task, range,
                              held->value, cuts);
    buf_format(text, "%s %08x\n", line, crc32c(0, line, (size_t)size));
}

static const char *read_line(const struct worker *worker, uint32_t range, const char *line,
                             uint32_t *values, bool *is_there)
{
    struct buf again = {0};
    uint32_t stage, task, found, value, cuts, crc;
    if (sscanf(line, "%u %u %u %x %x %x", &stage, &task, &found, &value, &cuts, &crc) != 6)
        world_wrong("worker %d: '%.20s' is no map output of range %u", worker->pid, line, range);
    const struct held held = {task, value};
    sim_write_line(&again, stage, found, &held, cuts);
    if (stage != worker->open->stage || found != range || task >= worker->open->map_count ||
        strncmp(buf_text(&again), line, again.size) != 0)
        world_wrong("worker %d: '%.40s' as map output of range %u", worker->pid, line, range);
    if (is_there[task])
        world_wrong("map task %u is twice in range %u", task, range);
    if (cuts != worker->cuts)
        world_wrong("map task %u was done by other cuts than range %u", task, range);
    is_there[task] = true;
    values[task] = value;
    const char *next = line + again.size;
    buf_fini(&again);
    return next;
}

// False: it was damaged.
static bool read_segment(const struct worker *worker, const struct run_index *index,
                         const struct run_segment *segment, uint32_t range, uint32_t *values,
                         bool *is_there)
{
    char *bytes = malloc((size_t)segment->size + 1);
    size_t got = 0;
    if (file_read_at(index->file.fd, "map output", bytes, (size_t)segment->size, segment->offset,
                     &got) != WEFT_OK ||
        got != segment->size)
        world_wrong("worker %d: a segment is cut", worker->pid);
    bytes[got] = 0;
    const bool is_damaged = damage_is_in(bytes, got);
    for (const char *line = bytes; !is_damaged && line < bytes + got;)
        line = read_line(worker, range, line, values, is_there);
    free(bytes);
    return !is_damaged;
}

uint32_t worker_read_range(const struct worker *worker, uint32_t range, uint32_t *values)
{
    bool is_there[TASKS_MAX] = {0};
    if (worker->bad_seal)
        return worker->bad_seal;
    for (size_t i = 0; i < worker->seal_count; i++)
        for (uint32_t k = 0; k < worker->seals[i]->run_count; k++)
            if (!read_segment(worker, worker->seals[i], &worker->seals[i]->runs[k].segments[range],
                              range, values, is_there))
                return worker->seals[i]->file.number;
    for (uint32_t i = 0; i < worker->open->map_count; i++)
        if (!is_there[i])
            world_wrong("worker %d: range %u is without map task %u", worker->pid, range, i);
    return 0;
}
