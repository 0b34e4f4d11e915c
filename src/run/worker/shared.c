// shared: what a worker that shares the work with others reads of theirs: map output, and pairs between stages.
//
// All of it lies in files without a name that the driver keeps open and names by a path of its own; what the other
// workers read of this one's goes the same way. Thread: the control thread, while slots have nothing to do with it.

#include <stdio.h>
#include <stdlib.h>

#include "mapreduce/sample_segment.h"
#include "mapreduce/work/run/run_index.h"
#include "run/worker/worker_state.h"
#include "sys/file/file.h"

weft_err worker_keep_runs(struct worker *worker, const struct stage *stage,
                          const Weft__StageOpen *open)
{
    if (stage->is_map_only || (!open->runs_directory[0] && !worker_shares(worker)))
        return WEFT_OK;
    free(worker->runs_directory);
    free((char *)worker->runs_identity.data);
    worker->runs_directory = open->runs_directory[0] ? strdup(open->runs_directory) : NULL;
    char *identity = malloc(open->runs_identity.len + 1);
    worker->runs_identity = (weft_bytes){identity, open->runs_identity.len};
    if (!identity || (open->runs_directory[0] && !worker->runs_directory))
        return err_no_memory("for a stage");
    if (open->runs_identity.len)
        memcpy(identity, open->runs_identity.data, open->runs_identity.len);
    for (uint32_t i = 0; i < worker->slot_count; i++)
        collector_keep_runs(&worker->slots[i], worker->runs_directory, worker->runs_identity);
    return WEFT_OK;
}

weft_err worker_adopt_runs(struct worker *worker, Weft__AdoptedRuns *const *runs, size_t count)
{
    weft_err code = WEFT_OK;
    worker->bad_seal = 0;
    for (size_t i = 0; !code && i < count; i++) {
        struct run_index *index = NULL;
        code = run_index_open(&index, runs[i]->path, runs[i]->offset, worker->runs_identity, false);
        if (code == WEFT_DATA_LOSS && runs[i]->number) {
            worker->bad_seal = runs[i]->number;
            snprintf(worker->bad_seal_why, sizeof worker->bad_seal_why, "%s", err_text());
            return WEFT_OK;
        }
        if (code)
            break;
        index->file.number = runs[i]->number;
        code = collector_adopt_take(&worker->slots[i % worker->slot_count], index);
    }
    return code;
}

// A slot's own map output is among that of all, so its collector begins again without it.
weft_err worker_take_seals(struct worker *worker, const Weft__Seals *seals)
{
    weft_err code = WEFT_OK;
    for (uint32_t i = 0; i < worker->slot_count && !code; i++) {
        slot_thread_wait_idle(&worker->threads[i]);
        code = slot_begin_stage(&worker->slots[i], worker->stage);
    }
    if (!code)
        code = worker_adopt_runs(worker, seals->seals, seals->n_seals);
    return err_wrap(code, "map output of all workers");
}

// ---- Pairs between stages ------------------------------------------------------------------------

static weft_err open_source(struct worker *worker, const char *path, int *fd)
{
    for (size_t i = 0; i < worker->sources.count; i++)
        if (strcmp(worker->sources.items[i].path, path) == 0) {
            *fd = worker->sources.items[i].fd;
            return WEFT_OK;
        }
    const weft_err code = file_open(path, fd);
    if (code)
        return err_wrap(code, "pairs of the stage before");
    const struct source_file file = {strdup(path), *fd};
    if (file.path && VEC_PUSH(&worker->sources, file))
        return WEFT_OK;
    free(file.path);
    file_close(*fd);
    return err_no_memory("to read %s", path);
}

weft_err worker_take_source(struct worker *worker, const Weft__TaskRun *run)
{
    const Weft__Source *source = run->source;
    struct stage *stage = worker->stage;
    int fd;
    const weft_err code = open_source(worker, source->path, &fd);
    const uint32_t segment = run->kind == WEFT__TASK_KIND__TASK_SAMPLE
                                 ? sample_segment(run->task, stage->sample_count, stage->map_count)
                                 : run->task;
    return code ? code
                : dataset_adopt(stage->source, segment, fd, source->offset, source->size,
                                source->crc);
}

void worker_forget_sources(struct worker *worker)
{
    for (size_t i = 0; i < worker->sources.count; i++) {
        file_close(worker->sources.items[i].fd);
        free(worker->sources.items[i].path);
    }
    worker->sources.count = 0;
}
