// Files of map output that outlive their worker.

#include "run/driver/resume/resume_state.h"

#include "mapreduce/work/run/run_index.h"
#include "store/journal/journal.h"

#include <stdlib.h>

struct runs_head {
    uint64_t offset;
    uint32_t task_count, name_size;  // the name of the file follows
};

// ---- Noting -------------------------------------------------------------------------------------

static struct resume_runs *find_runs(const struct resume *resume, const char *name,
                                     size_t name_size)
{
    for (size_t i = 0; i < resume->runs.count; i++) {
        struct resume_runs *runs = &resume->runs.items[i];
        if (strlen(runs->name) == name_size && memcmp(runs->name, name, name_size) == 0)
            return runs;
    }
    return NULL;
}

static weft_err keep_runs(struct resume *resume, const char *name, size_t name_size,
                          uint64_t offset, uint32_t worker)
{
    struct resume_runs *known = find_runs(resume, name, name_size);
    if (known) {
        known->offset = offset;
        return WEFT_OK;
    }
    const struct resume_runs runs = {strndup(name, name_size), offset, worker, false};
    if (runs.name && VEC_PUSH(&resume->runs, runs))
        return WEFT_OK;
    free(runs.name);
    return err_no_memory("to resume");
}

static const char *name_of(const Weft__Checkpointed *done)
{
    const char *slash = strrchr(done->path, '/');
    return slash ? slash + 1 : done->path;
}

static weft_err note_place(struct resume *resume, uint32_t task, size_t number)
{
    if (!resume->runs_of_task)
        resume->runs_of_task = calloc(resume->options.plan->stages[0].map_count + (size_t)1,
                                      sizeof *resume->runs_of_task);
    if (!resume->runs_of_task)
        return err_no_memory("to resume");
    resume->runs_of_task[task] = (uint32_t)number;
    return WEFT_OK;
}

uint32_t resume_find_runs(const struct resume *resume, uint32_t task)
{
    return resume->runs_of_task ? resume->runs_of_task[task] : 0;
}

bool resume_lose_runs(struct resume *resume, uint32_t number, uint32_t *worker)
{
    if (number < 1 || number > resume->runs.count || resume->runs.items[number - 1].is_lost)
        return false;
    resume->runs.items[number - 1].is_lost = true;
    *worker = resume->runs.items[number - 1].worker;
    return true;
}

bool resume_is_lost(const struct resume *resume, const Weft__Checkpointed *done)
{
    const char *name = name_of(done);
    const struct resume_runs *runs = find_runs(resume, name, strlen(name));
    return runs && runs->is_lost;
}

weft_err resume_note_runs(struct resume *resume, const Weft__Checkpointed *done, uint32_t worker)
{
    const char *name = name_of(done);
    const struct runs_head head = {done->offset, (uint32_t)done->n_tasks, (uint32_t)strlen(name)};
    struct buf payload = {0};
    buf_append(&payload, &head, sizeof head);
    buf_append_text(&payload, name);
    weft_err code = payload.has_failed
                        ? err_no_memory("for a journal")
                        : keep_runs(resume, name, head.name_size, done->offset, worker);
    for (size_t i = 0; i < done->n_tasks && code == WEFT_OK; i++) {
        const struct resume_runs *runs = find_runs(resume, name, head.name_size);
        code = note_place(resume, done->tasks[i], (size_t)(runs - resume->runs.items) + 1);
        if (code == WEFT_OK)
            code = resume_note_task(resume, 0, SCHED_MAP, done->tasks[i]);
    }
    if (code == WEFT_OK)
        code = journal_append(resume->journal, RECORD_RUNS, buf_bytes(&payload));
    if (code == WEFT_OK)
        code = journal_flush(resume->journal);
    buf_fini(&payload);
    resume->has_progress = resume->has_checkpoints = true;
    return code;
}

// ---- Taking over --------------------------------------------------------------------------------

weft_err resume_take_runs(struct resume *resume, weft_bytes payload)
{
    struct runs_head head;
    if (payload.size < sizeof head)
        return WEFT_OK;
    memcpy(&head, payload.data, sizeof head);
    const char *name = payload.data + sizeof head;
    // A name, not a path: the content of a file must not lead out of its directory.
    if (payload.size != sizeof head + head.name_size || memchr(name, '/', head.name_size))
        return WEFT_OK;
    resume->task_count += head.task_count;
    return keep_runs(resume, name, head.name_size, head.offset, 0);
}

// A task is taken over once: runs that were damaged when its output was made again may be sound now.
static bool is_usable(const struct resume *resume, const struct run_index *index,
                      const bool *is_taken)
{
    const struct run_stage *stage = &resume->options.plan->stages[0];
    bool is_new = index->range_count == stage->range_count;
    for (uint32_t i = 0; i < index->task_count; i++)
        is_new = is_new && index->tasks[i] < stage->map_count && !is_taken[index->tasks[i]];
    return is_new;
}

static bool restore_file(struct resume *resume, const struct resume_runs *runs, size_t number,
                         bool *is_taken)
{
    const weft_bytes identity = weft_text(resume->origin.identity);
    struct run_index *index = NULL;
    struct buf path = {0};
    buf_format(&path, "%s/%s/%s", output_resume_place(resume->output), OUTPUT_RUNS, runs->name);
    const bool is_good =
        run_index_open(&index, buf_text(&path), runs->offset, identity, true) == WEFT_OK &&
        is_usable(resume, index, is_taken);
    for (uint32_t t = 0; is_good && t < index->task_count; t++) {
        is_taken[index->tasks[t]] = true;
        if (note_place(resume, index->tasks[t], number) != WEFT_OK)
            err_clear();  // then its damage ends the job
        resume_restore_task(resume, 0, SCHED_MAP, index->tasks[t]);
    }
    run_index_close(index);
    buf_fini(&path);
    return is_good;
}

// Damaged ones are dropped: their tasks are done again.
weft_err resume_restore_runs(struct resume *resume)
{
    bool *is_taken =
        calloc(resume->options.plan->stages[0].map_count + (size_t)1, sizeof *is_taken);
    if (!is_taken)
        return err_no_memory("to resume");
    size_t kept = 0;
    for (size_t i = 0; i < resume->runs.count; i++) {
        const struct resume_runs runs = resume->runs.items[i];
        if (restore_file(resume, &runs, kept + 1, is_taken))
            resume->runs.items[kept++] = runs;
        else
            free(runs.name);
    }
    resume->runs.count = kept;
    err_clear();
    free(is_taken);
    return WEFT_OK;
}

void resume_forget_runs(struct resume *resume)
{
    for (size_t i = 0; i < resume->runs.count; i++)
        free(resume->runs.items[i].name);
    resume->runs.count = 0;
    free(resume->runs_of_task);
    resume->runs_of_task = NULL;
}

// ---- For the messages to a worker ---------------------------------------------------------------

void resume_fill_open(const struct resume *resume, Weft__StageOpen *open, struct buf *directory)
{
    if (!resume_keeps_runs(resume))
        return;
    buf_format(directory, "%s/%s", output_resume_place(resume->output), OUTPUT_RUNS);
    open->runs_directory = (char *)buf_text(directory);
    open->runs_identity = message_bytes(weft_text(resume->origin.identity));
}

bool resume_keeps_runs(const struct resume *resume)
{
    return resume->journal && !run_plan_is_far(resume->options.plan);
}

weft_err resume_fill_adopted(const struct resume *resume, Weft__AdoptedRuns ***adopted,
                             size_t *adopted_count)
{
    const size_t count = resume->runs.count;
    Weft__AdoptedRuns *runs = calloc(count + 1, sizeof *runs);
    Weft__AdoptedRuns **list = *adopted = calloc(count + 1, sizeof *list);
    if (!runs || !list) {
        free(runs);
        return err_no_memory("for the description of the job");
    }
    list[0] = runs;
    size_t filled = 0;
    for (size_t i = 0; i < count; i++) {
        struct buf path = {0};
        Weft__AdoptedRuns *message = &runs[filled];
        if (resume->runs.items[i].is_lost)
            continue;
        buf_format(&path, "%s/%s/%s", output_resume_place(resume->output), OUTPUT_RUNS,
                   resume->runs.items[i].name);
        weft__adopted_runs__init(message);
        message->path = path.has_failed ? NULL : strdup(buf_text(&path));
        message->offset = resume->runs.items[i].offset;
        message->number = (uint32_t)i + 1;
        buf_fini(&path);
        if (!message->path)
            return err_no_memory("for the description of the job");
        list[filled++] = message;
        *adopted_count = filled;
    }
    return WEFT_OK;
}

void resume_free_adopted(Weft__AdoptedRuns **adopted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(adopted[i]->path);
    if (adopted)
        free(adopted[0]);
    free(adopted);
}
